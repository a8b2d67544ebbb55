/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the verifier: states, their exploration, and the checks of instructions. */
#pragma once

#include "base/vec.h"
#include "gpubpf/helpers.h"
#include "gpubpf/map/map.h"
#include "gpubpf/verify/scalar.h"
#include "gpubpf/verify/verify.h"

enum {
	GT_MAX_REFERENCES = 16,
	GT_MAX_EXPLORED = 64,     /* states kept at one prune point */
	GT_MAX_LOOP_STATES = 256, /* states kept at a loop header: each iteration has its own */
	GT_MAX_OFFSET = 1 << 29,  /* BPF_MAX_VAR_OFF of Linux; values have at most as many bytes */
	GT_VERIFY_MAX_STACK = GT_BPF_STACK_SIZE, /* of a chain of calls */
	GT_MAX_PENDING = 8192,                   /* BPF_COMPLEXITY_LIMIT_JMP_SEQ of Linux */
	GT_MAX_EXPLORED_BYTES = 1 << 29,         /* of explored states; beyond it none is added */
	GT_MAX_WORK = 300000000,                 /* of comparing states, in all passes */
	GT_MAX_VISITED = 1000000,                /* in a pass, as in Linux */
	GT_MAX_PASSES = 8,                       /* over a program */
	GT_MAX_NEST = 8,                         /* widened loops in each other */
};

/* The contents of a register or of a stack slot. */
struct gt_value {
	uint8_t type; /* gt_register_type, never MIXED */
	bool maybe_null;
	bool address;         /* a scalar derived from an address: may not be stored in maps. Or a
				 pointer whose offset is: what is loaded through it is, too */
	uint8_t frame;        /* STACK: index of the frame, 0 the main program's */
	int32_t map;          /* MAP, MAP_VALUE: index of the map; RECORD: of the ring */
	uint32_t id;          /* values with the same id other than 0 are equal … */
	uint8_t delta_bits;   /* … or, if this is 64 or 32, equal their sum of so many bits … */
	int32_t delta;        /* … with this */
	uint32_t spread;      /* see change */
	int64_t fixed_offset; /* of pointers: the known part of the offset … */
	uint32_t reference;   /* RECORD: id of the reference to release */
	uint32_t size;        /* RECORD, MEMORY, CONTEXT: bytes */
	uint32_t object;      /* MAP_VALUE, in passes that widen loops: differs between lookups */
	/*
	 * In widened loops (widen.h): the value is that of an origin, a value at a loop's header,
	 * plus a number from change to change + spread, modulo 2^64 or, if bits is 32, 2^32 with
	 * zeros above. 0: no origin is known. Values with the same sum added the same.
	 */
	uint32_t origin;
	uint8_t origin_bits;
	uint8_t shifted; /* gt_origin_shift: that value << 32; 0: it is not */
	uint32_t sum;    /* an id, if spread is not 0 */
	int64_t change;
	struct gt_scalar scalar; /* … and the variable part, kept apart as in Linux */
};

enum gt_byte {
	GT_BYTE_UNSET,
	GT_BYTE_SCALAR, /* any scalar */
	GT_BYTE_ZERO,
	GT_BYTE_ADDRESS, /* part of an address */
	GT_BYTE_SPILL,   /* part of the slot's value: all 8; of a scalar also its low 1, 2, 4 */
};

struct gt_slot {
	uint8_t bytes[8]; /* gt_byte */
	struct gt_value value;
};

struct gt_verify_frame {
	struct gt_value registers[GT_BPF_REGISTERS];
	uint32_t subprogram;
	uint32_t return_insn; /* not of frame 0; of a function that bpf_loop calls: that call */
	bool called_back;     /* by bpf_loop */
	uint32_t invocation;  /* differs between the calls of a function on a path */
	uint32_t may_gotos;   /* may_goto instructions of this invocation that fell through */
	uint32_t loop;        /* the bpf_loop being executed … */
	uint32_t iterations;  /* … and how often it has called its function on this path */
	uint32_t slot_count;
	struct gt_slot *slots; /* slot n is the 8 bytes at -8 * (n + 1) */
};

struct gt_state {
	unsigned depth;    /* index of the current frame */
	unsigned capacity; /* frames that there is memory for */
	uint32_t references[GT_MAX_REFERENCES];
	uint32_t reference_insns[GT_MAX_REFERENCES];
	unsigned reference_count;
	uint32_t unrolled; /* iterations of may_goto and bpf_loop on this path */
	/* Loops that are being executed and widened, the innermost last (widen.h). */
	struct gt_widened *widened[GT_MAX_NEST];
	unsigned widened_count;
	uint32_t ordered; /* bit n: the test of widened[n]->order was passed in this iteration */
	/* The value of widened[n]'s rank at its header, with what this iteration proved of it. */
	struct gt_value ranked[GT_MAX_NEST];
	struct gt_verify_frame frames[];
};

/*
 * A scalar of an explored state, that of the last comparison which failed: states of a loop differ
 * in the same register or slot again and again, and a comparison of it alone touches no memory of
 * the state.
 */
#define GT_NO_KEY 0xff
struct gt_state_key {
	uint64_t umin, umax;
	uint8_t place; /* of the current frame: r<place>, or slot place - GT_BPF_REGISTERS */
};

/* An explored state at a prune point: a node of the tree of paths through the program. */
struct gt_explored {
	/* What comparisons of states use comes first: one cache line. */
	struct gt_explored *next; /* at the same instruction */
	struct gt_state *state;   /* NULL: no longer compared with */
	uint32_t branches;        /* paths from here that are not explored to their end */
	uint32_t work;            /* of a comparison: gt_state_work */
	uint32_t hits, misses;
	struct gt_state_key key;

	struct gt_explored *parent;
	struct gt_explored *next_all; /* of all */
	uint32_t insn;
	uint64_t steps;   /* from the parent to here */
	uint64_t longest; /* from here to the program's end, on the explored paths */
};

/* A branch that is still to be explored. */
struct gt_pending_path {
	struct gt_state *state;
	struct gt_explored *parent;
	uint32_t insn;
	uint64_t steps; /* since the parent */
};

/* Results of static analysis for each instruction (insn_aux_data in Linux). */
struct gt_insn_aux {
	uint16_t live;           /* registers that are read later on */
	uint16_t precise;        /* of these, those whose scalars must be compared exactly */
	uint16_t stack_pointers; /* registers that may hold the address of a stack */
	uint64_t precise_slots;  /* of the frame's stack */
	bool prune_point;        /* states are compared and kept here */
	bool precise_jump;       /* a branch that was decided, or that bounded other scalars */
	bool loop_header;        /* target of a backward jump */
	bool retreats_to;        /* header of a loop (loops.h) */
	bool loop_point;         /* may_goto, or a call of bpf_loop */
	bool reachable;
	bool reads_context, reads_memory; /* loads, on some explored path */
	uint32_t subprogram;
};

struct gt_verifier {
	const struct gt_bpf_object *object; /* may be NULL */
	const struct gt_bpf_program *program;
	const struct gt_verify_options *options;
	struct bpf_insn *insns; /* the program's; atomic loads and stores as plain ones */
	uint32_t count;
	struct gt_facts facts;
	struct gt_insn_aux *aux;
	bool lazy_precision;           /* only jumps marked precise_jump need precise operands */
	bool more_precise;             /* a jump was marked during this pass */
	struct gt_explored **explored; /* one list per instruction */
	struct gt_explored *all_explored;
	GT_VEC(struct gt_pending_path) pending;
	struct gt_state *state;     /* current state; NULL at the end of a path */
	struct gt_explored *parent; /* last explored state on this path */
	uint64_t steps;             /* since the parent */
	uint32_t at;                /* current instruction */
	uint32_t next_id;
	uint32_t jumps, jumps_at_state;
	uint64_t visited_at_state;
	uint64_t explored_bytes;
	uint64_t work;    /* of comparing states, in all passes (gt_state_work) */
	uint64_t visited; /* instructions, in all passes */
	uint64_t limit;   /* of instructions visited in this pass */
	bool has_budgets; /* may_goto or bpf_loop: the longest path says nothing about a run */
	bool widens;      /* loops are widened in this pass */
	struct gt_widened *all_widened;
	struct gt_loops *loops; /* NULL: not searched for */
	bool too_many_loops;
	struct gt_verify_error *error;
	struct gt_diag *diag;
};

/* Reject the program at verifier->at. Returns -EACCES. */
int gt_reject(struct gt_verifier *verifier, const char *format, ...) gt_printf(2, 3);
int gt_verifier_no_memory(struct gt_verifier *verifier);
int gt_verifier_too_large(struct gt_verifier *verifier); /* -E2BIG */

static inline struct gt_verify_frame *gt_current_frame(struct gt_verifier *verifier)
{
	return &verifier->state->frames[verifier->state->depth];
}
static inline struct gt_value *gt_register(struct gt_verifier *verifier, unsigned regno)
{
	return &gt_current_frame(verifier)->registers[regno];
}
static inline bool gt_is_pointer(const struct gt_value *value)
{
	return value->type != GT_REG_SCALAR && value->type != GT_REG_UNSET;
}
/* Return how many of a slot's bytes hold its value; 0: none. */
static inline unsigned gt_slot_width(const struct gt_slot *slot)
{
	unsigned width = 0;

	if (slot->bytes[7] == GT_BYTE_SPILL)
		return 8;
	while (slot->bytes[width] == GT_BYTE_SPILL)
		width++;
	return width;
}
struct gt_value gt_value_scalar(struct gt_scalar scalar);
/* Return a pointer's whole offset, fixed and variable part. */
struct gt_scalar gt_value_offset(const struct gt_value *pointer);
const char *gt_register_type_name(const struct gt_value *value);
void gt_state_put(struct gt_strbuf *text, const struct gt_state *state);

/* explore.c: explore all paths in one pass; clear discards the states of that pass. */
int gt_verify_explore(struct gt_verifier *verifier);
void gt_verify_explore_clear(struct gt_verifier *verifier);

/* call_graph.c: check recursion, and the depth and stack use of calls. */
int gt_verify_calls(struct gt_verifier *verifier);

/* cfg.c: functions, jumps, reachable instructions, prune points. */
int gt_verify_cfg(struct gt_verifier *verifier);
/* Store where control continues after an instruction, without calls; returns how many: 0 to 2. */
unsigned gt_cfg_successors(const struct gt_verifier *verifier, uint32_t at, uint32_t ret_next[3]);
bool gt_insn_is_jump(const struct bpf_insn *insn);
bool gt_insn_is_exit(const struct bpf_insn *insn);

/* dataflow.c: solve liveness and precision for all instructions, as verifier->lazy_precision. */
int gt_verify_dataflow(struct gt_verifier *verifier);

/* Sets of registers: bit n for r<n>. */
enum {
	GT_RESULT_REGISTER = 1 << 0,
	GT_ARGUMENT_REGISTERS = 0x3e,     /* r1 to r5 */
	GT_CALLER_SAVED_REGISTERS = 0x3f, /* r0 to r5 */
};
static inline bool gt_registers_contain(uint16_t registers, unsigned regno)
{
	return registers >> regno & 1;
}
static inline bool gt_insn_is_atomic(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC;
}

/* liveness.c */
uint16_t gt_insn_defs(const struct bpf_insn *insn); /* written */
uint16_t gt_insn_uses(const struct bpf_insn *insn); /* read */
/* Transfer function of liveness: the live registers before an instruction, from those after it. */
uint16_t gt_live_before(const struct bpf_insn *insn, uint16_t after);

/* precision.c */
struct gt_precision {
	uint16_t registers; /* bit n: r<n> */
	uint64_t slots;     /* bit n: slot n of the frame's stack */
};
/* Transfer function of precision. precise_jump: the operands of this branch must be precise. */
struct gt_precision gt_precise_before(const struct gt_insn_aux *aux, const struct bpf_insn *insn,
				      struct gt_precision after, bool precise_jump);

/* state.c: NULL: there is no memory. */
struct gt_state *gt_state_new(void); /* of one frame, all zeros */
struct gt_state *gt_state_copy(const struct gt_state *state);
void gt_state_free(struct gt_state *state);
/* Add a frame of zeros; the state and its frames move. NULL: the state is as before. */
struct gt_state *gt_state_push(struct gt_state *state);
void gt_state_pop(struct gt_state *state); /* remove the current frame */
/* The work of comparing or copying a state, which grows with its stacks. */
uint64_t gt_state_work(const struct gt_state *state);
uint64_t gt_state_bytes(const struct gt_state *state);
/* Make the frame's stack at least so many slots. 0 or -ENOMEM. */
int gt_frame_grow(struct gt_verify_frame *frame, uint32_t slots);
/* Clear the ids of scalars that no other value shares. */
void gt_state_clear_singular_ids(struct gt_state *state);

/*
 * subsume.c: whether `old` subsumes `state`: what was proved from the one holds for the other.
 * exact: both are the same.
 */
bool gt_state_subsumes(const struct gt_verifier *verifier, const struct gt_state *old,
		       const struct gt_state *state, bool exact);
/* Whether an explored state subsumes the current one: the same, by its key if this is enough. */
bool gt_explored_subsumes(const struct gt_verifier *verifier, struct gt_explored *explored,
			  bool exact);
/* Return the scalar at the place of a key. NULL: there is none. */
static inline const struct gt_value *gt_keyed_scalar(const struct gt_state *state, unsigned place)
{
	const struct gt_verify_frame *frame = &state->frames[state->depth];
	const struct gt_value *value;

	if (place < GT_BPF_REGISTERS) {
		value = &frame->registers[place];
	} else {
		unsigned slot = place - GT_BPF_REGISTERS;

		if (slot >= frame->slot_count || !gt_slot_width(&frame->slots[slot]))
			return NULL;
		value = &frame->slots[slot].value;
	}
	return value->type == GT_REG_SCALAR ? value : NULL;
}
/* Whether its key shows that it does not. */
static inline bool gt_key_excludes(const struct gt_verifier *verifier,
				   const struct gt_explored *explored, bool exact)
{
	const struct gt_state_key *key = &explored->key;
	const struct gt_value *value;

	if (key->place == GT_NO_KEY)
		return false;
	value = gt_keyed_scalar(verifier->state, key->place);
	if (!value)
		return true;
	if (exact)
		return value->scalar.all.umin != key->umin || value->scalar.all.umax != key->umax;
	return value->scalar.all.umin < key->umin || value->scalar.all.umax > key->umax;
}

/* Whether a slot, or a value, has the values of another one and needs no ids for that. */
bool gt_slot_subsumes(const struct gt_slot *old, const struct gt_slot *slot);
bool gt_value_subsumes(const struct gt_value *old, const struct gt_value *value);

/* memory.c */
enum gt_access {
	GT_ACCESS_READ = 1,
	GT_ACCESS_WRITE = 2,
	GT_ACCESS_ATOMIC = 4,
};
int gt_verify_memory(struct gt_verifier *verifier, const struct bpf_insn *insn);
/*
 * Check an access of a helper to `size` bytes at r<regno>. Bytes of the stack that it writes hold
 * scalars afterwards.
 */
int gt_verify_helper_memory(struct gt_verifier *verifier, unsigned regno, uint64_t size,
			    unsigned access);

/* stack.c: stack contents. The caller has checked that the bytes are within the stack. */
/* Which bytes an access can touch: a pointer plus the instruction's offset. */
struct gt_access_range {
	const struct gt_value *base;
	unsigned regno;       /* of the pointer, for messages */
	int64_t fixed_offset; /* the known part of the offset, including the instruction's */
	int64_t min, max;     /* of the first byte; saturated, not wrapped */
	uint64_t size;
	bool known; /* one offset only */
};
/* What bytes of the stack hold, taken together. */
struct gt_stack_contents {
	bool zero, address;
};
int gt_verify_read_stack(struct gt_verifier *verifier, const struct gt_access_range *range,
			 bool is_signed, struct gt_value *ret_value);
int gt_verify_write_stack(struct gt_verifier *verifier, const struct gt_access_range *range,
			  struct gt_value *value);
/* Set bytes min to end - 1 of a frame's stack to a kind, a gt_byte. */
int gt_verify_fill_stack(struct gt_verifier *verifier, struct gt_verify_frame *frame, int64_t min,
			 int64_t end, uint8_t kind);
/* Summarise bytes min to end - 1 of the stack of a frame. */
struct gt_stack_contents gt_verify_stack_contents(struct gt_verifier *verifier, unsigned frame_no,
						  int64_t min, int64_t end);
/* Whether r<regno> points to `size` bytes of the stack that hold a constant stored at once. */
bool gt_verify_known_bytes(struct gt_verifier *verifier, unsigned regno, unsigned size,
			   uint64_t *ret_constant);

/* context.c: check that bytes of a section's context are a field that exists there. */
int gt_verify_field(struct gt_verifier *verifier, int64_t offset, uint64_t size);
/* Return the values of such bytes, zero-extended or sign-extended. */
struct gt_scalar gt_verify_field_values(const struct gt_verifier *verifier, int64_t offset,
					unsigned size, bool is_signed);
/* Return the values of a source. */
struct gt_scalar gt_verify_source_values(enum gt_context_source source);

/* alu.c */
int gt_verify_alu(struct gt_verifier *verifier, const struct bpf_insn *insn);
int gt_verify_ld_imm64(struct gt_verifier *verifier, const struct bpf_insn *insn);
int gt_verify_read(struct gt_verifier *verifier, unsigned regno);
/* Give a scalar an id before it is copied, so that bounds of one copy hold for the other. */
void gt_verify_assign_id(struct gt_verifier *verifier, struct gt_value *value);

/* jump.c: whether two pointers, which are not NULL, are to the same object. */
bool gt_is_same_object(const struct gt_verifier *verifier, const struct gt_value *one,
		       const struct gt_value *other);
/*
 * Whether a comparison of two pointers has the result of one of their offsets: they are equal or
 * not, or are within one object, its end included, which is not at the end of the address space.
 * *ret_operation: that comparison, signed.
 */
bool gt_compares_offsets(const struct gt_verifier *verifier, const struct bpf_insn *insn,
			 const struct gt_value *one, const struct gt_value *other,
			 uint8_t *operation);
/* jump.c: narrow the state on the branch that is followed, and keep the other one pending. */
int gt_verify_branch(struct gt_verifier *verifier, const struct bpf_insn *insn);

/* call.c */
int gt_verify_helper(struct gt_verifier *verifier, const struct bpf_insn *insn);
int gt_verify_loop_arguments(struct gt_verifier *verifier);

/* explore.c: enter a function at the current instruction, which is returned to. */
int gt_verify_enter(struct gt_verifier *verifier, uint32_t target, uint32_t return_insn);
/* jump.c: add a path to explore later; the caller frees the state on failure. */
int gt_verify_push_path(struct gt_verifier *verifier, struct gt_state *state, uint32_t insn);

/* loop.c: may_goto and bpf_loop. */
int gt_verify_may_goto(struct gt_verifier *verifier, const struct bpf_insn *insn);
int gt_verify_loop_call(struct gt_verifier *verifier);
/* At the exit of a function that bpf_loop calls: return to that call. */
int gt_verify_loop_return(struct gt_verifier *verifier);
/* Before states are compared at a call of bpf_loop. */
void gt_loop_begin(struct gt_verifier *verifier);
/*
 * Whether a state on the current path subsumes the current one and iterations of may_goto or
 * bpf_loop, whose number is limited, lie between them.
 */
bool gt_loop_is_closed(const struct gt_verifier *verifier, struct gt_explored *explored);

/* facts.c; begin discards the facts of an earlier pass. */
int gt_facts_begin(struct gt_verifier *verifier);
void gt_facts_record(struct gt_verifier *verifier);
/* Record a use of the bytes at offsets min to max + size of a frame's stack; plain: as slots. */
void gt_facts_use_stack(struct gt_verifier *verifier, unsigned frame, int64_t min, int64_t max,
			uint64_t size, bool plain);
void gt_facts_read_early(struct gt_verifier *verifier, unsigned frame, uint32_t slot);
void gt_facts_end(struct gt_verifier *verifier);

/* divergence.c: which instructions and values diverge between lanes. After gt_facts_end. */
int gt_verify_divergence(struct gt_verifier *verifier);
