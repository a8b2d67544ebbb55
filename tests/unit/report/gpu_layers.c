/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The summaries of the sources fence, drm and vblank. */
#include <errno.h>

#include "summary.h"

/* ---- drm ---------------------------------------------------------------------------------- */

static void take_job(unsigned process, const char *ring, uint64_t context, unsigned operation,
		     uint64_t queued, uint64_t ran)
{
	struct gt_event_drm_job *job = new_named(GT_EVENT_drm_job, ring, "gpu");

	job->head.process = process;
	job->context = context;
	job->seqno = 1;
	job->operation = operation;
	job->queued = queued;
	job->blocked = queued / 2;
	job->ran = ran;
	job->depth = operation == GT_DRM_QUEUE ? 3 : 0;
	job->error = operation == GT_DRM_DONE && ran > 5000000 ? -ETIME : 0;
	take(&job->head);
}

static void take_dependency(unsigned process, uint64_t context, uint64_t on, unsigned operation,
			    uint64_t blocked)
{
	struct gt_event_drm_dependency *event = new_named(GT_EVENT_drm_dependency, "copy", "gpu");

	event->head.process = process;
	event->context = context;
	event->on_context = on;
	event->operation = operation;
	event->blocked = blocked;
	take(&event->head);
}

static void take_jobs(void)
{
	take_job(7, "render", 10, GT_DRM_QUEUE, 0, 0);
	take_job(8, "copy", 20, GT_DRM_QUEUE, 0, 0);
	take_job(7, "render", 10, GT_DRM_RUN, 2000, 0);
	take_dependency(8, 20, 10, GT_DRM_BLOCKED, 0);
	take_job(7, "render", 10, GT_DRM_TIMEOUT, 2000, 6000000);
	take_job(7, "render", 10, GT_DRM_DONE, 2000, 8000000);
	take_dependency(8, 20, 10, GT_DRM_UNBLOCKED, 3000);
	take_dependency(8, 20, 5, GT_DRM_UNBLOCKED, 1000);
	take_job(8, "copy", 20, GT_DRM_RUN, 4000, 0);
	take_job(8, "copy", 21, GT_DRM_RUN, 4000, 0);
	take_job(8, "copy", 20, GT_DRM_DONE, 4000, 1000);
	take_job(8, "copy", 22, GT_DRM_CANCELED, 0, 0);
}

TEST("the summary of drm has rings, times, processes, and who blocked whom")
{
	open_report(&gt_report_drm);
	take_jobs();
	expect_text(
		"DEVICE  RING    JOBS  DONE  ERRORS  TIMEOUTS  CANCELED  WAITS  DEPTH  HARDWARE\n"
		"gpu     render     1     1       1         1         0      0      3         1\n"
		"gpu     copy       1     1       0         0         1      1      3         2\n"
		"\n"
		"DEVICE  RING    TIME                     COUNT    TOTAL     MEAN      P50      "
		"P99      MAX\n"
		"gpu     render  queued                       1  1.00 µs  1.00 µs  1.00 µs  "
		"1.00 µs  1.00 µs\n"
		"gpu     render  on the hardware              1  8.00 ms  8.00 ms  8.00 ms  "
		"8.00 ms  8.00 ms\n"
		"gpu     copy    blocked by dependencies      2  4.00 µs  2.00 µs  1.00 µs  "
		"3.00 µs  3.00 µs\n"
		"gpu     copy    queued                       2  4.00 µs  2.00 µs  2.00 µs  "
		"2.00 µs  2.00 µs\n"
		"gpu     copy    on the hardware              1  1.00 µs  1.00 µs  1.00 µs  "
		"1.00 µs  1.00 µs\n"
		"\n"
		"PROCESS  JOBS  DONE  ERRORS  TIMEOUTS  CANCELED  WAITS  DEPTH  HARDWARE  BLOCKED  "
		" QUEUED      RAN\n"
		"7 ?         1     1       1         1         0      0      3         1     0 ns  "
		"1.00 µs  8.00 ms\n"
		"8 ?         1     1       0         0         1      1      3         2  4.00 µs  "
		"4.00 µs  1.00 µs\n"
		"\n"
		"BLOCKED   BY               COUNT    TOTAL     MEAN      P50      P99      MAX\n"
		"8 ? copy  7 ? render           1  3.00 µs  3.00 µs  3.00 µs  3.00 µs  3.00 µs\n"
		"8 ? copy  fence context 5      1  1.00 µs  1.00 µs  1.00 µs  1.00 µs  1.00 µs\n");
	close_report();
}

/* ---- vblank ------------------------------------------------------------------------------- */

static void take_vblank(unsigned operation, const char *device, unsigned sequence, uint64_t late)
{
	struct gt_event_vblank *vblank = new_named(GT_EVENT_vblank, device, "");

	vblank->operation = operation;
	vblank->sequence = sequence;
	vblank->timestamp = 1000000000ULL + sequence * 16000000ULL;
	vblank->late = late;
	vblank->queued = operation == GT_VBLANK_DELIVERED ? 15000000 : 0;
	take(&vblank->head);
}

TEST("the summary of vblank has the rate by device, missed numbers, and late deliveries")
{
	open_report(&gt_report_vblank);
	take_vblank(GT_VBLANK, "one", 1, 500);
	take_vblank(GT_VBLANK, "two", 100, 500);
	take_vblank(GT_VBLANK_QUEUED, "one", 2, 0);
	take_vblank(GT_VBLANK_DELIVERED, "one", 2, 1000000);
	take_vblank(GT_VBLANK, "one", 2, 500);
	take_vblank(GT_VBLANK_DELIVERED, "one", 5, 1000001);
	take_vblank(GT_VBLANK, "one", 5, 500);
	expect_text(
		"DEVICE  CRTC  VBLANKS     RATE  MISSED  QUEUED  DELIVERED  OVER 1 ms\n"
		"one        0        3  31.25/s       2       1          2          1\n"
		"two        0        1   0.00/s       0       0          0          0\n"
		"\n"
		"DEVICE  CRTC  TIME                 COUNT    TOTAL     MEAN      P50      P99      "
		"MAX\n"
		"one        0  vblank to interrupt      3  1.50 µs   500 ns   500 ns   500 ns   "
		"500 ns\n"
		"one        0  vblank to delivered      2  2.00 ms  1.00 ms  1.00 ms  1.00 ms  "
		"1.00 ms\n"
		"one        0  queued to delivered      2  30.0 ms  15.0 ms  15.0 ms  15.0 ms  "
		"15.0 ms\n"
		"two        0  vblank to interrupt      1   500 ns   500 ns   500 ns   500 ns   "
		"500 ns\n");
	close_report();
}

/* ---- fence -------------------------------------------------------------------------------- */

static void take_fence(unsigned operation, uint64_t age, int error)
{
	struct gt_event_fence *fence = new_named(GT_EVENT_fence, "amdgpu", "gfx");

	fence->operation = operation;
	fence->age = age;
	fence->error = error;
	take(&fence->head);
}

static void take_wait(unsigned process, uint64_t duration)
{
	struct gt_event_fence_wait *wait = new_named(GT_EVENT_fence_wait, "amdgpu", "gfx");

	wait->head.process = process;
	wait->duration = duration;
	take(&wait->head);
}

TEST("the summary of fence has latencies and waits by timeline, and who waited")
{
	open_report(&gt_report_fence);
	take_fence(GT_FENCE_INIT, 0, 0);
	take_fence(GT_FENCE_EMIT, 0, 0);
	take_fence(GT_FENCE_SIGNALED, 4000, 0);
	take_fence(GT_FENCE_SIGNALED, 0, -ETIME);
	take_fence(GT_FENCE_DESTROY, 9000, -ETIME);
	take_wait(7, 2000);
	expect_json(
		"{\"timelines\":[{\"driver\":\"amdgpu\",\"timeline\":\"gfx\",\"fences\":1,"
		"\"emitted\":1,\"signaled\":2,\"errors\":1,\"latency\":{\"count\":1,"
		"\"mean\":4000,\"p50\":4000,\"p99\":4000,\"max\":4000},\"waited\":2000,"
		"\"waits\":{\"count\":1,\"mean\":2000,\"p50\":2000,\"p99\":2000,\"max\":2000}}],"
		"\"processes\":[{\"pid\":7,\"process\":\"?\",\"waited\":2000,\"waits\":{"
		"\"count\":1,\"mean\":2000,\"p50\":2000,\"p99\":2000,\"max\":2000}}]}");
	close_report();
}

TEST("summaries of no events are empty tables")
{
	open_report(&gt_report_drm);
	expect_json("{\"rings\":[],\"processes\":[],\"blocked\":[]}");
	close_report();
	open_report(&gt_report_vblank);
	expect_json("{\"crtcs\":[]}");
	close_report();
}

TEST_MAIN
