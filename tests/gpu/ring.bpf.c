/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes a record of 8 bytes for each thread that exits. */
#include <gputap/bpf.h>

GPUTAP_RING(records, 1 << 25);

SEC("gpu/exit/*")
int end(struct gputap_context *ctx)
{
	unsigned long long *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record)
		return 0;
	*record = bpf_flat_thread_id();
	bpf_ringbuf_submit(record, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
