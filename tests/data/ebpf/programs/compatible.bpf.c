/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program written for bpftime. */
#include <gputap/bpf.h>

GPUTAP_MAP(calls, GPUTAP_MAP_GPU_ARRAY, unsigned int, unsigned long long, 64);
GPUTAP_MAP(events, GPUTAP_MAP_GPU_RING, unsigned int, unsigned int, 4096);
GPUTAP_MAP(threads, GPUTAP_MAP_THREAD_ARRAY, unsigned int, unsigned long long, 1);

SEC("kprobe/_Z9vectorAddPKfS0_Pf,_Z6matmulPfS_")
int probe__cuda(void)
{
	unsigned int key = 0;
	unsigned long long *count = bpf_map_lookup_elem(&threads, &key);

	if (count)
		*count += 1;
	return 0;
}

SEC("kretprobe/_Z9vectorAddPKfS0_Pf")
int ret__cuda(void *ctx)
{
	unsigned long long x, y, z, record[2];
	unsigned int key;

	bpf_get_thread_idx(&x, &y, &z);
	record[0] = x;
	record[1] = bpf_get_globaltimer();
	key = x;
	bpf_map_update_elem(&calls, &key, &record[1], GPUTAP_ANY);
	bpf_perf_event_output(ctx, &events, 0, record, sizeof(record));
	return 0;
}

SEC("kprobe/__memcapture")
int memory__cuda(struct gputap_memory *ctx)
{
	unsigned int key = ctx->access & 63;

	bpf_map_add(&calls, &key, 1);
	return 0;
}

SEC("kprobe/do_unlinkat")
int of_linux(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
