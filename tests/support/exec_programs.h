/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random integer programs: each is written as PTX, for a block of threads, and is walked through in
 * C for every thread. They nest branches and loops, and threads diverge.
 */
#pragma once

#include "exec_fixture.h"

enum {
	THREADS = 45,
	VARIABLES = 6, /* of 32 bits */
	MAX_DEPTH = 4,
	MAX_NODES = 512,
};

enum program_kind {
	ASSIGN,
	ASSIGN_GUARDED,
	BRANCH,
	LOOP,
	LEAVE, /* the innermost loop, where a condition holds */
	CALL,  /* target = a function of a and b */
};

enum program_operation {
	ADD,
	SUBTRACT,
	MULTIPLY,
	MULTIPLY_HIGH,
	AND,
	OR,
	XOR,
	SHIFT_LEFT,
	SHIFT_RIGHT,
	SHIFT_SIGNED,
	DIVIDE,
	REMAINDER,
	MINIMUM,
	MAXIMUM,
	ROTATE,
	POPULATION,
	SELECT,
	OPERATIONS,
};

enum program_comparison {
	LESS,
	LESS_SIGNED,
	EQUAL,
	GREATER,
	COMPARISONS,
};

struct program_operand {
	bool is_constant;
	uint32_t value; /* or the number of a variable */
};

struct program_node {
	enum program_kind kind;
	enum program_operation operation;
	enum program_comparison comparison;
	uint32_t target;
	struct program_operand a, b;
	struct program_operand left, right; /* of the condition */
	struct program_node *first, *other; /* what is inside; the other side of a branch */
	struct program_node *next;
	int label;
	uint32_t callee, method; /* of a call; their meaning is the test's */
};

/* The functions that programs call; a test without any leaves it as it is. */
static struct program_callees {
	uint32_t first, count; /* of those that the program that is made may call */
	uint32_t methods;
	uint32_t (*walk)(const struct program_node *node, uint32_t a, uint32_t b);
	/* Into the node's target. */
	void (*write)(struct gt_strbuf *text, const struct program_node *node);
} callees;

static struct program_node nodes[MAX_NODES];
static int node_count;
static uint64_t state;

static inline uint32_t random_number(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % below;
}

/* ---- making ---------------------------------------------------------------------------- */

static inline struct program_operand make_operand(void)
{
	static const uint32_t constants[] = {0,  1,    2,          31,         32,
					     33, 0xff, 0x7fffffff, 0x80000000, ~0u};
	struct program_operand operand = {.is_constant = random_number(4) == 0};

	if (!operand.is_constant)
		operand.value = random_number(VARIABLES);
	else
		operand.value =
			random_number(2) ? constants[random_number(10)] : random_number(1u << 30);
	return operand;
}

static inline struct program_node *make_list(int depth, bool in_loop);

static inline struct program_node *make_node(int depth, bool in_loop)
{
	struct program_node *node = &nodes[node_count++];
	uint32_t choice = random_number(12);

	memset(node, 0, sizeof(*node));
	node->label = node_count;
	node->operation = (enum program_operation)random_number(OPERATIONS);
	node->comparison = (enum program_comparison)random_number(COMPARISONS);
	node->target = random_number(VARIABLES);
	node->a = make_operand();
	node->b = make_operand();
	node->left = make_operand();
	node->right = make_operand();
	if (depth < MAX_DEPTH && choice < 2 && node_count < MAX_NODES / 2) {
		node->kind = BRANCH;
		node->first = make_list(depth + 1, in_loop);
		node->other = random_number(2) ? make_list(depth + 1, in_loop) : NULL;
	} else if (depth < MAX_DEPTH && choice == 2 && node_count < MAX_NODES / 2) {
		node->kind = LOOP;
		node->first = make_list(depth + 1, true);
	} else if (in_loop && choice == 3) {
		node->kind = LEAVE;
	} else if (choice == 4) {
		node->kind = ASSIGN_GUARDED;
	} else if (choice < 7 && callees.count) {
		node->kind = CALL;
		node->callee = callees.first + random_number(callees.count);
		node->method = random_number(callees.methods);
	}
	return node;
}

static inline struct program_node *make_list(int depth, bool in_loop)
{
	struct program_node *first = NULL, **link = &first;
	uint32_t count = 1 + random_number(depth ? 5 : 12);

	for (uint32_t i = 0; i < count && node_count < MAX_NODES - 1; i++) {
		*link = make_node(depth, in_loop);
		link = &(*link)->next;
	}
	return first;
}

/* ---- walking --------------------------------------------------------------------------- */

static inline uint32_t value_of(struct program_operand operand, const uint32_t *variables)
{
	return operand.is_constant ? operand.value : variables[operand.value];
}

static inline uint32_t compute(enum program_operation operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case ADD:
		return a + b;
	case SUBTRACT:
		return a - b;
	case MULTIPLY:
		return a * b;
	case MULTIPLY_HIGH:
		return (uint32_t)((uint64_t)a * b >> 32);
	case AND:
		return a & b;
	case OR:
		return a | b;
	case XOR:
		return a ^ b;
	case SHIFT_LEFT:
		return b > 31 ? 0 : a << b;
	case SHIFT_RIGHT:
		return b > 31 ? 0 : a >> b;
	case SHIFT_SIGNED:
		return (uint32_t)((int32_t)a >> (b > 31 ? 31 : b));
	case DIVIDE:
		return a / (b | 1);
	case REMAINDER:
		return a % (b | 1);
	case MINIMUM:
		return (int32_t)a < (int32_t)b ? a : b;
	case MAXIMUM:
		return a > b ? a : b;
	case ROTATE:
		return a << (b & 31) | a >> (-b & 31);
	case POPULATION:
		return (uint32_t)__builtin_popcount(a ^ b);
	default:
		return a < b ? a : b ^ 0x55;
	}
}

static inline bool holds(const struct program_node *node, const uint32_t *variables)
{
	uint32_t left = value_of(node->left, variables), right = value_of(node->right, variables);

	switch (node->comparison) {
	case LESS:
		return left < right;
	case LESS_SIGNED:
		return (int32_t)left < (int32_t)right;
	case EQUAL:
		return (left & 3) == (right & 3);
	default:
		return left > right;
	}
}

/* Branches that a walk executes, as the PTX has them. */
static struct program_counts {
	uint64_t branches, taken, loops; /* conditional ones; those of them; back edges */
	uint64_t entries, trips;         /* of loops; how often their starts are passed */
} walked;

static inline bool count_branch(bool taken)
{
	walked.branches++;
	walked.taken += taken;
	return taken;
}

/* Walk a list. Returns whether the innermost loop ends. */
static inline bool walk(const struct program_node *node, uint32_t *variables)
{
	for (; node; node = node->next) {
		switch (node->kind) {
		case ASSIGN_GUARDED:
			if (!holds(node, variables))
				break;
			/* fall through */
		case ASSIGN:
			variables[node->target] =
				compute(node->operation, value_of(node->a, variables),
					value_of(node->b, variables));
			break;
		case BRANCH:
			if (walk(count_branch(!holds(node, variables)) ? node->other : node->first,
				 variables))
				return true;
			break;
		case LOOP: {
			uint32_t turns = value_of(node->a, variables) & 7;

			walked.entries++;
			walked.trips++;
			while (!count_branch(!turns) && !walk(node->first, variables)) {
				turns--;
				walked.loops++;
				walked.trips++;
			}
			break;
		}
		case LEAVE:
			if (count_branch(holds(node, variables)))
				return true;
			break;
		case CALL:
			variables[node->target] = callees.walk(node, value_of(node->a, variables),
							       value_of(node->b, variables));
			break;
		}
	}
	return false;
}

/* ---- writing --------------------------------------------------------------------------- */

static inline void write_operand(struct gt_strbuf *text, struct program_operand operand)
{
	if (operand.is_constant)
		gt_strbuf_printf(text, "%u", operand.value);
	else
		gt_strbuf_printf(text, "%%v%u", operand.value);
}

/* name %t…, a, b; */
static inline void write_step(struct gt_strbuf *text, const char *name, const char *target,
			      struct program_operand a, struct program_operand b)
{
	gt_strbuf_printf(text, "	%s %s, ", name, target);
	write_operand(text, a);
	gt_strbuf_puts(text, ", ");
	write_operand(text, b);
	gt_strbuf_puts(text, ";\n");
}

/* Into %t0. */
static inline void write_value(struct gt_strbuf *text, const struct program_node *node)
{
	static const char *const names[OPERATIONS] = {
		[ADD] = "add.u32",         [SUBTRACT] = "sub.s32",
		[MULTIPLY] = "mul.lo.u32", [MULTIPLY_HIGH] = "mul.hi.u32",
		[AND] = "and.b32",         [OR] = "or.b32",
		[XOR] = "xor.b32",         [SHIFT_LEFT] = "shl.b32",
		[SHIFT_RIGHT] = "shr.u32", [SHIFT_SIGNED] = "shr.s32",
		[MINIMUM] = "min.s32",     [MAXIMUM] = "max.u32",
	};

	if (names[node->operation]) {
		write_step(text, names[node->operation], "%t0", node->a, node->b);
		return;
	}
	switch (node->operation) {
	case DIVIDE:
	case REMAINDER:
		write_step(text, "or.b32", "%t1", node->b, (struct program_operand){true, 1});
		gt_strbuf_printf(text, "	%s %%t0, ",
				 node->operation == DIVIDE ? "div.u32" : "rem.u32");
		write_operand(text, node->a);
		gt_strbuf_puts(text, ", %t1;\n");
		break;
	case ROTATE:
		write_step(text, "add.u32", "%t1", node->a, (struct program_operand){true, 0});
		gt_strbuf_puts(text, "	shf.l.wrap.b32 %t0, %t1, %t1, ");
		write_operand(text, node->b);
		gt_strbuf_puts(text, ";\n");
		break;
	case POPULATION:
		write_step(text, "xor.b32", "%t1", node->a, node->b);
		gt_strbuf_puts(text, "	popc.b32 %t0, %t1;\n");
		break;
	default:
		write_step(text, "setp.lt.u32", "%q0", node->a, node->b);
		write_step(text, "xor.b32", "%t1", node->b, (struct program_operand){true, 0x55});
		gt_strbuf_puts(text, "	selp.b32 %t0, ");
		write_operand(text, node->a);
		gt_strbuf_puts(text, ", %t1, %q0;\n");
		break;
	}
}

/* Into %p<label>. */
static inline void write_condition(struct gt_strbuf *text, const struct program_node *node)
{
	static const char *const names[COMPARISONS] = {
		[LESS] = "setp.lt.u32", [LESS_SIGNED] = "setp.lt.s32", [GREATER] = "setp.gt.u32"};
	char target[16];

	snprintf(target, sizeof(target), "%%p%d", node->label);
	if (node->comparison != EQUAL) {
		write_step(text, names[node->comparison], target, node->left, node->right);
		return;
	}
	write_step(text, "xor.b32", "%t1", node->left, node->right);
	gt_strbuf_printf(text, "	and.b32 %%t1, %%t1, 3;\n	setp.eq.u32 %s, %%t1, 0;\n",
			 target);
}

static inline void write_list(struct gt_strbuf *text, const struct program_node *node, int loop)
{
	for (; node; node = node->next) {
		switch (node->kind) {
		case ASSIGN:
			write_value(text, node);
			gt_strbuf_printf(text, "	mov.b32 %%v%u, %%t0;\n", node->target);
			break;
		case ASSIGN_GUARDED:
			write_condition(text, node);
			write_value(text, node);
			gt_strbuf_printf(text, "	@%%p%d mov.b32 %%v%u, %%t0;\n", node->label,
					 node->target);
			break;
		case BRANCH:
			write_condition(text, node);
			gt_strbuf_printf(text, "	@!%%p%d bra ELSE%d;\n", node->label,
					 node->label);
			write_list(text, node->first, loop);
			gt_strbuf_printf(text, "	bra END%d;\nELSE%d:\n", node->label,
					 node->label);
			write_list(text, node->other, loop);
			gt_strbuf_printf(text, "END%d:\n", node->label);
			break;
		case LOOP:
			gt_strbuf_printf(text, "	mov.b32 %%c%d, ", node->label);
			write_operand(text, node->a);
			gt_strbuf_printf(text,
					 ";\n	and.b32 %%c%d, %%c%d, 7;\n"
					 "TOP%d:	setp.eq.u32 %%p%d, %%c%d, 0;\n"
					 "	@%%p%d bra OUT%d;\n",
					 node->label, node->label, node->label, node->label,
					 node->label, node->label, node->label);
			write_list(text, node->first, node->label);
			gt_strbuf_printf(
				text, "	sub.u32 %%c%d, %%c%d, 1;\n	bra TOP%d;\nOUT%d:\n",
				node->label, node->label, node->label, node->label);
			break;
		case LEAVE:
			write_condition(text, node);
			gt_strbuf_printf(text, "	@%%p%d bra OUT%d;\n", node->label, loop);
			break;
		case CALL:
			callees.write(text, node);
			break;
		}
	}
}

static inline void write_kernel(struct gt_strbuf *text, const struct program_node *program,
				int number)
{
	gt_strbuf_printf(
		text,
		".visible .entry k%d(.param .u64 p0)\n{\n	.reg .b64 %%rd<4>;\n"
		"	.reg .b32 %%v<%d>;\n	.reg .b32 %%t<2>;\n	.reg .b32 %%c<%d>;\n"
		"	.reg .pred %%p<%d>;\n	.reg .pred %%q<1>;\n"
		"	ld.param.u64 %%rd0, [p0];\n	mov.u32 %%t0, %%tid.x;\n"
		"	mad.wide.u32 %%rd1, %%t0, %d, %%rd0;\n",
		number, VARIABLES, MAX_NODES + 1, MAX_NODES + 1, VARIABLES * 4);
	for (int i = 0; i < VARIABLES; i++)
		gt_strbuf_printf(text, "	ld.global.u32 %%v%d, [%%rd1+%d];\n", i, 4 * i);
	write_list(text, program, 0);
	for (int i = 0; i < VARIABLES; i++)
		gt_strbuf_printf(text, "	st.global.u32 [%%rd1+%d], %%v%d;\n", 4 * i, i);
	gt_strbuf_puts(text, "	ret;\n}\n");
}

/* ---- the test -------------------------------------------------------------------------- */

static inline void set_up(uint32_t *variables, uint64_t seed)
{
	for (uint32_t i = 0; i < THREADS * VARIABLES; i++)
		variables[i] = (uint32_t)((seed + i) * 0x9e3779b97f4a7c15 >> (i % 3 ? 33 : 58));
}
