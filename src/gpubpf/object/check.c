/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Check the tables of an object before libbpf parses it: libbpf is made for files that a compiler
 * wrote, and follows references without checking them. Formats: elf(5), the kernel's
 * Documentation/bpf/btf.rst.
 */
#include <gelf.h>
#include <string.h>

#include "gpubpf/object/private.h"

enum {
	MAX_CHAIN = 32,      /* typedefs and qualifiers in a row */
	MAX_TYPES = 1 << 20, /* BTF_MAX_TYPE of linux/btf.h */
	BPF_MACHINE = 247,   /* EM_BPF */
	MAX_VARIABLES = 1 << 28,
};

/* ---- BTF ------------------------------------------------------------------------------- */

struct type_table {
	const uint8_t *types;
	const char *strings;
	uint32_t types_size, strings_size;
	uint32_t *offsets; /* by type id, from 1 on */
	uint32_t count;    /* of types, including void */
};

/* Bytes that follow the struct btf_type, or -1 if the kind is not known. */
static int64_t type_tail_size(const struct btf_type *type)
{
	uint32_t members = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case 16: /* FLOAT, TYPE_TAG: newer than the headers may be */
	case 18:
		return 0;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case 17: /* DECL_TAG */
		return 4;
	case BTF_KIND_ARRAY:
		return 12;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return 8 * (int64_t)members;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case 19: /* ENUM64 */
		return 12 * (int64_t)members;
	default:
		return -1;
	}
}

static const struct btf_type *type_at(const struct type_table *table, uint32_t number)
{
	return (const struct btf_type *)(table->types + table->offsets[number]);
}

static bool is_name(const struct type_table *table, uint32_t offset)
{
	return offset < table->strings_size;
}

static bool is_chain(unsigned kind)
{
	return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_VOLATILE || kind == BTF_KIND_CONST ||
	       kind == BTF_KIND_RESTRICT || kind == 18;
}

/* Find the offset of each type. False if one exceeds the table. */
static bool find_types(struct type_table *table)
{
	uint32_t at = 0;

	table->offsets =
		calloc(table->types_size / sizeof(struct btf_type) + 2, sizeof(*table->offsets));
	if (!table->offsets)
		return false;
	for (table->count = 1; at < table->types_size; table->count++) {
		const struct btf_type *type = (const struct btf_type *)(table->types + at);
		int64_t tail;

		if (table->types_size - at < sizeof(*type) || table->count == MAX_TYPES)
			return false;
		tail = type_tail_size(type);
		if (tail < 0 || tail > table->types_size - at - (int64_t)sizeof(*type))
			return false;
		table->offsets[table->count] = at;
		at += (uint32_t)(sizeof(*type) + (size_t)tail);
	}
	return true;
}

static bool check_members(const struct type_table *table, const struct btf_type *type)
{
	const uint32_t *words = (const uint32_t *)(type + 1);
	uint32_t count = BTF_INFO_VLEN(type->info);

	for (uint32_t i = 0; i < count; i++) {
		switch (BTF_INFO_KIND(type->info)) {
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION:
			if (!is_name(table, words[3 * i]) || words[3 * i + 1] >= table->count)
				return false;
			break;
		case BTF_KIND_FUNC_PROTO:
			if (!is_name(table, words[2 * i]) || words[2 * i + 1] >= table->count)
				return false;
			break;
		case BTF_KIND_ENUM:
			if (!is_name(table, words[2 * i]))
				return false;
			break;
		case 19:
			if (!is_name(table, words[3 * i]))
				return false;
			break;
		default: /* DATASEC: variables and functions only */
			if (!words[3 * i] || words[3 * i] >= table->count)
				return false;
			if (BTF_INFO_KIND(type_at(table, words[3 * i])->info) != BTF_KIND_VAR &&
			    BTF_INFO_KIND(type_at(table, words[3 * i])->info) != BTF_KIND_FUNC)
				return false;
		}
	}
	return true;
}

/* Check the type that a type refers to itself. */
static bool check_reference(const struct type_table *table, uint32_t number)
{
	const struct btf_type *type = type_at(table, number);
	const uint32_t *words = (const uint32_t *)(type + 1);
	unsigned kind = BTF_INFO_KIND(type->info);

	if (kind == BTF_KIND_ARRAY)
		return words[0] < table->count && words[1] < table->count;
	if (kind != BTF_KIND_PTR && kind != BTF_KIND_FUNC && kind != BTF_KIND_FUNC_PROTO &&
	    kind != BTF_KIND_VAR && kind != 17 && !is_chain(kind))
		return true;
	if (type->type >= table->count)
		return false;
	if (kind == BTF_KIND_FUNC)
		return type->type &&
		       BTF_INFO_KIND(type_at(table, type->type)->info) == BTF_KIND_FUNC_PROTO;
	for (unsigned i = 0; is_chain(kind); i++) {
		if (i == MAX_CHAIN || type->type >= table->count)
			return false;
		if (!type->type)
			break;
		type = type_at(table, type->type);
		kind = BTF_INFO_KIND(type->info);
	}
	return true;
}

static bool has_members(unsigned kind)
{
	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_FUNC_PROTO ||
	       kind == BTF_KIND_ENUM || kind == BTF_KIND_DATASEC || kind == 19;
}

static bool check_types(struct type_table *table)
{
	bool fine = find_types(table);

	for (uint32_t i = 1; fine && i < table->count; i++) {
		const struct btf_type *type = type_at(table, i);

		fine = is_name(table, type->name_off) && check_reference(table, i) &&
		       (!has_members(BTF_INFO_KIND(type->info)) || check_members(table, type));
	}
	free(table->offsets);
	return fine;
}

static bool check_btf(const uint8_t *data, size_t size)
{
	struct type_table table = {0};
	struct btf_header header;
	uint64_t types, strings;
	gt_autofree uint8_t *copy = NULL; /* aligned */

	if (!data || size < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	types = (uint64_t)header.hdr_len + header.type_off;
	strings = (uint64_t)header.hdr_len + header.str_off;
	if (header.magic != BTF_MAGIC || header.hdr_len < sizeof(header) || types % 4 ||
	    header.type_len % 4 || types + header.type_len > size || !header.str_len ||
	    strings + header.str_len > size || data[strings] || data[strings + header.str_len - 1])
		return false;
	copy = malloc(header.type_len + 1u);
	if (!copy)
		return false;
	memcpy(copy, data + types, header.type_len);
	table.types = copy;
	table.types_size = header.type_len;
	table.strings = (const char *)data + strings;
	table.strings_size = header.str_len;
	return check_types(&table);
}

/* ---- ELF ------------------------------------------------------------------------------- */

struct object_elf {
	Elf *elf;
	size_t sections, names;
	Elf_Data *symbols; /* of the only symbol table */
	size_t symbol_count;
	bool has_maps, has_types;
};

static bool read_section(const struct object_elf *file, size_t number, GElf_Shdr *ret_header,
			 Elf_Data **ret_data)
{
	Elf_Scn *scn = elf_getscn(file->elf, number);

	if (!scn || !gelf_getshdr(scn, ret_header) ||
	    !elf_strptr(file->elf, file->names, ret_header->sh_name))
		return false;
	*ret_data = elf_getdata(scn, NULL);
	if (!*ret_data)
		return false;
	/* Only .bss may have no bytes in the file. */
	if (ret_header->sh_type == SHT_NOBITS)
		return ret_header->sh_size <= MAX_VARIABLES &&
		       !strncmp(elf_strptr(file->elf, file->names, ret_header->sh_name), ".bss", 4);
	return (*ret_data)->d_size == ret_header->sh_size &&
	       ((*ret_data)->d_buf || !ret_header->sh_size);
}

static bool check_symbols(struct object_elf *file, const GElf_Shdr *table)
{
	GElf_Sym symbol;

	file->symbol_count = table->sh_size / sizeof(Elf64_Sym);
	if (table->sh_size % sizeof(Elf64_Sym) || table->sh_link >= file->sections)
		return false;
	for (size_t i = 0; i < file->symbol_count; i++) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getsym(file->symbols, (int)i, &symbol) ||
		    !elf_strptr(file->elf, table->sh_link, symbol.st_name))
			return false;
		if (!symbol.st_shndx || symbol.st_shndx >= SHN_LORESERVE)
			continue;
		if (symbol.st_shndx >= file->sections ||
		    !read_section(file, symbol.st_shndx, &header, &data) ||
		    symbol.st_value > header.sh_size ||
		    symbol.st_size > header.sh_size - symbol.st_value)
			return false;
	}
	return true;
}

static bool check_relocations(const struct object_elf *file, const GElf_Shdr *table,
			      Elf_Data *records)
{
	GElf_Shdr target;
	Elf_Data *data;
	GElf_Rel relocation;

	if (table->sh_size % sizeof(Elf64_Rel) || table->sh_info >= file->sections ||
	    !read_section(file, table->sh_info, &target, &data))
		return false;
	for (size_t i = 0; i < table->sh_size / sizeof(Elf64_Rel); i++)
		if (!gelf_getrel(records, (int)i, &relocation) ||
		    GELF_R_SYM(relocation.r_info) >= file->symbol_count ||
		    relocation.r_offset >= target.sh_size)
			return false;
	return true;
}

/* The first round finds the symbols, the second checks the references to them. */
static bool check_section(struct object_elf *file, size_t number, bool second)
{
	GElf_Shdr header;
	Elf_Data *data;
	const char *name;

	if (!read_section(file, number, &header, &data))
		return false;
	name = elf_strptr(file->elf, file->names, header.sh_name);
	file->has_maps |= !strcmp(name, ".maps");
	file->has_types |= !strcmp(name, ".BTF");
	if (second)
		return header.sh_type != SHT_REL || check_relocations(file, &header, data);
	if (header.sh_flags & SHF_COMPRESSED)
		return false;
	if (header.sh_type == SHT_SYMTAB) {
		if (file->symbols)
			return false;
		file->symbols = data;
		return check_symbols(file, &header);
	}
	return strcmp(name, ".BTF") || check_btf(data->d_buf, data->d_size);
}

static bool check_elf(struct object_elf *file)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(file->elf, &header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL ||
	    header.e_machine != BPF_MACHINE || elf_getshdrnum(file->elf, &file->sections) ||
	    elf_getshdrstrndx(file->elf, &file->names))
		return false;
	for (unsigned round = 0; round < 2; round++)
		for (size_t i = 1; i < file->sections; i++)
			if (!check_section(file, i, round))
				return false;
	return file->symbols;
}

bool gt_object_is_valid(const struct gt_file *file, bool *ret_lacks_types)
{
	struct object_elf object = {0};
	bool valid;

	elf_version(EV_CURRENT);
	if (file->size < 4 || memcmp(file->data, "\177ELF", 4))
		return false;
	object.elf = elf_memory((char *)file->data, file->size);
	valid = object.elf && elf_kind(object.elf) == ELF_K_ELF && check_elf(&object);
	elf_end(object.elf);
	*ret_lacks_types = object.has_maps && !object.has_types;
	return valid;
}

static bool open_elf(const struct gt_file *file, struct object_elf *ret_object)
{
	struct object_elf object = {.elf = elf_memory((char *)file->data, file->size)};

	if (!object.elf || elf_getshdrnum(object.elf, &object.sections) ||
	    elf_getshdrstrndx(object.elf, &object.names)) {
		elf_end(object.elf);
		return false;
	}
	*ret_object = object;
	return true;
}

bool gt_object_find_section(const struct gt_file *file, const char *name, struct gt_file *ret_bytes)
{
	struct object_elf object;
	GElf_Shdr header;
	Elf_Data *data = NULL;
	bool found = false;

	if (!open_elf(file, &object))
		return false;
	for (size_t i = 1; !found && i < object.sections; i++)
		found = read_section(&object, i, &header, &data) && data->d_buf &&
			header.sh_type != SHT_NOBITS &&
			!strcmp(elf_strptr(object.elf, object.names, header.sh_name), name);
	elf_end(object.elf);
	if (found)
		*ret_bytes = (struct gt_file){file->data + header.sh_offset, header.sh_size};
	return found;
}

bool gt_object_copy_section(const struct gt_file *file, const char *name, struct gt_file *ret_data)
{
	struct gt_file bytes;

	if (!gt_object_find_section(file, name, &bytes))
		return false;
	*ret_data = (struct gt_file){malloc(bytes.size + 1), bytes.size};
	if (ret_data->data)
		memcpy(ret_data->data, bytes.data, bytes.size);
	return true;
}
