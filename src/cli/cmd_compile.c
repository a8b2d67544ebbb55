/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "compile": translate the GPU programs of an object to code for a GPU. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/programs.h"
#include "cli/rejection.h"
#include "gpubpf/object/object.h"
#include "gpubpf/translate.h"

enum {
	MAX_SIZE = 4096, /* instructions of a GPU program */
};

struct compile_options {
	int target;
	const char *sm, *version, *program, *output, *as;
	struct gt_strings features;
	uint64_t mem_size, max_insns, max_size;
	bool allow_control;
};

#define AT(field) offsetof(struct compile_options, field)

static const char *const targets[] = {
#define TARGET(name) #name,
#include "gpubpf/targets.def"
#undef TARGET
	NULL,
};

static const char *const feature_names[] = {
#define FEATURE(name, text) text,
#include "spirv/device_features.def"
#undef FEATURE
	NULL,
};

static const struct gt_option option_table[] = {
	{0, "target", "TARGET", "translate to TARGET: ptx or spirv", GT_OPTION_CHOICE, AT(target),
	 targets},
	{'o', "output", "FILE", "write to FILE ('-': stdout)", GT_OPTION_STRING, AT(output), NULL},
	{0, "sm", "N", "minimum compute capability: 90 is 9.0, 90a is 9.0 only (60)",
	 GT_OPTION_STRING, AT(sm), NULL},
	{0, "ptx-version", "VERSION", "PTX version, such as 7.8 (the oldest that is sufficient)",
	 GT_OPTION_STRING, AT(version), NULL},
	{0, "features", "FEATURE,…",
	 "what the OpenCL device has: sub-groups, uniform-sub-groups, sub-groups-of-32, "
	 "sub-group-clock, device-clock (none)",
	 GT_OPTION_LIST, AT(features), feature_names},
	{0, "prog", "NAME", "translate only this program", GT_OPTION_STRING, AT(program), NULL},
	GT_CLI_OPTION_AS(AT(as)),
	{0, "mem-size", "SIZE", "bytes of the memory of gpu/run programs (0)", GT_OPTION_SIZE,
	 AT(mem_size), NULL},
	{0, "max-insns", "N", "reject programs that may execute more than N instructions",
	 GT_OPTION_COUNT, AT(max_insns), NULL},
	{0, "max-size", "N", "reject programs of more than N instructions (4096)", GT_OPTION_COUNT,
	 AT(max_size), NULL},
	{0, "allow-control", NULL, "accept helpers that change what the kernel does",
	 GT_OPTION_FLAG, AT(allow_control), NULL},
};

static const char *const examples[] = {
	"gputap compile --target ptx probe.bpf.o -o probe.ptx",
	"gputap compile --target spirv probe.bpf.o -o probe.spv  # for OpenCL; check: spirv-val",
	"gputap compile --target spirv --features sub-groups probe.bpf.o -o probe.spv",
	"gputap compile --sm 90 --prog count probe.bpf.o -o -   # one program, to standard output",
	NULL,
};

/* "90" or "90a". */
static int read_sm(const char *text, struct gt_translate_options *options)
{
	char suffix = 0, more;
	int count = text && !isdigit((unsigned char)*text) ? 0
		    : text ? sscanf(text, "%3u%c%c", &options->sm, &suffix, &more)
			   : 1;

	if (count < 1 || count > 2 || (count == 2 && suffix != 'a') || (text && !options->sm))
		return -EINVAL;
	options->sm_suffix = suffix;
	return 0;
}

/* "7.8" */
static int read_version(const char *text, struct gt_translate_options *options)
{
	unsigned major, minor;
	char more;

	if (!text)
		return 0;
	if (sscanf(text, "%2u.%1u%c", &major, &minor, &more) != 2 || !major)
		return -EINVAL;
	options->version = major * 10 + minor;
	return 0;
}

/* The number of a feature in feature_names, which ends with NULL. */
static size_t number_of_feature(const char *name)
{
	size_t i = 0;

	while (feature_names[i] && strcmp(feature_names[i], name))
		i++;
	return i;
}

static int report_feature(const struct gt_cli_command *self, const char *name)
{
	gt_auto_strbuf known = GT_STRBUF_INIT;

	for (size_t i = 0; feature_names[i]; i++)
		gt_strbuf_printf(&known, "%s%s", i ? ", " : "", feature_names[i]);
	return gt_cli_usage_error(self, "invalid value '%s' for --features (one of: %s)", name,
				  gt_strbuf_string(&known));
}

/* GT_GO_ON, or the status of an error. */
static int read_features(const struct gt_cli_command *self, const struct gt_strings *list,
			 unsigned *ret_features)
{
	gt_vec_each (word, &list->words) {
		size_t number = number_of_feature(*word);

		if (!feature_names[number])
			return report_feature(self, *word);
		*ret_features |= 1u << number;
	}
	return GT_GO_ON;
}

/* Verify a program and add it to the translation. Prints the reason of an error. */
static int compile_program(const struct compile_options *given,
			   const struct gt_translate_options *options,
			   const struct gt_bpf_object *object, const struct gt_bpf_program *program,
			   const struct gt_section *section, struct gt_translation *translation)
{
	struct gt_verify_options check = {
		.max_size = (uint32_t)given->max_size,
		.max_executed = given->max_insns,
		.allow_control = given->allow_control,
	};
	struct gt_translate_job job = {.program = program};
	struct gt_verify_error rejection = {0};
	gt_auto_strbuf where = GT_STRBUF_INIT;
	struct gt_facts facts = {0};
	struct gt_diag diag = {0};
	int error;

	gt_cli_set_input(&check, section, given->mem_size);
	error = gt_verify(object, program, &check, &facts, &rejection, &diag);
	job.section = check.section;
	job.memory_size = check.memory_size;
	job.facts = &facts;
	if (!error)
		error = gt_code_target_find(targets[given->target])
				->translate(options, object, &job, translation, &diag);
	gt_facts_clear(&facts);
	if (!error)
		return 0;
	gt_cli_error("%s: %s%s%s", program->name, diag.place, diag.place[0] ? ": " : "", diag.text);
	gt_cli_put_rejection(&where, program, &rejection);
	if (rejection.is_at_insn)
		gt_strbuf_printf(&where, "  'gputap verify --log' shows each step\n");
	fputs(gt_strbuf_string(&where), stderr);
	return error;
}

/* Translate the selected programs. Their number, or -1 with the reason printed. */
static int compile_all(const struct compile_options *given,
		       const struct gt_translate_options *options,
		       const struct gt_bpf_object *object, struct gt_translation *translation)
{
	int count = 0;

	for (uint32_t i = 0; i < object->program_count; i++) {
		const struct gt_bpf_program *program = &object->programs[i];
		struct gt_section section;
		struct gt_diag diag = {0};

		if (given->program && strcmp(given->program, program->name))
			continue;
		if (gt_cli_section_of(program, given->as, &section, &diag)) {
			gt_cli_diag(&diag);
			return -1;
		}
		if (compile_program(given, options, object, program, &section, translation))
			return -1;
		count++;
	}
	return count;
}

static int write_output(const char *path, const struct gt_strbuf *text)
{
	bool is_standard = !strcmp(path, "-");
	gt_autoclose int file =
		is_standard ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int error;

	if (!is_standard && file < 0)
		error = -errno;
	else
		error = gt_write_all(is_standard ? STDOUT_FILENO : file, text->data, text->length);
	if (!error)
		return GT_EXIT_OK;
	gt_cli_error("cannot write %s: %s%s", path, strerror(-error),
		     gt_file_advice(error, GT_FILE_WRITTEN));
	return GT_EXIT_FAILED;
}

static int translate_object(const struct compile_options *given,
			    const struct gt_translate_options *options,
			    const struct gt_bpf_object *object, const char *path)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_translation translation = {0};
	struct gt_diag diag = {0};
	int count = compile_all(given, options, object, &translation), error = 0;

	if (count > 0)
		error = gt_code_target_find(targets[given->target])
				->finish(options, &translation, &text, &diag);
	gt_translation_clear(&translation);
	if (error)
		gt_cli_diag(&diag);
	if (!count && given->program)
		gt_cli_error("%s: no GPU program '%s'", path, given->program);
	else if (!count)
		gt_cli_error("%s: no GPU programs", path);
	return count <= 0 || error ? GT_EXIT_FAILED : write_output(given->output, &text);
}

/* Complete what the options say of the target. GT_GO_ON, or the status of an error. */
static int complete_target(const struct gt_cli_command *self, const struct compile_options *given,
			   struct gt_translate_options *target)
{
	if (strcmp(targets[given->target], "ptx") && (given->sm || given->version))
		return gt_cli_usage_error(self, "--%s needs --target ptx",
					  given->sm ? "sm" : "ptx-version");
	if (given->features.words.count && strcmp(targets[given->target], "spirv"))
		return gt_cli_usage_error(self, "--features needs --target spirv");
	if (read_sm(given->sm, target))
		return gt_cli_usage_error(self, "invalid value '%s' for --sm (such as 90 or 90a)",
					  given->sm);
	if (read_version(given->version, target))
		return gt_cli_usage_error(
			self, "invalid value '%s' for --ptx-version (such as 7.8)", given->version);
	return read_features(self, &given->features, &target->features);
}

static int check_and_translate(const struct gt_cli_command *self,
			       const struct compile_options *given, const char *path)
{
	struct gt_translate_options target = {.form = GT_FORM_KERNEL};
	gt_auto(bpf_object) struct gt_bpf_object *object = NULL;
	struct gt_diag diag = {0};
	int status;

	if (given->output && strcmp(given->output, "-") && gt_is_same_file(given->output, path))
		return gt_cli_usage_error(self, "%s is the input: choose another FILE for -o",
					  given->output);
	if (!given->output)
		return gt_cli_usage_error(self, "-o FILE is needed ('-': standard output)");
	status = complete_target(self, given, &target);
	if (status != GT_GO_ON)
		return status;
	if (given->mem_size > UINT32_MAX)
		return gt_cli_usage_error(self, "--mem-size must be at most %u", UINT32_MAX);
	if (given->max_size > GT_BPF_MAX_INSNS)
		return gt_cli_usage_error(self, "--max-size must be at most %d", GT_BPF_MAX_INSNS);
	status = gt_cli_check_as(self, given->as);
	if (status != GT_GO_ON)
		return status;
	if (gt_bpf_object_open(path, given->as, &object, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_USAGE;
	}
	return translate_object(given, &target, object, path);
}

static int run_compile(const struct gt_cli_command *self, int count, char **arguments)
{
	struct compile_options given = {.max_size = MAX_SIZE};
	int rest, status;

	status = gt_cli_parse(self, count, arguments, &given, &rest);
	if (status == GT_GO_ON && rest + 1 != count)
		status = gt_cli_usage_error(self, "one FILE is needed");
	if (status == GT_GO_ON)
		status = check_and_translate(self, &given, arguments[rest]);
	gt_strings_free(&given.features);
	return status;
}

const struct gt_cli_command gt_command_compile = {
	.name = "compile",
	.summary = "Translate the GPU programs of an eBPF object to PTX or SPIR-V",
	.usage = "[options] FILE -o FILE",
	.description =
		"Verifies the GPU programs of an object made by 'clang -target bpf' and translates "
		"each to a kernel, gputap_<name>, which runs it once per thread, warp or block. "
		"The output is for reading, measuring and assembling with ptxas, or, with --target "
		"spirv, for OpenCL devices. The kernel's "
		"parameters are the memory of a program of gpu/run, the size of that memory, the "
		"address for the results and, for programs with a context, its bytes. Nothing is "
		"written unless all programs are safe; --prog selects one. Exit status 1: a "
		"program is rejected, and the reason is printed; 2: the object is malformed.",
	.examples = examples,
	.options = option_table,
	.option_count = gt_countof(option_table),
	.options_anywhere = true,
	.run = run_compile,
};
