/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Images that were patched before: in this run, or in an earlier one. */
#include <dirent.h>

#include "collector.h"

TEST("an image that is loaded again has the same text and the same numbers")
{
	auto_collector collector = {0};
	gt_autofree char *many = make_many_kernels();
	gt_auto_file first = {0}, other = {0}, again = {0}, newer = {0};
	uint32_t kept;

	if (!collector_open(&collector))
		return;
	first = patch_text_once(&collector, KERNEL, 90);
	CHECK(!collector.last.cached);
	other = patch_text_once(&collector, many, 90);
	CHECK_INT(gt_inject_site_count(collector.inject, &kept), 4);
	again = patch_text_once(&collector, KERNEL, 90);
	CHECK(are_equal(&first, &again) && collector.last.cached);
	CHECK(collector.last.found == 2 && collector.last.patched == 2);
	CHECK_INT(gt_inject_site_count(collector.inject, &kept), 4);
	CHECK(!gt_inject_kernel(collector.inject, 2));
	CHECK_INT(gt_inject_coverage(collector.inject).patched, 6);
	/* For another device it is another module. */
	newer = patch_text_once(&collector, KERNEL, 100);
	CHECK(!collector.last.cached);
	CHECK_INT(gt_inject_site_count(collector.inject, &kept), 6);
	CHECK_INT(gt_inject_capability(collector.inject, 2), 100);
}

TEST("an image that is not kept in memory any more has the same text and the same numbers")
{
	auto_collector collector = {0};
	gt_auto_file first = {0}, again = {0};
	uint32_t kept;

	if (!collector_open(&collector))
		return;
	first = patch_text_once(&collector, KERNEL "// first", 90);
	for (unsigned i = 0; i < 300; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;
		gt_auto_file file = {0};

		gt_strbuf_printf(&text, KERNEL "// %u", i);
		file = patch_text_once(&collector, text.data, 90);
	}
	again = patch_text_once(&collector, KERNEL "// first", 90);
	CHECK(are_equal(&first, &again) && !collector.last.cached);
	CHECK_INT(gt_inject_site_count(collector.inject, &kept), 602);
	gt_file_free(&again);
	again = patch_text_once(&collector, KERNEL "// first", 90);
	CHECK(are_equal(&first, &again) && collector.last.cached);
}

/* ---- files of earlier runs ------------------------------------------------------------- */

/* The only file in a directory. */
static bool find_only_file(const char *directory, char *path, size_t size)
{
	char patched[64];
	struct dirent *entry;
	unsigned count = 0;
	DIR *opened;

	snprintf(patched, sizeof(patched), "%s/patched", directory);
	opened = opendir(patched);
	while (opened && (entry = readdir(opened)))
		if (entry->d_name[0] != '.') {
			snprintf(path, size, "%s/%.80s", patched, entry->d_name);
			count++;
		}
	if (opened)
		closedir(opened);
	return count == 1;
}

TEST("a later run has the text, the kernels and the sites from a file")
{
	auto_directory directory = make_directory();
	gt_auto_file first = {0}, again = {0};
	char path[256];

	for (unsigned run = 0; run < 2; run++) {
		auto_collector collector = {0};
		struct gt_inject_site site;
		uint32_t kept;

		if (!collector_open_with(&collector, directory.path))
			return;
		*(run ? &again : &first) = patch_text_once(&collector, KERNEL_WITH_LINES, 90);
		CHECK_INT(collector.last.cached, run);
		CHECK(collector.last.scope == GT_PATCH_WHOLE && collector.last.compiled == 1);
		CHECK_STR(collector.whole_reason, "every kernel matches");
		CHECK_STR(gt_inject_kernel(collector.inject, 0), "k");
		CHECK_INT(gt_inject_capability(collector.inject, 0), 90);
		CHECK_INT(gt_inject_site_count(collector.inject, &kept), 3);
		CHECK_INT(kept, 3);
		CHECK(gt_inject_site(collector.inject, 1, &site));
		CHECK_STR(site.text, "@%p1 exit;");
		CHECK_INT(site.location_count, 2);
		CHECK_STR(site.locations[0].file, "k.cu");
		CHECK_STR(site.locations[0].function, "f");
		CHECK(site.locations[1].line == 7 && !site.locations[1].function);
	}
	CHECK(are_equal(&first, &again));
	CHECK(find_only_file(directory.path, path, sizeof(path)));
}

TEST("a file that is corrupt is made again")
{
	auto_directory directory = make_directory();
	gt_auto_file first = {0};
	char path[256] = "";

	for (unsigned run = 0; run < 8; run++) {
		auto_collector collector = {0};
		gt_auto_file again = {0};
		int fd;

		if (!collector_open_with(&collector, directory.path))
			return;
		again = patch_text_once(&collector, KERNEL, 90);
		CHECK(!collector.last.cached);
		if (!first.data) {
			first = again;
			again = (struct gt_file){0};
		} else {
			CHECK(are_equal(&first, &again));
		}
		CHECK(find_only_file(directory.path, path, sizeof(path)));
		fd = open(path, O_RDWR | O_CLOEXEC);
		CHECK(run % 2 ? pwrite(fd, "damage", 6, 50 * run) == 6 : !ftruncate(fd, 40 * run));
		close(fd);
	}
}

TEST_MAIN
