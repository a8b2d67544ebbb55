/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/linked.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/link_input.h"

int gt_patch_fail_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "patch", NULL, "out of memory");
}

void gt_patch_objects_clear(struct gt_patch_objects *objects)
{
	gt_vec_each (object, objects)
		gt_fatbin_payload_free(object);
	gt_vec_free(objects);
}

/* ---- objects --------------------------------------------------------------------------- */

/* Whether a cubin is to be linked with others, as nvcc -rdc=true and ptxas -c make it. */
static bool is_relocatable(const void *data, size_t size)
{
	Elf64_Ehdr header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	return !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_type == ET_REL;
}

bool gt_patch_may_be_object(const struct gt_fatbin_entry *entry)
{
	return entry->compression != GT_FATBIN_COMPRESSION_NONE ||
	       is_relocatable(entry->payload, entry->payload_size);
}

/* Whether the PTX of a cubin is among the texts: they are those that the linked cubin carries. */
static bool has_text(const struct gt_patch_source *source, const struct gt_fatbin_payload *payload)
{
	gt_auto_cubin_ptx ptx = {0};

	return source->cubin && !gt_cubin_ptx_read(payload->data, payload->size, &ptx, NULL);
}

static int add_object(const struct gt_patch_source *source, const struct gt_fatbin_entry *entry,
		      struct gt_patch_objects *objects, struct gt_diag *diag)
{
	gt_auto_fatbin_payload payload = {0};
	int error = gt_fatbin_extract(entry, &payload, diag);

	if (error || !is_relocatable(payload.data, payload.size) || has_text(source, &payload))
		return error;
	if (gt_vec_push(objects, payload))
		return gt_patch_fail_memory(diag);
	payload = (struct gt_fatbin_payload){0};
	return 0;
}

int gt_patch_read_objects(const struct gt_patch_source *source,
			  struct gt_patch_objects *ret_objects, struct gt_diag *diag)
{
	uint64_t budget = GT_FATBIN_MAX_PAYLOAD;
	int error = 0;

	*ret_objects = (struct gt_patch_objects){0};
	for (size_t i = 0; i < source->object_count && !error; i++) {
		const struct gt_fatbin_entry *entry = source->objects[i];

		if (entry->size > budget)
			return gt_diag(diag, -E2BIG, "patch", NULL,
				       "the module is linked with more than %d MiB of machine code",
				       GT_FATBIN_MAX_PAYLOAD >> 20);
		budget -= entry->size;
		error = add_object(source, entry, ret_objects, diag);
	}
	return error;
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
	int error = 0;

	set_max_registers(source, image);
	for (size_t i = 0; i < source->text_count && !error; i++) {
		struct gt_patch_part *part = &image->parts.items[i];

		error = patch_part(part, options, image, diag);
		if (part->result.scope == GT_PATCH_NONE)
			put_text(image, source->texts[i].text, source->texts[i].length);
		else
			put_text(image, part->result.text.data, part->result.text.length);
	}
	gt_vec_each (object, objects)
		put_input(image, GT_LINK_CUBIN, object->data, object->size);
	if (image->result.scope == GT_PATCH_NONE)
		gt_strbuf_clear(&image->inputs);
	return image->inputs.failed && !error ? gt_patch_fail_memory(diag) : error;
}

void gt_patch_put_texts(const struct gt_patch_source *source, struct gt_patch_image *image)
{
	set_max_registers(source, image);
	for (size_t i = 0; i < source->text_count; i++)
		put_text(image, source->texts[i].text, source->texts[i].length);
}
