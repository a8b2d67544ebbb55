/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "export/page_data.h"

#include <errno.h>
#include <stdbool.h>

#define GZIP_FORMAT 16 /* added to the bits of the window */
#define LEVEL 6

int gt_page_data_begin(struct gt_page_data *data, struct gt_sink *sink)
{
	data->sink = sink;
	return deflateInit2(&data->stream, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP_FORMAT, 8,
			    Z_DEFAULT_STRATEGY) == Z_OK
		       ? 0
		       : -ENOMEM;
}

/* Encode three bytes; those beyond `count` are padding. */
static void encode(struct gt_strbuf *text, const unsigned char bytes[3], unsigned count)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned value = (unsigned)bytes[0] << 16 | (unsigned)bytes[1] << 8 | bytes[2];
	char group[4] = {digits[value >> 18], digits[value >> 12 & 63], digits[value >> 6 & 63],
			 digits[value & 63]};

	for (unsigned i = count + 1; i < 4; i++)
		group[i] = '=';
	gt_strbuf_add(text, group, sizeof(group));
}

static void put_compressed(struct gt_page_data *data, const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		data->rest[data->rest_count++] = bytes[i];
		if (data->rest_count < 3)
			continue;
		encode(&data->sink->text, data->rest, 3);
		data->rest_count = 0;
	}
}

static int compress_bytes(struct gt_page_data *data, const void *bytes, size_t size, bool end)
{
	unsigned char buffer[16384];

	data->stream.next_in = (Bytef *)bytes;
	data->stream.avail_in = (uInt)size;
	do {
		data->stream.next_out = buffer;
		data->stream.avail_out = sizeof(buffer);
		deflate(&data->stream, end ? Z_FINISH : Z_NO_FLUSH);
		put_compressed(data, buffer, sizeof(buffer) - data->stream.avail_out);
	} while (!data->stream.avail_out);
	return gt_sink_wrote(data->sink);
}

int gt_page_data_put(struct gt_page_data *data, const void *bytes, size_t size)
{
	return compress_bytes(data, bytes, size, false);
}

int gt_page_data_end(struct gt_page_data *data)
{
	int error = compress_bytes(data, NULL, 0, true);

	for (unsigned i = data->rest_count; i < 3; i++)
		data->rest[i] = 0;
	if (data->rest_count)
		encode(&data->sink->text, data->rest, data->rest_count);
	data->rest_count = 0;
	return error;
}

void gt_page_data_free(struct gt_page_data *data)
{
	if (data->sink)
		deflateEnd(&data->stream);
	data->sink = NULL;
}
