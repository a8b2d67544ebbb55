/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fatbin/cubin_symbols.h"

#include "fatbin/cubin_private.h"

/* Types of symbols beside STT_OBJECT and STT_FUNC. */
enum {
	STT_CUDA_TEXTURE = 10,
	STT_CUDA_SURFACE = 11,
	STT_CUDA_SAMPLER = 12,
	STT_CUDA_OBJECT = 13,
};

/* Types of sections whose variables are no state of the module. */
enum {
	SHT_CUDA_LOCAL = 0x70000009,
	SHT_CUDA_SHARED = 0x7000000a,
	SHT_CUDA_PARAMETERS = 0x70000064, /* .nv.constant0.KERNEL */
	SHT_CUDA_CONSTANT = 0x70000067,   /* .nv.constant3: variables */
};

struct symbols_walk {
	gt_cubin_symbol_visit *visit;
	void *context;
};

static bool is_variable(unsigned type)
{
	return type == STT_OBJECT || (type >= STT_CUDA_TEXTURE && type <= STT_CUDA_OBJECT);
}

/* The type of the section that a symbol is in; SHT_NULL: none. */
static Elf64_Word find_section_type(const struct cubin_reader *reader, const Elf64_Sym *symbol)
{
	if (symbol->st_shndx >= reader->section_count)
		return SHT_NULL;
	return cubin_section_at(reader, symbol->st_shndx).sh_type;
}

/* Whether the variables of a section of this type are no state of the module. */
static bool is_private(Elf64_Word type)
{
	return type == SHT_CUDA_LOCAL || type == SHT_CUDA_SHARED || type == SHT_CUDA_PARAMETERS;
}

static int visit_symbol(struct cubin_reader *reader, void *context, uint32_t index,
			const Elf64_Sym *symbol, struct cubin_bytes names)
{
	const struct symbols_walk *walk = context;
	Elf64_Word section = find_section_type(reader, symbol);
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	struct gt_cubin_symbol found = {
		.is_function = type == STT_FUNC,
		.is_defined = symbol->st_shndx != SHN_UNDEF,
		.is_local = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL,
	};

	if (!found.is_function && !is_variable(type))
		return 0;
	/* The linker itself defines the variables that are undefined and not global. */
	if (!found.is_defined && !found.is_function && ELF64_ST_BIND(symbol->st_info) != STB_GLOBAL)
		return 0;
	if (found.is_defined && !found.is_function && is_private(section))
		return 0;
	if (!found.is_function && section == SHT_CUDA_CONSTANT)
		found.constant_bytes = symbol->st_size;
	found.name = cubin_string_at(reader, names, symbol->st_name);
	return walk->visit(walk->context, &found);
}

int gt_cubin_each_symbol(const void *data, size_t size, gt_cubin_symbol_visit *visit, void *context,
			 struct gt_diag *diag)
{
	struct cubin_reader reader = {.file = {data, size}, .diag = diag};
	struct symbols_walk walk = {visit, context};
	int error = cubin_read_header(&reader);

	return error ? error : cubin_each_symbol(&reader, visit_symbol, &walk);
}
