// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Records calls that launch kernels, in Linux, and the first instruction of each grid, on the GPU.
 * Both sides share an array. In its first value each side leaves its time for the other one: what a
 * side reads there was written earlier, so that each such pair of times bounds the relation of the
 * clocks. The other values are the log of the host programs.
 */
#include "probe/vmlinux_min.h"

#include <bpf/bpf_helpers.h>
#include <gputap/bpf.h>

#include "launchlate.h"

GPUTAP_SHARED_ARRAY(shared, union launchlate_slot, 1 + LAUNCHLATE_LOG);

/* ---- the GPU --------------------------------------------------------------------------- */

GPUTAP_RING(grids, LAUNCHLATE_RING);
/* By launch: its low bits, and those of its first time. */
GPUTAP_ARRAY(firsts, unsigned long long, LAUNCHLATE_GRIDS);

/* Whether the block is the earliest of its grid so far: only such blocks are recorded. */
static __attribute__((always_inline)) int is_first(unsigned long long launch,
						   unsigned long long time)
{
	/* Processes count their launches from 1. */
	unsigned long long id = launch + (bpf_get_current_pid_tgid() >> 32) * 2654435761ull;
	unsigned int key = id % LAUNCHLATE_GRIDS;
	unsigned long long *first = bpf_map_lookup_elem(&firsts, &key), old;
	unsigned long long mine = id << 40 | (time & (1ull << 40) - 1);

	for (int i = 0; first && i < 16; i++) {
		old = *(volatile unsigned long long *)first;
		if (old >> 40 == mine >> 40 && (long long)((old - mine) << 24) <= 0)
			return 0;
		if (__sync_val_compare_and_swap(first, old, mine) == old)
			return 1;
	}
	/* Others are quicker: it costs no more than a record. */
	return 1;
}

SEC("gpu/entry.block/*")
int begin_block(struct gputap_context *ctx)
{
	unsigned int key = 0;
	union launchlate_slot *slot = bpf_map_lookup_elem(&shared, &key);
	struct launchlate_grid *grid;
	unsigned long long host, time;

	if (!slot)
		return 0;
	host = *(volatile unsigned long long *)&slot->clocks.host;
	/* The branch waits for the value: the timer is read after it. */
	if (host == ~0ull)
		return 0;
	time = bpf_get_globaltimer();
	if (!is_first(ctx->launch, time))
		return 0;
	grid = bpf_ringbuf_reserve(&grids, sizeof(*grid), 0);
	if (!grid)
		return 0;
	grid->launch = ctx->launch;
	grid->time = time;
	grid->host = host;
	grid->pid = bpf_get_current_pid_tgid() >> 32;
	grid->kernel = ctx->kernel;
	bpf_ringbuf_submit(grid, 0);
	return 0;
}

SEC("gpu/exit.warp/*")
int end_warp(struct gputap_context *ctx)
{
	unsigned int key = 0;
	union launchlate_slot *slot = bpf_map_lookup_elem(&shared, &key);
	unsigned long long time = bpf_get_globaltimer();

	/* Any value that was read from the timer is right; the latest is the best. */
	if (slot && *(volatile unsigned long long *)&slot->clocks.gpu < time)
		*(volatile unsigned long long *)&slot->clocks.gpu = time;
	return 0;
}

/* ---- Linux ----------------------------------------------------------------------------- */

#include "launchlate_host.h"

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

char LICENSE[] SEC("license") = "GPL";
