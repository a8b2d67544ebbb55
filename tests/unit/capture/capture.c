/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Captures: written, read, and corrupted in every way. */
#include <errno.h>

#include <zlib.h>
#include <zstd.h>

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

/* The same as version 1 had them: without blocks. */
static void record_plain(unsigned count)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_capture_head head = {
		.magic = GT_CAPTURE_MAGIC,
		.version = 1,
		.size = sizeof(head),
		.schema_size = 8,
	};

	fixture();
	gt_strbuf_add(&text, (const char *)&head, sizeof(head));
	gt_strbuf_add(&text, "1 call \n\0", 8);
	for (unsigned i = 0; i < count; i++) {
		gt_autofree struct gt_event *note = make_note(i, i % 1000);

		gt_strbuf_add(&text, (const char *)note, note->size);
	}
	write_file(FILE_NAME, text.data, text.length);
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
	CHECK_STR(diag.text,
		  "not a capture of gputap (wrong magic number); 'gputap record -o FILE' "
		  "writes one");
}

TEST("a file that is too short, or missing, is rejected")
{
	struct gt_capture_reader *reader;
	struct gt_diag diag = {0};
	int result;

	write_text(FILE_NAME, "GPUTAP\r");
	CHECK_INT(replay(&result, &diag), 0);
	CHECK_INT(result, -EBADMSG);
	CHECK_STR(diag.text,
		  "not a capture of gputap (wrong magic number); 'gputap record -o FILE' "
		  "writes one");
	write_text(FILE_NAME, "");
	diag = (struct gt_diag){0};
	CHECK_INT(replay(&result, &diag), 0);
	CHECK_INT(result, -EBADMSG);
	CHECK_STR(diag.text, "an empty file: its recording wrote nothing");
	diag = (struct gt_diag){0};
	CHECK_INT(gt_capture_open("nowhere.gtap", &reader, &diag), -ENOENT);
	CHECK_STR(diag.text, "No such file or directory: check the path");
}

TEST("a capture that is truncated within its header is reported as such, at any length")
{
	gt_auto_file file = {0};
	size_t first;

	record(1);
	file = contents();
	first = ((struct gt_capture_head *)file.data)->size +
		((struct gt_capture_head *)file.data)->schema_size;
	for (size_t size = 8; size < first; size += size < 40 ? 1 : 997) {
		struct gt_diag diag = {0};
		int result;

		write_file(FILE_NAME, file.data, size);
		CHECK_INT(replay(&result, &diag), 0);
		CHECK_INT(result, -EBADMSG);
		CHECK_STR(diag.text,
			  "truncated within its header, before the first event: record it again");
	}
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
	((struct gt_capture_head *)file.data)->version = 4;
	write_file(FILE_NAME, file.data, file.size);
	CHECK_INT(replay(&result, &diag), 0);
	CHECK_INT(result, -EPROTONOSUPPORT);
	CHECK_STR(diag.text, "version 4; this gputap reads up to 3: use a newer one");
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
		/* The last one is no larger than a schema may be, but than the file. */
		CHECK_STR(diag.text, i + 1 < gt_countof(wrong)
					     ? "malformed header"
					     : "truncated within its header, before the first "
					       "event: record it again");
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

TEST("a capture of version 1 is read")
{
	int result;

	record_plain(2000);
	CHECK_INT(replay(&result, NULL), 2000);
	CHECK_INT(result, 0);
}

TEST("a capture of version 1 that is truncated at any byte can be read up to there, and the error "
     "says where")
{
	gt_auto_file file = {0};
	size_t start;

	record_plain(3);
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

TEST("a malformed record of version 1 ends the reading, and the error says where it is")
{
	gt_auto_file file = {0};
	gt_auto_strbuf expected = GT_STRBUF_INIT;
	struct gt_diag diag = {0};
	size_t start;
	int result;

	record_plain(3);
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

/* The offset after a block. Blocks are not aligned. */
static size_t block_end(const struct gt_file *file, size_t offset)
{
	struct gt_capture_block block;

	memcpy(&block, file->data + offset, sizeof(block));
	return offset + sizeof(block) + block.stored;
}

/* A capture of two blocks: the offset of the second one. */
static size_t record_two_blocks(void)
{
	struct gt_capture_writer *writer;
	gt_auto_file file = {0};

	fixture();
	CHECK_INT(gt_capture_create(FILE_NAME, &writer, NULL), 0);
	for (unsigned i = 0; i < 5; i++) {
		gt_autofree struct gt_event *note = make_note(i, i % 1000);

		gt_capture_write(writer, note);
		/* The first flush writes at once. */
		if (i == 1)
			gt_capture_flush(writer);
	}
	gt_capture_close(writer, NULL);
	file = contents();
	return block_end(&file, events_start(&file));
}

TEST("a capture that is truncated at any byte can be read up to the last whole block")
{
	gt_auto_file file = {0};
	size_t first, second, index, trailer;

	second = record_two_blocks();
	file = contents();
	first = events_start(&file);
	index = block_end(&file, second);
	trailer = block_end(&file, index);
	for (size_t size = first; size < file.size; size++) {
		bool whole = size == first || size == second || size == index || size >= trailer;
		struct gt_diag diag = {0};
		int result;

		write_file(FILE_NAME, file.data, size);
		CHECK_INT(replay(&result, &diag), size < second ? 0 : size < index ? 2 : 5);
		CHECK_INT(result, whole ? 0 : -EBADMSG);
	}
}

TEST("any changed byte of a block is found, and the events before it are read")
{
	gt_auto_file file = {0};
	size_t second = record_two_blocks(), end;

	file = contents();
	end = block_end(&file, second);
	for (size_t at = second; at < end; at++) {
		struct gt_diag diag = {0};
		int result;

		file.data[at] ^= 1;
		write_file(FILE_NAME, file.data, file.size);
		file.data[at] ^= 1;
		CHECK_INT(replay(&result, &diag), 2);
		CHECK_INT(result, -EBADMSG);
		CHECK(strstr(diag.text, " events ") && strstr(diag.text, " read"));
	}
}

TEST("a malformed event in a sound block ends the reading of the block")
{
	struct gt_capture_writer *writer;
	struct gt_event wrong = {.kind = GT_EVENT_exit, .size = sizeof(wrong)};
	gt_autofree struct gt_event *note = make_note(0, 0);
	struct gt_diag diag = {0};
	int result;

	fixture();
	CHECK_INT(gt_capture_create(FILE_NAME, &writer, NULL), 0);
	gt_capture_write(writer, note);
	gt_capture_write(writer, &wrong);
	CHECK_INT(gt_capture_close(writer, NULL), 0);
	CHECK_INT(replay(&result, &diag), 1);
	CHECK_INT(result, -EBADMSG);
	CHECK(strstr(diag.text, "malformed event in the block at byte "));
}

/* A block that another version may have, in front of the events. */
TEST("blocks of unknown kinds are skipped")
{
	gt_auto_file file = {0};
	gt_auto_strbuf larger = GT_STRBUF_INIT;
	struct gt_capture_block unknown;
	size_t start;
	int result;

	record(3);
	file = contents();
	start = events_start(&file);
	memcpy(&unknown, file.data + start, sizeof(unknown));
	unknown.kind = 77;
	unknown.stored = 5;
	unknown.checksum = 0;
	unknown.checksum = (uint32_t)crc32(crc32(0, (const void *)&unknown, sizeof(unknown)),
					   (const void *)"12345", 5);
	gt_strbuf_add(&larger, (const char *)file.data, start);
	gt_strbuf_add(&larger, (const char *)&unknown, sizeof(unknown));
	gt_strbuf_add(&larger, "12345", 5);
	gt_strbuf_add(&larger, (const char *)file.data + start, file.size - start);
	write_file(FILE_NAME, larger.data, larger.length);
	CHECK_INT(replay(&result, NULL), 3);
	CHECK_INT(result, 0);
}

TEST("the trailer leads to an index with the times of every block")
{
	gt_auto_file file = {0};
	size_t second = record_two_blocks();
	struct gt_capture_trailer trailer;
	struct gt_capture_block block;
	struct gt_capture_index entries[2];

	file = contents();
	memcpy(&trailer, file.data + file.size - sizeof(trailer), sizeof(trailer));
	CHECK(!memcmp(trailer.magic, GT_CAPTURE_TRAILER_MAGIC, sizeof(trailer.magic)));
	memcpy(&block, file.data + trailer.index, sizeof(block));
	CHECK_INT(block.kind, GT_CAPTURE_INDEX);
	CHECK_INT(block.count, 2);
	CHECK_INT(ZSTD_decompress(entries, sizeof(entries),
				  file.data + trailer.index + sizeof(block), block.stored),
		  sizeof(entries));
	CHECK_INT(entries[0].count, 2);
	CHECK_INT(entries[1].count, 3);
	CHECK_INT(entries[1].offset, second);
	/* Notes have their number as time; the first one has none. */
	CHECK_INT(entries[0].end, 1);
	CHECK_INT(entries[1].start, 2);
	CHECK_INT(entries[1].end, 4);
}

TEST("a block begins when the earliest of its calls began")
{
	struct gt_event_exit end = {
		.head = {.kind = GT_EVENT_exit, .size = sizeof(end), .time = 500}};
	struct gt_event_off_cpu wait = {
		.head = {.kind = GT_EVENT_off_cpu, .size = sizeof(wait), .time = 600},
		.duration = 250,
	};
	struct gt_capture_writer *writer;
	struct gt_capture_block block;
	gt_auto_file file = {0};

	fixture();
	CHECK_INT(gt_capture_create(FILE_NAME, &writer, NULL), 0);
	gt_capture_write(writer, &end.head);
	gt_capture_write(writer, &wait.head);
	gt_capture_close(writer, NULL);
	file = contents();
	memcpy(&block, file.data + events_start(&file), sizeof(block));
	CHECK_INT(block.start, 350);
	CHECK_INT(block.end, 600);
}

TEST("a missing directory and a full disk are errors")
{
	struct gt_capture_writer *writer;
	gt_autofree struct gt_event *note = make_note(0, 900);
	struct gt_diag diag = {0};

	CHECK_INT(gt_capture_create("nowhere/x.gtap", &writer, &diag), -ENOENT);
	CHECK_STR(diag.text,
		  "No such file or directory: create its folder, or choose another file");
	if (access("/dev/full", W_OK))
		SKIP("there is no /dev/full");
	diag = (struct gt_diag){0};
	CHECK_INT(gt_capture_create("/dev/full", &writer, &diag), 0);
	/* The head does not fit. */
	CHECK_INT(gt_capture_write(writer, note), -ENOSPC);
	CHECK_INT(gt_capture_close(writer, &diag), -ENOSPC);
	CHECK_STR(diag.text, "cannot be written: No space left on device: free space, or choose a "
			     "file on another disk");
}

TEST("closing and freeing nothing is allowed")
{
	CHECK_INT(gt_capture_close(NULL, NULL), 0);
	gt_capture_free(NULL);
}

/* The numbers of the events that are read. */
static unsigned read_numbers(const char *path, unsigned *numbers, unsigned room, int *ret_result,
			     struct gt_capture_state *ret_state)
{
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	const struct gt_event *event;
	unsigned count = 0;

	CHECK_INT(gt_capture_open(path, &reader, NULL), 0);
	while ((*ret_result = gt_capture_next(reader, &event, NULL)) > 0)
		if (count < room)
			numbers[count++] = (unsigned)event->time;
	*ret_state = *gt_capture_state(reader);
	return count;
}

/* A capture of so many blocks of ten notes each: their numbers are their times in seconds. */
static void record_blocks(unsigned blocks)
{
	struct gt_capture_writer *writer;

	fixture();
	CHECK_INT(gt_capture_create(FILE_NAME, &writer, NULL), 0);
	for (unsigned i = 0; i < 10 * blocks; i++) {
		gt_autofree struct gt_event *note = make_note(i, 40);

		note->time = (i / 10 + 1) * 1000000000ull + i % 10;
		CHECK_INT(gt_capture_write(writer, note), 0);
	}
	CHECK_INT(gt_capture_close(writer, NULL), 0);
}

TEST("events of half a second at most are in one block, so that a killed recorder loses no more")
{
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	const struct gt_event *event;

	record_blocks(7);
	CHECK_INT(gt_capture_open(FILE_NAME, &reader, NULL), 0);
	while (gt_capture_next(reader, &event, NULL) > 0)
		continue;
	CHECK_INT(gt_capture_state(reader)->blocks, 7);
	CHECK(gt_capture_state(reader)->complete);
}

TEST("after a corrupt block the next whole block is read, and the skipped bytes are counted")
{
	gt_auto_file file = {0};
	size_t second, third;
	unsigned numbers[64];

	record_blocks(4);
	file = contents();
	second = block_end(&file, events_start(&file));
	third = block_end(&file, second);
	for (size_t at = second; at < third; at++) {
		struct gt_capture_state state;
		int result;

		file.data[at] ^= 0x40;
		write_file(FILE_NAME, file.data, file.size);
		file.data[at] ^= 0x40;
		CHECK_INT(read_numbers(FILE_NAME, numbers, 64, &result, &state), 30);
		CHECK_INT(result, -EBADMSG);
		CHECK_INT(state.corrupt, 1);
		CHECK_INT(state.corrupt_at, second);
		CHECK_INT(state.corrupt_bytes, third - second);
		CHECK(state.complete);
	}
}

TEST("random bytes in a capture are skipped, and what is read is what was written")
{
	uint64_t random = 88172645463325252ull;
	gt_auto_file file = {0};

	record_blocks(20);
	file = contents();
	for (unsigned round = 0; round < 200; round++) {
		gt_autofree uint8_t *copy = malloc(file.size);
		gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
		const struct gt_event *event;

		memcpy(copy, file.data, file.size);
		for (unsigned flip = 0; flip <= round % 8; flip++) {
			size_t start = events_start(&file);

			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			copy[start + random % (file.size - start)] ^= (uint8_t)(1 + random % 255);
		}
		write_file(FILE_NAME, copy, file.size);
		CHECK_INT(gt_capture_open(FILE_NAME, &reader, NULL), 0);
		while (gt_capture_next(reader, &event, NULL) > 0) {
			unsigned number = (unsigned)(event->time / 1000000000u - 1) * 10 +
					  (unsigned)(event->time % 1000000000u);
			gt_autofree struct gt_event *note = make_note(number, 40);

			note->time = event->time;
			CHECK(event->size == note->size && !memcmp(event, note, note->size));
		}
	}
}

TEST("of a range of time only its blocks are read, and those that name something")
{
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	struct gt_event_process process = {
		.head = {.kind = GT_EVENT_process, .size = sizeof(process), .process = 5}};
	struct gt_capture_writer *writer;
	const struct gt_event *event;
	unsigned notes = 0, processes = 0;

	fixture();
	CHECK_INT(gt_capture_create(FILE_NAME, &writer, NULL), 0);
	for (unsigned i = 1; i <= 20; i++) {
		gt_autofree struct gt_event *note = make_note(i, 10);

		note->time = i * 1000000000ull;
		process.head.time = note->time;
		gt_capture_write(writer, note);
		if (i == 3)
			gt_capture_write(writer, &process.head);
	}
	CHECK_INT(gt_capture_close(writer, NULL), 0);
	CHECK_INT(gt_capture_open(FILE_NAME, &reader, NULL), 0);
	CHECK_INT(gt_capture_start(reader), 1000000000);
	gt_capture_select(reader, 9500000000ull, 12000000000ull);
	while (gt_capture_next(reader, &event, NULL) > 0) {
		notes += event->kind == GT_EVENT_note && event->time >= 9500000000ull;
		processes += event->kind == GT_EVENT_process;
	}
	CHECK_INT(notes, 3);
	CHECK_INT(processes, 1);
	CHECK_INT(gt_capture_state(reader)->blocks, 4);
	CHECK_INT(gt_capture_state(reader)->skipped_blocks, 16);
}

TEST("a flight recorder keeps the latest events, and those that name what they refer to")
{
	gt_auto(capture_ring) struct gt_capture_ring *ring = gt_capture_ring_new(256 * 1024);
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	struct gt_event_process process = {.head = {.kind = GT_EVENT_process,
						    .size = sizeof(process),
						    .process = 5,
						    .time = 1},
					   .uid = 1234};
	struct gt_event_exit end = {
		.head = {.kind = GT_EVENT_exit, .size = sizeof(end), .process = 6, .time = 3}};
	uint64_t random = 1, first = 0, last = 0, bytes = 0;
	struct gt_capture_totals totals;
	const struct gt_event *event;
	unsigned processes = 0;

	fixture();
	CHECK_INT(gt_capture_ring_put(ring, &process.head), 0);
	process.head.process = 6;
	CHECK_INT(gt_capture_ring_put(ring, &process.head), 0);
	CHECK_INT(gt_capture_ring_put(ring, &end.head), 0);
	/* Texts that cannot be compressed. */
	for (unsigned i = 10; i < 2000; i++) {
		uint8_t text[1000];
		gt_autofree struct gt_event *note = NULL;

		for (size_t at = 0; at < sizeof(text); at++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			text[at] = (uint8_t)(1 + (random >> 33) % 255);
		}
		note = gt_event_new(GT_EVENT_note, (const char *)text, sizeof(text));
		note->time = i;
		CHECK_INT(gt_capture_ring_put(ring, note), 0);
	}
	CHECK(gt_capture_ring_state(ring).evicted > 1000);
	CHECK(gt_capture_ring_state(ring).bytes <= 256 * 1024 + 1000);
	CHECK_INT(gt_capture_ring_save(ring, FILE_NAME, NULL, &totals, NULL), 0);
	CHECK(totals.bytes < 600 * 1024);
	CHECK_INT(gt_capture_open(FILE_NAME, &reader, NULL), 0);
	while (gt_capture_next(reader, &event, NULL) > 0) {
		bytes += event->size;
		if (event->kind == GT_EVENT_process) {
			CHECK_INT(event->process, 5);
			CHECK(event->time > 1000);
			processes++;
			continue;
		}
		first = first ? first : event->time;
		if (last && event->time != last + 1)
			TAP_FAIL("an event is missing before %u", (unsigned)event->time);
		last = event->time;
	}
	CHECK(gt_capture_state(reader)->complete);
	CHECK_INT(processes, 1);
	CHECK_INT(last, 1999);
	CHECK(first > 1000 && bytes > 128 * 1024);
}

TEST_MAIN
