/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the verifier: states, the walk over them, and the checks of instructions. */
#pragma once

#include "base/vec.h"
#include "gpubpf/helpers.h"
#include "gpubpf/map/map.h"
#include "gpubpf/verify/scalar.h"
#include "gpubpf/verify/verify.h"

enum {
	GT_MAX_REFERENCES = 16,
	GT_MAX_KEPT_STATES = 64,  /* at one instruction */
	GT_MAX_LOOP_STATES = 256, /* where loops go back to: each round has its own */
	GT_MAX_OFFSET = 1 << 29,  /* BPF_MAX_VAR_OFF of Linux */
	GT_VERIFY_MAX_STACK = GT_BPF_STACK_SIZE, /* of a chain of calls */
	GT_MAX_PENDING = 8192,                   /* BPF_COMPLEXITY_LIMIT_JMP_SEQ of Linux */
	GT_MAX_KEPT_BYTES = 1 << 29,             /* of states that are kept; no more are then */
	GT_MAX_WALKS = 8,                        /* through a program */
};

/* What a register or a slot of the stack holds. */
struct gt_value {
	uint8_t type; /* gt_register_type, never MIXED */
	bool maybe_null;
	bool address;            /* a number made of an address: may not go into maps */
	uint8_t frame;           /* STACK: the frame's number, 0 the main one */
	int32_t map;             /* MAP, MAP_VALUE: its number; RECORD: the ring's */
	uint32_t id;             /* values with the same id that is not 0 are equal … */
	uint8_t sum;             /* … or, if this is 64 or 32, their sum in so many bits … */
	int32_t delta;           /* … with this */
	int64_t fixed;           /* of pointers: the known part of the offset … */
	uint32_t reference;      /* RECORD: to be released */
	uint32_t size;           /* RECORD, MEMORY, CONTEXT: bytes */
	struct gt_scalar number; /* … and the part that is not; kept apart as in Linux */
};

enum gt_byte {
	GT_BYTE_UNSET,
	GT_BYTE_SCALAR, /* anything */
	GT_BYTE_ZERO,
	GT_BYTE_ADDRESS, /* part of an address */
	GT_BYTE_VALUE,   /* part of the slot's value: all 8, or of a number the first 1, 2 or 4 */
};

struct gt_slot {
	uint8_t bytes[8]; /* gt_byte */
	struct gt_value value;
};

struct gt_verify_frame {
	struct gt_value registers[GT_BPF_REGISTERS];
	uint32_t subprogram;
	uint32_t back; /* where it returns to; not of frame 0 */
	uint32_t slot_count;
	struct gt_slot *slots; /* slot n is the 8 bytes at -8 * (n + 1) */
};

struct gt_state {
	struct gt_verify_frame frames[GT_BPF_MAX_FRAMES];
	unsigned depth; /* the number of the frame that runs */
	uint32_t references[GT_MAX_REFERENCES];
	uint32_t reference_insns[GT_MAX_REFERENCES];
	unsigned reference_count;
};

/* A state that was kept at an instruction, a node of the tree of ways through the program. */
struct gt_node {
	struct gt_node *parent, *next; /* next: of the same instruction */
	struct gt_node *all;           /* of all nodes */
	struct gt_state *state;        /* NULL once it is not worth comparing with */
	uint32_t insn;
	uint32_t branches; /* ways from here that were not followed to the end */
	uint64_t steps;    /* from the parent to here */
	uint64_t longest;  /* from here to the program's end, of the ways followed */
	uint32_t hits, misses;
};

/* A way still to be followed. */
struct gt_pending {
	struct gt_state *state;
	struct gt_node *parent;
	uint32_t insn;
	uint64_t steps; /* since the parent */
};

/* Of each instruction, what follows from the text alone. */
struct gt_flow {
	uint16_t live;     /* registers that are read later on */
	uint16_t relevant; /* and whose numbers decide something */
	uint16_t pointing; /* that may hold the address of a stack */
	uint64_t slots;    /* of the frame's stack whose numbers decide something */
	bool target;       /* states are kept here */
	bool decides; /* a jump that went one way alone, or told of other numbers than its own */
	bool loop;    /* something jumps back to here */
	bool reached;
	bool reads_context, reads_memory; /* loads, on some way that was followed */
	uint32_t subprogram;
};

struct gt_verifier {
	const struct gt_bpf_object *object; /* may be NULL */
	const struct gt_bpf_program *program;
	const struct gt_verify_options *options;
	struct bpf_insn *insns; /* the program's, where atomic loads and stores are plain ones */
	uint32_t count;
	struct gt_facts facts;
	struct gt_flow *flow;
	bool spares;           /* numbers that only undecided jumps look at are not compared */
	bool decided_more;     /* a jump decides that did not when this walk began */
	struct gt_node **kept; /* one list an instruction */
	struct gt_node *nodes;
	GT_VEC(struct gt_pending) pending;
	struct gt_state *state; /* where it is */
	struct gt_node *node;   /* the last one on this way */
	uint64_t steps;         /* since then */
	uint32_t at;
	uint32_t next_id;
	uint32_t jumps, jumps_kept;
	uint64_t visited_kept;
	uint64_t bytes_kept;
	struct gt_verify_error *error;
	struct gt_diag *diag;
};

/* Refuses the program at verifier->at. Returns -EACCES. */
int gt_reject(struct gt_verifier *verifier, const char *format, ...) gt_printf(2, 3);
int gt_verifier_no_memory(struct gt_verifier *verifier);

static inline struct gt_verify_frame *gt_frame_of(struct gt_verifier *verifier)
{
	return &verifier->state->frames[verifier->state->depth];
}
static inline struct gt_value *gt_register(struct gt_verifier *verifier, unsigned number)
{
	return &gt_frame_of(verifier)->registers[number];
}
static inline bool gt_is_pointer(const struct gt_value *value)
{
	return value->type != GT_REG_SCALAR && value->type != GT_REG_UNSET;
}
/* How many of a slot's bytes hold its value; 0: none. */
static inline unsigned gt_slot_width(const struct gt_slot *slot)
{
	unsigned width = 0;

	if (slot->bytes[7] == GT_BYTE_VALUE)
		return 8;
	while (slot->bytes[width] == GT_BYTE_VALUE)
		width++;
	return width;
}
struct gt_value gt_value_scalar(struct gt_scalar number);
/* A pointer's offset as a whole. */
struct gt_scalar gt_value_offset(const struct gt_value *pointer);
const char *gt_register_type_name(const struct gt_value *value);
void gt_put_state(struct gt_strbuf *text, const struct gt_state *state);

/* verify_flow.c: functions, jumps, what is reachable, live registers. */
int gt_verify_flow(struct gt_verifier *verifier);
/* What is relevant, anew: numbers of jumps are where verifier->spares is not set or they decide. */
int gt_verify_uses(struct gt_verifier *verifier);

/* verify_state.c */
struct gt_state *gt_state_copy(const struct gt_state *state);
void gt_state_free(struct gt_state *state);
uint64_t gt_state_bytes(const struct gt_state *state);
/* Makes the frame's stack at least so many slots. 0 or -ENOMEM. */
int gt_frame_grow(struct gt_verify_frame *frame, uint32_t slots);
void gt_state_forget_lone_ids(struct gt_state *state);
/* Whether what holds for `old` holds for `state`; exact: both are the same. */
bool gt_state_covers(const struct gt_verifier *verifier, const struct gt_state *old,
		     const struct gt_state *state, bool exact);

/* verify_memory.c */
enum gt_access {
	GT_ACCESS_READ = 1,
	GT_ACCESS_WRITE = 2,
	GT_ACCESS_ATOMIC = 4,
};
int gt_verify_memory(struct gt_verifier *verifier, const struct bpf_insn *insn);
/*
 * Whether `size` bytes at r<number> may be accessed so by a helper. Bytes of the stack that are
 * written hold numbers afterwards.
 */
int gt_verify_helper_memory(struct gt_verifier *verifier, unsigned number, uint64_t size,
			    unsigned access);

/* verify_stack.c: contents; that the bytes lie within the stack has been checked. */
/* A pointer with an instruction's offset added: where the first byte can be. */
struct gt_access_range {
	const struct gt_value *base;
	unsigned number;  /* of the register, for messages */
	int64_t fixed;    /* the known part of the offset, that of the instruction with it */
	int64_t min, max; /* offsets; held back from wrapping */
	uint64_t size;
	bool known; /* one offset only */
};
/* What bytes of the stack are, taken together. */
struct gt_mixture {
	bool zero, address;
};
int gt_verify_read_stack(struct gt_verifier *verifier, const struct gt_access_range *reach,
			 bool is_signed, struct gt_value *ret_value);
int gt_verify_write_stack(struct gt_verifier *verifier, const struct gt_access_range *reach,
			  struct gt_value *value);
/* Marks bytes least … end - 1 of a frame's stack as of a kind, a gt_byte. */
int gt_verify_mark_bytes(struct gt_verifier *verifier, struct gt_verify_frame *frame, int64_t min,
			 int64_t end, uint8_t kind);
/* Bytes least … end - 1 of frame <number>. */
struct gt_mixture gt_verify_mix_stack(struct gt_verifier *verifier, unsigned number, int64_t min,
				      int64_t end);
/* Whether r<number> points to `size` bytes of the stack that are a known number, put there at once.
 */
bool gt_verify_known_bytes(struct gt_verifier *verifier, unsigned number, unsigned size,
			   uint64_t *ret_number);

/* verify_context.c: whether bytes of a section's context are a field that is there. */
int gt_verify_field(struct gt_verifier *verifier, int64_t offset, uint64_t size);

/* verify_alu.c */
int gt_verify_alu(struct gt_verifier *verifier, const struct bpf_insn *insn);
int gt_verify_wide(struct gt_verifier *verifier, const struct bpf_insn *insn);
int gt_verify_read(struct gt_verifier *verifier, unsigned number);
/* Before a number is copied: what is learnt of one is to hold for the other. */
void gt_verify_link(struct gt_verifier *verifier, struct gt_value *number);

/* verify_jump.c: narrows the state on the way that is followed, and keeps the other. */
int gt_verify_branch(struct gt_verifier *verifier, const struct bpf_insn *insn);

/* verify_call.c */
int gt_verify_helper(struct gt_verifier *verifier, const struct bpf_insn *insn);

/* verify_facts.c; begin: what was learnt before is forgotten. */
int gt_facts_begin(struct gt_verifier *verifier);
void gt_facts_record(struct gt_verifier *verifier);
/* The bytes at offsets least to greatest + size of a frame's stack are used not as plain slots. */
void gt_facts_use_stack(struct gt_verifier *verifier, unsigned frame, int64_t min, int64_t max,
			uint64_t size, bool plain);
void gt_facts_read_early(struct gt_verifier *verifier, unsigned frame, uint32_t slot);
void gt_facts_end(struct gt_verifier *verifier);

/* verify_lanes.c: which lanes are where, and what they have. After gt_facts_end. */
int gt_verify_divergence(struct gt_verifier *verifier);
