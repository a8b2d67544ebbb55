/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The clock of hooked calls: a line from the time stamp counter to CLOCK_MONOTONIC. */
#include "agent/calls/clock.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

enum {
	STEPS_OF_MS = 2100 * 1000 + 1000, /* of the machine below */
	READINGS = 200 * 1000,
	THREADS = 3,
	TIMES = 100 * 1000,
	TOLERANCE_NS = 10 * 1000, /* rates that agree differ by 8 µs in 2 ms */
};

/* ---- a machine ----------------------------------------------------------------------------- */

/* A counter of 2.1 GHz, and the kernel's clock, whose rate changes. */
static struct {
	uint64_t counter;
	double ns, rate; /* ns per step */
} machine;

static void boot(void)
{
	srandom(1);
	machine.counter = 1000;
	machine.ns = 5;
	machine.rate = 1 / 2.1;
}

static uint64_t below(long limit)
{
	return (uint64_t)(random() % limit);
}

static void pass(uint64_t steps)
{
	machine.counter += steps;
	machine.ns += (double)steps * machine.rate;
}

/* As gt_call_now() does. `taken`: by the reading, in steps. Returns whether it was due. */
static bool fit_if_due(struct gt_call_fit *fit, uint64_t taken)
{
	struct gt_call_moment now = {machine.counter + taken / 2, (uint64_t)machine.ns};

	if (machine.counter - fit->line.start.counter < fit->line.length)
		return false;
	pass(taken);
	gt_call_fit_add(fit, &now);
	return true;
}

static double error_of(const struct gt_call_fit *fit)
{
	double error = (double)gt_call_line_ns(&fit->line, machine.counter) - machine.ns;

	return error < 0 ? -error : error;
}

TEST("a line follows the kernel's clock through changes of its rate, without a step back")
{
	struct gt_call_fit fit = {0};
	uint64_t last = 0, ns;
	int backwards = 0, without = 0;
	double largest = 0;

	boot();
	for (int i = 0; i < READINGS; i++) {
		if (i % 5000 == 0) /* by up to 500 ppm */
			machine.rate = (1 + ((double)below(1001) - 500) / 1e6) / 2.1;
		pass(1 + below(i % 100 ? 60000 : 6000000));
		fit_if_due(&fit, below(200));
		if (!fit.line.length) {
			without++;
			continue;
		}
		ns = gt_call_line_ns(&fit.line, machine.counter);
		backwards += ns < last;
		last = ns;
		if (error_of(&fit) > largest)
			largest = error_of(&fit);
	}
	CHECK_INT(backwards, 0);
	CHECK(without < 500);
	CHECK(largest < 3000);
	printf("# largest error: %.0f ns\n", largest);
}

/* Let 5 ms pass. */
static void run_on(struct gt_call_fit *fit)
{
	for (int i = 0; i < 500; i++) {
		pass(21000);
		fit_if_due(fit, 0);
	}
}

TEST("a line is given up where a clock jumps, and there is a right one soon after")
{
	static const struct {
		const char *name;
		int64_t steps;
		double ns;
	} jumps[] = {
		{"suspended for an hour", 3600ll * 2100000000, 0},
		{"suspended for 20 ms, while the counter stands still", 0, 20e6},
		{"migrated, the counter set back", -4000000000ll, 1e6},
		{"migrated, by 50 µs", 105000 + 4200000, 2e6},
		{"the counter begins again", -(1ll << 40), 0},
		{"the clock set back", 4200000, -1e9},
	};

	for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		struct gt_call_fit fit = {0};

		boot();
		pass(1ull << 41);
		run_on(&fit);
		CHECK(fit.line.length && error_of(&fit) < 1000);
		machine.counter += (uint64_t)jumps[i].steps;
		machine.ns += jumps[i].ns;
		/* It may be seen at the end of the line only. */
		for (int at_end = 0; at_end < 2; at_end++) {
			if (fit_if_due(&fit, 0) && fit.line.length && error_of(&fit) > TOLERANCE_NS)
				TAP_FAIL("%s: off by %.0f ns", jumps[i].name, error_of(&fit));
			pass(STEPS_OF_MS);
		}
		run_on(&fit);
		if (!fit.line.length || error_of(&fit) > 1000)
			TAP_FAIL("%s: no line, or off by %.0f ns", jumps[i].name, error_of(&fit));
	}
}

TEST("there is no line for counters of rates that are none, and no division by 0")
{
	static const uint64_t rates[] = {0, 1, 1000, 1ull << 40, 1ull << 62}; /* steps in 2 ms */

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct gt_call_fit fit = {0};

		for (uint64_t j = 1; j < 100; j++) {
			struct gt_call_moment now = {1 + j * rates[i], j * 2000000};

			gt_call_fit_add(&fit, &now);
		}
		CHECK_INT(fit.line.length, 0);
	}
}

/* ---- this machine -------------------------------------------------------------------------- */

static _Atomic uint64_t latest; /* of all threads */

/* Returns how many times were not between two of the kernel's, or before one of another thread. */
static void *take_times(void *unused)
{
	uintptr_t wrong = 0;

	(void)unused;
	for (int i = 0; i < TIMES; i++) {
		uint64_t seen = atomic_load(&latest), before = gt_clock_monotonic(),
			 now = gt_call_now(), after = gt_clock_monotonic();

		wrong += now + TOLERANCE_NS < before || now > after + TOLERANCE_NS ||
			 now + TOLERANCE_NS < seen;
		while (seen < now && !atomic_compare_exchange_weak(&latest, &seen, now))
			;
	}
	return (void *)wrong;
}

static uintptr_t take_times_in_threads(void)
{
	pthread_t threads[THREADS];
	uintptr_t wrong = 0;
	void *result;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take_times, NULL);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		wrong += (uintptr_t)result;
	}
	return wrong;
}

TEST("times are those of CLOCK_MONOTONIC in all threads, with and without the counter")
{
	CHECK_INT(take_times_in_threads(), 0);
	gt_call_clock_open();
	CHECK_INT(take_times_in_threads(), 0);
}

TEST("a child has the same clock, although the parent forked while a thread changed its line")
{
	int status = 1;
	pid_t child;

	gt_call_clock_open();
	atomic_fetch_or(&gt_call_clock.version, 1);
	child = fork();
	if (!child) {
		gt_call_clock_forked();
		_exit(take_times(NULL) != NULL || gt_call_clock.version & 1);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
}
TEST_MAIN
