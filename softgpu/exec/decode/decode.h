/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Turning parsed functions into decoded ones. */
#pragma once

#include "exec/engine/engine.h"
#include "exec/lanes/lanes.h"
#include "ptx/ptx.h"

/* Bytes of one frame of registers, at most. */
#define SG_MAX_FRAME (16u << 20)

/* In places: an .extern variable that no module defines. */
#define SG_UNRESOLVED UINT64_MAX

/* One parsed module of those that are loaded together. */
struct sg_unit {
	const struct gt_ptx_module *parsed;
	/*
	 * By gt_ptx_variable.number: the address of a .global or .const, the number of a .shared
	 * among the module's, the place of a .local or .param in its function's local frame.
	 */
	uint64_t *places;
	struct sg_function **functions; /* by gt_ptx_function.number; NULL: not defined */
};

/* A straight piece of code. */
struct sg_basic_block {
	uint32_t first, end; /* statements */
	uint32_t start;      /* instruction, past a join */
	uint32_t entries;    /* edges to it */
	uint32_t fall;       /* the block after it in the text; SG_NO_SLOT: does not go on there */
	bool is_branch;      /* its last instruction is bra or brx */
	bool ends;           /* never goes on to the block after it */
};

struct sg_decoder {
	struct sg_module *module;
	struct sg_machine *machine;
	struct sg_unit *unit;
	const struct gt_ptx_function *source;
	struct sg_function *function;
	struct gt_diag *diag;
	const struct gt_ptx_statement *statement;
	const struct gt_ptx_instruction *instruction;
	GT_VEC(struct sg_instruction) code;
	uint32_t *registers; /* slots by register number; SG_NO_SLOT: none yet */
	uint8_t *types;      /* enum gt_ptx_type by register number */
	uint32_t frame_size;
	uint32_t predicates_left; /* in the last slot of predicates */
	uint32_t predicate_place;
	uint32_t temporary[5]; /* slots by width: 2, 4, 8, 16 bytes, predicate; SG_NO_SLOT */
	struct gt_ptx_operand elements[4]; /* of a vector register, taken apart */
	struct gt_hash *constants;         /* to slot + 1, by what fills it */
	GT_VEC(const struct gt_ptx_statement *) statements;
	GT_VEC(struct sg_basic_block) blocks;
	uint32_t *label_blocks; /* by label number */
	GT_VEC(uint32_t) edges;
	uint32_t *edge_starts;
	uint32_t fall_block; /* the block after the one that is being decoded */
};

/* ---- the instruction that is being decoded --------------------------------------------- */

static inline const struct gt_ptx_form *sg_decode_form(const struct sg_decoder *decoder)
{
	return decoder->instruction->form;
}

/* Whether it has a modifier. */
static inline bool sg_decode_has(const struct sg_decoder *decoder, enum gt_ptx_modifier_id id)
{
	return gt_ptx_form_has(sg_decode_form(decoder), id);
}

/* Its type, if it has exactly one; else GT_PTX_TYPE_NONE. */
static inline enum gt_ptx_type sg_decode_type(const struct sg_decoder *decoder)
{
	const struct gt_ptx_form *form = sg_decode_form(decoder);

	return form->type_count == 1 ? form->types[0] : GT_PTX_TYPE_NONE;
}

/* Operand `index`, or NULL if it has fewer. */
static inline const struct gt_ptx_operand *sg_decode_operand(const struct sg_decoder *decoder,
							     uint32_t index)
{
	return index < decoder->instruction->operand_count ? &decoder->instruction->operands[index]
							   : NULL;
}

/* ---- errors: all return -EINVAL -------------------------------------------------------- */

/* "line 3: what in function 'f'": the format says what. */
int sg_decode_error(const struct sg_decoder *decoder, const char *format, ...) gt_printf(2, 3);
/* The opcode is unknown to the device. */
int sg_decode_unsupported(const struct sg_decoder *decoder);
/* This form of a known opcode is. */
int sg_decode_bad_form(const struct sg_decoder *decoder);
/* What is used is defined nowhere: -ENOENT. */
int sg_decode_missing(const struct sg_decoder *decoder, const char *what, const char *name);
int sg_decode_bad_operand(const struct sg_decoder *decoder, uint32_t index);

/* ---- operands (operand.c) -------------------------------------------------------------- */

/* Bytes of a lane's slot for a type: 2, 4, 8, 16; 0 for a predicate. 8 bits take 2 bytes. */
uint32_t sg_type_width(enum gt_ptx_type type);
uint32_t sg_decode_new_slot(struct sg_decoder *decoder, uint32_t width);
/* The slot and type of a REGISTER operand. */
int sg_decode_register(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		       uint32_t *ret_slot, enum gt_ptx_type *ret_type);
/* A slot that holds a value in all lanes. */
int sg_decode_constant(struct sg_decoder *decoder, uint32_t width, uint64_t value,
		       uint32_t *ret_slot);
/* Reads a special register that changes at any moment into a slot. */
int sg_decode_changing(struct sg_decoder *decoder, enum gt_ptx_special special, uint32_t width,
		       uint32_t slot);
/* A scratch slot for within one instruction. */
uint32_t sg_decode_temporary(struct sg_decoder *decoder, uint32_t width);

/*
 * Operand `index` as a source of a type; immediates become constants of it. A register must have
 * the type's width, or with `wider` at least that (ret_width says which).
 */
int sg_decode_source(struct sg_decoder *decoder, uint32_t index, enum gt_ptx_type type,
		     uint32_t *ret_slot);
int sg_decode_source_operand(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
			     uint32_t index, enum gt_ptx_type type, bool wider, uint32_t *ret_slot,
			     uint32_t *ret_width);
int sg_decode_destination(struct sg_decoder *decoder, uint32_t index, enum gt_ptx_type type,
			  uint32_t *ret_slot);
int sg_decode_destination_operand(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
				  uint32_t index, enum gt_ptx_type type, bool wider,
				  uint32_t *ret_slot, uint32_t *ret_width);
/* A predicate source; *ret_negated: !p. It may be an immediate 0 or 1; NULL is a bad operand. */
int sg_decode_predicate(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
			uint32_t index, uint32_t *ret_slot, bool *ret_negated);
/*
 * The elements of a vector operand (or the one operand itself) into slots[SG_MAX_ELEMENTS]. Sinks
 * are SG_SINK where allowed.
 */
int sg_decode_elements(struct sg_decoder *decoder, uint32_t index,
		       const struct gt_ptx_operand **items, uint32_t *ret_count);
/* Give parameters and results, and variables of the body, their places (decode_variables.c). */
int sg_decode_signature(struct sg_decoder *decoder);
int sg_decode_variables(struct sg_decoder *decoder);
/* Gives the registers of the function's body their slots (allocate.c); order: of the blocks. */
int sg_decode_allocate(struct sg_decoder *decoder, const uint32_t *order);
/* A list that lives as long as the function. */
uint32_t *sg_decode_list(struct sg_decoder *decoder, uint32_t count);

/* The address of what a SYMBOL or FUNCTION operand names, as a slot: decode_move.c. */
int sg_decode_symbol(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		     uint32_t width, uint32_t *ret_slot);

struct sg_address {
	uint32_t slot;     /* base; SG_NO_SLOT: in the local frame or the kernel's parameters */
	uint64_t offset;   /* added to it; or the place there */
	bool is_narrow;    /* the base has 32 bits */
	bool is_frame;     /* in the local frame */
	bool is_parameter; /* in the kernel's parameters */
	uint8_t space;     /* enum gt_ptx_space of a symbol; NONE: a register or number */
};

/* Operand `index`, an address in brackets. */
int sg_decode_address(struct sg_decoder *decoder, uint32_t index, struct sg_address *ret_address);
int sg_decode_address_operand(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
			      uint32_t index, struct sg_address *ret_address);

/* What the modifiers of a memory instruction say. */
struct sg_memory_modifiers {
	enum gt_ptx_space space; /* NONE: generic */
	uint32_t flags;          /* enum sg_flag: the memory order */
};

/*
 * Reads the state space and the memory order. `is_known` accepts modifiers that belong to one
 * opcode only; NULL: there are none. False: there is a modifier that no memory instruction has.
 */
bool sg_decode_memory_modifiers(const struct gt_ptx_form *form,
				bool (*is_known)(enum gt_ptx_modifier_id),
				struct sg_memory_modifiers *ret_modifiers);
/* A modifier of st.async and red.async, which complete before the next instruction. */
bool sg_is_async_modifier(enum gt_ptx_modifier_id id);
/* Completes the `bytes` of an asynchronous store or reduction at its mbarrier, its last operand. */
int sg_decode_async_completion(struct sg_decoder *decoder, uint32_t bytes);
/* Completes an instruction with its address: ops/memory.c. */
int sg_decode_place(struct sg_decoder *decoder, struct sg_instruction *step,
		    enum gt_ptx_space space, const struct sg_address *address);
/* Tells the mbarrier at operand `index`, each lane, that bytes have come: mbarrier.c. */
int sg_decode_complete(struct sg_decoder *decoder, uint32_t index, uint32_t bytes);
/* Whether an instruction asks if a phase is complete: mbarrier.c. */
bool sg_is_mbarrier_wait(const struct sg_instruction *at);

/* ---- emitting -------------------------------------------------------------------------- */

/* Appends; the line is that of the statement. NULL if memory ran out. */
struct sg_instruction *sg_decode_emit(struct sg_decoder *decoder, sg_run *run);
/* Appends a copy of `wanted`, but for what it runs and its line. 0 or -ENOMEM. */
int sg_decode_emit_step(struct sg_decoder *decoder, sg_run *run,
			const struct sg_instruction *wanted);
static inline struct sg_instruction *sg_decode_emit_lane(struct sg_decoder *decoder,
							 enum sg_lane_op op)
{
	return sg_decode_emit(decoder, decoder->machine->lanes->run[op]);
}

/* Appends an instruction without operands. 0 or -ENOMEM. */
int sg_decode_emit_plain(struct sg_decoder *decoder, sg_run *run);

/* ---- decoders of instructions: 0, -EINVAL with diag, -ENOMEM --------------------------- */

typedef int sg_decode(struct sg_decoder *decoder);

sg_decode sg_decode_arithmetic; /* arithmetic.c: what forms.def lists */
sg_decode sg_decode_mov, sg_decode_selp, sg_decode_slct, sg_decode_setp, sg_decode_set,
	sg_decode_cvta, sg_decode_isspacep, sg_decode_testp, sg_decode_logic;
sg_decode sg_decode_cvt;
/* cvt of what convert_small.c has. */
sg_decode sg_decode_cvt_small, sg_decode_cvt_pack;
bool sg_is_small(enum gt_ptx_type type);
sg_decode sg_decode_carry, sg_decode_lop3, sg_decode_prmt, sg_decode_dp, sg_decode_video;
sg_decode sg_decode_ld, sg_decode_st, sg_decode_atom, sg_decode_cp, sg_decode_nothing,
	sg_decode_fence, sg_decode_createpolicy;
sg_decode sg_decode_half, sg_decode_mixed;
sg_decode sg_decode_mbarrier, sg_decode_copy_arrive;
sg_decode sg_decode_cluster_barrier, sg_decode_mapa, sg_decode_getctarank;  /* cluster.c */
sg_decode sg_decode_bulk_copy, sg_decode_bulk_reduce, sg_decode_bulk_clear; /* bulk.c */
sg_decode sg_decode_mma, sg_decode_wmma, sg_decode_matrix_rows, sg_decode_movmatrix;
sg_decode sg_decode_bra, sg_decode_brx, sg_decode_ret, sg_decode_exit, sg_decode_call,
	sg_decode_trap, sg_decode_nanosleep, sg_decode_stack;
sg_decode sg_decode_shfl, sg_decode_vote, sg_decode_match, sg_decode_redux, sg_decode_activemask,
	sg_decode_bar, sg_decode_elect, sg_decode_warp_barrier;

/* Decodes a function's body into function. */
int sg_decode_function(struct sg_module *module, struct sg_unit *unit,
		       const struct gt_ptx_function *source, struct sg_function *function,
		       struct gt_diag *diag);
/* What a call of a function that has no body does: printf and the like. NULL: unknown. */
sg_run *sg_builtin_find(const char *name);
