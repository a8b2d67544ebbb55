/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Special registers (PTX ISA 9.0, chapter 10), and the slots that are filled when a block starts.
 */
#pragma once

#include "exec/engine/engine.h"

/* Returns how often a special register changes; false: while a block runs (%clock). */
bool sg_special_fill_kind(enum gt_ptx_special special, enum sg_fill_kind *ret_kind);
/* Returns whether it is an offset of the system's shared memory; kernels that read it have one. */
bool sg_special_is_reserved(enum gt_ptx_special special);
/* Fills the slots of all warps that differ between blocks; with `all` the others too. */
void sg_block_fill(struct sg_block *block, bool all);
/* Reads a register that changes while a block runs; selector: enum gt_ptx_special. */
sg_run sg_run_special;
