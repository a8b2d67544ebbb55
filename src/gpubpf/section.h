/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Section names: the kind of sites in a kernel at which a program runs, its level, and the kernels.
 * "gpu/<kind>[.warp|.block][/<glob>]"; and those of bpftime, "kprobe/<names>" and
 * "kretprobe/<names>", for the entry and exit of kernels, and
 * "kprobe/<name>__BB<n>__<register>__<register>…" for a basic block of one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

/* How often a program runs. The values are bit numbers of gt_level_set. */
enum gt_level {
	GT_LEVEL_THREAD, /* once per thread */
	GT_LEVEL_WARP,   /* once per group of active lanes of a warp */
	GT_LEVEL_BLOCK,  /* once per block: at entry in its first thread, at exit in its last */
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
	GT_SECTION_LEAVES = 1, /* threads are about to end: nothing may wait */
	GT_SECTION_MEMORY = 2, /* at instructions that access memory */
	GT_SECTION_ALONE = 4,  /* standalone: r1 is memory and r2 its size */
};

enum gt_section_kind {
#define SECTION(kind, ...) GT_KIND_##kind,
#include "gpubpf/section.def"
#undef SECTION
	GT_KIND_COUNT,
	GT_KIND_HOST = GT_KIND_COUNT, /* host programs: "uprobe/…", "tracepoint/…" and all others */
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

enum {
	GT_MAX_SECTION_REGISTERS = 32,
};

struct gt_section {
	enum gt_section_kind kind;
	enum gt_level level;
	uint32_t block;        /* BASIC_BLOCK: 1 + the number of the only one; 0: each of them */
	const char *registers; /* there, "__r2__rd8": registers of PTX to read; NULL: none */
	bool list;             /* pattern is a list of names, as in "kprobe/_Z1av,_Z1bv" */
	const char *text;      /* the whole name; not owned */
	const char *pattern;   /* a part of it: a glob, or a list of names. "*": any */
};

/*
 * Parse a section name; `program` is the name of its function, or NULL if it is known to be a GPU
 * program. "kprobe/" and "kretprobe/" are GPU sections if a name in the list begins with "_Z", or
 * is "__memcapture" or "__directly_run", or if `program` contains "cuda__" or "__cuda", or is NULL;
 * blanks around names and "cuda_" before "_Z" are ignored. 0; -EINVAL with the reason: a GPU
 * section that does not exist. All other sections are valid, as GT_KIND_HOST. Both strings must
 * outlive the result.
 */
int gt_section_read(const char *section, const char *program, struct gt_section *ret_section,
		    struct gt_diag *diag);

/*
 * Whether a section matches a kernel (CALL, RETURN: a device function) of these names, of which one
 * may be NULL. Globs and the names of a list match the mangled name, the demangled name, or the
 * demangled name up to its "(".
 */
bool gt_section_matches(const struct gt_section *section, const char *mangled,
			const char *demangled);

/*
 * The next name of a section's list, without blanks around it, "cuda_" before "_Z", and a basic
 * block after it; *list is advanced, and NULL after the last one. False: there is none.
 */
bool gt_section_next_name(const char **list, const char **ret_name, size_t *ret_length);

/* Whether a section lists registers of PTX; NULL is no section. */
static inline bool gt_section_lists_registers(const struct gt_section *section)
{
	return section && section->registers;
}

/*
 * The name of a register of PTX that a section lists, without its "%": "r2", of *ret_length
 * characters; the first one is number 0. False: the section lists fewer.
 */
bool gt_section_register(const struct gt_section *section, uint64_t number, const char **ret_name,
			 size_t *ret_length);
