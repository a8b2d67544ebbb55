/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of NVIDIA's driver that system calls, interrupts, other drivers and power
 * management enter. Every call is counted in sums; the calls that are rare, and a sample of the
 * ioctls, are events, too.
 */
#include "probe/layer.bpf.h"

#include "probe/api/registers.bpf.h"
#include "probe/durations.bpf.h"
#include "probe/nvidia/nvidia.h"
#include "probe/nvidia/types.bpf.h"
#include "probe/pcie/domain.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 page_shift = 12;

/* The commands whose argument is examined: type 'F', these numbers (nv_escape.h). */
#define TYPE_NVIDIA 'F'
#define NV_ESC_RM_CONTROL 0x2a
#define NV_ESC_RM_ALLOC 0x2b
#define NV_ESC_IOCTL_XFER_CMD 211

#define IOCTL_TYPE(command) ((command) >> 8 & 0xff)
#define IOCTL_NUMBER(command) ((command)&0xff)
#define MINOR(device) ((device)&0xfffff)

#define RECENT 8 /* ioctls that are kept of each process, a power of two */
#define XID_TEXT 256

/* A call that has not returned. */
struct nvidia_call_entry {
	__u64 start;
	__u64 arguments[ARGUMENT_REGISTERS];
	__u64 user_argument; /* of an ioctl, in the process's memory */
	__u32 command, control;
	__u32 minor;
	__u32 reserved;
};

#define CALL_STATE struct nvidia_call_entry
#define MAX_CALLS 16384
#include "probe/nvidia/calls.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct nvidia_sums_key);
	__type(value, struct nvidia_sums);
} sums SEC(".maps");

/* The last ioctls of a process. */
struct nvidia_recent_ioctls {
	__u32 process, thread;
	__u32 count;
	__u32 reserved;
	__u64 ioctls[RECENT][2]; /* as in the event */
};

/* By the process id of the initial namespace, as the driver's messages have it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct nvidia_recent_ioctls);
} recent SEC(".maps");

/* When a device, by the address of its data, interrupted: until the bottom half begins. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, __u64);
	__type(value, __u64);
} interrupts SEC(".maps");

/* How often the tracepoint reported each Xid: lines of the log beyond that are further ones. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NVIDIA_MAX_XID_CODE + 1);
	__type(key, __u32);
	__type(value, __u64);
} xids SEC(".maps");

static const struct nvidia_sums no_sums;
static const struct nvidia_recent_ioctls no_recent;

/* ---- sums --------------------------------------------------------------------------------- */

static __always_inline struct nvidia_sums *find_sums(const struct nvidia_sums_key *key)
{
	struct nvidia_sums *found = bpf_map_lookup_elem(&sums, key);

	if (found)
		return found;
	add_map_entry(&sums, key, &no_sums);
	return bpf_map_lookup_elem(&sums, key);
}

/* Programs on other CPUs add to the same sums. */
static __always_inline void add_time(struct nvidia_sums *found, __u64 duration)
{
	__u32 bucket = bucket_of_duration(duration);
	__u64 longest;

	barrier_var(bucket);
	if (bucket < GT_DURATION_BUCKETS)
		__sync_fetch_and_add(&found->durations[bucket], 1);
	__sync_fetch_and_add(&found->total, duration);
	for (int i = 0; i < 4; i++) {
		longest = found->longest;
		if (longest >= duration ||
		    __sync_val_compare_and_swap(&found->longest, longest, duration) == longest)
			break;
	}
}

static __noinline int count_call(const struct nvidia_sums_key *key, __u64 duration, bool is_timed,
				 bool failed)
{
	struct nvidia_sums *found = key ? find_sums(key) : NULL;

	if (!found)
		return 0;
	__sync_fetch_and_add(&found->count, 1);
	if (failed)
		__sync_fetch_and_add(&found->errors, 1);
	if (is_timed)
		add_time(found, duration);
	return 0;
}

static __always_inline void count_entry(__u32 process, __u32 function, __u32 command)
{
	struct nvidia_sums_key key = {process, function, command, 0};

	count_call(&key, 0, false, false);
}

/* ---- entries ------------------------------------------------------------------------------ */

static __always_inline __u32 minor_of_inode(__u64 inode)
{
	return MINOR(BPF_CORE_READ((struct inode___nvidia *)inode, i_rdev));
}

static __always_inline __u32 minor_of_file(__u64 file)
{
	return MINOR(BPF_CORE_READ((struct file___nvidia *)file, f_inode, i_rdev));
}

static __always_inline void read_command(struct nvidia_call_entry *entry)
{
	struct nvidia_transfer transfer;

	entry->command = entry->arguments[1];
	entry->user_argument = entry->arguments[2];
	if (IOCTL_TYPE(entry->command) != TYPE_NVIDIA)
		return;
	if (IOCTL_NUMBER(entry->command) == NV_ESC_IOCTL_XFER_CMD &&
	    !bpf_probe_read_user(&transfer, sizeof(transfer), (void *)entry->user_argument)) {
		entry->command = (entry->command & 0xc0000000) | (transfer.size & 0x3fff) << 16 |
				 TYPE_NVIDIA << 8 | (transfer.command & 0xff);
		entry->user_argument = transfer.argument;
	}
	if (IOCTL_NUMBER(entry->command) == NV_ESC_RM_CONTROL)
		bpf_probe_read_user(&entry->control, sizeof(entry->control),
				    &((struct nvidia_control *)entry->user_argument)->command);
	else if (IOCTL_NUMBER(entry->command) == NV_ESC_RM_ALLOC)
		bpf_probe_read_user(&entry->control, sizeof(entry->control),
				    &((struct nvidia_alloc *)entry->user_argument)->class);
}

static __always_inline void remember_ioctl(const struct layer_thread *thread,
					   const struct nvidia_call_entry *entry)
{
	__u32 process = bpf_get_current_pid_tgid() >> 32, at;
	struct nvidia_recent_ioctls *ioctls = bpf_map_lookup_elem(&recent, &process);

	if (!ioctls) {
		add_map_entry(&recent, &process, &no_recent);
		ioctls = bpf_map_lookup_elem(&recent, &process);
	}
	if (!ioctls)
		return;
	ioctls->process = thread->process;
	ioctls->thread = thread->thread;
	at = __sync_fetch_and_add(&ioctls->count, 1) % RECENT;
	ioctls->ioctls[at][0] = entry->start;
	ioctls->ioctls[at][1] = (__u64)entry->command << 32 | entry->control;
}

static __always_inline int enter(struct pt_regs *registers, __u32 function)
{
	struct nvidia_call_entry entry = {.start = bpf_ktime_get_ns()};
	struct layer_thread *thread = traced_thread();

	if (!thread)
		return 0;
	copy_registers(entry.arguments, registers);
	entry.minor = GT_NVIDIA_UNKNOWN;
	if (function == GT_NVIDIA_open || function == GT_NVIDIA_close)
		entry.command = entry.minor = minor_of_inode(entry.arguments[0]);
	else if (function == GT_NVIDIA_mmap || function == GT_NVIDIA_ioctl)
		entry.minor = minor_of_file(entry.arguments[0]);
	if (function == GT_NVIDIA_ioctl || function == GT_NVIDIA_uvm_ioctl) {
		read_command(&entry);
		remember_ioctl(thread, &entry);
	}
	begin_call(function, &entry);
	return 0;
}

/* ---- returns ------------------------------------------------------------------------------ */

static __always_inline __u32 entries_of(__u64 page_table)
{
	struct nvidia_page_table table = {};

	bpf_probe_read_kernel(&table, sizeof(table), (void *)page_table);
	return table.entries;
}

static __always_inline __u64 pages_size(__u64 page_table)
{
	struct nvidia_page_table table = {};

	bpf_probe_read_kernel(&table, sizeof(table), (void *)page_table);
	if (table.page_size > 2)
		return 0;
	return (__u64)table.entries << (table.page_size ? 15 + table.page_size : 12);
}

static __always_inline __u32 address_of_device(__u64 device)
{
	struct pci_dev *pci = (void *)device;
	struct pci_bus *bus = BPF_CORE_READ(pci, bus);

	return pci_domain(bus) << 16 | (__u32)BPF_CORE_READ(bus, number) << 8 |
	       (BPF_CORE_READ(pci, devfn) & 0xff);
}

static __always_inline void fill_memory(struct gt_event_nvidia_call *event,
					const struct nvidia_call_entry *entry, __u32 function)
{
	struct vm_area_struct___nvidia *area = (void *)entry->arguments[1];
	struct vm_fault___nvidia *fault = (void *)entry->arguments[0];
	__u64 table = 0;

	if (function == GT_NVIDIA_mmap) {
		event->address = BPF_CORE_READ(area, vm_start);
		event->offset = (__u64)BPF_CORE_READ(area, vm_pgoff) << page_shift;
		event->length = BPF_CORE_READ(area, vm_end) - event->address;
	} else if (function == GT_NVIDIA_fault) {
		event->address = BPF_CORE_READ(fault, address);
	} else if (function == GT_NVIDIA_p2p_get_pages) {
		event->address = entry->arguments[2];
		event->length = entry->arguments[3];
		if (!event->result &&
		    !bpf_probe_read_kernel(&table, sizeof(table), (void *)entry->arguments[4]))
			event->entries = entries_of(table);
	} else if (function == GT_NVIDIA_p2p_dma_map_pages) {
		event->peer = address_of_device(entry->arguments[0]);
		event->entries = entries_of(entry->arguments[1]);
		event->length = pages_size(entry->arguments[1]);
	}
}

static __always_inline __u32 control_status(const struct nvidia_call_entry *entry)
{
	__u32 status = 0;

	if (IOCTL_TYPE(entry->command) == TYPE_NVIDIA &&
	    IOCTL_NUMBER(entry->command) == NV_ESC_RM_CONTROL)
		bpf_probe_read_user(&status, sizeof(status),
				    &((struct nvidia_control *)entry->user_argument)->status);
	return status;
}

static __always_inline void put_call(struct layer_thread *thread,
				     const struct nvidia_call_entry *entry, __u32 function,
				     __s32 result)
{
	bool is_ioctl = function == GT_NVIDIA_ioctl || function == GT_NVIDIA_uvm_ioctl;
	struct nvidia_sums_key key = {thread->process, function, entry->command, entry->control};
	struct gt_event_nvidia_call event = {};
	bool failed;

	fill_head(&event.head, thread, GT_EVENT_nvidia_call, sizeof(event));
	event.duration = event.head.time - entry->start;
	event.command = is_ioctl ? entry->command : 0;
	event.control = entry->control;
	event.result = result;
	event.minor = entry->minor;
	event.peer = GT_NVIDIA_UNKNOWN;
	event.function = function;
	if (function == GT_NVIDIA_ioctl)
		event.status = control_status(entry);
	/* Faults return flags of enum vm_fault_reason: those of errors are below 0x100. */
	failed = function == GT_NVIDIA_fault ? result & 0x73 : result < 0 || event.status;
	count_call(&key, event.duration, true, failed);
	if (is_ioctl && !is_sampled(NVIDIA_SAMPLED_IOCTL))
		return;
	fill_memory(&event, entry, function);
	put_event(&event, sizeof(event));
}

static __always_inline int leave(struct pt_regs *registers, __u32 function)
{
	struct nvidia_call_entry *entry = find_call(function);
	struct layer_thread *thread;

	if (!entry)
		return 0;
	thread = traced_thread();
	if (thread)
		put_call(thread, entry, function, RESULT(registers));
	end_call(function);
	return 0;
}

/* ---- the programs ------------------------------------------------------------------------- */

CALL_PROGRAMS(open, GT_NVIDIA_open)
CALL_PROGRAMS(close, GT_NVIDIA_close)
CALL_PROGRAMS(mmap, GT_NVIDIA_mmap)
CALL_PROGRAMS(fault, GT_NVIDIA_fault)
CALL_PROGRAMS(p2p_get_pages, GT_NVIDIA_p2p_get_pages)
CALL_PROGRAMS(p2p_dma_map_pages, GT_NVIDIA_p2p_dma_map_pages)
CALL_PROGRAMS(suspend, GT_NVIDIA_suspend)
CALL_PROGRAMS(resume, GT_NVIDIA_resume)
CALL_PROGRAMS(ioctl, GT_NVIDIA_ioctl)
CALL_PROGRAMS(frontend_ioctl, GT_NVIDIA_ioctl)
CALL_PROGRAMS(uvm_ioctl, GT_NVIDIA_uvm_ioctl)

#define COUNT_PROGRAM(name)                                                                        \
	SEC("kprobe") int count_##name(struct pt_regs *registers)                                  \
	{                                                                                          \
		struct layer_thread *thread = traced_thread();                                     \
                                                                                                   \
		if (thread)                                                                        \
			count_entry(thread->process, GT_NVIDIA_##name, 0);                         \
		return 0;                                                                          \
	}

COUNT_PROGRAM(vma_open)
COUNT_PROGRAM(vma_release)
COUNT_PROGRAM(poll)

/* (int irq, void *device). Interrupts belong to a device, to no process. */
static __always_inline int interrupt(struct pt_regs *registers, __u32 function)
{
	__u64 arguments[ARGUMENT_REGISTERS], now = bpf_ktime_get_ns();

	copy_registers(arguments, registers);
	count_entry(0, function, arguments[0]);
	/* The first of several before the bottom half begins. */
	add_map_entry(&interrupts, &arguments[1], &now);
	return 0;
}

SEC("kprobe")
int count_isr(struct pt_regs *registers)
{
	return interrupt(registers, GT_NVIDIA_isr);
}

SEC("kprobe")
int count_isr_msix(struct pt_regs *registers)
{
	return interrupt(registers, GT_NVIDIA_isr_msix);
}

static __always_inline int bottom_half(struct pt_regs *registers)
{
	__u64 arguments[ARGUMENT_REGISTERS], *since, latency = 0;
	struct nvidia_sums_key key = {.function = GT_NVIDIA_isr_bottom_half};

	copy_registers(arguments, registers);
	key.command = arguments[0];
	since = bpf_map_lookup_elem(&interrupts, &arguments[1]);
	if (since)
		latency = bpf_ktime_get_ns() - *since;
	count_call(&key, latency, since, false);
	bpf_map_delete_elem(&interrupts, &arguments[1]);
	return 0;
}

SEC("kprobe")
int count_bottom_half(struct pt_regs *registers)
{
	return bottom_half(registers);
}

SEC("kprobe")
int count_bottom_half_msix(struct pt_regs *registers)
{
	return bottom_half(registers);
}

/* ---- Xid ---------------------------------------------------------------------------------- */

struct nvidia_xid_room {
	__u64 event[sizeof(struct gt_event_nvidia_xid) / sizeof(__u64)];
	char address[16]; /* "0000:65:00.0" and spaces: the text begins with it */
	char text[XID_TEXT];
};

struct nvidia_recent_room {
	struct gt_event event; /* that of `nvidia_recent` is its head alone */
	__u64 ioctls[RECENT][2];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nvidia_xid_room);
} xid_rooms SEC(".maps");

/* The process in "pid=1234, name=…", in the initial namespace; 0: none. */
static __always_inline __u32 pid_in_message(const char *text)
{
	__u32 pid = 0;

	if (text[0] != 'p' || text[1] != 'i' || text[2] != 'd' || text[3] != '=')
		return 0;
	for (int i = 4; i < 14; i++) {
		if (text[i] < '0' || text[i] > '9')
			break;
		pid = pid * 10 + (text[i] - '0');
	}
	return pid;
}

/* The oldest first: before the eighth there are none, with time 0. */
static __always_inline void put_recent(const struct nvidia_recent_ioctls *ioctls)
{
	struct nvidia_recent_room room = {};
	__u32 count = ioctls->count;

	room.event.time = bpf_ktime_get_ns();
	room.event.process = ioctls->process;
	room.event.thread = ioctls->thread;
	room.event.kind = GT_EVENT_nvidia_recent;
	room.event.size = sizeof(room);
	room.event.device = GT_DEVICE_UNKNOWN;
	for (__u32 i = 0; i < RECENT; i++) {
		__u32 at = (count + i) % RECENT;

		room.ioctls[i][0] = ioctls->ioctls[at][0];
		room.ioctls[i][1] = ioctls->ioctls[at][1];
	}
	put_event(&room, sizeof(room));
}

static __always_inline void put_hex(char *at, __u32 value, int digits)
{
	for (int i = digits - 1; i >= 0; i--, value >>= 4)
		at[i] = "0123456789abcdef"[value & 15];
}

/* "0000:65:00.0 " */
static __always_inline void put_pci_address(char *at, __u32 address)
{
	put_hex(at, address >> 16, 4);
	at[4] = ':';
	put_hex(at + 5, address >> 8 & 0xff, 2);
	at[7] = ':';
	put_hex(at + 8, address >> 3 & 0x1f, 2);
	at[10] = '.';
	put_hex(at + 11, address & 7, 1);
	for (int i = 12; i < 16; i++)
		at[i] = ' ';
}

static __always_inline void count_xid(__u32 code)
{
	__u32 key = code < NVIDIA_MAX_XID_CODE ? code : NVIDIA_MAX_XID_CODE;
	__u64 *count = bpf_map_lookup_elem(&xids, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
}

/*
 * const struct pci_dev *, u32 code, const char *message. It fires in any thread; the message has
 * the process. An error without one concerns every process: it is shown with any filter.
 */
SEC("raw_tp/nvidia_dev_xid")
int dev_xid(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 zero = 0, pid;
	struct nvidia_xid_room *room = bpf_map_lookup_elem(&xid_rooms, &zero);
	struct nvidia_recent_ioctls *ioctls;
	struct gt_event_nvidia_xid *event;

	count_xid(ctx->args[1]);
	if (!room)
		return 0;
	__builtin_memset(room, 0, sizeof(*room));
	bpf_probe_read_kernel_str(room->text, sizeof(room->text), (void *)ctx->args[2]);
	pid = pid_in_message(room->text);
	ioctls = bpf_map_lookup_elem(&recent, &pid);
	if (pid && !ioctls && filters_processes())
		return 0;
	if (ioctls)
		put_recent(ioctls);
	event = (void *)room->event;
	fill_head(&event->head, NULL, GT_EVENT_nvidia_xid, sizeof(*room));
	if (ioctls) {
		event->head.process = ioctls->process;
		event->head.thread = ioctls->thread;
	}
	event->code = ctx->args[1];
	put_pci_address(room->address, address_of_device(ctx->args[0]));
	put_event(room, sizeof(*room));
	return 0;
}
