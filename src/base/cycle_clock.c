/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/cycle_clock.h"

#include <errno.h>
#include <sys/prctl.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/clock.h"

enum {
	READINGS = 8, /* of both clocks, of which the closest are taken */
};

__extension__ typedef unsigned __int128 wide;

#if defined(__x86_64__)
bool gt_cycle_clock_exists(void)
{
	enum { POWER_MANAGEMENT = 0x80000007, CONSTANT_RATE = 1 << 8 };
	unsigned a = 0, b = 0, c = 0, d = 0;
	int mode = 0;

	return __get_cpuid(POWER_MANAGEMENT, &a, &b, &c, &d) && d & CONSTANT_RATE &&
	       !prctl(PR_GET_TSC, &mode) && mode == PR_TSC_ENABLE;
}

uint64_t gt_cycle_ticks(void)
{
	return __builtin_ia32_rdtsc();
}
#else
bool gt_cycle_clock_exists(void)
{
	return false;
}

uint64_t gt_cycle_ticks(void)
{
	return 0;
}
#endif

struct gt_cycle_time gt_cycle_time(void)
{
	struct gt_cycle_time best = {0};
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < READINGS; i++) {
		uint64_t before = gt_cycle_ticks(), time = gt_clock_monotonic();
		uint64_t between = gt_cycle_ticks() - before;

		if (between >= least)
			continue;
		least = between;
		best = (struct gt_cycle_time){.ticks = before + between / 2, .time = time};
	}
	return best;
}

int gt_cycle_clock_fit(const struct gt_cycle_time *first, const struct gt_cycle_time *last,
		       struct gt_cycle_clock *ret_clock)
{
	uint64_t ticks = last->ticks - first->ticks, time = last->time - first->time;

	if (last->ticks <= first->ticks || last->time <= first->time || time >= ticks)
		return -EINVAL;
	*ret_clock = (struct gt_cycle_clock){.start = *first,
					     .rate = (uint64_t)(((wide)time << 64) / ticks)};
	return 0;
}

uint64_t gt_cycle_clock_ns(const struct gt_cycle_clock *clock, uint64_t ticks)
{
	return clock->start.time +
	       (uint64_t)((wide)(ticks - clock->start.ticks) * clock->rate >> 64);
}
