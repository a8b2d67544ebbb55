/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Python frames: line tables as CPython wrote them, the merge with native frames, broken events. */
#include "names/python.h"

#include <string.h>

#include "event/kinds.h"
#include "probe/python/python.h"
#include "tap.h"

/*
 * The tables of this function, compiled by four versions, and the lines that their own
 * dis.findlinestarts() and co_lines() report:
 *
 *   1 def f(a,
 *   2       b):
 *   3     x = (a +
 *   4          b)
 *   5
 *   6     for i in range(3):
 *   7         x += i
 *   8     return (x
 *   9             )
 */
static const uint8_t table_3_9[] = {0, 2, 2, 1, 2, 255, 4, 3, 12, 1, 10, 1};
static const uint8_t table_3_10[] = {2, 2, 2, 1, 4, 255, 12, 3, 10, 1, 4, 1};
static const uint8_t table_3_11[] = {
	128, 0,   224, 9,   10, 216, 9,  10,  241, 3,   1, 10,  11,  128, 65,  245, 6,  0,   14,
	19,  144, 49,  137, 88, 140, 88, 240, 0,   1,   5, 15,  240, 0,   1,   5,   15, 136, 1,
	216, 8,   9,   136, 81, 137, 6,  136, 1,   136, 1, 216, 12,  13,  240, 0,   1,  5,   14};
static const uint8_t table_3_12[] = {
	128, 0,  224, 9,  10,  216, 9,   10, 241, 3,   1,  10,  11,  128, 65, 244, 6,   0,
	14,  19, 144, 49, 139, 88,  242, 0,  1,   5,   15, 136, 1,   216, 8,  9,   136, 81,
	137, 6,  137, 1,  240, 3,   1,   5,  15,  224, 12, 13,  240, 0,   1,  5,   14,
};

struct expected_line {
	int32_t begin, end;
	uint32_t line;
};

static void check_lines(unsigned minor, const uint8_t *table, size_t size,
			const struct expected_line *expected, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (int32_t at = expected[i].begin; at < expected[i].end; at += 2)
			CHECK_INT(gt_python_line(minor, 1, table, size, at), expected[i].line);
}

TEST("lines of 3.9 are those of its own table")
{
	static const struct expected_line expected[] = {{0, 2, 3},  {2, 4, 4},   {4, 8, 3},
							{8, 20, 6}, {20, 30, 7}, {30, 34, 8}};

	check_lines(9, table_3_9, sizeof(table_3_9), expected, gt_countof(expected));
}

TEST("lines of 3.10 are those of its own table")
{
	static const struct expected_line expected[] = {{0, 2, 3},  {2, 4, 4},   {4, 8, 3},
							{8, 20, 6}, {20, 30, 7}, {30, 34, 8}};

	check_lines(10, table_3_10, sizeof(table_3_10), expected, gt_countof(expected));
}

TEST("lines of 3.11 are those of its own table")
{
	static const struct expected_line expected[] = {
		{0, 2, 1}, {2, 4, 3}, {4, 6, 4}, {6, 12, 3}, {12, 46, 6}, {46, 58, 7}, {58, 62, 8}};

	check_lines(11, table_3_11, sizeof(table_3_11), expected, gt_countof(expected));
}

TEST("lines of 3.12 are those of its own table")
{
	static const struct expected_line expected[] = {{0, 2, 1},   {2, 4, 3},   {4, 6, 4},
							{6, 12, 3},  {12, 40, 6}, {40, 52, 7},
							{52, 54, 6}, {54, 58, 8}};

	check_lines(12, table_3_12, sizeof(table_3_12), expected, gt_countof(expected));
}

TEST("a frame that has not begun is at the first line, one after the table at none")
{
	CHECK_INT(gt_python_line(12, 41, table_3_12, sizeof(table_3_12), -2), 41);
	CHECK_INT(gt_python_line(12, 41, table_3_12, sizeof(table_3_12), 4000), 0);
	CHECK_INT(gt_python_line(10, 41, table_3_10, sizeof(table_3_10), 4000), 0);
	CHECK_INT(gt_python_line(12, 41, NULL, 0, 0), 0);
	/* Code of one line, such as a lambda, has no entry in 3.9. */
	CHECK_INT(gt_python_line(9, 41, NULL, 0, 0), 41);
	CHECK_INT(gt_python_line(9, 41, NULL, 0, 12), 41);
}

TEST("tables that end within an entry are read to their end")
{
	for (unsigned minor = 9; minor <= 13; minor++)
		for (size_t size = 0; size < sizeof(table_3_12); size++)
			gt_python_line(minor, 1, table_3_12, size, INT32_MAX);
	CHECK_INT(gt_python_line(13, 1, (const uint8_t[]){0xe8, 0xff, 0xff, 0xff}, 4, 1000), 0);
}

static struct gt_python_names *python;

static void restart(void)
{
	gt_python_names_free(python);
	python = gt_python_names_new();
}

/* Feed a code object of the function above, compiled by 3.10. */
static void feed_code(uint64_t number, const char *function)
{
	uint8_t bytes[GT_PYTHON_NAME + GT_PYTHON_FILE + sizeof(table_3_10)] = {0};
	struct gt_event_code *event;

	snprintf((char *)bytes, GT_PYTHON_NAME, "%s", function);
	snprintf((char *)bytes + GT_PYTHON_NAME, GT_PYTHON_FILE, "/app/train.py");
	memcpy(bytes + GT_PYTHON_NAME + GT_PYTHON_FILE, table_3_10, sizeof(table_3_10));
	event = (void *)gt_event_new(GT_EVENT_code, (const char *)bytes, sizeof(bytes));
	event->number = number;
	event->first_line = 1;
	event->minor = 10;
	event->name_width = event->file_width = 1;
	event->name_size = strlen(function);
	event->file_size = strlen("/app/train.py");
	event->table_size = sizeof(table_3_10);
	CHECK_INT(gt_python_names_take(python, &event->head), 0);
	free(event);
}

/* Feed the Python frames of stack 7 of process 1: pairs of code and offset. */
static void feed_frames(const uint64_t *frames, size_t count)
{
	struct gt_event_python *event = (void *)gt_event_new(GT_EVENT_python, (const char *)frames,
							     count * sizeof(*frames));

	event->head.process = 1;
	event->number = 7;
	CHECK_INT(gt_python_names_take(python, &event->head), 0);
	free(event);
}

/* The merged stack: functions of Python frames, native addresses as numbers. */
static char *merged_stack(const enum gt_python_relation *relations, size_t count)
{
	static char text[256];
	__u64 native[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	uint64_t *merged;
	size_t merged_count = 0, used = 0;

	merged = gt_python_merge(python, 1, 7, native, relations, count, &merged_count);
	text[0] = '\0';
	for (size_t i = 0; merged && i < merged_count; i++) {
		struct gt_location location;

		if (!gt_python_is_frame(merged[i])) {
			used += snprintf(text + used, sizeof(text) - used, "%d ", (int)merged[i]);
			continue;
		}
		gt_python_location(python, merged[i], &location);
		used += snprintf(text + used, sizeof(text) - used, "%s:%u ",
				 location.frames[0].function, location.frames[0].line);
	}
	free(merged);
	return text;
}

#define E GT_PYTHON_EVAL
#define I GT_PYTHON_INTERNAL
#define F GT_PYTHON_FOREIGN
#define U GT_PYTHON_UNKNOWN
#define S GT_PYTHON_START

/* inner (in a run with middle), then outer in a run of its own. */
static void feed_two_runs(void)
{
	restart();
	feed_code(10, "inner");
	feed_code(11, "middle");
	feed_code(12, "outer");
	feed_frames((const uint64_t[]){10, 0, 11, 8 | GT_PYTHON_ENTRY, 12, 20 | GT_PYTHON_ENTRY},
		    6);
}

TEST("each native frame that executes Python becomes the frames that it executes")
{
	feed_two_runs();
	CHECK_STR(merged_stack((enum gt_python_relation[]){F, I, E, I, F, I, E, I, F}, 8),
		  "1 inner:3 middle:6 5 outer:7 ");
	CHECK_STR(merged_stack((enum gt_python_relation[]){F, I, E, F, E, F}, 6),
		  "1 inner:3 middle:6 4 outer:7 6 ");
}

TEST("where unwinding ends within the interpreter, no Python frame is missing")
{
	feed_two_runs();
	CHECK_STR(merged_stack((enum gt_python_relation[]){F, I, U, U}, 4),
		  "1 inner:3 middle:6 outer:7 ");
	CHECK_STR(merged_stack((enum gt_python_relation[]){F}, 1), "1 inner:3 middle:6 outer:7 ");
	CHECK_STR(merged_stack((enum gt_python_relation[]){F, E}, 2),
		  "1 inner:3 middle:6 outer:7 ");
	CHECK_STR(merged_stack(NULL, 0), "inner:3 middle:6 outer:7 ");
}

TEST("where no frame that executes Python has a symbol, what called main() is the outermost")
{
	feed_two_runs();
	CHECK_STR(merged_stack((enum gt_python_relation[]){F, I, I, S, S, I}, 6),
		  "1 inner:3 middle:6 outer:7 4 5 ");
	CHECK_STR(merged_stack((enum gt_python_relation[]){F, I, E, F, I, S, I}, 7),
		  "1 inner:3 middle:6 4 outer:7 6 ");
	CHECK_STR(merged_stack((enum gt_python_relation[]){F, S}, 2),
		  "1 inner:3 middle:6 outer:7 2 ");
}

TEST("more native frames that execute Python than runs are omitted")
{
	feed_two_runs();
	CHECK_STR(merged_stack((enum gt_python_relation[]){E, E, E, F}, 4),
		  "inner:3 middle:6 outer:7 4 ");
}

TEST("a stack without Python frames is not merged")
{
	size_t count;

	restart();
	CHECK(!gt_python_has_frames(python, 1, 7));
	CHECK(!gt_python_merge(python, 1, 7, NULL, NULL, 0, &count));
	feed_frames(NULL, 0);
	CHECK(!gt_python_merge(python, 1, 7, NULL, NULL, 0, &count));
}

TEST("a frame whose code is unknown has no name")
{
	struct gt_location location;
	size_t count;
	uint64_t *merged;

	restart();
	feed_frames((const uint64_t[]){99, 0}, 2);
	merged = gt_python_merge(python, 1, 7, NULL, NULL, 0, &count);
	CHECK_INT(count, 1);
	for (uint64_t i = 0; i < 2; i++) {
		gt_python_location(python, merged[0] + i, &location);
		CHECK_STR(location.path, "[python]");
		CHECK(!location.frame_count);
	}
	free(merged);
}

TEST("a code event whose sizes exceed it is ignored")
{
	uint8_t bytes[GT_PYTHON_NAME + GT_PYTHON_FILE] = {0};
	struct gt_event_code *event =
		(void *)gt_event_new(GT_EVENT_code, (const char *)bytes, sizeof(bytes));
	static const struct {
		uint16_t name, file;
		uint32_t table;
		uint8_t width;
	} sizes[] = {
		{257, 0, 0, 1}, {0, 513, 0, 1}, {0, 0, 1, 1}, {0, 0, UINT32_MAX, 1}, {0, 0, 0, 5}};
	struct gt_location location;
	uint64_t *merged;
	size_t count;

	restart();
	for (size_t i = 0; i < gt_countof(sizes); i++) {
		event->number = 10;
		event->name_size = sizes[i].name;
		event->file_size = sizes[i].file;
		event->table_size = sizes[i].table;
		event->name_width = event->file_width = sizes[i].width;
		CHECK_INT(gt_python_names_take(python, &event->head), 0);
	}
	free(event);
	feed_frames((const uint64_t[]){10, 0}, 2);
	merged = gt_python_merge(python, 1, 7, NULL, NULL, 0, &count);
	gt_python_location(python, merged[0], &location);
	CHECK(!location.frame_count);
	free(merged);
}

TEST("names of 1, 2 and 4 bytes a character become UTF-8")
{
	uint8_t bytes[GT_PYTHON_NAME + GT_PYTHON_FILE] = {0};
	static const uint32_t wide[] = {'a', 0xe9, 0x65e5, 0x10400, 0xd800, 0x110000};
	struct gt_event_code *event;
	struct gt_location location;
	size_t count;
	uint64_t *merged;

	restart();
	memcpy(bytes, wide, sizeof(wide));
	bytes[GT_PYTHON_NAME] = 0xe9;
	event = (void *)gt_event_new(GT_EVENT_code, (const char *)bytes, sizeof(bytes));
	event->number = 10;
	event->minor = 12;
	event->name_size = sizeof(wide);
	event->name_width = 4;
	event->file_size = event->file_width = 1;
	CHECK_INT(gt_python_names_take(python, &event->head), 0);
	free(event);
	feed_frames((const uint64_t[]){10, 0}, 2);
	merged = gt_python_merge(python, 1, 7, NULL, NULL, 0, &count);
	gt_python_location(python, merged[0], &location);
	CHECK_STR(location.frames[0].function, "a\u00e9\u65e5\U00010400\ufffd\ufffd");
	CHECK_STR(location.frames[0].file, "\u00e9");
	free(merged);
	gt_python_names_free(gt_take(python));
}

TEST_MAIN
