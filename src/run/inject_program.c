/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program of OpenCL or a module of Level Zero of a process: from its source to what its devices
 * take. */
#include "run/inject_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "opencl/opencl.h"
#include "patch/spirv.h"
#include "run/inject_opencl.h"
#include "run/inject_private.h"
#include "run/inject_units.h"

/* gt_agent_form of a job, without flags. */
static uint32_t form_of(const struct gt_inject_job *job)
{
	return job->request.form & ~(uint32_t)GT_AGENT_FORM_COPIED;
}

/* The first line of what a compiler wrote, as a part of the reason. */
static void add_message(const struct gt_strbuf *log, struct gt_diag *diag)
{
	const char *text = gt_strbuf_string(log);
	size_t length = strlen(diag->text);

	if (*text)
		snprintf(diag->text + length, sizeof(diag->text) - length, ": %.*s",
			 (int)strcspn(text, "\n"), text);
}

/* Whether PoCL's compiler, which takes SPIR, fuses products with sums on this CPU. */
static bool cpu_fuses(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("fma");
#else
	return true;
#endif
}

/*
 * Compile to SPIR-V. Source includes the files that its compiler may read, so that the compiler of
 * another user than the process's is not used.
 */
static int compile(const struct gt_inject_job *job, const struct gt_inject_units *units,
		   struct gt_strbuf *ret_module, struct gt_diag *diag)
{
	char path[32];
	gt_autoclose int directory = -1;
	gt_auto_strbuf log = GT_STRBUF_INIT;
	struct gt_cl_compilation compilation = {
		.sources = units->sources.items,
		.count = units->sources.count,
		.device_options = units->device_options,
		.fuses = form_of(job) == GT_AGENT_FORM_SPIR && cpu_fuses(),
	};
	int error;

	if (job->connection->user != geteuid())
		return gt_diag(diag, -ENOENT, "run", NULL,
			       "source only: it is not compiled for a process of another user");
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)job->connection->module.pid);
	directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	compilation.directory = directory;
	error = gt_cl_compile(&compilation, ret_module, &log, diag);
	if (error == -EINVAL)
		add_message(&log, diag);
	return error;
}

/* Replace the module by what a device takes. */
static int convert(struct gt_inject_job *job, struct gt_strbuf *module)
{
	gt_auto_strbuf bitcode = GT_STRBUF_INIT, log = GT_STRBUF_INIT;
	int error;

	if (form_of(job) != GT_AGENT_FORM_SPIR || !module->length)
		return 0;
	error = gt_cl_convert(module->data, module->length, &bitcode, &log, &job->diag);
	if (error == -EINVAL)
		add_message(&log, &job->diag);
	if (error == -ENOENT)
		error = -EOPNOTSUPP;
	if (!error) {
		job->spirv = *module;
		*module = bitcode;
		bitcode = (struct gt_strbuf)GT_STRBUF_INIT;
	}
	return error;
}

/* Patch a module of SPIR-V, and make of it what the devices take. */
static void patch_module(struct gt_inject_job *job, const void *module, size_t size,
			 const struct gt_patch_options *options)
{
	bool for_spir = form_of(job) == GT_AGENT_FORM_SPIR;

	job->error = gt_patch_spirv(module, size, for_spir, options, &job->image, &job->diag);
	if (!job->error)
		job->error = convert(job, &job->image.fatbin);
}

static void patch_units(struct gt_inject_job *job, const struct gt_inject_units *units,
			const struct gt_patch_options *options)
{
	const struct gt_cl_source *first = units->sources.items;
	gt_auto_strbuf compiled = GT_STRBUF_INIT;

	if (units->sources.count == 1 && first->language == GT_CL_SPIRV) {
		patch_module(job, first->bytes, first->size, options);
		return;
	}
	job->error = compile(job, units, &compiled, &job->diag);
	if (!job->error)
		patch_module(job, compiled.data, compiled.length, options);
}

static void patch_for_device(struct gt_inject_job *job, const struct gt_inject_units *units,
			     const struct gt_patch_options *options)
{
	struct gt_inject *inject = job->inject;
	struct gt_patch_options own = *options;
	size_t number, offset;

	if (units->device) {
		own.clock = gt_inject_opencl_clock(inject->opencl, units->device, &number);
		own.features = gt_inject_opencl_features(inject->opencl, units->device);
	}
	if (own.clock) {
		/* Constants would be others in each run, and drivers keep what they compiled. */
		offset = inject->memory.clocks + number * sizeof(*own.clock);
		memcpy(inject->memory.data + offset, own.clock, sizeof(*own.clock));
		own.clock_address = gt_inject_address(inject, offset);
	}
	patch_units(job, units, &own);
}

/* The maps are copied: their memory has the layout of the file (agent/opencl/copies.h). */
static void patch_for_copies(struct gt_inject_job *job, const struct gt_inject_units *units,
			     const struct gt_patch_options *options)
{
	const struct gt_inject *inject = job->inject;
	const struct gt_inject_memory *memory = &inject->memory;
	gt_autofree uint64_t(*maps)[2] = calloc(inject->map_count + 1u, sizeof(*maps));
	struct gt_symbol_values symbols = *options->symbols;
	struct gt_patch_options own = *options;

	if (!maps) {
		job->error = gt_diag(&job->diag, -ENOMEM, "run", NULL, "out of memory");
		return;
	}
	for (uint32_t i = 0; i <= inject->map_count; i++) {
		maps[i][0] = memory->offsets[i];
		maps[i][1] = memory->words[i][1];
	}
	symbols.maps = (const uint64_t(*)[2])maps;
	symbols.output[0] = memory->offsets[inject->map_count];
	own.symbols = &symbols;
	own.switches = memory->switches;
	own.relative = true;
	if (units->device)
		own.features = gt_inject_opencl_features(inject->opencl, units->device);
	patch_units(job, units, &own);
}

/* Why a program is not patched whatever it has, by its gt_agent_form; NULL: it may be. */
static const char *reason_of(uint32_t form)
{
	static const char *const reasons[] = {
		[GT_AGENT_FORM_NONE] = "the device takes neither SPIR-V nor SPIR",
		[GT_AGENT_FORM_SPIRV] = NULL,
		[GT_AGENT_FORM_SPIR] = NULL,
		[GT_AGENT_FORM_IMPORTS] = "it needs other modules, which zeModuleDynamicLink links",
		[GT_AGENT_FORM_SEVERAL] = "it is created of several modules by one call",
	};

	return reasons[form < sizeof(reasons) / sizeof(*reasons) ? form : GT_AGENT_FORM_NONE];
}

void gt_inject_program_patch(struct gt_inject_job *job, const struct gt_patch_options *options)
{
	const char *reason = reason_of(form_of(job));
	struct gt_inject_units units;

	job->error = gt_inject_units_read(job->bytes.data, job->bytes.size, &units);
	if (job->error)
		gt_diag(&job->diag, job->error, "run", NULL, "the program could not be read");
	else if (units.has_binary && form_of(job) != GT_AGENT_FORM_SEVERAL)
		job->error = gt_diag(&job->diag, -ENOEXEC, "run", NULL,
				     "no portable intermediate code: it was created from a binary");
	else if (reason)
		job->error = gt_diag(&job->diag, -EOPNOTSUPP, "run", NULL, "%s", reason);
	else if (job->request.form & GT_AGENT_FORM_COPIED)
		patch_for_copies(job, &units, options);
	else
		patch_for_device(job, &units, options);
	gt_inject_units_clear(&units);
}
