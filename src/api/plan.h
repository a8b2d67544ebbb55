/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the probe on a function copies: the contract between the API tables, which know the
 * functions, and the BPF programs, which know none. Shared with BPF: __uNN types only,
 * included by whoever includes this.
 *
 * A *slot* is one 8-byte word of the calling convention: first the integer argument
 * registers that the function uses, in order (x86-64: rdi rsi rdx rcx r8 r9; aarch64: x0 … x7),
 * then the words on the stack, lowest address first (x86-64: from rsp + 8; aarch64: from sp).
 *
 * A *copy* is memory behind a slot that holds a pointer: at entry (a structure passed by
 * pointer) or at a return with result 0 (what the call gave back). Copied words follow the
 * slots in the record, in the order of the plan (those at entry stand before those at success);
 * a copy that failed is not there, and its bit in gt_event_call.copied is clear.
 */
#pragma once

#include "event/event.h"

#define GT_PLAN_MAX_REGISTERS 8
#define GT_PLAN_MAX_STACK 26                /* words */
#define GT_PLAN_MAX_SLOTS GT_CALL_MAX_SLOTS /* registers and stack words together */
#define GT_PLAN_MAX_COPIES 4
#define GT_PLAN_MAX_COPIED 32 /* words, all copies of one function together */

enum gt_plan_when {
	GT_COPY_AT_ENTRY,
	GT_COPY_AT_SUCCESS, /* at the return, if the result is 0 */
	/* At entry, into an event of its own: no words of the call's record. */
	GT_COPY_STRING,    /* up to its NUL: `string` */
	GT_COPY_ARGUMENTS, /* what an array of pointers points to: `arguments` */
};

struct gt_plan_copy {
	__u8 slot;   /* holds the pointer */
	__u8 when;   /* enum gt_plan_when */
	__u16 bytes; /* to copy; they take (bytes + 7) / 8 words of the record, zero-padded */
};

/* What a call that succeeded tells of its thread, its process and their devices. */
enum gt_plan_tell {
	GT_TELL_NOTHING,
	GT_TELL_DEVICE_SET,        /* the thread uses the device, and its primary context */
	GT_TELL_CONTEXT_SET,       /* the context becomes current in the thread … */
	GT_TELL_CONTEXT_PUSH,      /* … above the one that is */
	GT_TELL_CONTEXT_POP,       /* the one below it does */
	GT_TELL_CONTEXT_CREATE,    /* as PUSH, of a new one of the device, to which it points */
	GT_TELL_CONTEXT_DESTROY,   /* the context is gone */
	GT_TELL_CONTEXT_GET,       /* what is current, to which it points */
	GT_TELL_CONTEXT_PRIMARY,   /* the primary context of the device, to which it points */
	GT_TELL_CONTEXT_RESET,     /* the primary context of the device, or the thread's, is gone */
	GT_TELL_DEVICE_UUID,       /* 16 bytes */
	GT_TELL_DEVICE_NAME,       /* a string */
	GT_TELL_DEVICE_PROPERTIES, /* struct cudaDeviceProp: the name, then the UUID (CUDA 10 on) */
};

struct gt_plan {
	__u8 registers; /* argument registers to keep */
	__u8 stack;     /* stack words to keep */
	__u8 copies;
	__u8 error_result; /* 1: the result is an error code, and 0 is success */
	__u8 apart;        /* copies into events of their own; they stand behind the others */
	__u8 tell;         /* enum gt_plan_tell: what a success tells … */
	__u8 tell_value;   /* … 1 + the slot of the value, or of the pointer to it; 0: none */
	__u8 tell_device;  /* … 1 + the slot of the device's ordinal; 0: none */
	struct gt_plan_copy copy[GT_PLAN_MAX_COPIES];
	__u32 pending; /* the error code that says "not yet", and is no failure; 0: none */
};
