/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/calls/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

enum {
	PERIOD_NS = 1000 * 1000, /* between two moments of a fit, at least … */
	MAX_PERIOD_NS = 1 << 30, /* … and at most */
	RATE_PARTS = 256,        /* rates that differ by more than such a part do not agree */
	SMOOTHING = 8,           /* the part of a new rate that counts */
	READINGS = 3,
	MAX_READING = 1000, /* steps of the counter; a longer one was interrupted */
};

/* Of counters from 250 MHz to 16 GHz. */
#define MIN_RATE ((uint64_t)1 << 28)
#define MAX_RATE ((uint64_t)1 << 34)

struct gt_call_clock gt_call_clock;

static struct {
	bool is_usable;
	atomic_flag is_busy; /* one thread fits; the others and signal handlers do not wait */
	struct gt_call_fit fit;
} own = {.is_busy = ATOMIC_FLAG_INIT};

/* ---- fit ------------------------------------------------------------------------------- */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Begin a line where the last one is, such that it meets the clock after twice its length. */
static void begin_line(struct gt_call_fit *fit, const struct gt_call_moment *now)
{
	const struct gt_call_line old = fit->line;
	struct gt_call_line *line = &fit->line;
	int64_t error;

	*line = (struct gt_call_line){
		.start = *now,
		.rate = fit->rate,
		.length = ((uint64_t)PERIOD_NS << 32) / fit->rate,
	};
	if (now->counter - old.start.counter >= 2 * old.length)
		return; /* there is none, or nobody has used it since */
	line->start.ns = gt_call_line_ns(&old, now->counter);
	error = (int64_t)(line->start.ns - now->ns);
	line->rate -= (uint64_t)(error * ((int64_t)1 << 32) / (int64_t)(2 * line->length));
}

/* Whether the moment continues the fit. */
static bool add(struct gt_call_fit *fit, const struct gt_call_moment *now)
{
	uint64_t steps = now->counter - fit->last.counter, ns = now->ns - fit->last.ns, rate;

	if (!fit->last.counter || !steps || ns > MAX_PERIOD_NS)
		return false;
	if (ns < PERIOD_NS)
		return !fit->line.length || steps < 2 * fit->line.length;
	rate = (ns << 32) / steps;
	if (rate < MIN_RATE || rate > MAX_RATE)
		return false;
	fit->last = *now;
	if (!fit->rate) {
		fit->rate = rate;
		return true;
	}
	if (distance(rate, fit->rate) > fit->rate / RATE_PARTS)
		return false;
	fit->rate = (fit->rate * (SMOOTHING - 1) + rate) / SMOOTHING;
	begin_line(fit, now);
	return true;
}

void gt_call_fit_add(struct gt_call_fit *fit, const struct gt_call_moment *now)
{
	if (!add(fit, now))
		*fit = (struct gt_call_fit){.last = *now};
}

/* ---- the line of the process ------------------------------------------------------------- */

static void publish(const struct gt_call_line *line)
{
	struct gt_call_clock *clock = &gt_call_clock;
	uint64_t version = atomic_load_explicit(&clock->version, memory_order_relaxed);

	atomic_store_explicit(&clock->version, version + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&clock->counter, line->start.counter, memory_order_relaxed);
	atomic_store_explicit(&clock->ns, line->start.ns, memory_order_relaxed);
	atomic_store_explicit(&clock->rate, line->rate, memory_order_relaxed);
	atomic_store_explicit(&clock->length, line->length, memory_order_relaxed);
	atomic_store_explicit(&clock->version, version + 2, memory_order_release);
}

/* Read both clocks at once. False: each time, the thread was interrupted. */
static bool take_moment(struct gt_call_moment *ret_now)
{
	for (int i = 0; i < READINGS; i++) {
		uint64_t before = __builtin_ia32_rdtsc(), taken;

		ret_now->ns = gt_clock_monotonic();
		taken = __builtin_ia32_rdtsc() - before;
		ret_now->counter = before + taken / 2;
		if (taken <= MAX_READING)
			return true;
	}
	return false;
}

/* Fit again, and return the time; 0: it cannot be done now. */
static uint64_t fit_now(void)
{
	struct gt_call_moment now;
	uint64_t ns = 0;

	if (atomic_flag_test_and_set_explicit(&own.is_busy, memory_order_acquire))
		return 0;
	if (take_moment(&now)) {
		gt_call_fit_add(&own.fit, &now);
		publish(&own.fit.line);
		ns = own.fit.line.length ? gt_call_line_ns(&own.fit.line, now.counter) : now.ns;
	}
	atomic_flag_clear_explicit(&own.is_busy, memory_order_release);
	return ns;
}

uint64_t gt_call_now_slowly(void)
{
	struct gt_call_line line;
	uint64_t ns = own.is_usable ? fit_now() : 0, counter;

	if (ns)
		return ns;
	/* Others use the last line while one thread fits the next. */
	if (!own.is_usable || !gt_call_read_line(&line))
		return gt_clock_monotonic();
	counter = __builtin_ia32_rdtsc();
	return counter - line.start.counter < 2 * line.length ? gt_call_line_ns(&line, counter)
							      : gt_clock_monotonic();
}

void gt_call_clock_open(void)
{
	char name[8] = {0};
	int fd = open(CLOCK_SOURCE, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	own.is_usable = read(fd, name, sizeof(name) - 1) > 0 && !strcmp(name, "tsc\n");
	close(fd);
}

void gt_call_clock_forked(void)
{
	/* Another thread of the parent may have been about to change them. */
	own.fit = (struct gt_call_fit){0};
	atomic_store(&gt_call_clock.version, 0);
	publish(&own.fit.line);
	atomic_flag_clear(&own.is_busy);
}
