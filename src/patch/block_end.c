/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that run once per block where threads leave, in the last thread that leaves it: which
 * they are, and where threads cannot be counted. exit_counter.c has the counters.
 */
#include "gpubpf/helpers.h"
#include "patch/private.h"

#define PROGRAM(n) (UINT64_C(1) << (n))

bool gt_patch_is_block_end(const struct gt_section *section)
{
	return section->kind == GT_KIND_BLOCK_END ||
	       (section->kind == GT_KIND_EXIT && section->level == GT_LEVEL_BLOCK);
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

/* Whether a device function that a kernel reaches has an exit. */
static bool callee_exits(const struct gt_patch_reach *reach)
{
	gt_vec_each (function, &reach->list)
		if (!(*function)->is_entry && (*function)->body && exits_in(*function))
			return true;
	return false;
}

/* Why threads that leave a kernel cannot be counted, or NULL. */
static const char *find_counter_obstacle(const struct gt_patch_set *set,
					 const struct gt_ptx_function *kernel,
					 const struct gt_patch_reaches *reaches)
{
	if (any_ends_threads(set->patchers->options, gt_patch_programs_in(set, reaches, kernel)))
		return "a program that runs in it ends threads (bpf_exit), which are not counted";
	gt_patch_each (patcher, set)
		if (callee_exits(&reaches->items[patcher->index]))
			return "a device function that it calls has an exit";
	if (set->code && set->code->has_others && gt_patch_calls_code(set, reaches))
		return "it calls machine code, which may have an exit";
	return NULL;
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
	const struct gt_patch_set *set = patcher->set;
	const char *obstacle;
	int error;

	if (!gt_patch_has_block_end(patcher, known->programs))
		return 0;
	error = gt_patch_reach_kernel(set, patcher, kernel);
	obstacle = error ? NULL : find_counter_obstacle(set, kernel, &set->from_kernel);
	for (uint32_t i = 0; obstacle && i < patcher->options->program_count; i++) {
		const struct gt_section *section = &patcher->options->programs[i].section;

		if (!(known->programs & PROGRAM(i)) || !gt_patch_is_block_end(section))
			continue;
		known->programs &= ~PROGRAM(i);
		gt_patch_reject(patcher, i, kernel->name,
				count_exits(patcher, kernel, gt_patch_site_kinds(section->kind)),
				"%s", obstacle);
	}
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
