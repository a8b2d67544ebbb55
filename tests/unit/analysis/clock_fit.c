/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The relation of two clocks, from points of which the truth is known. */
#include "analysis/clock_fit.h"

#include <errno.h>
#include <math.h>

#include "tap.h"

/* A GPU's clock as the software GPU has it. */
struct made_clock {
	uint64_t began; /* on the host */
	int64_t offset;
	double drift; /* ppm */
	uint64_t step;
};

static const struct made_clock plain = {5000000000, 0, 0, 1};

static uint64_t gpu_time(const struct made_clock *clock, uint64_t host)
{
	uint64_t gpu = host + (uint64_t)clock->offset +
		       (uint64_t)(int64_t)((double)(host - clock->began) * clock->drift / 1e6);

	return gpu / clock->step * clock->step;
}

/* A kernel that runs `late` ns after its call began, and is waited for `early` ns after its end. */
static void add_launch(struct gt_clock_fit *fit, const struct made_clock *clock, uint64_t host,
		       uint64_t late, uint64_t early)
{
	CHECK(!gt_clock_fit_add_before(fit, host - late, gpu_time(clock, host)));
	CHECK(!gt_clock_fit_add_after(fit, gpu_time(clock, host), host + early));
}

static double error_of(const struct gt_clock_fit *fit, const struct made_clock *clock,
		       uint64_t host)
{
	return fabs((double)(int64_t)(gt_clock_fit_host(fit, gpu_time(clock, host)) - host));
}

TEST("times that are the same on both clocks give offset and drift exactly")
{
	const struct made_clock clock = {5000000000, -123456789012, 37.5, 1};
	struct gt_clock_fit fit = {.step = 1};

	for (uint64_t i = 0; i < 10; i++)
		add_launch(&fit, &clock, clock.began + i * 1000000000, 0, 0);
	CHECK(!gt_clock_fit_solve(&fit));
	CHECK(llabs(fit.offset - clock.offset) <= 1);
	CHECK(fabs(fit.drift - clock.drift) < 1e-3 && fit.drift_error < 1e-3);
	CHECK(fit.error <= 2 && !fit.violations);
	CHECK(error_of(&fit, &clock, clock.began + 4321000000) <= 1);
	gt_clock_fit_clear(&fit);
}

TEST("the truth is within the error bound, whatever the delays")
{
	uint64_t state = 1;

	for (int run = 0; run < 200; run++) {
		const struct made_clock clock = {5000000000, run * INT64_C(1000000007),
						 (run % 21 - 10) * 90., run % 3 ? 1 : 32};
		struct gt_clock_fit fit = {.step = clock.step};
		int launches = 1 + run % 40;

		for (int i = 0; i < launches; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			add_launch(&fit, &clock, clock.began + (uint64_t)i * 7000003,
				   1000 + (state >> 40) % 50000, 500 + (state >> 20) % 90000);
		}
		CHECK(!gt_clock_fit_solve(&fit));
		CHECK(!fit.violations);
		CHECK(fabs(fit.drift - clock.drift) <= fit.drift_error + 1e-6);
		for (int i = 0; i < launches; i += 7)
			CHECK(error_of(&fit, &clock, clock.began + (uint64_t)i * 7000003) <=
			      fit.error + (double)clock.step + 1);
		gt_clock_fit_clear(&fit);
	}
}

TEST("the error bound shrinks with better points, and bad ones do no harm")
{
	struct gt_clock_fit fit = {.step = 1};
	double wide;

	add_launch(&fit, &plain, 6000000000, 50000, 70000);
	CHECK(!gt_clock_fit_solve(&fit));
	wide = fit.error;
	CHECK(wide > 50000 && wide < 70000);
	add_launch(&fit, &plain, 6100000000, 100, 900);
	add_launch(&fit, &plain, 6200000000, 100, 900);
	CHECK(!gt_clock_fit_solve(&fit));
	CHECK(fit.error < wide / 20);
	wide = fit.error;
	add_launch(&fit, &plain, 6150000000, 3000000000, 3000000000);
	CHECK(!gt_clock_fit_solve(&fit));
	CHECK(fit.error <= wide + 1);
	gt_clock_fit_clear(&fit);
}

TEST("points of one kind do not bound the offset")
{
	struct gt_clock_fit fit = {.step = 1};

	CHECK(gt_clock_fit_solve(&fit) == -ENODATA);
	CHECK(!gt_clock_fit_add_before(&fit, 1000, 2000));
	CHECK(gt_clock_fit_solve(&fit) == -ENODATA);
	CHECK(!gt_clock_fit_add_after(&fit, 2000, 3000));
	CHECK(!gt_clock_fit_solve(&fit));
	gt_clock_fit_clear(&fit);
}

TEST("a point that contradicts the others is counted as a violation, with its amount")
{
	struct gt_clock_fit fit = {.step = 1};

	for (uint64_t i = 0; i < 5; i++)
		add_launch(&fit, &plain, 6000000000 + i * 100000000, 100, 100);
	CHECK(!gt_clock_fit_solve(&fit));
	CHECK(!fit.violations);
	/* A kernel that ran a millisecond before it was launched. */
	CHECK(!gt_clock_fit_add_before(&fit, 6201000000, gpu_time(&plain, 6200000000)));
	CHECK(!gt_clock_fit_solve(&fit));
	CHECK(fit.violations >= 1);
	CHECK(fit.worst_violation > 400000 && fit.worst_violation < 1000000);
	gt_clock_fit_clear(&fit);
}

TEST("times that cannot be times are ignored, and counted")
{
	struct gt_clock_fit fit = {.step = 1};

	add_launch(&fit, &plain, 6000000000, 100, 100);
	add_launch(&fit, &plain, 6100000000, 100, 100);
	CHECK(!gt_clock_fit_add_before(&fit, UINT64_MAX / 2, 6000000000));
	CHECK(!gt_clock_fit_add_before(&fit, 6000000000, UINT64_C(1) << 63));
	CHECK(!gt_clock_fit_add_after(&fit, UINT64_C(3) << 62, 6000000000));
	CHECK(!gt_clock_fit_solve(&fit));
	CHECK(fit.ignored == 3 && !fit.violations && fit.error < 200);
	gt_clock_fit_clear(&fit);
}

TEST("a million points take little memory and give the same result")
{
	const struct made_clock clock = {5000000000, 77, 12, 1};
	struct gt_clock_fit fit = {.step = 1};

	for (uint64_t i = 0; i < 500000; i++)
		add_launch(&fit, &clock, clock.began + i * 10000, i % 1009, i % 1013);
	CHECK(fit.before.count == 500000 && fit.before.items.capacity < 500000);
	CHECK(!gt_clock_fit_solve(&fit));
	CHECK(!fit.violations && fit.error <= 3);
	CHECK(fabs(fit.drift - clock.drift) < 0.01);
	gt_clock_fit_clear(&fit);
}

TEST_MAIN
