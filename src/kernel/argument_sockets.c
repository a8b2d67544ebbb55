/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses that system calls return, and options of sockets, as strace prints them. */
#include <string.h>
#include <sys/socket.h>

#include "kernel/private.h"

#define PEER_CREDENTIALS 12 /* bytes of struct ucred */

/* Levels of options whose names are known. */
enum {
	LEVEL_IP = 0,
	LEVEL_SOCKET = 1,
	LEVEL_TCP = 6,
	LEVEL_IPV6 = 41,
};

/* A length before the call, and after it if that is another: "[110 => 2]". */
void gt_put_length(const struct gt_argument *argument)
{
	struct gt_argument_copy before, after;

	if (!gt_argument_find(argument->event, argument->index, false, 0, 4, &before)) {
		gt_put_pointer(argument);
		return;
	}
	gt_strbuf_printf(argument->text, "[%d", (int)gt_read_u32(before.bytes, 0));
	if (gt_argument_find(argument->event, argument->index, true, 0, 4, &after) &&
	    gt_read_u32(after.bytes, 0) != gt_read_u32(before.bytes, 0))
		gt_strbuf_printf(argument->text, " => %d", (int)gt_read_u32(after.bytes, 0));
	gt_strbuf_putc(argument->text, ']');
}

/* The next argument has its length, which may be more than there was room for. */
void gt_put_socket_address_out(const struct gt_argument *argument)
{
	struct gt_argument_copy copy, room;

	if (!gt_argument_copy(argument, 2, &copy) ||
	    !gt_argument_find(argument->event, argument->index + 1, false, 0, 4, &room) ||
	    gt_read_u32(room.bytes, 0) < 2) {
		gt_put_pointer(argument);
		return;
	}
	if (copy.size > gt_read_u32(room.bytes, 0))
		copy.size = gt_read_u32(room.bytes, 0);
	gt_put_address(argument->text, &copy);
}

/* The argument before has the level. */
void gt_put_socket_option_name(const struct gt_argument *argument)
{
	enum gt_name_set_number names = GT_NAMES_NO;

	switch ((__u32)argument->event->argument1) {
	case LEVEL_IP:
		names = GT_NAMES_ip_options;
		break;
	case LEVEL_SOCKET:
		names = GT_NAMES_socket_options;
		break;
	case LEVEL_TCP:
		names = GT_NAMES_tcp_options;
		break;
	case LEVEL_IPV6:
		names = GT_NAMES_ipv6_options;
		break;
	}
	if (names)
		gt_names_put_value(argument->text, names, (__u32)argument->value);
	else
		gt_strbuf_printf(argument->text, "%#x", (__u32)argument->value);
}

/* By the option's type, else by the size: an int, or bytes. */
void gt_put_socket_option(const struct gt_argument *argument)
{
	const bool is_of_socket = (__u32)argument->event->argument1 == LEVEL_SOCKET;
	const __u32 option = (__u32)argument->event->argument2;
	struct gt_argument_copy copy;

	if (!gt_argument_copy(argument, 0, &copy))
		gt_put_pointer(argument);
	else if (is_of_socket && option == SO_LINGER && copy.size == 8)
		gt_strbuf_printf(argument->text, "{l_onoff=%d, l_linger=%d}",
				 (int)gt_read_u32(copy.bytes, 0), (int)gt_read_u32(copy.bytes, 4));
	else if (is_of_socket && option == SO_PEERCRED && copy.size == PEER_CREDENTIALS)
		gt_put_credentials(argument->text, copy.bytes);
	else if (copy.size == 4)
		gt_strbuf_printf(argument->text, "[%d]", (int)gt_read_u32(copy.bytes, 0));
	else
		gt_put_quoted(argument->text, copy.bytes, copy.size, copy.total > copy.size);
}
