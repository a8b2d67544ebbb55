/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Measure the time from the call that launches a kernel to its first thread. */
#include <gputap/bpf.h>

struct event {
	unsigned long long launch, began, argument;
	unsigned int block, argument_size;
};

GPUTAP_MAP(called, GPUTAP_MAP_HOST_ARRAY, unsigned int, unsigned long long, 1024);
GPUTAP_ARRAY(delays, unsigned long long, 40);
GPUTAP_RING(events, 65536);

static __attribute__((noinline)) int record_launch(struct gputap_context *ctx,
						   unsigned long long now)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event)
		return 1;
	event->launch = ctx->launch;
	event->began = now;
	event->argument = ctx->arguments[0];
	event->block = ctx->block_x;
	event->argument_size = ctx->argument_sizes[0];
	bpf_ringbuf_submit(event, 0);
	return 0;
}

SEC("uprobe/libcudart.so:cudaLaunchKernel")
int launch(void *ctx)
{
	unsigned int key = 0;
	unsigned long long now = bpf_ktime_get_ns();

	bpf_map_update_elem(&called, &key, &now, GPUTAP_ANY);
	return 0;
}

SEC("gpu/entry.block/_Z*")
int begin(struct gputap_context *ctx)
{
	unsigned int key = 0;
	unsigned long long now = bpf_get_globaltimer(), *called_at;

	called_at = bpf_map_lookup_elem(&called, &key);
	if (called_at && now > *called_at)
		bpf_hist_add(&delays, now - *called_at);
	return record_launch(ctx, now);
}

char LICENSE[] SEC("license") = "GPL";
