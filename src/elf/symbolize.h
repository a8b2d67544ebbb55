/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Symbolization of an address of a process: file, function, source line, and inlined functions.
 * Sources: the mapped file, its debug file (by build id below /usr/lib/debug, or by
 * .gnu_debuglink), and its .gnu_debugdata.
 *
 * Files may have changed since the address was recorded, and their contents are untrusted: a
 * failure means less detail, never an error. A file with another inode than the mapping's is not
 * read. No file is fetched from a network.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "elf/space.h"

/* A function at an address, inlined or not. Strings live as long as the symbolizer. */
struct gt_source_frame {
	const char *function; /* demangled; NULL: unknown */
	const char *symbol;   /* as in the file, possibly mangled; NULL: unknown */
	uint64_t offset;      /* bytes from the function's start; 0 for an inlined one */
	const char *file;     /* source file, as given to the compiler; NULL: unknown */
	uint32_t line;        /* 0: unknown */
	uint32_t column;      /* 0: unknown */
	bool inlined;         /* into the frame that follows */
};

struct gt_location {
	const char *
		path; /* of the mapped file as the process sees it, or "[vdso]"; NULL: not mapped */
	uint64_t offset;  /* of the address in that file, bytes */
	uint64_t address; /* in the ELF, as addr2line takes it; 0: the file cannot be read */
	/* Innermost first; all except the last are inlined. Count 0: no function is known. */
	const struct gt_source_frame *frames;
	size_t frame_count;
};

struct gt_symbolizer;

/* Zero selects the default of each option. */
struct gt_symbolizer_options {
	const char *debug_directory; /* NULL: /usr/lib/debug; "": none */
	bool no_lines;               /* do not read DWARF, only symbols */
	size_t max_open;             /* files whose tables are in memory at the same time; 0: 64 */
};

/* Returns a symbolizer; NULL: out of memory. The space is borrowed; options may be NULL. */
struct gt_symbolizer *gt_symbolizer_new(const struct gt_space *space,
					const struct gt_symbolizer_options *options);
void gt_symbolizer_free(struct gt_symbolizer *symbolizer);
GT_DEFINE_AUTO(symbolizer, struct gt_symbolizer, gt_symbolizer_free)

/*
 * Symbolizes an address. With is_return it is a return address, and the call before it is
 * symbolized. Results are cached. The frames live as long as the symbolizer.
 */
void gt_symbolize(struct gt_symbolizer *symbolizer, uint32_t process, uint64_t address,
		  bool is_return, struct gt_location *ret_location);
