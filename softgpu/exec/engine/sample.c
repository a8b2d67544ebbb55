/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sampling: CUDA programming guide, "Texture Fetching". Address modes apply to the integer
 * coordinates of texels, as Direct3D 11.3 (7.18.6) and OpenGL specify, so that linear filters read
 * across the edge with them.
 */
#include <math.h>

#include "exec/engine/engine.h"
#include "exec/engine/texture.h"
#include "exec/ops/float.h"
#include "exec/ops/half.h"

/* Filters are compiled for each number of dimensions: see sample_level. */
#define always_inline inline __attribute__((always_inline))

enum {
	WEIGHT_BITS = 8, /* fractional bits of a weight: from 0 to 1 << WEIGHT_BITS */
	WEIGHT_ONE = 1 << WEIGHT_BITS,
	BORDER = -1, /* as the coordinate of a texel */
};

/* Coordinates beyond it are far outside of every image, and can be converted to integers. */
static const double max_coordinate = 1e12;

/* What one fetch reads from. */
struct sample_source {
	const struct sg_texture *texture;
	const struct sg_memory *memory;
	const struct sg_sample_plan *plan;
	const struct sg_sample *sample;
	const struct sg_texture_level *level;
	double position[3]; /* on the face, of a cube */
	uint32_t slice;
	uint32_t one;         /* the fourth channel where the image lacks it */
	uint64_t bad_address; /* 0: none */
};

/* The axes of the image that coordinates select on a slice: of a cube, those of its faces. */
static uint32_t count_axes(const struct sg_sample_plan *plan)
{
	return plan->is_cube ? 2 : plan->dimensions;
}

/* ---- texels ---------------------------------------------------------------------------- */

static float linear_of_srgb(float value)
{
	return value <= 0.04045f ? value / 12.92f : powf((value + 0.055f) / 1.055f, 2.4f);
}

static float at_least_minus_one(float value)
{
	return value < -1.0f ? -1.0f : value;
}

/* Returns channel `index` of the texel at `texel`, as the texture returns it. */
static uint32_t read_channel(const struct sg_texture *texture, const char *texel, uint32_t index)
{
	bool floats = texture->sampler.reads_floats;
	uint16_t half;
	uint32_t word;
	float value;

	switch ((enum sg_channel)texture->image.channel) {
	case SG_CHANNEL_UINT8:
		if (!floats)
			return (uint8_t)texel[index];
		value = (float)(uint8_t)texel[index] / 255.0f;
		if (texture->sampler.is_srgb && index < 3)
			value = linear_of_srgb(value);
		return sg_bits_f32(value);
	case SG_CHANNEL_SINT8:
		if (!floats)
			return (uint32_t)(int8_t)texel[index];
		return sg_bits_f32(at_least_minus_one((float)(int8_t)texel[index] / 127.0f));
	case SG_CHANNEL_UINT16:
		memcpy(&half, texel + 2 * index, sizeof(half));
		return floats ? sg_bits_f32((float)half / 65535.0f) : half;
	case SG_CHANNEL_SINT16:
		memcpy(&half, texel + 2 * index, sizeof(half));
		if (!floats)
			return (uint32_t)(int16_t)half;
		return sg_bits_f32(at_least_minus_one((float)(int16_t)half / 32767.0f));
	case SG_CHANNEL_HALF:
		memcpy(&half, texel + 2 * index, sizeof(half));
		return sg_bits_f32((float)sg_half_to_double(half, false));
	default:
		memcpy(&word, texel + 4 * index, sizeof(word));
		return word;
	}
}

static always_inline void read_element(const struct sg_texture *texture, const char *texel,
				       uint32_t result[4])
{
	switch ((enum sg_channel)texture->image.channel) {
	case SG_CHANNEL_UINT32:
	case SG_CHANNEL_SINT32:
	case SG_CHANNEL_FLOAT:
		memcpy(result, texel, 4);
		if (texture->image.channels > 1)
			memcpy(result + 1, texel + 4, 4);
		if (texture->image.channels > 2)
			memcpy(result + 2, texel + 8, 8);
		return;
	default:
		for (uint32_t i = 0; i < texture->image.channels; i++)
			result[i] = read_channel(texture, texel, i);
	}
}

/* Channels that the image lacks are 0, 0 and 1. */
static void add_missing(const struct sample_source *source, uint32_t result[4])
{
	uint32_t count = source->texture->image.channels;

	if (count < 4) {
		result[3] = source->one;
		result[2] = 0;
		if (count < 2)
			result[1] = 0;
	}
}

/* Whether kernels may access a texel; its address is aligned to its size. */
static bool is_accessible(const struct sample_source *source, uint64_t address)
{
	const struct sg_texture_image *image = &source->texture->image;

	return !image->is_linear || sg_memory_in_arena(source->memory, address) ||
	       sg_memory_check(source->memory, address, image->element);
}

/* Reads the channels that the image has. */
static always_inline void read_channels(struct sample_source *source, int64_t x, int64_t y,
					uint32_t slice, uint32_t result[4])
{
	const struct sg_texture *texture = source->texture;
	const struct sg_texture_image *image = &texture->image;
	const struct sg_texture_level *level = source->level;
	uint64_t address;

	if (x == BORDER || y == BORDER || slice == (uint32_t)BORDER) {
		memcpy(result, texture->sampler.border, sizeof(texture->sampler.border));
		return;
	}
	/* An image of another shape than the instruction expects. */
	x = x < level->width ? x : level->width - 1;
	y = y < level->height ? y : level->height - 1;
	slice = slice < level->slices ? slice : level->slices - 1;
	address = level->address + slice * level->slice_pitch + (uint64_t)y * level->pitch +
		  (uint64_t)x * image->element;
	if (!is_accessible(source, address)) {
		source->bad_address = address;
		memset(result, 0, 4 * sizeof(*result));
		return;
	}
	read_element(texture, (const char *)(uintptr_t)address, result);
}

/* ---- coordinates ----------------------------------------------------------------------- */

/* Applies the address mode of an axis to a texel that is outside; BORDER: it stays outside. */
static __attribute__((noinline)) int64_t move_inside(const struct sample_source *source,
						     uint32_t axis, int64_t i, uint32_t size)
{
	const struct sg_sampler *sampler = &source->texture->sampler;
	enum sg_address_mode mode = sampler->address[axis];
	int64_t period;

	if (source->texture->image.is_linear && source->plan->is_integer)
		return BORDER;
	/* PTX ISA: wrap and mirror need normalized coordinates. */
	if (mode == SG_ADDRESS_BORDER)
		return BORDER;
	if (mode == SG_ADDRESS_CLAMP || !sampler->is_normalized || source->plan->is_integer)
		return i < 0 ? 0 : size - 1;
	period = mode == SG_ADDRESS_MIRROR ? 2 * (int64_t)size : size;
	i %= period;
	i = i < 0 ? i + period : i;
	return i < size ? i : period - 1 - i;
}

static always_inline int64_t apply_mode(const struct sample_source *source, uint32_t axis,
					int64_t i, uint32_t size)
{
	return sg_likely((uint64_t)i < size) ? i : move_inside(source, axis, i, size);
}

/* Rounds down; the value is a coordinate of find_coordinate, or a multiple of it. */
static always_inline int64_t round_down(double value)
{
	int64_t whole = (int64_t)value;

	return whole - ((double)whole > value);
}

/* Returns the coordinate of an axis in texels. */
static always_inline double find_coordinate(const struct sample_source *source, uint32_t axis,
					    uint32_t size)
{
	const struct sg_sampler *sampler = &source->texture->sampler;
	double x = source->position[axis];

	if (sampler->is_normalized || source->plan->is_cube) {
		if (sampler->address[axis] == SG_ADDRESS_WRAP)
			x -= floor(x);
		else if (sampler->address[axis] == SG_ADDRESS_MIRROR)
			x -= 2 * floor(x / 2);
		x *= size;
	}
	if (sg_likely(x >= -max_coordinate && x <= max_coordinate))
		return x;
	return isnan(x) ? 0 : x < 0 ? -max_coordinate : max_coordinate;
}

/* The texels of one axis that a fetch reads, and their weights. */
struct sample_axis {
	int64_t i[2];
	uint32_t weight[2];
	uint32_t count; /* 1, or 2 of a linear filter */
};

/* The count is known already. */
static always_inline void find_axis(const struct sample_source *source, uint32_t axis,
				    uint32_t size, struct sample_axis *found)
{
	int64_t offset = source->sample->offset[axis], fixed;

	if (source->plan->is_integer) {
		found->i[0] = apply_mode(source, axis, source->sample->texel[axis] + offset, size);
		return;
	}
	if (found->count == 1) {
		found->i[0] = round_down(find_coordinate(source, axis, size)) + offset;
		found->i[0] = apply_mode(source, axis, found->i[0], size);
		return;
	}
	fixed = round_down((find_coordinate(source, axis, size) - 0.5) * WEIGHT_ONE + 0.5);
	found->i[0] = (fixed >> WEIGHT_BITS) + offset;
	found->i[1] = found->i[0] + 1;
	found->weight[1] = (uint32_t)(fixed & (WEIGHT_ONE - 1));
	found->weight[0] = WEIGHT_ONE - found->weight[1];
	/* Seamless cubes resolve their edges themselves. */
	if (source->plan->is_cube && source->texture->sampler.is_seamless)
		return;
	found->i[0] = apply_mode(source, axis, found->i[0], size);
	found->i[1] = apply_mode(source, axis, found->i[1], size);
}

/* ---- cubes ----------------------------------------------------------------------------- */

/*
 * Finds the face that a direction points to, and the position on it from 0 to 1. Of equal
 * components z comes before y before x (Direct3D 11.3, 7.18.11).
 */
static uint32_t find_face(const double direction[3], double position[2], double *ret_major)
{
	double x = direction[0], y = direction[1], z = direction[2];
	double ax = fabs(x), ay = fabs(y), az = fabs(z), major, s, t;
	uint32_t face;

	if (az >= ax && az >= ay) {
		face = z < 0 ? 5 : 4;
		major = az;
		s = z < 0 ? -x : x;
		t = -y;
	} else if (ay >= ax) {
		face = y < 0 ? 3 : 2;
		major = ay;
		s = x;
		t = y < 0 ? -z : z;
	} else {
		face = x < 0 ? 1 : 0;
		major = ax;
		s = x < 0 ? z : -z;
		t = -y;
	}
	position[0] = (s / major + 1) / 2;
	position[1] = (t / major + 1) / 2;
	*ret_major = major;
	return face;
}

/* The inverse: the direction of a position on a face, from -1 to 1 (or somewhat outside). */
static void find_direction(uint32_t face, double s, double t, double direction[3])
{
	const double directions[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t},
					 {s, -1, -t}, {s, -t, 1},  {-s, -t, -1}};

	memcpy(direction, directions[face], sizeof(directions[face]));
}

/* Reads a texel next to an edge of a face, from the neighboring face. */
static void read_across_edge(struct sample_source *source, int64_t x, int64_t y, uint32_t result[4])
{
	uint32_t size = source->level->width, base = source->slice / 6 * 6, face;
	double direction[3], position[2], major;
	int64_t i, j;

	find_direction(source->slice % 6, (2 * (double)x + 1) / size - 1,
		       (2 * (double)y + 1) / size - 1, direction);
	face = find_face(direction, position, &major);
	i = (int64_t)(position[0] * size);
	j = (int64_t)(position[1] * size);
	read_channels(source, i < size ? i : size - 1, j < size ? j : size - 1, base + face,
		      result);
}

/* Reads a texel at the corner of three faces: the mean of their texels there. */
static void read_corner(struct sample_source *source, int64_t x, int64_t y, uint32_t result[4])
{
	uint32_t size = source->level->width, texels[3][4];
	int64_t inner_x = x < 0 ? 0 : size - 1, inner_y = y < 0 ? 0 : size - 1;

	read_channels(source, inner_x, inner_y, source->slice, texels[0]);
	read_across_edge(source, x, inner_y, texels[1]);
	read_across_edge(source, inner_x, y, texels[2]);
	for (uint32_t i = 0; i < source->texture->image.channels; i++)
		result[i] = sg_bits_f32((sg_float_f32(texels[0][i]) + sg_float_f32(texels[1][i]) +
					 sg_float_f32(texels[2][i])) /
					3);
}

static void read_face_texel(struct sample_source *source, int64_t x, int64_t y, uint32_t result[4])
{
	uint32_t size = source->level->width;
	bool in_x = x >= 0 && x < size, in_y = y >= 0 && y < size;

	if (in_x && in_y)
		read_channels(source, x, y, source->slice, result);
	else if (in_x || in_y || !sg_texture_is_float(source->texture))
		read_across_edge(source, x, y, result);
	else
		read_corner(source, x, y, result);
}

/* ---- one level ------------------------------------------------------------------------- */

static always_inline void read_tap(struct sample_source *source, uint32_t dimensions,
				   const int64_t at[3], uint32_t result[4])
{
	if (sg_unlikely(source->plan->is_cube && source->texture->sampler.is_seamless))
		read_face_texel(source, at[0], at[1], result);
	else
		read_channels(source, at[0], at[1],
			      dimensions == 3 ? (uint32_t)at[2] : source->slice, result);
}

static void gather_texels(struct sample_source *source, uint32_t result[4])
{
	/* Counter-clockwise from the lower left. */
	static const uint8_t order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
	struct sample_axis x = {.count = 2}, y = {.count = 2};
	uint32_t texel[4];

	find_axis(source, 0, source->level->width, &x);
	find_axis(source, 1, source->level->height, &y);
	for (uint32_t i = 0; i < 4; i++) {
		const int64_t at[3] = {x.i[order[i][0]], y.i[order[i][1]], 0};

		read_tap(source, 2, at, texel);
		add_missing(source, texel);
		result[i] = texel[source->plan->channel];
	}
}

static always_inline void filter_texels(struct sample_source *source, uint32_t dimensions,
					const struct sample_axis axes[3], uint32_t result[4])
{
	uint32_t channels = source->texture->image.channels, texel[4];
	double sums[4] = {0}, scale = 1;

	for (uint32_t corner = 0; corner < 1u << dimensions; corner++) {
		uint32_t weight = 1; /* at most 24 bits */
		int64_t at[3] = {0};

		for (uint32_t k = 0; k < dimensions; k++) {
			at[k] = axes[k].i[corner >> k & 1];
			weight *= axes[k].weight[corner >> k & 1];
		}
		/* A texel of weight 0 does not count, even if it is infinite. */
		if (!weight)
			continue;
		read_tap(source, dimensions, at, texel);
		for (uint32_t k = 0; k < channels; k++)
			sums[k] += (double)weight * (double)sg_float_f32(texel[k]);
	}
	for (uint32_t k = 0; k < dimensions; k++)
		scale /= WEIGHT_ONE;
	for (uint32_t k = 0; k < channels; k++)
		result[k] = sg_bits_f32((float)(sums[k] * scale));
}

static always_inline void sample_texels(struct sample_source *source, uint32_t dimensions,
					bool is_linear, uint32_t result[4])
{
	const struct sg_texture_level *level = source->level;
	const uint32_t sizes[3] = {level->width, level->height, level->slices};
	struct sample_axis axes[3];
	int64_t at[3] = {0};

	for (uint32_t k = 0; k < dimensions; k++) {
		axes[k] = (struct sample_axis){.count = is_linear ? 2 : 1};
		find_axis(source, k, sizes[k], &axes[k]);
		at[k] = axes[k].i[0];
	}
	if (is_linear)
		filter_texels(source, dimensions, axes, result);
	else
		read_tap(source, dimensions, at, result);
}

static void sample_level(struct sample_source *source, uint32_t level, uint32_t result[4])
{
	const struct sg_texture *texture = source->texture;
	bool is_linear = texture->sampler.is_linear && sg_texture_is_float(texture) &&
			 !source->plan->is_integer;

	source->level = &texture->image.levels[level];
	if (source->plan->mode == SG_SAMPLE_GATHER) {
		gather_texels(source, result);
		return;
	}
	switch (count_axes(source->plan) + (is_linear ? 3 : 0)) {
	case 1:
		sample_texels(source, 1, false, result);
		break;
	case 2:
		sample_texels(source, 2, false, result);
		break;
	case 3:
		sample_texels(source, 3, false, result);
		break;
	case 4:
		sample_texels(source, 1, true, result);
		break;
	case 5:
		sample_texels(source, 2, true, result);
		break;
	default:
		sample_texels(source, 3, true, result);
		break;
	}
	add_missing(source, result);
}

/* ---- levels ---------------------------------------------------------------------------- */

/* The level of the larger derivative, in texels of the base level. */
static double gradient_level(const struct sample_source *source, const double dx[3],
			     const double dy[3])
{
	const struct sg_texture_level *base = &source->texture->image.levels[0];
	const double sizes[3] = {base->width, base->height, base->slices};
	double x = 0, y = 0;

	for (uint32_t i = 0; i < count_axes(source->plan); i++) {
		double scale = source->texture->sampler.is_normalized || source->plan->is_cube
				       ? sizes[i]
				       : 1;

		x += dx[i] * scale * dx[i] * scale;
		y += dy[i] * scale * dy[i] * scale;
	}
	return log2(x > y ? x : y) / 2;
}

/* The derivative of the position on a face. */
static void face_derivative(const double direction[3], const float derivative[3], double result[3])
{
	/* A small step, and the positions before and after it on the same face. */
	double step = ldexp(1, -20), moved[3], before[2], after[2], major, other;
	uint32_t face = find_face(direction, before, &major);

	for (uint32_t i = 0; i < 3; i++)
		moved[i] = direction[i] + step * major * derivative[i];
	result[0] = result[1] = result[2] = 0;
	if (find_face(moved, after, &other) != face)
		return;
	result[0] = (after[0] - before[0]) / step / major;
	result[1] = (after[1] - before[1]) / step / major;
}

static double find_level(const struct sample_source *source)
{
	const struct sg_sampler *sampler = &source->texture->sampler;
	const struct sg_sample *sample = source->sample;
	double level = 0, last = source->texture->image.level_count - 1;
	double direction[3], dx[3], dy[3];

	if (source->plan->mode == SG_SAMPLE_LEVEL)
		level = sample->level;
	if (source->plan->mode == SG_SAMPLE_GRADIENT) {
		for (uint32_t i = 0; i < 3; i++) {
			direction[i] = sample->position[i];
			dx[i] = sample->dx[i];
			dy[i] = sample->dy[i];
		}
		if (source->plan->is_cube) {
			face_derivative(direction, sample->dx, dx);
			face_derivative(direction, sample->dy, dy);
		}
		level = gradient_level(source, dx, dy);
	}
	level += sampler->bias;
	level = level > sampler->max ? sampler->max : level;
	level = level < sampler->min ? sampler->min : level;
	return level > 0 ? level > last ? last : level : 0;
}

static void sample_levels(struct sample_source *source, uint32_t result[4])
{
	const struct sg_texture *texture = source->texture;
	double level = find_level(source);
	uint32_t first, weight, other[4];
	int64_t fixed;

	if (!texture->sampler.is_mip_linear || !sg_texture_is_float(texture) ||
	    source->plan->mode == SG_SAMPLE_GATHER) {
		sample_level(source, (uint32_t)floor(level + 0.5), result);
		return;
	}
	fixed = (int64_t)floor(level * WEIGHT_ONE + 0.5);
	first = (uint32_t)(fixed >> WEIGHT_BITS);
	weight = (uint32_t)(fixed & (WEIGHT_ONE - 1));
	sample_level(source, first, result);
	if (!weight)
		return;
	sample_level(source, first + 1, other);
	for (uint32_t i = 0; i < 4; i++)
		result[i] = sg_bits_f32(
			(float)(((double)sg_float_f32(result[i]) * (WEIGHT_ONE - weight) +
				 (double)sg_float_f32(other[i]) * weight) /
				WEIGHT_ONE));
}

/* Selects the layer and the face; both are clamped to those of the image. */
static void find_slice(struct sample_source *source)
{
	const struct sg_sample *sample = source->sample;
	uint32_t slices = source->texture->image.levels[0].slices, layers = slices, layer = 0;
	double direction[3], major;

	if (source->plan->is_cube) {
		memcpy(direction, source->position, sizeof(direction));
		source->slice = find_face(direction, source->position, &major);
		layers /= 6;
	}
	if (source->plan->is_layered && layers)
		layer = sample->layer < layers ? sample->layer : layers - 1;
	source->slice += layer * (source->plan->is_cube ? 6 : 1);
	if (source->slice >= slices)
		source->slice = slices - 1;
}

bool sg_texture_sample(const struct sg_texture *texture, const struct sg_memory *memory,
		       const struct sg_sample_plan *plan, const struct sg_sample *sample,
		       uint32_t result[4], uint64_t *ret_address)
{
	struct sample_source source = {
		.texture = texture,
		.memory = memory,
		.plan = plan,
		.sample = sample,
		.one = sg_texture_is_float(texture) ? sg_bits_f32(1.0f) : 1,
	};

	for (uint32_t i = 0; i < plan->dimensions; i++)
		source.position[i] = (double)sample->position[i];
	if (plan->is_cube || plan->is_layered)
		find_slice(&source);
	if (texture->image.level_count > 1)
		sample_levels(&source, result);
	else
		sample_level(&source, 0, result);
	*ret_address = source.bad_address;
	return !source.bad_address;
}
