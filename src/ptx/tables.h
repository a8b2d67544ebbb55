/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The vocabulary of PTX, from the .def files: types, opcodes, modifiers, special registers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum gt_ptx_type {
	GT_PTX_TYPE_NONE,
#define GT_PTX_TYPE(id, name, bits, class) GT_PTX_TYPE_##id,
#include "ptx/types.def"
#undef GT_PTX_TYPE
	GT_PTX_TYPE_COUNT,
};

enum gt_ptx_class {
	GT_PTX_CLASS_NONE,
	GT_PTX_CLASS_SIGNED,
	GT_PTX_CLASS_UNSIGNED,
	GT_PTX_CLASS_BITS,
	GT_PTX_CLASS_FLOAT,
	GT_PTX_CLASS_PACKED, /* several numbers in one register: .f16x2, .e4m3x2 */
	GT_PTX_CLASS_PREDICATE,
	GT_PTX_CLASS_OPAQUE, /* .texref, .samplerref, .surfref */
};

struct gt_ptx_type_info {
	const char *name; /* with its dot: ".f32" */
	uint32_t bits;    /* of storage; 1 for .pred */
	enum gt_ptx_class class;
};

/* The row of a type; NONE has the name "". */
const struct gt_ptx_type_info *gt_ptx_type_info(enum gt_ptx_type type);

/*
 * Modifiers. Types are modifiers too, with the same numbers: id < GT_PTX_TYPE_COUNT is the
 * type of that number.
 */
enum gt_ptx_modifier_id {
	GT_PTX_MOD_UNKNOWN,
#define GT_PTX_TYPE(id, name, bits, class) GT_PTX_MOD_##id,
#include "ptx/types.def"
#undef GT_PTX_TYPE
#define GT_PTX_MODIFIER(id, name) GT_PTX_MOD_##id,
#include "ptx/modifiers.def"
#undef GT_PTX_MODIFIER
	GT_PTX_MOD_COUNT,
};

/* ".global"; "" for UNKNOWN. */
const char *gt_ptx_modifier_name(enum gt_ptx_modifier_id id);

static inline enum gt_ptx_type gt_ptx_modifier_type(enum gt_ptx_modifier_id id)
{
	return (int)id < (int)GT_PTX_TYPE_COUNT ? (enum gt_ptx_type)id : GT_PTX_TYPE_NONE;
}

/* What the first operand of an opcode is. */
enum gt_ptx_destination {
	GT_PTX_DESTINATION_NONE,   /* a source, or no operand */
	GT_PTX_DESTINATION_FIRST,  /* written by the instruction */
	GT_PTX_DESTINATION_VARIES, /* depends on the modifiers: wmma.load, wmma.store */
};

enum gt_ptx_opcode {
#define GT_PTX_OPCODE(id, name, destination) GT_PTX_OP_##id,
#include "ptx/opcodes.def"
#undef GT_PTX_OPCODE
	GT_PTX_OP_COUNT,
};

const char *gt_ptx_opcode_name(enum gt_ptx_opcode opcode);
enum gt_ptx_destination gt_ptx_opcode_destination(enum gt_ptx_opcode opcode);

enum gt_ptx_special {
#define GT_PTX_SPECIAL(id, name, type, vector, members) GT_PTX_SPECIAL_##id,
#include "ptx/special.def"
#undef GT_PTX_SPECIAL
	GT_PTX_SPECIAL_COUNT,
};

struct gt_ptx_special_info {
	const char *name; /* "%tid"; of a numbered one without its number: "%envreg" */
	enum gt_ptx_type type;
	uint32_t vector;  /* 4: has .x .y .z .w; else 1 */
	uint32_t members; /* %envreg0 … %envreg31: 32; else 0 */
};

const struct gt_ptx_special_info *gt_ptx_special_info(enum gt_ptx_special special);

/* Performance and other directives between a function's header and body. */
enum gt_ptx_directive_id {
#define GT_PTX_DIRECTIVE(id, name, min, max) GT_PTX_DIRECTIVE_##id,
#include "ptx/directives.def"
#undef GT_PTX_DIRECTIVE
	GT_PTX_DIRECTIVE_COUNT,
};

struct gt_ptx_directive_info {
	const char *name; /* ".maxntid" */
	uint32_t min;     /* values it takes */
	uint32_t max;
};

const struct gt_ptx_directive_info *gt_ptx_directive_info(enum gt_ptx_directive_id id);
