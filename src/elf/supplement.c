/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/supplement.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"

#define DEBUG_LIMIT (UINT64_C(1) << 30) /* bytes of all debug sections, uncompressed */
#define MAX_ID 64

static uint64_t uncompressed_size(Elf_Scn *section, const GElf_Shdr *header)
{
	GElf_Chdr compression;

	if (!(header->sh_flags & SHF_COMPRESSED))
		return header->sh_size;
	return gelf_getchdr(section, &compression) ? compression.ch_size : UINT64_MAX;
}

/*
 * libdw 0.188 searches for the end of a line table's string without a limit: the sections of
 * strings must end in a NUL.
 */
static bool ends_in_nul(Elf_Scn *section, const GElf_Shdr *header)
{
	const Elf_Data *data;

	if (!header->sh_size)
		return true;
	if (header->sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
		return false;
	data = elf_rawdata(section, NULL);
	return data && data->d_buf && data->d_size &&
	       !((const char *)data->d_buf)[data->d_size - 1];
}

bool elf_file_is_sane(Elf *elf)
{
	uint64_t total = 0, size;
	size_t names;
	Elf_Scn *section = NULL;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		/* .zdebug_info etc. of GNU tools before 2016: the size is not in the header. */
		if (name && !strncmp(name, ".zdebug", 7))
			return false;
		if (!name || strncmp(name, ".debug_", 7))
			continue;
		size = uncompressed_size(section, &header);
		if (size > DEBUG_LIMIT || total + size > DEBUG_LIMIT)
			return false;
		total += size;
		if ((!strcmp(name, ".debug_str") || !strcmp(name, ".debug_line_str")) &&
		    !ends_in_nul(section, &header))
			return false;
	}
	return true;
}

int elf_file_begin(int fd, struct elf_file *ret_file)
{
	struct elf_file file = {NULL, fd};

	elf_version(EV_CURRENT);
	file.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!file.elf || elf_kind(file.elf) != ELF_K_ELF || !elf_file_is_sane(file.elf)) {
		elf_file_end(&file);
		return -EBADMSG;
	}
	*ret_file = file;
	return 0;
}

void elf_file_end(struct elf_file *file)
{
	if (file->elf)
		elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct elf_file){NULL, -1};
}

static int try_path(const char *path, const void *id, size_t id_size, struct elf_file *ret_file)
{
	struct elf_file file = {NULL, -1};
	struct stat status;
	const void *other;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		close(fd);
		return -ENOENT;
	}
	if (elf_file_begin(fd, &file))
		return -ENOENT;
	if (dwelf_elf_gnu_build_id(file.elf, &other) != (ssize_t)id_size ||
	    memcmp(other, id, id_size)) {
		elf_file_end(&file);
		return -ENOENT;
	}
	*ret_file = file;
	return 0;
}

int elf_file_supplement(Dwarf *dwarf, const char *path, const char *debug_directory,
			struct elf_file *ret_file)
{
	gt_auto_strbuf by_id = GT_STRBUF_INIT, by_name = GT_STRBUF_INIT;
	const char *name = NULL, *slash = strrchr(path, '/');
	const void *bytes = NULL;
	const uint8_t *id;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bytes);

	*ret_file = (struct elf_file){NULL, -1};
	if (size == 0)
		return 0;
	if (size < 2 || size > MAX_ID)
		return -ENOENT;
	id = bytes;
	gt_strbuf_printf(&by_id, "%s/.build-id/%02x/", debug_directory, id[0]);
	for (ssize_t i = 1; i < size; i++)
		gt_strbuf_printf(&by_id, "%02x", id[i]);
	gt_strbuf_puts(&by_id, ".debug");
	if (name[0] != '/' && slash)
		gt_strbuf_add(&by_name, path, (size_t)(slash + 1 - path));
	gt_strbuf_puts(&by_name, name);
	if (by_id.failed || by_name.failed)
		return -ENOENT;
	if (*debug_directory && !try_path(by_id.data, id, (size_t)size, ret_file))
		return 0;
	return try_path(by_name.data, id, (size_t)size, ret_file);
}
