/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CLOCK_MONOTONIC for the time stamps of calls, by the processor's time stamp counter where the
 * kernel's clock is it, too: two calls of clock_gettime are half of what a recorded call costs.
 *
 * All threads of a process use one line from the counter to ns. After a millisecond it is compared
 * with the kernel's clock and bent towards it, without a step. The time is that of clock_gettime
 * until two measured rates agree, and where the clock was not read for 2 ms. Where rates do not
 * agree, by 1/256, the machine was suspended or migrated, and the line is given up.
 *
 * The counter is the same on all processors where it is the kernel's clock source (arch/x86/kernel/
 * tsc.c, Linux 6.18). For NTP, the kernel changes its rate by at most 500 ppm (MAXFREQ, in
 * include/linux/timex.h): 0.5 µs in a millisecond.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A reading of both clocks. */
struct gt_call_moment {
	uint64_t counter, ns;
};

struct gt_call_line {
	struct gt_call_moment start;
	uint64_t rate;   /* ns per step of the counter, << 32 */
	uint64_t length; /* steps from `start` on, after which it is fitted again; 0: no line */
};

/* What is known of the clocks; all 0: nothing. */
struct gt_call_fit {
	struct gt_call_moment last;
	uint64_t rate; /* before `last`; 0: unknown */
	struct gt_call_line line;
};

/* Continue a fit with a later moment. */
void gt_call_fit_add(struct gt_call_fit *fit, const struct gt_call_moment *now);

static inline uint64_t gt_call_line_ns(const struct gt_call_line *line, uint64_t counter)
{
	return line->start.ns + ((counter - line->start.counter) * line->rate >> 32);
}

/* The line of the process; `version` is odd while it changes. */
struct gt_call_clock {
	_Atomic uint64_t version, counter, ns, rate, length;
};
extern struct gt_call_clock gt_call_clock __attribute__((visibility("hidden")));

/* False: it has just changed. */
static inline bool gt_call_read_line(struct gt_call_line *ret_line)
{
	struct gt_call_clock *clock = &gt_call_clock;
	uint64_t version = atomic_load_explicit(&clock->version, memory_order_acquire);

	*ret_line = (struct gt_call_line){
		.start.counter = atomic_load_explicit(&clock->counter, memory_order_relaxed),
		.start.ns = atomic_load_explicit(&clock->ns, memory_order_relaxed),
		.rate = atomic_load_explicit(&clock->rate, memory_order_relaxed),
		.length = atomic_load_explicit(&clock->length, memory_order_relaxed),
	};
	atomic_thread_fence(memory_order_acquire);
	return !(version & 1) &&
	       atomic_load_explicit(&clock->version, memory_order_relaxed) == version;
}

/* The time where the line is not valid; it is fitted again. */
uint64_t gt_call_now_slowly(void);

/*
 * Return the time in ns. Async-signal safe. The counter is read without a barrier, so that the time
 * may be that before the thread's last accesses to memory were complete, about 0.1 µs.
 */
static inline uint64_t gt_call_now(void)
{
	struct gt_call_line line;
	uint64_t counter;

	if (!gt_call_read_line(&line))
		return gt_call_now_slowly();
	counter = __builtin_ia32_rdtsc();
	if (counter - line.start.counter >= line.length)
		return gt_call_now_slowly();
	return gt_call_line_ns(&line, counter);
}

/* Find out whether the counter can be used: once, before the first call. */
void gt_call_clock_open(void);
/* In the child after fork. */
void gt_call_clock_forked(void);
