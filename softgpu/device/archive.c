/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/archive.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "fatbin/archive.h"
#include "fatbin/cubin.h"

struct archive_image {
	struct sg_image *image;
	struct gt_diag *diag;
	CUresult result; /* of the first member that failed */
};

static CUresult append_image(struct sg_image *image, const void *data, size_t size,
			     const char *name, struct gt_diag *diag)
{
	struct sg_image found = {0};
	struct gt_diag reason = {0};
	CUresult result = sg_image_read(data, size, &found, &reason);

	if (result) {
		gt_diag(diag, -EINVAL, "link", name, "%s", reason.text);
		return result;
	}
	gt_vec_each (text, &found.texts) {
		if (gt_vec_push(&image->texts, *text))
			result = CUDA_ERROR_OUT_OF_MEMORY;
		else
			text->text = NULL;
	}
	sg_image_limit_registers(image, found.max_registers);
	image->is_newer |= found.is_newer;
	sg_image_free(&found);
	return result;
}

bool sg_is_device_runtime(const void *code, size_t size)
{
	gt_auto_cubin cubin = {0};

	if (gt_cubin_read(code, size, &cubin, NULL))
		return false;
	for (size_t i = 0; i < cubin.count; i++)
		if (!strstr(cubin.kernels[i].name, "_cuda_device_runtime_cu_"))
			return false;
	return cubin.count;
}

static int add_member(void *context, const char *name, const void *code, size_t size)
{
	struct archive_image *into = context;

	if (!strcmp(name, "cuda_device_runtime.o") || sg_is_device_runtime(code, size))
		return 0;
	into->result = append_image(into->image, code, size, name, into->diag);
	return into->result ? -ECANCELED : 0;
}

CUresult sg_archive_read(const void *data, size_t size, struct sg_image *image,
			 struct gt_diag *diag)
{
	struct archive_image into = {.image = image, .diag = diag};
	int error = gt_archive_each(data, size, add_member, &into, NULL, diag);

	if (into.result || !error)
		return into.result;
	return CUDA_ERROR_INVALID_IMAGE;
}
