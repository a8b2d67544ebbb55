/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The helpers in PTX: one row each, and those that only give a number. */
#include <errno.h>

#include "gpubpf/ptxgen_map.h"

/* ---- what a thread knows of itself ----------------------------------------------------- */

/* r0 = a .b64. */
static int give(struct gt_ptxgen *gen, const struct gt_ptx_name *value)
{
	struct gt_ptx_name result = gt_ptx_register(gen, 0);

	gt_ptx(gen, "mov.u64 %s, %s", result.text, value->text);
	return 0;
}

/* r0 = the source of the row. */
static int give_source(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptx_name value = gt_ptx_source(gen, gen->source, 0);

	return give(gen, &value);
}

static int flat_thread_id(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptx_name value = gt_ptx_flat_thread(gen);

	return give(gen, &value);
}

static int flat_block_id(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptx_name value = gt_ptx_flat_block(gen);

	return give(gen, &value);
}

static int flat_warp_id(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptx_name value = gt_ptx_flat_warp(gen);

	return give(gen, &value);
}

/* The source of the row and the two that follow it, stored where r1 to r3 point to. */
static int store_sources(struct gt_ptxgen *gen, uint32_t insn)
{
	for (unsigned i = 0; i < 3; i++) {
		struct gt_ptx_name value = gt_ptx_source(gen, gen->source + i, 0);

		gt_ptx_store(gen, 1 + i, 0, 8, value.text);
	}
	gt_ptx_result(gen, 0);
	return 0;
}

/* ---- time, chance, the process ---------------------------------------------------------- */

static int global_timer(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptx_name result = gt_ptx_register(gen, 0);

	gt_ptx(gen, "mov.u64 %s, %%globaltimer", result.text);
	return 0;
}

static int clock_64(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptx_name result = gt_ptx_register(gen, 0);

	gt_ptx(gen, "mov.u64 %s, %%clock64", result.text);
	return 0;
}

/* The clock and the thread, well mixed. */
static int prandom_u32(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptx_name thread = gt_ptx_flat_thread(gen), mixed = gt_ptx_b32(gen);
	struct gt_ptx_name high = gt_ptx_b32(gen), result = gt_ptx_register(gen, 0);
	struct gt_ptx_name number = gt_ptx_low(gen, thread.text);

	gt_ptx(gen, "mov.u32 %s, %%clock", mixed.text);
	gt_ptx(gen, "mad.lo.u32 %s, %s, 0x9e3779b1, %s", mixed.text, number.text, mixed.text);
	gt_ptx(gen, "mov.u32 %s, %%globaltimer_lo", high.text);
	gt_ptx(gen, "xor.b32 %s, %s, %s", mixed.text, mixed.text, high.text);
	for (unsigned i = 0; i < 2; i++) {
		gt_ptx(gen, "shr.u32 %s, %s, 16", high.text, mixed.text);
		gt_ptx(gen, "xor.b32 %s, %s, %s", mixed.text, mixed.text, high.text);
		gt_ptx(gen, "mul.lo.u32 %s, %s, 0x%x", mixed.text, mixed.text,
		       i ? 0xc2b2ae35 : 0x85ebca6b);
	}
	gt_ptx(gen, "shr.u32 %s, %s, 16", high.text, mixed.text);
	gt_ptx(gen, "xor.b32 %s, %s, %s", mixed.text, mixed.text, high.text);
	gt_ptx(gen, "cvt.u64.u32 %s, %s", result.text, mixed.text);
	return 0;
}

static int pid_tgid(struct gt_ptxgen *gen, uint32_t insn)
{
	const char *space = gen->options->symbols_global ? "global" : "const";
	struct gt_strbuf *declarations = gt_ptx_declare(gen, "pid_tgid");
	struct gt_ptx_name result = gt_ptx_register(gen, 0);

	if (declarations)
		gt_strbuf_printf(declarations, ".weak .%s .align 8 .b64 %spid_tgid[1];\n", space,
				 gen->prefix);
	gt_ptx(gen, "ld.%s.u64 %s, [%spid_tgid]", space, result.text, gen->prefix);
	return 0;
}

/* ---- control ---------------------------------------------------------------------------- */

static int membar(struct gt_ptxgen *gen, uint32_t insn)
{
	gt_ptx(gen, "membar.sys");
	gt_ptx_result(gen, 0);
	return 0;
}

static int leave(struct gt_ptxgen *gen, uint32_t insn)
{
	gt_ptx(gen, "exit");
	return 0;
}

static const struct gt_ptx_helper rows[] = {
	{GT_HELPER_map_lookup_elem, gt_ptx_map_lookup},
	{GT_HELPER_map_update_elem, gt_ptx_map_update},
	{GT_HELPER_map_delete_elem, gt_ptx_map_delete},
	{GT_HELPER_ktime_get_ns, global_timer},
	{GT_HELPER_trace_printk, gt_ptx_trace_printk},
	{GT_HELPER_get_prandom_u32, prandom_u32},
	{GT_HELPER_get_smp_processor_id, give_source, GT_SOURCE_SM},
	{GT_HELPER_get_current_pid_tgid, pid_tgid},
	{GT_HELPER_perf_event_output, gt_ptx_perf_output},
	{GT_HELPER_ringbuf_output, gt_ptx_ring_output},
	{GT_HELPER_ringbuf_reserve, gt_ptx_ring_reserve},
	{GT_HELPER_ringbuf_submit, gt_ptx_ring_submit},
	{GT_HELPER_ringbuf_discard, gt_ptx_ring_discard},
	{GT_HELPER_puts, gt_ptx_puts},
	{GT_HELPER_get_globaltimer, global_timer},
	{GT_HELPER_get_block_idx, store_sources, GT_SOURCE_BLOCK_X},
	{GT_HELPER_get_block_dim, store_sources, GT_SOURCE_BLOCK_SIZE_X},
	{GT_HELPER_get_thread_idx, store_sources, GT_SOURCE_THREAD_X},
	{GT_HELPER_membar, membar},
	{GT_HELPER_exit, leave},
	{GT_HELPER_get_grid_dim, store_sources, GT_SOURCE_GRID_SIZE_X},
	{GT_HELPER_get_sm_id, give_source, GT_SOURCE_SM},
	{GT_HELPER_get_warp_id, give_source, GT_SOURCE_WARP},
	{GT_HELPER_get_lane_id, give_source, GT_SOURCE_LANE},
	{GT_HELPER_warp_active_mask, gt_ptx_warp_active_mask},
	{GT_HELPER_warp_ballot, gt_ptx_warp_ballot},
	{GT_HELPER_warp_shuffle, gt_ptx_warp_shuffle},
	{GT_HELPER_warp_sum, gt_ptx_warp_sum},
	{GT_HELPER_warp_lane_value, gt_ptx_warp_lane_value},
	{GT_HELPER_clock64, clock_64},
	{GT_HELPER_launch_id, give_source, GT_SOURCE_LAUNCH},
	{GT_HELPER_flat_thread_id, flat_thread_id},
	{GT_HELPER_flat_block_id, flat_block_id},
	{GT_HELPER_flat_warp_id, flat_warp_id},
	{GT_HELPER_hist_add, gt_ptx_hist_add},
	{GT_HELPER_map_add, gt_ptx_map_add},
};

const struct gt_ptx_helper *gt_ptx_helper(uint32_t number)
{
	for (size_t i = 0; i < gt_countof(rows); i++)
		if (rows[i].number == number)
			return &rows[i];
	return NULL;
}
