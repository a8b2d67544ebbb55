/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Block I/O of traced processes. A request belongs to the thread that created it; the device
 * completes it in an interrupt. The key is the address of the request, which the kernel reuses
 * after its completion.
 */
#define UNPREEMPTED_PROGRAMS

#include "probe/layer.bpf.h"

#include "probe/block/block.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PF_KTHREAD 0x00200000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gendisk {
	int major;
	int first_minor;
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
};

#pragma clang attribute pop

struct block_request {
	__u64 created, issued; /* 0: not known, not yet */
	__u64 sector;
	__u32 bytes, flags;
	__u32 process, thread;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GT_MAX_BLOCK_REQUESTS);
	__type(key, __u64);
	__type(value, struct block_request);
} requests SEC(".maps");

/* The thread that creates a request: its own process; a kernel thread's is not known. */
static __always_inline void begin_request(__u64 key, const struct block_request *begun)
{
	struct layer_thread *thread = traced_thread();
	struct block_request request = *begun;

	if (!thread) {
		bpf_map_delete_elem(&requests, &key);
		return;
	}
	request.process = thread->process;
	request.thread = thread->thread;
	put_map_entry(&requests, &key, &request);
}

/* struct request *rq; in the thread that submits the I/O */
UNPREEMPTED_TRACEPOINT(block_io_start, request_created)
{
	struct block_request request = {.created = bpf_ktime_get_ns()};

	begin_request(ctx->args[0], &request);
	return 0;
}

/* Until Linux 6.4: where the request is given to the I/O scheduler, if the disk has one. */
UNPREEMPTED_TRACEPOINT(block_rq_insert, request_inserted)
{
	struct block_request request = {.created = bpf_ktime_get_ns()};

	begin_request(ctx->args[0], &request);
	return 0;
}

static __always_inline void issue(__u64 key, struct request *at)
{
	struct block_request *request = bpf_map_lookup_elem(&requests, &key);
	struct block_request fresh = {};

	if (!request || request->issued) {
		if (filters_processes() &&
		    BPF_CORE_READ(bpf_get_current_task_btf(), flags) & PF_KTHREAD)
			COUNT_EVENTS(unattributed);
		begin_request(key, &fresh);
		request = bpf_map_lookup_elem(&requests, &key);
	}
	if (!request)
		return;
	request->issued = bpf_ktime_get_ns();
	request->sector = BPF_CORE_READ(at, __sector);
	request->bytes = BPF_CORE_READ(at, __data_len);
	request->flags = BPF_CORE_READ(at, cmd_flags);
}

/* struct request *rq; a request that the driver could not take is issued again */
UNPREEMPTED_TRACEPOINT(block_rq_issue, request_issued)
{
	issue(ctx->args[0], (void *)ctx->args[0]);
	return 0;
}

UNPREEMPTED_TRACEPOINT(block_rq_requeue, request_requeued)
{
	__u64 key = ctx->args[0];
	struct block_request *request = bpf_map_lookup_elem(&requests, &key);

	if (request)
		request->issued = 0;
	return 0;
}

static __noinline int put_request(struct request *at, const struct block_request *request,
				  __u32 status)
{
	__u64 room[(sizeof(struct gt_event_block_io) + GT_DEVICE_NAME_SIZE) / sizeof(__u64)] = {};
	struct gt_event_block_io *event = (void *)room;
	struct layer_thread thread = {};
	struct gendisk *disk = BPF_CORE_READ(at, q, disk);

	if (!request)
		return 0;
	thread.process = request->process;
	thread.thread = request->thread;
	fill_head(&event->head, &thread, GT_EVENT_block_io, sizeof(room));
	event->duration = event->head.time - request->issued;
	if (request->created)
		event->queued = request->issued - request->created;
	event->sector = request->sector;
	event->bytes = request->bytes;
	event->flags = request->flags;
	event->error = status;
	event->device =
		(__u32)BPF_CORE_READ(disk, major) << 20 | (__u32)BPF_CORE_READ(disk, first_minor);
	bpf_core_read_str(event->names, GT_DEVICE_NAME_SIZE, &disk->disk_name);
	put_event(room, sizeof(room));
	return 0;
}

/* struct request *rq, blk_status_t error, unsigned int nr_bytes: parts, until nothing is left */
UNPREEMPTED_TRACEPOINT(block_rq_complete, request_completed)
{
	__u64 key = ctx->args[0];
	struct request *at = (void *)key;
	struct block_request *request = bpf_map_lookup_elem(&requests, &key);
	__u32 status = (__u8)ctx->args[1];

	if (!request || !request->issued)
		return 0;
	if (!status && (__u32)ctx->args[2] < BPF_CORE_READ(at, __data_len))
		return 0;
	put_request(at, request, status);
	bpf_map_delete_elem(&requests, &key);
	return 0;
}
