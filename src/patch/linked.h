/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Patched modules that are linked before they are loaded: PTX of several modules, and machine code
 * that it needs, such as the device runtime's (libcudadevrt) where kernels launch kernels.
 */
#pragma once

#include "patch/objects.h"

/*
 * Patch the modules of the image, which are linked with each other and the objects. The image gets
 * the inputs of the link if a program matches, or a fatbin if a side module needs one module alone.
 */
int gt_patch_linked(const struct gt_patch_source *source, const struct gt_patch_objects *objects,
		    uint32_t device, const struct gt_patch_options *options,
		    struct gt_patch_image *image, struct gt_diag *diag);

/*
 * Whether a program may match a kernel of the source that has machine code: of its cubin, or else
 * of the objects. True where in doubt. The options' observer sees their names.
 */
bool gt_patch_code_may_match(const struct gt_patch_source *source,
			     const struct gt_patch_options *options);
/*
 * Add to the result the kernels that have machine code and no PTX, as found and rejected: a site
 * for each program that matches one. Those of the device runtime are not the program's, and are
 * omitted. 0 or -ENOMEM.
 */
int gt_patch_reject_code(const struct gt_patch_source *source,
			 const struct gt_patch_objects *objects, uint32_t device,
			 const struct gt_patch_options *options, struct gt_patch_image *image,
			 struct gt_diag *diag);

/* The texts as they are as the inputs of a link. */
void gt_patch_put_texts(const struct gt_patch_source *source, struct gt_patch_image *image);

/* A text as the only entry of a fatbin; what an entry says of the original is kept. */
int gt_patch_wrap_text(const struct gt_fatbin_entry *entry, const struct gt_strbuf *text,
		       struct gt_strbuf *fatbin, struct gt_diag *diag);
