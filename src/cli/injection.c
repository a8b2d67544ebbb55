/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/injection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/programs.h"
#include "cli/rejection.h"

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

/* What --when and --sample give for a program. */
static int read_filter(const struct gt_cli_injection *self, const struct gt_section *section,
		       struct gt_bpf_filter *filter, struct gt_diag *diag)
{
	if (self->given->sample && gt_bpf_filter_parse_period(self->given->sample, &filter->period))
		return gt_diag(diag, -EINVAL, "sample", NULL,
			       "invalid value '%s' for --sample (1/N, such as 1/100)",
			       self->given->sample);
	return self->given->when ? gt_bpf_filter_parse(self->given->when, section, filter, diag)
				 : 0;
}

/* Insert the filter before a verified program, and verify both. */
static int add_filter(struct gt_cli_injection *self, struct gt_bpf_program *program,
		      const struct gt_verify_options *options)
{
	struct gt_bpf_filter *filter = &self->filters[self->count];
	struct gt_facts *facts = &self->facts[self->count];
	struct gt_verify_error rejection = {0};
	struct gt_diag diag = {0};

	if (read_filter(self, options->section, filter, &diag)) {
		gt_cli_error("%s: %s", program->name, diag.text);
		return GT_EXIT_USAGE;
	}
	if (!filter->term_count && !filter->period)
		return GT_GO_ON;
	gt_facts_clear(facts);
	if (gt_bpf_filter_insert(self->object, program, options->section,
				 (uint32_t)self->given->threads, filter, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	if (!gt_verify(self->object, program, options, facts, &rejection, &diag))
		return GT_GO_ON;
	gt_cli_error("%s cannot run with --when or --sample: %s", program->name, diag.text);
	return GT_EXIT_FAILED;
}

static int verify_program(struct gt_cli_injection *self, struct gt_bpf_program *program)
{
	int status;

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
		gt_cli_error("%s (%s) runs in no kernel; run it with 'gputap gpurun'",
			     program->name, program->section);
		return GT_EXIT_FAILED;
	}
	gt_cli_set_input(&options, &inserted->section, 0);
	if (gt_verify(self->object, program, &options, &self->facts[self->count], &rejection,
		      &diag))
		return print_rejection(program, &diag, &rejection);
	status = add_filter(self, program, &options);
	if (status != GT_GO_ON) {
		gt_facts_clear(&self->facts[self->count]);
		return status;
	}
	inserted->program = self->given->null ? NULL : program;
	inserted->facts = &self->facts[self->count++];
	return GT_GO_ON;
}

/* Before the GPU programs are verified: it decides where the maps are. */
static int open_host_programs(struct gt_cli_injection *self, struct gt_diag *diag)
{
	struct gt_diag reason = {0};
	int error = 0;

	if (!self->given->no_host_programs)
		error = gt_host_group_open(&self->parts, &self->host_programs, &reason);
	/* Those that there are need not be loaded: SEC("?…"). */
	if (error == -ENOENT)
		return 0;
	if (error)
		*diag = reason;
	return error;
}

/* Print an error, and for one of host programs how to do without them. */
static void print_failure(const struct gt_cli_injection *self, const struct gt_diag *diag)
{
	gt_cli_diag(diag);
	if (self->host_programs_are_optional && !strcmp(diag->stage, "linux"))
		gt_cli_error("the command was not run; --no-linux runs it without the object's "
			     "host programs");
}

/* By its own name, or FILE:NAME where several objects have it. */
static bool is_called(const struct gt_bpf_program *program, const char *name)
{
	const char *colon = strchr(program->name, ':');

	return !strcmp(name, program->name) || (colon && !strcmp(name, colon + 1));
}

static bool is_chosen(const struct gt_cli_injection *self, const struct gt_bpf_program *program)
{
	const struct gt_strings *names = &self->given->names;

	for (size_t i = 0; i < names->words.count; i++)
		if (is_called(program, names->words.items[i]))
			return true;
	return !names->words.count;
}

/* Verify the programs of --prog, or all. GT_GO_ON, or the exit status. */
static int verify_chosen_programs(struct gt_cli_injection *self)
{
	const struct gt_bpf_object *object = self->object;
	const struct gt_strings *names = &self->given->names;
	int status = GT_GO_ON;

	for (size_t i = 0; i < names->words.count; i++) {
		uint32_t program = 0;

		while (program < object->program_count &&
		       !is_called(&object->programs[program], names->words.items[i]))
			program++;
		if (program < object->program_count)
			continue;
		gt_cli_error("%s: no GPU program '%s'", object->path, names->words.items[i]);
		return GT_EXIT_FAILED;
	}
	for (uint32_t i = 0; i < object->program_count && status == GT_GO_ON; i++)
		if (is_chosen(self, &object->programs[i]))
			status = verify_program(self, &self->object->programs[i]);
	return status;
}

/* Whether the programs are neither too few nor too many. GT_GO_ON, or the exit status. */
static int count_programs(const struct gt_cli_injection *self)
{
	const struct gt_bpf_object *object = self->object;
	uint32_t chosen = 0;

	if (!object->program_count) {
		gt_cli_error("%s %s no GPU program; 'gputap verify' lists its programs",
			     object->path, self->parts.count > 1 ? "have" : "has");
		return GT_EXIT_FAILED;
	}
	for (uint32_t i = 0; i < object->program_count; i++)
		chosen += is_chosen(self, &object->programs[i]);
	if (chosen > GT_PATCH_MAX_PROGRAMS) {
		gt_cli_error("%s: %u GPU programs; at most %d can be inserted: choose some by "
			     "--prog",
			     object->path, chosen, GT_PATCH_MAX_PROGRAMS);
		return GT_EXIT_FAILED;
	}
	return GT_GO_ON;
}

/* Open the objects and make one of them. GT_GO_ON, or the exit status. */
static int read_objects(struct gt_cli_injection *self, const char *const *paths, size_t count)
{
	struct gt_diag diag = {0};

	if (gt_bpf_parts_open(paths, (uint32_t)count, &self->parts, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_USAGE;
	}
	if (open_host_programs(self, &diag)) {
		print_failure(self, &diag);
		return GT_EXIT_FAILED;
	}
	if (gt_bpf_parts_merge(&self->parts, &self->object, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	if (gt_cli_set_maps(self->object, &self->given->values, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_USAGE;
	}
	return count_programs(self);
}

/* The given objects, and the own one as the last. GT_GO_ON, or the exit status. */
static int read_all_objects(struct gt_cli_injection *self, const char *const *paths, size_t count)
{
	GT_VEC(const char *) all = {0};
	int status = GT_GO_ON;

	for (size_t i = 0; i < count && status == GT_GO_ON; i++)
		if (gt_vec_push(&all, paths[i]))
			status = GT_EXIT_FAILED;
	if (self->given->own && gt_vec_push(&all, self->given->own))
		status = GT_EXIT_FAILED;
	if (status != GT_GO_ON)
		gt_cli_error("out of memory");
	else
		status = read_objects(self, all.items, all.count);
	if (status == GT_GO_ON && self->given->own)
		self->own = &self->parts.parts[count];
	gt_vec_free(&all);
	return status;
}

uint32_t gt_cli_injection_own_map(const struct gt_cli_injection *self, const char *name)
{
	const struct gt_bpf_object *object = self->own->object;

	for (uint32_t i = 0; i < object->map_count; i++)
		if (!strcmp(object->maps[i].name, name))
			return self->own->maps[i];
	return UINT32_MAX;
}

int gt_cli_injection_read(struct gt_cli_injection *self, const char *const *paths, size_t count)
{
	struct gt_diag diag = {0};
	int status = read_all_objects(self, paths, count);

	if (status == GT_GO_ON)
		status = verify_chosen_programs(self);
	if (status == GT_GO_ON && self->host_programs &&
	    gt_host_group_load_for_command(self->host_programs, &diag)) {
		print_failure(self, &diag);
		status = GT_EXIT_FAILED;
	}
	return status;
}

void gt_cli_injection_free(struct gt_cli_injection *self)
{
	for (uint32_t i = 0; i < self->count; i++)
		gt_facts_clear(&self->facts[i]);
	gt_host_group_close(self->host_programs);
	gt_bpf_object_free(self->object);
	gt_bpf_parts_close(&self->parts);
	free(self->cache);
}

/* ---- running --------------------------------------------------------------------------- */

static void show_progress(void *context)
{
	struct gt_cli_injection *self = context;
	const struct gt_inject_progress state = gt_inject_progress(self->inject);

	gt_cli_progress_update(&self->progress, &state);
}

static void report_module(void *context, const struct gt_inject_module *module)
{
	struct gt_cli_injection *self = context;

	if (!self->given->verbose)
		return;
	gt_cli_progress_clear(&self->progress);
	gt_cli_coverage_print_module(module);
}

static void print_remark(const char *text)
{
	gt_cli_error("%s", text);
}

/* A view, and whom it is for. */
struct viewed_injection {
	struct gt_cli_injection *self;
	const struct gt_cli_injection_view *view;
};

static void call_idle(void *context)
{
	const struct viewed_injection *viewed = context;

	/* Records may be printed to the same terminal. */
	if (viewed->view->idle) {
		gt_cli_progress_clear(&viewed->self->progress);
		viewed->view->idle(viewed->self);
	}
	show_progress(viewed->self);
}

static void call_tick(void *context)
{
	const struct viewed_injection *viewed = context;

	gt_cli_progress_clear(&viewed->self->progress);
	if (viewed->view->tick)
		viewed->view->tick(viewed->self);
}

/* Where patched modules are kept for later runs, or NULL. The caller frees it. */
static char *find_cache(void)
{
	const char *given = secure_getenv("GPUTAP_CACHE"), *home = secure_getenv("HOME");
	const char *caches = secure_getenv("XDG_CACHE_HOME");
	gt_auto_strbuf path = GT_STRBUF_INIT;

	if (given)
		return *given ? strdup(given) : NULL;
	/* Relative paths are invalid there (XDG Base Directory Specification). */
	if (caches && *caches == '/')
		gt_strbuf_printf(&path, "%s/gputap", caches);
	else if (home && *home == '/')
		gt_strbuf_printf(&path, "%s/.cache/gputap", home);
	return path.length ? gt_strbuf_steal(&path) : NULL;
}

int gt_cli_injection_open(struct gt_cli_injection *self, struct gt_inject **ret_inject,
			  struct gt_diag *diag)
{
	struct gt_inject_options options = {
		.object = self->object,
		.programs = self->programs,
		.program_count = self->count,
		.threads = (uint32_t)self->given->threads,
		.switchable = self->given->switchable || self->given->start_off,
		.switched_off = self->given->start_off,
		.host_maps = self->given->host_maps,
		.save_in = self->given->save_in,
		.reads_registers = self->reads_registers,
		.filters = self->filters,
		.kernels = self->given->kernels.words.items,
		.kernel_count = (uint32_t)self->given->kernels.words.count,
		.host_programs = self->host_programs,
		.event_bytes = self->given->event_bytes,
		.report = report_module,
		.progress = show_progress,
		.context = self,
	};
	int error;

	gt_inject_stripe_maps(self->object, self->programs, self->count);
	self->cache = find_cache();
	options.cache = self->cache;
	error = gt_inject_open(&options, ret_inject, diag);
	if (!error)
		self->inject = *ret_inject;
	return error;
}

int gt_cli_injection_run(struct gt_cli_injection *self, char **words,
			 const struct gt_cli_injection_view *view)
{
	struct viewed_injection viewed = {.self = self, .view = view};
	const struct gt_inject_command command = {
		.words = words,
		.gpu = (enum gt_gpu)self->given->gpu,
		.interval_ns = self->given->interval,
		.host_programs = self->host_programs,
		.targets = self->given->targets.words.items,
		.target_count = self->given->targets.words.count,
		.idle = call_idle,
		.tick = call_tick,
		.context = &viewed,
	};
	gt_auto(inject) struct gt_inject *inject = NULL;
	struct gt_diag diag = {0};
	int status = gt_cli_redirect_output(self->given->output);
	int error;

	if (status != GT_GO_ON)
		return status;
	status = GT_EXIT_FAILED;
	self->progress = gt_cli_progress_new();
	error = gt_cli_injection_open(self, &inject, &diag);
	if (!error)
		error = gt_inject_run(inject, &command, print_remark, &status, &diag);
	gt_cli_progress_clear(&self->progress);
	if (error) {
		print_failure(self, &diag);
		return status;
	}
	call_idle(&viewed);
	gt_cli_progress_clear(&self->progress);
	if (view->end)
		view->end(self, status);
	gt_cli_coverage_print(self);
	return status;
}
