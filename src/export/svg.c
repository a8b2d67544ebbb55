/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The format "svg": a flame graph. Names and shares are titles, which browsers show without a
 * script; a small script zooms to a frame (click) and searches (Ctrl-F).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "export/flame.h"

#define WIDTH 1200
#define ROW 18
#define MARGIN 40
#define MIN_WIDTH 0.2 /* narrower frames are not drawn */
#define LETTER 7.0    /* width of a letter */

/* A node with its place. */
struct svg_node {
	uint64_t total, start; /* weight of it and its children; weight left of it */
	uint64_t next;         /* where its next child starts */
	unsigned depth;
};

static const char script[] =
	"<script><![CDATA[\n"
	"const frames = [...document.querySelectorAll('g.f')];\n"
	"const all = +document.documentElement.dataset.total;\n"
	"function show(start, total) {\n"
	"  for (const g of frames) {\n"
	"    const s = +g.dataset.s, t = +g.dataset.t, r = g.querySelector('rect');\n"
	"    const x = Math.max(0, (s - start) / total), e = Math.min(1, (s + t - start) / "
	"total);\n"
	"    g.style.display = e > x ? '' : 'none';\n"
	"    r.setAttribute('x', x * 1200);\n"
	"    r.setAttribute('width', Math.max(0, e - x) * 1200);\n"
	"    const l = g.querySelector('text'), n = Math.floor((e - x) * 1200 / 7) - 1;\n"
	"    l.setAttribute('x', x * 1200 + 3);\n"
	"    l.textContent = n < 3 ? '' : g.dataset.n.length > n ? g.dataset.n.slice(0, n - 1) + "
	"'\\u2026' : g.dataset.n;\n"
	"  }\n"
	"}\n"
	"for (const g of frames) g.addEventListener('click', () => show(+g.dataset.s, "
	"+g.dataset.t));\n"
	"document.getElementById('reset').addEventListener('click', () => show(0, all));\n"
	"addEventListener('keydown', e => {\n"
	"  if (!(e.ctrlKey && e.key === 'f')) return;\n"
	"  e.preventDefault();\n"
	"  const wanted = prompt('Search for', '') || '';\n"
	"  for (const g of frames) g.classList.toggle('m', !!wanted && "
	"g.dataset.n.includes(wanted));\n"
	"});\n"
	"]]></script>\n";

/* Characters that XML does not have become U+FFFD. */
static void put_xml(struct gt_strbuf *text, const char *value)
{
	gt_auto_strbuf valid = GT_STRBUF_INIT;

	gt_put_utf8(&valid, value, strlen(value));
	for (const char *c = gt_strbuf_string(&valid); *c; c++) {
		if (*c == '&')
			gt_strbuf_puts(text, "&amp;");
		else if (*c == '<')
			gt_strbuf_puts(text, "&lt;");
		else if (*c == '>')
			gt_strbuf_puts(text, "&gt;");
		else if (*c == '"')
			gt_strbuf_puts(text, "&quot;");
		else if ((unsigned char)*c < ' ' || *c == 0x7f)
			gt_strbuf_puts(text, "\xef\xbf\xbd");
		else if (!strncmp(c, "\xef\xbf\xbe", 3) || !strncmp(c, "\xef\xbf\xbf", 3))
			gt_strbuf_puts(text, "\xef\xbf\xbd"), c += 2;
		else
			gt_strbuf_putc(text, *c);
	}
}

static void put_value(struct gt_strbuf *text, enum gt_export_weight weight, uint64_t value)
{
	if (weight == GT_WEIGHT_LAUNCHES)
		gt_strbuf_printf(text, "%" PRIu64 " launches", value);
	else if (weight == GT_WEIGHT_BYTES)
		gt_format_bytes(text, value);
	else
		gt_format_duration(text, value);
}

/* A color of the name: kernels and operations are blue, the host's functions red to yellow. */
static void put_color(struct gt_strbuf *text, const struct gt_flame_frame *frame)
{
	unsigned hash = 5381;

	for (const char *c = frame->name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	gt_strbuf_printf(text, "hsl(%u,%u%%,%u%%)", frame->is_gpu ? 200 + hash % 30 : hash % 50,
			 65 + hash / 64 % 20, 62 + hash / 4096 % 12);
}

/* As many characters as fit. */
static void put_label(struct gt_strbuf *text, const char *name, double width)
{
	size_t columns = (size_t)(width / LETTER), length = strlen(name), end = 0, shown = 0;
	gt_auto_strbuf label = GT_STRBUF_INIT;

	if (columns < 4)
		return;
	while (end < length && shown + 2 < columns) {
		size_t step = gt_utf8_length(name + end, length - end);

		end += step ? step : 1;
		shown++;
	}
	gt_strbuf_add(&label, name, end);
	if (end < length)
		gt_strbuf_puts(&label, "…");
	put_xml(text, gt_strbuf_string(&label));
}

static void put_frame(struct gt_strbuf *text, const struct gt_flame *flame,
		      const struct svg_node *node, const struct svg_node *root, unsigned max_depth,
		      const struct gt_flame_frame *frame)
{
	double x = (double)node->start / (double)root->total * WIDTH;
	double width = (double)node->total / (double)root->total * WIDTH;
	unsigned y = MARGIN + (max_depth - node->depth) * ROW;

	if (width < MIN_WIDTH)
		return;
	gt_strbuf_printf(text,
			 "<g class=\"f\" data-s=\"%" PRIu64 "\" data-t=\"%" PRIu64 "\" data-n=\"",
			 node->start, node->total);
	put_xml(text, frame->name);
	gt_strbuf_puts(text, "\"><title>");
	put_xml(text, frame->name);
	if (frame->file[0]) {
		gt_strbuf_puts(text, " (");
		put_xml(text, frame->file);
		gt_strbuf_printf(text, ":%u)", frame->line);
	}
	gt_strbuf_puts(text, ": ");
	put_value(text, flame->weight, node->total);
	gt_strbuf_printf(
		text,
		", %.2f %%</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"",
		(double)node->total * 100 / (double)root->total, x, y, width, ROW - 1);
	put_color(text, frame);
	gt_strbuf_printf(text, "\"/><text x=\"%.2f\" y=\"%u\">", x + 3, y + ROW - 5);
	put_label(text, frame->name, width);
	gt_strbuf_puts(text, "</text></g>\n");
}

/* Totals first, from the children to their parents, then the places, from the parents on. */
static struct svg_node *place_nodes(const struct gt_flame *flame, unsigned *ret_depth)
{
	const struct gt_flame_node *nodes = flame->nodes.items;
	struct svg_node *placed = calloc(flame->nodes.count, sizeof(*placed));
	unsigned depth = 0;

	if (!placed)
		return NULL;
	for (size_t i = flame->nodes.count; i-- > 1;) {
		placed[i].total += nodes[i].weights[flame->weight];
		placed[nodes[i].parent].total += placed[i].total;
	}
	for (size_t i = 1; i < flame->nodes.count; i++) {
		struct svg_node *parent = &placed[nodes[i].parent];

		placed[i].start = placed[i].next = parent->next;
		parent->next += placed[i].total;
		placed[i].depth = parent->depth + 1;
		if (placed[i].total && placed[i].depth > depth)
			depth = placed[i].depth;
	}
	*ret_depth = depth;
	return placed;
}

/* As the title of the page, and above the frames. */
static void put_incomplete(struct gt_strbuf *text, const struct gt_flame *flame)
{
	const char *incomplete = gt_strbuf_string(&flame->incomplete);

	if (!flame->incomplete.length)
		return;
	gt_strbuf_puts(text, "<title>");
	put_xml(text, incomplete);
	gt_strbuf_puts(text, "</title>\n<text x=\"10\" y=\"36\" fill=\"#b00\">");
	put_label(text, incomplete, WIDTH - 20);
	gt_strbuf_puts(text, "</text>\n");
}

static void put_head(struct gt_strbuf *text, const struct gt_flame *flame,
		     const struct svg_node *root, unsigned depth)
{
	unsigned height = MARGIN + (depth + 1) * ROW + 10;

	gt_strbuf_printf(
		text,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
		"xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d "
		"%u\" data-total=\"%" PRIu64 "\">\n<style>text { font: 12px monospace; } "
		"svg { background: #fff; } .m rect { fill: #d3d; } #reset { cursor: pointer; "
		"}</style>\n",
		WIDTH, height, WIDTH, height, root->total);
	put_incomplete(text, flame);
	gt_strbuf_puts(text, "<text id=\"reset\" x=\"10\" y=\"20\">");
	put_xml(text, flame->capture);
	gt_strbuf_printf(text, ": %s, ", gt_export_weight_names[flame->weight]);
	put_value(text, flame->weight, root->total);
	gt_strbuf_puts(text, "</text>\n");
}

static int put_svg(struct gt_flame *flame)
{
	struct gt_strbuf *text = &flame->sink.text;
	unsigned depth = 0;
	gt_autofree struct svg_node *placed = place_nodes(flame, &depth);
	int error = 0;

	if (!placed)
		return -ENOMEM;
	put_head(text, flame, &placed[0], depth);
	for (size_t i = 1; i < flame->nodes.count && !error && placed[0].total; i++) {
		put_frame(text, flame, &placed[i], &placed[0], depth,
			  &flame->frames.items[flame->nodes.items[i].frame]);
		error = gt_sink_wrote(&flame->sink);
	}
	gt_strbuf_puts(text, script);
	gt_strbuf_puts(text, "</svg>\n");
	return error;
}

static int svg_close(void *state, const struct gt_names *names, struct gt_diag *diag)
{
	return gt_flame_close(state, names, diag, put_svg);
}

const struct gt_export_format gt_export_svg = {
	.name = "svg",
	.help = "a flame graph, for browsers",
	.extension = ".svg",
	.is_weighted = true,
	.open = gt_flame_open,
	.event = gt_flame_event,
	.close = svg_close,
};
