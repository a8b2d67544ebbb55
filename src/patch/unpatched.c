/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernels of a linked program whose parts have machine code alone: they are rejected. The
 * device runtime copies and clears memory by kernels of its own, which are no part of the program.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "elf/demangle.h"
#include "patch/linked.h"
#include "patch/private.h"

/* ---- whether a program may match ------------------------------------------------------- */

static bool kernels_may_match(const struct gt_cubin *cubin, const struct gt_patch_options *options)
{
	bool matches = false;

	for (size_t i = 0; i < cubin->count && (!matches || options->observer); i++)
		matches |= !gt_patch_is_of_device_runtime(cubin->kernels[i].name) &&
			   gt_patch_name_may_match(cubin->kernels[i].name, true, options);
	return matches;
}

/* True where in doubt. */
static bool object_may_match(const struct gt_fatbin_entry *object,
			     const struct gt_patch_options *options)
{
	gt_auto_fatbin_payload payload = {0};
	gt_auto_cubin cubin = {0};
	int error = gt_fatbin_extract(object, &payload, NULL);

	if (!error)
		error = gt_cubin_read(payload.data, payload.size, &cubin, NULL);
	return error == -ENOMEM || kernels_may_match(&cubin, options);
}

bool gt_patch_code_may_match(const struct gt_patch_source *source,
			     const struct gt_patch_options *options)
{
	uint64_t budget = GT_FATBIN_MAX_PAYLOAD;
	bool matches = false;

	if (source->cubin)
		return kernels_may_match(source->cubin, options);
	for (size_t i = 0; i < source->object_count && (!matches || options->observer); i++) {
		/* The error is one of patching. */
		if (source->objects[i]->size > budget)
			return true;
		budget -= source->objects[i]->size;
		matches |= object_may_match(source->objects[i], options);
	}
	return matches;
}

/* ---- rejecting ------------------------------------------------------------------------- */

struct unpatched_kernels {
	const struct gt_patch_options *options;
	struct gt_patch_image *image;
	struct gt_hash *names; /* of kernels that have PTX, or were rejected */
	char reason[sizeof(((struct gt_patch_rejection *)NULL)->reason)];
};

static int add_entries(const struct gt_ptx_module *module, struct gt_hash *names)
{
	int error = 0;

	for (const struct gt_ptx_function *function = module ? module->functions : NULL;
	     function && !error; function = function->next)
		if (function->is_entry && function->body)
			error = gt_hash_set_str(names, function->name, names);
	return error;
}

/* The sites of machine code are unknown: one of each program stands for them. */
static int reject_kernel(struct unpatched_kernels *kernels, const char *name, uint32_t program)
{
	struct gt_patch_result *result = &kernels->image->result;
	struct gt_patch_rejection rejection = {.program = program, .function = name, .sites = 1};

	memcpy(rejection.reason, kernels->reason, sizeof(rejection.reason));
	result->found++;
	result->rejected++;
	return gt_vec_push(&result->rejections, rejection);
}

/* The programs that match a kernel; the image keeps its name if there are any. */
static int reject_programs(struct unpatched_kernels *kernels, const char *name)
{
	const struct gt_patch_options *options = kernels->options;
	gt_auto_strbuf demangled = GT_STRBUF_INIT;
	char *copy = NULL;
	int error = 0;

	gt_demangle(name, &demangled);
	if (demangled.failed)
		return -ENOMEM;
	if (!gt_patch_wants(options, name, gt_strbuf_string(&demangled)))
		return 0;
	for (uint32_t i = 0; i < options->program_count && !error; i++) {
		const struct gt_section *section = &options->programs[i].section;

		if (gt_patch_names_functions(section) ||
		    !gt_section_matches(section, name, gt_strbuf_string(&demangled)))
			continue;
		if (!copy) {
			copy = strdup(name);
			if (!copy || gt_vec_push(&kernels->image->names, copy)) {
				free(copy);
				return -ENOMEM;
			}
		}
		error = reject_kernel(kernels, copy, i);
	}
	return error;
}

static int reject_kernels(struct unpatched_kernels *kernels, const struct gt_cubin *cubin)
{
	int error = 0;

	for (size_t i = 0; i < cubin->count && !error; i++) {
		const char *name = cubin->kernels[i].name;

		if (gt_patch_is_of_device_runtime(name) || gt_hash_get_str(kernels->names, name))
			continue;
		error = gt_hash_set_str(kernels->names, name, kernels);
		if (!error)
			error = reject_programs(kernels, name);
	}
	return error;
}

static int reject_object(struct unpatched_kernels *kernels, const struct gt_fatbin_payload *payload)
{
	gt_auto_cubin cubin = {0};

	/* What is no cubin has no kernels. */
	if (gt_cubin_read(payload->data, payload->size, &cubin, NULL) == -ENOMEM)
		return -ENOMEM;
	return reject_kernels(kernels, &cubin);
}

int gt_patch_reject_code(const struct gt_patch_source *source,
			 const struct gt_patch_objects *objects, uint32_t device,
			 const struct gt_patch_options *options, struct gt_patch_image *image,
			 struct gt_diag *diag)
{
	gt_auto(hash) struct gt_hash *names = gt_hash_new();
	struct unpatched_kernels kernels = {.options = options, .image = image, .names = names};
	int error = names ? add_entries(image->module, names) : -ENOMEM;

	snprintf(kernels.reason, sizeof(kernels.reason),
		 "SASS only: the linked part has no PTX for sm_%u", device);
	gt_vec_each (part, &image->parts)
		error = error ? error : add_entries(part->module, names);
	if (source->cubin)
		error = error ? error : reject_kernels(&kernels, source->cubin);
	else
		gt_vec_each (object, &objects->cubins)
			error = error ? error : reject_object(&kernels, object);
	return error ? gt_patch_fail_memory(diag) : 0;
}
