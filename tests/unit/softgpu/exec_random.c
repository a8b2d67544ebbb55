/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Random integer programs compute what C does. */
#include "exec_programs.h"

enum {
	PROGRAMS = 1000,
	A_MODULE = 50, /* programs in one module */
};

static int run_module(struct device *device, int first)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	gt_auto(sg_module) struct sg_module *module = NULL;
	static uint32_t expected[A_MODULE][THREADS * VARIABLES];
	uint32_t *memory = device_memory(device, sizeof(expected[0]));
	int wrong = 0;

	gt_strbuf_puts(&text, PTX_HEADER);
	for (int i = 0; i < A_MODULE; i++) {
		struct program_node *program;

		node_count = 0;
		state = 88172645463325252u + ((uint64_t)first + (uint64_t)i) * 7919;
		program = make_list(0, false);
		write_kernel(&text, program, i);
		set_up(expected[i], ((uint64_t)first + (uint64_t)i));
		for (int thread = 0; thread < THREADS; thread++)
			walk(program, expected[i] + thread * VARIABLES);
	}
	module = device_load(device, gt_strbuf_string(&text));
	for (int i = 0; module && i < A_MODULE; i++) {
		char name[16];

		snprintf(name, sizeof(name), "k%d", i);
		set_up(memory, ((uint64_t)first + (uint64_t)i));
		device_run(device, module, name, 1, THREADS, address_of(memory));
		if (memcmp(memory, expected[i], sizeof(expected[i])) != 0 && ++wrong < 3)
			TAP_FAIL("program %d of the one thousand differs", first + i);
	}
	return wrong;
}

TEST("a thousand random programs compute what C does, on all paths of their threads")
{
	auto_device device;
	int wrong = 0;

	device_open(&device);
	for (int first = 0; first < PROGRAMS; first += A_MODULE)
		wrong += run_module(&device, first);
	CHECK_INT(wrong, 0);
}

TEST("ptxas accepts the first of these modules")
{
	loaded_count = loaded_count ? 1 : 0;
	check_with_ptxas();
}

TEST_MAIN
