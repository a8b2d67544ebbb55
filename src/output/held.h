/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls and system calls that began and have not returned: outputs hold their entries, so that one
 * that returns before anything else happens is one line. Else it is shown as unfinished, and its
 * return as resumed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/event.h"

#define GT_HOLD_NS 100000000 /* a call that blocks for longer is shown while it does */

struct gt_held_call {
	uint64_t start; /* ns */
	uint64_t key;
	uint32_t thread;
	struct gt_event *entry; /* owned */
};

/* In the order of their beginnings. Zeroed, it is empty. */
struct gt_held_calls {
	GT_VEC(struct gt_held_call) calls;
};

typedef void (*gt_held_put)(void *context, const struct gt_event *entry);

void gt_held_free(struct gt_held_calls *held);
/*
 * Hold an `entry` or `syscall_entry` event. If too many are held, the older half of them is put
 * before. 0 or -ENOMEM.
 */
int gt_held_add(struct gt_held_calls *held, const struct gt_event *entry, gt_held_put put,
		void *context);
/* Remove the entry of a `call` or `syscall` event; false: it is not held. */
bool gt_held_remove(struct gt_held_calls *held, const struct gt_event *event);
/* Put and remove the entries from before a time. */
void gt_held_release(struct gt_held_calls *held, uint64_t time, gt_held_put put, void *context);
