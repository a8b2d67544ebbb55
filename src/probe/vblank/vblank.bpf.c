/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Vertical blanks of displays, and the events that programs ask for and receive. The tracepoint of
 * a vblank has no device: that is known from the function that handles the interrupt, on the same
 * CPU. Events that are delivered belong to the process that queued them.
 */
#include "probe/layer.bpf.h"

#include "probe/api/registers.bpf.h"
#include "probe/drm/types.h"
#include "probe/vblank/vblank.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define MAX_PASSED 8 /* vblanks after the one that was asked for */

/* The device whose interrupt this CPU handles. */
struct vblank_interrupt {
	struct drm_device *device;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vblank_interrupt);
} interrupts SEC(".maps");

struct vblank_key {
	__u64 file;
	__u32 crtc;
	__u32 sequence;
};

struct vblank_owner {
	__u64 queued; /* when; the first one, if there are several */
	__u32 process, thread;
	__u32 traced;
	__u32 count; /* of events that were asked for and not delivered */
};

/* Events that are queued. Files are closed without their events: the oldest entries make room. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GT_MAX_VBLANK_EVENTS);
	__type(key, struct vblank_key);
	__type(value, struct vblank_owner);
} queue SEC(".maps");

/* Who last queued an event of a file: events of page flips are delivered without having been. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GT_MAX_VBLANK_FILES);
	__type(key, __u64);
	__type(value, struct vblank_owner);
} files SEC(".maps");

#define ROOM ((sizeof(struct gt_event_vblank) + GT_DRM_NAME_SIZE) / sizeof(__u64))

static __always_inline void put_vblank(struct gt_event_vblank *event, struct drm_device *device)
{
	if (device)
		put_device_name(event->names, BPF_CORE_READ(device, dev));
	if (event->timestamp && event->head.time > event->timestamp)
		event->late = event->head.time - event->timestamp;
	put_event(event, ROOM * sizeof(__u64));
}

/* ---- devices ------------------------------------------------------------------------------ */

static __always_inline int set_device(struct drm_device *device)
{
	__u32 zero = 0;
	struct vblank_interrupt *interrupt = bpf_map_lookup_elem(&interrupts, &zero);

	if (interrupt)
		interrupt->device = device;
	return 0;
}

/* struct drm_device *dev, unsigned int pipe */
SEC("kprobe/drm_handle_vblank")
int handle_device(struct pt_regs *ctx)
{
	__u64 arguments[ARGUMENT_REGISTERS];

	copy_registers(arguments, ctx);
	return set_device((void *)arguments[0]);
}

/* struct drm_crtc *crtc; the compiler may have inlined the function above. */
SEC("kprobe/drm_crtc_handle_vblank")
int handle_crtc(struct pt_regs *ctx)
{
	__u64 arguments[ARGUMENT_REGISTERS];
	struct drm_crtc *crtc;

	copy_registers(arguments, ctx);
	crtc = (void *)arguments[0];
	return set_device(BPF_CORE_READ(crtc, dev));
}

/* ---- vblanks ------------------------------------------------------------------------------ */

/* int crtc, unsigned int seq, ktime_t time, bool high_prec */
SEC("raw_tp/drm_vblank_event")
int vblank(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 zero = 0;
	struct vblank_interrupt *interrupt = bpf_map_lookup_elem(&interrupts, &zero);
	struct drm_device *device = NULL;
	__u64 room[ROOM] = {};
	struct gt_event_vblank *event = (void *)room;

	if (interrupt) {
		device = interrupt->device;
		interrupt->device = NULL;
	}
	if (filters_processes()) {
		COUNT_EVENTS(unattributed);
		return 0;
	}
	fill_head(&event->head, NULL, GT_EVENT_vblank, sizeof(room));
	event->operation = GT_VBLANK;
	event->crtc = ctx->args[0];
	event->sequence = ctx->args[1];
	event->timestamp = ctx->args[2];
	event->precise = (__u8)ctx->args[3];
	put_vblank(event, device);
	return 0;
}

/* ---- events of programs ------------------------------------------------------------------- */

static __always_inline void remember(const struct vblank_key *key, const struct vblank_owner *owner)
{
	struct vblank_owner *known = bpf_map_lookup_elem(&queue, key);
	const struct vblank_owner *opener = bpf_map_lookup_elem(&files, &key->file);

	if (known)
		__sync_fetch_and_add(&known->count, 1);
	else
		add_lru_entry(&queue, key, owner);
	if (!opener || opener->thread != owner->thread || opener->traced != owner->traced)
		put_map_entry(&files, &key->file, owner);
}

/* struct drm_file *file, int crtc, unsigned int seq */
SEC("raw_tp/drm_vblank_event_queued")
int vblank_queued(struct bpf_raw_tracepoint_args *ctx)
{
	struct drm_file *file = (void *)ctx->args[0];
	struct layer_thread *thread = traced_thread();
	struct vblank_key key = {(__u64)file, ctx->args[1], ctx->args[2]};
	struct vblank_owner owner = {};
	__u64 room[ROOM] = {};
	struct gt_event_vblank *event = (void *)room;

	fill_head(&event->head, thread, GT_EVENT_vblank, sizeof(room));
	owner.queued = event->head.time;
	owner.process = event->head.process;
	owner.thread = event->head.thread;
	owner.traced = thread != NULL;
	owner.count = 1;
	remember(&key, &owner);
	if (!thread)
		return 0;
	event->operation = GT_VBLANK_QUEUED;
	event->crtc = key.crtc;
	event->sequence = key.sequence;
	put_vblank(event, BPF_CORE_READ(file, minor, dev));
	return 0;
}

/* The event that was queued for this vblank, or an earlier one that had passed. */
static __always_inline struct vblank_owner *find_queued(struct vblank_key *key)
{
	for (int passed = 0; passed < MAX_PASSED; passed++) {
		struct vblank_owner *owner = bpf_map_lookup_elem(&queue, key);

		if (owner)
			return owner;
		key->sequence--;
	}
	return NULL;
}

/* When the latest vblank of a CRTC was. */
static __always_inline __u64 time_of(struct drm_device *device, __u32 crtc)
{
	struct drm_vblank_crtc *all = BPF_CORE_READ(device, vblank), *one;

	one = (void *)all + (__u64)crtc * bpf_core_type_size(struct drm_vblank_crtc);
	return all ? BPF_CORE_READ(one, time) : 0;
}

/* The same arguments; an interrupt: the current thread is any. */
SEC("raw_tp/drm_vblank_event_delivered")
int vblank_delivered(struct bpf_raw_tracepoint_args *ctx)
{
	struct drm_file *file = (void *)ctx->args[0];
	struct drm_device *device = file ? BPF_CORE_READ(file, minor, dev) : NULL;
	struct vblank_key key = {(__u64)file, ctx->args[1], ctx->args[2]};
	struct vblank_owner *queued = find_queued(&key), *owner = queued;
	struct layer_thread thread = {};
	__u64 room[ROOM] = {};
	struct gt_event_vblank *event = (void *)room;

	if (!owner)
		owner = bpf_map_lookup_elem(&files, &key.file);
	if (!owner && filters_processes())
		COUNT_EVENTS(unattributed);
	if (owner ? !owner->traced : filters_processes())
		goto end;
	if (owner) {
		thread.process = owner->process;
		thread.thread = owner->thread;
	}
	fill_head(&event->head, &thread, GT_EVENT_vblank, sizeof(room));
	event->operation = GT_VBLANK_DELIVERED;
	event->crtc = key.crtc;
	event->sequence = ctx->args[2];
	if (device)
		event->timestamp = time_of(device, key.crtc);
	if (queued)
		event->queued = event->head.time - queued->queued;
	put_vblank(event, device);
end:
	if (queued && __sync_fetch_and_add(&queued->count, -1) <= 1)
		remove_lru_entry(&queue, &key);
	return 0;
}
