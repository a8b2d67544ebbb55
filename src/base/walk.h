/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The callers of a function at its entry, by frame pointers. Shared by the BPF program, the agent
 * and the unit test: each defines the two functions that are declared here.
 *
 * User memory is read a window at a time, not a word: each access costs a hundred ns, however
 * short. Frames are {next frame, return address} on x86-64 and on aarch64. At a function's entry
 * it has not made its own frame yet: the frame pointer is its caller's, and the caller itself is
 * the return address (which the kernel's own walker misses before Linux 6.12).
 */
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "base/mix.h"

/* Copies memory of the traced thread. 0, or negative where it cannot be read. */
static long gt_read_user(void *to, __u32 size, __u64 from);

/* The return address of the probed function with this frame; 0: unknown. */
__u64 gt_probed_return(__u64 frame);

#define GT_WINDOW_BYTES 2048 /* a power of two */
#define GT_WINDOW_WORDS (GT_WINDOW_BYTES / 8)
#define GT_PAGE_BYTES 4096 /* the smallest page size: mappings end at a multiple */

struct gt_window {
	__u64 base;                       /* address of words[0] */
	__u64 bytes;                      /* readable ones */
	__u64 words[2 * GT_WINDOW_WORDS]; /* half is used: the verifier adds both limits */
};

#define GT_WALK_SEED 0x9e3779b97f4a7c15ull /* the hash of no address */

struct gt_walk {
	__u64 count;
	__u64 hash;      /* of the addresses; not 0 */
	__u64 truncated; /* there were more frames than were asked for */
};

/* A window may lie across the end of the stack: up to the page's end first, then the rest. */
static inline __attribute__((always_inline)) void gt_window_move(struct gt_window *window,
								 __u64 base)
{
	__u64 first = GT_PAGE_BYTES - (base & (GT_PAGE_BYTES - 1));

	window->base = base;
	window->bytes = 0;
	/* The verifier sees bounds of what is compared: let it be `first` itself. */
	__asm__ volatile("" : "+r"(first));
	if (first > GT_WINDOW_BYTES)
		first = GT_WINDOW_BYTES;
	if (gt_read_user(window->words, first, base))
		return;
	window->bytes = first;
	if (first < GT_WINDOW_BYTES &&
	    !gt_read_user((char *)window->words + first, GT_WINDOW_BYTES - first, base + first))
		window->bytes = GT_WINDOW_BYTES;
}

/* Move the window to `frame` if needed. Whether the frame is in it then. */
static inline __attribute__((always_inline)) int gt_window_reach(struct gt_window *window,
								 __u64 frame)
{
	if (frame - window->base <= window->bytes - 16 && window->bytes >= 16)
		return 1;
	gt_window_move(window, frame);
	return window->bytes >= 16;
}

/*
 * Fills addresses[] with up to `depth` (at most `room`) return addresses, the innermost first.
 * Frames ascend; the first one that does not ends the walk. `trampoline` is the address that
 * replaces the return addresses of functions whose returns are probed; 0: there are none.
 */
static inline __attribute__((always_inline)) struct gt_walk
gt_walk_frames(struct gt_window *window, __u64 *addresses, __u32 room, __u32 depth,
	       __u64 return_address, __u64 stack, __u64 frame, __u64 trampoline)
{
	struct gt_walk walk = {.hash = GT_WALK_SEED};
	__u64 address = return_address;

	gt_window_move(window, stack & ~7ull);
	for (__u32 i = 0; i < room; i++) {
		__u64 at, next;

		if (i >= depth) {
			walk.truncated = 1;
			break;
		}
		addresses[i] = address;
		walk.count = i + 1;
		walk.hash = gt_hash_mix(walk.hash, address);
		if (frame <= stack || frame & 7 || !gt_window_reach(window, frame))
			break;
		at = (frame - window->base) / 8 & (GT_WINDOW_WORDS - 1);
		next = window->words[at];
		address = window->words[(at + 1) & (GT_WINDOW_WORDS - 1)];
		if (address == trampoline && trampoline) {
			address = gt_probed_return(frame);
			walk.truncated = !address;
		}
		if (!address)
			break;
		stack = frame;
		frame = next;
	}
	if (!walk.hash)
		walk.hash = 1;
	return walk;
}
