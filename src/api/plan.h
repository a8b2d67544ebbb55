/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the probe of a function copies: the contract between the API tables, which know the
 * functions, and the BPF programs, which know none. Shared with BPF: __uNN types only,
 * included before this file.
 *
 * A *slot* is one 8-byte word of the calling convention: first the integer argument
 * registers that the function uses, in order (x86-64: rdi rsi rdx rcx r8 r9; aarch64: x0 … x7),
 * then the words on the stack, lowest address first (x86-64: from rsp + 8; aarch64: from sp).
 *
 * A *copy* is memory that a slot points to: at entry (a structure passed by pointer) or at a
 * return with result 0 (an output argument). Copied words follow the
 * slots in the record, in the order of the plan (those at entry before those at success);
 * a copy that failed is not there, and its bit in gt_event_call.copied is clear.
 */
#pragma once

#include "event/event.h"

#define GT_PLAN_MAX_REGISTERS 8
#define GT_PLAN_MAX_STACK 26                /* words */
#define GT_PLAN_MAX_SLOTS GT_CALL_MAX_SLOTS /* registers and stack words together */
#define GT_PLAN_MAX_COPIES 6
#define GT_PLAN_MAX_ARRAY 8   /* words of an array */
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
	/* Of an array: 1 + the slot of the number of its elements, and their bytes; 0: all is
	 * copied. */
	__u8 count, element;
	/* Of a string: 1 + the offset of the pointer to it in the structure that the slot points
	 * to. */
	__u16 field;
};

#define GT_PLAN_UNKNOWN_ERROR 4095 /* as a negative result: failed, without an error code */

/* What the result says of success. */
enum gt_plan_result {
	GT_RESULT_ANY,   /* nothing */
	GT_RESULT_ERROR, /* it is an error code, and 0 is success */
	/* An address or handle, NULL if the call failed; then the record has a negative error code.
	 */
	GT_RESULT_POINTER,
};

/* The effect of a successful call on the current device and context: src/api/effects.def. */
enum gt_call_effect {
	GT_EFFECT_NONE,
	GT_EFFECT_DEVICE_SET,      /* the thread uses the device, and its primary context */
	GT_EFFECT_CONTEXT_SET,     /* the context becomes current in the thread … */
	GT_EFFECT_CONTEXT_PUSH,    /* … on top of the stack of contexts */
	GT_EFFECT_CONTEXT_POP,     /* the context below becomes current */
	GT_EFFECT_CONTEXT_CREATE,  /* as PUSH; the value points to a new context of the device */
	GT_EFFECT_CONTEXT_DESTROY, /* the context is gone */
	GT_EFFECT_CONTEXT_GET,     /* the value points to the current context */
	GT_EFFECT_CONTEXT_PRIMARY, /* the value points to the device's primary context */
	GT_EFFECT_CONTEXT_RESET,   /* the primary context of the device, or the thread's, is gone */
	GT_EFFECT_DEVICE_UUID,     /* the value points to 16 bytes */
	GT_EFFECT_DEVICE_NAME,     /* … to a string */
	GT_EFFECT_DEVICE_PROPERTIES, /* … to struct cudaDeviceProp: name, then UUID (CUDA 10 on) */
};

struct gt_plan {
	__u8 registers; /* argument registers to keep */
	__u8 stack;     /* stack words to keep */
	__u8 copies;
	__u8 result; /* enum gt_plan_result */
	__u8 error;  /* 1 + the slot of a pointer to the error code (GT_RESULT_POINTER); 0: none */
	__u8 apart;  /* copies into events of their own, after the others in `copy` */
	__u8 effect; /* enum gt_call_effect … */
	__u8 effect_value;  /* … 1 + the slot of the value, or of the pointer to it; 0: none */
	__u8 effect_device; /* … 1 + the slot of the device's ordinal; 0: none */
	struct gt_plan_copy copy[GT_PLAN_MAX_COPIES];
	__u32 pending; /* the error code that means "not ready", and is no failure; 0: none */
	__u32 sums;    /* the key of the function's sums, where calls are counted by function */
};
