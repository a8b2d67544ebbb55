// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A thread accesses a map on the host again and again, and writes the time of each access, in ns.
 */
#include <gputap/bpf.h>

GPUTAP_MAP(values, GPUTAP_MAP_LRU_HASH, unsigned int, unsigned long long, 64);

SEC("gpu/run") long lookup(unsigned long long *times, unsigned long long size)
{
	unsigned int key = 3;

	for (unsigned int i = 0; i < size / sizeof(*times); i++) {
		unsigned long long start = bpf_ktime_get_ns(), *value;

		value = bpf_map_lookup_elem(&values, &key);
		times[i] = bpf_ktime_get_ns() - start + (value ? *value : 0);
	}
	return 0;
}

SEC("gpu/run") long update(unsigned long long *times, unsigned long long size)
{
	unsigned int key = 3;

	for (unsigned int i = 0; i < size / sizeof(*times); i++) {
		unsigned long long start = bpf_ktime_get_ns(), value = 0;

		bpf_map_update_elem(&values, &key, &value, 0);
		times[i] = bpf_ktime_get_ns() - start;
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
