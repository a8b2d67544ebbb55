/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's types, as far as gputap's BPF programs read them. Only names and types of the
 * fields count: where they lie is found when the program is loaded (CO-RE), from the BTF of
 * the running kernel. So the build needs no kernel's BTF.
 */
#pragma once

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* From include/uapi/linux/bpf.h; a number there never changes. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_F_USER_STACK = 1 << 8,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct super_block {
	__u32 s_dev;
};

struct inode {
	__u16 i_mode;
	__u32 i_rdev;
	unsigned long i_ino;
	struct super_block *i_sb;
	long long i_size;
};

struct module {
	char name[56];
};

struct file_operations {
	struct module *owner;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	const struct file_operations *f_op;
	struct path f_path;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct file *exe_file;
	struct uprobes_state uprobes_state;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live; /* threads that have not ended */
	int group_exit_code;
};

#ifdef __TARGET_ARCH_x86
struct thread_struct {
	unsigned long fsbase; /* the thread pointer */
};
#endif

struct thread_info {
	__u32 status;
};

struct return_consumer {
	__u64 cookie;
};

/* A call whose return is probed. */
struct return_instance {
	unsigned long stack; /* the stack pointer at its entry */
	int cons_cnt;        /* who gets the return: the first one, and an array of the others */
	struct return_instance *next;
	struct return_consumer consumer; /* since Linux 6.14 */
	struct return_consumer *extra_consumers;
};

struct uprobe_task {
	struct return_instance *return_instances; /* the innermost call first */
};

struct task_struct {
	struct thread_info thread_info;
#ifdef __TARGET_ARCH_x86
	struct thread_struct thread;
#endif
	int pid;
	int tgid;
	unsigned int flags;
	int exit_code;
	__u64 self_exec_id;
	__u64 start_time; /* CLOCK_MONOTONIC, ns */
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct files_struct *files;
	struct uprobe_task *utask; /* NULL until a probe was hit */
	char comm[16];
};

struct dma_fence {
	__u64 context;
	__u64 seqno;
	unsigned long flags; /* bit 0: signaled */
	int error;
};

struct irqaction {
	const char *name;
} __attribute__((preserve_access_index));

/* The record of the trace events of class dma_fence; __data_loc: length << 16 | offset. */
struct trace_event_raw_dma_fence {
	__u32 __data_loc_driver;
	__u32 __data_loc_timeline;
	unsigned int context;
	unsigned int seqno;
};

#ifdef __TARGET_ARCH_x86
struct pci_sysdata {
	int domain;
};
#endif

struct pci_bus {
	void *sysdata;
	unsigned char number;
	int domain_nr; /* where CONFIG_PCI_DOMAINS_GENERIC is set */
};

struct pci_dev {
	struct pci_bus *bus;
	unsigned int devfn;
};

enum fault_flag {
	FAULT_FLAG_WRITE = 1,
};

struct vm_fault {
	enum fault_flag flags;      /* an enum since Linux 5.13 */
	unsigned long real_address; /* not aligned to a page; since Linux 5.16 */
};

struct bpf_iter_meta {
	__u64 padding;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* The context of a raw tracepoint: struct bpf_raw_tracepoint_args, part of the BPF ABI. */
struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

/* The registers a probed function sees: the layout of struct pt_regs, part of the BPF ABI. */
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};
struct pt_regs {
	struct user_pt_regs user_regs;
};
#else
#error "gputap knows the calling conventions of x86-64 and aarch64 only"
#endif
