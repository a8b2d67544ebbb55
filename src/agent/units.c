/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/units.h"

#include <stdlib.h>
#include <string.h>

enum {
	KNOWN_BYTES = 4, /* of a binary, by which the collector knows its kind */
};

/* Room for `size` more bytes, or NULL. */
static char *grow(struct gt_agent_units *units, size_t size)
{
	char *bytes = units->failed ? NULL : realloc(units->bytes, units->size + size);

	if (!bytes) {
		units->failed = true;
		return NULL;
	}
	units->bytes = bytes;
	bytes += units->size;
	units->size += size;
	return bytes;
}

char *gt_agent_units_reserve(struct gt_agent_units *units, enum gt_agent_chunk_kind kind,
			     size_t size)
{
	const struct gt_agent_chunk chunk = {.kind = kind, .size = size};
	char *to = grow(units, sizeof(chunk) + size);

	if (!to)
		return NULL;
	memcpy(to, &chunk, sizeof(chunk));
	return to + sizeof(chunk);
}

void gt_agent_units_add(struct gt_agent_units *units, enum gt_agent_chunk_kind kind,
			const void *bytes, size_t size)
{
	char *to = gt_agent_units_reserve(units, kind, size);

	if (to && size)
		memcpy(to, bytes, size);
}

void gt_agent_units_append(struct gt_agent_units *units, const struct gt_agent_units *others)
{
	char *to;

	units->failed |= others->failed;
	to = others->size ? grow(units, others->size) : NULL;
	if (to)
		memcpy(to, others->bytes, others->size);
}

static bool is_portable(const void *bytes, size_t size)
{
	static const unsigned char kinds[][KNOWN_BYTES] = {
		{'B', 'C', 0xc0, 0xde}, {3, 2, 0x23, 7}, {7, 0x23, 2, 3}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (size >= KNOWN_BYTES && !memcmp(bytes, kinds[i], KNOWN_BYTES))
			return true;
	return false;
}

void gt_agent_units_add_binary(struct gt_agent_units *units, const void *bytes, size_t size)
{
	if (size > KNOWN_BYTES && !is_portable(bytes, size))
		size = KNOWN_BYTES;
	gt_agent_units_add(units, GT_AGENT_CHUNK_BINARY, bytes, size);
}

bool gt_agent_units_is_binary(const struct gt_agent_units *units)
{
	struct gt_agent_chunk first;

	if (units->size < sizeof(first))
		return false;
	memcpy(&first, units->bytes, sizeof(first));
	return first.kind == GT_AGENT_CHUNK_BINARY;
}

void gt_agent_units_clear(struct gt_agent_units *units)
{
	free(units->bytes);
	*units = (struct gt_agent_units){0};
}
