/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/image.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "fatbin/cubin_ptx.h"
#include "fatbin/fatbin.h"
#include "ptx/ptx.h"

static CUresult result_of(int error)
{
	return error == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
}

static CUresult add_text(struct sg_image *image, const struct gt_fatbin_entry *entry,
			 struct gt_diag *diag)
{
	struct gt_fatbin_payload payload;
	int error = gt_fatbin_extract(entry, &payload, diag);

	if (error)
		return result_of(error);
	if (gt_vec_push(&image->texts, (struct sg_image_text){payload.data, payload.size})) {
		gt_fatbin_payload_free(&payload);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	sg_image_limit_registers(image,
				 gt_fatbin_max_registers(entry->options, entry->options_length));
	return CUDA_SUCCESS;
}

/* The PTX that a cubin with line information carries: of each module that it was linked from. */
static CUresult add_cubin(struct sg_image *image, const struct gt_fatbin_entry *entry,
			  struct gt_diag *diag)
{
	gt_auto_fatbin_payload payload = {0};
	gt_auto_cubin_ptx ptx = {0};
	int error = gt_fatbin_extract(entry, &payload, diag);

	if (error)
		return result_of(error);
	error = gt_cubin_ptx_read(payload.data, payload.size, &ptx, NULL);
	if (error == -ENOMEM)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* Without PTX, or malformed: machine code alone. */
	if (error)
		return CUDA_SUCCESS;
	gt_vec_each (text, &ptx.texts) {
		if (gt_vec_push(&image->texts, (struct sg_image_text){text->text, text->length}))
			return CUDA_ERROR_OUT_OF_MEMORY;
		text->text = NULL;
	}
	sg_image_limit_registers(
		image, gt_fatbin_max_registers(gt_strbuf_string(&ptx.options), ptx.options.length));
	return CUDA_SUCCESS;
}

/* The PTX in the cubins of the highest architecture that has some. */
static CUresult add_cubins(struct sg_image *image, const struct gt_fatbin *fatbin,
			   struct gt_diag *diag)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t architecture = sg_state.config.arch; architecture && !result;
	     architecture--) {
		for (size_t i = 0; i < fatbin->entry_count && !result; i++) {
			const struct gt_fatbin_entry *entry = &fatbin->entries[i];

			if (entry->kind == GT_FATBIN_KIND_ELF &&
			    entry->architecture == architecture)
				result = add_cubin(image, entry, diag);
		}
		if (image->texts.count)
			break;
	}
	return result;
}

/* The PTX for the lowest architecture above this device's, or NULL. */
static const struct gt_fatbin_entry *find_newer_ptx(const struct gt_fatbin *fatbin)
{
	const struct gt_fatbin_entry *found = NULL;

	for (size_t i = 0; i < fatbin->entry_count; i++) {
		const struct gt_fatbin_entry *entry = &fatbin->entries[i];

		if (entry->kind == GT_FATBIN_KIND_PTX &&
		    entry->architecture > sg_state.config.arch &&
		    (!found || entry->architecture < found->architecture))
			found = entry;
	}
	return found;
}

static CUresult report_no_ptx(const struct gt_fatbin *fatbin, struct gt_diag *diag)
{
	const struct gt_fatbin_entry *newer = find_newer_ptx(fatbin);
	uint32_t sass = 0, arch = sg_state.config.arch;

	for (size_t i = 0; i < fatbin->entry_count; i++)
		if (fatbin->entries[i].kind == GT_FATBIN_KIND_ELF)
			sass = fatbin->entries[i].architecture;
	if (newer)
		gt_diag(diag, -ENOENT, "fatbin", NULL,
			"the PTX is for compute capability %u.%u, this device has %u.%u: set "
			"SOFTGPU_ARCH=%u, or build with -gencode arch=compute_%u,code=compute_%u",
			newer->architecture / 10, newer->architecture % 10, arch / 10, arch % 10,
			newer->architecture, arch, arch);
	else if (sass)
		gt_diag(diag, -ENOENT, "fatbin", NULL,
			"only SASS for sm_%u, no PTX: build with -gencode "
			"arch=compute_%u,code=compute_%u, or with -lineinfo",
			sass, sass < arch ? sass : arch, sass < arch ? sass : arch);
	else
		gt_diag(diag, -ENOENT, "fatbin", NULL,
			"no PTX for compute capability %u.%u or less: build with -gencode "
			"arch=compute_%u,code=compute_%u",
			arch / 10, arch % 10, arch, arch);
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* The PTX in a container for the architecture of one of its entries. */
static CUresult add_parts(struct sg_image *image, const struct gt_fatbin *container,
			  const struct gt_fatbin_entry *best, struct gt_diag *diag)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; best && i < container->entry_count && !result; i++)
		if (gt_fatbin_is_part(&container->entries[i], best))
			result = add_text(image, &container->entries[i], diag);
	return result;
}

/* The PTX of the best architecture in a container. */
static CUresult add_container(struct sg_image *image, const struct gt_fatbin *container,
			      struct gt_diag *diag)
{
	return add_parts(image, container, gt_fatbin_best_ptx(container, sg_state.config.arch),
			 diag);
}

/*
 * The PTX for a newer device of a container that a real device of this architecture executes, too,
 * since it has machine code for it: `nvcc -arch=all-major` adds PTX for the newest device alone.
 */
static CUresult add_newer(struct sg_image *image, const struct gt_fatbin *container,
			  struct gt_diag *diag)
{
	if (!gt_fatbin_best_cubin(container, sg_state.config.arch))
		return CUDA_SUCCESS;
	image->is_newer = true;
	return add_parts(image, container, find_newer_ptx(container), diag);
}

static CUresult add_containers(struct sg_image *image, const struct gt_fatbin *fatbin,
			       CUresult (*add)(struct sg_image *image,
					       const struct gt_fatbin *container,
					       struct gt_diag *diag),
			       struct gt_diag *diag)
{
	CUresult result = CUDA_SUCCESS;
	struct gt_fatbin container;
	size_t cursor = 0;

	while (!result && gt_fatbin_next_container(fatbin, &cursor, &container))
		result = add(image, &container, diag);
	return result;
}

/* All of it is linked, since each part of a linked program has a container of its own. */
static CUresult add_best(struct sg_image *image, const struct gt_fatbin *fatbin,
			 struct gt_diag *diag)
{
	CUresult result = add_containers(image, fatbin, add_container, diag);

	if (!result && !image->texts.count)
		result = add_cubins(image, fatbin, diag);
	if (!result && !image->texts.count)
		result = add_containers(image, fatbin, add_newer, diag);
	if (!result && !image->texts.count)
		return report_no_ptx(fatbin, diag);
	return result;
}

/* Text that is not PTX is passed to the PTX parser nevertheless, which reports what is wrong. */
static bool is_text(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size && i < 16 && bytes[i]; i++) {
		if (!isprint(bytes[i]) && !isspace(bytes[i]))
			return false;
	}
	return size && bytes[0] && memcmp(bytes, "!<arch>", size < 7 ? size : 7);
}

static CUresult read_text(const char *data, size_t limit, struct sg_image *ret_image)
{
	struct sg_image found = {0};
	struct sg_image_text text = {.length = strnlen(data, limit)};

	text.text = strndup(data, text.length);
	if (!text.text || gt_vec_push(&found.texts, text)) {
		free(text.text);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_image = found;
	return CUDA_SUCCESS;
}

CUresult sg_image_read(const void *image, size_t size, struct sg_image *ret_image,
		       struct gt_diag *diag)
{
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	struct sg_image found = {0};
	CUresult result;
	int error;

	if (is_text(image, size ? size : 16))
		return read_text(image, size ? size : GT_PTX_MAX_TEXT, ret_image);
	error = size ? gt_fatbin_open(image, size, &fatbin, diag)
		     : gt_fatbin_open_image(image, &fatbin, diag);
	if (error)
		return result_of(error);
	result = add_best(&found, fatbin, diag);
	if (result)
		sg_image_free(&found);
	else
		*ret_image = found;
	return result;
}

void sg_image_free(struct sg_image *image)
{
	gt_vec_each (text, &image->texts)
		free(text->text);
	gt_vec_free(&image->texts);
}
