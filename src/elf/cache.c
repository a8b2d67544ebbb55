/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "elf/cache.h"

#define CACHE_LIMIT ((size_t)64 << 20)
#define OLD_MAGIC "ld.so-1.7.0"
#define NEW_MAGIC "glibc-ld.so.cache1.1"
#define EXTENSION_MAGIC 0xeaa42174u
#define EXTENSION_HWCAPS 1 /* tag of the list of glibc-hwcaps names */
#define EXTENSION_LIMIT 64 /* sections of the extension; glibc 2.36 writes two */

/* With this bit an entry's hwcap has the index of a glibc-hwcaps name in its lower half. */
#define HWCAP_IS_NAMED (1ULL << 62)

#define ENTRY_ELF_LIBC6 0x0003
#if defined(__aarch64__)
#define ENTRY_FLAGS (0x0a00 | ENTRY_ELF_LIBC6)
#else
#define ENTRY_FLAGS (0x0300 | ENTRY_ELF_LIBC6)
#endif

struct cache_old_header {
	char magic[12];
	uint32_t count;
};
#define OLD_ENTRY_SIZE 12

struct cache_header {
	char magic[20];
	uint32_t count;
	uint32_t strings_size;
	uint8_t flags;
	uint8_t padding[3];
	uint32_t extension;
	uint32_t unused[3];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path; /* offsets from the header */
	uint32_t os_version;
	uint64_t hwcap;
};

struct cache_extension_section {
	uint32_t tag, flags, offset, size;
};

static size_t cache_size(const struct gt_ld_cache *cache)
{
	return cache->file.size - cache->start;
}

static bool copy_out(const struct gt_ld_cache *cache, uint64_t offset, void *data, size_t size)
{
	if (offset > cache_size(cache) || size > cache_size(cache) - offset)
		return false;
	memcpy(data, cache->file.data + cache->start + offset, size);
	return true;
}

/* The file's last byte is followed by a NUL, so every string in it ends. */
static const char *string_at(const struct gt_ld_cache *cache, uint32_t offset)
{
	if (offset >= cache_size(cache))
		return NULL;
	return (const char *)cache->file.data + cache->start + offset;
}

static size_t skip_old_format(const struct gt_file *file)
{
	struct cache_old_header old;
	uint64_t end;

	if (file->size < sizeof(old) || memcmp(file->data, OLD_MAGIC, strlen(OLD_MAGIC)))
		return 0;
	memcpy(&old, file->data, sizeof(old));
	end = sizeof(old) + (uint64_t)old.count * OLD_ENTRY_SIZE;
	end = (end + 7) & ~(uint64_t)7;
	return end < file->size ? end : 0;
}

int gt_ld_cache_open(const char *path, struct gt_ld_cache *ret_cache, struct gt_diag *diag)
{
	struct gt_ld_cache cache = {0};
	struct cache_header header;
	int error = gt_file_read(path, CACHE_LIMIT, &cache.file, diag);

	if (error)
		return error;
	cache.start = skip_old_format(&cache.file);
	if (!copy_out(&cache, 0, &header, sizeof(header)) ||
	    memcmp(header.magic, NEW_MAGIC, sizeof(header.magic)) ||
	    header.count > (cache_size(&cache) - sizeof(header)) / sizeof(struct cache_entry)) {
		gt_ld_cache_free(&cache);
		return gt_diag(diag, -EBADMSG, "loader", path,
			       "no cache of the dynamic loader in the format " NEW_MAGIC);
	}
	*ret_cache = cache;
	return 0;
}

void gt_ld_cache_free(struct gt_ld_cache *cache)
{
	gt_file_free(&cache->file);
	*cache = (struct gt_ld_cache){0};
}

/* Returns the glibc-hwcaps name of an index, or NULL. */
static const char *hwcap_name(const struct gt_ld_cache *cache, uint32_t number)
{
	struct cache_header header;
	struct cache_extension_section section;
	uint32_t magic_and_count[2], name;

	if (!copy_out(cache, 0, &header, sizeof(header)) || !header.extension ||
	    !copy_out(cache, header.extension, magic_and_count, sizeof(magic_and_count)) ||
	    magic_and_count[0] != EXTENSION_MAGIC)
		return NULL;
	for (uint32_t i = 0; i < magic_and_count[1] && i < EXTENSION_LIMIT; i++) {
		uint64_t at =
			header.extension + sizeof(magic_and_count) + (uint64_t)i * sizeof(section);

		if (!copy_out(cache, at, &section, sizeof(section)))
			return NULL;
		if (section.tag != EXTENSION_HWCAPS)
			continue;
		if (number >= section.size / sizeof(name) ||
		    !copy_out(cache, section.offset + (uint64_t)number * sizeof(name), &name,
			      sizeof(name)))
			return NULL;
		return string_at(cache, name);
	}
	return NULL;
}

/* Returns the rank of an entry: 0: the best level; level_count: no level; above: unusable. */
static size_t grade(const struct gt_ld_cache *cache, const struct cache_entry *entry,
		    const char *const *levels, size_t level_count)
{
	const char *name;

	if (!entry->hwcap)
		return level_count;
	if (!(entry->hwcap & HWCAP_IS_NAMED))
		return SIZE_MAX;
	name = hwcap_name(cache, (uint32_t)entry->hwcap);
	for (size_t i = 0; name && i < level_count; i++)
		if (!strcmp(name, levels[i]))
			return i;
	return SIZE_MAX;
}

const char *gt_ld_cache_find(const struct gt_ld_cache *cache, const char *name,
			     const char *const *levels, size_t level_count)
{
	struct cache_header header;
	const char *best = NULL;
	size_t best_grade = SIZE_MAX;

	if (!cache->file.data || !copy_out(cache, 0, &header, sizeof(header)))
		return NULL;
	for (uint32_t i = 0; i < header.count; i++) {
		struct cache_entry entry;
		const char *entry_name;
		size_t entry_grade;

		if (!copy_out(cache, sizeof(header) + (uint64_t)i * sizeof(entry), &entry,
			      sizeof(entry)))
			break;
		entry_name = string_at(cache, entry.name);
		if (entry.flags != ENTRY_FLAGS || !entry_name || strcmp(entry_name, name))
			continue;
		entry_grade = grade(cache, &entry, levels, level_count);
		if (entry_grade < best_grade && string_at(cache, entry.path)) {
			best = string_at(cache, entry.path);
			best_grade = entry_grade;
		}
	}
	return best;
}

const char *const *gt_hardware_levels(size_t *ret_count)
{
#if defined(__x86_64__)
	static const char *const levels[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2", NULL};
	size_t skipped = 3;

	__builtin_cpu_init();
	if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") &&
	    __builtin_cpu_supports("ssse3"))
		skipped = 2;
	if (skipped == 2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
		skipped = 1;
	if (skipped == 1 && __builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		skipped = 0;
	*ret_count = 3 - skipped;
	return levels + skipped;
#else
	static const char *const none[] = {NULL};

	*ret_count = 0;
	return none;
#endif
}
