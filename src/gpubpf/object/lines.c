/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source lines. .BTF.ext has them by section of the file, and libbpf appends the functions that a
 * program calls to it. So each call is followed in the program and in the file, to find out where
 * in the file each function came from.
 */
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "base/vec.h"
#include "gpubpf/object/private.h"

enum {
	R_BPF_CALL = 10,   /* R_BPF_64_32 */
	R_BPF_ADDRESS = 1, /* R_BPF_64_64 */
	MAX_RANGES = 256,
};

bool gt_object_records(const struct gt_file *ext, uint32_t offset, uint32_t size,
		       struct gt_object_records *ret_records)
{
	struct gt_object_ext_header header;
	uint64_t start;

	memcpy(&header, ext->data, 8);
	start = (uint64_t)header.header_size + offset;
	if (size < 4 || start > ext->size || size > ext->size - start)
		return false;
	*ret_records = (struct gt_object_records){.data = ext->data + start, .size = size, .at = 4};
	memcpy(&ret_records->record_size, ret_records->data, 4);
	return ret_records->record_size >= 8 && ret_records->record_size <= 256;
}

bool gt_object_next_section(struct gt_object_records *records,
			    struct gt_object_section_records *ret_section)
{
	uint64_t bytes;

	if (records->size - records->at < 8)
		return false;
	memcpy(&ret_section->name, records->data + records->at, 4);
	memcpy(&ret_section->count, records->data + records->at + 4, 4);
	records->at += 8;
	bytes = (uint64_t)ret_section->count * records->record_size;
	if (bytes > records->size - records->at)
		return false;
	ret_section->first = records->data + records->at;
	records->at += (uint32_t)bytes;
	return true;
}

/* A function in a relocated program, and its position in the file. */
struct line_range {
	uint32_t start, count; /* slots of the program */
	size_t section;        /* ELF section index */
	uint64_t offset;       /* bytes */
};

struct line_reader {
	struct gt_object_reader *reader;
	struct gt_bpf_program *program;
	Elf *elf;
	Elf_Data *symbols;
	size_t names; /* the section of symbol names */
	GT_VEC(struct line_range) ranges;
};

static const char *section_name(struct line_reader *lines, size_t section)
{
	Elf_Scn *scn = elf_getscn(lines->elf, section);
	size_t strings;
	GElf_Shdr header;

	if (!scn || !gelf_getshdr(scn, &header) || elf_getshdrstrndx(lines->elf, &strings))
		return NULL;
	return elf_strptr(lines->elf, strings, header.sh_name);
}

static bool find_symbols(struct line_reader *lines)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(lines->elf, scn))) {
		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_SYMTAB)
			continue;
		lines->symbols = elf_getdata(scn, NULL);
		lines->names = header.sh_link;
		return lines->symbols;
	}
	return false;
}

/* Find a function by its position in the file, or by section name and function name. */
static bool find_function(struct line_reader *lines, const char *section, const char *name,
			  size_t index, uint64_t offset, struct line_range *ret_range)
{
	GElf_Sym symbol;

	for (int i = 0; gelf_getsym(lines->symbols, i, &symbol); i++) {
		const char *its_section, *its_name;

		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size % 8)
			continue;
		if (!name && (symbol.st_shndx != index || symbol.st_value != offset))
			continue;
		if (name) {
			its_section = section_name(lines, symbol.st_shndx);
			its_name = elf_strptr(lines->elf, lines->names, symbol.st_name);
			if (!its_section || !its_name || strcmp(its_section, section) ||
			    strcmp(its_name, name))
				continue;
		}
		ret_range->section = symbol.st_shndx;
		ret_range->offset = symbol.st_value;
		ret_range->count = (uint32_t)(symbol.st_size / 8);
		return true;
	}
	return false;
}

/* Find the symbol of the relocation of a call or of a function's address. */
static bool find_relocation(struct line_reader *lines, size_t section, uint64_t offset,
			    unsigned type, GElf_Sym *ret_symbol)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	GElf_Rel relocation;

	while ((scn = elf_nextscn(lines->elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_REL ||
		    header.sh_info != section)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getrel(data, i, &relocation); i++)
			if (relocation.r_offset == offset && GELF_R_TYPE(relocation.r_info) == type)
				return gelf_getsym(lines->symbols,
						   (int)GELF_R_SYM(relocation.r_info), ret_symbol);
	}
	return false;
}

/* Find the function that the instruction at a position of the file calls, or whose address it
 * loads.
 */
static bool find_callee(struct line_reader *lines, size_t section, uint64_t offset,
			struct line_range *ret_range)
{
	Elf_Scn *scn = elf_getscn(lines->elf, section);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	struct bpf_insn insn;
	GElf_Sym symbol;
	uint64_t target;

	if (!data || !data->d_buf || offset + sizeof(insn) > data->d_size)
		return false;
	memcpy(&insn, (const uint8_t *)data->d_buf + offset, sizeof(insn));
	if (gt_bpf_is_wide(&insn)) {
		if (!find_relocation(lines, section, offset, R_BPF_ADDRESS, &symbol))
			return false;
		target = symbol.st_value;
		if (GELF_ST_TYPE(symbol.st_info) == STT_SECTION)
			target += (uint32_t)insn.imm;
		return find_function(lines, NULL, NULL, symbol.st_shndx, target, ret_range);
	}
	target = offset + 8 + 8 * (uint64_t)(int64_t)insn.imm;
	if (find_relocation(lines, section, offset, R_BPF_CALL, &symbol)) {
		section = symbol.st_shndx;
		target = symbol.st_value;
		if (GELF_ST_TYPE(symbol.st_info) == STT_SECTION)
			target += 8 + 8 * (uint64_t)(int64_t)insn.imm;
	}
	return find_function(lines, NULL, NULL, section, target, ret_range);
}

static bool has_range(const struct line_reader *lines, uint32_t start)
{
	for (size_t i = 0; i < lines->ranges.count; i++)
		if (lines->ranges.items[i].start == start)
			return true;
	return false;
}

/* Follow the calls of a range. */
static int follow_calls(struct line_reader *lines, size_t number)
{
	const struct gt_bpf_program *program = lines->program;
	struct line_range range = lines->ranges.items[number];

	for (uint32_t i = 0; i < range.count && range.start + i < program->count; i++) {
		const struct bpf_insn *insn = &program->insns[range.start + i];
		uint64_t offset = range.offset + 8 * (uint64_t)i;
		struct line_range callee = {0};
		int64_t target;

		target = gt_bpf_jump_target(program->insns, range.start + i);
		i += gt_bpf_is_wide(insn);
		if (!gt_bpf_is_subprogram_call(insn) && !gt_bpf_is_function(insn))
			continue;
		if (target < 0 || target >= program->count || has_range(lines, (uint32_t)target) ||
		    lines->ranges.count == MAX_RANGES ||
		    !find_callee(lines, range.section, offset, &callee))
			continue;
		callee.start = (uint32_t)target;
		if (gt_vec_push(&lines->ranges, callee))
			return gt_object_no_memory(lines->reader);
	}
	return 0;
}

static int keep_string(struct gt_object_reader *reader, const char *text, const char **ret_text)
{
	struct gt_bpf_object *object = reader->object;
	char **grown;

	if (!text)
		text = "";
	grown = realloc(object->strings, (object->string_count + 1) * sizeof(*grown));
	if (!grown)
		return gt_object_no_memory(reader);
	object->strings = grown;
	grown[object->string_count] = strdup(text);
	if (!grown[object->string_count])
		return gt_object_no_memory(reader);
	*ret_text = grown[object->string_count++];
	return 0;
}

/* A record of .BTF.ext (struct bpf_line_info). */
struct line_record {
	uint32_t byte, file, text, line; /* line << 10 | column */
};

static int add_line(struct line_reader *lines, uint32_t insn, const struct line_record *record)
{
	struct gt_bpf_program *program = lines->program;
	const struct btf *btf = bpf_object__btf(lines->reader->source);
	struct gt_bpf_line line = {.insn = insn, .file = "", .text = ""}, *grown;
	const char *text;
	int error = 0;

	if (record) {
		text = btf__name_by_offset(btf, record->text);
		line.line = record->line >> 10;
		error = keep_string(lines->reader, btf__name_by_offset(btf, record->file),
				    &line.file);
		if (!error)
			error = keep_string(lines->reader, text ? text + strspn(text, " \t") : NULL,
					    &line.text);
	}
	if (error)
		return error;
	grown = realloc(program->lines, (program->line_count + 1u) * sizeof(*grown));
	if (!grown)
		return gt_object_no_memory(lines->reader);
	program->lines = grown;
	grown[program->line_count++] = line;
	return 0;
}

/* Add the lines of one range, from the records of its section. */
static int add_lines(struct line_reader *lines, const struct line_range *range,
		     const struct gt_object_section_records *section, uint32_t record_size)
{
	uint64_t end = range->offset + 8 * (uint64_t)range->count;
	uint32_t last = 0;
	int error = 0;

	for (uint32_t i = 0; !error && i < section->count; i++) {
		struct line_record record;

		memcpy(&record, section->first + (size_t)i * record_size, sizeof(record));
		if (record.byte < last)
			return gt_object_malformed(lines->reader,
						   "the lines in .BTF.ext are not in order");
		last = record.byte;
		/* Generated code has no line: the line before continues. */
		if (record.byte < range->offset || record.byte >= end || !(record.line >> 10))
			continue;
		error = add_line(lines, range->start + (uint32_t)(record.byte - range->offset) / 8,
				 &record);
	}
	return error;
}

/* CO-RE relocations describe a kernel, and a GPU has none. */
static int add_relocations(struct line_reader *lines, const struct line_range *range,
			   const struct gt_object_section_records *section, uint32_t record_size)
{
	struct gt_bpf_program *program = lines->program;
	uint64_t end = range->offset + 8 * (uint64_t)range->count;
	uint32_t byte;

	for (uint32_t i = 0; i < section->count && !program->problem; i++) {
		memcpy(&byte, section->first + (size_t)i * record_size, sizeof(byte));
		if (byte < range->offset || byte >= end)
			continue;
		program->problem_insn = range->start + (uint32_t)(byte - range->offset) / 8;
		program->problem = strdup("it has CO-RE relocations, which describe types of the "
					  "Linux kernel: GPU programs cannot use them");
		if (!program->problem)
			return gt_object_no_memory(lines->reader);
	}
	return 0;
}

typedef int add_records(struct line_reader *lines, const struct line_range *range,
			const struct gt_object_section_records *section, uint32_t record_size);

/* Add the records of one kind that belong to a range. */
static int add_kind(struct line_reader *lines, const struct line_range *range, uint32_t offset,
		    uint32_t size, add_records *add, uint32_t min_size)
{
	struct gt_object_reader *reader = lines->reader;
	struct gt_object_section_records section;
	struct gt_object_records records;
	const char *wanted = section_name(lines, range->section);
	int error = 0;

	if (!wanted || size <= 4)
		return 0;
	if (!gt_object_records(&reader->ext, offset, size, &records) ||
	    records.record_size < min_size)
		return gt_object_malformed(reader, "the records in .BTF.ext are malformed");
	while (!error && gt_object_next_section(&records, &section)) {
		const char *name =
			btf__name_by_offset(bpf_object__btf(reader->source), section.name);

		if (name && !strcmp(name, wanted))
			error = add(lines, range, &section, records.record_size);
	}
	return error;
}

static int add_range(struct line_reader *lines, const struct line_range *range)
{
	const struct gt_object_ext_header *header = &lines->reader->header;
	int error = add_line(lines, range->start, NULL); /* ends the lines of the range before */

	if (!error)
		error = add_kind(lines, range, header->lines, header->lines_size, add_lines,
				 sizeof(struct line_record));
	if (!error)
		error = add_kind(lines, range, header->relocations, header->relocations_size,
				 add_relocations, sizeof(uint32_t));
	return error;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct line_range *one = left, *other = right;

	return one->start < other->start ? -1 : one->start > other->start;
}

static int read_ranges(struct line_reader *lines)
{
	struct line_range first = {0};
	int error = 0;

	if (!find_symbols(lines) ||
	    !find_function(lines, lines->program->section, lines->program->name, 0, 0, &first))
		return 0;
	if (gt_vec_push(&lines->ranges, first))
		return gt_object_no_memory(lines->reader);
	for (size_t i = 0; !error && i < lines->ranges.count; i++)
		error = follow_calls(lines, i);
	qsort(lines->ranges.items, lines->ranges.count, sizeof(first), compare_ranges);
	for (size_t i = 0; !error && i < lines->ranges.count; i++)
		error = add_range(lines, &lines->ranges.items[i]);
	return error;
}

int gt_object_read_records(struct gt_object_reader *reader, struct gt_bpf_program *program)
{
	struct line_reader lines = {.reader = reader, .program = program};
	int error = 0;

	if (!bpf_object__btf(reader->source) || !reader->ext.size)
		return 0;
	elf_version(EV_CURRENT);
	lines.elf = elf_memory((char *)reader->file->data, reader->file->size);
	if (lines.elf)
		error = read_ranges(&lines);
	elf_end(lines.elf);
	gt_vec_free(&lines.ranges);
	return error;
}
