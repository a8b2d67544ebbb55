/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counts the threads that enter one of a module's kernels. */
#include <gputap/bpf.h>

GPUTAP_ARRAY(counts, unsigned long long, 1);

SEC("gpu/entry/k7")
int count(void *ctx)
{
	unsigned int key = 0;

	bpf_map_add(&counts, &key, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
