/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A decoded call. Text, JSON, names and analyses all read calls through it: the layout of a
 * function's record is computed once, an event is decoded in a few instructions, and values are
 * found by the table of the layout.
 *
 * The words of a record are untrusted. A value that is missing in the record is unknown ("?",
 * null); nothing outside the record is read. gt_event_check must have accepted the event. Its
 * machine is the one that gputap runs on. What a call returned through a pointer is shown only if
 * the call succeeded.
 */
#pragma once

#include "api/api.h"
#include "event/event.h"

struct gt_api_layout; /* api/layout.h */

/*
 * Strings that calls passed; they are events of their own (`string`). `find` returns the string
 * that a slot of a call points to, and whether it is truncated; NULL: unknown.
 */
struct gt_api_strings {
	const char *(*find)(const void *context, const struct gt_event_call *event, uint8_t slot,
			    bool *ret_truncated);
	const void *context;
};

struct gt_call {
	const struct gt_event_call *event; /* `call`, `entry` or `implicit` */
	/* NULL: in no table. Then no function below may be called. */
	const struct gt_api_function *function;
	const struct gt_api_layout *layout;   /* of the function */
	const struct gt_api_strings *strings; /* NULL: none; pointers are shown instead */
	size_t words;                         /* in the record */
	bool returned;
	bool succeeded; /* returned without an error: output arguments are valid */
	bool failed;    /* returned an error that is not "not ready" */
	/* Of a launch: the size of groups that was set for its kernel before; NULL: none is known.
	 */
	const uint32_t *group;
	/* Of a function in sizes.def: the bytes that follow from calls before it; 0: unknown. */
	uint64_t sized_bytes;
};

/* Decodes an event. layout NULL: the function is in no table. */
void gt_call_decode(struct gt_call *ret_call, const struct gt_api_layout *layout,
		    const struct gt_event_call *event);

/*
 * The value of an integer, pointer or handle argument; of an output argument (GT_ROLE_OUT), what
 * the call returned there. False if it is not in the record.
 */
bool gt_call_number(const struct gt_call *call, unsigned argument, uint64_t *ret_number);

/* The handles of an array (GT_ROLE_LIST). Returns their number; 0: none, or unknown. */
#define GT_API_MAX_LIST 8
unsigned gt_call_list(const struct gt_call *call, unsigned argument,
		      uint64_t ret_handles[GT_API_MAX_LIST]);

/*
 * The name of a stream that CUDA has without creating it: "legacy" or "per-thread", also for 0 in
 * a call whose default stream is the thread's own. NULL: a handle, or 0 in any other call.
 */
const char *gt_call_stream_label(const struct gt_call *call, uint64_t stream);

/*
 * The bytes that a call asks to allocate, copy or set. False if it is no such call or they are
 * unknown (a copy of array elements, a list of more than GT_API_MAX_SIZES copies).
 */
bool gt_call_bytes(const struct gt_call *call, uint64_t *ret_bytes);
/* The sizes of a list of copies. Returns their number; 0: no list, too long, or unknown. */
#define GT_API_MAX_SIZES 16
unsigned gt_call_list_sizes(const struct gt_call *call, uint64_t ret_sizes[GT_API_MAX_SIZES]);
/*
 * The direction of a copy, enum cudaMemcpyKind (0 H2H, 1 H2D, 2 D2H, 3 D2D, 4: decided by the
 * pointers); -1: no copy, or unknown.
 */
int gt_call_direction(const struct gt_call *call);
/* "H2H", "H2D", "D2H", "D2D", "default"; NULL for -1. */
const char *gt_api_direction_name(int direction);

/*
 * The kernel that a call launches, or the first one of several: its handle. False: it launches
 * none, or a graph.
 */
bool gt_call_kernel(const struct gt_call *call, uint64_t *ret_handle);

/*
 * The registers of a thread of a kernel, which a call reads from the driver (cuFuncGetAttribute,
 * cuKernelGetAttribute). *ret_handle: the kernel's. False: another function or attribute, or a
 * failed call.
 */
bool gt_call_registers(const struct gt_call *call, uint64_t *ret_handle, uint32_t *ret_registers);

/* Which handle a call gives a kernel. */
struct gt_call_naming {
	uint64_t handle;   /* identifies a kernel from now on, in its process … */
	uint64_t same_as;  /* … the kernel of this handle; 0: */
	int name_argument; /* … the kernel whose name is this argument (a `string` event); -1 */
};
/* False: another function, a failed call, or missing words. */
bool gt_call_naming(const struct gt_call *call, struct gt_call_naming *ret_naming);

/* What a call sets for the next launches of a kernel. */
enum gt_setting_kind {
	GT_SETTING_ARGUMENT,
	GT_SETTING_GROUP,
};
struct gt_call_setting {
	enum gt_setting_kind kind;
	uint64_t kernel;   /* its handle */
	uint32_t group[3]; /* of GROUP; of ARGUMENT: */
	uint32_t index;
	uint64_t size;  /* bytes */
	bool has_value; /* its first 8 bytes, or all if they are fewer, are in value */
	bool is_local;  /* so many bytes of local memory, without a value */
	uint64_t value;
};
/* False: another function, a failed call, or missing words. */
bool gt_call_setting(const struct gt_call *call, struct gt_call_setting *ret_setting);

/* Sizes that calls define for later ones. */
enum gt_sized_kind {
	GT_SIZED_IMAGE,   /* `result` is an image of `count` pixels of `pixel` bytes */
	GT_SIZED_REGION,  /* `count` pixels of the image `object`; mapped at `result`, if it is one
			   */
	GT_SIZED_MAPPING, /* `count` bytes are mapped at `result` */
	GT_SIZED_UNMAPPING, /* of what was mapped at `object` */
};
struct gt_call_sized {
	enum gt_sized_kind kind;
	uint64_t object, result; /* result 0: none, or it failed */
	uint64_t pixel;          /* 0: unknown */
	bool has_count;
	uint64_t count;
};
/* False: another function, or missing words. */
bool gt_call_sized(const struct gt_call *call, struct gt_call_sized *ret_sized);

/* How a kernel is launched. */
struct gt_call_launch {
	uint32_t grid[3], block[3]; /* 1 where a dimension is not given */
	uint64_t shared;            /* bytes of dynamic shared memory */
};
/* False: no launch, or unknown, as for a graph. */
bool gt_call_launch(const struct gt_call *call, struct gt_call_launch *ret_launch);

/*
 * The stream argument of a call, or the stream field of a structure that it passes. False: it has
 * none (a launch, copy or set then uses the default stream), or it is not in the record.
 */
bool gt_call_stream(const struct gt_call *call, uint64_t *ret_stream);

/*
 * Whether a call waits for its copy, by an argument that says so. -1: no argument does; 0: it does
 * not wait; 1: it waits.
 */
int gt_call_blocks(const struct gt_call *call);

enum gt_copy_end_kind {
	GT_END_UNKNOWN, /* not given by the call: decided by the address */
	GT_END_HOST,
	GT_END_DEVICE,
	GT_END_ARRAY, /* on the device; `address` is its handle */
};

/* Source or target of a copy. */
struct gt_copy_end {
	enum gt_copy_end_kind kind;
	bool is_typed; /* a memory type of the structure gives the kind */
	bool has_address;
	uint64_t address;
	bool has_owner;
	uint64_t owner; /* the device's ordinal or the context's handle, where the call gives one */
};

struct gt_copy_ends {
	struct gt_copy_end target, source;
};
/* False: no copy, or a list of copies. */
bool gt_call_copy_ends(const struct gt_call *call, struct gt_copy_ends *ret_ends);

/*
 * The address or handle that an allocating call returned. False: no such call, a failed one, or
 * not in the record.
 */
bool gt_call_allocated(const struct gt_call *call, uint64_t *ret_address);
/*
 * The requested bytes of an allocation: gt_call_bytes; of arrays, the product of format and
 * extents, without padding. False: unknown.
 */
bool gt_call_allocated_bytes(const struct gt_call *call, uint64_t *ret_bytes);

/*
 * Adds "devPtr=0x7f…, size=4000": all arguments with the names of the header; structures
 * that were copied in braces.
 */
void gt_call_format_arguments(struct gt_strbuf *buffer, const struct gt_call *call);
/* Adds what the call returned through pointers, in the same form. */
void gt_call_format_outputs(struct gt_strbuf *buffer, const struct gt_call *call);
/*
 * The short text of the live view. Entry: "size=4000 bytes kind=H2D", "name=\"counter\"",
 * "func=0x… grid=4x1x1 block=256x1x1 shared=0 stream=0x0". Return: "returned=Success
 * devPtr=0x7f…", "returned=MemoryAllocation", "returned" (of a function without result),
 * "unfinished".
 */
void gt_call_format_entry(struct gt_strbuf *buffer, const struct gt_call *call);
void gt_call_format_return(struct gt_strbuf *buffer, const struct gt_call *call);
/*
 * Writes an object of the arguments under `key`: names as in the header; pointers and handles as
 * "0x…", other numbers as numbers, enumerators by name (directions of copies as "H2D"), flags as
 * "A|B", structures as objects, dim3 as [x, y, z]. An output argument has the value that the call
 * returned there, else null.
 */
void gt_call_json_arguments(struct gt_json *json, const char *key, const struct gt_call *call);
/*
 * Of a launch, allocation, release, copy or set, writes the "operation" and its known properties
 * under the same keys for every function: "grid", "block" and "shared" of a launch, "address" and
 * "bytes" of memory, "destination", "source" and "bytes" of a copy, and the "stream".
 */
void gt_call_json_operation(struct gt_json *json, const struct gt_call *call);
