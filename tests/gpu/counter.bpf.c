/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counts the threads that enter kernels and exit. */
#include <gputap/bpf.h>

GPUTAP_ARRAY(counts, unsigned long long, 2);

SEC("gpu/entry/*")
int begin(struct gputap_context *ctx)
{
	unsigned int key = 0;

	bpf_map_add(&counts, &key, 1);
	return 0;
}

SEC("gpu/exit/*")
int end(struct gputap_context *ctx)
{
	unsigned int key = 1;

	bpf_map_add(&counts, &key, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
