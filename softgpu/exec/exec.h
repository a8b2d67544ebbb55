/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The PTX interpreter of the software CUDA device: a machine with streaming multiprocessors
 * that are worker threads of this process. It loads parsed modules (ptx/ptx.h), decodes them
 * once and runs grids of their kernels.
 *
 * A device address is an address of this process. The owner registers the memory that kernels may
 * access: granules of one arena, and any number of other ranges. Shared, local and parameter
 * memory have generic addresses in windows of their own, which the machine reserves and never
 * maps.
 *
 * Every function may be called from any thread; several grids may run at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/launch_limits.h"

struct gt_ptx_module;
struct sg_function;
struct sg_machine;
struct sg_module;

enum {
	SG_WARP_SIZE = GT_WARP_SIZE,
	SG_GRANULE = 256,                 /* bytes: the unit of access in the arena */
	SG_MAX_SHARED_SIZE = 227 << 10,   /* bytes of a block, static and dynamic */
	SG_MAX_CLUSTER = 16,              /* blocks of a cluster */
	SG_PORTABLE_CLUSTER = 8,          /* blocks: every GPU with clusters supports that many */
	SG_MAX_PARAMETER_SIZE = 32764,    /* bytes of a kernel's parameters (PTX 8.1) */
	SG_MAX_LOCAL_SIZE = 512 << 10,    /* bytes of a thread */
	SG_DEFAULT_STACK_SIZE = 64 << 10, /* bytes of a thread's stack */
	SG_DEFAULT_HEAP_SIZE = 8 << 20,   /* bytes for malloc in kernels */
	SG_DEFAULT_MULTIPROCESSORS = 4,
};

/* ---- the machine ----------------------------------------------------------------------- */

/* The output stream of a text. */
enum sg_output {
	SG_OUTPUT_PRINT,  /* printf in a kernel (vprintf): stdout */
	SG_OUTPUT_ASSERT, /* the message of a failed assertion: stderr */
};

/* The callbacks of the machine's owner. Each is called from any thread. */
struct sg_host {
	void *user; /* the first argument of all */
	/*
	 * Allocates device memory for variables of modules and the heap of kernels, and allows
	 * access to it (sg_memory_allow). 0 or -ENOMEM. NULL: modules with variables cannot be
	 * loaded, and malloc in kernels fails.
	 */
	int (*allocate)(void *user, uint64_t size, uint64_t alignment, uint64_t *ret_address);
	/* The same for managed variables (struct sg_managed). */
	int (*allocate_managed)(void *user, uint64_t size, uint64_t alignment,
				uint64_t *ret_address);
	void (*release)(void *user, uint64_t address, uint64_t size);
	/* Text that a kernel wrote, one call per printf; not NUL-terminated. NULL: discarded. */
	void (*output)(void *user, enum sg_output output, const char *text, size_t length);
	/* cudaGraphSetConditional. False: invalid handle. NULL: there are no handles. */
	bool (*set_condition)(void *user, uint64_t handle, uint32_t value);
	/* Number of devices, for kernels that ask for it. */
	uint32_t devices;
	/* An attribute of a device (enum cudaDeviceAttr). False: unknown. NULL: all are. */
	bool (*attribute)(void *user, uint32_t device, uint32_t attribute, int32_t *ret_value);
	/* The text or the name of a cudaError_t; the host owns it. NULL: no texts. */
	const char *(*error_text)(void *user, uint32_t error, bool is_name);
	/* ns: %globaltimer and nanosleep. NULL: CLOCK_REALTIME. */
	uint64_t (*clock)(void *user);
};

/* Zero selects the default of each option. */
struct sg_machine_options {
	uint32_t workers;         /* threads; 0: one for each CPU online */
	uint32_t multiprocessors; /* value of %nsmid */
	uint64_t arena_address;   /* of device memory; a multiple of SG_GRANULE */
	uint64_t arena_size;      /* bytes; 0: no arena, only ranges */
	uint64_t timeout_ns;      /* of one grid; 0: none */
	struct sg_host host;
};

/* 0, -ENOMEM, -EAGAIN (no thread), -EINVAL (the arena is not aligned). */
int sg_machine_new(const struct sg_machine_options *options, struct sg_machine **ret_machine,
		   struct gt_diag *diag);
/* No grid may be running; the modules must be freed before. */
void sg_machine_free(struct sg_machine *machine);
GT_DEFINE_AUTO(sg_machine, struct sg_machine, sg_machine_free)

/* The following settings apply to grids that start later. */
void sg_machine_set_timeout(struct sg_machine *machine, uint64_t timeout_ns);
/* Bytes of a thread's stack (cudaLimitStackSize); at most SG_MAX_LOCAL_SIZE. */
void sg_machine_set_stack_size(struct sg_machine *machine, uint64_t bytes);
/* Bytes for malloc in kernels (cudaLimitMallocHeapSize). -EBUSY once a kernel has used it. */
int sg_machine_set_heap_size(struct sg_machine *machine, uint64_t bytes);

/*
 * Ends every running grid with the fault TIMEOUT, and those that start later too, until it is
 * called with false.
 */
void sg_machine_interrupt(struct sg_machine *machine, bool interrupted);

/* ---- memory ---------------------------------------------------------------------------- */

/*
 * Allows kernels to access [address, address + size). In the arena whole granules are allowed;
 * elsewhere (pinned, managed or registered host memory, mappings at reserved addresses) exactly
 * these bytes. 0, -ENOMEM, -EINVAL (empty, wraps, or partly in the arena or in one of the
 * machine's windows), -EEXIST (overlaps an allowed range outside of the arena).
 */
int sg_memory_allow(struct sg_machine *machine, uint64_t address, uint64_t size);
/*
 * Revokes it. Outside of the arena, `address` must be the start of an allowed range, else -ENOENT;
 * the whole range is revoked.
 */
int sg_memory_deny(struct sg_machine *machine, uint64_t address, uint64_t size);
/* Returns whether kernels may access all of it. */
bool sg_memory_is_allowed(const struct sg_machine *machine, uint64_t address, uint64_t size);

/* ---- modules --------------------------------------------------------------------------- */

/*
 * The memory of a program's managed variables: one for the modules of all contexts. size 0: there
 * is none yet.
 */
struct sg_managed {
	uint64_t address, size;
};

/*
 * Loads parsed modules as one: .extern names are resolved among them, .weak and .common
 * definitions merge, and an unresolved name is an error. The parsed modules may be freed
 * afterwards. Memory for variables is allocated and initialised.
 *
 * managed: where the managed variables are. The first module of a program that has some allocates
 * and initialises them; the caller releases the memory after the last one. NULL: they are the
 * module's own, like the others.
 *
 * -EINVAL: cannot be decoded; diag has the line of the text and the reason, e.g.
 * "line 12: opcode 'wgmma' in function 'k' is not supported by the software device".
 * -ENOENT: an unresolved name; -EEXIST: a name defined twice; -ENOMEM.
 */
int sg_module_load(struct sg_machine *machine, const struct gt_ptx_module *const *parsed,
		   size_t count, struct sg_managed *managed, struct sg_module **ret_module,
		   struct gt_diag *diag);
/* Parses and loads the text of one module; also returns the errors of gt_ptx_parse. */
int sg_module_load_text(struct sg_machine *machine, const char *text, size_t length,
			struct sg_module **ret_module, struct gt_diag *diag);
/* Frees a module; no grid of it may be running. */
void sg_module_free(struct sg_module *module);
GT_DEFINE_AUTO(sg_module, struct sg_module, sg_module_free)

/* Returns a kernel by name, or NULL. It lives as long as its module. */
const struct sg_function *sg_module_function(const struct sg_module *module, const char *name);
/* Returns kernel number `index` in the order of the text, or NULL. */
const struct sg_function *sg_module_function_at(const struct sg_module *module, size_t index);

struct sg_variable_info {
	const char *name;
	uint64_t address;
	uint64_t size;   /* bytes */
	bool is_const;   /* .const, else .global */
	bool is_managed; /* .attribute(.managed) */
};

/* Describes a module-scope variable in device memory. 0 or -ENOENT. The module owns the name. */
int sg_module_variable(const struct sg_module *module, const char *name,
		       struct sg_variable_info *ret_info);
int sg_module_variable_at(const struct sg_module *module, size_t index,
			  struct sg_variable_info *ret_info);

struct sg_parameter_info {
	uint32_t offset; /* bytes into the parameter buffer */
	uint32_t size;   /* bytes */
	uint32_t alignment;
	bool is_pointer; /* declared as .ptr */
};

struct sg_function_info {
	const char *name;
	uint32_t parameter_count;
	uint32_t parameter_size; /* bytes of all, including padding */
	uint32_t static_shared;  /* bytes of a block */
	uint32_t local_size;     /* bytes of a thread, including callees */
	uint32_t const_size;     /* bytes of the module's .const variables */
	uint32_t registers;   /* of a thread, 32 bits each: an estimate of what ptxas would use */
	uint32_t max_threads; /* of a block: .maxntid, .reqntid or GT_MAX_BLOCK_THREADS */
	uint32_t required_block[3];   /* .reqntid; 0, 0, 0: any */
	uint32_t required_cluster[3]; /* .reqnctapercluster; 0, 0, 0: any */
	uint32_t instructions;        /* of the kernel itself, as written */
	uint32_t ptx_version;         /* 63 for 6.3 */
	uint32_t target;              /* 75 for sm_75 */
};

void sg_function_describe(const struct sg_function *function, struct sg_function_info *ret_info);
/* 0 or -ENOENT. */
int sg_function_parameter(const struct sg_function *function, uint32_t index,
			  struct sg_parameter_info *ret_info);
struct sg_module *sg_function_module(const struct sg_function *function);

/* ---- grids ----------------------------------------------------------------------------- */

enum sg_fault_kind {
#define SG_FAULT(id, code, text) SG_FAULT_##id,
#include "exec/faults.def"
#undef SG_FAULT
	SG_FAULT_COUNT,
};

/* Returns CUDA's error code for a fault: 700 for an illegal address. */
int sg_fault_code(enum sg_fault_kind kind);
/* Returns "illegal memory access" and the like. */
const char *sg_fault_text(enum sg_fault_kind kind);

/* Why a grid ended: its first fault. Other blocks may have continued for a moment. */
struct sg_fault {
	enum sg_fault_kind kind;
	char function[128]; /* in which it happened: the kernel or a function that it called */
	uint32_t line;      /* of the PTX; 0: not at an instruction */
	uint32_t block[3];
	uint32_t thread[3];
	uint64_t address; /* of the access, if there was one */
	/*
	 * The fault as a sentence: "illegal memory access at 0x10 in kernel k, block (0,0,0),
	 * thread (3,0,0), line 17: st.global.u32"
	 */
	char text[512];
};

/* How many threads run a kernel, in which groups. */
struct sg_launch_shape {
	uint32_t grid[3];        /* blocks */
	uint32_t block[3];       /* threads */
	uint32_t cluster[3];     /* blocks; 0, 0, 0: none */
	uint32_t dynamic_shared; /* bytes of a block */
	bool cooperative;        /* all blocks are resident at once */
};

struct sg_launch {
	const struct sg_function *function;
	struct sg_launch_shape shape;
	const void *parameters; /* laid out as sg_function_parameter says; copied */
	size_t parameter_size;  /* bytes, at least what the kernel declares */
	uint32_t device;        /* the result of cudaGetDevice in a kernel */
	uint64_t id;            /* %gridid: sg_grid_next_id */
	/* By enum cudaLimit, for kernels that ask for them; stay valid while the grid runs. */
	const size_t *limits;
	uint32_t limit_count;
};

/*
 * The id of a new grid: they count from 1, in the order of the calls that launch them. Grids that
 * kernels launch, and those of graphs, have theirs when they run.
 */
uint64_t sg_grid_next_id(struct sg_machine *machine);

struct sg_grid_result {
	struct sg_fault fault; /* kind NONE: no fault */
	uint64_t warp_instructions;
	uint64_t thread_instructions; /* of active lanes */
	uint64_t cycles; /* modelled: instructions that the busiest multiprocessor issued */
};

/*
 * Runs a grid to its end, and then the grids that it launched. The workers and the calling
 * thread run its blocks. 0; -EFAULT, with ret_result->fault; -EINVAL (dimensions, parameters too
 * few), -ENOMEM. A launch that no block can satisfy (threads, shared memory) is the fault
 * OUT_OF_RESOURCES.
 */
int sg_grid_run(struct sg_machine *machine, const struct sg_launch *launch,
		struct sg_grid_result *ret_result);

/*
 * Returns how many blocks of that shape a multiprocessor holds at once, by the limits of compute
 * capability 7.5 to 9.0: threads, blocks, shared memory, registers. 0: none fits.
 */
uint32_t sg_function_occupancy(const struct sg_function *function, uint32_t block_threads,
			       uint32_t dynamic_shared);
