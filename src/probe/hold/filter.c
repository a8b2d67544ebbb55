/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The filter and its notifications: seccomp(2), seccomp_unotify(2). */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clean.h"
#include "probe/hold/private.h"

/* Newer than the headers of Debian 12: Linux 5.19 and 6.6. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#else
#error "the machine's AUDIT_ARCH is missing here"
#endif

#define NOTIFICATION_SIZE 512 /* a newer kernel's may be larger than this header's */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* The low half of an argument, on a little-endian machine. */
#define LOAD_ARGUMENT(n) LOAD(args[n])

/*
 * The system call comes first, so that the kernel's cache of always allowed system calls
 * (Linux 5.11) applies to all others. Shared mappings have no uprobes; 32-bit programs and x32
 * (another number) pass.
 */
static struct sock_filter instructions[] = {
	LOAD(nr),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 0, 7),
	LOAD(arch),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 0, 5),
	LOAD_ARGUMENT(2), /* protection */
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 3),
	LOAD_ARGUMENT(3), /* flags */
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS | MAP_SHARED, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static int install_with(unsigned long flags)
{
	struct sock_fprog program = {.len = gt_countof(instructions), .filter = instructions};
	int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);

	return listener < 0 ? -errno : listener;
}

int gt_hold_filter_install(void)
{
	/* SPEC_ALLOW: the filter changes no mitigation of speculation, which would cost time. */
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	int listener = install_with(flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);

	if (listener == -EINVAL)
		listener = install_with(flags);
	if (listener >= 0) /* a shorter round trip, where the kernel has it */
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	return listener;
}

int gt_hold_filter_receive(int listener, struct seccomp_notif *ret_notification)
{
	union {
		struct seccomp_notif notification;
		uint8_t space[NOTIFICATION_SIZE];
	} buffer = {0}; /* the kernel wants zeros */

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &buffer) < 0)
		return -errno;
	*ret_notification = buffer.notification;
	return 0;
}

int gt_hold_filter_continue(int listener, uint64_t id)
{
	union {
		struct seccomp_notif_resp response;
		uint8_t space[NOTIFICATION_SIZE];
	} buffer = {.response = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE}};

	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &buffer) < 0 ? -errno : 0;
}
