/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bodies as functions. ptxas 13 keeps one copy of a function in each kernel that calls it. Calls
 * are shorter than a body of some size and need fewer registers (bench/patch-code), so that bodies
 * at accesses and branches are called. At the one or two sites of a kernel's start or end, a call
 * costs more than the body.
 *
 * The constants of a site that take few values, such as the width of an access, are constants of
 * the function, too: there is a function for each combination. Other values are its parameters.
 *
 *	.func gputap_call_1(.param .b32 gputap_in_0, .param .b64 gputap_in_1)
 *	{
 *		.reg .b32 gputap_at_site; …
 *		ld.param.b32 gputap_at_site, [gputap_in_0]; …
 *		mov.b32 gputap_at_width, 4; …
 *		{ … }                            the body
 *		ret;
 *	}
 */
#include <inttypes.h>
#include <string.h>

#include "gpubpf/helpers.h"
#include "patch/private.h"

enum {
	MAX_VARIANTS = 256, /* of all programs of a module */
};

/* The sources that are constants of a function. */
static const enum gt_context_source fixed_sources[] = {
	GT_SOURCE_WIDTH,
	GT_SOURCE_SPACE,
	GT_SOURCE_ACCESS,
	GT_SOURCE_VALUE_SIZE,
};

/* The space of a generic address is a value, not a constant. */
static bool is_fixed(const struct gt_patch_variant *variant, enum gt_context_source source)
{
	for (size_t i = 0; i < gt_countof(fixed_sources); i++)
		if (fixed_sources[i] == source)
			return source != GT_SOURCE_SPACE ||
			       variant->constants[i] != GT_SPACE_GENERIC;
	return false;
}

/* ---- which programs -------------------------------------------------------------------- */

/* Whether it ends threads or changes the kernel otherwise, which must happen at the site. */
static bool has_control(const struct gt_patch_program *program)
{
	for (uint32_t i = 0; i < program->facts->insn_count; i++) {
		const struct bpf_insn *insn = &program->program->insns[i];
		const struct gt_helper *helper;

		if (insn->code != (BPF_JMP | BPF_CALL) || gt_bpf_is_subprogram_call(insn))
			continue;
		helper = gt_helper((uint32_t)insn->imm);
		if (helper && helper->traits & GT_TRAIT_CONTROL)
			return true;
	}
	return false;
}

static uint32_t count_instructions(const struct gt_strbuf *body)
{
	uint32_t count = 0;

	for (size_t i = 0; i < body->length; i++)
		count += body->data[i] == ';';
	return count;
}

/* Programs whose bodies are large enough, and may run in a function. */
static uint64_t find_callable(const struct gt_patcher *patcher)
{
	uint32_t instructions = patcher->options->call_instructions;
	uint64_t callable = 0;

	instructions = instructions ? instructions : GT_PATCH_CALL_INSTRUCTIONS;
	for (uint32_t i = 0; i < patcher->options->program_count; i++) {
		const struct gt_patch_program *program = &patcher->options->programs[i];

		if (program->program && !has_control(program) &&
		    count_instructions(&patcher->bodies[i]) >= instructions)
			callable |= UINT64_C(1) << i;
	}
	return callable;
}

/* How many sites in a function a program must have to be called. */
static uint32_t min_sites(const struct gt_patcher *patcher, uint32_t program)
{
	const struct gt_section *section = &patcher->options->programs[program].section;

	if (patcher->options->call_sites)
		return patcher->options->call_sites;
	switch (section->kind) {
	case GT_KIND_LOAD_BEGIN:
	case GT_KIND_LOAD:
	case GT_KIND_STORE:
	case GT_KIND_MEMORY:
	case GT_KIND_ATOMIC:
	case GT_KIND_COPY:
	case GT_KIND_BRANCH:
	case GT_KIND_LOOP:
	case GT_KIND_LOOP_END:
	case GT_KIND_LINE:
	case GT_KIND_BASIC_BLOCK:
		return 1;
	default:
		return GT_PATCH_CALL_SITES;
	}
}

/* The programs with many sites among those of a function, which begin at `first`. */
static uint64_t find_frequent(const struct gt_patcher *patcher, size_t first, uint64_t callable)
{
	uint32_t counts[GT_PATCH_MAX_PROGRAMS] = {0};
	const struct gt_patch_site *sites = patcher->result->sites.items;
	uint64_t frequent = 0;

	for (size_t i = first; i < patcher->result->sites.count; i++) {
		if (sites[i].function != sites[first].function)
			break;
		for (uint64_t rest = sites[i].programs & callable; rest; rest &= rest - 1)
			counts[__builtin_ctzll(rest)]++;
	}
	for (uint32_t i = 0; i < GT_PATCH_MAX_PROGRAMS; i++)
		if (counts[i] && counts[i] >= min_sites(patcher, i))
			frequent |= UINT64_C(1) << i;
	return frequent;
}

void gt_patch_plan_calls(struct gt_patcher *patcher)
{
	uint64_t callable = find_callable(patcher);

	for (uint32_t i = 0; callable && i < patcher->module->function_count; i++) {
		struct gt_patch_function *known = &patcher->functions[i];

		if (known->first_site != UINT32_MAX)
			known->called = find_frequent(patcher, known->first_site, callable);
	}
}

/* ---- variants -------------------------------------------------------------------------- */

static struct gt_patch_variant make_variant(const struct gt_patcher *patcher, uint32_t program,
					    const struct gt_patch_value_site *at)
{
	struct gt_patch_variant variant = {.program = program};

	for (size_t i = 0; i < gt_countof(fixed_sources); i++)
		if (patcher->uses[program].sources >> fixed_sources[i] & 1)
			variant.constants[i] = gt_patch_constant_value(at, fixed_sources[i]);
	return variant;
}

/* The number of the function for a site; -1: there is none. */
static int find_variant(const struct gt_patcher *patcher, const struct gt_patch_variant *variant)
{
	for (size_t i = 0; i < patcher->variants.count; i++)
		if (!memcmp(&patcher->variants.items[i], variant, sizeof(*variant)))
			return (int)i;
	return -1;
}

int gt_patch_add_variants(struct gt_patcher *patcher, const struct gt_patch_site *site,
			  const struct gt_patch_value_site *at)
{
	uint64_t called = patcher->functions[at->function->number].called;
	int error = 0;

	for (uint32_t i = 0; i < patcher->options->program_count && !error; i++) {
		struct gt_patch_variant variant;

		if (!((site->programs & called) >> i & 1) ||
		    patcher->variants.count == MAX_VARIANTS)
			continue;
		variant = make_variant(patcher, i, at);
		if (find_variant(patcher, &variant) < 0)
			error = gt_vec_push(&patcher->variants, variant);
	}
	return error;
}

/* ---- text ------------------------------------------------------------------------------ */

static void put_name(const struct gt_patcher *patcher, int number, struct gt_strbuf *buffer)
{
	gt_strbuf_printf(buffer, "%scall_%d", patcher->result->prefix, number);
}

static uint64_t variant_constant(const struct gt_patch_variant *variant,
				 enum gt_context_source source)
{
	for (size_t i = 0; i < gt_countof(fixed_sources); i++)
		if (fixed_sources[i] == source)
			return variant->constants[i];
	return 0;
}

/*
 * The lanes of a group reconverge before a function returns, else ptxas makes the leader return on
 * its own and keeps the lanes of each caller apart, for two instructions a call.
 */
static void put_reconvergence(const struct gt_patcher *patcher,
			      const struct gt_patch_variant *variant, struct gt_strbuf *buffer)
{
	const struct gt_section *section = &patcher->options->programs[variant->program].section;
	const char *p = patcher->result->prefix;

	if (section->level == GT_LEVEL_WARP && gt_patch_has_sync(patcher->module))
		gt_strbuf_printf(buffer,
				 "\t.reg .b32 %sat_active;\n\tactivemask.b32 %sat_active;\n"
				 "\tbar.warp.sync %sat_active;\n",
				 p, p, p);
}

static void put_function(const struct gt_patcher *patcher, int number, struct gt_strbuf *buffer)
{
	const struct gt_patch_variant *variant = &patcher->variants.items[number];
	const struct gt_strbuf *body = &patcher->bodies[variant->program];
	const char *p = patcher->result->prefix;
	struct gt_patch_values values;

	gt_patch_list_values(p, patcher->uses[variant->program], &values);
	gt_strbuf_puts(buffer, ".func ");
	put_name(patcher, number, buffer);
	gt_strbuf_putc(buffer, '(');
	for (uint32_t i = 0, count = 0; i < values.count; i++)
		if (!is_fixed(variant, values.items[i].source))
			gt_strbuf_printf(buffer, "%s.param .b%u %sin_%u", count++ ? ", " : "",
					 values.items[i].bits, p, i);
	gt_strbuf_puts(buffer, ")\n{\n");
	gt_patch_put_stack(patcher, UINT64_C(1) << variant->program, buffer);
	for (uint32_t i = 0; i < values.count; i++) {
		const struct gt_site_value *value = &values.items[i];

		gt_strbuf_printf(buffer, "\t.reg .b%u %s;\n", value->bits, value->operand);
		if (is_fixed(variant, value->source))
			gt_strbuf_printf(buffer, "\tmov.b%u %s, %" PRIu64 ";\n", value->bits,
					 value->operand, variant_constant(variant, value->source));
		else
			gt_strbuf_printf(buffer, "\tld.param.b%u %s, [%sin_%u];\n", value->bits,
					 value->operand, p, i);
	}
	gt_strbuf_add(buffer, gt_strbuf_string(body), body->length);
	put_reconvergence(patcher, variant, buffer);
	gt_strbuf_puts(buffer, "\tret;\n}\n");
}

void gt_patch_put_functions(const struct gt_patcher *patcher, struct gt_strbuf *buffer)
{
	for (size_t i = 0; i < patcher->variants.count; i++)
		put_function(patcher, (int)i, buffer);
}

bool gt_patch_put_call(const struct gt_patcher *patcher, uint32_t program,
		       const struct gt_patch_value_site *at, struct gt_strbuf *buffer)
{
	const char *p = patcher->result->prefix;
	struct gt_patch_variant variant;
	struct gt_patch_values values;
	int number;

	if (!(patcher->functions[at->function->number].called >> program & 1))
		return false;
	variant = make_variant(patcher, program, at);
	number = find_variant(patcher, &variant);
	if (number < 0)
		return false;
	gt_patch_list_values(p, patcher->uses[program], &values);
	gt_strbuf_puts(buffer, "{\n");
	for (uint32_t i = 0; i < values.count; i++)
		if (!is_fixed(&variant, values.items[i].source))
			gt_strbuf_printf(
				buffer, "\t.param .b%u %sout_%u;\n\tst.param.b%u [%sout_%u], %s;\n",
				values.items[i].bits, p, i, values.items[i].bits, p, i,
				values.items[i].operand);
	gt_strbuf_puts(buffer, "\tcall ");
	put_name(patcher, number, buffer);
	gt_strbuf_puts(buffer, ", (");
	for (uint32_t i = 0, count = 0; i < values.count; i++)
		if (!is_fixed(&variant, values.items[i].source))
			gt_strbuf_printf(buffer, "%s%sout_%u", count++ ? ", " : "", p, i);
	gt_strbuf_puts(buffer, ");\n}\n");
	return true;
}
