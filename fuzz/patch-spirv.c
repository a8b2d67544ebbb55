/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as a module of SPIR-V; the first 4 say which programs are inserted. What is accepted is
 * a module again, and every site is patched or has a reason.
 */
#include <stdlib.h>

#include "patch/spirv.h"
#include "patch_programs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The programs whose bits are set in the first bytes. */
static struct gt_patch_options choose_programs(const uint8_t *data, struct gt_patch_program *chosen)
{
	uint32_t bits = (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16;
	struct gt_patch_options options = {
		.object = &object, .programs = chosen, .switchable = data[3] & 1};

	for (size_t i = 0; i < gt_countof(kinds); i++)
		if (bits >> i & 1)
			chosen[options.program_count++] = inserted[i];
	return options;
}

static void check_result(const struct gt_patch_image *image)
{
	gt_auto(spirv_module) struct gt_spirv_module *again = NULL;

	if (!is_accounted(&image->result))
		abort();
	/* Of other errors, limits of ids and of memory are none of the patcher's. */
	if (image->fatbin.length &&
	    gt_spirv_parse(image->fatbin.data, image->fatbin.length, &again, NULL) == -EINVAL)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { HEAD = 4 };
	struct gt_patch_program chosen[gt_countof(kinds)];
	struct gt_patch_options options;
	struct gt_patch_image image;
	struct gt_diag diag = {0};
	int error;

	if (!programs[0].count)
		make_programs();
	if (size < HEAD)
		return 0;
	options = choose_programs(data, chosen);
	error = gt_patch_spirv(data + HEAD, size - HEAD, data[3] & 2, &options, &image, &diag);
	if (error && !gt_diag_is_set(&diag))
		abort();
	if (!error)
		check_result(&image);
	gt_patch_image_clear(&image);
	return 0;
}
