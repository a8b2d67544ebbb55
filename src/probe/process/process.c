/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source "process": the life of the processes that are traced. Every session has it. */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "probe/cost.h"
#include "probe/load.h"
#include "probe/process/process.h"
#include "probe/source.h"

/* Last: it uses the types above. */
#include "process.skel.h"

struct process_source {
	struct process_bpf *skeleton;
};

static void process_close(void *opaque)
{
	struct process_source *state = opaque;

	if (!state)
		return;
	process_bpf__destroy(state->skeleton);
	free(state);
}

static int process_open(const struct gt_host *host, void **ret_state, struct gt_diag *diag)
{
	struct process_source *state = calloc(1, sizeof(*state));
	int error = -ENOMEM;

	if (!state)
		return gt_diag(diag, error, "process", NULL, "out of memory");
	state->skeleton = process_bpf__open();
	if (!state->skeleton) {
		error = -errno;
		process_close(state);
		return gt_diag(diag, error, "process", NULL, "the BPF object cannot be opened: %s",
			       strerror(-error));
	}
	state->skeleton->rodata->filter = host->filter;
	state->skeleton->rodata->wakeup_bytes = host->wakeup_bytes;
	error = gt_load_shared_maps(state->skeleton->maps.events, state->skeleton->maps.processes,
				    host, diag);
	if (!error)
		error = process_bpf__load(state->skeleton);
	if (!error)
		error = process_bpf__attach(state->skeleton);
	if (error) {
		process_close(state);
		return gt_load_failed(error, "process", diag);
	}
	*ret_state = state;
	return 0;
}

static void process_detach(void *opaque)
{
	struct process_source *state = opaque;

	process_bpf__detach(state->skeleton);
}

static void process_count(void *opaque, struct gt_counts *counts)
{
	struct process_source *state = opaque;
	struct gt_process_counts sums = {0};

	gt_load_sum_counters(bpf_map__fd(state->skeleton->maps.counts), &sums,
			     sizeof(sums) / sizeof(__u64));
	counts->others_lost += sums.lost;
	counts->untraced += sums.untraced;
}

static void process_cost(void *opaque, struct gt_probe_cost *cost)
{
	const struct process_source *state = opaque;

	gt_probe_cost_add(state->skeleton->obj, cost);
}

static int process_check(struct gt_kernel_types *types, struct gt_diag *diag)
{
	int error = gt_load_check(diag);
	struct process_bpf *skeleton;

	if (error)
		return error;
	skeleton = process_bpf__open_and_load();
	if (!skeleton)
		return gt_load_failed(-errno, "process", diag);
	process_bpf__destroy(skeleton);
	return 0;
}

const struct gt_source gt_source_process = {
	.name = "process",
	.summary = "names, children and ends of the traced processes",
	.needs = "BTF of the kernel, CAP_BPF and CAP_PERFMON",
	.check = process_check,
	.open = process_open,
	.detach = process_detach,
	.count = process_count,
	.cost = process_cost,
	.close = process_close,
};
