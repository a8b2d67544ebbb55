/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Textures and surfaces: images in device memory that kernels read by coordinates (tex, tld4) or
 * access element by element (suld, sust, sured). A kernel names one by a 64-bit handle: an object
 * that the host made, or a module's variable of type .texref or .surfref.
 *
 * Every function may be called from any thread, also while grids run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/exec.h"

enum {
	SG_MAX_TEXTURES = 1 << 20,  /* objects and references of a machine */
	SG_MAX_TEXTURE_LEVELS = 18, /* of a mipmap: 1 + log2(131072) */
};

/* The type of a channel in memory. */
enum sg_channel {
	SG_CHANNEL_UINT8,
	SG_CHANNEL_UINT16,
	SG_CHANNEL_UINT32,
	SG_CHANNEL_SINT8,
	SG_CHANNEL_SINT16,
	SG_CHANNEL_SINT32,
	SG_CHANNEL_HALF,
	SG_CHANNEL_FLOAT,
};

/* One level of a mipmap, or the whole image. Layers, faces of cubes and planes are slices. */
struct sg_texture_level {
	uint64_t address;
	uint64_t pitch;       /* bytes from row to row */
	uint64_t slice_pitch; /* bytes from slice to slice */
	uint32_t width, height, slices;
};

struct sg_texture_image {
	uint8_t channel;  /* enum sg_channel */
	uint8_t channels; /* 1, 2 or 4 */
	uint8_t element;  /* bytes of all channels */
	bool is_layered;
	bool is_cube; /* six slices per layer */
	/* Memory that kernels may also access by its address: each access is checked. */
	bool is_linear;
	uint8_t level_count; /* 0: a reference without an image */
	struct sg_texture_level levels[SG_MAX_TEXTURE_LEVELS];
};

/* The values are those of CUaddress_mode. */
enum sg_address_mode {
	SG_ADDRESS_WRAP,
	SG_ADDRESS_CLAMP,
	SG_ADDRESS_MIRROR,
	SG_ADDRESS_BORDER,
};

struct sg_sampler {
	uint8_t address[3];   /* enum sg_address_mode */
	bool is_linear;       /* filter; else the nearest texel */
	bool is_mip_linear;   /* between levels */
	bool is_normalized;   /* coordinates from 0 to 1 */
	bool reads_floats;    /* integers become values from 0 or -1 to 1 */
	bool is_srgb;         /* the first three channels of 8 bits are sRGB */
	bool is_seamless;     /* filters across the edges of a cube's faces */
	float bias, min, max; /* of the level */
	uint32_t border[4];   /* bits of floats or integers, as the texture returns them */
};

struct sg_texture {
	bool is_surface; /* the sampler has no meaning */
	struct sg_texture_image image;
	struct sg_sampler sampler;
};

/* Add an object. -ENOMEM; -ENOSPC: SG_MAX_TEXTURES exist. The handle is never 0. */
int sg_texture_add(struct sg_machine *machine, const struct sg_texture *texture,
		   uint64_t *ret_handle);
/* Replace an object for accesses that begin later. -ENOENT: invalid handle; -ENOMEM. */
int sg_texture_set(struct sg_machine *machine, uint64_t handle, const struct sg_texture *texture);
/* Remove an object: later accesses are the fault INVALID_TEXTURE. -ENOENT: invalid handle. */
int sg_texture_remove(struct sg_machine *machine, uint64_t handle);
/*
 * Detach every object from images in [address, address + size), whose memory is freed: later
 * accesses are the fault INVALID_TEXTURE.
 */
void sg_texture_detach(struct sg_machine *machine, uint64_t address, uint64_t size);

/* Find a variable of type .texref or .surfref of a module. 0 or -ENOENT. */
int sg_module_reference(const struct sg_module *module, const char *name, bool is_surface,
			uint64_t *ret_handle);
