/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * OpenCL C, and the bitcode of SPIR, to SPIR-V: by clang and llvm-spirv of one version.
 * What is linked of several is linked as bitcode.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/private.h"

enum {
	MAX_WORDS = 256, /* of build options */
	MAX_COMMAND_WORDS = 4 * GT_CL_MAX_SOURCES + 64,
};

/* The oldest first: what they write, each device's compiler reads. */
static const struct {
	const char *compiler, *converter;
} tools[] = {
	{"clang-14", "llvm-spirv-14"}, {"clang-15", "llvm-spirv-15"}, {"clang-16", "llvm-spirv-16"},
	{"clang-17", "llvm-spirv-17"}, {"clang-18", "llvm-spirv-18"}, {"clang-19", "llvm-spirv-19"},
	{"clang", "llvm-spirv"},
};

/*
 * The options of clBuildProgram that clang has, by how they begin (OpenCL 3.0, 5.8.6). Not passed
 * to it: -Werror, since its warnings are not those of the device's compiler, and -g, since
 * llvm-spirv fails on debug information where it writes SPIR-V 1.0.
 */
static const struct {
	const char *text;
	bool is_whole, has_word; /* the next word belongs to it if nothing follows the text */
	bool is_ignored;
} known_options[] = {
	{"-D", .has_word = true},   {"-U", .has_word = true},
	{"-I", .has_word = true},   {"-cl-"},
	{"-w", .is_whole = true},   {"-Werror", .is_whole = true, .is_ignored = true},
	{"-g", .is_ignored = true}, {"-Wall", .is_whole = true},
};

/* ---- options ---- */

struct options {
	char *text; /* the words, each with a NUL */
	char *words[MAX_WORDS];
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

/*
 * Append the word after an option, which begins after its NUL, to it: alone, clang
 * would take "@file" for options in a file.
 */
static void join_words(char *option, const char *next)
{
	memmove(option + strlen(option), next, strlen(next) + 1);
}

/* Check them, and remove those that are ignored. */
static int check_options(struct options *options, struct gt_diag *diag)
{
	size_t kept = 0;

	for (size_t i = 0; i < options->count; i++) {
		char *word = options->words[i];
		size_t known = find_option(word);

		if (!known)
			return gt_diag(diag, -EINVAL, "device", NULL,
				       "the build option %s is not known", word);
		options->has_version |= !strncmp(word, "-cl-std=", strlen("-cl-std="));
		if (known_options[known - 1].has_word && !word[strlen("-D")] &&
		    i + 1 < options->count)
			join_words(word, options->words[++i]);
		if (!known_options[known - 1].is_ignored)
			options->words[kept++] = word;
	}
	options->count = kept;
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

struct compiler {
	const struct gt_cl_compilation *compilation;
	size_t tool; /* in the table */
	struct gt_strbuf *log;
	struct gt_diag *diag;
};

/* One step: what is read, and what is written. */
struct step {
	enum { COMPILE, ASSEMBLE, LINK, CONVERT } kind;
	const char *tool;
	/* Of COMPILE: */
	const struct options *options, *device_options;
	int directory;
	const char *overlay; /* with its headers; NULL: there are none */
};

/* Words of a command line. */
struct command {
	const char *words[MAX_COMMAND_WORDS];
	size_t count;
};

static void add_word(struct command *command, const char *word)
{
	if (command->count < gt_countof(command->words) - 1)
		command->words[command->count++] = word;
}

/* clang, which reads OpenCL C. Its functions get no "optnone": the device's compiler optimizes. */
static void begin_command(struct command *command, const char *name, const char *output)
{
	const char *const words[] = {
		name,      output,   "-x",         "cl", "-O0", "-Xclang", "-disable-O0-optnone",
		"-target", "spir64", "-emit-llvm",
	};

	for (size_t i = 0; i < gt_countof(words); i++)
		add_word(command, words[i]);
}

static int end_command(struct command *command, const struct gt_cl_files *files, int directory)
{
	add_word(command, "-o");
	add_word(command, "-");
	add_word(command, "-");
	return gt_cl_run_tool(command->words, files, directory);
}

/* Extensions are an option of clang's compiler proper. */
static void add_device_option(struct command *command, const char *word)
{
	if (!strncmp(word, "-cl-ext=", strlen("-cl-ext=")))
		add_word(command, "-Xclang");
	add_word(command, word);
}

/* OpenCL C to the text of LLVM's intermediate code. */
static int run_compiler(const struct step *step, const struct gt_cl_files *files)
{
	const struct options *options = step->options;
	struct command command = {0};

	begin_command(&command, step->tool, "-S");
	/* Without the first one, clang takes a table for the header, which lacks functions. */
	add_word(&command, "-cl-no-stdinc");
	add_word(&command, "-Xclang");
	add_word(&command, "-finclude-default-header");
	/* C has no definition of an inline function that is not inlined; OpenCL's compilers do. */
	add_word(&command, "-Dinline=");
	if (!options->has_version)
		add_word(&command, "-cl-std=CL1.2");
	for (size_t i = 0; i < step->device_options->count; i++)
		add_device_option(&command, step->device_options->words[i]);
	if (step->overlay) {
		add_word(&command, "-ivfsoverlay");
		add_word(&command, step->overlay);
		add_word(&command, "-I" GT_CL_HEADERS);
	}
	for (size_t i = 0; i < options->count; i++)
		add_word(&command, options->words[i]);
	return end_command(&command, files, step->directory);
}

/* An empty program, and with it the bitcode of others: clang links it to what it compiles. */
static int run_linker(const char *name, const struct gt_cl_files *files)
{
	gt_autofree char *paths = malloc(files->others.count * GT_CL_HEADER_PATH + 1);
	char *path = paths;
	struct command command = {0};

	if (!paths)
		return -EINVAL;
	begin_command(&command, name, "-c");
	gt_vec_each (file, &files->others) {
		snprintf(path, GT_CL_HEADER_PATH, "/proc/self/fd/%d", *file);
		add_word(&command, "-Xclang");
		add_word(&command, "-mlink-bitcode-file");
		add_word(&command, "-Xclang");
		add_word(&command, path);
		path += GT_CL_HEADER_PATH;
	}
	return end_command(&command, files, -1);
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

static int run_tool(const struct step *step, const struct gt_cl_files *files)
{
	switch (step->kind) {
	case COMPILE:
		return run_compiler(step, files);
	case ASSEMBLE:
		return run_assembler(step->tool, files);
	case LINK:
		return run_linker(step->tool, files);
	case CONVERT:
		return run_converter(step->tool, files);
	}
	return -EINVAL;
}

/*
 * Run a tool on files whose input is there; its output is added. 0; -ENOENT without a diag: it is
 * not installed; -Exxx.
 */
static int run_on_files(const struct compiler *compiler, const struct step *step,
			struct gt_cl_files *files, struct gt_strbuf *ret_output)
{
	struct gt_diag *diag = compiler->diag;
	int status;

	files->limit = compiler->compilation->limit;
	status = run_tool(step, files);
	if (status == -ENOENT)
		return status;
	gt_cl_files_append(files->messages, compiler->log);
	if (status == -ETIME)
		return gt_diag(diag, -EINVAL, "device", step->tool,
			       "%s was ended: it took too long", step->tool);
	if (status)
		return gt_diag(diag, -EINVAL, "device", step->tool, "%s failed (status %d)",
			       step->tool, status);
	status = gt_cl_files_append(files->output, ret_output);
	return status ? gt_diag(diag, status, "device", step->tool, "cannot read its output: %s",
				strerror(-status))
		      : 0;
}

/* The same with an input alone. */
static int run_step(const struct compiler *compiler, const struct step *step,
		    const struct gt_strbuf *input, struct gt_strbuf *ret_output)
{
	gt_auto_cl_files files = GT_CL_FILES_NONE;
	int error = input->failed
			    ? gt_diag(compiler->diag, -ENOMEM, "device", NULL, "out of memory")
			    : gt_cl_files_open(&files, input->data, input->length, compiler->diag);

	return error ? error : run_on_files(compiler, step, &files, ret_output);
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

/*
 * Without optimization, clang denies the inlining of each function, in the attributes that follow
 * the functions. PoCL executes barriers in branches wrongly in some kernels with such calls.
 */
static void allow_inlining(const struct gt_strbuf *text, struct gt_strbuf *allowed)
{
	static const char attributes[] = "attributes #", denied[] = " noinline ";
	const char *line = gt_strbuf_string(text), *end = line + text->length;

	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line)), *word = NULL;

		next = next ? next + 1 : end;
		if (!strncmp(line, attributes, strlen(attributes)))
			word = memmem(line, (size_t)(next - line), denied, strlen(denied));
		gt_strbuf_add(allowed, line, (size_t)((word ? word : next) - line));
		line = word ? word + strlen(denied) - 1 : next;
	}
}

/* ---- programs ---- */

static int compile_source(const struct compiler *compiler, const struct gt_cl_source *source,
			  const struct options *options, const struct options *device_options,
			  struct gt_strbuf *ret_text)
{
	gt_auto_cl_files files = GT_CL_FILES_NONE;
	char overlay[GT_CL_HEADER_PATH];
	struct step step = {
		.kind = COMPILE,
		.tool = tools[compiler->tool].compiler,
		.options = options,
		.device_options = device_options,
		.directory = compiler->compilation->directory,
	};
	int error = gt_cl_files_open(&files, source->bytes, source->size, compiler->diag);

	if (!error && source->header_count) {
		error = gt_cl_headers_add(source, &files, overlay, compiler->diag);
		step.overlay = overlay;
	}
	return error ? error : run_on_files(compiler, &step, &files, ret_text);
}

/* OpenCL C to bitcode. */
static int compile_text(const struct compiler *compiler, const struct gt_cl_source *source,
			struct gt_strbuf *ret_bitcode)
{
	bool fuses = compiler->compilation->fuses;
	gt_auto_strbuf text = GT_STRBUF_INIT, allowed = GT_STRBUF_INIT, fused = GT_STRBUF_INIT;
	const struct step assemble = {.kind = ASSEMBLE, .tool = tools[compiler->tool].compiler};
	const char *given = compiler->compilation->device_options;
	struct options options, device_options = {0};
	int error = read_options(source->options, &options, compiler->diag);

	if (!error)
		error = read_options(given ? given : "", &device_options, compiler->diag);
	if (!error)
		error = compile_source(compiler, source, &options, &device_options, &text);
	free(options.text);
	free(device_options.text);
	if (error)
		return error;
	allow_inlining(&text, &allowed);
	if (fuses)
		fuse_products(&allowed, &fused);
	return run_step(compiler, &assemble, fuses ? &fused : &allowed, ret_bitcode);
}

static int make_bitcode(const struct compiler *compiler, const struct gt_cl_source *source,
			struct gt_strbuf *ret_bitcode)
{
	switch (source->language) {
	case GT_CL_SOURCE:
		return compile_text(compiler, source, ret_bitcode);
	case GT_CL_SPIR:
		gt_strbuf_add(ret_bitcode, source->bytes, source->size);
		return 0;
	case GT_CL_SPIRV:
		return gt_cl_convert(source->bytes, source->size, ret_bitcode, compiler->log,
				     compiler->diag);
	}
	return -EINVAL;
}

static int add_bitcode(const struct compiler *compiler, const struct gt_cl_source *source,
		       struct gt_cl_files *files)
{
	gt_auto_strbuf bitcode = GT_STRBUF_INIT;
	int error = make_bitcode(compiler, source, &bitcode);

	if (error)
		return error;
	if (bitcode.failed || gt_cl_files_add(files, bitcode.data, bitcode.length) < 0)
		return gt_diag(compiler->diag, -ENOMEM, "device", NULL, "out of memory");
	return 0;
}

static int link_sources(const struct compiler *compiler, struct gt_strbuf *ret_bitcode)
{
	const struct gt_cl_compilation *compilation = compiler->compilation;
	const struct step link = {.kind = LINK, .tool = tools[compiler->tool].compiler};
	gt_auto_cl_files files = GT_CL_FILES_NONE;
	int error = gt_cl_files_open(&files, "", 0, compiler->diag);

	for (size_t i = 0; i < compilation->count && !error; i++)
		error = add_bitcode(compiler, &compilation->sources[i], &files);
	return error ? error : run_on_files(compiler, &link, &files, ret_bitcode);
}

static int compile_with(const struct compiler *compiler, struct gt_strbuf *ret_module)
{
	const struct gt_cl_compilation *compilation = compiler->compilation;
	const struct step convert = {.kind = CONVERT, .tool = tools[compiler->tool].converter};
	gt_auto_strbuf bitcode = GT_STRBUF_INIT;
	int error = compilation->count == 1
			    ? make_bitcode(compiler, &compilation->sources[0], &bitcode)
			    : link_sources(compiler, &bitcode);

	return error ? error : run_step(compiler, &convert, &bitcode, ret_module);
}

int gt_cl_compile(const struct gt_cl_compilation *compilation, struct gt_strbuf *ret_module,
		  struct gt_strbuf *ret_log, struct gt_diag *diag)
{
	struct compiler compiler = {.compilation = compilation, .log = ret_log, .diag = diag};

	if (compilation->count > GT_CL_MAX_SOURCES)
		return gt_diag(diag, -E2BIG, "device", NULL, "more than %d programs are linked",
			       GT_CL_MAX_SOURCES);
	for (; compiler.tool < gt_countof(tools); compiler.tool++) {
		int error = compile_with(&compiler, ret_module);

		if (error != -ENOENT)
			return error;
	}
	return gt_diag(diag, -ENOENT, "device", NULL,
		       "source only: clang and llvm-spirv of one version, 14 or newer, compile it");
}
