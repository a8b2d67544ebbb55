/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arrays and hash maps as PTX on the software device, with thousands of threads: counts are exact,
 * and the contents are those that the operations of the host would have produced.
 */
#include "gpubpf_maps_run.h"

/* ---- arrays ----------------------------------------------------------------------------- */

TEST("counts of many threads in an array are exact")
{
	auto_device device = {0};
	struct setup setup = {.maps = {ARRAY(8, 16), ARRAY(4, 3)},
			      .text = THREAD
			      "	and r6, 15\n"
			      "	stxw [r10-8], r6\n" KEY(0) "	call 1\n"
							   "	jeq r0, 0, out\n"
							   "	mov r1, 2\n"
							   "	lock add [r0], r1\n"
							   "	stw [r10-8], 2\n" KEY(
								   1) "	mov r3, 3\n"
								      "	call 531\n"
								      "	exit\n"
								      "out:\n"
								      "	mov r0, 99\n"
								      "	exit\n",
			      MANY};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};

		run(&device, &setup, &outcome);
		for (uint32_t i = 0; i < 16; i++)
			CHECK_INT(value_at(&setup, &outcome, 0, i), 2 * ALL / 16);
		CHECK_INT(value_at(&setup, &outcome, 1, 2), 3 * ALL);
		CHECK_INT(count_results(&outcome, 0), ALL);
	}
}

TEST("a key beyond the end of an array is not found, and cannot be updated or added to")
{
	auto_device device = {0};
	struct setup setup = {
		.maps = {ARRAY(8, 16)},
		.text = "	stw [r10-8], 16\n" KEY(
			0) "	call 1\n"
			   "	mov r6, r0\n" KEY(0) "	mov r3, 1\n"
						     "	call 531\n"
						     "	mov r7, r0\n"
						     "	stdw [r10-16], 5\n" KEY(
							     0) "	mov r3, r10\n"
								"	add r3, -16\n"
								"	mov r4, 0\n"
								"	call 2\n"
								"	mul r0, 1000\n"
								"	mul r7, 10\n"
								"	add r0, r7\n"
								"	jeq r6, 0, none\n"
								"	add r0, 1\n"
								"none:\n"
								"	exit\n"};
	struct outcome outcome = {0};

	device_open(&device);
	run(&device, &setup, &outcome);
	CHECK_INT(outcome.results[0], -E2BIG * 1010);
}

TEST("an update of an array accepts the kernel's flags and returns the kernel's errors")
{
	static const struct {
		const char *flags;
		int64_t result;
	} rows[] = {{"0", 0}, {"1", -EEXIST}, {"2", 0}, {"3", -EINVAL}};
	auto_device device = {0};
	char text[512];

	device_open(&device);
	for (size_t i = 0; i < gt_countof(rows); i++) {
		struct setup setup = {.maps = {ARRAY(8, 16)}, .text = text};
		struct outcome outcome = {0};

		snprintf(text, sizeof(text),
			 "	stw [r10-8], 3\n"
			 "	stdw [r10-16], 7\n" KEY(0) "	mov r3, r10\n"
							   "	add r3, -16\n"
							   "	mov r4, %s\n"
							   "	call 2\n"
							   "	exit\n",
			 rows[i].flags);
		run(&device, &setup, &outcome);
		CHECK_INT(outcome.results[0], rows[i].result);
		CHECK_INT(value_at(&setup, &outcome, 0, 3), rows[i].result ? 0 : 7);
	}
}

TEST("a histogram counts every number in the bucket of its power of two, greater ones in the last")
{
	auto_device device = {0};
	struct setup setup = {.maps = {ARRAY(8, 8), ARRAY(4, 64)},
			      .text = THREAD "	ldmap r1, 0\n"
					     "	mov r2, r6\n"
					     "	call 530\n"
					     "	ldmap r1, 1\n"
					     "	mov r2, r6\n"
					     "	lsh r2, 52\n"
					     "	call 530\n"
					     "	exit\n",
			      MANY};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};

		run(&device, &setup, &outcome);
		CHECK_INT(value_at(&setup, &outcome, 0, 0), 2);
		CHECK_INT(value_at(&setup, &outcome, 0, 6), 64);
		CHECK_INT(value_at(&setup, &outcome, 0, 7), ALL - 128);
		CHECK_INT(value_at(&setup, &outcome, 1, 0), 1);
		CHECK_INT(value_at(&setup, &outcome, 1, 63), ALL / 2);
	}
}

/* ---- copies ----------------------------------------------------------------------------- */

#define COPIES(kind)                                                                               \
	{                                                                                          \
		.type = kind, .key_size = 4, .value_size = 8, .max_entries = 3                     \
	}
#define ADD_TO_ALL                                                                                 \
	"	stw [r10-8], 1\n" KEY(0) "	mov r3, 1\n	call 531\n" KEY(                   \
		1) "	mov r3, 1\n	call 531\n" KEY(2) "	mov r3, 1\n	call 531\n	"              \
							   "exit\n"

TEST("per-SM, per-warp and per-thread arrays have a copy for each, and the sums are exact")
{
	auto_device device = {0};
	struct setup setup = {.maps = {COPIES(6), COPIES(1540), COPIES(1502)},
			      .copies = {4, 24, 24 * 30},
			      .text = ADD_TO_ALL,
			      .grid = {3, 2, 2},
			      .block = {6, 5, 2}};
	const struct gt_bpf_map_grid grid = {4, {3, 2, 2}, {6, 5, 2}};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};

		run(&device, &setup, &outcome);
		for (uint32_t i = 0; i < 3; i++) {
			struct gt_bpf_map_view view = view_of(&setup, &outcome, i);
			struct gt_bpf_map_entry entry = {.next = 1};

			CHECK_INT(gt_bpf_map_copies_for(view.map, &grid), view.copies);
			CHECK(gt_bpf_map_read(&view, &entry));
			CHECK_INT(gt_bpf_map_sum(&view, &entry), 720);
			for (uint32_t copy = 0; copy < view.copies; copy++)
				CHECK_INT(gt_bpf_map_number(view.map, gt_bpf_map_read_copy(
									      &view, &entry, copy)),
					  i == 0     ? 180
					  : i == 2   ? 1
					  : copy % 2 ? 28
						     : 32);
			CHECK_INT(gt_bpf_map_losses(&view).outside, 0);
		}
	}
}

TEST("an access without a copy finds nothing, and is counted")
{
	auto_device device = {0};
	struct setup setup = {.maps = {COPIES(6), COPIES(1540), COPIES(1502)},
			      .copies = {1, 100, 1000},
			      .text = ADD_TO_ALL,
			      MANY};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};
		struct gt_bpf_map_view view;

		run(&device, &setup, &outcome);
		CHECK_INT(count_results(&outcome, 0), 1000);
		CHECK_INT(count_results(&outcome, -ENOENT), ALL - 1000);
		view = view_of(&setup, &outcome, 0);
		CHECK_INT(gt_bpf_map_losses(&view).outside, ALL * 3 / 4);
		view = view_of(&setup, &outcome, 1);
		CHECK_INT(gt_bpf_map_losses(&view).outside, ALL - 32 * 100);
		view = view_of(&setup, &outcome, 2);
		CHECK_INT(gt_bpf_map_losses(&view).outside, ALL - 1000);
	}
}

TEST("atomic operations have the scope of the GPU, or of the system for shared maps")
{
	static const struct {
		struct gt_bpf_map map;
		const char *operation, *other;
	} rows[] = {
		{ARRAY(8, 4), "red.relaxed.gpu.global.add.u64", ".sys"},
		{{.type = BPF_MAP_TYPE_ARRAY,
		  .key_size = 4,
		  .value_size = 8,
		  .max_entries = 4,
		  .flags = BPF_F_MMAPABLE},
		 "red.relaxed.sys.global.add.u64",
		 ".gpu"},
		{{.type = 1504, .key_size = 4, .value_size = 8, .max_entries = 4},
		 "red.relaxed.sys.global.add.u64",
		 ".gpu"},
		{HASH(4, 8, 4), "red.relaxed.gpu.global.add.u64", ".sys"},
	};

	for (size_t i = 0; i < gt_countof(rows); i++) {
		struct setup setup = {
			.maps = {rows[i].map},
			.text = "	stw [r10-8], 1\n" KEY(0) "	mov r3, 1\n"
								 "	call 531\n	exit\n"};
		struct translated translated;

		if (prepare(&setup, &translated)) {
			CHECK(strstr(translated.text, rows[i].operation));
			CHECK(!strstr(translated.text, rows[i].other));
		}
		translated_clear(&translated);
	}
}

TEST("global variables are in device memory, although libbpf sets the flag of shared arrays")
{
	struct gt_bpf_map map = ARRAY(8, 1);

	map.flags = BPF_F_MMAPABLE;
	snprintf(map.name, sizeof(map.name), ".bss");
	CHECK_INT(gt_bpf_map_place(&map), GT_BPF_MAP_DEVICE);
	snprintf(map.name, sizeof(map.name), "shared");
	CHECK_INT(gt_bpf_map_place(&map), GT_BPF_MAP_SHARED);
}

/* ---- hash maps -------------------------------------------------------------------------- */

/* Check that a hash map is consistent: each key exists once, is found, and is counted. */
static uint64_t check_hash(const struct setup *setup, const struct outcome *outcome, uint32_t map)
{
	struct gt_bpf_map_view view = view_of(setup, outcome, map);
	const struct gt_bpf_hash_counters *counters =
		(const void *)((const char *)view.memory + gt_bpf_map_hash_counters(view.map));
	struct gt_bpf_map_entry entry = {0};
	uint64_t entries = 0;

	while (gt_bpf_map_read(&view, &entry)) {
		int64_t offset = gt_bpf_map_lookup(view.map, view.memory, 0, entry.key);

		if ((const char *)view.memory + offset != entry.value)
			TAP_FAIL("an entry is not what is found by its key");
		entries++;
	}
	CHECK_INT(counters->entries, entries);
	return entries;
}

TEST("a hash map that thousands of threads add to has each key once, with the exact sum")
{
	auto_device device = {0};
	struct setup setup = {
		.maps = {HASH(8, 8, 200), HASH(5, 24, 97)},
		.text = THREAD
		"	mov r1, r6\n"
		"	mod r1, 97\n"
		"	stxdw [r10-8], r1\n" KEY(0) "	mov r3, 1\n"
						    "	call 531\n"
						    "	mov r7, r0\n" KEY(1) "	mov r3, r6\n"
									     "	call 531\n"
									     "	add r0, r7\n"
									     "	exit\n",
		MANY};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};
		uint64_t sums[97] = {0}, counts[97] = {0};

		run(&device, &setup, &outcome);
		CHECK_INT(count_results(&outcome, 0), ALL);
		CHECK_INT(check_hash(&setup, &outcome, 0), 97);
		CHECK_INT(check_hash(&setup, &outcome, 1), 97);
		for (uint64_t i = 0; i < ALL; i++) {
			counts[i % 97]++;
			sums[i % 97] += i;
		}
		for (uint64_t i = 0; i < 97; i++) {
			CHECK_INT(value_at(&setup, &outcome, 0, i), counts[i]);
			CHECK_INT(value_at(&setup, &outcome, 1, i), sums[i]);
		}
	}
}

/* Updates the key at -8 with the value at -24, of 16 bytes. */
#define UPDATE(map, flags)                                                                         \
	KEY(map) "	mov r3, r10\n	add r3, -24\n	mov r4, " #flags "\n	call 2\n"
#define VALUE "	stxdw [r10-24], r6\n	stxdw [r10-16], r6\n"

TEST("one of many threads that insert the same keys with BPF_NOEXIST succeeds for each key")
{
	auto_device device = {0};
	struct setup setup = {.maps = {HASH(4, 16, 64)},
			      .text = THREAD VALUE
			      "	mov r1, r6\n"
			      "	and r1, 63\n"
			      "	stxw [r10-8], r1\n" UPDATE(0, 1) "	exit\n",
			      MANY};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};

		run(&device, &setup, &outcome);
		CHECK_INT(count_results(&outcome, 0), 64);
		CHECK_INT(count_results(&outcome, -EEXIST), ALL - 64);
		CHECK_INT(check_hash(&setup, &outcome, 0), 64);
		for (uint32_t i = 0; i < 64; i++)
			CHECK_INT(outcome.results[value_at(&setup, &outcome, 0, i)], 0);
	}
}

TEST("concurrent updates of one key are atomic")
{
	auto_device device = {0};
	struct setup setup = {.maps = {HASH(4, 16, 64)},
			      .text = THREAD VALUE
			      "	stw [r10-8], 77\n" UPDATE(0, 0) "	exit\n",
			      MANY};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};
		struct gt_bpf_map_view view;
		struct gt_bpf_map_entry entry = {0};
		uint64_t halves[2];

		view = run_map(&device, &setup, &outcome);
		CHECK_INT(count_results(&outcome, 0), ALL);
		CHECK_INT(check_hash(&setup, &outcome, 0), 1);
		CHECK(gt_bpf_map_read(&view, &entry));
		memcpy(halves, entry.value, sizeof(halves));
		CHECK_INT(halves[0], halves[1]);
		CHECK(halves[0] < ALL);
	}
}

TEST("a full hash map rejects and counts inserts, and still updates its keys")
{
	auto_device device = {0};
	struct setup setup = {.maps = {HASH(8, 16, 1000)},
			      .text = THREAD VALUE
			      "	stxdw [r10-8], r6\n" UPDATE(0, 0) "	exit\n",
			      MANY};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};
		struct gt_bpf_map_view view;
		uint32_t inserted;

		view = run_map(&device, &setup, &outcome);
		CHECK_INT(count_results(&outcome, 0), 1000);
		CHECK_INT(count_results(&outcome, -E2BIG), ALL - 1000);
		CHECK_INT(gt_bpf_map_losses(&view).rejected, ALL - 1000);
		CHECK_INT(check_hash(&setup, &outcome, 0), 1000);
		for (uint64_t i = 0; i < ALL; i++)
			if (!outcome.results[i])
				CHECK_INT(value_at(&setup, &outcome, 0, i), i);
		run(&device, &setup, &outcome);
		inserted = count_results(&outcome, 0);
		CHECK_INT(inserted, 1000);
	}
}

TEST("one of many threads that delete the same keys succeeds for each key")
{
	auto_device device = {0};
	struct setup insert = {.maps = {HASH(8, 16, 512)},
			       .text = THREAD VALUE
			       "	mov r1, r6\n	and r1, 511\n"
			       "	stxdw [r10-8], r1\n" UPDATE(0, 0) "	exit\n",
			       MANY};
	struct setup delete = {.maps = {HASH(8, 16, 512)},
			       .text = THREAD "	and r6, 511\n"
					      "	stxdw [r10-8], r6\n" KEY(0) "	call 3\n"
									    "	exit\n",
			       MANY};

	device_open(&device);
	EACH_FORM(insert)
	{
		struct outcome outcome = {0};

		delete.sm = insert.sm;
		for (int round = 0; round < 3; round++) {
			run(&device, &insert, &outcome);
			CHECK_INT(count_results(&outcome, 0), ALL);
			CHECK_INT(check_hash(&insert, &outcome, 0), 512);
			run(&device, &delete, &outcome);
			CHECK_INT(count_results(&outcome, 0), 512);
			CHECK_INT(count_results(&outcome, -ENOENT), ALL - 512);
			CHECK_INT(check_hash(&insert, &outcome, 0), 0);
		}
	}
}

/*
 * Inserts, looks up, checks and deletes the thread's own key, four times. The result is the number
 * of inserts into a full map; 1000 and more: an error.
 */
#define OWN_KEY                                                                                    \
	THREAD VALUE "	stxdw [r10-8], r6\n	mov r7, 0\n	mov r8, 0\n"                                \
		     "again:\n" UPDATE(0, 1) "	jeq r0, 0, inserted\n"                              \
					     "	jne r0, -7, wrong\n"                                \
					     "	add r7, 1\n"                                        \
					     "	ja next\n"                                          \
					     "inserted:\n" KEY(                                    \
						     0) "	call 1\n"                                \
							"	jeq r0, 0, wrong\n"                      \
							"	ldxdw r1, [r0+0]\n"                      \
							"	jne r1, r6, wrong\n"                     \
							"	ldxdw r1, [r0+8]\n"                      \
							"	jne r1, r6, wrong\n" KEY(          \
								0) "	call 3\n"                     \
								   "	jne r0, 0, wrong\n"           \
								   "next:\n"                       \
								   "	add r8, 1\n"                  \
								   "	jlt r8, 4, again\n"           \
								   "	mov r0, r7\n"                 \
								   "	exit\n"                       \
								   "wrong:\n"                      \
								   "	mov r0, 1000\n"               \
								   "	exit\n"

TEST("every thread keeps its own key while nodes are reused")
{
	auto_device device = {0};
	struct setup setup = {.maps = {HASH(8, 16, ALL)}, .text = OWN_KEY, MANY};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};

		run(&device, &setup, &outcome);
		CHECK_INT(count_results(&outcome, 0), ALL);
		CHECK_INT(check_hash(&setup, &outcome, 0), 0);
	}
}

TEST("no two threads share a node when there are far fewer nodes than threads")
{
	auto_device device = {0};
	struct setup setup = {.maps = {HASH(8, 16, 24)}, .text = OWN_KEY, MANY};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};
		struct gt_bpf_map_view view;
		uint64_t rejected = 0;

		run(&device, &setup, &outcome);
		CHECK_INT(count_results(&outcome, 1000), 0);
		for (uint32_t i = 0; i < ALL; i++)
			rejected += outcome.results[i];
		view = view_of(&setup, &outcome, 0);
		CHECK_INT(gt_bpf_map_losses(&view).rejected, rejected);
		CHECK_INT(check_hash(&setup, &outcome, 0), 0);
	}
}

/* Thread t: key t / 2 is updated by one, and by the other added to or deleted, by their numbers. */
TEST("operations of threads on their own keys have the results of the host's operations")
{
	auto_device device = {0};
	struct setup setup = {.maps = {HASH(20, 16, ALL)},
			      .text = THREAD VALUE
			      "	stdw [r10-48], 1\n	stxdw [r10-40], r6\n	stw [r10-32], 9\n"
			      "	ldmap r1, 0\n	mov r2, r10\n	add r2, -48\n"
			      "	mov r3, r10\n	add r3, -24\n	mov r4, 0\n"
			      "	call 2\n"
			      "	mov r7, r0\n"
			      "	mov r8, r6\n	mod r8, 3\n"
			      "	ldmap r1, 0\n	mov r2, r10\n	add r2, -48\n"
			      "	mov r3, 5\n"
			      "	jeq r8, 0, delete\n"
			      "	call 531\n"
			      "	exit\n"
			      "delete:\n"
			      "	call 3\n"
			      "	exit\n",
			      MANY};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome device_side = {0}, host_side = {0};
		struct gt_bpf_map_view view, host;
		struct gt_bpf_map_entry entry = {0};

		run(&device, &setup, &device_side);
		interpret(&setup, &host_side, NULL);
		view = view_of(&setup, &device_side, 0);
		host = view_of(&setup, &host_side, 0);
		CHECK_INT(check_hash(&setup, &device_side, 0), check_hash(&setup, &host_side, 0));
		while (gt_bpf_map_read(&view, &entry)) {
			int64_t offset = gt_bpf_map_lookup(host.map, host.memory, 0, entry.key);

			if (offset < 0 ||
			    memcmp((const char *)host.memory + offset, entry.value, 16))
				TAP_FAIL("an entry differs");
		}
		CHECK(!memcmp(device_side.results, host_side.results, sizeof(host_side.results)));
		free_maps(&host_side);
	}
}

/* ---- sizes ------------------------------------------------------------------------------ */

/* Fills the stack, then copies `size` bytes of it at -264 + shift to each map. */
static char *size_program(unsigned size, unsigned shift, bool known)
{
	struct gt_strbuf text = GT_STRBUF_INIT;

	for (unsigned i = 0; i < 34; i++)
		gt_strbuf_printf(&text, "	stdw [r10-%u], %u\n", 8 * (i + 1),
				 i ? 0x1020304 * (i + 1) : 5);
	gt_strbuf_printf(&text, "	mov r6, r10\n	add r6, -%u\n", 264 - shift);
	for (unsigned map = 0; map < 2; map++)
		gt_strbuf_printf(&text,
				 "	ldmap r1, %u\n	mov r2, r10\n	add r2, -8\n"
				 "	mov r3, r6\n	mov r4, 0\n	call 2\n",
				 map);
	if (!known)
		gt_strbuf_puts(&text, "	ldxdw r7, [r10-272]\n	and r7, 1\n");
	gt_strbuf_printf(&text,
			 "	ldmap r1, 2\n	mov r2, r6\n	mov r3, %u\n%s	mov r4, 0\n"
			 "	call 130\n	exit\n",
			 known ? size : size - 1, known ? "" : "	add r3, r7\n");
	return gt_strbuf_steal(&text);
}

static size_t first_of_sizes; /* of loaded_texts */

TEST("values and records of all sizes and alignments are those of the interpreter")
{
	static const unsigned sizes[] = {1, 2, 3, 4, 5, 8, 12, 15, 16, 100, 250, 256, 257};
	auto_device device = {0};

	device_open(&device);
	first_of_sizes = loaded_count;
	for (size_t i = 0; i < gt_countof(sizes) * 16; i++) {
		unsigned size = sizes[i / 16], shift = (unsigned)(i / 2 % 8);
		gt_autofree char *text = size_program(size, shift, i % 2);
		struct setup setup = {.maps = {ARRAY(size, 8), HASH(8, size, 4), RING(27, 1 << 10)},
				      .text = text,
				      .sm = forms[i % 3]};
		struct outcome outcome = {0}, host = {0};

		run(&device, &setup, &outcome);
		interpret(&setup, &host, NULL);
		CHECK_INT(outcome.results[0], 0);
		CHECK_INT(host.results[0], 0);
		for (uint32_t map = 0; map < 3; map++)
			if (memcmp(outcome.memory[map], host.memory[map],
				   gt_bpf_map_bytes(&setup.maps[map], 1)))
				TAP_FAIL("size %u, shift %u, map %u differs", size, shift, map);
		free_maps(&host);
		device.used = 0;
	}
}

TEST("ptxas accepts the translated programs, for old and new devices")
{
	static const unsigned devices[] = {75, 90, 120};

	NEED_TEXTS(51);
	/* Of the sizes every fifth text: each size, each alignment and each form is among them. */
	for (size_t i = 0; i < loaded_count; i += i < first_of_sizes ? 1 : 5)
		check_text_for(loaded_texts[i], devices[i / 3 % gt_countof(devices)]);
}

TEST_MAIN
