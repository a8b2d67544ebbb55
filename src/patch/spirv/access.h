/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which instructions of SPIR-V are sites, and of which kinds of programs. */
#pragma once

#include "gpubpf/context.h"
#include "spirv/module.h"

/* A memory access: OpLoad, OpStore, OpAtomic…, and the extended instructions vloadn and vstoren. */
struct gt_spirv_access {
	enum gt_memory_access kind;
	uint32_t pointer;
	uint32_t offset; /* id of a number of widths to add to the pointer; 0: none */
	/* Loaded, stored, or the atomic's operand, with its type; 0: it has none. */
	uint32_t value, value_type;
	enum gt_bpf_space space;
	uint32_t width; /* bytes */
};

/*
 * 0; -ENOENT: no access, or one to constants or built-in values; -E2BIG: wider than
 * GT_MAX_ACCESS_WIDTH, or of an unknown size.
 */
int gt_spirv_read_access(const struct gt_spirv_module *module,
			 const struct gt_spirv_instruction *instruction,
			 struct gt_spirv_access *ret_access);

/* "OpLoad": the name of an instruction that can be a site; "": it is none. */
const char *gt_spirv_opcode_name(unsigned opcode);

/*
 * Variables of functions that compilers keep in registers, since nothing but loads and stores
 * refers to them. What they hold is no memory: compilers for OpenCL write each variable of the
 * source so. The caller frees the result: by id of a pointer, 1 if it is to such a variable. NULL:
 * no memory.
 */
uint8_t *gt_spirv_find_registers(const struct gt_spirv_module *module);

/* Bits of gt_section_kind, as gt_patch_statement_kinds; those of branches are in sites.c. */
uint32_t gt_spirv_instruction_kinds(const struct gt_spirv_module *module,
				    const struct gt_spirv_instruction *instruction,
				    const uint8_t *registers);
/* Kinds that it concerns although it cannot be a site for them, with the reason, as
 * gt_patch_rejected_kinds. */
uint32_t gt_spirv_rejected_kinds(const struct gt_spirv_module *module,
				 const struct gt_spirv_instruction *instruction,
				 const uint8_t *registers, const char **ret_reason);

/* The extended instruction of OpenCL; UINT32_MAX: it is none. */
uint32_t gt_spirv_extended_opcode(const struct gt_spirv_module *module,
				  const struct gt_spirv_instruction *instruction);
