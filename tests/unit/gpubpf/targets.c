/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One set of programs on every engine: the interpreter, the software device (PTX) and an OpenCL
 * device (SPIR-V; PoCL, which is a CPU) have the same results, memory and maps included.
 * PROGRAMS=N and SEED=N select other random programs.
 */
#include "gpubpf_ptx_run.h"
#include "gpubpf_shown.h"
#include "gpubpf_spirv_run.h"

enum {
	PROGRAMS = 300,
};

/* What runs on both devices, and is compared. */
struct engines {
	struct device ptx;
	struct gt_cl_device *opencl;
	unsigned compared;
};

/* Skips the test where there is no OpenCL device. */
static bool open_engines(struct engines *engines)
{
	engines->opencl = open_cl_device();
	if (engines->opencl)
		device_open(&engines->ptx);
	return engines->opencl;
}

static void close_engines(struct engines *engines)
{
	device_close(&engines->ptx);
	gt_cl_device_close(engines->opencl);
}

/* A module for each target, and the programs in them. */
struct modules {
	struct probe *const *probes;
	size_t count;
	struct sg_module *ptx;
	struct spirv_module spirv;
	struct gt_cl_program *opencl;
};

static bool load_modules(struct engines *engines, struct modules *modules)
{
	gt_autofree char *text = make_ptx_module(modules->probes, modules->count, 90);
	gt_auto_strbuf log = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	modules->spirv.for_spir = !gt_cl_device_info(engines->opencl)->takes_spirv;
	make_spirv_module(modules->probes, modules->count, &modules->spirv);
	modules->ptx = device_load(&engines->ptx, text);
	if (gt_cl_program_load(engines->opencl, modules->spirv.binary.data,
			       modules->spirv.binary.length, &modules->opencl, &log, &diag))
		TAP_FAIL("%s: %s %s", diag.place, diag.text, gt_strbuf_string(&log));
	return modules->ptx && modules->opencl;
}

static void unload_modules(struct modules *modules)
{
	sg_module_free(modules->ptx);
	gt_cl_program_free(modules->opencl);
	spirv_module_clear(&modules->spirv);
}

/* Run a program on every engine that has it; false once a result differs. */
static bool run_program(struct engines *engines, struct modules *modules, size_t number)
{
	const struct probe *probe = modules->probes[number];
	/* Addresses differ between the engines, but no case shows one in its results. */
	bool values = probe->one || !shows_addresses(&probe->program, &probe->facts);
	struct outcome expected = {0}, ptx = {0}, *spirv = &modules->spirv.outcomes[number];
	uint8_t memory[OUTCOME_MEMORY];
	bool same;

	if (probe->one)
		memcpy(memory, probe->one->memory, probe->memory_size);
	else
		make_memory(memory);
	same = interpret(probe, memory, &expected) &&
	       execute_ptx(&engines->ptx, modules->ptx, probe, memory, &ptx) &&
	       (!values || is_same(probe, &expected, &ptx, "as PTX"));
	if (same && !gt_diag_is_set(&modules->spirv.rejected[number])) {
		same = execute_spirv(modules->opencl, probe, memory, spirv) &&
		       (!values || is_same(probe, &expected, spirv, "as SPIR-V on OpenCL"));
		engines->compared += values;
	}
	outcome_clear(&expected);
	outcome_clear(&ptx);
	return same;
}

/* ---- cases ---- */

/* Cases that are not in SPIR-V, and why. */
static const struct rejected_case {
	const char *title, *reason;
} rejected_cases[] = {
	{"warp helpers return the values of one lane",
	 "the target spirv does not support warp_active_mask, which needs values of other lanes"},
	{"without registers of PTX, helper 512 has no argument and returns the number of the "
	 "device",
	 "the target spirv does not know the number of the device (get_device)"},
	{"the first device is number 0",
	 "the target spirv does not know the number of the device (get_device)"},
};

static unsigned check_rejected(const struct modules *modules)
{
	unsigned found = 0;

	for (size_t i = 0; i < modules->count; i++) {
		const char *reason = modules->spirv.rejected[i].text, *expected = "";

		for (size_t j = 0; j < gt_countof(rejected_cases); j++)
			if (!strcmp(rejected_cases[j].title, probe_title(modules->probes[i])))
				expected = rejected_cases[j].reason;
		if (strcmp(reason, expected))
			TAP_FAIL("%s: rejected: '%s', not '%s'", probe_title(modules->probes[i]),
				 reason, expected);
		found += reason[0] != 0;
	}
	return found;
}

TEST("every case has one result on all engines, but for those that SPIR-V lacks, by name")
{
	struct engines engines = {0};
	unsigned rejected = 0;

	if (!open_engines(&engines))
		SKIP("there is no OpenCL device that shares memory");
	read_cases();
	for (size_t i = 0; i < all_cases.count; i += A_MODULE) {
		size_t left = all_cases.count - i;
		struct modules modules = {.probes = all_cases.items + i,
					  .count = left < A_MODULE ? left : A_MODULE};

		if (load_modules(&engines, &modules))
			for (size_t j = 0; j < modules.count; j++)
				run_program(&engines, &modules, j);
		rejected += check_rejected(&modules);
		unload_modules(&modules);
	}
	printf("# %u of %zu cases were compared on all engines\n", engines.compared,
	       all_cases.count);
	CHECK_INT(rejected, gt_countof(rejected_cases));
	CHECK_INT(engines.compared + rejected, all_cases.count);
	close_engines(&engines);
}

/* ---- random programs ---- */

/* A module of random programs, from the number on; false once a result differs. */
static bool run_random(struct engines *engines, unsigned number, unsigned count)
{
	struct probe *probes[A_MODULE];
	struct modules modules = {.probes = probes};
	bool same;

	for (unsigned i = 0; i < count; i++) {
		probes[modules.count] = random_probe(number + i);
		modules.count += probes[modules.count] != NULL;
	}
	same = load_modules(engines, &modules);
	for (size_t i = 0; i < modules.count && same; i++)
		same = run_program(engines, &modules, i);
	unload_modules(&modules);
	while (modules.count)
		probe_free(probes[--modules.count]);
	return same;
}

TEST("every random program has one result on all engines")
{
	unsigned programs = programs_wanted(PROGRAMS);
	struct engines engines = {0};

	if (!open_engines(&engines))
		SKIP("there is no OpenCL device that shares memory");
	random_seed();
	for (unsigned i = 0; i < programs; i += A_MODULE)
		if (!run_random(&engines, i, programs - i < A_MODULE ? programs - i : A_MODULE))
			break;
	printf("# %u of %u programs were compared on all engines\n", engines.compared, programs);
	CHECK(engines.compared > programs / 100);
	close_engines(&engines);
}

TEST_MAIN
