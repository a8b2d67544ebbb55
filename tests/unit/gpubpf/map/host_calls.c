/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps on the host: LRU hashes, longest prefix match, and the calls by which programs access them,
 * also where nobody answers and where the memory of the calls is malformed.
 */
#include <errno.h>

#include "assemble.h"
#include "exec_fixture.h"
#include "gpubpf/map/host_calls.h"
#include "gpubpf/translate.h"
#include "gpubpf/verify/verify.h"

/* ---- maps ------------------------------------------------------------------------------ */

static struct gt_bpf_map lru = {
	.name = "lru", .type = 9, .key_size = 4, .value_size = 8, .max_entries = 4};

static int update(const struct gt_bpf_map *map, void *memory, uint32_t key, uint64_t value)
{
	return gt_bpf_map_update(map, memory, 0, &key, &value, BPF_ANY);
}

static bool has_key(const struct gt_bpf_map *map, const void *memory, uint32_t key)
{
	return gt_bpf_map_lookup(map, memory, 0, &key) >= 0;
}

TEST("a full LRU hash evicts an entry that was not used, and accepts the new one")
{
	gt_autofree void *memory = calloc(1, gt_bpf_map_bytes(&lru, 1));
	unsigned kept = 0;

	CHECK(!gt_bpf_map_check(&lru, NULL));
	for (uint32_t key = 0; key < 4; key++)
		CHECK(!update(&lru, memory, key, key));
	CHECK(has_key(&lru, memory, 1) && has_key(&lru, memory, 2) && has_key(&lru, memory, 3));
	CHECK(!update(&lru, memory, 4, 4));
	CHECK(!has_key(&lru, memory, 0));
	for (uint32_t key = 1; key < 5; key++)
		CHECK(has_key(&lru, memory, key));
	for (uint32_t key = 100; key < 200; key++)
		CHECK(!update(&lru, memory, key, key));
	for (uint32_t key = 0; key < 200; key++)
		kept += has_key(&lru, memory, key);
	CHECK_INT(kept, 4);
	CHECK_INT(gt_bpf_map_update(&lru, memory, 0, &(uint32_t){7}, &(uint64_t){7}, BPF_EXIST),
		  -ENOENT);
	CHECK_INT(gt_bpf_map_delete(&lru, memory, &(uint32_t){199}), 0);
	CHECK(!has_key(&lru, memory, 199));
}

struct route_key {
	uint32_t length;
	uint8_t bits[4];
};

static int64_t find_route(const struct gt_bpf_map *map, const void *memory, struct route_key key)
{
	int64_t offset = gt_bpf_map_lookup(map, memory, 0, &key);
	uint64_t value;

	if (offset < 0)
		return offset;
	memcpy(&value, (const uint8_t *)memory + offset, sizeof(value));
	return (int64_t)value;
}

static int add_route(const struct gt_bpf_map *map, void *memory, struct route_key key,
		     uint64_t value)
{
	return gt_bpf_map_update(map, memory, 0, &key, &value, BPF_ANY);
}

TEST("a trie finds the longest prefix, as bpf_map_lookup_elem of Linux does")
{
	static const struct gt_bpf_map map = {
		.name = "routes", .type = 11, .key_size = 8, .value_size = 8, .max_entries = 4};
	gt_autofree void *memory = calloc(1, gt_bpf_map_bytes(&map, 1));

	CHECK(!gt_bpf_map_check(&map, NULL));
	CHECK_INT(find_route(&map, memory, (struct route_key){32, {10, 1, 2, 3}}), -ENOENT);
	CHECK(!add_route(&map, memory, (struct route_key){8, {10, 99, 99, 99}}, 8));
	CHECK(!add_route(&map, memory, (struct route_key){20, {10, 1, 0x2f, 3}}, 20));
	CHECK_INT(find_route(&map, memory, (struct route_key){32, {10, 1, 0x20, 9}}), 20);
	CHECK_INT(find_route(&map, memory, (struct route_key){32, {10, 1, 0x30, 9}}), 8);
	CHECK_INT(find_route(&map, memory, (struct route_key){19, {10, 1, 0x20, 9}}), 8);
	CHECK_INT(find_route(&map, memory, (struct route_key){7, {10, 1, 0x20, 9}}), -ENOENT);
	CHECK_INT(find_route(&map, memory, (struct route_key){33, {10, 1, 0x20, 9}}), -ENOENT);
	CHECK(!add_route(&map, memory, (struct route_key){0, {0}}, 100));
	CHECK_INT(find_route(&map, memory, (struct route_key){32, {11, 0, 0, 0}}), 100);
	CHECK_INT(add_route(&map, memory, (struct route_key){33, {0}}, 1), -EINVAL);
	CHECK(!add_route(&map, memory, (struct route_key){32, {1, 2, 3, 4}}, 32));
	CHECK_INT(add_route(&map, memory, (struct route_key){31, {9, 9, 9, 9}}, 1), -ENOSPC);
	CHECK_INT(gt_bpf_map_delete(&map, memory, &(struct route_key){20, {10, 1, 0x2a, 0}}), 0);
	CHECK_INT(find_route(&map, memory, (struct route_key){32, {10, 1, 0x20, 9}}), 8);
	CHECK_INT(gt_bpf_map_delete(&map, memory, &(struct route_key){21, {10, 1, 0x28, 0}}),
		  -ENOENT);
}

/* ---- calls, with this test in the place of the GPU -------------------------------------- */

static const struct gt_bpf_object object = {.maps = &lru, .map_count = 1};

struct host_side {
	struct gt_host_call_layout layout;
	void *memory[1];
	uint8_t *area;
	struct gt_host_calls calls;
};

static void host_side_clear(struct host_side *side)
{
	gt_host_calls_close(&side->calls);
	free(side->memory[0]);
	free(side->area);
}
#define auto_host_side __attribute__((cleanup(host_side_clear))) struct host_side

static void host_side_open(struct host_side *side)
{
	side->layout = gt_host_call_layout_of(&object);
	side->memory[0] = calloc(1, gt_bpf_map_bytes(&lru, 1));
	side->area = aligned_alloc(64, side->layout.bytes);
	memset(side->area, 0, side->layout.bytes);
	CHECK(!gt_host_calls_open(&object, side->memory, NULL, side->area, &side->calls));
}

static struct gt_host_call_slot *slot_of(struct host_side *side, unsigned number)
{
	return (struct gt_host_call_slot *)(side->area + side->layout.slots +
					    number * side->layout.slot_bytes);
}

/* Write a request and ring its bell. */
static void request(struct host_side *side, unsigned number, uint64_t word, uint32_t key,
		    uint64_t value)
{
	struct gt_host_call_slot *slot = slot_of(side, number);
	struct gt_host_call_area *area = (struct gt_host_call_area *)side->area;

	slot->state += GT_HOST_CALL_REQUEST - slot->state % GT_HOST_CALL_PHASES;
	slot->request = word;
	slot->number = word == GT_HOST_CALL_ADD ? value : BPF_ANY;
	memcpy((uint8_t *)slot + side->layout.key, &key, sizeof(key));
	memcpy((uint8_t *)slot + side->layout.value, &value, sizeof(value));
	area->bells[number / 64] |= UINT64_C(1) << number % 64;
}

static uint64_t value_in(struct host_side *side, unsigned number)
{
	uint64_t value;

	memcpy(&value, (uint8_t *)slot_of(side, number) + side->layout.value, sizeof(value));
	return value;
}

TEST("the host serves the requests whose bells have rung")
{
	auto_host_side side = {0};

	host_side_open(&side);
	CHECK_INT(gt_host_calls_serve(&side.calls), 0);
	CHECK_INT(((struct gt_host_call_area *)side.area)->alive, 1);
	request(&side, 3, GT_HOST_CALL_UPDATE, 7, 70);
	request(&side, 200, GT_HOST_CALL_LOOKUP, 8, 0);
	CHECK_INT(gt_host_calls_serve(&side.calls), 2);
	CHECK_INT((int64_t)slot_of(&side, 3)->state, GT_HOST_CALL_DONE);
	CHECK_INT(slot_of(&side, 3)->result, 0);
	CHECK_INT(slot_of(&side, 200)->result, -ENOENT);
	CHECK_INT(gt_host_calls_serve(&side.calls), 0);
	request(&side, 3, GT_HOST_CALL_ADD, 7, 5);
	CHECK_INT(gt_host_calls_serve(&side.calls), 1);
	request(&side, 3, GT_HOST_CALL_LOOKUP, 7, 0);
	CHECK_INT(gt_host_calls_serve(&side.calls), 1);
	CHECK_INT((int64_t)value_in(&side, 3), 75);
	request(&side, 3, GT_HOST_CALL_DELETE, 7, 0);
	CHECK_INT(gt_host_calls_serve(&side.calls), 1);
	CHECK_INT(slot_of(&side, 3)->result, 0);
	CHECK(!has_key(&lru, side.memory[0], 7));
}

TEST("a slot whose thread gave up is free again, and one whose process is gone is reclaimed")
{
	auto_host_side side = {0};

	host_side_open(&side);
	request(&side, 0, GT_HOST_CALL_LOOKUP, 1, 0);
	slot_of(&side, 0)->state = GT_HOST_CALL_ABANDONED;
	gt_host_calls_serve(&side.calls);
	CHECK_INT((int64_t)slot_of(&side, 0)->state, GT_HOST_CALL_PHASES + GT_HOST_CALL_FREE);
	request(&side, 1, GT_HOST_CALL_LOOKUP, 1, 0);
	gt_host_calls_serve(&side.calls);
	slot_of(&side, 2)->state = GT_HOST_CALL_TAKEN;
	gt_host_calls_reclaim(&side.calls);
	CHECK_INT((int64_t)slot_of(&side, 1)->state, GT_HOST_CALL_DONE);
	gt_host_calls_reclaim(&side.calls);
	CHECK_INT((int64_t)slot_of(&side, 1)->state, GT_HOST_CALL_PHASES + GT_HOST_CALL_FREE);
	CHECK_INT((int64_t)slot_of(&side, 2)->state, GT_HOST_CALL_PHASES + GT_HOST_CALL_FREE);
	gt_host_calls_reclaim(&side.calls);
	CHECK_INT((int64_t)slot_of(&side, 0)->state, GT_HOST_CALL_PHASES + GT_HOST_CALL_FREE);
}

TEST("requests that name no map on the host, or no operation, fail")
{
	auto_host_side side = {0};

	host_side_open(&side);
	request(&side, 0, 1 << 8 | GT_HOST_CALL_LOOKUP, 1, 0);
	request(&side, 1, UINT64_MAX, 1, 0);
	request(&side, 2, 99, 1, 0);
	CHECK_INT(gt_host_calls_serve(&side.calls), 3);
	for (unsigned i = 0; i < 3; i++)
		CHECK_INT(slot_of(&side, i)->result, -EINVAL);
}

TEST("random bytes in the memory of calls change nothing but the maps")
{
	auto_host_side side = {0};
	uint64_t random = 12345;

	host_side_open(&side);
	for (unsigned round = 0; round < 2000; round++) {
		for (size_t at = 0; at < side.layout.bytes; at += 8) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			/* Words of which many are valid states and requests. */
			*(uint64_t *)(side.area + at) = round % 2 ? random >> 61 : random;
		}
		gt_host_calls_serve(&side.calls);
		gt_host_calls_reclaim(&side.calls);
	}
	CHECK(((const struct gt_bpf_hash_counters *)((const uint8_t *)side.memory[0] +
						     gt_bpf_map_hash_counters(&lru)))
		      ->entries <= 4);
}

/* ---- programs on the software GPU ------------------------------------------------------- */

/* Update, look up, and return the value, or -1 where it is not found. */
static const char update_and_lookup[] = "stw [r10-4], 3\n"
					"stdw [r10-16], 77\n"
					"ldmap r1, 0\nmov r2, r10\nadd r2, -4\n"
					"mov r3, r10\nadd r3, -16\nmov r4, 0\ncall 2\n"
					"mov r6, r0\n"
					"ldmap r1, 0\nmov r2, r10\nadd r2, -4\ncall 1\n"
					"jne r0, 0, found\n"
					"mov r0, r6\nexit\n"
					"found:\n"
					"ldxdw r0, [r0]\nexit";

/* Run the program in `threads` threads of the device, with the area of calls at `area`. */
static void run_calls(struct device *device, void *area, unsigned threads, uint64_t *results)
{
	const struct gt_symbol_values symbols = {.calls = {address_of(area), 1}};
	const struct gt_translate_options options = {
		.form = GT_FORM_KERNEL, .sm = 90, .prefix = "gputap_", .symbols = &symbols};
	const struct gt_verify_options verify = {.input = GT_INPUT_MEMORY};
	struct gt_bpf_program program = {0};
	struct gt_facts facts = {0};
	struct gt_translation translation = {0};
	struct gt_translate_job job = {.program = &program, .facts = &facts, .name = "k"};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct sg_module *module;
	struct gt_diag diag = {0};
	uint64_t *memory = device_memory(device, threads * sizeof(*memory));
	uint64_t arguments[] = {0, 0, address_of(memory)};
	struct sg_launch launch = {.shape = {.grid = {1, 1, 1}, .block = {threads, 1, 1}},
				   .parameters = arguments,
				   .parameter_size = sizeof(arguments)};
	struct sg_grid_result result = {0};

	if (gt_bpf_assemble(update_and_lookup, &program.insns, &program.count, &diag) ||
	    gt_verify(&object, &program, &verify, &facts, NULL, &diag) ||
	    gt_target_ptx.translate(&options, &object, &job, &translation, &diag) ||
	    gt_target_ptx.finish(&options, &translation, &text, &diag)) {
		TAP_FAIL("%s: %s", diag.place, diag.text);
		return;
	}
	module = device_load(device, gt_strbuf_string(&text));
	launch.function = sg_module_function(module, "gputap_k");
	if (sg_grid_run(device->machine, &launch, &result))
		TAP_FAIL("%s", result.fault.text);
	memcpy(results, memory, threads * sizeof(*results));
	sg_module_free(module);
	gt_translation_clear(&translation);
	gt_facts_clear(&facts);
	gt_bpf_program_clear(&program);
}

/* Serves until it is stopped. */
struct served_calls {
	struct gt_host_calls *calls;
	bool stopped;
};

static void *serve(void *context)
{
	struct served_calls *served = context;

	while (!__atomic_load_n(&served->stopped, __ATOMIC_ACQUIRE))
		if (!gt_host_calls_serve(served->calls))
			sched_yield();
	return NULL;
}

enum {
	THREADS = 200,
};

TEST("threads of a block call the host at the same time")
{
	auto_device device = {0};
	auto_host_side side = {0};
	struct served_calls served = {.calls = &side.calls};
	uint64_t results[THREADS];
	pthread_t thread;
	void *area;

	device_open(&device);
	host_side_open(&side);
	area = device_memory(&device, side.layout.bytes);
	memset(area, 0, side.layout.bytes);
	side.calls.area = area;
	gt_host_calls_serve(&side.calls);
	CHECK(!pthread_create(&thread, NULL, serve, &served));
	run_calls(&device, area, THREADS, results);
	__atomic_store_n(&served.stopped, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK_INT((int64_t)results[i], 77);
	CHECK_INT((int64_t)gt_host_calls_lost(&side.calls), 0);
	for (unsigned i = 0; i < GT_HOST_CALL_SLOTS; i++)
		CHECK_INT(
			(int64_t)((struct gt_host_call_slot *)((uint8_t *)area + side.layout.slots +
							       i * side.layout.slot_bytes))
				->state,
			GT_HOST_CALL_FREE);
}

/* A clock of which each reading is a step later, and a host that serves once, at a reading. */
static struct {
	uint64_t readings, now;
	uint64_t step, step_later; /* ns, until the host has served and after that */
	uint64_t served_at;
	struct gt_host_calls *calls;
} made_up;

static uint64_t read_made_up_clock(void *device)
{
	made_up.readings++;
	made_up.now += made_up.readings <= made_up.served_at ? made_up.step : made_up.step_later;
	if (made_up.readings == made_up.served_at)
		gt_host_calls_serve(made_up.calls);
	return made_up.now;
}

/* Run the program in one thread with the made-up clock. Its result. */
static int64_t run_with_made_up_clock(struct host_side *side)
{
	auto_device device = {0};
	uint8_t *area, *own = side->calls.area;
	uint64_t result = 0;

	device_open_with(&device, (struct sg_machine_options){.timeout_ns = HANG_NS,
							      .host.clock = read_made_up_clock});
	area = device_memory(&device, side->layout.bytes);
	memset(area, 0, side->layout.bytes);
	side->calls.area = area;
	gt_host_calls_serve(&side->calls);
	made_up.calls = &side->calls;
	run_calls(&device, area, 1, &result);
	side->calls.area = own;
	return (int64_t)result;
}

TEST("a call waits for a second, however often it polls meanwhile")
{
	auto_host_side side = {0};

	host_side_open(&side);
	/* The update is answered after 0.6 s, the lookup is not. */
	made_up.step = 400;
	made_up.step_later = 1000000;
	made_up.served_at = 1500000;
	CHECK_INT(run_with_made_up_clock(&side), 0);
	CHECK(made_up.readings > 1500900 && made_up.readings < 1501100);
	/* The update would be answered after 2 s; after 1 s the lookup does not wait, either. */
	memset(&made_up, 0, sizeof(made_up));
	made_up.step = 1000000;
	made_up.served_at = 2000;
	CHECK_INT(run_with_made_up_clock(&side), -EAGAIN);
	CHECK(made_up.readings > 900 && made_up.readings < 1100);
}

TEST("a program continues without a host: its calls are lost and counted")
{
	auto_device device = {0};
	auto_host_side side = {0};
	struct gt_host_call_area *area;
	uint64_t results[2];

	device_open(&device);
	host_side_open(&side);
	area = device_memory(&device, side.layout.bytes);
	memset(area, 0, side.layout.bytes);
	/* A host that ended. */
	run_calls(&device, area, 2, results);
	CHECK_INT((int64_t)results[0], -EAGAIN);
	CHECK_INT((int64_t)results[1], -EAGAIN);
	CHECK_INT((int64_t)area->lost, 4);
	/* One that was killed: the first calls wait for a time, and the others see that. */
	area->alive = 1;
	run_calls(&device, area, 2, results);
	CHECK_INT((int64_t)results[0], -EAGAIN);
	CHECK_INT((int64_t)area->lost, 8);
	CHECK_INT(area->alive, 0);
}

TEST_MAIN
