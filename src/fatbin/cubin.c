/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <string.h>

#include "fatbin/cubin_private.h"

enum {
	ENTRY_MARK = 0x10, /* of a symbol's st_other: a kernel, not a device function */
	/* From sm_90 on, .nv.shared.KERNEL includes 1024 bytes of the driver. */
	RESERVED_SHARED = 1024,
	PARAMETER_BYTES = 12, /* of attributes 0x17 and 0x45 */
	MAX_SECTIONS = 4 << 20,
	MAX_NAME = 64 << 10,
};

enum {
	ATTRIBUTE_LOCAL = 0x11,
	ATTRIBUTE_PARAMETER = 0x17,
	ATTRIBUTE_PARAMETERS_SIZE = 0x19,
	ATTRIBUTE_REGISTERS = 0x2f,
	ATTRIBUTE_BIG_PARAMETER = 0x45,
};

/* One record of .nv.info. */
struct cubin_record {
	uint8_t format, attribute;
	uint16_t value;             /* format 3 */
	struct cubin_bytes payload; /* format 4 */
};

int cubin_fail(struct cubin_reader *reader, int error, const char *text)
{
	return gt_diag(reader->diag, error, "cubin", NULL, "%s", text);
}

Elf64_Shdr cubin_section_at(const struct cubin_reader *reader, size_t index)
{
	Elf64_Shdr section;

	memcpy(&section, reader->sections + index * sizeof(section), sizeof(section));
	return section;
}

/* Returns the bytes of a section; none if it is not completely in the file. */
static struct cubin_bytes section_bytes(const struct cubin_reader *reader,
					const Elf64_Shdr *section)
{
	struct cubin_bytes none = {NULL, 0};

	if (section->sh_type == SHT_NOBITS || section->sh_offset > reader->file.size ||
	    section->sh_size > reader->file.size - section->sh_offset)
		return none;
	return (struct cubin_bytes){reader->file.data + section->sh_offset, section->sh_size};
}

struct cubin_bytes cubin_info_bytes(struct cubin_reader *reader, const Elf64_Shdr *section)
{
	struct cubin_bytes bytes = section_bytes(reader, section);

	if (bytes.size > reader->info_budget)
		return (struct cubin_bytes){NULL, 0};
	reader->info_budget -= bytes.size;
	return bytes;
}

const char *cubin_string_at(struct cubin_reader *reader, struct cubin_bytes strings,
			    uint64_t offset)
{
	const char *text;
	size_t left, length;

	if (offset >= strings.size)
		return NULL;
	text = (const char *)strings.data + offset;
	left = strings.size - offset;
	length = strnlen(text, left < MAX_NAME ? left : MAX_NAME);
	if (length == left || length == MAX_NAME || length + 1 > reader->name_budget)
		return NULL;
	reader->name_budget -= length + 1;
	return text;
}

static struct gt_cubin_kernel *find_kernel(const struct cubin_reader *reader,
					   const struct gt_hash *map, const void *key,
					   size_t length)
{
	uintptr_t index = (uintptr_t)gt_hash_get(map, key, length);

	return index ? &reader->kernels.items[index - 1] : NULL;
}

int cubin_read_header(struct cubin_reader *reader)
{
	Elf64_Ehdr header;
	Elf64_Shdr names;
	uint64_t count;

	if (reader->file.size < sizeof(header))
		return cubin_fail(reader, -ENOEXEC, "no cubin: too short for an ELF header");
	memcpy(&header, reader->file.data, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != ELF_MACHINE_CUDA)
		return cubin_fail(reader, -ENOEXEC, "no cubin: not a 64-bit ELF for CUDA");
	count = header.e_shnum;
	if (!header.e_shoff || header.e_shoff > reader->file.size ||
	    header.e_shentsize != sizeof(Elf64_Shdr))
		return cubin_fail(reader, -EBADMSG, "malformed cubin: it has no section headers");
	reader->sections = reader->file.data + header.e_shoff;
	if (!count && reader->file.size - header.e_shoff >= sizeof(Elf64_Shdr))
		count = cubin_section_at(reader, 0).sh_size;
	if (count > MAX_SECTIONS)
		return cubin_fail(reader, -E2BIG, "more sections than any cubin has");
	if (count > (reader->file.size - header.e_shoff) / sizeof(Elf64_Shdr))
		return cubin_fail(reader, -EBADMSG,
				  "truncated cubin: it ends within section headers");
	reader->section_count = count;
	if (header.e_shstrndx >= count && header.e_shstrndx != SHN_XINDEX)
		return cubin_fail(reader, -EBADMSG, "malformed cubin: its sections have no names");
	names = cubin_section_at(reader, 0);
	if (header.e_shstrndx != SHN_XINDEX)
		names = cubin_section_at(reader, header.e_shstrndx);
	else if (names.sh_link < count)
		names = cubin_section_at(reader, names.sh_link);
	reader->names = section_bytes(reader, &names);
	reader->info_budget = reader->file.size;
	reader->name_budget = reader->names.size * 4 + MAX_NAME;
	return 0;
}

const char *cubin_section_name(struct cubin_reader *reader, const Elf64_Shdr *section)
{
	return cubin_string_at(reader, reader->names, section->sh_name);
}

static int add_kernel(struct cubin_reader *reader, const char *name, uint32_t symbol)
{
	struct gt_cubin_kernel kernel = {
		.parameter_bytes = GT_CUBIN_UNKNOWN,
		.registers = GT_CUBIN_UNKNOWN,
		.local_bytes = GT_CUBIN_UNKNOWN,
	};
	void *number;

	if (gt_hash_get_str(reader->by_name, name))
		return 0;
	if (reader->kernels.count == GT_CUBIN_MAX_KERNELS)
		return cubin_fail(reader, -E2BIG, "more kernels than any cubin has");
	kernel.name = strdup(name);
	if (!kernel.name || gt_vec_push(&reader->kernels, kernel)) {
		free(kernel.name);
		return cubin_fail(reader, -ENOMEM, "out of memory");
	}
	number = (void *)reader->kernels.count;
	if (gt_hash_set_str(reader->by_name, name, number) ||
	    gt_hash_set(reader->by_symbol, &symbol, sizeof(symbol), number))
		return cubin_fail(reader, -ENOMEM, "out of memory");
	return 0;
}

static int add_symbol(struct cubin_reader *reader, void *context, uint32_t index,
		      const Elf64_Sym *symbol, struct cubin_bytes names)
{
	const char *name;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !(symbol->st_other & ENTRY_MARK) ||
	    symbol->st_shndx == SHN_UNDEF)
		return 0;
	name = cubin_string_at(reader, names, symbol->st_name);
	return name && *name ? add_kernel(reader, name, index) : 0;
}

static int each_symbol(struct cubin_reader *reader, const Elf64_Shdr *section,
		       cubin_symbol_visit *visit, void *context)
{
	struct cubin_bytes symbols = section_bytes(reader, section), strings;
	Elf64_Shdr names;
	int error = 0;

	if (section->sh_link >= reader->section_count)
		return cubin_fail(reader, -EBADMSG, "malformed cubin: its symbols have no names");
	names = cubin_section_at(reader, section->sh_link);
	strings = section_bytes(reader, &names);
	reader->name_budget += strings.size * 4 + MAX_NAME;
	for (size_t i = 0; i < symbols.size / sizeof(Elf64_Sym) && !error; i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, symbols.data + i * sizeof(symbol), sizeof(symbol));
		error = visit(reader, context, (uint32_t)i, &symbol, strings);
	}
	return error;
}

int cubin_each_symbol(struct cubin_reader *reader, cubin_symbol_visit *visit, void *context)
{
	for (size_t i = 0; i < reader->section_count; i++) {
		Elf64_Shdr section = cubin_section_at(reader, i);

		if (section.sh_type == SHT_SYMTAB)
			return each_symbol(reader, &section, visit, context);
	}
	return 0;
}

/* Reads the next record; false: the end, or malformed bytes. */
static bool next_record(struct cubin_bytes *bytes, struct cubin_record *ret_record)
{
	size_t size = 4;

	if (bytes->size < size)
		return false;
	*ret_record = (struct cubin_record){.format = bytes->data[0],
					    .attribute = bytes->data[1],
					    .value = fatbin_get16(bytes->data + 2)};
	if (ret_record->format == 4) {
		size += ret_record->value;
		if (size > bytes->size)
			return false;
		ret_record->payload = (struct cubin_bytes){bytes->data + 4, ret_record->value};
	} else if (ret_record->format < 1 || ret_record->format > 3) {
		return false;
	}
	bytes->data += size;
	bytes->size -= size;
	return true;
}

/* Reads the registers and local memory of all kernels, by their symbols. */
static void read_common(struct cubin_reader *reader, struct cubin_bytes bytes)
{
	struct cubin_record record;

	while (next_record(&bytes, &record)) {
		struct gt_cubin_kernel *kernel;
		uint32_t symbol, value;

		if (record.payload.size != 8)
			continue;
		symbol = fatbin_get32(record.payload.data);
		value = fatbin_get32(record.payload.data + 4);
		kernel = find_kernel(reader, reader->by_symbol, &symbol, sizeof(symbol));
		if (kernel && record.attribute == ATTRIBUTE_REGISTERS)
			kernel->registers = value;
		else if (kernel && record.attribute == ATTRIBUTE_LOCAL)
			kernel->local_bytes = value;
	}
}

/* Stores a parameter by its ordinal; false: malformed, or a duplicate. */
static bool take_parameter(struct gt_cubin_parameter parameters[], size_t *count,
			   const struct cubin_record *record)
{
	const uint8_t *bytes = record->payload.data;
	struct gt_cubin_parameter parameter;
	uint16_t ordinal;

	if (record->payload.size != PARAMETER_BYTES)
		return false;
	ordinal = fatbin_get16(bytes + 4);
	parameter.offset = fatbin_get16(bytes + 6);
	parameter.size = record->attribute == ATTRIBUTE_PARAMETER
				 ? (uint16_t)(fatbin_get32(bytes + 8) >> 18)
				 : fatbin_get16(bytes + 8);
	if (ordinal >= GT_CUBIN_MAX_PARAMETERS || !parameter.size || parameters[ordinal].size)
		return false;
	parameters[ordinal] = parameter;
	if (ordinal >= *count)
		*count = ordinal + (size_t)1;
	return true;
}

/* Whether all parameters of the kernel are known; otherwise removes them. */
static bool read_kernel(struct cubin_reader *reader, struct cubin_bytes bytes,
			struct gt_cubin_kernel *kernel)
{
	gt_autofree struct gt_cubin_parameter *parameters =
		calloc(GT_CUBIN_MAX_PARAMETERS, sizeof(*parameters));
	struct cubin_record record;
	size_t count = 0;
	bool good = parameters != NULL;

	while (good && next_record(&bytes, &record)) {
		if (record.format == 4 && (record.attribute == ATTRIBUTE_PARAMETER ||
					   record.attribute == ATTRIBUTE_BIG_PARAMETER))
			good = take_parameter(parameters, &count, &record);
		else if (record.format == 3 && record.attribute == ATTRIBUTE_PARAMETERS_SIZE)
			kernel->parameter_bytes = record.value;
	}
	for (size_t i = 0; good && i < count; i++)
		good = parameters[i].size != 0;
	if (!good || bytes.size || !bytes.data)
		return false;
	free(kernel->parameters);
	kernel->parameters = count ? malloc(count * sizeof(*parameters)) : NULL;
	if (count && !kernel->parameters)
		return false;
	if (count)
		memcpy(kernel->parameters, parameters, count * sizeof(*parameters));
	kernel->parameter_count = count;
	if (!count && kernel->parameter_bytes == GT_CUBIN_UNKNOWN)
		kernel->parameter_bytes = 0;
	return true;
}

/* Reads a section by its name; known[i]: the parameters of kernel i are known. */
static void read_section(struct cubin_reader *reader, const Elf64_Shdr *section, const char *name,
			 bool *known)
{
	static const char info[] = ".nv.info", shared[] = ".nv.shared.";
	struct gt_cubin_kernel *kernel;

	if (!strncmp(name, shared, sizeof(shared) - 1)) {
		name += sizeof(shared) - 1;
		kernel = find_kernel(reader, reader->by_name, name, strlen(name));
		if (kernel && section->sh_size < UINT32_MAX)
			kernel->shared_bytes = (uint32_t)section->sh_size;
	} else if (!strcmp(name, info)) {
		read_common(reader, cubin_info_bytes(reader, section));
	} else if (!strncmp(name, info, sizeof(info) - 1) && name[sizeof(info) - 1] == '.') {
		name += sizeof(info);
		kernel = find_kernel(reader, reader->by_name, name, strlen(name));
		if (kernel)
			known[kernel - reader->kernels.items] |=
				read_kernel(reader, cubin_info_bytes(reader, section), kernel);
	}
}

static void free_kernel(struct gt_cubin_kernel *kernel)
{
	free(kernel->name);
	free(kernel->parameters);
}

/* Removes the kernels whose parameters are not known. */
static void drop_unknown(struct cubin_reader *reader, const bool *known)
{
	size_t kept = 0;

	for (size_t i = 0; i < reader->kernels.count; i++) {
		struct gt_cubin_kernel *kernel = &reader->kernels.items[i];

		if (!known[i]) {
			free_kernel(kernel);
			continue;
		}
		if (reader->has_reserved && kernel->shared_bytes >= RESERVED_SHARED)
			kernel->shared_bytes -= RESERVED_SHARED;
		reader->kernels.items[kept++] = *kernel;
	}
	reader->kernels.count = kept;
}

static int read_sections(struct cubin_reader *reader)
{
	gt_autofree bool *known = NULL;
	int error = cubin_each_symbol(reader, add_symbol, NULL);

	if (error)
		return error;
	known = calloc(reader->kernels.count + 1, sizeof(*known));
	if (!known)
		return cubin_fail(reader, -ENOMEM, "out of memory");
	reader->name_budget = reader->names.size * 4 + MAX_NAME;
	for (size_t i = 0; i < reader->section_count; i++) {
		Elf64_Shdr section = cubin_section_at(reader, i);
		const char *name = cubin_section_name(reader, &section);

		if (name && !strcmp(name, ".nv.shared.reserved.0"))
			reader->has_reserved = true;
		else if (name)
			read_section(reader, &section, name, known);
	}
	drop_unknown(reader, known);
	return 0;
}

int gt_cubin_read(const void *data, size_t size, struct gt_cubin *ret_cubin, struct gt_diag *diag)
{
	struct cubin_reader reader = {.file = {data, size}, .diag = diag};
	struct gt_cubin cubin;
	int error;

	reader.by_name = gt_hash_new();
	reader.by_symbol = gt_hash_new();
	if (!reader.by_name || !reader.by_symbol)
		error = cubin_fail(&reader, -ENOMEM, "out of memory");
	else
		error = cubin_read_header(&reader);
	if (!error)
		error = read_sections(&reader);
	gt_hash_free(reader.by_name);
	gt_hash_free(reader.by_symbol);
	cubin = (struct gt_cubin){reader.kernels.items, reader.kernels.count};
	if (error)
		gt_cubin_free(&cubin);
	else
		*ret_cubin = cubin;
	return error;
}

void gt_cubin_free(struct gt_cubin *cubin)
{
	for (size_t i = 0; i < cubin->count; i++)
		free_kernel(&cubin->kernels[i]);
	free(cubin->kernels);
	*cubin = (struct gt_cubin){0};
}
