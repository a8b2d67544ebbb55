/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Accesses to the configuration space of PCI devices, and errors that devices report. */
#include "probe/layer.bpf.h"

#include "probe/api/registers.bpf.h"
#include "probe/pcie/domain.bpf.h"
#include "probe/pcie/functions.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A function that is running. Its exit may be traced without the arguments (kretprobe). */
struct config_entry {
	__u64 start; /* ns */
	__u64 arguments[ARGUMENT_REGISTERS];
};

/* Functions of both kinds can be interrupted by another one on the same thread. */
struct config_entry_key {
	__u64 thread;
	__u64 function;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct config_entry_key);
	__type(value, struct config_entry);
} config_entries SEC(".maps");

static __always_inline void fill_device(struct gt_event_pci_access *event, struct pci_bus *bus,
					__u32 device_function)
{
	event->domain = pci_domain(bus);
	event->bus = BPF_CORE_READ(bus, number);
	event->device_function = device_function;
}

/* `value` is what a write was given; a read has put it where `value` points to. */
static __always_inline __u32 value_of(__u64 value, __u32 bytes, bool is_write)
{
	__u32 result = 0;

	if (is_write)
		return bytes == 4 ? value : value & ((1u << bytes * 8) - 1);
	bpf_probe_read_kernel(&result, bytes, (void *)value);
	return result;
}

/*
 * (struct pci_bus *, unsigned int devfn, int where, value), or (struct pci_dev *, where, value).
 * `start`: when it began; 0: not seen.
 */
static __always_inline int put_access(__u64 start, const __u64 *arguments, __s32 result,
				      __u32 bytes, bool is_write, bool is_user)
{
	struct layer_thread *thread = traced_thread();
	struct gt_event_pci_access event = {};
	struct pci_dev *device = (void *)arguments[0];

	if (!thread)
		return 0;
	fill_head(&event.head, thread, GT_EVENT_pci_access, sizeof(event));
	if (start)
		event.duration = event.head.time - start;
	if (is_user)
		fill_device(&event, BPF_CORE_READ(device, bus), BPF_CORE_READ(device, devfn));
	else
		fill_device(&event, (void *)arguments[0], arguments[1]);
	event.offset = arguments[is_user ? 1 : 2];
	event.value = value_of(arguments[is_user ? 2 : 3], bytes, is_write);
	event.result = result;
	event.bytes = bytes;
	event.is_write = is_write;
	event.is_user = is_user;
	put_event(&event, sizeof(event));
	return 0;
}

/* Remember that the current thread began a function. */
static __always_inline int keep_entry(struct config_entry *entry, __u64 function)
{
	struct config_entry_key key = {bpf_get_current_pid_tgid(), function};

	if (!traced_thread())
		return 0;
	entry->start = bpf_ktime_get_ns();
	put_map_entry(&config_entries, &key, entry);
	return 0;
}

static __always_inline int keep_registers(struct pt_regs *registers, __u64 function)
{
	struct config_entry entry;

	copy_registers(entry.arguments, registers);
	return keep_entry(&entry, function);
}

/* The arguments are read again at the exit, but by the return probe, where that is in its place. */
static __always_inline int keep_arguments(const __u64 *arguments, __u32 count, __u64 function)
{
	struct config_entry entry = {};

	for (__u32 i = 0; i < count; i++)
		entry.arguments[i] = arguments[i];
	return keep_entry(&entry, function);
}

static __always_inline int put_exit(const __u64 *arguments, __s32 result, __u64 function,
				    __u32 bytes, bool is_write, bool is_user)
{
	struct config_entry_key key = {bpf_get_current_pid_tgid(), function};
	const struct config_entry *entry = bpf_map_lookup_elem(&config_entries, &key);

	put_access(entry ? entry->start : 0, arguments, result, bytes, is_write, is_user);
	bpf_map_delete_elem(&config_entries, &key);
	return 0;
}

static __always_inline int put_kept(struct pt_regs *registers, __u64 function, __u32 bytes,
				    bool is_write, bool is_user)
{
	struct config_entry_key key = {bpf_get_current_pid_tgid(), function};
	const struct config_entry *entry = bpf_map_lookup_elem(&config_entries, &key);

	if (!entry)
		return 0;
	put_access(entry->start, entry->arguments, RESULT(registers), bytes, is_write, is_user);
	bpf_map_delete_elem(&config_entries, &key);
	return 0;
}

enum config_function {
#define CONFIG_FUNCTION(name, bytes, is_write, is_user) CONFIG_FUNCTION_##name,
	CONFIG_FUNCTIONS(CONFIG_FUNCTION)
#undef CONFIG_FUNCTION
};

#define CONFIG_ARGUMENTS(is_user) ((is_user) ? 3 : 4)

/* fexit has the result after the arguments. */
#define CONFIG_FUNCTION(name, bytes, is_write, is_user)                                            \
	SEC("fentry/" #name)                                                                       \
	int begin_##name(__u64 *arguments)                                                         \
	{                                                                                          \
		return keep_arguments(arguments, CONFIG_ARGUMENTS(is_user),                        \
				      CONFIG_FUNCTION_##name);                                     \
	}                                                                                          \
	SEC("fexit/" #name)                                                                        \
	int exit_##name(__u64 *arguments)                                                          \
	{                                                                                          \
		return put_exit(arguments, arguments[CONFIG_ARGUMENTS(is_user)],                   \
				CONFIG_FUNCTION_##name, bytes, is_write, is_user);                 \
	}                                                                                          \
	SEC("kprobe")                                                                              \
	int enter_##name(struct pt_regs *registers)                                                \
	{                                                                                          \
		return keep_registers(registers, CONFIG_FUNCTION_##name);                          \
	}                                                                                          \
	SEC("kretprobe")                                                                           \
	int return_##name(struct pt_regs *registers)                                               \
	{                                                                                          \
		return put_kept(registers, CONFIG_FUNCTION_##name, bytes, is_write, is_user);      \
	}
CONFIG_FUNCTIONS(CONFIG_FUNCTION)
#undef CONFIG_FUNCTION

/*
 * const char *dev_name, u32 status, u8 severity, u8 tlp_header_valid, and a pointer to the packet's
 * header: struct aer_header_log_regs, struct pcie_tlp_log since Linux 6.10, which begin alike. It
 * fires in a thread of the kernel: no process is known.
 */
SEC("raw_tp/aer_event")
int aer_event(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 room[(sizeof(struct gt_event_pcie_error) + GT_PCI_ADDRESS_SIZE) / sizeof(__u64)] = {};
	struct gt_event_pcie_error *event = (void *)room;
	__u32 header[4] = {};

	if (filters_processes()) {
		COUNT_EVENTS(unattributed);
		return 0;
	}
	fill_head(&event->head, NULL, GT_EVENT_pcie_error, sizeof(room));
	event->status = ctx->args[1];
	event->severity = ctx->args[2];
	event->has_tlp = (__u8)ctx->args[3] != 0;
	if (event->has_tlp)
		bpf_probe_read_kernel(header, sizeof(header), (void *)ctx->args[4]);
	event->tlp_first = header[0];
	event->tlp_second = header[1];
	event->tlp_third = header[2];
	event->tlp_fourth = header[3];
	bpf_probe_read_kernel_str(event->address, GT_PCI_ADDRESS_SIZE, (void *)ctx->args[0]);
	put_event(room, sizeof(room));
	return 0;
}
