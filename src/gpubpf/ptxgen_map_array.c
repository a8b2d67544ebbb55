/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Maps in PTX: arrays, and the choice by shape. */
#include <errno.h>
#include <inttypes.h>

#include "gpubpf/ptxgen_map.h"

void gt_ptx_result(struct gt_ptxgen *gen, int64_t number)
{
	struct gt_ptx_name result = gt_ptx_register(gen, 0);

	gt_ptx(gen, "mov.s64 %s, %" PRId64, result.text, number);
}

static enum gt_map_shape shape_of(const struct gt_ptxgen *gen)
{
	return gt_map_kind(gt_ptx_map(gen)->type)->shape;
}

static enum gt_map_place place_of(const struct gt_ptxgen *gen)
{
	return gt_map_place(gt_ptx_map(gen));
}

/* The number of the copy of the thread that runs: a .b64. */
static struct gt_ptx_name copy_of(struct gt_ptxgen *gen)
{
	switch (gt_map_kind(gt_ptx_map(gen)->type)->copies) {
	case GT_COPY_SM:
		return gt_ptx_source(gen, GT_SOURCE_SM, 0);
	case GT_COPY_WARP:
		return gt_ptx_flat_warp(gen);
	default:
		return gt_ptx_flat_thread(gen);
	}
}

/* A value that is looked for. Of maps with one copy, `there` always holds. */
struct found {
	struct gt_ptx_name address;
	struct gt_ptx_name there;  /* .pred: there is such a copy */
	struct gt_ptx_name inside; /* .pred: and such a key */
};

/* The start of the thread's copy; it is counted if there is none. */
static struct gt_ptx_name find_copy(struct gt_ptxgen *gen, const struct gt_ptx_name *base,
				    const struct gt_ptx_name *there)
{
	struct gt_ptx_name copy = copy_of(gen), copies = gt_ptx_map_copies(gen, gen->map);
	struct gt_ptx_name start = gt_ptx_b64(gen), end = gt_ptx_b64(gen);
	struct gt_ptx_name one = gt_ptx_b64(gen);
	uint64_t bytes = gt_map_copy_bytes(gt_ptx_map(gen));

	gt_ptx(gen, "setp.lt.u64 %s, %s, %s", there->text, copy.text, copies.text);
	gt_ptx(gen, "mad.lo.u64 %s, %s, %" PRIu64 ", %s", end.text, copies.text, bytes, base->text);
	/* 1, though ptxas does not know it of flat numbers: see gt_ptx_count. */
	gt_ptx(gen, "shr.u64 %s, %s, 63", one.text, copy.text);
	gt_ptx(gen, "or.b64 %s, %s, 1", one.text, one.text);
	gt_ptx_reduce(gen, place_of(gen), gt_ptx_guard(there, false).text, "add.u64", end.text, 0,
		      one.text);
	gt_ptx(gen, "mad.lo.u64 %s, %s, %" PRIu64 ", %s", start.text, copy.text, bytes, base->text);
	return start;
}

/* The value at a .b32 index; `within`: it is known to be one. */
static struct found find_value(struct gt_ptxgen *gen, const char *index, bool within)
{
	const struct gt_bpf_map *map = gt_ptx_map(gen);
	struct gt_ptx_name base = gt_ptx_map_address(gen, gen->map);
	struct found found = {.there = gt_ptx_predicate(gen), .inside = gt_ptx_predicate(gen)};
	bool is_single = gt_map_kind(map->type)->copies == GT_COPY_ONE;

	gt_ptx(gen, "setp.lt.u32 %s, %s, %" PRIu32, found.inside.text, within ? "0" : index,
	       map->max_entries);
	if (!is_single) {
		base = find_copy(gen, &base, &found.there);
		gt_ptx(gen, "and.pred %s, %s, %s", found.inside.text, found.inside.text,
		       found.there.text);
	}
	found.address = gt_ptx_element(gen, base.text, index, gt_map_stride(map->value_size), 0);
	return found;
}

static struct found find_key(struct gt_ptxgen *gen)
{
	struct gt_ptx_name index;

	gt_ptx_load_words(gen, 2, 4, &index);
	return find_value(gen, index.text,
			  gt_ptx_memory_limit(gen, 2, 0, 4) < gt_ptx_map(gen)->max_entries);
}

/* r0 = -ENOENT if there is no such copy. */
static void give_outside(struct gt_ptxgen *gen, const struct found *found)
{
	struct gt_ptx_name result = gt_ptx_register(gen, 0);

	if (gt_map_kind(gt_ptx_map(gen)->type)->copies != GT_COPY_ONE)
		gt_ptx(gen, "selp.b64 %s, %s, %d, %s", result.text, result.text, -ENOENT,
		       found->there.text);
}

static void array_lookup(struct gt_ptxgen *gen)
{
	struct gt_ptx_name result = gt_ptx_register(gen, 0), label;
	struct found found = find_key(gen);

	if (gt_ptx_null_target(gen, &label)) {
		gt_ptx_result(gen, 0);
		gt_ptx(gen, "@!%s bra %s", found.inside.text, label.text);
		gt_ptx(gen, "mov.u64 %s, %s", result.text, found.address.text);
		return;
	}
	gt_ptx(gen, "selp.b64 %s, %s, 0, %s", result.text, found.address.text, found.inside.text);
}

int gt_ptx_map_lookup(struct gt_ptxgen *gen, uint32_t insn)
{
	if (shape_of(gen) == GT_MAP_HASH)
		return gt_ptx_hash_lookup(gen);
	array_lookup(gen);
	return 0;
}

/* The errors of an update, the later ones winning. */
static void array_update(struct gt_ptxgen *gen)
{
	struct gt_ptx_name result = gt_ptx_register(gen, 0), flags = gt_ptx_register(gen, 4);
	struct gt_ptx_name is_new = gt_ptx_predicate(gen), odd = gt_ptx_predicate(gen);
	struct gt_ptx_name good = gt_ptx_predicate(gen), over = gt_ptx_label(gen);
	struct found found = find_key(gen);

	gt_ptx(gen, "setp.gt.u64 %s, %s, %d", odd.text, flags.text, BPF_EXIST);
	gt_ptx(gen, "setp.eq.u64 %s, %s, %d", is_new.text, flags.text, BPF_NOEXIST);
	gt_ptx(gen, "selp.b64 %s, %d, 0, %s", result.text, -EEXIST, is_new.text);
	gt_ptx(gen, "selp.b64 %s, %s, %d, %s", result.text, result.text, -E2BIG, found.inside.text);
	gt_ptx(gen, "selp.b64 %s, %d, %s, %s", result.text, -EINVAL, result.text, odd.text);
	give_outside(gen, &found);
	gt_ptx(gen, "setp.eq.s64 %s, %s, 0", good.text, result.text);
	gt_ptx(gen, "@!%s bra %s", good.text, over.text);
	gt_ptx_copy_in(gen, 3, gt_ptx_map(gen)->value_size, found.address.text);
	gt_ptx_put_label(gen, &over);
}

int gt_ptx_map_update(struct gt_ptxgen *gen, uint32_t insn)
{
	if (shape_of(gen) == GT_MAP_HASH)
		return gt_ptx_hash_update(gen);
	array_update(gen);
	return 0;
}

int gt_ptx_map_delete(struct gt_ptxgen *gen, uint32_t insn)
{
	if (shape_of(gen) == GT_MAP_HASH)
		return gt_ptx_hash_delete(gen);
	gt_ptx_result(gen, -EINVAL);
	return 0;
}

/* Adds a .b64 to a value, if it is there: r0. */
static void add_number(struct gt_ptxgen *gen, const struct found *found,
		       const struct gt_ptx_name *number)
{
	bool is_wide = gt_ptx_map(gen)->value_size != 4;
	struct gt_ptx_name result = gt_ptx_register(gen, 0), operand = *number;
	struct gt_ptx_text guard = gt_ptx_guard(&found->inside, true);

	if (!is_wide)
		operand = gt_ptx_low(gen, number->text);
	gt_ptx_reduce(gen, place_of(gen), guard.text, is_wide ? "add.u64" : "add.u32",
		      found->address.text, 0, operand.text);
	gt_ptx(gen, "selp.b64 %s, 0, %d, %s", result.text, -E2BIG, found->inside.text);
	give_outside(gen, found);
}

int gt_ptx_map_add(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptx_name number = gt_ptx_register(gen, 3);
	struct found found;

	if (!gt_map_has_numbers(gt_ptx_map(gen))) {
		gt_ptx_result(gen, -EINVAL);
		return 0;
	}
	if (shape_of(gen) == GT_MAP_HASH)
		return gt_ptx_hash_add(gen);
	found = find_key(gen);
	add_number(gen, &found, &number);
	return 0;
}

int gt_ptx_hist_add(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptx_name number = gt_ptx_register(gen, 2), odd = gt_ptx_b64(gen);
	struct gt_ptx_name power = gt_ptx_b32(gen), one = gt_ptx_b64(gen);
	struct found found;

	if (shape_of(gen) != GT_MAP_ARRAY || !gt_map_has_numbers(gt_ptx_map(gen))) {
		gt_ptx_result(gen, -EINVAL);
		return 0;
	}
	gt_ptx(gen, "or.b64 %s, %s, 1", odd.text, number.text);
	gt_ptx(gen, "bfind.u64 %s, %s", power.text, odd.text);
	gt_ptx(gen, "min.u32 %s, %s, %" PRIu32, power.text, power.text,
	       gt_ptx_map(gen)->max_entries - 1);
	gt_ptx(gen, "mov.u64 %s, 1", one.text);
	found = find_value(gen, power.text, true);
	add_number(gen, &found, &one);
	return 0;
}
