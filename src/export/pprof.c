/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The format "pprof": a gzipped message Profile of
 * https://github.com/google/pprof/blob/main/proto/profile.proto, with a value per weight.
 */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/protobuf.h"
#include "export/flame.h"

/* Numbers of fields of that file. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,

	TYPE_NAME = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATIONS = 1,
	SAMPLE_VALUES = 2,
	LOCATION_ID = 1,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_NUMBER = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

/*
 * The table of strings: "", the weights with their units, the capture, what is missing in it, the
 * frames with their files.
 */
#define STRING_OF_TYPE(weight) (1 + 2 * (uint64_t)(weight))
#define STRING_OF_CAPTURE (1 + 2 * (uint64_t)GT_EXPORT_WEIGHTS)
#define STRING_OF_INCOMPLETE (STRING_OF_CAPTURE + 1)
#define STRING_OF_FRAME(frame) (STRING_OF_INCOMPLETE + 1 + 2 * (uint64_t)(frame))

static void put_strings(struct gt_strbuf *text, const struct gt_flame *flame)
{
	gt_pb_string(text, PROFILE_STRING, "");
	for (unsigned i = 0; i < GT_EXPORT_WEIGHTS; i++) {
		gt_pb_string(text, PROFILE_STRING, gt_export_weight_names[i]);
		gt_pb_string(text, PROFILE_STRING, gt_flame_unit(i));
	}
	gt_pb_string(text, PROFILE_STRING, flame->capture);
	gt_pb_string(text, PROFILE_STRING, gt_strbuf_string(&flame->incomplete));
	gt_vec_each (frame, &flame->frames) {
		gt_pb_string(text, PROFILE_STRING, frame->name);
		gt_pb_string(text, PROFILE_STRING, frame->file);
	}
}

static void put_types(struct gt_strbuf *text, const struct gt_flame *flame)
{
	for (unsigned i = 0; i < GT_EXPORT_WEIGHTS; i++) {
		size_t type = gt_pb_begin(text, PROFILE_SAMPLE_TYPE);

		gt_pb_uint(text, TYPE_NAME, STRING_OF_TYPE(i));
		gt_pb_uint(text, TYPE_UNIT, STRING_OF_TYPE(i) + 1);
		gt_pb_end(text, type);
	}
	gt_pb_uint(text, PROFILE_DEFAULT_TYPE, STRING_OF_TYPE(flame->weight));
}

/* A frame is a function and a location, whose ids are its number + 1. */
static void put_frame(struct gt_strbuf *text, const struct gt_flame *flame, uint64_t number)
{
	size_t begin = gt_pb_begin(text, PROFILE_FUNCTION), line;

	gt_pb_uint(text, FUNCTION_ID, number + 1);
	gt_pb_uint(text, FUNCTION_NAME, STRING_OF_FRAME(number));
	gt_pb_uint(text, FUNCTION_SYSTEM_NAME, STRING_OF_FRAME(number));
	gt_pb_uint(text, FUNCTION_FILE, STRING_OF_FRAME(number) + 1);
	gt_pb_end(text, begin);
	begin = gt_pb_begin(text, PROFILE_LOCATION);
	gt_pb_uint(text, LOCATION_ID, number + 1);
	line = gt_pb_begin(text, LOCATION_LINE);
	gt_pb_uint(text, LINE_FUNCTION, number + 1);
	gt_pb_uint(text, LINE_NUMBER, flame->frames.items[number].line);
	gt_pb_end(text, line);
	gt_pb_end(text, begin);
}

/* The innermost frame comes first. */
static void put_sample(struct gt_strbuf *text, const struct gt_flame *flame, size_t node)
{
	const uint64_t *weights = flame->nodes.items[node].weights;
	uint32_t frames[GT_FLAME_MAX_DEPTH];
	size_t sample, packed;
	uint64_t any = 0;

	for (unsigned i = 0; i < GT_EXPORT_WEIGHTS; i++)
		any |= weights[i];
	if (!any)
		return;
	sample = gt_pb_begin(text, PROFILE_SAMPLE);
	packed = gt_pb_begin(text, SAMPLE_LOCATIONS);
	for (unsigned i = gt_flame_path(flame, node, frames); i--;)
		gt_pb_varint(text, (uint64_t)frames[i] + 1);
	gt_pb_end(text, packed);
	packed = gt_pb_begin(text, SAMPLE_VALUES);
	for (unsigned i = 0; i < GT_EXPORT_WEIGHTS; i++)
		gt_pb_varint(text, weights[i]);
	gt_pb_end(text, packed);
	gt_pb_end(text, sample);
}

/* Add `data` in the format of gzip. 0 or -ENOMEM. */
static int put_gzip(struct gt_strbuf *text, const struct gt_strbuf *data)
{
	z_stream stream = {0};
	size_t bound;
	int result;

	if (data->failed || deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
					 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&stream, data->length);
	if (bound > UINT32_MAX || !gt_strbuf_reserve(text, bound)) {
		deflateEnd(&stream);
		return -ENOMEM;
	}
	stream.next_in = (Bytef *)data->data;
	stream.avail_in = (uInt)data->length;
	stream.next_out = (Bytef *)text->data + text->length;
	stream.avail_out = (uInt)bound;
	result = deflate(&stream, Z_FINISH);
	text->length += stream.total_out;
	deflateEnd(&stream);
	return result == Z_STREAM_END ? 0 : -ENOMEM;
}

static int put_pprof(struct gt_flame *flame)
{
	gt_auto_strbuf profile = GT_STRBUF_INIT;

	put_types(&profile, flame);
	for (size_t i = 1; i < flame->nodes.count; i++)
		put_sample(&profile, flame, i);
	for (size_t i = 0; i < flame->frames.count; i++)
		put_frame(&profile, flame, i);
	put_strings(&profile, flame);
	gt_pb_uint(&profile, PROFILE_TIME, flame->start_realtime);
	gt_pb_uint(&profile, PROFILE_DURATION,
		   flame->end > flame->start ? flame->end - flame->start : 0);
	gt_pb_uint(&profile, PROFILE_COMMENT, STRING_OF_CAPTURE);
	if (flame->incomplete.length)
		gt_pb_uint(&profile, PROFILE_COMMENT, STRING_OF_INCOMPLETE);
	return put_gzip(&flame->sink.text, &profile);
}

static int pprof_close(void *state, const struct gt_names *names, struct gt_diag *diag)
{
	return gt_flame_close(state, names, diag, put_pprof);
}

const struct gt_export_format gt_export_pprof = {
	.name = "pprof",
	.help = "a profile of stacks for go tool pprof",
	.extension = ".pb.gz",
	.is_binary = true,
	.is_weighted = true,
	.open = gt_flame_open,
	.event = gt_flame_event,
	.close = pprof_close,
};
