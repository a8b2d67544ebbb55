/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What programs written for bpftime begin with: libbpf's headers, no global data, helpers by
 * number, map types by number. Nothing of gputap.
 */
#pragma once

#define BPF_NO_GLOBAL_DATA
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>

typedef __u32 u32;
typedef __u64 u64;

enum {
	GPU_HASH = 1501,
	PER_THREAD_ARRAY = 1502,
	GPU_ARRAY = 1503,
	SHARED_WITH_KERNEL_ARRAY = 1504,
	PER_THREAD_HOST_ARRAY = 1512,
	HOST_ARRAY = 1513,
	GPU_RING = 1527,
};

static const void (*ebpf_puts)(const char *) = (void *)501;
static const u64 (*bpf_get_globaltimer)(void) = (void *)502;
static const u64 (*bpf_get_block_idx)(u64 *x, u64 *y, u64 *z) = (void *)503;
static const u64 (*bpf_get_block_dim)(u64 *x, u64 *y, u64 *z) = (void *)504;
static const u64 (*bpf_get_thread_idx)(u64 *x, u64 *y, u64 *z) = (void *)505;
static const u64 (*bpf_cuda_exit)(void) = (void *)507;
static const u64 (*bpf_get_grid_dim)(u64 *x, u64 *y, u64 *z) = (void *)508;
static const u64 (*bpf_get_sm_id)(void) = (void *)509;
static const u64 (*bpf_get_warp_id)(void) = (void *)510;
static const u64 (*bpf_get_lane_id)(void) = (void *)511;

#define MAP(name, map_type, entries, value_type)                                                   \
	struct {                                                                                   \
		__uint(type, map_type);                                                            \
		__uint(max_entries, entries);                                                      \
		__type(key, u32);                                                                  \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

char LICENSE[] SEC("license") = "GPL";
