/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fatbin/archive.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/clean.h"
#include "fatbin/fatbin.h"

static const char archive_magic[] = "!<arch>\n";

/* The header of a member; all fields are text, padded with blanks. */
struct archive_header {
	char name[16];
	char time[12], user[6], group[6], mode[8];
	char size[10];
	char end[2];
};

struct archive_reader {
	const char *data;
	size_t size;
	const char *long_names; /* the member "//" */
	size_t long_names_size;
	gt_archive_visit *visit;
	void *context;
	bool unknown; /* a member was */
	struct gt_diag *diag;
};

static int fail(const struct archive_reader *reader, const char *name, const char *what)
{
	return gt_diag(reader->diag, -EINVAL, "link", name, "%s", what);
}

/* ---- objects --------------------------------------------------------------------------- */

/* Copies a section header. False: it, or its bytes, are outside of the file. */
static bool read_section(const char *data, size_t size, const Elf64_Ehdr *header, size_t index,
			 Elf64_Shdr *ret_section)
{
	size_t offset = index * sizeof(*ret_section);

	if (header->e_shoff > size || size - header->e_shoff < offset + sizeof(*ret_section))
		return false;
	memcpy(ret_section, data + header->e_shoff + offset, sizeof(*ret_section));
	return ret_section->sh_type == SHT_NOBITS ||
	       (ret_section->sh_offset <= size &&
		ret_section->sh_size <= size - ret_section->sh_offset);
}

/* Whether a section holds the fatbins of the device code. */
static bool has_device_code(const char *data, const Elf64_Shdr *names, const Elf64_Shdr *section)
{
	static const char *const wanted[] = {".nv_fatbin", "__nv_relfatbin"};

	for (size_t i = 0; i < gt_countof(wanted); i++)
		if (section->sh_type != SHT_NOBITS && section->sh_name < names->sh_size &&
		    strlen(wanted[i]) < names->sh_size - section->sh_name &&
		    !strcmp(data + names->sh_offset + section->sh_name, wanted[i]))
			return true;
	return false;
}

static int read_host_object(const struct archive_reader *reader, const char *name, const char *data,
			    size_t size)
{
	Elf64_Shdr names, section;
	Elf64_Ehdr header;
	int error = 0;

	memcpy(&header, data, sizeof(header));
	if (header.e_shentsize != sizeof(section) ||
	    !read_section(data, size, &header, header.e_shstrndx, &names) ||
	    names.sh_type != SHT_STRTAB || !names.sh_size ||
	    data[names.sh_offset + names.sh_size - 1])
		return fail(reader, name, "a malformed object");
	for (size_t i = 0; i < header.e_shnum && !error; i++) {
		if (!read_section(data, size, &header, i, &section))
			return fail(reader, name, "a malformed object");
		if (has_device_code(data, &names, &section))
			error = reader->visit(reader->context, name, data + section.sh_offset,
					      section.sh_size);
	}
	return error;
}

static bool is_host_object(const char *data, size_t size)
{
	Elf64_Ehdr header;

	if (size < sizeof(header) || memcmp(data, ELFMAG, SELFMAG) != 0)
		return false;
	memcpy(&header, data, sizeof(header));
	return header.e_machine != EM_CUDA && header.e_ident[EI_CLASS] == ELFCLASS64;
}

static int read_object(struct archive_reader *reader, const char *name, const char *data,
		       size_t size)
{
	if (is_host_object(data, size))
		return read_host_object(reader, name, data, size);
	if (gt_fatbin_classify(data, size) == GT_FATBIN_IMAGE_UNKNOWN) {
		reader->unknown = true;
		return 0;
	}
	return reader->visit(reader->context, name, data, size);
}

/* ---- archives -------------------------------------------------------------------------- */

/* Reads a number of decimal digits, padded with blanks. */
static bool read_decimal(const char *text, size_t length, size_t *ret_number)
{
	size_t number = 0, i = 0;

	for (; i < length && text[i] >= '0' && text[i] <= '9'; i++)
		number = number * 10 + (size_t)(text[i] - '0');
	*ret_number = number;
	return i > 0;
}

/* "name/", or "/123": at this offset of the long names, up to "/\n" */
static void read_name(const struct archive_reader *reader, const struct archive_header *header,
		      char *name, size_t room)
{
	const char *text = header->name;
	size_t length = sizeof(header->name), offset, end = 0;

	if (text[0] == '/' && read_decimal(text + 1, length - 1, &offset) &&
	    offset < reader->long_names_size) {
		text = reader->long_names + offset;
		length = reader->long_names_size - offset;
	}
	while (end < length && end + 1 < room && text[end] != '/' && text[end] != '\n')
		end++;
	memcpy(name, text, end);
	name[end] = 0;
}

static int read_member(struct archive_reader *reader, const struct archive_header *header,
		       const char *data, size_t size)
{
	char name[128];

	if (!memcmp(header->name, "// ", 3)) {
		reader->long_names = data;
		reader->long_names_size = size;
		return 0;
	}
	/* The symbols. */
	if (!memcmp(header->name, "/ ", 2) || !memcmp(header->name, "/SYM64/", 7))
		return 0;
	read_name(reader, header, name, sizeof(name));
	return read_object(reader, name, data, size);
}

static int read_archive(struct archive_reader *reader)
{
	size_t offset = sizeof(archive_magic) - 1;
	int error = 0;

	while (offset < reader->size && !error) {
		struct archive_header header;
		size_t size;

		if (reader->size - offset < sizeof(header))
			return fail(reader, NULL, "a truncated archive");
		memcpy(&header, reader->data + offset, sizeof(header));
		offset += sizeof(header);
		if (memcmp(header.end, "`\n", 2) != 0 ||
		    !read_decimal(header.size, sizeof(header.size), &size) ||
		    size > reader->size - offset)
			return fail(reader, NULL, "a malformed archive");
		error = read_member(reader, &header, reader->data + offset, size);
		offset += size + (size & 1);
	}
	return error;
}

int gt_archive_each(const void *data, size_t size, gt_archive_visit *visit, void *context,
		    bool *ret_unknown, struct gt_diag *diag)
{
	struct archive_reader reader = {
		.data = data,
		.size = size,
		.visit = visit,
		.context = context,
		.diag = diag,
	};
	size_t magic = sizeof(archive_magic) - 1;
	int error = size >= magic && !memcmp(data, archive_magic, magic)
			    ? read_archive(&reader)
			    : read_object(&reader, "object", data, size);

	if (ret_unknown)
		*ret_unknown = reader.unknown;
	return error;
}
