/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* OpenCL C, and the bitcode of SPIR, to SPIR-V: by clang and llvm-spirv of one version. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/private.h"

enum {
	MAX_WORDS = 256, /* of build options */
};

/* The oldest first: what they write, each device's compiler reads. */
static const struct {
	const char *compiler, *converter;
} tools[] = {
	{"clang-14", "llvm-spirv-14"}, {"clang-15", "llvm-spirv-15"}, {"clang-16", "llvm-spirv-16"},
	{"clang-17", "llvm-spirv-17"}, {"clang-18", "llvm-spirv-18"}, {"clang-19", "llvm-spirv-19"},
	{"clang", "llvm-spirv"},
};

/* The options of clBuildProgram that clang has, by how they begin (OpenCL 3.0, 5.8.6). */
static const struct {
	const char *text;
	bool is_whole, has_word; /* the next word belongs to it if nothing follows the text */
} known_options[] = {
	{"-D", false, true}, {"-U", false, true},      {"-I", false, true}, {"-cl-", false, false},
	{"-w", true, false}, {"-Werror", true, false}, {"-g", true, false}, {"-Wall", true, false},
};

/* ---- options ---- */

struct options {
	char *text; /* the words, each with a NUL */
	const char *words[MAX_WORDS];
	size_t count;
	bool has_version; /* -cl-std */
};

/* 1 + the index of the option in the table; 0: it is none of them. */
static size_t find_option(const char *word)
{
	for (size_t i = 0; i < gt_countof(known_options); i++)
		if (known_options[i].is_whole
			    ? !strcmp(word, known_options[i].text)
			    : !strncmp(word, known_options[i].text, strlen(known_options[i].text)))
			return i + 1;
	return 0;
}

static int check_options(struct options *options, struct gt_diag *diag)
{
	for (size_t i = 0; i < options->count; i++) {
		const char *word = options->words[i];
		size_t known = find_option(word);

		if (!known)
			return gt_diag(diag, -EINVAL, "device", NULL,
				       "the build option %s is not known", word);
		options->has_version |= !strncmp(word, "-cl-std=", strlen("-cl-std="));
		if (known_options[known - 1].has_word && !word[strlen("-D")])
			i++;
	}
	return 0;
}

/* Split at blanks that are not within quotation marks, which are removed. */
static int read_options(const char *text, struct options *options, struct gt_diag *diag)
{
	bool is_quoted = false, in_word = false;
	char *to;

	*options = (struct options){.text = malloc(strlen(text) + 1)};
	if (!options->text)
		return gt_diag(diag, -ENOMEM, "device", NULL, "out of memory");
	to = options->text;
	for (; *text; text++) {
		if (!is_quoted && isspace((unsigned char)*text)) {
			if (in_word)
				*to++ = 0;
			in_word = false;
			continue;
		}
		if (!in_word && options->count == MAX_WORDS)
			return gt_diag(diag, -E2BIG, "device", NULL,
				       "there are more than %d build options", MAX_WORDS);
		if (!in_word)
			options->words[options->count++] = to;
		in_word = true;
		if (*text == '"')
			is_quoted = !is_quoted;
		else
			*to++ = *text;
	}
	*to = 0;
	return check_options(options, diag);
}

/* ---- the tools ---- */

/* OpenCL C to the text of LLVM's intermediate code. */
static int run_compiler(const char *name, const struct options *options,
			const struct gt_cl_files *files, int directory)
{
	/* Functions without "optnone", so that the device's compiler optimizes them. */
	static const char *const fixed[] = {
		"-S",
		"-x",
		"cl",
		"-O0",
		"-Xclang",
		"-disable-O0-optnone",
		"-target",
		"spir64",
		"-emit-llvm",
		"-Xclang",
		"-finclude-default-header",
	};
	const char *words[gt_countof(fixed) + MAX_WORDS + 6];
	size_t count = 0;

	words[count++] = name;
	for (size_t i = 0; i < gt_countof(fixed); i++)
		words[count++] = fixed[i];
	if (!options->has_version)
		words[count++] = "-cl-std=CL1.2";
	for (size_t i = 0; i < options->count; i++)
		words[count++] = options->words[i];
	words[count++] = "-o";
	words[count++] = "-";
	words[count++] = "-";
	words[count] = NULL;
	return gt_cl_run_tool(words, files, directory);
}

/* The text to bitcode. */
static int run_assembler(const char *name, const struct gt_cl_files *files)
{
	const char *const words[] = {name,         "-c", "-x", "ir", "-target", "spir64",
				     "-emit-llvm", "-o", "-",  "-",  NULL};

	return gt_cl_run_tool(words, files, -1);
}

static int run_converter(const char *name, const struct gt_cl_files *files)
{
	const char *const words[] = {name, "--spirv-max-version=1.0", "/proc/self/fd/0", "-o", "-",
				     NULL};

	return gt_cl_run_tool(words, files, -1);
}

/* One step: what is read, and what is written. */
struct step {
	enum { COMPILE, ASSEMBLE, CONVERT } kind;
	const char *tool;
	const struct options *options; /* of COMPILE */
	int directory;
};

static int run_tool(const struct step *step, const struct gt_cl_files *files)
{
	switch (step->kind) {
	case COMPILE:
		return run_compiler(step->tool, step->options, files, step->directory);
	case ASSEMBLE:
		return run_assembler(step->tool, files);
	case CONVERT:
		return run_converter(step->tool, files);
	}
	return -EINVAL;
}

/* Run a tool; its output is added. 0; -ENOENT without a diag: it is not installed; -Exxx. */
static int run_step(const struct step *step, const void *bytes, size_t size,
		    struct gt_strbuf *ret_output, struct gt_strbuf *ret_log, struct gt_diag *diag)
{
	gt_auto_cl_files files = GT_CL_FILES_NONE;
	int status = gt_cl_files_open(&files, bytes, size, diag);

	if (status)
		return status;
	status = run_tool(step, &files);
	if (status == -ENOENT)
		return status;
	gt_cl_files_append(files.messages, ret_log);
	if (status)
		return gt_diag(diag, -EINVAL, "device", step->tool, "%s failed (status %d)",
			       step->tool, status);
	status = gt_cl_files_append(files.output, ret_output);
	return status ? gt_diag(diag, status, "device", step->tool, "cannot read its output: %s",
				strerror(-status))
		      : 0;
}

/*
 * clang writes llvm.fmuladd where the language lets a product and a sum be fused, and leaves that
 * to the device's compiler. SPIR-V has OpenCL's mad for it, which PoCL does not fuse.
 */
static void fuse_products(const struct gt_strbuf *text, struct gt_strbuf *fused)
{
	static const char wanted[] = "@llvm.fmuladd.";
	const char *at = gt_strbuf_string(text), *found;

	while ((found = strstr(at, wanted))) {
		gt_strbuf_add(fused, at, (size_t)(found - at));
		gt_strbuf_puts(fused, "@llvm.fma.");
		at = found + sizeof(wanted) - 1;
	}
	gt_strbuf_puts(fused, at);
}

/* OpenCL C to bitcode. */
static int compile_text(size_t number, const struct gt_cl_source *source,
			const struct options *options, struct gt_strbuf *ret_bitcode,
			struct gt_strbuf *ret_log, struct gt_diag *diag)
{
	gt_auto_strbuf text = GT_STRBUF_INIT, fused = GT_STRBUF_INIT;
	const struct gt_strbuf *assembled = source->fuses ? &fused : &text;
	const struct step compile = {COMPILE, tools[number].compiler, options, source->directory};
	const struct step assemble = {.kind = ASSEMBLE, .tool = tools[number].compiler};
	int error = run_step(&compile, source->bytes, source->size, &text, ret_log, diag);

	if (error)
		return error;
	if (source->fuses)
		fuse_products(&text, &fused);
	if (assembled->failed)
		return gt_diag(diag, -ENOMEM, "device", NULL, "out of memory");
	return run_step(&assemble, assembled->data, assembled->length, ret_bitcode, ret_log, diag);
}

static int compile_with(size_t number, const struct gt_cl_source *source,
			const struct options *options, struct gt_strbuf *ret_module,
			struct gt_strbuf *ret_log, struct gt_diag *diag)
{
	const struct step convert = {.kind = CONVERT, .tool = tools[number].converter};
	gt_auto_strbuf bitcode = GT_STRBUF_INIT;
	int error;

	if (!source->is_text)
		return run_step(&convert, source->bytes, source->size, ret_module, ret_log, diag);
	error = compile_text(number, source, options, &bitcode, ret_log, diag);
	return error ? error
		     : run_step(&convert, bitcode.data, bitcode.length, ret_module, ret_log, diag);
}

int gt_cl_compile(const struct gt_cl_source *source, struct gt_strbuf *ret_module,
		  struct gt_strbuf *ret_log, struct gt_diag *diag)
{
	struct options options;
	int error = read_options(source->options, &options, diag);

	for (size_t i = 0; i < gt_countof(tools) && !error; i++) {
		error = compile_with(i, source, &options, ret_module, ret_log, diag);
		if (error != -ENOENT)
			break;
		error = 0;
		if (i == gt_countof(tools) - 1)
			error = gt_diag(diag, -ENOENT, "device", NULL,
					"source only: clang and llvm-spirv of one version, 14 or "
					"newer, compile it");
	}
	free(options.text);
	return error;
}
