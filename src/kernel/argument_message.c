/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of sockets (struct msghdr), as strace prints them. */
#include <string.h>
#include <sys/socket.h>

#include "kernel/private.h"

/* Offsets in struct msghdr. */
enum {
	MESSAGE_ADDRESS = 0,
	MESSAGE_ADDRESS_SIZE = 8,
	MESSAGE_VECTORS = 16,
	MESSAGE_VECTOR_COUNT = 24,
	MESSAGE_CONTROL = 32,
	MESSAGE_CONTROL_SIZE = 40,
	MESSAGE_FLAGS = 48,
	MESSAGE_SIZE = 52,
	/* In struct mmsghdr. */
	MESSAGE_LENGTH = 56,
	MESSAGES_SIZE = 60,
};

#define CONTROL_HEADER 16 /* bytes of struct cmsghdr */
#define CONTROL_ALIGNMENT 8
#define CREDENTIALS 12 /* bytes of struct ucred */

/* What a message refers to, in the copies that were made at the entry or at the return. */
struct message {
	const struct gt_argument *argument;
	const char *header;
	unsigned first; /* its elements follow this one */
	__u64 received; /* bytes that are the call's; ~0: all */
	bool at_return;
};

static bool find_element(const struct message *message, unsigned element, size_t minimum,
			 struct gt_argument_copy *ret_copy)
{
	return gt_argument_find(message->argument->event, message->argument->index,
				message->at_return, message->first + element, minimum, ret_copy);
}

static void put_message_address(const struct message *message)
{
	struct gt_argument_copy copy;

	if (find_element(message, GT_SYSCALL_MESSAGE_ADDRESS, 2, &copy))
		gt_put_address(message->argument->text, &copy);
	else
		gt_put_pointer_value(message->argument->text,
				     gt_read_u64(message->header, MESSAGE_ADDRESS));
}

static void put_message_buffers(const struct message *message)
{
	const struct gt_argument *argument = message->argument;
	struct gt_argument_copy array;

	if (find_element(message, GT_SYSCALL_MESSAGE_VECTORS, 0, &array))
		gt_put_buffers(argument, &array, message->at_return, message->first,
			       message->received);
	else
		gt_put_pointer_value(argument->text, gt_read_u64(message->header, MESSAGE_VECTORS));
}

static void put_descriptors(struct gt_strbuf *text, const char *bytes, size_t size)
{
	gt_strbuf_putc(text, '[');
	for (size_t at = 0; at + 4 <= size; at += 4)
		gt_strbuf_printf(text, "%s%d", at ? ", " : "", (int)gt_read_u32(bytes, at));
	gt_strbuf_putc(text, ']');
}

void gt_put_credentials(struct gt_strbuf *text, const char *bytes)
{
	gt_strbuf_printf(text, "{pid=%d, uid=%u, gid=%u}", (int)gt_read_u32(bytes, 0),
			 gt_read_u32(bytes, 4), gt_read_u32(bytes, 8));
}

/* Whether a control message has a type that is printed, with its data. */
static bool is_known_type(const char *bytes, __u64 length)
{
	__u32 type = gt_read_u32(bytes, 12);

	return gt_read_u32(bytes, 8) == SOL_SOCKET &&
	       (type == SCM_RIGHTS ||
		(type == SCM_CREDENTIALS && length == CONTROL_HEADER + CREDENTIALS));
}

/* Whether all control messages are whole, and of a type that is printed. */
static bool is_control_known(const struct gt_argument_copy *control, __u64 size)
{
	for (size_t at = 0; at < control->size;) {
		const char *bytes = control->bytes + at;
		size_t rest = control->size - at;
		__u64 length = rest < CONTROL_HEADER ? 0 : gt_read_u64(bytes, 0);

		if (length < CONTROL_HEADER || length > rest || !is_known_type(bytes, length))
			return false;
		at += (length + CONTROL_ALIGNMENT - 1) & ~(size_t)(CONTROL_ALIGNMENT - 1);
	}
	return control->size == size;
}

static void put_control(const struct message *message)
{
	struct gt_strbuf *text = message->argument->text;
	__u64 size = gt_read_u64(message->header, MESSAGE_CONTROL_SIZE);
	struct gt_argument_copy control;

	gt_strbuf_puts(text, ", msg_control=");
	if (!find_element(message, GT_SYSCALL_MESSAGE_CONTROL, 1, &control) ||
	    !is_control_known(&control, size)) {
		gt_put_pointer_value(text, gt_read_u64(message->header, MESSAGE_CONTROL));
		return;
	}
	gt_strbuf_putc(text, '[');
	for (size_t at = 0; at < control.size;) {
		const char *bytes = control.bytes + at;
		__u64 length = gt_read_u64(bytes, 0);

		bool has_descriptors = gt_read_u32(bytes, 12) == SCM_RIGHTS;

		gt_strbuf_printf(
			text, "%s{cmsg_len=%llu, cmsg_level=SOL_SOCKET, cmsg_type=%s, cmsg_data=",
			at ? ", " : "", (unsigned long long)length,
			has_descriptors ? "SCM_RIGHTS" : "SCM_CREDENTIALS");
		if (has_descriptors)
			put_descriptors(text, bytes + CONTROL_HEADER, length - CONTROL_HEADER);
		else
			gt_put_credentials(text, bytes + CONTROL_HEADER);
		gt_strbuf_putc(text, '}');
		at += (length + CONTROL_ALIGNMENT - 1) & ~(size_t)(CONTROL_ALIGNMENT - 1);
	}
	gt_strbuf_putc(text, ']');
}

/* `size_before`: that of the room for an address, before the call. */
static void put_message(const struct message *message, __u32 size_before)
{
	struct gt_strbuf *text = message->argument->text;
	__u32 size = gt_read_u32(message->header, MESSAGE_ADDRESS_SIZE);
	__u64 control_size = gt_read_u64(message->header, MESSAGE_CONTROL_SIZE);

	gt_strbuf_puts(text, "{msg_name=");
	put_message_address(message);
	gt_strbuf_printf(text, ", msg_namelen=%d", (int)size_before);
	if (size != size_before)
		gt_strbuf_printf(text, " => %d", (int)size);
	gt_strbuf_puts(text, ", msg_iov=");
	put_message_buffers(message);
	gt_strbuf_printf(text, ", msg_iovlen=%llu",
			 (unsigned long long)gt_read_u64(message->header, MESSAGE_VECTOR_COUNT));
	if (control_size)
		put_control(message);
	gt_strbuf_printf(text,
			 ", msg_controllen=%llu, msg_flags=", (unsigned long long)control_size);
	gt_names_put_flags(text, GT_NAMES_message_flags,
			   gt_read_u32(message->header, MESSAGE_FLAGS));
	gt_strbuf_putc(text, '}');
}

void gt_put_message(const struct gt_argument *argument)
{
	struct message message = {.argument = argument, .received = ~0ULL};

	if (gt_argument_bytes(argument, MESSAGE_SIZE, &message.header))
		put_message(&message, gt_read_u32(message.header, MESSAGE_ADDRESS_SIZE));
}

/* Of a call that failed, what it was given for an address is the only value. */
void gt_put_message_received(const struct gt_argument *argument)
{
	struct message message = {
		.argument = argument,
		.at_return = true,
		.received = (__u64)argument->event->result,
	};
	struct gt_argument_copy before, after;
	__u32 size;

	if (!gt_argument_find(argument->event, argument->index, false, 0, MESSAGE_SIZE, &before)) {
		gt_put_pointer(argument);
		return;
	}
	size = gt_read_u32(before.bytes, MESSAGE_ADDRESS_SIZE);
	if (!gt_argument_find(argument->event, argument->index, true, 0, MESSAGE_SIZE, &after)) {
		gt_strbuf_printf(argument->text, "{msg_namelen=%d}", (int)size);
		return;
	}
	message.header = after.bytes;
	put_message(&message, size);
}

/* ---- arrays of messages (struct mmsghdr) -------------------------------------------------- */

static bool find_header(const struct gt_argument *argument, unsigned number, bool at_return,
			struct gt_argument_copy *ret_header)
{
	return number < GT_SYSCALL_MAX_MESSAGES &&
	       gt_argument_find(argument->event, argument->index, at_return,
				number * GT_SYSCALL_MESSAGE_ELEMENTS, MESSAGES_SIZE, ret_header);
}

static void put_message_of(const struct gt_argument *argument, const struct message *message,
			   __u32 size_before, const struct gt_argument_copy *after)
{
	gt_strbuf_puts(argument->text, message->first ? ", {msg_hdr=" : "{msg_hdr=");
	put_message(message, size_before);
	if (after)
		gt_strbuf_printf(argument->text, ", msg_len=%u",
				 gt_read_u32(after->bytes, MESSAGE_LENGTH));
	gt_strbuf_putc(argument->text, '}');
}

/* All that were to be sent, with the length of those that were. */
void gt_put_messages(const struct gt_argument *argument)
{
	const __u32 count = (__u32)gt_argument_value(argument->event, argument->index + 1);
	struct gt_argument_copy before, after;
	unsigned i;

	if (!find_header(argument, 0, false, &before)) {
		gt_put_pointer(argument);
		return;
	}
	gt_strbuf_putc(argument->text, '[');
	for (i = 0; find_header(argument, i, false, &before); i++) {
		const struct message message = {
			.argument = argument,
			.header = before.bytes,
			.first = i * GT_SYSCALL_MESSAGE_ELEMENTS,
			.received = ~0ULL,
		};

		put_message_of(argument, &message, gt_read_u32(before.bytes, MESSAGE_ADDRESS_SIZE),
			       find_header(argument, i, true, &after) ? &after : NULL);
	}
	gt_strbuf_puts(argument->text, i < count ? ", ...]" : "]");
}

/* Those that were received. */
void gt_put_messages_received(const struct gt_argument *argument)
{
	struct gt_argument_copy before, after;
	unsigned i;

	if (!find_header(argument, 0, true, &after)) {
		gt_put_pointer(argument);
		return;
	}
	gt_strbuf_putc(argument->text, '[');
	for (i = 0; find_header(argument, i, true, &after); i++) {
		const struct message message = {
			.argument = argument,
			.header = after.bytes,
			.first = i * GT_SYSCALL_MESSAGE_ELEMENTS,
			.received = gt_read_u32(after.bytes, MESSAGE_LENGTH),
			.at_return = true,
		};
		const char *room =
			find_header(argument, i, false, &before) ? before.bytes : after.bytes;

		put_message_of(argument, &message, gt_read_u32(room, MESSAGE_ADDRESS_SIZE), &after);
	}
	gt_strbuf_puts(argument->text, i < (__u64)argument->event->result ? ", ...]" : "]");
}

void gt_put_messages_result(struct gt_strbuf *text, const struct gt_event_syscall *event)
{
	const char *name = gt_syscall_name(event->machine, event->number);
	struct gt_argument_copy left;

	if (!name || strcmp(name, "recvmmsg") != 0 ||
	    !gt_argument_find(event, 4, true, 0, 16, &left))
		return;
	gt_strbuf_puts(text, " (left ");
	gt_put_timespec_value(text, left.bytes);
	gt_strbuf_putc(text, ')');
}
