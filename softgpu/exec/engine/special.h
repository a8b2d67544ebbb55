/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Special registers, PTX ISA 9.0, chapter 10, and the other slots that are filled. */
#pragma once

#include "exec/engine/engine.h"

/* How often a special register changes; false: at any moment (%clock, %globaltimer). */
bool sg_special_fill_kind(enum gt_ptx_special special, enum sg_fill_kind *ret_kind);
/* Whether it says where the system's part of shared memory is: kernels that ask have one. */
bool sg_special_is_reserved(enum gt_ptx_special special);
/* Fills slots of all warps: those that differ between blocks, with `all` the others too. */
void sg_block_fill(struct sg_block *block, bool all);
/* Reads a register that changes at any moment: selector is an enum gt_ptx_special. */
sg_run sg_run_special;
