/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions, inlined functions and source lines from DWARF, by elfutils' libdw. No file is mapped,
 * no file except this one and its supplementary file (dwz) is opened, and time and memory are
 * limited: malicious DWARF costs no more than that of a large program.
 */
#pragma once

#include "elf/private.h"

/* A function at an address. The gt_lines owns the strings. */
struct gt_line_frame {
	const char *linkage; /* mangled name; NULL: none */
	const char *name;    /* as in the source, without scopes; NULL: none */
	uint64_t start; /* of the range of the function's code with the address; 0: unknown, inlined
			 */
	const char *file; /* NULL: unknown */
	uint32_t line, column;
	bool inlined;
};

enum { GT_LINES_MAX_FRAMES = 32 };

struct gt_lines;

/*
 * Opens the DWARF of a file. Supplementary files are searched for in debug_directory. *spent (ns)
 * accumulates the time for this file; above a limit nothing more is read.
 * 0; -ENOENT: no readable DWARF; -ETIME: above the limit; -ENOMEM.
 */
int gt_lines_open(const struct gt_elf *elf, const char *debug_directory, uint64_t *spent,
		  struct gt_lines **ret_lines);
void gt_lines_free(struct gt_lines *lines);
GT_DEFINE_AUTO(lines, struct gt_lines, gt_lines_free)

/*
 * Finds the functions at an address, innermost first; the last one is not inlined, and has no name
 * if only the line is known. Returns their number, 0 if nothing is known.
 */
size_t gt_lines_find(struct gt_lines *lines, uint64_t address,
		     struct gt_line_frame frames[GT_LINES_MAX_FRAMES]);

/* Returns whether so much was read that it should be freed and opened again. */
bool gt_lines_is_full(const struct gt_lines *lines);
