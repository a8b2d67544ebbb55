/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The decoded form of functions, which the interpreter runs, and of the modules that contain them.
 *
 * A warp's registers are a file of slots; a slot holds the 32 lanes of one register side by
 * side: 32 × 2, 4 or 8 bytes, 2 × 32 × 8 bytes for .b128, and one 32-bit mask for a predicate.
 * Immediates, symbols and the special registers that do not change are slots too, filled when
 * a block starts, so that every operand of a decoded instruction is a slot's offset in the
 * frame.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/hash.h"
#include "base/vec.h"
#include "ptx/ptx.h"

#define SG_NO_SLOT UINT32_MAX
/* Every frame begins with a slot for values that are written to `_`. */
#define SG_SINK 0u
#define SG_SINK_SIZE 512u

enum {
	SG_CODE_STRIDE = 16,          /* bytes between the addresses of functions */
	SG_MAX_ELEMENTS = 8,          /* of a vector operand */
	SG_MAX_REGISTER_ELEMENTS = 4, /* of a vector register */
};

struct sg_access;
struct sg_exchange;
struct sg_instruction;
struct sg_machine;
struct sg_managed;
struct sg_warp;

/* Executes an instruction for the lanes of warp->exec; returns the next one, NULL to stop. */
typedef const struct sg_instruction *sg_run(struct sg_warp *warp, const struct sg_instruction *at);

/* Resolves the addresses of a memory access to pointers of this process; false after a fault. */
typedef bool sg_resolve(struct sg_warp *warp, const struct sg_instruction *at,
			struct sg_access *access);

/*
 * Computes the results of an exchange between lanes for `lanes`, which all name the same members;
 * `members` are those of them that are present.
 */
typedef void sg_combine(struct sg_exchange *exchange, const struct sg_instruction *at,
			uint32_t lanes, uint32_t members);

struct sg_instruction {
	sg_run *run;
	uint32_t d, a, b, c; /* slots: destination and sources, as offsets in the frame */
	uint32_t e;          /* second destination or fourth source */
	uint32_t flags;      /* enum sg_flag */
	uint64_t immediate;
	union {
		const struct sg_instruction *target; /* of a branch */
		sg_resolve *resolve;                 /* of a memory access */
		sg_combine *combine;                 /* of an exchange between lanes */
		const struct sg_call *call;
		const struct sg_jump_table *table;
	};
	union {
		const uint32_t *list;              /* slots of a vector operand */
		const struct sg_instruction *next; /* of a branch that is not taken */
	};
	uint32_t line;    /* of the PTX */
	uint8_t size;     /* bytes of an access, of one element */
	uint8_t count;    /* elements of a vector operand; instructions under a guard */
	uint8_t space;    /* enum gt_ptx_space of an access */
	uint8_t selector; /* comparison, operation or mode */
};

enum sg_flag {
	SG_FLAG_RZ = 1 << 0, /* rounding; none of RZ, RM, RP: to nearest even */
	SG_FLAG_RM = 1 << 1,
	SG_FLAG_RP = 1 << 2,
	SG_FLAG_FTZ = 1 << 3,
	SG_FLAG_SAT = 1 << 4,
	SG_FLAG_ACQUIRE = 1 << 5,
	SG_FLAG_RELEASE = 1 << 6,
	SG_FLAG_ATOMIC = 1 << 7,  /* .volatile, .relaxed and stronger */
	SG_FLAG_NEGATE = 1 << 8,  /* the predicate source, or the result of a comparison */
	SG_FLAG_SPIN = 1 << 9,    /* a backward branch of a loop that may wait for another thread */
	SG_FLAG_NARROW = 1 << 10, /* the address register has 32 bits */
	SG_FLAG_SYNC = 1 << 11,
	SG_FLAG_CARRY_IN = 1 << 12,
	SG_FLAG_CARRY_OUT = 1 << 13,
	SG_FLAG_NAN = 1 << 14,
	SG_FLAG_ABS = 1 << 15,
	SG_FLAG_RELU = 1 << 16,
	SG_FLAG_XORSIGN = 1 << 17,
	SG_FLAG_SPIN_SLOW = 1 << 18, /* as SPIN, less likely */
	SG_FLAG_SHARED = 1 << 19,    /* the address is in shared memory (mbarriers) */
	SG_FLAG_MODES = SG_FLAG_RZ | SG_FLAG_RM | SG_FLAG_RP | SG_FLAG_FTZ | SG_FLAG_SAT |
			SG_FLAG_NAN | SG_FLAG_ABS | SG_FLAG_RELU | SG_FLAG_XORSIGN,
};

/* A comparison, at->count of comparisons of 16 bits. Others exchange operands or negate. */
enum sg_comparison {
	SG_COMPARE_EQUAL,
	SG_COMPARE_LESS,
	SG_COMPARE_LESS_EQUAL,
	SG_COMPARE_DIFFERENT, /* and neither is NaN */
	SG_COMPARE_NUMBERS,   /* neither is NaN */
};

/* How setp combines its comparison with its third source. */
enum sg_boolean {
	SG_BOOLEAN_NONE,
	SG_BOOLEAN_AND,
	SG_BOOLEAN_OR,
	SG_BOOLEAN_XOR,
};

/* A slot that is filled when a block starts. */
enum sg_fill_kind {
	SG_FILL_CONSTANT, /* value in every lane */
	SG_FILL_SHARED,   /* the offset of shared variable number `value`, plus addend */
	SG_FILL_LANE,     /* a special register that differs between lanes */
	SG_FILL_GRID,     /* one that is constant in the grid */
	SG_FILL_BLOCK,    /* one that is constant in the block */
};

struct sg_fill {
	uint32_t slot;
	uint8_t kind;
	uint8_t width;    /* bytes of a lane: 2, 4, 8, 16; 0: a predicate */
	uint8_t selector; /* of a special register */
	uint16_t special;
	uint64_t value;
	uint64_t high; /* of a .b128 */
	int64_t addend;
};

/* An argument or a result of a call: a register, an immediate's slot, or a .param variable. */
struct sg_pass {
	bool is_register;
	uint32_t offset; /* slot, or bytes into the local frame */
	uint32_t size;   /* bytes; a register's: of its lane */
};

struct sg_call {
	const struct sg_function *callee; /* NULL: indirect, or a built-in function */
	uint32_t target;                  /* slot of the function's address, if indirect */
	uint32_t argument_count, return_count;
	struct sg_pass *arguments, *returns;
	struct sg_call *next; /* in the function */
};

struct sg_jump_table {
	uint32_t count;
	const struct sg_instruction **targets;
	struct sg_jump_table *next;
};

/* A parameter or result of a function. */
struct sg_formal {
	bool is_register;
	bool is_pointer;
	uint32_t offset; /* slot, or bytes into the local frame (device), the buffer (kernel) */
	uint32_t size;   /* bytes; a register's: of its lane */
	uint32_t alignment;
};

/* A register's slot. */
struct sg_slot {
	uint32_t offset;
	uint32_t width; /* bytes of a lane: 2, 4, 8, 16; 0: a predicate */
};

/* Slot lists of vector operands. */
struct sg_lists {
	struct sg_lists *next;
	uint32_t used;
	uint32_t items[1022];
};

/* A shared variable of the module. */
struct sg_shared_variable {
	const char *name;
	uint64_t size; /* 0: dynamic */
	uint32_t alignment;
};

struct sg_function {
	struct sg_module *module;
	char *name;
	uint32_t number; /* among the module's functions; kernels come last */
	bool is_kernel;
	bool is_recursive;
	bool has_indirect_call;
	bool is_address_taken;
	bool uses_stack_pointer;   /* alloca and the like */
	bool uses_reserved_shared; /* reads the offset of the system's shared memory */
	bool uses_cluster_barrier;
	bool is_global; /* visible to other modules */
	bool is_weak;

	struct sg_instruction *code;
	uint32_t code_count;
	uint32_t frame_size; /* bytes of slots */
	GT_VEC(struct sg_fill) fills;
	size_t block_fills;           /* the first of them, which change from block to block */
	GT_VEC(struct sg_slot) slots; /* of registers: saved by a recursive call */
	struct sg_lists *lists;
	uint32_t local_size; /* bytes of the local frame: parameters, results, .local, .param */
	struct sg_formal *parameters, *returns;
	uint32_t parameter_count, return_count;
	uint32_t parameter_size; /* kernel */
	struct sg_call *calls;
	struct sg_jump_table *tables;
	GT_VEC(const struct sg_function *) callees;
	GT_VEC(uint32_t) shared_used; /* numbers of shared variables */

	uint32_t max_threads, required_block[3], required_cluster[3];
	uint32_t instructions, register_words; /* of a thread, 32 bits each */
	uint32_t register_limit;               /* .maxnreg; 0: none */
	uint32_t address_number; /* address = code window + number × SG_CODE_STRIDE */

	/* Kernels only: the needs of a launch, of all functions that the kernel can reach. */
	const struct sg_function **reachable;
	uint32_t reachable_count;
	uint32_t *frame_offsets; /* of callees' registers, by number; UINT32_MAX: not reachable */
	uint32_t called_count;   /* functions of the module other than kernels */
	uint64_t registers_size; /* bytes of all frames */
	uint64_t stack_need;     /* bytes of local memory without recursion */
	bool needs_stack;        /* recursion or indirect calls */
	bool needs_reserved_shared;
	bool needs_cluster;       /* of one block, in a launch without clusters */
	uint32_t *shared_offsets; /* by shared variable number */
	uint32_t shared_static;   /* bytes */
};

struct sg_module_variable_entry {
	char *name;
	uint64_t address, size;
	bool is_const, is_managed;
};

/* A module's .texref or .surfref. */
struct sg_reference {
	char *name;
	uint64_t handle;
	bool is_surface;
};

struct sg_module {
	struct sg_machine *machine;
	GT_VEC(struct sg_function *) functions; /* kernels last */
	size_t first_kernel;
	GT_VEC(struct sg_module_variable_entry) variables;
	GT_VEC(struct sg_shared_variable) shared;
	GT_VEC(struct sg_reference) references;
	struct gt_hash *kernel_names;         /* to struct sg_function */
	struct gt_hash *variable_names;       /* to its number + 1 */
	uint64_t memory_address, memory_size; /* of the variables */
	uint32_t const_size;
	uint32_t ptx_version, target;
	uint32_t first_address_number;
};

/* ---- modules (module.c, link.c, callgraph.c) ------------------------------------------- */

/* Fills a new module from parsed ones: see sg_module_load. On failure the caller frees it. */
int sg_module_link(struct sg_module *module, const struct gt_ptx_module *const *parsed,
		   size_t count, struct sg_managed *managed, struct gt_diag *diag);
bool sg_module_is_const(const struct sg_module *module, uint64_t address);
void sg_function_free(struct sg_function *function);
/* Whether a call passes the values that a function takes and returns (ops/call.c). */
bool sg_call_fits(const struct sg_call *call, const struct sg_function *callee);
/*
 * Checks direct calls, and finds recursion, stack sizes and the needs of each kernel. 0, -EINVAL,
 * -ENOMEM, -E2BIG.
 */
int sg_module_find_calls(struct sg_module *module, struct gt_diag *diag);
