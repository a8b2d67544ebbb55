/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/linked.h"

#include <errno.h>
#include <string.h>

#include "base/link_input.h"
#include "patch/private.h"

int gt_patch_fail_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "patch", NULL, "out of memory");
}

/* ---- patching -------------------------------------------------------------------------- */

static void put_input(struct gt_patch_image *image, const struct gt_link_header *header,
		      const void *data)
{
	static const char zeros[GT_LINK_ALIGNMENT];

	gt_strbuf_add(&image->inputs, (const char *)header, sizeof(*header));
	gt_strbuf_add(&image->inputs, data, header->size);
	gt_strbuf_add(&image->inputs, zeros, gt_link_padding(header->size));
}

/* What has the options of a text. */
static const struct gt_fatbin_entry *find_entry(const struct gt_patch_source *source, size_t text)
{
	return source->entries ? source->entries[text] : source->entry;
}

/* In place of the text with this number; it has a NUL at its end. */
static void put_text(const struct gt_patch_source *source, size_t number, const char *text,
		     size_t length, struct gt_patch_image *image)
{
	const struct gt_fatbin_entry *entry = find_entry(source, number);
	uint32_t max_registers = gt_fatbin_max_registers(entry->options, entry->options_length);
	const struct gt_link_header header = {
		.kind = GT_LINK_PTX,
		.max_registers = (uint16_t)max_registers,
		.optimization = (uint8_t)(1 + gt_fatbin_optimization(entry->options,
								     entry->options_length)),
		.size = length + 1,
	};

	put_input(image, &header, text);
}

/* Add what was done in one of several modules to the result of all. */
static int add_result(struct gt_patch_result *all, const struct gt_patch_result *result,
		      struct gt_diag *diag)
{
	int error = 0;

	memcpy(all->prefix, result->prefix, sizeof(all->prefix));
	all->module_kernels += result->module_kernels;
	all->compiled += result->compiled;
	all->found += result->found;
	all->patched += result->patched;
	all->rejected += result->rejected;
	all->calls_code |= result->calls_code;
	if (result->scope != GT_PATCH_NONE) {
		all->scope = result->scope;
		all->whole_reason = result->whole_reason;
		all->reads_device |= result->reads_device;
	}
	gt_vec_each (kernel, &result->kernels)
		error |= gt_vec_push(&all->kernels, *kernel);
	gt_vec_each (site, &result->sites)
		error |= gt_vec_push(&all->sites, *site);
	gt_vec_each (rejection, &result->rejections)
		error |= gt_vec_push(&all->rejections, *rejection);
	return error ? gt_patch_fail_memory(diag) : 0;
}

static int add_results(struct gt_patch_image *image, struct gt_diag *diag)
{
	struct gt_patch_result *all = &image->result;
	int error = 0;

	gt_vec_each (part, &image->parts)
		error = error ? error : add_result(all, &part->result, diag);
	gt_vec_each (part, &image->parts)
		if (all->scope == GT_PATCH_WHOLE && part->result.scope == GT_PATCH_NONE)
			all->compiled += part->result.module_kernels;
	return error;
}

/* Find the only module of a side module that is not linked. False: there is none. */
static bool find_single(const struct gt_patch_image *image, size_t *ret_part)
{
	size_t count = 0;

	if (image->result.scope != GT_PATCH_SIDE || image->result.calls_code)
		return false;
	for (size_t i = 0; i < image->parts.count; i++)
		if (image->parts.items[i].result.scope == GT_PATCH_SIDE) {
			*ret_part = i;
			count++;
		}
	return count == 1;
}

static void put_part(const struct gt_patch_source *source, size_t number,
		     struct gt_patch_image *image)
{
	const struct gt_patch_result *result = &image->parts.items[number].result;
	const struct gt_cubin_text *original = &source->texts[number];

	if (result->scope != GT_PATCH_NONE)
		put_text(source, number, result->text.data, result->text.length, image);
	else if (image->result.scope == GT_PATCH_WHOLE)
		put_text(source, number, original->text, original->length, image);
}

static void put_objects(const struct gt_patch_objects *objects, struct gt_patch_image *image)
{
	gt_vec_each (cubin, &objects->cubins) {
		const struct gt_link_header header = {.kind = GT_LINK_CUBIN, .size = cubin->size};

		put_input(image, &header, cubin->data);
	}
	for (size_t i = 0; i < objects->archive_count; i++) {
		const struct gt_link_header header = {.kind = GT_LINK_ARCHIVE,
						      .size = objects->archives[i].length};

		put_input(image, &header, objects->archives[i].text);
	}
}

static int put_inputs(const struct gt_patch_source *source, const struct gt_patch_objects *objects,
		      struct gt_patch_image *image, struct gt_diag *diag)
{
	for (size_t i = 0; i < source->text_count; i++)
		put_part(source, i, image);
	if (image->result.scope == GT_PATCH_WHOLE || image->result.calls_code)
		put_objects(objects, image);
	return image->inputs.failed ? gt_patch_fail_memory(diag) : 0;
}

int gt_patch_linked(const struct gt_patch_source *source, const struct gt_patch_objects *objects,
		    uint32_t device, const struct gt_patch_options *options,
		    struct gt_patch_image *image, struct gt_diag *diag)
{
	struct gt_patch_code code;
	size_t single;
	int error = gt_patch_read_code(objects, device, &code, diag);

	if (!error)
		error = gt_patch_modules(image->parts.items, (uint32_t)image->parts.count, &code,
					 options, diag);
	gt_patch_code_clear(&code);
	if (!error)
		error = add_results(image, diag);
	if (error || image->result.scope == GT_PATCH_NONE)
		return error;
	if (!find_single(image, &single))
		return put_inputs(source, objects, image, diag);
	return gt_patch_wrap_text(find_entry(source, single),
				  &image->parts.items[single].result.text, &image->fatbin, diag);
}

void gt_patch_put_texts(const struct gt_patch_source *source, struct gt_patch_image *image)
{
	for (size_t i = 0; i < source->text_count; i++)
		put_text(source, i, source->texts[i].text, source->texts[i].length, image);
}
