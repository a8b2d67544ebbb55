/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Patch what reaches the driver: a fatbin, PTX text or a cubin. The PTX that the driver would
 * compile for the device is patched and put into a fatbin of its own, with the options of its entry
 * (a limit of registers is found nowhere else). Machine code is omitted: the driver would
 * prefer it. Where the image has no PTX, the PTX that its cubin carries is patched
 * (fatbin/cubin_ptx.h), with the options that the cubin was compiled with.
 */
#pragma once

#include "fatbin/cubin.h"
#include "fatbin/cubin_ptx.h"
#include "fatbin/fatbin.h"
#include "patch/patch.h"

/* Finds the PTX that cubins were compiled from. What a cubin carries has no source lines. */
struct gt_patch_recovery {
	/* Adds it, possibly of several modules that were linked. 0, -ENODATA, -ENOMEM. */
	int (*find)(void *context, const void *cubin, size_t size, struct gt_cubin_texts *texts);
	void *context;
	bool always; /* load the PTX that was found even where nothing is inserted */
};

/* What a patched image is made from. */
struct gt_patch_source {
	const struct gt_fatbin_entry *entry; /* its flags, name and options are kept */
	const struct gt_cubin_text *texts;   /* several: they are linked */
	size_t text_count;
	const struct gt_cubin *cubin; /* that was made from the texts; NULL: none */
	bool whole;                   /* as in gt_patch_options */
};

/* Results of earlier calls. */
struct gt_patch_reuse {
	/*
	 * Called before a source is parsed. True: the caller has its result, and it is not patched.
	 * Else sites and kernels are numbered from *first_site and *first_kernel, which may change.
	 */
	bool (*find)(void *context, const struct gt_patch_source *source, uint32_t *first_site,
		     uint32_t *first_kernel);
	void *context;
};

/* One of several modules that are linked. */
struct gt_patch_part {
	struct gt_ptx_module *module;
	struct gt_patch_result result;
};

/* Load the original if neither `fatbin` nor `texts` has contents. */
struct gt_patch_image {
	struct gt_strbuf fatbin;
	struct gt_strbuf texts;        /* PTX modules to be linked, each with a NUL */
	uint32_t max_registers;        /* for the link; 0: no limit */
	struct gt_patch_result result; /* refers to the modules; of all parts */
	struct gt_ptx_module *module;  /* NULL: nothing matched by its name, or there are parts */
	GT_VEC(struct gt_patch_part) parts; /* of an image that is linked from several modules */
	bool is_reused;                     /* the caller has the result: see gt_patch_reuse */
};

/*
 * data, size: an image as gt_fatbin_open takes it, hostile. device: its compute capability, 75 for
 * 7.5. 0, also where nothing matches; -ENODATA: no PTX for this device ("SASS only"); -EINVAL,
 * -ENOTSUP, -E2BIG, -ENOMEM with a diag. The caller clears the image, also after an error.
 */
int gt_patch_image(const void *data, size_t size, uint32_t device,
		   const struct gt_patch_options *options, struct gt_patch_image *ret_image,
		   struct gt_diag *diag);
void gt_patch_image_clear(struct gt_patch_image *image);

/*
 * Whether a program may match a function that the text declares. Examines the names after .entry
 * and .func alone, so that a module that nothing matches is not parsed. True where in doubt.
 */
bool gt_patch_may_match(const char *text, size_t length, const struct gt_patch_options *options);
