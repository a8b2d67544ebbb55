/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_units.h"

#include <errno.h>
#include <string.h>

#include "agent/protocol.h"
#include "base/clean.h"

/* A chunk, and where the next one begins. */
struct unit_chunk {
	enum gt_agent_chunk_kind kind;
	const char *bytes;
	size_t size;
};

struct unit_reader {
	const char *at, *end;
	struct gt_inject_units *units;
	/* Of the code that follows: */
	const char *options;
	size_t first_header;
	const char *name; /* of the header that follows; NULL: none */
	size_t name_length;
};

static bool read_chunk(struct unit_reader *reader, struct unit_chunk *ret_chunk)
{
	size_t left = (size_t)(reader->end - reader->at);
	struct gt_agent_chunk chunk;

	if (left < sizeof(chunk))
		return false;
	memcpy(&chunk, reader->at, sizeof(chunk));
	if (chunk.size > left - sizeof(chunk))
		return false;
	*ret_chunk = (struct unit_chunk){
		.kind = chunk.kind,
		.bytes = reader->at + sizeof(chunk),
		.size = chunk.size,
	};
	reader->at = ret_chunk->bytes + chunk.size;
	return true;
}

static int read_text(struct unit_reader *reader, const struct unit_chunk *chunk,
		     const char **ret_text)
{
	char *text = strndup(chunk->bytes, chunk->size);

	if (!text || gt_vec_push(&reader->units->texts, text)) {
		free(text);
		return -ENOMEM;
	}
	*ret_text = text;
	return 0;
}

static int read_header(struct unit_reader *reader, const struct unit_chunk *chunk)
{
	const struct gt_cl_header header = {reader->name, reader->name_length, chunk->bytes,
					    chunk->size};

	if (!reader->name)
		return -EINVAL;
	reader->name = NULL;
	if (reader->units->headers.count - reader->first_header == GT_CL_MAX_HEADERS)
		return -E2BIG;
	return gt_vec_push(&reader->units->headers, header);
}

/* False: neither SPIR-V nor the bitcode of SPIR. */
static bool find_language(const struct unit_chunk *chunk, enum gt_cl_language *ret_language)
{
	static const unsigned char spirv[] = {3, 2, 0x23, 7}, swapped[] = {7, 0x23, 2, 3},
				   spir[] = {'B', 'C', 0xc0, 0xde};
	bool is_long = chunk->size >= sizeof(spirv);

	*ret_language = GT_CL_SOURCE;
	if (chunk->kind == GT_AGENT_CHUNK_SOURCE)
		return true;
	*ret_language = GT_CL_SPIR;
	if (is_long && !memcmp(chunk->bytes, spir, sizeof(spir)))
		return true;
	*ret_language = GT_CL_SPIRV;
	return is_long && (!memcmp(chunk->bytes, spirv, sizeof(spirv)) ||
			   !memcmp(chunk->bytes, swapped, sizeof(swapped)));
}

/* Code ends a unit. */
static int read_code(struct unit_reader *reader, const struct unit_chunk *chunk)
{
	struct gt_inject_units *units = reader->units;
	struct gt_cl_source source = {
		.bytes = chunk->bytes,
		.size = chunk->size,
		.options = reader->options,
		.header_count = units->headers.count - reader->first_header,
	};
	bool is_known = find_language(chunk, &source.language);

	if (!is_known) {
		units->headers.count = reader->first_header;
		units->has_binary = true;
	}
	reader->options = "";
	reader->first_header = units->headers.count;
	if (!is_known)
		return 0;
	return units->sources.count == GT_CL_MAX_SOURCES ? -E2BIG
							 : gt_vec_push(&units->sources, source);
}

static int take_chunk(struct unit_reader *reader, const struct unit_chunk *chunk)
{
	switch (chunk->kind) {
	case GT_AGENT_CHUNK_OPTIONS:
		return read_text(reader, chunk, &reader->options);
	case GT_AGENT_CHUNK_DEVICE:
		return read_text(reader, chunk, &reader->units->device_options);
	case GT_AGENT_CHUNK_DEVICE_NAME:
		return read_text(reader, chunk, &reader->units->device);
	case GT_AGENT_CHUNK_HEADER_NAME:
		reader->name = chunk->bytes;
		reader->name_length = chunk->size;
		return 0;
	case GT_AGENT_CHUNK_HEADER:
		return read_header(reader, chunk);
	case GT_AGENT_CHUNK_SOURCE:
	case GT_AGENT_CHUNK_BINARY:
		return read_code(reader, chunk);
	}
	return -EINVAL;
}

/* The headers are where they stay: let the sources refer to theirs. */
static void place_headers(struct gt_inject_units *units)
{
	size_t at = 0;

	gt_vec_each (source, &units->sources) {
		source->headers = source->header_count ? &units->headers.items[at] : NULL;
		at += source->header_count;
	}
}

int gt_inject_units_read(const void *bytes, size_t size, struct gt_inject_units *ret_units)
{
	struct unit_reader reader = {
		.at = bytes,
		.end = (const char *)bytes + size,
		.units = ret_units,
		.options = "",
	};
	struct unit_chunk chunk;
	int error = 0;

	*ret_units = (struct gt_inject_units){0};
	while (!error && reader.at < reader.end)
		error = read_chunk(&reader, &chunk) ? take_chunk(&reader, &chunk) : -EINVAL;
	if (error)
		return error;
	place_headers(ret_units);
	return ret_units->sources.count || ret_units->has_binary ? 0 : -EINVAL;
}

void gt_inject_units_clear(struct gt_inject_units *units)
{
	gt_vec_each (text, &units->texts)
		free(*text);
	gt_vec_free(&units->texts);
	gt_vec_free(&units->headers);
	gt_vec_free(&units->sources);
}
