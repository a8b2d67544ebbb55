/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Instruction selection for other targets than PTX: a program as the list of instructions (ir.h),
 * with orders and scopes as on sm_70, and without instructions that threads of a warp execute
 * together unless the program itself asks for values of other lanes.
 */
#pragma once

#include "gpubpf/ptxgen/ir.h"
#include "gpubpf/translate.h"

/* In a list for other targets, operands: the lanes of the warp that the block has. */
#define GT_PTXGEN_WARP_MASK "%warpmask"
/* The number of the warp in its block, and how many the block has. */
#define GT_PTXGEN_WARP_NUMBER "%warpnumber"
#define GT_PTXGEN_WARP_COUNT "%warpcount"

enum {
	GT_PTXGEN_SELECT_VALUES = 96, /* of a job of the level warp */
};

struct gt_ptxgen_selection {
	struct gt_ptxgen_list list;
	uint32_t stack_bytes; /* of the symbol `stack` in .local */
	uint32_t copy_bytes;  /* of the symbol `copies` in .local */
};

/*
 * Select the instructions of a job. The group of one of the level warp is the mask among its
 * values, or all lanes of the warp. Errors are those of translate. The selection is to be cleared
 * also where it fails.
 */
int gt_ptxgen_select(const struct gt_translate_options *options, const struct gt_bpf_object *object,
		     const struct gt_translate_job *job, struct gt_ptxgen_selection *selection,
		     struct gt_diag *diag);
void gt_ptxgen_selection_clear(struct gt_ptxgen_selection *selection);
