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
};

/* What a verified program reads. */
struct gt_patch_uses gt_patch_find_uses(const struct gt_bpf_program *program,
					const struct gt_facts *facts,
					const struct gt_section *section);
struct gt_patch_uses gt_patch_join_uses(struct gt_patch_uses a, struct gt_patch_uses b);

enum {
	GT_PATCH_MAX_VALUES = 16 + 2 * GT_CONTEXT_ARGUMENTS,
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
	uint32_t site, line, kernel;
	bool has_sync; /* activemask and vote.sync exist: PTX 6.2 */
	bool after;    /* programs run after the instruction */
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
