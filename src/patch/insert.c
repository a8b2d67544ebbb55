/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Printing a module with programs at its sites. A site is a scope:
 *
 *	{
 *	.reg …; mov …;             the values of the context that its programs read
 *	@!%p1 bra skip_0_7;        where the instruction has a guard
 *	{ … }                      the body of program 0
 *	skip_0_7:
 *	}
 *	@%p1 st.global.u32 …
 *
 * The scope of programs that run after the instruction holds it, too: it has no label, so nothing
 * jumps into the scope. A statement with programs before and after it is two sites. Programs at the
 * ends of loops are in scopes of their own before and after branches.
 */
#include <inttypes.h>
#include <string.h>

#include "base/register_limit.h"
#include "patch/private.h"

#define KIND(name) (1u << GT_KIND_##name)

static const char *prefix_of(const struct gt_patcher *patcher)
{
	return patcher->result->prefix;
}

static const struct gt_patch_program *program_at(const struct gt_patcher *patcher, uint32_t number)
{
	return &patcher->options->programs[number];
}

/* ---- translation ----------------------------------------------------------------------- */

/*
 * From sm_70 on, lanes that skip a program may continue while others wait in it, also beyond the
 * point where their paths join. What the kernel executes next may need them together: matrix
 * instructions, activemask.
 */
static bool must_rejoin(const struct gt_patcher *patcher, uint32_t number)
{
	enum { FIRST_INDEPENDENT = 70 };

	return patcher->translation.waits && patcher->module->sm >= FIRST_INDEPENDENT &&
	       gt_patch_has_sync(patcher->module) &&
	       !gt_patch_ends_threads(program_at(patcher, number));
}

static int translate_program(struct gt_patcher *patcher, uint32_t number)
{
	const struct gt_patch_program *program = program_at(patcher, number);
	const struct gt_patch_options *options = patcher->options;
	const struct gt_ptx_module *module = patcher->module;
	struct gt_translate_options translate = {
		.form = GT_FORM_SPLICE,
		.sm = module->sm,
		.sm_suffix = module->sm_suffix,
		.version = module->version_major * 10 + module->version_minor,
		.prefix = prefix_of(patcher),
		.output_bytes = options->output_bytes,
		.symbols_global = patcher->set->symbols_global,
		.private_arrays = patcher->private_arrays,
		.stack_outside = true,
		.symbols = options->symbols,
	};
	struct gt_translate_job job = {
		.program = program->program,
		.facts = program->facts,
		.section = &program->section,
	};
	struct gt_patch_values values;
	struct gt_diag diag = {0};
	int error;

	patcher->uses[number] =
		gt_patch_find_uses(program->program, program->facts, &program->section);
	gt_patch_list_values(prefix_of(patcher), patcher->uses[number], &values);
	job.values = values.items;
	job.value_count = values.count;
	gt_strbuf_clear(&patcher->translation.text);
	error = gt_target_ptx.translate(&translate, options->object, &job, &patcher->translation,
					&diag);
	if (error == -ENOMEM)
		return error;
	if (error) {
		patcher->rejected |= UINT64_C(1) << number;
		gt_patch_reject(patcher, number, NULL, 0, "%s", diag.text);
		return 0;
	}
	patcher->stacks[number] = patcher->translation.stack_bytes;
	patcher->result->reads_device |= patcher->translation.reads_device;
	if (must_rejoin(patcher, number))
		patcher->rejoining |= UINT64_C(1) << number;
	gt_strbuf_add(&patcher->bodies[number], gt_strbuf_string(&patcher->translation.text),
		      patcher->translation.text.length);
	return patcher->bodies[number].failed ? -ENOMEM : 0;
}

/* The last rejection gets the sites of its program. */
static void count_rejected(struct gt_patcher *patcher)
{
	gt_vec_each (site, &patcher->result->sites) {
		uint64_t rejected = site->programs & patcher->rejected;

		gt_vec_each (rejection, &patcher->result->rejections)
			if (!rejection->function && rejected >> rejection->program & 1) {
				rejection->sites++;
				patcher->result->rejected++;
			}
		site->programs &= ~patcher->rejected;
	}
}

int gt_patch_translate(struct gt_patcher *patcher)
{
	uint64_t programs = gt_patch_programs_with_sites(patcher);
	int error = 0;

	for (uint32_t i = 0; i < patcher->options->program_count && !error; i++)
		if (programs >> i & 1 && program_at(patcher, i)->program)
			error = translate_program(patcher, i);
	count_rejected(patcher);
	return error;
}

void gt_patch_put_stack(const struct gt_patcher *patcher, uint64_t programs,
			struct gt_strbuf *buffer)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < patcher->options->program_count; i++)
		if (programs >> i & 1 && patcher->stacks[i] > bytes)
			bytes = patcher->stacks[i];
	if (bytes)
		gt_strbuf_printf(buffer, "\t.local .align 8 .b8 %sstack[%u];\n", prefix_of(patcher),
				 bytes);
}

/* ---- conditions ------------------------------------------------------------------------ */

/* Where a program does not run, its body is skipped. */
struct patch_label {
	char text[GT_MAX_PREFIX + 40];
};

static struct patch_label skip_label(const struct gt_patcher *patcher, uint32_t program,
				     uint32_t site)
{
	struct patch_label label;

	snprintf(label.text, sizeof(label.text), "%sskip_%u_%u", prefix_of(patcher), program, site);
	return label;
}

/* Skip where the instruction's guard does not hold. */
void gt_patch_put_guard(const struct gt_ptx_instruction *instruction, const char *label,
			struct gt_strbuf *buffer)
{
	struct gt_ptx_operand guard = *instruction->guard;

	guard.negated = !guard.negated;
	gt_strbuf_putc(buffer, '@');
	gt_ptx_print_operand(&guard, buffer);
	gt_strbuf_printf(buffer, " bra %s;\n", label);
}

/* A branch's program runs on both paths, as that of a line or block that starts with any
 * instruction; that of a loop's end after a branch where it is not taken; those of an early exit
 * and all others only where the instruction is executed. */
static bool has_guard(const struct gt_patch_site *site, enum gt_section_kind kind)
{
	if (kind == GT_KIND_BRANCH || kind == GT_KIND_LINE || kind == GT_KIND_BASIC_BLOCK ||
	    (kind == GT_KIND_LOOP_END && site->after))
		return false;
	return site->statement && site->statement->instruction.guard;
}

/*
 * Skip where the program is switched off. A program that runs once per warp needs all lanes of its
 * group, so they decide together: the word may change between the loads of two lanes.
 */
static void put_switch_test(const struct gt_patcher *patcher, uint32_t program, const char *label,
			    struct gt_strbuf *buffer)
{
	bool votes = program_at(patcher, program)->section.level == GT_LEVEL_WARP;
	const char *p = prefix_of(patcher);

	gt_strbuf_printf(buffer,
			 "{\n\t.reg .b64 %sat_switches;\n\t.reg .b32 %sat_on;\n"
			 "\t.reg .pred %sat_off;\n"
			 "\tld.%s.u64 %sat_switches, [%sswitches];\n"
			 "\tld.volatile.global.u32 %sat_on, [%sat_switches+%u];\n"
			 "\tsetp.eq.u32 %sat_off, %sat_on, 0;\n",
			 p, p, p, gt_patch_symbol_space(patcher), p, p, p, p, program * 4, p, p);
	if (votes && gt_patch_has_sync(patcher->module))
		gt_strbuf_printf(buffer,
				 "\tactivemask.b32 %sat_on;\n"
				 "\tvote.sync.any.pred %sat_off, %sat_off, %sat_on;\n",
				 p, p, p, p);
	else if (votes)
		gt_strbuf_printf(buffer, "\tvote.any.pred %sat_off, %sat_off;\n", p, p);
	gt_strbuf_printf(buffer, "@%sat_off bra %s;\n}\n", p, label);
}

/* Branch to a label in all threads of a block but the first. */
static void put_first_thread_test(const struct gt_patcher *patcher, const char *label,
				  struct gt_strbuf *buffer)
{
	const char *p = prefix_of(patcher);

	gt_strbuf_printf(buffer,
			 "{\n\t.reg .b32 %sat_a, %sat_b;\n\t.reg .pred %sat_other;\n"
			 "\tmov.u32 %sat_a, %%tid.x;\n"
			 "\tmov.u32 %sat_b, %%tid.y;\n\tor.b32 %sat_a, %sat_a, %sat_b;\n"
			 "\tmov.u32 %sat_b, %%tid.z;\n\tor.b32 %sat_a, %sat_a, %sat_b;\n"
			 "\tsetp.ne.u32 %sat_other, %sat_a, 0;\n"
			 "@%sat_other bra %s;\n}\n",
			 p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, label);
}

/* ---- a site ---------------------------------------------------------------------------- */

/* The lanes that come to a program together continue together: the mask of put_rejoin. */
static void put_lanes(const struct gt_patcher *patcher, struct gt_strbuf *buffer)
{
	const char *p = prefix_of(patcher);

	gt_strbuf_printf(buffer, "{\n\t.reg .b32 %sat_together;\n\tactivemask.b32 %sat_together;\n",
			 p, p);
}

static void put_rejoin(const struct gt_patcher *patcher, struct gt_strbuf *buffer)
{
	gt_strbuf_printf(buffer, "\tbar.warp.sync %sat_together;\n}\n", prefix_of(patcher));
}

static void put_program(struct gt_patcher *patcher, const struct gt_patch_site *site,
			const struct gt_patch_value_site *at, uint32_t number,
			struct gt_strbuf *buffer)
{
	const struct gt_section *section = &program_at(patcher, number)->section;
	struct patch_label skip = skip_label(patcher, number, site->number);
	bool rejoins = patcher->rejoining >> number & 1;

	patcher->result->patched++;
	if (!program_at(patcher, number)->program)
		return;
	if (rejoins)
		put_lanes(patcher, buffer);
	if (has_guard(site, section->kind))
		gt_patch_put_guard(&site->statement->instruction, skip.text, buffer);
	if (gt_patch_is_block_end(section))
		gt_strbuf_printf(buffer, "@!%sat_last bra %s;\n", prefix_of(patcher), skip.text);
	else if (section->level == GT_LEVEL_BLOCK)
		put_first_thread_test(patcher, skip.text, buffer);
	if (patcher->options->switchable)
		put_switch_test(patcher, number, skip.text, buffer);
	if (!gt_patch_put_call(patcher, number, at, buffer))
		gt_strbuf_add(buffer, gt_strbuf_string(&patcher->bodies[number]),
			      patcher->bodies[number].length);
	gt_strbuf_printf(buffer, "%s:\n", skip.text);
	if (rejoins)
		put_rejoin(patcher, buffer);
}

static struct gt_patch_value_site value_site(const struct gt_patcher *patcher,
					     const struct gt_patch_site *site,
					     const struct gt_ptx_function *function)
{
	const struct gt_ptx_module *module = patcher->module;
	struct gt_patch_value_site at = {
		.prefix = prefix_of(patcher),
		.function = function,
		.instruction = site->statement ? &site->statement->instruction : NULL,
		.site = site->number,
		.line = site->line,
		.source_line = site->loc ? site->loc->line : 0,
		/* Programs that read it run in device functions of one kernel alone: match.c. */
		.kernel = function->is_entry ? patcher->functions[function->number].kernel
					     : patcher->options->first_kernel,
		.has_sync = gt_patch_has_sync(module),
		.after = site->after,
		.loop = site->loop,
		.statement = site->statement,
	};

	if (site->kinds & KIND(BASIC_BLOCK) && site->programs)
		at.section =
			&program_at(patcher, (uint32_t)__builtin_ctzll(site->programs))->section;
	for (uint32_t i = 0; i < patcher->options->program_count; i++)
		if (site->programs >> i & 1)
			at.uses = gt_patch_join_uses(at.uses, patcher->uses[i]);
	return at;
}

static void put_programs(struct gt_patcher *patcher, const struct gt_patch_site *site,
			 const struct gt_ptx_function *function, struct gt_strbuf *buffer)
{
	struct gt_patch_value_site at = value_site(patcher, site, function);

	for (uint32_t i = 0; i < patcher->options->program_count; i++)
		if (site->programs >> i & 1)
			put_program(patcher, site, &at, i, buffer);
}

static bool inserts_something(const struct gt_patcher *patcher, const struct gt_patch_site *site)
{
	for (uint32_t i = 0; i < patcher->options->program_count; i++)
		if (site->programs >> i & 1 && program_at(patcher, i)->program)
			return true;
	return false;
}

static void open_site(struct gt_patcher *patcher, const struct gt_patch_site *site,
		      const struct gt_ptx_function *function, struct gt_strbuf *buffer)
{
	struct gt_patch_value_site at = value_site(patcher, site, function);

	gt_strbuf_puts(buffer, "{\n");
	gt_patch_put_values(&at, buffer);
	if (gt_patch_has_block_end(patcher, site->programs))
		gt_patch_put_last_thread(patcher, site, buffer);
}

/* "@%p1 " where the site's programs have the guard of their instruction. */
static void put_site_guard(const struct gt_patch_site *site, struct gt_strbuf *buffer)
{
	if (!site->statement->instruction.guard || site->after)
		return;
	gt_strbuf_putc(buffer, '@');
	gt_ptx_print_operand(site->statement->instruction.guard, buffer);
	gt_strbuf_putc(buffer, ' ');
}

/*
 * The end of an early exit: threads that take the branch exit here, since the programs of the exit
 * have run. The branch itself is never taken then.
 */
static void put_early_exit(const struct gt_patch_site *site, struct gt_strbuf *buffer)
{
	if (!site->statement || !(site->kinds & KIND(EXIT)) ||
	    site->statement->instruction.form->opcode != GT_PTX_OP_BRA)
		return;
	put_site_guard(site, buffer);
	gt_strbuf_puts(buffer, "ret;\n");
}

/* A thread that leaves a loop counts from 0 when it enters it again. */
static void put_loop_reset(const struct gt_patcher *patcher, const struct gt_patch_site *site,
			   struct gt_strbuf *buffer)
{
	if (!site->loop)
		return;
	put_site_guard(site, buffer);
	gt_strbuf_printf(buffer, "mov.u32 %strips_%u, 0;\n", prefix_of(patcher),
			 site->loop->number);
}

static void put_site(struct gt_patcher *patcher, const struct gt_patch_site *site,
		     const struct gt_ptx_function *function, struct gt_strbuf *buffer)
{
	if (inserts_something(patcher, site)) {
		open_site(patcher, site, function, buffer);
		put_programs(patcher, site, function, buffer);
		gt_strbuf_puts(buffer, "}\n");
	} else {
		put_programs(patcher, site, function, buffer);
	}
	put_loop_reset(patcher, site, buffer);
	put_early_exit(site, buffer);
}

/* ---- printing -------------------------------------------------------------------------- */

/* The next site, if it is at this statement of this function. */
static const struct gt_patch_site *next_site(const struct gt_patcher *patcher,
					     const struct gt_ptx_function *function,
					     const struct gt_ptx_statement *statement)
{
	const struct gt_patch_site *site;

	if (patcher->functions[function->number].first_site == UINT32_MAX ||
	    patcher->cursor >= patcher->result->sites.count)
		return NULL;
	site = &patcher->result->sites.items[patcher->cursor];
	return site->function == function->name && site->statement == statement ? site : NULL;
}

static bool keep_item(void *context, const struct gt_ptx_item *item)
{
	return gt_patch_keeps(context, item);
}

/* How often each thread has passed the start of each loop. */
static void put_trip_counters(const struct gt_patcher *patcher,
			      const struct gt_patch_function *function, struct gt_strbuf *buffer)
{
	const char *p = prefix_of(patcher);

	for (uint32_t i = 0; i < function->loop_count; i++) {
		uint32_t label = patcher->loops.items[function->first_loop + i]->number;

		gt_strbuf_printf(buffer, "\t.reg .b32 %strips_%u;\n\tmov.u32 %strips_%u, 0;\n", p,
				 label, p, label);
	}
}

/*
 * Where a kernel can get a limit of registers, once it is known how many it needs. The blocks of
 * others have a size of their own, and as few registers as that takes.
 */
static void put_register_comment(void *context, const struct gt_ptx_function *function,
				 struct gt_strbuf *buffer)
{
	const struct gt_patcher *patcher = context;

	if (patcher->functions[function->number].runs_programs &&
	    !gt_ptx_function_directive(function, GT_PTX_DIRECTIVE_MAXNTID) &&
	    !gt_ptx_function_directive(function, GT_PTX_DIRECTIVE_REQNTID))
		gt_strbuf_printf(buffer, GT_REGISTER_COMMENT "%s" GT_REGISTER_COMMENT_END "\n",
				 function->name);
}

static void begin_function(void *context, const struct gt_ptx_function *function,
			   struct gt_strbuf *buffer)
{
	struct gt_patcher *patcher = context;
	const struct gt_patch_function *known = &patcher->functions[function->number];
	const struct gt_patch_site *site;

	patcher->cursor = known->first_site;
	patcher->loop_cursor = known->first_loop;
	put_trip_counters(patcher, known, buffer);
	if (known->first_site != UINT32_MAX)
		gt_patch_put_stack(patcher, known->programs & ~patcher->rejected, buffer);
	/* First: its lanes are together, since no branch has separated them. */
	if (gt_patch_counts_exits(patcher, function))
		gt_patch_put_exit_counter(patcher, buffer);
	gt_patch_put_shape(patcher, function, buffer);
	site = next_site(patcher, function, NULL);
	if (site && site->kinds & (KIND(ENTRY) | KIND(CALL))) {
		put_site(patcher, site, function, buffer);
		patcher->cursor++;
	}
}

static void end_function(void *context, const struct gt_ptx_function *function,
			 struct gt_strbuf *buffer)
{
	struct gt_patcher *patcher = context;
	const struct gt_patch_site *site = next_site(patcher, function, NULL);

	if (site)
		put_site(patcher, site, function, buffer);
}

static void before_statement(void *context, const struct gt_ptx_statement *statement,
			     struct gt_strbuf *buffer)
{
	struct gt_patcher *patcher = context;
	const struct gt_ptx_function *function = statement->block->function;
	const struct gt_patch_site *site = next_site(patcher, function, statement);

	for (; site && !site->after; site = next_site(patcher, function, statement)) {
		put_site(patcher, site, function, buffer);
		patcher->cursor++;
	}
	if (site && !site->loop && inserts_something(patcher, site)) {
		struct gt_patch_value_site at = value_site(patcher, site, function);

		open_site(patcher, site, function, buffer);
		gt_patch_put_start(&at, buffer);
	}
}

static void after_statement(void *context, const struct gt_ptx_statement *statement,
			    struct gt_strbuf *buffer)
{
	struct gt_patcher *patcher = context;
	const struct gt_ptx_function *function = statement->block->function;
	const struct gt_patch_site *site = next_site(patcher, function, statement);
	struct gt_patch_value_site at;

	for (; site && site->loop; site = next_site(patcher, function, statement)) {
		put_site(patcher, site, function, buffer);
		patcher->cursor++;
	}
	if (!site)
		return;
	patcher->cursor++;
	if (!inserts_something(patcher, site)) {
		put_programs(patcher, site, function, buffer);
		return;
	}
	at = value_site(patcher, site, function);
	gt_patch_put_end(&at, buffer);
	gt_patch_put_loaded(&at, buffer);
	put_programs(patcher, site, function, buffer);
	gt_strbuf_puts(buffer, "}\n");
}

/* After the label of a loop: one more trip. */
static void after_label(void *context, const struct gt_ptx_statement *statement,
			struct gt_strbuf *buffer)
{
	struct gt_patcher *patcher = context;
	const struct gt_patch_function *function =
		&patcher->functions[statement->block->function->number];
	const char *p = prefix_of(patcher);

	if (patcher->loop_cursor >= function->first_loop + function->loop_count ||
	    patcher->loops.items[patcher->loop_cursor] != statement->label)
		return;
	patcher->loop_cursor++;
	gt_strbuf_printf(buffer, "\tadd.u32 %strips_%u, %strips_%u, 1;\n", p,
			 statement->label->number, p, statement->label->number);
}

/* The functions of programs that are called. Sites are in the order of the module's functions. */
static int plan_functions(struct gt_patcher *patcher)
{
	const struct gt_ptx_function *function = patcher->module->functions;
	int error = 0;

	gt_patch_plan_calls(patcher);
	gt_vec_each (site, &patcher->result->sites) {
		struct gt_patch_value_site at;

		while (function->name != site->function || !function->body)
			function = function->next;
		if (!(site->programs & patcher->functions[function->number].called))
			continue;
		at = value_site(patcher, site, function);
		error = error ? error : gt_patch_add_variants(patcher, site, &at);
	}
	return error;
}

int gt_patch_print(struct gt_patcher *patcher)
{
	const struct gt_ptx_additions additions = {
		.context = patcher,
		.keep = keep_item,
		.declare = gt_patch_declare_symbols,
		.header = put_register_comment,
		.begin = begin_function,
		.end = end_function,
		.before = before_statement,
		.after = after_statement,
		.label = after_label,
	};

	int error = plan_functions(patcher);

	if (error)
		return error;
	gt_ptx_print_with(patcher->module, &additions, &patcher->result->text);
	return patcher->result->text.failed ? -ENOMEM : 0;
}
