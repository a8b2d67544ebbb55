/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that run once per block where threads leave. The thread that runs them is the last one
 * to leave: the one whose addition to a counter in shared memory reaches the number of threads.
 * Nobody waits at the end, since threads that wait have not left. The counter is cleared at the
 * start, before a barrier. Shared memory that the host sizes at the launch has no room for it.
 */
#include <stdio.h>

#include "gpubpf/helpers.h"
#include "patch/private.h"

#define PROGRAM(n) (UINT64_C(1) << (n))

bool gt_patch_is_block_end(const struct gt_section *section)
{
	return section->kind == GT_KIND_BLOCK_END ||
	       (section->kind == GT_KIND_EXIT && section->level == GT_LEVEL_BLOCK);
}

enum {
	STATIC_SHARED = 48 << 10, /* bytes that a kernel may declare */
	EXIT_COUNTER = 4,
};

static void add_shared_variable(const struct gt_ptx_variable *variable, uint64_t *bytes,
				bool *dynamic)
{
	for (; variable; variable = variable->next) {
		if (variable->space != GT_PTX_SPACE_SHARED)
			continue;
		*dynamic = *dynamic || !gt_ptx_variable_size(variable);
		*bytes += gt_ptx_variable_size(variable) + gt_ptx_variable_alignment(variable);
	}
}

static bool exits_in(const struct gt_ptx_function *function)
{
	for (const struct gt_ptx_statement *statement = function->body->first; statement;
	     statement = gt_ptx_statement_next(statement))
		if (statement->kind == GT_PTX_STATEMENT_INSTRUCTION &&
		    statement->instruction.form->opcode == GT_PTX_OP_EXIT)
			return true;
	return false;
}

bool gt_patch_ends_threads(const struct gt_patch_program *program)
{
	for (uint32_t at = 0; program->program && at < program->facts->insn_count; at++) {
		const struct bpf_insn *insn = &program->program->insns[at];
		const struct gt_helper *helper =
			insn->code == (BPF_JMP | BPF_CALL) && !gt_bpf_is_subprogram_call(insn)
				? gt_helper((uint32_t)insn->imm)
				: NULL;

		if (program->facts->insns[at].reached && helper && helper->traits & GT_TRAIT_ENDS)
			return true;
	}
	return false;
}

/* Whether one of the programs ends threads, which are not counted then. */
static bool any_ends_threads(const struct gt_patch_options *options, uint64_t programs)
{
	for (uint32_t i = 0; i < options->program_count; i++)
		if (programs & PROGRAM(i) && gt_patch_ends_threads(&options->programs[i]))
			return true;
	return false;
}

/* What functions that a kernel reaches do with shared memory, and where they exit. */
struct counter_facts {
	uint64_t bytes;
	bool dynamic, exits;
};

static void add_counter_facts(const struct gt_ptx_module *module,
			      const struct gt_ptx_function *kernel,
			      const struct gt_patch_reach *reach, struct counter_facts *facts)
{
	for (const struct gt_ptx_item *item = module->items; item; item = item->next)
		if (item->kind == GT_PTX_ITEM_VARIABLES &&
		    reach->variables[item->variables->number])
			add_shared_variable(item->variables, &facts->bytes, &facts->dynamic);
	for (const struct gt_ptx_function *function = module->functions; function;
	     function = function->next) {
		if (!function->body || !reach->functions[function->number] ||
		    (function->is_entry && function != kernel))
			continue;
		facts->exits |= function != kernel && exits_in(function);
		for (const struct gt_ptx_statement *statement = function->body->first; statement;
		     statement = gt_ptx_statement_next(statement))
			if (statement->kind == GT_PTX_STATEMENT_VARIABLES)
				add_shared_variable(statement->variables, &facts->bytes,
						    &facts->dynamic);
	}
}

/* Why threads that leave a kernel cannot be counted in shared memory, or NULL. */
static const char *find_counter_obstacle(const struct gt_patch_set *set,
					 const struct gt_ptx_function *kernel,
					 const struct gt_patch_reaches *reaches)
{
	struct counter_facts facts = {.bytes = EXIT_COUNTER};

	if (any_ends_threads(set->patchers->options, gt_patch_programs_in(set, reaches, kernel)))
		return "a program that runs in it ends threads (bpf_exit), which are not counted";
	gt_patch_each (patcher, set)
		add_counter_facts(patcher->module, kernel, &reaches->items[patcher->index], &facts);
	if (facts.exits)
		return "a device function that it calls has an exit";
	if (set->code && set->code->has_others && gt_patch_calls_code(set, reaches))
		return "it calls machine code, which may have an exit";
	if (facts.dynamic)
		return "it uses dynamic shared memory, and the count of the threads that have "
		       "left needs static shared memory";
	return facts.bytes > STATIC_SHARED ? "it has no shared memory left for the count of the "
					     "threads that have left"
					   : NULL;
}

static uint32_t count_exits(const struct gt_patcher *patcher, const struct gt_ptx_function *kernel,
			    uint32_t kinds)
{
	return gt_patch_count_sites(kernel, kinds, gt_patch_finishes(patcher, kernel)) +
	       !!(gt_patch_end_kinds(kernel) & kinds);
}

static int check_kernel_block_end(struct gt_patcher *patcher, const struct gt_ptx_function *kernel)
{
	struct gt_patch_function *known = &patcher->functions[kernel->number];
	struct gt_patch_reaches reaches;
	const char *obstacle;
	int error;

	if (!gt_patch_has_block_end(patcher, known->programs))
		return 0;
	error = gt_patch_reaches_new(patcher->set, &reaches);
	if (!error)
		error = gt_patch_reaches_add(patcher->set, patcher, kernel, &reaches);
	obstacle = error ? NULL : find_counter_obstacle(patcher->set, kernel, &reaches);
	for (uint32_t i = 0; obstacle && i < patcher->options->program_count; i++) {
		const struct gt_section *section = &patcher->options->programs[i].section;

		if (!(known->programs & PROGRAM(i)) || !gt_patch_is_block_end(section))
			continue;
		known->programs &= ~PROGRAM(i);
		gt_patch_reject(patcher, i, kernel->name,
				count_exits(patcher, kernel, gt_patch_site_kinds(section->kind)),
				"%s", obstacle);
	}
	gt_patch_reaches_clear(patcher->set, &reaches);
	return error;
}

int gt_patch_check_block_ends(struct gt_patcher *patcher)
{
	int error = 0;

	for (const struct gt_ptx_function *function = patcher->module->functions;
	     function && !error; function = function->next)
		if (function->is_entry && function->body &&
		    patcher->functions[function->number].kept)
			error = check_kernel_block_end(patcher, function);
	return error;
}

/* ---- text ------------------------------------------------------------------------------ */

bool gt_patch_has_block_end(const struct gt_patcher *patcher, uint64_t programs)
{
	for (uint32_t i = 0; i < patcher->options->program_count; i++) {
		const struct gt_patch_program *program = &patcher->options->programs[i];

		if (programs & PROGRAM(i) && program->program &&
		    gt_patch_is_block_end(&program->section))
			return true;
	}
	return false;
}

void gt_patch_put_exit_counter(const struct gt_patcher *patcher, struct gt_strbuf *buffer)
{
	char label[GT_MAX_PREFIX + 40];
	const char *p = patcher->result->prefix;

	snprintf(label, sizeof(label), "%scleared", p);
	gt_strbuf_printf(buffer, "\t.shared .align 4 .b32 %sexits;\n", p);
	gt_patch_put_first_thread_test(patcher, label, buffer);
	gt_strbuf_printf(buffer, "\tst.shared.u32 [%sexits], 0;\n%s:\n\tbar.sync 0;\n", p, label);
}

void gt_patch_put_last_thread(const struct gt_patcher *patcher, const struct gt_patch_site *site,
			      struct gt_strbuf *buffer)
{
	const char *p = patcher->result->prefix;
	char label[GT_MAX_PREFIX + 40];

	snprintf(label, sizeof(label), "%slast_%u", p, site->number);
	gt_strbuf_printf(buffer, "\t.reg .pred %sat_last;\n\tsetp.ne.u32 %sat_last, 0, 0;\n", p, p);
	if (site->statement && site->statement->instruction.guard)
		gt_patch_put_guard(&site->statement->instruction, label, buffer);
	gt_strbuf_printf(buffer,
			 "{\n\t.reg .b32 %sat_a, %sat_b, %sat_c;\n"
			 "\tmov.u32 %sat_a, %%ntid.x;\n"
			 "\tmov.u32 %sat_b, %%ntid.y;\n\tmul.lo.u32 %sat_a, %sat_a, %sat_b;\n"
			 "\tmov.u32 %sat_b, %%ntid.z;\n\tmul.lo.u32 %sat_a, %sat_a, %sat_b;\n"
			 "\tatom.shared.add.u32 %sat_c, [%sexits], 1;\n"
			 "\tadd.u32 %sat_c, %sat_c, 1;\n"
			 "\tsetp.eq.u32 %sat_last, %sat_c, %sat_a;\n}\n%s:\n",
			 p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, label);
}
