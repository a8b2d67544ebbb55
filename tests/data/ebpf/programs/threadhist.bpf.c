/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Per thread of a grid: how often it completed a kernel, and its time in it. */
#include <gputap/bpf.h>

GPUTAP_THREAD_ARRAY(began, unsigned long long, 1);
GPUTAP_THREAD_ARRAY(counts, unsigned long long, 1);
GPUTAP_ARRAY(cycles, unsigned long long, 64);

SEC("gpu/entry/*")
int enter(struct gputap_context *ctx)
{
	unsigned int key = 0;
	unsigned long long *start = bpf_map_lookup_elem(&began, &key);

	if (start)
		*start = bpf_clock64();
	return 0;
}

SEC("gpu/exit/*")
int leave(struct gputap_context *ctx)
{
	unsigned int key = 0;
	unsigned long long *start = bpf_map_lookup_elem(&began, &key);
	unsigned long long *count = bpf_map_lookup_elem(&counts, &key);

	if (!start || !count)
		return 0;
	*count += 1;
	bpf_hist_add(&cycles, bpf_clock64() - *start);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
