/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/copy.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/array.h"
#include "device/memory.h"
#include "device/stream_capture.h"

/* Larger copies from pageable memory wait instead of staging their source. */
enum { MAX_STAGING = 4 << 20 };

/* ---- checks ---------------------------------------------------------------------------- */

/* The address range of one side of a copy. */
struct copy_span {
	uint64_t address;
	uint64_t size;
};

static bool multiply_checked(uint64_t a, uint64_t b, uint64_t *ret_product)
{
	return !__builtin_mul_overflow(a, b, ret_product);
}

static bool find_span(const struct sg_copy_side *strided, const struct sg_copy_work *copy,
		      struct copy_span *ret_span)
{
	uint64_t rows, slices, size;

	if (!multiply_checked(copy->height - 1, strided->pitch, &rows) ||
	    !multiply_checked(copy->depth - 1, strided->slice, &slices) ||
	    __builtin_add_overflow(rows, slices, &size) ||
	    __builtin_add_overflow(size, copy->width, &size))
		return false;
	*ret_span = (struct copy_span){strided->address, size};
	return size <= UINT64_MAX - strided->address;
}

/* The memory that a side of a copy is in. */
enum copy_side_memory {
	SIDE_PAGEABLE,
	SIDE_PINNED,
	SIDE_DEVICE,
	SIDE_MANAGED,
	SIDE_WRONG,
};

/* `device`: the program declares it device memory. */
static enum copy_side_memory find_side_memory(struct copy_span span, bool device)
{
	struct sg_allocation allocation;

	if (!sg_memory_find(span.address, &allocation))
		return device ? SIDE_WRONG : SIDE_PAGEABLE;
	if (!sg_memory_find_range(span.address, span.size, &allocation)) {
		/* Registered memory may be part of something larger that the host may read. */
		if (!device && allocation.kind == SG_MEMORY_REGISTERED)
			return SIDE_PAGEABLE;
		return SIDE_WRONG;
	}
	if (sg_memory_is_managed(&allocation))
		return SIDE_MANAGED;
	return sg_memory_is_host(&allocation) ? SIDE_PINNED : SIDE_DEVICE;
}

static bool in_device(enum copy_side_memory side)
{
	return side == SIDE_DEVICE || side == SIDE_MANAGED;
}

static const char *direction_name(enum copy_side_memory target, enum copy_side_memory source)
{
	if (in_device(source))
		return in_device(target) ? "D2D" : "D2H";
	return in_device(target) ? "H2D" : "H2H";
}

static CUresult check_side(struct sg_copy_work *copy, enum sg_direction direction)
{
	bool to_device =
		direction == SG_COPY_HOST_TO_DEVICE || direction == SG_COPY_DEVICE_TO_DEVICE;
	bool from_device =
		direction == SG_COPY_DEVICE_TO_HOST || direction == SG_COPY_DEVICE_TO_DEVICE;
	struct copy_span target_span, source_span;
	enum copy_side_memory target, source;

	if (!copy->width || !copy->height || !copy->depth)
		return CUDA_SUCCESS;
	if (!find_span(&copy->target, copy, &target_span) ||
	    !find_span(&copy->source, copy, &source_span) || !target_span.address ||
	    !source_span.address)
		return CUDA_ERROR_INVALID_VALUE;
	target = find_side_memory(target_span, to_device);
	source = find_side_memory(source_span, from_device);
	if (target == SIDE_WRONG || source == SIDE_WRONG)
		return CUDA_ERROR_INVALID_VALUE;
	copy->direction = direction_name(target, source);
	copy->reads_pageable = source == SIDE_PAGEABLE;
	copy->writes_pageable = target == SIDE_PAGEABLE;
	copy->host_sees = source != SIDE_DEVICE || target != SIDE_DEVICE;
	return CUDA_SUCCESS;
}

/* ---- preparing ------------------------------------------------------------------------- */

static CUmemorytype type_of(bool device)
{
	return device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

CUresult sg_copy_prepare(uint64_t target, uint64_t source, uint64_t size,
			 enum sg_direction direction, struct sg_work *ret_work)
{
	struct sg_work work = {
		.kind = SG_WORK_COPY,
		.copy = {.target = {target, size, size},
			 .source = {source, size, size},
			 .width = size,
			 .height = 1,
			 .depth = 1,
			 .direction = "H2H"},
	};
	CUDA_MEMCPY3D *parameters = &work.copy.parameters;
	CUresult result = check_side(&work.copy, direction);

	if (result)
		return result;
	parameters->dstMemoryType = type_of(work.copy.direction[2] == 'D');
	parameters->srcMemoryType = type_of(work.copy.direction[0] == 'D');
	parameters->dstHost = (void *)(uintptr_t)target;
	parameters->srcHost = (void *)(uintptr_t)source;
	parameters->dstDevice = target;
	parameters->srcDevice = source;
	parameters->dstPitch = parameters->srcPitch = size;
	parameters->dstHeight = parameters->srcHeight = 1;
	parameters->WidthInBytes = size;
	parameters->Height = parameters->Depth = 1;
	*ret_work = work;
	return CUDA_SUCCESS;
}

/* One side of CUDA_MEMCPY3D, with the same member names for both sides. */
struct copy_side_parameters {
	CUmemorytype type;
	uint64_t host, device;
	CUarray array;
	size_t x, y, z, pitch, height;
};

static bool fits(size_t start, size_t size, size_t limit)
{
	return start <= limit && size <= limit - start;
}

/* Whether a copy is inside of the array of a side: the memory after it may be another level. */
static bool is_in_array(const struct copy_side_parameters *side, const CUDA_MEMCPY3D *all)
{
	const struct CUarray_st *array = side->array;

	return fits(side->x, all->WidthInBytes, array->pitch) &&
	       fits(side->y, all->Height, array->height ? array->height : 1) &&
	       fits(side->z, all->Depth, sg_array_slices(array));
}

static CUresult find_side(const struct copy_side_parameters *side, const CUDA_MEMCPY3D *all,
			  struct sg_copy_side *ret_side)
{
	struct sg_copy_side strided = {.pitch = side->pitch};
	uint64_t rows = side->height;

	switch (side->type) {
	case CU_MEMORYTYPE_HOST:
		strided.address = side->host;
		break;
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		strided.address = side->device;
		break;
	case CU_MEMORYTYPE_ARRAY:
		if (!sg_array_side(side->array, &strided, &rows) || !is_in_array(side, all))
			return CUDA_ERROR_INVALID_VALUE;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (!strided.pitch)
		strided.pitch = side->x + all->WidthInBytes;
	if (!rows)
		rows = side->y + all->Height;
	if (all->Height > 1 && strided.pitch < side->x + all->WidthInBytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!multiply_checked(strided.pitch, rows, &strided.slice))
		return CUDA_ERROR_INVALID_VALUE;
	strided.address += side->x + side->y * strided.pitch + side->z * strided.slice;
	*ret_side = strided;
	return CUDA_SUCCESS;
}

static enum sg_direction direction_of(const CUDA_MEMCPY3D *all)
{
	bool to_device = all->dstMemoryType == CU_MEMORYTYPE_DEVICE ||
			 all->dstMemoryType == CU_MEMORYTYPE_ARRAY;
	bool from_device = all->srcMemoryType == CU_MEMORYTYPE_DEVICE ||
			   all->srcMemoryType == CU_MEMORYTYPE_ARRAY;

	if (to_device && from_device)
		return SG_COPY_DEVICE_TO_DEVICE;
	if (to_device)
		return SG_COPY_HOST_TO_DEVICE;
	return from_device ? SG_COPY_DEVICE_TO_HOST : SG_COPY_ANY;
}

CUresult sg_copy_prepare_3d(const CUDA_MEMCPY3D *parameters, struct sg_work *ret_work)
{
	const CUDA_MEMCPY3D *all = parameters;
	struct copy_side_parameters target = {
		all->dstMemoryType, (uintptr_t)all->dstHost, all->dstDevice,
		all->dstArray,      all->dstXInBytes,        all->dstY,
		all->dstZ,          all->dstPitch,           all->dstHeight,
	};
	struct copy_side_parameters source = {
		all->srcMemoryType, (uintptr_t)all->srcHost, all->srcDevice,
		all->srcArray,      all->srcXInBytes,        all->srcY,
		all->srcZ,          all->srcPitch,           all->srcHeight,
	};
	struct sg_work work = {
		.kind = SG_WORK_COPY,
		.copy = {.width = all->WidthInBytes,
			 .height = all->Height,
			 .depth = all->Depth,
			 .direction = "H2H",
			 .parameters = *all},
	};
	CUresult result = find_side(&target, all, &work.copy.target);

	if (!result)
		result = find_side(&source, all, &work.copy.source);
	if (!result)
		result = check_side(&work.copy, direction_of(all));
	if (!result)
		*ret_work = work;
	return result;
}

CUresult sg_set_prepare(uint64_t address, uint64_t pitch, uint32_t value, uint32_t element_size,
			uint64_t width, uint64_t height, struct sg_work *ret_work)
{
	struct sg_copy_work shape = {.width = width * element_size, .height = height, .depth = 1};
	struct sg_copy_side strided = {.address = address, .pitch = pitch};
	struct sg_work work = {
		.kind = SG_WORK_SET,
		.set = {address, pitch, value, element_size, width, height, false},
	};
	struct copy_span span;
	uint64_t bytes;

	if (!multiply_checked(width, element_size, &bytes) || address % element_size ||
	    (height > 1 && (pitch < bytes || pitch % element_size)))
		return CUDA_ERROR_INVALID_VALUE;
	if (width && height) {
		enum copy_side_memory side = find_span(&strided, &shape, &span)
						     ? find_side_memory(span, true)
						     : SIDE_WRONG;

		if (side == SIDE_WRONG)
			return CUDA_ERROR_INVALID_VALUE;
		work.set.host_sees = side != SIDE_DEVICE;
	}
	*ret_work = work;
	return CUDA_SUCCESS;
}

/* ---- doing it -------------------------------------------------------------------------- */

static void copy_rows(const struct sg_copy_work *copy)
{
	const struct sg_copy_side *target = &copy->target, *source = &copy->source;

	for (uint64_t z = 0; z < copy->depth; z++) {
		for (uint64_t y = 0; y < copy->height; y++) {
			uint64_t to = target->address + z * target->slice + y * target->pitch;
			uint64_t from = source->address + z * source->slice + y * source->pitch;

			memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, copy->width);
		}
	}
}

/* Copy a pageable source into a staging buffer, in rows without gaps. */
static bool stage_source(struct sg_copy_work *copy)
{
	struct sg_copy_work read = *copy;

	copy->staging = malloc(copy->width * copy->height * copy->depth);
	if (!copy->staging)
		return false;
	read.target = (struct sg_copy_side){(uintptr_t)copy->staging, copy->width,
					    copy->width * copy->height};
	copy_rows(&read);
	copy->source = read.target;
	return true;
}

CUresult sg_copy_submit(CUstream stream, struct sg_work *work, bool synchronous)
{
	struct sg_copy_work *copy = &work->copy;
	uint64_t bytes = copy->width * copy->height * copy->depth;
	bool captured = sg_stream_is_captured(stream);
	bool wait = synchronous && copy->host_sees;

	if (!bytes && !captured)
		return CUDA_SUCCESS;
	if (!synchronous && !captured) {
		wait = copy->writes_pageable;
		if (copy->reads_pageable && (bytes > MAX_STAGING || !stage_source(copy)))
			wait = true;
	}
	return sg_stream_submit(stream, work, wait);
}

CUresult sg_copy_run(struct sg_copy_work *copy, struct sg_record *record)
{
	record->kind = copy->direction;
	record->address = copy->target.address;
	record->source = copy->staging ? 0 : copy->source.address;
	record->bytes = copy->width * copy->height * copy->depth;
	copy_rows(copy);
	return CUDA_SUCCESS;
}

static void set_row(unsigned char *row, const struct sg_set_work *set)
{
	uint16_t *halves = (uint16_t *)row;
	uint32_t *words = (uint32_t *)row;

	switch (set->element_size) {
	case 1:
		memset(row, (int)set->value, set->width);
		break;
	case 2:
		for (uint64_t i = 0; i < set->width; i++)
			halves[i] = (uint16_t)set->value;
		break;
	default:
		for (uint64_t i = 0; i < set->width; i++)
			words[i] = set->value;
		break;
	}
}

CUresult sg_set_run(const struct sg_set_work *set, struct sg_record *record)
{
	record->address = set->address;
	record->bytes = set->width * set->height * set->element_size;
	for (uint64_t y = 0; set->width && y < set->height; y++)
		set_row((unsigned char *)(uintptr_t)(set->address + y * set->pitch), set);
	return CUDA_SUCCESS;
}

static bool value_is_there(const struct sg_value_work *value)
{
	uint64_t mask = value->size == 8 ? UINT64_MAX : UINT32_MAX;
	uint64_t wanted = value->value & mask;
	uint64_t seen;

	if (value->size == 8)
		seen = __atomic_load_n((uint64_t *)(uintptr_t)value->address, __ATOMIC_ACQUIRE);
	else
		seen = __atomic_load_n((uint32_t *)(uintptr_t)value->address, __ATOMIC_ACQUIRE);
	switch (value->flags & 3) {
	case CU_STREAM_WAIT_VALUE_EQ:
		return seen == wanted;
	case CU_STREAM_WAIT_VALUE_AND:
		return seen & wanted;
	case CU_STREAM_WAIT_VALUE_NOR:
		return (~(seen | wanted) & mask) != 0;
	default:
		return value->size == 8 ? (int64_t)(seen - wanted) >= 0
					: (int32_t)(seen - wanted) >= 0;
	}
}

CUresult sg_value_run(const struct sg_value_work *value, CUcontext context,
		      struct sg_record *record)
{
	const struct timespec pause = {0, 20000};

	record->address = value->address;
	record->bytes = value->size;
	record->kind = value->is_write ? "write" : "wait";
	if (value->is_write) {
		if (value->size == 8)
			__atomic_store_n((uint64_t *)(uintptr_t)value->address, value->value,
					 __ATOMIC_RELEASE);
		else
			__atomic_store_n((uint32_t *)(uintptr_t)value->address,
					 (uint32_t)value->value, __ATOMIC_RELEASE);
		return CUDA_SUCCESS;
	}
	while (!value_is_there(value)) {
		if (atomic_load(&context->error))
			return (CUresult)atomic_load(&context->error);
		nanosleep(&pause, NULL);
	}
	return CUDA_SUCCESS;
}
