/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The format "folded": a line per stack, "outermost;…;innermost WEIGHT". */
#include <string.h>

#include "base/text.h"
#include "export/flame.h"

/* Separators and control characters of a name are replaced. */
static void put_frame_name(struct gt_strbuf *text, const char *name)
{
	size_t start = text->length;

	gt_put_utf8(text, name, strlen(name));
	for (size_t i = start; i < text->length; i++) {
		if (text->data[i] == ';')
			text->data[i] = ':';
		else if ((unsigned char)text->data[i] < ' ' || text->data[i] == 0x7f)
			text->data[i] = ' ';
	}
}

static int put_folded(struct gt_flame *flame)
{
	struct gt_strbuf *text = &flame->sink.text;
	uint32_t frames[GT_FLAME_MAX_DEPTH];
	int error = 0;

	for (size_t i = 1; i < flame->nodes.count && !error; i++) {
		uint64_t weight = flame->nodes.items[i].weights[flame->weight];
		unsigned depth = weight ? gt_flame_path(flame, i, frames) : 0;

		for (unsigned k = 0; k < depth; k++) {
			if (k)
				gt_strbuf_putc(text, ';');
			put_frame_name(text, flame->frames.items[frames[k]].name);
		}
		if (weight) {
			gt_strbuf_putc(text, ' ');
			gt_strbuf_u64(text, weight);
			gt_strbuf_putc(text, '\n');
			error = gt_sink_wrote(&flame->sink);
		}
	}
	if (flame->comments && flame->incomplete.length)
		gt_strbuf_printf(text, "# %s\n", gt_strbuf_string(&flame->incomplete));
	return error;
}

static int folded_close(void *state, const struct gt_names *names, struct gt_diag *diag)
{
	return gt_flame_close(state, names, diag, put_folded);
}

const struct gt_export_format gt_export_folded = {
	.name = "folded",
	.help = "folded stacks with a weight, for flame graph tools",
	.extension = ".folded",
	.is_weighted = true,
	.has_comments = true,
	.open = gt_flame_open,
	.event = gt_flame_event,
	.close = folded_close,
};
