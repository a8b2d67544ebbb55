/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counts loads and stores of a kernel that runs until it is stopped (tests/programs/persistent.cu).
 */
#include <gputap/bpf.h>

GPUTAP_ARRAY(load_counts, unsigned long long, 1);
GPUTAP_ARRAY(store_counts, unsigned long long, 1);

SEC("gpu/load")
int loads(void *ctx)
{
	unsigned int key = 0;

	bpf_map_add(&load_counts, &key, 1);
	return 0;
}

SEC("gpu/store.warp/spin*")
int stores(void *ctx)
{
	unsigned int key = 0;

	bpf_map_add(&store_counts, &key, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
