/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The BPF programs of the sources "i915", "xe" and "amdgpu", on buffers and requests that are made
 * up, where their modules are not loaded. Their types have the layout of our declarations.
 */
#include "kernel_memory.h"
#include "layer_run.h"
#include "tap.h"

/* What lies where in the kernel's memory. */
enum {
	BUFFER = 0,
	VMA = 512,
	DRM = 1024,
	DEVICE = 1280,
	JOB = 1536,
	FENCE = 2048,
	SCHEDULER = 2560,
	ENGINE = 3072,
	RESOURCE = 3584,
	ENTRY = 3712,
	SPACE = 3840,
	NAME = 4000,
	DEVICE_NAME = 4032,
};

static struct kernel_memory memory;
static struct layer_run run;
static char types[256];

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

/* A device is a type of the kernel itself: it has the layout of the running one. */
static void put_device(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	size_t offset = layer_run_offset(btf, "device", "init_name");
	uint64_t name = memory.address + DEVICE_NAME;

	CHECK(offset != SIZE_MAX);
	kernel_memory_put(&memory, DEVICE + offset, &name, sizeof(name));
	btf__free(btf);
}

static bool set_up(const struct gt_source *source)
{
	const char *parent = getenv("TMPDIR");
	int file;

	snprintf(types, sizeof(types), "%s/gputap-types-XXXXXX", parent ? parent : "/tmp");
	file = mkstemp(types);
	if (file < 0 || kernel_memory_open(&memory) || layer_run_write_types(source, types) ||
	    layer_run_open(&run, source, types, NULL))
		return false;
	close(file);
	put_pointer(DRM, "drm_device", "dev", DEVICE);
	put_device();
	kernel_memory_put(&memory, DEVICE_NAME, "0000:03:00.0", 13);
	kernel_memory_put(&memory, NAME, "gfx_0.0.0", 10);
	return true;
}

static void tear_down(void)
{
	layer_run_close(&run);
	kernel_memory_close(&memory);
	unlink(types);
}

#define NEEDS_BPF "this kernel loads no programs for us"

#define AT(what) (memory.address + (what))

#define FIRE(...) CHECK_INT(LAYER_RUN(&run, __VA_ARGS__), 0)

static void write_memory(void)
{
	CHECK_INT(kernel_memory_write(&memory), 0);
}

static const struct gt_event_i915_buffer *buffer_at(size_t number)
{
	return (const void *)run.events[number];
}

static const struct gt_event_i915_request *request_at(size_t number)
{
	return (const void *)run.events[number];
}

/* A GEM object of 1 MiB at the beginning of the driver's buffer. */
static void put_object(void)
{
	put(BUFFER, "drm_gem_object", "size", 1 << 20, 8);
	put_pointer(BUFFER, "drm_gem_object", "dev", DRM);
}

TEST("i915: what is allocated falls when an object is destroyed; bindings are counted")
{
	if (!set_up(&gt_source_i915))
		SKIP(NEEDS_BPF);
	put_object();
	put_pointer(VMA, "i915_vma", "obj", BUFFER);
	put(VMA, "drm_mm_node", "start", 0x10000, 8);
	put(VMA, "drm_mm_node", "size", 0x2000, 8);
	write_memory();
	FIRE("object_create", AT(BUFFER));
	FIRE("vma_bind", AT(VMA), 0);
	FIRE("vma_unbind", AT(VMA));
	FIRE("vma_bind", AT(VMA), 0);
	FIRE("object_fault", AT(BUFFER), 2, 1, 1);
	FIRE("object_pwrite", AT(BUFFER), 16, 32);
	FIRE("object_destroy", AT(BUFFER));
	FIRE("object_destroy", AT(BUFFER));
	FIRE("shrink", AT(SPACE), 256, 3);
	CHECK_INT(run.count, 8);
	CHECK_INT(buffer_at(7)->operation, GT_DRIVER_SHRINK);
	CHECK_INT(buffer_at(7)->bytes, 1 << 20);
	CHECK_INT(buffer_at(7)->from, 3);
	CHECK_INT(buffer_at(0)->head.kind, GT_EVENT_i915_buffer);
	CHECK_INT(buffer_at(0)->bytes, 1 << 20);
	CHECK_INT(buffer_at(0)->allocated, 1 << 20);
	CHECK_STR((const char *)buffer_at(0)->names, "0000:03:00.0");
	CHECK_INT(buffer_at(1)->operation, GT_DRIVER_BIND);
	CHECK_INT(buffer_at(1)->offset, 0x10000);
	CHECK_INT(buffer_at(1)->bytes, 0x2000);
	CHECK_INT(buffer_at(1)->repeats, 0);
	CHECK_INT(buffer_at(3)->repeats, 1);
	CHECK_INT(buffer_at(4)->offset, 0x2000);
	CHECK_INT(buffer_at(4)->flags, GT_DRIVER_GTT | GT_DRIVER_WRITE);
	CHECK_INT(buffer_at(5)->offset, 16);
	CHECK_INT(buffer_at(5)->bytes, 32);
	CHECK_INT(buffer_at(6)->operation, GT_DRIVER_DESTROY);
	CHECK_INT(buffer_at(6)->bytes, 1 << 20);
	CHECK_INT(buffer_at(6)->allocated, 0);
	tear_down();
}

TEST("i915: a request has its key, its engine, its process and its time; a wait has its duration")
{
	if (!set_up(&gt_source_i915))
		SKIP(NEEDS_BPF);
	put(JOB, "dma_fence", "context", 7, 8);
	put(JOB, "dma_fence", "seqno", 9, 8);
	put_pointer(JOB, "i915_request", "engine", ENGINE);
	put(ENGINE, "intel_engine_cs", "uabi_class", 2, 2);
	put(ENGINE, "intel_engine_cs", "uabi_instance", 1, 2);
	kernel_memory_put(&memory, ENGINE, "vcs1", 5);
	write_memory();
	FIRE("request_queue", AT(JOB), 0);
	FIRE("request_add", AT(JOB));
	FIRE("wait_begin", AT(JOB), 0);
	FIRE("wait_end", AT(JOB));
	FIRE("wait_end", AT(JOB));
	FIRE("request_retire", AT(JOB));
	CHECK_INT(run.count, 4);
	for (size_t i = 0; i < 4; i++) {
		CHECK_INT(request_at(i)->context, 7);
		CHECK_INT(request_at(i)->seqno, 9);
		CHECK_INT(request_at(i)->engine_class, 2);
		CHECK_INT(request_at(i)->engine_instance, 1);
		CHECK_INT(request_at(i)->head.process, getpid());
		CHECK_STR((const char *)request_at(i)->names, "vcs1");
	}
	CHECK_INT(request_at(2)->operation, GT_DRIVER_WAIT);
	CHECK(request_at(2)->duration > 0);
	CHECK_INT(request_at(3)->operation, GT_DRIVER_DONE);
	CHECK(request_at(3)->ran >= request_at(2)->duration);
	tear_down();
}

TEST("i915: where the kernel reports it, a request runs once, with its delay, and the rest is its "
     "time")
{
	if (!set_up(&gt_source_i915))
		SKIP(NEEDS_BPF);
	put(JOB, "dma_fence", "seqno", 9, 8);
	put_pointer(JOB, "i915_request", "engine", ENGINE);
	write_memory();
	FIRE("request_add", AT(JOB));
	FIRE("request_execute", AT(JOB));
	FIRE("request_execute", AT(JOB));
	FIRE("request_retire", AT(JOB));
	CHECK_INT(run.count, 3);
	CHECK_INT(request_at(1)->operation, GT_DRIVER_RUN);
	CHECK_INT(request_at(1)->seqno, 9);
	CHECK(request_at(1)->delay > 0);
	CHECK_INT(request_at(1)->delay, request_at(1)->head.time - request_at(0)->head.time);
	CHECK_INT(request_at(2)->operation, GT_DRIVER_DONE);
	CHECK_INT(request_at(2)->ran, request_at(2)->head.time - request_at(1)->head.time);
	tear_down();
}

/* `done` is the program of the tracepoint that kernels have. False: BPF programs cannot be loaded.
 */
static bool check_amdgpu_job(const char *done)
{
	if (!set_up(&gt_source_amdgpu))
		return false;
	put(FENCE, "dma_fence", "context", 5, 8);
	put(FENCE, "dma_fence", "seqno", 6, 8);
	put_pointer(FENCE, "drm_sched_fence", "sched", SCHEDULER);
	put_pointer(JOB, "drm_sched_job", "s_fence", FENCE);
	put_pointer(JOB, "drm_sched_job", "sched", SCHEDULER);
	put_pointer(JOB, "amdgpu_job", "vm", SPACE);
	put(JOB, "amdgpu_job", "num_ibs", 2, 4);
	put(SPACE, "amdgpu_vm", "pasid", 77, 4);
	put_pointer(SCHEDULER, "drm_gpu_scheduler", "name", NAME);
	put_pointer(SCHEDULER, "drm_gpu_scheduler", "dev", DEVICE);
	put(ENTRY, "amdgpu_iv_entry", "pasid", 77, 4);
	put(ENTRY, "amdgpu_iv_entry", "src_id", 181, 4);
	write_memory();
	FIRE("interrupt", 0, AT(ENTRY));
	FIRE("job_submit", AT(JOB));
	FIRE("job_run", AT(JOB));
	FIRE("interrupt", 0, AT(ENTRY));
	FIRE(done, AT(FENCE));
	FIRE(done, AT(FENCE));
	CHECK_INT(run.count, 5);
	CHECK_INT(request_at(0)->head.process, 0);
	CHECK_INT(request_at(1)->operation, GT_DRIVER_SUBMIT);
	CHECK_INT(request_at(1)->count, 2);
	CHECK_INT(request_at(1)->head.process, getpid());
	CHECK_STR((const char *)request_at(1)->names, "gfx_0.0.0");
	CHECK_STR((const char *)request_at(1)->names + GT_DRM_NAME_SIZE, "0000:03:00.0");
	CHECK(request_at(2)->delay > 0);
	CHECK_INT(request_at(3)->head.kind, GT_EVENT_amdgpu_interrupt);
	CHECK_INT(request_at(3)->head.process, getpid());
	CHECK_INT(((const struct gt_event_amdgpu_interrupt *)request_at(3))->interrupt, 181);
	CHECK_INT(request_at(4)->operation, GT_DRIVER_DONE);
	CHECK(request_at(4)->ran > 0 && request_at(4)->delay == request_at(2)->delay);
	tear_down();
	return true;
}

TEST("amdgpu: a job has the delay until it runs, and until it is done")
{
	if (!check_amdgpu_job("job_done"))
		SKIP(NEEDS_BPF);
}

TEST("amdgpu: a job is done by the tracepoint of Linux 6.16 and earlier, too")
{
	if (!check_amdgpu_job("job_done_6_16"))
		SKIP(NEEDS_BPF);
}

TEST("amdgpu: a buffer has what was asked for and what it got; a move has bytes and direction")
{
	size_t base;

	if (!set_up(&gt_source_amdgpu))
		SKIP(NEEDS_BPF);
	base = layer_run_offset(bpf_object__btf(run.object), "amdgpu_bo", "tbo");
	put(BUFFER, "amdgpu_bo", "preferred_domains", 4, 4);
	put(BUFFER, "amdgpu_bo", "allowed_domains", 6, 4);
	put(BUFFER, "amdgpu_bo", "flags", 1 | 1 << 3, 8);
	put(BUFFER + base, "drm_gem_object", "size", 8192, 8);
	put_pointer(BUFFER + base, "drm_gem_object", "dev", DRM);
	put_pointer(BUFFER + base, "ttm_buffer_object", "resource", RESOURCE);
	put(RESOURCE, "ttm_resource", "mem_type", 1, 4);
	write_memory();
	FIRE("buffer_create", AT(BUFFER));
	FIRE("buffer_move", AT(BUFFER), 2, 1);
	FIRE("buffer_move", AT(BUFFER), 1, 2);
	CHECK_INT(run.count, 3);
	CHECK_INT(buffer_at(0)->from, 4);
	CHECK_INT(buffer_at(0)->flags, GT_DRIVER_VISIBLE | 6 << GT_DRIVER_ALLOWED_SHIFT);
	CHECK_INT(buffer_at(0)->to, 1);
	CHECK_INT(buffer_at(0)->allocated, 8192);
	CHECK_INT(buffer_at(1)->from, 1);
	CHECK_INT(buffer_at(1)->to, 2);
	CHECK_INT(buffer_at(1)->bytes, 8192);
	CHECK_INT(buffer_at(2)->repeats, 1);
	tear_down();
}

/* `done` is the program of the tracepoint that kernels have. False: BPF programs cannot be loaded.
 */
static bool check_xe(const char *done)
{
	if (!set_up(&gt_source_xe))
		return false;
	put_object();
	put_pointer(VMA, "drm_gpuva", "gem", BUFFER);
	put(VMA, "drm_gpuva", "va", 0x100000, 8);
	put(FENCE, "dma_fence", "context", 5, 8);
	put_pointer(JOB, "drm_sched_job", "s_fence", FENCE);
	put_pointer(FENCE, "drm_sched_fence", "sched", SCHEDULER);
	put_pointer(JOB, "drm_sched_job", "sched", SCHEDULER);
	put_pointer(SCHEDULER, "drm_gpu_scheduler", "name", ENGINE);
	put_pointer(JOB, "xe_sched_job", "q", ENGINE);
	put(ENGINE, "xe_exec_queue", "class", 4, 4);
	kernel_memory_put(&memory, ENGINE, "ccs0", 5);
	write_memory();
	FIRE("buffer_create", AT(BUFFER));
	FIRE("vma_bind", AT(VMA));
	FIRE("vma_rebind_exec", AT(VMA));
	FIRE("buffer_move", AT(BUFFER), 0, 2, 0);
	FIRE("job_exec", AT(JOB));
	FIRE("job_run", AT(JOB));
	FIRE(done, AT(FENCE));
	FIRE(done, AT(FENCE));
	CHECK_INT(run.count, 7);
	CHECK(buffer_at(1)->buffer == buffer_at(0)->buffer);
	CHECK_INT(buffer_at(1)->offset, 0x100000);
	CHECK_INT(buffer_at(2)->operation, GT_DRIVER_REBIND);
	CHECK_INT(buffer_at(3)->from, 2);
	CHECK_INT(buffer_at(3)->to, 0);
	CHECK_INT(request_at(4)->context, 5);
	CHECK_STR((const char *)request_at(4)->names, "ccs0");
	CHECK(request_at(5)->delay > 0 && request_at(6)->ran > 0);
	CHECK_INT(request_at(6)->operation, GT_DRIVER_DONE);
	CHECK_INT(request_at(6)->context, 5);
	CHECK_INT(request_at(6)->engine_class, 4);
	CHECK_STR((const char *)request_at(6)->names, "ccs0");
	tear_down();
	return true;
}

TEST("xe: a mapping and its buffer have one key; a job is submitted, runs and is done")
{
	if (!check_xe("job_done"))
		SKIP(NEEDS_BPF);
}

TEST("xe: a job is done by the tracepoint of Linux 6.16 and earlier, too")
{
	if (!check_xe("job_done_6_16"))
		SKIP(NEEDS_BPF);
}

TEST_MAIN
