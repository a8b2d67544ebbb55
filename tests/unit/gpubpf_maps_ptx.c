/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps, rings and helpers as PTX on the software device, with thousands of threads at once: what is
 * counted is exact, what the host reads back is what its own operations would have made of it.
 */
#include "exec_fixture.h"
#include "gpubpf/assemble.h"
#include "gpubpf/interp.h"
#include "gpubpf/ring.h"
#include "gpubpf/translate.h"

enum {
	MAPS = 4,
	BLOCKS = 32,
	THREADS = 128,
	ALL = BLOCKS * THREADS,
	OUTPUT = 1 << 15, /* bytes of the output ring */
	CONTEXT = GT_CONTEXT_SIZE / 8,
};

/* A program and what it runs on. */
struct setup {
	struct gt_bpf_map maps[MAPS];
	uint32_t copies[MAPS]; /* 0: 1 */
	const char *text;
	const char *section; /* NULL: a raw program */
	unsigned sm;         /* 0: 90 */
	uint32_t grid[3], block[3];
	uint64_t pid_tgid;
	/* Called in a thread of its own while the grid runs, until it gives false. */
	bool (*beside)(void *data);
	void *data;
};

static const struct gt_bpf_map output_map = {.type = BPF_MAP_TYPE_RINGBUF, .max_entries = OUTPUT};

/* What came of it. */
struct outcome {
	void *memory[MAPS];
	void *output;
	uint64_t results[ALL];
	bool failed;
};

static uint32_t map_count(const struct setup *setup)
{
	uint32_t count = 0;

	while (count < MAPS && setup->maps[count].type)
		count++;
	return count;
}

static uint32_t copies_of(const struct setup *setup, uint32_t map)
{
	return setup->copies[map] ? setup->copies[map] : 1;
}

static uint32_t threads_of(const struct setup *setup)
{
	uint32_t threads = 1;

	for (int i = 0; i < 3; i++) {
		threads *= setup->grid[i] ? setup->grid[i] : 1;
		threads *= setup->block[i] ? setup->block[i] : 1;
	}
	return threads;
}

/* ---- translating ------------------------------------------------------------------------ */

struct translated {
	struct gt_bpf_object object;
	struct gt_bpf_program program;
	struct gt_facts facts;
	struct gt_section section;
	char *text;
};

static void translated_clear(struct translated *translated)
{
	gt_facts_clear(&translated->facts);
	gt_bpf_program_clear(&translated->program);
	free(translated->text);
}

static bool verify_setup(struct setup *setup, struct translated *translated)
{
	struct gt_verify_options options = {.input = GT_INPUT_MEMORY, .allow_control = true};
	struct gt_diag diag = {0};

	*translated = (struct translated){0};
	translated->object =
		(struct gt_bpf_object){.maps = setup->maps, .map_count = map_count(setup)};
	for (uint32_t i = 0; i < map_count(setup); i++)
		snprintf(setup->maps[i].name, sizeof(setup->maps[i].name), "map%u", i);
	if (setup->section) {
		gt_section_read(setup->section, "program", &translated->section, &diag);
		options.section = &translated->section;
		options.input = GT_INPUT_CONTEXT;
	}
	if (gt_bpf_assemble(setup->text, &translated->program.insns, &translated->program.count,
			    &diag) ||
	    gt_verify(&translated->object, &translated->program, &options, &translated->facts, NULL,
		      &diag)) {
		TAP_FAIL("%s: %s", diag.place, diag.text);
		return false;
	}
	return true;
}

static int translate(const struct setup *setup, struct translated *translated, struct gt_diag *diag)
{
	struct gt_translate_options options = {.sm = setup->sm ? setup->sm : 90,
					       .output_bytes = OUTPUT};
	struct gt_translate_job job = {
		.program = &translated->program,
		.facts = &translated->facts,
		.name = "program",
		.section = setup->section ? &translated->section : NULL,
	};
	struct gt_translation translation = {0};
	struct gt_strbuf text = GT_STRBUF_INIT;
	int error =
		gt_target_ptx.translate(&options, &translated->object, &job, &translation, diag);

	if (!error)
		error = gt_target_ptx.finish(&options, &translation, &text, diag);
	gt_translation_clear(&translation);
	translated->text = gt_strbuf_steal(&text);
	return error;
}

static bool prepare(struct setup *setup, struct translated *translated)
{
	struct gt_diag diag = {0};

	if (!verify_setup(setup, translated))
		return false;
	if (translate(setup, translated, &diag)) {
		TAP_FAIL("%s: %s", diag.place, diag.text);
		return false;
	}
	return true;
}

/* ---- running ---------------------------------------------------------------------------- */

static void set_symbol(struct sg_module *module, const char *name, uint64_t first, uint64_t second)
{
	struct sg_variable_info info;
	uint64_t words[2] = {first, second};

	if (!sg_module_variable(module, name, &info))
		memcpy((void *)(uintptr_t)info.address, words, info.size);
}

static void place_maps(struct device *device, struct sg_module *module, const struct setup *setup,
		       struct outcome *outcome)
{
	char symbol[32];

	for (uint32_t i = 0; i < map_count(setup); i++) {
		const struct gt_bpf_map *map = &setup->maps[i];

		if (!outcome->memory[i]) {
			outcome->memory[i] =
				device_memory(device, gt_map_bytes(map, copies_of(setup, i)));
			gt_map_initialise(map, copies_of(setup, i), outcome->memory[i]);
		}
		snprintf(symbol, sizeof(symbol), "gputap_map_%u", i);
		set_symbol(module, symbol, address_of(outcome->memory[i]), copies_of(setup, i));
	}
	if (!outcome->output) {
		outcome->output = device_memory(device, gt_map_bytes(&output_map, 1));
		gt_map_initialise(&output_map, 1, outcome->output);
	}
	set_symbol(module, "gputap_output", address_of(outcome->output), 1);
	set_symbol(module, "gputap_pid_tgid", setup->pid_tgid, 0);
}

struct beside {
	const struct setup *setup;
	bool done;
};

static void *run_beside(void *data)
{
	struct beside *beside = data;

	while (!__atomic_load_n(&beside->done, __ATOMIC_ACQUIRE))
		beside->setup->beside(beside->setup->data);
	return NULL;
}

static int run_grid(struct device *device, struct sg_module *module, const struct setup *setup,
		    uint64_t results, struct sg_grid_result *result)
{
	/* Memory, its size, results; and the context, of which nothing is read here. */
	uint64_t parameters[3 + CONTEXT] = {0, 0, results};
	size_t count = 3;
	struct sg_launch launch = {.grid = {setup->grid[0], setup->grid[1], setup->grid[2]},
				   .block = {setup->block[0], setup->block[1], setup->block[2]}};
	struct beside beside = {.setup = setup};
	pthread_t thread;
	int error;

	if (setup->section)
		count += CONTEXT;
	if (setup->beside && pthread_create(&thread, NULL, run_beside, &beside)) {
		TAP_FAIL("no thread");
		return -EAGAIN;
	}
	error = device_run_with(device, module, "gputap_program", launch, parameters, count,
				result);
	if (setup->beside) {
		__atomic_store_n(&beside.done, true, __ATOMIC_RELEASE);
		pthread_join(thread, NULL);
	}
	return error;
}

/* Runs a setup; maps that are in the outcome already are gone on with. */
static void run(struct device *device, struct setup *setup, struct outcome *outcome)
{
	struct sg_grid_result result = {0};
	struct translated translated;
	uint64_t *results;

	outcome->failed = true;
	if (prepare(setup, &translated)) {
		gt_auto(sg_module) struct sg_module *module = device_load(device, translated.text);

		results = device_memory(device, threads_of(setup) * sizeof(*results));
		if (module) {
			place_maps(device, module, setup, outcome);
			outcome->failed =
				run_grid(device, module, setup, address_of(results), &result) != 0;
		}
		if (outcome->failed)
			TAP_FAIL("the grid failed: %s", result.fault.text);
		memcpy(outcome->results, results, threads_of(setup) * sizeof(*results));
	}
	translated_clear(&translated);
}

/* The same on the interpreter, with maps of the host. */
static void interpret(struct setup *setup, struct outcome *outcome, struct gt_strbuf *output)
{
	uint32_t copies[MAPS];
	struct gt_interp_options options = {
		.map_memory = outcome->memory, .map_copies = copies, .output = output};
	struct gt_interp_grid grid = {.results = outcome->results, .sms = 4};
	struct gt_interp_result result;
	struct translated translated;
	struct gt_diag diag = {0};

	outcome->failed = true;
	for (int i = 0; i < 3; i++) {
		grid.grid_size[i] = setup->grid[i] ? setup->grid[i] : 1;
		grid.block_size[i] = setup->block[i] ? setup->block[i] : 1;
	}
	for (uint32_t i = 0; i < map_count(setup); i++) {
		copies[i] = copies_of(setup, i);
		outcome->memory[i] = calloc(1, gt_map_bytes(&setup->maps[i], copies[i]));
		gt_map_initialise(&setup->maps[i], copies[i], outcome->memory[i]);
	}
	if (verify_setup(setup, &translated)) {
		options.object = &translated.object;
		if (gt_interp_run_grid(&translated.program, &options, &grid, &result, &diag))
			TAP_FAIL("%s: %s", diag.place, diag.text);
		else
			outcome->failed = false;
	}
	translated_clear(&translated);
}

static void free_maps(struct outcome *outcome)
{
	for (int i = 0; i < MAPS; i++)
		free(outcome->memory[i]);
}

/* How many threads ended with a result. */
static uint32_t count_results(const struct outcome *outcome, int64_t result)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ALL; i++)
		count += (int64_t)outcome->results[i] == result;
	return count;
}

static struct gt_map_view view_of(const struct setup *setup, const struct outcome *outcome,
				  uint32_t map)
{
	return (struct gt_map_view){&setup->maps[map], outcome->memory[map], copies_of(setup, map)};
}

static uint64_t value_at(const struct setup *setup, const struct outcome *outcome, uint32_t map,
			 uint64_t key)
{
	int64_t offset = gt_map_lookup(&setup->maps[map], outcome->memory[map], 0, &key);
	uint64_t value = 0;

	if (offset < 0)
		return UINT64_MAX;
	memcpy(&value, (uint8_t *)outcome->memory[map] + offset,
	       setup->maps[map].value_size < 8 ? setup->maps[map].value_size : 8);
	return value;
}

/* Checks that a hash map hangs together: each key once, found, and counted. */
static uint64_t check_hash(const struct setup *setup, const struct outcome *outcome, uint32_t map)
{
	struct gt_map_view view = view_of(setup, outcome, map);
	const struct gt_hash_counters *counters =
		(const void *)((const char *)view.memory + gt_map_hash_counters(view.map));
	struct gt_map_entry entry = {0};
	uint64_t entries = 0;

	while (gt_map_read(&view, &entry)) {
		int64_t offset = gt_map_lookup(view.map, view.memory, 0, entry.key);

		if ((const char *)view.memory + offset != entry.value)
			TAP_FAIL("an entry is not what is found by its key");
		entries++;
	}
	CHECK_INT(counters->entries, entries);
	return entries;
}

#define ARRAY(value, entries)                                                                      \
	{                                                                                          \
		.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = value,                    \
		.max_entries = entries                                                             \
	}
#define HASH(key, value, entries)                                                                  \
	{                                                                                          \
		.type = BPF_MAP_TYPE_HASH, .key_size = key, .value_size = value,                   \
		.max_entries = entries                                                             \
	}
#define MANY .grid = {BLOCKS}, .block = {THREADS}

/* The forms that differ: without scopes, with them, and with redux. */
static const unsigned forms[] = {60, 70, 90};
#define EACH_FORM(setup)                                                                           \
	for (size_t form_ = 0; form_ < 3 && ((setup).sm = forms[form_], true); form_++)

/* r6 = the flat number of the thread */
#define THREAD "	call 527\n	mov r6, r0\n"
/* r1 = map, r2 = the key on the stack at -8 */
#define KEY(map) "	ldmap r1, " #map "\n	mov r2, r10\n	add r2, -8\n"

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

TEST("a key behind the end of an array is not found, and cannot be updated or added to")
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

TEST("an update of an array takes the kernel's flags and gives the kernel's errors")
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

TEST("a histogram has every number in the bucket of its power of two, the last for all above")
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
	const struct gt_map_grid grid = {4, {3, 2, 2}, {6, 5, 2}};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};

		run(&device, &setup, &outcome);
		for (uint32_t i = 0; i < 3; i++) {
			struct gt_map_view view = view_of(&setup, &outcome, i);
			struct gt_map_entry entry = {.next = 1};

			CHECK_INT(gt_map_copies_for(view.map, &grid), view.copies);
			CHECK(gt_map_read(&view, &entry));
			CHECK_INT(gt_map_sum(&view, &entry), 720);
			for (uint32_t copy = 0; copy < view.copies; copy++)
				CHECK_INT(gt_map_number(view.map,
							gt_map_read_copy(&view, &entry, copy)),
					  i == 0     ? 180
					  : i == 2   ? 1
					  : copy % 2 ? 28
						     : 32);
			CHECK_INT(gt_map_losses(&view).outside, 0);
		}
	}
}

TEST("who has no copy finds nothing, and that is counted")
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
		struct gt_map_view view;

		run(&device, &setup, &outcome);
		CHECK_INT(count_results(&outcome, 0), 1000);
		CHECK_INT(count_results(&outcome, -ENOENT), ALL - 1000);
		view = view_of(&setup, &outcome, 0);
		CHECK_INT(gt_map_losses(&view).outside, ALL * 3 / 4);
		view = view_of(&setup, &outcome, 1);
		CHECK_INT(gt_map_losses(&view).outside, ALL - 32 * 100);
		view = view_of(&setup, &outcome, 2);
		CHECK_INT(gt_map_losses(&view).outside, ALL - 1000);
	}
}

TEST("atomic operations have the scope of the GPU, and of the whole system where the host shares")
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

TEST("global variables are in device memory, though libbpf gives them the flag of shared arrays")
{
	struct gt_bpf_map map = ARRAY(8, 1);

	map.flags = BPF_F_MMAPABLE;
	snprintf(map.name, sizeof(map.name), ".bss");
	CHECK_INT(gt_map_place(&map), GT_MAP_DEVICE);
	snprintf(map.name, sizeof(map.name), "shared");
	CHECK_INT(gt_map_place(&map), GT_MAP_SHARED);
}

/* ---- hash maps -------------------------------------------------------------------------- */

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

TEST("of many threads that insert the same keys with BPF_NOEXIST one succeeds for each key")
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

TEST("updates of one key by all threads come one after the other: no value is a mixture")
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
		struct gt_map_view view;
		struct gt_map_entry entry = {0};
		uint64_t halves[2];

		run(&device, &setup, &outcome);
		view = view_of(&setup, &outcome, 0);
		CHECK_INT(count_results(&outcome, 0), ALL);
		CHECK_INT(check_hash(&setup, &outcome, 0), 1);
		CHECK(gt_map_read(&view, &entry));
		memcpy(halves, entry.value, sizeof(halves));
		CHECK_INT(halves[0], halves[1]);
		CHECK(halves[0] < ALL);
	}
}

TEST("a full hash map refuses what is new, says so, counts it, and still updates what is there")
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
		struct gt_map_view view;
		uint32_t inserted;

		run(&device, &setup, &outcome);
		view = view_of(&setup, &outcome, 0);
		CHECK_INT(count_results(&outcome, 0), 1000);
		CHECK_INT(count_results(&outcome, -E2BIG), ALL - 1000);
		CHECK_INT(gt_map_losses(&view).refused, ALL - 1000);
		CHECK_INT(check_hash(&setup, &outcome, 0), 1000);
		for (uint64_t i = 0; i < ALL; i++)
			if (!outcome.results[i])
				CHECK_INT(value_at(&setup, &outcome, 0, i), i);
		run(&device, &setup, &outcome);
		inserted = count_results(&outcome, 0);
		CHECK_INT(inserted, 1000);
	}
}

TEST("of many threads that delete the same keys one succeeds for each key")
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
 * Inserts, looks up, checks and deletes the thread's own key, four times. The result is how often
 * the insert found the map full; 1000 and more: something was not as it must be.
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

TEST("nodes that come and go all the time leave every thread its own key")
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

TEST("where there are far fewer nodes than threads, who gets one has it for himself")
{
	auto_device device = {0};
	struct setup setup = {.maps = {HASH(8, 16, 24)}, .text = OWN_KEY, MANY};

	device_open(&device);
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};
		struct gt_map_view view;
		uint64_t refused = 0;

		run(&device, &setup, &outcome);
		CHECK_INT(count_results(&outcome, 1000), 0);
		for (uint32_t i = 0; i < ALL; i++)
			refused += outcome.results[i];
		view = view_of(&setup, &outcome, 0);
		CHECK_INT(gt_map_losses(&view).refused, refused);
		CHECK_INT(check_hash(&setup, &outcome, 0), 0);
	}
}

/* Thread t: key t / 2 is updated by one, and by the other added to or deleted, by their numbers. */
TEST("what threads do to their own keys is what the host's operations make of it")
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
		struct gt_map_view view, host;
		struct gt_map_entry entry = {0};

		run(&device, &setup, &device_side);
		interpret(&setup, &host_side, NULL);
		view = view_of(&setup, &device_side, 0);
		host = view_of(&setup, &host_side, 0);
		CHECK_INT(check_hash(&setup, &device_side, 0), check_hash(&setup, &host_side, 0));
		while (gt_map_read(&view, &entry)) {
			int64_t offset = gt_map_lookup(host.map, host.memory, 0, entry.key);

			if (offset < 0 ||
			    memcmp((const char *)host.memory + offset, entry.value, 16))
				TAP_FAIL("an entry differs");
		}
		CHECK(!memcmp(device_side.results, host_side.results, sizeof(host_side.results)));
		free_maps(&host_side);
	}
}

/* ---- rings ------------------------------------------------------------------------------ */

struct receiver {
	struct gt_ring_reader reader;
	uint8_t seen[ALL];
	uint64_t bad, good;
};

/* A record is the thread's number, three times, and bytes that it alone has. */
static void take_record(struct receiver *receiver, const uint64_t *record, uint32_t size)
{
	bool bad = size < 24 || record[0] >= ALL || record[1] != record[0] ||
		   record[2] != record[0] + 7 || receiver->seen[record[0]]++ > 3;

	receiver->bad += bad;
	receiver->good += !bad;
}

static bool receive(void *data)
{
	struct receiver *receiver = data;
	const void *record;
	uint32_t size;
	int ready = gt_ring_reader_next(&receiver->reader, &record, &size);

	if (ready > 0)
		take_record(receiver, record, size);
	receiver->bad += ready < 0;
	return ready > 0;
}

#define RING(kind, bytes)                                                                          \
	{                                                                                          \
		.type = kind, .max_entries = bytes                                                 \
	}
#define RECORD                                                                                     \
	THREAD "	stxdw [r10-24], r6\n	stxdw [r10-16], r6\n"                                        \
	       "	mov r1, r6\n	add r1, 7\n	stxdw [r10-8], r1\n"

static const struct {
	const char *title;
	struct gt_bpf_map map;
	const char *text;
	uint32_t per_thread, discarded;
} ring_programs[] = {
	{"lanes together", RING(27, 1 << 14),
	 RECORD "	ldmap r1, 0\n	mov r2, r10\n	add r2, -24\n	mov r3, 24\n	mov r4, 0\n"
		"	call 130\n	exit\n",
	 1, 0},
	{"a small ring: lanes alone", RING(1527, 1 << 9),
	 RECORD "	ldmap r1, 0\n	mov r2, r10\n	add r2, -24\n	mov r3, 24\n	mov r4, 0\n"
		"	call 130\n	exit\n",
	 1, 0},
	{"sizes that differ", RING(27, 1 << 12),
	 RECORD "	ldmap r1, 0\n	mov r2, r10\n	add r2, -24\n	mov r3, r6\n	and r3, 0\n"
		"	add r3, 24\n	jset r6, 1, odd\n	mov r3, 24\n"
		"odd:\n	mov r4, 0\n	call 130\n	exit\n",
	 1, 0},
	{"reserved and submitted, every fourth one discarded", RING(27, 1 << 14),
	 RECORD "	ldmap r1, 0\n	mov r2, 40\n	mov r3, 0\n	call 131\n"
		"	jne r0, 0, got\n	mov r0, -11\n	exit\n"
		"got:\n	stxdw [r0+0], r6\n	stxdw [r0+8], r6\n"
		"	mov r1, r6\n	add r1, 7\n	stxdw [r0+16], r1\n	mov r1, r0\n"
		"	mov r2, 0\n	mov r7, r6\n	and r7, 3\n	jeq r7, 0, away\n"
		"	call 132\n	mov r0, 0\n	exit\n"
		"away:\n	call 133\n	mov r0, 0\n	exit\n",
	 1, 1},
};

static void check_ring(struct device *device, size_t number, unsigned sm)
{
	static struct receiver receiver;
	struct setup setup = {.maps = {ring_programs[number].map},
			      .text = ring_programs[number].text,
			      .sm = sm,
			      .beside = receive,
			      .data = &receiver,
			      MANY};
	struct outcome outcome = {0};
	uint64_t lost, given;

	memset(&receiver, 0, sizeof(receiver));
	outcome.memory[0] = device_memory(device, gt_map_bytes(&setup.maps[0], 1));
	gt_map_initialise(&setup.maps[0], 1, outcome.memory[0]);
	CHECK(!gt_ring_reader_open(&setup.maps[0], outcome.memory[0], &receiver.reader));
	for (int round = 0; round < 3; round++)
		run(device, &setup, &outcome);
	while (receive(&receiver))
		;
	lost = gt_ring_reader_lost(&receiver.reader);
	given = receiver.good + receiver.reader.discarded;
	CHECK_INT(receiver.bad, 0);
	CHECK_INT(given + lost, 3 * ALL);
	CHECK(given >= setup.maps[0].max_entries / 64);
	CHECK_INT(gt_ring_reader_pending(&receiver.reader), 0);
	CHECK_INT(((struct gt_ring_header *)outcome.memory[0])->credit, setup.maps[0].max_entries);
	CHECK(receiver.reader.discarded <= 3 * ALL / 4);
	CHECK(!receiver.reader.discarded == !ring_programs[number].discarded);
	gt_ring_reader_close(&receiver.reader);
}

TEST("every record that is produced is read whole or counted as lost, while a reader reads")
{
	auto_device device = {0};

	device_open(&device);
	for (size_t i = 0; i < gt_countof(ring_programs); i++)
		for (size_t j = 0; j < gt_countof(forms); j++)
			check_ring(&device, i, forms[j]);
}

TEST("a ring that nobody reads keeps what fits and counts the rest")
{
	auto_device device = {0};
	struct setup setup = {.maps = {RING(4, 0)}, .text = NULL, .section = "gpu/entry/*", MANY};
	char text[512];

	device_open(&device);
	snprintf(text, sizeof(text),
		 "	mov r9, r1\n" RECORD "	mov r1, r9\n	ldmap r2, 0\n	mov r3, 0\n"
		 "	mov r4, r10\n	add r4, -24\n	mov r5, 24\n	call 25\n	exit\n");
	setup.text = text;
	EACH_FORM(setup)
	{
		struct outcome outcome = {0};
		struct gt_ring_reader reader;
		struct receiver receiver = {0};

		for (int round = 0; round < 9; round++)
			run(&device, &setup, &outcome);
		CHECK(!gt_ring_reader_open(&setup.maps[0], outcome.memory[0], &reader));
		receiver.reader = reader;
		while (receive(&receiver))
			receiver.seen[0] = 0;
		CHECK_INT(receiver.reader.records + gt_ring_reader_lost(&receiver.reader), 9 * ALL);
		CHECK_INT(receiver.reader.records, (1 << 20) / 32);
		CHECK_INT(count_results(&outcome, -EAGAIN), ALL);
		gt_ring_reader_close(&receiver.reader);
		device.used = 0;
	}
}

TEST("a record that is longer than its ring is refused and counted")
{
	auto_device device = {0};
	struct setup setup = {.maps = {RING(27, 64)},
			      .text = "	stdw [r10-64], 0\n	stdw [r10-56], 0\n"
				      "	stdw [r10-48], 0\n	stdw [r10-40], 0\n"
				      "	stdw [r10-32], 0\n	stdw [r10-24], 0\n"
				      "	stdw [r10-16], 0\n	stdw [r10-8], 0\n"
				      "	ldmap r1, 0\n	mov r2, r10\n	add r2, -64\n"
				      "	mov r3, 64\n	mov r4, 0\n	call 130\n	exit\n"};
	struct outcome outcome = {0};

	device_open(&device);
	run(&device, &setup, &outcome);
	CHECK_INT(outcome.results[0], -E2BIG);
	CHECK_INT(((struct gt_ring_header *)outcome.memory[0])->lost, 1);
}

/* ---- sizes ------------------------------------------------------------------------------ */

/* Fills the stack, then puts `size` bytes of it at -264 + shift everywhere. */
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

TEST("values and records of all sizes and alignments arrive as on the interpreter")
{
	static const unsigned sizes[] = {1, 2, 3, 4, 5, 8, 12, 15, 16, 100, 250, 256, 257};
	auto_device device = {0};

	device_open(&device);
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
				   gt_map_bytes(&setup.maps[map], 1)))
				TAP_FAIL("size %u, shift %u, map %u differs", size, shift, map);
		free_maps(&host);
		device.used = 0;
	}
}

/* ---- what is printed -------------------------------------------------------------------- */

static uint8_t greeting[32] = "100% of it\n";

TEST("what is printed on the device is what the interpreter prints")
{
	auto_device device = {0};
	struct setup setup = {
		.maps = {{.type = BPF_MAP_TYPE_ARRAY,
			  .key_size = 4,
			  .value_size = 32,
			  .max_entries = 1,
			  .read_only = true,
			  .constant = true,
			  .initial = greeting}},
		/* "%d %08x %llu\n" */
		.text = "	lddw r1, 0x2578383025206425\n	stxdw [r10-16], r1\n"
			"	lddw r1, 0x000a756c6c2520\n	stxdw [r10-8], r1\n"
			"	ldmapvalue r1, 0, 0\n	call 501\n"
			"	mov r1, r10\n	add r1, -16\n	mov r2, 16\n	mov r3, -5\n"
			"	mov r4, 48879\n	lddw r5, 0xffffffffffffffff\n	call 6\n	"
			"exit\n",
	};

	device_open(&device);
	EACH_FORM(setup)
	{
		gt_auto_strbuf here = GT_STRBUF_INIT, there = GT_STRBUF_INIT;
		struct outcome outcome = {0}, host = {0};
		struct gt_ring_reader reader;

		run(&device, &setup, &outcome);
		interpret(&setup, &host, &here);
		CHECK(!gt_ring_reader_open(&output_map, outcome.output, &reader));
		CHECK_INT(gt_ring_reader_print(&reader, &there), 0);
		CHECK_INT(reader.damaged, 0);
		gt_ring_reader_close(&reader);
		CHECK_STR(gt_strbuf_string(&here), gt_strbuf_string(&there));
		CHECK_INT(outcome.results[0], host.results[0]);
		free_maps(&host);
	}
}

/* ---- helpers ---------------------------------------------------------------------------- */

/* Three u64s at -24, put together. */
#define INDICES(helper)                                                                            \
	"	mov r1, r10\n	add r1, -24\n	mov r2, r10\n	add r2, -16\n	mov r3, r10\n"                   \
	"	add r3, -8\n	call " #helper "\n	ldxdw r0, [r10-24]\n	mul r0, 1000\n"            \
	"	ldxdw r1, [r10-16]\n	add r0, r1\n	mul r0, 1000\n	ldxdw r1, [r10-8]\n"                    \
	"	add r0, r1\n	exit\n"

static const char *const number_programs[] = {
	INDICES(503),
	INDICES(504),
	INDICES(505),
	INDICES(508),
	"	call 8\n	exit\n",
	"	call 509\n	exit\n",
	"	call 510\n	exit\n",
	"	call 511\n	exit\n",
	"	call 506\n	exit\n",
	"	call 527\n	exit\n",
	"	call 528\n	exit\n",
	"	call 529\n	exit\n",
	"	call 520\n	exit\n",
	THREAD "	mov r1, r6\n	and r1, 3\n	call 521\n	exit\n",
	THREAD "	mov r1, r6\n	lsh r1, 40\n	or r1, r6\n	mov r2, r6\n	mul r2, "
	       "5\n	and r2, 63\n"
	       "	call 522\n	exit\n",
	THREAD "	lddw r1, 0x123456789abcdef1\n	mul r1, r6\n	call 523\n	exit\n",
};

TEST("helpers that tell a number give on the device what they give on the interpreter")
{
	auto_device device = {0};

	device_open(&device);
	for (size_t i = 0; i < gt_countof(number_programs); i++) {
		struct setup setup = {
			.text = number_programs[i], .grid = {3, 2, 2}, .block = {7, 5, 2}};

		EACH_FORM(setup)
		{
			struct outcome outcome = {0}, host = {0};

			run(&device, &setup, &outcome);
			interpret(&setup, &host, NULL);
			for (uint32_t j = 0; j < threads_of(&setup); j++)
				if (outcome.results[j] != host.results[j]) {
					TAP_FAIL("program %zu, sm_%u, thread %u: 0x%" PRIx64
						 ", not 0x%" PRIx64,
						 i, setup.sm, j, outcome.results[j],
						 host.results[j]);
					break;
				}
		}
	}
}

TEST("clocks run, the process is the one that was set, random numbers differ")
{
	auto_device device = {0};
	struct setup setup = {.pid_tgid = 0x1234500006789, MANY};
	struct outcome outcome = {0};

	device_open(&device);
	setup.text = "	call 14\n	exit\n";
	run(&device, &setup, &outcome);
	CHECK_INT(count_results(&outcome, 0x1234500006789), ALL);
	setup.text = "	call 5\n	exit\n";
	run(&device, &setup, &outcome);
	CHECK(outcome.results[0] > 1000000000);
	setup.text = "	call 525\n	mov r6, r0\n	call 525\n	jge r0, r6, fine\n"
		     "	mov r0, 0\n	exit\nfine:\n	mov r0, 1\n	exit\n";
	run(&device, &setup, &outcome);
	CHECK_INT(count_results(&outcome, 1), ALL);
	setup.text = "	call 7\n	exit\n";
	run(&device, &setup, &outcome);
	CHECK(count_results(&outcome, (int64_t)outcome.results[0]) < 3);
	CHECK(outcome.results[0] <= UINT32_MAX);
}

TEST("exit ends the thread: nothing that follows is done")
{
	auto_device device = {0};
	struct setup setup = {.maps = {ARRAY(8, 1)},
			      .text = THREAD "	stw [r10-8], 0\n" KEY(0) "	mov r3, 1\n"
									 "	call 531\n"
									 "	jset r6, 1, on\n"
									 "	call 507\n"
									 "on:\n"
									 "	mov r0, 3\n"
									 "	exit\n",
			      MANY};
	struct outcome outcome = {0};

	device_open(&device);
	run(&device, &setup, &outcome);
	CHECK_INT(value_at(&setup, &outcome, 0, 0), ALL);
	CHECK_INT(count_results(&outcome, 3), ALL / 2);
}

TEST("what cannot be had in PTX is refused with the reason")
{
	struct setup setup = {.maps = {HASH(264, 8, 4)}};
	struct gt_strbuf text = GT_STRBUF_INIT;
	struct translated translated;
	struct gt_diag diag = {0};

	for (int i = 0; i < 33; i++)
		gt_strbuf_printf(&text, "	stdw [r10-%d], 0\n", 8 * (i + 1));
	gt_strbuf_puts(
		&text,
		"	ldmap r1, 0\n	mov r2, r10\n	add r2, -264\n	call 3\n	exit\n");
	setup.text = gt_strbuf_string(&text);
	CHECK(verify_setup(&setup, &translated));
	CHECK_INT(translate(&setup, &translated, &diag), -EOPNOTSUPP);
	CHECK_STR(diag.text, "map 'map0': keys of hash maps have 256 bytes at most on a GPU");
	translated_clear(&translated);
	gt_strbuf_free(&text);
}

/* The device that ptxas is to assemble a text for: its own, or the oldest that ptxas knows. */
static void check_text_for(const char *text, unsigned device)
{
	gt_auto_strbuf command = GT_STRBUF_INIT;
	const char *target = strstr(text, "sm_");
	unsigned own = target ? (unsigned)atoi(target + 3) : 0;
	FILE *pipe;

	if (own > device)
		device = own;
	gt_strbuf_printf(&command, TOOLS "ptxas -arch=sm_%u -o /dev/null -c -", device);
	gt_strbuf_puts(&command, " >/dev/null 2>&1");
	pipe = popen(gt_strbuf_string(&command), "w");
	if (!pipe || fputs(text, pipe) < 0 || pclose(pipe)) {
		TAP_FAIL("ptxas for sm_%u does not take:", device);
		printf("%s\n", text);
	}
}

TEST("ptxas takes all that was run, for devices old and new")
{
	static const unsigned devices[] = {75, 90, 120};

	if (system(TOOLS "command -v ptxas >/dev/null"))
		SKIP("ptxas is not installed");
	CHECK(loaded_count > 50);
	for (size_t i = 0; i < loaded_count; i++)
		check_text_for(loaded_texts[i], devices[i / 3 % gt_countof(devices)]);
}

TEST_MAIN
