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

/* The only module of a side module that is not linked; NULL: there is none. */
static const struct gt_strbuf *find_single(const struct gt_patch_image *image)
{
	const struct gt_strbuf *single = NULL;
	size_t count = 0;

	if (image->result.scope != GT_PATCH_SIDE || image->result.calls_code)
		return NULL;
	gt_vec_each (part, &image->parts)
		if (part->result.scope == GT_PATCH_SIDE) {
			single = &part->result.text;
			count++;
		}
	return count == 1 ? single : NULL;
}

static void put_part(const struct gt_cubin_text *original, const struct gt_patch_part *part,
		     struct gt_patch_image *image)
{
	if (part->result.scope != GT_PATCH_NONE)
		put_text(image, part->result.text.data, part->result.text.length);
	else if (image->result.scope == GT_PATCH_WHOLE)
		put_text(image, original->text, original->length);
}

static int put_inputs(const struct gt_patch_source *source, const struct gt_patch_objects *objects,
		      struct gt_patch_image *image, struct gt_diag *diag)
{
	set_max_registers(source, image);
	for (size_t i = 0; i < source->text_count; i++)
		put_part(&source->texts[i], &image->parts.items[i], image);
	if (image->result.scope == GT_PATCH_WHOLE || image->result.calls_code) {
		gt_vec_each (cubin, &objects->cubins)
			put_input(image, GT_LINK_CUBIN, cubin->data, cubin->size);
		for (size_t i = 0; i < objects->archive_count; i++)
			put_input(image, GT_LINK_ARCHIVE, objects->archives[i].text,
				  objects->archives[i].length);
	}
	return image->inputs.failed ? gt_patch_fail_memory(diag) : 0;
}

int gt_patch_linked(const struct gt_patch_source *source, const struct gt_patch_objects *objects,
		    uint32_t device, const struct gt_patch_options *options,
		    struct gt_patch_image *image, struct gt_diag *diag)
{
	const struct gt_strbuf *single;
	struct gt_patch_code code;
	int error = gt_patch_read_code(objects, device, &code, diag);

	if (!error)
		error = gt_patch_modules(image->parts.items, (uint32_t)image->parts.count, &code,
					 options, diag);
	gt_patch_code_clear(&code);
	if (!error)
		error = add_results(image, diag);
	if (error || image->result.scope == GT_PATCH_NONE)
		return error;
	single = find_single(image);
	return single ? gt_patch_wrap_text(source->entry, single, &image->fatbin, diag)
		      : put_inputs(source, objects, image, diag);
}

void gt_patch_put_texts(const struct gt_patch_source *source, struct gt_patch_image *image)
{
	set_max_registers(source, image);
	for (size_t i = 0; i < source->text_count; i++)
		put_text(image, source->texts[i].text, source->texts[i].length);
}
