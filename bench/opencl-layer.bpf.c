// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The number of the launch, which the layer passes to kernels. */
#include <gputap/bpf.h>

GPUTAP_ARRAY(last, unsigned long long, 1);

SEC("gpu/entry/*") int launch(struct gputap_context *ctx)
{
	unsigned int key = 0;
	unsigned long long *value = bpf_map_lookup_elem(&last, &key);

	if (value)
		*value = ctx->launch;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
