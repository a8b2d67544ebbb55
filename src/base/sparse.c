/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/sparse.h"

#include <string.h>

static const uint8_t *find_byte(const uint8_t *from, const uint8_t *end)
{
	uint64_t word = 0;

	for (; (size_t)(end - from) >= sizeof(word); from += sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		if (word)
			break;
	}
	while (from < end && !*from)
		from++;
	return from < end ? from : NULL;
}

/* Learn of the first data from an offset on. */
static void find_data(struct gt_sparse *sparse, size_t from)
{
	size_t end = sparse->offset + sparse->size;
	struct gt_file_part part = {end, end};

	gt_file_find_data(sparse->fd, sparse->offset + from, end, &part);
	sparse->known = from;
	sparse->data.from = part.from - sparse->offset;
	sparse->data.end = part.end - sparse->offset;
}

const void *gt_sparse_find(struct gt_sparse *sparse, const void *from, const void *end)
{
	size_t at, last;

	if (!sparse)
		return find_byte(from, end);
	at = (uintptr_t)from - (uintptr_t)sparse->memory;
	last = (uintptr_t)end - (uintptr_t)sparse->memory;
	if (at > sparse->size || last > sparse->size)
		return find_byte(from, end);
	while (at < last) {
		const uint8_t *found;
		size_t part;

		if (at < sparse->known || at >= sparse->data.end)
			find_data(sparse, at);
		if (at < sparse->data.from)
			at = sparse->data.from;
		part = sparse->data.end < last ? sparse->data.end : last;
		found = at < part ? find_byte(sparse->memory + at, sparse->memory + part) : NULL;
		if (found || part == last)
			return found;
		at = part;
	}
	return NULL;
}

void gt_sparse_forget(struct gt_sparse *sparse)
{
	sparse->known = 0;
	sparse->data = (struct gt_file_part){0};
}
