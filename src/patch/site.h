/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which statements of a function are sites, and of which kinds of programs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gpubpf/context.h"
#include "ptx/ptx.h"

/* A memory access: ld, st, atom, red, cp.async. */
struct gt_patch_access {
	enum gt_memory_access kind;
	const struct gt_ptx_operand *address; /* the first item within the [ ] */
	/* Loaded, stored, or the atomic's operand: a register, a constant or a VECTOR; or NULL. */
	const struct gt_ptx_operand *value;
	enum gt_bpf_space space;
	uint32_t element_bits; /* in memory */
	uint32_t elements;
	uint32_t width; /* bytes */
};

/* 0, or -ENOENT: no access, or one to parameters, constants or registers. */
int gt_patch_read_access(const struct gt_ptx_instruction *instruction,
			 struct gt_patch_access *ret_access);

/* Bits of gt_section_kind. MEMORY, ENTRY at the level block and the like are not distinguished. */
uint32_t gt_patch_statement_kinds(const struct gt_ptx_statement *statement);
/* Those of the start and of the end of a function's body; 0 where execution never gets there. */
uint32_t gt_patch_begin_kinds(const struct gt_ptx_function *function);
uint32_t gt_patch_end_kinds(const struct gt_ptx_function *function);
/*
 * The kinds that a branch to the end of its kernel has besides, where programs of the kind FINISH
 * run: those of an exit. 0: the statement is no such branch.
 */
uint32_t gt_patch_early_exit_kinds(const struct gt_ptx_statement *statement);
/*
 * The kinds of programs that an instruction concerns although it cannot be a site for them:
 * *ret_reason, static, says why. 0: there are none.
 */
uint32_t gt_patch_rejected_kinds(const struct gt_ptx_statement *statement, const char **ret_reason);
/* The kinds of sites where programs of a section's kind run. */
uint32_t gt_patch_site_kinds(enum gt_section_kind kind);

/*
 * Statements of a function that are sites of one of these kinds; finishes: early exits, too. For
 * ends of loops, the branches back are counted.
 */
uint32_t gt_patch_count_sites(const struct gt_ptx_function *function, uint32_t kinds,
			      bool finishes);

/* Those of the kinds whose programs run after the instruction rather than before it. */
uint32_t gt_patch_kinds_after(uint32_t kinds);
