/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/linked.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/link_input.h"
#include "fatbin/archive.h"
#include "patch/private.h"

int gt_patch_fail_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "patch", NULL, "out of memory");
}

void gt_patch_objects_clear(struct gt_patch_objects *objects)
{
	gt_vec_each (cubin, &objects->cubins)
		gt_fatbin_payload_free(cubin);
	gt_vec_free(&objects->cubins);
}

/* ---- objects --------------------------------------------------------------------------- */

bool gt_patch_is_object(const struct gt_fatbin_entry *entry)
{
	Elf64_Ehdr header;

	return gt_fatbin_extract_start(entry, &header, sizeof(header)) == sizeof(header) &&
	       !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_type == ET_REL;
}

/* Whether the PTX of a cubin is among the texts: they are those that the linked cubin carries. */
static bool has_text(const struct gt_patch_source *source, const struct gt_fatbin_payload *payload)
{
	gt_auto_cubin_ptx ptx = {0};

	return source->cubin && !gt_cubin_ptx_read(payload->data, payload->size, &ptx, NULL);
}

static int add_cubin(const struct gt_patch_source *source, const struct gt_fatbin_entry *entry,
		     struct gt_patch_objects *objects, struct gt_diag *diag)
{
	gt_auto_fatbin_payload payload = {0};
	int error = gt_fatbin_extract(entry, &payload, diag);

	if (error || has_text(source, &payload))
		return error;
	if (gt_vec_push(&objects->cubins, payload))
		return gt_patch_fail_memory(diag);
	payload = (struct gt_fatbin_payload){0};
	return 0;
}

static int add_cubins(const struct gt_patch_source *source, struct gt_patch_objects *objects,
		      struct gt_diag *diag)
{
	uint64_t budget = GT_FATBIN_MAX_PAYLOAD;
	int error = 0;

	for (size_t i = 0; i < source->object_count && !error; i++) {
		const struct gt_fatbin_entry *entry = source->objects[i];

		if (entry->size > budget)
			return gt_diag(diag, -E2BIG, "patch", NULL,
				       "the module is linked with more than %d MiB of machine code",
				       GT_FATBIN_MAX_PAYLOAD >> 20);
		budget -= entry->size;
		error = add_cubin(source, entry, objects, diag);
	}
	return error;
}

/* Note the functions that a module has. */
static int add_functions(const struct gt_ptx_module *module, struct gt_hash *names)
{
	int error = 0;

	for (const struct gt_ptx_function *function = module->functions; function && !error;
	     function = function->next)
		if (function->definition)
			error = gt_hash_set_str(names, function->name, names);
	return error;
}

/* Whether a module declares a function that no module has. */
static bool lacks_function(const struct gt_ptx_module *module, const struct gt_hash *names)
{
	for (const struct gt_ptx_function *function = module->functions; function;
	     function = function->next)
		if (!function->is_prototype && !gt_patch_is_system_call(function->name) &&
		    !gt_hash_get_str(names, function->name))
			return true;
	return false;
}

/* Of archives the linker takes the members that are needed. */
static int add_archives(const struct gt_patch_source *source, const struct gt_patch_image *image,
			struct gt_patch_objects *objects)
{
	gt_auto(hash) struct gt_hash *names = gt_hash_new();
	int error = names ? 0 : -ENOMEM;
	bool lacks = false;

	gt_vec_each (part, &image->parts)
		error = error ? error : add_functions(part->module, names);
	gt_vec_each (part, &image->parts)
		lacks |= !error && lacks_function(part->module, names);
	if (lacks) {
		objects->archives = source->archives;
		objects->archive_count = source->archive_count;
	}
	return error;
}

int gt_patch_read_objects(const struct gt_patch_source *source, const struct gt_patch_image *image,
			  struct gt_patch_objects *ret_objects, struct gt_diag *diag)
{
	int error;

	*ret_objects = (struct gt_patch_objects){0};
	error = add_cubins(source, ret_objects, diag);
	if (!error && source->archive_count && add_archives(source, image, ret_objects))
		error = gt_patch_fail_memory(diag);
	return error;
}

/* ---- kernels --------------------------------------------------------------------------- */

/* The kernels that modules and objects have. */
struct linked_kernels {
	struct gt_hash *names;
	uint32_t device;
	uint64_t budget; /* bytes of archives to be read; their parts may overlap */
	bool failed;     /* no memory */
};

static void add_kernel(struct linked_kernels *kernels, const char *name)
{
	kernels->failed |= gt_hash_set_str(kernels->names, name, kernels) != 0;
}

/* What is no cubin has none. */
static void add_cubin_kernels(struct linked_kernels *kernels,
			      const struct gt_fatbin_payload *payload)
{
	gt_auto_cubin cubin = {0};

	kernels->failed |= gt_cubin_read(payload->data, payload->size, &cubin, NULL) == -ENOMEM;
	for (size_t i = 0; i < cubin.count; i++)
		add_kernel(kernels, cubin.kernels[i].name);
}

/* False: the budget is used up. */
static bool spend(struct linked_kernels *kernels, uint64_t bytes)
{
	if (bytes > kernels->budget)
		return false;
	kernels->budget -= bytes;
	return true;
}

/* Of the device code of a member the cubin that is linked. */
static int add_member_kernels(void *context, const char *name, const void *code, size_t size)
{
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	gt_auto_fatbin_payload payload = {0};
	struct linked_kernels *kernels = context;
	const struct gt_fatbin_entry *entry = NULL;

	if (!spend(kernels, size))
		return -E2BIG;
	if (!gt_fatbin_open(code, size, &fatbin, NULL))
		entry = gt_fatbin_best_cubin(fatbin, kernels->device);
	if (entry && !spend(kernels, entry->size))
		return -E2BIG;
	if (entry && !gt_fatbin_extract(entry, &payload, NULL))
		add_cubin_kernels(kernels, &payload);
	return 0;
}

static void add_kernels(struct linked_kernels *kernels, const struct gt_patch_image *image,
			const struct gt_patch_objects *objects)
{
	gt_vec_each (part, &image->parts)
		for (const struct gt_ptx_function *function = part->module->functions; function;
		     function = function->next)
			if (function->is_entry && function->body)
				add_kernel(kernels, function->name);
	gt_vec_each (cubin, &objects->cubins)
		add_cubin_kernels(kernels, cubin);
	for (size_t i = 0; i < objects->archive_count; i++)
		gt_archive_each(objects->archives[i].text, objects->archives[i].length,
				add_member_kernels, kernels, NULL);
}

int gt_patch_check_kernels(const struct gt_cubin *cubin, const struct gt_patch_image *image,
			   const struct gt_patch_objects *objects, uint32_t device,
			   struct gt_diag *diag)
{
	gt_auto(hash) struct gt_hash *names = gt_hash_new();
	struct linked_kernels kernels = {
		.names = names,
		.device = device,
		.budget = GT_FATBIN_MAX_PAYLOAD,
	};

	if (names)
		add_kernels(&kernels, image, objects);
	if (!names || kernels.failed)
		return gt_patch_fail_memory(diag);
	for (size_t i = 0; i < cubin->count; i++)
		if (!gt_hash_get_str(names, cubin->kernels[i].name))
			return gt_diag(diag, -ENODATA, "patch", NULL,
				       "SASS only: the PTX of kernel %s is missing",
				       cubin->kernels[i].name);
	return 0;
}

/* ---- patching -------------------------------------------------------------------------- */

static void put_input(struct gt_patch_image *image, enum gt_link_input_kind kind, const char *data,
		      size_t size)
{
	static const char zeros[GT_LINK_ALIGNMENT];
	const struct gt_link_header header = {.kind = kind, .size = size};

	gt_strbuf_add(&image->inputs, (const char *)&header, sizeof(header));
	gt_strbuf_add(&image->inputs, data, size);
	gt_strbuf_add(&image->inputs, zeros, gt_link_padding(size));
}

/* The text has a NUL at its end. */
static void put_text(struct gt_patch_image *image, const char *text, size_t length)
{
	put_input(image, GT_LINK_PTX, text, length + 1);
}

static void set_max_registers(const struct gt_patch_source *source, struct gt_patch_image *image)
{
	image->max_registers =
		gt_fatbin_max_registers(source->entry->options, source->entry->options_length);
}

/* Add what was done in one of several modules to the result of all. */
static int add_result(struct gt_patch_result *all, const struct gt_patch_result *result,
		      struct gt_diag *diag)
{
	int error = 0;

	if (result->scope != GT_PATCH_NONE)
		all->scope = GT_PATCH_WHOLE;
	all->whole_reason = "the module was linked from several";
	memcpy(all->prefix, result->prefix, sizeof(all->prefix));
	all->module_kernels += result->module_kernels;
	all->compiled += result->scope == GT_PATCH_NONE ? result->module_kernels : result->compiled;
	all->found += result->found;
	all->patched += result->patched;
	all->rejected += result->rejected;
	gt_vec_each (kernel, &result->kernels)
		error |= gt_vec_push(&all->kernels, *kernel);
	gt_vec_each (site, &result->sites)
		error |= gt_vec_push(&all->sites, *site);
	gt_vec_each (rejection, &result->rejections)
		error |= gt_vec_push(&all->rejections, *rejection);
	return error ? gt_patch_fail_memory(diag) : 0;
}

static int patch_part(struct gt_patch_part *part, const struct gt_patch_options *options,
		      struct gt_patch_image *image, struct gt_diag *diag)
{
	struct gt_patch_options part_options = *options;
	int error;

	part_options.whole = true;
	part_options.is_linked = true;
	part_options.first_site += (uint32_t)image->result.sites.count;
	part_options.first_kernel += (uint32_t)image->result.kernels.count;
	error = gt_patch_module(part->module, &part_options, &part->result, diag);
	return error ? error : add_result(&image->result, &part->result, diag);
}

int gt_patch_linked(const struct gt_patch_source *source, const struct gt_patch_objects *objects,
		    const struct gt_patch_options *options, struct gt_patch_image *image,
		    struct gt_diag *diag)
{
	int error;

	set_max_registers(source, image);
	for (size_t i = 0; i < source->text_count; i++) {
		struct gt_patch_part *part = &image->parts.items[i];

		error = patch_part(part, options, image, diag);
		if (error)
			return error;
		if (part->result.scope == GT_PATCH_NONE)
			put_text(image, source->texts[i].text, source->texts[i].length);
		else
			put_text(image, part->result.text.data, part->result.text.length);
	}
	gt_vec_each (cubin, &objects->cubins)
		put_input(image, GT_LINK_CUBIN, cubin->data, cubin->size);
	for (size_t i = 0; i < objects->archive_count; i++)
		put_input(image, GT_LINK_ARCHIVE, objects->archives[i].text,
			  objects->archives[i].length);
	if (image->result.scope == GT_PATCH_NONE)
		gt_strbuf_clear(&image->inputs);
	return image->inputs.failed ? gt_patch_fail_memory(diag) : 0;
}

void gt_patch_put_texts(const struct gt_patch_source *source, struct gt_patch_image *image)
{
	set_max_registers(source, image);
	for (size_t i = 0; i < source->text_count; i++)
		put_text(image, source->texts[i].text, source->texts[i].length);
}
