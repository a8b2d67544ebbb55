/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs that do nothing where kernels start and where their threads exit. */
#include <gputap/bpf.h>

SEC("gpu/entry/*")
int begin(struct gputap_context *ctx)
{
	return 0;
}

SEC("gpu/exit/*")
int end(struct gputap_context *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
