/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/standalone_copies.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "gpubpf/map/instance.h"
#include "gpubpf/translate.h"
#include "opencl/merge.h"

enum {
	ALIGNMENT = 8,       /* words, that maps begin at */
	MAX_BYTES = 1 << 30, /* of all maps */
};

/* A map. */
struct copied_part {
	uint64_t *words;
	size_t first, count; /* words */
};

struct gt_standalone_copies {
	GT_VEC(struct copied_part) parts;
	size_t count; /* words */
	uint64_t *device, *base;
};

/* Place memory; *address becomes its offset. 0 or -ENOMEM. */
static int place_part(struct gt_standalone_copies *copies, uint64_t *address, size_t bytes)
{
	struct copied_part part = {
		.words = (uint64_t *)(uintptr_t)*address, // NOLINT(performance-no-int-to-ptr)
		.first = copies->count,
		.count = bytes / sizeof(uint64_t),
	};

	*address = part.first * sizeof(uint64_t);
	copies->count += (part.count + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	return gt_vec_push(&copies->parts, part);
}

static int place_maps(const struct gt_instance *instance, struct gt_symbol_values *symbols,
		      uint64_t (*maps)[2], struct gt_standalone_copies *copies)
{
	const struct gt_bpf_object *object = instance->object;
	int error = place_part(copies, &symbols->output[0], instance->output->size);

	for (uint32_t i = 0; object && i < object->map_count && !error; i++)
		if (instance->memory[i] && !gt_bpf_map_is_on_host(&object->maps[i]))
			error = place_part(copies, &maps[i][0],
					   gt_bpf_map_bytes(&object->maps[i], instance->copies[i]));
	return error;
}

int gt_standalone_copies_new(const struct gt_instance *instance, struct gt_symbol_values *symbols,
			     uint64_t (*maps)[2], struct gt_standalone_copies **ret_copies,
			     struct gt_diag *diag)
{
	struct gt_standalone_copies *copies = calloc(1, sizeof(*copies));
	int error = copies ? place_maps(instance, symbols, maps, copies) : -ENOMEM;

	if (!error && gt_standalone_copies_size(copies) > MAX_BYTES) {
		gt_standalone_copies_free(copies);
		return gt_diag(diag, -E2BIG, "run", NULL,
			       "the device needs copies of the maps, which have more than 1 GiB");
	}
	if (!error) {
		copies->device = calloc(copies->count, sizeof(*copies->device));
		copies->base = calloc(copies->count, sizeof(*copies->base));
	}
	if (error || !copies->device || !copies->base) {
		gt_standalone_copies_free(copies);
		return gt_diag(diag, -ENOMEM, "run", NULL, "out of memory");
	}
	*ret_copies = copies;
	return 0;
}

void gt_standalone_copies_free(struct gt_standalone_copies *copies)
{
	if (!copies)
		return;
	gt_vec_free(&copies->parts);
	free(copies->device);
	free(copies->base);
	free(copies);
}

void *gt_standalone_copies_memory(const struct gt_standalone_copies *copies)
{
	return copies->device;
}

size_t gt_standalone_copies_size(const struct gt_standalone_copies *copies)
{
	return copies->count * sizeof(*copies->device);
}

void gt_standalone_copies_fill(struct gt_standalone_copies *copies)
{
	gt_vec_each (part, &copies->parts) {
		gt_cl_read_words(copies->base + part->first, part->words, part->count);
		memcpy(copies->device + part->first, copies->base + part->first,
		       part->count * sizeof(*part->words));
	}
}

void gt_standalone_copies_merge(struct gt_standalone_copies *copies)
{
	gt_vec_each (part, &copies->parts)
		gt_cl_merge_words(part->words, copies->base + part->first,
				  copies->device + part->first, part->count);
}
