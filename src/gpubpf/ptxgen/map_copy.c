/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Keys, values and records: from where arguments point to into a map. */
#include <inttypes.h>

#include "gpubpf/ptxgen/map.h"

/* Parts of `width` bytes, the first lowest, as one .b32 of at most 4 bytes. */
static struct gt_ptxgen_name join(struct gt_ptxgen *gen, unsigned number, int64_t offset,
				  unsigned width, unsigned bytes)
{
	struct gt_ptxgen_name word, part = gt_ptxgen_load(gen, number, offset, width);

	word = gt_ptxgen_low(gen, part.text);
	for (unsigned at = width; at < bytes; at += width) {
		struct gt_ptxgen_name wide = gt_ptxgen_load(gen, number, offset + at, width);

		part = gt_ptxgen_low(gen, wide.text);
		gt_ptxgen_emit(gen, "shl.b32 %s, %s, %u", part.text, part.text, 8 * at);
		gt_ptxgen_emit(gen, "or.b32 %s, %s, %s", word.text, word.text, part.text);
	}
	return word;
}

void gt_ptxgen_load_words(struct gt_ptxgen *gen, unsigned number, uint32_t size,
			  struct gt_ptxgen_name *words)
{
	unsigned width = gt_ptxgen_access_width(gen, number, size);

	for (uint32_t at = 0; at < size;) {
		if (width == 8) {
			struct gt_ptxgen_name wide = gt_ptxgen_load(gen, number, at, 8);

			words[at / 4] = gt_ptxgen_b32(gen);
			words[at / 4 + 1] = gt_ptxgen_b32(gen);
			gt_ptxgen_emit(gen, "mov.b64 {%s, %s}, %s", words[at / 4].text,
				       words[at / 4 + 1].text, wide.text);
			at += 8;
		} else {
			words[at / 4] = join(gen, number, at, width, size - at < 4 ? size - at : 4);
			at += 4;
		}
	}
}

static void store(struct gt_ptxgen *gen, unsigned width, const char *address, int64_t offset,
		  const struct gt_ptxgen_name *value)
{
	struct gt_ptxgen_name part = *value;

	if (width < 8)
		part = gt_ptxgen_low(gen, value->text);
	gt_ptxgen_emit(gen, "st%s.%c%u [%s+%" PRId64 "], %s", gt_ptxgen_global(gen),
		       width < 4 ? 'u' : 'b', 8 * width, address, offset, part.text);
}

void gt_ptxgen_copy_in(struct gt_ptxgen *gen, unsigned number, uint32_t size, const char *address)
{
	unsigned width;

	if (!size)
		return;
	if (size > GT_PTXGEN_MAX_UNROLLED) {
		struct gt_ptxgen_name bytes = gt_ptxgen_b64(gen);

		gt_ptxgen_emit(gen, "mov.u64 %s, %" PRIu32, bytes.text, size);
		gt_ptxgen_copy_in_sized(gen, number, bytes.text, address);
		return;
	}
	width = gt_ptxgen_access_width(gen, number, size);
	for (uint32_t at = 0; at < size; at += width) {
		struct gt_ptxgen_name value = gt_ptxgen_load(gen, number, at, width);

		store(gen, width, address, at, &value);
	}
}

/* Moves `width` bytes at a time while they are within `end`; advances both addresses. */
static void put_loop(struct gt_ptxgen *gen, unsigned width, const char *space, const char *from,
		     const char *to, const char *end)
{
	struct gt_ptxgen_name again = gt_ptxgen_label(gen), done = gt_ptxgen_label(gen);
	struct gt_ptxgen_name over = gt_ptxgen_predicate(gen), next = gt_ptxgen_b64(gen);
	struct gt_ptxgen_name value = width == 8 ? gt_ptxgen_b64(gen) : gt_ptxgen_b32(gen);
	const char *type = width == 8 ? "b64" : "u8";

	gt_ptxgen_put_label(gen, &again);
	gt_ptxgen_emit(gen, "add.s64 %s, %s, %u", next.text, to, width);
	gt_ptxgen_emit(gen, "setp.gt.u64 %s, %s, %s", over.text, next.text, end);
	gt_ptxgen_emit(gen, "@%s bra %s", over.text, done.text);
	gt_ptxgen_emit(gen, "ld%s.%s %s, [%s]", space, type, value.text, from);
	gt_ptxgen_emit(gen, "st%s.%s [%s], %s", gt_ptxgen_global(gen), type, to, value.text);
	gt_ptxgen_emit(gen, "add.s64 %s, %s, %u", from, from, width);
	gt_ptxgen_emit(gen, "mov.u64 %s, %s", to, next.text);
	gt_ptxgen_emit(gen, "bra %s", again.text);
	gt_ptxgen_put_label(gen, &done);
}

void gt_ptxgen_copy_in_sized(struct gt_ptxgen *gen, unsigned number, const char *size,
			     const char *address)
{
	struct gt_ptxgen_name from = gt_ptxgen_b64(gen), to = gt_ptxgen_b64(gen),
			      end = gt_ptxgen_b64(gen);
	const char *space;
	struct gt_ptxgen_name source = gt_ptxgen_pointer(gen, number, &space);

	gt_ptxgen_emit(gen, "mov.u64 %s, %s", from.text, source.text);
	gt_ptxgen_emit(gen, "mov.u64 %s, %s", to.text, address);
	gt_ptxgen_emit(gen, "add.s64 %s, %s, %s", end.text, address, size);
	if (gt_ptxgen_access_width(gen, number, 8) == 8)
		put_loop(gen, 8, space, from.text, to.text, end.text);
	put_loop(gen, 1, space, from.text, to.text, end.text);
}
