/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The BPF programs of the source "drm", on jobs that are made up: those of all kernels, also where
 * the module gpu_sched is not loaded. Its types have the layout of probe/drm/types.h.
 */
#include "kernel_memory.h"
#include "layer_run.h"
#include "tap.h"
#include "temporary.h"

/* What lies where in the kernel's memory. */
enum { JOB = 0, FENCE = 512, SCHEDULER = 1024, ENTITY = 2048, OTHER = 3072, NAME = 4000 };

static struct kernel_memory memory;
static struct layer_run run;
static struct temporary types;

static void put(size_t base, const char *structure, const char *member, uint64_t value, size_t size)
{
	size_t offset = layer_run_offset(bpf_object__btf(run.object), structure, member);

	CHECK(offset != SIZE_MAX);
	kernel_memory_put(&memory, base + offset, &value, size);
}

static void put_pointer(size_t base, const char *structure, const char *member, size_t to)
{
	put(base, structure, member, memory.address + to, 8);
}

/* A fence of another ring, in the layout of the running kernel. */
static void put_other_fence(uint64_t context, uint64_t seqno, unsigned long flags)
{
	struct btf *btf = btf__load_vmlinux_btf();

	kernel_memory_put(&memory, OTHER + layer_run_offset(btf, "dma_fence", "context"), &context,
			  sizeof(context));
	kernel_memory_put(&memory, OTHER + layer_run_offset(btf, "dma_fence", "seqno"), &seqno,
			  sizeof(seqno));
	kernel_memory_put(&memory, OTHER + layer_run_offset(btf, "dma_fence", "flags"), &flags,
			  sizeof(flags));
	btf__free(btf);
}

static void put_job(uint64_t context, uint64_t seqno)
{
	const uint64_t key[] = {context, seqno};

	/* The fence `finished` is the first member, and its key is the first of that. */
	kernel_memory_put(&memory, FENCE, key, sizeof(key));
	put_pointer(JOB, "drm_sched_job", "s_fence", FENCE);
	put_pointer(JOB, "drm_sched_job", "sched", SCHEDULER);
	put_pointer(FENCE, "drm_sched_fence", "sched", SCHEDULER);
	put(FENCE, "drm_sched_fence", "drm_client_id", 42, 8);
	put_pointer(SCHEDULER, "drm_gpu_scheduler", "name", NAME);
	put(SCHEDULER, "drm_gpu_scheduler", "credit_count", 2, 4);
	put(ENTITY, "drm_sched_entity", "job_queue", 5, 4);
	kernel_memory_put(&memory, NAME, "gfx", 4);
	CHECK_INT(kernel_memory_write(&memory), 0);
}

static bool set_up_as(uint8_t preemptible)
{
	const struct layer_run_options how = {.btf = types.path, .preemptible = preemptible};
	if (!make_empty_file(&types) || kernel_memory_open(&memory) ||
	    layer_run_write_types(&gt_source_drm, types.path) ||
	    layer_run_open_as(&run, &gt_source_drm, &how))
		return false;
	put_other_fence(77, 8, 0);
	put_job(10, 1);
	return true;
}

static bool set_up(void)
{
	return set_up_as(false);
}

static void tear_down(void)
{
	layer_run_close(&run);
	kernel_memory_close(&memory);
	unlink(types.path);
}

#define NEEDS_BPF "this kernel loads no programs for us, or has no fences"

#define FIRE(program, first, second)                                                               \
	CHECK_INT(LAYER_RUN(&run, program, memory.address + (first), memory.address + (second)), 0)

static const struct gt_event_drm_job *job_at(size_t number)
{
	return (const void *)run.events[number];
}

static const struct gt_event_drm_dependency *dependency_at(size_t number)
{
	return (const void *)run.events[number];
}

static void expect_job(size_t number, unsigned operation, uint64_t seqno)
{
	const struct gt_event_drm_job *job = job_at(number);

	CHECK_INT(job->head.kind, GT_EVENT_drm_job);
	CHECK_INT(job->operation, operation);
	CHECK_INT(job->context, 10);
	CHECK_INT(job->seqno, seqno);
	CHECK_INT(job->head.process, getpid());
	CHECK_STR((const char *)job->names, "gfx");
}

TEST("a job has the same steps by the tracepoints of Linux 6.17 and by those before")
{
	if (!set_up())
		SKIP(NEEDS_BPF);
	FIRE("job_queue", JOB, ENTITY);
	FIRE("job_run", JOB, ENTITY);
	FIRE("job_done", FENCE, 0);
	put_job(10, 2);
	FIRE("job_queue_6_16", JOB, ENTITY);
	FIRE("job_run_6_16", JOB, ENTITY);
	FIRE("job_done_6_16", FENCE, 0);
	CHECK_INT(run.count, 6);
	for (size_t i = 0; i < run.count; i++)
		expect_job(i, (unsigned)i % 3, i < 3 ? 1 : 2);
	CHECK_INT(job_at(0)->client, 42);
	CHECK_INT(job_at(0)->depth, 5);
	CHECK_INT(job_at(0)->hardware, 2);
	CHECK(job_at(1)->queued > 0 && job_at(1)->ran == 0);
	CHECK(job_at(2)->queued == job_at(1)->queued && job_at(2)->ran > 0);
	tear_down();
}

TEST("a job that is done is forgotten; one that is older than the session has no process")
{
	if (!set_up())
		SKIP(NEEDS_BPF);
	FIRE("job_queue", JOB, ENTITY);
	FIRE("job_done", FENCE, 0);
	FIRE("job_run", JOB, ENTITY);
	CHECK_INT(run.count, 3);
	CHECK_INT(job_at(1)->ran, 0);
	CHECK_INT(job_at(2)->head.process, 0);
	CHECK_INT(job_at(2)->queued, 0);
	tear_down();
}

TEST("a job is blocked until the fence is signaled, not until it runs")
{
	if (!set_up())
		SKIP(NEEDS_BPF);
	FIRE("job_queue", JOB, ENTITY);
	FIRE("job_add_dep", JOB, OTHER);
	FIRE("job_unschedulable", JOB, OTHER);
	FIRE("job_fence_signaled", OTHER, 0);
	FIRE("job_add_dep", JOB, OTHER); /* its time is after that of the signal */
	usleep(20000);
	FIRE("job_run", JOB, ENTITY);
	CHECK_INT(run.count, 6);
	CHECK_INT(dependency_at(1)->operation, GT_DRM_DEPENDS);
	CHECK_INT(dependency_at(1)->on_context, 77);
	CHECK_INT(dependency_at(1)->on_seqno, 8);
	CHECK_INT(dependency_at(2)->operation, GT_DRM_BLOCKED);
	CHECK_INT(dependency_at(4)->operation, GT_DRM_UNBLOCKED);
	CHECK_INT(dependency_at(4)->on_context, 77);
	CHECK(dependency_at(4)->blocked > 0);
	CHECK(dependency_at(4)->blocked < dependency_at(3)->head.time - job_at(0)->head.time);
	CHECK_INT(job_at(5)->blocked, dependency_at(4)->blocked);
	CHECK(job_at(5)->blocked < job_at(5)->queued);
	tear_down();
}

TEST("until Linux 6.16, a dependency blocks a job unless it is signaled, or of the same entity")
{
	if (!set_up())
		SKIP(NEEDS_BPF);
	FIRE("job_queue_6_16", JOB, ENTITY);
	FIRE("job_wait_dep", JOB, OTHER);
	put_other_fence(77, 8, 1);
	put_job(10, 1);
	FIRE("job_wait_dep", JOB, OTHER);
	put_other_fence(9, 3, 0); /* `scheduled` of the job's own entity */
	put_job(10, 1);
	FIRE("job_wait_dep", JOB, OTHER);
	CHECK_INT(run.count, 4);
	CHECK_INT(dependency_at(1)->operation, GT_DRM_BLOCKED);
	CHECK_INT(dependency_at(2)->operation, GT_DRM_DEPENDS);
	CHECK_INT(dependency_at(3)->operation, GT_DRM_DEPENDS);
	tear_down();
}

/* ---- where threads are preempted in programs of raw tracepoints ---- */

static void put_field(uint64_t *record, const char *structure, const char *member,
		      const void *value, size_t size)
{
	size_t offset = layer_run_offset(bpf_object__btf(run.object), structure, member);

	CHECK(offset + size <= 96);
	if (offset + size <= 96)
		memcpy((char *)record + offset, value, size);
}

/* Run the program of a trace event on the record of the job (10, seqno), on the ring "sdma". */
static void fire_record(const char *program, const char *structure, uint64_t seqno)
{
	const uint64_t context = 10, client = 43, on[] = {77, 8};
	const uint32_t names[] = {5 << 16 | 64, 7 << 16 | 72}, depth = 6, hardware = 3;
	uint64_t record[12] = {0}; /* the most that a test run takes */

	put_field(record, structure, "fence_context", &context, 8);
	put_field(record, structure, "fence_seqno", &seqno, 8);
	if (!strcmp(structure, "trace_event_raw_drm_sched_job")) {
		put_field(record, structure, "__data_loc_name", &names[0], 4);
		put_field(record, structure, "__data_loc_dev", &names[1], 4);
		put_field(record, structure, "job_count", &depth, 4);
		put_field(record, structure, "hw_job_count", &hardware, 4);
		put_field(record, structure, "client_id", &client, 8);
		memcpy((char *)record + 64, "sdma", 5);
		memcpy((char *)record + 72, "0000:1", 7);
	} else if (strcmp(structure, "trace_event_raw_drm_sched_job_done")) {
		put_field(record, structure, "ctx", &on[0], 8);
		put_field(record, structure, "seqno", &on[1], 8);
	}
	CHECK_INT(layer_run_program(&run, program, record, gt_countof(record)), 0);
}

/* Omissions of raw tracepoints that their records made up for. */
static int64_t count_recovered(void)
{
	struct gt_layer_counts counts = {0};

	gt_load_sum_counters(bpf_object__find_map_fd_by_name(run.object, "layer_counts"), &counts,
			     sizeof(counts) / sizeof(__u64));
	return (int64_t)counts.recovered;
}

#define RECORD(step, seqno)                                                                        \
	fire_record("job_" #step "_record",                                                        \
		    !strcmp(#step, "done") ? "trace_event_raw_drm_sched_job_done"                  \
					   : "trace_event_raw_drm_sched_job",                      \
		    seqno)
#define RECORD_OF_WAIT(step, seqno)                                                                \
	fire_record("job_" #step "_record", "trace_event_raw_drm_sched_job_" #step, seqno)

TEST("a step that a raw tracepoint and its record have is shown once, with what the first one has")
{
	if (!set_up_as(true))
		SKIP(NEEDS_BPF);
	FIRE("job_queue", JOB, ENTITY);
	RECORD(queue, 1);
	RECORD(run, 1);
	FIRE("job_run", JOB, ENTITY);
	FIRE("job_done", FENCE, 0);
	RECORD(done, 1);
	CHECK_INT(run.count, 3);
	for (size_t i = 0; i < 3; i++)
		CHECK_INT(job_at(i)->operation, i);
	CHECK_INT(job_at(0)->depth, 5);
	CHECK_INT(job_at(1)->depth, 6); /* of the record */
	CHECK_STR((const char *)job_at(1)->names, "sdma");
	CHECK_STR((const char *)job_at(2)->names, "gfx");
	CHECK_INT(job_at(2)->queued, job_at(1)->queued);
	CHECK_INT(count_recovered(), 0);
	tear_down();
}

TEST("steps of which there are records only are shown, with their names, and counted as recovered")
{
	if (!set_up_as(true))
		SKIP(NEEDS_BPF);
	RECORD(queue, 7);
	RECORD_OF_WAIT(add_dep, 7);
	RECORD_OF_WAIT(unschedulable, 7);
	FIRE("job_fence_signaled", OTHER, 0);
	RECORD(run, 7);
	RECORD(done, 7);
	FIRE("job_done", FENCE, 0); /* of another job */
	CHECK_INT(run.count, 7);
	CHECK_INT(dependency_at(1)->operation, GT_DRM_DEPENDS);
	CHECK_INT(dependency_at(2)->operation, GT_DRM_BLOCKED);
	CHECK_INT(dependency_at(2)->on_context, 77);
	CHECK_INT(dependency_at(2)->on_seqno, 8);
	CHECK_STR((const char *)dependency_at(2)->names, "sdma");
	CHECK_INT(dependency_at(3)->operation, GT_DRM_UNBLOCKED);
	for (size_t i = 0; i < 6; i += i ? 1 : 4) {
		CHECK_INT(job_at(i)->context, 10);
		CHECK_INT(job_at(i)->seqno, 7);
		CHECK_INT(job_at(i)->head.process, getpid());
		CHECK_STR((const char *)job_at(i)->names, "sdma");
		CHECK_STR((const char *)job_at(i)->names + GT_DRM_NAME_SIZE, "0000:1");
	}
	CHECK_INT(job_at(0)->client, 43);
	CHECK_INT(job_at(4)->hardware, 3);
	CHECK_INT(job_at(5)->operation, GT_DRM_DONE);
	CHECK_INT(job_at(5)->queued, job_at(4)->queued);
	CHECK_INT(count_recovered(), 5);
	tear_down();
}

TEST("the record of a job's end has the error of its fence, which was known before")
{
	const int error = -ETIME;

	if (!set_up_as(true))
		SKIP(NEEDS_BPF);
	RECORD(queue, 1); /* first, as where another tracer has enabled the trace event */
	FIRE("job_queue", JOB, ENTITY);
	put(FENCE, "dma_fence", "error", (uint32_t)error, sizeof(error));
	CHECK_INT(kernel_memory_write(&memory), 0);
	RECORD(done, 1);
	CHECK_INT(run.count, 2);
	CHECK_INT(job_at(1)->operation, GT_DRM_DONE);
	CHECK_INT(job_at(1)->error, -ETIME);
	tear_down();
}

TEST("hits of which one program is omitted do not hide others")
{
	if (!set_up_as(true))
		SKIP(NEEDS_BPF);
	for (uint64_t seqno = 1; seqno <= 20; seqno++) {
		put_job(10, seqno);
		FIRE("job_queue", JOB, ENTITY);
	}
	RECORD(queue, 20);
	CHECK_INT(run.count, 20);
	FIRE("job_run", JOB, ENTITY);
	RECORD(run, 20);
	CHECK_INT(run.count, 21);
	CHECK_INT(count_recovered(), 0);
	tear_down();
}

TEST("a step is shown once though an interrupt with four jobs leaves its hits before the record")
{
	if (!set_up_as(true))
		SKIP(NEEDS_BPF);
	put_job(10, 1);
	FIRE("job_run", JOB, ENTITY);
	for (uint64_t seqno = 2; seqno <= 13; seqno++) { /* three hits for each job */
		put_job(10, seqno);
		FIRE("job_queue", JOB, ENTITY);
	}
	CHECK_INT(run.count, 13);
	RECORD(run, 1);
	CHECK_INT(run.count, 13);
	CHECK_INT(count_recovered(), 0);
	tear_down();
}

TEST_MAIN
