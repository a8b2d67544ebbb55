/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Modules of many functions: what is done once for all of them. The linker's --wrap counts calls of
 * functions of the patcher.
 */
#include "patch/graph.h"
#include "patch_probes.h"

#define HEADER ".version 7.8\n.target sm_75\n.address_size 64\n"

enum {
	MAX_MODULES = 2,
};

/* Modules that are linked with each other, patched. */
struct scale_case {
	struct counting_probe probe;
	struct gt_patch_part parts[MAX_MODULES];
	struct gt_patch_code code;
	struct gt_strbuf texts[MAX_MODULES];
	bool switchable;
};

static void scale_clear(struct scale_case *scale)
{
	for (size_t i = 0; i < MAX_MODULES; i++) {
		gt_patch_result_clear(&scale->parts[i].result);
		gt_ptx_free(scale->parts[i].module);
		gt_strbuf_free(&scale->texts[i]);
	}
	probe_clear(&scale->probe);
}
#define auto_scale __attribute__((cleanup(scale_clear))) struct scale_case

/* Patch the modules that have a text with a program that counts. */
static void patch_scale(struct scale_case *scale, const char *section)
{
	struct gt_patch_program program;
	const struct gt_patch_options options = {
		.object = &object,
		.programs = &program,
		.program_count = 1,
		.switchable = scale->switchable,
	};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_diag diag = {0};
	uint32_t count = 0;

	counter(&text, 0, "mov r6, 1");
	CHECK(probe_read(section, gt_strbuf_string(&text), &scale->probe));
	program = (struct gt_patch_program){.program = &scale->probe.program,
					    .facts = &scale->probe.facts,
					    .section = scale->probe.section};
	for (; count < MAX_MODULES && scale->texts[count].length; count++)
		if (gt_ptx_parse(scale->texts[count].data, scale->texts[count].length,
				 &scale->parts[count].module, &diag))
			TAP_FAIL("%s: %s", diag.place, diag.text);
	if (gt_patch_modules(scale->parts, count, &scale->code, &options, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
}

static bool has(const struct scale_case *scale, uint32_t part, const char *what)
{
	return strstr(gt_strbuf_string(&scale->parts[part].result.text), what);
}

/* ---- the constant bank ------------------------------------------------------------------- */

/* A variable of so many bytes in constant memory, and a kernel. */
static void put_constant(struct gt_strbuf *text, const char *name, unsigned bytes)
{
	gt_strbuf_printf(text,
			 HEADER ".visible .const .b8 %s[%u];\n"
				".visible .entry %s_kernel()\n{\n\tret;\n}\n",
			 name, bytes, name);
}

/* Check the space that the symbols of two modules have. */
static void check_space(const struct scale_case *scale, const char *space, const char *other)
{
	for (uint32_t i = 0; i < 2; i++) {
		gt_auto_strbuf expected = GT_STRBUF_INIT, wrong = GT_STRBUF_INIT;

		gt_strbuf_printf(&expected, ".weak .%s .align 8 .b64 %sswitches[1]", space,
				 scale->parts[i].result.prefix);
		gt_strbuf_printf(&wrong, ".weak .%s", other);
		CHECK(has(scale, i, gt_strbuf_string(&expected)));
		CHECK(!has(scale, i, gt_strbuf_string(&wrong)));
	}
}

TEST("the symbols of linked modules are in global memory where their constants fill the bank")
{
	static const struct {
		unsigned first, second, code;
		const char *space, *other;
	} cases[] = {
		{32768, 32760, 0, "global", "const"}, {65500, 8, 0, "global", "const"},
		{30000, 30000, 0, "const", "global"}, {8, 8, 65500, "global", "const"},
		{8, 8, 30000, "const", "global"},
	};

	for (size_t i = 0; i < gt_countof(cases); i++) {
		auto_scale scale = {.switchable = true, .code.constant_bytes = cases[i].code};

		put_constant(&scale.texts[0], "a", cases[i].first);
		put_constant(&scale.texts[1], "b", cases[i].second);
		patch_scale(&scale, "gpu/entry/*");
		check_space(&scale, cases[i].space, cases[i].other);
	}
}

TEST("constants that another module defines, or that a side module has not, fill no bank")
{
	auto_scale declared = {.switchable = true}, side = {.switchable = true};

	put_constant(&declared.texts[0], "a", 40000);
	gt_strbuf_puts(&declared.texts[1], HEADER ".extern .const .b8 a[40000];\n"
						  ".visible .entry b_kernel()\n{\n\tret;\n}\n");
	patch_scale(&declared, "gpu/entry/*");
	check_space(&declared, "const", "global");

	put_constant(&side.texts[0], "a", 65536);
	gt_strbuf_puts(&side.texts[0], ".visible .entry other()\n{\n\tret;\n}\n");
	patch_scale(&side, "gpu/entry/a_kernel");
	CHECK_INT(side.parts[0].result.scope, GT_PATCH_SIDE);
	CHECK(has(&side, 0, ".weak .const") && !has(&side, 0, ".weak .global"));
}

/* ---- steps ------------------------------------------------------------------------------- */

static unsigned sizes_computed;

uint64_t __real_gt_ptx_variable_size(const struct gt_ptx_variable *variable);
uint64_t __wrap_gt_ptx_variable_size(const struct gt_ptx_variable *variable);

uint64_t __wrap_gt_ptx_variable_size(const struct gt_ptx_variable *variable)
{
	sizes_computed++;
	return __real_gt_ptx_variable_size(variable);
}

/* How often the size of a variable is computed for so many kernels. */
static unsigned count_sizes(unsigned kernels)
{
	auto_scale scale = {.switchable = true};

	put_constant(&scale.texts[0], "a", 64);
	for (unsigned i = 0; i < kernels; i++)
		gt_strbuf_printf(&scale.texts[0], ".visible .entry k%u()\n{\n\tret;\n}\n", i);
	sizes_computed = 0;
	patch_scale(&scale, "gpu/entry/*");
	CHECK_INT(scale.parts[0].result.patched, kernels + 1);
	return sizes_computed;
}

TEST("the constants of a module are counted once, however many kernels it has")
{
	unsigned few = count_sizes(1);

	CHECK(few > 0);
	CHECK_INT(count_sizes(100), few);
}

static unsigned reaches_made;

int __real_gt_patch_reach_new(const struct gt_patch_graph *graph, struct gt_patch_reach *ret_reach);
int __wrap_gt_patch_reach_new(const struct gt_patch_graph *graph, struct gt_patch_reach *ret_reach);

int __wrap_gt_patch_reach_new(const struct gt_patch_graph *graph, struct gt_patch_reach *ret_reach)
{
	reaches_made++;
	return __real_gt_patch_reach_new(graph, ret_reach);
}

/* How many reaches, of the size of the module, there are for so many kernels that call f. */
static unsigned count_reaches(const char *section, unsigned kernels)
{
	auto_scale scale = {0};

	gt_strbuf_puts(&scale.texts[0],
		       HEADER ".func f()\n{\n\tret;\n}\n.func g()\n{\n\tret;\n}\n");
	for (unsigned i = 0; i < kernels; i++)
		gt_strbuf_printf(&scale.texts[0],
				 ".visible .entry k%u()\n{\n\tcall %s;\n\tret;\n}\n", i,
				 i % 2 ? "g" : "f");
	reaches_made = 0;
	patch_scale(&scale, section);
	CHECK(scale.parts[0].result.patched > 0);
	/* No kernel reaches what the one before it reached. */
	if (!strcmp(section, "gpu/call/f"))
		CHECK_INT(scale.parts[0].result.kernels.count, kernels / 2);
	return reaches_made;
}

TEST("what each kernel reaches is found without memory of the module's size for each")
{
	static const char *const sections[] = {"gpu/call/f", "gpu/block_end"};

	for (size_t i = 0; i < gt_countof(sections); i++)
		CHECK_INT(count_reaches(sections[i], 100), count_reaches(sections[i], 2));
}

TEST("functions that call indirectly do not each visit all functions whose address is taken")
{
	enum { CALLERS = 100000, TAKEN = 1500000 };
	auto_scale scale = {0};
	struct gt_strbuf *text = &scale.texts[0];

	/* Each caller against each address: minutes at best. */
	gt_strbuf_puts(text, HEADER);
	for (unsigned i = 0; i < CALLERS; i++)
		gt_strbuf_printf(text,
				 ".func f%u()\n{\n.reg .b64 %%a;\np: .callprototype ()_();\n"
				 "call %%a, (), p;\n}\n",
				 i);
	gt_strbuf_printf(text, ".global .u64 taken[%u] = {", TAKEN);
	for (unsigned i = 0; i < TAKEN; i++)
		gt_strbuf_printf(text, "%sf%u", i ? "," : "", i % CALLERS);
	gt_strbuf_puts(text, "};\n.visible .entry k()\n{\n.reg .b64 %a;\n"
			     "p: .callprototype ()_();\ncall %a, (), p;\n}\n");
	patch_scale(&scale, "gpu/entry/k");
	CHECK_INT(scale.parts[0].result.patched, 1);
}

TEST_MAIN
