/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ordinary C that clang compiles for BPF (tests/data/ebpf/programs/algorithms.c) has the same
 * results on the interpreter, and as PTX on the software device, as on this machine.
 */
#include "algorithms.h"
#include "amount.h"
#include "exec_fixture.h"
#include "gpubpf/interp/interp.h"
#include "gpubpf/object/object.h"
#include "gpubpf/translate.h"
#include "temporary.h"

enum {
	INPUTS = 6,
	MAX_MAPS = 8,
};

static bool has_clang(void)
{
	return !system("clang --print-targets 2>/dev/null | grep -q '^ *bpf '");
}

/* Whether this clang supports a version of the BPF instruction set. */
static bool knows_version(const char *version)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "echo 'int x;' | clang -target bpf -mcpu=%s -x c -c -o /dev/null - 2>&1 "
		 "| grep -q .",
		 version);
	return system(command) != 0;
}

static struct gt_bpf_object *compile(const char *version, const char *level)
{
	const char *data = getenv("TEST_DATA");
	gt_auto_strbuf command = GT_STRBUF_INIT;
	struct gt_bpf_object *object = NULL;
	struct temporary output;
	struct gt_diag diag = {0};

	CHECK(make_empty_file(&output));
	gt_strbuf_printf(&command,
			 "clang -g %s -target bpf -mcpu=%s -c %s/ebpf/programs/algorithms.c -o %s",
			 level, version, data ? data : "tests/data", output.path);
	if (system(gt_strbuf_string(&command)))
		TAP_FAIL("clang %s -mcpu=%s does not compile algorithms.c", level, version);
	else if (gt_bpf_object_open(output.path, false, &object, &diag))
		TAP_FAIL("clang %s -mcpu=%s: %s %s", level, version, diag.place, diag.text);
	unlink(output.path);
	return object;
}

/* ---- one program ------------------------------------------------------------------------ */

/* The results of a run. */
struct outcome {
	u64 r0;
	_Alignas(8) u8 memory[ALGORITHM_MEMORY];
};

struct compiled {
	const struct gt_bpf_object *object;
	const struct gt_bpf_program *program;
	const struct algorithm *algorithm;
	struct gt_facts facts;
	char title[64];
};

static u64 next_word(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Zeros, ones, text with and without characters of several bytes, and random numbers. */
static void make_input(unsigned number, u8 *memory)
{
	static const char text[] = "12 345;67é€𐍈 8901;aaaaabbbbbc ";
	u64 state = 0x9e3779b97f4a7c15 * (number + 1);

	for (unsigned i = 0; i < ALGORITHM_MEMORY; i++)
		memory[i] = number == 0   ? 0
			    : number == 1 ? 0xff
			    : number == 2 ? (u8)text[i % (sizeof(text) - 1)]
					  : (u8)(next_word(&state) >> (number == 3 ? 60 : 24));
}

static void **place_maps(const struct gt_bpf_object *object, struct device *device)
{
	static void *memories[MAX_MAPS];

	for (uint32_t i = 0; i < object->map_count && i < MAX_MAPS; i++) {
		size_t size = gt_bpf_map_bytes(&object->maps[i], 1);

		memories[i] = device_memory(device, size);
		gt_bpf_map_initialise(&object->maps[i], 1, memories[i]);
	}
	return memories;
}

static void interpret(const struct compiled *compiled, void **maps, struct outcome *outcome)
{
	struct gt_interp_options options = {.object = compiled->object,
					    .map_memory = maps,
					    .memory = outcome->memory,
					    .memory_size = ALGORITHM_MEMORY,
					    .max_executed = compiled->facts.bound};
	struct gt_interp_result result = {0};
	struct gt_diag diag = {0};

	if (gt_interp_run(compiled->program, &options, &result, &diag))
		TAP_FAIL("%s: %s: %s", compiled->title, diag.place, diag.text);
	outcome->r0 = result.r0;
}

static void execute(const struct compiled *compiled, struct device *device,
		    struct sg_module *module, struct outcome *outcome)
{
	uint64_t used = device->used, *result = device_memory(device, 8);
	void *memory = device_memory(device, ALGORITHM_MEMORY);
	uint64_t parameters[] = {address_of(memory), ALGORITHM_MEMORY, address_of(result)};
	struct sg_grid_result ran;
	char name[64];

	memcpy(memory, outcome->memory, ALGORITHM_MEMORY);
	snprintf(name, sizeof(name), "gputap_%s", compiled->program->name);
	if (device_run_with(device, module, name, (struct sg_launch){0}, parameters, 3, &ran))
		TAP_FAIL("%s: %s", compiled->title, ran.fault.text);
	outcome->r0 = *result;
	memcpy(outcome->memory, memory, ALGORITHM_MEMORY);
	device->used = used;
}

static bool is_same(const struct compiled *compiled, const char *engine, unsigned input,
		    const struct outcome *wanted, const struct outcome *got)
{
	unsigned at = 0;

	while (at < ALGORITHM_MEMORY && wanted->memory[at] == got->memory[at])
		at++;
	if (at == ALGORITHM_MEMORY && wanted->r0 == got->r0)
		return true;
	TAP_FAIL("%s, input %u: r0 is 0x%llx %s, 0x%llx here; the memory differs from byte %u on",
		 compiled->title, input, got->r0, engine, wanted->r0, at);
	return false;
}

static void compare(const struct compiled *compiled, struct device *device,
		    struct sg_module *module, void **maps)
{
	for (unsigned input = 0; input < INPUTS; input++) {
		struct outcome here = {0}, interpreted, executed;

		make_input(input, here.memory);
		interpreted = executed = here;
		here.r0 = compiled->algorithm->run(here.memory);
		interpret(compiled, maps, &interpreted);
		execute(compiled, device, module, &executed);
		if (!is_same(compiled, "on the interpreter", input, &here, &interpreted) ||
		    !is_same(compiled, "as PTX", input, &here, &executed))
			return;
	}
}

/* ---- all of an object ------------------------------------------------------------------- */

static bool verify(struct compiled *compiled)
{
	struct gt_verify_options options = {.input = GT_INPUT_MEMORY,
					    .memory_size = ALGORITHM_MEMORY};
	struct gt_diag diag = {0};

	if (!gt_verify(compiled->object, compiled->program, &options, &compiled->facts, NULL,
		       &diag))
		return true;
	TAP_FAIL("%s: %s: %s", compiled->title, diag.place, diag.text);
	return false;
}

static void check_program(struct compiled *compiled, struct device *device, void **maps)
{
	struct gt_translate_options options = {.sm = 80};
	struct gt_translate_job job = {.program = compiled->program,
				       .facts = &compiled->facts,
				       .memory_size = ALGORITHM_MEMORY};
	struct gt_translation translation = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_diag diag = {0};
	struct sg_module *module;

	if (gt_target_ptx.translate(&options, compiled->object, &job, &translation, &diag) ||
	    gt_target_ptx.finish(&options, &translation, &text, &diag))
		TAP_FAIL("%s: %s %s", compiled->title, diag.place, diag.text);
	gt_translation_clear(&translation);
	module = device_load(device, gt_strbuf_string(&text));
	for (uint32_t i = 0; module && i < compiled->object->map_count; i++) {
		struct sg_variable_info info;
		char symbol[32];

		snprintf(symbol, sizeof(symbol), "gputap_map_%u", i);
		if (!sg_module_variable(module, symbol, &info))
			memcpy((void *)(uintptr_t)info.address,
			       (uint64_t[]){address_of(maps[i]), 1}, 16);
	}
	if (module)
		compare(compiled, device, module, maps);
	sg_module_free(module);
}

static const struct algorithm *find_algorithm(const char *name)
{
	for (const struct algorithm *each = algorithms; each->name; each++)
		if (!strcmp(each->name, name))
			return each;
	return NULL;
}

static void check_object(const struct gt_bpf_object *object, const char *version, const char *level)
{
	auto_device device = {0};
	unsigned count = 0;
	void **maps;

	device_open(&device);
	CHECK(object->map_count <= MAX_MAPS);
	maps = place_maps(object, &device);
	for (uint32_t i = 0; i < object->program_count; i++) {
		struct compiled compiled = {
			.object = object,
			.program = &object->programs[i],
			.algorithm = find_algorithm(object->programs[i].name),
		};

		snprintf(compiled.title, sizeof(compiled.title), "%s, %s %s",
			 compiled.program->name, level, version);
		CHECK(compiled.algorithm);
		if (compiled.algorithm && verify(&compiled))
			check_program(&compiled, &device, maps);
		gt_facts_clear(&compiled.facts);
	}
	while (algorithms[count].name)
		count++;
	CHECK_INT(object->program_count, count);
}

/* All levels of optimization with one version of the instructions, one with the others. */
static void check_version(const char *version)
{
	static const char *const levels[] = {"-O2", "-O1", "-Os"};
	bool all = !IS_SANITIZED && !strcmp(version, "v3");

	for (size_t i = 0; i < (all ? gt_countof(levels) : 1); i++) {
		struct gt_bpf_object *object = compile(version, levels[i]);

		if (object)
			check_object(object, version, levels[i]);
		gt_bpf_object_free(object);
	}
}

#define CHECK_VERSION(version)                                                                     \
	do {                                                                                       \
		if (!has_clang())                                                                  \
			SKIP("there is no clang for BPF");                                         \
		if (IS_SANITIZED && strcmp(version, "v3"))                                         \
			SKIP("sanitized, one version of the instructions is enough");              \
		if (!knows_version(version))                                                       \
			SKIP("this clang does not know -mcpu=" version);                           \
		check_version(version);                                                            \
	} while (0)

TEST("algorithms in C have their native results with the first instruction set of BPF")
{
	CHECK_VERSION("v1");
}

TEST("algorithms in C have their native results with the jumps of version 2")
{
	CHECK_VERSION("v2");
}

TEST("algorithms in C have their native results with the 32-bit instructions of version 3")
{
	CHECK_VERSION("v3");
}

TEST("algorithms in C have their native results with the signed instructions of version 4")
{
	CHECK_VERSION("v4");
}

TEST_MAIN
