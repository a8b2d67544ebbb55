/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The translator to PTX: the results of programs on the software device are those of the
 * interpreter, memory and maps included; and ptxas accepts every text, for old and new GPUs.
 */
#include "amount.h"
#include "gpubpf_programs.h"
#include "gpubpf_ptx_run.h"
#include "gpubpf_shown.h"

enum {
	PROGRAMS = 10000,
	A_MODULE = 64,          /* programs in one module */
	OF_OPERATIONS = 4,      /* in one, if they do one operation many times */
	FOR_PTXAS = 1000,       /* random programs for ptxas; 100 unless PROGRAMS is set */
	RUNS = 3,               /* of a random program */
	MAX_SANITIZED = 100000, /* instructions of a case that is executed when sanitized */
};

static bool compare(struct device *device, struct sg_module *module, const struct probe *probe,
		    const uint8_t *memory, bool values)
{
	struct outcome one = {0}, other = {0};
	bool same = interpret(probe, memory, &one);

	/* Sanitized, a case of millions of instructions takes minutes, and shows nothing more. */
	if (same && !(IS_SANITIZED && one.executed > MAX_SANITIZED))
		same = execute_ptx(device, module, probe, memory, &other) &&
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
		gt_autofree char *text = make_ptx_module(all_cases.items + i, count, sm);
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
		gt_autofree char *text = make_ptx_module(&all_cases.items[i], 1, 75);
		gt_autofree char *old = make_ptx_module(&all_cases.items[i], 1, 60);

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
		gt_autofree char *text = make_ptx_module(all_operations.items + i, count, 90);
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
	gt_autofree char *text = make_ptx_module(probes, count, 90);
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
		gt_autofree char *text = make_ptx_module(probes, count, targets[i]);

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
