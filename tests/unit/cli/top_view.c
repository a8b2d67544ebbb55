/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/top_view.h"

#include "analysis.h"
#include "cli/screen.h"
#include "report/top.h"

static struct gt_top *top;
static struct gt_top_screen screen;
static struct gt_strbuf frame;
static int titles;

static int take(void *analysis, const struct gt_names *names, const struct gt_event *event)
{
	return gt_top_take(analysis, names, event);
}

/* Processes 1 to 30; process n made n calls. */
static void start(void)
{
	gt_top_free(top);
	top = gt_top_new();
	STREAM_INTO(top, take);
	for (uint32_t process = 1; process <= 30; process++) {
		switch_process(process, process == 7 ? "Seven" : "other");
		for (uint32_t i = 0; i < process; i++)
			call_with("cudaDeviceSynchronize", NULL, 0, 0);
	}
	CHECK_INT(gt_top_refresh(top, stream.names, stream.now), 0);
	memset(&screen, 0, sizeof(screen));
	gt_top_screen_init(&screen);
}

static const char *show(size_t lines)
{
	gt_strbuf_clear(&frame);
	CHECK_INT(gt_top_screen_put(&screen, &frame, top, stream.names, lines, &titles), 0);
	return gt_strbuf_string(&frame);
}

static size_t count_lines(const char *shown)
{
	size_t lines = 0;

	for (; *shown; shown++)
		lines += *shown == '\n';
	return lines;
}

/* The first number of a line: the process. */
static long process_in(const char *shown, int line)
{
	while (line-- && (shown = strchr(shown, '\n')))
		shown++;
	return shown ? strtol(shown, NULL, 10) : -1;
}

static void press(const char *keys)
{
	for (; *keys; keys++)
		gt_top_screen_key(&screen, *keys);
}

TEST("a frame fills the screen, the busiest process first")
{
	start();
	show(20);
	CHECK_INT(count_lines(frame.data), 20);
	CHECK_INT(process_in(frame.data, titles + 1), 30);
	CHECK(strstr(frame.data, "CALLS/S▼"));
	CHECK(strstr(frame.data, "[1 processes]"));
}

TEST("kernels have parameters where two differ in these alone, and all are found by them")
{
	const struct gt_top_view all = {.table = GT_TOP_KERNELS};
	const struct gt_top_view filtered = {.table = GT_TOP_KERNELS, .filter = "(float*)"};
	gt_auto_strbuf table = GT_STRBUF_INIT, json = GT_STRBUF_INIT;
	struct gt_json writer = GT_JSON_INIT(&json);
	size_t rows;

	start();
	register_kernel(0xaaa, "_Z5scalePf");
	register_kernel(0xbbb, "_Z5scalePd");
	register_kernel(0xccc, "_Z3addPf");
	launch(0xaaa, 4, 256, 0, 0);
	launch(0xccc, 4, 256, 0, 0);
	CHECK_INT(gt_top_refresh(top, stream.names, stream.now), 0);
	CHECK_INT(gt_top_put_table(&table, top, stream.names, &all, &rows), 0);
	CHECK(strstr(gt_strbuf_string(&table), " scale\n"));
	launch(0xbbb, 4, 256, 0, 0);
	CHECK_INT(gt_top_refresh(top, stream.names, stream.now), 0);
	gt_strbuf_clear(&table);
	CHECK_INT(gt_top_put_table(&table, top, stream.names, &filtered, &rows), 0);
	CHECK_INT(rows, 2);
	CHECK(strstr(gt_strbuf_string(&table), " scale(float*)\n"));
	CHECK(strstr(gt_strbuf_string(&table), " add\n"));
	gt_top_json(&writer, top, stream.names, stream.now);
	CHECK(strstr(gt_strbuf_string(&json), "\"add(float*)\""));
}

TEST("keys scroll within the rows")
{
	start();
	show(20);
	gt_top_screen_key(&screen, GT_KEY_DOWN);
	show(20);
	CHECK_INT(process_in(frame.data, titles + 1), 29);
	gt_top_screen_key(&screen, GT_KEY_END);
	show(20);
	CHECK_INT(count_lines(frame.data), 20);
	CHECK_INT(process_in(frame.data, 19), 1);
	gt_top_screen_key(&screen, GT_KEY_PAGE_UP);
	gt_top_screen_key(&screen, GT_KEY_PAGE_UP);
	show(20);
	CHECK_INT(process_in(frame.data, titles + 1), 30);
	gt_top_screen_key(&screen, GT_KEY_UP);
	show(20);
	CHECK_INT(process_in(frame.data, titles + 1), 30);
}

TEST("r reverses the order, and < sorts by the column before")
{
	start();
	press("r");
	show(20);
	CHECK_INT(process_in(frame.data, titles + 1), 1);
	press("r<");
	show(20);
	CHECK(strstr(frame.data, "PID▼"));
	CHECK_INT(process_in(frame.data, titles + 1), 30);
	press("<");
	show(20);
	CHECK(strstr(frame.data, "NAME▼"));
	CHECK_INT(process_in(frame.data, titles + 1), 7);
}

TEST("a filter is typed, erased and ended, and other keys do nothing meanwhile")
{
	start();
	press("/sevenq");
	CHECK(!screen.quit);
	show(20);
	CHECK_INT(count_lines(frame.data), (size_t)titles + 1);
	gt_top_screen_key(&screen, GT_KEY_ERASE);
	gt_top_screen_key(&screen, GT_KEY_ENTER);
	show(20);
	CHECK_INT(count_lines(frame.data), (size_t)titles + 2);
	CHECK_INT(process_in(frame.data, titles + 1), 7);
	CHECK(strstr(frame.data, "filter: seven"));
	gt_top_screen_key(&screen, GT_KEY_ESCAPE);
	show(20);
	CHECK_INT(count_lines(frame.data), 20);
}

TEST("a filter has a limit")
{
	start();
	press("/");
	for (int i = 0; i < 1000; i++)
		gt_top_screen_key(&screen, 'x');
	CHECK_INT(strlen(screen.filter), GT_TOP_FILTER_SIZE - 1);
}

TEST("numbers and Tab select tables, each with its own order")
{
	start();
	press("r2");
	show(20);
	CHECK(strstr(frame.data, "cudaDeviceSynchronize"));
	CHECK(strstr(frame.data, "%TIME▼"));
	press("\t");
	show(20);
	CHECK(strstr(frame.data, "[3 kernels]"));
	press("7\t");
	show(20);
	CHECK(strstr(frame.data, "CALLS/S▲"));
}

TEST("Space freezes, h shows the keys, q quits, an unknown key does nothing")
{
	start();
	press(" ");
	CHECK(screen.frozen);
	CHECK(strstr(show(20), "frozen"));
	press(" hZ");
	CHECK(!screen.frozen);
	CHECK(strstr(show(20), "Left, Right"));
	CHECK_INT(titles, -1);
	press("hq");
	CHECK(screen.quit);
}

TEST("a frame before the first interval is over has none")
{
	start();
	CHECK(!strstr(show(20), ", interval -"));
	gt_top_free(top);
	top = gt_top_new();
	CHECK(strstr(show(20), ", interval -"));
	CHECK_INT(gt_top_refresh(top, stream.names, stream.now), 0);
	CHECK(strstr(show(20), "events 0/s, lost 0, interval -"));
}

TEST("a screen of a few lines shows the first row")
{
	start();
	show(1);
	CHECK_INT(screen.page, 1);
	show(0);
	CHECK_INT(screen.page, 1);
}

TEST_MAIN
