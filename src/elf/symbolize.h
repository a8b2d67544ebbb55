/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What stands at an address of a process: file, function, source line, and the functions that
 * were inlined there. From the file itself, and from what belongs to it: its debug file below
 * /usr/lib/debug (by build id) or by .gnu_debuglink, its .gnu_debugdata.
 *
 * Files may have changed or gone since the address was taken, and their contents are untrusted:
 * whatever fails means less detail, never an error. A file whose inode is not the mapping's is
 * another file and not looked into. No file is fetched from a network.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "elf/space.h"

/* A function at an address, inlined or not. Strings live as the symbolizer. */
struct gt_source_frame {
	const char *function; /* demangled; NULL: unknown */
	const char *symbol;   /* as in the file: mangled, or the plain name; NULL: unknown */
	uint64_t offset;      /* bytes from the function's first; 0 for an inlined one */
	const char *file;     /* of the source, as the compiler was given it; NULL: unknown */
	uint32_t line;        /* 0: unknown */
	uint32_t column;      /* 0: unknown */
	bool inlined;         /* into the frame that follows */
};

struct gt_location {
	const char *path; /* of the mapped file, or "[vdso]"; NULL: nothing is mapped there */
	uint64_t offset;  /* of the address in that file, bytes */
	uint64_t address; /* as in the ELF, what addr2line wants; 0: the file cannot be read */
	/* Innermost first; all but the last one inlined. 0 if no function is known. */
	const struct gt_source_frame *frames;
	size_t frame_count;
};

struct gt_symbolizer;

/* What may be changed; all zero is the default. */
struct gt_symbolizer_options {
	const char *debug_directory; /* NULL: /usr/lib/debug; "": none */
	bool no_lines;               /* only symbols: no DWARF is read */
	size_t max_open;             /* files whose tables are held at a time; 0: 64 */
};

/* The space is borrowed; options may be NULL. NULL if memory ran out. */
struct gt_symbolizer *gt_symbolizer_new(const struct gt_space *space,
					const struct gt_symbolizer_options *options);
void gt_symbolizer_free(struct gt_symbolizer *symbolizer);
GT_DEFINE_AUTO(symbolizer, struct gt_symbolizer, gt_symbolizer_free)

/*
 * What stands at an address. With is_return the address is where a call returns to, and what is
 * told is the call: the instruction before it. Each address of a file is looked up once.
 * The frames live as the symbolizer.
 */
void gt_symbolize(struct gt_symbolizer *symbolizer, uint32_t process, uint64_t address,
		  bool is_return, struct gt_location *ret_location);
