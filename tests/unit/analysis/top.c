/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/top.h"

#include "analysis.h"

static struct gt_top *top;

static int take(void *analysis, const struct gt_names *names, const struct gt_event *event)
{
	return gt_top_take(analysis, names, event);
}

static void start(void)
{
	gt_top_free(top);
	top = gt_top_new();
	STREAM_INTO(top, take);
}

static void refresh(void)
{
	CHECK_INT(gt_top_refresh(top, stream.names, stream.now), 0);
}

/* NULL: there is no such row. */
static const struct gt_top_row *row_of(enum gt_top_table table, uint32_t process, const char *name)
{
	size_t count;
	const struct gt_top_row *const *rows = gt_top_rows(top, table, &count);

	for (size_t i = 0; i < count; i++)
		if (rows[i]->process == process && !strcmp(rows[i]->name, name))
			return rows[i];
	return NULL;
}

static uint64_t counter(enum gt_top_table table, uint32_t process, const char *name,
			unsigned number)
{
	const struct gt_top_row *found = row_of(table, process, name);

	if (!found)
		TAP_FAIL("no row '%s' of process %u", name, process);
	return found ? found->now[number] : 0;
}

static void feed_work(unsigned operation, uint64_t object, uint64_t duration)
{
	struct gt_event_gpu_work work = {
		.head = {.kind = GT_EVENT_gpu_work,
			 .size = sizeof(work),
			 .process = stream.process,
			 .time = stream.now},
		.start = stream.now - duration,
		.object = object,
		.operation = operation,
	};

	feed_event(&work.head);
}

TEST("a refresh shows what happened since the one before")
{
	start();
	launch(0xaaa, 4, 256, 0, 0);
	launch(0xaaa, 4, 256, 0, 9);
	refresh();
	CHECK_INT(counter(GT_TOP_PROCESSES, 100, "", GT_TOP_PROCESS_CALLS), 2);
	CHECK_INT(counter(GT_TOP_PROCESSES, 100, "", GT_TOP_PROCESS_ERRORS), 1);
	CHECK_INT(counter(GT_TOP_PROCESSES, 100, "", GT_TOP_PROCESS_LAUNCHES), 2);
	CHECK_INT(row_of(GT_TOP_PROCESSES, 100, "")->before[GT_TOP_PROCESS_CALLS], 0);
	launch(0xaaa, 4, 256, 0, 0);
	CHECK_INT(counter(GT_TOP_PROCESSES, 100, "", GT_TOP_PROCESS_CALLS), 2);
	refresh();
	CHECK_INT(counter(GT_TOP_PROCESSES, 100, "", GT_TOP_PROCESS_CALLS), 3);
	CHECK_INT(row_of(GT_TOP_PROCESSES, 100, "")->before[GT_TOP_PROCESS_CALLS], 2);
	CHECK_INT(gt_top_interval(top), 2000);
	CHECK_INT(gt_top_events(top), 1);
}

TEST("functions, kernels, memory and copies have rows of their own")
{
	start();
	register_kernel(0xaaa, "_Z5stepsPj");
	cuda_malloc(0x7f0000, 4096);
	copy(0x7f0000, 0x1000, 1024, 1);
	launch(0xaaa, 4, 256, 0, 0);
	refresh();
	CHECK_INT(counter(GT_TOP_FUNCTIONS, 0, "cudaLaunchKernel", GT_TOP_FUNCTION_CALLS), 1);
	CHECK_INT(counter(GT_TOP_KERNELS, 0, "steps(unsigned int*)", GT_TOP_KERNEL_LAUNCHES), 1);
	CHECK_INT(counter(GT_TOP_MEMORY, 100, "", GT_TOP_MEMORY_DEVICE), 4096);
	CHECK_INT(counter(GT_TOP_PROCESSES, 100, "", GT_TOP_PROCESS_MEMORY), 4096);
	CHECK_INT(counter(GT_TOP_COPIES, 100, "H2D", GT_TOP_COPY_BYTES), 1024);
	CHECK_INT(counter(GT_TOP_PROCESSES, 100, "", GT_TOP_PROCESS_COPIED), 1024);
	cuda_free(0x7f0000);
	refresh();
	CHECK_INT(counter(GT_TOP_MEMORY, 100, "", GT_TOP_MEMORY_DEVICE), 0);
	CHECK_INT(counter(GT_TOP_MEMORY, 100, "", GT_TOP_MEMORY_PEAK), 4096);
	CHECK_INT(counter(GT_TOP_MEMORY, 100, "", GT_TOP_MEMORY_FREES), 1);
}

TEST("times on the GPU are those of gpu_work, of kernels also in their rows")
{
	start();
	register_kernel(0xaaa, "_Z5stepsPj");
	launch(0xaaa, 4, 256, 0, 0);
	feed_work(GT_GPU_KERNEL, 0xaaa, 700);
	feed_work(GT_GPU_COPY_TO_HOST, 0, 300);
	refresh();
	CHECK_INT(counter(GT_TOP_PROCESSES, 100, "", GT_TOP_PROCESS_GPU), 1000);
	CHECK_INT(counter(GT_TOP_KERNELS, 0, "steps(unsigned int*)", GT_TOP_KERNEL_RUNS), 1);
	CHECK_INT(counter(GT_TOP_KERNELS, 0, "steps(unsigned int*)", GT_TOP_KERNEL_GPU), 700);
	CHECK_INT(counter(GT_TOP_KERNELS, 0, "steps(unsigned int*)", GT_TOP_KERNEL_LAUNCHES), 1);
}

TEST("nested calls are counted, and their time is that of the outermost call")
{
	start();
	stream.depth = 1;
	call_with("cuCtxSynchronize", NULL, 0, 0);
	enclose();
	call_with("cudaDeviceSynchronize", NULL, 0, 0);
	refresh();
	CHECK_INT(counter(GT_TOP_PROCESSES, 100, "", GT_TOP_PROCESS_CALLS), 2);
	CHECK_INT(counter(GT_TOP_PROCESSES, 100, "", GT_TOP_PROCESS_API), 4000);
}

TEST("a process that ended is shown once more, then removed, also where an id is used again")
{
	start();
	cuda_malloc(0x7f0000, 4096);
	copy(0x7f0000, 0x1000, 1024, 1);
	ends(100);
	refresh();
	CHECK_INT(counter(GT_TOP_PROCESSES, 100, "", GT_TOP_PROCESS_CALLS), 2);
	CHECK_INT(counter(GT_TOP_COPIES, 100, "H2D", GT_TOP_COPY_COUNT), 1);
	for (int i = 0; i < 2; i++) {
		refresh();
		CHECK(!row_of(GT_TOP_PROCESSES, 100, ""));
		CHECK(!row_of(GT_TOP_COPIES, 100, "H2D"));
		CHECK(!row_of(GT_TOP_MEMORY, 100, ""));
	}
	switch_process(100, "again");
	cuda_malloc(0x7f0000, 512);
	refresh();
	CHECK_INT(counter(GT_TOP_PROCESSES, 100, "", GT_TOP_PROCESS_CALLS), 1);
}

TEST("a table has a limit, and rows beyond it are counted")
{
	start();
	for (uint32_t i = 0; i < GT_TOP_ROWS + 3; i++) {
		stream.process = stream.thread = 1000 + i;
		call_with("cudaDeviceSynchronize", NULL, 0, 0);
	}
	CHECK_INT(gt_top_omitted(top), 3);
	refresh();
	CHECK_INT(counter(GT_TOP_PROCESSES, 1000, "", GT_TOP_PROCESS_CALLS), 1);
}

static void name_ring(char *names, const char *ring)
{
	snprintf(names, GT_DRM_NAME_SIZE, "%s", ring);
	snprintf(names + GT_DRM_NAME_SIZE, GT_DRM_NAME_SIZE, "0000:01:00.0");
}

static void feed_job(const char *ring, unsigned operation, uint64_t ran)
{
	char names[2 * GT_DRM_NAME_SIZE] = {0};
	struct gt_event_drm_job *job;

	name_ring(names, ring);
	job = (void *)gt_event_new(GT_EVENT_drm_job, names, sizeof(names));
	job->head.time = ++stream.now;
	job->head.process = stream.process;
	job->context = 7;
	job->operation = (__u16)operation;
	job->ran = ran;
	feed_event(&job->head);
	free(job);
}

static void feed_dependency(const char *ring)
{
	char names[2 * GT_DRM_NAME_SIZE] = {0};
	struct gt_event_drm_dependency *event;

	name_ring(names, ring);
	event = (void *)gt_event_new(GT_EVENT_drm_dependency, names, sizeof(names));
	event->head.time = ++stream.now;
	event->operation = GT_DRM_BLOCKED;
	feed_event(&event->head);
	free(event);
}

TEST("rings of the DRM scheduler have rows with their jobs, waits and timeouts")
{
	const char *gfx = "0000:01:00.0 gfx", *copies = "0000:01:00.0 sdma0";

	start();
	for (unsigned i = 0; i < 3; i++)
		feed_job("gfx", GT_DRM_QUEUE, 0);
	feed_job("gfx", GT_DRM_RUN, 0);
	feed_job("gfx", GT_DRM_RUN, 0);
	feed_job("gfx", GT_DRM_DONE, 5000);
	feed_job("gfx", GT_DRM_TIMEOUT, 0);
	feed_dependency("gfx");
	feed_job("sdma0", GT_DRM_QUEUE, 0);
	refresh();
	CHECK_INT(counter(GT_TOP_RINGS, 0, gfx, GT_TOP_RING_JOBS), 3);
	CHECK_INT(counter(GT_TOP_RINGS, 0, gfx, GT_TOP_RING_RUNNING), 1);
	CHECK_INT(counter(GT_TOP_RINGS, 0, gfx, GT_TOP_RING_DONE), 1);
	CHECK_INT(counter(GT_TOP_RINGS, 0, gfx, GT_TOP_RING_RUN), 5000);
	CHECK_INT(counter(GT_TOP_RINGS, 0, gfx, GT_TOP_RING_WAITS), 1);
	CHECK_INT(counter(GT_TOP_RINGS, 0, gfx, GT_TOP_RING_TIMEOUTS), 1);
	CHECK_INT(counter(GT_TOP_RINGS, 0, copies, GT_TOP_RING_JOBS), 1);
	CHECK_INT(counter(GT_TOP_RINGS, 0, copies, GT_TOP_RING_DONE), 0);
	feed_job("gfx", GT_DRM_DONE, 7000);
	refresh();
	CHECK_INT(counter(GT_TOP_RINGS, 0, gfx, GT_TOP_RING_RUNNING), 0);
	CHECK_INT(counter(GT_TOP_RINGS, 0, gfx, GT_TOP_RING_RUN), 12000);
	CHECK_INT(row_of(GT_TOP_RINGS, 0, gfx)->before[GT_TOP_RING_RUN], 5000);
}

TEST("what was lost is a row of its source")
{
	struct gt_event_account account = {
		.head = {.kind = GT_EVENT_account, .size = sizeof(account)},
		.made = 10,
		.lost = 4,
		.others_lost = 2,
	};
	struct gt_event_totals *totals;

	start();
	account.head.time = stream.now;
	feed_event(&account.head);
	totals = (void *)gt_event_new(GT_EVENT_totals, "drm", 3);
	totals->recorded = 7;
	totals->lost = 1;
	feed_event(&totals->head);
	free(totals);
	refresh();
	CHECK_INT(counter(GT_TOP_SOURCES, 0, "calls", GT_TOP_SOURCE_EVENTS), 10);
	CHECK_INT(counter(GT_TOP_SOURCES, 0, "calls", GT_TOP_SOURCE_LOST), 4);
	CHECK_INT(counter(GT_TOP_SOURCES, 0, "drm", GT_TOP_SOURCE_EVENTS), 8);
}

TEST_MAIN
