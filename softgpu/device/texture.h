/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texture and surface objects: descriptors of the API, and the machine's textures made of them. */
#pragma once

#include <stdbool.h>

#include <cuda.h>

#include "exec/texture.h"

struct CUctx_st;

/* What a texture or surface reads. */
struct sg_texture_source {
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC sampler;    /* not of surfaces */
	CUDA_RESOURCE_VIEW_DESC view; /* if has_view */
	bool has_view;
	bool is_surface;
};

/*
 * Check descriptors and make a texture of them. CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED:
 * a block-compressed view.
 */
CUresult sg_texture_describe(const struct sg_texture_source *source,
			     struct sg_texture *ret_texture);

/* Create an object in a context. */
CUresult sg_texture_object_new(struct CUctx_st *context, const struct sg_texture_source *source,
			       unsigned long long *ret_object);
/*
 * Destroy an object; work that was submitted before may use it until it ends.
 * CUDA_ERROR_INVALID_VALUE: not an object of that kind.
 */
CUresult sg_texture_object_destroy(unsigned long long object, bool is_surface);
/* Return the descriptors of an object. False: not an object of that kind. */
bool sg_texture_object_find(unsigned long long object, bool is_surface,
			    struct sg_texture_source *ret_source);
/* Destroy all objects of a context. */
void sg_texture_objects_free_context(struct CUctx_st *context);
