/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Patched modules that are linked before they are loaded: PTX of several modules, and machine code
 * that it needs, such as the device runtime's (libcudadevrt) where kernels launch kernels.
 */
#pragma once

#include "patch/image.h"

int gt_patch_fail_memory(struct gt_diag *diag);

/* Whether a cubin is to be linked with others, as nvcc -rdc=true and ptxas -c make it. */
bool gt_patch_is_object(const struct gt_fatbin_entry *entry);

/* Machine code to be linked. */
struct gt_patch_objects {
	GT_VEC(struct gt_fatbin_payload) cubins;
	const struct gt_cubin_text *archives; /* the source's */
	size_t archive_count;
};
void gt_patch_objects_clear(struct gt_patch_objects *objects);

/*
 * Read what is linked with the modules of the image: the source's cubins whose PTX is not among
 * them, and its archives if the modules call functions that none of them defines. 0, -EINVAL,
 * -E2BIG, -ENOMEM. The caller clears them, also after an error.
 */
int gt_patch_read_objects(const struct gt_patch_source *source, const struct gt_patch_image *image,
			  struct gt_patch_objects *ret_objects, struct gt_diag *diag);

/*
 * Check that the modules and the objects have all kernels of a linked cubin. device: of the objects
 * in archives that are for it. 0, -ENODATA, -ENOMEM.
 */
int gt_patch_check_kernels(const struct gt_cubin *cubin, const struct gt_patch_image *image,
			   const struct gt_patch_objects *objects, uint32_t device,
			   struct gt_diag *diag);

/* Patch the modules of the image; the inputs of their link are not empty if a program matches. */
int gt_patch_linked(const struct gt_patch_source *source, const struct gt_patch_objects *objects,
		    const struct gt_patch_options *options, struct gt_patch_image *image,
		    struct gt_diag *diag);

/* The texts as they are as the inputs of a link. */
void gt_patch_put_texts(const struct gt_patch_source *source, struct gt_patch_image *image);
