/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The agent: a shared object inside the traced process, loaded by LD_PRELOAD. It hands the images
 * that the program loads to the collector and loads what comes back. Whatever goes wrong, the
 * original is loaded and the program runs as without it. It depends on libc alone, writes to no
 * file of the program, changes neither signal handlers nor errno, and holds no lock while it calls
 * the driver.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/protocol.h"

/* ---- file.c ---- */

/* A file's bytes and a NUL, mapped. */
struct gt_agent_file {
	void *data; /* NULL: it cannot be read */
	size_t size;
};
struct gt_agent_file gt_agent_read_file(const char *path);
void gt_agent_unmap_file(struct gt_agent_file *file);

/* ---- image.c ---- */

/* The bytes of an image as the program passes it to the driver. */
struct gt_agent_image {
	const void *data;
	size_t size;
	bool is_copy; /* the agent's, of parts that do not lie together */
	bool is_text; /* PTX */
};

/*
 * Find where an image lies and how long it is: a fatbin's wrapper, a fatbin, a cubin, PTX. As the
 * driver does, this trusts the sizes that the image states. A wrapper of version 2 lists the
 * fatbins of a linked program: they are copied, one after the other. False: another kind of image.
 * Ends with gt_agent_release_image.
 */
bool gt_agent_measure(const void *image, struct gt_agent_image *ret_image);
void gt_agent_release_image(struct gt_agent_image *image);
/* What the PTX of a fatbin, its first entry, is for. All 0: it is too short. */
struct gt_agent_target {
	uint32_t capability;
	bool is_specific; /* for one architecture or family alone (sm_90a, sm_100f) */
};
struct gt_agent_target gt_agent_target_of(const void *fatbin, size_t size);

/* The mangled names of kernels, sorted, each with a NUL. */
struct gt_agent_names {
	const char *data;
	size_t size;
	uint32_t count;
};

/* ---- contexts.c ---- */

/*
 * Whether patched code may be loaded: the GPUs reach the memory of the maps. From then on they
 * reach it from every context.
 */
bool gt_agent_maps_ready(void);

/* ---- side.c ---- */

enum gt_agent_container {
	GT_AGENT_MODULE,
	GT_AGENT_LIBRARY,
};

/*
 * Make look-ups of some kernels in a module or library find those of another one, which is unloaded
 * with it. False: no memory.
 */
bool gt_agent_add_side(enum gt_agent_container kind, void *original, void *side,
		       const struct gt_agent_names *kernels);
/* The driver returned this handle: whatever was known of an earlier one is over. */
void gt_agent_forget_side(enum gt_agent_container kind, void *original);

/* Now, for gt_agent_end_sides. */
uint64_t gt_agent_side_time(void);
/* A context has ended, and with it its modules, those that are older than `time`. */
void gt_agent_end_sides(void *context, uint64_t time);

/* ---- device_number.c ---- */

/*
 * Let patched code know the number of its GPU, by a variable of the module or library: that of the
 * current context is written, those of a library in other contexts before a kernel of it is
 * launched there. False: it could not be written, or there is no memory.
 */
bool gt_agent_number_device(enum gt_agent_container kind, void *handle, const char *symbol);
/* A kernel of a library has become known. */
void gt_agent_number_kernel(const void *kernel, const void *library);
/* The module of a library in the current context has become known. */
void gt_agent_number_library(const void *library);
/*
 * A kernel is going to be launched in a stream, in the current context if it is a default stream.
 * Other handles are ignored.
 */
void gt_agent_number_launch(const void *kernel, void *stream);
/* A library is going to be unloaded. */
void gt_agent_forget_number(const void *library);
/* A context is going to end. */
void gt_agent_forget_context_number(const void *context);
void gt_agent_numbers_forked(void);

/* ---- link.c ---- */

/* A patched module that the driver has linked to a cubin. */
struct gt_agent_linked {
	void *state;       /* the cubin is there as long as this */
	const void *cubin; /* NULL: none */
};

/* CUjit_option (cuda.h of CUDA 13.0), those that the agent knows. */
enum gt_agent_jit_option {
	CU_JIT_MAX_REGISTERS = 0,
	CU_JIT_THREADS_PER_BLOCK = 1,
	CU_JIT_OPTIMIZATION_LEVEL = 7,
	CU_JIT_FALLBACK_STRATEGY = 10,
	CU_JIT_GLOBAL_SYMBOL_NAMES = 17,
	CU_JIT_LTO = 20,
	CU_JIT_REFERENCED_KERNEL_NAMES = 25,
	CU_JIT_POSITION_INDEPENDENT_CODE = 30,
};

/* Options of a compilation, as the driver takes them; it may write to the values. */
struct gt_agent_jit {
	unsigned count;
	int *options;
	void **values;
	unsigned register_limit; /* of a thread, in all inputs; 0: none */
};

/*
 * Link what base/link_input.h describes. The options are for all inputs, and precede those that an
 * input has itself. 0 or the driver's CUresult.
 */
int gt_agent_link(const char *inputs, size_t size, const struct gt_agent_jit *jit,
		  struct gt_agent_linked *ret_linked);
void gt_agent_end_link(struct gt_agent_linked *linked);

/* ---- client.c ---- */

/* An exchange about one image. */
struct gt_agent_exchange {
	int socket;
	const void *patched;           /* mapped; NULL: load the original */
	size_t size;                   /* of the mapping */
	bool is_side;                  /* load the original, too */
	bool is_linked;                /* `patched` is inputs of a link (base/link_input.h) */
	size_t image_size;             /* of `patched`; names follow */
	struct gt_agent_names kernels; /* that programs match; in the mapping */
	char device_symbol[GT_AGENT_SYMBOL];
};

/*
 * Asks the collector for an image of a device. Without a collector, after an error or its deadline
 * there is nothing patched. Ends with gt_agent_finish.
 */
void gt_agent_ask(const struct gt_agent_image *image, uint32_t capability,
		  struct gt_agent_exchange *ret_exchange);
/* False: no program matches one of the names of GT_AGENT_NAMES, or the collector does not answer.
 */
bool gt_agent_ask_names(const char *list, size_t size);
/*
 * The same as gt_agent_ask for an OpenCL program: the bytes of GT_AGENT_PROGRAM, and what its
 * devices take.
 */
void gt_agent_ask_program(const void *data, size_t size, uint32_t form,
			  struct gt_agent_exchange *ret_exchange);
/*
 * Report whether the patched image is loaded (0, the driver's CUresult or gt_agent_error), and
 * release it. keep: the driver reads it as long as the process lives, unless there is an error.
 */
void gt_agent_finish(struct gt_agent_exchange *exchange, int error, bool keep);

/*
 * Send the bytes of a report (report.h), and wait until the collector has read them. True: it wants
 * PTX that the report does not have.
 */
bool gt_agent_send_compiled(const struct gt_agent_image *report);

/*
 * The host area of the maps, mapped once per process at the collector's address. False: there is
 * none, and nothing can be patched.
 */
bool gt_agent_map_memory(void **ret_memory, size_t *ret_size);
/* The device area of the maps, as the collector offers it. */
struct gt_agent_area {
	uint64_t address;
	size_t size;
	int fd; /* a handle of GPU memory, which the caller maps and closes; -1: it is mapped */
};
/* Ask for it: memory of the GPU of this UUID, if possible, or, NULL, host memory. */
bool gt_agent_ask_area(const uint8_t uuid[16], struct gt_agent_area *ret_area);
/*
 * device_maps.c: let the GPU of the current context reach the device area, which is mapped first
 * where it is not. register_memory does so for host memory.
 */
bool gt_agent_device_maps_ready(bool (*register_memory)(void *memory, size_t size));
/*
 * Map the memory of the maps as gt_agent_map_memory, with the device area in host memory. False: no
 * collector has any. *ret_error: 0, or the gt_agent_error for which it is not in host memory.
 */
bool gt_agent_map_on_host(int *ret_error);
enum {
	GT_AGENT_AREAS = 2,
};
/* The areas that it has mapped, after it had no error; each has bytes. Their number. */
size_t gt_agent_host_areas(struct gt_agent_area ret_areas[GT_AGENT_AREAS]);
/* In the child after fork. */
void gt_agent_device_maps_forked(void);
/* Whether the collector has such memory, and the process cannot map it. */
bool gt_agent_misses_memory(void);

struct gt_agent_ring;

/* Ask for a ring for the events of this process, and map it. False: there is none. */
bool gt_agent_request_ring(struct gt_agent_ring *ret_ring);

struct gt_agent_call_table;

/* Ask for the table of the calls to be recorded, and map it. NULL: there is none. */
const struct gt_agent_call_table *gt_agent_request_calls(size_t *ret_size);

/* ---- events.c ---- */

/*
 * The ring of this process, which is asked for once; NULL: there is none, or another thread asks
 * for it at the moment.
 */
const struct gt_agent_ring *gt_agent_ring(void);
/* The same, after another thread that asks has its answer. Not in signal handlers. */
const struct gt_agent_ring *gt_agent_wait_for_ring(void);
void gt_agent_ring_forked(void);

/* In the child after fork: no other thread runs, and locks may be held by threads that are gone. */
void gt_agent_contexts_forked(void);
void gt_agent_sides_forked(void);
