/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Machine code that patched PTX is linked with: the parts of a program that have no PTX, such as
 * the device runtime (libcudadevrt) where kernels launch kernels, and archives.
 */
#pragma once

#include "patch/image.h"

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

/*
 * Check that no module of a linked cubin needs a variable that is unknown: without a link the
 * driver would make one, which is 0 (ptxas 13.0: "ignoring extern qualifier"). Linkers report it.
 * 0, -ENODATA, -ENOMEM.
 */
int gt_patch_check_variables(const struct gt_patch_image *image,
			     const struct gt_patch_objects *objects, struct gt_diag *diag);

/*
 * Whether a function or variable is one of the static ones of the device runtime:
 * "__nv_static_52__<digest>_22_cuda_device_runtime_cu_<digest>__Z16memset_3d_device…", as nvcc
 * names those of a file (libcudadevrt of CUDA 13.0).
 */
bool gt_patch_is_of_device_runtime(const char *name);

/*
 * Read what of the machine code concerns the modules that it is linked with. 0 or -ENOMEM. The
 * caller clears it, also after an error.
 */
int gt_patch_read_code(const struct gt_patch_objects *objects, uint32_t device,
		       struct gt_patch_code *ret_code, struct gt_diag *diag);
void gt_patch_code_clear(struct gt_patch_code *code);
