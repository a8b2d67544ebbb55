/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The BPF programs of the sources "i915", "xe" and "amdgpu", on buffers and requests that are made
 * up. Their types have the layout of the running kernel's module where that is loaded, as in guests
 * (tests/guest/drivers.bats), else of our declarations.
 */
#include <bpf/btf.h>

#include "kernel_memory.h"
#include "layer_run.h"
#include "probe/module_events.h"
#include "tap.h"
#include "temporary.h"

/* What lies where in the kernel's memory: structures of drivers have up to some KiB. */
#define PLACE(number) ((number) * (KERNEL_MEMORY_SIZE / 16))
enum {
	BUFFER = PLACE(0),
	VMA = PLACE(1),
	DRM = PLACE(2),
	DEVICE = PLACE(3),
	JOB = PLACE(4),
	FENCE = PLACE(5),
	SCHEDULER = PLACE(6),
	ENGINE = PLACE(7),
	RESOURCE = PLACE(8),
	ENTRY = PLACE(9),
	SPACE = PLACE(10),
	NAME = PLACE(11),
	DEVICE_NAME = PLACE(12),
	VA = PLACE(13),
	DRIVER = PLACE(14),
};

static struct kernel_memory memory;
static struct layer_run run;
static struct temporary types;
static struct btf *kernel, *layout;

/* A member of a structure by its path, "node.start". */
static void put(size_t base, const char *structure, const char *path, uint64_t value)
{
	struct layer_run_member member = layer_run_member(layout, structure, path);

	CHECK(member.offset != SIZE_MAX);
	CHECK(member.size <= sizeof(value));
	if (member.offset != SIZE_MAX)
		kernel_memory_put(&memory, base + member.offset, &value, member.size);
}

static void put_pointer(size_t base, const char *structure, const char *path, size_t to)
{
	put(base, structure, path, memory.address + to);
}

static void put_text(size_t base, const char *structure, const char *path, const char *text)
{
	size_t offset = layer_run_member(layout, structure, path).offset;

	CHECK(offset != SIZE_MAX);
	if (offset != SIZE_MAX)
		kernel_memory_put(&memory, base + offset, text, strlen(text) + 1);
}

/* The types of the module, beside those of the kernel itself. */
static bool open_module_types(const char *module)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", module);
	layout = btf__parse_split(path, kernel);
	printf("# the types are those of the module %s\n", module);
	return layout;
}

static bool open_declared_types(const struct gt_source *source)
{
	if (!make_empty_file(&types) || layer_run_write_types(source, types.path))
		return false;
	layout = btf__parse(types.path, NULL);
	return layout;
}

static bool set_up(const struct gt_source *source)
{
	bool loaded = gt_module_is_loaded(source->name);

	types.path[0] = '\0';
	kernel = btf__load_vmlinux_btf();
	if (!kernel || kernel_memory_open(&memory) ||
	    !(loaded ? open_module_types(source->name) : open_declared_types(source)) ||
	    layer_run_open(&run, source, loaded ? NULL : types.path, NULL))
		return false;
	put_pointer(DRM, "drm_device", "dev", DEVICE);
	put_pointer(DEVICE, "device", "init_name", DEVICE_NAME);
	kernel_memory_put(&memory, DEVICE_NAME, "0000:03:00.0", 13);
	kernel_memory_put(&memory, NAME, "gfx_0.0.0", 10);
	return true;
}

static void tear_down(void)
{
	layer_run_close(&run);
	kernel_memory_close(&memory);
	btf__free(layout);
	btf__free(kernel);
	if (types.path[0])
		unlink(types.path);
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

/* A GEM object of a size at an offset of the driver's buffer. */
static void put_object(size_t offset, uint64_t bytes)
{
	put(BUFFER + offset, "drm_gem_object", "size", bytes);
	put_pointer(BUFFER + offset, "drm_gem_object", "dev", DRM);
}

TEST("i915: what is allocated falls when an object is destroyed; bindings are counted")
{
	if (!set_up(&gt_source_i915))
		SKIP(NEEDS_BPF);
	put_object(layer_run_offset(layout, "drm_i915_gem_object", "base"), 1 << 20);
	put_pointer(VMA, "i915_vma", "obj", BUFFER);
	put(VMA, "i915_vma", "node.start", 0x10000);
	put(VMA, "i915_vma", "node.size", 0x2000);
	put_pointer(VMA, "i915_vma", "vm", SPACE);
	put_pointer(SPACE, "i915_address_space", "i915", DRIVER);
	put_pointer(DRIVER, "drm_i915_private", "drm.dev", DEVICE);
	put(ENTRY, "drm_mm_node", "start", 0x3000);
	put(ENTRY, "drm_mm_node", "size", 0x4000);
	write_memory();
	FIRE("object_create", AT(BUFFER));
	FIRE("vma_bind", AT(VMA), 0);
	FIRE("vma_unbind", AT(VMA));
	FIRE("vma_bind", AT(VMA), 0);
	FIRE("object_fault", AT(BUFFER), 2, 1, 1);
	FIRE("object_pwrite", AT(BUFFER), 16, 32);
	FIRE("object_destroy", AT(BUFFER));
	FIRE("object_destroy", AT(BUFFER));
	FIRE("shrink", AT(DRIVER), 256, 3);
	FIRE("evict_node", AT(SPACE), AT(ENTRY), 0x88);
	FIRE("evict", AT(SPACE), 0x5000, 0x1000, 8);
	FIRE("evict_vm", AT(SPACE));
	CHECK_INT(run.count, 11);
	CHECK_INT(buffer_at(8)->from, 0x88);
	CHECK_INT(buffer_at(9)->operation, GT_DRIVER_EVICT);
	CHECK_INT(buffer_at(9)->bytes, 0x5000);
	CHECK_INT(buffer_at(9)->from, 8);
	CHECK_INT(buffer_at(10)->operation, GT_DRIVER_EVICT);
	CHECK_INT(buffer_at(10)->from, 0);
	CHECK_INT(buffer_at(8)->operation, GT_DRIVER_EVICT);
	CHECK_INT(buffer_at(8)->offset, 0x3000);
	CHECK_INT(buffer_at(8)->bytes, 0x4000);
	CHECK_INT(buffer_at(8)->space, AT(SPACE));
	CHECK_STR((const char *)buffer_at(8)->names, "0000:03:00.0");
	CHECK_STR((const char *)buffer_at(7)->names, "0000:03:00.0");
	CHECK_INT(buffer_at(1)->space, AT(SPACE));
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
	put(JOB, "i915_request", "fence.context", 7);
	put(JOB, "i915_request", "fence.seqno", 9);
	put_pointer(JOB, "i915_request", "engine", ENGINE);
	put_pointer(JOB, "i915_request", "i915", DRIVER);
	put_pointer(DRIVER, "drm_i915_private", "drm.dev", DEVICE);
	put(ENGINE, "intel_engine_cs", "uabi_class", 2);
	put(ENGINE, "intel_engine_cs", "uabi_instance", 1);
	put_text(ENGINE, "intel_engine_cs", "name", "vcs1");
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
		CHECK_STR((const char *)request_at(i)->names + GT_DRM_NAME_SIZE, "0000:03:00.0");
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
	put(JOB, "i915_request", "fence.seqno", 9);
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
	put(FENCE, "drm_sched_fence", "finished.context", 5);
	put(FENCE, "drm_sched_fence", "finished.seqno", 6);
	put_pointer(FENCE, "drm_sched_fence", "sched", SCHEDULER);
	put_pointer(JOB, "amdgpu_job", "base.s_fence", FENCE);
	put_pointer(JOB, "amdgpu_job", "base.sched", SCHEDULER);
	put_pointer(JOB, "amdgpu_job", "vm", SPACE);
	put(JOB, "amdgpu_job", "num_ibs", 2);
	put(SPACE, "amdgpu_vm", "pasid", 77);
	put_pointer(SCHEDULER, "drm_gpu_scheduler", "name", NAME);
	put_pointer(SCHEDULER, "drm_gpu_scheduler", "dev", DEVICE);
	put(ENTRY, "amdgpu_iv_entry", "pasid", 77);
	put(ENTRY, "amdgpu_iv_entry", "src_id", 181);
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
	base = layer_run_offset(layout, "amdgpu_bo", "tbo");
	put(BUFFER, "amdgpu_bo", "preferred_domains", 4);
	put(BUFFER, "amdgpu_bo", "allowed_domains", 6);
	put(BUFFER, "amdgpu_bo", "flags", 1 | 1 << 3);
	put_object(base + layer_run_offset(layout, "ttm_buffer_object", "base"), 8192);
	put_pointer(BUFFER + base, "ttm_buffer_object", "resource", RESOURCE);
	put_pointer(VA, "amdgpu_bo_va", "base.bo", BUFFER);
	put(ENTRY, "amdgpu_bo_va_mapping", "start", 3);
	put(ENTRY, "amdgpu_bo_va_mapping", "last", 5);
	put(RESOURCE, "ttm_resource", "mem_type", 1);
	write_memory();
	FIRE("buffer_create", AT(BUFFER));
	FIRE("buffer_move", AT(BUFFER), 2, 1);
	FIRE("buffer_move", AT(BUFFER), 1, 2);
	FIRE("buffer_map", AT(VA), AT(ENTRY));
	CHECK_INT(run.count, 4);
	for (size_t i = 0; i < 4; i++) {
		CHECK_INT(buffer_at(i)->buffer, AT(BUFFER));
		CHECK_STR((const char *)buffer_at(i)->names, "0000:03:00.0");
	}
	CHECK_INT(buffer_at(3)->operation, GT_DRIVER_BIND);
	CHECK_INT(buffer_at(3)->offset, 0x3000);
	CHECK_INT(buffer_at(3)->bytes, 0x3000);
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
	size_t object;

	if (!set_up(&gt_source_xe))
		return false;
	object = layer_run_offset(layout, "xe_bo", "ttm.base");
	put_object(object, 1 << 20);
	put_pointer(VMA, "xe_vma", "gpuva.gem.obj", BUFFER + object);
	put(VMA, "xe_vma", "gpuva.va.addr", 0x100000);
	put(VMA, "xe_vma", "gpuva.va.range", 0x5000);
	put(FENCE, "drm_sched_fence", "finished.context", 5);
	put_pointer(FENCE, "drm_sched_fence", "sched", SCHEDULER);
	put_pointer(JOB, "xe_sched_job", "drm.s_fence", FENCE);
	put_pointer(JOB, "xe_sched_job", "drm.sched", SCHEDULER);
	put_pointer(SCHEDULER, "drm_gpu_scheduler", "name", NAME);
	put_pointer(SCHEDULER, "drm_gpu_scheduler", "dev", DEVICE);
	put_pointer(JOB, "xe_sched_job", "q", ENGINE);
	put(ENGINE, "xe_exec_queue", "class", 4);
	put_text(ENGINE, "xe_exec_queue", "name", "ccs0");
	kernel_memory_put(&memory, NAME, "ccs0", 5);
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
	for (size_t i = 0; i < 4; i++)
		CHECK_STR((const char *)buffer_at(i)->names, "0000:03:00.0");
	CHECK_INT(buffer_at(0)->bytes, 1 << 20);
	CHECK(buffer_at(1)->buffer == buffer_at(0)->buffer);
	CHECK_INT(buffer_at(1)->offset, 0x100000);
	CHECK_INT(buffer_at(1)->bytes, 0x5000);
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
