/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The values of contexts at a site. A program is translated once per module: what differs from site
 * to site it reads from registers, <prefix>at_<source>, which are declared and set at each site, as
 * far as the site's programs read them. ptxas removes the copies.
 */
#pragma once

#include <stdint.h>

#include "base/strbuf.h"
#include "gpubpf/translate.h"
#include "patch/site.h"

/* What programs read of their context, beside what a thread knows itself. */
struct gt_patch_uses {
	uint64_t sources;        /* bit n: gt_context_source n */
	uint32_t arguments;      /* bit n: argument n */
	uint32_t argument_sizes; /* bit n: the size of argument n */
	uint32_t registers;      /* bit n: register n of the section's list */
};

/* What a verified program reads. */
struct gt_patch_uses gt_patch_find_uses(const struct gt_bpf_program *program,
					const struct gt_facts *facts,
					const struct gt_section *section);
struct gt_patch_uses gt_patch_join_uses(struct gt_patch_uses a, struct gt_patch_uses b);

enum {
	GT_PATCH_MAX_VALUES = 17 + 2 * GT_CONTEXT_ARGUMENTS + GT_MAX_SECTION_REGISTERS,
	GT_PATCH_MAX_NAME = GT_MAX_PREFIX + 24,
};

/* The operands that stand for these values at every site. */
struct gt_patch_values {
	struct gt_site_value items[GT_PATCH_MAX_VALUES];
	char names[GT_PATCH_MAX_VALUES][GT_PATCH_MAX_NAME];
	uint32_t count;
};
void gt_patch_list_values(const char *prefix, struct gt_patch_uses uses,
			  struct gt_patch_values *ret_values);

/* A site to set values at. */
struct gt_patch_value_site {
	const char *prefix;
	struct gt_patch_uses uses;
	const struct gt_ptx_function *function;
	const struct gt_ptx_instruction *instruction; /* NULL: the start or end of the body */
	const struct gt_ptx_label *loop;              /* of a loop's end: its label; or NULL */
	/* The section of the only program of a site that reads registers, and the site; or NULL. */
	const struct gt_section *section;
	const struct gt_ptx_statement *statement;
	uint32_t site, line, kernel;
	uint32_t source_line; /* 0: not known */
	bool has_sync;        /* activemask and vote.sync exist: PTX 6.2 */
	bool after;           /* programs run after the instruction */
};

/* The value of a source that is a constant at the site; 0: it is none. */
uint64_t gt_patch_constant_value(const struct gt_patch_value_site *at,
				 enum gt_context_source source);
/* Declare the registers and set what is known before the instruction. */
void gt_patch_put_values(const struct gt_patch_value_site *at, struct gt_strbuf *buffer);
/* Immediately before and after the instruction: measure how long it takes, if programs ask. */
void gt_patch_put_start(const struct gt_patch_value_site *at, struct gt_strbuf *buffer);
void gt_patch_put_end(const struct gt_patch_value_site *at, struct gt_strbuf *buffer);
/* Set what the instruction has loaded, after it. */
void gt_patch_put_loaded(const struct gt_patch_value_site *at, struct gt_strbuf *buffer);

/* value_bits.c: whether an operand is a number. */
bool gt_patch_is_constant_operand(const struct gt_ptx_operand *operand);
/* An element of a value: of { … }, of a register that is declared as a vector, or the value. */
struct gt_ptx_operand gt_patch_element_of(const struct gt_ptx_operand *value, uint32_t number);
/* <to>.b64 = the low `bits` bits of an operand, extended with zeros; t16, t32: temporaries. */
void gt_patch_put_bits(const struct gt_patch_value_site *at, const char *to,
		       const struct gt_ptx_operand *operand, unsigned bits,
		       struct gt_strbuf *buffer);
/* The elements of a value, packed as in memory into two registers of 64 bits. */
void gt_patch_put_value(const struct gt_patch_value_site *at, const struct gt_patch_access *access,
			struct gt_strbuf *buffer);
