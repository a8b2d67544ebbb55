/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <string.h>

#include "elf/private.h"

#define NAMES_LIMIT (64u << 20) /* bytes of the names of sections */

/* Reads the names of the sections on first use. */
static int load_names(struct gt_elf *elf, struct gt_diag *diag)
{
	uint32_t index = elf->header.e_shstrndx;
	const Elf64_Shdr *names;
	int error;

	if (elf->section_names)
		return 0;
	if (index == SHN_XINDEX && elf->section_count)
		index = elf->sections[0].sh_link;
	if (index == SHN_UNDEF || index >= elf->section_count)
		return -ENOENT;
	names = &elf->sections[index];
	if (names->sh_type != SHT_STRTAB)
		return -ENOENT;
	error = gt_elf_read_table(elf, names->sh_offset, names->sh_size, NAMES_LIMIT,
				  "section names", (void **)&elf->section_names, diag);
	if (!error)
		elf->section_names_size = names->sh_size;
	return error;
}

const Elf64_Shdr *gt_elf_find_section(struct gt_elf *elf, const char *name)
{
	size_t size = strlen(name) + 1;

	if (load_names(elf, NULL))
		return NULL;
	for (size_t i = 1; i < elf->section_count; i++) {
		const Elf64_Shdr *section = &elf->sections[i];

		if (section->sh_type != SHT_NULL && size <= elf->section_names_size &&
		    section->sh_name <= elf->section_names_size - size &&
		    !memcmp(elf->section_names + section->sh_name, name, size))
			return section;
	}
	return NULL;
}

int gt_elf_section(struct gt_elf *elf, const char *name, uint64_t *ret_offset, uint64_t *ret_size)
{
	const Elf64_Shdr *section = gt_elf_find_section(elf, name);

	if (!section || section->sh_type == SHT_NOBITS || !section->sh_size)
		return -ENOENT;
	*ret_offset = section->sh_offset;
	*ret_size = section->sh_size;
	return 0;
}

int gt_elf_read_section(struct gt_elf *elf, const char *name, size_t limit,
			struct gt_file *ret_bytes, struct gt_diag *diag)
{
	uint64_t offset, size;
	void *data = NULL;
	int error;

	if (gt_elf_section(elf, name, &offset, &size))
		return gt_diag(diag, -ENOENT, "elf", elf->info.path, "it has no section %s", name);
	error = gt_elf_read_table(elf, offset, size, limit, name, &data, diag);
	if (error)
		return error;
	*ret_bytes = (struct gt_file){data, size};
	return 0;
}
