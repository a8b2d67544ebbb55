/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Maps and rings in PTX: shared by the emit functions of helpers. */
#pragma once

#include "gpubpf/map/host_calls.h"
#include "gpubpf/ptxgen/private.h"

/* The map of the helper that is emitted. */
static inline const struct gt_bpf_map *gt_ptxgen_map(const struct gt_ptxgen *gen)
{
	return &gen->object->maps[gen->map];
}

/* r0 = a constant. */
void gt_ptxgen_result(struct gt_ptxgen *gen, int64_t number);

/* ---- map_order.c: ordered accesses ---- */

/* The order of an access, and who sees it: the device's threads, or the host, too (_SHARED). */
struct gt_ptxgen_ordering {
	enum gt_bpf_map_place place;
	enum gt_ptxgen_order order;
};
static inline struct gt_ptxgen_ordering gt_ptxgen_relaxed(enum gt_bpf_map_place place)
{
	return (struct gt_ptxgen_ordering){place, GT_PTXGEN_RELAXED};
}
static inline struct gt_ptxgen_ordering gt_ptxgen_acquire(enum gt_bpf_map_place place)
{
	return (struct gt_ptxgen_ordering){place, GT_PTXGEN_ACQUIRE};
}
static inline struct gt_ptxgen_ordering gt_ptxgen_release(enum gt_bpf_map_place place)
{
	return (struct gt_ptxgen_ordering){place, GT_PTXGEN_RELEASE};
}

void gt_ptxgen_load_ordered(struct gt_ptxgen *gen, struct gt_ptxgen_ordering ordering,
			    unsigned bits, struct gt_ptxgen_value value,
			    struct gt_ptxgen_operand address);
void gt_ptxgen_store_ordered(struct gt_ptxgen *gen, struct gt_ptxgen_ordering ordering,
			     unsigned bits, struct gt_ptxgen_operand address,
			     struct gt_ptxgen_value value);
/* The atomic operation "<operation>.<type>" ("add.u64"): the old value in `old`. */
void gt_ptxgen_atom_ordered(struct gt_ptxgen *gen, struct gt_ptxgen_ordering ordering,
			    const char *operation, struct gt_ptxgen_value old,
			    struct gt_ptxgen_operand address, struct gt_ptxgen_value operand);
/* Compare and swap of 64 bits, relaxed or with release. */
void gt_ptxgen_compare_and_swap(struct gt_ptxgen *gen, struct gt_ptxgen_ordering ordering,
				struct gt_ptxgen_value old, struct gt_ptxgen_operand address,
				struct gt_ptxgen_value expected, struct gt_ptxgen_value wanted);
/* An atomic operation without the old value, relaxed, where a condition holds. */
void gt_ptxgen_reduce(struct gt_ptxgen *gen, enum gt_bpf_map_place place,
		      struct gt_ptxgen_condition condition, const char *operation,
		      struct gt_ptxgen_operand address, struct gt_ptxgen_value operand);
/*
 * Add a number to a counter (u64) of rare events. `varying` is a .b32 whose top bit is never set,
 * which ptxas does not know: so it does not add up the numbers of the warp first, which costs 14
 * instructions and is worth it only where the lanes of a warp are active together.
 */
void gt_ptxgen_count(struct gt_ptxgen *gen, enum gt_bpf_map_place place,
		     struct gt_ptxgen_operand address, int number, struct gt_ptxgen_value varying);
/* A fresh address: base + index * stride, of a .b64. */
struct gt_ptxgen_value gt_ptxgen_element_wide(struct gt_ptxgen *gen, struct gt_ptxgen_value base,
					      struct gt_ptxgen_value index, uint64_t stride);
/* A fresh address: base + index * stride + offset. index is a .b32. */
struct gt_ptxgen_value gt_ptxgen_element(struct gt_ptxgen *gen, struct gt_ptxgen_value base,
					 struct gt_ptxgen_value index, uint64_t stride,
					 uint64_t offset);

/* ---- constants.c ---- */

/*
 * In a module with private arrays: let an offset, a .b32 and a multiple of 8, come from constant
 * memory. Bits that are not in `mask` may become 0.
 */
void gt_ptxgen_offset_through_constants(struct gt_ptxgen *gen, uint32_t mask,
					struct gt_ptxgen_value offset);

/* ---- map_copy.c: memory behind arguments ---- */

/*
 * Load `size` bytes at r<number> as words of 32 bits, the last padded with zeros. At most
 * GT_PTXGEN_MAX_UNROLLED bytes.
 */
void gt_ptxgen_load_words(struct gt_ptxgen *gen, unsigned number, uint32_t size,
			  struct gt_ptxgen_value *words);
/* Copy `size` bytes at r<number> to an address in .global that is aligned to 8. */
void gt_ptxgen_copy_in(struct gt_ptxgen *gen, unsigned number, uint32_t size,
		       struct gt_ptxgen_value address);
/* The same; `size` is a .b64. */
void gt_ptxgen_copy_in_sized(struct gt_ptxgen *gen, unsigned number, struct gt_ptxgen_value size,
			     struct gt_ptxgen_value address);

/* ---- lanes ---- */

/* The active lanes: a fresh .b32. */
struct gt_ptxgen_value gt_ptxgen_active_mask(struct gt_ptxgen *gen);
/* Replace the .b32 `word` by that of the lane with the number `lane`; all lanes of `mask` do so. */
void gt_ptxgen_shuffle_word(struct gt_ptxgen *gen, struct gt_ptxgen_value word,
			    struct gt_ptxgen_value lane, struct gt_ptxgen_value mask);
/* The .b64 `value` of the lane with the number `lane` (.b32). All lanes of `mask` are active. */
struct gt_ptxgen_value gt_ptxgen_shuffle(struct gt_ptxgen *gen, struct gt_ptxgen_value value,
					 struct gt_ptxgen_value lane, struct gt_ptxgen_value mask);
struct gt_ptxgen_value gt_ptxgen_flat_thread(struct gt_ptxgen *gen);
struct gt_ptxgen_value gt_ptxgen_flat_block(struct gt_ptxgen *gen);
struct gt_ptxgen_value gt_ptxgen_flat_warp(struct gt_ptxgen *gen);
struct gt_ptxgen_value gt_ptxgen_thread_in_block(struct gt_ptxgen *gen); /* .b32 */
struct gt_ptxgen_value gt_ptxgen_block_threads(struct gt_ptxgen *gen);   /* .b32 */

/* ---- map_ring.c ---- */

/* A ring that a program writes to. */
struct gt_ptxgen_ring {
	struct gt_ptxgen_value address;
	uint32_t bytes; /* gt_bpf_map_ring_bytes */
};
struct gt_ptxgen_ring gt_ptxgen_ring_of(struct gt_ptxgen *gen);
/*
 * Reserve a record of `size` bytes, which must fit the ring. *ret_record is the address of its
 * head, *ret_failed a predicate: the ring is full.
 */
void gt_ptxgen_emit_reservation(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
				uint32_t size, struct gt_ptxgen_value *ret_record,
				struct gt_ptxgen_value *ret_failed);
/* The same for a size in a .b64, at most the ring's bytes - 8. */
void gt_ptxgen_emit_sized_reservation(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
				      struct gt_ptxgen_value size,
				      struct gt_ptxgen_value *ret_record,
				      struct gt_ptxgen_value *ret_failed);
/* Write a record's head, after its bytes. `size` is a .b32 or a constant. */
void gt_ptxgen_emit_record_head(struct gt_ptxgen *gen, struct gt_ptxgen_value record,
				struct gt_ptxgen_value size, enum gt_ring_state state);

/* ---- the helpers, by the shape of their map ---- */

int gt_ptxgen_map_lookup(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_map_update(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_map_delete(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_map_add(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_hist_add(struct gt_ptxgen *gen, uint32_t insn);

/* map_call.c: an operation on a map of the host (map/host_calls.h). */
int gt_ptxgen_host_call(struct gt_ptxgen *gen, enum gt_host_call_operation operation);

int gt_ptxgen_hash_lookup(struct gt_ptxgen *gen);
int gt_ptxgen_hash_update(struct gt_ptxgen *gen);
int gt_ptxgen_hash_delete(struct gt_ptxgen *gen);
int gt_ptxgen_hash_add(struct gt_ptxgen *gen);

int gt_ptxgen_ring_output(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_perf_output(struct gt_ptxgen *gen, uint32_t insn);
/* Whether the ring of the call at gen->at is known, and its record has a known size that fits. */
bool gt_ptxgen_fits_ring(const struct gt_ptxgen *gen);
int gt_ptxgen_ring_reserve(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_ring_submit(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_ring_discard(struct gt_ptxgen *gen, uint32_t insn);

/* ---- helpers_warp.c, lanes.c, helpers_print.c ---- */

int gt_ptxgen_warp_active_mask(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_warp_ballot(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_warp_shuffle(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_warp_sum(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_warp_lane_value(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_warp_distinct(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_warp_stride(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_warp_bank_passes(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_trace_printk(struct gt_ptxgen *gen, uint32_t insn);
int gt_ptxgen_puts(struct gt_ptxgen *gen, uint32_t insn);
