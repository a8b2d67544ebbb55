/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loading of BPF programs: common to all sources. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct bpf_map;
struct bpf_object;
struct gt_host;

/* Check whether BPF programs with BTF can be loaded. 0, or -Exxx and advice. */
int gt_load_check(struct gt_diag *diag);

/* Make an object use the session's ring and map of processes; before it is loaded. */
int gt_load_shared_maps(struct bpf_map *events, struct bpf_map *processes,
			const struct gt_host *host, struct gt_diag *diag);

/*
 * Set a constant of an object (const volatile, so in .rodata) before it is loaded: `size` bytes, as
 * large as the variable.
 */
int gt_load_set_constant(struct bpf_object *object, const char *name, const void *value,
			 size_t size, struct gt_diag *diag);

/* Report why a BPF object did not load or attach; returns error. */
int gt_load_failed(int error, const char *what, struct gt_diag *diag);

/* Add the only element of a per-CPU array, `count` __u64, over all CPUs to `sums`. */
int gt_load_sum_counters(int map_fd, void *sums, size_t count);

/* Set all values of an array map: Linux 5.6, which is older than ring buffers. 0 or an error. */
int gt_load_fill_array(const struct bpf_map *map, const void *values);

/* The number of entries of a hash map; 0 if they cannot be read. */
uint64_t gt_load_count_entries(const struct bpf_map *map);

/* Run a BPF iterator, which writes to the ring. 0 or -Exxx. */
int gt_load_run_iterator(struct bpf_object *object, const char *program);

/* Whether libbpf prints its messages to stderr. */
void gt_load_set_verbose(int verbose);
