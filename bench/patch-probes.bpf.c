// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The programs that bench/patch-code inserts into kernels to measure their cost. */
#include <gputap/bpf.h>

GPUTAP_ARRAY(counts, unsigned long long, 1);
GPUTAP_ARRAY(times, unsigned long long, 64);
GPUTAP_RING(records, 1 << 20);
GPUTAP_ARRAY(sectors, unsigned long long, 33);

struct record {
	unsigned long long time;
	unsigned int thread, block;
};

static inline __attribute__((always_inline)) void add_one(void)
{
	unsigned int key = 0;
	unsigned long long *count = bpf_map_lookup_elem(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static inline __attribute__((always_inline)) void write_record(unsigned int thread,
							       unsigned int block)
{
	struct record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record)
		return;
	record->time = bpf_clock64();
	record->thread = thread;
	record->block = block;
	bpf_ringbuf_submit(record, 0);
}

SEC("gpu/entry/*")
int empty_entry(struct gputap_context *ctx)
{
	return 0;
}

SEC("gpu/exit/*")
int empty_exit(struct gputap_context *ctx)
{
	return 0;
}

SEC("gpu/entry/*")
int counter_entry(struct gputap_context *ctx)
{
	add_one();
	return 0;
}

SEC("gpu/exit/*")
int counter_exit(struct gputap_context *ctx)
{
	add_one();
	return 0;
}

/* The same, switchable, with a condition and with sampling. */
SEC("gpu/entry/*")
int switched_entry(struct gputap_context *ctx)
{
	add_one();
	return 0;
}

SEC("gpu/exit/*")
int switched_exit(struct gputap_context *ctx)
{
	add_one();
	return 0;
}

SEC("gpu/entry/*")
int filtered_entry(struct gputap_context *ctx)
{
	add_one();
	return 0;
}

SEC("gpu/exit/*")
int filtered_exit(struct gputap_context *ctx)
{
	add_one();
	return 0;
}

SEC("gpu/entry/*")
int sampled_entry(struct gputap_context *ctx)
{
	add_one();
	return 0;
}

SEC("gpu/exit/*")
int sampled_exit(struct gputap_context *ctx)
{
	add_one();
	return 0;
}

SEC("gpu/exit/*")
int histogram_exit(struct gputap_context *ctx)
{
	bpf_hist_add(&times, bpf_clock64());
	return 0;
}

SEC("gpu/exit/*")
int ring_exit(struct gputap_context *ctx)
{
	write_record(ctx->thread_x, ctx->block_x);
	return 0;
}

SEC("gpu/memory.warp")
int sectors_memory(struct gputap_memory *ctx)
{
	unsigned int touched = bpf_warp_distinct(GPUTAP_LANE_ADDRESS, 5);

	bpf_map_add(&sectors, &touched, 1);
	return 0;
}

SEC("gpu/memory")
int accesses_memory(struct gputap_memory *ctx)
{
	add_one();
	return 0;
}

/* What a store alone costs, and other code in its place (bench/patch-code.c). */
SEC("gpu/memory")
int floor_memory(struct gputap_memory *ctx)
{
	unsigned int key = 0;
	unsigned long long *count = bpf_map_lookup_elem(&counts, &key);

	if (count)
		*count = ctx->address;
	return 0;
}

/* A store at the start, and one whose address depends on a shuffle, as that of a record does. */
SEC("gpu/entry/*")
int stored_entry(struct gputap_context *ctx)
{
	unsigned int key = ctx->thread_x & 63;
	unsigned long long *time = bpf_map_lookup_elem(&times, &key);

	if (time)
		*time = 1;
	return 0;
}

SEC("gpu/entry/*")
int shuffled_entry(struct gputap_context *ctx)
{
	unsigned int key = bpf_warp_shuffle(ctx->thread_x, 0) & 63;
	unsigned long long *time = bpf_map_lookup_elem(&times, &key);

	if (time)
		*time = 1;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
