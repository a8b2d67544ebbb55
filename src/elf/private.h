/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Internals of the ELF reader; only src/elf includes it. */
#pragma once

#include <elf.h>

#include "elf/elf.h"

/* The symbols, read on first use. */
struct gt_elf_symbol_table {
	bool loaded;
	int error; /* of loading, with its message */
	struct gt_diag diag;
	char *names[2]; /* the string tables that the names point into */
	struct gt_elf_symbol *symbols;
	size_t count;
	const struct gt_elf_symbol **by_name; /* by hash of the name, name, rank */
	uint32_t *hashes;                     /* hashes[i] is that of by_name[i] */
	const struct gt_elf_symbol **by_address;
	uint64_t *max_ends; /* max_ends[i]: the highest end of by_address[0 … i] */
};

struct gt_elf {
	struct gt_elf_info info;
	char *path;
	int fd;                /* -1: from memory, or no longer needed */
	const uint8_t *memory; /* NULL: from fd */
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	size_t segment_count;
	Elf64_Shdr *sections;
	size_t section_count;
	char *section_names; /* NULL: not read yet */
	size_t section_names_size;
	/* From the dynamic section: addresses, 0 if absent. */
	uint64_t dynamic_symbols, dynamic_strings, dynamic_strings_size, hash, gnu_hash;
	char **needed;
	size_t needed_count;
	uint8_t build_id[64];
	struct gt_elf_symbol_table table;
};

/*
 * Reads a table of the file, after checking that the file contains it: "truncated ELF: its <what>
 * end at byte …". One byte more than `size` is allocated, and is 0. -EFBIG: more than `limit`
 * bytes.
 */
int gt_elf_read_table(const struct gt_elf *elf, uint64_t offset, uint64_t size, uint64_t limit,
		      const char *what, void **ret_data, struct gt_diag *diag);
/* Reads the string of at most `limit` bytes at an offset; the caller frees it. */
int gt_elf_read_string(const struct gt_elf *elf, uint64_t offset, size_t limit, char **ret_string);

/* Returns the first section of a name, or NULL. */
const Elf64_Shdr *gt_elf_find_section(struct gt_elf *elf, const char *name);

/* Reads interpreter, dynamic section and notes into elf->info. */
int gt_elf_read_dynamic(struct gt_elf *elf, struct gt_diag *diag);
int gt_elf_read_notes(struct gt_elf *elf, struct gt_diag *diag);
/* Reads the notes of sections, for a file whose segments are those of another one. */
int gt_elf_read_section_notes(struct gt_elf *elf, struct gt_diag *diag);

/*
 * Opens a file with only the symbols and debug information of a program or library; it gets the
 * segments of the program. Bytes in memory must outlive *ret_elf.
 */
int gt_elf_open_debug(const struct gt_elf *program, const char *path, struct gt_elf **ret_elf,
		      struct gt_diag *diag);
int gt_elf_open_debug_memory(const struct gt_elf *program, const void *data, size_t size,
			     struct gt_elf **ret_elf, struct gt_diag *diag);
void gt_elf_symbols_free(struct gt_elf_symbol_table *table);
/* Returns the number of symbols in the hash tables of the dynamic section; 0 if there are none. */
uint64_t gt_elf_hashed_symbols(const struct gt_elf *elf);
