/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as offload bundles, compressed or not, whose entries are inside of them. */
#include <stdlib.h>

#include "fatbin/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_inside(const void *bytes, size_t count, const uint8_t *data, size_t size)
{
	const uint8_t *at = bytes;

	return at >= data && at <= data + size && count <= (size_t)(data + size - at);
}

static void read_bundles(const uint8_t *data, size_t size)
{
	struct gt_bundle_entry entry;
	struct gt_bundles bundles;

	if (gt_bundles_open(data, size, &bundles, NULL))
		return;
	while (gt_bundles_next(&bundles, &entry, NULL) == 1)
		if (!is_inside(entry.id, entry.id_length, data, size) ||
		    !is_inside(entry.bytes, entry.size, data, size) ||
		    !is_inside(entry.processor, entry.processor_length, data, size))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto_strbuf bundles = GT_STRBUF_INIT;

	read_bundles(data, size);
	if (!gt_bundles_decompress(data, size, 1 << 20, &bundles, NULL))
		read_bundles((const uint8_t *)gt_strbuf_string(&bundles), bundles.length);
	return 0;
}
