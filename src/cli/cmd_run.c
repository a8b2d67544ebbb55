/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "run": run a command with GPU programs inserted into its kernels. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/programs.h"
#include "cli/rejection.h"
#include "gpubpf/object/object.h"
#include "run/inject_command.h"

struct run_options {
	bool json, verbose, allow_control;
	int gpu;
	uint64_t interval, threads, max_insns;
};

#define AT(field) offsetof(struct run_options, field)

enum {
	DEFAULT_THREADS = 1 << 20,
};

static const struct gt_option option_table[] = {
	{0, "gpu", "GPU", "the GPU of CMD: auto, nvidia or soft", GT_OPTION_CHOICE, AT(gpu),
	 gt_gpu_names},
	{0, "interval", "TIME", "print the maps every TIME, too", GT_OPTION_PERIOD, AT(interval),
	 NULL},
	{0, "threads", "N", "threads that maps with a value per thread have room for (1048576)",
	 GT_OPTION_COUNT, AT(threads), NULL},
	{'v', "verbose", NULL, "print what becomes of each module as it is loaded", GT_OPTION_FLAG,
	 AT(verbose), NULL},
	{0, "json", NULL, "print JSON", GT_OPTION_FLAG, AT(json), NULL},
	{0, "max-insns", "N", "reject programs that may execute more than N instructions",
	 GT_OPTION_COUNT, AT(max_insns), NULL},
	{0, "allow-control", NULL, "accept helpers that change what the kernel does",
	 GT_OPTION_FLAG, AT(allow_control), NULL},
};

static const char *const examples[] = {
	"gputap run counter.bpf.o -- ./vectoradd                # maps and coverage at the end",
	"gputap run -v --interval 1s counter.bpf.o -- ./train   # each module; maps every second",
	NULL,
};

/* The programs of an object, verified, and the collector. */
struct injection {
	const struct run_options *given;
	struct gt_bpf_object *object;
	struct gt_patch_program programs[GT_PATCH_MAX_PROGRAMS];
	struct gt_facts facts[GT_PATCH_MAX_PROGRAMS];
	uint32_t count;
	struct gt_inject *inject;
	uint64_t lines_lost;
};

/* ---- programs -------------------------------------------------------------------------- */

static int print_rejection(const struct gt_bpf_program *program, const struct gt_diag *diag,
			   const struct gt_verify_error *rejection)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_cli_put_rejection(&text, program, rejection);
	gt_cli_error("%s: rejected: %s", program->name, diag->text);
	fputs(gt_strbuf_string(&text), stderr);
	return GT_EXIT_FAILED;
}

static int verify_program(struct injection *self, const struct gt_bpf_program *program)
{
	struct gt_patch_program *inserted = &self->programs[self->count];
	struct gt_verify_options options = {
		.max_executed = self->given->max_insns,
		.allow_control = self->given->allow_control,
	};
	struct gt_verify_error rejection = {0};
	struct gt_diag diag = {0};

	if (gt_cli_section_of(program, NULL, &inserted->section, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	if (inserted->section.kind == GT_KIND_RUN) {
		gt_cli_error("%s (%s) runs in no kernel; execute it with 'gputap exec'",
			     program->name, program->section);
		return GT_EXIT_FAILED;
	}
	gt_cli_set_input(&options, &inserted->section, 0);
	if (gt_verify(self->object, program, &options, &self->facts[self->count], &rejection,
		      &diag))
		return print_rejection(program, &diag, &rejection);
	inserted->program = program;
	inserted->facts = &self->facts[self->count++];
	return GT_GO_ON;
}

/* Open the object and verify its GPU programs. GT_GO_ON, or the exit status. */
static int read_programs(struct injection *self, const char *path)
{
	struct gt_diag diag = {0};
	int status = GT_GO_ON;

	if (gt_bpf_object_open(path, false, &self->object, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_USAGE;
	}
	if (!self->object->program_count) {
		gt_cli_error("%s has no GPU program; 'gputap verify' lists its programs", path);
		return GT_EXIT_FAILED;
	}
	if (self->object->program_count > GT_PATCH_MAX_PROGRAMS) {
		gt_cli_error("%s has %u GPU programs; at most %d can be inserted", path,
			     self->object->program_count, GT_PATCH_MAX_PROGRAMS);
		return GT_EXIT_FAILED;
	}
	for (uint32_t i = 0; i < self->object->program_count && status == GT_GO_ON; i++)
		status = verify_program(self, &self->object->programs[i]);
	if (self->object->host_program_count && status == GT_GO_ON)
		gt_cli_error("the object's %u host programs are not attached",
			     self->object->host_program_count);
	return status;
}

static void free_programs(struct injection *self)
{
	for (uint32_t i = 0; i < self->count; i++)
		gt_facts_clear(&self->facts[i]);
	gt_bpf_object_free(self->object);
}

/* ---- printing -------------------------------------------------------------------------- */

static void report_module(void *context, const struct gt_inject_module *module)
{
	const struct injection *self = context;

	if (!self->given->verbose)
		return;
	if (module->scope == GT_PATCH_NONE && !module->reason)
		gt_cli_error("module %u of process %d: no kernel matches", module->number,
			     (int)module->pid);
	else
		gt_cli_error("module %u of process %d: %u kernels, %u of %u sites patched%s%s",
			     module->number, (int)module->pid, module->kernels, module->patched,
			     module->found, module->reason ? "; " : "",
			     module->reason ? module->reason : "");
}

static bool is_shown(const struct injection *self, uint32_t map)
{
	return gt_inject_has_map(self->inject, map) && !self->object->maps[map].constant;
}

static bool is_ring(const struct injection *self, uint32_t map)
{
	return gt_bpf_map_kind(self->object->maps[map].type)->shape == GT_BPF_MAP_RING;
}

static void put_record(const struct injection *self, uint32_t map, const uint8_t *record,
		       uint32_t size, struct gt_strbuf *text)
{
	gt_put_printable(text, self->object->maps[map].name);
	gt_strbuf_puts(text, ": ");
	for (uint32_t i = 0; i < size; i++)
		gt_strbuf_printf(text, "%02x", record[i]);
	gt_strbuf_putc(text, '\n');
}

static void json_record(const struct injection *self, uint32_t map, const uint8_t *record,
			uint32_t size, struct gt_strbuf *text)
{
	gt_auto_strbuf bytes = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(text);

	for (uint32_t i = 0; i < size; i++)
		gt_strbuf_printf(&bytes, "%02x", record[i]);
	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "ring", self->object->maps[map].name);
	gt_json_string(&json, "record", gt_strbuf_string(&bytes));
	gt_json_object_end(&json);
	gt_strbuf_putc(text, '\n');
}

/* Records of rings go to standard output, what programs print to standard error. */
static void print_new(void *context)
{
	struct injection *self = context;
	gt_auto_strbuf text = GT_STRBUF_INIT, lines = GT_STRBUF_INIT;
	const void *record;
	uint32_t size;

	for (uint32_t i = 0; i < self->object->map_count; i++) {
		if (!is_shown(self, i) || !is_ring(self, i))
			continue;
		while (gt_inject_next_record(self->inject, i, &record, &size) == 1)
			(self->given->json ? json_record : put_record)(self, i, record, size,
								       &text);
	}
	gt_inject_print(self->inject, &lines, &self->lines_lost);
	fputs(gt_strbuf_string(&text), stdout);
	fputs(gt_strbuf_string(&lines), stderr);
	fflush(stdout);
}

static void put_maps(const struct injection *self, struct gt_strbuf *text)
{
	for (uint32_t i = 0; i < self->object->map_count; i++) {
		struct gt_bpf_map_view view;

		if (!is_shown(self, i))
			continue;
		view = gt_inject_view(self->inject, i);
		gt_bpf_map_print(&view, text);
	}
}

static void json_maps(const struct injection *self, struct gt_json *json)
{
	gt_json_array_begin(json, "maps");
	for (uint32_t i = 0; i < self->object->map_count; i++) {
		struct gt_bpf_map_view view;

		if (!is_shown(self, i))
			continue;
		view = gt_inject_view(self->inject, i);
		gt_bpf_map_print_json(&view, json, NULL);
	}
	gt_json_array_end(json);
}

static void print_maps(void *context)
{
	const struct injection *self = context;
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);

	if (self->given->json) {
		gt_json_object_begin(&json, NULL);
		json_maps(self, &json);
		gt_json_object_end(&json);
		gt_strbuf_putc(&text, '\n');
	} else {
		put_maps(self, &text);
	}
	fputs(gt_strbuf_string(&text), stdout);
	fflush(stdout);
}

static void json_result(const struct injection *self, int status)
{
	struct gt_inject_coverage coverage = gt_inject_coverage(self->inject);
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);

	gt_json_object_begin(&json, NULL);
	json_maps(self, &json);
	gt_json_object_begin(&json, "coverage");
	gt_json_u64(&json, "modules", coverage.modules);
	gt_json_u64(&json, "modules_patched", coverage.modules_patched);
	gt_json_u64(&json, "modules_sass_only", coverage.modules_sass);
	gt_json_u64(&json, "modules_failed", coverage.modules_failed);
	gt_json_u64(&json, "kernels", coverage.kernels);
	gt_json_u64(&json, "found", coverage.found);
	gt_json_u64(&json, "patched", coverage.patched);
	gt_json_u64(&json, "rejected", coverage.rejected);
	gt_json_object_end(&json);
	gt_json_u64(&json, "lines_lost", self->lines_lost);
	gt_json_u64(&json, "status", (uint64_t)status);
	gt_json_object_end(&json);
	printf("%s\n", gt_strbuf_string(&text));
}

/* The coverage, on standard error, as the account of "trace" is. */
static void print_coverage(const struct injection *self)
{
	struct gt_inject_coverage coverage = gt_inject_coverage(self->inject);

	gt_cli_error("%u modules: %u patched, %u SASS only, %u failed; %u kernels; %" PRIu64
		     " sites: %" PRIu64 " patched, %" PRIu64 " rejected",
		     coverage.modules, coverage.modules_patched, coverage.modules_sass,
		     coverage.modules_failed, coverage.kernels, coverage.found, coverage.patched,
		     coverage.rejected);
	if (!coverage.modules)
		gt_cli_error("the command loaded no CUDA module that the agent could see");
	if (self->lines_lost)
		gt_cli_error("%" PRIu64 " lines that programs printed were dropped (buffer full)",
			     self->lines_lost);
}

/* ---- running --------------------------------------------------------------------------- */

static void print_remark(const char *text)
{
	gt_cli_error("%s", text);
}

static int run_command(struct injection *self, char **words)
{
	const struct gt_inject_options options = {
		.object = self->object,
		.programs = self->programs,
		.program_count = self->count,
		.threads = (uint32_t)self->given->threads,
		.report = report_module,
		.context = self,
	};
	const struct gt_inject_command command = {
		.words = words,
		.gpu = (enum gt_gpu)self->given->gpu,
		.interval_ns = self->given->interval,
		.idle = print_new,
		.tick = print_maps,
		.context = self,
	};
	gt_auto(inject) struct gt_inject *inject = NULL;
	struct gt_diag diag = {0};
	int status = GT_EXIT_FAILED;
	int error = gt_inject_open(&options, &inject, &diag);

	self->inject = inject;
	if (!error)
		error = gt_inject_run(inject, &command, print_remark, &status, &diag);
	if (error) {
		gt_cli_diag(&diag);
		return status;
	}
	print_new(self);
	if (self->given->json)
		json_result(self, status);
	else
		print_maps(self);
	print_coverage(self);
	return status;
}

static int run_run(const struct gt_cli_command *self, int count, char **arguments)
{
	struct run_options given = {.gpu = GT_GPU_AUTO, .threads = DEFAULT_THREADS};
	struct injection injection = {.given = &given};
	int rest, status = gt_cli_parse(self, count, arguments, &given, &rest);

	if (status != GT_GO_ON)
		return status;
	if (rest == count)
		return gt_cli_usage_error(self, "an object file is needed");
	if (rest + 2 >= count || strcmp(arguments[rest + 1], "--") != 0)
		return gt_cli_usage_error(self, "a command is needed: -- CMD");
	if (given.threads > UINT32_MAX)
		return gt_cli_usage_error(self, "--threads is at most %u", UINT32_MAX);
	status = read_programs(&injection, arguments[rest]);
	if (status == GT_GO_ON)
		status = run_command(&injection, arguments + rest + 2);
	free_programs(&injection);
	return status;
}

const struct gt_cli_command gt_command_run = {
	.name = "run",
	.summary = "Run a command with GPU programs inserted into its kernels",
	.usage = "[options] FILE -- CMD ARGS",
	.description =
		"Verifies the GPU programs of an object made by 'clang -target bpf', runs CMD, and "
		"inserts them into its kernels while CMD loads its modules: from PTX, without "
		"changing CMD. Records of rings are printed as they come, the maps and the "
		"coverage at the end: sites found = patched + rejected. Modules without PTX are "
		"loaded as they are and counted as SASS only. Needs no privilege.",
	.examples = examples,
	.options = option_table,
	.option_count = gt_countof(option_table),
	.options_anywhere = true,
	.run = run_run,
};
