/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sizes that calls define for later ones: pixels of images, and what is mapped at an address. */
#include <errno.h>

#include "names/private.h"

static uint64_t find_size(const struct gt_hash *sizes, uint32_t process, uint64_t object)
{
	struct names_key key = {process, object};
	const uint64_t *size = gt_hash_count(sizes) ? gt_hash_get(sizes, &key, sizeof(key)) : NULL;

	return size ? *size : 0;
}

static int keep_size(struct gt_hash *sizes, uint32_t process, uint64_t object, uint64_t size)
{
	struct names_key key = {process, object};
	uint64_t *kept = gt_hash_get(sizes, &key, sizeof(key));

	if (!kept) {
		kept = malloc(sizeof(*kept));
		if (!kept || gt_hash_set(sizes, &key, sizeof(key), kept)) {
			free(kept);
			return -ENOMEM;
		}
	}
	*kept = size;
	return 0;
}

static uint64_t bytes_of_pixels(uint64_t pixel, const struct gt_call_sized *sized)
{
	uint64_t bytes;

	return sized->has_count && !__builtin_mul_overflow(pixel, sized->count, &bytes) ? bytes : 0;
}

static uint64_t bytes_of(const struct gt_names *names, uint32_t process,
			 const struct gt_call_sized *sized)
{
	switch (sized->kind) {
	case GT_SIZED_IMAGE:
		return bytes_of_pixels(sized->pixel, sized);
	case GT_SIZED_REGION:
		return bytes_of_pixels(find_size(names->pixels, process, sized->object), sized);
	case GT_SIZED_MAPPING:
		return sized->has_count ? sized->count : 0;
	case GT_SIZED_UNMAPPING:
		return find_size(names->mapped, process, sized->object);
	}
	return 0;
}

uint64_t gt_names_sized_bytes(const struct gt_names *names, const struct gt_call *call)
{
	struct gt_call_sized sized;

	return gt_call_sized(call, &sized) ? bytes_of(names, call->event->head.process, &sized) : 0;
}

int gt_names_learn_size(struct gt_names *names, const struct gt_call *call)
{
	uint32_t process = call->event->head.process;
	struct gt_call_sized sized;

	if (!gt_call_sized(call, &sized) || !sized.result)
		return 0;
	return sized.kind == GT_SIZED_IMAGE
		       ? keep_size(names->pixels, process, sized.result, sized.pixel)
		       : keep_size(names->mapped, process, sized.result,
				   bytes_of(names, process, &sized));
}
