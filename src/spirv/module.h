/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Modules of SPIR-V 1.0 to 1.6, in the flavour of OpenCL, as instructions. The input is hostile.
 *
 * Checked are the header, the length of each instruction, the order of the sections, ids (in
 * bounds, defined once), strings, functions (blocks that end with one terminator each) and entry
 * points; source: the SPIR-V specification, 1.6, chapter 2. Instructions that have no meaning here
 * are kept as they are. The operands of others are not checked: the consumer does that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/vec.h"

enum gt_spirv_section {
	GT_SPIRV_CAPABILITIES,
	GT_SPIRV_EXTENSIONS,
	GT_SPIRV_IMPORTS, /* of extended instruction sets */
	GT_SPIRV_MEMORY_MODEL,
	GT_SPIRV_ENTRY_POINTS,
	GT_SPIRV_MODES,
	GT_SPIRV_DEBUG, /* sources and names */
	GT_SPIRV_DECORATIONS,
	GT_SPIRV_GLOBALS, /* types, constants and variables */
	GT_SPIRV_FUNCTIONS,
	GT_SPIRV_SECTIONS,
};

enum {
	GT_SPIRV_MAX_BOUND = 0x3fffff, /* the specification's universal limit of ids */
	GT_SPIRV_MAX_SIZE = 64 << 20,  /* bytes of a module */
};

struct gt_spirv_instruction {
	const uint32_t *words; /* the first one has length and opcode */
	uint16_t opcode, count;
};

/* A function: instructions from its OpFunction to its OpFunctionEnd. */
struct gt_spirv_function {
	uint32_t id;
	size_t begin, end; /* instructions; end is that after OpFunctionEnd */
	bool has_body;     /* else it is imported */
};

/* An entry point: a kernel. */
struct gt_spirv_entry {
	uint32_t function;
	const char *name;   /* in the words of the instruction, ended by a NUL */
	size_t instruction; /* its OpEntryPoint */
};

struct gt_spirv_module {
	uint32_t version; /* 0x10200 is 1.2 */
	uint32_t generator, bound;
	unsigned address_bits; /* 32 or 64 */
	uint32_t *words;       /* of this machine's byte order */
	GT_VEC(struct gt_spirv_instruction) instructions;
	size_t sections[GT_SPIRV_SECTIONS + 1]; /* the first instruction of each; then the number */
	uint32_t *definitions; /* by id: 1 + the instruction whose result it is; 0: none */
	GT_VEC(struct gt_spirv_function) functions;
	GT_VEC(struct gt_spirv_entry) entries;
};

/*
 * Read a module from bytes, in either byte order. 0; -EINVAL: it is malformed; -EOPNOTSUPP: it is
 * none of OpenCL's kernels, or of a version that is not known; -E2BIG; -ENOMEM.
 */
int gt_spirv_parse(const void *bytes, size_t size, struct gt_spirv_module **ret_module,
		   struct gt_diag *diag);
void gt_spirv_module_free(struct gt_spirv_module *module);
GT_DEFINE_AUTO(spirv_module, struct gt_spirv_module, gt_spirv_module_free)

/* The instruction whose result is an id; NULL: there is none. */
const struct gt_spirv_instruction *gt_spirv_definition(const struct gt_spirv_module *module,
						       uint32_t id);
/* The function with an id; NULL: there is none. */
const struct gt_spirv_function *gt_spirv_function(const struct gt_spirv_module *module,
						  uint32_t id);
/* Which results an opcode has: a type's id, an id. */
void gt_spirv_results(unsigned opcode, bool *ret_has_type, bool *ret_has_result);
