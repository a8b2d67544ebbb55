/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program in eBPF's assembly, its maps and a grid: run as PTX on the software device, and on the
 * interpreter.
 */
#pragma once

#include "assemble.h"
#include "exec_fixture.h"
#include "gpubpf/interp/interp.h"
#include "gpubpf/map/ring_reader.h"
#include "gpubpf/translate.h"

enum {
	MAPS = 4,
	BLOCKS = 32,
	THREADS = 128,
	ALL = BLOCKS * THREADS,
	OUTPUT = 1 << 15, /* bytes of the output ring */
	CONTEXT = GT_CONTEXT_SIZE / 8,
};

/* A program, its maps and its grid. */
struct setup {
	struct gt_bpf_map maps[MAPS];
	uint32_t copies[MAPS]; /* 0: 1 */
	const char *text;
	const char *section; /* NULL: a raw program */
	unsigned sm;         /* 0: 90 */
	bool private_arrays; /* as in a module that has some */
	uint32_t grid[3], block[3];
	uint64_t pid_tgid;
	/* Called in its own thread while the grid runs, until it returns false. */
	bool (*beside)(void *data);
	void *data;
};

static const struct gt_bpf_map output_map = {.type = BPF_MAP_TYPE_RINGBUF, .max_entries = OUTPUT};

/* Its results. */
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
					       .private_arrays = setup->private_arrays,
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
				device_memory(device, gt_bpf_map_bytes(map, copies_of(setup, i)));
			gt_bpf_map_initialise(map, copies_of(setup, i), outcome->memory[i]);
		}
		snprintf(symbol, sizeof(symbol), "gputap_map_%u", i);
		set_symbol(module, symbol, address_of(outcome->memory[i]), copies_of(setup, i));
	}
	if (!outcome->output) {
		outcome->output = device_memory(device, gt_bpf_map_bytes(&output_map, 1));
		gt_bpf_map_initialise(&output_map, 1, outcome->output);
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
	/* Memory, its size, results; and the context, which is not read here. */
	uint64_t parameters[3 + CONTEXT] = {0, 0, results};
	size_t count = 3;
	struct sg_launch launch = {
		.shape.grid = {setup->grid[0], setup->grid[1], setup->grid[2]},
		.shape.block = {setup->block[0], setup->block[1], setup->block[2]}};
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

/* Run a setup on the device. Maps that the outcome has from an earlier run are kept. */
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

/* Run a setup in the interpreter, with maps of the host. */
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
		outcome->memory[i] = calloc(1, gt_bpf_map_bytes(&setup->maps[i], copies[i]));
		gt_bpf_map_initialise(&setup->maps[i], copies[i], outcome->memory[i]);
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

/* Count the threads that returned a result. */
static inline uint32_t count_results(const struct outcome *outcome, int64_t result)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ALL; i++)
		count += (int64_t)outcome->results[i] == result;
	return count;
}

static inline struct gt_bpf_map_view view_of(const struct setup *setup,
					     const struct outcome *outcome, uint32_t map)
{
	return (struct gt_bpf_map_view){&setup->maps[map], outcome->memory[map],
					copies_of(setup, map)};
}

/* Run a setup on the device. Returns the contents of its first map. */
static inline struct gt_bpf_map_view run_map(struct device *device, struct setup *setup,
					     struct outcome *outcome)
{
	run(device, setup, outcome);
	return view_of(setup, outcome, 0);
}

static inline uint64_t value_at(const struct setup *setup, const struct outcome *outcome,
				uint32_t map, uint64_t key)
{
	int64_t offset = gt_bpf_map_lookup(&setup->maps[map], outcome->memory[map], 0, &key);
	uint64_t value = 0;

	if (offset < 0)
		return UINT64_MAX;
	memcpy(&value, (uint8_t *)outcome->memory[map] + offset,
	       setup->maps[map].value_size < 8 ? setup->maps[map].value_size : 8);
	return value;
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
#define RING(kind, bytes)                                                                          \
	{                                                                                          \
		.type = kind, .max_entries = bytes                                                 \
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

/* ---- ptxas ------------------------------------------------------------------------------ */

/* Assemble a text with ptxas, for its own device or `device`, whichever is newer. */
static inline void check_text_for(const char *text, unsigned device)
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
		TAP_FAIL("ptxas for sm_%u rejects:", device);
		printf("%s\n", text);
	}
}
