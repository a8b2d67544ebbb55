/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Accesses in order. From sm_70 on they carry their order and scope; older devices have fences, and
 * volatile accesses that no cache answers.
 */
#include <inttypes.h>

#include "gpubpf/ptxgen/map.h"

static const char *scope(enum gt_bpf_map_place place)
{
	return place == GT_BPF_MAP_SHARED ? ".sys" : ".gpu";
}

static const char *const names[] = {
	[GT_PTXGEN_RELAXED] = "relaxed",
	[GT_PTXGEN_ACQUIRE] = "acquire",
	[GT_PTXGEN_RELEASE] = "release",
};

static void fence(struct gt_ptxgen *gen, enum gt_bpf_map_place place)
{
	gt_ptxgen_emit(gen, "membar.%s", place == GT_BPF_MAP_SHARED ? "sys" : "gl");
}

/* "[address+offset]", "[address]". */
static struct gt_ptxgen_name place_of(const char *address, int64_t offset)
{
	struct gt_ptxgen_name place;

	if (offset)
		snprintf(place.text, sizeof(place.text), "[%s+%" PRId64 "]", address, offset);
	else
		snprintf(place.text, sizeof(place.text), "[%s]", address);
	return place;
}

void gt_ptxgen_load_ordered(struct gt_ptxgen *gen, enum gt_bpf_map_place place,
			    enum gt_ptxgen_order order, unsigned bits, const char *value,
			    const char *address, int64_t offset)
{
	struct gt_ptxgen_name at = place_of(address, offset);

	if (gt_ptxgen_is_modern(gen)) {
		gt_ptxgen_emit(gen, "ld.%s%s%s.b%u %s, %s", names[order], scope(place),
			       gt_ptxgen_global(gen), bits, value, at.text);
		return;
	}
	gt_ptxgen_emit(gen, "ld.volatile%s.b%u %s, %s", gt_ptxgen_global(gen), bits, value,
		       at.text);
	if (order == GT_PTXGEN_ACQUIRE)
		fence(gen, place);
}

void gt_ptxgen_store_ordered(struct gt_ptxgen *gen, enum gt_bpf_map_place place,
			     enum gt_ptxgen_order order, unsigned bits, const char *address,
			     int64_t offset, const char *value)
{
	struct gt_ptxgen_name at = place_of(address, offset);

	if (gt_ptxgen_is_modern(gen)) {
		gt_ptxgen_emit(gen, "st.%s%s%s.b%u %s, %s", names[order], scope(place),
			       gt_ptxgen_global(gen), bits, at.text, value);
		return;
	}
	if (order == GT_PTXGEN_RELEASE)
		fence(gen, place);
	gt_ptxgen_emit(gen, "st.volatile%s.b%u %s, %s", gt_ptxgen_global(gen), bits, at.text,
		       value);
}

void gt_ptxgen_atom_ordered(struct gt_ptxgen *gen, enum gt_bpf_map_place place,
			    enum gt_ptxgen_order order, const char *guard, const char *operation,
			    const char *old, const char *address, int64_t offset,
			    const char *operands)
{
	struct gt_ptxgen_name at = place_of(address, offset);

	if (gt_ptxgen_is_modern(gen)) {
		gt_ptxgen_emit(gen, "%satom.%s%s%s.%s %s, %s, %s", guard, names[order],
			       scope(place), gt_ptxgen_global(gen), operation, old, at.text,
			       operands);
		return;
	}
	if (order == GT_PTXGEN_RELEASE)
		fence(gen, place);
	gt_ptxgen_emit(gen, "%satom%s%s.%s %s, %s, %s", guard, gen->sm >= 60 ? scope(place) : "",
		       gt_ptxgen_global(gen), operation, old, at.text, operands);
	if (order == GT_PTXGEN_ACQUIRE)
		fence(gen, place);
}

void gt_ptxgen_reduce(struct gt_ptxgen *gen, enum gt_bpf_map_place place, const char *guard,
		      const char *operation, const char *address, int64_t offset,
		      const char *operand)
{
	struct gt_ptxgen_name at = place_of(address, offset);

	gt_ptxgen_emit(gen, "%sred%s%s%s.%s %s, %s", guard,
		       gt_ptxgen_is_modern(gen) ? ".relaxed" : "",
		       gen->sm >= 60 ? scope(place) : "", gt_ptxgen_global(gen), operation, at.text,
		       operand);
}

void gt_ptxgen_count(struct gt_ptxgen *gen, enum gt_bpf_map_place place, const char *address,
		     int64_t offset, int number, const char *varying)
{
	struct gt_ptxgen_name zero = gt_ptxgen_b32(gen), operand = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "shr.u32 %s, %s, 31", zero.text, varying);
	gt_ptxgen_emit(gen, "cvt.u64.u32 %s, %s", operand.text, zero.text);
	gt_ptxgen_emit(gen, "add.s64 %s, %s, %d", operand.text, operand.text, number);
	gt_ptxgen_reduce(gen, place, "", "add.u64", address, offset, operand.text);
}

static bool is_power(uint64_t number)
{
	return !(number & (number - 1));
}

/* A multiplication of 64 bits is three of 32; a shift and an addition are one each, or two. */
struct gt_ptxgen_name gt_ptxgen_element_wide(struct gt_ptxgen *gen, const char *base,
					     const char *index, uint64_t stride)
{
	struct gt_ptxgen_name address = gt_ptxgen_b64(gen), offset;

	if (!is_power(stride)) {
		gt_ptxgen_emit(gen, "mad.lo.u64 %s, %s, %" PRIu64 ", %s", address.text, index,
			       stride, base);
		return address;
	}
	offset = gt_ptxgen_b64(gen);
	gt_ptxgen_emit(gen, "shl.b64 %s, %s, %d", offset.text, index, __builtin_ctzll(stride));
	gt_ptxgen_emit(gen, "add.s64 %s, %s, %s", address.text, base, offset.text);
	return address;
}

/*
 * One multiplication does it, but where 64 bits are added in one instruction for all lanes: these
 * GPUs have none that multiplies and adds what all lanes have in common to what they do not.
 */
struct gt_ptxgen_name gt_ptxgen_element(struct gt_ptxgen *gen, const char *base, const char *index,
					uint64_t stride, uint64_t offset)
{
	struct gt_ptxgen_name address, wide;

	if (gen->sm < 120 || !is_power(stride)) {
		address = gt_ptxgen_b64(gen);
		gt_ptxgen_emit(gen, "mad.wide.u32 %s, %s, %" PRIu64 ", %s", address.text, index,
			       stride, base);
	} else {
		wide = gt_ptxgen_b64(gen);
		gt_ptxgen_emit(gen, "cvt.u64.u32 %s, %s", wide.text, index);
		address = gt_ptxgen_element_wide(gen, base, wide.text, stride);
	}
	if (offset)
		gt_ptxgen_emit(gen, "add.s64 %s, %s, %" PRId64, address.text, address.text,
			       (int64_t)offset);
	return address;
}
