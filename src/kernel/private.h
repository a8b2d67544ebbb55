/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Between the files that decode system calls. */
#pragma once

#include <string.h>

#include "kernel/syscalls.h"

struct gt_named_value {
	__u64 value;
	const char *name;
};

struct gt_name_set {
	const char *unknown; /* what strace prints at a value without a name: "O_???" */
	const struct gt_named_value *values;
	size_t count;
};

/* The sets of names.def. */
enum gt_name_set_number {
	GT_NAMES_NO, /* no set */
#define NAME_SET(identifier, unknown, values) GT_NAMES_##identifier,
#define NAMED(value, name)
#include "kernel/names.def"
#undef NAME_SET
#undef NAMED
	GT_NAME_SETS
};

/* Add a value by its name; as a number and the set's comment if it has none. */
void gt_names_put_value(struct gt_strbuf *text, enum gt_name_set_number set, __u64 value);
/* Add flags, "A|B|0x80" or "0"; as a number and the set's comment if none has a name. */
void gt_names_put_flags(struct gt_strbuf *text, enum gt_name_set_number set, __u64 flags);
/* The same after "A": names of bits with a '|' before each. */
void gt_names_put_more_flags(struct gt_strbuf *text, enum gt_name_set_number set, __u64 flags);
/* NULL if it has no name. */
const char *gt_names_find(enum gt_name_set_number set, __u64 value);

/* An argument that is printed. */
struct gt_argument {
	struct gt_strbuf *text;
	const struct gt_event_syscall *event;
	unsigned index;
	__u64 value;
	enum gt_name_set_number names;
};

typedef void gt_put_argument(const struct gt_argument *argument);

/* The formats of argument_kinds.def. */
#define KIND(identifier, format, ...) gt_put_argument gt_put_##format;
#include "kernel/argument_kinds.def"
#undef KIND

/* A copy of what an argument refers to. */
struct gt_argument_copy {
	const char *bytes;
	size_t size;
	size_t total; /* elements, or: the string is longer than the copy */
};

/*
 * Find the copy of an argument, made at the entry or at the return, of at least `minimum` bytes.
 * Element 0 is the argument itself, n what its element n - 1 refers to. False: there is none.
 */
bool gt_argument_find(const struct gt_event_syscall *event, unsigned argument, bool at_return,
		      unsigned element, size_t minimum, struct gt_argument_copy *ret_copy);
/* The copy of this argument, whenever it was made. */
bool gt_argument_copy(const struct gt_argument *argument, size_t minimum,
		      struct gt_argument_copy *ret_copy);
/* The copy of at least so many bytes; without one, the address is printed: false. */
bool gt_argument_bytes(const struct gt_argument *argument, size_t minimum, const char **ret_bytes);

/* Values in a copy, which may lie at any address. */
static inline __u64 gt_read_u64(const char *bytes, size_t offset)
{
	__u64 value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

static inline __u32 gt_read_u32(const char *bytes, size_t offset)
{
	__u32 value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

static inline __u16 gt_read_u16(const char *bytes, size_t offset)
{
	__u16 value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

/* The raw value of an argument. */
__u64 gt_argument_value(const struct gt_event_syscall *event, unsigned index);

/* Add bytes in quotes as strace does; `rest`: more follow that were not copied. */
void gt_put_quoted(struct gt_strbuf *text, const char *bytes, size_t size, bool rest);
/* An address of a socket, of at least 2 bytes. */
void gt_put_address(struct gt_strbuf *text, const struct gt_argument_copy *copy);
/*
 * The buffers of an array of struct iovec: elements 1 to … of the argument, copied at the return
 * (`at_return`) or the entry; of an array of messages, those after `first`. Of their bytes, `rest`
 * are the call's.
 */
void gt_put_buffers(const struct gt_argument *argument, const struct gt_argument_copy *array,
		    bool at_return, unsigned first, __u64 rest);
void gt_put_pointer_value(struct gt_strbuf *text, __u64 value);
/* "SIGCHLD" */
void gt_put_signal_name(struct gt_strbuf *text, __u64 number);
/* "CLONE_VM|SIGCHLD"; the signal is in the low byte. */
void gt_put_clone_flags(struct gt_strbuf *text, __u64 flags, __u64 signal);
void gt_put_poll_result(struct gt_strbuf *text, const struct gt_event_syscall *event);
/* The rest of the time that a recvmmsg had: " (left {…})"; nothing for other calls. */
void gt_put_messages_result(struct gt_strbuf *text, const struct gt_event_syscall *event);
void gt_put_timespec_value(struct gt_strbuf *text, const char *bytes);
/* What a select found: " (in [3], left {…})"; nothing for other calls. */
void gt_put_select_result(struct gt_strbuf *text, const struct gt_event_syscall *event);
/* "{pid=1, uid=0, gid=0}", of 12 bytes. */
void gt_put_credentials(struct gt_strbuf *text, const char *bytes);
