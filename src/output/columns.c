/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "output/columns.h"

#include <errno.h>
#include <stdint.h>

#include "base/text.h"
#include "event/kinds.h"

#define PROCESS_WIDTH 16
#define ID_WIDTH 8

static const struct {
	const char *title;
	int width;
} time_columns[] = {
	[GT_TIME_WALL] = {"TIME", 16},
	[GT_TIME_RELATIVE] = {"SINCE START", 14},
	[GT_TIME_NS] = {"TIME", 20},
	[GT_TIME_NONE] = {"", 0},
};

int gt_columns_init(struct gt_columns *columns, enum gt_time_style style, const char *titles)
{
	*columns = (struct gt_columns){
		.style = style,
		.titles = titles,
		.threads = gt_hash_new(),
		.second = -1,
	};
	return columns->threads ? 0 : -ENOMEM;
}

void gt_columns_free(struct gt_columns *columns)
{
	if (columns->threads)
		gt_hash_free(columns->threads);
	columns->threads = NULL;
}

/* The fraction of a second of a time in ns. */
static void put_microseconds(struct gt_strbuf *text, uint64_t time)
{
	gt_strbuf_putc(text, '.');
	gt_strbuf_digits(text, time % 1000000000 / 1000, 6);
}

/* localtime_r is slow: once a second is enough. */
static void put_wall_time(struct gt_columns *columns, struct gt_strbuf *text, uint64_t wall)
{
	time_t second = (time_t)(wall / 1000000000);
	struct tm broken;

	if (second != columns->second) {
		localtime_r(&second, &broken);
		strftime(columns->clock_text, sizeof(columns->clock_text), "%H:%M:%S", &broken);
		columns->second = second;
	}
	gt_strbuf_puts(text, columns->clock_text);
	put_microseconds(text, wall);
}

static void put_time(struct gt_columns *columns, struct gt_strbuf *text,
		     const struct gt_names *names, uint64_t time)
{
	size_t start = text->length;
	uint64_t since = time - gt_names_start_time(names);

	switch (columns->style) {
	case GT_TIME_WALL:
		put_wall_time(columns, text, gt_names_wall_time(names, time));
		break;
	case GT_TIME_RELATIVE:
		gt_strbuf_u64(text, since / 1000000000);
		put_microseconds(text, since);
		break;
	case GT_TIME_NS:
		gt_strbuf_u64(text, time);
		break;
	case GT_TIME_NONE:
		return;
	}
	gt_strbuf_pad(text, start, (size_t)time_columns[columns->style].width);
}

void gt_columns_put_titles(struct gt_columns *columns, struct gt_strbuf *text)
{
	if (columns->titled)
		return;
	columns->titled = true;
	if (columns->style != GT_TIME_NONE)
		gt_strbuf_printf(text, "%-*s", time_columns[columns->style].width,
				 time_columns[columns->style].title);
	gt_strbuf_printf(text, "%-*s %-*s", PROCESS_WIDTH, "PROCESS", ID_WIDTH, "PID");
	if (columns->with_threads)
		gt_strbuf_printf(text, "%-*s", ID_WIDTH, "TID");
	gt_strbuf_puts(text, columns->titles);
	gt_strbuf_putc(text, '\n');
}

void gt_columns_note_thread(struct gt_columns *columns, const struct gt_event *event)
{
	void *thread = (void *)(uintptr_t)event->thread;
	void *known;

	if (columns->with_threads || !event->thread)
		return;
	known = gt_hash_get_u64(columns->threads, event->process);
	if (!known) {
		/* Without memory for it, the column is missing: nothing worse. */
		gt_hash_set_u64(columns->threads, event->process, thread);
		return;
	}
	columns->with_threads = known != thread;
	columns->titled &= !columns->with_threads;
}

/* Records of GPU programs have neither a process nor a thread. */
static void put_id(struct gt_strbuf *text, uint32_t id)
{
	size_t start = text->length;

	if (id)
		gt_put_id(text, id);
	else
		gt_strbuf_putc(text, '-');
	gt_strbuf_pad(text, start, ID_WIDTH);
}

void gt_columns_put(struct gt_columns *columns, struct gt_strbuf *text,
		    const struct gt_names *names, const struct gt_event *event, uint64_t time)
{
	size_t start;

	gt_columns_put_titles(columns, text);
	put_time(columns, text, names, time);
	start = text->length;
	gt_put_printable(text, event->process ? gt_names_process(names, event->process) : "-");
	gt_strbuf_pad(text, start, PROCESS_WIDTH + 1);
	put_id(text, event->process);
	if (columns->with_threads)
		put_id(text, event->thread);
}
