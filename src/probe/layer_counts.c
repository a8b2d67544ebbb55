/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counts of a layer source from its counters, LRU maps and programs. */
#include "probe/layer_counts.h"

#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "probe/layer.h"
#include "probe/layer_missing.h"
#include "probe/load.h"

/*
 * How often a program did not run: an interrupt, or another thread, came while it ran on the same
 * CPU. False: it is not loaded.
 */
static bool read_misses(struct bpf_object *object, const char *name, uint64_t *ret_misses)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);

	if (bpf_program__fd(program) < 0 ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return false;
	*ret_misses = info.recursion_misses;
	return true;
}

/* The misses of the program that sees the same as this one; UINT64_MAX: there is none. */
static uint64_t misses_of_second(const struct gt_layer *layer, const struct gt_hook_state *states,
				 struct bpf_object *object, const char *program)
{
	uint64_t misses = UINT64_MAX;

	for (size_t i = 0; i < layer->hook_count && states; i++)
		if (states[i].was_attached && layer->hooks[i].second_of &&
		    !strcmp(layer->hooks[i].second_of, program))
			read_misses(object, layer->hooks[i].program, &misses);
	return misses;
}

/*
 * Events at which no program ran: at most as many as either of two missed. The misses of a program
 * that only recovers others' are none.
 */
static uint64_t count_missed(const struct gt_layer *layer, const struct gt_hook_state *states,
			     struct bpf_object *object)
{
	uint64_t missed = 0;

	for (size_t i = 0; i < layer->hook_count; i++) {
		const struct gt_hook *hook = &layer->hooks[i];
		uint64_t own, second;

		if (hook->recovers || hook->second_of || !read_misses(object, hook->program, &own))
			continue;
		second = misses_of_second(layer, states, object, hook->program);
		missed += own < second ? own : second;
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

void gt_layer_add_counts(const struct gt_layer *layer, const struct gt_hook_state *states,
			 struct bpf_object *object, struct gt_layer_counts *counts)
{
	struct gt_layer_counts own = {0};
	uint64_t missed = count_missed(layer, states, object);
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
