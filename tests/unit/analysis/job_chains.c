/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Jobs are joined with the calls that submitted them and with the interrupts that completed them.
 */
#include "analysis/job_chains.h"

#include <errno.h>

#include "event/kinds.h"
#include "tap.h"

#define PROCESS 10
#define IOCTL 16 /* on x86-64 */

static struct gt_job_chains *chains;
static struct gt_job_chain complete[16]; /* in their order */
static size_t complete_count;

static int keep_chain(void *context, const struct gt_job_chain *chain)
{
	if (complete_count < gt_countof(complete))
		complete[complete_count] = *chain;
	complete_count++;
	return 0;
}

static void start(void)
{
	gt_job_chains_free(chains);
	chains = gt_job_chains_new(keep_chain, NULL);
	complete_count = 0;
}

static void take(struct gt_event *event, uint64_t time, uint32_t thread)
{
	event->time = time;
	event->process = PROCESS;
	event->thread = thread;
	CHECK_INT(gt_event_check(event, event->size), 0);
	CHECK_INT(gt_job_chains_take(chains, event), 0);
}

static void call(uint32_t thread, uint64_t from, uint64_t to, uint32_t function, uint8_t depth)
{
	struct gt_event_call event = {.head.kind = GT_EVENT_call, .head.size = sizeof(event)};

	event.duration = to - from;
	event.function = function;
	event.depth = depth;
	take(&event.head, to, thread);
}

static void ioctl_call(uint32_t thread, uint64_t from, uint64_t to, uint64_t id)
{
	struct gt_event_syscall event = {.head.kind = GT_EVENT_syscall, .head.size = sizeof(event)};

	event.duration = to - from;
	event.call = id;
	event.number = IOCTL;
	event.argument1 = 0xc0104640;
	take(&event.head, to, thread);
}

static void step(uint32_t thread, uint64_t time, unsigned operation, uint64_t seqno)
{
	gt_autofree struct gt_event *event =
		gt_event_new(GT_EVENT_drm_job,
			     "render\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
			     "gpu0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
			     64);
	struct gt_event_drm_job *job = (void *)event;

	job->context = 7;
	job->seqno = seqno;
	job->operation = (__u16)operation;
	if (operation == GT_DRM_RUN)
		job->blocked = 2;
	take(event, time, thread);
}

static void signaled(uint64_t time, uint64_t seqno, int error)
{
	struct gt_event_fence event = {.head.kind = GT_EVENT_fence, .head.size = sizeof(event)};

	event.context = 7;
	event.seqno = seqno;
	event.operation = GT_FENCE_SIGNALED;
	event.error = error;
	take(&event.head, time, 0);
}

/* An event that shows that fences are traced. */
static void other_fence(uint64_t time)
{
	struct gt_event_fence event = {.head.kind = GT_EVENT_fence, .head.size = sizeof(event)};

	event.context = 99;
	event.operation = GT_FENCE_INIT;
	take(&event.head, time, 0);
}

static void interrupt(uint64_t time, uint64_t seqno)
{
	gt_autofree struct gt_event *event = gt_event_new(GT_EVENT_fence_interrupt, "gpu-irq", 7);
	struct gt_event_fence_interrupt *signal = (void *)event;

	signal->context = 7;
	signal->seqno = seqno;
	signal->irq = 42;
	take(event, time, 0);
}

TEST("a job has the calls that enclose its submission, its steps and its interrupt")
{
	const struct gt_job_chain *chain = &complete[0];

	start();
	other_fence(5);
	step(11, 100, GT_DRM_QUEUE, 1);
	ioctl_call(11, 90, 110, 501);
	call(11, 85, 120, 3, 1);
	step(11, 130, GT_DRM_RUN, 1);
	interrupt(300, 1);
	step(11, 302, GT_DRM_DONE, 1);
	signaled(303, 1, 0);
	CHECK_INT(complete_count, 0);
	call(11, 80, 400, 2, 0);
	CHECK_INT(complete_count, 0);
	/* It is still known to those who look it up for this event. */
	CHECK(gt_job_chains_find(chains, 7, 1) != NULL);
	ioctl_call(11, 401, 402, 502);
	CHECK_INT(complete_count, 1);
	CHECK(!gt_job_chains_find(chains, 7, 1));
	CHECK_INT(chain->context, 7);
	CHECK_INT(chain->seqno, 1);
	CHECK_INT(chain->process, PROCESS);
	CHECK_INT(chain->thread, 11);
	CHECK_STR(chain->names, "render");
	CHECK_STR(chain->names + GT_DRM_NAME_SIZE, "gpu0");
	CHECK_INT(chain->outermost.function, 2);
	CHECK_INT(chain->outermost.start, 80);
	CHECK_INT(chain->outermost.end, 400);
	CHECK_INT(chain->innermost.function, 3);
	CHECK_INT(chain->innermost.start, 85);
	CHECK_INT(chain->syscall.id, 501);
	CHECK_INT(chain->syscall.start, 90);
	CHECK_INT(chain->syscall.end, 110);
	CHECK(strncmp(chain->syscall.name, "ioctl ", 6) == 0);
	CHECK_INT(chain->queued, 100);
	CHECK_INT(chain->run, 130);
	CHECK_INT(chain->blocked, 2);
	CHECK_INT(chain->interrupt.start, 300);
	CHECK_INT(chain->interrupt.irq, 42);
	CHECK_STR(chain->interrupt.handler, "gpu-irq");
	CHECK_INT(chain->done, 302);
	CHECK_INT(chain->signaled, 303);
	CHECK_INT(gt_job_chain_start(chain), 80);
	CHECK_INT(gt_job_chain_end(chain), 303);
}

TEST("a job that is done before its system call returns has this call")
{
	start();
	step(11, 100, GT_DRM_QUEUE, 1);
	step(11, 101, GT_DRM_RUN, 1);
	step(11, 102, GT_DRM_DONE, 1);
	CHECK_INT(complete_count, 0);
	ioctl_call(11, 90, 110, 501);
	call(11, 80, 120, 2, 0);
	CHECK_INT(gt_job_chains_finish(chains), 0);
	CHECK_INT(complete_count, 1);
	CHECK_INT(complete[0].syscall.id, 501);
	CHECK_INT(complete[0].outermost.function, 2);
	CHECK_INT(complete[0].innermost.function, 2);
}

TEST("calls of other threads, and earlier and later ones of the same thread, submit nothing")
{
	start();
	ioctl_call(11, 10, 20, 1);
	call(11, 5, 30, 1, 0);
	step(11, 100, GT_DRM_QUEUE, 1);
	step(12, 101, GT_DRM_QUEUE, 2);
	ioctl_call(12, 91, 111, 2);
	call(12, 81, 121, 2, 0);
	ioctl_call(11, 130, 140, 3);
	call(11, 125, 150, 3, 0);
	step(11, 160, GT_DRM_DONE, 1);
	step(12, 161, GT_DRM_DONE, 2);
	CHECK_INT(gt_job_chains_finish(chains), 0);
	CHECK_INT(complete_count, 2);
	CHECK_INT(complete[0].seqno, 1);
	CHECK_INT(complete[0].syscall.start, 0);
	CHECK_INT(complete[0].outermost.start, 0);
	CHECK_INT(complete[1].seqno, 2);
	CHECK_INT(complete[1].syscall.id, 2);
	CHECK_INT(complete[1].outermost.function, 2);
}

TEST("several jobs of one system call all have it")
{
	start();
	for (uint64_t seqno = 1; seqno <= 3; seqno++)
		step(11, 100 + seqno, GT_DRM_QUEUE, seqno);
	ioctl_call(11, 90, 110, 501);
	step(11, 120, GT_DRM_QUEUE, 4);
	ioctl_call(11, 115, 125, 502);
	call(11, 80, 130, 2, 0);
	CHECK_INT(gt_job_chains_finish(chains), 0);
	CHECK_INT(complete_count, 4);
	for (unsigned i = 0; i < 4; i++) {
		CHECK_INT(complete[i].syscall.id, i < 3 ? 501 : 502);
		CHECK_INT(complete[i].outermost.function, 2);
	}
}

TEST("a job of a thread without calls is complete when its process ends")
{
	struct gt_event_exit end = {.head.kind = GT_EVENT_exit, .head.size = sizeof(end)};

	start();
	step(11, 100, GT_DRM_QUEUE, 1);
	step(11, 120, GT_DRM_DONE, 1);
	take(&end.head, 200, 11);
	CHECK_INT(complete_count, 1);
	/* A job may end after its process. */
	step(11, 210, GT_DRM_QUEUE, 2);
	take(&end.head, 220, 11);
	CHECK_INT(complete_count, 1);
	step(11, 230, GT_DRM_DONE, 2);
	other_fence(240);
	CHECK_INT(complete_count, 2);
}

TEST("a canceled job and one with an error are distinguished, in each order of their events")
{
	start();
	other_fence(1);
	step(11, 100, GT_DRM_QUEUE, 1);
	step(11, 101, GT_DRM_QUEUE, 2);
	call(11, 80, 120, 2, 0);
	signaled(130, 1, -ECANCELED);
	step(11, 131, GT_DRM_CANCELED, 1);
	step(11, 132, GT_DRM_TIMEOUT, 2);
	step(11, 133, GT_DRM_DONE, 2);
	signaled(134, 2, -ETIME);
	other_fence(200);
	CHECK_INT(complete_count, 2);
	CHECK(complete[0].canceled && !complete[0].timed_out);
	CHECK_INT(complete[0].error, -ECANCELED);
	CHECK(!complete[1].canceled && complete[1].timed_out);
	CHECK_INT(complete[1].error, -ETIME);
}

TEST("jobs that never end are kept up to a limit, then the oldest are complete as they are")
{
	start();
	for (uint64_t seqno = 1; seqno <= GT_MAX_OPEN_JOB_CHAINS + 3; seqno++)
		step(11, 100 + seqno, GT_DRM_QUEUE, seqno);
	CHECK_INT(complete_count, 3);
	CHECK_INT(complete[0].seqno, 1);
	CHECK_INT(complete[2].seqno, 3);
	CHECK_INT(gt_job_chains_finish(chains), 0);
	CHECK_INT(complete_count, GT_MAX_OPEN_JOB_CHAINS + 3);
	gt_job_chains_free(chains);
	chains = NULL;
}

TEST_MAIN
