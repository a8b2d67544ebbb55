/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The mark of the calls that the agent makes in a traced process, and the program does not
 * (src/agent/own_call.h): probes ignore them. They return to an instruction without an effect that
 * carries a magic number, which no compiler emits. BPF programs include this file.
 */
#pragma once

/* The bytes at the return address of such a call: GT_OWN_CALL_BYTES & GT_OWN_CALL_MASK. */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define GT_OWN_CALL_BYTES 0x677441478f1f0full /* nopl 0x67744147(%rdi) */
#define GT_OWN_CALL_MASK 0xffffffffffffffull
#else
#define GT_OWN_CALL_BYTES 0x52ece8f0528828f0ull /* mov w16, #0x4147; mov w16, #0x6747 */
#define GT_OWN_CALL_MASK ~0ull
#endif
