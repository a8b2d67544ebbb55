/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sections of a hostile cubin; internals of its readers. */
#pragma once

#include <elf.h>

#include "base/hash.h"
#include "fatbin/cubin.h"
#include "fatbin/layout.h"

struct cubin_bytes {
	const uint8_t *data;
	size_t size;
};

struct cubin_reader {
	struct cubin_bytes file;
	const uint8_t *sections; /* may be unaligned */
	size_t section_count;
	struct cubin_bytes names;
	/* Bytes that may still be read: sections and names of a malicious file may overlap. */
	size_t name_budget, info_budget;
	bool has_reserved;
	GT_VEC(struct gt_cubin_kernel) kernels;
	struct gt_hash *by_name;   /* name -> index + 1 */
	struct gt_hash *by_symbol; /* index of the symbol -> index + 1 */
	struct gt_diag *diag;
};

/* Set a message; return the error. */
int cubin_fail(struct cubin_reader *reader, int error, const char *text);
/* Find the section headers and their names, and set the budgets. As gt_cubin_read. */
int cubin_read_header(struct cubin_reader *reader);
Elf64_Shdr cubin_section_at(const struct cubin_reader *reader, size_t index);
/* Return the name of a section; NULL: malformed, or too many bytes were read. */
const char *cubin_section_name(struct cubin_reader *reader, const Elf64_Shdr *section);
/* Return the bytes of a section; none if such sections exceed the file's size. */
struct cubin_bytes cubin_info_bytes(struct cubin_reader *reader, const Elf64_Shdr *section);
/* Return the string at an offset; NULL: it does not end, or too many bytes were read. */
const char *cubin_string_at(struct cubin_reader *reader, struct cubin_bytes strings,
			    uint64_t offset);

/* Sees a symbol, with the bytes of the names. Another value than 0 ends the iteration. */
typedef int cubin_symbol_visit(struct cubin_reader *reader, void *context, uint32_t index,
			       const Elf64_Sym *symbol, struct cubin_bytes names);
/* Visit the symbols after the header was read. As gt_cubin_read, or what the visit returns. */
int cubin_each_symbol(struct cubin_reader *reader, cubin_symbol_visit *visit, void *context);
