/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events: the records that all parts of gputap exchange. Each is written once, by whoever
 * observed it (a BPF program, the agent, the session), stored as it is, and never translated.
 *
 * BPF programs include this file: it needs only the __uNN types, from <linux/types.h> or from
 * vmlinux_min.h, which must be included before it.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

/* CLOCK_MONOTONIC in ns; GPU n has clock n + 1, in ns of its own %globaltimer. */
#define GT_CLOCK_MONOTONIC 0

#define GT_DEVICE_UNKNOWN (-1)
#define GT_EXIT_UNKNOWN 0xffffffff /* `status` of `exit` */

/* The header of every record. Records are 8-aligned; their sizes are multiples of 8. */
struct gt_event {
	__u64 time;    /* ns on `clock`, when the record was written */
	__u32 process; /* id in gputap's own pid namespace; 0: none, or not visible */
	__u32 thread;  /* thread id, likewise */
	__u16 kind;    /* enum gt_event_kind */
	__u16 size;    /* bytes of the record, this header included */
	__u16 clock;
	__s16 device; /* CUDA ordinal, or GT_DEVICE_UNKNOWN */
};

/*
 * In a merged capture, ids of processes and threads have the number of their machine above these
 * bits. Linux uses 22 of them (PID_MAX_LIMIT), so that an id of machine 0 is what it was.
 */
#define GT_ID_BITS 24

static inline __u32 gt_id_machine(__u32 id)
{
	return id >> GT_ID_BITS;
}

/* The id as it was on its machine. */
static inline __u32 gt_id_number(__u32 id)
{
	return id & ((1u << GT_ID_BITS) - 1);
}

enum gt_event_kind {
	GT_EVENT_NONE,
#define EVENT_BEGIN(name, summary) GT_EVENT_##name,
#define FIELD(type, name, unit, summary)
#define TAIL(type, name, unit, summary)
#define EVENT_END(name)
#include "event/event.def"
#undef EVENT_BEGIN
#undef FIELD
#undef TAIL
#undef EVENT_END
	GT_EVENT_KINDS
};

/* struct gt_event_call, struct gt_event_process, … */
/* clang-format off */
#define EVENT_BEGIN(name, summary) struct gt_event_##name { struct gt_event head;
#define FIELD(type, name, unit, summary) type name;
#define TAIL(type, name, unit, summary) type name[];
#define EVENT_END(name) };
/* clang-format on */
#include "event/event.def"
#undef EVENT_BEGIN
#undef FIELD
#undef TAIL
#undef EVENT_END

/* struct gt_event_call.state */
enum gt_call_state {
	GT_CALL_UNFINISHED = 1, /* abandoned (longjmp, exception, end of the thread): no result */
	GT_CALL_NESTED = 2,     /* another traced call encloses it */
	GT_CALL_PER_THREAD = 4, /* its function's default stream is the thread's own (_ptsz) */
};

/* struct gt_event_stack.flags */
enum gt_stack_flags {
	GT_STACK_TRUNCATED = 1, /* there are more callers than were recorded */
	GT_STACK_UNWOUND = 2,   /* by .eh_frame; else by frame pointers */
};

/* struct gt_event_gap.reason */
enum gt_gap_reason {
	GT_GAP_MAPPED,     /* the file was mapped before its probes were attached */
	GT_GAP_RUNNING,    /* the process ran, with the file mapped, before the session began */
	GT_GAP_UNATTACHED, /* the file cannot be opened, or probes cannot be attached to it */
	GT_GAP_UNWATCHED,  /* files that are mapped later are not seen */
	GT_GAP_UNTRACED,   /* children of traced processes are not traced: too many at a time */
	GT_GAP_CORRUPT,    /* a part of the capture cannot be read; `library` has its bytes */
	GT_GAP_REDUCED,    /* --max-overhead: traced a part of the time; `library`: the source */
};

/* struct gt_event_via.methods */
enum gt_calls_via {
	GT_CALLS_VIA_KERNEL = 1,
	GT_CALLS_VIA_AGENT = 2,
};

/* struct gt_event_context.flags */
#define GT_CONTEXT_PRIMARY 1

/* struct gt_event_device.flags */
#define GT_DEVICE_HAS_UUID 1

/* struct gt_event_fence.operation */
enum gt_fence_operation {
	GT_FENCE_INIT,
	GT_FENCE_EMIT,          /* the driver gave the work to the device */
	GT_FENCE_ENABLE_SIGNAL, /* somebody wants to know when it is signaled */
	GT_FENCE_SIGNALED,
	GT_FENCE_DESTROY,
	GT_FENCE_WAIT_START,
};

#define GT_FENCE_NAME_SIZE 32     /* bytes of each name in a fence's event */
#define GT_INTERRUPT_NAME_SIZE 32 /* at most, of the handler in a fence's interrupt */

/* struct gt_event_drm_job.operation */
enum gt_drm_job_operation {
	GT_DRM_QUEUE,
	GT_DRM_RUN,
	GT_DRM_DONE,
	GT_DRM_TIMEOUT,  /* the scheduler's watchdog took the job for hung */
	GT_DRM_CANCELED, /* its fence was signaled, and the hardware had not finished it */
};

/* struct gt_event_drm_dependency.operation */
enum gt_drm_dependency_operation {
	GT_DRM_DEPENDS,
	GT_DRM_BLOCKED, /* the scheduler would have run the job now */
	GT_DRM_UNBLOCKED,
};

/* struct gt_event_vblank.operation */
enum gt_vblank_operation {
	GT_VBLANK,
	GT_VBLANK_QUEUED,    /* a program asked for an event */
	GT_VBLANK_DELIVERED, /* it got it */
};

#define GT_DRM_NAME_SIZE 32 /* bytes of each name in an event of DRM */

/* struct gt_event_off_cpu.cpu: the thread had not run again at the end of the session */
#define GT_NO_CPU 0xffffffffu

/* struct gt_event_page_fault.flags */
enum gt_page_fault_flags {
	GT_FAULT_WRITE = 1,
	GT_FAULT_USER = 2,  /* of an instruction of the program, not of the kernel for it */
	GT_FAULT_MAJOR = 4, /* it waited for I/O */
	GT_FAULT_FETCH = 8, /* of an instruction to be executed */
	GT_FAULT_UVM = 16,  /* on memory that NVIDIA's UVM manages */
	GT_FAULT_GPU = 32,  /* of a GPU, with GT_FAULT_UVM; its access is not known */
};

/* struct gt_event_power_state.operation */
enum gt_power_operation {
	GT_POWER_CPU_FREQUENCY,
	GT_POWER_GPU_FREQUENCY,
	GT_POWER_SYSTEM_BEGIN, /* a step of the system's suspend or resume */
	GT_POWER_SYSTEM_END,
	GT_POWER_DEVICE_IDLE, /* runtime power management of a GPU */
	GT_POWER_DEVICE_SUSPEND,
	GT_POWER_DEVICE_RESUME,
	GT_POWER_DEVICE_RESULT,
	GT_POWER_DEVICE_CALLBACK, /* a driver's callback for a step of the system's suspend */
};

/* struct gt_event_cgroup_state.operation */
enum gt_cgroup_operation {
	GT_CGROUP_THROTTLED,
	GT_CGROUP_FREEZE, /* somebody asks for it */
	GT_CGROUP_UNFREEZE,
	GT_CGROUP_FROZEN, /* all its threads are */
	GT_CGROUP_THAWED,
	GT_CGROUP_MEMORY_HIGH,
	GT_CGROUP_MEMORY_MAX,
	GT_CGROUP_OOM_KILL,
	GT_CGROUP_CPU_STALL,
	GT_CGROUP_MEMORY_STALL,
	GT_CGROUP_IO_STALL,
};

#define GT_DEVICE_NAME_SIZE 32 /* bytes of a name in the tail of those events */

/* operation of the buffers of GPU drivers */
enum gt_driver_buffer_operation {
	GT_DRIVER_CREATE,
	GT_DRIVER_DESTROY,
	GT_DRIVER_BIND, /* to the address space of a GPU */
	GT_DRIVER_UNBIND,
	GT_DRIVER_REBIND,
	GT_DRIVER_MOVE,
	GT_DRIVER_EVICT,
	GT_DRIVER_SHRINK, /* the kernel wants memory back */
	GT_DRIVER_FAULT,  /* of the CPU */
	GT_DRIVER_GPU_FAULT,
	GT_DRIVER_INVALIDATE,
	GT_DRIVER_PREAD, /* by the CPU, by a system call */
	GT_DRIVER_PWRITE,
};

/* flags of the buffers of GPU drivers */
enum gt_driver_buffer_flags {
	GT_DRIVER_WRITE = 1,
	GT_DRIVER_GTT = 2,     /* a fault through the GPU's aperture */
	GT_DRIVER_NO_COPY = 4, /* a move of a buffer that has no contents yet */
	GT_DRIVER_VISIBLE = 8, /* a new buffer that the CPU accesses, also in VRAM (amdgpu) */
	/* A new buffer's allowed domains, AMDGPU_GEM_DOMAIN_* by bit; 0: not known. */
	GT_DRIVER_ALLOWED = 0xff00,
};

#define GT_DRIVER_ALLOWED_SHIFT 8

/* operation of the requests of GPU drivers */
enum gt_driver_request_operation {
	GT_DRIVER_QUEUE,
	GT_DRIVER_SUBMIT,
	GT_DRIVER_RUN, /* it is given to the hardware */
	GT_DRIVER_DONE,
	GT_DRIVER_WAIT, /* a thread waited for it */
	GT_DRIVER_TIMEOUT,
	GT_DRIVER_ERROR,
};

#define GT_DRIVER_NO_MEMORY 0xffffffffu /* a type of memory */

/* struct gt_event_syscall.machine */
enum gt_syscall_machine {
	GT_SYSCALL_X86_64,
	GT_SYSCALL_AARCH64,
	GT_SYSCALL_COMPAT, /* a 32-bit program's: numbers and arguments are not decoded */
};

/* struct gt_event_syscall.state */
enum gt_syscall_state {
	GT_SYSCALL_UNFINISHED = 1, /* it had not returned at the end of the session */
	GT_SYSCALL_ENDED = 2,      /* its thread ended in it: exit_group, or it was killed */
};

/* Functions of NVIDIA's driver: FUNCTION(identifier). struct gt_event_nvidia_call.function */
#define GT_NVIDIA_FUNCTIONS(FUNCTION)                                                              \
	FUNCTION(open)                                                                             \
	FUNCTION(close)                                                                            \
	FUNCTION(mmap)                                                                             \
	FUNCTION(fault)                                                                            \
	FUNCTION(p2p_get_pages)                                                                    \
	FUNCTION(p2p_dma_map_pages)                                                                \
	FUNCTION(suspend)                                                                          \
	FUNCTION(resume)                                                                           \
	FUNCTION(ioctl)                                                                            \
	FUNCTION(uvm_ioctl)                                                                        \
	FUNCTION(isr)                                                                              \
	FUNCTION(isr_msix)                                                                         \
	FUNCTION(isr_bottom_half)                                                                  \
	FUNCTION(vma_open)                                                                         \
	FUNCTION(vma_release)                                                                      \
	FUNCTION(poll)

enum gt_nvidia_function {
#define GT_NVIDIA_FUNCTION(identifier) GT_NVIDIA_##identifier,
	GT_NVIDIA_FUNCTIONS(GT_NVIDIA_FUNCTION)
#undef GT_NVIDIA_FUNCTION
		GT_NVIDIA_FUNCTION_COUNT
};

#define GT_NVIDIA_UNKNOWN (~0u) /* a minor number or a peer that is not known */

/* struct gt_event_nvlink_call.function */
enum gt_nvlink_function {
	GT_NVLINK_STRCPY,
	GT_NVLINK_MEMCPY,
	GT_NVLINK_MEMSET,
};

/* struct gt_event_gpu_work.operation */
enum gt_gpu_operation {
	GT_GPU_KERNEL,
	GT_GPU_COPY, /* of a direction that is not known */
	GT_GPU_COPY_TO_DEVICE,
	GT_GPU_COPY_TO_HOST,
	GT_GPU_COPY_ON_DEVICE,
	GT_GPU_COPY_PEER, /* between two devices */
	GT_GPU_SET,
	GT_GPU_GRAPH, /* a graph launch, as one */
};

/* struct gt_event_gpu_work.flags */
enum gt_gpu_work_flags {
	GT_GPU_EXACT = 1,   /* first and last instruction of a patched kernel: no upper bounds */
	GT_GPU_SAMPLED = 2, /* other operations of the stream were not timed */
};

#define GT_CALL_MAX_SLOTS 32 /* words of arguments in a call's record */

#define GT_EVENT_MAX_SIZE 65528
