// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Counts, for each thread of a grid, how often it ran a kernel and went round its loops: all of
 * them (count_loop), or those of one line (count_line); then also how often it executed the line.
 */
#include <gputap/bpf.h>

#include "programs.h"

GPUTAP_THREAD_ARRAY(threads, struct threadhist_thread, 1);

/* A line of the source or, without line information, of the PTX text. */
GPUTAP_ARRAY(line, unsigned int, 1);

SEC("gpu/entry/*")
int count_entry(struct gputap_context *ctx)
{
	unsigned int key = 0;
	struct threadhist_thread *thread = bpf_map_lookup_elem(&threads, &key);

	if (thread)
		thread->entries++;
	return 0;
}

SEC("gpu/loop")
int count_loop(struct gputap_context *ctx)
{
	unsigned int key = 0;
	struct threadhist_thread *thread = bpf_map_lookup_elem(&threads, &key);

	if (thread)
		thread->loops++;
	return 0;
}

static __attribute__((always_inline)) int is_on_line(const struct gputap_context *ctx)
{
	unsigned int key = 0, here = bpf_source_line();
	unsigned int *wanted = bpf_map_lookup_elem(&line, &key);

	return wanted && *wanted == (here ? here : ctx->line);
}

SEC("gpu/loop")
int count_line(struct gputap_context *ctx)
{
	unsigned int key = 0;
	struct threadhist_thread *thread = bpf_map_lookup_elem(&threads, &key);

	if (thread && is_on_line(ctx))
		thread->loops++;
	return 0;
}

SEC("gpu/line")
int count_execution(struct gputap_context *ctx)
{
	unsigned int key = 0;
	struct threadhist_thread *thread = bpf_map_lookup_elem(&threads, &key);

	if (thread && is_on_line(ctx))
		thread->executions++;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
