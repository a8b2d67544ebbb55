/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Maps on the host: their layout, their operations, reading them back, printing them, rings. */
#include <errno.h>

#include "base/hash.h"
#include "gpubpf/map/map.h"
#include "gpubpf/map/ring_reader.h"
#include "tap.h"

#define MAP_OF(kind, key, value, entries)                                                          \
	((struct gt_bpf_map){.name = "counts",                                                     \
			     .type = kind,                                                         \
			     .key_size = key,                                                      \
			     .value_size = value,                                                  \
			     .max_entries = entries})

static void *memory_of(const struct gt_bpf_map *map, uint32_t copies)
{
	void *memory = calloc(1, gt_bpf_map_bytes(map, copies));

	gt_bpf_map_initialise(map, copies, memory);
	return memory;
}

static uint64_t random_state = 0x9e3779b97f4a7c15;

static uint32_t below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % limit;
}

/* ---- declarations and layout ------------------------------------------------------------ */

TEST("an invalid declaration is rejected with the reason")
{
	static const struct {
		struct gt_bpf_map map;
		const char *reason;
	} rows[] = {
		{{.type = 2, .key_size = 8, .value_size = 8, .max_entries = 1},
		 "key_size of an array is not 4"},
		{{.type = 2, .key_size = 4, .value_size = 8}, "max_entries is 0"},
		{{.type = 1, .key_size = 0, .value_size = 8, .max_entries = 1},
		 "key_size is not 1 to 512 bytes"},
		{{.type = 1, .key_size = 4, .value_size = 0, .max_entries = 1},
		 "value_size is not 1 to 2^29 bytes"},
		{{.type = 2, .key_size = 4, .value_size = (1 << 29) + 1, .max_entries = 1},
		 "value_size is not 1 to 2^29 bytes"},
		{{.type = 1, .key_size = 4, .value_size = 4, .max_entries = (1 << 26) + 1},
		 "max_entries of a hash is above 2^26"},
		{{.type = 27, .max_entries = 100}, "max_entries of a ring is not a power of two"},
		{{.type = 27, .max_entries = 32}, "max_entries of a ring is not 64 to 2^30 bytes"},
		{{.type = 1527, .max_entries = 100}, "max_entries of a ring is not a power of two"},
		{{.type = 1527, .value_size = 1 << 24, .max_entries = 1 << 6},
		 "the records of one thread need more than 2^30 bytes"},
		{{.type = 1527, .value_size = UINT32_MAX, .max_entries = UINT32_MAX},
		 "the records of one thread need more than 2^30 bytes"},
		{{.type = 9, .key_size = 4, .value_size = 4097, .max_entries = 1},
		 "value_size is above 4096 bytes, and the map is on the host"},
		{{.type = 11, .key_size = 4, .value_size = 4, .max_entries = 1},
		 "key_size is not 5 to 260 bytes: a u32 and the bits"},
		{{.type = 7, .key_size = 4, .value_size = 4, .max_entries = 1},
		 "GPUs have no maps of type 7; they have 1 2 4 5 6 9 10 11 27 1501 1502 1503 1504 "
		 "1512 1513 1527 1540 (enum gputap_map_type)"},
	};

	for (size_t i = 0; i < gt_countof(rows); i++) {
		struct gt_diag diag = {0};

		CHECK_INT(gt_bpf_map_check(&rows[i].map, &diag),
			  rows[i].map.type == 7 ? -EOPNOTSUPP : -EINVAL);
		CHECK_STR(diag.text, rows[i].reason);
	}
}

TEST("a ring of type 1527 with values has room for max_entries records of many threads")
{
	struct gt_bpf_map bytes = MAP_OF(1527, 0, 0, 4096), few = MAP_OF(1527, 4, 8, 1);
	struct gt_bpf_map some = MAP_OF(1527, 4, 56, 16), many = MAP_OF(1527, 4, 56, 4096);
	struct gt_bpf_map large = MAP_OF(1527, 4, 1 << 20, 100);

	CHECK_INT(gt_bpf_map_ring_bytes(&bytes), 4096);
	CHECK_INT(gt_bpf_map_ring_bytes(&few), 1 << 16);
	CHECK_INT(gt_bpf_map_ring_bytes(&some), 16 * 64 * 1024);
	CHECK_INT(gt_bpf_map_ring_bytes(&many), 1 << 25);
	CHECK_INT(gt_bpf_map_ring_bytes(&large), 1 << 27);
}

TEST("the number of copies follows the grid, and is 0 on overflow")
{
	struct gt_bpf_map array = MAP_OF(2, 4, 8, 1), sm = MAP_OF(6, 4, 8, 1);
	struct gt_bpf_map warp = MAP_OF(1540, 4, 8, 1), thread = MAP_OF(1502, 4, 8, 1);
	struct gt_bpf_map_grid grid = {132, {3, 2, 1}, {33, 2, 1}};

	CHECK_INT(gt_bpf_map_copies_for(&array, &grid), 1);
	CHECK_INT(gt_bpf_map_copies_for(&sm, &grid), 132);
	CHECK_INT(gt_bpf_map_copies_for(&warp, &grid), 6 * 3);
	CHECK_INT(gt_bpf_map_copies_for(&thread, &grid), 6 * 66);
	grid = (struct gt_bpf_map_grid){132, {1u << 31, 65535, 65535}, {1024, 1, 1}};
	CHECK_INT(gt_bpf_map_copies_for(&array, &grid), 0 + 1);
	CHECK_INT(gt_bpf_map_copies_for(&thread, &grid), 0);
	CHECK_INT(gt_bpf_map_copies_for(&warp, &grid), 0);
}

TEST("a map whose memory would not be addressable has no size")
{
	struct gt_bpf_map thread = MAP_OF(1502, 4, 1 << 24, UINT32_MAX);

	CHECK_INT(gt_bpf_map_bytes(&thread, UINT32_MAX), 0);
	CHECK(gt_bpf_map_bytes(&thread, 1) > 0);
}

TEST("an access must be within one value")
{
	struct gt_bpf_map array = MAP_OF(1502, 4, 5, 3), hash = MAP_OF(1, 4, 12, 3);
	uint64_t values = gt_bpf_map_hash_values(&hash);

	CHECK(gt_bpf_map_holds(&array, 2, 8, 5));
	CHECK(gt_bpf_map_holds(&array, 2, 5 * 8 + 4, 1));
	CHECK(!gt_bpf_map_holds(&array, 2, 8, 6));
	CHECK(!gt_bpf_map_holds(&array, 2, 13, 1));
	CHECK(!gt_bpf_map_holds(&array, 2, 6 * 8, 1));
	CHECK(!gt_bpf_map_holds(&array, 2, 0, UINT64_MAX));
	CHECK(gt_bpf_map_holds(&hash, 1, values + 16, 12));
	CHECK(!gt_bpf_map_holds(&hash, 1, values - 1, 1));
	CHECK(!gt_bpf_map_holds(&hash, 1, values + 3 * 16, 1));
}

/* ---- hash maps -------------------------------------------------------------------------- */

/* One random operation on a map of the layout and on the hash table of src/base. */
static void compare_once(const struct gt_bpf_map *map, void *memory, struct gt_hash *model,
			 uint64_t *values)
{
	uint64_t key = below(200), value = below(1000) + 1, flags = below(3);
	uint64_t *known = gt_hash_get_u64(model, key);
	bool is_full = gt_hash_count(model) == map->max_entries;
	int expected, error;

	switch (below(4)) {
	case 0:
		error = gt_bpf_map_delete(map, memory, &key);
		CHECK_INT(error, known ? 0 : -ENOENT);
		gt_hash_remove_u64(model, key);
		return;
	case 1:
		expected = known || !is_full ? 0 : -E2BIG;
		CHECK_INT(gt_bpf_map_add(map, memory, 0, &key, value), expected);
		if (!expected) {
			values[key] = (known ? *known : 0) + value;
			gt_hash_set_u64(model, key, &values[key]);
		}
		return;
	case 2:
		expected = known                ? flags == BPF_NOEXIST ? -EEXIST : 0
			   : flags == BPF_EXIST ? -ENOENT
			   : is_full            ? -E2BIG
						: 0;
		CHECK_INT(gt_bpf_map_update(map, memory, 0, &key, &value, flags), expected);
		if (!expected) {
			values[key] = value;
			gt_hash_set_u64(model, key, &values[key]);
		}
		return;
	default: {
		int64_t offset = gt_bpf_map_lookup(map, memory, 0, &key);

		CHECK_INT(offset < 0, !known);
		if (offset >= 0 && known)
			CHECK_INT(*(uint64_t *)((char *)memory + offset), *known);
	}
	}
}

TEST("a hash map behaves as the hash table of src/base, full and empty")
{
	struct gt_bpf_map map = MAP_OF(1, 8, 8, 100);
	void *memory = memory_of(&map, 1);
	gt_auto(hash) struct gt_hash *model = gt_hash_new();
	struct gt_bpf_map_view view = {&map, memory, 1};
	struct gt_bpf_map_entry entry = {0};
	uint64_t values[200];
	size_t entries = 0;

	for (int i = 0; i < 100000; i++)
		compare_once(&map, memory, model, values);
	while (gt_bpf_map_read(&view, &entry)) {
		uint64_t *known = gt_hash_get_u64(model, *(const uint64_t *)entry.key);

		CHECK(known && *known == *(const uint64_t *)entry.value);
		entries++;
	}
	CHECK_INT(entries, gt_hash_count(model));
	CHECK(gt_bpf_map_losses(&view).rejected > 0);
	free(memory);
}

TEST("keys that differ in their last byte are different, also in a partial word")
{
	struct gt_bpf_map map = MAP_OF(1, 5, 4, 16);
	void *memory = memory_of(&map, 1);
	uint32_t value = 1;

	CHECK_INT(gt_bpf_map_update(&map, memory, 0, "abcd1", &value, 0), 0);
	CHECK(gt_bpf_map_lookup(&map, memory, 0, "abcd1") >= 0);
	CHECK_INT(gt_bpf_map_lookup(&map, memory, 0, "abcd2"), -ENOENT);
	free(memory);
}

TEST("reading a corrupt hash map ends")
{
	struct gt_bpf_map map = MAP_OF(1, 8, 8, 64);
	uint64_t *memory = memory_of(&map, 1);

	for (int round = 0; round < 2000; round++) {
		struct gt_bpf_map_view view = {&map, memory, 1};
		struct gt_bpf_map_entry entry = {0};
		uint64_t key = below(64);
		unsigned entries = 0;

		for (size_t i = 0; i < gt_bpf_map_bytes(&map, 1) / 8; i++)
			memory[i] = below(2) ? below(70) | (uint64_t)below(3) << 32 : 0;
		while (gt_bpf_map_read(&view, &entry))
			entries++;
		CHECK(entries <= 64);
		gt_bpf_map_lookup(&map, memory, 0, &key);
		gt_bpf_map_update(&map, memory, 0, &key, &key, 0);
		gt_bpf_map_delete(&map, memory, &key);
	}
	free(memory);
}

/* ---- counting --------------------------------------------------------------------------- */

TEST("powers of two are counted in their bucket, also in 32-bit values")
{
	static const struct {
		uint64_t number;
		uint32_t bucket;
	} rows[] = {{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 2}, {1023, 9}, {1024, 9}, {UINT64_MAX, 9}};

	for (uint32_t size = 4; size <= 8; size += 4) {
		struct gt_bpf_map map = MAP_OF(2, 4, size, 10);

		for (size_t i = 0; i < gt_countof(rows); i++) {
			uint8_t *memory = memory_of(&map, 1);

			CHECK_INT(gt_bpf_map_count_power(&map, memory, 0, rows[i].number), 0);
			CHECK_INT(memory[8 * rows[i].bucket], 1);
			free(memory);
		}
	}
}

TEST("values of other sizes than numbers cannot be added to")
{
	struct gt_bpf_map map = MAP_OF(2, 4, 7, 10), hash = MAP_OF(1, 4, 8, 10);
	void *memory = memory_of(&map, 1), *table = memory_of(&hash, 1);
	uint32_t key = 0;

	CHECK_INT(gt_bpf_map_add(&map, memory, 0, &key, 1), -EINVAL);
	CHECK_INT(gt_bpf_map_count_power(&map, memory, 0, 1), -EINVAL);
	CHECK_INT(gt_bpf_map_count_power(&hash, table, 0, 1), -EINVAL);
	free(memory);
	free(table);
}

static void produce(const struct gt_bpf_map *map, void *memory, const char *text,
		    enum gt_ring_state state)
{
	int64_t offset = gt_ring_reserve(map, memory, strlen(text));

	CHECK(offset > 0);
	memcpy((char *)memory + offset, text, strlen(text));
	gt_ring_finish(memory, (uint64_t)offset, state);
}

/* ---- printing --------------------------------------------------------------------------- */

static void check_text(const struct gt_bpf_map_view *view, const char *text)
{
	gt_auto_strbuf printed = GT_STRBUF_INIT;

	gt_bpf_map_print(view, &printed);
	CHECK_STR(gt_strbuf_string(&printed), text);
}

static void check_print(const struct gt_bpf_map_view *view, const char *text, const char *json)
{
	gt_auto_strbuf printed = GT_STRBUF_INIT, object = GT_STRBUF_INIT;
	struct gt_json writer = GT_JSON_INIT(&object);

	gt_bpf_map_print(view, &printed);
	gt_bpf_map_print_json(view, &writer, NULL);
	CHECK_STR(gt_strbuf_string(&printed), text);
	CHECK_STR(gt_strbuf_string(&object), json);
}

TEST("an array is printed without its zeros")
{
	struct gt_bpf_map map = MAP_OF(2, 4, 8, 4);
	uint64_t values[4] = {0, 7, 0, UINT64_MAX};
	struct gt_bpf_map_view view = {&map, values, 1};

	check_print(&view,
		    "counts (array, 4 entries at most)\n"
		    "  1: 7\n"
		    "  3: 18446744073709551615\n"
		    "  2 of 4 values are zero\n",
		    "{\"name\":\"counts\",\"type\":\"array\",\"key_size\":4,\"value_size\":8,"
		    "\"max_entries\":4,\"copies\":1,\"entries\":[{\"key\":1,\"value\":7},"
		    "{\"key\":3,\"value\":18446744073709551615}]}");
}

TEST("an array with copies is printed as sums, with the number of copies that contribute")
{
	struct gt_bpf_map map = MAP_OF(1502, 4, 4, 2);
	struct {
		uint64_t values[3][2];
		uint64_t outside;
	} memory = {{{1, 0}, {0, 0}, {41, 0}}, 5};
	struct gt_bpf_map_view view = {&map, &memory, 3};

	check_print(&view,
		    "counts (gpu_thread_array, 2 entries, 3 threads)\n"
		    "  0: 42 (2 of 3 threads)\n"
		    "    thread 0: 1\n"
		    "    thread 2: 41\n"
		    "  1 of 2 values are zero\n"
		    "  5 accesses beyond the last of the threads\n",
		    "{\"name\":\"counts\",\"type\":\"gpu_thread_array\",\"key_size\":4,"
		    "\"value_size\":4,\"max_entries\":2,\"copies\":3,\"entries\":[{\"key\":0,"
		    "\"sum\":42,\"values\":[{\"copy\":0,\"value\":1},{\"copy\":2,\"value\":41}]}],"
		    "\"outside\":5}");
}

TEST("copies of threads have coordinates where the grid is known, and long lists end")
{
	struct gt_bpf_map map = MAP_OF(1502, 4, 4, 1);
	const struct gt_bpf_map_grid grid = {.grid = {2, 2, 1}, .block = {4, 2, 1}};
	struct {
		uint64_t values[32];
		uint64_t outside;
	} memory = {{0}, 0};
	struct gt_bpf_map_view view = {&map, &memory, 32, .grid = &grid};

	memory.values[8 * 3 + 4 * 1 + 2] = 9;
	check_print(&view,
		    "counts (gpu_thread_array, 1 entries, 32 threads)\n"
		    "  0: 9 (1 of 32 threads)\n"
		    "    block(1,1,0) thread(2,1,0): 9\n",
		    "{\"name\":\"counts\",\"type\":\"gpu_thread_array\",\"key_size\":4,"
		    "\"value_size\":4,\"max_entries\":1,\"copies\":32,\"entries\":[{\"key\":0,"
		    "\"sum\":9,\"values\":[{\"copy\":30,\"block\":[1,1,0],\"thread\":[2,1,0],"
		    "\"value\":9}]}],\"outside\":0}");
	for (int i = 0; i < 32; i++)
		memory.values[i] = 1;
	check_text(&view, "counts (gpu_thread_array, 1 entries, 32 threads)\n"
			  "  0: 32 (32 of 32 threads)\n"
			  "    block(0,0,0) thread(0,0,0): 1\n"
			  "    block(0,0,0) thread(1,0,0): 1\n"
			  "    block(0,0,0) thread(2,0,0): 1\n"
			  "    block(0,0,0) thread(3,0,0): 1\n"
			  "    block(0,0,0) thread(0,1,0): 1\n"
			  "    block(0,0,0) thread(1,1,0): 1\n"
			  "    block(0,0,0) thread(2,1,0): 1\n"
			  "    block(0,0,0) thread(3,1,0): 1\n"
			  "    block(1,0,0) thread(0,0,0): 1\n"
			  "    block(1,0,0) thread(1,0,0): 1\n"
			  "    block(1,0,0) thread(2,0,0): 1\n"
			  "    block(1,0,0) thread(3,0,0): 1\n"
			  "    block(1,0,0) thread(0,1,0): 1\n"
			  "    block(1,0,0) thread(1,1,0): 1\n"
			  "    block(1,0,0) thread(2,1,0): 1\n"
			  "    block(1,0,0) thread(3,1,0): 1\n"
			  "    and 16 more (all of them: --json)\n");
}

TEST("copies of warps have their block and their number in it")
{
	struct gt_bpf_map map = MAP_OF(1540, 4, 4, 1);
	const struct gt_bpf_map_grid grid = {.grid = {2, 1, 1}, .block = {40, 1, 1}};
	struct {
		uint64_t values[4];
		uint64_t outside;
	} memory = {{0, 0, 0, 5}, 0};
	struct gt_bpf_map_view view = {&map, &memory, 4, .grid = &grid};

	check_text(&view, "counts (gpu_warp_array, 1 entries, 4 warps)\n"
			  "  0: 5 (1 of 4 warps)\n"
			  "    block(1,0,0) warp 1: 5\n");
}

TEST("histograms of powers of two are bars")
{
	struct gt_bpf_map map = MAP_OF(2, 4, 8, 5);
	uint64_t values[5] = {0, 10, 0, 40, 1};
	struct gt_bpf_map_view view = {&map, values, 1};

	map.histogram = true;
	check_print(
		&view,
		"counts (array, 5 entries at most)\n"
		"           2 .. 3                  10  ##########\n"
		"           4 .. 7                   0\n"
		"           8 .. 15                 40  ########################################\n"
		"          16 and up                 1  #\n",
		"{\"name\":\"counts\",\"type\":\"array\",\"key_size\":4,\"value_size\":8,"
		"\"max_entries\":5,\"copies\":1,\"entries\":[{\"key\":1,\"value\":10},"
		"{\"key\":3,\"value\":40},{\"key\":4,\"value\":1}],\"histogram\":[{\"min\":2,"
		"\"max\":3,\"count\":10},{\"min\":8,\"max\":15,\"count\":40},{\"min\":16,"
		"\"max\":18446744073709551615,\"count\":1}]}");
}

TEST("values of other sizes than numbers are printed as bytes")
{
	struct gt_bpf_map map = MAP_OF(1, 2, 3, 1);
	void *memory = memory_of(&map, 1);
	struct gt_bpf_map_view view = {&map, memory, 1};

	CHECK_INT(gt_bpf_map_update(&map, memory, 0, "\x01\xab", "\x00\x10\xff", 0), 0);
	CHECK_INT(gt_bpf_map_update(&map, memory, 0, "zz", "abc", 0), -E2BIG);
	check_print(&view,
		    "counts (hash, 1 entries at most)\n"
		    "  01ab: 0010ff\n"
		    "  1 inserts rejected (map full)\n",
		    "{\"name\":\"counts\",\"type\":\"hash\",\"key_size\":2,\"value_size\":3,"
		    "\"max_entries\":1,\"copies\":1,\"entries\":[{\"key\":\"01ab\","
		    "\"value\":\"0010ff\"}],\"rejected\":1}");
	free(memory);
}

TEST("a ring is printed with its size, its records and its losses")
{
	struct gt_bpf_map map = MAP_OF(27, 0, 0, 64);
	void *memory = memory_of(&map, 1);
	struct gt_bpf_map_view view = {&map, memory, 1};

	CHECK_INT(gt_ring_reserve(&map, memory, 64), -E2BIG);
	produce(&map, memory, "ab", GT_RING_DISCARDED);
	produce(&map, memory, "abcde", GT_RING_READY);
	produce(&map, memory, "f", GT_RING_READY);
	gt_ring_reserve(&map, memory, 1);
	check_print(&view,
		    "counts (ringbuf, 64 bytes)\n  6162636465\n  66\n"
		    "  1 records dropped (buffer full)\n",
		    "{\"name\":\"counts\",\"type\":\"ringbuf\",\"key_size\":0,\"value_size\":0,"
		    "\"max_entries\":64,\"copies\":1,\"entries\":[\"6162636465\",\"66\"],"
		    "\"lost\":1}");
	free(memory);
}

/* ---- rings ------------------------------------------------------------------------------ */

static void check_record(struct gt_ring_reader *reader, const char *expected)
{
	const void *record = NULL;
	uint32_t size = 0;

	CHECK_INT(gt_ring_reader_next(reader, &record, &size), 1);
	CHECK_INT(size, strlen(expected));
	CHECK(record && !memcmp(record, expected, size));
}

TEST("records are read in order, across the end of the ring, and release their memory")
{
	struct gt_bpf_map map = MAP_OF(27, 0, 0, 64);
	void *memory = memory_of(&map, 1);
	struct gt_ring_reader reader;
	char text[32];

	CHECK_INT(gt_ring_reader_open(&map, memory, &reader), 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "%0*d", 1 + i % 17, i);
		produce(&map, memory, text, GT_RING_READY);
		produce(&map, memory, "x", GT_RING_DISCARDED);
		check_record(&reader, text);
	}
	CHECK_INT(gt_ring_reader_next(&reader, NULL, NULL), 0);
	CHECK_INT(reader.records, 1000);
	CHECK_INT(reader.discarded, 1000);
	CHECK_INT(((struct gt_ring_header *)memory)->credit, 64);
	CHECK_INT(gt_ring_reader_lost(&reader), 0);
	gt_ring_reader_close(&reader);
	free(memory);
}

TEST("an unfinished record blocks those after it")
{
	struct gt_bpf_map map = MAP_OF(27, 0, 0, 64);
	void *memory = memory_of(&map, 1);
	struct gt_ring_reader reader;
	int64_t first = gt_ring_reserve(&map, memory, 3);

	CHECK_INT(gt_ring_reader_open(&map, memory, &reader), 0);
	produce(&map, memory, "second", GT_RING_READY);
	CHECK_INT(gt_ring_reader_next(&reader, NULL, NULL), 0);
	CHECK_INT(gt_ring_reader_pending(&reader), 32);
	memcpy((char *)memory + first, "1st", 3);
	gt_ring_finish(memory, (uint64_t)first, GT_RING_READY);
	check_record(&reader, "1st");
	check_record(&reader, "second");
	gt_ring_reader_close(&reader);
	free(memory);
}

TEST("a corrupt ring is emptied once, and reading continues")
{
	static const struct {
		uint64_t head;
		struct gt_ring_record record;
	} rows[] = {
		{72, {8, GT_RING_READY}},      /* more than there can be */
		{UINT64_MAX, {8, 1}},          /* before the tail */
		{20, {8, GT_RING_READY}},      /* not aligned */
		{16, {9, GT_RING_READY}},      /* longer than what is there */
		{16, {UINT32_MAX, 2}},         /* the size wraps */
		{16, {8, 3}},                  /* no such state */
		{64, {60, GT_RING_DISCARDED}}, /* longer than the ring */
	};
	struct gt_bpf_map map = MAP_OF(27, 0, 0, 64);

	for (size_t i = 0; i < gt_countof(rows); i++) {
		uint8_t *memory = memory_of(&map, 1);
		struct gt_ring_reader reader;

		CHECK_INT(gt_ring_reader_open(&map, memory, &reader), 0);
		((struct gt_ring_header *)(void *)memory)->head = rows[i].head;
		memcpy(memory + sizeof(struct gt_ring_header), &rows[i].record, 8);
		CHECK_INT(gt_ring_reader_next(&reader, NULL, NULL), -EBADMSG);
		CHECK_INT(gt_ring_reader_next(&reader, NULL, NULL), 0);
		CHECK_INT(reader.corruptions, 1);
		produce(&map, memory, "again", GT_RING_READY);
		check_record(&reader, "again");
		gt_ring_reader_close(&reader);
		free(memory);
	}
}

TEST("a ring reader rejects other maps")
{
	struct gt_bpf_map map = MAP_OF(2, 4, 8, 64), ring = MAP_OF(27, 0, 0, 64);
	struct gt_ring_header header = {.tail = 3};
	struct gt_ring_reader reader;

	CHECK_INT(gt_ring_reader_open(&map, &header, &reader), -EINVAL);
	CHECK_INT(gt_ring_reader_open(&ring, &header, &reader), -EBADMSG);
}

/* ---- output of programs ----------------------------------------------------------------- */

TEST("formats are those of the kernel's trace_printk, except for those that dereference addresses")
{
	static const struct {
		const char *format, *text;
	} rows[] = {
		{"plain", "plain"},
		{"%d %u", "-2 7"},
		{"%u %x", "4294967294 7"},
		{"%lld %lu", "-2 7"},
		{"%llx %X", "fffffffffffffffe 7"},
		{"[%5d] [%-4d] [%04x]", "[   -2] [7   ] [00ff]"},
		{"%i%%", "-2%"},
		{"%p", "fffffffffffffffe"},
		{"%d %c%c", "-2 \a\xff"},
		{"%s %d", "%s -2"},
		{"%n%d", "%n-2"},
		{"%d %d %d %d", "-2 7 255 %d"},
		{"100%", "100%"},
		{"%l", "%l"},
		{"%+d %#x", "-2 0x7"},
	};
	const uint64_t arguments[GT_PRINT_ARGUMENTS] = {(uint64_t)-2, 7, 255};

	for (size_t i = 0; i < gt_countof(rows); i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		gt_print_format(&text, rows[i].format, strlen(rows[i].format), arguments);
		CHECK_STR(gt_strbuf_string(&text), rows[i].text);
	}
}

TEST("an excessive width is limited")
{
	const uint64_t arguments[GT_PRINT_ARGUMENTS] = {1};
	gt_auto_strbuf text = GT_STRBUF_INIT;

	gt_print_format(&text, "%99999999999d", 13, arguments);
	CHECK(text.length < 200);
}

TEST("a malformed record of the output ring is rejected")
{
	struct {
		struct gt_print_record record;
		char format[8];
	} bytes = {{.format_size = 9}, "%d"};
	gt_auto_strbuf text = GT_STRBUF_INIT;

	CHECK_INT(gt_print_record(&text, &bytes, sizeof(bytes)), -EBADMSG);
	CHECK_INT(gt_print_record(&text, &bytes, sizeof(bytes.record) - 1), -EBADMSG);
	bytes.record.format_size = 8;
	bytes.record.arguments[0] = 12;
	CHECK_INT(gt_print_record(&text, &bytes, sizeof(bytes)), 0);
	CHECK_STR(gt_strbuf_string(&text), "12\n");
}

TEST("each output is a line, whether its format ends with a newline or not")
{
	static const char *const formats[] = {"one", "two\n", "three", ""};
	gt_auto_strbuf text = GT_STRBUF_INIT;

	for (size_t i = 0; i < gt_countof(formats); i++) {
		struct {
			struct gt_print_record record;
			char format[8];
		} bytes = {{.format_size = 8}, ""};

		snprintf(bytes.format, sizeof(bytes.format), "%s", formats[i]);
		CHECK_INT(gt_print_record(&text, &bytes, sizeof(bytes)), 0);
	}
	CHECK_STR(gt_strbuf_string(&text), "one\ntwo\nthree\n");
}

TEST_MAIN
