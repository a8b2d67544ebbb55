/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/top_view.h"

#include <errno.h>
#include <string.h>

#include "cli/screen.h"

void gt_top_screen_init(struct gt_top_screen *screen)
{
	for (int table = 0; table < GT_TOP_TABLES; table++)
		screen->sort[table] = gt_top_default_sort((enum gt_top_table)table);
}

/* ---- keys --------------------------------------------------------------------------------- */

static void select_table(struct gt_top_screen *screen, int table)
{
	screen->table = (enum gt_top_table)((table + GT_TOP_TABLES) % GT_TOP_TABLES);
	screen->skip = 0;
}

static void next_table(struct gt_top_screen *screen, int step)
{
	select_table(screen, (int)screen->table + step);
}

static void next_column(struct gt_top_screen *screen, int step)
{
	unsigned count = gt_top_columns(screen->table);
	unsigned *sort = &screen->sort[screen->table];

	*sort = (*sort + count + (unsigned)step) % count;
}

/* No further than to the last page. */
static void scroll_rows(struct gt_top_screen *screen, int step)
{
	size_t last = screen->rows > screen->page ? screen->rows - screen->page : 0;
	size_t down = step > 0 ? (size_t)step : 0, up = step < 0 ? (size_t)-step : 0;

	screen->skip += down;
	screen->skip = screen->skip > last ? last : screen->skip;
	screen->skip -= up > screen->skip ? screen->skip : up;
}

static void scroll_pages(struct gt_top_screen *screen, int step)
{
	scroll_rows(screen, step * (int)(screen->page ? screen->page : 1));
}

static void scroll_to_end(struct gt_top_screen *screen, int step)
{
	scroll_rows(screen, step * 1000000);
}

static void reverse_order(struct gt_top_screen *screen, int step)
{
	screen->ascending[screen->table] = !screen->ascending[screen->table];
}

static void begin_filter(struct gt_top_screen *screen, int step)
{
	screen->edits_filter = true;
	screen->skip = 0;
}

static void clear_filter(struct gt_top_screen *screen, int step)
{
	screen->filter[0] = '\0';
	screen->skip = 0;
}

static void freeze(struct gt_top_screen *screen, int step)
{
	screen->frozen = !screen->frozen;
}

static void show_help(struct gt_top_screen *screen, int step)
{
	screen->help = !screen->help;
}

static void quit(struct gt_top_screen *screen, int step)
{
	screen->quit = true;
}

/* Rows without help belong to the row before them. */
static const struct {
	int key, step;
	void (*act)(struct gt_top_screen *screen, int step);
	const char *help;
} key_table[] = {
	{'\t', 1, next_table, "Tab, 1 to 7      next table, or a table by its number"},
	{'1', GT_TOP_PROCESSES, select_table, NULL},
	{'2', GT_TOP_FUNCTIONS, select_table, NULL},
	{'3', GT_TOP_KERNELS, select_table, NULL},
	{'4', GT_TOP_MEMORY, select_table, NULL},
	{'5', GT_TOP_COPIES, select_table, NULL},
	{'6', GT_TOP_RINGS, select_table, NULL},
	{'7', GT_TOP_SOURCES, select_table, NULL},
	{GT_KEY_RIGHT, 1, next_column, "Left, Right      sort by another column"},
	{'>', 1, next_column, NULL},
	{GT_KEY_LEFT, -1, next_column, NULL},
	{'<', -1, next_column, NULL},
	{'r', 0, reverse_order, "r                reverse the order"},
	{'/', 0, begin_filter,
	 "/                show rows that contain a text: type it, then Enter"},
	{GT_KEY_ESCAPE, 0, clear_filter, "Esc              show all rows"},
	{GT_KEY_DOWN, 1, scroll_rows,
	 "Up, Down, Page   scroll; Home and End: to the first and last row"},
	{GT_KEY_UP, -1, scroll_rows, NULL},
	{GT_KEY_PAGE_DOWN, 1, scroll_pages, NULL},
	{GT_KEY_PAGE_UP, -1, scroll_pages, NULL},
	{GT_KEY_END, 1, scroll_to_end, NULL},
	{GT_KEY_HOME, -1, scroll_to_end, NULL},
	{' ', 0, freeze, "Space            freeze the rows, or show the current ones again"},
	{'h', 0, show_help, "h, ?             show or hide this help"},
	{'?', 0, show_help, NULL},
	{'q', 0, quit, "q                quit"},
};

static void edit_filter(struct gt_top_screen *screen, int key)
{
	size_t length = strlen(screen->filter);

	if (key == GT_KEY_ENTER || key == GT_KEY_ESCAPE) {
		screen->edits_filter = false;
		if (key == GT_KEY_ESCAPE)
			screen->filter[0] = '\0';
	} else if (key == GT_KEY_ERASE) {
		screen->filter[length ? length - 1 : 0] = '\0';
	} else if (key >= ' ' && key < 0x7f && length + 1 < sizeof(screen->filter)) {
		screen->filter[length] = (char)key;
		screen->filter[length + 1] = '\0';
	}
}

void gt_top_screen_key(struct gt_top_screen *screen, int key)
{
	if (screen->edits_filter) {
		edit_filter(screen, key);
		return;
	}
	for (size_t i = 0; i < sizeof(key_table) / sizeof(key_table[0]); i++)
		if (key_table[i].key == key)
			key_table[i].act(screen, key_table[i].step);
}

/* ---- frames ------------------------------------------------------------------------------- */

static size_t count_lines(const struct gt_strbuf *text)
{
	size_t lines = 0;

	for (size_t i = 0; i < text->length; i++)
		lines += text->data[i] == '\n';
	return lines;
}

static void put_state(struct gt_strbuf *text, const struct gt_top_screen *screen)
{
	gt_strbuf_puts(text, "gputap top");
	if (screen->ended)
		gt_strbuf_puts(text, "  [ended: q quits]");
	else if (screen->frozen)
		gt_strbuf_puts(text, "  [frozen: Space continues]");
	if (screen->edits_filter)
		gt_strbuf_printf(text, "  filter: %s_", screen->filter);
	else if (screen->filter[0])
		gt_strbuf_printf(text, "  filter: %s", screen->filter);
	gt_strbuf_puts(text, screen->help ? "\n" : "  (h: help)\n");
}

static void put_table_names(struct gt_strbuf *text, const struct gt_top_screen *screen)
{
	for (int table = 0; gt_top_table_names[table]; table++)
		gt_strbuf_printf(text, table == (int)screen->table ? "%s[%d %s]" : "%s %d %s ",
				 table ? " " : "", table + 1, gt_top_table_names[table]);
	gt_strbuf_putc(text, '\n');
}

static void put_keys(struct gt_strbuf *text)
{
	for (size_t i = 0; i < sizeof(key_table) / sizeof(key_table[0]); i++)
		if (key_table[i].help)
			gt_strbuf_printf(text, "  %s\n", key_table[i].help);
}

int gt_top_screen_put(struct gt_top_screen *screen, struct gt_strbuf *text,
		      const struct gt_top *top, const struct gt_names *names, size_t lines,
		      int *ret_titles)
{
	struct gt_top_view view = {
		.table = screen->table,
		.sort = screen->sort[screen->table],
		.ascending = screen->ascending[screen->table],
		.filter = screen->filter,
	};
	size_t above;

	*ret_titles = -1;
	put_state(text, screen);
	if (screen->help) {
		put_keys(text);
		return text->failed ? -ENOMEM : 0;
	}
	gt_top_put_head(text, top, names);
	put_table_names(text, screen);
	above = count_lines(text) + 1;
	screen->page = lines > above + 1 ? lines - above : 1;
	view.skip = screen->skip;
	view.limit = screen->page;
	*ret_titles = (int)above - 1;
	return gt_top_put_table(text, top, names, &view, &screen->rows);
}
