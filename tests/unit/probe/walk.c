/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Walking a stack by frame pointers, as the BPF program does at a function's entry. */
#include "base/walk.h"
#include "tap.h"

/* The stack of a process that is not there: STACK_BYTES from STACK_BASE on. */
#define STACK_BASE 0x7ffc00000000ull
#define STACK_BYTES 16384
static uint64_t memory[STACK_BYTES / 8];
static unsigned reads;

static long gt_read_user(void *to, __u32 size, __u64 from)
{
	reads++;
	if (from < STACK_BASE || from - STACK_BASE > STACK_BYTES - size)
		return -14;
	memcpy(to, (char *)memory + (from - STACK_BASE), size);
	return 0;
}

/* A function whose return is probed has its frame here; 0: none has. */
#define TRAMPOLINE 0x7fffffffe000ull
static uint64_t probed_frame;

__u64 gt_probed_return(__u64 frame)
{
	return frame == probed_frame ? 0xbe41d : 0;
}

#define ROOM 127

static struct gt_window window;
static __u64 addresses[ROOM];

/*
 * Builds frames, the first of them at `offset` in the stack and each `stride` bytes from the last;
 * frame i returns to 0x1000 + i. Walks from an entry whose stack pointer lies just below.
 */
static struct gt_walk walk(uint64_t offset, uint64_t stride, unsigned frames, unsigned depth)
{
	memset(memory, 0, sizeof(memory));
	memset(addresses, 0, sizeof(addresses));
	for (unsigned i = 0; i < frames; i++) {
		uint64_t at = offset + i * stride;

		memory[at / 8] = i + 1 < frames ? STACK_BASE + at + stride : 0;
		memory[at / 8 + 1] = 0x1000 + i;
	}
	memory[offset / 8 - 1] = 0xca11e4;
	reads = 0;
	return gt_walk_frames(&window, addresses, ROOM, depth, 0xca11e4, STACK_BASE + offset - 8,
			      STACK_BASE + offset, TRAMPOLINE);
}

static void check_addresses(const struct gt_walk *walked, unsigned frames)
{
	CHECK_INT(walked->count, frames + 1);
	CHECK_INT(addresses[0], 0xca11e4);
	for (unsigned i = 0; i < frames; i++)
		CHECK_INT(addresses[i + 1], 0x1000 + i);
}

TEST("the caller stands first, although the function has not made its frame")
{
	struct gt_walk walked = walk(512, 64, 3, 64);

	check_addresses(&walked, 3);
	CHECK_INT(walked.truncated, 0);
}

TEST("sixteen small frames are read in one access")
{
	struct gt_walk walked = walk(0x100, 64, 16, 64);

	check_addresses(&walked, 16);
	CHECK_INT(reads, 1);
}

TEST("big frames are followed from window to window")
{
	struct gt_walk walked = walk(512, 1504, 10, 64);

	check_addresses(&walked, 10);
}

TEST("a frame whose two words lie in two windows is read whole")
{
	/* The window begins at the stack pointer, 8 bytes below the first frame. */
	struct gt_walk walked = walk(64, GT_WINDOW_BYTES - 16, 3, 64);

	check_addresses(&walked, 3);
}

TEST("a shallow stack, whose end is nearer than a window, is walked to its end")
{
	struct gt_walk walked = walk(STACK_BYTES - 256, 64, 3, 64);

	check_addresses(&walked, 3);
}

TEST("a stack deeper than the limit is truncated, and marked as such")
{
	struct gt_walk walked = walk(512, 64, 100, 16);

	CHECK_INT(walked.count, 16);
	CHECK_INT(walked.truncated, 1);
	CHECK_INT(addresses[15], 0x1000 + 14);
}

TEST("a frame that points down, at itself or between words ends the walk")
{
	static const uint64_t bad[] = {STACK_BASE + 0x100, STACK_BASE + 0x200,
				       STACK_BASE + 0x243, 0,
				       0x41414141,         UINT64_MAX & ~7ull};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct gt_walk walked;

		memset(memory, 0, sizeof(memory));
		memory[0x200 / 8] = bad[i];
		memory[0x208 / 8] = 0x1000;
		walked = gt_walk_frames(&window, addresses, ROOM, 64, 0xca11e4, STACK_BASE + 0x1f8,
					STACK_BASE + 0x200, TRAMPOLINE);
		CHECK_INT(walked.count, 2);
	}
}

TEST("a frame pointer used for other things gives the caller alone")
{
	struct gt_walk walked =
		gt_walk_frames(&window, addresses, ROOM, 64, 0xca11e4, STACK_BASE + 0x200, 17, 0);

	CHECK_INT(walked.count, 1);
}

TEST("a probe's trampoline is replaced by the true caller; if that is unknown, the walk is "
     "truncated")
{
	struct gt_walk walked;

	for (int known = 1; known >= 0; known--) {
		walk(512, 64, 3, 64);
		probed_frame = known ? STACK_BASE + 576 : 0;
		memory[576 / 8 + 1] = TRAMPOLINE;
		walked = gt_walk_frames(&window, addresses, ROOM, 64, 0xca11e4, STACK_BASE + 504,
					STACK_BASE + 512, TRAMPOLINE);
		CHECK_INT(walked.count, known ? 4 : 2);
		CHECK_INT(walked.truncated, !known);
		CHECK_INT(addresses[1], 0x1000);
		if (known)
			CHECK_INT(addresses[2], 0xbe41d);
	}
}

TEST("equal stacks have one hash, and others have others")
{
	struct gt_walk a = walk(512, 64, 5, 64), b = walk(1024, 128, 5, 64),
		       c = walk(512, 64, 6, 64);

	CHECK(a.hash == b.hash);
	CHECK(a.hash != c.hash);
	CHECK(a.hash != 0);
}

TEST_MAIN
