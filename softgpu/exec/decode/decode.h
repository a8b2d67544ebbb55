/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decoding: parsed functions become lists of instructions. */
#pragma once

#include "exec/engine/engine.h"
#include "exec/lanes/lanes.h"
#include "ptx/ptx.h"

/* Maximum size of one frame of registers, in bytes. */
#define SG_MAX_FRAME (16u << 20)

/* In locations: an .extern variable that no module defines. */
#define SG_UNRESOLVED UINT64_MAX

/* One of the parsed modules that are loaded together. */
struct sg_unit {
	const struct gt_ptx_module *parsed;
	/*
	 * By gt_ptx_variable.number: the address of a .global or .const, the number of a .shared
	 * among the module's, the offset of a .local or .param in its function's local frame.
	 */
	uint64_t *locations;
	struct sg_function **functions; /* by gt_ptx_function.number; NULL: not defined */
};

/* A basic block. */
struct sg_basic_block {
	uint32_t first, end; /* statements */
	uint32_t start;      /* instruction, after a join */
	uint32_t entries;    /* incoming edges */
	uint32_t fall;       /* the next block of the text; SG_NO_SLOT: it does not fall through */
	bool is_branch;      /* its last instruction is bra or brx */
	bool ends;           /* never falls through */
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
	uint32_t next_predicate;
	uint32_t temporary[5]; /* slots by width: 2, 4, 8, 16 bytes, predicate; SG_NO_SLOT */
	struct gt_ptx_operand
		elements[SG_MAX_REGISTER_ELEMENTS]; /* elements of a vector register */
	struct gt_hash *constants;                  /* to slot + 1, by struct sg_fill */
	GT_VEC(const struct gt_ptx_statement *) statements;
	GT_VEC(struct sg_basic_block) blocks;
	uint32_t *label_blocks; /* by label number */
	GT_VEC(uint32_t) edges;
	uint32_t *edge_starts;
	uint32_t fall_block; /* `fall` of the block that is being decoded */
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

/* "line 3: TEXT in function 'f'". */
int sg_decode_error(const struct sg_decoder *decoder, const char *format, ...) gt_printf(2, 3);
/* The device does not support the opcode. */
int sg_decode_unsupported(const struct sg_decoder *decoder);
/* The device does not support this form of the opcode. */
int sg_decode_bad_form(const struct sg_decoder *decoder);
/* A name that is used is not defined: -ENOENT. */
int sg_decode_missing(const struct sg_decoder *decoder, const char *what, const char *name);
int sg_decode_bad_operand(const struct sg_decoder *decoder, uint32_t index);

/* ---- operands (operand.c) -------------------------------------------------------------- */

/* Returns the bytes of a lane in a slot of a type: 2, 4, 8, 16; 0 for a predicate. */
uint32_t sg_type_width(enum gt_ptx_type type);
uint32_t sg_decode_new_slot(struct sg_decoder *decoder, uint32_t width);
/* The slot and type of a REGISTER operand. */
int sg_decode_register(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		       uint32_t *ret_slot, enum gt_ptx_type *ret_type);
/* A slot with the same value in all lanes. */
int sg_decode_constant(struct sg_decoder *decoder, uint32_t width, uint64_t value,
		       uint32_t *ret_slot);
/* Emits the reading of a special register that changes while a block runs (%clock). */
int sg_decode_changing(struct sg_decoder *decoder, enum gt_ptx_special special, uint32_t width,
		       uint32_t slot);
/* A scratch slot for use within one instruction. */
uint32_t sg_decode_temporary(struct sg_decoder *decoder, uint32_t width);

/*
 * Operand `index` as a source of a type; immediates become constants of it. A register must have
 * the type's width, or with `wider` at least that; *ret_width is its width.
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
 * Fills items[SG_MAX_ELEMENTS] with the elements of a vector operand, or with the operand itself.
 */
int sg_decode_elements_of(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
			  uint32_t index, const struct gt_ptx_operand **items, uint32_t *ret_count);
/* The same for operand `index`. */
int sg_decode_elements(struct sg_decoder *decoder, uint32_t index,
		       const struct gt_ptx_operand **items, uint32_t *ret_count);
/* Lay out parameters and results, and variables of the body (variables.c). */
int sg_decode_signature(struct sg_decoder *decoder);
/*
 * The values that a parameter or result of a device function consists of: the elements of a vector
 * register, else 1; and the bytes of each, 0 for a predicate.
 */
uint32_t sg_decode_formal_elements(const struct gt_ptx_variable *formal);
uint32_t sg_decode_formal_size(const struct gt_ptx_variable *formal);
int sg_decode_variables(struct sg_decoder *decoder);
/* Assigns slots to the registers of the function's body (allocate.c); order: of the blocks. */
int sg_decode_allocate(struct sg_decoder *decoder, const uint32_t *order);
/* Allocates a list that lives as long as the function; NULL: out of memory. */
uint32_t *sg_decode_list(struct sg_decoder *decoder, uint32_t count);

/* The address of a SYMBOL or FUNCTION operand, as a slot (ops/move.c). */
int sg_decode_symbol(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
		     uint32_t width, uint32_t *ret_slot);

struct sg_address {
	uint32_t slot;     /* base; SG_NO_SLOT: in the local frame or the kernel's parameters */
	uint64_t offset;   /* added to the base, or in the frame or parameters */
	bool is_narrow;    /* the base has 32 bits */
	bool is_frame;     /* in the local frame */
	bool is_parameter; /* in the kernel's parameters */
	uint8_t space;     /* enum gt_ptx_space of a symbol; NONE: a register or an integer */
};

/* Operand `index`, an address in brackets. */
int sg_decode_address(struct sg_decoder *decoder, uint32_t index, struct sg_address *ret_address);
/* The same; it must have a base in a slot, so .param and .local variables are bad operands. */
int sg_decode_slot_address(struct sg_decoder *decoder, uint32_t index,
			   struct sg_address *ret_address);
int sg_decode_address_operand(struct sg_decoder *decoder, const struct gt_ptx_operand *operand,
			      uint32_t index, struct sg_address *ret_address);

/* The modifiers of a memory instruction. */
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
/* Sets how an instruction resolves its address (ops/memory.c). */
int sg_decode_access(struct sg_decoder *decoder, struct sg_instruction *step,
		     enum gt_ptx_space space, const struct sg_address *address);
/* Emits the completion of bytes at the mbarrier of operand `index` (ops/mbarrier.c). */
int sg_decode_complete(struct sg_decoder *decoder, uint32_t index, uint32_t bytes);
/* Returns whether an instruction tests if a phase is complete (ops/mbarrier.c). */
bool sg_is_mbarrier_wait(const struct sg_instruction *at);

/* ---- emitting -------------------------------------------------------------------------- */

/* Appends an instruction with the statement's line. NULL: out of memory. */
struct sg_instruction *sg_decode_emit(struct sg_decoder *decoder, sg_run *run);
/* Appends a copy of `wanted` with another run function and the statement's line. 0 or -ENOMEM. */
int sg_decode_emit_step(struct sg_decoder *decoder, sg_run *run,
			const struct sg_instruction *wanted);
/* The same with an operation on lanes. */
static inline int sg_decode_emit_lanes(struct sg_decoder *decoder, enum sg_lane_op op,
				       const struct sg_instruction *wanted)
{
	return sg_decode_emit_step(decoder, decoder->machine->lanes->run[op], wanted);
}

/* Appends an instruction without operands. 0 or -ENOMEM. */
int sg_decode_emit_plain(struct sg_decoder *decoder, sg_run *run);

/* ---- decoders of instructions: 0, -EINVAL with diag, -ENOMEM --------------------------- */

typedef int sg_decode(struct sg_decoder *decoder);

sg_decode sg_decode_arithmetic; /* ops/arithmetic.c: the forms of forms.def */
sg_decode sg_decode_mov, sg_decode_selp, sg_decode_slct, sg_decode_setp, sg_decode_set,
	sg_decode_cvta, sg_decode_isspacep, sg_decode_testp, sg_decode_logic;
sg_decode sg_decode_cvt;
/* cvt with types of ops/convert_small.c. */
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
sg_decode sg_decode_texture;                          /* texture.c */
sg_decode sg_decode_surface;                          /* surface.c */
sg_decode sg_decode_texture_query, sg_decode_istypep; /* texture_query.c */

/* Decodes a function's body. */
int sg_decode_function(struct sg_module *module, struct sg_unit *unit,
		       const struct gt_ptx_function *source, struct sg_function *function,
		       struct gt_diag *diag);
/* Returns the implementation of a function without a body (vprintf, malloc), or NULL. */
sg_run *sg_builtin_find(const char *name);
