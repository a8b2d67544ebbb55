/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The exit of every thread, as a record with its indices and the time. */
#include "bpftime.h"

struct thread_exit {
	u64 block[3], thread[3], time;
};

MAP(exits, GPU_RING, 16, struct thread_exit);

SEC("kretprobe/_Z9vectorAddPKfS0_Pf")
int ret__cuda()
{
	struct thread_exit record = {};

	bpf_get_block_idx(&record.block[0], &record.block[1], &record.block[2]);
	bpf_get_thread_idx(&record.thread[0], &record.thread[1], &record.thread[2]);
	record.time = bpf_get_globaltimer();
	return bpf_perf_event_output(NULL, &exits, 0, &record, sizeof(record));
}
