/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Helpers in PTX: gt_ptxgen_<does> of each row of helpers.def. Here are the short ones. */
#include <errno.h>

#include "gpubpf/ptxgen/map.h"

/* ---- context and thread ---------------------------------------------------------------- */

/* r0 = a .b64. */
static int emit_result(struct gt_ptxgen *gen, struct gt_ptxgen_value value)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0);

	gt_ptxgen_emit(gen, "mov.u64", result, value);
	return 0;
}

/* r0 = the source of the row. */
static int gt_ptxgen_read_source(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value value = gt_ptxgen_bounded_source(gen, gen->source, 0);

	return emit_result(gen, value);
}

/* r0 = a symbol of one word. */
static int emit_word(struct gt_ptxgen *gen, const char *symbol)
{
	gt_ptxgen_emit(gen, gt_ptxgen_memory("ld", gt_ptxgen_symbol_space(gen), 'u', 64),
		       gt_ptxgen_reg64(gen, 0),
		       gt_ptxgen_declared(gen, gt_ptxgen_symbol(symbol), 1));
	return 0;
}

static int gt_ptxgen_get_device(struct gt_ptxgen *gen, uint32_t insn)
{
	gen->reads_device = true;
	return emit_word(gen, "device");
}

/* r0 = register r1 of the section's list, one of those that r1 can be; without one, the device. */
static int gt_ptxgen_get_register(struct gt_ptxgen *gen, uint32_t insn)
{
	const struct gt_register_fact *number = gt_ptxgen_fact(gen, 1);
	struct gt_ptxgen_value value;

	if (!gt_section_lists_registers(gen->job->section))
		return gt_ptxgen_get_device(gen, insn);
	value = gt_ptxgen_source(gen, GT_SOURCE_REGISTER, (uint32_t)number->min);
	for (int64_t i = number->min + 1; i <= number->max; i++) {
		struct gt_ptxgen_value other =
			gt_ptxgen_source(gen, GT_SOURCE_REGISTER, (uint32_t)i);
		struct gt_ptxgen_value is_other = gt_ptxgen_predicate(gen);
		struct gt_ptxgen_value either = gt_ptxgen_b64(gen);

		gt_ptxgen_emit(gen, "setp.eq.u64", is_other, gt_ptxgen_reg64(gen, 1), i);
		gt_ptxgen_emit(gen, "selp.b64", either, other, value, is_other);
		value = either;
	}
	return emit_result(gen, value);
}

static int gt_ptxgen_flat_thread_id(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value value = gt_ptxgen_flat_thread(gen);

	return emit_result(gen, value);
}

static int gt_ptxgen_flat_block_id(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value value = gt_ptxgen_flat_block(gen);

	return emit_result(gen, value);
}

static int gt_ptxgen_flat_warp_id(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value value = gt_ptxgen_flat_warp(gen);

	return emit_result(gen, value);
}

/* The source of the row and the two that follow it, stored where r1 to r3 point to. */
static int gt_ptxgen_store_sources(struct gt_ptxgen *gen, uint32_t insn)
{
	for (unsigned i = 0; i < 3; i++) {
		struct gt_ptxgen_value value = gt_ptxgen_source(gen, gen->source + i, 0);

		gt_ptxgen_store(gen, 1 + i, 0, 8, value);
	}
	gt_ptxgen_result(gen, 0);
	return 0;
}

/* ---- time, random numbers, the process --------------------------------------------------- */

static int gt_ptxgen_global_timer(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0);

	gt_ptxgen_emit(gen, "mov.u64", result, gt_ptxgen_text("%globaltimer"));
	return 0;
}

static int gt_ptxgen_clock_64(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0);

	gt_ptxgen_emit(gen, "mov.u64", result, gt_ptxgen_text("%clock64"));
	return 0;
}

/* A hash of the clock and the thread. */
static int gt_ptxgen_prandom_u32(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value thread = gt_ptxgen_flat_thread(gen), mixed = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value high = gt_ptxgen_b32(gen), result = gt_ptxgen_reg64(gen, 0);
	struct gt_ptxgen_value number = gt_ptxgen_low_half(gen, thread);

	gt_ptxgen_emit(gen, "mov.u32", mixed, gt_ptxgen_text("%clock"));
	gt_ptxgen_emit(gen, "mad.lo.u32", mixed, number, gt_ptxgen_hex(0x9e3779b1), mixed);
	gt_ptxgen_emit(gen, "mov.u32", high, gt_ptxgen_text("%globaltimer_lo"));
	gt_ptxgen_emit(gen, "xor.b32", mixed, mixed, high);
	for (unsigned i = 0; i < 2; i++) {
		gt_ptxgen_emit(gen, "shr.u32", high, mixed, 16);
		gt_ptxgen_emit(gen, "xor.b32", mixed, mixed, high);
		gt_ptxgen_emit(gen, "mul.lo.u32", mixed, mixed,
			       gt_ptxgen_hex(i ? 0xc2b2ae35 : 0x85ebca6b));
	}
	gt_ptxgen_emit(gen, "shr.u32", high, mixed, 16);
	gt_ptxgen_emit(gen, "xor.b32", mixed, mixed, high);
	gt_ptxgen_emit(gen, "cvt.u64.u32", result, mixed);
	return 0;
}

static int gt_ptxgen_pid_tgid(struct gt_ptxgen *gen, uint32_t insn)
{
	return emit_word(gen, "pid_tgid");
}

/* ---- control ---------------------------------------------------------------------------- */

static int gt_ptxgen_membar(struct gt_ptxgen *gen, uint32_t insn)
{
	gt_ptxgen_emit(gen, "membar.sys");
	gt_ptxgen_result(gen, 0);
	return 0;
}

static int gt_ptxgen_leave(struct gt_ptxgen *gen, uint32_t insn)
{
	gt_ptxgen_emit(gen, "exit");
	return 0;
}

/* Hints on eviction are for .global, and need sm_80 and PTX 7.4; without them this is L2's
 * prefetch. */
static void emit_eviction_hint(struct gt_ptxgen *gen, struct gt_ptxgen_value address,
			       const char *opcode)
{
	struct gt_ptxgen_value is_global = gt_ptxgen_predicate(gen);

	if (gen->sm < 80 || gen->version < 74) {
		gt_ptxgen_emit(gen, "prefetch.L2", gt_ptxgen_at(address, 0));
		return;
	}
	gt_ptxgen_emit(gen, "isspacep.global", is_global, address);
	gt_ptxgen_emit_if(gen, gt_ptxgen_if(is_global), opcode, gt_ptxgen_at(address, 0));
}

static int gt_ptxgen_prefetch(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value address = gt_ptxgen_reg64(gen, 1);

	switch ((enum gt_prefetch)gt_ptxgen_fact(gen, 2)->min) {
	case GT_PREFETCH_L1:
		gt_ptxgen_emit(gen, "prefetch.L1", gt_ptxgen_at(address, 0));
		break;
	case GT_PREFETCH_KEEP:
		emit_eviction_hint(gen, address, "prefetch.global.L2::evict_last");
		break;
	case GT_PREFETCH_RELEASE:
		emit_eviction_hint(gen, address, "prefetch.global.L2::evict_normal");
		break;
	default:
		gt_ptxgen_emit(gen, "prefetch.L2", gt_ptxgen_at(address, 0));
	}
	gt_ptxgen_result(gen, 0);
	return 0;
}

static const struct gt_ptxgen_helper rows[] = {
#define HELPER(number, name, does, source, ...) {(number), gt_ptxgen_##does, GT_SOURCE_##source},
#include "gpubpf/helpers.def"
#undef HELPER
};

const struct gt_ptxgen_helper *gt_ptxgen_helper(uint32_t number)
{
	for (size_t i = 0; i < gt_countof(rows); i++)
		if (rows[i].number == number)
			return &rows[i];
	return NULL;
}
