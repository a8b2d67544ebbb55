/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The host programs of launchlate.bpf.c, and the functions that they are attached to. */
#pragma once

#if defined(__TARGET_ARCH_x86)
#define ARGUMENT_0(regs) ((regs)->di)
#define ARGUMENT_1(regs) ((regs)->si)
#define ARGUMENT_2(regs) ((regs)->dx)
#define RESULT(regs) ((regs)->ax)
#define STACK(regs) ((regs)->sp)
#define NINTH 24 /* bytes from the stack pointer: the return address and two arguments */
#else
#define ARGUMENT_0(regs) ((regs)->user_regs.regs[0])
#define ARGUMENT_1(regs) ((regs)->user_regs.regs[1])
#define ARGUMENT_2(regs) ((regs)->user_regs.regs[2])
#define RESULT(regs) ((regs)->user_regs.regs[0])
#define STACK(regs) ((regs)->user_regs.sp)
#define NINTH 0
#endif
#define HOST static __attribute__((always_inline))

/* The call of a thread. */
struct launchlate_call {
	__u64 begin, stack, handle, stream;
	__u64 out, name, other; /* a look-up of a kernel: where its handle goes, and what it is */
	__u32 depth;            /* calls within calls: the runtime calls the driver */
	__u16 kind, launches;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct launchlate_call);
} calls SEC(".maps");

struct launchlate_name {
	unsigned char bytes[LAUNCHLATE_NAME];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct launchlate_name);
} names SEC(".maps");

static long (*probe_read_user)(void *to, __u32 size, const void *from) = (void *)112;
static long (*probe_read_user_string)(void *to, __u32 size, const void *from) = (void *)114;

HOST __u64 read_word(__u64 address)
{
	__u64 word = 0;

	probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

HOST __u64 ninth_argument(struct pt_regs *ctx)
{
	return read_word(STACK(ctx) + NINTH);
}

/* CUlaunchConfig: seven numbers, then the stream. */
HOST __u64 stream_of_config(struct pt_regs *ctx)
{
	return read_word(ARGUMENT_0(ctx) + 32);
}

/* ze_kernel_desc_t: the head of structures, flags, then the name. */
HOST __u64 name_of_desc(struct pt_regs *ctx)
{
	return read_word(ARGUMENT_1(ctx) + 24);
}

/* ---- the log --------------------------------------------------------------------------- */

HOST struct launchlate_clocks *find_clocks(void)
{
	__u32 key = 0;
	union launchlate_slot *slot = bpf_map_lookup_elem(&shared, &key);

	return slot ? &slot->clocks : 0;
}

HOST void record(const struct launchlate_event *made)
{
	struct launchlate_clocks *clocks = find_clocks();
	__u64 id = bpf_get_current_pid_tgid(), number;
	union launchlate_slot *slot;
	__u32 key;

	if (!clocks)
		return;
	number = __sync_fetch_and_add(&clocks->head, 1);
	key = 1 + number % LAUNCHLATE_LOG;
	slot = bpf_map_lookup_elem(&shared, &key);
	if (!slot)
		return;
	slot->event = *made;
	slot->event.pid = id >> 32;
	slot->event.tid = (__u32)id;
	/* An atomic operation, so that the reader sees the rest before it. */
	__sync_lock_test_and_set(&slot->event.number, number + 1);
}

/* The GPU's time, if it is new, and the host's after it, which is left for the GPU. */
HOST __u64 observe_gpu(__u64 *ret_now)
{
	struct launchlate_clocks *clocks = find_clocks();
	__u64 gpu;

	if (!clocks)
		return 0;
	gpu = *(volatile __u64 *)&clocks->gpu;
	if (gpu == clocks->seen)
		gpu = 0;
	else
		clocks->seen = gpu;
	*ret_now = bpf_ktime_get_ns();
	*(volatile __u64 *)&clocks->host = *ret_now;
	return gpu;
}

HOST void observe(void)
{
	struct launchlate_event made = {.kind = LAUNCHLATE_SYNC};

	made.gpu = observe_gpu(&made.end);
	if (made.gpu)
		record(&made);
}

/* ---- launches -------------------------------------------------------------------------- */

HOST struct launchlate_call *find_call(void)
{
	const struct launchlate_call none = {0};
	struct launchlate_clocks *clocks = find_clocks();
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct launchlate_call *call = bpf_map_lookup_elem(&calls, &tid);

	if (call)
		return call;
	if (bpf_map_update_elem(&calls, &tid, &none, BPF_ANY) && clocks)
		__sync_fetch_and_add(&clocks->lost, 1);
	return bpf_map_lookup_elem(&calls, &tid);
}

/*
 * A call begins. If the stack is higher than it was in an earlier one, that was abandoned (longjmp,
 * an exception). At the same height it continues: __cudaLaunchKernel jumps to cudaLaunchKernel.
 */
HOST struct launchlate_call *enter_launch(struct pt_regs *ctx)
{
	struct launchlate_call *call = find_call();
	struct launchlate_clocks *clocks = find_clocks();

	if (!call || !clocks)
		return 0;
	if (!call->depth || STACK(ctx) > call->stack) {
		call->begin = bpf_ktime_get_ns();
		call->stack = STACK(ctx);
		call->depth = 0;
		call->launches = 0;
		*(volatile __u64 *)&clocks->host = call->begin;
	}
	call->depth++;
	return call;
}

HOST void enter_driver(struct pt_regs *ctx, __u16 kind, __u64 handle, __u64 stream)
{
	struct launchlate_call *call = enter_launch(ctx);

	if (!call)
		return;
	call->kind = kind;
	call->handle = handle;
	call->stream = stream;
	call->launches++;
}

HOST void enter_runtime(struct pt_regs *ctx, __u16 kind, __u64 handle)
{
	struct launchlate_call *call = enter_launch(ctx);

	if (!call)
		return;
	call->kind = kind;
	call->handle = handle;
	call->stream = 0;
}

HOST void leave_launch(struct pt_regs *ctx)
{
	struct launchlate_call *call = find_call();
	struct launchlate_event made = {0};

	if (!call || !call->depth || --call->depth)
		return;
	made.begin = call->begin;
	made.handle = call->handle;
	made.other = call->stream;
	made.kind = call->kind;
	made.launches = call->launches;
	made.result = (int)RESULT(ctx);
	made.gpu = observe_gpu(&made.end);
	record(&made);
}

/* ---- names ----------------------------------------------------------------------------- */

HOST __u64 hash_name(__u64 address)
{
	__u32 key = 0;
	struct launchlate_name *name = bpf_map_lookup_elem(&names, &key);
	__u64 hash = LAUNCHLATE_HASH_START;

	if (!name || probe_read_user_string(name->bytes, sizeof(name->bytes), (void *)address) < 0)
		return 0;
#pragma unroll 1
	for (int i = 0; i < LAUNCHLATE_NAME - 1; i++) {
		if (!name->bytes[i])
			break;
		hash = (hash ^ name->bytes[i]) * LAUNCHLATE_HASH_FACTOR;
	}
	return hash;
}

/*
 * A look-up writes the handle of a kernel of this name, or of another handle, to `out`. A
 * registration (out 0) has the handle itself. The name is read at the end, when its page is there.
 */
HOST void enter_name(__u64 out, __u64 name, __u64 handle)
{
	struct launchlate_call *call = find_call();

	if (!call)
		return;
	call->out = out;
	call->name = name;
	call->other = handle;
}

HOST void leave_name(struct pt_regs *ctx)
{
	struct launchlate_call *call = find_call();
	struct launchlate_event made = {0};
	__u64 out;

	if (!call)
		return;
	out = call->out;
	made.handle = out ? read_word(out) : call->other;
	made.kind = call->name ? LAUNCHLATE_NAMED : LAUNCHLATE_ALIAS;
	made.other = call->name ? hash_name(call->name) : call->other;
	call->out = call->name = call->other = 0;
	/* A registration returns nothing. */
	if ((!out || !(int)RESULT(ctx)) && made.handle && made.other)
		record(&made);
}

/* The call returns the handle of a kernel: 0 where it fails. */
HOST void leave_created(struct pt_regs *ctx)
{
	struct launchlate_call *call = find_call();
	struct launchlate_event made = {.handle = RESULT(ctx), .kind = LAUNCHLATE_ALIAS};

	if (!call)
		return;
	made.other = call->other;
	if (call->name) {
		made.kind = LAUNCHLATE_NAMED;
		made.other = hash_name(call->name);
	}
	call->name = call->other = 0;
	if (made.handle && made.other)
		record(&made);
}

HOST void record_capture(struct pt_regs *ctx, __u16 kind)
{
	struct launchlate_event made = {.kind = kind, .handle = ARGUMENT_0(ctx)};

	made.end = made.begin = bpf_ktime_get_ns();
	record(&made);
}

/* ---- programs -------------------------------------------------------------------------- */

#define ENTRY(library, function, ...)                                                              \
	SEC("uprobe/" library ":" #function)                                                       \
	int enter_##function(struct pt_regs *ctx)                                                  \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
		return 0;                                                                          \
	}
#define RETURN(library, function, ...)                                                             \
	SEC("uretprobe/" library ":" #function)                                                    \
	int leave_##function(struct pt_regs *ctx)                                                  \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
		return 0;                                                                          \
	}
#define BOTH(library, function, enter, leave)                                                      \
	ENTRY(library, function, enter) RETURN(library, function, leave)
#define STREAM_VARIANTS(library, function, enter, leave)                                           \
	BOTH(library, function, enter, leave) BOTH(library, function##_ptsz, enter, leave)

#define DRIVER "libcuda.so.1"
#define RUNTIME "libcudart.so"
#define OPENCL "libOpenCL.so.1"
#define LEVEL_ZERO "libze_loader.so.1"

STREAM_VARIANTS(DRIVER, cuLaunchKernel,
		enter_driver(ctx, LAUNCHLATE_KERNEL, ARGUMENT_0(ctx), ninth_argument(ctx)),
		leave_launch(ctx))
STREAM_VARIANTS(DRIVER, cuLaunchCooperativeKernel,
		enter_driver(ctx, LAUNCHLATE_KERNEL, ARGUMENT_0(ctx), ninth_argument(ctx)),
		leave_launch(ctx))
STREAM_VARIANTS(DRIVER, cuLaunchKernelEx,
		enter_driver(ctx, LAUNCHLATE_KERNEL, ARGUMENT_1(ctx), stream_of_config(ctx)),
		leave_launch(ctx))
STREAM_VARIANTS(DRIVER, cuGraphLaunch,
		enter_driver(ctx, LAUNCHLATE_GRAPH, ARGUMENT_0(ctx), ARGUMENT_1(ctx)),
		leave_launch(ctx))
STREAM_VARIANTS(RUNTIME, cudaLaunchKernel, enter_runtime(ctx, LAUNCHLATE_KERNEL, ARGUMENT_0(ctx)),
		leave_launch(ctx))
STREAM_VARIANTS(RUNTIME, __cudaLaunchKernel, enter_runtime(ctx, LAUNCHLATE_KERNEL, ARGUMENT_0(ctx)),
		leave_launch(ctx))
STREAM_VARIANTS(RUNTIME, cudaLaunchKernelExC,
		enter_runtime(ctx, LAUNCHLATE_KERNEL, ARGUMENT_1(ctx)), leave_launch(ctx))
STREAM_VARIANTS(RUNTIME, cudaLaunchCooperativeKernel,
		enter_runtime(ctx, LAUNCHLATE_KERNEL, ARGUMENT_0(ctx)), leave_launch(ctx))
STREAM_VARIANTS(RUNTIME, cudaGraphLaunch, enter_runtime(ctx, LAUNCHLATE_GRAPH, ARGUMENT_0(ctx)),
		leave_launch(ctx))

BOTH(DRIVER, cuModuleGetFunction, enter_name(ARGUMENT_0(ctx), ARGUMENT_2(ctx), 0), leave_name(ctx))
BOTH(DRIVER, cuLibraryGetKernel, enter_name(ARGUMENT_0(ctx), ARGUMENT_2(ctx), 0), leave_name(ctx))
BOTH(DRIVER, cuKernelGetFunction, enter_name(ARGUMENT_0(ctx), 0, ARGUMENT_1(ctx)), leave_name(ctx))
BOTH(RUNTIME, __cudaGetKernel, enter_name(ARGUMENT_0(ctx), 0, ARGUMENT_1(ctx)), leave_name(ctx))
BOTH(RUNTIME, __cudaRegisterFunction, enter_name(0, ARGUMENT_2(ctx), ARGUMENT_1(ctx)),
     leave_name(ctx))

ENTRY(DRIVER, cuStreamBeginCapture_v2, record_capture(ctx, LAUNCHLATE_CAPTURE_BEGIN))
ENTRY(DRIVER, cuStreamBeginCapture_v2_ptsz, record_capture(ctx, LAUNCHLATE_CAPTURE_BEGIN))
ENTRY(DRIVER, cuStreamEndCapture, record_capture(ctx, LAUNCHLATE_CAPTURE_END))
ENTRY(DRIVER, cuStreamEndCapture_ptsz, record_capture(ctx, LAUNCHLATE_CAPTURE_END))

/* The streams of OpenCL are queues. */
BOTH(OPENCL, clEnqueueNDRangeKernel,
     enter_driver(ctx, LAUNCHLATE_KERNEL, ARGUMENT_1(ctx), ARGUMENT_0(ctx)), leave_launch(ctx))
BOTH(OPENCL, clEnqueueTask, enter_driver(ctx, LAUNCHLATE_KERNEL, ARGUMENT_1(ctx), ARGUMENT_0(ctx)),
     leave_launch(ctx))
BOTH(OPENCL, clCreateKernel, enter_name(0, ARGUMENT_1(ctx), 0), leave_created(ctx))
BOTH(OPENCL, clCloneKernel, enter_name(0, 0, ARGUMENT_0(ctx)), leave_created(ctx))

/* The streams of Level Zero are command lists: the call is the one that appends to them. */
#define LAUNCH_OF_LIST(function)                                                                   \
	BOTH(LEVEL_ZERO, function,                                                                 \
	     enter_driver(ctx, LAUNCHLATE_KERNEL, ARGUMENT_1(ctx), ARGUMENT_0(ctx)),               \
	     leave_launch(ctx))
LAUNCH_OF_LIST(zeCommandListAppendLaunchKernel)
LAUNCH_OF_LIST(zeCommandListAppendLaunchCooperativeKernel)
LAUNCH_OF_LIST(zeCommandListAppendLaunchKernelIndirect)
LAUNCH_OF_LIST(zeCommandListAppendLaunchKernelWithArguments)
BOTH(LEVEL_ZERO, zeKernelCreate, enter_name(ARGUMENT_2(ctx), name_of_desc(ctx), 0), leave_name(ctx))

/* Calls that wait for kernels. Where others return, nothing wrong is concluded either. */
RETURN(DRIVER, cuCtxSynchronize, observe())
RETURN(DRIVER, cuStreamSynchronize, observe())
RETURN(DRIVER, cuStreamSynchronize_ptsz, observe())
RETURN(DRIVER, cuEventSynchronize, observe())
RETURN(DRIVER, cuStreamQuery, observe())
RETURN(DRIVER, cuEventQuery, observe())
RETURN(DRIVER, cuMemcpy, observe())
RETURN(DRIVER, cuMemcpyDtoH_v2, observe())
RETURN(RUNTIME, cudaDeviceSynchronize, observe())
RETURN(RUNTIME, cudaStreamSynchronize, observe())
RETURN(RUNTIME, cudaStreamSynchronize_ptsz, observe())
RETURN(RUNTIME, cudaEventSynchronize, observe())
RETURN(RUNTIME, cudaMemcpy, observe())
RETURN(OPENCL, clFinish, observe())
RETURN(OPENCL, clWaitForEvents, observe())
RETURN(OPENCL, clEnqueueReadBuffer, observe())
RETURN(OPENCL, clEnqueueMapBuffer, observe())
RETURN(LEVEL_ZERO, zeCommandQueueSynchronize, observe())
RETURN(LEVEL_ZERO, zeCommandListHostSynchronize, observe())
RETURN(LEVEL_ZERO, zeFenceHostSynchronize, observe())
RETURN(LEVEL_ZERO, zeEventHostSynchronize, observe())
