/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hiding sections of an object from libbpf. */
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "base/clean.h"
#include "gpubpf/object/private.h"

/* An object whose sections are hidden. */
struct hiding {
	const struct gt_file *file;
	Elf *elf;
	uint8_t *names; /* the names of sections */
	size_t names_size;
	struct gt_object_hidden *hidden;
};

/* Names share bytes: one that ends with another contains it. */
int gt_object_change_byte(struct gt_object_hidden *hidden, uint8_t *at, uint8_t value)
{
	const struct gt_object_byte byte = {.at = at, .before = *at};

	if (*at == value)
		return 0;
	if (gt_vec_push(&hidden->bytes, byte))
		return -ENOMEM;
	*at = value;
	return 0;
}

/* The byte that hides a section with this name, or NULL. */
static uint8_t *find_hiding_byte(uint8_t *name)
{
	static const char *const starts[] = {".struct_ops", "?.struct_ops", ".rel.struct_ops",
					     ".rel?.struct_ops"};

	for (size_t i = 0; i < gt_countof(starts); i++)
		if (!strncmp((char *)name, starts[i], strlen(starts[i])))
			return (uint8_t *)strstr((char *)name, "struct_ops");
	return strcmp((char *)name, ".rel.maps") ? NULL : name;
}

static int hide_name(struct hiding *hiding, uint8_t *name)
{
	uint8_t *byte = find_hiding_byte(name);

	return byte ? gt_object_change_byte(hiding->hidden, byte, '_') : 0;
}

static uint8_t *name_of(const struct hiding *hiding, const GElf_Shdr *header)
{
	return header->sh_name < hiding->names_size ? hiding->names + header->sh_name : NULL;
}

static int hide_sections(struct hiding *hiding)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int error = 0;

	while (!error && (section = elf_nextscn(hiding->elf, section)) &&
	       gelf_getshdr(section, &header)) {
		uint8_t *name = name_of(hiding, &header);

		if (name)
			error = hide_name(hiding, name);
	}
	return error;
}

/* The name of .text, if no other section has code; else NULL. */
static uint8_t *find_text(const struct hiding *hiding)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	uint8_t *text = NULL;

	while ((section = elf_nextscn(hiding->elf, section)) && gelf_getshdr(section, &header)) {
		uint8_t *name = name_of(hiding, &header);

		if (!name || !(header.sh_flags & SHF_EXECINSTR) || !header.sh_size)
			continue;
		if (text || strcmp((const char *)name, ".text") != 0)
			return NULL;
		text = name;
	}
	return text;
}

/* libbpf looks for the section of each BTF_KIND_DATASEC by its name. */
static int hide_types(struct hiding *hiding)
{
	struct btf_header header;
	struct gt_file btf;
	char *strings;
	int error = 0;

	if (!gt_object_find_section(hiding->file, ".BTF", &btf))
		return 0;
	memcpy(&header, btf.data, sizeof(header));
	strings = (char *)btf.data + header.hdr_len + header.str_off;
	/* The table of strings begins with an empty one, and ends with NUL. */
	for (uint32_t i = 1; !error && i < header.str_len; i += (uint32_t)strlen(strings + i) + 1)
		error = hide_name(hiding, (uint8_t *)strings + i);
	return error;
}

static int hide_all(struct hiding *hiding, bool all)
{
	GElf_Shdr names;
	size_t number;
	uint8_t *text;
	int error;

	if (elf_getshdrstrndx(hiding->elf, &number) ||
	    !gelf_getshdr(elf_getscn(hiding->elf, number), &names))
		return 0;
	hiding->names = hiding->file->data + names.sh_offset;
	hiding->names_size = names.sh_size;
	error = hide_sections(hiding);
	if (!error)
		error = hide_types(hiding);
	text = all && !error ? find_text(hiding) : NULL;
	if (text) {
		error = gt_object_change_byte(hiding->hidden, text, '_');
		hiding->hidden->text = !error;
	}
	return error;
}

int gt_object_hide(const struct gt_file *file, bool all, struct gt_object_hidden *ret_hidden)
{
	struct hiding hiding = {.file = file, .hidden = ret_hidden};
	int error = 0;

	hiding.elf = elf_memory((char *)file->data, file->size);
	if (hiding.elf)
		error = hide_all(&hiding, all);
	elf_end(hiding.elf);
	return error;
}

void gt_object_restore(struct gt_object_hidden *hidden)
{
	/* The last change first: a byte may have been changed twice. */
	for (size_t i = hidden->bytes.count; i > 0; i--)
		*hidden->bytes.items[i - 1].at = hidden->bytes.items[i - 1].before;
	gt_vec_free(&hidden->bytes);
}
