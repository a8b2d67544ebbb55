/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What every source made of BPF programs does alike. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct bpf_map;
struct gt_host;

/* Whether BPF programs with BTF can be loaded here. 0, or -Exxx and what to do about it. */
int gt_load_check(struct gt_diag *diag);

/* Lets an object that is not loaded yet use the session's ring and its map of processes. */
int gt_load_shared_maps(struct bpf_map *events, struct bpf_map *processes,
			const struct gt_host *host, struct gt_diag *diag);

/* Says why a BPF object did not load or attach; returns error. */
int gt_load_failed(int error, const char *what, struct gt_diag *diag);

/* Adds a per-CPU array's only element, a structure of `count` __u64, over all CPUs into sums. */
int gt_load_sum_counters(int map_fd, void *sums, size_t count);

/* Silences libbpf, which prints to stderr, or lets it speak. */
void gt_load_set_verbose(int verbose);
