/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Page faults of traced processes. */
#include "probe/layer.bpf.h"

#include "probe/api/registers.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Flags of handle_mm_fault (enum fault_flag, include/linux/mm_types.h), the same since 5.10. */
#define FAULT_FLAG_WRITE 0x01
#define FAULT_FLAG_USER 0x40
#define FAULT_FLAG_INSTRUCTION 0x100

/* Its result (enum vm_fault_reason, the same file). */
#define VM_FAULT_OOM 0x01
#define VM_FAULT_SIGBUS 0x02
#define VM_FAULT_MAJOR 0x04
#define VM_FAULT_HWPOISON 0x30
#define VM_FAULT_SIGSEGV 0x40
#define VM_FAULT_RETRY 0x400

/* Bits of the error code of x86's exception. */
#define X86_WRITE 0x02
#define X86_USER 0x04
#define X86_FETCH 0x10

enum {
	ENOMEM_NUMBER = 12,
	EFAULT_NUMBER = 14,
	SIGBUS_AS_EIO = 5,
	EHWPOISON_NUMBER = 133,
};

/* A fault that a thread handles. */
struct fault_state {
	__u64 begun; /* 0: none */
	__u64 address;
	__u64 instruction;
	__u32 flags;
	__u8 retried; /* the kernel released its locks to wait, and handles it once more */
	/* Bits of enum fault_observer: who saw the latest beginning, and the end after it. */
	__u8 seen_begin, seen_end;
	__u8 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fault_state);
} faults SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fault_state);
} uvm_faults SEC(".maps");

static __always_inline void put_fault(const struct layer_thread *thread,
				      const struct fault_state *fault, __u32 error)
{
	struct gt_event_page_fault event = {};

	fill_head(&event.head, thread, GT_EVENT_page_fault, sizeof(event));
	event.duration = fault->begun ? event.head.time - fault->begun : 0;
	event.address = fault->address;
	event.instruction = fault->instruction;
	event.flags = fault->flags;
	event.error = error;
	put_event(&event, sizeof(event));
}

/* ---- handle_mm_fault ---------------------------------------------------------------------- */

/*
 * struct vm_area_struct *vma, unsigned long address, unsigned int flags, struct pt_regs *regs.
 *
 * The kernel omits the program of a trampoline for a thread that preempted another one in it, and
 * that of a kprobe on a CPU while a thread there is in bpf(2), which can be preempted, too. Where
 * threads are preempted in the kernel, both see each fault: the first of two beginnings, and of two
 * ends, counts.
 */
enum { FAULT_ADDRESS = 1, FAULT_FLAGS, FAULT_REGS, FAULT_ARGUMENTS };

enum fault_observer {
	FAULT_FIRST = 1,  /* the trampolines, or kprobes in their place */
	FAULT_SECOND = 2, /* kprobes beside the trampolines */
};

/* Whether the other observer has seen this beginning of a fault. */
static __always_inline bool has_begun(struct fault_state *fault, __u8 observer)
{
	bool seen = fault->seen_begin && !(fault->seen_begin & observer) && !fault->seen_end;

	fault->seen_begin = seen ? fault->seen_begin | observer : observer;
	fault->seen_end = 0;
	return seen;
}

/* Whether the other observer has seen this end of a fault. */
static __always_inline bool has_ended(struct fault_state *fault, __u8 observer)
{
	bool seen = fault->seen_end && !(fault->seen_end & observer);

	fault->seen_end = seen ? fault->seen_end | observer : observer;
	return seen;
}

static __always_inline void describe_fault(struct fault_state *fault, const __u64 *arguments)
{
	struct pt_regs *regs = (void *)arguments[FAULT_REGS];
	__u32 flags = arguments[FAULT_FLAGS];

	fault->address = arguments[FAULT_ADDRESS];
	fault->retried = 0;
	fault->instruction = 0;
	fault->flags = (flags & FAULT_FLAG_WRITE ? GT_FAULT_WRITE : 0) |
		       (flags & FAULT_FLAG_USER ? GT_FAULT_USER : 0) |
		       (flags & FAULT_FLAG_INSTRUCTION ? GT_FAULT_FETCH : 0);
	if (regs && flags & FAULT_FLAG_USER)
		bpf_probe_read_kernel(&fault->instruction, sizeof(fault->instruction),
				      (void *)&PROGRAM_COUNTER(regs));
}

static __always_inline void begin_fault(const __u64 *arguments, __u8 observer)
{
	struct fault_state *fault;

	if (!traced_thread())
		return;
	fault = create_own_storage(&faults);
	if (!fault || has_begun(fault, observer) ||
	    (fault->retried && fault->address == arguments[FAULT_ADDRESS]))
		return;
	describe_fault(fault, arguments);
	fault->begun = bpf_ktime_get_ns();
}

static __always_inline __u32 error_of_result(__u32 result)
{
	if (result & VM_FAULT_OOM)
		return ENOMEM_NUMBER;
	if (result & VM_FAULT_HWPOISON)
		return EHWPOISON_NUMBER;
	if (result & VM_FAULT_SIGBUS)
		return SIGBUS_AS_EIO;
	return result & VM_FAULT_SIGSEGV ? EFAULT_NUMBER : 0;
}

static __always_inline void end_fault(const struct layer_thread *thread, struct fault_state *fault,
				      __u32 result)
{
	if (result & VM_FAULT_MAJOR)
		fault->flags |= GT_FAULT_MAJOR;
	/* Without the locks it waited for I/O, as a rule; that is what the kernel counts, too. */
	if (result & VM_FAULT_RETRY) {
		fault->flags |= GT_FAULT_MAJOR;
		fault->retried = 1;
		return;
	}
	put_fault(thread, fault, error_of_result(result));
	fault->begun = 0;
	fault->retried = 0;
}

static __always_inline void end_seen_fault(__u32 result, __u8 observer)
{
	struct layer_thread *thread = traced_thread();
	struct fault_state *fault =
		bpf_task_storage_get(&faults, bpf_get_current_task_btf(), NULL, 0);

	if (thread && fault && !has_ended(fault, observer) && fault->begun)
		end_fault(thread, fault, result);
}

SEC("fentry/handle_mm_fault")
int fault_begin(__u64 *arguments)
{
	begin_fault(arguments, FAULT_FIRST);
	return 0;
}

SEC("fexit/handle_mm_fault")
int fault_end(__u64 *arguments)
{
	end_seen_fault(arguments[FAULT_ARGUMENTS], FAULT_FIRST);
	return 0;
}

/* The programs of kprobes: their names begin with `name`. */
#define FAULT_KPROBES(name, observer)                                                              \
	SEC("kprobe/handle_mm_fault")                                                              \
	int name##_begin(struct pt_regs *ctx)                                                      \
	{                                                                                          \
		__u64 arguments[ARGUMENT_REGISTERS];                                               \
                                                                                                   \
		copy_registers(arguments, ctx);                                                    \
		begin_fault(arguments, observer);                                                  \
		return 0;                                                                          \
	}                                                                                          \
	SEC("kretprobe/handle_mm_fault")                                                           \
	int name##_end(struct pt_regs *ctx)                                                        \
	{                                                                                          \
		end_seen_fault(RESULT(ctx), observer);                                             \
		return 0;                                                                          \
	}

FAULT_KPROBES(only, FAULT_FIRST)
FAULT_KPROBES(second, FAULT_SECOND)

/* ---- the tracepoint ----------------------------------------------------------------------- */

/* unsigned long address, struct pt_regs *regs, unsigned long error_code; on x86 only */
SEC("raw_tp/page_fault_user")
int fault_user(struct bpf_raw_tracepoint_args *ctx)
{
	struct layer_thread *thread = traced_thread();
	struct pt_regs *regs = (void *)ctx->args[1];
	struct fault_state fault = {};

	if (!thread)
		return 0;
	fault.address = ctx->args[0];
	fault.flags = (ctx->args[2] & X86_WRITE ? GT_FAULT_WRITE : 0) |
		      (ctx->args[2] & X86_USER ? GT_FAULT_USER : 0) |
		      (ctx->args[2] & X86_FETCH ? GT_FAULT_FETCH : 0);
	bpf_probe_read_kernel(&fault.instruction, sizeof(fault.instruction),
			      (void *)&PROGRAM_COUNTER(regs));
	put_fault(thread, &fault, 0);
	return 0;
}

/* ---- UVM ---------------------------------------------------------------------------------- */

/* struct vm_fault *vmf, and the same in what the entry wrapper calls */
SEC("kprobe/uvm_vm_fault_wrapper_entry")
int uvm_begin(struct pt_regs *ctx)
{
	__u64 arguments[ARGUMENT_REGISTERS];
	struct fault_state *fault;
	struct vm_fault *vmf;

	if (!traced_thread())
		return 0;
	fault = create_own_storage(&uvm_faults);
	if (!fault)
		return 0;
	copy_registers(arguments, ctx);
	vmf = (void *)arguments[0];
	fault->begun = bpf_ktime_get_ns();
	fault->address = BPF_CORE_READ(vmf, real_address);
	fault->flags =
		GT_FAULT_UVM | (BPF_CORE_READ(vmf, flags) & FAULT_FLAG_WRITE ? GT_FAULT_WRITE : 0);
	return 0;
}

SEC("kretprobe/uvm_vm_fault_wrapper_entry")
int uvm_end(struct pt_regs *ctx)
{
	struct layer_thread *thread = traced_thread();
	struct fault_state *fault =
		bpf_task_storage_get(&uvm_faults, bpf_get_current_task_btf(), NULL, 0);

	if (!thread || !fault || !fault->begun)
		return 0;
	put_fault(thread, fault, error_of_result(RESULT(ctx)));
	fault->begun = 0;
	return 0;
}

const volatile __u32 uvm_fault_event; /* UVM_PERF_EVENT_FAULT of uvm_perf_event_t (fault.c) */
#define UVM_PROCESSOR_CPU 0           /* UVM_ID_CPU */

/*
 * The beginning of uvm_perf_event_data_t for a fault (nvidia-uvm/uvm_perf_events.h, from 515 on).
 * The module may have no BTF: the offsets are these.
 */
struct uvm_fault_notice {
	__u64 va_space, va_block;
	__u32 processor, preferred_location;
	__u64 entry; /* of a GPU: uvm_fault_buffer_entry_t, which begins with the address */
};

/*
 * uvm_perf_va_space_events_t *, uvm_perf_event_t, uvm_perf_event_data_t *. A kernel thread of UVM
 * takes the faults of a GPU from its buffer and handles them in batches: they have no thread,
 * and are shown with any filter.
 */
SEC("kprobe/uvm_perf_event_notify")
int uvm_notify(struct pt_regs *ctx)
{
	struct uvm_fault_notice notice = {};
	struct fault_state fault = {};
	__u64 arguments[ARGUMENT_REGISTERS];

	copy_registers(arguments, ctx);
	if ((__u32)arguments[1] != uvm_fault_event ||
	    bpf_probe_read_kernel(&notice, sizeof(notice), (void *)arguments[2]) ||
	    notice.processor == UVM_PROCESSOR_CPU)
		return 0;
	bpf_probe_read_kernel(&fault.address, sizeof(fault.address), (void *)notice.entry);
	fault.flags = GT_FAULT_UVM | GT_FAULT_GPU;
	put_fault(NULL, &fault, 0);
	return 0;
}
