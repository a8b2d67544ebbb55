/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Accesses in order. From sm_70 on they carry their order and scope; older devices have fences, and
 * volatile accesses that no cache answers.
 */
#include <inttypes.h>

#include "gpubpf/ptxgen/map.h"

static const char *scope(enum gt_map_place place)
{
	return place == GT_MAP_SHARED ? ".sys" : ".gpu";
}

static const char *const names[] = {
	[GT_PTX_RELAXED] = "relaxed",
	[GT_PTX_ACQUIRE] = "acquire",
	[GT_PTX_RELEASE] = "release",
};

static void fence(struct gt_ptxgen *gen, enum gt_map_place place)
{
	gt_ptx(gen, "membar.%s", place == GT_MAP_SHARED ? "sys" : "gl");
}

/* "[address+offset]", "[address]". */
static struct gt_ptx_name place_of(const char *address, int64_t offset)
{
	struct gt_ptx_name place;

	if (offset)
		snprintf(place.text, sizeof(place.text), "[%s+%" PRId64 "]", address, offset);
	else
		snprintf(place.text, sizeof(place.text), "[%s]", address);
	return place;
}

void gt_ptx_load_ordered(struct gt_ptxgen *gen, enum gt_map_place place, enum gt_ptx_order order,
			 unsigned bits, const char *value, const char *address, int64_t offset)
{
	struct gt_ptx_name at = place_of(address, offset);

	if (gt_ptx_is_modern(gen)) {
		gt_ptx(gen, "ld.%s%s%s.b%u %s, %s", names[order], scope(place), gt_ptx_global(gen),
		       bits, value, at.text);
		return;
	}
	gt_ptx(gen, "ld.volatile%s.b%u %s, %s", gt_ptx_global(gen), bits, value, at.text);
	if (order == GT_PTX_ACQUIRE)
		fence(gen, place);
}

void gt_ptx_store_ordered(struct gt_ptxgen *gen, enum gt_map_place place, enum gt_ptx_order order,
			  unsigned bits, const char *address, int64_t offset, const char *value)
{
	struct gt_ptx_name at = place_of(address, offset);

	if (gt_ptx_is_modern(gen)) {
		gt_ptx(gen, "st.%s%s%s.b%u %s, %s", names[order], scope(place), gt_ptx_global(gen),
		       bits, at.text, value);
		return;
	}
	if (order == GT_PTX_RELEASE)
		fence(gen, place);
	gt_ptx(gen, "st.volatile%s.b%u %s, %s", gt_ptx_global(gen), bits, at.text, value);
}

void gt_ptx_atom_ordered(struct gt_ptxgen *gen, enum gt_map_place place, enum gt_ptx_order order,
			 const char *guard, const char *operation, const char *old,
			 const char *address, int64_t offset, const char *operands)
{
	struct gt_ptx_name at = place_of(address, offset);

	if (gt_ptx_is_modern(gen)) {
		gt_ptx(gen, "%satom.%s%s%s.%s %s, %s, %s", guard, names[order], scope(place),
		       gt_ptx_global(gen), operation, old, at.text, operands);
		return;
	}
	if (order == GT_PTX_RELEASE)
		fence(gen, place);
	gt_ptx(gen, "%satom%s%s.%s %s, %s, %s", guard, gen->sm >= 60 ? scope(place) : "",
	       gt_ptx_global(gen), operation, old, at.text, operands);
	if (order == GT_PTX_ACQUIRE)
		fence(gen, place);
}

void gt_ptx_reduce(struct gt_ptxgen *gen, enum gt_map_place place, const char *guard,
		   const char *operation, const char *address, int64_t offset, const char *operand)
{
	struct gt_ptx_name at = place_of(address, offset);

	gt_ptx(gen, "%sred%s%s%s.%s %s, %s", guard, gt_ptx_is_modern(gen) ? ".relaxed" : "",
	       gen->sm >= 60 ? scope(place) : "", gt_ptx_global(gen), operation, at.text, operand);
}

void gt_ptx_count(struct gt_ptxgen *gen, enum gt_map_place place, const char *address,
		  int64_t offset, int number, const char *varying)
{
	struct gt_ptx_name zero = gt_ptx_b32(gen), operand = gt_ptx_b64(gen);

	gt_ptx(gen, "shr.u32 %s, %s, 31", zero.text, varying);
	gt_ptx(gen, "cvt.u64.u32 %s, %s", operand.text, zero.text);
	gt_ptx(gen, "add.s64 %s, %s, %d", operand.text, operand.text, number);
	gt_ptx_reduce(gen, place, "", "add.u64", address, offset, operand.text);
}

static bool is_power(uint64_t number)
{
	return !(number & (number - 1));
}

/* A multiplication of 64 bits is three of 32; a shift and an addition are one each, or two. */
struct gt_ptx_name gt_ptx_element_wide(struct gt_ptxgen *gen, const char *base, const char *index,
				       uint64_t stride)
{
	struct gt_ptx_name address = gt_ptx_b64(gen), offset;

	if (!is_power(stride)) {
		gt_ptx(gen, "mad.lo.u64 %s, %s, %" PRIu64 ", %s", address.text, index, stride,
		       base);
		return address;
	}
	offset = gt_ptx_b64(gen);
	gt_ptx(gen, "shl.b64 %s, %s, %d", offset.text, index, __builtin_ctzll(stride));
	gt_ptx(gen, "add.s64 %s, %s, %s", address.text, base, offset.text);
	return address;
}

/*
 * One multiplication does it, but where 64 bits are added in one instruction for all lanes: these
 * GPUs have none that multiplies and adds what all lanes have in common to what they do not.
 */
struct gt_ptx_name gt_ptx_element(struct gt_ptxgen *gen, const char *base, const char *index,
				  uint64_t stride, uint64_t offset)
{
	struct gt_ptx_name address, wide;

	if (gen->sm < 120 || !is_power(stride)) {
		address = gt_ptx_b64(gen);
		gt_ptx(gen, "mad.wide.u32 %s, %s, %" PRIu64 ", %s", address.text, index, stride,
		       base);
	} else {
		wide = gt_ptx_b64(gen);
		gt_ptx(gen, "cvt.u64.u32 %s, %s", wide.text, index);
		address = gt_ptx_element_wide(gen, base, wide.text, stride);
	}
	if (offset)
		gt_ptx(gen, "add.s64 %s, %s, %" PRId64, address.text, address.text,
		       (int64_t)offset);
	return address;
}
