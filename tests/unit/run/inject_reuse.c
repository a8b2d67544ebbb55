/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Images that were patched before: in this run, or in an earlier one. */
#include <dirent.h>

#include "base/fingerprint.h"
#include "collector.h"
#include "fatbin/fatbin.h"

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

/* ---- images into which nothing is inserted ---------------------------------------------- */

/* A large image: a fatbin of PTX that nothing matches. */
static void make_large(struct gt_strbuf *image)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_fatbin_source source = {.kind = GT_FATBIN_KIND_PTX};

	gt_strbuf_puts(&text, ".version 7.8\n.target sm_75\n.address_size 64\n");
	for (unsigned i = 0; i < 2000; i++)
		gt_strbuf_printf(&text, ".visible .entry other%u()\n{\n\tret;\n}\n", i);
	source.data = text.data;
	source.size = text.length;
	CHECK(!gt_fatbin_write(&source, 1, GT_FATBIN_COMPRESSION_NONE, image, NULL));
	CHECK(image->length >= GT_AGENT_LARGE);
}

static int ask_with(struct collector *collector, struct gt_agent_request request, int image)
{
	struct gt_agent_reply reply;
	gt_autoclose int file = -1, socket = -1;
	int verdict = ask(collector, request, image, &reply, &file, &socket);

	CHECK(file < 0);
	return verdict;
}

static int ask_by_fingerprint(struct collector *collector, const struct gt_strbuf *image,
			      uint32_t capability)
{
	struct gt_fingerprint fingerprint = gt_fingerprint(image->data, image->length);
	struct gt_agent_request request = image_request(image->length);

	request.operation = GT_AGENT_FINGERPRINT;
	request.capability = capability;
	memcpy(request.fingerprint, fingerprint.words, sizeof(request.fingerprint));
	return ask_with(collector, request, -1);
}

static int ask_by_image(struct collector *collector, const struct gt_strbuf *image,
			uint32_t capability)
{
	struct gt_agent_request request = image_request(image->length);
	gt_autoclose int file = memfd_create("image", MFD_CLOEXEC);

	request.capability = capability;
	CHECK(write(file, image->data, image->length) == (ssize_t)image->length);
	return ask_with(collector, request, file);
}

TEST("a large image that nothing matches is not wanted again, in this run or a later one")
{
	auto_directory directory = make_directory();
	gt_auto_strbuf image = GT_STRBUF_INIT;

	make_large(&image);
	for (unsigned run = 0; run < 3; run++) {
		auto_collector collector = {.switchable = run == 2};

		if (!collector_open_with(&collector, directory.path))
			return;
		/* With other options it is another question. */
		if (run != 1) {
			CHECK_INT(ask_by_fingerprint(&collector, &image, 90), GT_AGENT_WANTED);
			CHECK_INT(ask_by_image(&collector, &image, 90), GT_AGENT_ORIGINAL);
		}
		CHECK_INT(ask_by_fingerprint(&collector, &image, 90), GT_AGENT_ORIGINAL);
		CHECK(collector.last.cached && !collector.last.reason);
		CHECK_INT(gt_inject_coverage(collector.inject).modules, run == 1 ? 1 : 2);
		CHECK_INT(ask_by_fingerprint(&collector, &image, 75), GT_AGENT_WANTED);
		image.data[image.length - 2]++;
		CHECK_INT(ask_by_fingerprint(&collector, &image, 90), GT_AGENT_WANTED);
		image.data[image.length - 2]--;
	}
}

TEST("a large image without PTX for the device is not wanted again in this run")
{
	auto_directory directory = make_directory();
	gt_auto_strbuf image = GT_STRBUF_INIT;

	make_large(&image);
	for (unsigned run = 0; run < 2; run++) {
		auto_collector collector = {0};

		if (!collector_open_with(&collector, directory.path))
			return;
		/* Its PTX is for a newer device. */
		CHECK_INT(ask_by_fingerprint(&collector, &image, 70), GT_AGENT_WANTED);
		CHECK_INT(ask_by_image(&collector, &image, 70), GT_AGENT_ORIGINAL);
		CHECK_STR(collector.reason, "SASS only: the module has no PTX for sm_70");
		memset(collector.reason, 0, sizeof(collector.reason));
		CHECK_INT(ask_by_fingerprint(&collector, &image, 70), GT_AGENT_ORIGINAL);
		CHECK_STR(collector.reason, "SASS only: the module has no PTX for sm_70");
		CHECK_INT(gt_inject_coverage(collector.inject).modules_sass, 2);
		CHECK_INT(gt_inject_coverage(collector.inject).modules, 2);
	}
}

/* ---- images whose sites are all rejected ------------------------------------------------ */

/* The end of a block cannot be found where threads exit in a device function. */
#define REJECTED                                                                                   \
	".version 7.8\n.target sm_75\n.address_size 64\n.func f()\n{\n\texit;\n}\n"                \
	".visible .entry k()\n{\n\tcall f;\n\tret;\n}\n"

TEST("an image whose sites were all rejected is not patched again, in this run or a later one")
{
	auto_directory directory = make_directory();
	char reason[256] = "";

	for (unsigned run = 0; run < 2; run++) {
		auto_collector collector = {.at_block_end = true};
		struct gt_inject_coverage coverage;
		gt_auto_strbuf text = GT_STRBUF_INIT;

		if (!collector_open_with(&collector, directory.path))
			return;
		gt_strbuf_puts(&text, REJECTED);
		for (unsigned again = 0; again < 2; again++) {
			CHECK_INT(ask_by_image(&collector, &text, 90), GT_AGENT_ORIGINAL);
			CHECK_INT(collector.last.cached, run || again);
			CHECK(collector.last.scope == GT_PATCH_NONE && collector.reason[0]);
			CHECK(collector.last.found == 1 && collector.last.rejected == 1);
			if (run || again)
				CHECK_STR(collector.reason, reason);
			snprintf(reason, sizeof(reason), "%s", collector.reason);
		}
		coverage = gt_inject_coverage(collector.inject);
		CHECK(coverage.found == 2 && coverage.rejected == 2 && !coverage.patched);
	}
}

TEST_MAIN
