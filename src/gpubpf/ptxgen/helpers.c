/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The helpers in PTX: gt_ptxgen_<does> of each row of helpers.def; here are those that are short.
 */
#include <errno.h>

#include "gpubpf/ptxgen/map.h"

/* ---- what a thread knows of itself ----------------------------------------------------- */

/* r0 = a .b64. */
static int give(struct gt_ptxgen *gen, const struct gt_ptxgen_name *value)
{
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0);

	gt_ptxgen_emit(gen, "mov.u64 %s, %s", result.text, value->text);
	return 0;
}

/* r0 = the source of the row. */
static int gt_ptxgen_read_source(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name value = gt_ptxgen_source(gen, gen->source, 0);

	return give(gen, &value);
}

static int gt_ptxgen_flat_thread_id(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name value = gt_ptxgen_flat_thread(gen);

	return give(gen, &value);
}

static int gt_ptxgen_flat_block_id(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name value = gt_ptxgen_flat_block(gen);

	return give(gen, &value);
}

static int gt_ptxgen_flat_warp_id(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name value = gt_ptxgen_flat_warp(gen);

	return give(gen, &value);
}

/* The source of the row and the two that follow it, stored where r1 to r3 point to. */
static int gt_ptxgen_store_sources(struct gt_ptxgen *gen, uint32_t insn)
{
	for (unsigned i = 0; i < 3; i++) {
		struct gt_ptxgen_name value = gt_ptxgen_source(gen, gen->source + i, 0);

		gt_ptxgen_store(gen, 1 + i, 0, 8, value.text);
	}
	gt_ptxgen_result(gen, 0);
	return 0;
}

/* ---- time, chance, the process ---------------------------------------------------------- */

static int gt_ptxgen_global_timer(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0);

	gt_ptxgen_emit(gen, "mov.u64 %s, %%globaltimer", result.text);
	return 0;
}

static int gt_ptxgen_clock_64(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0);

	gt_ptxgen_emit(gen, "mov.u64 %s, %%clock64", result.text);
	return 0;
}

/* The clock and the thread, well mixed. */
static int gt_ptxgen_prandom_u32(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name thread = gt_ptxgen_flat_thread(gen), mixed = gt_ptxgen_b32(gen);
	struct gt_ptxgen_name high = gt_ptxgen_b32(gen), result = gt_ptxgen_register(gen, 0);
	struct gt_ptxgen_name number = gt_ptxgen_low(gen, thread.text);

	gt_ptxgen_emit(gen, "mov.u32 %s, %%clock", mixed.text);
	gt_ptxgen_emit(gen, "mad.lo.u32 %s, %s, 0x9e3779b1, %s", mixed.text, number.text,
		       mixed.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %%globaltimer_lo", high.text);
	gt_ptxgen_emit(gen, "xor.b32 %s, %s, %s", mixed.text, mixed.text, high.text);
	for (unsigned i = 0; i < 2; i++) {
		gt_ptxgen_emit(gen, "shr.u32 %s, %s, 16", high.text, mixed.text);
		gt_ptxgen_emit(gen, "xor.b32 %s, %s, %s", mixed.text, mixed.text, high.text);
		gt_ptxgen_emit(gen, "mul.lo.u32 %s, %s, 0x%x", mixed.text, mixed.text,
			       i ? 0xc2b2ae35 : 0x85ebca6b);
	}
	gt_ptxgen_emit(gen, "shr.u32 %s, %s, 16", high.text, mixed.text);
	gt_ptxgen_emit(gen, "xor.b32 %s, %s, %s", mixed.text, mixed.text, high.text);
	gt_ptxgen_emit(gen, "cvt.u64.u32 %s, %s", result.text, mixed.text);
	return 0;
}

static int gt_ptxgen_pid_tgid(struct gt_ptxgen *gen, uint32_t insn)
{
	const char *space = gen->options->symbols_global ? "global" : "const";
	struct gt_strbuf *declarations = gt_ptxgen_declare(gen, "pid_tgid");
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0);

	if (declarations)
		gt_strbuf_printf(declarations, ".weak .%s .align 8 .b64 %spid_tgid[1];\n", space,
				 gen->prefix);
	gt_ptxgen_emit(gen, "ld.%s.u64 %s, [%spid_tgid]", space, result.text, gen->prefix);
	return 0;
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
