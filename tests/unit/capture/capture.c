/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Captures: written, read, and corrupted in every way. */
#include <errno.h>

#include "capture/capture.h"
#include "event/kinds.h"
#include "fixture.h"

#define FILE_NAME "events.gtap"

static struct gt_event *make_note(unsigned number, size_t length)
{
	gt_autofree char *text = calloc(1, length + 1);
	struct gt_event *note;

	memset(text, 'a' + (int)(number % 26), length);
	note = gt_event_new(GT_EVENT_note, text, length);
	note->time = number;
	return note;
}

/* Records so many notes, of lengths from 0 on. */
static void record(unsigned count)
{
	struct gt_capture_writer *writer;

	fixture();
	CHECK_INT(gt_capture_create(FILE_NAME, &writer, NULL), 0);
	for (unsigned i = 0; i < count; i++) {
		gt_autofree struct gt_event *note = make_note(i, i % 1000);

		CHECK_INT(gt_capture_write(writer, note), 0);
	}
	CHECK_INT(gt_capture_close(writer, NULL), 0);
}

/* Reads all of them; *ret_result is how it ended. */
static unsigned replay(int *ret_result, struct gt_diag *diag)
{
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	const struct gt_event *event;
	unsigned count = 0;

	*ret_result = gt_capture_open(FILE_NAME, &reader, diag);
	while (!*ret_result && (*ret_result = gt_capture_next(reader, &event, diag)) > 0) {
		gt_autofree struct gt_event *note = make_note(count, count % 1000);

		if (event->size != note->size || memcmp(event, note, note->size))
			TAP_FAIL("event %u is another one than was written", count);
		count++;
		*ret_result = 0;
	}
	return count;
}

static struct gt_file contents(void)
{
	struct gt_file file = {0};

	CHECK_INT(gt_file_read(FILE_NAME, 1 << 30, &file, NULL), 0);
	return file;
}

static size_t events_start(const struct gt_file *file)
{
	const struct gt_capture_head *head = (const void *)file->data;

	return head->size + head->schema_size;
}

TEST("what was written is read, in the same order")
{
	struct gt_diag diag = {0};
	int result;

	record(5000);
	CHECK_INT(replay(&result, &diag), 5000);
	CHECK_INT(result, 0);
	CHECK(!gt_diag_is_set(&diag));
}

TEST("a capture may have no events, and has its machine")
{
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	const struct gt_event *event;

	record(0);
	CHECK_INT(gt_capture_open(FILE_NAME, &reader, NULL), 0);
	CHECK_INT(gt_capture_head(reader)->version, GT_CAPTURE_VERSION);
	CHECK(gt_capture_head(reader)->machine != 0);
	CHECK_INT(gt_capture_next(reader, &event, NULL), 0);
}

TEST("a capture carries the schema of its events")
{
	gt_auto_strbuf schema = GT_STRBUF_INIT;
	gt_auto_file file = {0};

	record(1);
	file = contents();
	gt_event_schema(&schema);
	CHECK(!memcmp(file.data + sizeof(struct gt_capture_head), schema.data, schema.length));
}

TEST("events of the largest size are read whole")
{
	struct gt_capture_writer *writer;
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	const struct gt_event *event;
	unsigned count = 0;

	fixture();
	CHECK_INT(gt_capture_create(FILE_NAME, &writer, NULL), 0);
	for (unsigned i = 0; i < 20; i++) {
		gt_autofree struct gt_event *note = make_note(i, 100000);

		CHECK_INT(note->size, GT_EVENT_MAX_SIZE);
		gt_capture_write(writer, note);
	}
	CHECK_INT(gt_capture_close(writer, NULL), 0);
	CHECK_INT(gt_capture_open(FILE_NAME, &reader, NULL), 0);
	while (gt_capture_next(reader, &event, NULL) == 1) {
		gt_autofree struct gt_event *note = make_note(count++, 100000);

		CHECK(!memcmp(event, note, note->size));
	}
	CHECK_INT(count, 20);
}

TEST("events of a kind that is not known are passed on")
{
	struct gt_event strange = {.kind = GT_EVENT_KINDS + 7, .size = sizeof(strange)};
	struct gt_capture_writer *writer;
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	const struct gt_event *event;

	fixture();
	CHECK_INT(gt_capture_create(FILE_NAME, &writer, NULL), 0);
	gt_capture_write(writer, &strange);
	CHECK_INT(gt_capture_close(writer, NULL), 0);
	CHECK_INT(gt_capture_open(FILE_NAME, &reader, NULL), 0);
	CHECK_INT(gt_capture_next(reader, &event, NULL), 1);
	CHECK_INT(event->kind, GT_EVENT_KINDS + 7);
}

TEST("what was flushed can be read while the writer still writes")
{
	struct gt_capture_writer *writer;
	gt_autofree struct gt_event *note = make_note(0, 0);
	int result;

	fixture();
	CHECK_INT(gt_capture_create(FILE_NAME, &writer, NULL), 0);
	gt_capture_write(writer, note);
	CHECK_INT(gt_capture_flush(writer), 0);
	CHECK_INT(replay(&result, NULL), 1);
	gt_capture_close(writer, NULL);
}

TEST("a file that is not a capture is rejected")
{
	struct gt_diag diag = {0};
	int result;

	write_text(FILE_NAME,
		   "This is no capture, though it is long enough for the head of one.\n");
	CHECK_INT(replay(&result, &diag), 0);
	CHECK_INT(result, -EBADMSG);
	CHECK_STR(diag.place, FILE_NAME);
	CHECK_STR(diag.text, "not a capture of gputap (wrong magic number)");
}

TEST("a file that is too short, or missing, is rejected")
{
	struct gt_capture_reader *reader;
	struct gt_diag diag = {0};
	int result;

	write_text(FILE_NAME, "GPUTAP\r\n");
	CHECK_INT(replay(&result, &diag), 0);
	CHECK_INT(result, -EBADMSG);
	CHECK_STR(diag.text, "not a capture of gputap (wrong magic number)");
	diag = (struct gt_diag){0};
	CHECK_INT(gt_capture_open("nowhere.gtap", &reader, &diag), -ENOENT);
	CHECK_STR(diag.text, "No such file or directory");
}

TEST("a capture whose line ends were changed is rejected")
{
	gt_auto_file file = {0};
	struct gt_diag diag = {0};
	int result;

	record(1);
	file = contents();
	memmove(file.data + 6, file.data + 7, file.size - 7);
	write_file(FILE_NAME, file.data, file.size - 1);
	CHECK_INT(replay(&result, &diag), 0);
	CHECK_INT(result, -EBADMSG);
}

TEST("a capture of a newer version is rejected with that version")
{
	gt_auto_file file = {0};
	struct gt_diag diag = {0};
	int result;

	record(1);
	file = contents();
	((struct gt_capture_head *)file.data)->version = 2;
	write_file(FILE_NAME, file.data, file.size);
	CHECK_INT(replay(&result, &diag), 0);
	CHECK_INT(result, -EPROTONOSUPPORT);
	CHECK_STR(diag.text, "version 2; this gputap reads up to 1: use a newer one");
}

TEST("a header with invalid sizes is rejected")
{
	static const struct {
		uint32_t size, schema_size;
	} wrong[] = {{0, 8},           {31, 8},  {36, 8},       {1u << 20, 8},
		     {32, 0xfffffff8}, {32, 12}, {32, 1u << 19}};
	gt_auto_file file = {0};

	record(1);
	file = contents();
	for (size_t i = 0; i < gt_countof(wrong); i++) {
		struct gt_capture_head *head = (void *)file.data;
		struct gt_diag diag = {0};
		int result;

		head->size = wrong[i].size;
		head->schema_size = wrong[i].schema_size;
		write_file(FILE_NAME, file.data, file.size);
		CHECK_INT(replay(&result, &diag), 0);
		CHECK_INT(result, -EBADMSG);
		CHECK_STR(diag.text, "malformed header");
	}
}

TEST("a larger head, as a newer version may have, is skipped")
{
	gt_auto_file file = {0};
	gt_auto_strbuf larger = GT_STRBUF_INIT;
	struct gt_capture_head head;
	int result;

	record(3);
	file = contents();
	memcpy(&head, file.data, sizeof(head));
	head.size += 8;
	gt_strbuf_add(&larger, (const char *)&head, sizeof(head));
	gt_strbuf_add(&larger, "12345678", 8);
	gt_strbuf_add(&larger, (const char *)file.data + sizeof(head), file.size - sizeof(head));
	write_file(FILE_NAME, larger.data, larger.length);
	CHECK_INT(replay(&result, NULL), 3);
	CHECK_INT(result, 0);
}

TEST("a capture that is truncated at any byte can be read up to there, and the error says where")
{
	gt_auto_file file = {0};
	size_t start;

	record(3);
	file = contents();
	start = events_start(&file);
	for (size_t size = start; size < file.size; size++) {
		struct gt_diag diag = {0};
		int result;
		unsigned count;

		write_file(FILE_NAME, file.data, size);
		count = replay(&result, &diag);
		/* Notes of no byte, of one and of two: 24, 32 and 32 bytes. */
		CHECK_INT(count, size < start + 24 ? 0 : size < start + 56 ? 1 : 2);
		if (size == start || size == start + 24 || size == start + 56)
			CHECK_INT(result, 0);
		else
			CHECK_INT(result, -EBADMSG);
	}
}

TEST("a malformed record ends the reading, and the error says where it is")
{
	gt_auto_file file = {0};
	gt_auto_strbuf expected = GT_STRBUF_INIT;
	struct gt_diag diag = {0};
	size_t start;
	int result;

	record(3);
	file = contents();
	start = events_start(&file);
	((struct gt_event *)(file.data + start + 24))->size = 3;
	write_file(FILE_NAME, file.data, file.size);
	CHECK_INT(replay(&result, &diag), 1);
	CHECK_INT(result, -EBADMSG);
	gt_strbuf_printf(&expected, "malformed at byte %zu; the events before it were read",
			 start + 24);
	CHECK_STR(diag.text, gt_strbuf_string(&expected));
}

TEST("a missing directory and a full disk are errors")
{
	struct gt_capture_writer *writer;
	gt_autofree struct gt_event *note = make_note(0, 900);
	struct gt_diag diag = {0};

	CHECK_INT(gt_capture_create("nowhere/x.gtap", &writer, &diag), -ENOENT);
	CHECK_STR(diag.text, "No such file or directory");
	if (access("/dev/full", W_OK))
		SKIP("there is no /dev/full");
	diag = (struct gt_diag){0};
	CHECK_INT(gt_capture_create("/dev/full", &writer, &diag), 0);
	for (unsigned i = 0; i < 1000; i++)
		gt_capture_write(writer, note);
	CHECK_INT(gt_capture_write(writer, note), -ENOSPC);
	CHECK_INT(gt_capture_close(writer, &diag), -ENOSPC);
	CHECK_STR(diag.text, "cannot be written: No space left on device");
}

TEST("closing and freeing nothing is allowed")
{
	CHECK_INT(gt_capture_close(NULL, NULL), 0);
	gt_capture_free(NULL);
}

TEST_MAIN
