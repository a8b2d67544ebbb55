/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Structures that arguments of system calls refer to, as strace prints them. Layouts are the
 * kernel's (include/uapi), of the machine that the event is from. Copies may lie at any address.
 */
#include <arpa/inet.h>
#include <string.h>

#include "base/clean.h"
#include "kernel/private.h"

#define SIGNALS 64

bool gt_argument_bytes(const struct gt_argument *argument, size_t minimum, const char **ret_bytes)
{
	struct gt_argument_copy copy;

	if (!gt_argument_copy(argument, minimum, &copy)) {
		gt_put_pointer(argument);
		return false;
	}
	*ret_bytes = copy.bytes;
	return true;
}

void gt_put_vectors(const struct gt_argument *argument)
{
	struct gt_argument_copy array;
	/* Of readv(2), only so many bytes are the call's. */
	bool reads = gt_argument_find(argument->event, argument->index, true, 0, 0, &array);
	__u64 rest = reads ? (__u64)argument->event->result : ~0ULL;

	if (!gt_argument_copy(argument, 0, &array) || !argument->value) {
		gt_put_pointer(argument);
		return;
	}
	gt_put_buffers(argument, &array, reads, 0, rest);
}

void gt_put_buffers(const struct gt_argument *argument, const struct gt_argument_copy *array,
		    bool at_return, unsigned first, __u64 rest)
{
	struct gt_argument_copy data;

	gt_strbuf_putc(argument->text, '[');
	for (unsigned i = 0; (i + 1) * 16 <= array->size; i++) {
		__u64 address = gt_read_u64(array->bytes, i * 16);
		__u64 size = gt_read_u64(array->bytes, i * 16 + 8);
		__u64 used = size < rest ? size : rest;

		gt_strbuf_puts(argument->text, i ? ", {iov_base=" : "{iov_base=");
		if (gt_argument_find(argument->event, argument->index, at_return, first + i + 1, 0,
				     &data))
			gt_put_quoted(argument->text, data.bytes,
				      data.size < used ? data.size : used, used > data.size);
		else
			gt_put_pointer_value(argument->text, address);
		gt_strbuf_printf(argument->text, ", iov_len=%llu}", (unsigned long long)size);
		rest -= used;
	}
	gt_strbuf_puts(argument->text, array->total * 16 > array->size ? ", ...]" : "]");
}

void gt_put_timespec_value(struct gt_strbuf *text, const char *bytes)
{
	gt_strbuf_printf(text, "{tv_sec=%lld, tv_nsec=%llu}", (long long)gt_read_u64(bytes, 0),
			 (unsigned long long)gt_read_u64(bytes, 8));
}

void gt_put_timespec(const struct gt_argument *argument)
{
	const char *bytes;

	if (gt_argument_bytes(argument, 16, &bytes))
		gt_put_timespec_value(argument->text, bytes);
}

/* A set with most signals is printed as those that it lacks, "~[KILL STOP]". */
static void put_signal_mask(struct gt_strbuf *text, __u64 mask)
{
	bool negated = __builtin_popcountll(mask) >= SIGNALS * 2 / 3;
	const char *separator = "";

	gt_strbuf_puts(text, negated ? "~[" : "[");
	for (unsigned i = 0; i < SIGNALS; i++) {
		gt_auto_strbuf name = GT_STRBUF_INIT;

		if ((mask >> i & 1) == negated)
			continue;
		gt_put_signal_name(&name, i + 1);
		gt_strbuf_printf(text, "%s%s", separator, gt_strbuf_string(&name) + strlen("SIG"));
		separator = " ";
	}
	gt_strbuf_putc(text, ']');
}

void gt_put_signal_set(const struct gt_argument *argument)
{
	const char *bytes;

	if (gt_argument_bytes(argument, 8, &bytes))
		put_signal_mask(argument->text, gt_read_u64(bytes, 0));
}

/* The kernel's struct sigaction: handler, flags, restorer, mask. */
/* {pointer to a set, its size} */
void gt_put_signal_set_reference(const struct gt_argument *argument)
{
	struct gt_argument_copy set;
	const char *bytes;

	if (!gt_argument_bytes(argument, 16, &bytes))
		return;
	gt_strbuf_puts(argument->text, "{sigmask=");
	if (gt_argument_find(argument->event, argument->index, false, 1, 8, &set))
		put_signal_mask(argument->text, gt_read_u64(set.bytes, 0));
	else
		gt_put_pointer_value(argument->text, gt_read_u64(bytes, 0));
	gt_strbuf_printf(argument->text, ", sigsetsize=%llu}",
			 (unsigned long long)gt_read_u64(bytes, 8));
}

void gt_put_signal_action(const struct gt_argument *argument)
{
	static const char *const handlers[] = {"SIG_DFL", "SIG_IGN"};
	const char *bytes;
	__u64 handler;

	if (!gt_argument_bytes(argument, 32, &bytes))
		return;
	handler = gt_read_u64(bytes, 0);
	gt_strbuf_puts(argument->text, "{sa_handler=");
	if (handler < gt_countof(handlers))
		gt_strbuf_puts(argument->text, handlers[handler]);
	else
		gt_put_pointer_value(argument->text, handler);
	gt_strbuf_puts(argument->text, ", sa_mask=");
	put_signal_mask(argument->text, gt_read_u64(bytes, 24));
	gt_strbuf_puts(argument->text, ", sa_flags=");
	gt_names_put_flags(argument->text, GT_NAMES_sigaction_flags, gt_read_u32(bytes, 8));
	if (gt_read_u32(bytes, 8) & 0x4000000) {
		gt_strbuf_puts(argument->text, ", sa_restorer=");
		gt_put_pointer_value(argument->text, gt_read_u64(bytes, 16));
	}
	gt_strbuf_putc(argument->text, '}');
}

void gt_put_fd_pair(const struct gt_argument *argument)
{
	const char *bytes;

	if (gt_argument_bytes(argument, 8, &bytes))
		gt_strbuf_printf(argument->text, "[%d, %d]", (int)gt_read_u32(bytes, 0),
				 (int)gt_read_u32(bytes, 4));
}

void gt_put_wait_status(const struct gt_argument *argument)
{
	struct gt_strbuf *text = argument->text;
	const char *bytes;
	__u32 status;

	if (argument->event->result <= 0) {
		gt_put_pointer(argument);
		return;
	}
	if (!gt_argument_bytes(argument, 4, &bytes))
		return;
	status = gt_read_u32(bytes, 0);
	if (!(status & 0x7f)) {
		gt_strbuf_printf(text, "[{WIFEXITED(s) && WEXITSTATUS(s) == %u}]",
				 status >> 8 & 0xff);
	} else if ((status & 0xff) == 0x7f) {
		gt_strbuf_puts(text, "[{WIFSTOPPED(s) && WSTOPSIG(s) == ");
		gt_put_signal_name(text, status >> 8 & 0xff);
		gt_strbuf_puts(text, "}]");
	} else {
		gt_strbuf_puts(text, "[{WIFSIGNALED(s) && WTERMSIG(s) == ");
		gt_put_signal_name(text, status & 0x7f);
		gt_strbuf_puts(text, status & 0x80 ? " && WCOREDUMP(s)}]" : "}]");
	}
}

/* ---- clone -------------------------------------------------------------------------------- */

#define HAS_PIDFD 0x1000
#define HAS_TLS 0x80000
#define HAS_PARENT_TID 0x100000
#define HAS_CHILD_TID (0x200000 | 0x1000000)

void gt_put_clone_flags(struct gt_strbuf *text, __u64 flags, __u64 signal)
{
	if (flags || !signal)
		gt_names_put_flags(text, GT_NAMES_clone_flags, flags);
	if (signal) {
		gt_strbuf_puts(text, flags ? "|" : "");
		gt_put_signal_name(text, signal);
	}
}

/* clone(flags, stack, parent_tid, child_tid, tls); of other machines than x86, tls is before
 * child_tid. */
void gt_put_clone(const struct gt_argument *argument)
{
	const struct gt_event_syscall *event = argument->event;
	bool is_x86 = event->machine == GT_SYSCALL_X86_64;
	struct gt_strbuf *text = argument->text;
	__u64 flags = event->argument0;

	gt_strbuf_puts(text, "child_stack=");
	gt_put_pointer_value(text, event->argument1);
	gt_strbuf_puts(text, ", flags=");
	gt_put_clone_flags(text, flags & ~0xffULL & 0xffffffff, flags & 0xff);
	if (flags & (HAS_PARENT_TID | HAS_PIDFD)) {
		gt_strbuf_puts(text, flags & HAS_PIDFD ? ", pidfd=" : ", parent_tid=");
		if (event->result > 0 && !(flags & HAS_PIDFD))
			gt_strbuf_printf(text, "[%lld]", (long long)event->result);
		else
			gt_put_pointer_value(text, event->argument2);
	}
	if (flags & HAS_TLS) {
		gt_strbuf_puts(text, ", tls=");
		gt_put_pointer_value(text, is_x86 ? event->argument4 : event->argument3);
	}
	if (flags & HAS_CHILD_TID) {
		gt_strbuf_puts(text, ", child_tidptr=");
		gt_put_pointer_value(text, is_x86 ? event->argument3 : event->argument4);
	}
}

static void put_clone_pointer(struct gt_strbuf *text, const char *name, __u64 value)
{
	gt_strbuf_printf(text, ", %s=", name);
	gt_put_pointer_value(text, value);
}

/* struct clone_args, include/uapi/linux/sched.h: words of 64 bits. */
void gt_put_clone_arguments(const struct gt_argument *argument)
{
	struct gt_strbuf *text = argument->text;
	const char *bytes;
	__u64 words[8], flags;

	if (!gt_argument_bytes(argument, sizeof(words), &bytes))
		return;
	memcpy(words, bytes, sizeof(words));
	flags = words[0];
	gt_strbuf_puts(text, "{flags=");
	gt_names_put_flags(text, GT_NAMES_clone_flags, flags);
	if (flags & HAS_PIDFD)
		put_clone_pointer(text, "pidfd", words[1]);
	if (flags & HAS_CHILD_TID)
		put_clone_pointer(text, "child_tid", words[2]);
	if (flags & HAS_PARENT_TID)
		put_clone_pointer(text, "parent_tid", words[3]);
	gt_strbuf_puts(text, ", exit_signal=");
	if (words[4])
		gt_put_signal_name(text, words[4]);
	else
		gt_strbuf_putc(text, '0');
	put_clone_pointer(text, "stack", words[5]);
	gt_strbuf_printf(text, words[6] ? ", stack_size=%#llx" : ", stack_size=%llu",
			 (unsigned long long)words[6]);
	if (flags & HAS_TLS)
		put_clone_pointer(text, "tls", words[7]);
	gt_strbuf_putc(text, '}');
	if (flags & HAS_PARENT_TID && argument->event->result > 0)
		gt_strbuf_printf(text, " => {parent_tid=[%lld]}",
				 (long long)argument->event->result);
}

/* ---- waiting ------------------------------------------------------------------------------ */

void gt_put_poll_fds(const struct gt_argument *argument)
{
	struct gt_argument_copy copy;

	if (!gt_argument_find(argument->event, argument->index, false, 0, 0, &copy)) {
		gt_put_pointer(argument);
		return;
	}
	gt_strbuf_putc(argument->text, '[');
	for (size_t at = 0; at + 8 <= copy.size; at += 8) {
		gt_strbuf_printf(argument->text, "%s{fd=%d", at ? ", " : "",
				 (int)gt_read_u32(copy.bytes, at));
		if ((int)gt_read_u32(copy.bytes, at) >= 0) {
			gt_strbuf_puts(argument->text, ", events=");
			gt_names_put_flags(argument->text, GT_NAMES_poll_events,
					   gt_read_u16(copy.bytes, at + 4));
		}
		gt_strbuf_putc(argument->text, '}');
	}
	gt_strbuf_puts(argument->text, copy.total * 8 > copy.size ? ", ...]" : "]");
}

/* "[{fd=3, revents=POLLIN}]" */
static void put_ready(struct gt_strbuf *text, const struct gt_argument_copy *copy)
{
	const char *separator = "[";

	for (size_t at = 0; at + 8 <= copy->size; at += 8) {
		if (!gt_read_u16(copy->bytes, at + 6) || (int)gt_read_u32(copy->bytes, at) < 0)
			continue;
		gt_strbuf_printf(text, "%s{fd=%d, revents=", separator,
				 (int)gt_read_u32(copy->bytes, at));
		gt_names_put_flags(text, GT_NAMES_poll_events, gt_read_u16(copy->bytes, at + 6));
		gt_strbuf_putc(text, '}');
		separator = ", ";
	}
	if (*separator == ',')
		gt_strbuf_puts(text, copy->total * 8 > copy->size ? ", ...]" : "]");
}

/* " ([{fd=3, revents=POLLIN}])", with the rest of ppoll's time, or " (Timeout)" */
void gt_put_poll_result(struct gt_strbuf *text, const struct gt_event_syscall *event)
{
	const char *name = gt_syscall_name(event->machine, event->number);
	gt_auto_strbuf ready = GT_STRBUF_INIT;
	struct gt_argument_copy copy;

	if (!name || (strcmp(name, "poll") != 0 && strcmp(name, "ppoll") != 0))
		return;
	if (!event->result) {
		gt_strbuf_puts(text, " (Timeout)");
		return;
	}
	if (gt_argument_find(event, 0, true, 0, 0, &copy))
		put_ready(&ready, &copy);
	if (!ready.length)
		return;
	gt_strbuf_printf(text, " (%s", gt_strbuf_string(&ready));
	if (gt_argument_find(event, 2, true, 0, 16, &copy)) {
		gt_strbuf_puts(text, ", left ");
		gt_put_timespec_value(text, copy.bytes);
	}
	gt_strbuf_putc(text, ')');
}

/* struct epoll_event is packed on x86 only. */
static size_t epoll_event_size(const struct gt_event_syscall *event)
{
	return event->machine == GT_SYSCALL_X86_64 ? 12 : 16;
}

static void put_epoll(const struct gt_argument *argument, const char *bytes)
{
	__u64 data = gt_read_u64(bytes, epoll_event_size(argument->event) - 8);

	gt_strbuf_puts(argument->text, "{events=");
	gt_names_put_flags(argument->text, GT_NAMES_epoll_events, gt_read_u32(bytes, 0));
	gt_strbuf_printf(argument->text, ", data={u32=%u, u64=%llu}}", (__u32)data,
			 (unsigned long long)data);
}

void gt_put_epoll_event(const struct gt_argument *argument)
{
	const char *bytes;

	/* EPOLL_CTL_DEL has no event, whatever the argument is. */
	if (argument->event->argument1 == 2)
		gt_put_pointer(argument);
	else if (gt_argument_bytes(argument, epoll_event_size(argument->event), &bytes))
		put_epoll(argument, bytes);
}

void gt_put_epoll_events(const struct gt_argument *argument)
{
	size_t size = epoll_event_size(argument->event);
	struct gt_argument_copy copy;

	if (!gt_argument_copy(argument, 0, &copy)) {
		gt_put_pointer(argument);
		return;
	}
	gt_strbuf_putc(argument->text, '[');
	for (size_t at = 0; at + size <= copy.size; at += size) {
		gt_strbuf_puts(argument->text, at ? ", " : "");
		put_epoll(argument, copy.bytes + at);
	}
	gt_strbuf_puts(argument->text, copy.total * size > copy.size ? ", ...]" : "]");
}

/* ---- others ------------------------------------------------------------------------------- */

static void put_unix_address(struct gt_strbuf *text, const char *bytes, size_t size)
{
	const char *path = bytes + 2;
	size_t length = size - 2;

	if (!length)
		return;
	gt_strbuf_puts(text, ", sun_path=");
	if (!*path)
		gt_strbuf_putc(text, '@');
	path += !*path;
	length -= path != bytes + 2;
	if (path == bytes + 2)
		length = strnlen(path, length);
	gt_put_quoted(text, path, length, false);
}

static void put_ip_address(struct gt_strbuf *text, const char *bytes, size_t size)
{
	char name[INET6_ADDRSTRLEN] = "";

	if (gt_read_u16(bytes, 0) == AF_INET && size >= 8) {
		inet_ntop(AF_INET, bytes + 4, name, sizeof(name));
		gt_strbuf_printf(text, ", sin_port=htons(%u), sin_addr=inet_addr(\"%s\")",
				 ntohs(gt_read_u16(bytes, 2)), name);
	} else if (gt_read_u16(bytes, 0) == AF_INET6 && size >= 28) {
		inet_ntop(AF_INET6, bytes + 8, name, sizeof(name));
		gt_strbuf_printf(text,
				 ", sin6_port=htons(%u), sin6_flowinfo=htonl(%u), "
				 "inet_pton(AF_INET6, \"%s\", &sin6_addr), sin6_scope_id=%u",
				 ntohs(gt_read_u16(bytes, 2)), ntohl(gt_read_u32(bytes, 4)), name,
				 gt_read_u32(bytes, 24));
	}
}

void gt_put_address(struct gt_strbuf *text, const struct gt_argument_copy *copy)
{
	gt_strbuf_puts(text, "{sa_family=");
	gt_names_put_value(text, GT_NAMES_address_families, gt_read_u16(copy->bytes, 0));
	if (gt_read_u16(copy->bytes, 0) == AF_UNIX)
		put_unix_address(text, copy->bytes, copy->size);
	else
		put_ip_address(text, copy->bytes, copy->size);
	gt_strbuf_putc(text, '}');
}

void gt_put_socket_address(const struct gt_argument *argument)
{
	struct gt_argument_copy copy;

	if (gt_argument_copy(argument, 2, &copy))
		gt_put_address(argument->text, &copy);
	else
		gt_put_pointer(argument);
}

void gt_put_cpu_set(const struct gt_argument *argument)
{
	struct gt_argument_copy copy;
	const char *separator = "";

	if (!gt_argument_copy(argument, 0, &copy)) {
		gt_put_pointer(argument);
		return;
	}
	gt_strbuf_putc(argument->text, '[');
	for (size_t i = 0; i < copy.size * 8; i++) {
		if (!((unsigned char)copy.bytes[i / 8] >> i % 8 & 1))
			continue;
		gt_strbuf_printf(argument->text, "%s%zu", separator, i);
		separator = " ";
	}
	gt_strbuf_putc(argument->text, ']');
}

void gt_put_node_mask(const struct gt_argument *argument)
{
	/* The kernel takes one bit less than the next argument says (mm/mempolicy.c, get_nodes()).
	 */
	const __u64 bits = gt_argument_value(argument->event, argument->index + 1) - 1;
	struct gt_argument_copy copy;

	if (!gt_argument_copy(argument, 8, &copy)) {
		gt_put_pointer(argument);
		return;
	}
	for (size_t at = 0; at + 8 <= copy.size && at * 8 < bits; at += 8)
		gt_strbuf_printf(argument->text, "%s%#016llx", at ? ", " : "[",
				 (unsigned long long)gt_read_u64(copy.bytes, at));
	gt_strbuf_puts(argument->text, bits > copy.size * 8 ? ", ...]" : "]");
}

static void put_limit_value(struct gt_strbuf *text, __u64 value)
{
	if (value == ~0ULL)
		gt_strbuf_puts(text, "RLIM64_INFINITY");
	else if (value > 1024 && value % 1024 == 0)
		gt_strbuf_printf(text, "%llu*1024", (unsigned long long)value / 1024);
	else
		gt_strbuf_u64(text, value);
}

void gt_put_limit(const struct gt_argument *argument)
{
	const char *bytes;

	if (!gt_argument_bytes(argument, 16, &bytes))
		return;
	gt_strbuf_puts(argument->text, "{rlim_cur=");
	put_limit_value(argument->text, gt_read_u64(bytes, 0));
	gt_strbuf_puts(argument->text, ", rlim_max=");
	put_limit_value(argument->text, gt_read_u64(bytes, 8));
	gt_strbuf_putc(argument->text, '}');
}
