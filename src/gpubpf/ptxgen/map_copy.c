/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Keys, values and records: copies from memory behind arguments into a map. */
#include "gpubpf/ptxgen/map.h"

/* Parts of `width` bytes, the first lowest, as one .b32 of at most 4 bytes. */
static struct gt_ptxgen_value emit_word_load(struct gt_ptxgen *gen, unsigned number, int64_t offset,
					     unsigned width, unsigned bytes)
{
	struct gt_ptxgen_value word, part = gt_ptxgen_load(gen, number, offset, width);

	word = gt_ptxgen_low_half(gen, part);
	for (unsigned at = width; at < bytes; at += width) {
		struct gt_ptxgen_value wide = gt_ptxgen_load(gen, number, offset + at, width);

		part = gt_ptxgen_low_half(gen, wide);
		gt_ptxgen_emit(gen, "shl.b32", part, part, 8 * at);
		gt_ptxgen_emit(gen, "or.b32", word, word, part);
	}
	return word;
}

void gt_ptxgen_load_words(struct gt_ptxgen *gen, unsigned number, uint32_t size,
			  struct gt_ptxgen_value *words)
{
	unsigned width = gt_ptxgen_access_width(gen, number, size);

	for (uint32_t at = 0; at < size;) {
		if (width == 8) {
			struct gt_ptxgen_value wide = gt_ptxgen_load(gen, number, at, 8);

			words[at / 4] = gt_ptxgen_b32(gen);
			words[at / 4 + 1] = gt_ptxgen_b32(gen);
			gt_ptxgen_split(gen, words[at / 4], words[at / 4 + 1], wide);
			at += 8;
		} else {
			words[at / 4] = emit_word_load(gen, number, at, width,
						       size - at < 4 ? size - at : 4);
			at += 4;
		}
	}
}

static void emit_store(struct gt_ptxgen *gen, unsigned width, struct gt_ptxgen_operand address,
		       struct gt_ptxgen_value value)
{
	gt_ptxgen_emit(
		gen,
		gt_ptxgen_memory("st", gt_ptxgen_global(gen), width < 4 ? 'u' : 'b', 8 * width),
		address, width < 8 ? gt_ptxgen_low_half(gen, value) : value);
}

void gt_ptxgen_copy_in(struct gt_ptxgen *gen, unsigned number, uint32_t size,
		       struct gt_ptxgen_value address)
{
	unsigned width;

	if (!size)
		return;
	if (size > GT_PTXGEN_MAX_UNROLLED) {
		struct gt_ptxgen_value bytes = gt_ptxgen_b64(gen);

		gt_ptxgen_emit(gen, "mov.u64", bytes, size);
		gt_ptxgen_copy_in_sized(gen, number, bytes, address);
		return;
	}
	width = gt_ptxgen_access_width(gen, number, size);
	for (uint32_t at = 0; at < size; at += width) {
		struct gt_ptxgen_value value = gt_ptxgen_load(gen, number, at, width);

		emit_store(gen, width, gt_ptxgen_at(address, at), value);
	}
}

/* Moves `width` bytes at a time while they are within `end`; advances both addresses. */
static void emit_copy_loop(struct gt_ptxgen *gen, unsigned width, enum gt_ptxgen_space space,
			   struct gt_ptxgen_value from, struct gt_ptxgen_value to,
			   struct gt_ptxgen_value end)
{
	struct gt_ptxgen_value again = gt_ptxgen_label(gen), done = gt_ptxgen_label(gen);
	struct gt_ptxgen_value over = gt_ptxgen_predicate(gen), next = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value value = width == 8 ? gt_ptxgen_b64(gen) : gt_ptxgen_b32(gen);
	char letter = width == 8 ? 'b' : 'u';

	gt_ptxgen_emit_label(gen, again);
	gt_ptxgen_emit(gen, "add.s64", next, to, width);
	gt_ptxgen_emit(gen, "setp.gt.u64", over, next, end);
	gt_ptxgen_branch_if(gen, over, done);
	gt_ptxgen_emit(gen, gt_ptxgen_memory("ld", space, letter, 8 * width), value,
		       gt_ptxgen_at(from, 0));
	gt_ptxgen_emit(gen, gt_ptxgen_memory("st", gt_ptxgen_global(gen), letter, 8 * width),
		       gt_ptxgen_at(to, 0), value);
	gt_ptxgen_emit(gen, "add.s64", from, from, width);
	gt_ptxgen_emit(gen, "mov.u64", to, next);
	gt_ptxgen_branch(gen, again);
	gt_ptxgen_emit_label(gen, done);
}

void gt_ptxgen_copy_in_sized(struct gt_ptxgen *gen, unsigned number, struct gt_ptxgen_value size,
			     struct gt_ptxgen_value address)
{
	struct gt_ptxgen_value from = gt_ptxgen_b64(gen), to = gt_ptxgen_b64(gen),
			       end = gt_ptxgen_b64(gen);
	enum gt_ptxgen_space space;
	struct gt_ptxgen_value source = gt_ptxgen_pointer(gen, number, &space);

	gt_ptxgen_emit(gen, "mov.u64", from, source);
	gt_ptxgen_emit(gen, "mov.u64", to, address);
	gt_ptxgen_emit(gen, "add.s64", end, address, size);
	if (gt_ptxgen_access_width(gen, number, 8) == 8)
		emit_copy_loop(gen, 8, space, from, to, end);
	emit_copy_loop(gen, 1, space, from, to, end);
}
