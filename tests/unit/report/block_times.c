/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The schedule of blocks, from records as programs/blocktime.bpf.c writes them. */
#include "report/block_times.h"

#include <math.h>

#include "programs.h"
#include "tap.h"

static struct gt_block_times *times;
static const struct gt_block_launch *launch;
static struct gt_block_time last_block;

/* A block of 64 threads at a time: lanes of one of its warps that exit; 0: its start. */
static bool record(uint64_t number, uint32_t block, uint32_t sm, uint64_t time, uint32_t lanes)
{
	const struct blocktime_record made = {
		.launch = number,
		.time = time,
		.pid = 7,
		.block_x = block,
		.sm = sm,
		.lanes = lanes,
		.threads = 64,
	};

	return gt_block_times_add(times, &made, sizeof(made), &launch, &last_block);
}

static void start(void)
{
	gt_block_times_free(times);
	times = gt_block_times_new();
}

static void add_block(uint32_t block, uint32_t sm, uint64_t from, uint64_t to)
{
	CHECK(!record(1, block, sm, from, 0));
	CHECK(!record(1, block, sm, to - 1, UINT32_MAX));
	CHECK(record(1, block, sm, to, UINT32_MAX));
}

TEST("a block ends when the last of its threads has exited, whatever the order of the records")
{
	start();
	CHECK(!record(1, 5, 2, 300, 0xffff));
	CHECK(!record(1, 5, 2, 250, UINT32_MAX));
	CHECK(!record(1, 5, 2, 100, 0));
	CHECK(times->open == 1 && times->kept == 0);
	CHECK(record(1, 5, 2, 200, 0xffff0000));
	CHECK(last_block.start == 100 && last_block.end == 300 && last_block.sm == 2);
	CHECK(last_block.index[0] == 5 && launch->launch == 1 && launch->threads == 64);
	CHECK(times->open == 0 && times->kept == 1 && !times->malformed);
}

TEST("launches are kept apart by their number")
{
	start();
	CHECK(!record(1, 0, 0, 100, 0));
	CHECK(!record(2, 0, 1, 200, 0));
	CHECK(times->launches.count == 2 && times->open == 2);
}

TEST("the schedule has what each SM ran, how busy it was and how evenly they share")
{
	struct gt_block_schedule schedule;

	start();
	/* SM 0: two blocks that overlap, and a gap; SM 3: one block all the time. */
	add_block(0, 0, 1000, 1400);
	add_block(1, 0, 1200, 1500);
	add_block(2, 3, 1000, 2000);
	CHECK(!gt_block_schedule_make(times->launches.items[0], &schedule));
	CHECK(schedule.first == 1000 && schedule.last == 2000 && schedule.sms.count == 2);
	if (schedule.sms.count == 2) {
		const struct gt_block_sm *sms = schedule.sms.items;

		CHECK(sms[0].sm == 0 && sms[0].blocks == 2 && sms[0].most == 2);
		CHECK(sms[0].block_ns == 700 && sms[0].busy_ns == 500);
		CHECK(sms[1].sm == 3 && sms[1].blocks == 1 && sms[1].most == 1);
		CHECK(sms[1].block_ns == 1000 && sms[1].busy_ns == 1000);
	}
	CHECK(fabs(schedule.busy - 0.75) < 1e-9);
	CHECK(fabs(schedule.balance - 0.85) < 1e-9);
	CHECK(fabs(schedule.resident - 0.85 * 64) < 1e-9);
	CHECK(schedule.most == 2);
	gt_block_schedule_clear(&schedule);
}

TEST("blocks that follow each other do not run at once")
{
	struct gt_block_schedule schedule;

	start();
	add_block(0, 1, 1000, 2000);
	add_block(1, 1, 2000, 3000);
	CHECK(!gt_block_schedule_make(times->launches.items[0], &schedule));
	CHECK(schedule.most == 1 && fabs(schedule.busy - 1) < 1e-9);
	gt_block_schedule_clear(&schedule);
}

TEST("records that make no sense are counted and change nothing")
{
	struct blocktime_record made = {.launch = 1, .threads = 1025};

	start();
	CHECK(!gt_block_times_add(times, &made, sizeof(made), &launch, &last_block));
	made.threads = 64;
	CHECK(!gt_block_times_add(times, &made, 12, &launch, &last_block));
	CHECK(times->malformed == 2 && !times->launches.count);
	CHECK(!record(1, 0, 0, 100, 0));
	CHECK(!record(1, 0, 0, 110, 0));          /* it starts again */
	CHECK(!record(1, 0, 1, 120, UINT32_MAX)); /* on another SM */
	CHECK(!record(1, 0, 0, 130, UINT32_MAX));
	CHECK(!record(1, 0, 0, 140, 0x7fffffff));
	CHECK(!record(1, 0, 0, 150, UINT32_MAX)); /* more threads than it has left */
	CHECK(times->malformed == 5);
	CHECK(record(1, 0, 0, 160, 0x80000000));
	CHECK(last_block.start == 100 && last_block.end == 160);
	start();
	gt_block_times_free(times);
	times = NULL;
}

TEST_MAIN
