// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What agents report about cubins that programs compile. */
#include "run/recovered.h"

#include <errno.h>

#include "agent/protocol.h"
#include "base/strbuf.h"
#include "cubin.h"
#include "fixture.h"
#include "temporary.h"

#define TEXT "// PTX of k\n"

enum { USER = 1000 };

static const struct made_kernel kernels[] = {{.name = "k"}, {.name = "l"}};

/* A report that is being written. */
struct made_report {
	struct gt_strbuf bytes;
	struct gt_agent_compiled compiled;
};

static void report_clear(struct made_report *report)
{
	gt_strbuf_free(&report->bytes);
}
#define auto_report __attribute__((cleanup(report_clear))) struct made_report

static struct gt_agent_part put_part(struct made_report *report, const void *data, size_t size)
{
	struct gt_agent_part part = {.offset = report->bytes.length, .size = size};

	gt_strbuf_add(&report->bytes, data, size);
	return part;
}

static void put_input(struct made_report *report, uint32_t kind, const void *data, size_t size)
{
	report->compiled.kinds[report->compiled.input_count] = kind;
	report->compiled.inputs[report->compiled.input_count++] = put_part(report, data, size);
}

static void put_cubin(struct made_report *report, const void *data, size_t size)
{
	report->compiled.magic = GT_AGENT_MAGIC;
	report->compiled.cubin = put_part(report, data, size);
}

static int take(struct gt_recovered *recovered, struct made_report *report)
{
	put_part(report, &report->compiled, sizeof(report->compiled));
	return gt_recovered_take(recovered, USER, report->bytes.data, report->bytes.length);
}

/* Take a report about a cubin that was made from one text. */
static int take_text(struct gt_recovered *recovered, const void *cubin, size_t size,
		     const char *text)
{
	auto_report report = {0};

	put_input(&report, GT_AGENT_INPUT_PTX, text, strlen(text));
	put_cubin(&report, cubin, size);
	return take(recovered, &report);
}

static void check_texts(struct gt_recovered *recovered, const void *cubin, size_t size,
			const char *first, const char *second)
{
	struct gt_recovered_search search = {.recovered = recovered, .user = USER};
	gt_auto_cubin_ptx ptx = {0};
	const struct gt_cubin_texts *texts = &ptx.texts;
	int error = gt_recovered_find(&search, cubin, size, &ptx);

	CHECK_INT(error, first ? 0 : -ENODATA);
	CHECK_INT(texts->count, (first != NULL) + (second != NULL));
	if (first && texts->count)
		CHECK_STR(texts->items[0].text, first);
	if (second && texts->count > 1)
		CHECK_STR(texts->items[1].text, second);
}

TEST("the PTX of a report is that of the cubin with the same bytes")
{
	gt_auto(recovered) struct gt_recovered *recovered = gt_recovered_new(NULL);
	size_t size, other_size;
	gt_autofree char *cubin = make_cubin(kernels, 1, 0, &size);
	gt_autofree char *other = make_cubin(kernels, 2, 0, &other_size);

	check_texts(recovered, cubin, size, NULL, NULL);
	CHECK_INT(take_text(recovered, cubin, size, TEXT), 0);
	CHECK_INT(gt_recovered_count(recovered), 1);
	check_texts(recovered, cubin, size, TEXT, NULL);
	check_texts(recovered, other, other_size, NULL, NULL);
}

TEST("what follows a cubin in its buffer makes no difference")
{
	gt_auto(recovered) struct gt_recovered *recovered = gt_recovered_new(NULL);
	gt_auto_strbuf longer = GT_STRBUF_INIT;
	size_t size;
	gt_autofree char *cubin = make_cubin(kernels, 1, 0, &size);

	gt_strbuf_add(&longer, cubin, size);
	gt_strbuf_puts(&longer, "padding");
	CHECK_INT(take_text(recovered, longer.data, longer.length, TEXT), 0);
	check_texts(recovered, cubin, size, TEXT, NULL);
}

TEST("a cubin that is compiled again has its latest PTX")
{
	gt_auto(recovered) struct gt_recovered *recovered = gt_recovered_new(NULL);
	size_t size;
	gt_autofree char *cubin = make_cubin(kernels, 1, 0, &size);

	CHECK_INT(take_text(recovered, cubin, size, TEXT), 0);
	CHECK_INT(take_text(recovered, cubin, size, "// later\n"), 0);
	CHECK_INT(gt_recovered_count(recovered), 1);
	check_texts(recovered, cubin, size, "// later\n", NULL);
}

TEST("inputs that are cubins have the PTX that is known of them")
{
	static const struct made_source source = {.texts = {{".nv_debug_ptx_txt", "// l\n"}}};
	gt_auto(recovered) struct gt_recovered *recovered = gt_recovered_new(NULL);
	auto_report report = {0};
	size_t linked_size, reported_size, carrying_size;
	gt_autofree char *linked = make_cubin(kernels, 2, 0, &linked_size);
	gt_autofree char *reported = make_cubin(kernels, 1, 0, &reported_size);
	gt_autofree char *carrying = make_cubin_with(kernels + 1, 1, 0, &source, &carrying_size);

	linked[offsetof(Elf64_Ehdr, e_flags) + 1] = 90;
	reported[offsetof(Elf64_Ehdr, e_flags) + 1] = 90;
	carrying[offsetof(Elf64_Ehdr, e_flags) + 1] = 90;
	CHECK_INT(take_text(recovered, reported, reported_size, TEXT), 0);
	put_input(&report, GT_AGENT_INPUT_CODE, reported, reported_size);
	put_input(&report, GT_AGENT_INPUT_CODE, carrying, carrying_size);
	put_input(&report, GT_AGENT_INPUT_LIBRARY, "!<arch>\n", 8);
	put_cubin(&report, linked, linked_size);
	CHECK_INT(take(recovered, &report), 0);
	check_texts(recovered, linked, linked_size, TEXT, "// l\n");
}

TEST("a cubin that was linked with unknown machine code has no PTX")
{
	gt_auto(recovered) struct gt_recovered *recovered = gt_recovered_new(NULL);
	auto_report report = {0};
	size_t size, input_size;
	gt_autofree char *linked = make_cubin(kernels, 2, 0, &size);
	gt_autofree char *input = make_cubin(kernels, 1, 0, &input_size);

	put_input(&report, GT_AGENT_INPUT_PTX, TEXT, strlen(TEXT));
	put_input(&report, GT_AGENT_INPUT_CODE, input, input_size);
	put_cubin(&report, linked, size);
	CHECK_INT(take(recovered, &report), -EAGAIN);
	check_texts(recovered, linked, size, NULL, NULL);
}

TEST("the PTX of LTO-IR is wanted, unless the cubin carries it")
{
	static const struct made_source source = {.texts = {{".nv_debug_ptx_txt.7", TEXT}}};
	gt_auto(recovered) struct gt_recovered *recovered = gt_recovered_new(NULL);
	auto_report without = {0}, with = {0};
	size_t size;
	gt_autofree char *cubin = make_cubin(kernels, 1, 0, &size);
	gt_autofree char *carrying = NULL;

	put_input(&without, GT_AGENT_INPUT_LTOIR, "IR", 2);
	put_cubin(&without, cubin, size);
	CHECK_INT(take(recovered, &without), -EAGAIN);
	carrying = make_cubin_with(kernels, 1, 0, &source, &size);
	put_input(&with, GT_AGENT_INPUT_LTOIR, "IR", 2);
	put_cubin(&with, carrying, size);
	CHECK_INT(take(recovered, &with), 0);
}

TEST("the PTX of one user's cubin is not that of another user's")
{
	gt_auto(recovered) struct gt_recovered *recovered = gt_recovered_new(NULL);
	struct gt_recovered_search search = {.recovered = recovered, .user = USER + 1};
	gt_auto_cubin_ptx ptx = {0};
	size_t size;
	gt_autofree char *cubin = make_cubin(kernels, 1, 0, &size);

	CHECK_INT(take_text(recovered, cubin, size, TEXT), 0);
	CHECK_INT(gt_recovered_find(&search, cubin, size, &ptx), -ENODATA);
}

static void check_archive(struct gt_recovered *recovered, const void *cubin, size_t size)
{
	struct gt_recovered_search search = {.recovered = recovered, .user = USER};
	gt_auto_cubin_ptx ptx = {0};

	CHECK_INT(gt_recovered_find(&search, cubin, size, &ptx), 0);
	CHECK_INT(ptx.texts.count, 1);
	CHECK_INT(ptx.archives.count, 1);
	if (ptx.archives.count == 1) {
		CHECK_INT(ptx.archives.items[0].length, 12);
		CHECK(!memcmp(ptx.archives.items[0].text, "!<arch>\na\0b\0", 12));
	}
}

TEST("an archive that a cubin was linked with is kept, in files, too")
{
	struct temporary directory;
	gt_auto(recovered) struct gt_recovered *recovered = NULL, *later = NULL;
	auto_report report = {0};
	size_t size;
	gt_autofree char *cubin = make_cubin(kernels, 1, 0, &size);

	CHECK(make_temporary_directory(&directory));
	recovered = gt_recovered_new(directory.path);
	put_input(&report, GT_AGENT_INPUT_PTX, TEXT, strlen(TEXT));
	/* nvJitLink takes one with NVJITLINK_INPUT_ANY, too. */
	put_input(&report, GT_AGENT_INPUT_CODE, "!<arch>\na\0b\0", 12);
	put_cubin(&report, cubin, size);
	CHECK_INT(take(recovered, &report), 0);
	check_archive(recovered, cubin, size);
	later = gt_recovered_new(directory.path);
	check_archive(later, cubin, size);
	CHECK(remove_temporary_directory(&directory));
}

TEST("inputs that overlap cannot use more memory than the limit")
{
	gt_auto(recovered) struct gt_recovered *recovered = gt_recovered_new(NULL);
	gt_auto_strbuf archive = GT_STRBUF_INIT;
	auto_report report = {0};
	size_t size;
	gt_autofree char *cubin = make_cubin(kernels, 1, 0, &size);

	gt_recovered_set_limit(recovered, 8 << 10);
	for (int i = 0; i < 1 << 10; i++)
		gt_strbuf_puts(&archive, "bytes...");
	put_input(&report, GT_AGENT_INPUT_LIBRARY, archive.data, archive.length);
	report.compiled.inputs[1] = report.compiled.inputs[0];
	report.compiled.kinds[1] = report.compiled.kinds[0];
	report.compiled.input_count++;
	put_input(&report, GT_AGENT_INPUT_PTX, TEXT, strlen(TEXT));
	put_cubin(&report, cubin, size);
	CHECK_INT(take(recovered, &report), -E2BIG);
	CHECK_INT(gt_recovered_count(recovered), 0);
}

TEST("the oldest PTX is dropped for the newest where the memory is limited")
{
	gt_auto(recovered) struct gt_recovered *recovered = gt_recovered_new(NULL);
	char *cubins[3];
	size_t sizes[3];

	gt_recovered_set_limit(recovered, 2 * strlen(TEXT));
	for (unsigned int i = 0; i < 3; i++) {
		const struct made_kernel kernel = {.name = "k", .registers = i};

		cubins[i] = make_cubin(&kernel, 1, 0, &sizes[i]);
		CHECK_INT(take_text(recovered, cubins[i], sizes[i], TEXT), 0);
	}
	CHECK_INT(gt_recovered_count(recovered), 2);
	CHECK_INT(gt_recovered_dropped(recovered), 1);
	check_texts(recovered, cubins[0], sizes[0], NULL, NULL);
	check_texts(recovered, cubins[2], sizes[2], TEXT, NULL);
	CHECK_INT(take_text(recovered, cubins[0], sizes[0], TEXT TEXT TEXT), -E2BIG);
	for (int i = 0; i < 3; i++)
		free(cubins[i]);
}

TEST("PTX of an earlier run is found in the directory, unless its file is malformed")
{
	size_t size;
	gt_autofree char *cubin = make_cubin(kernels, 1, 0, &size);
	gt_auto_strbuf directory = GT_STRBUF_INIT;

	gt_strbuf_printf(&directory, "%s/files", fixture());
	for (int i = 0; i < 2; i++) {
		gt_auto(recovered) struct gt_recovered *recovered =
			gt_recovered_new(gt_strbuf_string(&directory));

		if (!i)
			CHECK_INT(take_text(recovered, cubin, size, TEXT), 0);
		CHECK_INT(gt_recovered_count(recovered), !i);
		check_texts(recovered, cubin, size, TEXT, NULL);
	}
	CHECK(!run(NULL, "for file in files/*; do truncate -s -3 $file; done"));
	for (int i = 0; i < 2; i++) {
		gt_auto(recovered) struct gt_recovered *recovered =
			gt_recovered_new(gt_strbuf_string(&directory));

		check_texts(recovered, cubin, size, NULL, NULL);
	}
}

TEST("malformed reports are rejected")
{
	gt_auto(recovered) struct gt_recovered *recovered = gt_recovered_new(NULL);
	size_t size;
	gt_autofree char *cubin = make_cubin(kernels, 1, 0, &size);

	for (int i = 0; i < 6; i++) {
		auto_report report = {0};

		put_input(&report, i == 0 ? 77 : GT_AGENT_INPUT_PTX, TEXT, strlen(TEXT));
		put_cubin(&report, i == 1 ? "no cubin" : cubin, i == 1 ? 8 : size);
		if (i == 2)
			report.compiled.magic++;
		if (i == 3)
			report.compiled.input_count = GT_AGENT_MAX_INPUTS + 1;
		if (i == 4)
			report.compiled.inputs[0].size = UINT64_MAX;
		if (i == 5)
			report.compiled.cubin.offset = UINT64_MAX;
		CHECK_INT(take(recovered, &report), -EINVAL);
	}
	CHECK_INT(gt_recovered_take(recovered, USER, cubin, 8), -EINVAL);
	CHECK_INT(gt_recovered_count(recovered), 0);
}

TEST_MAIN
