/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ptx/tables.h"

#include "base/clean.h"

static const struct gt_ptx_type_info types[GT_PTX_TYPE_COUNT] = {
	[GT_PTX_TYPE_NONE] = {"", 0, GT_PTX_CLASS_NONE},
#define GT_PTX_TYPE(id, name, bits, class) [GT_PTX_TYPE_##id] = {name, bits, GT_PTX_CLASS_##class},
#include "ptx/types.def"
#undef GT_PTX_TYPE
};

static const char *const modifiers[GT_PTX_MOD_COUNT] = {
	[GT_PTX_MOD_UNKNOWN] = "",
#define GT_PTX_TYPE(id, name, bits, class) [GT_PTX_MOD_##id] = name,
#include "ptx/types.def"
#undef GT_PTX_TYPE
#define GT_PTX_MODIFIER(id, name) [GT_PTX_MOD_##id] = name,
#include "ptx/modifiers.def"
#undef GT_PTX_MODIFIER
};

static const struct {
	const char *name;
	enum gt_ptx_destination destination;
} opcodes[GT_PTX_OP_COUNT] = {
#define GT_PTX_OPCODE(id, name, destination)                                                       \
	[GT_PTX_OP_##id] = {name, GT_PTX_DESTINATION_##destination},
#include "ptx/opcodes.def"
#undef GT_PTX_OPCODE
};

static const struct gt_ptx_special_info specials[GT_PTX_SPECIAL_COUNT] = {
#define GT_PTX_SPECIAL(id, name, type, vector, members)                                            \
	[GT_PTX_SPECIAL_##id] = {name, GT_PTX_TYPE_##type, vector, members},
#include "ptx/special.def"
#undef GT_PTX_SPECIAL
};

static const struct gt_ptx_directive_info directives[GT_PTX_DIRECTIVE_COUNT] = {
#define GT_PTX_DIRECTIVE(id, name, min, max) [GT_PTX_DIRECTIVE_##id] = {name, min, max},
#include "ptx/directives.def"
#undef GT_PTX_DIRECTIVE
};

const struct gt_ptx_type_info *gt_ptx_type_info(enum gt_ptx_type type)
{
	return &types[type < GT_PTX_TYPE_COUNT ? type : GT_PTX_TYPE_NONE];
}

const char *gt_ptx_modifier_name(enum gt_ptx_modifier_id id)
{
	return modifiers[id < GT_PTX_MOD_COUNT ? id : GT_PTX_MOD_UNKNOWN];
}

const char *gt_ptx_opcode_name(enum gt_ptx_opcode opcode)
{
	return opcodes[opcode].name;
}

enum gt_ptx_destination gt_ptx_opcode_destination(enum gt_ptx_opcode opcode)
{
	return opcodes[opcode].destination;
}

const struct gt_ptx_special_info *gt_ptx_special_info(enum gt_ptx_special special)
{
	return &specials[special];
}

const struct gt_ptx_directive_info *gt_ptx_directive_info(enum gt_ptx_directive_id id)
{
	return &directives[id];
}
