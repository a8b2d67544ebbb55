/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The translator to SPIR-V: the results of programs on an OpenCL device (PoCL, which is a CPU) are
 * those of the interpreter, memory and maps included; and spirv-val accepts every module. A module
 * has many programs, since PoCL needs most of its time for the start of its compiler.
 */
#include <unistd.h>

#include "amount.h"
#include "gpubpf/translate.h"
#include "gpubpf_probes.h"
#include "gpubpf_shown.h"
#include "opencl/opencl.h"
#include "temporary.h"

enum {
	PROGRAMS = 300,
	A_MODULE = 64, /* programs in one module */
};

/* A module, and the memory that its programs access. */
struct module {
	bool for_spir;
	struct outcome outcomes[A_MODULE];
	bool added[A_MODULE];
	struct gt_strbuf binary;
};

static void module_clear(struct module *module)
{
	for (unsigned i = 0; i < A_MODULE; i++)
		outcome_clear(&module->outcomes[i]);
	gt_strbuf_free(&module->binary);
}

/* The memory of trace_printk and puts, which all programs have in common. */
static void *output_ring(void)
{
	static const struct gt_bpf_map map = {
		.name = "output", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = GT_OUTPUT_BYTES};
	static void *ring;

	if (!ring) {
		ring = calloc(1, gt_bpf_map_bytes(&map, 1));
		gt_bpf_map_initialise(&map, 1, ring);
	}
	return ring;
}

/*
 * Add a program as the kernel <prefix>program, with the addresses of its maps. False: it needs what
 * OpenCL does not have.
 */
static bool add_probe(const struct probe *probe, const struct outcome *outcome, bool for_spir,
		      struct gt_translation *translation)
{
	uint64_t maps[CASE_MAPS][2];
	struct gt_symbol_values symbols = {.maps = (const uint64_t(*)[2])maps,
					   .output = {(uintptr_t)output_ring(), 1}};
	struct gt_translate_options options = {
		.prefix = probe->prefix, .symbols = &symbols, .for_spir = for_spir};
	struct gt_translate_job job = {
		.program = &probe->program,
		.facts = &probe->facts,
		.memory_size = probe->memory_size,
	};
	struct gt_diag diag = {0};
	int error;

	for (uint32_t i = 0; i < probe->object.map_count; i++) {
		maps[i][0] = (uintptr_t)outcome->maps[i];
		maps[i][1] = 1;
	}
	error = gt_target_spirv.translate(&options, &probe->object, &job, translation, &diag);
	if (error && (error != -EOPNOTSUPP || !strstr(diag.text, "the target spirv does not")))
		TAP_FAIL("%s: %s: %s", probe->one ? probe->one->title : probe->prefix, diag.place,
			 diag.text);
	return !error;
}

static void make_module(struct probe *const *probes, size_t count, struct module *module)
{
	struct gt_translate_options options = {0};
	struct gt_translation translation = {0};

	for (size_t i = 0; i < count; i++) {
		static const uint8_t none[OUTCOME_MEMORY];

		prepare(probes[i], probes[i]->one ? probes[i]->one->memory : none,
			&module->outcomes[i]);
		module->added[i] =
			add_probe(probes[i], &module->outcomes[i], module->for_spir, &translation);
	}
	CHECK(!gt_target_spirv.finish(&options, &translation, &module->binary, NULL));
	gt_translation_clear(&translation);
}

/* ---- spirv-val ---- */

static bool has_validator(void)
{
	return !system("command -v spirv-val >/dev/null");
}

static void validate(const struct module *module)
{
	gt_auto_strbuf command = GT_STRBUF_INIT;
	struct temporary input;
	int file = make_temporary_file(&input);

	CHECK(file >= 0);
	CHECK(!gt_write_all(file, module->binary.data, module->binary.length));
	close(file);
	gt_strbuf_printf(&command, "spirv-val --target-env spv1.0 %s", input.path);
	CHECK(!system(gt_strbuf_string(&command)));
	unlink(input.path);
}

static void validate_all(struct probe *const *probes, size_t count)
{
	for (size_t i = 0; i < count; i += A_MODULE) {
		struct module module = {0};

		make_module(probes + i, count - i < A_MODULE ? count - i : A_MODULE, &module);
		validate(&module);
		module_clear(&module);
	}
}

TEST("spirv-val accepts the module of every case")
{
	if (!has_validator())
		SKIP("spirv-val is not installed");
	read_cases();
	validate_all(all_cases.items, all_cases.count);
}

TEST("spirv-val accepts the modules of random programs")
{
	struct probe *probes[PROGRAMS];
	size_t count = 0;

	if (!has_validator())
		SKIP("spirv-val is not installed");
	random_seed();
	for (unsigned i = 0; i < 10 * PROGRAMS && count < PROGRAMS; i++) {
		probes[count] = random_probe(i);
		count += probes[count] != NULL;
	}
	CHECK(count > PROGRAMS / 10);
	validate_all(probes, count);
	while (count)
		probe_free(probes[--count]);
}

/* ---- the device ---- */

static struct gt_cl *cl;

/* Open the first device that programs can run on; NULL: there is none. */
static struct gt_cl_device *open_device(void)
{
	struct gt_cl_device *device = NULL;

	/* Its compiler leaks, and is slow where all of its memory is watched. */
	if (IS_SANITIZED)
		return NULL;
	/* The cache of PoCL would grow with every run. */
	setenv("POCL_KERNEL_CACHE", "0", 1);
	if (!cl && gt_cl_open(&cl, NULL))
		return NULL;
	for (unsigned i = 0; i < gt_cl_device_count(cl); i++) {
		if (gt_cl_device_open(cl, i, &device, NULL))
			continue;
		if (gt_cl_device_shares_memory(device))
			return device;
		gt_cl_device_close(device);
	}
	return NULL;
}

static bool execute(struct gt_cl_program *program, const struct probe *probe, const uint8_t *memory,
		    struct outcome *outcome)
{
	static const uint32_t one[3] = {1, 1, 1};
	uint64_t size = probe->memory_size;
	struct gt_cl_argument arguments[] = {
		{outcome->memory, size, true},
		{&size, sizeof(size), false},
		{&outcome->r0, sizeof(outcome->r0), true},
	};
	struct gt_diag diag = {0};
	char name[64];
	int error;

	memcpy(outcome->memory, memory, size);
	snprintf(name, sizeof(name), "%sprogram", probe->prefix);
	error = gt_cl_launch(program, name, one, one, arguments, gt_countof(arguments), &diag);
	if (!error)
		error = gt_cl_wait(program, 0, &diag);
	if (error)
		TAP_FAIL("%s: %s: %s", probe->one ? probe->one->title : name, diag.place,
			 diag.text);
	return !error;
}

/* Run a module of programs, once each. False once a result differs. */
static bool run_module(struct gt_cl_device *device, struct probe *const *probes, size_t count,
		       unsigned *compared)
{
	struct module module = {.for_spir = !gt_cl_device_info(device)->takes_spirv};
	gt_auto(cl_program) struct gt_cl_program *program = NULL;
	gt_auto_strbuf log = GT_STRBUF_INIT;
	struct gt_diag diag = {0};
	bool fine;

	make_module(probes, count, &module);
	fine = !gt_cl_program_load(device, module.binary.data, module.binary.length, &program, &log,
				   &diag);
	if (!fine)
		TAP_FAIL("%s: %s %s", diag.place, diag.text, gt_strbuf_string(&log));
	for (size_t i = 0; i < count && fine; i++) {
		bool values = !shows_addresses(&probes[i]->program, &probes[i]->facts);
		uint8_t memory[OUTCOME_MEMORY];
		struct outcome one = {0};

		if (!module.added[i])
			continue;
		*compared += values;
		if (probes[i]->one)
			memcpy(memory, probes[i]->one->memory, probes[i]->memory_size);
		else
			make_memory(memory);
		fine = interpret(probes[i], memory, &one) &&
		       execute(program, probes[i], memory, &module.outcomes[i]) &&
		       (!values ||
			is_same(probes[i], &one, &module.outcomes[i], "as SPIR-V on OpenCL"));
		outcome_clear(&one);
	}
	module_clear(&module);
	return fine;
}

TEST("cases have the results of the interpreter on an OpenCL device")
{
	gt_auto(cl_device) struct gt_cl_device *device = open_device();
	unsigned compared = 0;

	if (!device)
		SKIP("there is no OpenCL device that shares memory");
	read_cases();
	for (size_t i = 0; i < all_cases.count; i += A_MODULE)
		run_module(device, all_cases.items + i,
			   all_cases.count - i < A_MODULE ? all_cases.count - i : A_MODULE,
			   &compared);
	printf("# of %u of %zu cases the values were compared\n", compared, all_cases.count);
	CHECK(compared > all_cases.count * 9 / 10);
}

TEST("random programs have the results of the interpreter on an OpenCL device")
{
	gt_auto(cl_device) struct gt_cl_device *device = open_device();
	unsigned programs = programs_wanted(PROGRAMS), accepted = 0, compared = 0;
	struct probe *probes[A_MODULE];
	size_t count = 0;
	bool fine = true;

	if (!device)
		SKIP("there is no OpenCL device that shares memory");
	random_seed();
	for (unsigned i = 0; i < programs && fine; i++) {
		struct probe *probe = random_probe(i);

		if (probe) {
			probes[count++] = probe;
			accepted++;
		}
		if (count < A_MODULE && i + 1 < programs)
			continue;
		fine = run_module(device, probes, count, &compared);
		while (count)
			probe_free(probes[--count]);
	}
	printf("# %u of %u programs were accepted, of %u the values were compared\n", accepted,
	       programs, compared);
	CHECK(compared > programs / 100);
}

TEST_MAIN
