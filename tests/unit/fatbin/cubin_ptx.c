// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The PTX in cubins with line information. */
#include "fatbin/cubin_ptx.h"

#include <errno.h>

#include "cubin.h"
#include "fixture.h"
#include "toolkit.h"

#define TEXT ".version 8.0\n.target sm_90\n\n.visible .entry k()\n{\n\tret;\n}\n"

static const struct made_kernel kernels[] = {{.name = "k"}, {.name = "l"}};

struct read_cubin {
	struct gt_cubin_ptx ptx;
	struct gt_diag diag;
	int error;
};

static void read_cubin_clear(struct read_cubin *read)
{
	gt_cubin_ptx_clear(&read->ptx);
}
#define auto_read_cubin __attribute__((cleanup(read_cubin_clear))) struct read_cubin

static void read_source(struct read_cubin *read, const struct made_source *source)
{
	size_t size;
	gt_autofree char *cubin = make_cubin_with(kernels, 2, 0, source, &size);

	read->error = gt_cubin_ptx_read(cubin, size, &read->ptx, &read->diag);
}

static void check_options(const char *given, const char *expected)
{
	auto_read_cubin read = {0};

	read_source(&read, &(struct made_source){.texts = {{".nv_debug_ptx_txt", TEXT}},
						 .tool = "ptxas",
						 .options = given});
	CHECK_INT(read.error, 0);
	CHECK_STR(gt_strbuf_string(&read.ptx.options), expected);
}

TEST("a cubin's lines of PTX end in newlines again")
{
	auto_read_cubin read = {0};

	read_source(&read, &(struct made_source){.texts = {{".nv_debug_ptx_txt", "\n\n" TEXT}}});
	CHECK_INT(read.error, 0);
	CHECK_INT(read.ptx.texts.count, 1);
	CHECK_STR(read.ptx.texts.items[0].text, "\n\n" TEXT);
	CHECK_INT(read.ptx.texts.items[0].length, strlen("\n\n" TEXT));
	CHECK_STR(gt_strbuf_string(&read.ptx.options), "");
}

TEST("each linked module has a section of its own")
{
	auto_read_cubin read = {0};

	read_source(&read, &(struct made_source){.texts = {{".nv_debug_ptx_txt.1177286254", "a"},
							   {".nv_debug_ptx_txt.2", "b"},
							   {".nv_debug_ptx_txt.3", "\n\n"}}});
	CHECK_INT(read.ptx.texts.count, 2);
	CHECK_STR(read.ptx.texts.items[0].text, "a\n");
	CHECK_STR(read.ptx.texts.items[1].text, "b\n");
}

TEST("sections with similar names are not PTX")
{
	auto_read_cubin read = {0};

	read_source(&read, &(struct made_source){.texts = {{".nv.merc.nv_debug_ptx_txt", TEXT},
							   {".nv_debug_ptx_txt.", TEXT},
							   {".nv_debug_ptx_txt.1a", TEXT},
							   {".nv_debug_ptx_txts", TEXT}}});
	CHECK_INT(read.error, -ENODATA);
	CHECK_STR(read.diag.text, "the cubin carries no PTX");
}

TEST("of the compiler's options, those that change the code are kept")
{
	check_options("-maxrregcount 40 -lineinfo  -O 1 -arch sm_90 -c  ", "-maxrregcount 40 -O1");
	check_options("k.ptx -g  -o o.cubin -arch sm_90 -dlcm cg -fmad false",
		      "-g -dlcm cg -fmad false");
	check_options("-v -warn-spills -arch sm_90 ", "");
	check_options("", "");
}

TEST("an option with a value that is not a plain word is dropped")
{
	check_options("-maxrregcount $(x) -O 2", "-O2");
	check_options("-O", "");
	check_options("-dlcm 'c -fscm \"", "");
}

TEST("notes of other tools are ignored")
{
	auto_read_cubin read = {0};

	read_source(&read, &(struct made_source){.texts = {{".nv_debug_ptx_txt", TEXT}},
						 .tool = "nvJIT API",
						 .options = "-O 1"});
	CHECK_STR(gt_strbuf_string(&read.ptx.options), "");
}

TEST("without a note, the register limit of all kernels is kept")
{
	auto_read_cubin read = {0};

	read_source(&read, &(struct made_source){.texts = {{".nv_debug_ptx_txt", TEXT}},
						 .max_registers = 40});
	CHECK_STR(gt_strbuf_string(&read.ptx.options), "-maxrregcount 40");
}

TEST("options are read from a cubin without PTX, too")
{
	auto_read_cubin read = {0};

	read_source(&read, &(struct made_source){.tool = "ptxas", .options = "-maxrregcount 32 "});
	CHECK_INT(read.error, -ENODATA);
	CHECK_STR(gt_strbuf_string(&read.ptx.options), "-maxrregcount 32");
}

TEST("what is no cubin, or is truncated, is rejected")
{
	const struct made_source source = {
		.texts = {{".nv_debug_ptx_txt", TEXT}}, .tool = "ptxas", .options = "-O 1"};
	size_t size;
	gt_autofree char *cubin = make_cubin_with(kernels, 2, 0, &source, &size);

	for (size_t length = 0; length < size; length++) {
		auto_read_cubin read = {0};
		gt_autofree char *copy = malloc(length + 1);

		memcpy(copy, cubin, length);
		read.error = gt_cubin_ptx_read(copy, length, &read.ptx, &read.diag);
		if (!read.error || !gt_diag_is_set(&read.diag))
			TAP_FAIL("%zu bytes: %d", length, read.error);
	}
}

TEST("sections that overlap are bounded by the size of the cubin")
{
	const struct made_source source = {.texts = {{".nv_debug_ptx_txt.1", TEXT TEXT TEXT},
						     {".nv_debug_ptx_txt.2", TEXT},
						     {".nv_debug_ptx_txt.3", TEXT}}};
	gt_auto_cubin_ptx ptx = {0};
	Elf64_Ehdr header;
	size_t size, total = 0;
	gt_autofree char *cubin = make_cubin_with(kernels, 2, 0, &source, &size);
	Elf64_Shdr sections[6];

	memcpy(&header, cubin, sizeof(header));
	memcpy(sections, cubin + header.e_shoff, sizeof(sections));
	/* After the first one, the section of strings and that of symbols. */
	for (int i = 3; i < 6; i++) {
		sections[i].sh_offset = 0;
		sections[i].sh_size = size / 2 + 1;
	}
	memcpy(cubin + header.e_shoff, sections, sizeof(sections));
	CHECK_INT(gt_cubin_ptx_read(cubin, size, &ptx, NULL), 0);
	gt_vec_each (text, &ptx.texts)
		total += text->length;
	CHECK(total <= size + 1);
}

TEST("the PTX that ptxas puts into a cubin is the one that it read")
{
	gt_auto_cubin_ptx ptx = {0};
	gt_auto_file file = {0};
	int error;

	NEED_TOOL("ptxas");
	write_file("k.ptx", TEXT, strlen(TEXT));
	if (run(NULL, TOOLS "ptxas -arch=sm_90 -lineinfo --opt-level 1 -maxrregcount=40 k.ptx -o "
			    "k.cubin"))
		TAP_FAIL("ptxas");
	CHECK(!gt_file_read("k.cubin", 1 << 20, &file, NULL));
	error = gt_cubin_ptx_read(file.data, file.size, &ptx, NULL);
	CHECK_INT(error, 0);
	if (error)
		return;
	CHECK(strstr(ptx.texts.items[0].text, ".target sm_90\n"));
	CHECK(strstr(ptx.texts.items[0].text, ".visible .entry k()\n{\n"));
	CHECK_STR(gt_strbuf_string(&ptx.options), "-maxrregcount 40 -O1");
}

TEST_MAIN
