/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The generator of PTX. It translates a program in three steps:
 *
 *	passes over the eBPF instructions (passes.h) decide what can be done better,
 *	instruction selection appends PTX instructions to a list (ir.h), a row each,
 *	passes over that list rewrite it, and print.c prints it.
 *
 * eBPF registers are PTX registers of 64 bits; ptxas allocates the real ones. Each temporary and
 * label has one purpose, and any number of them costs nothing.
 *
 * Addresses: pointers to map values, records and memory are addresses in .global, pointers to the
 * stack in .local. In a program where one register may hold both (gen->generic) all are generic
 * addresses. NULL is 0. A register that holds a map (GT_REG_MAP) holds the map's number.
 */
#pragma once

#include "gpubpf/helpers.h"
#include "gpubpf/ptxgen/ir.h"
#include "gpubpf/ptxgen/passes.h"
#include "gpubpf/translate.h"

enum {
	/* Instructions, those of functions counted at each of their calls. */
	GT_PTXGEN_MAX_INLINED = 65536,
};

/* Which of the active lanes run a program. */
enum gt_ptxgen_lanes {
	GT_PTXGEN_EACH,   /* each on its own */
	GT_PTXGEN_LEADER, /* the lowest one */
	/*
	 * All, in lockstep and with the same values in their registers; the leader alone executes
	 * what has effects. For programs that read values of other lanes: these must take part.
	 */
	GT_PTXGEN_ALL,
};

/* Where the stack of a function is. Slot n is the 8 bytes at -8 * (n + 1). */
struct gt_ptxgen_stack {
	uint8_t pieces[GT_BPF_STACK_SLOTS]; /* bytes a register of the slot holds; 0: unused */
	uint64_t memory;                    /* bit n: slot n is in memory instead */
	uint32_t bytes;                     /* of memory, below the frame's top */
};

/* A function that is emitted, inlined at a call. */
struct gt_ptxgen_frame {
	struct gt_ptxgen_frame *caller;
	uint32_t number;               /* of the frame: 0 is the main program's */
	uint32_t subprogram;           /* its number in the facts */
	uint32_t top;                  /* r10, in bytes from the start of the stack's memory */
	struct gt_ptxgen_value budget; /* .b32: how often its may_gotos may still fall through */
};

struct gt_ptxgen {
	const struct gt_translate_options *options;
	const struct gt_bpf_object *object; /* may be NULL */
	const struct gt_translate_job *job;
	const struct gt_facts *facts;
	const char *prefix;
	size_t prefix_length;
	unsigned sm, version; /* 90; 78 */
	struct gt_ptxgen_list list;
	size_t text_size;  /* of the list, at least: bytes */
	size_t text_limit; /* bytes */
	struct gt_translation *translation;
	bool generic;
	bool without_lanes; /* threads of a warp do not act together (select.h) */
	enum gt_ptxgen_lanes lanes;
	bool by_leader;        /* GT_PTXGEN_ALL: the leader alone executes the code being emitted */
	bool reads_first;      /* the leader must be found by its number */
	size_t leader_rows[3]; /* of the list: the code that finds the leader, in two variants */
	struct gt_ptxgen_stack *stacks; /* by function */
	uint32_t *targets;              /* by instruction: the jumps that need its label */
	struct gt_ptxgen_if_conversion if_conversion;
	struct gt_ptxgen_null_test *null_tests; /* by instruction */
	struct gt_ptxgen_ranges ranges;
	struct gt_ptxgen_strength strength;
	struct gt_ptxgen_frame *frame; /* the function that is emitted */
	uint32_t frames;               /* begun so far */
	uint32_t
		*call_copies; /* by instruction: 1 + the offset of its lookup's copy; 0: none yet */
	uint32_t copy_bytes;  /* of all copies (map_call.c) */
	bool has_calls;       /* lookups in maps of the host */
	bool waits;           /* for the host, or for other threads */
	bool reads_device;    /* the program reads the number of the device */
	uint32_t stack_bytes; /* of memory for all frames */
	uint32_t inlined;     /* instructions emitted */
	uint32_t at;          /* the instruction that is emitted */
	int32_t map;          /* in a helper's emit: the map of its map argument; -1: none */
	enum gt_context_source source; /* in a helper's emit: that of its row */
	int error;                     /* the first one */
	struct gt_diag *diag;
};

static inline const struct bpf_insn *gt_ptxgen_insn(const struct gt_ptxgen *gen)
{
	return &gen->job->program->insns[gen->at];
}

/* ---- emit.c: rows of the list ---- */

/* Adds a row that belongs to gen->at. */
void gt_ptxgen_append(struct gt_ptxgen *gen, const struct gt_ptxgen_row *row);

#define GT_PTXGEN_COUNT_(zero, one, two, three, four, five, count, ...) count
#define GT_PTXGEN_COUNT(...) GT_PTXGEN_COUNT_(0, ##__VA_ARGS__, 5, 4, 3, 2, 1, 0)
#define GT_PTXGEN_OPERANDS_0()
#define GT_PTXGEN_OPERANDS_1(a) GT_PTXGEN_OPERAND(a)
#define GT_PTXGEN_OPERANDS_2(a, ...) GT_PTXGEN_OPERAND(a), GT_PTXGEN_OPERANDS_1(__VA_ARGS__)
#define GT_PTXGEN_OPERANDS_3(a, ...) GT_PTXGEN_OPERAND(a), GT_PTXGEN_OPERANDS_2(__VA_ARGS__)
#define GT_PTXGEN_OPERANDS_4(a, ...) GT_PTXGEN_OPERAND(a), GT_PTXGEN_OPERANDS_3(__VA_ARGS__)
#define GT_PTXGEN_OPERANDS_5(a, ...) GT_PTXGEN_OPERAND(a), GT_PTXGEN_OPERANDS_4(__VA_ARGS__)
#define GT_PTXGEN_PASTE_(a, b) a##b
#define GT_PTXGEN_PASTE(a, b) GT_PTXGEN_PASTE_(a, b)

/*
 * One instruction: gt_ptxgen_emit(gen, "add.s64", sum, left, 8). The opcode is a string or a struct
 * gt_ptxgen_opcode; operands are values, operands (gt_ptxgen_at) and numbers.
 */
#define gt_ptxgen_emit(gen, operation, ...)                                                        \
	gt_ptxgen_emit_if(gen, gt_ptxgen_always, operation, ##__VA_ARGS__)
/* The same, executed where a condition holds. */
#define gt_ptxgen_emit_if(gen, condition, operation, ...)                                          \
	gt_ptxgen_append(                                                                          \
		(gen),                                                                             \
		&(struct gt_ptxgen_row){                                                           \
			.opcode = GT_PTXGEN_OPCODE(operation),                                     \
			.guard = (condition),                                                      \
			.operand_count = GT_PTXGEN_COUNT(__VA_ARGS__),                             \
			.operands = {GT_PTXGEN_PASTE(GT_PTXGEN_OPERANDS_,                          \
						     GT_PTXGEN_COUNT(__VA_ARGS__))(__VA_ARGS__)}})

/* "b64", "u32", "s16" …: the type of a letter (b, u or s) with 8, 16, 32 or 64 bits. */
const char *gt_ptxgen_type(char letter, unsigned bits);
/* "<name>.<type>": ("neg", 's', 32) is "neg.s32". */
struct gt_ptxgen_opcode gt_ptxgen_typed(const char *name, char letter, unsigned bits);
/* "<name>[.<space>].<type>": a load or store. */
struct gt_ptxgen_opcode gt_ptxgen_memory(const char *name, enum gt_ptxgen_space space, char letter,
					 unsigned bits);

static const struct gt_ptxgen_condition gt_ptxgen_always;
static inline struct gt_ptxgen_condition gt_ptxgen_if(struct gt_ptxgen_value predicate)
{
	return (struct gt_ptxgen_condition){predicate, true};
}
static inline struct gt_ptxgen_condition gt_ptxgen_unless(struct gt_ptxgen_value predicate)
{
	return (struct gt_ptxgen_condition){predicate, false};
}
void gt_ptxgen_branch(struct gt_ptxgen *gen, struct gt_ptxgen_value label);
void gt_ptxgen_branch_if(struct gt_ptxgen *gen, struct gt_ptxgen_value predicate,
			 struct gt_ptxgen_value label);
void gt_ptxgen_branch_unless(struct gt_ptxgen *gen, struct gt_ptxgen_value predicate,
			     struct gt_ptxgen_value label);
void gt_ptxgen_emit_label(struct gt_ptxgen *gen, struct gt_ptxgen_value label);
/* The halves of a .b64 into two .b32, and back. */
void gt_ptxgen_split(struct gt_ptxgen *gen, struct gt_ptxgen_value low, struct gt_ptxgen_value high,
		     struct gt_ptxgen_value wide);
void gt_ptxgen_join(struct gt_ptxgen *gen, struct gt_ptxgen_value wide, struct gt_ptxgen_value low,
		    struct gt_ptxgen_value high);

/* A fresh label, for jumps within the eBPF instruction that is emitted. */
struct gt_ptxgen_value gt_ptxgen_label(struct gt_ptxgen *gen);
/* The label of an eBPF instruction in the frame that is emitted. */
struct gt_ptxgen_value gt_ptxgen_insn_label(const struct gt_ptxgen *gen, uint32_t insn);
/* The label of the end of the function that is emitted. */
struct gt_ptxgen_value gt_ptxgen_end_label(const struct gt_ptxgen *gen);
struct gt_ptxgen_value gt_ptxgen_temporary(struct gt_ptxgen *gen, enum gt_ptxgen_class class);
static inline struct gt_ptxgen_value gt_ptxgen_b64(struct gt_ptxgen *gen)
{
	return gt_ptxgen_temporary(gen, GT_PTXGEN_B64);
}
static inline struct gt_ptxgen_value gt_ptxgen_b32(struct gt_ptxgen *gen)
{
	return gt_ptxgen_temporary(gen, GT_PTXGEN_B32);
}
static inline struct gt_ptxgen_value gt_ptxgen_predicate(struct gt_ptxgen *gen)
{
	return gt_ptxgen_temporary(gen, GT_PTXGEN_PREDICATE);
}
/* The PTX register (.b64) of an eBPF register in the function that is emitted. */
struct gt_ptxgen_value gt_ptxgen_reg64(const struct gt_ptxgen *gen, unsigned number);
/* A register that a whole program has once: of the banks GROUP, FIRST and IS_LEADER. */
struct gt_ptxgen_value gt_ptxgen_of_group(enum gt_ptxgen_bank bank);

/*
 * Declare <prefix><name> in the module, once for all programs. Returns the buffer to add the
 * declaration to, or NULL if the name is declared already. The text must end with a newline and
 * depend on nothing but the name and the options.
 */
struct gt_strbuf *gt_ptxgen_declare(struct gt_ptxgen *gen, const char *name);
/* Report an error at "insn N", the instruction at gen->at, and stop. Returns error. */
int gt_ptxgen_fail(struct gt_ptxgen *gen, int error, const char *format, ...) gt_printf(3, 4);

/* Whether instructions with scopes (.gpu, .sys) and orders (.acquire) may be used. */
static inline bool gt_ptxgen_is_modern(const struct gt_ptxgen *gen)
{
	return gen->sm >= 70 && gen->version >= 62;
}
/* Whether activemask and instructions that end in .sync may be used, on any GPU. */
static inline bool gt_ptxgen_has_sync(const struct gt_ptxgen *gen)
{
	return gen->version >= 62;
}

/* ---- instruction selection, each for the instruction at gen->at ---- */

void gt_ptxgen_alu(struct gt_ptxgen *gen, const struct bpf_insn *insn);
void gt_ptxgen_jump(struct gt_ptxgen *gen, const struct bpf_insn *insn);
/* Branch to the target of the jump at gen->at where a condition holds. */
void gt_ptxgen_jump_if(struct gt_ptxgen *gen, struct gt_ptxgen_condition taken);
/* The condition in which a jump is taken. */
struct gt_ptxgen_condition gt_ptxgen_condition(struct gt_ptxgen *gen, const struct bpf_insn *insn);
void gt_ptxgen_access(struct gt_ptxgen *gen, const struct bpf_insn *insn);
void gt_ptxgen_atomic(struct gt_ptxgen *gen, const struct bpf_insn *insn);
/* An atomic load or store, passed as the same one without an order. */
void gt_ptxgen_ordered(struct gt_ptxgen *gen, const struct bpf_insn *insn);
void gt_ptxgen_lddw(struct gt_ptxgen *gen, const struct bpf_insn *insn);
/* The call of a helper. */
void gt_ptxgen_call(struct gt_ptxgen *gen, const struct bpf_insn *insn);
/*
 * Clear those of some registers (bits) that may be unset before an instruction and that a helper
 * may read as optional arguments.
 */
void gt_ptxgen_clear_unset(struct gt_ptxgen *gen, uint32_t insn, unsigned registers);

/* Emit a function: its code is inlined. Returns gen->error. */
int gt_ptxgen_emit_function(struct gt_ptxgen *gen, uint32_t subprogram);

/* ---- loop.c: may_goto and bpf_loop ---- */

/* At the start of a function: its budget, if it has may_gotos. */
void gt_ptxgen_begin_budget(struct gt_ptxgen *gen);
void gt_ptxgen_may_goto(struct gt_ptxgen *gen);
/* The helper bpf_loop. */
int gt_ptxgen_call_back(struct gt_ptxgen *gen, uint32_t insn);
/* The value of a register that holds a function: not 0, and not an address. */
static inline struct gt_ptxgen_value gt_ptxgen_function_address(uint32_t start)
{
	return gt_ptxgen_hex((uint64_t)start + 1);
}

/* ---- kernel.c: the form "kernel" ---- */

void gt_ptxgen_print_kernel_begin(const struct gt_ptxgen *gen, struct gt_strbuf *text);
void gt_ptxgen_print_arguments(const struct gt_ptxgen *gen, struct gt_strbuf *text);
void gt_ptxgen_print_kernel_end(const struct gt_ptxgen *gen, struct gt_strbuf *text);

/* ---- group.c: programs that run once for a group of lanes ---- */

/* Decide gen->lanes. */
void gt_ptxgen_plan_group(struct gt_ptxgen *gen);
/* At the start of the program: find the lanes of the group and their leader. */
void gt_ptxgen_begin_group(struct gt_ptxgen *gen);
/*
 * GT_PTXGEN_ALL: whether the leader alone executes an instruction. *ret_result is the register that
 * the others then get from it, or -1.
 */
bool gt_ptxgen_needs_leader(struct gt_ptxgen *gen, const struct bpf_insn *insn, int *ret_result);
struct gt_ptxgen_value gt_ptxgen_begin_leader(struct gt_ptxgen *gen);
void gt_ptxgen_end_leader(struct gt_ptxgen *gen, struct gt_ptxgen_value over, int result);
/* At the end of a program. */
void gt_ptxgen_end_group(struct gt_ptxgen *gen);
/* The number of the lane that leads the group. */
struct gt_ptxgen_value gt_ptxgen_first_lane(struct gt_ptxgen *gen);
/*
 * A .b64 with the register's value in the leader, which executes the code being emitted alone, for
 * an addition. ptxas does not see that it is a constant there, or that one lane alone is the
 * leader: it would add it up over the warp again before one lane adds the sum.
 */
struct gt_ptxgen_value gt_ptxgen_vary(struct gt_ptxgen *gen, unsigned number);
/* GT_PTXGEN_ALL: a fresh register with the leader's value. */
struct gt_ptxgen_value gt_ptxgen_of_leader(struct gt_ptxgen *gen, struct gt_ptxgen_value value);
/* The helper warp_lane_value. */
int gt_ptxgen_lane_value(struct gt_ptxgen *gen);

/* ---- stack.c: the stack in registers and memory ---- */

/* Decide where the stack of each function is: gen->stacks, gen->generic. 0 or -ENOMEM. */
int gt_ptxgen_plan_stack(struct gt_ptxgen *gen);
/* Declare the registers of a frame, set r10, clear bytes that may be read before written. */
void gt_ptxgen_begin_frame(struct gt_ptxgen *gen);
/* Load and store bytes of the frame's own stack, at a known offset (negative, from its top). */
struct gt_ptxgen_value gt_ptxgen_stack_load(struct gt_ptxgen *gen, int64_t offset, unsigned width);
void gt_ptxgen_stack_store(struct gt_ptxgen *gen, int64_t offset, unsigned width,
			   struct gt_ptxgen_value value);
/* Whether a pointer points to one known offset of the frame's own stack. */
static inline bool gt_ptxgen_is_own_stack(const struct gt_register_fact *fact)
{
	return fact->type == GT_REG_STACK && !fact->frame && fact->min == fact->max;
}
/* The alignment of an offset, at most 8. */
static inline unsigned gt_ptxgen_alignment(int64_t offset)
{
	return (unsigned)((uint64_t)(offset | 8) & -(uint64_t)(offset | 8));
}
/* One value of `count` parts of `width` bytes, the lowest first. */
struct gt_ptxgen_value gt_ptxgen_combine(struct gt_ptxgen *gen, const struct gt_ptxgen_value *parts,
					 unsigned count, unsigned width);

/* ---- halves of registers: emit.c, narrowing.c ---- */

/* A fresh .b32 with the lower half of a .b64. */
struct gt_ptxgen_value gt_ptxgen_low_half(struct gt_ptxgen *gen, struct gt_ptxgen_value wide);
/* A fresh .b64 with a .b32 that does not change from here on. */
struct gt_ptxgen_value gt_ptxgen_widen(struct gt_ptxgen *gen, struct gt_ptxgen_value low);
/* The lower half of an eBPF register (.b32), not to be written to. */
struct gt_ptxgen_value gt_ptxgen_reg32(struct gt_ptxgen *gen, unsigned number);
/* Set an eBPF register to a .b32 that does not change from here on, or to a .b64. */
void gt_ptxgen_write_reg32(struct gt_ptxgen *gen, unsigned number, struct gt_ptxgen_value low);
void gt_ptxgen_write_reg64(struct gt_ptxgen *gen, unsigned number, struct gt_ptxgen_value value);
/* Whether the upper half of a register is 0; of both sides of an instruction. */
bool gt_ptxgen_fits_32(const struct gt_ptxgen *gen, unsigned number);
bool gt_ptxgen_sides_fit_32(const struct gt_ptxgen *gen, const struct bpf_insn *insn);
/* Whether an operation of 64 bits has the result of the same one of 32 bits, with zeros above. */
bool gt_ptxgen_is_narrow_alu(const struct gt_ptxgen *gen, const struct bpf_insn *insn);
/* A fresh .b32 with the upper half of an eBPF register. */
struct gt_ptxgen_value gt_ptxgen_high_half(struct gt_ptxgen *gen, unsigned number);

/* ---- memory.c: maps and pointers ---- */

/* A fresh .b64 with the address of a map's memory, in .global or generic (gt_ptxgen_global). */
struct gt_ptxgen_value gt_ptxgen_map_address(struct gt_ptxgen *gen, int32_t map);
/* A fresh .b64 with the number of copies of a map. */
struct gt_ptxgen_value gt_ptxgen_map_copies(struct gt_ptxgen *gen, int32_t map);
/* The address of the memory of host calls. */
struct gt_ptxgen_value gt_ptxgen_calls_address(struct gt_ptxgen *gen);
/* The address of the output ring, and its max_entries. */
struct gt_ptxgen_value gt_ptxgen_output_address(struct gt_ptxgen *gen);
uint32_t gt_ptxgen_output_bytes(const struct gt_ptxgen *gen);
/* The state space of maps, records and memory: .global, or generic. */
enum gt_ptxgen_space gt_ptxgen_global(const struct gt_ptxgen *gen);
/* The state space of the module's symbols. */
enum gt_ptxgen_space gt_ptxgen_symbol_space(const struct gt_ptxgen *gen);
/* The address of a symbol of 64-bit words, which is declared if it was not. */
struct gt_ptxgen_operand gt_ptxgen_declared(struct gt_ptxgen *gen, struct gt_ptxgen_value symbol,
					    unsigned words);
/* The scope of atomic operations on a map (-1: one of several). None where sm_60 has none. */
enum gt_ptxgen_scope gt_ptxgen_scope(const struct gt_ptxgen *gen, int32_t map);

/* The facts about a register before gen->at. */
const struct gt_register_fact *gt_ptxgen_fact(const struct gt_ptxgen *gen, unsigned number);
/*
 * Load and store `width` bytes (1, 2, 4, 8) at r<number> + offset, for pointers of any type. A
 * loaded value is a fresh .b64, extended with zeros. Slots of the stack may be in registers, so
 * there is no other method to access arguments whose size is known. Best not wider than
 * gt_ptxgen_access_width of the whole range.
 */
struct gt_ptxgen_value gt_ptxgen_load(struct gt_ptxgen *gen, unsigned number, int64_t offset,
				      unsigned width);
void gt_ptxgen_store(struct gt_ptxgen *gen, unsigned number, int64_t offset, unsigned width,
		     struct gt_ptxgen_value value);
/* The widest accesses (1, 2, 4, 8) that cover `size` bytes at r<number> exactly. */
unsigned gt_ptxgen_access_width(const struct gt_ptxgen *gen, unsigned number, uint32_t size);
/*
 * The address in r<number> and its state space, for loops over memory whose size is not constant or
 * is larger than GT_PTXGEN_MAX_UNROLLED bytes. Such memory is never in registers.
 */
enum {
	GT_PTXGEN_MAX_UNROLLED = 256,
};
struct gt_ptxgen_value gt_ptxgen_pointer(struct gt_ptxgen *gen, unsigned number,
					 enum gt_ptxgen_space *ret_space);

/* A fresh .b64 with a value of the context (context.h), wherever the site has it. */
struct gt_ptxgen_value gt_ptxgen_source(struct gt_ptxgen *gen, enum gt_context_source source,
					uint32_t index);
/* The same for a program to read: within the bounds of the field. */
struct gt_ptxgen_value gt_ptxgen_bounded_source(struct gt_ptxgen *gen,
						enum gt_context_source source, uint32_t index);

/* ---- helpers.c ---- */

/*
 * A helper: emits the call at gen->at. Arguments are in the registers r1 to r5, which it may
 * overwrite; its result goes to r0 (.b64). A map argument is gen->map: where the map differs
 * between paths, emit is called for each map.
 * 0, -EOPNOTSUPP with the reason (gt_ptxgen_fail), -ENOMEM.
 */
struct gt_ptxgen_helper {
	uint32_t number; /* GT_HELPER_… */
	int (*emit)(struct gt_ptxgen *gen, uint32_t insn);
	enum gt_context_source source; /* of helpers that read one, or three in a row */
};
/* The row of a helper, or NULL. */
const struct gt_ptxgen_helper *gt_ptxgen_helper(uint32_t number);
