/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the BPF program of the source "syscall" copies of the memory that arguments refer to: a plan
 * per system call, made from arguments.def; and the layout of the copies in the event. Shared with
 * BPF:
 * __uNN types only.
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#define GT_SYSCALL_NUMBERS 512      /* numbers from here on have no plan */
#define GT_SYSCALL_MAX_COPIES 10    /* of one call */
#define GT_SYSCALL_MAX_COPY 256     /* bytes of one copy */
#define GT_SYSCALL_MAX_DATA 1024    /* after this many bytes, nothing more is copied */
#define GT_SYSCALL_SHOWN_BYTES 32   /* of strings that are no paths, and of buffers: as strace */
#define GT_SYSCALL_MAX_STRINGS 16   /* of an array of strings */
#define GT_SYSCALL_MAX_ENTRIES 1500 /* of a directory that are counted: a buffer of 32 KiB */
#define GT_SYSCALL_MAX_VECTORS 4    /* buffers of an array that are copied */
#define GT_SYSCALL_MAX_MESSAGES 4   /* of an array that are copied */
/* Elements of a message (struct msghdr), besides the first buffers. */
#define GT_SYSCALL_MESSAGE_VECTORS 17
#define GT_SYSCALL_MESSAGE_ADDRESS 18
#define GT_SYSCALL_MESSAGE_CONTROL 19
#define GT_SYSCALL_MESSAGE_ELEMENTS 32 /* of an array: those of message n begin at n times this */
#define GT_SYSCALL_MAX_ADDRESS 112     /* bytes of a socket's address */
#define GT_SYSCALL_MAX_CONTROL 64      /* bytes of control messages */
#define GT_SYSCALL_NO_ARGUMENT 255     /* select, length */
#define GT_SYSCALL_FILE 15             /* chunk.argument: the file of a descriptor */

enum gt_syscall_copy_method {
	GT_SYSCALL_COPY_STRING = 1, /* a string, at most `limit` bytes */
	GT_SYSCALL_COPY_FIXED,      /* `size` bytes */
	GT_SYSCALL_COPY_ELEMENTS,   /* `size` bytes by the value of the argument `length` */
	GT_SYSCALL_COPY_RESULT,     /* `size` bytes by the result */
	GT_SYSCALL_COPY_SIZED,   /* `size` bytes by the int that the argument `length` points to */
	GT_SYSCALL_COPY_BITS,    /* words of 64 bits with as many bits as the argument `length` */
	GT_SYSCALL_COPY_ENTRIES, /* nothing but the number of struct linux_dirent64 in the result */
	GT_SYSCALL_COPY_REFERENCE, /* {pointer, size}, and as element 1 what the pointer refers to
				    */
	GT_SYSCALL_COPY_VECTORS,   /* an array of struct iovec, and the beginning of the first
				      buffers; with `limit`, these at the return only */
	GT_SYSCALL_COPY_STRINGS,   /* an array of pointers to strings that ends with NULL */
	GT_SYSCALL_COPY_COUNT,     /* nothing but the number of elements of such an array */
	GT_SYSCALL_COPY_COMMAND,   /* the argument of an ioctl, by the size in its command */
	GT_SYSCALL_COPY_MESSAGE,   /* a struct msghdr, and what it refers to; with `limit`, that at
				      the return only */
	/* An array of struct mmsghdr: at the entry by the next argument, at the return by the
	 * result; what they refer to is copied then for which `limit` lacks a bit (1 << at_return).
	 */
	GT_SYSCALL_COPY_MESSAGES,
};

struct gt_syscall_copy {
	__u64 values;   /* bit n: copy if the argument `select` modulo 64 is n */
	__u8 argument;  /* the pointer */
	__u8 method;    /* enum gt_syscall_copy_method */
	__u8 at_return; /* 1: once the call has succeeded; 0: when it begins */
	__u8 select;    /* GT_SYSCALL_NO_ARGUMENT: always */
	__u8 length;    /* the argument with the number of elements */
	__u16 size;     /* bytes of an element */
	__u16 limit;    /* bytes of all */
	__u8 reserved[7];
};

struct gt_syscall_plan {
	__u8 selected; /* the call is recorded */
	__u8 copies;
	__u8 has_file; /* argument 0 is a descriptor whose file is recorded */
	__u8 reserved[5];
	struct gt_syscall_copy copy[GT_SYSCALL_MAX_COPIES];
};

/* A copy in the tail of an event: this, then its bytes, padded with zeros to a multiple of 8. */
struct gt_syscall_chunk {
	__u8 argument; /* or GT_SYSCALL_FILE: struct gt_syscall_file */
	__u8 at_return;
	/* 0: the argument itself; n: what its element n - 1 refers to; of a message, the elements
	 * above, too */
	__u8 element;
	__u8 reserved;
	__u16 size;  /* bytes that were copied; of a string, without its NUL */
	__u16 total; /* elements of an array; of a string, 1 if it is longer than its copy */
};

/* The file of a descriptor, if it is a device or has a name of the kernel's. */
struct gt_syscall_file {
	char module[24]; /* that has the file's operations; "" in the kernel itself */
	char name[24];   /* the last component of its path */
};
