/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Offsets that go through constant memory.
 *
 * ptxas keeps a small array of a kernel in registers: where an index is not constant, by
 * comparisons and selects. Before sm_90 it does so only if no address in the kernel depends on what
 * another lane computed (ptxas 13.0). Else the array stays in local memory: the kernel would
 * execute stores and loads that it does not have without the program, and take up to 17 registers
 * more. A value that is loaded from constant memory is not such a value for ptxas, whatever its
 * address depends on.
 */
#include "gpubpf/ptxgen/map.h"

enum {
	UNIT = 3, /* offsets are multiples of 1 << UNIT */
	PART = 9, /* bits that one load replaces */
};
_Static_assert((sizeof(uint16_t) << PART) == GT_OFFSET_TABLE_BYTES,
	       "a .u16 for each value of a part");

/* A table with the multiples of 1 << UNIT. */
static struct gt_ptxgen_value declare_multiples(struct gt_ptxgen *gen)
{
	struct gt_strbuf *declarations = gt_ptxgen_declare(gen, "multiples");

	if (declarations) {
		gt_strbuf_printf(declarations, ".const .align 2 .u16 %smultiples[%d] = {0",
				 gen->prefix, 1 << PART);
		for (int i = 1; i < 1 << PART; i++)
			gt_strbuf_printf(declarations, ", %d", i << UNIT);
		gt_strbuf_puts(declarations, "};\n");
	}
	return gt_ptxgen_symbol("multiples");
}

/* A fresh .b32: the bits of `offset` from `shift` on, as a multiple of 1 << UNIT. */
static struct gt_ptxgen_value emit_part(struct gt_ptxgen *gen, struct gt_ptxgen_value table,
					struct gt_ptxgen_value offset, unsigned shift)
{
	struct gt_ptxgen_value index = gt_ptxgen_b32(gen), part = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value address = gt_ptxgen_b64(gen);

	/* In bytes of the table. */
	gt_ptxgen_emit(gen, "shr.u32", index, offset, shift - 1);
	gt_ptxgen_emit(gen, "and.b32", index, index, ((1 << PART) - 1) * sizeof(uint16_t));
	gt_ptxgen_emit(gen, "mad.wide.u32", address, index, 1, table);
	gt_ptxgen_emit(gen, gt_ptxgen_memory("ld", GT_PTXGEN_CONST, 'u', 16), part,
		       gt_ptxgen_at(address, 0));
	return part;
}

void gt_ptxgen_offset_through_constants(struct gt_ptxgen *gen, uint32_t mask,
					struct gt_ptxgen_value offset)
{
	const struct gt_translate_options *options = gen->options;
	struct gt_ptxgen_value table, whole;

	if (!options->private_arrays || options->symbols_global || gen->sm >= GT_OFFSET_TABLE_END)
		return;
	table = gt_ptxgen_b64(gen);
	whole = gt_ptxgen_b32(gen);
	gt_ptxgen_emit(gen, "mov.u64", table, declare_multiples(gen));
	gt_ptxgen_emit(gen, "mov.u32", whole, 0);
	for (unsigned shift = UNIT; shift < 32 && mask >> shift; shift += PART)
		gt_ptxgen_emit(gen, "mad.lo.u32", whole, emit_part(gen, table, offset, shift),
			       1u << (shift - UNIT), whole);
	gt_ptxgen_emit(gen, "mov.b32", offset, whole);
}
