/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as an ELF file, as the text of /proc/PID/maps, and as the loader's cache. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "elf/cache.h"
#include "elf/elf.h"
#include "elf/proc_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_elf(const uint8_t *data, size_t size)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_symbol *symbols, *const *found;
	size_t count;

	if (gt_elf_open_memory(data, size, &elf, NULL) ||
	    gt_elf_symbols(elf, &symbols, &count, NULL))
		return;
	for (size_t i = 0; i < count; i++) {
		if (symbols[i].offset != GT_ELF_NO_OFFSET && symbols[i].offset >= size)
			abort();
		gt_elf_lookup(elf, symbols[i].name, &found);
		gt_elf_symbol_at(elf, symbols[i].value);
	}
}

static void read_cache(const uint8_t *data, size_t size)
{
	static const char *const levels[] = {"x86-64-v3", "x86-64-v2"};
	gt_autoclose int fd = memfd_create("cache", MFD_CLOEXEC);
	struct gt_ld_cache cache;
	char path[32];

	if (fd < 0 || gt_write_all(fd, data, size))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (gt_ld_cache_open(path, &cache, NULL))
		return;
	gt_ld_cache_find(&cache, "libc.so.6", levels, gt_countof(levels));
	gt_ld_cache_free(&cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto_proc_maps maps = {0};

	if (size > 10 && (!memcmp(data, "glibc-ld.", 9) || !memcmp(data, "ld.so-1.7", 9)))
		read_cache(data, size);
	else if (size > 4 && !memcmp(data, "\177ELF", 4))
		read_elf(data, size);
	else
		gt_proc_maps_parse((const char *)data, size, 1, &maps, NULL);
	return 0;
}
