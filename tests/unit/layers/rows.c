/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Records of layer sources as text and JSON. */
#include <errno.h>

#include "layer_rows.h"

TEST("a signaled fence has its names, its age and the name of its error")
{
	gt_autofree struct gt_event *event =
		new_named(GT_EVENT_fence, "amdgpu", "gfx_0.0.0", GT_FENCE_NAME_SIZE);
	struct gt_event_fence *fence = (void *)event;

	fence->context = 5000000000;
	fence->seqno = 7;
	fence->operation = GT_FENCE_SIGNALED;
	fence->age = 1500;
	fence->error = -ETIME;
	expect_row(event, "signaled",
		   "fence=5000000000:7 driver=amdgpu timeline=gfx_0.0.0 age=1.50 µs error=ETIME");
	expect_json(event, "\"source\":\"fence\",\"name\":\"signaled\",\"context\":5000000000,"
			   "\"seqno\":7,\"age\":1500,\"error\":\"ETIME\",\"error_number\":-62,"
			   "\"operation\":\"signaled\",\"operation_number\":3,"
			   "\"driver\":\"amdgpu\",\"timeline\":\"gfx_0.0.0\"}");
}

TEST("a fence without names, and one whose tail is malformed")
{
	gt_autofree struct gt_event *event = gt_event_new(GT_EVENT_fence, "", 0);
	gt_autofree struct gt_event *full = new_named(
		GT_EVENT_fence, "0123456789012345678901234567890123456789", "", GT_FENCE_NAME_SIZE);
	struct gt_event_fence *fence = (void *)event;

	expect_row(event, "init", "fence=0:0");
	fence->operation = 99;
	expect_row(event, "unknown", "fence=0:0");
	expect_row(full, "init",
		   "fence=0:0 driver=01234567890123456789012345678901 timeline=23456789");
}

TEST("a wait for a fence begins its duration earlier")
{
	gt_autofree struct gt_event *event =
		new_named(GT_EVENT_fence_wait, "i915", "rcs0", GT_FENCE_NAME_SIZE);
	struct gt_event_fence_wait *wait = (void *)event;

	wait->duration = 2000000;
	wait->context = 1;
	wait->seqno = 2;
	expect_row(event, "wait_end", "fence=1:2 driver=i915 timeline=rcs0 (2.00 ms)");
}

TEST("a job of the DRM scheduler in each step")
{
	gt_autofree struct gt_event *event =
		new_named(GT_EVENT_drm_job, "render", "0000:01:00.0", GT_DRM_NAME_SIZE);
	struct gt_event_drm_job *job = (void *)event;

	job->context = 3;
	job->seqno = 4;
	job->depth = 2;
	job->hardware = 1;
	expect_row(event, "queue", "job=3:4 ring=render device=0000:01:00.0 depth=2 hardware=1");
	job->operation = GT_DRM_RUN;
	job->queued = 5000;
	job->blocked = 1000;
	expect_row(event, "run",
		   "job=3:4 ring=render device=0000:01:00.0 depth=2 hardware=1 queued=5.00 µs "
		   "blocked=1.00 µs");
	job->operation = GT_DRM_DONE;
	job->ran = 3000;
	job->error = -ECANCELED;
	expect_row(event, "done",
		   "job=3:4 ring=render device=0000:01:00.0 hardware=1 queued=5.00 µs "
		   "blocked=1.00 µs ran=3.00 µs error=ECANCELED");
	expect_json(event, "\"source\":\"drm\",\"name\":\"done\",\"context\":3,\"seqno\":4,"
			   "\"queued\":5000,\"blocked\":1000,\"ran\":3000,\"client\":0,"
			   "\"depth\":2,\"hardware\":1,\"error\":\"ECANCELED\","
			   "\"error_number\":-125,\"operation\":\"done\",\"operation_number\":2,"
			   "\"ring\":\"render\",\"device\":\"0000:01:00.0\"}");
}

TEST("a dependency names the job and the fence")
{
	gt_autofree struct gt_event *event =
		new_named(GT_EVENT_drm_dependency, "copy", "fakegpu", GT_DRM_NAME_SIZE);
	struct gt_event_drm_dependency *dependency = (void *)event;

	dependency->context = 3;
	dependency->seqno = 4;
	dependency->on_context = 5;
	dependency->on_seqno = 6;
	expect_row(event, "dependency", "job=3:4 on=5:6 ring=copy device=fakegpu");
	dependency->operation = GT_DRM_UNBLOCKED;
	dependency->blocked = 70000;
	expect_row(event, "unblocked", "job=3:4 on=5:6 ring=copy device=fakegpu blocked=70.0 µs");
}

TEST("a vblank, and the event that is delivered")
{
	gt_autofree struct gt_event *event =
		new_named(GT_EVENT_vblank, "card", "", GT_DRM_NAME_SIZE);
	struct gt_event_vblank *vblank = (void *)event;

	vblank->crtc = 1;
	vblank->sequence = 9;
	vblank->timestamp = 1000;
	vblank->late = 20000;
	expect_row(event, "vblank", "crtc=1 device=card sequence=9 late=20.0 µs");
	vblank->operation = GT_VBLANK_DELIVERED;
	vblank->queued = 16000000;
	expect_row(event, "vblank_delivered",
		   "crtc=1 device=card sequence=9 late=20.0 µs queued=16.0 ms");
	expect_json(event, "\"source\":\"vblank\",\"name\":\"vblank_delivered\","
			   "\"timestamp\":1000,\"late\":20000,\"queued\":16000000,\"crtc\":1,"
			   "\"sequence\":9,\"operation\":\"vblank_delivered\","
			   "\"operation_number\":2,\"precise\":0,\"device\":\"card\"}");
}

TEST("a buffer of a GPU driver has what it got for what was asked, and the flags of its operation")
{
	gt_autofree struct gt_event *event =
		new_named(GT_EVENT_amdgpu_buffer, "0000:03:00.0", "", GT_DRM_NAME_SIZE);
	struct gt_event_amdgpu_buffer *buffer = (void *)event;

	buffer->buffer = 0xb0;
	buffer->bytes = 4096;
	buffer->allocated = 8192;
	buffer->from = 4;
	buffer->to = 1;
	buffer->flags = GT_DRIVER_VISIBLE;
	expect_row(event, "create",
		   "device=0000:03:00.0 buffer=0xb0 bytes=4.00 KiB asked=VRAM to=GTT visible "
		   "allocated=8.00 KiB");
	buffer->flags = 6 << GT_DRIVER_ALLOWED_SHIFT;
	expect_row(event, "create",
		   "device=0000:03:00.0 buffer=0xb0 bytes=4.00 KiB asked=VRAM allowed=GTT|VRAM "
		   "to=GTT allocated=8.00 KiB");
	expect_json(event,
		    "\"source\":\"amdgpu\",\"name\":\"create\",\"buffer\":\"0xb0\",\"bytes\":4096,"
		    "\"offset\":\"0x0\",\"space\":\"0x0\",\"allocated\":8192,\"repeats\":0,"
		    "\"from\":\"VRAM\",\"from_number\":4,\"to\":\"GTT\",\"to_number\":1,"
		    "\"operation\":\"create\",\"operation_number\":0,\"flags\":\"0x600\","
		    "\"device\":\"0000:03:00.0\",\"allowed\":\"GTT|VRAM\"}");
	buffer->flags = 4 << GT_DRIVER_ALLOWED_SHIFT;
	expect_row(event, "create",
		   "device=0000:03:00.0 buffer=0xb0 bytes=4.00 KiB asked=VRAM to=GTT "
		   "allocated=8.00 KiB");
	buffer->operation = GT_DRIVER_MOVE;
	buffer->from = 0;
	buffer->to = 2;
	buffer->repeats = 3;
	buffer->flags = GT_DRIVER_NO_COPY;
	expect_row(event, "move",
		   "device=0000:03:00.0 buffer=0xb0 bytes=4.00 KiB from=system to=VRAM repeats=3 "
		   "no-copy");
	buffer->operation = GT_DRIVER_FAULT;
	buffer->repeats = 0;
	buffer->flags = GT_DRIVER_WRITE | GT_DRIVER_GTT;
	expect_row(event, "fault", "device=0000:03:00.0 buffer=0xb0 bytes=4.00 KiB write gtt");
	buffer->operation = GT_DRIVER_EVICT;
	expect_row(event, "evict", "device=0000:03:00.0 buffer=0xb0 bytes=4.00 KiB");
}

TEST("shrinking has what the kernel asked for, and which objects give it")
{
	gt_autofree struct gt_event *event =
		new_named(GT_EVENT_i915_buffer, "0000:00:02.0", "", GT_DRM_NAME_SIZE);
	struct gt_event_i915_buffer *buffer = (void *)event;

	buffer->operation = GT_DRIVER_SHRINK;
	buffer->bytes = 1 << 20;
	expect_row(event, "shrink", "device=0000:00:02.0 bytes=1.00 MiB");
	buffer->from = 0x13;
	expect_row(event, "shrink",
		   "device=0000:00:02.0 bytes=1.00 MiB from=unbound|bound|writeback");
	buffer->from = 0x28;
	expect_row(event, "shrink", "device=0000:00:02.0 bytes=1.00 MiB from=vmaps|0x20");
}

TEST("an eviction of i915 has the kind of the binding for which there must be room")
{
	gt_autofree struct gt_event *event =
		new_named(GT_EVENT_i915_buffer, "0000:00:02.0", "", GT_DRM_NAME_SIZE);
	struct gt_event_i915_buffer *buffer = (void *)event;

	buffer->operation = GT_DRIVER_EVICT;
	buffer->bytes = 4096;
	expect_row(event, "evict", "device=0000:00:02.0 bytes=4.00 KiB");
	buffer->from = 0x308;
	expect_row(event, "evict", "device=0000:00:02.0 bytes=4.00 KiB flags=mappable|0x300");
}

TEST("a request of a GPU driver has its key, engine, command buffers and times")
{
	gt_autofree struct gt_event *event =
		new_named(GT_EVENT_amdgpu_request, "gfx_0.0.0", "0000:03:00.0", GT_DRM_NAME_SIZE);
	struct gt_event_amdgpu_request *request = (void *)event;

	request->context = 1000;
	request->seqno = 567;
	request->count = 2;
	request->operation = GT_DRIVER_RUN;
	request->delay = 120000;
	expect_row(event, "run",
		   "request=1000:567 engine=gfx_0.0.0 device=0000:03:00.0 count=2 delay=120 µs");
}

TEST_MAIN
