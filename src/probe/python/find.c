/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/python/find.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "elf/elf.h"
#include "event/kinds.h"

/* An interpreter's file. */
struct python_file {
	bool known;       /* an interpreter with a known layout */
	uint64_t runtime; /* address of _PyRuntime in the ELF */
	uint32_t layout;
	uint64_t offset, address; /* of its first executable mapping that was seen: file, ELF */
};

struct gt_pythons {
	struct gt_hash *files; /* path -> struct python_file */
};

struct gt_pythons *gt_pythons_new(void)
{
	struct gt_pythons *pythons = calloc(1, sizeof(*pythons));

	if (pythons)
		pythons->files = gt_hash_new();
	if (pythons && !pythons->files) {
		free(pythons);
		return NULL;
	}
	return pythons;
}

void gt_pythons_free(struct gt_pythons *pythons)
{
	if (!pythons)
		return;
	gt_hash_free_with(pythons->files, free);
	free(pythons);
}

/* The minor version in "python3.11" or "libpython3.11.so.1.0"; 0: none. */
static unsigned minor_of_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = strstr(slash ? slash + 1 : path, "python3.");

	return name ? (unsigned)strtoul(name + strlen("python3."), NULL, 10) : 0;
}

/* Py_Version (3.11 on): PY_VERSION_HEX, such as 0x030b04f0. */
static unsigned minor_of_symbol(struct gt_elf *elf)
{
	const struct gt_elf_symbol *const *symbols;
	uint32_t version = 0;

	if (!gt_elf_lookup(elf, "Py_Version", &symbols) || symbols[0]->offset == GT_ELF_NO_OFFSET ||
	    gt_elf_read(elf, symbols[0]->offset, &version, sizeof(version)) || version >> 24 != 3)
		return 0;
	return version >> 16 & 0xff;
}

static uint64_t find_runtime(struct gt_elf *elf)
{
	const struct gt_elf_symbol *const *symbols;
	uint64_t offset, size;

	if (gt_elf_lookup(elf, "_PyRuntime", &symbols))
		return symbols[0]->value;
	/* 3.10 on: the section begins with it. */
	if (!gt_elf_section(elf, ".PyRuntime", &offset, &size))
		return gt_elf_address(elf, offset);
	return 0;
}

static void read_file(struct python_file *file, const struct gt_event_mapping *mapping,
		      const char *path)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	unsigned minor;

	if (gt_elf_open(path, &elf, NULL))
		return;
	minor = minor_of_symbol(elf);
	if (!minor)
		minor = minor_of_name(path);
	file->runtime = find_runtime(elf);
	file->offset = mapping->offset;
	file->address = gt_elf_address(elf, mapping->offset);
	file->layout = minor - GT_PYTHON_FIRST_MINOR;
	file->known = file->runtime && file->runtime != GT_ELF_NO_OFFSET &&
		      file->address != GT_ELF_NO_OFFSET && minor >= GT_PYTHON_FIRST_MINOR &&
		      file->layout < GT_PYTHON_LAYOUTS;
}

static struct python_file *file_of(struct gt_pythons *pythons,
				   const struct gt_event_mapping *mapping)
{
	size_t length;
	const char *text = gt_event_text(&mapping->head, &length);
	gt_autofree char *path = strndup(text, length);
	struct python_file *file;

	if (!path || !minor_of_name(path))
		return NULL;
	file = gt_hash_get(pythons->files, path, length);
	if (file)
		return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	read_file(file, mapping, path);
	if (gt_hash_set(pythons->files, path, length, file)) {
		free(file);
		return NULL;
	}
	return file;
}

bool gt_pythons_find(struct gt_pythons *pythons, const struct gt_event_mapping *mapping,
		     struct gt_python *ret_python)
{
#ifdef __x86_64__
	const struct python_file *file = file_of(pythons, mapping);

	if (!file || !file->known || file->offset != mapping->offset)
		return false;
	*ret_python = (struct gt_python){
		.runtime = mapping->start - file->address + file->runtime,
		.layout = file->layout,
	};
	return true;
#else
	return false;
#endif
}
