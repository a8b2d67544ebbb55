/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fatbin/bundle.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define BUNDLE_MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define COMPRESSED_MAGIC "CCOB"
#define SPIRV_MAGIC UINT32_C(0x07230203)

enum {
	MAGIC_BYTES = sizeof(BUNDLE_MAGIC) - 1,
	ROW_BYTES = 3 * sizeof(uint64_t), /* before the id */
};

static bool has_magic(const uint8_t *bytes, size_t size, const char *magic)
{
	return size >= strlen(magic) && !memcmp(bytes, magic, strlen(magic));
}

static uint64_t read_word(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static int fail_malformed(const struct gt_bundles *bundles, struct gt_diag *diag)
{
	return gt_diag(diag, -EINVAL, "fatbin", NULL, "the offload bundle at byte %zu is malformed",
		       bundles->bundle);
}

/* ---- the rows of a bundle ---- */

/* The part of an id after the last hyphen. */
static void find_processor(struct gt_bundle_entry *entry)
{
	const char *hyphen = memrchr(entry->id, '-', entry->id_length);
	const char *end = entry->id + entry->id_length;

	entry->processor = hyphen ? hyphen + 1 : end;
	entry->processor_length = (size_t)(end - entry->processor);
}

static enum gt_bundle_code find_code_by_id(const struct gt_bundle_entry *entry)
{
	const char *hyphen = memchr(entry->id, '-', entry->id_length);
	const char *architecture = hyphen ? hyphen + 1 : entry->id;
	size_t left = entry->id_length - (size_t)(architecture - entry->id);

	if (has_magic((const uint8_t *)entry->id, entry->id_length, "host-"))
		return GT_BUNDLE_HOST;
	return has_magic((const uint8_t *)architecture, left, "amdgcn-") ? GT_BUNDLE_MACHINE
									 : GT_BUNDLE_UNKNOWN;
}

static enum gt_bundle_code find_code(const struct gt_bundle_entry *entry)
{
	uint32_t magic = 0;

	if (entry->size >= sizeof(magic))
		memcpy(&magic, entry->bytes, sizeof(magic));
	if (magic == SPIRV_MAGIC || magic == __builtin_bswap32(SPIRV_MAGIC))
		return GT_BUNDLE_SPIRV;
	return find_code_by_id(entry);
}

/* The entry of the next row. False: it is malformed. */
static bool read_row(struct gt_bundles *bundles, struct gt_bundle_entry *entry)
{
	const uint8_t *row = bundles->bytes + bundles->next;
	size_t left = bundles->size - bundles->next, inside = bundles->size - bundles->bundle;
	uint64_t offset, size, length;

	if (left < ROW_BYTES)
		return false;
	offset = read_word(row);
	size = read_word(row + sizeof(uint64_t));
	length = read_word(row + 2 * sizeof(uint64_t));
	if (length > left - ROW_BYTES || offset > inside || size > inside - offset)
		return false;
	*entry = (struct gt_bundle_entry){
		.id = (const char *)row + ROW_BYTES,
		.id_length = length,
		.bytes = bundles->bytes + bundles->bundle + offset,
		.size = size,
	};
	find_processor(entry);
	entry->code = find_code(entry);
	bundles->next += ROW_BYTES + length;
	if (bundles->bundle + offset + size > bundles->end)
		bundles->end = bundles->bundle + offset + size;
	return true;
}

/* ---- bundles ---- */

/* Begin with the bundle at an offset, whose magic is there. False: it is malformed. */
static bool begin_bundle(struct gt_bundles *bundles, size_t offset)
{
	bundles->bundle = offset;
	bundles->next = offset + MAGIC_BYTES;
	if (bundles->size - bundles->next < sizeof(uint64_t))
		return false;
	bundles->left = read_word(bundles->bytes + bundles->next);
	bundles->next += sizeof(uint64_t);
	bundles->end = bundles->next;
	return true;
}

int gt_bundles_open(const void *bytes, size_t size, struct gt_bundles *ret_bundles,
		    struct gt_diag *diag)
{
	struct gt_bundles bundles = {.bytes = bytes, .size = size};

	if (has_magic(bytes, size, COMPRESSED_MAGIC))
		return gt_diag(diag, -EOPNOTSUPP, "fatbin", NULL,
			       "the offload bundle is compressed");
	if (!has_magic(bytes, size, BUNDLE_MAGIC))
		return gt_diag(diag, -ENOENT, "fatbin", NULL, "there is no offload bundle");
	if (!begin_bundle(&bundles, 0))
		return fail_malformed(&bundles, diag);
	*ret_bundles = bundles;
	return 0;
}

int gt_bundles_next(struct gt_bundles *bundles, struct gt_bundle_entry *ret_entry,
		    struct gt_diag *diag)
{
	while (!bundles->left) {
		size_t end = bundles->end > bundles->next ? bundles->end : bundles->next;
		const uint8_t *found = memmem(bundles->bytes + end, bundles->size - end,
					      BUNDLE_MAGIC, MAGIC_BYTES);

		if (!found)
			return 0;
		if (!begin_bundle(bundles, (size_t)(found - bundles->bytes)))
			return fail_malformed(bundles, diag);
	}
	bundles->left--;
	return read_row(bundles, ret_entry) ? 1 : fail_malformed(bundles, diag);
}
