/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes in the memory of host calls, which traced processes can write to. */
#include <stdlib.h>
#include <string.h>

#include "gpubpf/map/host_calls.h"

static struct gt_bpf_map maps[] = {
	{.name = "lru", .type = 9, .key_size = 4, .value_size = 24, .max_entries = 3},
	{.name = "trie", .type = 11, .key_size = 9, .value_size = 8, .max_entries = 4},
	{.name = "array", .type = 2, .key_size = 4, .value_size = 8, .max_entries = 4},
	{.name = "hash", .type = 5, .key_size = 12, .value_size = 4, .max_entries = 5},
};
static const struct gt_bpf_object object = {.maps = maps, .map_count = gt_countof(maps)};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A piece of the input for the area, a slot and the next ones; all bells ring. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_host_call_layout layout = gt_host_call_layout_of(&object);
	struct gt_host_calls calls;
	uint8_t *area = aligned_alloc(64, layout.bytes);
	void *memory[gt_countof(maps)];

	for (size_t i = 0; i < gt_countof(maps); i++)
		memory[i] = gt_bpf_map_is_on_host(&maps[i])
				    ? calloc(1, gt_bpf_map_bytes(&maps[i], 1))
				    : NULL;
	if (!area || gt_host_calls_open(&object, memory, NULL, area, &calls))
		abort();
	memset(area, 0, layout.bytes);
	memset(area + offsetof(struct gt_host_call_area, bells), 0xff,
	       sizeof(((struct gt_host_call_area *)area)->bells));
	memcpy(area + layout.slots, data,
	       size < layout.bytes - layout.slots ? size : layout.bytes - layout.slots);
	gt_host_calls_serve(&calls);
	gt_host_calls_reclaim(&calls);
	gt_host_calls_serve(&calls);
	gt_host_calls_reclaim(&calls);
	gt_host_calls_close(&calls);
	for (size_t i = 0; i < gt_countof(maps); i++)
		free(memory[i]);
	free(area);
	return 0;
}
