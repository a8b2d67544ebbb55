/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sums of calls are read from maps of the kernel. Needs the right to create maps. */
#include "probe/api/sums.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clean.h"
#include "event/kinds.h"
#include "probe/api/calls.h"
#include "tap.h"

#define ROWS 3000u
#define FIRST_FUNCTION 7u
#define MAX_PAUSES 10000
#define PAUSE_US 100
#define NO_BATCHES -524 /* ENOTSUPP, which linux/errno.h has for the kernel only */

/* What reads rows, in the place of libbpf's functions. */
static struct {
	unsigned reads;        /* system calls */
	unsigned good;         /* batches before the one that fails */
	int error, times_left; /* of that one, and how often it fails */
} calls;

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	static int (*next)(int, const void *, void *);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "bpf_map_lookup_elem");
	calls.reads++;
	return next(fd, key, value);
}

int bpf_map_lookup_batch(int fd, void *from, void *to, void *keys, void *values, __u32 *count,
			 const struct bpf_map_batch_opts *options)
{
	static int (*next)(int, void *, void *, void *, void *, __u32 *,
			   const struct bpf_map_batch_opts *);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "bpf_map_lookup_batch");
	if (calls.reads++ >= calls.good && calls.times_left) {
		calls.times_left--;
		*count = 0;
		return calls.error;
	}
	return next(fd, from, to, keys, values, count, options);
}

static uint64_t calls_of_row(uint32_t row)
{
	return row % 4;
}

static uint64_t calls_of_all(void)
{
	uint64_t sum = 0;

	for (uint32_t row = 0; row < ROWS; row++)
		sum += calls_of_row(row) * (uint64_t)libbpf_num_possible_cpus();
	return sum;
}

/* The kernel refills its memory for elements of hashes in the background. */
static bool update(int map, uint32_t row, const struct gt_call_sums *values)
{
	int error = bpf_map_update_elem(map, &row, values, BPF_ANY);

	for (int i = 0; i < MAX_PAUSES && error == -ENOMEM; i++) {
		usleep(PAUSE_US);
		error = bpf_map_update_elem(map, &row, values, BPF_ANY);
	}
	return !error;
}

/* A map of the kinds that gt_call_sums_prepare() makes; each CPU made the calls of each row. */
static int new_map(enum bpf_map_type type)
{
	LIBBPF_OPTS(bpf_map_create_opts, options,
		    .map_flags = type == BPF_MAP_TYPE_PERCPU_HASH ? BPF_F_NO_PREALLOC : 0);
	int cpus = libbpf_num_possible_cpus();
	gt_autofree struct gt_call_sums *values = calloc((size_t)cpus, sizeof(*values));
	gt_autoclose int map =
		bpf_map_create(type, NULL, sizeof(uint32_t), sizeof(*values), ROWS, &options);

	for (uint32_t row = 0; map >= 0 && row < ROWS; row++) {
		for (int cpu = 0; cpu < cpus; cpu++)
			values[cpu].durations[row % 3] = calls_of_row(row);
		if (!update(map, row, values)) {
			TAP_FAIL("row %u cannot be set: %s", row, strerror(errno));
			return -1;
		}
		memset(values, 0, (size_t)cpus * sizeof(*values));
	}
	memset(&calls, 0, sizeof(calls));
	return gt_take_fd(&map);
}

static const enum bpf_map_type types[] = {BPF_MAP_TYPE_PERCPU_ARRAY, BPF_MAP_TYPE_PERCPU_HASH};

TEST("the sums of many functions are read by few system calls")
{
	for (size_t i = 0; i < gt_countof(types); i++) {
		gt_autoclose int map = new_map(types[i]);

		if (map < 0)
			SKIP("maps cannot be created");
		CHECK_INT(gt_call_sums_complete(map), calls_of_all());
		CHECK(calls.reads < ROWS / 10);
	}
}

TEST("sums are read one by one where the kernel reads no batches of such a map")
{
	gt_autoclose int map = new_map(BPF_MAP_TYPE_PERCPU_ARRAY);

	if (map < 0)
		SKIP("maps cannot be created");
	calls.error = NO_BATCHES;
	calls.times_left = 1;
	CHECK_INT(gt_call_sums_complete(map), calls_of_all());
	CHECK_INT(calls.reads, 1 + ROWS);
}

TEST("more sums are read at once where more of them have the same hash")
{
	for (unsigned good = 0; good < 3; good++) {
		gt_autoclose int map = new_map(BPF_MAP_TYPE_PERCPU_HASH);

		if (map < 0)
			SKIP("maps cannot be created");
		calls.good = good;
		calls.error = -ENOSPC;
		calls.times_left = 2;
		CHECK_INT(gt_call_sums_complete(map), calls_of_all());
		CHECK(calls.reads < ROWS / 10);
	}
}

/* Emit the sums of all rows. */
static void emit_all(int map, struct gt_event_queue *queue)
{
	gt_summed_functions functions = {0};

	for (uint32_t row = 0; row < ROWS; row++)
		gt_vec_push(&functions, row + FIRST_FUNCTION);
	gt_call_sums_emit(map, &functions, false, queue);
	gt_vec_free(&functions);
}

TEST("each function that was called has one event with its sums")
{
	gt_autoclose int map = new_map(BPF_MAP_TYPE_PERCPU_HASH);
	struct gt_event_queue queue = {0};
	unsigned times[ROWS] = {0};

	if (map < 0)
		SKIP("maps cannot be created");
	emit_all(map, &queue);
	for (size_t i = 0; i < queue.events.count; i++) {
		const struct gt_event_sums *event = (const void *)queue.events.items[i];

		if (event->function - FIRST_FUNCTION < ROWS)
			times[event->function - FIRST_FUNCTION]++;
	}
	CHECK_INT(queue.events.count, ROWS / 4 * 3);
	for (uint32_t row = 0; row < ROWS; row++)
		CHECK_INT(times[row], calls_of_row(row) ? 1 : 0);
	CHECK_INT(queue.lost, 0);
	gt_event_queue_clear(&queue);
}

TEST("sums that cannot be read after the first of them are counted as lost, and none is emitted "
     "twice")
{
	gt_autoclose int map = new_map(BPF_MAP_TYPE_PERCPU_ARRAY);
	struct gt_event_queue queue = {0};

	if (map < 0)
		SKIP("maps cannot be created");
	calls.good = 1;
	calls.error = -EFAULT;
	calls.times_left = 1;
	emit_all(map, &queue);
	CHECK(queue.events.count > 0 && queue.events.count < ROWS / 4 * 3);
	CHECK_INT(queue.lost, 1);
	gt_event_queue_clear(&queue);
}

TEST_MAIN
