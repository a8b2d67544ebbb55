/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the time of a traced call goes: the cost of each step of the programs on calls, measured on
 * its own. docs/cost.md has a table of it. trace-cost measures whole calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clean.h"
#include "probe/load.h"

#include "call-parts.h"
#include "call-parts.skel.h"

#define REPEATS 400

static int drop_record(void *context, void *record, size_t size)
{
	return 0;
}

static int compare_ns(const void *left, const void *right)
{
	__u64 a = *(const __u64 *)left, b = *(const __u64 *)right;

	return a < b ? -1 : a > b;
}

/* The median of a program's runs, ns per round; below 0: it cannot be run. */
static double ns_per_round(struct call_parts_bpf *skeleton, const struct bpf_program *program,
			   struct ring_buffer *ring)
{
	const size_t middle = REPEATS / 2;
	LIBBPF_OPTS(bpf_test_run_opts, options);
	static __u64 elapsed[REPEATS];

	for (size_t i = 0; i < REPEATS; i++) {
		if (bpf_prog_test_run_opts(bpf_program__fd(program), &options))
			return -1;
		elapsed[i] = skeleton->bss->elapsed;
		ring_buffer__consume(ring);
	}
	qsort(elapsed, REPEATS, sizeof(*elapsed), compare_ns);
	return (double)elapsed[middle] / PART_ROUNDS;
}

static int measure(struct call_parts_bpf *skeleton, struct ring_buffer *ring)
{
	const struct {
		const char *name;
		const struct bpf_program *program;
	} parts[] = {
		{"time_stamp", skeleton->progs.part_clock},
		{"thread_state", skeleton->progs.part_state},
		{"plan_of_function", skeleton->progs.part_plan},
		{"count", skeleton->progs.part_count},
		{"sums_of_function", skeleton->progs.part_sums},
		{"user_word", skeleton->progs.part_user_word},
		{"user_96_bytes", skeleton->progs.part_user_window},
		{"ring_query", skeleton->progs.part_ring_query},
		{"ring_record_of_96_bytes", skeleton->progs.part_ring_output},
		{"mapping_of_address", skeleton->progs.part_find_mapping},
	};
	double nothing = ns_per_round(skeleton, skeleton->progs.part_nothing, ring);

	for (size_t i = 0; i < gt_countof(parts); i++) {
		double ns = ns_per_round(skeleton, parts[i].program, ring);

		if (ns < 0 || nothing < 0) {
			fprintf(stderr, "call-parts: %s cannot be run\n", parts[i].name);
			return 1;
		}
		printf("call_part.%s %.1f ns\n", parts[i].name, ns > nothing ? ns - nothing : 0);
	}
	return 0;
}

int main(void)
{
	static __u64 memory[PART_RECORD_BYTES / sizeof(__u64)];
	struct call_parts_bpf *skeleton;
	struct ring_buffer *ring;
	__u64 zeros[64 * sizeof(struct part_plan) / sizeof(__u64)] = {0};
	__u32 key = 7;
	int status = 1;

	gt_load_set_verbose(false);
	if (gt_load_check(NULL)) {
		printf("call_part.time_stamp skip BPF programs cannot be loaded here\n");
		return 0;
	}
	skeleton = call_parts_bpf__open_and_load();
	if (!skeleton || libbpf_num_possible_cpus() > 64) {
		printf("call_part.time_stamp skip the programs cannot be loaded here\n");
		call_parts_bpf__destroy(skeleton);
		return 0;
	}
	memset(memory, 1, sizeof(memory)); /* the page is present */
	skeleton->bss->request =
		(struct part_request){.rounds = PART_ROUNDS, .memory = (__u64)memory};
	bpf_map_update_elem(bpf_map__fd(skeleton->maps.sums), &key, zeros, BPF_ANY);
	ring = ring_buffer__new(bpf_map__fd(skeleton->maps.ring), drop_record, NULL, NULL);
	if (ring)
		status = measure(skeleton, ring);
	ring_buffer__free(ring);
	call_parts_bpf__destroy(skeleton);
	return status;
}
