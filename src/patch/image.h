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
	/*
	 * Adds the texts, possibly of several modules that were linked, and the archives that were
	 * linked with them. 0, -ENODATA, -ENOMEM.
	 */
	int (*find)(void *context, const void *cubin, size_t size, struct gt_cubin_ptx *ptx);
	void *context;
	bool always; /* load the PTX that was found even where nothing is inserted */
};

/* What a patched image is made from. */
struct gt_patch_source {
	const struct gt_fatbin_entry *entry; /* its flags, name and options are kept */
	/* The same for each text; NULL: they have those of `entry`. */
	const struct gt_fatbin_entry *const *entries;
	const struct gt_cubin_text *texts; /* several: they are linked */
	size_t text_count;
	/* Relocatable cubins that the texts are linked with. */
	const struct gt_fatbin_entry *const *objects;
	size_t object_count;
	/* Archives, linked if the texts call functions that no text defines. */
	const struct gt_cubin_text *archives;
	size_t archive_count;
	const struct gt_cubin *cubin; /* that was made from the texts; NULL: none */
	bool is_incomplete; /* parts of the program are in `code` of the selection alone */
	bool whole;         /* as in gt_patch_options */
};

/* The part of an image that is for a device. */
struct gt_patch_selection {
	struct gt_patch_source source;
	bool matches; /* a program may match a function of the source */
	bool keep;    /* gt_patch_recovery.always: load the source even where nothing is inserted */

	/* Internal: what the source refers to. */
	struct gt_fatbin *fatbin;
	struct gt_fatbin_payload payload;
	GT_VEC(const struct gt_fatbin_entry *) parts, objects; /* PTX; relocatable cubins */
	const struct gt_fatbin_entry *code; /* a cubin that is loaded as it is; NULL: none */
	struct gt_fatbin_entry entry;
	struct gt_cubin_text text;
	struct gt_cubin_ptx ptx;
	struct gt_cubin cubin;
};

/* Load the original if neither `fatbin` nor `inputs` has contents. */
struct gt_patch_image {
	struct gt_strbuf fatbin;
	struct gt_strbuf inputs;       /* of a link (base/link_input.h) */
	struct gt_patch_result result; /* refers to the modules; of all parts */
	struct gt_ptx_module *module;  /* NULL: nothing matched by its name, or there are parts */
	GT_VEC(struct gt_patch_part) parts; /* of an image that is linked from several modules */
	GT_VEC(char *) names; /* of rejected kernels without PTX, to which the result refers */
	/* Of an OpenCL program, to which the result refers (patch/spirv.h); else NULL. */
	struct gt_spirv_module *spirv;
};

/*
 * Select the PTX of an image. data, size: as gt_fatbin_open takes it, hostile; it must outlive the
 * selection, which must stay where it is. device: its compute capability, 75 for 7.5. 0, also where
 * nothing matches; -ENODATA: no PTX for this device ("SASS only"); -EINVAL, -ENOTSUP, -E2BIG,
 * -ENOMEM with a diag. The caller clears the selection, also after an error.
 */
int gt_patch_select(const void *data, size_t size, uint32_t device,
		    const struct gt_patch_options *options,
		    struct gt_patch_selection *ret_selection, struct gt_diag *diag);
void gt_patch_selection_clear(struct gt_patch_selection *selection);

/*
 * Patch what was selected. It uses nothing but its arguments and what they refer to, so that
 * another thread can do it. Errors as above. The caller clears the image, also after an error.
 */
int gt_patch_selected(const struct gt_patch_selection *selection, uint32_t device,
		      const struct gt_patch_options *options, struct gt_patch_image *ret_image,
		      struct gt_diag *diag);

/* Both. */
int gt_patch_image(const void *data, size_t size, uint32_t device,
		   const struct gt_patch_options *options, struct gt_patch_image *ret_image,
		   struct gt_diag *diag);
void gt_patch_image_clear(struct gt_patch_image *image);

/*
 * Whether a program may match a function that the text declares. Examines the names after .entry
 * and .func alone, so that a module that nothing matches is not parsed. True where in doubt. The
 * options' observer sees them.
 */
bool gt_patch_may_match(const char *text, size_t length, const struct gt_patch_options *options);
/* The same for one name, of a kernel or of another function. */
bool gt_patch_name_may_match(const char *name, bool is_entry,
			     const struct gt_patch_options *options);
