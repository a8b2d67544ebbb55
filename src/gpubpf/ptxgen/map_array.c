/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Maps in PTX: arrays, and the choice by shape. */
#include <errno.h>
#include <inttypes.h>

#include "gpubpf/ptxgen/map.h"

void gt_ptxgen_result(struct gt_ptxgen *gen, int64_t number)
{
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0);

	gt_ptxgen_emit(gen, "mov.s64 %s, %" PRId64, result.text, number);
}

static enum gt_bpf_map_shape shape_of(const struct gt_ptxgen *gen)
{
	return gt_bpf_map_kind(gt_ptxgen_map(gen)->type)->shape;
}

static enum gt_bpf_map_place place_of(const struct gt_ptxgen *gen)
{
	return gt_bpf_map_place(gt_ptxgen_map(gen));
}

/* The number of the copy of the thread that runs: a .b64. */
static struct gt_ptxgen_name copy_of(struct gt_ptxgen *gen)
{
	switch (gt_bpf_map_kind(gt_ptxgen_map(gen)->type)->copies) {
	case GT_COPY_SM:
		return gt_ptxgen_source(gen, GT_SOURCE_SM, 0);
	case GT_COPY_WARP:
		return gt_ptxgen_flat_warp(gen);
	default:
		return gt_ptxgen_flat_thread(gen);
	}
}

/* A value that is looked for. Of maps with one copy, `there` always holds. */
struct found {
	struct gt_ptxgen_name address;
	struct gt_ptxgen_name there;  /* .pred: there is such a copy */
	struct gt_ptxgen_name inside; /* .pred: and such a key */
};

/* The thread's copy of a map. */
struct copy {
	struct gt_ptxgen_name base, number, copies; /* .b64 */
	struct gt_ptxgen_name there;                /* .pred: there is one */
};

static struct copy find_copy(struct gt_ptxgen *gen)
{
	struct copy copy = {.base = gt_ptxgen_map_address(gen, gen->map)};

	copy.number = copy_of(gen);
	copy.copies = gt_ptxgen_map_copies(gen, gen->map);
	copy.there = gt_ptxgen_predicate(gen);
	gt_ptxgen_emit(gen, "setp.lt.u64 %s, %s, %s", copy.there.text, copy.number.text,
		       copy.copies.text);
	return copy;
}

/* Counts that there is none. */
static void count_outside(struct gt_ptxgen *gen, const struct copy *copy, const char *guard)
{
	struct gt_ptxgen_name one = gt_ptxgen_b64(gen), end;

	end = gt_ptxgen_element_wide(gen, copy->base.text, copy->copies.text,
				     gt_bpf_map_copy_bytes(gt_ptxgen_map(gen)));
	/* 1, though ptxas does not know it of flat numbers: see gt_ptxgen_count. */
	gt_ptxgen_emit(gen, "shr.u64 %s, %s, 63", one.text, copy->number.text);
	gt_ptxgen_emit(gen, "or.b64 %s, %s, 1", one.text, one.text);
	gt_ptxgen_reduce(gen, place_of(gen), guard, "add.u64", end.text, 0, one.text);
}

static struct gt_ptxgen_name start_of(struct gt_ptxgen *gen, const struct copy *copy)
{
	return gt_ptxgen_element_wide(gen, copy->base.text, copy->number.text,
				      gt_bpf_map_copy_bytes(gt_ptxgen_map(gen)));
}

static bool is_single(const struct gt_ptxgen *gen)
{
	return gt_bpf_map_kind(gt_ptxgen_map(gen)->type)->copies == GT_COPY_ONE;
}

/* An index into an array: a .b32. */
struct index {
	struct gt_ptxgen_name value;
	struct gt_ptxgen_scaled scaled;
	bool within; /* it is known to be one of the array */
};

static struct gt_ptxgen_name value_at(struct gt_ptxgen *gen, const char *start,
				      const struct index *index)
{
	uint64_t stride = gt_bpf_map_stride(gt_ptxgen_map(gen)->value_size);
	struct gt_ptxgen_name address;

	if (!index->scaled.shift || stride != UINT64_C(1) << index->scaled.shift)
		return gt_ptxgen_element(gen, start, index->value.text, stride, 0);
	address = gt_ptxgen_b64(gen);
	gt_ptxgen_emit(gen, "add.s64 %s, %s, %s", address.text, start, index->scaled.value.text);
	return address;
}

static struct found find_value(struct gt_ptxgen *gen, const struct index *index)
{
	struct found found = {.inside = gt_ptxgen_predicate(gen)};
	struct gt_ptxgen_name start;
	struct copy copy;

	gt_ptxgen_emit(gen, "setp.lt.u32 %s, %s, %" PRIu32, found.inside.text,
		       index->within ? "0" : index->value.text, gt_ptxgen_map(gen)->max_entries);
	if (is_single(gen)) {
		start = gt_ptxgen_map_address(gen, gen->map);
	} else {
		copy = find_copy(gen);
		count_outside(gen, &copy, gt_ptxgen_guard(&copy.there, false).text);
		start = start_of(gen, &copy);
		found.there = copy.there;
		gt_ptxgen_emit(gen, "and.pred %s, %s, %s", found.inside.text, found.inside.text,
			       found.there.text);
	}
	found.address = value_at(gen, start.text, index);
	return found;
}

/* The key. */
static struct index load_index(struct gt_ptxgen *gen)
{
	struct index index;

	gt_ptxgen_load_words(gen, 2, 4, &index.value);
	index.scaled = gt_ptxgen_memory_scaled(gen, 2, 0, 4);
	index.within = gt_ptxgen_memory_limit(gen, 2, 0, 4) < gt_ptxgen_map(gen)->max_entries;
	return index;
}

static struct found find_key(struct gt_ptxgen *gen)
{
	struct index index = load_index(gen);

	return find_value(gen, &index);
}

/* r0 = -ENOENT if there is no such copy. */
static void give_outside(struct gt_ptxgen *gen, const struct found *found)
{
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0);

	if (!is_single(gen))
		gt_ptxgen_emit(gen, "selp.b64 %s, %s, %d, %s", result.text, result.text, -ENOENT,
			       found->there.text);
}

/* Leaves for `null` where the thread has no copy: what is rare is not in the others' way. */
static struct gt_ptxgen_name start_or_leave(struct gt_ptxgen *gen, const char *null)
{
	struct gt_ptxgen_name there;
	struct copy copy;

	if (is_single(gen))
		return gt_ptxgen_map_address(gen, gen->map);
	copy = find_copy(gen);
	there = gt_ptxgen_label(gen);
	gt_ptxgen_emit(gen, "@%s bra %s", copy.there.text, there.text);
	count_outside(gen, &copy, "");
	gt_ptxgen_emit(gen, "bra %s", null);
	gt_ptxgen_put_label(gen, &there);
	return start_of(gen, &copy);
}

static void array_lookup(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0), label, inside, start;
	struct index index = load_index(gen);
	struct found found;

	if (!gt_ptxgen_null_target(gen, &label)) {
		found = find_value(gen, &index);
		gt_ptxgen_emit(gen, "selp.b64 %s, %s, 0, %s", result.text, found.address.text,
			       found.inside.text);
		return;
	}
	gt_ptxgen_result(gen, 0);
	start = start_or_leave(gen, label.text);
	if (!index.within) {
		inside = gt_ptxgen_predicate(gen);
		gt_ptxgen_emit(gen, "setp.lt.u32 %s, %s, %" PRIu32, inside.text, index.value.text,
			       gt_ptxgen_map(gen)->max_entries);
		gt_ptxgen_emit(gen, "@!%s bra %s", inside.text, label.text);
	}
	found.address = value_at(gen, start.text, &index);
	gt_ptxgen_emit(gen, "mov.u64 %s, %s", result.text, found.address.text);
}

int gt_ptxgen_map_lookup(struct gt_ptxgen *gen, uint32_t insn)
{
	if (shape_of(gen) == GT_BPF_MAP_HASH)
		return gt_ptxgen_hash_lookup(gen);
	array_lookup(gen);
	return 0;
}

/* The errors of an update, the later ones winning. */
static void array_update(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0),
			      flags = gt_ptxgen_register(gen, 4);
	struct gt_ptxgen_name is_new = gt_ptxgen_predicate(gen), odd = gt_ptxgen_predicate(gen);
	struct gt_ptxgen_name good = gt_ptxgen_predicate(gen), over = gt_ptxgen_label(gen);
	struct found found = find_key(gen);

	gt_ptxgen_emit(gen, "setp.gt.u64 %s, %s, %d", odd.text, flags.text, BPF_EXIST);
	gt_ptxgen_emit(gen, "setp.eq.u64 %s, %s, %d", is_new.text, flags.text, BPF_NOEXIST);
	gt_ptxgen_emit(gen, "selp.b64 %s, %d, 0, %s", result.text, -EEXIST, is_new.text);
	gt_ptxgen_emit(gen, "selp.b64 %s, %s, %d, %s", result.text, result.text, -E2BIG,
		       found.inside.text);
	gt_ptxgen_emit(gen, "selp.b64 %s, %d, %s, %s", result.text, -EINVAL, result.text, odd.text);
	give_outside(gen, &found);
	gt_ptxgen_emit(gen, "setp.eq.s64 %s, %s, 0", good.text, result.text);
	gt_ptxgen_emit(gen, "@!%s bra %s", good.text, over.text);
	gt_ptxgen_copy_in(gen, 3, gt_ptxgen_map(gen)->value_size, found.address.text);
	gt_ptxgen_put_label(gen, &over);
}

int gt_ptxgen_map_update(struct gt_ptxgen *gen, uint32_t insn)
{
	if (shape_of(gen) == GT_BPF_MAP_HASH)
		return gt_ptxgen_hash_update(gen);
	array_update(gen);
	return 0;
}

int gt_ptxgen_map_delete(struct gt_ptxgen *gen, uint32_t insn)
{
	if (shape_of(gen) == GT_BPF_MAP_HASH)
		return gt_ptxgen_hash_delete(gen);
	gt_ptxgen_result(gen, -EINVAL);
	return 0;
}

/* Adds a .b64 to a value, if it is there: r0. */
static void add_number(struct gt_ptxgen *gen, const struct found *found,
		       const struct gt_ptxgen_name *number)
{
	bool is_wide = gt_ptxgen_map(gen)->value_size != 4;
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0), operand = *number;
	struct gt_ptxgen_text guard = gt_ptxgen_guard(&found->inside, true);

	if (!is_wide)
		operand = gt_ptxgen_low(gen, number->text);
	gt_ptxgen_reduce(gen, place_of(gen), guard.text, is_wide ? "add.u64" : "add.u32",
			 found->address.text, 0, operand.text);
	gt_ptxgen_emit(gen, "selp.b64 %s, 0, %d, %s", result.text, -E2BIG, found->inside.text);
	give_outside(gen, found);
}

int gt_ptxgen_map_add(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name number = gt_ptxgen_register(gen, 3);
	struct found found;

	if (!gt_bpf_map_has_numbers(gt_ptxgen_map(gen))) {
		gt_ptxgen_result(gen, -EINVAL);
		return 0;
	}
	if (shape_of(gen) == GT_BPF_MAP_HASH)
		return gt_ptxgen_hash_add(gen);
	found = find_key(gen);
	add_number(gen, &found, &number);
	return 0;
}

int gt_ptxgen_hist_add(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_name number = gt_ptxgen_register(gen, 2), odd = gt_ptxgen_b64(gen);
	struct gt_ptxgen_name power = gt_ptxgen_b32(gen), one = gt_ptxgen_b64(gen);
	struct found found;

	if (shape_of(gen) != GT_BPF_MAP_ARRAY || !gt_bpf_map_has_numbers(gt_ptxgen_map(gen))) {
		gt_ptxgen_result(gen, -EINVAL);
		return 0;
	}
	gt_ptxgen_emit(gen, "or.b64 %s, %s, 1", odd.text, number.text);
	gt_ptxgen_emit(gen, "bfind.u64 %s, %s", power.text, odd.text);
	gt_ptxgen_emit(gen, "min.u32 %s, %s, %" PRIu32, power.text, power.text,
		       gt_ptxgen_map(gen)->max_entries - 1);
	gt_ptxgen_emit(gen, "mov.u64 %s, 1", one.text);
	found = find_value(gen, &(struct index){.value = power, .within = true});
	add_number(gen, &found, &one);
	return 0;
}
