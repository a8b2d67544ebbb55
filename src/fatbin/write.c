/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <lz4.h>
#include <lz4hc.h>
#include <zstd.h>

#include "fatbin/layout.h"

#define COMPRESSION_FLAGS (GT_FATBIN_FLAG_LZ4 | GT_FATBIN_FLAG_ZSTD)

static const char *const names[] = {
	[GT_FATBIN_COMPRESSION_NONE] = "none",
	[GT_FATBIN_COMPRESSION_LZ4] = "lz4",
	[GT_FATBIN_COMPRESSION_ZSTD] = "zstd",
};

int gt_fatbin_compression_parse(const char *text, enum gt_fatbin_compression *ret_compression)
{
	for (size_t i = 0; i < gt_countof(names); i++)
		if (!strcmp(text, names[i])) {
			*ret_compression = i;
			return 0;
		}
	return -EINVAL;
}

static void pad(struct gt_strbuf *buffer, size_t start)
{
	while ((buffer->length - start) % 8)
		gt_strbuf_putc(buffer, 0);
}

static int out_of_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "fatbin", NULL, "out of memory");
}

/* Compresses the payload; the caller frees *ret_data. */
static int compress(const char *data, size_t size, enum gt_fatbin_compression compression,
		    char **ret_data, size_t *ret_size, struct gt_diag *diag)
{
	size_t bound = compression == GT_FATBIN_COMPRESSION_LZ4
			       ? (size_t)LZ4_compressBound((int)size)
			       : ZSTD_compressBound(size);
	gt_autofree char *packed = malloc(bound);
	size_t packed_size;

	if (!packed)
		return out_of_memory(diag);
	if (compression == GT_FATBIN_COMPRESSION_LZ4)
		packed_size = (size_t)LZ4_compress_HC(data, packed, (int)size, (int)bound,
						      LZ4HC_CLEVEL_DEFAULT);
	else
		packed_size = ZSTD_compress(packed, bound, data, size, ZSTD_CLEVEL_DEFAULT);
	if (!packed_size || ZSTD_isError(packed_size))
		return out_of_memory(diag);
	*ret_data = gt_take(packed);
	*ret_size = packed_size;
	return 0;
}

/* Sets the members that the source leaves to its text. */
static int complete(struct gt_fatbin_source *source, struct gt_diag *diag)
{
	struct fatbin_ptx ptx = {0};
	bool is_ptx = source->kind == GT_FATBIN_KIND_PTX;

	if (source->size >= GT_FATBIN_MAX_PAYLOAD)
		return gt_diag(diag, -E2BIG, "fatbin", NULL,
			       "a payload of %zu bytes, less than %d MiB are written", source->size,
			       GT_FATBIN_MAX_PAYLOAD >> 20);
	if (!source->flags)
		source->flags = GT_FATBIN_FLAG_64BIT | GT_FATBIN_FLAG_LINUX;
	source->flags &= ~COMPRESSION_FLAGS;
	if (is_ptx)
		source->size = strnlen(source->data, source->size);
	if (!is_ptx || (source->version_major && source->architecture))
		return 0;
	if (!fatbin_scan_ptx(source->data, source->size, &ptx))
		return gt_diag(diag, -EINVAL, "fatbin", NULL,
			       "a PTX text does not begin with .version and .target sm_…");
	if (!source->version_major) {
		source->version_major = ptx.version_major;
		source->version_minor = ptx.version_minor;
	}
	if (!source->architecture)
		source->architecture = ptx.architecture;
	source->flags |= ptx.flags;
	return 0;
}

/* Adds name and options after the fixed header, each with a NUL and padded, as nvcc does. */
static void add_texts(const struct gt_fatbin_source *source, struct gt_strbuf *buffer, size_t start,
		      uint8_t *header)
{
	uint8_t descriptor[DESCRIPTOR] = {0};

	if (source->name) {
		fatbin_put32(header + ENTRY_NAME, (uint32_t)(buffer->length - start));
		fatbin_put32(header + ENTRY_NAME_LENGTH, source->name_length);
		gt_strbuf_add(buffer, source->name, source->name_length);
		gt_strbuf_putc(buffer, 0);
		pad(buffer, start);
	}
	if (source->kind != GT_FATBIN_KIND_PTX)
		return;
	fatbin_put32(header + ENTRY_OPTIONS, (uint32_t)(buffer->length - start));
	fatbin_put32(descriptor, (uint32_t)(buffer->length - start) + DESCRIPTOR);
	fatbin_put32(descriptor + 4, source->options ? source->options_length : 0);
	gt_strbuf_add(buffer, (const char *)descriptor, sizeof(descriptor));
	if (source->options)
		gt_strbuf_add(buffer, source->options, source->options_length);
	gt_strbuf_putc(buffer, 0);
	pad(buffer, start);
}

static void add_entry(const struct gt_fatbin_source *source, const char *payload, size_t stored,
		      size_t size, enum gt_fatbin_compression compression, struct gt_strbuf *buffer)
{
	uint8_t header[ENTRY_HEADER] = {0};
	uint64_t flags = source->flags;
	size_t start = buffer->length, body;

	if (compression == GT_FATBIN_COMPRESSION_LZ4)
		flags |= GT_FATBIN_FLAG_LZ4;
	if (compression == GT_FATBIN_COMPRESSION_ZSTD)
		flags |= GT_FATBIN_FLAG_ZSTD;
	gt_strbuf_add(buffer, (const char *)header, sizeof(header));
	add_texts(source, buffer, start, header);
	body = buffer->length;
	gt_strbuf_add(buffer, payload, stored);
	pad(buffer, start);
	fatbin_put16(header + ENTRY_KIND, source->kind);
	fatbin_put16(header + ENTRY_FORMAT, ENTRY_VERSION);
	fatbin_put32(header + ENTRY_HEADER_SIZE, (uint32_t)(body - start));
	fatbin_put64(header + ENTRY_PAYLOAD_SIZE, buffer->length - body);
	fatbin_put16(header + ENTRY_MINOR, source->version_minor);
	fatbin_put16(header + ENTRY_MAJOR, source->version_major);
	fatbin_put32(header + ENTRY_ARCHITECTURE, source->architecture);
	fatbin_put64(header + ENTRY_FLAGS, flags);
	if (compression != GT_FATBIN_COMPRESSION_NONE) {
		fatbin_put32(header + ENTRY_COMPRESSED_SIZE, (uint32_t)stored);
		fatbin_put64(header + ENTRY_SIZE, size);
	}
	if (!buffer->failed)
		memcpy(buffer->data + start, header, sizeof(header));
}

static int write_entry(const struct gt_fatbin_source *given, enum gt_fatbin_compression compression,
		       struct gt_strbuf *buffer, struct gt_diag *diag)
{
	struct gt_fatbin_source source = *given;
	gt_autofree char *plain = NULL, *packed = NULL;
	size_t size, stored = 0;
	int error = complete(&source, diag);

	if (error)
		return error;
	/* PTX is stored with its NUL. */
	size = source.size + (source.kind == GT_FATBIN_KIND_PTX);
	plain = calloc(1, size + 1);
	if (!plain)
		return out_of_memory(diag);
	memcpy(plain, source.data, source.size);
	if (compression == GT_FATBIN_COMPRESSION_NONE || !size) {
		add_entry(&source, plain, size, size, GT_FATBIN_COMPRESSION_NONE, buffer);
		return 0;
	}
	error = compress(plain, size, compression, &packed, &stored, diag);
	if (!error)
		add_entry(&source, packed, stored, size, compression, buffer);
	return error;
}

int gt_fatbin_write(const struct gt_fatbin_source *sources, size_t count,
		    enum gt_fatbin_compression compression, struct gt_strbuf *buffer,
		    struct gt_diag *diag)
{
	gt_auto_strbuf entries = GT_STRBUF_INIT;
	uint8_t header[CONTAINER_HEADER] = {0};

	for (size_t i = 0; i < count; i++) {
		int error = write_entry(&sources[i], compression, &entries, diag);

		if (error)
			return error;
	}
	if (entries.failed)
		return out_of_memory(diag);
	fatbin_put32(header, (uint32_t)CONTAINER_MAGIC);
	fatbin_put16(header + 4, CONTAINER_VERSION);
	fatbin_put16(header + 6, CONTAINER_HEADER);
	fatbin_put64(header + 8, entries.length);
	gt_strbuf_add(buffer, (const char *)header, sizeof(header));
	gt_strbuf_add(buffer, entries.data, entries.length);
	return buffer->failed ? out_of_memory(diag) : 0;
}
