/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sections of uprobes that are attached for a command. */
#include "run/host_uprobes.h"

#include "tap.h"

static void check_section(const char *text, const char *file, const char *function, uint64_t offset,
			  bool is_return)
{
	struct gt_uprobe_section section = {0};

	CHECK(gt_uprobe_section_read(text, &section));
	CHECK_STR(section.file, file);
	CHECK_STR(section.function, function);
	CHECK(section.offset == offset);
	CHECK(section.is_return == is_return);
}

TEST("a uprobe's section names a file, a function and an offset")
{
	check_section("uprobe/libcudart.so:cudaLaunchKernel", "libcudart.so", "cudaLaunchKernel", 0,
		      false);
	check_section("uretprobe//usr/lib/libc.so.6:malloc", "/usr/lib/libc.so.6", "malloc", 0,
		      true);
	check_section("uprobe/./build/a:b:_Z1fv+0x10", "./build/a:b", "_Z1fv", 16, false);
	check_section("uprobe/app:f+16", "app", "f", 16, false);
}

TEST("sections of other kinds, patterns and incomplete ones are not taken")
{
	static const char *const others[] = {
		"uprobe",
		"uprobe/",
		"uprobe/app",
		"uprobe/app:",
		"uprobe/:f",
		"uprobe/app:f*",
		"uprobe/app:f+",
		"uprobe/app:f+x",
		"uprobe/app:f+1x",
		"uretprobe/app:f+1",
		"uprobe.s/app:f",
		"uprobe.multi/app:f",
		"usdt/app:a:b",
		"kprobe/f",
		"",
	};
	struct gt_uprobe_section section;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		CHECK(!gt_uprobe_section_read(others[i], &section));
		if (gt_uprobe_section_read(others[i], &section))
			printf("# %s\n", others[i]);
	}
}

TEST("names that are too long are not taken")
{
	char text[1024] = "uprobe/";
	struct gt_uprobe_section section;

	memset(text + 7, 'a', 300);
	strcpy(text + 307, ":f");
	CHECK(!gt_uprobe_section_read(text, &section));
	strcpy(text, "uprobe/app:");
	memset(text + 11, 'f', 300);
	text[311] = '\0';
	CHECK(!gt_uprobe_section_read(text, &section));
}

TEST_MAIN
