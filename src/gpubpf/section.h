/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the name of a program's section says: where in a kernel it runs, how often, in which
 * kernels. "gpu/<kind>[.warp|.block][/<glob>]"; and, as bpftime has them, "kprobe/<names>" and
 * "kretprobe/<names>" for the entry and exit of kernels.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

/* Who runs the program once. The numbers are bits of gt_level_set. */
enum gt_level {
	GT_LEVEL_THREAD, /* each thread that comes by */
	GT_LEVEL_WARP,   /* each group of lanes of a warp that come by together */
	GT_LEVEL_BLOCK,  /* each block: at entry its first thread, at exit its last */
};

enum gt_level_set {
	GT_AT_THREAD = 1 << GT_LEVEL_THREAD,
	GT_AT_WARP = 1 << GT_LEVEL_WARP,
	GT_AT_BLOCK = 1 << GT_LEVEL_BLOCK,
	GT_AT_GROUP = GT_AT_WARP | GT_AT_BLOCK,
	GT_AT_ANY = GT_AT_THREAD | GT_AT_WARP | GT_AT_BLOCK,
};

enum gt_section_glob {
	GT_GLOB_NONE,
	GT_GLOB_OPTIONAL,
	GT_GLOB_NEEDED,
};

enum gt_section_trait {
	GT_SECTION_LEAVES = 1, /* threads are about to leave: nothing may wait */
	GT_SECTION_MEMORY = 2, /* at instructions that access memory */
	GT_SECTION_ALONE = 4,  /* no kernel is around it: r1 is memory and r2 its size */
};

enum gt_section_kind {
#define SECTION(kind, ...) GT_KIND_##kind,
#include "gpubpf/section.def"
#undef SECTION
	GT_KIND_COUNT,
	GT_KIND_HOST = GT_KIND_COUNT, /* for Linux: "uprobe/…", "tracepoint/…" and all others */
};

struct gt_section_row {
	const char *name; /* "entry" */
	enum gt_section_glob glob;
	unsigned levels; /* gt_level_set */
	unsigned traits; /* gt_section_trait */
};

/* The row of a kind below GT_KIND_COUNT. */
const struct gt_section_row *gt_section_row(enum gt_section_kind kind);

/* "thread", "warp", "block". */
const char *gt_level_name(enum gt_level level);

struct gt_section {
	enum gt_section_kind kind;
	enum gt_level level;
	bool list;        /* pattern is a list of names with commas, as in "kprobe/_Z1av,_Z1bv" */
	const char *text; /* all of it, as it was given; not owned */
	const char *pattern; /* a part of it: a glob, or a list of names. "*": any */
};

/*
 * Reads a section's name; `program` is the name of the function in it. "kprobe/" and "kretprobe/"
 * are for the GPU if a name in the list begins with "_Z" or is "__memcapture", or `program` has
 * "cuda__" or "__cuda" in it; blanks around names do not matter. 0, or -EINVAL with the reason (a
 * section for the GPU that does not exist; never for others: these are GT_KIND_HOST). The strings
 * given must outlive the result.
 */
int gt_section_read(const char *section, const char *program, struct gt_section *ret_section,
		    struct gt_diag *diag);

/*
 * Whether the program belongs into a kernel (CALL, RETURN: a device function) of these names.
 * Either name may be NULL. Patterns match the mangled or the demangled name, or the demangled one
 * up to its "(".
 */
bool gt_section_matches(const struct gt_section *section, const char *mangled,
			const char *demangled);
