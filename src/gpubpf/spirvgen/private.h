/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The generator of SPIR-V. It lowers the list of instructions that ptxgen selects (ptxgen/select.h)
 * to a function of SPIR-V, row by row:
 *
 *	registers   variables of the storage class Function; the consumer's compiler makes values
 *	labels      blocks; structured control flow is not required of kernels. Blocks are written
 *	            in reverse postorder, so that each one follows those that dominate it
 *	.global     pointers of CrossWorkgroup, made from the address
 *	.local      one array of the storage class Function. Its "addresses" are numbers from
 *	            GT_SPIRVGEN_LOCAL on, which no address in CrossWorkgroup reaches; where a
 *	            pointer may be either (generic), a comparison selects the storage class
 *	.const      the words of symbols: constants, or specialization constants
 *
 * Divisions never have a divisor of 0 or -1, for which a CPU would trap. Shifts are clamped as in
 * PTX. A lane is a work-item's number in its work-group modulo 32; no instruction exchanges values
 * between lanes. In the body of a kernel, each lane is a group. Where the device has sub-groups,
 * lanes are those of a sub-group (sub_groups.c).
 */
#pragma once

#include <spirv/unified1/spirv.h>

#include "gpubpf/ptxgen/select.h"
#include "gpubpf/spirvgen/program.h"
#include "gpubpf/translate.h"
#include "spirv/builder.h"

/* The address of the first byte of the array of the stack: above all user addresses of CPUs. */
#define GT_SPIRVGEN_LOCAL UINT64_C(0x7f00000000000000)

struct gt_spirvgen_block {
	uint32_t label;
	size_t begin, end; /* words of gen->code */
	uint32_t successors[2];
	unsigned successor_count;
	bool is_visited;
};

/* A register of the list: a variable, and its value in the block that set or read it last. */
struct gt_spirvgen_register {
	uint32_t variable;
	uint32_t value, block; /* block: its number among those begun; 0: none */
};

/* The type of an instruction: 'b', 'u' or 's' and the bits; pred has 1. */
struct gt_spirvgen_type {
	char letter;
	unsigned bits;
};

/* An opcode that was seen; its strings are static. */
struct gt_spirvgen_seen {
	const char *name, *suffix;                     /* name: NULL: none */
	const struct gt_spirvgen_operation *operation; /* rows.c */
	struct gt_spirvgen_type type;
};

enum {
	GT_SPIRVGEN_SEEN = 64,
	GT_SPIRVGEN_COMMON = 32, /* registers of a class that most programs use */
	GT_SPIRVGEN_BUILTINS =
		SpvBuiltInSubgroupLocalInvocationId + 1, /* special.c reads no higher one */
};

struct gt_spirvgen {
	struct gt_spirv_builder *builder;
	const struct gt_translate_options *options;
	const struct gt_bpf_object *object;
	const struct gt_translate_job *job;
	const struct gt_ptxgen_selection *selection;
	const struct gt_ptxgen_row *row; /* that is lowered */
	GT_VEC(struct gt_spirvgen_register) registers;
	uint32_t *temporaries[GT_PTXGEN_REGISTER_CLASSES]; /* by number: 1 + index in registers */
	uint32_t *notes;                                   /* the memory of temporaries */
	/* The same for those of the outermost function, and for others, by value. */
	uint32_t common[GT_PTXGEN_REGISTER_CLASSES][GT_SPIRVGEN_COMMON];
	struct gt_hash *others;
	uint32_t pointers[GT_PTXGEN_REGISTER_CLASSES];  /* types of their variables; 0: not yet */
	struct gt_spirvgen_seen seen[GT_SPIRVGEN_SEEN]; /* by the addresses of their strings */
	struct gt_hash *labels;                         /* by value: ids of labels */
	struct gt_spirv_words variables;                /* of the function */
	struct gt_spirv_words code;                     /* of the blocks */
	GT_VEC(struct gt_spirvgen_block) blocks;
	GT_VEC(uint32_t) interface;              /* the input variables that are used */
	uint32_t builtins[GT_SPIRVGEN_BUILTINS]; /* the same by built-in value; 0: not used */
	uint32_t vector;                         /* their type; 0: not yet */
	uint32_t block;                          /* the number of blocks begun */
	bool is_open;                            /* the last block has no terminator yet */
	uint32_t memory, memory_size, results, context; /* parameters; context may be 0 */
	uint32_t shared; /* with options->relative: a parameter, the pointer to the memory */
	uint32_t base;   /* its address, which those of the host are relative to; 0: to none */
	uint32_t local;  /* pointer to the first byte of the array; 0: there is none */
	/* By value of the job: the id of one that is not known here; 0, or no array: a number. */
	const uint32_t *site_values;
	/* The function of a program in a kernel (program.h). */
	bool is_called, in_body;
	bool uses_sub_groups; /* the code has operations or numbers of sub-groups */
	int error;            /* the first one */
	struct gt_diag *diag;
};

/* An error at the row that is lowered. Returns `error`. */
int gt_spirvgen_fail(struct gt_spirvgen *gen, int error, const char *format, ...) gt_printf(3, 4);

/* Make and free the tables of the registers and labels of gen->selection. 0 or -ENOMEM. */
int gt_spirvgen_open_tables(struct gt_spirvgen *gen);
void gt_spirvgen_close_tables(struct gt_spirvgen *gen);
void gt_spirvgen_clear(struct gt_spirvgen *gen);

/* ---- function.c: blocks and registers ---- */

/* A fresh id with the result of an instruction of `type`. */
uint32_t gt_spirvgen_add(struct gt_spirvgen *gen, unsigned opcode, uint32_t type,
			 const uint32_t *operands, size_t count);
#define gt_spirvgen_emit(gen, opcode, type, ...)                                                   \
	gt_spirvgen_add((gen), (opcode), (type), (const uint32_t[]){__VA_ARGS__},                  \
			sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static inline uint32_t gt_spirvgen_int(struct gt_spirvgen *gen, unsigned bits)
{
	return gt_spirv_type_int(gen->builder, bits);
}
static inline uint32_t gt_spirvgen_constant(struct gt_spirvgen *gen, unsigned bits, uint64_t value)
{
	return gt_spirv_constant(gen->builder, bits, value);
}

/* An operation on two integers of `bits`. */
static inline uint32_t gt_spirvgen_binary(struct gt_spirvgen *gen, unsigned opcode, unsigned bits,
					  uint32_t left, uint32_t right)
{
	return gt_spirvgen_emit(gen, opcode, gt_spirvgen_int(gen, bits), left, right);
}

/* Begin a block; one that is open branches to it. */
void gt_spirvgen_begin_block(struct gt_spirvgen *gen, uint32_t label);
void gt_spirvgen_branch(struct gt_spirvgen *gen, uint32_t label);
void gt_spirvgen_branch_if(struct gt_spirvgen *gen, uint32_t condition, uint32_t holds,
			   uint32_t else_label);
void gt_spirvgen_return(struct gt_spirvgen *gen);
/* The same with a value: the function of a program that ends work-items. */
void gt_spirvgen_return_value(struct gt_spirvgen *gen, uint32_t value);
/* The id of a label of the list. */
uint32_t gt_spirvgen_label(struct gt_spirvgen *gen, struct gt_ptxgen_value label);

/* An integer with other bits: truncated, or extended with zeros or its sign. */
uint32_t gt_spirvgen_convert(struct gt_spirvgen *gen, uint32_t id, unsigned from, unsigned to,
			     bool is_signed);
/* The value of an operand as an integer of `bits`, truncated or extended with zeros. */
uint32_t gt_spirvgen_read(struct gt_spirvgen *gen, struct gt_ptxgen_value value, unsigned bits);
/* The value of a predicate. */
uint32_t gt_spirvgen_read_predicate(struct gt_spirvgen *gen, struct gt_ptxgen_value value);
/* Set a register to an integer of `bits`; for a predicate, bits is 1 and the id is a bool. */
void gt_spirvgen_write(struct gt_spirvgen *gen, struct gt_ptxgen_value target, uint32_t id,
		       unsigned bits, bool is_signed);

/* Declare the array of the stack of gen->selection, in the first block. */
void gt_spirvgen_declare_local(struct gt_spirvgen *gen);
/* Lower the rows of gen->selection, in blocks of their own; the last one may be open. */
void gt_spirvgen_lower_rows(struct gt_spirvgen *gen);
/* Add the blocks to the functions of the module, the variables in the first one. 0 or -ENOMEM. */
int gt_spirvgen_add_blocks(struct gt_spirvgen *gen);

/* Generate the function and its entry point. 0 or -Exxx. */
int gt_spirvgen_function(struct gt_spirvgen *gen);

/* ---- special.c: special registers ---- */

#define GT_SPIRVGEN_NO_CLOCK "a clock of the device"

/* The value of a special register of PTX, as an integer of `bits`. */
uint32_t gt_spirvgen_special(struct gt_spirvgen *gen, const char *name, unsigned bits);
/* One component of a built-in value, of 64 bits. */
uint32_t gt_spirvgen_builtin(struct gt_spirvgen *gen, unsigned builtin, unsigned component);
/* A built-in value of the type i32. */
uint32_t gt_spirvgen_builtin_word(struct gt_spirvgen *gen, unsigned builtin);
/* The number of the work-item in its work-group, and the size of that, of 64 bits. */
uint32_t gt_spirvgen_local_index(struct gt_spirvgen *gen);
uint32_t gt_spirvgen_local_size(struct gt_spirvgen *gen);

/* ---- sub_groups.c: numbers and lanes of warps, of 32 bits ---- */

/* Whether the program has operations of sub-groups. All others need them. */
bool gt_spirvgen_has_sub_groups(const struct gt_spirvgen *gen);
/*
 * Whether lanes and warps are numbered in sub-groups, of which the size is not known: in kernels
 * that others made. In the form "kernel", 32 work-items in a row are a warp.
 */
bool gt_spirvgen_counts_in_sub_groups(const struct gt_spirvgen *gen);
/* The number of the work-item in its warp, and how many work-items that has, or 32 and more. */
uint32_t gt_spirvgen_lane(struct gt_spirvgen *gen);
uint32_t gt_spirvgen_warp_size(struct gt_spirvgen *gen);
/* The number of the warp in its work-group, and how many that has. */
uint32_t gt_spirvgen_warp_number(struct gt_spirvgen *gen);
uint32_t gt_spirvgen_warp_count(struct gt_spirvgen *gen);
/* The lanes where a predicate holds, and all that are active. */
uint32_t gt_spirvgen_ballot(struct gt_spirvgen *gen, uint32_t predicate);
uint32_t gt_spirvgen_active_lanes(struct gt_spirvgen *gen);
/* The value that another lane has. */
uint32_t gt_spirvgen_shuffle(struct gt_spirvgen *gen, uint32_t value, unsigned bits, uint32_t lane);
/* Add the execution modes that the kernel needs. */
void gt_spirvgen_add_modes(struct gt_spirvgen *gen, uint32_t function);

/* ---- rows.c: instructions ---- */

/* Lower gen->row, an instruction. */
void gt_spirvgen_lower(struct gt_spirvgen *gen);

/* ---- memory.c ---- */

void gt_spirvgen_load(struct gt_spirvgen *gen, struct gt_spirvgen_type type);
/* Make an address of what an address of the host is to the module: see options->relative. */
uint32_t gt_spirvgen_host_address(struct gt_spirvgen *gen, uint32_t address);
/* The word at an address of the host, which may change it at any time. */
uint32_t gt_spirvgen_load_shared(struct gt_spirvgen *gen, uint64_t address, unsigned bits);
void gt_spirvgen_store(struct gt_spirvgen *gen, struct gt_spirvgen_type type);
/* atom and red: `opcode` is that of SPIR-V. */
void gt_spirvgen_atomic(struct gt_spirvgen *gen, struct gt_spirvgen_type type, unsigned opcode);
/* fence and membar: `system` is for all devices and the host. */
void gt_spirvgen_fence(struct gt_spirvgen *gen, bool system);
/* A condition: an address is one of the array of the stack. */
uint32_t gt_spirvgen_is_local(struct gt_spirvgen *gen, uint32_t address);
/* The address of a symbol: the array of the stack, or of copies. */
uint64_t gt_spirvgen_symbol_address(const struct gt_spirvgen *gen, const char *name);
/* The size of the array, in bytes. */
uint32_t gt_spirvgen_local_bytes(const struct gt_spirvgen *gen);
