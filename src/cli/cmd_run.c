/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "run": run a command with GPU programs inserted into its kernels. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/injection.h"
#include "cli/programs.h"

#define AT(field) offsetof(struct gt_cli_injection_options, field)

static const struct gt_option option_table[] = {
	{0, "gpu", "GPU", "the GPU of CMD: auto, nvidia or soft", GT_OPTION_CHOICE, AT(gpu),
	 gt_gpu_names},
	{0, "interval", "TIME", "print the maps every TIME, too", GT_OPTION_PERIOD, AT(interval),
	 NULL},
	{0, "threads", "N", "threads that maps with a value per thread have room for (1048576)",
	 GT_OPTION_COUNT, AT(threads), NULL},
	{'v', "verbose", NULL, "print what becomes of each module as it is loaded", GT_OPTION_FLAG,
	 AT(verbose), NULL},
	GT_CLI_OPTION_KERNEL,
	GT_CLI_OPTION_HOST_MAPS,
	GT_CLI_OPTION_SAVE_MODULES,
	{0, "prog", "NAME,…", "insert only these programs of the objects (all)", GT_OPTION_LIST,
	 AT(names), NULL},
	GT_CLI_OPTION_SET(AT(values)),
	{0, "attach", "NAME=TARGET",
	 "attach the host program NAME to TARGET, FILE:FUNCTION, in place of that in its section",
	 GT_OPTION_WORDS, AT(targets), NULL},
	{0, "no-linux", NULL, "do not attach the objects' host programs (uprobe/… and others)",
	 GT_OPTION_FLAG, AT(no_host_programs), NULL},
	{0, "json", NULL, "print JSON", GT_OPTION_FLAG, AT(json), NULL},
	GT_CLI_OPTION_OUTPUT,
	{0, "null", NULL, "insert nothing: load the modules in the same way, to measure that",
	 GT_OPTION_FLAG, AT(null), NULL},
	{0, "max-insns", "N", "reject programs that may execute more than N instructions",
	 GT_OPTION_COUNT, AT(max_insns), NULL},
	{0, "allow-control", NULL, "accept helpers that change what the kernel does",
	 GT_OPTION_FLAG, AT(allow_control), NULL},
	GT_CLI_INJECTION_CHANGES,
};

static const char *const examples[] = {
	"gputap run counter.bpf.o -- ./vectoradd                # maps and coverage at the end",
	"gputap run -v --interval 1s counter.bpf.o -- ./train   # each module; maps every second",
	NULL,
};

/* ---- printing -------------------------------------------------------------------------- */

static void put_record(const struct gt_cli_injection *self, uint32_t map, const uint8_t *record,
		       uint32_t size, struct gt_strbuf *text)
{
	gt_put_printable(text, self->object->maps[map].name);
	gt_strbuf_puts(text, ": ");
	gt_bpf_value_print(&self->object->maps[map].value, record, size, NULL, text);
	gt_strbuf_putc(text, '\n');
}

static void json_record(const struct gt_cli_injection *self, uint32_t map, const uint8_t *record,
			uint32_t size, struct gt_strbuf *text)
{
	struct gt_json json = GT_JSON_INIT(text);

	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "ring", self->object->maps[map].name);
	gt_bpf_value_print_json(&self->object->maps[map].value, record, size, NULL, &json,
				"record");
	gt_json_object_end(&json);
	gt_strbuf_putc(text, '\n');
}

/* A ring may be filled as fast as it is read, so its records are printed in pieces. */
static void print_ring(const struct gt_cli_injection *self, uint32_t map)
{
	enum { PIECE = 1 << 20 };
	gt_auto_strbuf text = GT_STRBUF_INIT;
	const void *record;
	uint32_t size;

	while (gt_inject_next_record(self->inject, map, &record, &size) == 1) {
		(self->given->json ? json_record : put_record)(self, map, record, size, &text);
		if (text.length < PIECE)
			continue;
		fputs(gt_strbuf_string(&text), stdout);
		gt_strbuf_clear(&text);
	}
	fputs(gt_strbuf_string(&text), stdout);
}

static void print_host_record(void *context, uint32_t map, const void *record, uint32_t size)
{
	const struct gt_cli_injection *self = context;
	gt_auto_strbuf text = GT_STRBUF_INIT;

	(self->given->json ? json_record : put_record)(self, map, record, size, &text);
	fputs(gt_strbuf_string(&text), stdout);
}

static void print_lines(struct gt_cli_injection *self)
{
	gt_auto_strbuf lines = GT_STRBUF_INIT;

	gt_cli_injection_take_lines(self, &lines);
	fputs(gt_strbuf_string(&lines), stderr);
}

/* Records of rings go to standard output, what programs print to standard error. */
static void print_new(struct gt_cli_injection *self)
{
	for (uint32_t i = 0; i < self->object->map_count; i++)
		if (gt_cli_injection_shows(self, i) && gt_cli_injection_is_ring(self, i))
			print_ring(self, i);
	if (self->host_programs)
		gt_host_group_read_rings(self->host_programs, print_host_record, self);
	print_lines(self);
	gt_cli_flush_output();
}

static void print_maps(struct gt_cli_injection *self)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);

	if (self->given->json) {
		gt_json_object_begin(&json, NULL);
		gt_cli_injection_json_maps(self, &json);
		gt_json_object_end(&json);
		gt_strbuf_putc(&text, '\n');
	} else {
		gt_cli_injection_put_maps(self, &text);
	}
	fputs(gt_strbuf_string(&text), stdout);
	gt_cli_flush_output();
}

static void json_result(const struct gt_cli_injection *self, int status)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);

	gt_json_object_begin(&json, NULL);
	gt_cli_injection_json_end(self, &json);
	gt_cli_injection_json_command(self, status, &json);
	gt_json_object_end(&json);
	printf("%s\n", gt_strbuf_string(&text));
}

static void print_end(struct gt_cli_injection *self, int status)
{
	if (self->given->json)
		json_result(self, status);
	else
		print_maps(self);
}

/* ---- the command ----------------------------------------------------------------------- */

/* Run with the arguments after the options. The exit status. */
static int run_given(const struct gt_cli_command *command, int count, char **arguments,
		     const struct gt_cli_injection_options *given)
{
	static const struct gt_cli_injection_view view = {
		.idle = print_new, .tick = print_maps, .end = print_end};
	struct gt_cli_injection self = {.given = given, .host_programs_are_optional = true};
	int status, objects = 0;

	while (objects < count && strcmp(arguments[objects], "--") != 0)
		objects++;
	if (!objects)
		return gt_cli_usage_error(command, "an object file is needed");
	if (objects + 1 >= count)
		return gt_cli_usage_error(command, "a command is needed: -- CMD");
	if (given->threads > UINT32_MAX)
		return gt_cli_usage_error(command, "--threads is at most %u", UINT32_MAX);
	status = gt_cli_injection_read(&self, (const char *const *)arguments, (size_t)objects);
	if (status == GT_GO_ON)
		status = gt_cli_injection_run(&self, arguments + objects + 1, &view);
	gt_cli_injection_free(&self);
	return status;
}

static int run_run(const struct gt_cli_command *command, int count, char **arguments)
{
	struct gt_cli_injection_options given = {.gpu = GT_GPU_AUTO,
						 .threads = GT_CLI_INJECTION_THREADS};
	int rest, status = gt_cli_parse(command, count, arguments, &given, &rest);

	if (status == GT_GO_ON)
		status = run_given(command, count - rest, arguments + rest, &given);
	gt_strings_free(&given.values);
	gt_strings_free(&given.names);
	gt_strings_free(&given.kernels);
	gt_strings_free(&given.targets);
	return status;
}

const struct gt_cli_command gt_command_run = {
	.name = "run",
	.summary = "Run a command with GPU programs inserted into its kernels",
	.usage = "[options] FILE… -- CMD ARGS",
	.description =
		"Verifies the GPU programs of objects made by 'clang -target bpf', runs CMD, and "
		"inserts them into its kernels while CMD loads its modules: from PTX, without "
		"changing CMD; into its OpenCL kernels, from source or SPIR-V; and into those of "
		"Level Zero, from SPIR-V. Host programs of the objects are attached to CMD "
		"meanwhile, as "
		"root. Maps of different objects are different maps, unless they are declared with "
		"LIBBPF_PIN_BY_NAME. "
		"Records of rings are printed as they come, the maps and the "
		"coverage at the end: sites found = patched + rejected, and the names and globs "
		"that match "
		"no kernel. Modules without PTX are "
		"loaded as they are and counted as SASS only. Without host programs, no privilege "
		"is "
		"needed.",
	.examples = examples,
	.options = option_table,
	.option_count = gt_countof(option_table),
	.options_anywhere = true,
	.run = run_run,
};
