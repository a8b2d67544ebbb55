/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The format "speedscope" (https://www.speedscope.app/file-format-schema.json): a sampled profile
 * per weight; the one of --weight is shown first.
 */
#include <string.h>

#include "export/flame.h"

static void put_frames(struct gt_json *json, const struct gt_flame *flame)
{
	gt_json_object_begin(json, "shared");
	gt_json_array_begin(json, "frames");
	gt_vec_each (frame, &flame->frames) {
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "name", frame->name);
		if (frame->file[0])
			gt_json_string(json, "file", frame->file);
		if (frame->line)
			gt_json_u64(json, "line", frame->line);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	gt_json_object_end(json);
}

static void put_samples(struct gt_json *json, const struct gt_flame *flame,
			enum gt_export_weight weight)
{
	uint32_t frames[GT_FLAME_MAX_DEPTH];

	gt_json_array_begin(json, "samples");
	for (size_t i = 1; i < flame->nodes.count; i++) {
		unsigned depth;

		if (!flame->nodes.items[i].weights[weight])
			continue;
		depth = gt_flame_path(flame, i, frames);
		gt_json_array_begin(json, NULL);
		for (unsigned k = 0; k < depth; k++)
			gt_json_u64(json, NULL, frames[k]);
		gt_json_array_end(json);
	}
	gt_json_array_end(json);
}

static void put_profile(struct gt_json *json, const struct gt_flame *flame,
			enum gt_export_weight weight)
{
	const char *unit = weight == GT_WEIGHT_LAUNCHES ? "none" : gt_flame_unit(weight);
	uint64_t sum = 0;

	gt_json_object_begin(json, NULL);
	gt_json_string(json, "type", "sampled");
	gt_json_string(json, "name", gt_export_weight_names[weight]);
	gt_json_string(json, "unit", unit);
	put_samples(json, flame, weight);
	gt_json_array_begin(json, "weights");
	gt_vec_each (node, &flame->nodes) {
		if (node->weights[weight])
			gt_json_u64(json, NULL, node->weights[weight]);
		sum += node->weights[weight];
	}
	gt_json_array_end(json);
	gt_json_u64(json, "startValue", 0);
	gt_json_u64(json, "endValue", sum);
	gt_json_object_end(json);
}

static int put_speedscope(struct gt_flame *flame)
{
	struct gt_json json = GT_JSON_INIT(&flame->sink.text);
	gt_auto_strbuf name = GT_STRBUF_INIT;

	gt_strbuf_puts(&name, flame->capture);
	if (flame->incomplete.length)
		gt_strbuf_printf(&name, " (%s)", gt_strbuf_string(&flame->incomplete));
	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	gt_json_string(&json, "exporter", "gputap");
	gt_json_string(&json, "name", gt_strbuf_string(&name));
	gt_json_u64(&json, "activeProfileIndex", flame->weight);
	put_frames(&json, flame);
	gt_json_array_begin(&json, "profiles");
	for (unsigned i = 0; i < GT_EXPORT_WEIGHTS; i++)
		put_profile(&json, flame, i);
	gt_json_array_end(&json);
	gt_json_object_end(&json);
	gt_strbuf_putc(json.buffer, '\n');
	return 0;
}

static int speedscope_close(void *state, const struct gt_names *names, struct gt_diag *diag)
{
	return gt_flame_close(state, names, diag, put_speedscope);
}

const struct gt_export_format gt_export_speedscope = {
	.name = "speedscope",
	.help = "profiles of stacks for speedscope.app",
	.extension = ".speedscope.json",
	.is_weighted = true,
	.open = gt_flame_open,
	.event = gt_flame_event,
	.close = speedscope_close,
};
