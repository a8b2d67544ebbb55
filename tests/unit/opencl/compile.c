// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * OpenCL C of a hostile process to SPIR-V. The compilers are scripts in a folder of the test, which
 * is the only one that they are searched in.
 */
#include <errno.h>

#include "fixture.h"
#include "opencl/opencl.h"

/* What was compiled, and what came of it. */
struct compiled {
	struct gt_cl_source sources[GT_CL_MAX_SOURCES + 1];
	struct gt_cl_compilation compilation;
	struct gt_strbuf module, log;
	struct gt_diag diag;
	int error;
};

/* Make a tool of what a shell does. `cat`, `echo` and others are called by their paths. */
static void install(const char *name, const char *commands)
{
	char path[64];
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_strbuf_printf(&text, "#!/bin/sh\n%s\n", commands);
	snprintf(path, sizeof(path), "%s", name);
	write_text(path, gt_strbuf_string(&text));
	CHECK(!chmod(path, 0700));
}

/* A compiler that prints its words as messages and writes its input, and a converter. */
static void install_compilers(void)
{
	install("clang-14", "printf '<%s>\\n' \"$@\" >&2; exec /bin/cat");
	install("llvm-spirv-14", "echo converted; exec /bin/cat /proc/self/fd/0");
}

/* No compiler at first. */
static void open_test(struct compiled *test, const char *options)
{
	*test = (struct compiled){0};
	setenv("PATH", fixture(), 1);
	for (const char *const *name = (const char *const[]){"clang-14", "llvm-spirv-14",
							     "clang-15", "llvm-spirv-15", NULL};
	     *name; name++)
		unlink(*name);
	test->sources[0] = (struct gt_cl_source){
		.language = GT_CL_SOURCE, .bytes = "source\n", .size = 7, .options = options};
	test->compilation =
		(struct gt_cl_compilation){.sources = test->sources, .count = 1, .directory = -1};
}

static void compile_test(struct compiled *test)
{
	test->diag = (struct gt_diag){0};
	test->error = gt_cl_compile(&test->compilation, &test->module, &test->log, &test->diag);
}

static void close_test(struct compiled *test)
{
	gt_strbuf_free(&test->module);
	gt_strbuf_free(&test->log);
}

/* Compile a source with options by the compilers of `install_compilers`. */
static void compile_with(struct compiled *test, const char *options)
{
	open_test(test, options);
	install_compilers();
	compile_test(test);
}

/* Whether clang got a word. */
static bool got_word(struct compiled *test, const char *word)
{
	gt_auto_strbuf line = GT_STRBUF_INIT;

	gt_strbuf_printf(&line, "<%s>\n", word);
	return strstr(gt_strbuf_string(&test->log), gt_strbuf_string(&line));
}

TEST("source goes through clang, which writes text and bitcode, and llvm-spirv")
{
	struct compiled test;

	compile_with(&test, "-DA=1 -cl-mad-enable");
	CHECK_INT(test.error, 0);
	CHECK_STR(gt_strbuf_string(&test.module), "converted\nsource\n");
	CHECK(got_word(&test, "-DA=1") && got_word(&test, "-cl-mad-enable"));
	CHECK(got_word(&test, "-cl-std=CL1.2"));
	close_test(&test);
}

TEST("functions may be inlined, whatever clang's attributes of them are, and nothing else changes")
{
	struct compiled test;

	open_test(&test, "");
	install_compilers();
	test.sources[0].bytes = "@s = \"attributes #0 = { noinline }\"\n"
				"attributes #0 = { convergent noinline nounwind }\n"
				"attributes #1 = { noinline }\n"
				"attributes #2 = { nounwind }\n"
				"call void @f() noinline nounwind";
	test.sources[0].size = strlen(test.sources[0].bytes);
	compile_test(&test);
	CHECK_STR(gt_strbuf_string(&test.module), "converted\n"
						  "@s = \"attributes #0 = { noinline }\"\n"
						  "attributes #0 = { convergent nounwind }\n"
						  "attributes #1 = { }\n"
						  "attributes #2 = { nounwind }\n"
						  "call void @f() noinline nounwind");
	close_test(&test);
}

TEST("an option that OpenCL does not define is rejected by its name, and no compiler runs")
{
	static const char *const options[] = {"-fplugin=/tmp/a.so", "@file", "-o", "-Xclang", "-wx",
					      "/etc/passwd",        "-"};

	for (size_t i = 0; i < gt_countof(options); i++) {
		struct compiled test;
		char text[80];

		compile_with(&test, options[i]);
		snprintf(text, sizeof(text), "the build option %s is not known", options[i]);
		CHECK_INT(test.error, -EINVAL);
		CHECK_STR(test.diag.text, text);
		CHECK(!test.log.length && !test.module.length);
		close_test(&test);
	}
}

TEST("the word after an option is a part of it, so that clang reads no file of options")
{
	struct compiled test;

	compile_with(&test, "-D @file -I \"@a b\" -U -fplugin=x -DA -D");
	CHECK_INT(test.error, 0);
	CHECK(got_word(&test, "-D@file") && got_word(&test, "-I@a b"));
	CHECK(got_word(&test, "-U-fplugin=x") && got_word(&test, "-DA") && got_word(&test, "-D"));
	CHECK(!strstr(gt_strbuf_string(&test.log), "<@") && !got_word(&test, "-fplugin=x"));
	close_test(&test);
}

TEST("options that clang would take otherwise are omitted, and a version is not replaced")
{
	struct compiled test;

	compile_with(&test, "-Werror -g -gline-tables-only -cl-std=CL3.0");
	CHECK_INT(test.error, 0);
	CHECK(!got_word(&test, "-Werror") && !got_word(&test, "-g"));
	CHECK(!got_word(&test, "-gline-tables-only") && !got_word(&test, "-cl-std=CL1.2"));
	close_test(&test);
}

TEST("quotation marks hold blanks, and one that is not closed ends with the options")
{
	struct compiled test;

	compile_with(&test, "\t-D\"A=1 2\"  -DB=\"x \"y \"\" ");
	/* An empty word is no option. */
	CHECK_INT(test.error, -EINVAL);
	CHECK_STR(test.diag.text, "the build option  is not known");
	close_test(&test);
	compile_with(&test, "\t-D\"A=1 2\"  -DB=\"x \"y -DC=\"z ");
	CHECK_INT(test.error, 0);
	CHECK(got_word(&test, "-DA=1 2") && got_word(&test, "-DB=x y") &&
	      got_word(&test, "-DC=z "));
	close_test(&test);
}

TEST("256 build options are compiled, more are rejected")
{
	gt_auto_strbuf options = GT_STRBUF_INIT;
	struct compiled test;

	for (int i = 0; i < 256; i++)
		gt_strbuf_puts(&options, "-DA ");
	compile_with(&test, gt_strbuf_string(&options));
	CHECK_INT(test.error, 0);
	close_test(&test);
	gt_strbuf_puts(&options, "-DA");
	compile_with(&test, gt_strbuf_string(&options));
	CHECK_INT(test.error, -E2BIG);
	CHECK_STR(test.diag.text, "there are more than 256 build options");
	close_test(&test);
}

TEST("a device's options are checked as those of the program")
{
	struct compiled test;

	open_test(&test, "");
	install_compilers();
	test.compilation.device_options = "-cl-ext=+a -DB @file";
	compile_test(&test);
	CHECK_INT(test.error, -EINVAL);
	CHECK_STR(test.diag.text, "the build option @file is not known");
	close_test(&test);
	open_test(&test, "");
	install_compilers();
	test.compilation.device_options = "-cl-ext=+a -DB";
	compile_test(&test);
	CHECK(!test.error && got_word(&test, "-cl-ext=+a") && got_word(&test, "-DB"));
	close_test(&test);
}

TEST("source of any bytes reaches clang as it is, and an empty one, too")
{
	struct compiled test;

	open_test(&test, "");
	install("clang-14", "exec /bin/cat");
	install("llvm-spirv-14", "exec /bin/cat /proc/self/fd/0");
	test.sources[0].bytes = "\0\xff`touch x`\n\0";
	test.sources[0].size = 13;
	compile_test(&test);
	CHECK(!test.error && test.module.length == 13);
	CHECK(test.module.data && !memcmp(test.module.data, "\0\xff`touch x`\n\0", 13));
	test.module.length = 0;
	test.sources[0].size = 0;
	compile_test(&test);
	CHECK(!test.error && !test.module.length);
	close_test(&test);
}

TEST("a header of any name is below the folder of headers, and nothing beside its text is added")
{
	static const struct gt_cl_header headers[] = {
		{"a\"b\\\n.h", 7, "text", 4},
		{"../../etc/passwd", 16, "", 0},
	};
	struct compiled test;

	open_test(&test, "");
	/* The word after -ivfsoverlay is the file. */
	install("clang-14",
		"while [ $# -gt 0 ]; do [ $1 = -ivfsoverlay ] && /bin/cat $2 >&2; shift; "
		"done; exec /bin/cat");
	install("llvm-spirv-14", ":");
	test.sources[0].headers = headers;
	test.sources[0].header_count = gt_countof(headers);
	compile_test(&test);
	CHECK_INT(test.error, 0);
	CHECK(strstr(gt_strbuf_string(&test.log),
		     "\"name\":\"/gputap/a/b/c/d/e/f/g/headers/a\\\"b\\\\\\n.h\""));
	CHECK(strstr(gt_strbuf_string(&test.log),
		     "\"name\":\"/gputap/a/b/c/d/e/f/g/headers/../../etc/passwd\""));
	test.sources[0].header_count = GT_CL_MAX_HEADERS + 1;
	compile_test(&test);
	CHECK_INT(test.error, -E2BIG);
	CHECK_STR(test.diag.text, "there are more than 256 headers");
	close_test(&test);
}

TEST("without clang or without llvm-spirv, a program is source only")
{
	static const char text[] =
		"source only: clang and llvm-spirv of one version, 14 or newer, compile it";
	struct compiled test;

	open_test(&test, "");
	compile_test(&test);
	CHECK_INT(test.error, -ENOENT);
	CHECK_STR(test.diag.text, text);
	install("clang-14", "exec /bin/cat");
	install("llvm-spirv-15", "exec /bin/cat");
	compile_test(&test);
	CHECK_INT(test.error, -ENOENT);
	CHECK_STR(test.diag.text, text);
	close_test(&test);
}

TEST("the oldest version of which both tools are installed compiles")
{
	struct compiled test;

	open_test(&test, "");
	install("clang-14", "exec /bin/cat");
	install("clang-15", "exec /bin/cat");
	install("llvm-spirv-15", "echo 15");
	compile_test(&test);
	CHECK_INT(test.error, 0);
	CHECK_STR(gt_strbuf_string(&test.module), "15\n");
	close_test(&test);
}

TEST("a compiler that fails, or that a signal ends, has its status and its messages in the log")
{
	struct compiled test;

	open_test(&test, "");
	install("clang-14", "echo 'an error' >&2; exit 3");
	install("llvm-spirv-14", "kill -SEGV $$");
	compile_test(&test);
	CHECK_INT(test.error, -EINVAL);
	CHECK_STR(test.diag.text, "clang-14 failed (status 3)");
	CHECK_STR(gt_strbuf_string(&test.log), "an error\n");
	install("clang-14", "exec /bin/cat");
	compile_test(&test);
	CHECK_INT(test.error, -EINVAL);
	CHECK_STR(test.diag.text, "llvm-spirv-14 failed (status -22)");
	CHECK(!test.module.length);
	close_test(&test);
}

TEST("a compiler that does not end is ended")
{
	struct compiled test;

	open_test(&test, "");
	install("clang-14", "exec /bin/sleep 1000");
	install("llvm-spirv-14", ":");
	test.compilation.limit = 1000000;
	compile_test(&test);
	CHECK_INT(test.error, -EINVAL);
	CHECK_STR(test.diag.text, "clang-14 was ended: it took too long");
	close_test(&test);
}

TEST("several programs are linked as bitcode, more than 256 are rejected")
{
	struct compiled test;

	open_test(&test, "");
	install("clang-14", "printf '<%s>\\n' \"$@\" >&2; echo linked");
	install("llvm-spirv-14", "exec /bin/cat /proc/self/fd/0");
	for (size_t i = 0; i < gt_countof(test.sources); i++)
		test.sources[i] = (struct gt_cl_source){.language = GT_CL_SPIR, .bytes = "BC"};
	test.compilation.count = 2;
	compile_test(&test);
	CHECK_INT(test.error, 0);
	CHECK_STR(gt_strbuf_string(&test.module), "linked\n");
	CHECK(got_word(&test, "-mlink-bitcode-file"));
	test.compilation.count = GT_CL_MAX_SOURCES + 1;
	compile_test(&test);
	CHECK_INT(test.error, -E2BIG);
	CHECK_STR(test.diag.text, "more than 256 programs are linked");
	close_test(&test);
}

TEST_MAIN
