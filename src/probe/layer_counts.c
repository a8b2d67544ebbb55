/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counts of a layer source from its counters, LRU maps and programs. */
#include "probe/layer_counts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "probe/layer.h"
#include "probe/load.h"

/*
 * Events at which a program did not run: an interrupt, or another thread, came while it ran on the
 * same CPU. Those of a program that only recovers others' are none.
 */
static uint64_t count_missed(const struct gt_layer *layer, struct bpf_object *object)
{
	uint64_t missed = 0;

	for (size_t i = 0; i < layer->hook_count; i++) {
		const struct bpf_program *program =
			bpf_object__find_program_by_name(object, layer->hooks[i].program);
		struct bpf_prog_info info = {0};
		__u32 size = sizeof(info);

		if (!layer->hooks[i].recovers && bpf_program__fd(program) >= 0 &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			missed += info.recursion_misses;
	}
	return missed;
}

/* Entries that were evicted from the LRU maps: added, not removed, and not there. */
static uint64_t count_evicted(const struct gt_layer *layer, struct bpf_object *object,
			      uint64_t added, uint64_t removed)
{
	uint64_t expected = added > removed ? added - removed : 0, present = 0;

	if (!expected)
		return 0;
	for (size_t i = 0; i < GT_MAX_LRU_MAPS && layer->lru_maps[i]; i++)
		present += gt_load_count_entries(
			bpf_object__find_map_by_name(object, layer->lru_maps[i]));
	return expected > present ? expected - present : 0;
}

void gt_layer_add_counts(const struct gt_layer *layer, struct bpf_object *object,
			 struct gt_layer_counts *counts)
{
	struct gt_layer_counts own = {0};
	uint64_t missed = count_missed(layer, object);
	int map = bpf_object__find_map_fd_by_name(object, "layer_counts");

	gt_load_sum_counters(map, &own, sizeof(own) / sizeof(__u64));
	counts->recorded += own.recorded;
	/* `recovered` is below 0 if a record is missing that a raw tracepoint left a hit to. */
	if ((int64_t)(missed - own.recovered) > 0)
		counts->lost += missed - own.recovered;
	counts->lost += own.lost;
	counts->unsampled += own.unsampled;
	counts->evicted +=
		own.evicted + count_evicted(layer, object, own.lru_added, own.lru_removed);
	counts->unattributed += own.unattributed;
	counts->names_lost += own.names_lost;
}
