/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The translator to SPIR-V: spirv-val accepts every module. Results: tests/unit/gpubpf/targets.c.
 */
#include <spirv/unified1/spirv.h>
#include <unistd.h>

#include "gpubpf_spirv_run.h"
#include "spirv_words.h"
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
	gt_strbuf_printf(&command, "spirv-val --target-env spv1.%d %s", module->features ? 3 : 0,
			 input.path);
	CHECK(!system(gt_strbuf_string(&command)));
	unlink(input.path);
}

/* relative: with the maps in a parameter. */
static void validate_all(struct probe *const *probes, size_t count, bool relative,
			 unsigned features)
{
	for (size_t i = 0; i < count; i += A_MODULE) {
		struct spirv_module module = {.relative = relative, .features = features};

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
	validate_all(all_cases.items, all_cases.count, false, 0);
	validate_all(all_cases.items, all_cases.count, true, 0);
}

/* The words of the module of a case. */
static void make_module_of(const char *title, unsigned features, struct spirv_module *module)
{
	module->features = features;
	for (size_t i = 0; i < all_cases.count; i++)
		if (!strcmp(probe_title(all_cases.items[i]), title))
			make_spirv_module(&all_cases.items[i], 1, module);
	CHECK(module->binary.length);
}

TEST("helpers of a warp are operations of sub-groups where the device has them, else rejected")
{
	static const char title[] = "warp helpers return the values of one lane";
	static const struct {
		unsigned features, ballots, shuffles, modes;
	} expected[] = {
		{GT_SPIRV_DEVICE_CLOCK, 0, 0, 0},
		{GT_SPIRV_SUB_GROUPS, 2, 2, 0},
		{GT_SPIRV_SUB_GROUPS | GT_SPIRV_SUB_GROUPS_OF_32, 2, 2, 1},
		{GT_SPIRV_UNIFORM_SUB_GROUPS | GT_SPIRV_SUB_GROUPS_OF_32, 0, 2, 1},
	};

	read_cases();
	for (size_t i = 0; i < gt_countof(expected); i++) {
		struct spirv_module module = {0};
		unsigned sub_groups = expected[i].features & GT_SPIRV_ANY_SUB_GROUPS;

		make_module_of(title, expected[i].features, &module);
		CHECK_INT(gt_diag_is_set(&module.rejected[0]), !sub_groups);
		/* One for each mask of active lanes, and one for each half of a sum's terms. */
		CHECK_INT(count_spirv_instructions(&module.binary, SpvOpGroupNonUniformBallot),
			  expected[i].ballots);
		CHECK_INT(count_spirv_instructions(&module.binary, SpvOpGroupNonUniformShuffle),
			  expected[i].shuffles);
		CHECK_INT(count_spirv_instructions(&module.binary, SpvOpExecutionMode),
			  expected[i].modes);
		if (sub_groups && has_validator())
			validate(&module);
		spirv_module_clear(&module);
	}
}

TEST("spirv-val accepts the module of every case for devices with sub-groups, and none is rejected")
{
	static const unsigned features[] = {
		GT_SPIRV_SUB_GROUPS,
		GT_SPIRV_UNIFORM_SUB_GROUPS | GT_SPIRV_SUB_GROUPS_OF_32,
	};

	if (!has_validator())
		SKIP("spirv-val is not installed");
	read_cases();
	for (size_t i = 0; i < gt_countof(features); i++)
		validate_all(all_cases.items, all_cases.count, false, features[i]);
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
	validate_all(probes, count, false, 0);
	while (count)
		probe_free(probes[--count]);
}

TEST_MAIN
