/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Maps in PTX: the choice by shape, and arrays. */
#include <errno.h>

#include "gpubpf/ptxgen/map.h"

void gt_ptxgen_result(struct gt_ptxgen *gen, int64_t number)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0);

	gt_ptxgen_emit(gen, "mov.s64", result, number);
}

static enum gt_bpf_map_shape shape_of(const struct gt_ptxgen *gen)
{
	return gt_bpf_map_kind(gt_ptxgen_map(gen)->type)->shape;
}

static enum gt_bpf_map_place place_of(const struct gt_ptxgen *gen)
{
	return gt_bpf_map_place(gt_ptxgen_map(gen));
}

/* The number of the copy that belongs to the current thread: a .b64. */
static struct gt_ptxgen_value emit_copy_number(struct gt_ptxgen *gen)
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

/* An element. `there` always holds in maps with one copy. */
struct array_element {
	struct gt_ptxgen_value address;
	struct gt_ptxgen_value there;  /* .pred: the copy exists */
	struct gt_ptxgen_value inside; /* .pred: so does the key */
	bool exists;                   /* it is known to exist */
};

/* The thread's copy of a map. */
struct map_copy {
	struct gt_ptxgen_value base, number, copies; /* .b64 */
	struct gt_ptxgen_value there;                /* .pred: it exists */
};

static struct map_copy emit_copy_lookup(struct gt_ptxgen *gen)
{
	struct map_copy copy = {.base = gt_ptxgen_map_address(gen, gen->map)};

	copy.number = emit_copy_number(gen);
	copy.copies = gt_ptxgen_map_copies(gen, gen->map);
	copy.there = gt_ptxgen_predicate(gen);
	gt_ptxgen_emit(gen, "setp.lt.u64", copy.there, copy.number, copy.copies);
	return copy;
}

/* Count an access to a copy that does not exist. */
static void emit_missing_copy_count(struct gt_ptxgen *gen, const struct map_copy *copy,
				    struct gt_ptxgen_condition condition)
{
	struct gt_ptxgen_value one = gt_ptxgen_b64(gen), end;

	end = gt_ptxgen_element_wide(gen, copy->base, copy->copies,
				     gt_bpf_map_copy_bytes(gt_ptxgen_map(gen)));
	/* 1, which ptxas cannot derive: see gt_ptxgen_count. */
	gt_ptxgen_emit(gen, "shr.u64", one, copy->number, 63);
	gt_ptxgen_emit(gen, "or.b64", one, one, 1);
	gt_ptxgen_reduce(gen, place_of(gen), condition, "add.u64", gt_ptxgen_at(end, 0), one);
}

static struct gt_ptxgen_value emit_copy_start(struct gt_ptxgen *gen, const struct map_copy *copy)
{
	return gt_ptxgen_element_wide(gen, copy->base, copy->number,
				      gt_bpf_map_copy_bytes(gt_ptxgen_map(gen)));
}

static bool is_single(const struct gt_ptxgen *gen)
{
	return gt_bpf_map_kind(gt_ptxgen_map(gen)->type)->copies == GT_COPY_ONE;
}

/* An index into an array: a .b32. */
struct array_index {
	struct gt_ptxgen_value value;
	struct gt_ptxgen_value scaled; /* .b64: the value << shift; shift 0: not known */
	unsigned shift;
	bool within; /* it is known to be below max_entries */
};

static struct gt_ptxgen_value emit_element_address(struct gt_ptxgen *gen,
						   struct gt_ptxgen_value start,
						   const struct array_index *index)
{
	uint64_t stride = gt_bpf_map_stride(gt_ptxgen_map(gen)->value_size);
	struct gt_ptxgen_value address;

	if (!index->shift || stride != UINT64_C(1) << index->shift)
		return gt_ptxgen_element(gen, start, index->value, stride, 0);
	address = gt_ptxgen_b64(gen);
	gt_ptxgen_emit(gen, "add.s64", address, start, index->scaled);
	return address;
}

static struct array_element emit_element_lookup(struct gt_ptxgen *gen,
						const struct array_index *index)
{
	struct array_element found = {.inside = gt_ptxgen_predicate(gen)};
	struct gt_ptxgen_value start;
	struct map_copy copy;

	if (!index->within)
		gt_ptxgen_emit(gen, "setp.lt.u32", found.inside, index->value,
			       gt_ptxgen_map(gen)->max_entries);
	else
		gt_ptxgen_emit(gen, "mov.pred", found.inside, 1);
	if (is_single(gen)) {
		start = gt_ptxgen_map_address(gen, gen->map);
	} else {
		copy = emit_copy_lookup(gen);
		emit_missing_copy_count(gen, &copy, gt_ptxgen_unless(copy.there));
		start = emit_copy_start(gen, &copy);
		found.there = copy.there;
		gt_ptxgen_emit(gen, "and.pred", found.inside, found.inside, found.there);
	}
	found.address = emit_element_address(gen, start, index);
	found.exists = index->within && is_single(gen);
	return found;
}

/* The key. */
static struct array_index emit_index_load(struct gt_ptxgen *gen)
{
	struct array_index index;

	gt_ptxgen_load_words(gen, 2, 4, &index.value);
	index.shift = gt_ptxgen_used_scaled(gen, &index.scaled);
	index.within = gt_ptxgen_max_key(gen) < gt_ptxgen_map(gen)->max_entries;
	return index;
}

static struct array_element emit_key_lookup(struct gt_ptxgen *gen)
{
	struct array_index index = emit_index_load(gen);

	return emit_element_lookup(gen, &index);
}

/* r0 = -ENOENT if the copy does not exist. */
static void emit_missing_copy_result(struct gt_ptxgen *gen, const struct array_element *found)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0);

	if (!is_single(gen))
		gt_ptxgen_emit(gen, "selp.b64", result, result, -ENOENT, found->there);
}

/* The start of the copy; branches to `null` where the thread has none. */
static struct gt_ptxgen_value emit_copy_or_branch(struct gt_ptxgen *gen,
						  struct gt_ptxgen_value null)
{
	struct gt_ptxgen_value there;
	struct map_copy copy;

	if (is_single(gen))
		return gt_ptxgen_map_address(gen, gen->map);
	copy = emit_copy_lookup(gen);
	there = gt_ptxgen_label(gen);
	gt_ptxgen_branch_if(gen, copy.there, there);
	emit_missing_copy_count(gen, &copy, gt_ptxgen_always);
	gt_ptxgen_branch(gen, null);
	gt_ptxgen_emit_label(gen, there);
	return emit_copy_start(gen, &copy);
}

static void emit_array_lookup(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0), label, inside, start;
	struct array_index index = emit_index_load(gen);
	struct array_element found;

	if (!gt_ptxgen_null_target(gen, &label)) {
		found = emit_element_lookup(gen, &index);
		gt_ptxgen_emit(gen, "selp.b64", result, found.address, 0, found.inside);
		return;
	}
	gt_ptxgen_result(gen, 0);
	start = emit_copy_or_branch(gen, label);
	if (!index.within) {
		inside = gt_ptxgen_predicate(gen);
		gt_ptxgen_emit(gen, "setp.lt.u32", inside, index.value,
			       gt_ptxgen_map(gen)->max_entries);
		gt_ptxgen_branch_unless(gen, inside, label);
	}
	found.address = emit_element_address(gen, start, &index);
	gt_ptxgen_emit(gen, "mov.u64", result, found.address);
}

int gt_ptxgen_map_lookup(struct gt_ptxgen *gen, uint32_t insn)
{
	if (place_of(gen) == GT_BPF_MAP_HOST)
		return gt_ptxgen_host_call(gen, GT_HOST_CALL_LOOKUP);
	if (shape_of(gen) == GT_BPF_MAP_HASH)
		return gt_ptxgen_hash_lookup(gen);
	emit_array_lookup(gen);
	return 0;
}

/* An update. Later errors take precedence. */
static void emit_array_update(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0), flags = gt_ptxgen_reg64(gen, 4);
	struct gt_ptxgen_value is_new = gt_ptxgen_predicate(gen), odd = gt_ptxgen_predicate(gen);
	struct gt_ptxgen_value good = gt_ptxgen_predicate(gen), over = gt_ptxgen_label(gen);
	struct array_element found = emit_key_lookup(gen);

	gt_ptxgen_emit(gen, "setp.gt.u64", odd, flags, BPF_EXIST);
	gt_ptxgen_emit(gen, "setp.eq.u64", is_new, flags, BPF_NOEXIST);
	gt_ptxgen_emit(gen, "selp.b64", result, -EEXIST, 0, is_new);
	gt_ptxgen_emit(gen, "selp.b64", result, result, -E2BIG, found.inside);
	gt_ptxgen_emit(gen, "selp.b64", result, -EINVAL, result, odd);
	emit_missing_copy_result(gen, &found);
	gt_ptxgen_emit(gen, "setp.eq.s64", good, result, 0);
	gt_ptxgen_branch_unless(gen, good, over);
	gt_ptxgen_copy_in(gen, 3, gt_ptxgen_map(gen)->value_size, found.address);
	gt_ptxgen_emit_label(gen, over);
}

int gt_ptxgen_map_update(struct gt_ptxgen *gen, uint32_t insn)
{
	if (place_of(gen) == GT_BPF_MAP_HOST)
		return gt_ptxgen_host_call(gen, GT_HOST_CALL_UPDATE);
	if (shape_of(gen) == GT_BPF_MAP_HASH)
		return gt_ptxgen_hash_update(gen);
	emit_array_update(gen);
	return 0;
}

int gt_ptxgen_map_delete(struct gt_ptxgen *gen, uint32_t insn)
{
	if (place_of(gen) == GT_BPF_MAP_HOST)
		return gt_ptxgen_host_call(gen, GT_HOST_CALL_DELETE);
	if (shape_of(gen) == GT_BPF_MAP_HASH)
		return gt_ptxgen_hash_delete(gen);
	gt_ptxgen_result(gen, -EINVAL);
	return 0;
}

/* Add a .b64 to an element if it exists: r0. */
static void emit_addition(struct gt_ptxgen *gen, const struct array_element *found,
			  struct gt_ptxgen_value number)
{
	bool is_wide = gt_ptxgen_map(gen)->value_size != 4;
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0), operand = number;

	if (!is_wide)
		operand = gt_ptxgen_low_half(gen, number);
	gt_ptxgen_reduce(gen, place_of(gen),
			 found->exists ? gt_ptxgen_always : gt_ptxgen_if(found->inside),
			 is_wide ? "add.u64" : "add.u32", gt_ptxgen_at(found->address, 0), operand);
	if (found->exists) {
		gt_ptxgen_result(gen, 0);
		return;
	}
	gt_ptxgen_emit(gen, "selp.b64", result, 0, -E2BIG, found->inside);
	emit_missing_copy_result(gen, found);
}

int gt_ptxgen_map_add(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value number;
	struct array_element found;

	if (!gt_bpf_map_has_numbers(gt_ptxgen_map(gen))) {
		gt_ptxgen_result(gen, -EINVAL);
		return 0;
	}
	if (place_of(gen) == GT_BPF_MAP_HOST)
		return gt_ptxgen_host_call(gen, GT_HOST_CALL_ADD);
	if (shape_of(gen) == GT_BPF_MAP_HASH)
		return gt_ptxgen_hash_add(gen);
	found = emit_key_lookup(gen);
	number = gt_ptxgen_vary(gen, 3);
	emit_addition(gen, &found, number);
	return 0;
}

int gt_ptxgen_hist_add(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_value number = gt_ptxgen_reg64(gen, 2), odd = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value power = gt_ptxgen_b32(gen), one = gt_ptxgen_b64(gen);
	struct array_element found;

	if (shape_of(gen) != GT_BPF_MAP_ARRAY || !gt_bpf_map_has_numbers(gt_ptxgen_map(gen))) {
		gt_ptxgen_result(gen, -EINVAL);
		return 0;
	}
	gt_ptxgen_emit(gen, "or.b64", odd, number, 1);
	gt_ptxgen_emit(gen, "bfind.u64", power, odd);
	gt_ptxgen_emit(gen, "min.u32", power, power, gt_ptxgen_map(gen)->max_entries - 1);
	gt_ptxgen_emit(gen, "mov.u64", one, 1);
	found = emit_element_lookup(gen, &(struct array_index){.value = power, .within = true});
	emit_addition(gen, &found, one);
	return 0;
}
