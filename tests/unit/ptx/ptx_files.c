// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Whole texts: those in tests/data/ptx ($TEST_DATA), and what compilers make here and now. */
#include <dirent.h>

#include "fixture.h"
#include "ptx/ptx.h"
#include "toolkit.h"

static const char *data_path(void)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/ptx", getenv("TEST_DATA"));
	return path;
}

/* The module, or NULL after having failed the test. */
static struct gt_ptx_module *parse(const char *name, const char *text, size_t length)
{
	struct gt_ptx_module *module = NULL;
	struct gt_diag diag = {0};

	if (gt_ptx_parse(text, length, &module, &diag))
		TAP_FAIL("%s:%s: %s", name, diag.place, diag.text);
	return module;
}

/* Parses, prints, parses and prints again; leaves the printed text in printed.ptx. */
static struct gt_ptx_module *check_fixpoint(const char *path)
{
	gt_auto_file file = {0};
	gt_auto_strbuf first = GT_STRBUF_INIT, second = GT_STRBUF_INIT;
	struct gt_ptx_module *module;
	gt_auto(ptx) struct gt_ptx_module *again = NULL;

	if (gt_file_read(path, GT_PTX_MAX_TEXT, &file, NULL)) {
		TAP_FAIL("%s cannot be read", path);
		return NULL;
	}
	module = parse(path, (const char *)file.data, file.size);
	if (!module)
		return NULL;
	gt_ptx_print(module, &first);
	write_text("printed.ptx", gt_strbuf_string(&first));
	again = parse("printed.ptx", first.data, first.length);
	if (again)
		gt_ptx_print(again, &second);
	if (strcmp(gt_strbuf_string(&first), gt_strbuf_string(&second)) != 0)
		TAP_FAIL("%s is printed in two forms", path);
	if (again && (again->function_count != module->function_count ||
		      again->variable_count != module->variable_count ||
		      again->form_count != module->form_count))
		TAP_FAIL("%s is another module after printing", path);
	return module;
}

/* ptxas on the text and on its printed form. */
static void check_assembles(const char *path, const struct gt_ptx_module *module)
{
	const char *paths[] = {path, "printed.ptx"};
	const char *debug =
		module->target_count > 1 && !strcmp(module->targets[1], "debug") ? "-g" : "";

	for (size_t i = 0; i < gt_countof(paths); i++) {
		gt_autofree char *output = NULL;

		if (run(&output, TOOLS "ptxas %s -arch=%s -c '%s' -o assembled.cubin 2>&1", debug,
			module->sm < 75 ? "sm_75" : module->targets[0], paths[i]))
			TAP_FAIL("%s, %s: %s", path, paths[i], output);
	}
}

static void each_text(bool is_assembled)
{
	struct dirent *entry;
	unsigned int count = 0;
	DIR *directory = opendir(data_path());

	if (!directory) {
		TAP_FAIL("TEST_DATA names no directory with ptx/");
		return;
	}
	while ((entry = readdir(directory))) {
		const char *dot = strrchr(entry->d_name, '.');
		char path[8192];

		if (!dot || strcmp(dot, ".ptx") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", data_path(), entry->d_name);
		gt_auto(ptx) struct gt_ptx_module *module = check_fixpoint(path);

		if (module && is_assembled)
			check_assembles(path, module);
		count++;
	}
	closedir(directory);
	CHECK(count >= 11);
}

TEST("every text is the same module after printing")
{
	each_text(false);
}

TEST("ptxas accepts every text, and its printed form")
{
	NEED_TOOL("ptxas");
	each_text(true);
}

static void check_compiled(const char *command, const char *options)
{
	gt_autofree char *output = NULL;

	if (run(&output, TOOLS "%s %s -o compiled.ptx 2>&1", command, options)) {
		TAP_FAIL("%s %s: %s", command, options, output);
		return;
	}
	gt_auto(ptx) struct gt_ptx_module *module = check_fixpoint("compiled.ptx");

	if (module && have_tool("ptxas"))
		check_assembles("compiled.ptx", module);
}

TEST("nvcc's output of C++ is parsed, and its printed form assembles")
{
	static const char *const options[] = {"-arch=sm_75", "-arch=sm_90 -lineinfo -src-in-ptx",
					      "-arch=sm_80 -G -rdc=true"};
	char command[8192];

	NEED_TOOL("nvcc");
	snprintf(command, sizeof(command), "nvcc -std=c++17 -ptx '%s/kernels.cu'", data_path());
	for (size_t i = 0; i < gt_countof(options); i++)
		check_compiled(command, options[i]);
}

TEST("clang's output of CUDA is parsed, and its printed form assembles")
{
	static const char *const options[] = {"-O2", "-O0 -g", "-O2 -gline-tables-only"};
	char command[8192];

	NEED_TOOL("clang");
	if (run(NULL, "clang --print-targets 2>/dev/null | grep -q nvptx64"))
		SKIP("no clang that makes PTX is installed");
	snprintf(command, sizeof(command),
		 "clang -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_75 "
		 "-Xclang -target-sdk-version=11.5 -S '%s/clang.cu'",
		 data_path());
	for (size_t i = 0; i < gt_countof(options); i++)
		check_compiled(command, options[i]);
}

/* A text of that many lines as nvcc writes them. */
static void make_lines(struct gt_strbuf *text, unsigned int lines)
{
	gt_strbuf_puts(text, ".version 8.0\n.target sm_75\n.address_size 64\n"
			     ".visible .entry big(\n\t.param .u64 big_param_0\n)\n{\n"
			     "\t.reg .pred \t%p<100>;\n\t.reg .b32 \t%r<100000>;\n"
			     "\t.reg .f32 \t%f<1000>;\n\t.reg .b64 \t%rd<1000>;\n");
	for (unsigned int i = 11; i + 2 < lines; i += 5) {
		gt_strbuf_printf(text, "$L__BB0_%u:\n", i);
		gt_strbuf_printf(text, "\tld.global.v2.f32 \t{%%f%u, %%f%u}, [%%rd%u+%u];\n",
				 i % 1000, (i + 1) % 1000, i % 1000, i);
		gt_strbuf_printf(text, "\tfma.rn.f32 \t%%f%u, %%f%u, 0f3F800000, %%f%u;\n",
				 i % 1000, (i + 7) % 1000, (i + 9) % 1000);
		gt_strbuf_printf(text, "\tsetp.lt.s32 \t%%p%u, %%r%u, %%r%u;\n", i % 100, i % 99999,
				 (i * 7) % 99999);
		gt_strbuf_printf(text, "\t@%%p%u bra \t$L__BB0_%u;\n", i % 100, i);
	}
	gt_strbuf_puts(text, "\tret;\n}\n");
}

TEST("100,000 lines are parsed")
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	make_lines(&text, 100000);
	gt_auto(ptx) struct gt_ptx_module *module = parse("lines", text.data, text.length);
	CHECK(module && module->functions->statement_count > 90000);
}

TEST_MAIN
