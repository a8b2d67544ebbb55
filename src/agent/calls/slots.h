/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Slots: each is a function of a library under one name, with a stub that programs call in its
 * place (stubs.S). One name has several slots where libraries have several functions of the name.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gt_slot_state {
	GT_SLOT_UNRESOLVED, /* the library's function is not known yet */
	GT_SLOT_PASSES,     /* calls are not traced */
	GT_SLOT_TRACED,
};

/* Assembler code knows this layout. */
struct gt_call_slot {
	_Atomic(void *) function;
	uint16_t row;
	uint16_t per_thread;    /* a per-thread-stream variant (_ptsz, _ptds) */
	_Atomic uint32_t state; /* gt_slot_state */
};

_Static_assert(sizeof(struct gt_call_slot) == 16 && offsetof(struct gt_call_slot, state) == 12,
	       "stubs.S knows this layout");

enum {
	GT_SPARE_SLOTS = 2048, /* stubs.S */
};

extern struct gt_call_slot gt_call_slots[];

/* Find the function of a slot that a program calls from `caller`; the slot is resolved then. */
void gt_call_resolve(struct gt_call_slot *slot, const void *caller);

/*
 * Return the stub for a function that a program gets by a symbol's name: by dlsym, called at
 * `caller`, or, NULL, by cuGetProcAddress, which knows no versions. The function itself where there
 * is no such symbol, or no slot is left.
 */
void *gt_call_wrap(const char *symbol, void *function, const void *caller);

/* In the child after fork. */
void gt_call_slots_forked(void);
