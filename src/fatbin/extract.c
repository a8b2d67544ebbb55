/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <lz4.h>
#include <zstd.h>

#include "fatbin/layout.h"

/* LZ4's maximum ratio: a match of 255 bytes for each byte. */
enum { LZ4_MOST = 255 };

static int uncompress_lz4(const struct gt_fatbin_entry *entry, char *data, struct gt_diag *diag)
{
	int got = LZ4_decompress_safe((const char *)entry->payload, data, (int)entry->payload_size,
				      (int)entry->size);

	if (got < 0 || (uint64_t)got != entry->size)
		return gt_diag(diag, -EINVAL, "fatbin", NULL,
			       "an LZ4 payload of %zu bytes is corrupt: not %" PRIu64
			       " bytes uncompressed",
			       entry->payload_size, entry->size);
	return 0;
}

static int uncompress_zstd(const struct gt_fatbin_entry *entry, char *data, struct gt_diag *diag)
{
	size_t got = ZSTD_decompress(data, entry->size, entry->payload, entry->payload_size);

	if (ZSTD_isError(got))
		return gt_diag(diag, -EINVAL, "fatbin", NULL,
			       "a zstd payload of %zu bytes is corrupt: %s", entry->payload_size,
			       ZSTD_getErrorName(got));
	if (got != entry->size)
		return gt_diag(diag, -EINVAL, "fatbin", NULL,
			       "a zstd payload holds %zu bytes, its entry says %" PRIu64, got,
			       entry->size);
	return 0;
}

/* Checks an entry's size before memory is allocated for it. */
static int check_size(const struct gt_fatbin_entry *entry, struct gt_diag *diag)
{
	if (entry->size > GT_FATBIN_MAX_PAYLOAD || entry->payload_size > GT_FATBIN_MAX_PAYLOAD)
		return gt_diag(diag, -E2BIG, "fatbin", NULL,
			       "a payload of %" PRIu64 " bytes, at most %d MiB are read",
			       entry->size, GT_FATBIN_MAX_PAYLOAD >> 20);
	if (entry->compression == GT_FATBIN_COMPRESSION_LZ4 &&
	    entry->size / LZ4_MOST > entry->payload_size)
		return gt_diag(diag, -EINVAL, "fatbin", NULL,
			       "an LZ4 payload of %zu bytes cannot hold %" PRIu64 " bytes",
			       entry->payload_size, entry->size);
	return 0;
}

int gt_fatbin_extract(const struct gt_fatbin_entry *entry, struct gt_fatbin_payload *ret_payload,
		      struct gt_diag *diag)
{
	gt_autofree char *data = NULL;
	uint64_t size = entry->size;
	int error = check_size(entry, diag);

	if (error)
		return error;
	data = malloc(size + 1);
	if (!data)
		return gt_diag(diag, -ENOMEM, "fatbin", NULL, "out of memory");
	if (entry->compression == GT_FATBIN_COMPRESSION_LZ4)
		error = uncompress_lz4(entry, data, diag);
	else if (entry->compression == GT_FATBIN_COMPRESSION_ZSTD)
		error = uncompress_zstd(entry, data, diag);
	else
		memcpy(data, entry->payload, size);
	if (error)
		return error;
	while (entry->kind == GT_FATBIN_KIND_PTX && size && !data[size - 1])
		size--;
	data[size] = 0;
	*ret_payload = (struct gt_fatbin_payload){.data = gt_take(data), .size = size};
	return 0;
}

static size_t start_zstd(const struct gt_fatbin_entry *entry, void *start, size_t size)
{
	ZSTD_inBuffer from = {.src = entry->payload, .size = entry->payload_size};
	ZSTD_outBuffer to = {.dst = start, .size = size};
	ZSTD_DStream *stream = ZSTD_createDStream();
	size_t result = 1;

	while (stream && to.pos < size && result && !ZSTD_isError(result) && from.pos < from.size)
		result = ZSTD_decompressStream(stream, &to, &from);
	ZSTD_freeDStream(stream);
	return to.pos;
}

static size_t start_lz4(const struct gt_fatbin_entry *entry, void *start, size_t size)
{
	int got = LZ4_decompress_safe_partial((const char *)entry->payload, start,
					      (int)entry->payload_size, (int)size, (int)size);

	return got > 0 ? (size_t)got : 0;
}

size_t gt_fatbin_extract_start(const struct gt_fatbin_entry *entry, void *start, size_t size)
{
	if (check_size(entry, NULL))
		return 0;
	if (size > entry->size)
		size = entry->size;
	if (entry->compression == GT_FATBIN_COMPRESSION_ZSTD)
		return start_zstd(entry, start, size);
	if (entry->compression == GT_FATBIN_COMPRESSION_LZ4)
		return start_lz4(entry, start, size);
	memcpy(start, entry->payload, size);
	return size;
}

void gt_fatbin_payload_free(struct gt_fatbin_payload *payload)
{
	free(payload->data);
	*payload = (struct gt_fatbin_payload){0};
}
