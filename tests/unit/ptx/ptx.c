// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include <errno.h>
#include <inttypes.h>

#include "ptx/ptx.h"
#include "ptx_text.h"
#include "tap.h"

static struct gt_ptx_module *parse(const char *text)
{
	struct gt_ptx_module *module = NULL;
	struct gt_diag diag = {0};
	int error = gt_ptx_parse(text, strlen(text), &module, &diag);

	if (error)
		TAP_FAIL("%s: %s", diag.place, diag.text);
	return module;
}

/* The first instruction of the first function with this opcode. */
static const struct gt_ptx_instruction *find(const struct gt_ptx_module *module,
					     enum gt_ptx_opcode opcode)
{
	struct gt_ptx_statement *statement = module->functions->body->first;

	for (; statement; statement = gt_ptx_statement_next(statement))
		if (statement->kind == GT_PTX_STATEMENT_INSTRUCTION &&
		    statement->instruction.form->opcode == opcode)
			return &statement->instruction;
	TAP_FAIL("no such instruction");
	exit(1);
}

static const struct gt_ptx_label *find_label(const struct gt_ptx_function *function,
					     const char *name, unsigned int which)
{
	for (const struct gt_ptx_label *label = function->labels; label; label = label->next)
		if (!strcmp(label->name, name) && !which--)
			return label;
	return NULL;
}

TEST("a module knows its version, target and address size")
{
	gt_auto(ptx) struct gt_ptx_module *module =
		parse(".version 8.10\n.target sm_90a, debug\n.address_size 64\n");

	CHECK_INT(module->version_major, 8);
	CHECK_INT(module->version_minor, 10);
	CHECK_INT(module->sm, 90);
	CHECK_INT(module->sm_suffix, 'a');
	CHECK_INT(module->target_count, 2);
	CHECK_STR(module->targets[1], "debug");
	CHECK_INT(module->address_size, 64);
}

TEST("an instruction is its form, its guard and its operands")
{
	gt_auto(ptx) struct gt_ptx_module *module =
		parse(KERNEL("@!%p1 ld.global.nc.L1::no_allocate.v2.f32 {%r1, _}, [%rd2+-8];"));
	const struct gt_ptx_instruction *load = find(module, GT_PTX_OP_LD);
	const struct gt_ptx_operand *base = &load->operands[1].items[0];

	CHECK_STR(load->form->text, "ld.global.nc.L1::no_allocate.v2.f32");
	CHECK_INT(load->form->modifier_count, 5);
	CHECK_INT(load->form->modifiers[0].id, GT_PTX_MOD_GLOBAL);
	CHECK_INT(load->form->modifiers[2].id, GT_PTX_MOD_L1_NO_ALLOCATE);
	CHECK_INT(load->form->vector, 2);
	CHECK_INT(load->form->type_count, 1);
	CHECK_INT(load->form->types[0], GT_PTX_TYPE_F32);
	CHECK(gt_ptx_form_has(load->form, GT_PTX_MOD_NC));
	CHECK(!gt_ptx_form_has(load->form, GT_PTX_MOD_VOLATILE));
	CHECK(load->guard->negated);
	CHECK_STR(load->guard->variable->name, "%p");
	CHECK_INT(load->guard->index, 1);
	CHECK_INT(load->operand_count, 2);
	CHECK_INT(load->operands[0].kind, GT_PTX_OPERAND_VECTOR);
	CHECK_INT(load->operands[0].items[1].kind, GT_PTX_OPERAND_SINK);
	CHECK_INT(load->operands[1].kind, GT_PTX_OPERAND_ADDRESS);
	CHECK_INT(base->kind, GT_PTX_OPERAND_REGISTER);
	CHECK_INT(base->offset, -8);
	CHECK_INT(gt_ptx_operand_register(base), 4 + 10 + 2);
	CHECK_INT(gt_ptx_opcode_destination(load->form->opcode), GT_PTX_DESTINATION_FIRST);
}

TEST("instructions of one form share it")
{
	gt_auto(ptx) struct gt_ptx_module *module = parse(
		KERNEL("add.u32 %r1, %r2, %r3;\nadd .u32 %r1, %r2, 4;\nadd.u64 %rd1, %rd1, 1;"));
	const struct gt_ptx_statement *first = module->functions->body->first;

	while (first->kind != GT_PTX_STATEMENT_INSTRUCTION)
		first = first->next;
	CHECK(first->instruction.form == first->next->instruction.form);
	CHECK(first->instruction.form != first->next->next->instruction.form);
	CHECK_INT(module->form_count, 3);
	CHECK(module->forms[first->instruction.form->number] == first->instruction.form);
}

TEST("an unknown modifier keeps its text")
{
	gt_auto(ptx) struct gt_ptx_module *module = parse(KERNEL("add.sparkling.u32 %r1, %r2, 3;"));
	const struct gt_ptx_form *form = find(module, GT_PTX_OP_ADD)->form;

	CHECK_INT(form->modifiers[0].id, GT_PTX_MOD_UNKNOWN);
	CHECK_STR(form->modifiers[0].text, ".sparkling");
	CHECK_STR(form->modifiers[1].text, ".u32");
}

TEST("every node has its position in the text")
{
	const char *text = KERNEL("\n  @%p1 add.u32 %r1,\n\t%r2, 0x10;");
	gt_auto(ptx) struct gt_ptx_module *module = parse(text);
	const struct gt_ptx_instruction *add = find(module, GT_PTX_OP_ADD);
	const struct gt_ptx_statement *statement = module->functions->body->first;
	const struct gt_ptx_block *body = module->functions->body;

	while (statement->kind != GT_PTX_STATEMENT_INSTRUCTION)
		statement = statement->next;
	CHECK_INT(statement->position.line, 9);
	CHECK_INT(statement->position.column, 3);
	CHECK_INT(statement->position.offset, strstr(text, "@%p1") - text);
	CHECK_INT(statement->position.length, strlen("@%p1 add.u32 %r1,\n\t%r2, 0x10;"));
	CHECK_INT(add->operands[1].position.line, 10);
	CHECK_INT(add->operands[1].position.column, 2);
	CHECK_INT(add->operands[2].position.length, 4);
	CHECK_INT(body->position.offset, strchr(text, '{') - text);
	CHECK_INT(body->position.offset + body->position.length, strlen(text) - 1);
	CHECK_INT(module->functions->position.offset, strstr(text, ".visible") - text);
	CHECK_INT(module->functions->name_position.offset, strstr(text, "k(") - text);
}

TEST("registers are numbered through a function, including vector elements")
{
	gt_auto(ptx) struct gt_ptx_module *module =
		parse(KERNEL("{ .reg .u32 x; mov.u32 x, 1; } { .reg .u32 y; add.u32 y, y, 1; }\n"
			     "abs.f32 v.y, v.x;\n.reg .v4 .u32 w<3>; neg.s32 w2.z, 1;"));

	CHECK_INT(module->functions->register_count, 4 + 10 + 4 + 2 + 2 + 12);
	CHECK_INT(gt_ptx_operand_register(find(module, GT_PTX_OP_NEG)->operands), 22 + 2 * 4 + 2);
	CHECK_INT(gt_ptx_operand_register(find(module, GT_PTX_OP_MOV)->operands), 20);
	CHECK_INT(gt_ptx_operand_register(find(module, GT_PTX_OP_ADD)->operands), 21);
	CHECK_INT(gt_ptx_operand_register(&find(module, GT_PTX_OP_ABS)->operands[0]), 19);
	CHECK_INT(gt_ptx_operand_register(&find(module, GT_PTX_OP_ABS)->operands[1]), 18);
}

TEST("a name refers to its innermost declaration, a range or not")
{
	gt_auto(ptx) struct gt_ptx_module *module =
		parse(KERNEL("{ .reg .b32 %r<5>; add.u32 %r4, %r6, 1; }\n"
			     "{ .reg .b32 %r7; sub.u32 %r7, %r6, 1; }\n"
			     "{ .reg .b32 %r1<3>; mul.lo.u32 %r12, %r1, 1; }"));
	const struct gt_ptx_operand *add = find(module, GT_PTX_OP_ADD)->operands;
	const struct gt_ptx_operand *sub = find(module, GT_PTX_OP_SUB)->operands;
	const struct gt_ptx_operand *mul = find(module, GT_PTX_OP_MUL)->operands;

	CHECK_INT(add[0].variable->count, 5);
	CHECK_INT(add[0].index, 4);
	CHECK_INT(add[1].variable->count, 10);
	CHECK_INT(add[1].index, 6);
	CHECK(!sub[0].variable->is_range);
	CHECK(sub[1].variable->is_range);
	CHECK_STR(mul[0].variable->name, "%r1");
	CHECK_INT(mul[0].index, 2);
	CHECK_STR(mul[1].variable->name, "%r");
}

TEST("a range hides the names outside of it, and is hidden by those within")
{
	gt_auto(ptx) struct gt_ptx_module *module =
		parse(HEAD ".func f() { .reg .b32 %r7, %s<20>;\n"
			   "{ .reg .b32 %r<9>; add.u32 %r7, 1, 1; }\n"
			   "{ .reg .b32 %s1<3>; sub.u32 %s12, 1, 1; }\n"
			   "{ .reg .b32 %s12; mul.lo.u32 %s12, %s11, 1; } }");

	CHECK(find(module, GT_PTX_OP_ADD)->operands[0].variable->is_range);
	CHECK_STR(find(module, GT_PTX_OP_SUB)->operands[0].variable->name, "%s1");
	CHECK_STR(find(module, GT_PTX_OP_MUL)->operands[0].variable->name, "%s12");
	CHECK_INT(find(module, GT_PTX_OP_MUL)->operands[1].index, 11);
}

TEST("what was declared in a block is unknown after it")
{
	struct gt_ptx_module *module = NULL;
	struct gt_diag diag = {0};
	const char *text = KERNEL("{ .reg .u32 inner; }\nmov.u32 inner, 1;");

	CHECK_INT(gt_ptx_parse(text, strlen(text), &module, &diag), -EINVAL);
	CHECK(!module);
	CHECK_STR(diag.stage, "ptx");
	CHECK_STR(diag.place, "9:9");
	CHECK_STR(diag.text, "unknown name \"inner\" in function \"k\"");
}

TEST("a jump goes to the label of the nearest block around it, before or after it")
{
	gt_auto(ptx) struct gt_ptx_module *module =
		parse(KERNEL("{ bra L; L: }\n{ L: bra L; { bra L; } }\n{ bra L; } L:\n"
			     "{ { bra L; } L: }\nbra L;"));
	const struct gt_ptx_function *function = module->functions;
	unsigned int expected[] = {0, 1, 1, 2, 3, 2}, jump = 0;

	CHECK_INT(function->label_count, 4);
	for (struct gt_ptx_statement *statement = function->body->first; statement;
	     statement = gt_ptx_statement_next(statement))
		if (statement->kind == GT_PTX_STATEMENT_INSTRUCTION &&
		    statement->instruction.form->opcode == GT_PTX_OP_BRA)
			CHECK(statement->instruction.operands[0].label ==
			      find_label(function, "L", expected[jump++]));
	CHECK_INT(jump, 6);
	CHECK(find_label(function, "L", 2)->statement->next->kind == GT_PTX_STATEMENT_BLOCK);
}

TEST("walking the statements visits each once, in the order of the text")
{
	gt_auto(ptx) struct gt_ptx_module *module =
		parse(KERNEL("{ { } { abs.s32 %r1, %r1; } } {{{ neg.s32 %r1, %r1; }}}"));
	uint32_t number = 0, last = 0;

	for (struct gt_ptx_statement *statement = module->functions->body->first; statement;
	     statement = gt_ptx_statement_next(statement)) {
		CHECK_INT(statement->number, number++);
		CHECK(statement->position.offset >= last);
		last = statement->position.offset;
	}
	CHECK_INT(number, module->functions->statement_count);
}

TEST("a call has results, a target, arguments and a prototype")
{
	gt_auto(ptx) struct gt_ptx_module *module =
		parse(HEAD ".func (.reg .u32 r) f(.reg .u32 a, .reg .u32 b);\n"
			   ".entry k() { .reg .u32 x; .reg .u64 t;\n"
			   "call (x), f, (x, 5);\n"
			   "p: .callprototype (.reg .u32 _) _ (.reg .u32 _);\n"
			   "call.uni (_), t, (x), p; }\n"
			   ".func (.reg .u32 r) f(.reg .u32 a, .reg .u32 b) { ret; }\n");
	const struct gt_ptx_function *kernel = gt_ptx_find_function(module, "k");
	const struct gt_ptx_statement *statement = kernel->body->first->next->next;
	const struct gt_ptx_call *direct = statement->instruction.call;
	const struct gt_ptx_call *indirect = statement->next->next->next->instruction.call;

	CHECK_INT(direct->return_count, 1);
	CHECK_INT(direct->argument_count, 2);
	CHECK_INT(direct->arguments[1].integer, 5);
	CHECK_INT(direct->target->kind, GT_PTX_OPERAND_FUNCTION);
	CHECK(!direct->target->function->body);
	CHECK(direct->target->function->definition->body);
	CHECK(direct->target->function->definition == gt_ptx_find_function(module, "f"));
	CHECK(!direct->prototype);
	CHECK_INT(indirect->target->kind, GT_PTX_OPERAND_REGISTER);
	CHECK_INT(indirect->returns[0].kind, GT_PTX_OPERAND_SINK);
	CHECK_STR(indirect->prototype->label->name, "p");
	CHECK_INT(indirect->prototype->label->prototype->parameter_count, 1);
	CHECK_INT(kernel->register_count, 2);
}

TEST("a parameter may have the name of its function, which it hides in the body")
{
	gt_auto(ptx) struct gt_ptx_module *module =
		parse(HEAD ".func (.param .b32 r) f(.param .b32 f)\n"
			   "{ .reg .b32 %r1; ld.param.b32 %r1, [f]; ret; }\n"
			   ".entry k(.param .b32 k) { call (_), f, (1); ret; }");
	const struct gt_ptx_instruction *load = find(module, GT_PTX_OP_LD);

	CHECK(load->operands[1].items[0].variable == module->functions->parameters);
	CHECK(module->functions->next->body->first->instruction.call->target->function ==
	      module->functions);
}

TEST("a declaration of a function may lack its semicolon")
{
	gt_auto(ptx) struct gt_ptx_module *module =
		parse(HEAD ".extern .func (.param .b32 r) f(.param .b32 a)\n"
			   ".func g() .noreturn\n"
			   ".visible .func g() { ret; }\n.func h()");

	CHECK_INT(module->function_count, 4);
	CHECK(!module->functions->body && !module->functions->next->body);
	CHECK(module->functions->next->definition == module->functions->next->next);
}

TEST("an alias has the body of its target, a declaration that of its definition")
{
	gt_auto(ptx) struct gt_ptx_module *module =
		parse(HEAD ".func f() { ret; } .func g(); .alias g, f; .extern .func h();\n"
			   ".extern .global .u32 x; .visible .global .u32 x = 3;\n"
			   ".extern .global .u32 y;");

	CHECK_STR(gt_ptx_find_function(module, "g")->name, "f");
	CHECK(!gt_ptx_find_function(module, "h")->definition);
	CHECK(gt_ptx_find_variable(module, "x")->initializer);
	CHECK(!gt_ptx_find_variable(module, "y")->definition);
	CHECK(!gt_ptx_find_variable(module, "z"));
}

struct image {
	uint8_t bytes[64];
	unsigned int addresses;
	uint64_t address_place;
};

static int fill(void *context, uint64_t place, enum gt_ptx_type type,
		const struct gt_ptx_initializer *value)
{
	struct image *image = context;

	if (value->kind == GT_PTX_INITIALIZER_ADDRESS) {
		image->addresses++;
		image->address_place = place;
	} else {
		memcpy(image->bytes + place, &value->bits, gt_ptx_type_info(type)->bits / 8);
	}
	return 0;
}

TEST("initial values are visited with their offsets in memory")
{
	gt_auto(ptx) struct gt_ptx_module *module =
		parse(HEAD ".global .u32 a[2][3] = {{1}, {4, 5}};\n"
			   ".global .v2 .u16 b[] = {{1, 2}, {3, 4}, {5}};\n"
			   ".global .u64 c[3] = {7, generic(a) + 8, 0xff00(b)};\n"
			   ".global .u32 d[4];");
	struct image a = {0}, b = {0}, c = {0}, d = {0};
	const uint32_t expected[6] = {1, 0, 0, 4, 5, 0};
	const uint16_t pairs[6] = {1, 2, 3, 4, 5, 0};
	const struct gt_ptx_address *address;

	CHECK_INT(gt_ptx_variable_walk(gt_ptx_find_variable(module, "a"), fill, &a), 0);
	CHECK(!memcmp(a.bytes, expected, sizeof(expected)));
	CHECK_INT(gt_ptx_variable_size(gt_ptx_find_variable(module, "a")), 24);
	CHECK_INT(gt_ptx_variable_walk(gt_ptx_find_variable(module, "b"), fill, &b), 0);
	CHECK(!memcmp(b.bytes, pairs, sizeof(pairs)));
	CHECK_INT(gt_ptx_variable_size(gt_ptx_find_variable(module, "b")), 12);
	CHECK_INT(gt_ptx_variable_alignment(gt_ptx_find_variable(module, "b")), 4);
	CHECK_INT(gt_ptx_variable_walk(gt_ptx_find_variable(module, "c"), fill, &c), 0);
	CHECK_INT(c.bytes[0], 7);
	CHECK_INT(c.addresses, 2);
	CHECK_INT(c.address_place, 16);
	address = gt_ptx_find_variable(module, "c")->initializer->items[1].address;
	CHECK(address->generic);
	CHECK_INT(address->offset, 8);
	CHECK_STR(address->variable->name, "a");
	CHECK_INT(gt_ptx_find_variable(module, "c")->initializer->items[2].address->mask, 0xff00);
	CHECK_INT(gt_ptx_variable_walk(gt_ptx_find_variable(module, "d"), fill, &d), 0);
	CHECK_INT(d.bytes[0], 0);
}

TEST("constant expressions are computed in 64 bits")
{
	static const struct {
		const char *text;
		uint64_t value;
	} cases[] = {
		{"1 + 2 * 3", 7},
		{"(1 + 2) * 3", 9},
		{"-7 / 2", -(uint64_t)3},
		{"-7 % 4", 1},
		{"1 << 4 | 3", 19},
		{"0xF0 & ~0x30 ^ 1", 0xc1},
		{"5 > 3 && !0", 1},
		{"0 || 0 ? 4 : 2 == 2 ? 5 : 6", 5},
		{"-1 >> 60", UINT64_MAX},
		{"0xFFFFFFFFFFFFFFFF >> 60", 15},
		{"(.u64)-1 >> 60", 15},
		{"(.s64)2.75", 2},
		{"(1 << 63) / -1", UINT64_C(1) << 63},
		{"0b101 + 017 + 0x1F + 3U", 5 + 15 + 31 + 3},
		{"WARP_SZ * 2", 64},
		{"1 << 64", 1},
		{"(1 << 62) >> 70", UINT64_C(1) << 56},
		{"10 - 3 - 2", 5},
	};

	for (size_t i = 0; i < gt_countof(cases); i++) {
		char text[512];

		snprintf(text, sizeof(text), HEAD ".func f() { .reg .u64 r; mov.u64 r, %s; }",
			 cases[i].text);
		gt_auto(ptx) struct gt_ptx_module *module = parse(text);

		if (!module)
			continue;
		if (find(module, GT_PTX_OP_MOV)->operands[1].integer != cases[i].value)
			TAP_FAIL("%s is %" PRIx64, cases[i].text,
				 find(module, GT_PTX_OP_MOV)->operands[1].integer);
	}
}

TEST("numbers are read in every notation")
{
	gt_auto(ptx) struct gt_ptx_module *module = parse(
		HEAD ".global .f32 f[6] = {1.0, .5, 5., -1.5e1, 0f3F800000, 0d4000000000000000};");
	const struct gt_ptx_initializer *items =
		gt_ptx_find_variable(module, "f")->initializer->items;
	const double expected[4] = {1.0, .5, 5., -15.};

	for (int i = 0; i < 4; i++) {
		double value;

		memcpy(&value, &items[i].bits, sizeof(value));
		CHECK_INT(items[i].kind, GT_PTX_INITIALIZER_FLOAT64);
		CHECK(value == expected[i]);
	}
	CHECK_INT(items[4].kind, GT_PTX_INITIALIZER_FLOAT32);
	CHECK_INT(items[4].bits, 0x3f800000);
	CHECK_INT(items[5].bits, 0x4000000000000000);
}

TEST("operands are printed as written, with computed constants")
{
	static const char *const cases[][2] = {
		{"mov.u32 %r1, 0x10 + 2;", "mov.u32 %r1, 18;"},
		{"mov.u64 %rd1, -9223372036854775808;", "mov.u64 %rd1, 9223372036854775808U;"},
		{"mov.u32 %r1, -1;", "mov.u32 %r1, -1;"},
		{"mov.f32 %r1, 1.0;", "mov.f32 %r1, 0d3FF0000000000000;"},
		{"@ ! %p1 mov.f32 %r1, 0F3f800000;", "@!%p1 mov.f32 %r1, 0f3F800000;"},
		{"ld.global.u32 %r1,data[3];", "ld.global.u32 %r1, [data+12];"},
		{"mov.u64 %rd1,data[3];", "mov.u64 %rd1, data+12;"},
		{"ld.u32 %r1, [%rd1 + 4 * 2];", "ld.u32 %r1, [%rd1+8];"},
		{"ld.u32 %r1, [%rd1+-4];", "ld.u32 %r1, [%rd1+-4];"},
		{"add.u32 %r1, %r1 + 4 * 2, 1;", "add.u32 %r1, %r1+8, 1;"},
		{"setp.eq.and.u32 %p1|_, %r1, WARP_SZ, !%p2;",
		 "setp.eq.and.u32 %p1|_, %r1, WARP_SZ, !%p2;"},
		{"vmad.s32.s32.s32 %r1.b0, %r2.h1, -%r3, %r4;",
		 "vmad.s32.s32.s32 %r1.b0, %r2.h1, -%r3, %r4;"},
		{"vadd4.u32.u32.u32 %r1.b10, %r2.b3210, %r3, %r4;",
		 "vadd4.u32.u32.u32 %r1.b10, %r2.b3210, %r3, %r4;"},
		{"mov.f32 v.g, v.r;", "mov.f32 v.y, v.x;"},
		{"mov.b32 %r1, %envreg7;", "mov.b32 %r1, %envreg7;"},
		{"mov.u32 %r1, %tid.z;", "mov.u32 %r1, %tid.z;"},
		{"tex.2d.v4.f32.f32 {v.x, _}|%p1, [%rd1, {%r1, %r2}];",
		 "tex.2d.v4.f32.f32 {v.x, _}|%p1, [%rd1, {%r1, %r2}];"},
		{"call (_), %rd1, (%r1, 3);", "call (_), %rd1, (%r1, 3);"},
	};

	for (size_t i = 0; i < gt_countof(cases); i++) {
		gt_autofree char *text = repeat(
			HEAD ".global .u32 data[4]; .func k { .reg .pred %p<4>; .reg .b32 %r<10>;"
			     ".reg .b64 %rd<4>; .reg .v2 .f32 v;\n",
			cases[i][0], 1, "}");
		gt_auto(ptx) struct gt_ptx_module *module = parse(text);
		gt_auto_strbuf buffer = GT_STRBUF_INIT;
		const struct gt_ptx_statement *statement;

		if (!module)
			continue;
		statement = module->functions->body->first->next->next->next->next;
		gt_ptx_print_instruction(&statement->instruction, &buffer);
		CHECK_STR(gt_strbuf_string(&buffer), cases[i][1]);
	}
}

/* All that a declaration can say, in the form in which it is printed. */
static const char canonical[] =
	".version 9.0\n"
	".target sm_90a, debug\n"
	".address_size 64\n"
	".file 1 \"a.cu\"\n"
	".file 2 \"b.cu\", 17, 42\n"
	".pragma \"nounroll\", \"more\";\n"
	".global .u32 plain;\n"
	".visible .global .align 16 .v4 .f32 quad[2][3] = {{{0f3F800000, 0d3FF0000000000000}}};\n"
	".weak .global .attribute(.managed, .unified(1, 2)) .b8 bytes[] = {1, -2, 3};\n"
	".global .u64 places[4] = {plain, plain+4, generic(plain)+-4, 0xff00(generic(plain))};\n"
	".extern .shared .align 8 .b8 dynamic[];\n"
	".global .u32 one = 1, two[2], three;\n"
	".const[3] .u32 banked;\n"
	".global .samplerref sampler = {addr_mode_0 = wrap, force_unnormalized_coords = 1};\n"
	".extern .func (.param .b32 result) callee(.param .align 8 .b8 a[16], .reg .u32 b);\n"
	".func .attribute(.unified(3, 4)) other()\n"
	".noreturn\n"
	"{\n"
	"\texit;\n"
	"}\n"
	".visible .entry kernel(.param .u64 .ptr .global .align 8 p, .param .u32 n)\n"
	".maxntid 32, 2, 1\n"
	".minnctapersm 2\n"
	".explicitcluster\n"
	".pragma \"x\";\n"
	"{\n"
	"\t.reg .pred %p<3>;\n"
	"\t.reg .b32 a, %r<4>;\n"
	"\t.reg .b64 %rd<2>;\n"
	"\t.loc 1 2 3\n"
	"\t.loc 1 2 3, function_name name+4, inlined_at 2 3 4\n"
	"\t.pragma \"y\";\n"
	"again:\n"
	"\t@!%p1 mov.u32 a, %r3;\n"
	"\t{\n"
	"\t\t.local .align 4 .b8 stack[8];\n"
	"\tinner:\n"
	"\t\tbra inner;\n"
	"\t}\n"
	"prototype:\n"
	"\t.callprototype (.reg .u32 _) _ (.param .align 8 .b8 _[16]) .noreturn;\n"
	"\tcall (a), %rd1, (%r1), prototype;\n"
	"jumps:\n"
	"\t.branchtargets again, again;\n"
	"functions:\n"
	"\t.calltargets callee, other;\n"
	"\tret;\n"
	"}\n"
	".section .debug_str\n"
	"{\n"
	"name:\n"
	".b8 1,-2\n"
	".b32 name-name+3\n"
	".b64 .debug_str+4\n"
	"}\n";

TEST("a text in the printer's own form is printed as it is")
{
	gt_auto(ptx) struct gt_ptx_module *module = parse(canonical);
	gt_auto_strbuf buffer = GT_STRBUF_INIT;

	gt_ptx_print(module, &buffer);
	CHECK_STR(gt_strbuf_string(&buffer), canonical);
}

TEST("types, special registers and opcodes are what the tables say")
{
	CHECK_STR(gt_ptx_type_info(GT_PTX_TYPE_F16X2)->name, ".f16x2");
	CHECK_INT(gt_ptx_type_info(GT_PTX_TYPE_F16X2)->bits, 32);
	CHECK_INT(gt_ptx_type_info(GT_PTX_TYPE_S16)->class, GT_PTX_CLASS_SIGNED);
	CHECK_INT(gt_ptx_modifier_type(GT_PTX_MOD_F64), GT_PTX_TYPE_F64);
	CHECK_INT(gt_ptx_modifier_type(GT_PTX_MOD_GLOBAL), GT_PTX_TYPE_NONE);
	CHECK_STR(gt_ptx_modifier_name(GT_PTX_MOD_SHARED_CTA), ".shared::cta");
	CHECK_STR(gt_ptx_opcode_name(GT_PTX_OP_TCGEN05), "tcgen05");
	CHECK_INT(gt_ptx_opcode_destination(GT_PTX_OP_ST), GT_PTX_DESTINATION_NONE);
	CHECK_INT(gt_ptx_opcode_destination(GT_PTX_OP_WMMA), GT_PTX_DESTINATION_VARIES);
	CHECK_STR(gt_ptx_special_info(GT_PTX_SPECIAL_NTID)->name, "%ntid");
	CHECK_INT(gt_ptx_special_info(GT_PTX_SPECIAL_NTID)->vector, 4);
}

TEST("no word is twice in its table")
{
	for (int i = 0; i < GT_PTX_MOD_COUNT; i++)
		for (int j = 0; j < i; j++)
			if (!strcmp(gt_ptx_modifier_name(i), gt_ptx_modifier_name(j)))
				TAP_FAIL("the modifier %s", gt_ptx_modifier_name(i));
	for (int i = 1; i < GT_PTX_OP_COUNT; i++)
		if (strcmp(gt_ptx_opcode_name(i - 1), gt_ptx_opcode_name(i)) >= 0)
			TAP_FAIL("the opcode %s is not in order", gt_ptx_opcode_name(i));
	for (int i = 0; i < GT_PTX_SPECIAL_COUNT; i++)
		for (int j = 0; j < i; j++)
			if (!strcmp(gt_ptx_special_info(i)->name, gt_ptx_special_info(j)->name))
				TAP_FAIL("the register %s", gt_ptx_special_info(i)->name);
}

TEST_MAIN
