/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/coverage.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "patch/values.h"
#include "report/sites.h"
#include "run/recovered.h"

enum {
	MAX_REASONS = 16,  /* that are printed */
	MAX_PATTERNS = 16, /* the same */
};

/* ---- text ------------------------------------------------------------------------------ */

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* What was compiled of a module. Names and reasons may have text of the module: it is hostile. */
static void put_scope(const struct gt_inject_module *module, struct gt_strbuf *text)
{
	if (module->scope == GT_PATCH_SIDE) {
		gt_strbuf_printf(text, "side module with %u of %u kernels", module->compiled,
				 module->module_kernels);
	} else if (module->scope == GT_PATCH_WHOLE) {
		gt_strbuf_printf(text, "whole module with %u kernel%s, %u matched (",
				 module->compiled, plural(module->compiled), module->kernels);
		gt_put_printable(text, module->whole_reason);
		gt_strbuf_putc(text, ')');
	} else {
		gt_strbuf_puts(text, "original");
	}
}

static void put_module(const struct gt_inject_module *module, struct gt_strbuf *text)
{
	if (module->scope == GT_PATCH_NONE && !module->reason) {
		gt_strbuf_puts(text, "no kernel matches");
		return;
	}
	put_scope(module, text);
	gt_strbuf_printf(text, "%s; %u of %u sites patched", module->cached ? " (cached)" : "",
			 module->patched, module->found);
	if (!module->reason)
		return;
	gt_strbuf_puts(text, "; ");
	gt_put_printable(text, module->reason);
}

void gt_cli_coverage_print_module(const struct gt_inject_module *module)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	put_module(module, &text);
	gt_cli_error("module %u of process %d: %s", module->number, (int)module->pid,
		     gt_strbuf_string(&text));
}

/* The name of an inserted program; with --null, which inserts none, its section. */
static const char *name_of_program(const struct gt_cli_injection *self, uint32_t number)
{
	const struct gt_bpf_program *program = self->programs[number].program;

	return program ? program->name : self->programs[number].section.text;
}

static void put_reason(const struct gt_cli_injection *self, const struct gt_inject_reason *reason,
		       struct gt_strbuf *text)
{
	if (reason->program == GT_INJECT_MODULE)
		gt_strbuf_printf(text, "%u module%s loaded as %s: ", reason->modules,
				 plural(reason->modules),
				 reason->modules == 1 ? "it is" : "they are");
	else
		gt_strbuf_printf(text, "%" PRIu64 " site%s of %s rejected", reason->sites,
				 plural(reason->sites), name_of_program(self, reason->program));
	if (reason->program != GT_INJECT_MODULE && reason->function) {
		gt_strbuf_puts(text, ", the first in ");
		gt_put_printable(text, reason->function);
	}
	gt_strbuf_puts(text, reason->program == GT_INJECT_MODULE ? "" : ": ");
	gt_put_printable(text, reason->text);
}

static void print_reasons(const struct gt_cli_injection *self)
{
	const struct gt_inject_reason *reasons;
	uint64_t dropped;
	size_t count = gt_inject_reasons(self->inject, &reasons, &dropped);

	for (size_t i = 0; i < count && i < MAX_REASONS; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		put_reason(self, &reasons[i], &text);
		gt_cli_error("%s", gt_strbuf_string(&text));
	}
	if (count > MAX_REASONS || dropped)
		gt_cli_error("there are more reasons; --verbose prints them for each module");
}

/* What host programs may have missed. */
static void print_account(const struct gt_cli_injection *self)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	char *rest = NULL;

	if (!self->host_programs)
		return;
	gt_host_group_account(self->host_programs, self->host_targets_are_optional, &text);
	for (char *line = text.length ? strtok_r(text.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		gt_cli_error("%s", line);
}

uint64_t gt_cli_coverage_skipped(const struct gt_cli_injection *self)
{
	uint64_t skipped = 0;

	for (uint32_t i = 0; i < self->count; i++)
		skipped += gt_inject_skipped(self->inject, i);
	return skipped;
}

static void print_skipped(const struct gt_cli_injection *self)
{
	if (self->given->sample)
		gt_cli_error("%" PRIu64 " runs of programs were skipped (--sample)",
			     gt_cli_coverage_skipped(self));
}

/* Programs of OpenCL that are not SPIR-V, where there are any. */
static void put_opencl(const struct gt_inject_coverage *coverage, struct gt_strbuf *text)
{
	if (coverage->modules_source)
		gt_strbuf_printf(text, "%u source only, ", coverage->modules_source);
	if (coverage->modules_binary)
		gt_strbuf_printf(text, "%u binary only, ", coverage->modules_binary);
}

/* ---- text: what matched nothing ---------------------------------------------------------- */

static bool is_any(const struct gt_inject_pattern *pattern)
{
	return !strcmp(pattern->text, "*");
}

static bool is_of_option(const struct gt_inject_pattern *pattern)
{
	return pattern->program == GT_INJECT_OPTION;
}

/* Names that are similar to what matched nothing. They are the module's: hostile. */
static void put_nearest(const struct gt_inject_pattern *pattern, struct gt_strbuf *text)
{
	for (size_t i = 0; i < GT_INJECT_NEAREST && pattern->nearest[i]; i++) {
		gt_strbuf_puts(text, i ? ", " : "; nearest: ");
		gt_put_printable(text, pattern->nearest[i]);
	}
}

static void put_unmatched(const struct gt_cli_injection *self,
			  const struct gt_inject_pattern *pattern, struct gt_strbuf *text)
{
	bool is_limited = self->given->kernels.words.count && !pattern->of_functions;

	if (is_of_option(pattern))
		gt_strbuf_puts(text, "no kernel matches --kernel \"");
	else
		gt_strbuf_printf(text, "program %s: no %s matches \"",
				 name_of_program(self, pattern->program),
				 pattern->of_functions ? "device function" : "kernel");
	gt_put_printable(text, pattern->text);
	gt_strbuf_puts(text, is_of_option(pattern) ? "\" and a program's section"
			     : is_limited          ? "\" and --kernel"
						   : "\"");
	put_nearest(pattern, text);
}

/* That "*" matches nothing is news only where kernels could be expected. */
static bool is_explained(const struct gt_cli_injection *self,
			 const struct gt_inject_coverage *coverage,
			 const struct gt_inject_pattern *pattern)
{
	uint32_t unread = coverage->modules_sass + coverage->modules_source +
			  coverage->modules_binary + coverage->modules_failed;

	return is_any(pattern) && (self->given->kernels.words.count || unread >= coverage->modules);
}

/* Each name and glob that matched nothing. */
static void print_unmatched(const struct gt_cli_injection *self,
			    const struct gt_inject_coverage *coverage)
{
	struct gt_inject_pattern pattern;
	size_t cursor = 0, count = 0;

	while (gt_inject_unmatched_pattern(self->inject, &cursor, &pattern)) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		if (is_explained(self, coverage, &pattern) || ++count > MAX_PATTERNS)
			continue;
		put_unmatched(self, &pattern, &text);
		gt_cli_error("%s", gt_strbuf_string(&text));
	}
	if (count > MAX_PATTERNS)
		gt_cli_error("%zu more names and globs match no kernel; --json lists them",
			     count - MAX_PATTERNS);
}

/* ---- text: all --------------------------------------------------------------------------- */

/* The coverage, on standard error, as the account of "trace" is. */
static void print_sums(const struct gt_cli_injection *self)
{
	struct gt_inject_coverage coverage = gt_inject_coverage(self->inject);
	gt_auto_strbuf opencl = GT_STRBUF_INIT;

	put_opencl(&coverage, &opencl);
	gt_cli_error("%u module%s: %u patched (%u side, %u whole), %u SASS only, %s%u failed; "
		     "%u kernel%s, %u compiled; %" PRIu64 " site%s: %" PRIu64 " patched, %" PRIu64
		     " rejected",
		     coverage.modules, plural(coverage.modules), coverage.modules_patched,
		     coverage.modules_side, coverage.modules_patched - coverage.modules_side,
		     coverage.modules_sass, gt_strbuf_string(&opencl), coverage.modules_failed,
		     coverage.kernels, plural(coverage.kernels), coverage.compiled, coverage.found,
		     plural(coverage.found), coverage.patched, coverage.rejected);
	print_reasons(self);
	if (coverage.modules_sass)
		gt_cli_error(
			"SASS only has no PTX for this device to insert programs into: build with "
			"-gencode arch=compute_NN,code=compute_NN (NN: its compute capability or a "
			"lower one) or with -lineinfo, and let programs that compile kernels start "
			"with an empty cache (CUPY_CACHE_DIR, TRITON_CACHE_DIR); the libraries of "
			"CUDA have none");
	if (coverage.modules_copied)
		gt_cli_error("%u module%s for devices that do not access the memory of the "
			     "process: the maps are copied to them before each launch, and what "
			     "they change is merged after it",
			     coverage.modules_copied, plural(coverage.modules_copied));
	if (coverage.by_work_item)
		gt_cli_error(
			"at %" PRIu64 " site%s in SPIR-V kernels, programs that run once per warp "
			"run for each work-item alone: they see no coalescing and no divergence",
			coverage.by_work_item, plural(coverage.by_work_item));
	if (!coverage.modules)
		gt_cli_error("the agent saw no module of CUDA or Level Zero, and no program of "
			     "OpenCL: the command created none, could not load the agent (a static "
			     "or set-user-ID program) or could not connect to gputap (seccomp, "
			     "another network namespace)");
	print_unmatched(self, &coverage);
	if (coverage.connections_dropped)
		gt_cli_error("%" PRIu64
			     " connections of processes were dropped; the modules that they "
			     "asked for are not patched",
			     coverage.connections_dropped);
	if (coverage.ptx_dropped)
		gt_cli_error("the PTX of %" PRIu64 " cubins was dropped (no more than %d MiB are "
			     "kept)",
			     coverage.ptx_dropped, GT_RECOVERED_MAX_BYTES >> 20);
	print_skipped(self);
	if (gt_inject_map_remark(self->inject))
		gt_cli_error("%s (--host-maps uses host memory alone)",
			     gt_inject_map_remark(self->inject));
	if (gt_inject_save_remark(self->inject))
		gt_cli_error("%s", gt_inject_save_remark(self->inject));
	if (gt_inject_calls_lost(self->inject))
		gt_cli_error("%" PRIu64 " accesses to maps on the host were not answered",
			     gt_inject_calls_lost(self->inject));
	if (self->lines_lost)
		gt_cli_error("%" PRIu64 " lines that programs printed were dropped (buffer full)",
			     self->lines_lost);
}

void gt_cli_coverage_print(const struct gt_cli_injection *self)
{
	print_sums(self);
	print_account(self);
}

/* ---- JSON ------------------------------------------------------------------------------ */

/* Whether a program reads a value of its site. */
static bool reads_source(const struct gt_cli_injection *self, enum gt_context_source source)
{
	for (uint32_t i = 0; i < self->count; i++) {
		const struct gt_patch_program *program = &self->programs[i];

		if (program->program &&
		    gt_patch_find_uses(program->program, program->facts, &program->section)
					    .sources >>
				    source &
			    1)
			return true;
	}
	return false;
}

/* What the numbers of sites and kernels stand for, if programs read these. */
void gt_cli_coverage_put_numbers(const struct gt_cli_injection *self, struct gt_json *json)
{
	struct gt_inject_site site;
	const char *name;

	if (reads_source(self, GT_SOURCE_SITE)) {
		gt_json_array_begin(json, "sites");
		for (uint32_t i = 0; gt_inject_site(self->inject, i, &site); i++) {
			gt_json_object_begin(json, NULL);
			gt_json_u64(json, "site", i);
			gt_site_put_json(&site, json);
			gt_json_object_end(json);
		}
		gt_json_array_end(json);
	}
	if (!reads_source(self, GT_SOURCE_KERNEL))
		return;
	gt_json_array_begin(json, "kernels");
	for (uint32_t i = 0; (name = gt_inject_kernel(self->inject, i)); i++) {
		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "kernel", i);
		gt_json_string(json, "function", name);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

/* Why sites were rejected, and modules loaded as they are. */
static void json_reasons(const struct gt_cli_injection *self, struct gt_json *json)
{
	const struct gt_inject_reason *reasons;
	uint64_t dropped;
	size_t count = gt_inject_reasons(self->inject, &reasons, &dropped);

	gt_json_array_begin(json, "reasons");
	for (size_t i = 0; i < count; i++) {
		gt_json_object_begin(json, NULL);
		gt_json_string(json, "reason", reasons[i].text);
		if (reasons[i].program == GT_INJECT_MODULE)
			gt_json_u64(json, "modules", reasons[i].modules);
		else
			gt_json_string(json, "program", name_of_program(self, reasons[i].program));
		if (reasons[i].function)
			gt_json_string(json, "function", reasons[i].function);
		gt_json_u64(json, "sites", reasons[i].sites);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	gt_json_u64(json, "reasons_dropped", dropped);
}

/* What matched no kernel. */
static void json_unmatched(const struct gt_cli_injection *self, struct gt_json *json)
{
	struct gt_inject_pattern pattern;
	size_t cursor = 0;

	gt_json_array_begin(json, "unmatched");
	while (gt_inject_unmatched_pattern(self->inject, &cursor, &pattern)) {
		gt_json_object_begin(json, NULL);
		if (is_of_option(&pattern))
			gt_json_string(json, "option", "--kernel");
		else
			gt_json_string(json, "program", name_of_program(self, pattern.program));
		gt_json_string(json, "pattern", pattern.text);
		gt_json_array_begin(json, "nearest");
		for (size_t i = 0; i < GT_INJECT_NEAREST && pattern.nearest[i]; i++)
			gt_json_string(json, NULL, pattern.nearest[i]);
		gt_json_array_end(json);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
}

void gt_cli_coverage_put_json(const struct gt_cli_injection *self, struct gt_json *json)
{
	struct gt_inject_coverage coverage = gt_inject_coverage(self->inject);

	gt_json_object_begin(json, "coverage");
	gt_json_u64(json, "modules", coverage.modules);
	gt_json_u64(json, "modules_patched", coverage.modules_patched);
	gt_json_u64(json, "modules_side", coverage.modules_side);
	gt_json_u64(json, "modules_copied", coverage.modules_copied);
	gt_json_u64(json, "modules_sass_only", coverage.modules_sass);
	gt_json_u64(json, "modules_source_only", coverage.modules_source);
	gt_json_u64(json, "modules_binary_only", coverage.modules_binary);
	gt_json_u64(json, "modules_failed", coverage.modules_failed);
	gt_json_u64(json, "kernels", coverage.kernels);
	gt_json_u64(json, "kernels_compiled", coverage.compiled);
	gt_json_u64(json, "found", coverage.found);
	gt_json_u64(json, "patched", coverage.patched);
	gt_json_u64(json, "rejected", coverage.rejected);
	gt_json_u64(json, "by_work_item", coverage.by_work_item);
	json_unmatched(self, json);
	json_reasons(self, json);
	gt_json_u64(json, "connections_dropped", coverage.connections_dropped);
	gt_json_u64(json, "ptx_dropped", coverage.ptx_dropped);
	gt_json_object_end(json);
}
