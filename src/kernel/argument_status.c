/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Structures that system calls fill with the state of files, locks, children and systems, as
 * strace prints them. Layouts are the kernel's (include/uapi). Copies may lie at any address.
 */
#include <signal.h>
#include <string.h>

#include "base/clean.h"
#include "kernel/private.h"

#define TYPE_MASK 0170000
#define CHARACTER_DEVICE 0020000
#define BLOCK_DEVICE 0060000

/* "S_IFREG|S_ISUID|0755" */
static void put_mode(struct gt_strbuf *text, __u32 mode)
{
	gt_names_put_value(text, GT_NAMES_file_types, mode & TYPE_MASK);
	if (mode & 07000)
		gt_strbuf_printf(text, "%s%s%s", mode & 04000 ? "|S_ISUID" : "",
				 mode & 02000 ? "|S_ISGID" : "", mode & 01000 ? "|S_ISVTX" : "");
	gt_strbuf_printf(text, "|%#03o", mode & 0777);
}

/* struct stat: x86-64 has st_nlink before st_mode, and wider; others are asm-generic/stat.h. */
void gt_put_stat(const struct gt_argument *argument)
{
	bool is_x86 = argument->event->machine == GT_SYSCALL_X86_64;
	const char *bytes;
	__u32 mode;

	if (!gt_argument_bytes(argument, 64, &bytes))
		return;
	mode = gt_read_u32(bytes, is_x86 ? 24 : 16);
	gt_strbuf_puts(argument->text, "{st_mode=");
	put_mode(argument->text, mode);
	if ((mode & TYPE_MASK) == CHARACTER_DEVICE || (mode & TYPE_MASK) == BLOCK_DEVICE) {
		__u64 device = gt_read_u64(bytes, is_x86 ? 40 : 32);

		gt_strbuf_printf(argument->text, ", st_rdev=makedev(%#llx, %#llx), ...}",
				 (unsigned long long)(device >> 8 & 0xfff),
				 (unsigned long long)((device & 0xff) | (device >> 12 & 0xfff00)));
	} else {
		gt_strbuf_printf(argument->text, ", st_size=%lld, ...}",
				 (long long)gt_read_u64(bytes, 48));
	}
}

/* struct statx: its first members. */
void gt_put_statx(const struct gt_argument *argument)
{
	struct gt_strbuf *text = argument->text;
	const char *bytes;

	if (!gt_argument_bytes(argument, 48, &bytes))
		return;
	gt_strbuf_puts(text, "{stx_mask=");
	gt_names_put_flags(text, GT_NAMES_statx_mask, gt_read_u32(bytes, 0));
	gt_strbuf_puts(text, ", stx_attributes=");
	gt_names_put_flags(text, GT_NAMES_statx_attributes, gt_read_u64(bytes, 8));
	gt_strbuf_puts(text, ", stx_mode=");
	put_mode(text, gt_read_u16(bytes, 28));
	gt_strbuf_printf(text, ", stx_size=%llu, ...}", (unsigned long long)gt_read_u64(bytes, 40));
}

/* A name of 65 bytes at most. */
static void put_system_name(struct gt_strbuf *text, const char *bytes)
{
	gt_put_quoted(text, bytes, strnlen(bytes, 65), false);
}

/* struct new_utsname: its first two members. */
void gt_put_system_name(const struct gt_argument *argument)
{
	const char *bytes;

	if (!gt_argument_bytes(argument, 130, &bytes))
		return;
	gt_strbuf_puts(argument->text, "{sysname=");
	put_system_name(argument->text, bytes);
	gt_strbuf_puts(argument->text, ", nodename=");
	put_system_name(argument->text, bytes + 65);
	gt_strbuf_puts(argument->text, ", ...}");
}

/* Members of 64 bits, one after the other, as ", name=value". */
static void put_words(struct gt_strbuf *text, const char *bytes, const char *const *names,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		gt_strbuf_printf(text, ", %s=%llu", names[i],
				 (unsigned long long)gt_read_u64(bytes, i * 8));
}

/* struct statfs of asm-generic/statfs.h, which x86-64 shares. */
void gt_put_file_system(const struct gt_argument *argument)
{
	static const char *const counts[] = {"f_bsize",  "f_blocks", "f_bfree",
					     "f_bavail", "f_files",  "f_ffree"};
	static const char *const sizes[] = {"f_namelen", "f_frsize"};
	struct gt_strbuf *text = argument->text;
	const char *bytes;

	if (!gt_argument_bytes(argument, 88, &bytes))
		return;
	gt_strbuf_puts(text, "{f_type=");
	gt_names_put_value(text, GT_NAMES_file_systems, gt_read_u64(bytes, 0));
	put_words(text, bytes + 8, counts, gt_countof(counts));
	gt_strbuf_printf(text, ", f_fsid={val=[%#x, %#x]}", gt_read_u32(bytes, 56),
			 gt_read_u32(bytes, 60));
	put_words(text, bytes + 64, sizes, gt_countof(sizes));
	gt_strbuf_puts(text, ", f_flags=");
	gt_names_put_flags(text, GT_NAMES_mount_states, gt_read_u64(bytes, 80));
	gt_strbuf_putc(text, '}');
}

/* struct sysinfo, include/uapi/linux/sysinfo.h */
void gt_put_system_info(const struct gt_argument *argument)
{
	static const char *const memory[] = {"totalram",  "freeram",   "sharedram",
					     "bufferram", "totalswap", "freeswap"};
	static const char *const high[] = {"totalhigh", "freehigh"};
	struct gt_strbuf *text = argument->text;
	const char *bytes;

	if (!gt_argument_bytes(argument, 112, &bytes))
		return;
	gt_strbuf_printf(text, "{uptime=%lld, loads=[%llu, %llu, %llu]",
			 (long long)gt_read_u64(bytes, 0),
			 (unsigned long long)gt_read_u64(bytes, 8),
			 (unsigned long long)gt_read_u64(bytes, 16),
			 (unsigned long long)gt_read_u64(bytes, 24));
	put_words(text, bytes + 32, memory, gt_countof(memory));
	gt_strbuf_printf(text, ", procs=%u", gt_read_u16(bytes, 80));
	put_words(text, bytes + 88, high, gt_countof(high));
	gt_strbuf_printf(text, ", mem_unit=%u}", gt_read_u32(bytes, 104));
}

#define F_GETLK 5
#define F_OFD_GETLK 36

/* struct flock of 64-bit machines; commands that look for a lock return whose it is. */
void gt_put_lock(const struct gt_argument *argument)
{
	__u64 command = argument->event->argument1;
	struct gt_strbuf *text = argument->text;
	const char *bytes;

	if (!gt_argument_bytes(argument, 32, &bytes))
		return;
	gt_strbuf_puts(text, "{l_type=");
	gt_names_put_value(text, GT_NAMES_lock_types, gt_read_u16(bytes, 0));
	gt_strbuf_puts(text, ", l_whence=");
	gt_names_put_value(text, GT_NAMES_whence, gt_read_u16(bytes, 2));
	gt_strbuf_printf(text, ", l_start=%lld, l_len=%lld", (long long)gt_read_u64(bytes, 8),
			 (long long)gt_read_u64(bytes, 16));
	if (command == F_GETLK || command == F_OFD_GETLK)
		gt_strbuf_printf(text, ", l_pid=%d", (int)gt_read_u32(bytes, 24));
	gt_strbuf_putc(text, '}');
}

/* siginfo_t of SIGCHLD; its times are in clock ticks */
void gt_put_child_state(const struct gt_argument *argument)
{
	struct gt_strbuf *text = argument->text;
	const char *bytes;
	__u32 code, status;

	if (!gt_argument_bytes(argument, 48, &bytes))
		return;
	if (!gt_read_u32(bytes, 0)) {
		gt_strbuf_puts(text, "{}"); /* no child has changed its state */
		return;
	}
	code = gt_read_u32(bytes, 8);
	status = gt_read_u32(bytes, 24);
	gt_strbuf_puts(text, "{si_signo=");
	gt_put_signal_name(text, gt_read_u32(bytes, 0));
	gt_strbuf_puts(text, ", si_code=");
	gt_names_put_value(text, GT_NAMES_child_states, code);
	gt_strbuf_printf(text, ", si_pid=%d, si_uid=%u, si_status=", (int)gt_read_u32(bytes, 16),
			 gt_read_u32(bytes, 20));
	if (code == CLD_EXITED)
		gt_strbuf_printf(text, "%d", (int)status);
	else
		gt_put_signal_name(text, status);
	gt_strbuf_printf(text, ", si_utime=%lld, si_stime=%lld}", (long long)gt_read_u64(bytes, 32),
			 (long long)gt_read_u64(bytes, 40));
}
