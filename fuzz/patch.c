/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as an image; the first says which programs are inserted. What is accepted is a module
 * again with programs at all of its sites, and every site is patched or has a reason.
 */
#include <stdlib.h>

#include "fatbin/fatbin.h"
#include "patch/image.h"
#include "patch_programs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_result(const struct gt_patch_image *image)
{
	const struct gt_patch_result *result = &image->result;
	gt_auto(ptx) struct gt_ptx_module *again = NULL;

	if (!is_accounted(result))
		abort();
	if (result->text.length &&
	    gt_ptx_parse(result->text.data, result->text.length, &again, NULL) == -EINVAL)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const selected[] = {"*[acegikmoqsuwy13579]"};
	struct gt_patch_options options = {.object = &object, .programs = inserted};
	struct gt_patch_image image;
	struct gt_diag diag = {0};
	uint8_t choice;
	int error;

	if (!programs[0].count)
		make_programs();
	if (!size)
		return 0;
	choice = data[0];
	options.switchable = choice & 0x80;
	options.whole = choice & 0x40;
	options.call_sites = options.call_instructions = choice >> 5 & 1;
	options.program_count = choice & 0x1f;
	/* The other numbers: all programs, in some of the kernels. */
	if (options.program_count > gt_countof(kinds)) {
		options.program_count = gt_countof(kinds);
		options.kernels = selected;
		options.kernel_count = gt_countof(selected);
	}
	error = gt_patch_image(data + 1, size - 1, 90, &options, &image, &diag);
	if (error && !gt_diag_is_set(&diag))
		abort();
	if (!error)
		check_result(&image);
	gt_patch_image_clear(&image);
	return 0;
}
