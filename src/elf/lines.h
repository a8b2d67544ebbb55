/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions, inlined functions and source lines out of DWARF, by elfutils' libdw. Nothing is
 * mapped, nothing outside of the file and its supplementary one (dwz) is opened, and time and
 * memory have limits: hostile DWARF costs no more than a large program's.
 */
#pragma once

#include "elf/private.h"

/* What DWARF tells of an address; strings belong to the gt_lines. */
struct gt_line_frame {
	const char *linkage; /* mangled name; NULL: none */
	const char *name;    /* as in the source, without scopes; NULL: none */
	uint64_t start;   /* of the function's code that holds the address; 0: unknown, inlined */
	const char *file; /* NULL: unknown */
	uint32_t line, column;
	bool inlined;
};

enum { GT_LINES_MAX_FRAMES = 32 };

struct gt_lines;

/*
 * Opens the DWARF of a file. debug_directory is where supplementary files are looked for. *spent
 * (ns) counts the time that this file took so far; past a limit nothing is read any more.
 * 0; -ENOENT: it has none that could be read; -ETIME: past the limit; -ENOMEM.
 */
int gt_lines_open(const struct gt_elf *elf, const char *debug_directory, uint64_t *spent,
		  struct gt_lines **ret_lines);
void gt_lines_free(struct gt_lines *lines);
GT_DEFINE_AUTO(lines, struct gt_lines, gt_lines_free)

/*
 * The functions at an address, innermost first; the last one is not inlined, and has no name
 * where only the line is known. Returns how many, 0 if nothing is known.
 */
size_t gt_lines_find(struct gt_lines *lines, uint64_t address,
		     struct gt_line_frame frames[GT_LINES_MAX_FRAMES]);

/* Whether so much was read that its memory is better freed; then open it anew. */
bool gt_lines_is_full(const struct gt_lines *lines);
