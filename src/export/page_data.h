/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Data inside of an HTML page: a stream of bytes is compressed (gzip, RFC 1952) and written as
 * Base64 (RFC 4648) while it comes.
 */
#pragma once

#include <stddef.h>
#include <zlib.h>

#include "output/sink.h"

struct gt_page_data {
	struct gt_sink *sink; /* of the page */
	z_stream stream;
	unsigned char rest[3]; /* compressed bytes that are not encoded yet */
	unsigned rest_count;
};

/* Begin the data in a page; `data` is zero. 0 or -ENOMEM. */
int gt_page_data_begin(struct gt_page_data *data, struct gt_sink *sink);
/* 0 or -Exxx: the file cannot be written. */
int gt_page_data_put(struct gt_page_data *data, const void *bytes, size_t size);
int gt_page_data_end(struct gt_page_data *data);
/* Free; also where the data were not begun or not ended. */
void gt_page_data_free(struct gt_page_data *data);
