/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tables of the traced APIs: one row a function. Everything that gputap knows of CUDA's
 * functions stands in them; probes, views and analyses read them and know no function by name.
 *
 * The tables are made by tools/gen-api from the toolkit's public headers and kept in the tree
 * (one for each library of src/api/libraries.def, and src/api/types.def, src/api/enums.def,
 * src/api/structs.def); tools/api-check compares them with a toolkit.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/plan.h"
#include "base/json.h"
#include "base/strbuf.h"

struct gt_event_call;

/* What a call means: what views group by and analyses act on. */
enum gt_api_meaning {
	GT_MEANS_NOTHING, /* traced only when it is asked for by name */
	GT_MEANS_ALLOC,
	GT_MEANS_FREE,
	GT_MEANS_COPY,
	GT_MEANS_SET,
	GT_MEANS_LAUNCH,
	GT_MEANS_STREAM, /* creation, destruction, waits across streams, callbacks */
	GT_MEANS_EVENT,
	GT_MEANS_SYNC, /* blocks the host until work on the device is done */
	GT_MEANS_GRAPH,
	GT_MEANS_DEVICE,
	GT_MEANS_CONTEXT,
	GT_MEANS_MODULE,  /* modules, libraries, kernels, linking */
	GT_MEANS_MEMORY,  /* mapping, pinning, pools, advice, sharing: no allocation by itself */
	GT_MEANS_COMPUTE, /* of a library: it launches kernels … */
	GT_MEANS_COMMUNICATE, /* … and exchanges data with other devices and processes */
	GT_MEANS_COUNT,
};
/* "alloc", "free", …; as used in lists and JSON. */
const char *gt_api_meaning_name(enum gt_api_meaning meaning);

/* What an argument is for. */
enum gt_api_role {
	GT_ROLE_IN,      /* a plain input */
	GT_ROLE_OUT,     /* a pointer to where the call leaves a result */
	GT_ROLE_SIZE,    /* bytes of what is allocated, copied or set … */
	GT_ROLE_COUNT,   /* … times this: rows of a pitched copy, elements of a fill */
	GT_ROLE_SIZES,   /* an array of sizes, as many as the next argument says */
	GT_ROLE_PATTERN, /* the value of a fill: one element is as wide as its type */
	GT_ROLE_DEVICE_POINTER,
	GT_ROLE_HOST_POINTER,
	GT_ROLE_POINTER, /* to either, or unknown */
	GT_ROLE_STREAM,
	GT_ROLE_DIRECTION,   /* enum cudaMemcpyKind */
	GT_ROLE_SOURCE,      /* enum CUmemorytype of where a copy is from … */
	GT_ROLE_DESTINATION, /* … and of where it goes */
	GT_ROLE_HANDLE,      /* any other handle */
	GT_ROLE_KERNEL,      /* a kernel: its handle, or the host function that stands for it */
	GT_ROLE_KERNEL_NAME, /* the mangled name of a kernel, as a string */
	GT_ROLE_TEXT,        /* any other string: the name of a variable, a file … */
	GT_ROLE_ARGUMENTS,   /* an array of pointers to a kernel's arguments */
	GT_ROLE_STRUCT,      /* a pointer to a structure that the call reads */
};

/* How the words of an argument are read: a row of types.def, enums.def or structs.def. */
struct gt_api_type; /* opaque outside src/api: name, size in bytes, kind, enum or fields */

struct gt_api_argument {
	const char *name; /* as in the header: "devPtr" */
	const struct gt_api_type *type;
	enum gt_api_role role;
	const char *label; /* its name in the live view: "size", "ptr"; NULL: not shown there */
};

struct gt_api_function {
	const char *name; /* as exported, without _ptsz and _ptds: "cudaMalloc", "cuMemAlloc_v2" */
	const char *library; /* "cudart", "cuda", "cublas", … */
	enum gt_api_meaning meaning;
	const struct gt_api_type *result; /* an error enum for nearly all */
	const struct gt_api_argument *arguments;
	unsigned argument_count;
};

/* Rows are numbered from 0; the number is the attach cookie and `function` in events. */
unsigned gt_api_count(void);
/* NULL if there is no such row: numbers come from captures, too. */
const struct gt_api_function *gt_api_function(unsigned number);
/*
 * The row for an exported name; twins (`cudaMemcpyAsync_ptsz`, `cuMemcpyHtoD_v2_ptds`) are
 * their function. -ENOENT if it is none of ours.
 */
int gt_api_find(const char *exported_name);
/* Whether that is a twin: the default stream that it uses is the thread's own. */
bool gt_api_is_per_thread(const char *exported_name);
/* Whether `library` (a file name such as "libcudart.so.13.0.96") belongs to a table: its name, else
 * NULL. */
const char *gt_api_library_of(const char *file_name);

/*
 * Libraries that are switched on together: "cuda" (both APIs), "cublas" (with cublasLt), "cudnn",
 * "nccl". The group of a library, or NULL; and its bit in a set of groups, or 0. A group is called
 * as one of its libraries, so its name has the same bit.
 */
const char *gt_api_group_of(const char *library);
unsigned gt_api_group_bit(const char *library);
#define GT_API_GROUP_CUDA 1U

/*
 * What is traced aside, for what it tells, also where nobody asked for it: which device and context
 * a thread uses (src/api/told.def), and the names of kernels. Some functions name a handle by a
 * string argument (cuModuleGetFunction), some give another handle of the same kernel
 * (__cudaGetKernel).
 */
bool gt_api_tells(const struct gt_api_function *function);

/* The slot of the string by which a function names a kernel (GT_ROLE_KERNEL_NAME), or -1. */
int gt_api_kernel_name_slot(const struct gt_api_function *function);
/*
 * Where a string argument of a call lies that could not be copied: its address in the process, and
 * the slot that a `string` event of it names. False if none is missing.
 */
bool gt_api_missing_string(const struct gt_api_function *function, const struct gt_event_call *call,
			   uint64_t *ret_address, uint8_t *ret_slot);
/* What to copy for this function on the machine that gputap runs on. */
void gt_api_plan(const struct gt_api_function *function, struct gt_plan *ret_plan);

/* The result by which a function says "not yet" (src/api/pending.def); 0: it has none. */
uint32_t gt_api_pending(const struct gt_api_function *function);
/* Whether this result means failure: an error enum's value that is not 0 and not "not yet". */
bool gt_api_failed(const struct gt_api_function *function, uint64_t result);
/*
 * "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY"; in short "MemoryAllocation",
 * "OUT_OF_MEMORY", and "Success" in both APIs. Unknown numbers: "error 12345". What is no error is
 * a number or "0x…"; without a result: "void".
 */
void gt_api_format_result(struct gt_strbuf *buffer, const struct gt_api_function *function,
			  uint64_t result, bool in_short);

/* Whether calls of this function name a stream. */
bool gt_api_has_stream(const struct gt_api_function *function);
/* The argument that a freeing call frees, or -1. */
int gt_api_freed_argument(const struct gt_api_function *function);
