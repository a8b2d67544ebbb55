/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Insert verified eBPF programs into the kernels of an OpenCL program, at the kinds of sites that
 * patch.h lists, but call, return and loop_end. A program is a function (gpubpf/spirvgen/program.h)
 * that is called at its sites. Each work-item is a group of its own in the body of a kernel, unless
 * the device has sub-groups: the work-items of one that are active together are a group then.
 */
#pragma once

#include "patch/image.h"
#include "spirv/module.h"

/*
 * Patch a module of SPIR-V; it is hostile. for_spir: as in gt_translate_options. What is patched is
 * in ret_image->fatbin, with all kernels of the module; its scope is SIDE. 0, also where nothing
 * matches; -EINVAL, -EOPNOTSUPP, -E2BIG, -ENOMEM with a diag. The caller clears the image, also
 * after an error.
 */
int gt_patch_spirv(const void *module, size_t size, bool for_spir,
		   const struct gt_patch_options *options, struct gt_patch_image *ret_image,
		   struct gt_diag *diag);
/*
 * Whether a program of the options can be inserted into OpenCL kernels, whatever these are. 0;
 * -EOPNOTSUPP: it cannot, with the reason in the diag; -E2BIG; -ENOMEM.
 */
int gt_patch_spirv_check(const struct gt_patch_options *options, uint32_t program,
			 struct gt_diag *diag);
