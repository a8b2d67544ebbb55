/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The translator to SPIR-V: spirv-val accepts every module. Results: tests/unit/gpubpf/targets.c.
 */
#include <unistd.h>

#include "gpubpf_spirv_run.h"
#include "temporary.h"

enum {
	PROGRAMS = 300,
};

static bool has_validator(void)
{
	return !system("command -v spirv-val >/dev/null");
}

static void validate(const struct spirv_module *module)
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

/* relative: with the maps in a parameter. */
static void validate_all(struct probe *const *probes, size_t count, bool relative)
{
	for (size_t i = 0; i < count; i += A_MODULE) {
		struct spirv_module module = {.relative = relative};

		make_spirv_module(probes + i, count - i < A_MODULE ? count - i : A_MODULE, &module);
		validate(&module);
		spirv_module_clear(&module);
	}
}

TEST("spirv-val accepts the module of every case")
{
	if (!has_validator())
		SKIP("spirv-val is not installed");
	read_cases();
	validate_all(all_cases.items, all_cases.count, false);
	validate_all(all_cases.items, all_cases.count, true);
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
	validate_all(probes, count, false);
	while (count)
		probe_free(probes[--count]);
}

TEST_MAIN
