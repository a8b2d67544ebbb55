/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/link_input.h"
#include "base/sparse.h"
#include "base/text.h"
#include "base/vec.h"
#include "tap.h"

TEST("a hash table keeps its entries in order through growth and removals")
{
	static int values[1000];
	gt_auto(hash) struct gt_hash *map = gt_hash_new();
	size_t cursor = 0, seen = 0;
	void *value;

	for (uint64_t i = 0; i < 1000; i++)
		CHECK_INT(gt_hash_set_u64(map, i * 7, &values[i]), 0);
	for (uint64_t i = 0; i < 1000; i += 2)
		CHECK(gt_hash_remove_u64(map, i * 7) == &values[i]);
	CHECK_INT(gt_hash_count(map), 500);
	CHECK(gt_hash_get_u64(map, 0) == NULL);
	CHECK(gt_hash_get_u64(map, 7) == &values[1]);
	while (gt_hash_next(map, &cursor, NULL, NULL, &value))
		CHECK(value == &values[1 + 2 * seen++]);
	CHECK_INT(seen, 500);
}

TEST("a hash table distinguishes keys that are longer than a word")
{
	int a, b;
	gt_auto(hash) struct gt_hash *map = gt_hash_new();

	gt_hash_set_str(map, "cudaMemcpyAsync", &a);
	gt_hash_set_str(map, "cudaMemcpyAsyncX", &b);
	CHECK(gt_hash_get_str(map, "cudaMemcpyAsync") == &a);
	CHECK(gt_hash_get_str(map, "cudaMemcpyAsyncX") == &b);
	CHECK(gt_hash_get_str(map, "cudaMemcpy") == NULL);
}

TEST("a hash table whose entries are replaced does not grow")
{
	int value;
	gt_auto(hash) struct gt_hash *map = gt_hash_new();

	for (uint64_t i = 0; i < 100000; i++) {
		CHECK_INT(gt_hash_set_u64(map, i, &value), 0);
		CHECK(gt_hash_remove_u64(map, i) == &value);
	}
	CHECK_INT(gt_hash_count(map), 0);
}

TEST("JSON that is not trusted is a value if it is valid, else a string")
{
	static const struct {
		const char *text;
		bool is_value;
	} cases[] = {
		{"0", true},           {"-1.5e+3", true},
		{"01", false},         {"1.", false},
		{"-", false},          {"true", true},
		{"truex", false},      {"null", true},
		{"", false},           {"\"a\\n\\u00e9\"", true},
		{"\"a", false},        {"\"\\x\"", false},
		{"\"\\u12\"", false},  {"\"\n\"", false},
		{"[]", true},          {"[1,[2]]", true},
		{"[1,]", false},       {"[1", false},
		{"{}", true},          {"{\"a\": [1], \"b\":{}}", true},
		{"{a:1}", false},      {"{\"a\"}", false},
		{"1 2", false},        {"1\n", false},
		{"{\"a\":1}}", false},
	};
	gt_auto_strbuf invalid = GT_STRBUF_INIT;
	struct gt_json string = GT_JSON_INIT(&invalid);
	char deep[200];

	for (size_t i = 0; i < gt_countof(cases); i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;
		struct gt_json json = GT_JSON_INIT(&text);

		CHECK(gt_json_is_value(cases[i].text, strlen(cases[i].text)) == cases[i].is_value);
		gt_json_value(&json, NULL, cases[i].text, strlen(cases[i].text));
		CHECK(gt_json_is_value(text.data, text.length));
	}
	memset(deep, '[', sizeof(deep));
	CHECK(!gt_json_is_value(deep, sizeof(deep)));
	gt_json_value(&string, NULL, "\"\xff\"", 3);
	CHECK_STR(gt_strbuf_string(&invalid), "\"\\\"\\ufffd\\\"\"");
}

TEST("JSON strings are escaped and made UTF-8")
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&buffer);

	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "a\"b", "x\n\x01\xffµ\\");
	gt_json_array_begin(&json, "l");
	gt_json_u64(&json, NULL, UINT64_MAX);
	gt_json_i64(&json, NULL, -5);
	gt_json_double(&json, NULL, NAN);
	gt_json_array_end(&json);
	gt_json_bool(&json, "t", true);
	gt_json_hex(&json, "h", 0xabc);
	gt_json_object_end(&json);
	CHECK_STR(gt_strbuf_string(&buffer),
		  "{\"a\\\"b\":\"x\\n\\u0001\\ufffdµ\\\\\","
		  "\"l\":[18446744073709551615,-5,null],\"t\":true,\"h\":\"0xabc\"}");
}

TEST("sizes and durations are parsed with their units, and other text is rejected")
{
	uint64_t value = 0;

	CHECK_INT(gt_parse_size("64K", &value), 0);
	CHECK_INT(value, 65536);
	CHECK_INT(gt_parse_size("16 MiB", &value), 0);
	CHECK_INT(value, 16 << 20);
	CHECK_INT(gt_parse_size("4096 bytes", &value), 0);
	CHECK_INT(value, 4096);
	CHECK_INT(gt_parse_size("16 apples", &value), -EINVAL);
	CHECK_INT(gt_parse_size("-1", &value), -EINVAL);
	CHECK_INT(gt_parse_size("99999999999999999999G", &value), -ERANGE);
	CHECK_INT(gt_parse_duration("1.5ms", &value), 0);
	CHECK_INT(value, 1500000);
	CHECK_INT(gt_parse_duration("2", &value), 0);
	CHECK_INT(value, 2000000000);
	CHECK_INT(gt_parse_duration("2 hours", &value), -EINVAL);
	CHECK_INT(gt_parse_u64("0x10", &value), 0);
	CHECK_INT(value, 16);
	CHECK_INT(gt_parse_u64("12x", &value), -EINVAL);
	CHECK_INT(gt_parse_u64("18446744073709551616", &value), -ERANGE);
}

TEST("durations and bytes are written with three digits")
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{0, "0 ns"},
		{999, "999 ns"},
		{1000, "1.00 µs"},
		{12340, "12.3 µs"},
		{999499, "999 µs"},
		{999500, "1.00 ms"},
		{1500000000, "1.50 s"},
		{99950000, "100 ms"},
	};

	for (size_t i = 0; i < gt_countof(cases); i++) {
		gt_auto_strbuf buffer = GT_STRBUF_INIT;

		gt_format_duration(&buffer, cases[i].ns);
		CHECK_STR(gt_strbuf_string(&buffer), cases[i].text);
	}
}

/* What gt_format_duration promises, by printf and doubles alone. */
static const char *duration_by_printf(uint64_t ns)
{
	static char text[64];
	double value = ns < 999500 ? ns / 1e3 : ns < 999500000 ? ns / 1e6 : ns / 1e9;
	const char *unit = ns < 999500 ? "µs" : ns < 999500000 ? "ms" : "s";

	snprintf(text, sizeof(text), "%.*f %s",
		 value < 9.995   ? 2
		 : value < 99.95 ? 1
				 : 0,
		 value, unit);
	return text;
}

TEST("durations are rounded as printf rounds them, ties and large ones included")
{
	static const uint64_t starts[] = {1000,        9980,     99940,      999000,
					  9994000,     99940000, 999490000,  9994990000,
					  99949000000, 12344000, 1ull << 53, UINT64_MAX - 4000};

	for (size_t i = 0; i < gt_countof(starts); i++) {
		for (uint64_t ns = starts[i]; ns - starts[i] < 2000; ns++) {
			gt_auto_strbuf buffer = GT_STRBUF_INIT;

			gt_format_duration(&buffer, ns);
			if (strcmp(gt_strbuf_string(&buffer), duration_by_printf(ns)))
				TAP_FAIL("%" PRIu64 " ns is %s", ns, gt_strbuf_string(&buffer));
		}
	}
}

TEST("numbers are added as printf writes them")
{
	static const uint64_t numbers[] = {0, 1, 9, 10, 255, 1ull << 63, UINT64_MAX, 4096};

	for (size_t i = 0; i < gt_countof(numbers); i++) {
		gt_auto_strbuf buffer = GT_STRBUF_INIT;
		char expected[96];

		snprintf(expected, sizeof(expected), "%" PRIu64 " %" PRId64 " 0x%" PRIx64 " %03u",
			 numbers[i], (int64_t)numbers[i], numbers[i],
			 (unsigned)(numbers[i] % 1000));
		gt_strbuf_u64(&buffer, numbers[i]);
		gt_strbuf_putc(&buffer, ' ');
		gt_strbuf_i64(&buffer, (int64_t)numbers[i]);
		gt_strbuf_putc(&buffer, ' ');
		gt_strbuf_hex(&buffer, numbers[i]);
		gt_strbuf_putc(&buffer, ' ');
		gt_strbuf_digits(&buffer, numbers[i], 3);
		CHECK_STR(gt_strbuf_string(&buffer), expected);
	}
}

TEST("a similar name is found for a typing error, and none for an unrelated word")
{
	static const char *const names[] = {"trace", "doctor", "list", "help"};

	CHECK_STR(gt_nearest("tarce", names, 4), "trace");
	CHECK_STR(gt_nearest("doctr", names, 4), "doctor");
	CHECK(gt_nearest("frobnicate", names, 4) == NULL);
}

TEST("a string buffer that is stolen leaves an empty one")
{
	struct gt_strbuf buffer = GT_STRBUF_INIT;
	char *text;

	for (int i = 0; i < 100; i++)
		gt_strbuf_printf(&buffer, "%d,", i);
	text = gt_strbuf_steal(&buffer);
	CHECK_INT(strlen(text), 290);
	CHECK_STR(gt_strbuf_string(&buffer), "");
	free(text);
}

TEST("of a list of globs the last one that matches decides, and '!' excludes")
{
	const char *const only[] = {"cudaMem*", "!cudaMemset*", "cudaMemsetAsync"};
	const char *const without[] = {"!cudaGet*"};

	CHECK(gt_globs_select(only, 3, "cudaMemcpy", false));
	CHECK(!gt_globs_select(only, 3, "cudaMemset", true));
	CHECK(gt_globs_select(only, 3, "cudaMemsetAsync", false));
	CHECK(!gt_globs_select(only, 3, "cudaFree", true));
	CHECK(gt_globs_select(without, 1, "cudaFree", true));
	CHECK(!gt_globs_select(without, 1, "cudaFree", false));
	CHECK(!gt_globs_select(without, 1, "cudaGetDevice", true));
	CHECK(gt_globs_select(NULL, 0, "cudaFree", true));
}

TEST("the message of a file's error says what to do, for reading and writing")
{
	struct gt_diag read = {0}, written = {0}, other = {0};

	CHECK_INT(gt_diag_file(&read, -EACCES, "read", "a", GT_FILE_READ, NULL), -EACCES);
	CHECK_STR(read.text, "Permission denied: use sudo, or have its owner permit reading");
	CHECK_INT(
		gt_diag_file(&written, -EACCES, "write", "a", GT_FILE_WRITTEN, "cannot be opened"),
		-EACCES);
	CHECK_STR(written.text,
		  "cannot be opened: Permission denied: use sudo, or choose a file in "
		  "another folder");
	CHECK_INT(gt_diag_file(&other, -EIO, "write", "a", GT_FILE_WRITTEN, NULL), -EIO);
	CHECK_STR(other.text, "Input/output error");
}

TEST_MAIN

/* A memfd of four pages, of which the third one is written. */
static int sparse_file(size_t page)
{
	int fd = memfd_create("sparse", MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)(4 * page)));
	CHECK(pwrite(fd, "x", 1, (off_t)(2 * page)) == 1);
	return fd;
}

TEST("the parts of a file that have data are found, and holes are not")
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	gt_autoclose int fd = sparse_file(page);
	struct gt_file_part part = {0};

	CHECK(gt_file_find_data(fd, 0, 4 * page, &part));
	CHECK(part.from == 2 * page && part.end == 3 * page);
	CHECK(!gt_file_find_data(fd, part.end, 4 * page, &part));
	CHECK(part.from == 2 * page);
	CHECK(!gt_file_find_data(fd, 0, 2 * page, &part));
	CHECK(gt_file_find_data(fd, 2 * page + 8, 2 * page + 24, &part));
	CHECK(part.from == 2 * page + 8 && part.end == 2 * page + 24);
	CHECK(!gt_file_find_data(fd, page, page, &part));
}

TEST("where holes are not known, everything counts as data")
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	gt_autoclose int fd = sparse_file(page);
	struct gt_file_part part;
	int pipes[2];

	CHECK(gt_file_find_data(fd, page, 5 * page, &part));
	CHECK(part.from == page && part.end == 5 * page);
	CHECK(!pipe(pipes));
	CHECK(gt_file_find_data(pipes[0], 3, 9, &part));
	CHECK(part.from == 3 && part.end == 9);
	close(pipes[0]);
	close(pipes[1]);
	CHECK(gt_file_find_data(-1, 0, 1, &part));
}

static size_t blocks_of(int fd)
{
	struct stat status;

	CHECK(!fstat(fd, &status));
	return (size_t)status.st_blocks;
}

TEST("bytes of sparse memory are found without a page for what is in holes")
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), blocks;
	gt_autoclose int fd = sparse_file(page);
	uint8_t *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)page);
	struct gt_sparse sparse = {.memory = memory, .size = 3 * page, .fd = fd, .offset = page};

	CHECK(memory != MAP_FAILED);
	blocks = blocks_of(fd);
	CHECK(gt_sparse_find(&sparse, memory, memory + 3 * page) == memory + page);
	CHECK(!gt_sparse_find(&sparse, memory + page + 1, memory + 3 * page));
	CHECK(!gt_sparse_find(&sparse, memory, memory + page));
	CHECK(gt_sparse_find(&sparse, memory + 3, memory + page + 1) == memory + page);
	CHECK(!gt_sparse_find(&sparse, memory + page, memory + page));
	CHECK(blocks_of(fd) == blocks);
	CHECK(!gt_sparse_find(&sparse, memory + 2 * page, memory + 3 * page));
	memory[2 * page + 13] = 1;
	CHECK(!gt_sparse_find(&sparse, memory + 2 * page, memory + 3 * page));
	gt_sparse_forget(&sparse);
	CHECK(gt_sparse_find(&sparse, memory + page + 1, memory + 3 * page) ==
	      memory + 2 * page + 13);
	munmap(memory, 3 * page);
}

TEST("bytes outside of sparse memory, and without it, are read")
{
	uint8_t bytes[21] = {0};
	struct gt_sparse elsewhere = {.memory = bytes + 16, .size = 2, .fd = -1};

	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = 1;
		for (size_t from = 0; from <= sizeof(bytes); from++) {
			const uint8_t *found = from > i ? NULL : bytes + i;

			CHECK(gt_sparse_find(NULL, bytes + from, bytes + sizeof(bytes)) == found);
			CHECK(gt_sparse_find(&elsewhere, bytes + from, bytes + sizeof(bytes)) ==
			      found);
		}
		bytes[i] = 0;
	}
}

TEST("inputs of a link are read one by one, malformed ones never")
{
	static const struct gt_link_header bad[] = {
		{.kind = 0, .size = 4},
		{.kind = GT_LINK_ARCHIVE + 1, .size = 4},
		{.kind = GT_LINK_PTX, .size = 3},
		{.kind = GT_LINK_CUBIN, .size = 0},
		{.kind = GT_LINK_CUBIN, .size = 17},
		{.kind = GT_LINK_CUBIN, .size = UINT64_MAX},
	};
	struct {
		struct gt_link_header header;
		char data[16];
	} bytes = {{.kind = GT_LINK_PTX, .size = 4}, "ptx"};
	const char *begin = (const char *)&bytes, *end = begin + sizeof(bytes), *at = begin;
	struct gt_link_input input;

	CHECK(gt_link_next(&at, end, &input));
	CHECK_STR(input.data, "ptx");
	CHECK(at == end && !gt_link_next(&at, end, &input));
	for (size_t i = 0; i < gt_countof(bad); i++) {
		bytes.header = bad[i];
		at = begin;
		CHECK(!gt_link_next(&at, end, &input) && at == begin);
	}
	bytes.header = (struct gt_link_header){.kind = GT_LINK_CUBIN, .size = 4};
	for (at = begin; end > begin; end--)
		CHECK(!gt_link_next(&at, end - 1, &input) && at == begin);
}
