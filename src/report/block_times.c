/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report/block_times.h"

#include <math.h>
#include <string.h>

#include "base/launch_limits.h"
#include "programs.h"

/* A block of which not all records have arrived. */
struct block_open {
	bool started;
	uint32_t threads_left;
	struct gt_block_time time;
};

struct block_launch_key {
	uint64_t launch;
	uint32_t pid, kernel;
};

static void free_launch(struct gt_block_launch *launch)
{
	if (!launch)
		return;
	gt_hash_free_with(launch->open, free);
	gt_vec_free(&launch->blocks);
	free(launch);
}

struct gt_block_times *gt_block_times_new(void)
{
	struct gt_block_times *times = calloc(1, sizeof(*times));

	if (times)
		times->by_key = gt_hash_new();
	if (times && times->by_key)
		return times;
	free(times);
	return NULL;
}

void gt_block_times_free(struct gt_block_times *times)
{
	if (!times)
		return;
	gt_vec_each (launch, &times->launches)
		free_launch(*launch);
	gt_vec_free(&times->launches);
	gt_hash_free(times->by_key);
	free(times);
}

/* ---- records --------------------------------------------------------------------------- */

static struct gt_block_launch *add_launch(struct gt_block_times *times,
					  const struct block_launch_key *key,
					  const struct blocktime_record *record)
{
	struct gt_block_launch *launch = times->launches.count < GT_BLOCK_TIMES_MAX_LAUNCHES
						 ? calloc(1, sizeof(*launch))
						 : NULL;

	if (!launch)
		return NULL;
	*launch = (struct gt_block_launch){
		.launch = key->launch,
		.pid = key->pid,
		.kernel = key->kernel,
		.threads = record->threads,
		.shared = record->shared,
		.open = gt_hash_new(),
	};
	if (!launch->open || gt_vec_push(&times->launches, launch)) {
		free_launch(launch);
		return NULL;
	}
	/* Without the key its next record is another launch's. */
	gt_hash_set(times->by_key, key, sizeof(*key), launch);
	return launch;
}

static struct gt_block_launch *find_launch(struct gt_block_times *times,
					   const struct blocktime_record *record)
{
	const struct block_launch_key key = {record->launch, record->pid, record->kernel};
	struct gt_block_launch *launch = gt_hash_get(times->by_key, &key, sizeof(key));

	return launch ? launch : add_launch(times, &key, record);
}

static struct block_open *find_block(struct gt_block_times *times, struct gt_block_launch *launch,
				     const struct blocktime_record *record)
{
	const uint32_t index[] = {record->block_x, record->block_y, record->block_z};
	struct block_open *block = gt_hash_get(launch->open, index, sizeof(index));

	if (block || times->open + times->kept == GT_BLOCK_TIMES_MAX_BLOCKS)
		return block;
	block = calloc(1, sizeof(*block));
	if (!block || gt_hash_set(launch->open, index, sizeof(index), block)) {
		free(block);
		return NULL;
	}
	block->threads_left = record->threads;
	memcpy(block->time.index, index, sizeof(index));
	block->time.start = UINT64_MAX;
	block->time.sm = record->sm;
	times->open++;
	return block;
}

/* The memory is the traced process's: it can hold anything. */
static bool is_record(const struct blocktime_record *record, uint32_t size)
{
	return size == sizeof(*record) && record->threads &&
	       record->threads <= GT_MAX_BLOCK_THREADS;
}

/* False: the record contradicts those before it. */
static bool update_block(struct block_open *block, const struct blocktime_record *record)
{
	uint32_t lanes = (uint32_t)__builtin_popcount(record->lanes);

	if (record->sm != block->time.sm || lanes > block->threads_left ||
	    (!lanes && block->started))
		return false;
	if (!lanes)
		block->started = true;
	if (record->time < block->time.start)
		block->time.start = record->time;
	if (record->time > block->time.end)
		block->time.end = record->time;
	block->threads_left -= lanes;
	return true;
}

bool gt_block_times_add(struct gt_block_times *times, const void *bytes, uint32_t size,
			const struct gt_block_launch **ret_launch, struct gt_block_time *ret_block)
{
	struct blocktime_record record = {0};
	struct gt_block_launch *launch = NULL;
	struct block_open *block;

	memcpy(&record, bytes, size < sizeof(record) ? size : sizeof(record));
	if (is_record(&record, size))
		launch = find_launch(times, &record);
	if (!is_record(&record, size) || (launch && launch->threads != record.threads)) {
		times->malformed++;
		return false;
	}
	block = launch ? find_block(times, launch, &record) : NULL;
	if (!block) {
		times->not_counted++;
		return false;
	}
	if (!update_block(block, &record)) {
		times->malformed++;
		return false;
	}
	if (!block->started || block->threads_left || gt_vec_push(&launch->blocks, block->time))
		return false;
	times->open--;
	times->kept++;
	*ret_launch = launch;
	*ret_block = block->time;
	free(gt_hash_remove(launch->open, ret_block->index, sizeof(ret_block->index)));
	return true;
}

static int compare_launches(const void *a, const void *b)
{
	const struct gt_block_launch *one = *(struct gt_block_launch *const *)a;
	const struct gt_block_launch *other = *(struct gt_block_launch *const *)b;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	return (one->launch > other->launch) - (one->launch < other->launch);
}

void gt_block_times_sort(struct gt_block_times *times)
{
	if (times->launches.count)
		qsort(times->launches.items, times->launches.count,
		      sizeof(times->launches.items[0]), compare_launches);
}

/* ---- schedule -------------------------------------------------------------------------- */

static int compare_blocks(const void *a, const void *b)
{
	const struct gt_block_time *one = a, *other = b;

	if (one->sm != other->sm)
		return one->sm < other->sm ? -1 : 1;
	return (one->start > other->start) - (one->start < other->start);
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

/* The maximum of blocks at once; `ends` has room for the ends of all. */
static uint64_t count_at_once(const struct gt_block_time *blocks, size_t count, uint64_t *ends)
{
	uint64_t most = 0;
	size_t ended = 0;

	for (size_t i = 0; i < count; i++)
		ends[i] = blocks[i].end;
	qsort(ends, count, sizeof(*ends), compare_times);
	for (size_t i = 0; i < count; i++) {
		while (ended < i && ends[ended] <= blocks[i].start)
			ended++;
		if (i + 1 - ended > most)
			most = i + 1 - ended;
	}
	return most;
}

/* Blocks of one SM, by their start. */
static struct gt_block_sm sum_sm(const struct gt_block_time *blocks, size_t count, uint64_t *ends)
{
	struct gt_block_sm sm = {
		.sm = blocks->sm,
		.blocks = count,
		.most = count_at_once(blocks, count, ends),
	};
	uint64_t until = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t from = blocks[i].start > until ? blocks[i].start : until;

		sm.block_ns += blocks[i].end - blocks[i].start;
		if (blocks[i].end > from)
			sm.busy_ns += blocks[i].end - from;
		if (blocks[i].end > until)
			until = blocks[i].end;
	}
	return sm;
}

static void sum_schedule(const struct gt_block_launch *launch, struct gt_block_schedule *schedule)
{
	double span = (double)(schedule->last - schedule->first), count;
	double block_ns = 0, busy_ns = 0, most_ns = 0;

	count = (double)schedule->sms.count;
	schedule->has_sms = true;
	gt_vec_each (sm, &schedule->sms) {
		schedule->has_sms &= sm->sm != GT_BLOCK_NO_SM;
		block_ns += (double)sm->block_ns;
		busy_ns += (double)sm->busy_ns;
		if ((double)sm->block_ns > most_ns)
			most_ns = (double)sm->block_ns;
		if (sm->most > schedule->most)
			schedule->most = sm->most;
	}
	schedule->busy = span > 0 ? busy_ns / count / span : NAN;
	schedule->resident = span > 0 ? block_ns * launch->threads / count / span : NAN;
	schedule->balance = most_ns > 0 && schedule->has_sms ? block_ns / count / most_ns : NAN;
}

int gt_block_schedule_make(struct gt_block_launch *launch, struct gt_block_schedule *ret_schedule)
{
	struct gt_block_time *blocks = launch->blocks.items;
	size_t count = launch->blocks.count, end;
	gt_autofree uint64_t *ends = calloc(count + 1, sizeof(*ends));

	*ret_schedule = (struct gt_block_schedule){.first = UINT64_MAX};
	if (!ends)
		return -ENOMEM;
	if (count)
		qsort(blocks, count, sizeof(*blocks), compare_blocks);
	for (size_t i = 0; i < count; i = end) {
		for (end = i; end < count && blocks[end].sm == blocks[i].sm; end++) {
			if (blocks[end].start < ret_schedule->first)
				ret_schedule->first = blocks[end].start;
			if (blocks[end].end > ret_schedule->last)
				ret_schedule->last = blocks[end].end;
		}
		if (gt_vec_push(&ret_schedule->sms, sum_sm(blocks + i, end - i, ends)))
			return -ENOMEM;
	}
	sum_schedule(launch, ret_schedule);
	return 0;
}

void gt_block_schedule_clear(struct gt_block_schedule *schedule)
{
	gt_vec_free(&schedule->sms);
}
