/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Errors and limits of the PTX parser. */
#include <errno.h>

#include "ptx/ptx.h"
#include "ptx_text.h"
#include "tap.h"

static const struct {
	const char *text;
	int error;
	const char *place;
	const char *message;
} errors[] = {
	{"", -EINVAL, "1:1",
	 "expected \".version\" at the start of a module, found the end of the text"},
	{"\x7f"
	 "ELF",
	 -EINVAL, "1:1", "unexpected character 0x7f"},
	{".target sm_75", -EINVAL, "1:1",
	 "expected \".version\" at the start of a module, found \".target\""},
	{".version 7.5", -EINVAL, "1:13",
	 "expected \".target\" after the version, found the end of the text"},
	{HEAD ".entry k(.param .u64 a", -EINVAL, "4:23",
	 "expected ',' or ')' after a parameter, found the end of the text"},
	{HEAD ".visible .u32 x;", -EINVAL, "4:10",
	 "expected a function, a variable or a directive, found \".u32\""},
	{HEAD ".global x;", -EINVAL, "4:9", "expected a type, found \"x\""},
	{HEAD ".global .u32 .f32 x;", -EINVAL, "4:14",
	 "expected a name after the type, found \".f32\""},
	{HEAD ".global .align 3 .u32 x;", -EINVAL, "4:16", "the alignment 3 is not a power of two"},
	{HEAD ".global .u32 x[2] = {1, 2, 3};", -EINVAL, "4:28",
	 "more than 2 values in { } for \"x\""},
	{HEAD ".global .u32 x[2] = 3;", -EINVAL, "4:21", "expected '{', found \"3\""},
	{HEAD ".global .u32 x = 1.5;", -EINVAL, "4:18",
	 "a floating-point number is the initial value of an integer"},
	{HEAD ".global .f32 x = 1;", -EINVAL, "4:18",
	 "an integer is the initial value of a floating-point variable"},
	{HEAD ".global .u64 x = y;", -EINVAL, "4:18", "unknown name \"y\""},
	{HEAD ".global .u32 x; .global .u32 x;", -EINVAL, "4:30",
	 "\"x\" is declared twice: first in line 4"},
	{HEAD ".global .u32 x[];", -EINVAL, "4:14", "the array \"x\" has no size"},
	{HEAD ".entry k(.param .b8 x[]) { ret; }", -EINVAL, "4:21", "the array \"x\" has no size"},
	{HEAD ".func f() { .local .b8 x[][2]; ret; }", -EINVAL, "4:24",
	 "the array \"x\" has no size"},
	{HEAD ".func k(.param .u32 k) .global .u32 k;", -EINVAL, "4:37",
	 "\"k\" is declared twice: first in line 4"},
	{HEAD ".entry k() .func f() { ret; }", -EINVAL, "4:12",
	 "expected '{' or ';' after the header of a function, found \".func\""},
	{HEAD ".global .u32 x[281474976710657];", -EINVAL, "4:15",
	 "the size of an array is not an integer below 2^48"},
	{HEAD ".global .u32 x[4294967296][4294967296];", -E2BIG, "4:14",
	 "\"x\" is larger than 2^48 bytes"},
	{HEAD ".reg .u32 x;", -EINVAL, "4:11",
	 "\"x\" is a register outside of a function (declare it in each function)"},
	{HEAD ".func f() { ret; }\n.func f() { ret; }", -EINVAL, "5:7",
	 "function \"f\" is defined twice: first in line 4"},
	{KERNEL("frobnicate.u32 %r1, %r2;"), -EINVAL, "8:1",
	 "unknown opcode \"frobnicate\" in function \"k\""},
	{KERNEL("mov.u32 %r10, 1;"), -EINVAL, "8:9",
	 "unknown name \"%r10\" in function \"k\": the last register of %r<10> is %r9"},
	{KERNEL("mov.u32 %r1 %r2;"), -EINVAL, "8:13",
	 "expected ',' or ';' after an operand, found \"%r2\""},
	{KERNEL("mov.u32 %r1, ;"), -EINVAL, "8:14", "expected an operand, found \";\""},
	{KERNEL("bra nowhere;"), -EINVAL, "8:5", "unknown label \"nowhere\" in function \"k\""},
	{KERNEL("bra L; { L: }"), -EINVAL, "8:5", "unknown label \"L\" in function \"k\""},
	{KERNEL("L: L: "), -EINVAL, "8:4", "the label \"L\" is declared twice: first in line 8"},
	{KERNEL("mov.f32 v.z, v.x;"), -EINVAL, "8:10",
	 "a register of 2 elements has no element \".z\""},
	{KERNEL("mov.u32 %r1.x, 1;"), -EINVAL, "8:12",
	 "a register of 1 element has no element \".x\""},
	{KERNEL("ld.global.u32 %r1, [%rd1;"), -EINVAL, "8:25",
	 "expected ']' after an address, found \";\""},
	{KERNEL("ld.global.u32 %r1, [data+%r2];"), -EINVAL, "8:26",
	 "expected a number, found \"%r2\""},
	{KERNEL("ld.global.u32 %r1, [{%r1}];"), -EINVAL, "8:21",
	 "an address begins with a register, a symbol or a number"},
	{KERNEL("@%r mov.u32 %r1, 1;"), -EINVAL, "8:2", "unknown name \"%r\" in function \"k\""},
	{KERNEL("@data mov.u32 %r1, 1;"), -EINVAL, "8:2",
	 "the guard of an instruction is not a register"},
	{KERNEL("@!%r1 mov.u32 %r2, 1;"), -EINVAL, "8:2",
	 "the guard of an instruction is not a predicate"},
	{KERNEL("mov.u32 %r1, !%r2;"), -EINVAL, "8:14",
	 "'!' before a register that is not a predicate"},
	{KERNEL("mov.u32 %r1, 1/0;"), -EINVAL, "8:15", "division by zero"},
	{KERNEL("mov.u32 %r1, 0x;"), -EINVAL, "8:14", "a number has no digits after \"0x\""},
	{KERNEL("mov.u32 %r1, 0f3F8;"), -EINVAL, "8:14",
	 "a number that begins with \"0f\" has 3 hexadecimal digits, not 8"},
	{KERNEL("mov.u64 %rd1, 18446744073709551616;"), -EINVAL, "8:15",
	 "a number does not fit into 64 bits"},
	{KERNEL("call %r1;\ncall data;"), -EINVAL, "9:6",
	 "the target of a call is neither a function nor a register"},
	{KERNEL(".branchtargets L;"), -EINVAL, "8:1",
	 "expected a label before such a list, found \".branchtargets\""},
	{KERNEL(".pragma \"x"), -EINVAL, "8:9", "a string is not terminated by \" on its line"},
	{KERNEL("/* never ends"), -EINVAL, "8:1", "a comment is not terminated by */"},
	{HEAD ".func f { .reg .u32 %r<5000000>; }", -E2BIG, "4:24",
	 "5000000 registers are declared (at most 4194304)"},
	{HEAD ".func f { .reg .u32 a<4194304>; .reg .u32 b; }", -E2BIG, "4:43",
	 "function \"f\" has more than 4194304 registers"},
};

TEST("an error has its position, the token that was found and what was expected")
{
	for (size_t i = 0; i < gt_countof(errors); i++) {
		struct gt_ptx_module *module = NULL;
		struct gt_diag diag = {0};

		CHECK_INT(gt_ptx_parse(errors[i].text, strlen(errors[i].text), &module, &diag),
			  errors[i].error);
		CHECK(!module);
		CHECK_STR(diag.stage, "ptx");
		CHECK_STR(diag.place, errors[i].place);
		CHECK_STR(diag.text, errors[i].message);
		gt_ptx_free(module);
	}
}

TEST("a text ends at its length or at a NUL, whichever comes first")
{
	static const char text[] = HEAD "\0.junk";
	struct gt_ptx_module *module = NULL;

	CHECK_INT(gt_ptx_parse(text, sizeof(text), &module, NULL), 0);
	gt_ptx_free(module);
	module = NULL;
	CHECK_INT(gt_ptx_parse(HEAD ".junk", strlen(HEAD), &module, NULL), 0);
	gt_ptx_free(module);
	CHECK_INT(gt_ptx_parse(HEAD ".junk", strlen(HEAD ".junk"), &module, NULL), -EINVAL);
}

TEST("unlimited nesting is rejected without recursion")
{
	static const struct {
		const char *before;
		const char *middle;
		const char *message;
	} cases[] = {
		{HEAD ".func f ", "{", "more than 256 blocks within each other"},
		{HEAD ".func f { .reg .u32 r; mov.u32 r, ", "(",
		 "more than 256 levels within each other"},
		{HEAD ".func f { .reg .u32 r; mov.u32 r, ", "-",
		 "more than 256 levels within each other"},
		{HEAD ".func f { .reg .u32 r; mov.u32 r, ", "1?",
		 "more than 256 levels within each other"},
		{HEAD ".func f { .reg .u32 r; mov.u32 r, ", "{",
		 "more than 256 levels within each other"},
		{HEAD ".func f { .reg .u32 r; ld.u32 r, [r, ", "[r, ",
		 "more than 256 levels within each other"},
		{HEAD ".global .u32 x", "[1]", "an array has more than 16 dimensions"},
		{HEAD ".func f { .reg .u32 r; add.u32 r", ", r",
		 "an instruction has more than 256 operands"},
		{HEAD ".func f { .reg .u32 r; add.u32 {r", ", r",
		 "more than 256 operands in a list"},
		{HEAD ".func ", "long", "a name is longer than 65536 bytes"},
		{HEAD ".global .f32 x = 1.", "0", "a number has more than 400 characters"},
	};

	for (size_t i = 0; i < gt_countof(cases); i++) {
		gt_autofree char *text = repeat(cases[i].before, cases[i].middle, 100000, "");
		struct gt_ptx_module *module = NULL;
		struct gt_diag diag = {0};

		CHECK_INT(gt_ptx_parse(text, strlen(text), &module, &diag), -E2BIG);
		CHECK_STR(diag.text, cases[i].message);
	}
}

TEST("a text of more than 64 MiB is rejected")
{
	size_t length = GT_PTX_MAX_TEXT + 1;
	gt_autofree char *text = malloc(length);
	struct gt_ptx_module *module = NULL;
	struct gt_diag diag = {0};

	memset(text, ' ', length);
	CHECK_INT(gt_ptx_parse(text, length, &module, &diag), -E2BIG);
	CHECK_STR(diag.text, "the text is longer than 64 MiB");
}

TEST_MAIN
