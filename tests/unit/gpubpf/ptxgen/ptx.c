/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The translator to PTX: the results of programs on the software device are those of the
 * interpreter, memory and maps included; and ptxas accepts every text, for old and new GPUs.
 */
#include "amount.h"
#include "exec_fixture.h"
#include "gpubpf/translate.h"
#include "gpubpf_probes.h"
#include "gpubpf_programs.h"
#include "gpubpf_shown.h"

enum {
	PROGRAMS = 10000,
	A_MODULE = 64,          /* programs in one module */
	OF_OPERATIONS = 4,      /* in one, if they do one operation many times */
	FOR_PTXAS = 1000,       /* random programs for ptxas; 100 unless PROGRAMS is set */
	RUNS = 3,               /* of a random program */
	MAX_SANITIZED = 100000, /* instructions of a case that is executed when sanitized */
};

/* ---- modules --------------------------------------------------------------------------- */

/* Add a program as the kernel <prefix>program. */
static bool add_probe(const struct probe *probe, unsigned sm, struct gt_translation *translation)
{
	struct gt_translate_options options = {.sm = sm, .prefix = probe->prefix};
	struct gt_translate_job job = {
		.program = &probe->program,
		.facts = &probe->facts,
		.memory_size = probe->memory_size,
	};
	struct gt_diag diag = {0};

	if (!gt_target_ptx.translate(&options, &probe->object, &job, translation, &diag))
		return true;
	TAP_FAIL("%s: %s: %s", probe->one ? probe->one->title : probe->prefix, diag.place,
		 diag.text);
	return false;
}

static char *make_module(struct probe *const *probes, size_t count, unsigned sm)
{
	struct gt_translate_options options = {.sm = sm};
	struct gt_translation translation = {0};
	struct gt_strbuf text = GT_STRBUF_INIT;

	for (size_t i = 0; i < count; i++)
		add_probe(probes[i], sm, &translation);
	CHECK(!gt_target_ptx.finish(&options, &translation, &text, NULL));
	gt_translation_clear(&translation);
	return gt_strbuf_steal(&text);
}

static void print_probe(const struct probe *probe)
{
	gt_autofree char *text = make_module((struct probe *const[]){(struct probe *)probe}, 1, 90);

	for (uint32_t i = 0; i < probe->program.count; i++) {
		gt_auto_strbuf line = GT_STRBUF_INIT;

		gt_bpf_put_insn(&line, probe->program.insns, probe->program.count, i);
		printf("# %u: %s\n", i, gt_strbuf_string(&line));
		if (gt_bpf_is_wide(&probe->program.insns[i]))
			i++;
	}
	for (char *line, *rest = text; (line = strsep(&rest, "\n"));)
		printf("# %s\n", line);
}

/* ---- running --------------------------------------------------------------------------- */

static const struct gt_bpf_map output_map = {
	.name = "output", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = GT_OUTPUT_BYTES};

/* Allocate a map and write its address into the symbol. NULL if the program does not use it. */
static void *place_map(struct device *device, struct sg_module *module, const char *symbol,
		       const void *bytes, size_t size)
{
	struct sg_variable_info info;
	void *place;

	if (sg_module_variable(module, symbol, &info))
		return NULL;
	place = device_memory(device, size);
	memcpy(place, bytes, size);
	memcpy((void *)(uintptr_t)info.address, (uint64_t[]){address_of(place), 1}, 16);
	return place;
}

/* Place the memory of a run on the device. */
static void place_maps(struct device *device, struct sg_module *module, const struct probe *probe,
		       struct outcome *outcome, void **ret_places)
{
	static void *fresh_output;
	char name[64];

	for (uint32_t i = 0; i < probe->object.map_count; i++) {
		snprintf(name, sizeof(name), "%smap_%u", probe->prefix, i);
		ret_places[i] =
			place_map(device, module, name, outcome->maps[i], outcome->map_sizes[i]);
	}
	if (!fresh_output) {
		fresh_output = calloc(1, gt_bpf_map_bytes(&output_map, 1));
		gt_bpf_map_initialise(&output_map, 1, fresh_output);
	}
	snprintf(name, sizeof(name), "%soutput", probe->prefix);
	place_map(device, module, name, fresh_output, gt_bpf_map_bytes(&output_map, 1));
}

static bool execute(struct device *device, struct sg_module *module, const struct probe *probe,
		    const uint8_t *memory, struct outcome *outcome)
{
	uint64_t used = device->used, *result, parameters[3];
	struct sg_grid_result ran;
	void *places[CASE_MAPS];
	char name[64];
	uint8_t *bytes;
	int error;

	prepare(probe, memory, outcome);
	place_maps(device, module, probe, outcome, places);
	result = device_memory(device, 8);
	bytes = device_memory(device, probe->memory_size + 1);
	memcpy(bytes, memory, probe->memory_size);
	snprintf(name, sizeof(name), "%sprogram", probe->prefix);
	parameters[0] = address_of(bytes);
	parameters[1] = probe->memory_size;
	parameters[2] = address_of(result);
	error = device_run_with(device, module, name, (struct sg_launch){0}, parameters, 3, &ran);
	if (error)
		TAP_FAIL("%s: %s", probe->one ? probe->one->title : name, ran.fault.text);
	outcome->r0 = *result;
	memcpy(outcome->memory, bytes, probe->memory_size);
	for (uint32_t i = 0; i < probe->object.map_count; i++)
		if (places[i])
			memcpy(outcome->maps[i], places[i], outcome->map_sizes[i]);
	device->used = used;
	return !error;
}

static bool compare(struct device *device, struct sg_module *module, const struct probe *probe,
		    const uint8_t *memory, bool values)
{
	struct outcome one = {0}, other = {0};
	bool same = interpret(probe, memory, &one);

	/* Sanitized, a case of millions of instructions takes minutes, and shows nothing more. */
	if (same && !(IS_SANITIZED && one.executed > MAX_SANITIZED))
		same = execute(device, module, probe, memory, &other) &&
		       (!values || is_same(probe, &one, &other, "as PTX"));

	outcome_clear(&one);
	outcome_clear(&other);
	return same;
}

/* ---- cases ----------------------------------------------------------------------------- */

/* All cases with the instructions of a GPU. */
static void run_cases(unsigned sm)
{
	auto_device device = {0};

	read_cases();
	device_open(&device);
	for (size_t i = 0; i < all_cases.count; i += A_MODULE) {
		size_t count = all_cases.count - i < A_MODULE ? all_cases.count - i : A_MODULE;
		gt_autofree char *text = make_module(all_cases.items + i, count, sm);
		gt_auto(sg_module) struct sg_module *module = device_load(&device, text);

		for (size_t j = i; module && j < i + count; j++)
			if (!compare(&device, module, all_cases.items[j],
				     all_cases.items[j]->one->memory, true))
				print_probe(all_cases.items[j]);
	}
}

TEST("every accepted case has the results of the interpreter on the software device")
{
	run_cases(90);
}

TEST("every accepted case has them with the instructions of the oldest GPUs, too")
{
	run_cases(60);
}

TEST("atomic loads and stores have their order in the text, or fences for the oldest GPUs")
{
	const char *title = "a map's value is loaded with acquire and stored with release";
	unsigned found = 0;

	read_cases();
	for (size_t i = 0; i < all_cases.count; i++) {
		if (strcmp(all_cases.items[i]->one->title, title))
			continue;
		gt_autofree char *text = make_module(&all_cases.items[i], 1, 75);
		gt_autofree char *old = make_module(&all_cases.items[i], 1, 60);

		found++;
		CHECK(strstr(text, "ld.acquire.gpu") && strstr(text, "st.release.gpu"));
		CHECK(!strstr(old, "acquire") && strstr(old, "membar.gl"));
	}
	CHECK_INT(found, 1);
}

/* ---- operations ------------------------------------------------------------------------ */

static struct {
	struct probe *items[1 << 12];
	size_t count;
} all_operations;

static void keep_operation(const struct bpf_insn *operation)
{
	struct gt_verify_options options = {.input = GT_INPUT_MEMORY,
					    .memory_size = OPERATION_MEMORY};
	struct probe *probe = calloc(1, sizeof(*probe));

	probe->memory_size = OPERATION_MEMORY;
	probe->program.insns = calloc(OPERATION_INSNS, sizeof(*probe->program.insns));
	probe->program.count = operation_program(operation, probe->program.insns);
	snprintf(probe->prefix, sizeof(probe->prefix), "o%zu_", all_operations.count);
	all_operations.items[all_operations.count++] = probe;
	if (gt_verify(&probe->object, &probe->program, &options, &probe->facts, NULL, NULL))
		TAP_FAIL("opcode 0x%02x offset %d imm 0x%x is rejected", operation->code,
			 operation->off, (unsigned)operation->imm);
}

TEST("every operation on edge values has the result of the interpreter")
{
	static uint64_t memory[OPERATION_MEMORY / 8];
	auto_device device = {0};

	operation_memory(memory);
	each_operation(keep_operation);
	device_open(&device);
	for (size_t i = 0; i < all_operations.count; i += OF_OPERATIONS) {
		size_t left = all_operations.count - i,
		       count = left < OF_OPERATIONS ? left : OF_OPERATIONS;
		gt_autofree char *text = make_module(all_operations.items + i, count, 90);
		gt_auto(sg_module) struct sg_module *module = device_load(&device, text);

		for (size_t j = i; j < i + count; j++) {
			if (module)
				compare(&device, module, all_operations.items[j],
					(const uint8_t *)memory, true);
			probe_free(all_operations.items[j]);
		}
	}
	printf("# %zu operations with %d pairs of numbers each\n", all_operations.count,
	       OPERATION_PAIRS);
	CHECK(all_operations.count > 500);
}

/* ---- random programs ------------------------------------------------------------------- */

/* Run a module of programs. False once a result differs. */
static bool run_module(struct device *device, struct probe *const *probes, size_t count,
		       unsigned *compared)
{
	gt_autofree char *text = make_module(probes, count, 90);
	gt_auto(sg_module) struct sg_module *module = device_load(device, text);
	bool fine = module;

	for (size_t i = 0; i < count && fine; i++) {
		bool values = !shows_addresses(&probes[i]->program, &probes[i]->facts);
		uint8_t memory[MEMORY];

		*compared += values;
		for (unsigned run = 0; run < RUNS && fine; run++) {
			make_memory(memory);
			fine = compare(device, module, probes[i], memory, values);
			if (!fine)
				print_probe(probes[i]);
		}
	}
	return fine;
}

TEST("random programs have the results of the interpreter on the software device")
{
	unsigned programs = programs_wanted(PROGRAMS), accepted = 0, compared = 0;
	struct probe *probes[A_MODULE];
	size_t count = 0;
	bool fine = true;
	auto_device device = {0};

	device_open(&device);
	random_seed();
	for (unsigned i = 0; i < programs && fine; i++) {
		struct probe *probe = random_probe(i);

		if (probe) {
			probes[count++] = probe;
			accepted++;
		}
		if (count < A_MODULE && i + 1 < programs)
			continue;
		fine = run_module(&device, probes, count, &compared);
		while (count)
			probe_free(probes[--count]);
	}
	printf("# %u of %u programs were accepted, of %u the values were compared\n", accepted,
	       programs, compared);
	CHECK(compared > programs / 100);
}

/* ---- ptxas ----------------------------------------------------------------------------- */

static void check_all(struct probe *const *probes, size_t count)
{
	static const unsigned targets[] = {75, 90, 120};

	for (size_t i = 0; i < gt_countof(targets); i++) {
		gt_autofree char *text = make_module(probes, count, targets[i]);

		check_text_with_ptxas(text);
	}
}

TEST("ptxas accepts every case for sm_75, sm_90 and sm_120")
{
	NEED_TOOL("ptxas");
	read_cases();
	check_all(all_cases.items, all_cases.count);
}

TEST("ptxas accepts random programs for sm_75, sm_90 and sm_120")
{
	struct probe *probes[FOR_PTXAS];
	size_t count = 0;

	NEED_TOOL("ptxas");
	for (unsigned i = 0; i < (getenv("PROGRAMS") ? FOR_PTXAS : FOR_PTXAS / 10); i++) {
		struct probe *probe = random_probe(i);

		if (probe)
			probes[count++] = probe;
	}
	check_all(probes, count);
	while (count)
		probe_free(probes[--count]);
}

TEST_MAIN
