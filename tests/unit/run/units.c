// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What agents send of OpenCL programs. */
#include "run/inject_units.h"

#include <errno.h>

#include "agent/protocol.h"
#include "fixture.h"

static void put_chunk(struct gt_strbuf *bytes, uint32_t kind, const void *data, size_t size)
{
	const struct gt_agent_chunk chunk = {.kind = kind, .size = size};

	gt_strbuf_add(bytes, (const char *)&chunk, sizeof(chunk));
	gt_strbuf_add(bytes, data, size);
}

static void put_text(struct gt_strbuf *bytes, uint32_t kind, const char *text)
{
	put_chunk(bytes, kind, text, strlen(text));
}

/* Two units: the first has options and a header, the second has none. */
static void put_units(struct gt_strbuf *bytes)
{
	put_text(bytes, GT_AGENT_CHUNK_OPTIONS, "-DA=1");
	put_text(bytes, GT_AGENT_CHUNK_HEADER_NAME, "a.h");
	put_text(bytes, GT_AGENT_CHUNK_HEADER, "int a;");
	put_text(bytes, GT_AGENT_CHUNK_SOURCE, "first");
	put_text(bytes, GT_AGENT_CHUNK_SOURCE, "second");
}

static int read_units(const struct gt_strbuf *bytes, struct gt_inject_units *units)
{
	return gt_inject_units_read(bytes->data, bytes->length, units);
}

TEST("options and headers belong to the code that follows, and to no other")
{
	gt_auto_strbuf bytes = GT_STRBUF_INIT;
	struct gt_inject_units units;
	const struct gt_cl_source *source;

	put_units(&bytes);
	CHECK(!read_units(&bytes, &units));
	CHECK(units.sources.count == 2 && !units.has_binary);
	source = &units.sources.items[0];
	CHECK(source->language == GT_CL_SOURCE && source->size == 5 && source->header_count == 1);
	CHECK(!memcmp(source->bytes, "first", 5) && !strcmp(source->options, "-DA=1"));
	CHECK(source->headers[0].length == 3 && !memcmp(source->headers[0].name, "a.h", 3));
	CHECK(source->headers[0].size == 6 && !memcmp(source->headers[0].text, "int a;", 6));
	source = &units.sources.items[1];
	CHECK(source->size == 6 && !source->header_count && !*source->options);
	gt_inject_units_clear(&units);
}

TEST("the name of the devices is that of all units")
{
	gt_auto_strbuf bytes = GT_STRBUF_INIT;
	struct gt_inject_units units;

	put_units(&bytes);
	CHECK(!read_units(&bytes, &units) && !units.device);
	gt_inject_units_clear(&units);
	put_text(&bytes, GT_AGENT_CHUNK_DEVICE_NAME, "a CPU\nOpenCL 3.0");
	CHECK(!read_units(&bytes, &units) && units.sources.count == 2);
	CHECK_STR(units.device, "a CPU\nOpenCL 3.0");
	gt_inject_units_clear(&units);
}

TEST("SPIR-V in both byte orders and the bitcode of SPIR are code, another binary is none")
{
	static const struct {
		char bytes[5];
		enum gt_cl_language language;
	} known[] = {{"\3\2\x23\7", GT_CL_SPIRV},
		     {"\7\x23\2\3", GT_CL_SPIRV},
		     {"BC\xc0\xde", GT_CL_SPIR}};
	struct gt_inject_units units;

	for (size_t i = 0; i < gt_countof(known); i++) {
		gt_auto_strbuf bytes = GT_STRBUF_INIT;

		put_chunk(&bytes, GT_AGENT_CHUNK_BINARY, known[i].bytes, 4);
		CHECK(!read_units(&bytes, &units) && !units.has_binary);
		CHECK(units.sources.count == 1 &&
		      units.sources.items[0].language == known[i].language);
		gt_inject_units_clear(&units);
	}
	for (size_t size = 0; size < 5; size++) {
		gt_auto_strbuf bytes = GT_STRBUF_INIT;

		put_chunk(&bytes, GT_AGENT_CHUNK_BINARY,
			  "\x7f"
			  "ELF",
			  size);
		CHECK(!read_units(&bytes, &units) && units.has_binary && !units.sources.count);
		gt_inject_units_clear(&units);
	}
}

TEST("headers of a binary are not those of the source after it")
{
	gt_auto_strbuf bytes = GT_STRBUF_INIT;
	struct gt_inject_units units;

	put_text(&bytes, GT_AGENT_CHUNK_HEADER_NAME, "x.h");
	put_text(&bytes, GT_AGENT_CHUNK_HEADER, "int x;");
	put_text(&bytes, GT_AGENT_CHUNK_BINARY,
		 "\x7f"
		 "ELF");
	put_units(&bytes);
	CHECK(!read_units(&bytes, &units) && units.has_binary && units.sources.count == 2);
	CHECK(!memcmp(units.sources.items[0].headers[0].name, "a.h", 3));
	gt_inject_units_clear(&units);
}

TEST("what is truncated, has no code, or has chunks of unknown kinds is malformed")
{
	gt_auto_strbuf bytes = GT_STRBUF_INIT, unknown = GT_STRBUF_INIT, header = GT_STRBUF_INIT;
	struct gt_inject_units units;
	size_t read = 0;

	put_units(&bytes);
	for (size_t size = 0; size < bytes.length; size++) {
		read += !gt_inject_units_read(bytes.data, size, &units);
		gt_inject_units_clear(&units);
	}
	/* Where the first unit ends. */
	CHECK_INT(read, 1);
	put_text(&unknown, 0, "");
	put_units(&unknown);
	CHECK_INT(read_units(&unknown, &units), -EINVAL);
	gt_inject_units_clear(&units);
	/* A header without a name. */
	put_text(&header, GT_AGENT_CHUNK_HEADER, "int x;");
	put_units(&header);
	CHECK_INT(read_units(&header, &units), -EINVAL);
	gt_inject_units_clear(&units);
}

TEST("more sources or headers than are compiled are too many")
{
	gt_auto_strbuf sources = GT_STRBUF_INIT, headers = GT_STRBUF_INIT;
	struct gt_inject_units units;

	for (size_t i = 0; i < GT_CL_MAX_SOURCES; i++)
		put_text(&sources, GT_AGENT_CHUNK_SOURCE, "x");
	CHECK_INT(read_units(&sources, &units), 0);
	gt_inject_units_clear(&units);
	put_text(&sources, GT_AGENT_CHUNK_SOURCE, "x");
	CHECK_INT(read_units(&sources, &units), -E2BIG);
	gt_inject_units_clear(&units);
	for (size_t i = 0; i <= GT_CL_MAX_HEADERS; i++) {
		put_text(&headers, GT_AGENT_CHUNK_HEADER_NAME, "a.h");
		put_text(&headers, GT_AGENT_CHUNK_HEADER, "");
	}
	CHECK_INT(read_units(&headers, &units), -E2BIG);
	gt_inject_units_clear(&units);
}

TEST_MAIN
