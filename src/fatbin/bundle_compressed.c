/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Compressed offload bundles: their headers, zlib and zstd. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "fatbin/bundle.h"

#define MAGIC "CCOB"

enum {
	MAGIC_BYTES = sizeof(MAGIC) - 1,
	HASH_BYTES = 8,
	MAX_VERSION = 3,
};

/* The methods of LLVM's enum compression::Format. */
enum bundle_method {
	METHOD_ZLIB,
	METHOD_ZSTD,
};

struct compressed_bundle {
	const uint8_t *payload;
	size_t payload_size; /* or more: version 1 has no size of all */
	uint64_t size;       /* decompressed */
	uint16_t method;
};

/* Sizes in the header, after magic, version and method: their bytes; the whole bundle's is first.
 */
static const struct {
	uint8_t width;
	bool has_total;
} layouts[MAX_VERSION + 1] = {
	[1] = {4, false},
	[2] = {4, true},
	[3] = {8, true},
};

static uint64_t read_number(const uint8_t *bytes, unsigned width)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < width; i++)
		number |= (uint64_t)bytes[i] << 8 * i;
	return number;
}

static int fail_malformed(size_t offset, struct gt_diag *diag)
{
	return gt_diag(diag, -EINVAL, "fatbin", NULL,
		       "the compressed offload bundle at byte %zu is malformed", offset);
}

/* The header of the bundle at an offset, whose magic is there. */
static int read_header(const uint8_t *bytes, size_t size, size_t offset,
		       struct compressed_bundle *ret_bundle, struct gt_diag *diag)
{
	size_t at = offset + MAGIC_BYTES + 4, left = size - offset, head;
	uint16_t version;
	uint64_t total;

	if (left < MAGIC_BYTES + 4)
		return fail_malformed(offset, diag);
	version = (uint16_t)read_number(bytes + offset + MAGIC_BYTES, 2);
	if (!version || version > MAX_VERSION)
		return gt_diag(diag, -EOPNOTSUPP, "fatbin", NULL,
			       "the compressed offload bundle has the unknown version %u", version);
	head = MAGIC_BYTES + 4 + (layouts[version].has_total ? 2u : 1u) * layouts[version].width +
	       HASH_BYTES;
	if (left < head)
		return fail_malformed(offset, diag);
	total = left;
	if (layouts[version].has_total) {
		total = read_number(bytes + at, layouts[version].width);
		at += layouts[version].width;
	}
	if (total < head || total > left)
		return fail_malformed(offset, diag);
	*ret_bundle = (struct compressed_bundle){
		.payload = bytes + offset + head,
		.payload_size = total - head,
		.size = read_number(bytes + at, layouts[version].width),
		.method = (uint16_t)read_number(bytes + offset + MAGIC_BYTES + 2, 2),
	};
	return 0;
}

/* Decompress to `to`, of bundle->size bytes. Returns the bytes that were read; 0: malformed. */
static size_t inflate_payload(const struct compressed_bundle *bundle, char *to)
{
	z_stream stream = {
		.next_in = (Bytef *)bundle->payload,
		.avail_in = (uInt)(bundle->payload_size < UINT32_MAX ? bundle->payload_size
								     : UINT32_MAX),
		.next_out = (Bytef *)to,
		.avail_out = (uInt)bundle->size,
	};
	int result;

	if (inflateInit(&stream) != Z_OK)
		return 0;
	result = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	return result == Z_STREAM_END && stream.total_out == bundle->size ? stream.total_in : 0;
}

static size_t decompress_frame(const struct compressed_bundle *bundle, char *to)
{
	size_t used = ZSTD_findFrameCompressedSize(bundle->payload, bundle->payload_size);

	if (ZSTD_isError(used))
		return 0;
	return ZSTD_decompress(to, bundle->size, bundle->payload, used) == bundle->size ? used : 0;
}

static size_t (*const decompress[])(const struct compressed_bundle *bundle, char *to) = {
	[METHOD_ZLIB] = inflate_payload,
	[METHOD_ZSTD] = decompress_frame,
};

/* Add the bundle at *offset, and set *offset to its end. */
static int add_bundle(const uint8_t *bytes, size_t size, size_t max, size_t *offset,
		      struct gt_strbuf *bundles, struct gt_diag *diag)
{
	struct compressed_bundle bundle;
	int error = read_header(bytes, size, *offset, &bundle, diag);
	size_t used;

	if (error)
		return error;
	if (bundle.method >= gt_countof(decompress))
		return gt_diag(diag, -EOPNOTSUPP, "fatbin", NULL,
			       "the offload bundle is compressed by the unknown method %u",
			       bundle.method);
	if (bundle.size > max - bundles->length)
		return gt_diag(diag, -E2BIG, "fatbin", NULL,
			       "the offload bundle has %" PRIu64
			       " bytes decompressed, at most %zu MiB are read",
			       bundle.size, max >> 20);
	if (!gt_strbuf_reserve(bundles, bundle.size))
		return gt_diag(diag, -ENOMEM, "fatbin", NULL, "out of memory");
	used = decompress[bundle.method](&bundle, bundles->data + bundles->length);
	if (!used)
		return fail_malformed(*offset, diag);
	bundles->length += bundle.size;
	bundles->data[bundles->length] = '\0';
	*offset = (size_t)(bundle.payload - bytes) + used;
	return 0;
}

int gt_bundles_decompress(const void *bytes, size_t size, size_t max, struct gt_strbuf *bundles,
			  struct gt_diag *diag)
{
	const uint8_t *begin = bytes, *found = begin;
	size_t offset = 0, old = bundles->length;
	int error = 0;

	while (!error && (found = memmem(begin + offset, size - offset, MAGIC, MAGIC_BYTES))) {
		offset = (size_t)(found - begin);
		error = add_bundle(begin, size, max, &offset, bundles, diag);
	}
	if (error)
		bundles->length = old;
	return error;
}
