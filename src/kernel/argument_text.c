/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scalars and strings in the arguments of system calls, as strace prints them. */
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "base/clean.h"
#include "kernel/ioctls.h"
#include "kernel/private.h"

#define STATX_SYNC_MASK 0x6000u  /* AT_STATX_SYNC_TYPE, linux/fcntl.h */
#define TEMPORARY_FILE 020000000 /* __O_TMPFILE, asm-generic/fcntl.h */
#define OPEN_HOW_SIZE 24u
#define FUTEX_COMMAND 0x7f
#define FUTEX_PRIVATE 0x80
#define FUTEX_REALTIME 0x100
#define MAP_TYPE 0xf
#define MAP_HUGE_SHIFT 26
#define MAP_HUGE_MASK 0x3f
#define SOCKET_TYPE 0xf
#define FIRST_REALTIME 32 /* signal numbers of the kernel */

static unsigned long long wide(__u64 value)
{
	return value;
}

/* An argument that the call does not use. */
void gt_put_nothing(const struct gt_argument *argument)
{
}

void gt_put_int(const struct gt_argument *argument)
{
	gt_strbuf_i64(argument->text, (__s32)argument->value);
}

void gt_put_uint(const struct gt_argument *argument)
{
	gt_strbuf_u64(argument->text, (__u32)argument->value);
}

void gt_put_long(const struct gt_argument *argument)
{
	gt_strbuf_i64(argument->text, (__s64)argument->value);
}

void gt_put_ulong(const struct gt_argument *argument)
{
	gt_strbuf_u64(argument->text, argument->value);
}

void gt_put_hex(const struct gt_argument *argument)
{
	gt_strbuf_printf(argument->text, "%#llx", wide(argument->value));
}

void gt_put_pointer_value(struct gt_strbuf *text, __u64 value)
{
	if (value)
		gt_strbuf_printf(text, "%#llx", wide(value));
	else
		gt_strbuf_puts(text, "NULL");
}

void gt_put_pointer(const struct gt_argument *argument)
{
	gt_put_pointer_value(argument->text, argument->value);
}

void gt_put_mode(const struct gt_argument *argument)
{
	gt_strbuf_printf(argument->text, "%#03llo", wide(argument->value & 07777));
}

void gt_put_dirfd(const struct gt_argument *argument)
{
	if ((__s32)argument->value == AT_FDCWD)
		gt_strbuf_puts(argument->text, "AT_FDCWD");
	else
		gt_put_int(argument);
}

void gt_put_signal_name(struct gt_strbuf *text, __u64 number)
{
	const char *name = number < FIRST_REALTIME ? sigabbrev_np((int)number) : NULL;

	if (name)
		gt_strbuf_printf(text, "SIG%s", name);
	else if (number == FIRST_REALTIME)
		gt_strbuf_puts(text, "SIGRTMIN");
	else if (number > FIRST_REALTIME && number <= 64)
		gt_strbuf_printf(text, "SIGRT_%llu", wide(number - FIRST_REALTIME));
	else
		gt_strbuf_i64(text, (__s32)number);
}

void gt_put_signal(const struct gt_argument *argument)
{
	gt_put_signal_name(argument->text, (__u32)argument->value);
}

void gt_put_flags(const struct gt_argument *argument)
{
	gt_names_put_flags(argument->text, argument->names, (__u32)argument->value);
}

void gt_put_value(const struct gt_argument *argument)
{
	gt_names_put_value(argument->text, argument->names, (__u32)argument->value);
}

void gt_put_open_flags(const struct gt_argument *argument)
{
	enum gt_name_set_number flags = argument->event->machine == GT_SYSCALL_AARCH64
						? GT_NAMES_open_flags_arm64
						: GT_NAMES_open_flags;

	gt_names_put_value(argument->text, GT_NAMES_open_modes, argument->value & O_ACCMODE);
	gt_names_put_more_flags(argument->text, flags, (__u32)argument->value & ~(__u32)O_ACCMODE);
}

/* struct open_how: {flags=O_RDWR|O_CREAT, mode=0640, resolve=0} */
void gt_put_open_how(const struct gt_argument *argument)
{
	struct gt_argument member = *argument;
	const char *bytes;

	if (gt_argument_value(argument->event, argument->index + 1) < OPEN_HOW_SIZE) {
		gt_put_pointer(argument);
		return;
	}
	if (!gt_argument_bytes(argument, OPEN_HOW_SIZE, &bytes))
		return;
	gt_strbuf_puts(argument->text, "{flags=");
	member.value = gt_read_u64(bytes, 0);
	gt_put_open_flags(&member);
	if (member.value & (O_CREAT | TEMPORARY_FILE) || gt_read_u64(bytes, 8)) {
		gt_strbuf_puts(argument->text, ", mode=");
		member.value = gt_read_u64(bytes, 8);
		gt_put_mode(&member);
	}
	gt_strbuf_puts(argument->text, ", resolve=");
	gt_names_put_flags(argument->text, GT_NAMES_resolve_flags, gt_read_u64(bytes, 16));
	gt_strbuf_putc(argument->text, '}');
}

/* AT_STATX_SYNC_AS_STAT|AT_SYMLINK_NOFOLLOW */
void gt_put_statx_flags(const struct gt_argument *argument)
{
	__u32 flags = (__u32)argument->value;

	gt_names_put_value(argument->text, GT_NAMES_statx_sync, flags & STATX_SYNC_MASK);
	gt_names_put_more_flags(argument->text, GT_NAMES_at_flags, flags & ~STATX_SYNC_MASK);
}

void gt_put_map_flags(const struct gt_argument *argument)
{
	__u32 flags = (__u32)argument->value;
	__u32 huge = flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;

	gt_names_put_value(argument->text, GT_NAMES_map_types, flags & MAP_TYPE);
	flags &= ~(__u32)MAP_TYPE;
	gt_names_put_more_flags(argument->text, GT_NAMES_map_flags,
				flags & ~((__u32)MAP_HUGE_MASK << MAP_HUGE_SHIFT));
	if (huge)
		gt_strbuf_printf(argument->text, "|%u<<MAP_HUGE_SHIFT", huge);
}

/* FUTEX_WAIT_PRIVATE, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME */
void gt_put_futex_operation(const struct gt_argument *argument)
{
	__u32 operation = (__u32)argument->value;
	const char *name = gt_names_find(GT_NAMES_futex_operations, operation & FUTEX_COMMAND);

	if (!name) {
		gt_names_put_value(argument->text, GT_NAMES_futex_operations, operation);
		return;
	}
	gt_strbuf_printf(argument->text, "%s%s%s", name,
			 operation & FUTEX_PRIVATE ? "_PRIVATE" : "",
			 operation & FUTEX_REALTIME ? "|FUTEX_CLOCK_REALTIME" : "");
}

void gt_put_futex_bitset(const struct gt_argument *argument)
{
	if ((__u32)argument->value == ~0U)
		gt_strbuf_puts(argument->text, "FUTEX_BITSET_MATCH_ANY");
	else
		gt_strbuf_printf(argument->text, "%#x", (__u32)argument->value);
}

/* FUTEX_WAKE_OP's last argument, by FUTEX_OP() of linux/futex.h. */
void gt_put_futex_wake(const struct gt_argument *argument)
{
	__u32 value = (__u32)argument->value;

	gt_strbuf_puts(argument->text, value >> 31 ? "FUTEX_OP_OPARG_SHIFT<<28|" : "");
	gt_names_put_value(argument->text, GT_NAMES_futex_wake_operations, value >> 28 & 7);
	gt_strbuf_printf(argument->text, "<<28|%#x<<12|", value >> 12 & 0xfff);
	gt_names_put_value(argument->text, GT_NAMES_futex_wake_comparisons, value >> 24 & 0xf);
	gt_strbuf_printf(argument->text, "<<24|%#x", value & 0xfff);
}

void gt_put_socket_type(const struct gt_argument *argument)
{
	gt_names_put_value(argument->text, GT_NAMES_socket_types, argument->value & SOCKET_TYPE);
	gt_names_put_more_flags(argument->text, GT_NAMES_socket_flags,
				(__u32)argument->value & ~(__u32)SOCKET_TYPE);
}

void gt_put_socket_protocol(const struct gt_argument *argument)
{
	switch (argument->event->argument0) {
	case 2:  /* AF_INET */
	case 10: /* AF_INET6 */
		gt_names_put_value(argument->text, GT_NAMES_ip_protocols, argument->value);
		break;
	case 16: /* AF_NETLINK */
		gt_names_put_value(argument->text, GT_NAMES_netlink_protocols, argument->value);
		break;
	default:
		gt_put_int(argument);
	}
}

/* ---- strings ------------------------------------------------------------------------------ */

static const char escapes[] = "\"\"\\\\\nn\tt\rr\ff\vv"; /* pairs: the byte, the letter */

static void put_escaped(struct gt_strbuf *text, unsigned char byte, bool digit_follows)
{
	for (size_t i = 0; i + 1 < sizeof(escapes); i += 2)
		if (escapes[i] == (char)byte) {
			gt_strbuf_putc(text, '\\');
			gt_strbuf_putc(text, escapes[i + 1]);
			return;
		}
	if (byte >= ' ' && byte < 0x7f)
		gt_strbuf_putc(text, (char)byte);
	else
		gt_strbuf_printf(text, digit_follows ? "\\%03o" : "\\%o", byte);
}

void gt_put_quoted(struct gt_strbuf *text, const char *bytes, size_t size, bool rest)
{
	gt_strbuf_putc(text, '"');
	for (size_t i = 0; i < size; i++) {
		bool digit = i + 1 < size && bytes[i + 1] >= '0' && bytes[i + 1] <= '7';

		put_escaped(text, (unsigned char)bytes[i], digit);
	}
	gt_strbuf_puts(text, rest ? "\"..." : "\"");
}

/* As strace, print no more than so many bytes of a string that is not a path. */
static void put_short(struct gt_strbuf *text, const struct gt_argument_copy *copy)
{
	bool rest = copy->size > GT_SYSCALL_SHOWN_BYTES || copy->total == 1;

	gt_put_quoted(text, copy->bytes, rest ? GT_SYSCALL_SHOWN_BYTES : copy->size, rest);
}

void gt_put_path(const struct gt_argument *argument)
{
	struct gt_argument_copy copy;

	if (gt_argument_copy(argument, 0, &copy))
		gt_put_quoted(argument->text, copy.bytes, copy.size, copy.total);
	else
		gt_put_pointer(argument);
}

void gt_put_string(const struct gt_argument *argument)
{
	struct gt_argument_copy copy;

	if (gt_argument_copy(argument, 0, &copy) &&
	    (copy.size >= GT_SYSCALL_SHOWN_BYTES || !copy.total))
		put_short(argument->text, &copy);
	else
		gt_put_pointer(argument);
}

void gt_put_strings(const struct gt_argument *argument)
{
	struct gt_argument_copy copy;
	unsigned count = 0;

	while (count < GT_SYSCALL_MAX_STRINGS &&
	       gt_argument_find(argument->event, argument->index, false, count + 1, 0, &copy)) {
		gt_strbuf_puts(argument->text, count++ ? ", " : "[");
		put_short(argument->text, &copy);
	}
	if (!count)
		gt_put_pointer(argument);
	else
		gt_strbuf_puts(argument->text, count == GT_SYSCALL_MAX_STRINGS ? ", ...]" : "]");
}

void gt_put_string_count(const struct gt_argument *argument)
{
	struct gt_argument_copy copy;

	gt_put_pointer(argument);
	if (argument->value && gt_argument_copy(argument, 0, &copy))
		gt_strbuf_printf(argument->text, " /* %zu var%s */", copy.total,
				 copy.total == 1 ? "" : "s");
}

void gt_put_buffer(const struct gt_argument *argument)
{
	struct gt_argument_copy copy;

	if (gt_argument_copy(argument, 0, &copy))
		gt_put_quoted(argument->text, copy.bytes, copy.size, copy.total > copy.size);
	else
		gt_put_pointer(argument);
}

void gt_put_hex_buffer(const struct gt_argument *argument)
{
	struct gt_argument_copy copy;

	if (!gt_argument_copy(argument, 0, &copy)) {
		gt_put_pointer(argument);
		return;
	}
	gt_strbuf_putc(argument->text, '"');
	for (size_t i = 0; i < copy.size; i++)
		gt_strbuf_printf(argument->text, "\\x%02x", (unsigned char)copy.bytes[i]);
	gt_strbuf_puts(argument->text, copy.total > copy.size ? "\"..." : "\"");
}

/* ---- ioctl -------------------------------------------------------------------------------- */

static enum gt_ioctl_file file_of(const struct gt_event_syscall *event)
{
	struct gt_syscall_file file;
	struct gt_argument_copy copy;

	if (!gt_argument_find(event, GT_SYSCALL_FILE, false, 0, sizeof(file), &copy))
		return GT_IOCTL_OTHER;
	memcpy(&file, copy.bytes, sizeof(file));
	file.module[sizeof(file.module) - 1] = '\0';
	file.name[sizeof(file.name) - 1] = '\0';
	return gt_ioctl_file(file.module, event->device >> 20, file.name);
}

static void put_unknown_command(struct gt_strbuf *text, __u32 command)
{
	static const char *const directions[] = {"_IOC_NONE", "_IOC_WRITE", "_IOC_READ",
						 "_IOC_READ|_IOC_WRITE"};

	gt_strbuf_printf(text, "_IOC(%s, %#x, %#x, %#x)", directions[command >> 30],
			 command >> 8 & 0xff, command & 0xff, command >> 16 & 0x3fff);
}

void gt_put_command(const struct gt_argument *argument)
{
	__u32 command = (__u32)argument->value;
	enum gt_ioctl_file file = file_of(argument->event);
	const char *name = gt_ioctl_name(file, command);

	if (name)
		gt_strbuf_puts(argument->text, name);
	else if (file == GT_IOCTL_UVM)
		gt_strbuf_printf(argument->text, "UVM_%u", command);
	else
		put_unknown_command(argument->text, command);
}

/* NVOS54_PARAMETERS: {hClient, hObject, cmd, …}, src/common/sdk/nvidia/inc/nvos.h. */
static void put_rm_control(struct gt_strbuf *text, const char *bytes)
{
	__u32 words[3];
	const char *name;

	memcpy(words, bytes, sizeof(words));
	name = gt_rm_control_name(words[2]);
	gt_strbuf_printf(text, "{hClient=%#x, hObject=%#x, cmd=", words[0], words[1]);
	if (name)
		gt_strbuf_puts(text, name);
	else
		gt_strbuf_printf(text, "%#x", words[2]);
	gt_strbuf_puts(text, ", ...}");
}

/* NVOS21_PARAMETERS, NVOS64_PARAMETERS: {hRoot, hObjectParent, hObjectNew, hClass, …}. */
static void put_rm_alloc(struct gt_strbuf *text, const char *bytes)
{
	__u32 words[4];

	memcpy(words, bytes, sizeof(words));
	gt_strbuf_printf(text, "{hRoot=%#x, hObjectParent=%#x, hObjectNew=%#x, hClass=%#x, ...}",
			 words[0], words[1], words[2], words[3]);
}

/* The argument of a command of NVIDIA's driver. False: it is not decoded. */
static bool put_nvidia_argument(struct gt_strbuf *text, __u32 number,
				const struct gt_argument_copy *copy)
{
	if (number == GT_NV_ESC_RM_CONTROL && copy->size >= 3 * sizeof(__u32))
		put_rm_control(text, copy->bytes);
	else if (number == GT_NV_ESC_RM_ALLOC && copy->size >= 4 * sizeof(__u32))
		put_rm_alloc(text, copy->bytes);
	else
		return false;
	return true;
}

/* nv_ioctl_xfer_t: {cmd, size, pointer to the argument of the command}. */
static bool put_transfer(const struct gt_argument *argument, const struct gt_argument_copy *copy)
{
	__u32 number;
	struct gt_argument_copy inner;
	const char *name;

	if (copy->size < 2 * sizeof(__u32))
		return false;
	memcpy(&number, copy->bytes, sizeof(number));
	name = gt_ioctl_name(GT_IOCTL_NVIDIA, 'F' << 8 | (number & 0xff));
	gt_strbuf_puts(argument->text, "{cmd=");
	if (name)
		gt_strbuf_puts(argument->text, name);
	else
		gt_strbuf_printf(argument->text, "%#x", number);
	gt_strbuf_puts(argument->text, ", ptr=");
	if (!gt_argument_find(argument->event, argument->index, false, 1, 0, &inner) ||
	    !put_nvidia_argument(argument->text, number, &inner))
		gt_strbuf_puts(argument->text, "...");
	gt_strbuf_putc(argument->text, '}');
	return true;
}

/* Commands without an argument. */
static bool has_no_argument(__u32 command)
{
	return command == 0x5450 || command == 0x5451; /* FIONCLEX, FIOCLEX */
}

void gt_put_command_argument(const struct gt_argument *argument)
{
	__u32 command = (__u32)argument->event->argument1;
	struct gt_argument_copy copy;

	if (has_no_argument(command))
		return;
	if (file_of(argument->event) == GT_IOCTL_NVIDIA && gt_argument_copy(argument, 0, &copy)) {
		if ((command & 0xff) == GT_NV_ESC_IOCTL_XFER_CMD
			    ? put_transfer(argument, &copy)
			    : put_nvidia_argument(argument->text, command & 0xff, &copy))
			return;
	}
	if (gt_ioctl_name(file_of(argument->event), command))
		gt_put_pointer(argument);
	else
		gt_put_hex(argument);
}
