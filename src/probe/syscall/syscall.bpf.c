/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls of traced threads: entry and return are paired in the storage of the thread, and
 * written as one event at the return, at the thread's end, or at the end of the session.
 */
#include "probe/layer.bpf.h"

#include <bpf/bpf_tracing.h>

#include "kernel/syscall_plan.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define EVENT_SIZE sizeof(struct gt_event_syscall)
#define S_IFMT 0170000
#define S_IFCHR 0020000
#define S_IFREG 0100000
#define S_IFDIR 0040000
#define TS_COMPAT 2 /* arch/x86/include/asm/thread_info.h: a call of a 32-bit program */
#define NVIDIA_TYPE 'F'
#define NVIDIA_XFER_CMD 211 /* nv-ioctl-numbers.h: {cmd, size, pointer to the real argument} */
#define MAX_COMMAND 64      /* bytes of an ioctl's argument that are copied */
#define MAX_VECTOR_ARRAY 8

const volatile __u32
	own_process; /* gputap: its calls are not shown, or they would be without end */

const volatile bool has_entries; /* write entry events, for live text */

/* A call that has begun; the event is completed at its return. */
struct begun_syscall {
	__u32 active;
	__u32 missed; /* bit n: copy n of the plan failed: the memory was not mapped yet */
	__u64 data_size;
	union {
		struct gt_event_syscall event;
		__u8 bytes[EVENT_SIZE + GT_SYSCALL_MAX_DATA + sizeof(struct gt_syscall_chunk) +
			   GT_SYSCALL_MAX_COPY + 8];
	};
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct begun_syscall);
} begun_syscalls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GT_SYSCALL_NUMBERS);
	__type(key, __u32);
	__type(value, struct gt_syscall_plan);
} syscall_plans SEC(".maps");

/* Calls per CPU: the low bits of their ids. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} syscall_ids SEC(".maps");

/* ---- copies ------------------------------------------------------------------------------- */

/* The next chunk, with its header; NULL: no more data is kept. */
static __always_inline struct gt_syscall_chunk *new_chunk(struct begun_syscall *call, __u8 argument)
{
	struct gt_syscall_chunk *chunk;
	__u64 at = call->data_size;

	if (at > GT_SYSCALL_MAX_DATA)
		return NULL;
	chunk = (void *)&call->bytes[EVENT_SIZE + at];
	*chunk = (struct gt_syscall_chunk){.argument = argument};
	return chunk;
}

static __always_inline void keep_chunk(struct begun_syscall *call, __u64 size)
{
	call->data_size += sizeof(struct gt_syscall_chunk) + ((size + 7) & ~7ULL);
}

/* What is copied for which argument. */
struct syscall_piece {
	__u64 address;
	__u32 size; /* at most, for strings */
	__u16 total;
	__u8 argument;
	__u8 at_return;
	__u8 element;
	__u8 is_string;
};

/*
 * 0, or negative: the memory cannot be read, or there is no more space. Not static, as
 * copy_vectors, copy_message and copy_argument: the verifier then examines it once, and not at each
 * call.
 */
__noinline long copy_piece(struct begun_syscall *call, const struct syscall_piece *piece)
{
	struct gt_syscall_chunk *chunk;
	__u64 size;
	long result;

	if (!call || !piece)
		return -1;
	size = piece->size;
	chunk = new_chunk(call, piece->argument);
	if (!chunk)
		return -1;
	if (size > GT_SYSCALL_MAX_COPY)
		size = GT_SYSCALL_MAX_COPY;
	chunk->at_return = piece->at_return;
	chunk->element = piece->element;
	if (piece->is_string) {
		result = bpf_probe_read_user_str(chunk + 1, size, (void *)piece->address);
		if (result < 0)
			return -1;
		chunk->total = result == size;
		/* Older kernels (6.1) return 0 for an empty string. */
		size = result ? result - 1 : 0;
		if (size > GT_SYSCALL_MAX_COPY)
			return -1;
	} else {
		if (size && bpf_probe_read_user(chunk + 1, size, (void *)piece->address))
			return -1;
		chunk->total = piece->total;
	}
	chunk->size = size;
	/* The padding is of an earlier call. */
	if (size & 7)
		__builtin_memset((__u8 *)(chunk + 1) + (size & (2 * GT_SYSCALL_MAX_COPY - 1)), 0,
				 7);
	keep_chunk(call, size);
	return 0;
}

static __always_inline __u64 read_pointer(__u64 address)
{
	__u64 pointer = 0;

	bpf_probe_read_user(&pointer, sizeof(pointer), (void *)address);
	return pointer;
}

static __noinline long copy_strings(struct begun_syscall *call, struct syscall_piece *piece)
{
	__u64 array = piece->address;

	piece->is_string = 1;
	piece->size = GT_SYSCALL_SHOWN_BYTES + 2;
	for (__u32 i = 0; i < GT_SYSCALL_MAX_STRINGS; i++) {
		piece->address = read_pointer(array + i * sizeof(__u64));
		if (!piece->address)
			return 0;
		piece->element = i + 1;
		if (copy_piece(call, piece))
			return -1;
	}
	return 0;
}

static __noinline long copy_count(struct begun_syscall *call, struct syscall_piece *piece)
{
	__u32 count = 0;

	while (count < 256 && read_pointer(piece->address + count * sizeof(__u64)))
		count++;
	piece->size = 0;
	piece->total = count;
	return copy_piece(call, piece);
}

struct user_vector {
	__u64 address;
	__u64 size;
};

/* The array is the element that `piece` has; with the beginning of the first `buffers` buffers. */
__noinline long copy_vectors(struct begun_syscall *call, struct syscall_piece *piece, __u64 count,
			     __u32 buffers)
{
	__u64 array;
	__u8 first;

	if (!call || !piece)
		return -1;
	array = piece->address;
	first = piece->element & ~(GT_SYSCALL_MESSAGE_ELEMENTS - 1);
	piece->total = count;
	piece->size =
		(count > MAX_VECTOR_ARRAY ? MAX_VECTOR_ARRAY : count) * sizeof(struct user_vector);
	if (copy_piece(call, piece))
		return -1;
	for (__u32 i = 0; i < GT_SYSCALL_MAX_VECTORS && i < count && i < buffers; i++) {
		struct user_vector vector;

		if (bpf_probe_read_user(&vector, sizeof(vector),
					(void *)(array + i * sizeof(vector))))
			return -1;
		piece->address = vector.address;
		piece->size =
			vector.size > GT_SYSCALL_SHOWN_BYTES ? GT_SYSCALL_SHOWN_BYTES : vector.size;
		piece->element = first + i + 1;
		copy_piece(call, piece);
	}
	return 0;
}

/* struct msghdr */
struct user_message {
	__u64 address;
	__u32 address_size;
	__u32 padding;
	__u64 vectors;
	__u64 vector_count;
	__u64 control;
	__u64 control_size;
	__u32 flags;
};

/* struct mmsghdr */
struct user_messages {
	struct user_message message;
	__u32 length;
};

static __always_inline void copy_element(struct begun_syscall *call, struct syscall_piece *piece,
					 __u8 element, __u64 address, __u32 size)
{
	piece->element = element;
	piece->address = address;
	piece->size = size;
	if (address && size)
		copy_piece(call, piece);
}

/* The header has the size and the element that `piece` has. */
__noinline long copy_message(struct begun_syscall *call, struct syscall_piece *piece,
			     __u32 header_only)
{
	struct user_message message;
	__u8 first;

	if (!call || !piece)
		return -1;
	first = piece->element;
	if (bpf_probe_read_user(&message, sizeof(message), (void *)piece->address))
		return -1;
	if (copy_piece(call, piece) || header_only)
		return 0;
	copy_element(call, piece, first + GT_SYSCALL_MESSAGE_ADDRESS, message.address,
		     message.address_size > GT_SYSCALL_MAX_ADDRESS ? GT_SYSCALL_MAX_ADDRESS
								   : message.address_size);
	copy_element(call, piece, first + GT_SYSCALL_MESSAGE_CONTROL, message.control,
		     message.control_size > GT_SYSCALL_MAX_CONTROL ? GT_SYSCALL_MAX_CONTROL
								   : message.control_size);
	piece->element = first + GT_SYSCALL_MESSAGE_VECTORS;
	piece->address = message.vectors;
	if (message.vectors)
		copy_vectors(call, piece, message.vector_count & 0x7ff, GT_SYSCALL_MAX_VECTORS);
	return 0;
}

static __noinline long copy_messages(struct begun_syscall *call, struct syscall_piece *piece,
				     __u64 count, __u32 header_only)
{
	__u64 array = piece->address;

	piece->total = count > 0xffff ? 0xffff : count;
	for (__u32 i = 0; i < GT_SYSCALL_MAX_MESSAGES && i < count; i++) {
		piece->address = array + i * sizeof(struct user_messages);
		piece->element = i * GT_SYSCALL_MESSAGE_ELEMENTS;
		piece->size = sizeof(struct user_messages);
		if (copy_message(call, piece, header_only))
			return -1;
	}
	return 0;
}

/* An ioctl's argument: NVIDIA's commands are named by it. */
static __noinline long copy_command(struct begun_syscall *call, struct syscall_piece *piece)
{
	__u32 command = call->event.argument1;
	__u32 size = command >> 16 & 0x3fff;

	if ((command >> 8 & 0xff) != NVIDIA_TYPE || !call->event.device)
		return 0;
	piece->size = size && size < MAX_COMMAND ? size : MAX_COMMAND;
	if (copy_piece(call, piece))
		return -1;
	if ((command & 0xff) == NVIDIA_XFER_CMD) {
		piece->address = read_pointer(piece->address + 2 * sizeof(__u32));
		piece->size = MAX_COMMAND;
		piece->element = 1;
		copy_piece(call, piece);
	}
	return 0;
}

/* The header of struct linux_dirent64. */
struct user_entry {
	__u64 inode;
	__u64 offset;
	__u16 size;
	__u16 rest[3];
};

#define ENTRIES_AT_ONCE 50
_Static_assert(GT_SYSCALL_MAX_ENTRIES % ENTRIES_AT_ONCE == 0, "");

struct user_entries {
	__u64 address, end; /* what follows the entries that were counted */
	__u32 count;
};

/*
 * Count the next entries. 0: there are no more. Not static: the verifier, which follows each
 * iteration of a loop, then examines two short loops in place of a long one.
 */
__noinline int count_next_entries(struct user_entries *entries)
{
	struct user_entry entry;

	if (!entries)
		return 0;
	for (__u32 i = 0; i < ENTRIES_AT_ONCE; i++) {
		if (entries->address >= entries->end ||
		    bpf_probe_read_user(&entry, sizeof(entry), (void *)entries->address) ||
		    !entry.size)
			return 0;
		entries->address += entry.size;
		entries->count++;
	}
	return 1;
}

/* As many as the result has, in bytes. */
static __noinline long count_entries(struct begun_syscall *call, struct syscall_piece *piece)
{
	struct user_entries entries = {.address = piece->address,
				       .end = piece->address + call->event.result};

	for (__u32 i = 0; i < GT_SYSCALL_MAX_ENTRIES / ENTRIES_AT_ONCE; i++)
		if (!count_next_entries(&entries))
			break;
	piece->total = entries.count;
	return copy_piece(call, piece);
}

static __noinline long copy_reference(struct begun_syscall *call, struct syscall_piece *piece,
				      __u32 limit)
{
	struct user_vector reference;

	if (bpf_probe_read_user(&reference, sizeof(reference), (void *)piece->address))
		return -1;
	piece->size = sizeof(reference);
	if (copy_piece(call, piece))
		return -1;
	copy_element(call, piece, 1, reference.address,
		     reference.size > limit ? limit : reference.size);
	return 0;
}

/* An int that the argument refers to; 0: it is below that, or cannot be read. */
static __always_inline __u64 read_size(__u64 address)
{
	__s32 size = 0;

	bpf_probe_read_user(&size, sizeof(size), (void *)address);
	return size < 0 ? 0 : size;
}

/* Bytes of words of 64 bits; 0: the number of bits is negative. */
static __always_inline __u64 size_of_bits(__s32 bits)
{
	return bits < 0 ? 0 : ((__u64)bits + 63) / 64 * 8;
}

static __always_inline __u64 argument_of(const struct begun_syscall *call, __u8 argument)
{
	switch (argument) {
	case 0:
		return call->event.argument0;
	case 1:
		return call->event.argument1;
	case 2:
		return call->event.argument2;
	case 3:
		return call->event.argument3;
	case 4:
		return call->event.argument4;
	default:
		return call->event.argument5;
	}
}

__noinline long copy_argument(struct begun_syscall *call, const struct gt_syscall_copy *copy)
{
	struct syscall_piece piece = {};
	__u64 count = 1;

	if (!call || !copy)
		return 0;
	piece.argument = copy->argument;
	piece.at_return = copy->at_return;
	if (copy->select != GT_SYSCALL_NO_ARGUMENT &&
	    !(copy->values >> (argument_of(call, copy->select) & 63) & 1))
		return 0;
	piece.address = argument_of(call, copy->argument);
	if (!piece.address)
		return 0;
	switch (copy->method) {
	case GT_SYSCALL_COPY_STRING:
		piece.is_string = 1;
		piece.size = copy->limit;
		return copy_piece(call, &piece);
	case GT_SYSCALL_COPY_STRINGS:
		return copy_strings(call, &piece);
	case GT_SYSCALL_COPY_COUNT:
		return copy_count(call, &piece);
	case GT_SYSCALL_COPY_COMMAND:
		return copy_command(call, &piece);
	case GT_SYSCALL_COPY_VECTORS:
		return copy_vectors(call, &piece, argument_of(call, copy->length) & 0x7ff,
				    copy->limit && !copy->at_return ? 0 : GT_SYSCALL_MAX_VECTORS);
	case GT_SYSCALL_COPY_MESSAGES:
		return copy_messages(call, &piece,
				     copy->at_return ? call->event.result
						     : argument_of(call, copy->length),
				     copy->limit >> copy->at_return & 1);
	case GT_SYSCALL_COPY_MESSAGE:
		piece.size = sizeof(struct user_message);
		return copy_message(call, &piece, copy->limit && !copy->at_return);
	case GT_SYSCALL_COPY_ELEMENTS:
		count = argument_of(call, copy->length);
		break;
	case GT_SYSCALL_COPY_RESULT:
		count = call->event.result;
		break;
	case GT_SYSCALL_COPY_SIZED:
		count = read_size(argument_of(call, copy->length));
		break;
	case GT_SYSCALL_COPY_BITS:
		count = size_of_bits(argument_of(call, copy->length));
		break;
	case GT_SYSCALL_COPY_ENTRIES:
		return count_entries(call, &piece);
	case GT_SYSCALL_COPY_REFERENCE:
		return copy_reference(call, &piece, copy->limit);
	}
	piece.total = count > 0xffff ? 0xffff : count;
	count *= copy->size;
	piece.size = count > copy->limit ? copy->limit : count;
	return copy_piece(call, &piece);
}

/* Programs like this one cannot map memory: what failed at the entry is repeated at the return. */
static __always_inline void copy_at_entry(struct begun_syscall *call,
					  const struct gt_syscall_plan *plan)
{
	__u32 missed = 0;

	for (__u32 i = 0; i < GT_SYSCALL_MAX_COPIES && i < plan->copies; i++)
		if (!plan->copy[i].at_return && copy_argument(call, &plan->copy[i]))
			missed |= 1 << i;
	call->missed = missed;
}

static __always_inline void copy_at_return(struct begun_syscall *call,
					   const struct gt_syscall_plan *plan)
{
	bool succeeded = call->event.result >= 0;

	for (__u32 i = 0; i < GT_SYSCALL_MAX_COPIES && i < plan->copies; i++)
		if (plan->copy[i].at_return ? succeeded : call->missed >> i & 1)
			copy_argument(call, &plan->copy[i]);
}

/* ---- files -------------------------------------------------------------------------------- */

static __always_inline struct file *file_of(struct task_struct *task, __u32 descriptor)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL;

	if (descriptor >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + descriptor);
	return file;
}

/* Which driver a descriptor's file belongs to: files and folders are not recorded. */
static __noinline long record_file(struct begun_syscall *call, struct task_struct *task)
{
	struct file *file = file_of(task, call->event.argument0);
	struct gt_syscall_chunk *chunk;
	struct gt_syscall_file *record;
	struct module *owner;
	__u16 mode;

	if (!file)
		return 0;
	mode = BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT;
	if (mode == S_IFREG || mode == S_IFDIR)
		return 0;
	chunk = new_chunk(call, GT_SYSCALL_FILE);
	if (!chunk)
		return 0;
	if (mode == S_IFCHR)
		call->event.device = BPF_CORE_READ(file, f_inode, i_rdev);
	record = (void *)(chunk + 1);
	__builtin_memset(record, 0, sizeof(*record));
	owner = BPF_CORE_READ(file, f_op, owner);
	if (owner)
		bpf_probe_read_kernel_str(record->module, sizeof(record->module), &owner->name);
	bpf_probe_read_kernel_str(record->name, sizeof(record->name),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	chunk->size = sizeof(*record);
	keep_chunk(call, sizeof(*record));
	return 0;
}

/* ---- calls -------------------------------------------------------------------------------- */

static __always_inline void read_arguments(struct gt_event_syscall *event,
					   const struct pt_regs *registers)
{
#if defined(__TARGET_ARCH_x86)
	event->argument0 = registers->di;
	event->argument1 = registers->si;
	event->argument2 = registers->dx;
	event->argument3 = registers->r10;
	event->argument4 = registers->r8;
	event->argument5 = registers->r9;
#else
	const __u64 *saved = registers->user_regs.regs;

	event->argument0 = saved[0];
	event->argument1 = saved[1];
	event->argument2 = saved[2];
	event->argument3 = saved[3];
	event->argument4 = saved[4];
	event->argument5 = saved[5];
#endif
}

static __always_inline __u16 machine_of(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread_info.status) & TS_COMPAT ? GT_SYSCALL_COMPAT
								   : GT_SYSCALL_X86_64;
#else
	return GT_SYSCALL_AARCH64;
#endif
}

static __always_inline __u64 new_id(void)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&syscall_ids, &zero);

	if (!count)
		return 0;
	/* 52 bits: exact in JSON readers that have doubles. */
	return ((__u64)bpf_get_smp_processor_id() << 40) + __sync_fetch_and_add(count, 1) + 1;
}

static __always_inline void put_syscall(struct begun_syscall *call)
{
	__u64 size = call->data_size;

	call->active = 0;
	if (size > sizeof(call->bytes) - EVENT_SIZE)
		return;
	call->event.head.time = bpf_ktime_get_ns();
	call->event.duration = call->event.head.time - call->event.duration;
	size += EVENT_SIZE;
	call->event.head.size = size;
	call->event.head.kind = GT_EVENT_syscall;
	put_event(&call->event, size);
}

/*
 * Write the entry. It is not counted: the return has all that it has. One that is lost (the ring is
 * full) costs nothing but the line that is shown meanwhile.
 */
static __always_inline void put_entry(struct begun_syscall *call)
{
	__u64 size = call->data_size;

	if (size > sizeof(call->bytes) - EVENT_SIZE)
		return;
	call->event.head.time = bpf_ktime_get_ns();
	call->event.duration = 0;
	call->event.result = 0;
	size += EVENT_SIZE;
	call->event.head.size = size;
	call->event.head.kind = GT_EVENT_syscall_entry;
	(void)put_record(&call->event, size);
}

/*
 * Where threads are preempted in programs of raw tracepoints, each point has a second program, of
 * the trace event (gt_hook.recovers). The kernel omits that one while a preempted thread on the
 * same CPU is in bpf(2) and accesses a map (bpf_disable_instrumentation()), as gputap does to read
 * counters.
 */
enum syscall_point {
	ENTRIES = 1,
	RETURNS,
	ENDS_OF_THREADS,
};

/* What the trace events raw_syscalls:sys_enter and raw_syscalls:sys_exit format. */
struct formatted_enter {
	__u64 common;
	long number;
	__u64 arguments[6];
};

struct formatted_exit {
	__u64 common;
	long number;
	long result;
};

static __always_inline void copy_arguments(struct gt_event_syscall *event,
					   const struct formatted_enter *formatted)
{
	event->argument0 = formatted->arguments[0];
	event->argument1 = formatted->arguments[1];
	event->argument2 = formatted->arguments[2];
	event->argument3 = formatted->arguments[3];
	event->argument4 = formatted->arguments[4];
	event->argument5 = formatted->arguments[5];
}

/*
 * The arguments are in a struct formatted_enter (`is_formatted`, a constant) or in registers. Until
 * the call returns, `duration` has the time of its entry.
 */
static __always_inline void begin_syscall(const void *arguments, bool is_formatted, long number)
{
	__u32 key = number < 0 || number >= GT_SYSCALL_NUMBERS ? GT_SYSCALL_NUMBERS - 1 : number;
	const struct gt_syscall_plan *plan = bpf_map_lookup_elem(&syscall_plans, &key);
	struct task_struct *task;
	struct layer_thread *thread;
	struct begun_syscall *call;

	if (!plan || !plan->selected)
		return;
	thread = traced_thread();
	if (!thread || thread->process == own_process)
		return;
	task = bpf_get_current_task_btf();
	call = create_own_storage(&begun_syscalls);
	if (!call)
		return;
	fill_head(&call->event.head, thread, GT_EVENT_syscall, 0);
	call->data_size = 0;
	call->missed = 0;
	call->event.call = new_id();
	call->event.number = number;
	call->event.machine = machine_of(task);
	call->event.state = 0;
	call->event.device = 0;
	call->event.reserved = 0;
	if (is_formatted)
		copy_arguments(&call->event, arguments);
	else
		read_arguments(&call->event, arguments);
	if (call->event.machine != GT_SYSCALL_COMPAT) {
		if (plan->has_file)
			record_file(call, task);
		copy_at_entry(call, plan);
	}
	if (has_entries)
		put_entry(call);
	call->active = 1;
	call->event.duration = bpf_ktime_get_ns();
}

SEC("tp_btf/sys_enter")
int BPF_PROG(enter_syscall, const struct pt_regs *registers, long number)
{
	if (is_first_of_pair(ENTRIES, false))
		begin_syscall(registers, false, number);
	return 0;
}

SEC("tp/raw_syscalls/sys_enter")
int enter_formatted(const struct formatted_enter *event)
{
	if (is_first_of_pair(ENTRIES, true))
		begin_syscall(event, true, event->number);
	return 0;
}

static __always_inline void end_syscall(long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct begun_syscall *call = bpf_task_storage_get(&begun_syscalls, task, NULL, 0);
	const struct gt_syscall_plan *plan;
	__u32 number;

	if (!call || !call->active)
		return;
	number = call->event.number;
	call->event.result = result;
	if (call->event.machine != GT_SYSCALL_COMPAT) {
		plan = bpf_map_lookup_elem(&syscall_plans, &number);
		if (plan)
			copy_at_return(call, plan);
	}
	put_syscall(call);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(exit_syscall, const struct pt_regs *registers, long result)
{
	if (is_first_of_pair(RETURNS, false))
		end_syscall(result);
	return 0;
}

SEC("tp/raw_syscalls/sys_exit")
int exit_formatted(const struct formatted_exit *event)
{
	if (is_first_of_pair(RETURNS, true))
		end_syscall(event->result);
	return 0;
}

static __always_inline void put_unfinished(struct task_struct *task, __u16 state)
{
	struct begun_syscall *call = bpf_task_storage_get(&begun_syscalls, task, NULL, 0);

	if (!call || !call->active)
		return;
	call->event.state = state;
	call->event.result = 0;
	put_syscall(call);
}

/* struct task_struct *p; of a thread that ends: in exit_group, or since it is killed. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(end_thread, struct task_struct *task)
{
	if (is_first_of_pair(ENDS_OF_THREADS, false))
		put_unfinished(bpf_get_current_task_btf(), GT_SYSCALL_ENDED);
	return 0;
}

SEC("tp/sched/sched_process_exit")
int end_formatted(void *event)
{
	if (is_first_of_pair(ENDS_OF_THREADS, true))
		put_unfinished(bpf_get_current_task_btf(), GT_SYSCALL_ENDED);
	return 0;
}

/* At the end of the session, with the other programs detached: calls that have not returned. */
SEC("iter/task")
int put_waiting(struct bpf_iter__task *context)
{
	/* The verifier of Linux 6.1 wants a NULL test for each read: read it once. */
	struct task_struct *task = *(struct task_struct *volatile *)&context->task;

	if (task)
		put_unfinished(task, GT_SYSCALL_UNFINISHED);
	return 0;
}
