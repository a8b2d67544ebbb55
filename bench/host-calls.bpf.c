// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The time of one access to a map on the host, in ns: the result of each thread. */
#include <gputap/bpf.h>

GPUTAP_MAP(values, GPUTAP_MAP_LRU_HASH, unsigned int, unsigned long long, 64);

SEC("gpu/run") long lookup(void *memory)
{
	unsigned int key = 3;
	unsigned long long start = bpf_ktime_get_ns(), *value;

	value = bpf_map_lookup_elem(&values, &key);
	return bpf_ktime_get_ns() - start + (value ? *value : 0);
}

SEC("gpu/run") long update(void *memory)
{
	unsigned int key = 3;
	unsigned long long start = bpf_ktime_get_ns(), value = 0;

	bpf_map_update_elem(&values, &key, &value, 0);
	return bpf_ktime_get_ns() - start;
}

char LICENSE[] SEC("license") = "GPL";
