/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Makes cubins of kernels of known layout, as ptxas 13 lays them out (fatbin/cubin.h). */
#pragma once

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

struct made_kernel {
	const char *name;
	unsigned int count;
	unsigned short offsets[8], sizes[8]; /* of parameters */
	unsigned int registers, local, shared;
	int is_big;    /* parameters are described as in kernels with more than 4 KiB of them */
	int is_device; /* a device function */
	int is_variable;
	int is_undefined; /* others are to have it */
	int is_local;
	unsigned int constant_bytes; /* of a variable in constant memory; at most 32 */
};

enum {
	CONSTANT_SECTION = 3, /* its index */
};

/* Section headers with their names, and the bytes of the sections so far. */
struct cubin_maker {
	struct gt_strbuf bytes, names;
	Elf64_Shdr sections[64];
	unsigned int count;
};

static inline void put_number(struct gt_strbuf *buffer, unsigned long long value, size_t size)
{
	gt_strbuf_add(buffer, (const char *)&value, size);
}

static inline void add_section(struct cubin_maker *maker, const char *prefix, const char *name,
			       unsigned int type, const struct gt_strbuf *bytes, size_t size,
			       unsigned int link)
{
	maker->sections[maker->count++] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)maker->names.length,
		.sh_type = type,
		.sh_offset = maker->bytes.length,
		.sh_size = bytes ? bytes->length : size,
		.sh_link = link,
	};
	if (bytes && bytes->length)
		gt_strbuf_add(&maker->bytes, bytes->data, bytes->length);
	gt_strbuf_puts(&maker->names, prefix);
	gt_strbuf_puts(&maker->names, name);
	gt_strbuf_putc(&maker->names, 0);
}

static inline void add_parameters(struct gt_strbuf *info, const struct made_kernel *kernel,
				  unsigned int max_registers)
{
	unsigned int total = 0;

	/* ptxas begins with the last one. */
	for (unsigned int i = kernel->count; i-- > 0;) {
		put_number(info, kernel->is_big ? 0x000c4504 : 0x000c1704, 4);
		put_number(info, 0, 4);
		put_number(info, i, 2);
		put_number(info, kernel->offsets[i], 2);
		if (kernel->is_big)
			put_number(info, kernel->sizes[i] | 0x05000000, 4);
		else
			put_number(info, (unsigned int)kernel->sizes[i] << 18 | 0x1f000, 4);
		if (kernel->offsets[i] + kernel->sizes[i] > (int)total)
			total = kernel->offsets[i] + kernel->sizes[i];
	}
	put_number(info, 0x1903 | total << 16, 4);
	put_number(info, 0x1b03 | (max_registers ? max_registers : 255) << 16, 4);
}

static inline void add_symbols(struct cubin_maker *maker, const struct made_kernel *kernels,
			       size_t count)
{
	gt_auto_strbuf symbols = GT_STRBUF_INIT, strings = GT_STRBUF_INIT;

	gt_strbuf_putc(&strings, 0);
	for (size_t i = 0; i <= count; i++) {
		Elf64_Sym symbol = {0};

		if (i) {
			symbol.st_name = (Elf64_Word)strings.length;
			symbol.st_info =
				ELF64_ST_INFO(kernels[i - 1].is_local ? STB_LOCAL : STB_GLOBAL,
					      kernels[i - 1].is_variable ? 13 : STT_FUNC);
			symbol.st_other = kernels[i - 1].is_device ? 0 : 0x10;
			symbol.st_shndx = kernels[i - 1].is_undefined     ? SHN_UNDEF
					  : kernels[i - 1].constant_bytes ? CONSTANT_SECTION
									  : 1;
			symbol.st_size = kernels[i - 1].constant_bytes;
			gt_strbuf_puts(&strings, kernels[i - 1].name);
			gt_strbuf_putc(&strings, 0);
		}
		gt_strbuf_add(&symbols, (const char *)&symbol, sizeof(symbol));
	}
	add_section(maker, "", ".strtab", SHT_STRTAB, &strings, 0, 0);
	add_section(maker, "", ".symtab", SHT_SYMTAB, &symbols, 0, 1);
}

/* The section of variables in constant memory, if there are any. */
static inline void add_constants(struct cubin_maker *maker, const struct made_kernel *kernels,
				 size_t count)
{
	struct gt_strbuf bytes = {.data = (char[32]){0}, .length = 32};

	for (size_t i = 0; i < count; i++)
		if (kernels[i].constant_bytes) {
			add_section(maker, "", ".nv.constant3", 0x70000067, &bytes, 0, 0);
			return;
		}
}

/* What a cubin with line information has, beside its kernels. */
struct made_source {
	struct {
		const char *section, *text; /* its lines end in newlines */
	} texts[4];
	const char *tool, *options; /* of the note; NULL: there is none */
	unsigned int max_registers; /* in the records of each kernel; 0: 255 */
};

static inline void add_source(struct cubin_maker *maker, const struct made_source *source)
{
	for (size_t i = 0; i < 4 && source->texts[i].section; i++) {
		gt_auto_strbuf bytes = GT_STRBUF_INIT;

		gt_strbuf_puts(&bytes, source->texts[i].text);
		for (size_t at = 0; at < bytes.length; at++)
			if (bytes.data[at] == '\n')
				bytes.data[at] = 0;
		add_section(maker, source->texts[i].section, "", SHT_PROGBITS, &bytes, 0, 0);
	}
}

static inline void add_note(struct cubin_maker *maker, const char *tool, const char *options)
{
	gt_auto_strbuf note = GT_STRBUF_INIT;
	size_t size = 24 + 1 + strlen(tool) + 1 + strlen(options) + 1;

	put_number(&note, 12, 4);
	put_number(&note, size, 4);
	put_number(&note, 2000, 4);
	gt_strbuf_add(&note, "NVIDIA Corp", 12);
	put_number(&note, 2, 4);
	put_number(&note, 0, 4);
	put_number(&note, 1, 4);
	put_number(&note, 0, 4);
	put_number(&note, 0, 4);
	put_number(&note, 2 + strlen(tool), 4);
	gt_strbuf_putc(&note, 0);
	gt_strbuf_add(&note, tool, strlen(tool) + 1);
	gt_strbuf_add(&note, options, strlen(options) + 1);
	while (note.length % 4)
		gt_strbuf_putc(&note, 0);
	add_section(maker, "", ".note.nv.tkinfo", SHT_NOTE, &note, 0, 0);
}

/* The cubin's bytes, which the caller frees. has_reserved: as for sm_90 and later. */
static inline char *make_cubin_with(const struct made_kernel *kernels, size_t count,
				    int has_reserved, const struct made_source *source,
				    size_t *ret_size)
{
	struct cubin_maker maker = {0};
	gt_auto_strbuf common = GT_STRBUF_INIT;
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8},
			     .e_type = ET_EXEC,
			     .e_machine = 190,
			     .e_shentsize = sizeof(Elf64_Shdr)};

	gt_strbuf_add(&maker.bytes, (const char *)&header, sizeof(header));
	add_section(&maker, "", "", SHT_NULL, NULL, 0, 0);
	add_symbols(&maker, kernels, count);
	add_constants(&maker, kernels, count);
	add_source(&maker, source);
	if (source->tool)
		add_note(&maker, source->tool, source->options);
	for (size_t i = 0; i < count; i++) {
		put_number(&common, 0x00082f04, 4);
		put_number(&common, i + 1, 4);
		put_number(&common, kernels[i].registers, 4);
		put_number(&common, 0x00081104, 4);
		put_number(&common, i + 1, 4);
		put_number(&common, kernels[i].local, 4);
	}
	add_section(&maker, "", ".nv.info", 0x70000000, &common, 0, 2);
	if (has_reserved)
		add_section(&maker, "", ".nv.shared.reserved.0", SHT_NOBITS, NULL, 64, 0);
	for (size_t i = 0; i < count; i++) {
		gt_auto_strbuf info = GT_STRBUF_INIT;

		add_parameters(&info, &kernels[i], source->max_registers);
		add_section(&maker, ".nv.info.", kernels[i].name, 0x70000000, &info, 0, 2);
		if (kernels[i].shared)
			add_section(&maker, ".nv.shared.", kernels[i].name, SHT_NOBITS, NULL,
				    kernels[i].shared + (has_reserved ? 1024 : 0), 0);
	}
	add_section(&maker, "", ".shstrtab", SHT_STRTAB, NULL, 0, 0);
	maker.sections[maker.count - 1].sh_size = maker.names.length;
	gt_strbuf_add(&maker.bytes, maker.names.data, maker.names.length);
	header.e_shoff = maker.bytes.length;
	header.e_shnum = (Elf64_Half)maker.count;
	header.e_shstrndx = (Elf64_Half)(maker.count - 1);
	gt_strbuf_add(&maker.bytes, (const char *)maker.sections,
		      maker.count * sizeof(maker.sections[0]));
	memcpy(maker.bytes.data, &header, sizeof(header));
	gt_strbuf_free(&maker.names);
	*ret_size = maker.bytes.length;
	return gt_strbuf_steal(&maker.bytes);
}

/* The same without line information. */
static inline char *make_cubin(const struct made_kernel *kernels, size_t count, int has_reserved,
			       size_t *ret_size)
{
	static const struct made_source none;

	return make_cubin_with(kernels, count, has_reserved, &none, ret_size);
}
