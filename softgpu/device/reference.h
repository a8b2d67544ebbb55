/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texture and surface references: a module's variables to which the host assigns images. */
#pragma once

#include <stdbool.h>

#include "device/module.h"
#include "device/texture.h"

/* Both kinds: CUtexref and CUsurfref. */
struct CUtexref_st {
	uint64_t handle; /* of the module's variable; 0: made by cuTexRefCreate */
	struct sg_texture_source source;
	bool has_image;
	CUarray_format format;
	unsigned int channels;
	struct CUtexref_st *next; /* of the module */
};

struct CUsurfref_st {
	struct CUtexref_st reference;
};

/* Make a reference that is no variable of a module. 0 or CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_reference_new(bool is_surface, CUtexref *ret_reference);
void sg_reference_free(CUtexref reference);
/* Free all references of a module. */
void sg_references_free(CUmodule module);
/* Return the reference of a variable; the same one at each call. CUDA_ERROR_NOT_FOUND. */
CUresult sg_reference_find(CUmodule module, const char *name, bool is_surface,
			   CUtexref *ret_reference);
/* Assign an image and its sampler; waits for the work that may use the previous one. */
CUresult sg_reference_apply(CUtexref reference, const struct sg_texture_source *source);
