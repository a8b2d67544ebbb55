// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Which declarations and directives are PTX: the parser's answers, and those of ptxas. */
#include "fixture.h"
#include "ptx/ptx.h"
#include "toolkit.h"

#define HEAD "\n.target sm_90\n.address_size 64\n"

static const struct {
	const char *text;  /* after .version 9.0 and the target */
	const char *error; /* NULL: accepted */
} forms[] = {
	{".entry k() { .reg .u32 r; T: .branchtargets A<3>; brx.idx.uni r, T;\n"
	 "A0: ret; A1: ret; A2: ret; }",
	 NULL},
	{".entry k() { .reg .u32 r; T: .branchtargets A<3>; brx.idx.uni r, T;\n"
	 "A0: ret; A1: ret; }",
	 "unknown label \"A2\" in function \"k\""},
	{".entry k() { .reg .u32 none<0>; ret; }", NULL},
	{".func f() .noreturn { trap; }", NULL},
	{".func f() .abi_preserve 8 { ret; }", NULL},
	{".func f() { ret; } .weak .func g(); .alias g, f;", NULL},
	{".func f() { ret; } .func g(); .alias g, f; .alias g, f;",
	 "the alias \"g\" has a definition already"},
	{".func f() { ret; } .func g() { ret; } .alias g, f;",
	 "the alias \"g\" has a definition already"},
	{".entry k() { ret; } .func g(); .alias g, k;",
	 "\"k\": a kernel neither is nor has an alias"},
	{".func f() { ret; } .extern .entry k(); .alias k, f;",
	 "\"k\": a kernel neither is nor has an alias"},
	{".func (.param .u32 r) f(.param .u32 a) .func g() { ret; }\n"
	 ".func (.param .u32 r) f(.param .u32 a) { ret; }",
	 NULL},
	{".extern .func f() .global .u32 x;", NULL},
	{".func f(.param .u32 f) { ret; }", NULL},
	{".func (.reg .u32 r) f(.reg .u32 f) { mov.u32 r, f; ret; }", NULL},
	{".entry k(.param .u64 k) { ret; }", NULL},
	{".common .global .u32 x[4];", NULL},
	{".global .attribute(.managed) .u32 x = 7;", NULL},
	{".entry k() .reqntid 1, 1, 1 .reqnctapercluster 1, 1, 1 .blocksareclusters { ret; }",
	 NULL},
	{".entry k() .explicitcluster .maxclusterrank 8 { ret; }", NULL},
	{".global .u32 y; .global .u64 x[2] = {y + 2 * 3, -1};", NULL},
	{".global .align 8 .b8 x[] = {0xff(x2), 0xff00(x2)};", "unknown name \"x2\""},
	{".func f() { ret; } .const .u64 x = f;", NULL},
	{".section .foo { .b8 1, 2, 3 .b32 label .b64 .foo }", NULL},
	{".reg .u32 x;", "\"x\" is a register outside of a function (declare it in each function)"},
	{".local .u32 x;",
	 "\"x\" is in .local memory outside of a function (declare it in each function)"},
	{".param .u32 x;", "\"x\" is a parameter outside of a function"},
	{".common .const .u32 x;", "\"x\" is .common and not in .global memory"},
	{".common .shared .u32 x;", "\"x\" is .common and not in .global memory"},
	{".const .attribute(.managed) .u32 x;", "\"x\" is .managed and not in .global memory"},
	{".shared .u32 x = 1;",
	 "\"x\" has an initial value and is not in .global or .const memory"},
	{".func f() { .local .u32 x = 1; ret; }",
	 "\"x\" has an initial value and is not in .global or .const memory"},
	{".global .pred x;", "\"x\" is a predicate and must be a register"},
	{".func f() { .reg .u32 x[4]; ret; }", "\"x\" is a register and cannot be an array"},
	{".shared .u32 s; .global .u64 x = s;",
	 "expected a function or a variable in .global or .const memory, found \"s\""},
	{".func f() { .reg .u32 r<3>; .reg .u32 r1; ret; }",
	 "\"r1\" is declared twice: first in line 4"},
	{".func f() { .reg .u32 r<3>; .reg .u32 r3; { .reg .u32 r1; } ret; }", NULL},
	{".entry k() .maxntid 8 .reqntid 8 { ret; }", "\"k\" has both .maxntid and .reqntid"},
	{".entry k() .maxclusterrank 8 .reqnctapercluster 1 { ret; }",
	 "\"k\" has both .maxclusterrank and .reqnctapercluster"},
	{".entry k() .blocksareclusters { ret; }",
	 ".blocksareclusters of \"k\" needs .reqntid and .reqnctapercluster"},
	{".entry k() .maxntid 0 { ret; }", "a dimension of .maxntid is 0"},
};

static const struct {
	const char *text;
	uint64_t value;
} expressions[] = {
	{"1 + 2 * 3", 7},
	{"-17 / 5", -(uint64_t)3},
	{"-17 % 5", 4},
	{"7 % -3", 7},
	{"(-17 % 5) - 5 > 0", 1},
	{"1 << 64", 1},
	{"1 << -1", UINT64_C(1) << 63},
	{"-8 >> 65", -(uint64_t)4},
	{"1 << 63 >> 63", UINT64_MAX},
	{"~0 > 0", 1},
	{"~5 < 0", 0},
	{"-(0xffffffffffffffff) < 0", 0},
	{"(5 & -1) - 6 < 0", 1},
	{"(.u64)5 - 6 < 0", 0},
	{"(0xffffffffffffffff >> 63) - 6 < 0", 0},
	{"!5 - 6 < 0", 1},
	{"-5 / (.u64)2", UINT64_C(0x7ffffffffffffffd)},
	{"0x8000000000000000 < 0", 0},
	{"1 ? 2 : 0 ? 4 : 5", 2},
	{"017 + 0b11", 18},
	{"WARP_SZ * 2", 64},
	{"100000 * 100000", 10000000000},
};

/* A value that stands before the value of each expression, so that it is found in the cubin. */
static const uint64_t guide = 0x31a7be52c0ffee11;

static int parse(const char *text, struct gt_ptx_module **ret_module, struct gt_diag *diag)
{
	return gt_ptx_parse(text, strlen(text), ret_module, diag);
}

static int assemble(const char *text)
{
	write_text("form.ptx", text);
	return run(NULL, TOOLS "ptxas -arch=sm_90 form.ptx -o form.cubin >/dev/null 2>&1");
}

TEST("declarations and directives are accepted or rejected with a reason, as by ptxas")
{
	bool has_ptxas = have_tool("ptxas");

	for (size_t i = 0; i < gt_countof(forms); i++) {
		gt_auto(ptx) struct gt_ptx_module *module = NULL;
		struct gt_diag diag = {0};
		char text[1024];
		int error;

		snprintf(text, sizeof(text), ".version 9.0" HEAD "%s\n", forms[i].text);
		error = parse(text, &module, &diag);
		if (!error != !forms[i].error)
			TAP_FAIL("%s: %s", forms[i].text, error ? diag.text : "is accepted");
		if (error && forms[i].error)
			CHECK_STR(diag.text, forms[i].error);
		if (has_ptxas && !assemble(text) != !forms[i].error)
			TAP_FAIL("ptxas %s: %s", forms[i].error ? "accepts" : "rejects",
				 forms[i].text);
	}
}

TEST("before PTX 3.0 a .local variable may be at module scope")
{
	gt_auto(ptx) struct gt_ptx_module *module = NULL;
	struct gt_diag diag = {0};

	CHECK_INT(parse(".version 2.3\n.target sm_20\n.address_size 64\n.local .u32 x;\n", &module,
			&diag),
		  0);
}

TEST("the highest architecture of several .target directives counts")
{
	static const char text[] = ".version 8.0\n.target sm_80\n"
				   ".target sm_90a, texmode_unified\n.target sm_75\n"
				   ".address_size 64\n";
	gt_auto(ptx) struct gt_ptx_module *module = NULL;
	gt_auto_strbuf printed = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	CHECK_INT(parse(text, &module, &diag), 0);
	if (!module)
		return;
	CHECK_INT(module->sm, 90);
	CHECK_INT(module->sm_suffix, 'a');
	gt_ptx_print(module, &printed);
	CHECK_STR(gt_strbuf_string(&printed),
		  ".version 8.0\n.target sm_90a, texmode_unified\n.address_size 64\n");
}

static uint64_t value_of(const char *expression)
{
	gt_auto(ptx) struct gt_ptx_module *module = NULL;
	const struct gt_ptx_variable *variable;
	struct gt_diag diag = {0};
	char text[512];

	snprintf(text, sizeof(text), ".version 9.0" HEAD ".global .u64 x[2] = {%#lx, %s};\n",
		 (unsigned long)guide, expression);
	if (parse(text, &module, &diag)) {
		TAP_FAIL("%s: %s", expression, diag.text);
		return 0;
	}
	variable = gt_ptx_find_variable(module, "x");
	write_text("value.ptx", text);
	return variable->initializer->items[1].bits;
}

/* Returns the value in the cubin that ptxas makes of value.ptx. */
static uint64_t value_by_ptxas(const char *expression)
{
	gt_auto_file file = {0};
	uint64_t value;

	if (run(NULL, TOOLS "ptxas -arch=sm_90 value.ptx -o value.cubin >/dev/null 2>&1") ||
	    gt_file_read("value.cubin", 1 << 20, &file, NULL)) {
		TAP_FAIL("ptxas rejects %s", expression);
		return 0;
	}
	for (size_t i = 0; i + 16 <= file.size; i++)
		if (!memcmp((const char *)file.data + i, &guide, 8)) {
			memcpy(&value, (const char *)file.data + i + 8, 8);
			return value;
		}
	TAP_FAIL("the cubin has no value of %s", expression);
	return 0;
}

TEST("constant expressions have the values that ptxas gives them")
{
	bool has_ptxas = have_tool("ptxas");

	for (size_t i = 0; i < gt_countof(expressions); i++) {
		const char *text = expressions[i].text;
		uint64_t value = value_of(text);

		if (value != expressions[i].value)
			TAP_FAIL("%s is %#lx", text, (unsigned long)value);
		if (has_ptxas && value_by_ptxas(text) != value)
			TAP_FAIL("%s: ptxas has another value", text);
	}
}

TEST_MAIN
