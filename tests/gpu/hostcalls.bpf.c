/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * At each store of the one thread of a kernel (calls.cu): an update of a map on the host, whose
 * time in ns is kept, and a line of text.
 */
#include <gputap/bpf.h>

GPUTAP_MAP(last, GPUTAP_MAP_LRU_HASH, unsigned int, unsigned long long, 64);
GPUTAP_ARRAY(counts, unsigned long long, 1);
GPUTAP_ARRAY(times, unsigned long long, 20000);

SEC("gpu/store/store_often*")
int call(void *ctx)
{
	unsigned int key = 0;
	unsigned long long *count = bpf_map_lookup_elem(&counts, &key), number, start, time;

	if (!count)
		return 0;
	number = ++*count;
	start = bpf_ktime_get_ns();
	bpf_map_update_elem(&last, &key, &number, 0);
	time = bpf_ktime_get_ns() - start;
	key = number - 1;
	bpf_map_update_elem(&times, &key, &time, 0);
	bpf_printk("store %llu", number);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
