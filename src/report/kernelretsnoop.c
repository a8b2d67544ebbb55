/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * When threads exit: the program programs/kernelretsnoop.bpf.c. Its records are of groups of lanes
 * of a warp that exit together. They arrive in any order; a warp, and a block, is counted when all
 * its threads have exited.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clean.h"
#include "base/hash.h"
#include "base/histogram.h"
#include "base/launch_limits.h"
#include "base/text.h"
#include "programs.h"
#include "report/gpu.h"
#include "report/table.h"

enum {
	WARPS = GT_MAX_BLOCK_THREADS / GT_WARP_SIZE,
	MAX_LAUNCHES = 4096,       /* in the report */
	MAX_OPEN_BLOCKS = 1 << 20, /* that threads have not exited from yet */
	RECORDS_AT_ONCE = 1 << 14,
	EACH_AT_ONCE = 1 << 9,
	ROWS = 20,
};

/* ---- state ----------------------------------------------------------------------------- */

struct exit_group {
	uint32_t lanes;
	uint64_t clock, time;
};

/* The groups of a warp so far. */
struct exit_warp {
	uint32_t seen; /* lanes that have exited */
	GT_VEC(struct exit_group) groups;
};

struct exit_block {
	uint32_t threads_left;
	uint64_t first, last; /* clocks */
	struct exit_warp warps[];
};

struct exit_lane {
	uint64_t delay; /* cycles after the first lane of the warp, summed over split warps */
	uint64_t last;  /* split warps of which it was among the last lanes */
};

/* A warp whose lanes exited the furthest apart. */
struct exit_worst {
	uint64_t spread;
	uint32_t block[3], warp;
	struct exit_group groups[GT_WARP_SIZE];
	uint32_t group_count;
};

struct exit_launch_key {
	uint64_t launch;
	uint32_t pid, kernel;
};

struct exit_launch {
	struct exit_launch_key key;
	uint32_t size[3]; /* of a block */
	uint64_t threads, warps, split, blocks;
	uint64_t first, last;                          /* %globaltimer, ns */
	struct gt_histogram warp_spread, block_spread; /* cycles */
	struct exit_lane lanes[GT_WARP_SIZE];
	struct exit_worst worst;
	struct gt_hash *open; /* blocks by their index */
};

struct exit_state {
	struct gt_hash *by_key;
	GT_VEC(struct exit_launch *) launches;
	uint64_t open_blocks;
	uint64_t malformed;   /* records that make no sense */
	uint64_t not_counted; /* threads of launches or blocks that there is no room for */
};

static void free_block(void *value)
{
	struct exit_block *block = value;

	/* Warps that are complete have no groups. */
	for (uint32_t i = 0; i < WARPS; i++)
		gt_vec_free(&block->warps[i].groups);
	free(block);
}

static void free_launch(struct exit_launch *launch)
{
	if (!launch)
		return;
	gt_hash_free_with(launch->open, free_block);
	gt_histogram_free(&launch->warp_spread);
	gt_histogram_free(&launch->block_spread);
	free(launch);
}

static void close_exits(struct gt_gpu_run *run)
{
	struct exit_state *state = run->state;

	if (!state)
		return;
	gt_vec_each (launch, &state->launches)
		free_launch(*launch);
	gt_vec_free(&state->launches);
	gt_hash_free(state->by_key);
	free(state);
	run->state = NULL;
}

static int open_exits(struct gt_gpu_run *run)
{
	struct exit_state *state = calloc(1, sizeof(*state));

	run->state = state;
	if (state)
		state->by_key = gt_hash_new();
	return state && state->by_key ? 0 : -ENOMEM;
}

/* ---- records --------------------------------------------------------------------------- */

static uint32_t block_threads(const struct kernelretsnoop_exit *record)
{
	return (uint32_t)record->size_x * record->size_y * record->size_z;
}

/* The lanes that a warp of the block has. */
static uint32_t lanes_of_warp(const struct kernelretsnoop_exit *record)
{
	uint32_t before = (uint32_t)record->warp * GT_WARP_SIZE, threads = block_threads(record);

	return threads - before >= GT_WARP_SIZE ? UINT32_MAX : (1u << (threads - before)) - 1;
}

/* The memory is the traced process's: it can hold anything. */
static bool is_exit(const struct kernelretsnoop_exit *record, uint32_t size)
{
	const uint32_t block[] = {record->size_x, record->size_y, record->size_z};

	return size == sizeof(*record) && gt_launch_block_is_valid(block) &&
	       (uint32_t)record->warp * GT_WARP_SIZE < block_threads(record) && record->lanes &&
	       !(record->lanes & ~lanes_of_warp(record));
}

static struct exit_launch *add_launch(struct exit_state *state, const struct exit_launch_key *key,
				      const struct kernelretsnoop_exit *record)
{
	struct exit_launch *launch =
		state->launches.count < MAX_LAUNCHES ? calloc(1, sizeof(*launch)) : NULL;

	if (!launch)
		return NULL;
	*launch = (struct exit_launch){
		.key = *key,
		.size = {record->size_x, record->size_y, record->size_z},
		.first = UINT64_MAX,
		.open = gt_hash_new(),
	};
	if (!launch->open || gt_vec_push(&state->launches, launch)) {
		free_launch(launch);
		return NULL;
	}
	/* Without the key its next record is another launch's. */
	gt_hash_set(state->by_key, key, sizeof(*key), launch);
	return launch;
}

static struct exit_launch *find_launch(struct exit_state *state,
				       const struct kernelretsnoop_exit *record)
{
	const struct exit_launch_key key = {record->launch, record->pid, record->kernel};
	struct exit_launch *launch = gt_hash_get(state->by_key, &key, sizeof(key));

	return launch ? launch : add_launch(state, &key, record);
}

static bool has_size_of(const struct exit_launch *launch, const struct kernelretsnoop_exit *record)
{
	return launch->size[0] == record->size_x && launch->size[1] == record->size_y &&
	       launch->size[2] == record->size_z;
}

struct exit_block_key {
	uint32_t x, y, z;
};

static struct exit_block_key block_key(const struct kernelretsnoop_exit *record)
{
	return (struct exit_block_key){record->block_x, record->block_y, record->block_z};
}

static struct exit_block *find_block(struct exit_state *state, struct exit_launch *launch,
				     const struct kernelretsnoop_exit *record)
{
	const struct exit_block_key key = block_key(record);
	struct exit_block *block = gt_hash_get(launch->open, &key, sizeof(key));

	if (block || state->open_blocks == MAX_OPEN_BLOCKS)
		return block;
	block = calloc(1, sizeof(*block) + WARPS * sizeof(block->warps[0]));
	if (!block || gt_hash_set(launch->open, &key, sizeof(key), block)) {
		free(block);
		return NULL;
	}
	block->threads_left = block_threads(record);
	block->first = UINT64_MAX;
	state->open_blocks++;
	return block;
}

/* ---- counting -------------------------------------------------------------------------- */

static uint64_t first_clock(const struct exit_warp *warp)
{
	uint64_t first = UINT64_MAX;

	gt_vec_each (group, &warp->groups)
		if (group->clock < first)
			first = group->clock;
	return first;
}

static uint64_t last_clock(const struct exit_warp *warp)
{
	uint64_t last = 0;

	gt_vec_each (group, &warp->groups)
		if (group->clock > last)
			last = group->clock;
	return last;
}

static int compare_groups(const void *a, const void *b)
{
	const struct exit_group *one = a, *other = b;

	return (one->clock > other->clock) - (one->clock < other->clock);
}

static void keep_worst(struct exit_launch *launch, const struct exit_warp *warp, uint64_t spread,
		       const struct kernelretsnoop_exit *record)
{
	struct exit_worst *worst = &launch->worst;

	*worst = (struct exit_worst){
		.spread = spread,
		.block = {record->block_x, record->block_y, record->block_z},
		.warp = record->warp,
		.group_count = (uint32_t)warp->groups.count,
	};
	memcpy(worst->groups, warp->groups.items, warp->groups.count * sizeof(worst->groups[0]));
	qsort(worst->groups, worst->group_count, sizeof(worst->groups[0]), compare_groups);
}

/* All lanes of a warp have exited. */
static void count_warp(struct exit_launch *launch, struct exit_warp *warp,
		       const struct kernelretsnoop_exit *record)
{
	uint64_t first = first_clock(warp), last = last_clock(warp);

	launch->warps++;
	gt_histogram_add(&launch->warp_spread, last - first);
	if (warp->groups.count > 1) {
		launch->split++;
		gt_vec_each (group, &warp->groups)
			for (unsigned lane = 0; lane < GT_WARP_SIZE; lane++) {
				if (!(group->lanes >> lane & 1))
					continue;
				launch->lanes[lane].delay += group->clock - first;
				launch->lanes[lane].last += group->clock == last;
			}
		if (last - first >= launch->worst.spread)
			keep_worst(launch, warp, last - first, record);
	}
	gt_vec_free(&warp->groups);
}

static void count_exit(struct exit_state *state, struct exit_launch *launch,
		       struct exit_block *block, const struct kernelretsnoop_exit *record)
{
	const struct exit_block_key key = block_key(record);
	struct exit_warp *warp = &block->warps[record->warp];
	uint32_t threads = (uint32_t)__builtin_popcount(record->lanes);

	if (warp->seen & record->lanes) {
		state->malformed++;
		return;
	}
	if (gt_vec_push(&warp->groups,
			(struct exit_group){record->lanes, record->clock, record->time})) {
		state->not_counted += threads;
		return;
	}
	warp->seen |= record->lanes;
	launch->threads += threads;
	launch->first = record->time < launch->first ? record->time : launch->first;
	launch->last = record->time > launch->last ? record->time : launch->last;
	block->first = record->clock < block->first ? record->clock : block->first;
	block->last = record->clock > block->last ? record->clock : block->last;
	if (warp->seen == lanes_of_warp(record))
		count_warp(launch, warp, record);
	block->threads_left -= threads;
	if (block->threads_left)
		return;
	launch->blocks++;
	gt_histogram_add(&launch->block_spread, block->last - block->first);
	gt_hash_remove(launch->open, &key, sizeof(key));
	free_block(block);
	state->open_blocks--;
}

/* ---- each thread ----------------------------------------------------------------------- */

static void json_thread(const struct gt_gpu_run *run, const struct kernelretsnoop_exit *record,
			const uint32_t thread[3], struct gt_strbuf *text)
{
	const uint32_t block[] = {record->block_x, record->block_y, record->block_z};
	struct gt_json json = GT_JSON_INIT(text);

	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "exit", gt_gpu_report_kernel(run, record->kernel));
	gt_json_u64(&json, "pid", record->pid);
	gt_json_u64(&json, "launch", record->launch);
	gt_gpu_report_json_index(&json, "block", block);
	gt_gpu_report_json_index(&json, "thread", thread);
	gt_json_u64(&json, "time", record->time);
	gt_json_u64(&json, "clock", record->clock);
	gt_json_object_end(&json);
	gt_strbuf_putc(text, '\n');
}

static void put_thread(const struct gt_gpu_run *run, const struct kernelretsnoop_exit *record,
		       const uint32_t thread[3], struct gt_strbuf *text)
{
	gt_strbuf_printf(text,
			 "%" PRIu64 " ns, clock %" PRIu64 ": launch %" PRIu64
			 ", block (%u,%u,%u), thread (%u,%u,%u), ",
			 (uint64_t)record->time, (uint64_t)record->clock, (uint64_t)record->launch,
			 record->block_x, record->block_y, record->block_z, thread[0], thread[1],
			 thread[2]);
	gt_gpu_report_put_name(run, gt_gpu_report_kernel(run, record->kernel), text);
	gt_strbuf_putc(text, '\n');
}

static void put_each(const struct gt_gpu_run *run, const struct kernelretsnoop_exit *record,
		     struct gt_strbuf *text)
{
	for (uint32_t lane = 0; lane < GT_WARP_SIZE; lane++) {
		uint32_t flat = (uint32_t)record->warp * GT_WARP_SIZE + lane;
		const uint32_t thread[] = {flat % record->size_x,
					   flat / record->size_x % record->size_y,
					   flat / record->size_x / record->size_y};

		if (record->lanes >> lane & 1)
			(run->json ? json_thread : put_thread)(run, record, thread, text);
	}
}

static bool poll_exits(struct gt_gpu_run *run, struct gt_strbuf *text)
{
	struct exit_state *state = run->state;
	uint32_t count = 0, limit = run->each ? EACH_AT_ONCE : RECORDS_AT_ONCE, size;
	const void *bytes;

	for (; count < limit && gt_gpu_report_next_record(run, "exits", &bytes, &size) == 1;
	     count++) {
		struct kernelretsnoop_exit record = {0};
		struct exit_launch *launch;
		struct exit_block *block;

		memcpy(&record, bytes, size < sizeof(record) ? size : sizeof(record));
		if (!is_exit(&record, size)) {
			state->malformed++;
			continue;
		}
		if (run->each)
			put_each(run, &record, text);
		launch = find_launch(state, &record);
		if (launch && !has_size_of(launch, &record)) {
			state->malformed++;
			continue;
		}
		block = launch ? find_block(state, launch, &record) : NULL;
		if (block)
			count_exit(state, launch, block, &record);
		else
			state->not_counted += (uint32_t)__builtin_popcount(record.lanes);
	}
	return count == limit;
}

/* ---- the report ------------------------------------------------------------------------ */

static int compare_launches(const void *a, const void *b)
{
	const struct exit_launch *one = *(struct exit_launch *const *)a;
	const struct exit_launch *other = *(struct exit_launch *const *)b;

	if (one->key.launch != other->key.launch)
		return one->key.launch < other->key.launch ? -1 : 1;
	return (one->key.pid > other->key.pid) - (one->key.pid < other->key.pid);
}

static void sort_launches(struct exit_state *state)
{
	if (state->launches.count)
		qsort(state->launches.items, state->launches.count,
		      sizeof(state->launches.items[0]), compare_launches);
}

static void put_launch(const struct gt_gpu_run *run, const struct exit_launch *launch,
		       struct gt_table *table)
{
	gt_table_number(table, launch->key.launch);
	gt_table_number(table, launch->threads);
	gt_table_number(table, launch->warps);
	gt_table_number(table, launch->split);
	gt_table_number(table, gt_histogram_quantile(&launch->warp_spread, 0.5));
	gt_table_number(table, launch->warp_spread.max);
	gt_table_number(table, launch->block_spread.max);
	gt_table_duration(table, launch->last - launch->first);
	gt_gpu_report_put_name(run, gt_gpu_report_kernel(run, launch->key.kernel),
			       gt_table_cell(table));
	gt_table_end_cell(table);
}

static void put_launches(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	static const struct gt_column columns[] = {
		{"LAUNCH", false, false},    {"THREADS", false, false},  {"WARPS", false, false},
		{"SPLIT", false, false},     {"WARP MED", false, false}, {"WARP MAX", false, false},
		{"BLOCK MAX", false, false}, {"GRID", false, false},     {"KERNEL", true, false},
	};
	const struct exit_state *state = run->state;
	struct gt_table table;

	gt_table_begin(&table, columns, gt_countof(columns));
	for (size_t i = 0; i < state->launches.count && i < ROWS; i++)
		put_launch(run, state->launches.items[i], &table);
	gt_table_put(&table, text);
	if (state->launches.count > ROWS)
		gt_strbuf_printf(text, "… and %zu more launches (--json lists all)\n",
				 state->launches.count - ROWS);
	gt_strbuf_puts(text, "SPLIT: warps whose lanes exit apart. Spreads from the first exit to "
			     "the last: of warps and blocks in cycles.\n");
}

/* All launches of a kernel together. */
struct exit_kernel {
	uint32_t kernel;
	uint64_t warps, split;
	struct exit_lane lanes[GT_WARP_SIZE];
	const struct exit_launch *worst;
};

static struct exit_kernel sum_kernel(const struct exit_state *state, uint32_t number)
{
	struct exit_kernel kernel = {.kernel = number};

	gt_vec_each (item, &state->launches) {
		const struct exit_launch *launch = *item;

		if (launch->key.kernel != number)
			continue;
		kernel.warps += launch->warps;
		kernel.split += launch->split;
		for (unsigned lane = 0; lane < GT_WARP_SIZE; lane++) {
			kernel.lanes[lane].delay += launch->lanes[lane].delay;
			kernel.lanes[lane].last += launch->lanes[lane].last;
		}
		if (launch->worst.group_count &&
		    (!kernel.worst || launch->worst.spread > kernel.worst->worst.spread))
			kernel.worst = launch;
	}
	return kernel;
}

/* The lanes by their mean delay, darker is later. */
static void put_lanes(const struct exit_kernel *kernel, struct gt_strbuf *text)
{
	static const char shades[] = ".:-=+*#%@";
	unsigned slowest = 0;
	uint64_t max = 1;

	for (unsigned lane = 0; lane < GT_WARP_SIZE; lane++)
		if (kernel->lanes[lane].delay > kernel->lanes[slowest].delay)
			slowest = lane;
	if (kernel->lanes[slowest].delay > max)
		max = kernel->lanes[slowest].delay;
	gt_strbuf_puts(text, "  lane 0 |");
	for (unsigned lane = 0; lane < GT_WARP_SIZE; lane++) {
		double share = (double)kernel->lanes[lane].delay / (double)max;

		gt_strbuf_putc(text, shades[(size_t)(share * (sizeof(shades) - 2) + 0.5)]);
	}
	gt_strbuf_printf(text,
			 "| 31   the slowest is lane %u: %" PRIu64
			 " cycles after the first on average, the last in %" PRIu64 " of %" PRIu64
			 " warps\n",
			 slowest, max / kernel->split, kernel->lanes[slowest].last, kernel->split);
}

/* A row for each time at which lanes of the warp exit. */
static void put_worst(const struct exit_launch *launch, struct gt_strbuf *text)
{
	const struct exit_worst *worst = &launch->worst;
	const struct exit_group *first = &worst->groups[0];

	gt_strbuf_printf(text,
			 "  the most divergent warp: warp %u of block (%u,%u,%u) in launch %" PRIu64
			 "\n",
			 worst->warp, worst->block[0], worst->block[1], worst->block[2],
			 (uint64_t)launch->key.launch);
	for (uint32_t i = 0; i < worst->group_count; i++) {
		const struct exit_group *group = &worst->groups[i];

		gt_strbuf_puts(text, "         |");
		for (unsigned lane = 0; lane < GT_WARP_SIZE; lane++)
			gt_strbuf_putc(text, group->lanes >> lane & 1 ? '#' : '.');
		gt_strbuf_printf(text, "| +%" PRIu64 " cycles\n", group->clock - first->clock);
	}
}

static void put_kernel(const struct gt_gpu_run *run, uint32_t number, struct gt_strbuf *text)
{
	const struct exit_kernel kernel = sum_kernel(run->state, number);

	gt_strbuf_putc(text, '\n');
	gt_gpu_report_put_name(run, gt_gpu_report_kernel(run, number), text);
	if (!kernel.split) {
		gt_strbuf_printf(text,
				 ": the lanes of each warp exit together (%" PRIu64 " warps)\n",
				 kernel.warps);
		return;
	}
	gt_strbuf_printf(text, ": %" PRIu64 " of %" PRIu64 " warps exit in parts\n", kernel.split,
			 kernel.warps);
	put_lanes(&kernel, text);
	put_worst(kernel.worst, text);
}

/* Whether an earlier launch is of the same kernel. */
static bool is_repeated(const struct exit_state *state, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (state->launches.items[i]->key.kernel ==
		    state->launches.items[index]->key.kernel)
			return true;
	return false;
}

static void put_losses(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	const struct exit_state *state = run->state;
	uint64_t lost = gt_gpu_report_lost(run, "exits");

	if (lost)
		gt_strbuf_printf(text, "%" PRIu64 " records were dropped (buffer full)\n", lost);
	if (state->open_blocks)
		gt_strbuf_printf(text,
				 "%" PRIu64 " blocks are not counted: threads of theirs did not "
				 "exit, or their records were dropped\n",
				 state->open_blocks);
	if (state->not_counted)
		gt_strbuf_printf(
			text, "not counted: %" PRIu64 " threads of launches after the first %d\n",
			state->not_counted, MAX_LAUNCHES);
	if (state->malformed)
		gt_strbuf_printf(text, "%" PRIu64 " records were malformed\n", state->malformed);
}

static void put_exits(const struct gt_gpu_run *run, struct gt_strbuf *text)
{
	struct exit_state *state = run->state;

	sort_launches(state);
	if (state->launches.count)
		put_launches(run, text);
	else
		gt_strbuf_puts(text, "no thread exited\n");
	for (size_t i = 0; i < state->launches.count; i++)
		if (!is_repeated(state, i))
			put_kernel(run, state->launches.items[i]->key.kernel, text);
	put_losses(run, text);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static void json_spread(struct gt_json *json, const char *key, const struct gt_histogram *spread)
{
	gt_json_object_begin(json, key);
	gt_json_u64(json, "median", gt_histogram_quantile(spread, 0.5));
	gt_json_u64(json, "p99", gt_histogram_quantile(spread, 0.99));
	gt_json_u64(json, "max", spread->max);
	gt_json_object_end(json);
}

static void json_worst(struct gt_json *json, const struct exit_worst *worst)
{
	if (!worst->group_count) {
		gt_json_null(json, "slowest_warp");
		return;
	}
	gt_json_object_begin(json, "slowest_warp");
	gt_gpu_report_json_index(json, "block", worst->block);
	gt_json_u64(json, "warp", worst->warp);
	gt_json_array_begin(json, "groups");
	for (uint32_t i = 0; i < worst->group_count; i++) {
		gt_json_object_begin(json, NULL);
		gt_json_hex(json, "lanes", worst->groups[i].lanes);
		gt_json_u64(json, "clock", worst->groups[i].clock);
		gt_json_u64(json, "time", worst->groups[i].time);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	gt_json_object_end(json);
}

static void json_launch(const struct gt_gpu_run *run, const struct exit_launch *launch,
			struct gt_json *json)
{
	gt_json_object_begin(json, NULL);
	gt_json_u64(json, "launch", launch->key.launch);
	gt_json_u64(json, "pid", launch->key.pid);
	gt_json_string(json, "kernel", gt_gpu_report_kernel(run, launch->key.kernel));
	gt_gpu_report_json_index(json, "block_size", launch->size);
	gt_json_u64(json, "threads", launch->threads);
	gt_json_u64(json, "blocks", launch->blocks);
	gt_json_u64(json, "blocks_open", gt_hash_count(launch->open));
	gt_json_u64(json, "warps", launch->warps);
	gt_json_u64(json, "split_warps", launch->split);
	gt_json_u64(json, "first", launch->first);
	gt_json_u64(json, "last", launch->last);
	json_spread(json, "warp_cycles", &launch->warp_spread);
	json_spread(json, "block_cycles", &launch->block_spread);
	gt_json_array_begin(json, "lanes");
	for (unsigned lane = 0; lane < GT_WARP_SIZE; lane++) {
		gt_json_object_begin(json, NULL);
		gt_json_u64(json, "lane", lane);
		gt_json_u64(json, "delay_cycles", launch->lanes[lane].delay);
		gt_json_u64(json, "last", launch->lanes[lane].last);
		gt_json_object_end(json);
	}
	gt_json_array_end(json);
	json_worst(json, &launch->worst);
	gt_json_object_end(json);
}

static void json_exits(const struct gt_gpu_run *run, struct gt_json *json)
{
	struct exit_state *state = run->state;

	sort_launches(state);
	gt_json_array_begin(json, "launches");
	gt_vec_each (launch, &state->launches)
		json_launch(run, *launch, json);
	gt_json_array_end(json);
	gt_json_u64(json, "records_lost", gt_gpu_report_lost(run, "exits"));
	gt_json_u64(json, "records_malformed", state->malformed);
	gt_json_u64(json, "blocks_open", state->open_blocks);
	gt_json_u64(json, "not_counted", state->not_counted);
}

const struct gt_gpu_report gt_gpu_report_kernelretsnoop = {
	.name = "kernelretsnoop",
	.open = open_exits,
	.poll = poll_exits,
	.close = close_exits,
	.put = put_exits,
	.put_json = json_exits,
};
