/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/opencl/units.h"

#include <stdlib.h>
#include <string.h>

enum {
	KNOWN_BYTES = 4, /* of a binary, by which the collector knows its kind */
};

/* Room for `size` more bytes, or NULL. */
static char *grow(struct gt_cl_units *units, size_t size)
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

static char *add_chunk(struct gt_cl_units *units, enum gt_agent_chunk_kind kind, size_t size)
{
	const struct gt_agent_chunk chunk = {.kind = kind, .size = size};
	char *to = grow(units, sizeof(chunk) + size);

	if (!to)
		return NULL;
	memcpy(to, &chunk, sizeof(chunk));
	return to + sizeof(chunk);
}

void gt_cl_units_add(struct gt_cl_units *units, enum gt_agent_chunk_kind kind, const void *bytes,
		     size_t size)
{
	char *to = add_chunk(units, kind, size);

	if (to && size)
		memcpy(to, bytes, size);
}

void gt_cl_units_append(struct gt_cl_units *units, const struct gt_cl_units *others)
{
	char *to;

	units->failed |= others->failed;
	to = others->size ? grow(units, others->size) : NULL;
	if (to)
		memcpy(to, others->bytes, others->size);
}

/* Code that OpenCL returns; `spare` bytes at its end are not part of it. False: there is none. */
static bool add_answer(struct gt_cl_units *units, cl_program program, cl_program_info which,
		       enum gt_agent_chunk_kind kind, size_t spare)
{
	size_t size = 0, before = units->size;
	char *to;

	if (gt_cl_target->clGetProgramInfo(program, which, 0, NULL, &size) || size <= spare)
		return false;
	to = add_chunk(units, kind, size);
	if (!to)
		return true;
	if (gt_cl_target->clGetProgramInfo(program, which, size, to, NULL)) {
		units->size = before;
		return false;
	}
	if (spare) {
		const struct gt_agent_chunk chunk = {.kind = kind, .size = size - spare};

		memcpy(to - sizeof(chunk), &chunk, sizeof(chunk));
		units->size -= spare;
	}
	return true;
}

bool gt_cl_units_add_code(struct gt_cl_units *units, cl_program program)
{
	/* A source has a NUL. One without any character is none. */
	return add_answer(units, program, CL_PROGRAM_SOURCE, GT_AGENT_CHUNK_SOURCE, 1) ||
	       add_answer(units, program, CL_PROGRAM_IL, GT_AGENT_CHUNK_BINARY, 0);
}

bool gt_cl_units_add_header(struct gt_cl_units *units, cl_program header)
{
	return add_answer(units, header, CL_PROGRAM_SOURCE, GT_AGENT_CHUNK_HEADER, 1);
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

void gt_cl_units_add_binary(struct gt_cl_units *units, const void *bytes, size_t size)
{
	if (size > KNOWN_BYTES && !is_portable(bytes, size))
		size = KNOWN_BYTES;
	gt_cl_units_add(units, GT_AGENT_CHUNK_BINARY, bytes, size);
}

bool gt_cl_units_is_binary(const struct gt_cl_units *units)
{
	struct gt_agent_chunk first;

	if (units->size < sizeof(first))
		return false;
	memcpy(&first, units->bytes, sizeof(first));
	return first.kind == GT_AGENT_CHUNK_BINARY;
}

void gt_cl_units_clear(struct gt_cl_units *units)
{
	free(units->bytes);
	*units = (struct gt_cl_units){0};
}
