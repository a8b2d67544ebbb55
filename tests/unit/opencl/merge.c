/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Merging memory that a device had a copy of. */
#include "opencl/merge.h"

#include <pthread.h>

#include "tap.h"

enum {
	WORDS = 4,
	ROUNDS = 20000,
};

TEST("a word that one side alone has changed gets its value, and one that none has stays")
{
	uint64_t host[WORDS] = {1, 2, 30, 4}, base[WORDS] = {1, 2, 3, 4};
	const uint64_t device[WORDS] = {1, 20, 3, UINT64_MAX};

	gt_cl_merge_words(host, base, device, WORDS);
	CHECK(host[0] == 1 && host[1] == 20 && host[2] == 30 && host[3] == UINT64_MAX);
	CHECK(!memcmp(base, device, sizeof(base)));
}

TEST("a word that both sides have changed gets the sum of the changes, also of negative ones")
{
	uint64_t host[WORDS] = {105, 95, 5, 0}, base[WORDS] = {100, 100, UINT64_MAX, 1};
	const uint64_t device[WORDS] = {103, 90, 2, UINT64_MAX};

	gt_cl_merge_words(host, base, device, WORDS);
	CHECK(host[0] == 108 && host[1] == 85 && host[2] == 8 && host[3] == UINT64_MAX - 1);
}

TEST("what the device returns again without a change is merged once")
{
	uint64_t host[WORDS] = {0}, base[WORDS] = {0};
	uint64_t device[WORDS] = {1, 2, 3, 4};

	gt_cl_merge_words(host, base, device, WORDS);
	gt_cl_merge_words(host, base, device, WORDS);
	CHECK(host[0] == 1 && host[3] == 4);
	device[3]++;
	gt_cl_merge_words(host, base, device, WORDS);
	CHECK(host[0] == 1 && host[3] == 5);
}

static uint64_t shared[WORDS];

static void *add_meanwhile(void *unused)
{
	for (int i = 0; i < ROUNDS; i++)
		__atomic_fetch_add(&shared[i % WORDS], 1, __ATOMIC_RELAXED);
	return unused;
}

TEST("counts to which others add meanwhile are exact")
{
	uint64_t base[WORDS], device[WORDS], sum = 0;
	pthread_t other;

	CHECK_INT(pthread_create(&other, NULL, add_meanwhile, NULL), 0);
	for (int i = 0; i < ROUNDS; i++) {
		gt_cl_read_words(base, shared, WORDS);
		memcpy(device, base, sizeof(base));
		device[i % WORDS]++;
		gt_cl_merge_words(shared, base, device, WORDS);
	}
	pthread_join(other, NULL);
	for (int i = 0; i < WORDS; i++)
		sum += shared[i];
	CHECK_INT(sum, 2 * ROUNDS);
}

/* A record: its data, and a header before it that says that the data is complete. */
static void *write_records(void *unused)
{
	uint64_t base[2] = {0}, device[2];

	for (uint64_t i = 1; i <= ROUNDS; i++) {
		device[0] = device[1] = i;
		gt_cl_merge_words(shared, base, device, 2);
	}
	return unused;
}

TEST("who sees a word that was merged sees those after it")
{
	uint64_t seen[2] = {0};
	pthread_t writer;

	shared[0] = shared[1] = 0;
	CHECK_INT(pthread_create(&writer, NULL, write_records, NULL), 0);
	while (seen[0] < ROUNDS) {
		gt_cl_read_words(seen, shared, 2);
		if (seen[1] < seen[0]) {
			TAP_FAIL("the header of record %d, the data of %d", (int)seen[0],
				 (int)seen[1]);
			break;
		}
	}
	pthread_join(writer, NULL);
}

TEST_MAIN
