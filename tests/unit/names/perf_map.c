/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions of JIT compilers, in the map that perf reads. */
#include "names/perf_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

static struct gt_perf_maps *maps;

/* The map of this process; NULL removes it. */
static void append(const char *text)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	if (!text) {
		unlink(path);
		return;
	}
	file = fopen(path, "ae");
	CHECK(file && fputs(text, file) >= 0);
	if (file)
		fclose(file);
}

static void restart(void)
{
	append(NULL);
	gt_perf_maps_free(maps);
	maps = gt_perf_maps_new();
}

/* The function at an address, and its offset; "" if there is none. */
static const char *find(uint64_t address)
{
	static char text[256];
	struct gt_location location = {0};

	gt_perf_maps_find(maps, (uint32_t)getpid(), address, false, &location);
	text[0] = '\0';
	if (location.frame_count)
		snprintf(text, sizeof(text), "%s+%" PRIu64, location.frames[0].function,
			 location.offset);
	return text;
}

TEST("a function is found by every address in it, and by no other")
{
	restart();
	append("7f0000001000 20 py::train:/app/train.py\n7f0000001020 10 leaf\n");
	CHECK_STR(find(0x7f0000001000), "py::train:/app/train.py+0");
	CHECK_STR(find(0x7f000000101f), "py::train:/app/train.py+31");
	CHECK_STR(find(0x7f0000001020), "leaf+0");
	CHECK_STR(find(0x7f0000001030), "");
	CHECK_STR(find(0x7f0000000fff), "");
	append(NULL);
}

TEST("a return address belongs to the call before it")
{
	struct gt_location location = {0};

	restart();
	append("1000 10 first\n1010 10 second\n");
	gt_perf_maps_find(maps, (uint32_t)getpid(), 0x1010, true, &location);
	CHECK_INT(location.frame_count, 1);
	CHECK_STR(location.frames[0].function, "first");
	append(NULL);
}

TEST("what is appended later is found, a line that is incomplete once it is whole")
{
	restart();
	append("1000 10 first\n2000 10 seco");
	CHECK_STR(find(0x1000), "first+0");
	CHECK_STR(find(0x2000), "");
	append("nd\n");
	CHECK_STR(find(0x2000), "second+0");
	append("1000 10 replaced\n");
	CHECK_STR(find(0x3000), "");
	CHECK_STR(find(0x1000), "replaced+0");
	append(NULL);
}

TEST("lines of other forms are skipped")
{
	restart();
	append("\nfoo bar\n1000\n1000 10\n1000 0 empty\nffffffffffffffff ff wraps\n"
	       "1000 zz name\n 4000 10 right\n");
	CHECK_STR(find(0x1000), "");
	CHECK_STR(find(0x4000), "right+0");
	append(NULL);
}

TEST("a line that is too long is skipped as a whole")
{
	char line[10000];

	restart();
	snprintf(line, sizeof(line), "1000 10 %09970d\n2000 10 after\n", 0);
	append(line);
	CHECK_STR(find(0x1000), "");
	CHECK_STR(find(0x2000), "after+0");
	append(NULL);
}

TEST("without a map nothing is found")
{
	restart();
	CHECK_STR(find(0x1000), "");
	gt_perf_maps_free(maps);
}

TEST_MAIN
