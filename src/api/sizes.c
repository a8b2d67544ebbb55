/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sizes that a call does not have, but calls before it: pixels of images, and what is mapped. */
#include <string.h>

#include "api/value.h"

#define FIRST_IMAGE 0x10f1 /* CL_MEM_OBJECT_IMAGE2D (CL/cl.h) */

struct gt_sized {
	const char *function;
	enum gt_sized_kind kind;
	const char *object, *region;
};

static const struct gt_sized sized_functions[] = {
#define SIZED(function, kind, object, region) {#function, GT_SIZED_##kind, #object, #region},
#include "api/sizes.def"
#undef SIZED
};

static const struct {
	uint32_t number;
	unsigned channels, channel_bytes, pixel_bytes;
} formats[] = {
#define ORDER(number, channels) {number, channels, 0, 0},
#define TYPE(number, bytes) {number, 0, bytes, 0},
#define PACKED(number, bytes) {number, 0, 0, bytes},
#include "api/pixels.def"
#undef ORDER
#undef TYPE
#undef PACKED
};

const struct gt_sized *gt_api_sized(const struct gt_api_function *function)
{
	for (size_t i = 0; i < gt_countof(sized_functions); i++)
		if (!strcmp(sized_functions[i].function, function->name))
			return &sized_functions[i];
	return NULL;
}

/* A field of a structure that an argument points to. False: it was not copied. */
static bool load_field(const struct gt_call *call, const char *argument, const char *name,
		       uint64_t *ret_number)
{
	int number = gt_api_find_argument(call->function, argument);
	struct gt_api_value structure, field;

	if (number < 0)
		return false;
	structure = gt_call_pointed_value(call, (unsigned)number);
	for (unsigned i = 0; structure.size && i < structure.type->count; i++) {
		if (strcmp(structure.type->fields[i].name, name) != 0)
			continue;
		field = gt_value_field(&structure, &structure.type->fields[i], 0);
		return gt_value_load(&field, ret_number);
	}
	return false;
}

/* 0: unknown. */
static uint64_t bytes_of_pixel(uint64_t order, uint64_t type)
{
	uint64_t channels = 0, channel_bytes = 0;

	for (size_t i = 0; i < gt_countof(formats); i++) {
		if (formats[i].number == type && formats[i].pixel_bytes)
			return formats[i].pixel_bytes;
		if (formats[i].number == order)
			channels = formats[i].channels;
		if (formats[i].number == type)
			channel_bytes = formats[i].channel_bytes;
	}
	return channels * channel_bytes;
}

static uint64_t load_pixel(const struct gt_call *call)
{
	const char *format = call->layout->sized->object;
	uint64_t order, type;

	return load_field(call, format, "image_channel_order", &order) &&
			       load_field(call, format, "image_channel_data_type", &type)
		       ? bytes_of_pixel(order, type)
		       : 0;
}

static bool multiply_by(uint64_t *product, uint64_t factor)
{
	return !__builtin_mul_overflow(*product, factor, product);
}

/* The sizes that an image of a type has; others are ignored, and may be anything. NULL: unknown. */
static const char *const *dimensions_of(uint64_t type)
{
	static const char *const shapes[][4] = {
		{"image_width", "image_height"},                     /* CL_MEM_OBJECT_IMAGE2D */
		{"image_width", "image_height", "image_depth"},      /* …IMAGE3D */
		{"image_width", "image_height", "image_array_size"}, /* …IMAGE2D_ARRAY */
		{"image_width"},                                     /* …IMAGE1D */
		{"image_width", "image_array_size"},                 /* …IMAGE1D_ARRAY */
	};

	return type - FIRST_IMAGE < gt_countof(shapes) ? shapes[type - FIRST_IMAGE] : NULL;
}

/* The pixels of a new image. False: unknown, or those of a buffer. */
static bool load_described_pixels(const struct gt_call *call, uint64_t *ret_pixels)
{
	const char *description = call->layout->sized->region;
	const char *const *dimension;
	uint64_t type, size, pixels = 1;

	if (!load_field(call, description, "image_type", &type))
		return false;
	dimension = dimensions_of(type);
	if (!dimension)
		return false;
	for (unsigned i = 0; dimension[i]; i++)
		if (!load_field(call, description, dimension[i], &size) ||
		    !multiply_by(&pixels, size))
			return false;
	*ret_pixels = pixels;
	return true;
}

/* The same where the sizes are arguments. */
static bool load_given_pixels(const struct gt_call *call, uint64_t *ret_pixels)
{
	static const char *const dimensions[] = {"image_width", "image_height", "image_depth"};
	uint64_t pixels = 1, size;

	for (size_t i = 0; i < gt_countof(dimensions); i++) {
		int argument = gt_api_find_argument(call->function, dimensions[i]);

		if (argument >= 0 && (!gt_call_number(call, (unsigned)argument, &size) ||
				      !multiply_by(&pixels, size)))
			return false;
	}
	*ret_pixels = pixels;
	return true;
}

/* The product of a region's sizes. */
static bool load_region(const struct gt_call *call, uint64_t *ret_pixels)
{
	static const char *const names[] = {"x", "y", "z"};
	uint64_t pixels = 1, size;

	for (size_t i = 0; i < gt_countof(names); i++)
		if (!load_field(call, call->layout->sized->region, names[i], &size) ||
		    !multiply_by(&pixels, size))
			return false;
	*ret_pixels = pixels;
	return true;
}

static bool load_count(const struct gt_call *call, uint64_t *ret_count)
{
	switch (call->layout->sized->kind) {
	case GT_SIZED_IMAGE:
		return gt_api_find_argument(call->function, call->layout->sized->region) >= 0
			       ? load_described_pixels(call, ret_count)
			       : load_given_pixels(call, ret_count);
	case GT_SIZED_REGION:
		return load_region(call, ret_count);
	case GT_SIZED_MAPPING:
		return gt_call_bytes(call, ret_count);
	case GT_SIZED_UNMAPPING:
		break;
	}
	return false;
}

bool gt_call_sized(const struct gt_call *call, struct gt_call_sized *ret_sized)
{
	const struct gt_sized *row = call->layout->sized;
	struct gt_call_sized sized = {0};
	int object;

	if (!row)
		return false;
	sized.kind = row->kind;
	object = gt_api_find_argument(call->function, row->object);
	if (row->kind == GT_SIZED_IMAGE)
		sized.pixel = load_pixel(call);
	else if (object >= 0 && !gt_call_number(call, (unsigned)object, &sized.object))
		return false;
	sized.has_count = load_count(call, &sized.count);
	if (call->succeeded && call->layout->plan.result == GT_RESULT_POINTER)
		sized.result = call->event->result;
	*ret_sized = sized;
	return true;
}
