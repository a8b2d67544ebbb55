/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The handles of textures and surfaces, and the sampling of textures. */
#pragma once

#include <pthread.h>

#include "exec/texture.h"

struct sg_memory;

/* A texture under its handle; immutable, replaced as a whole. */
struct sg_texture_entry {
	uint64_t handle;
	struct sg_texture texture;
	struct sg_texture_entry *next; /* retired */
};

struct sg_textures {
	struct sg_texture_entry **entries; /* by index; SG_MAX_TEXTURES */
	uint32_t used;                     /* entries that have ever been in use */
	uint32_t *free;                    /* stack of free indices */
	uint32_t free_count, free_room;
	uint64_t generation;
	uint32_t readers; /* grids that run */
	struct sg_texture_entry *retired;
	pthread_mutex_t lock;
};

int sg_textures_open(struct sg_textures *textures);
void sg_textures_close(struct sg_textures *textures);
/* Begin and end a reader: entries that it may read are not freed in between. */
void sg_textures_enter(struct sg_textures *textures);
void sg_textures_leave(struct sg_textures *textures);
/* Return the entry of a handle, or NULL. The caller is a reader. */
const struct sg_texture_entry *sg_texture_find(const struct sg_textures *textures, uint64_t handle);

/* How an instruction samples. */
enum sg_sample_mode {
	SG_SAMPLE_PLAIN, /* the base level */
	SG_SAMPLE_LEVEL,
	SG_SAMPLE_GRADIENT,
	SG_SAMPLE_GATHER, /* one channel of the four texels that a linear filter would use */
};

struct sg_sample_plan {
	uint8_t dimensions; /* of the coordinates: 1 to 3 */
	uint8_t mode;       /* enum sg_sample_mode */
	uint8_t channel;    /* of GATHER */
	bool is_cube;
	bool is_layered;
	bool is_integer; /* coordinates are texels */
};

/* The operands of one lane. */
struct sg_sample {
	float position[3]; /* or, with is_integer: */
	int32_t texel[3];
	uint32_t layer;
	float level;
	float dx[3], dy[3]; /* derivatives of the position */
	int32_t offset[3];  /* texels */
};

/*
 * Sample a texture: four channels as bits of 32-bit floats or integers, as the CUDA programming
 * guide states it in "Texture Fetching". Filters have weights with 8 fractional bits. False:
 * *ret_address is not accessible.
 */
bool sg_texture_sample(const struct sg_texture *texture, const struct sg_memory *memory,
		       const struct sg_sample_plan *plan, const struct sg_sample *sample,
		       uint32_t result[4], uint64_t *ret_address);
/* Return whether the texture returns floats. */
static inline bool sg_texture_is_float(const struct sg_texture *texture)
{
	return texture->sampler.reads_floats || texture->image.channel >= SG_CHANNEL_HALF;
}
