/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The text of system calls from made-up events: what cannot be called here (NVIDIA's driver, other
 * machines), and records that no kernel has written. tests/cli/syscall.bats compares with strace.
 */
#include "kernel/syscalls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "kernel/ioctls.h"
#include "tap.h"

#define MAX_TAIL 512

/* An event with room for copies. */
struct made_up_call {
	union {
		struct gt_event_syscall event;
		char bytes[sizeof(struct gt_event_syscall) + MAX_TAIL];
	};
};

static struct made_up_call make_call(const char *name, const __u64 *arguments, size_t count)
{
	struct made_up_call call = {
		.event = {.number = (__u32)gt_syscall_number(GT_SYSCALL_X86_64, name)}};

	call.event.head.kind = GT_EVENT_syscall;
	call.event.head.size = sizeof(call.event);
	memcpy((char *)&call.event + offsetof(struct gt_event_syscall, argument0), arguments,
	       count * sizeof(*arguments));
	return call;
}
#define CALL_OF(name, ...)                                                                         \
	make_call(name, (const __u64[]){__VA_ARGS__},                                              \
		  sizeof((const __u64[]){__VA_ARGS__}) / sizeof(__u64))

static void add_chunk(struct made_up_call *call, struct gt_syscall_chunk chunk, const void *bytes)
{
	const __u16 size = chunk.size;
	char *at = call->bytes + call->event.head.size;

	memcpy(at, &chunk, sizeof(chunk));
	memcpy(at + sizeof(chunk), bytes, size);
	call->event.head.size += (__u16)(sizeof(chunk) + ((size + 7U) & ~7U));
}

static void add_copy(struct made_up_call *call, __u8 argument, __u8 element, const void *bytes,
		     __u16 size)
{
	add_chunk(call,
		  (struct gt_syscall_chunk){.argument = argument, .element = element, .size = size},
		  bytes);
}

/* A copy that was made when the call had returned. */
static void add_result(struct made_up_call *call, __u8 argument, const void *bytes, __u16 size)
{
	add_chunk(call,
		  (struct gt_syscall_chunk){.argument = argument, .at_return = 1, .size = size},
		  bytes);
}

static void add_file(struct made_up_call *call, const char *module, const char *name, __u32 device)
{
	struct gt_syscall_file file = {0};

	snprintf(file.module, sizeof(file.module), "%s", module);
	snprintf(file.name, sizeof(file.name), "%s", name);
	add_copy(call, GT_SYSCALL_FILE, 0, &file, sizeof(file));
	call->event.device = device;
}

static void expect_call(const struct made_up_call *call, const char *expected)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_syscall_put_name(&text, &call->event);
	gt_strbuf_putc(&text, '(');
	gt_syscall_put_arguments(&text, &call->event);
	gt_strbuf_puts(&text, ") = ");
	gt_syscall_put_result(&text, &call->event);
	CHECK_STR(gt_strbuf_string(&text), expected);
}

TEST("numbers and names are those of the machine")
{
	CHECK_INT(gt_syscall_number(gt_syscall_machine(), "ioctl"), SYS_ioctl);
	CHECK_INT(gt_syscall_number(gt_syscall_machine(), "clone3"), SYS_clone3);
	CHECK_INT(gt_syscall_number(GT_SYSCALL_X86_64, "open"), 2);
	CHECK_INT(gt_syscall_number(GT_SYSCALL_AARCH64, "open"), -1);
	CHECK_INT(gt_syscall_number(GT_SYSCALL_AARCH64, "openat"), 56);
	CHECK_STR(gt_syscall_name(GT_SYSCALL_AARCH64, 222), "mmap");
	CHECK(!gt_syscall_name(GT_SYSCALL_X86_64, 400));
	CHECK(!gt_syscall_name(GT_SYSCALL_X86_64, ~0U));
	CHECK(!gt_syscall_name(GT_SYSCALL_COMPAT, 1));
	CHECK_INT(gt_syscall_number(GT_SYSCALL_COMPAT, "read"), -1);
}

TEST("commands of NVIDIA's resource manager are named, also inside a transfer")
{
	const __u32 control[8] = {0xc1d00001, 0x5c000002, 0x20800102, 0, 0x1000};
	const __u32 transfer[4] = {GT_NV_ESC_RM_CONTROL, 32, 0x2000};
	struct made_up_call call = CALL_OF("ioctl", 3, 0xc020462a, 0x1000);

	add_file(&call, "nvidia", "nvidiactl", 195 << 20 | 255);
	add_copy(&call, 2, 0, control, sizeof(control));
	expect_call(&call, "ioctl(3, NV_ESC_RM_CONTROL, {hClient=0xc1d00001, hObject=0x5c000002, "
			   "cmd=NV2080_CTRL_CMD_GPU_GET_INFO_V2, ...}) = 0");
	call = CALL_OF("ioctl", 3, 0xc01046d3, 0x1000);
	add_file(&call, "nvidia", "nvidia0", 195 << 20);
	add_copy(&call, 2, 0, transfer, sizeof(transfer));
	add_copy(&call, 2, 1, control, sizeof(control));
	expect_call(&call, "ioctl(3, NV_ESC_IOCTL_XFER_CMD, {cmd=NV_ESC_RM_CONTROL, "
			   "ptr={hClient=0xc1d00001, hObject=0x5c000002, "
			   "cmd=NV2080_CTRL_CMD_GPU_GET_INFO_V2, ...}}) = 0");
}

TEST("the commands of a device file are those of its driver")
{
	struct made_up_call call = CALL_OF("ioctl", 4, 0xc0186440, 0x1000);

	add_file(&call, "xe", "renderD128", 226 << 20 | 128);
	expect_call(&call, "ioctl(4, DRM_IOCTL_XE_DEVICE_QUERY, 0x1000) = 0");
	call = CALL_OF("ioctl", 4, 25, 0x1000);
	add_file(&call, "nvidia_uvm", "nvidia-uvm", 508 << 20);
	expect_call(&call, "ioctl(4, UVM_REGISTER_GPU_VASPACE, 0x1000) = 0");
	call = CALL_OF("ioctl", 4, 0xc0584b02, 0x1000);
	add_file(&call, "amdgpu", "kfd", 235 << 20);
	expect_call(&call, "ioctl(4, AMDKFD_IOC_CREATE_QUEUE, 0x1000) = 0");
	call = CALL_OF("ioctl", 4, 0xc020462a, 0x1000);
	expect_call(&call, "ioctl(4, _IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x2a, 0x20), 0x1000) = 0");
}

TEST("errors have their names, and those that programs do not see are as strace has them")
{
	struct made_up_call call = CALL_OF("close", 9);

	call.event.result = -EBADF;
	expect_call(&call, "close(9) = -1 EBADF (Bad file descriptor)");
	CHECK_INT(gt_syscall_error(&call.event), EBADF);
	call.event.result = -512;
	expect_call(&call, "close(9) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)");
	call.event.result = -4000;
	expect_call(&call, "close(9) = -1 (errno 4000)");
	call.event.result = -5000;
	expect_call(&call, "close(9) = -5000");
	CHECK_INT(gt_syscall_error(&call.event), 0);
	call.event.state = GT_SYSCALL_ENDED;
	expect_call(&call, "close(9) = ?");
}

TEST("calls of unknown numbers and of 32-bit programs have raw arguments")
{
	struct made_up_call call = CALL_OF("read", 1, 2, 3, 4, 5, 6);

	call.event.number = 999;
	expect_call(&call, "syscall_999(0x1, 0x2, 0x3, 0x4, 0x5, 0x6) = 0");
	call.event.machine = GT_SYSCALL_COMPAT;
	call.event.number = 5;
	expect_call(&call, "syscall32_5(0x1, 0x2, 0x3, 0x4, 0x5, 0x6) = 0");
	call.event.machine = 77;
	expect_call(&call, "syscall_5(0x1, 0x2, 0x3, 0x4, 0x5, 0x6) = 0");
}

TEST("of structures that are not decoded the address is shown, and no register after the arguments")
{
	struct made_up_call call = CALL_OF("getdents64", 3, 0x1000, 32768, 0xdead, 0xdead, 0xdead);

	call.event.result = 48;
	expect_call(&call, "getdents64(3, 0x1000, 32768) = 48");
	call = CALL_OF("uname", 0x1000, 0xdead, 0xdead, 0xdead, 0xdead, 0xdead);
	expect_call(&call, "uname(0x1000) = 0");
	call = CALL_OF("statx", -100, 0x2000, 0x100, 0x25e, 0x1000, 0xdead);
	add_copy(&call, 1, 0, "/dev/nvidia0", 12);
	expect_call(
		&call,
		"statx(AT_FDCWD, \"/dev/nvidia0\", AT_STATX_SYNC_AS_STAT|AT_SYMLINK_NOFOLLOW, "
		"STATX_MODE|STATX_NLINK|STATX_UID|STATX_GID|STATX_MTIME|STATX_SIZE, 0x1000) = 0");
	call = CALL_OF("munlockall", 0xdead, 0xdead, 0xdead, 0xdead, 0xdead, 0xdead);
	expect_call(&call, "munlockall() = 0");
}

/* struct msghdr and struct cmsghdr of 64-bit machines */
struct made_up_message {
	__u64 address, address_size, vectors, vector_count, control, control_size;
	__u32 flags, padding;
};

struct made_up_control {
	__u64 length;
	__u32 level, type;
	__u32 descriptors[4];
};

static void expect_control(const struct made_up_control *control, __u16 copied, __u64 size,
			   const char *shown)
{
	const struct made_up_message header = {.control = 0x3000, .control_size = size};
	struct made_up_call call = CALL_OF("sendmsg", 3, 0x1000, 0);
	gt_auto_strbuf expected = GT_STRBUF_INIT;

	add_copy(&call, 1, 0, &header, sizeof(header));
	add_copy(&call, 1, GT_SYSCALL_MESSAGE_CONTROL, control, copied);
	gt_strbuf_printf(&expected,
			 "sendmsg(3, {msg_name=NULL, msg_namelen=0, msg_iov=NULL, msg_iovlen=0, "
			 "msg_control=%s, msg_controllen=%llu, msg_flags=0}, 0) = 0",
			 shown, (unsigned long long)size);
	expect_call(&call, gt_strbuf_string(&expected));
}

TEST("of control messages descriptors and credentials are shown; of others the address")
{
	struct made_up_control control = {28, SOL_SOCKET, SCM_RIGHTS, {5, 6, 7}};

	expect_control(&control, 32, 32,
		       "[{cmsg_len=28, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, "
		       "cmsg_data=[5, 6, 7]}]");
	expect_control(&control, 32, 200, "0x3000"); /* longer than the copy */
	expect_control(&control, 12, 12, "0x3000");  /* shorter than a header */
	control.type = SCM_CREDENTIALS;
	expect_control(&control, 32, 32,
		       "[{cmsg_len=28, cmsg_level=SOL_SOCKET, cmsg_type=SCM_CREDENTIALS, "
		       "cmsg_data={pid=5, uid=6, gid=7}}]");
	control.length = 24; /* one member is missing */
	expect_control(&control, 24, 24, "0x3000");
	control.length = 28;
	control.type = SCM_CREDENTIALS + 1;
	expect_control(&control, 32, 32, "0x3000");
	control.type = SCM_RIGHTS;
	for (__u64 length = 0; length < 16; length++) {
		control.length = length;
		expect_control(&control, 32, 32, "0x3000");
	}
	control.length = 33;
	expect_control(&control, 32, 32, "0x3000");
	control.length = ~0ULL;
	expect_control(&control, 32, 32, "0x3000");
}

TEST("a message has the addresses of what is not copied")
{
	const struct made_up_message header = {
		.address = 0x2000, .address_size = 16, .vectors = 0x4000, .vector_count = 3};
	const __u64 vectors[] = {0x5000, 4, 0x6000, 9};
	struct made_up_call call = CALL_OF("sendmsg", 3, 0x1000, 0);

	expect_call(&call, "sendmsg(3, 0x1000, 0) = 0");
	add_copy(&call, 1, 0, &header, 40); /* truncated */
	expect_call(&call, "sendmsg(3, 0x1000, 0) = 0");
	call = CALL_OF("sendmsg", 3, 0x1000, 0);
	add_copy(&call, 1, 0, &header, sizeof(header));
	expect_call(&call, "sendmsg(3, {msg_name=0x2000, msg_namelen=16, msg_iov=0x4000, "
			   "msg_iovlen=3, msg_controllen=0, msg_flags=0}, 0) = 0");
	add_copy(&call, 1, GT_SYSCALL_MESSAGE_VECTORS, vectors, sizeof(vectors));
	add_copy(&call, 1, 2, "some", 4);
	expect_call(&call, "sendmsg(3, {msg_name=0x2000, msg_namelen=16, "
			   "msg_iov=[{iov_base=0x5000, iov_len=4}, {iov_base=\"some\"..., "
			   "iov_len=9}], msg_iovlen=3, msg_controllen=0, msg_flags=0}, 0) = 0");
}

TEST("an address that is returned is shown as far as there was room for it")
{
	const struct sockaddr_un address = {AF_UNIX, "a.socket"};
	const __u32 before[] = {5, 1, ~0U}, after = 11;
	struct made_up_call call = CALL_OF("accept", 3, 0x1000, 0x2000);

	expect_call(&call, "accept(3, 0x1000, 0x2000) = 0");
	add_result(&call, 1, &address, 11);
	add_result(&call, 2, &after, sizeof(after));
	expect_call(&call, "accept(3, 0x1000, 0x2000) = 0");
	add_copy(&call, 2, 0, &before[0], 4);
	expect_call(&call, "accept(3, {sa_family=AF_UNIX, sun_path=\"a.s\"}, [5 => 11]) = 0");
	call = CALL_OF("accept", 3, 0x1000, 0x2000);
	add_result(&call, 1, &address, 11);
	add_copy(&call, 2, 0, &before[1], 4);
	expect_call(&call, "accept(3, 0x1000, [1]) = 0");
	call = CALL_OF("accept", 3, 0x1000, 0x2000);
	add_result(&call, 1, &address, 1); /* less than the family */
	add_copy(&call, 2, 0, &before[2], 4);
	expect_call(&call, "accept(3, 0x1000, [-1]) = 0");
}

TEST("an option that is shorter than its structure is shown as its bytes")
{
	const __u32 words[] = {1, 2, 3};
	struct made_up_call call = CALL_OF("setsockopt", 3, SOL_SOCKET, SO_LINGER, 0x1000, 12);

	expect_call(&call, "setsockopt(3, SOL_SOCKET, SO_LINGER, 0x1000, 12) = 0");
	add_copy(&call, 3, 0, words, 6);
	expect_call(&call, "setsockopt(3, SOL_SOCKET, SO_LINGER, \"\\1\\0\\0\\0\\2\\0\", 12) = 0");
	call = CALL_OF("setsockopt", 3, SOL_SOCKET, SO_PEERCRED, 0x1000, 12);
	add_copy(&call, 3, 0, words, 12);
	expect_call(&call, "setsockopt(3, SOL_SOCKET, SO_PEERCRED, {pid=1, uid=2, gid=3}, 12) = 0");
	call = CALL_OF("setsockopt", 3, 99, 500, 0x1000, 4);
	add_copy(&call, 3, 0, words, 4);
	expect_call(&call, "setsockopt(3, 0x63 /* SOL_?\?? */, 0x1f4, [1], 4) = 0");
}

TEST("sets, a timer and usage that are truncated are addresses, and a negative number has no sets")
{
	const __u64 words[] = {1, 2, 3};
	struct made_up_call call = CALL_OF("select", -1, 0x1000, 0, 0, 0);

	call.event.result = 1;
	add_copy(&call, 1, 0, words, 8);
	expect_call(&call, "select(-1, 0x1000, NULL, NULL, NULL) = 1");
	call = CALL_OF("pselect6", 3, 0, 0, 0, 0x1000, 0x2000);
	add_copy(&call, 4, 0, words, 15);
	add_copy(&call, 5, 0, words, 15);
	expect_call(&call, "pselect6(3, NULL, NULL, NULL, 0x1000, 0x2000) = 0 (Timeout)");
	call = CALL_OF("timerfd_gettime", 3, 0x1000);
	add_result(&call, 1, words, 24);
	expect_call(&call, "timerfd_gettime(3, 0x1000) = 0");
	call = CALL_OF("getrusage", 0, 0x1000);
	add_result(&call, 1, words, 24);
	expect_call(&call, "getrusage(RUSAGE_SELF, 0x1000) = 0");
}

TEST("flags are those of the machine")
{
	struct made_up_call call = CALL_OF("openat", -100, 0, 0200000 | 040000);

	expect_call(&call, "openat(AT_FDCWD, NULL, O_RDONLY|O_DIRECT|O_DIRECTORY) = 0");
	call.event.machine = GT_SYSCALL_AARCH64;
	call.event.number = 56;
	expect_call(&call, "openat(AT_FDCWD, NULL, O_RDONLY|O_DIRECT|O_DIRECTORY) = 0");
}

TEST("a copy that is shorter than its structure is not read")
{
	struct made_up_call call = CALL_OF("nanosleep", 0x1000, 0);
	struct gt_syscall_chunk chunk = {.size = 16};

	add_copy(&call, 0, 0, "123", 3);
	expect_call(&call, "nanosleep(0x1000, NULL) = 0");
	/* A size beyond the record. */
	call = CALL_OF("nanosleep", 0x1000, 0);
	memcpy(call.bytes + sizeof(call.event), &chunk, sizeof(chunk));
	call.event.head.size += sizeof(chunk) + 8;
	expect_call(&call, "nanosleep(0x1000, NULL) = 0");
}

/* The tail ends where a page ends that cannot be read: sanitizers see reads after it, too. */
TEST("records with random copies are decoded within their bounds")
{
	unsigned seed = 1;

	for (unsigned round = 0; round < 60000; round++) {
		size_t tail = (size_t)(rand_r(&seed) % 20) * 8;
		struct gt_event_syscall *event = malloc(sizeof(*event) + tail);
		gt_auto_strbuf text = GT_STRBUF_INIT;

		for (size_t i = 0; i < sizeof(*event) + tail; i++)
			((unsigned char *)event)[i] = (unsigned char)(rand_r(&seed) >> 8);
		event->head.kind = GT_EVENT_syscall;
		event->head.size = (__u16)(sizeof(*event) + tail);
		event->number = (__u32)rand_r(&seed) % 480;
		event->machine = (__u16)(rand_r(&seed) % 3);
		event->state = 0;
		event->result = rand_r(&seed) % 200 - 20;
		for (size_t at = 0; at + 8 <= tail; at += 8 * (1 + (size_t)(rand_r(&seed) % 6))) {
			struct gt_syscall_chunk chunk = {
				.argument = (__u8)(rand_r(&seed) % 6),
				.at_return = rand_r(&seed) & 1,
				.element = (__u8)(rand_r(&seed) % 3),
				.size = (__u16)(rand_r(&seed) % 48),
				.total = (__u16)(rand_r(&seed) % 6),
			};

			memcpy(event->data + at, &chunk, sizeof(chunk));
		}
		for (unsigned i = 0; i < 6; i++)
			if (rand_r(&seed) & 1)
				(&event->argument0)[i] %= 64;
		gt_syscall_put_name(&text, event);
		gt_syscall_put_arguments(&text, event);
		gt_syscall_put_result(&text, event);
		if (!text.length || text.length > 4096)
			CHECK_INT(text.length, 0);
		free(event);
	}
}

TEST("a plan has the copies of all forms of a call, each for the values that need it")
{
	struct gt_syscall_plan plan = gt_syscall_plan(SYS_futex);

	CHECK_INT(plan.copies, 1);
	CHECK_INT(plan.copy[0].argument, 3);
	CHECK_INT(plan.copy[0].select, 1);
	/* FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2 */
	CHECK_INT(plan.copy[0].values, 1 | 1 << 6 | 1 << 9 | 1 << 11 | 1 << 13);
	plan = gt_syscall_plan(SYS_openat);
	CHECK_INT(plan.copies, 1);
	CHECK_INT(plan.copy[0].argument, 1);
	CHECK_INT(plan.copy[0].method, GT_SYSCALL_COPY_STRING);
	plan = gt_syscall_plan(SYS_poll);
	CHECK_INT(plan.copies, 2);
	CHECK_INT(plan.copy[0].length, 1);
	CHECK(!plan.copy[0].at_return && plan.copy[1].at_return);
	plan = gt_syscall_plan(SYS_ioctl);
	CHECK(plan.has_file);
	plan = gt_syscall_plan(511);
	CHECK_INT(plan.copies, 0);
}

TEST("no call of this machine has more copies than a plan")
{
	for (unsigned number = 0; number < GT_SYSCALL_NUMBERS; number++) {
		struct gt_syscall_plan plan = gt_syscall_plan(number);

		CHECK(plan.copies < GT_SYSCALL_MAX_COPIES);
	}
}

TEST_MAIN
