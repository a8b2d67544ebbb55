/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rings in PTX, by the protocol of map/map.h: credit first, then a position, then the bytes, then
 * the state in the head. Active lanes reserve together where their records have one size.
 */
#include <errno.h>

#include "gpubpf/ptxgen/map.h"

enum {
	WARP = 32,
};

#define CREDIT offsetof(struct gt_ring_header, credit)
#define HEAD offsetof(struct gt_ring_header, head)
#define LOST offsetof(struct gt_ring_header, lost)

static const enum gt_bpf_map_place place = GT_BPF_MAP_SHARED;

struct gt_ptxgen_ring gt_ptxgen_ring_of(struct gt_ptxgen *gen)
{
	return (struct gt_ptxgen_ring){gt_ptxgen_map_address(gen, gen->map),
				       gt_bpf_map_ring_bytes(gt_ptxgen_map(gen))};
}

static uint32_t total_of(uint32_t size)
{
	return (uint32_t)((size + sizeof(struct gt_ring_record) + 7) & ~(uint64_t)7);
}

/*
 * Reserve a .b64 of bytes for `records` records: the position, or -1 if there is not enough credit.
 * Then the credit is returned and the records are counted as lost.
 */
static void emit_reserve_position(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
				  struct gt_ptxgen_value bytes, struct gt_ptxgen_value records,
				  struct gt_ptxgen_value position)
{
	struct gt_ptxgen_value less = gt_ptxgen_b64(gen), old = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value enough = gt_ptxgen_predicate(gen);
	struct gt_ptxgen_value taken = gt_ptxgen_label(gen), over = gt_ptxgen_label(gen);

	gt_ptxgen_emit(gen, "neg.s64", less, bytes);
	gt_ptxgen_atom_ordered(gen, gt_ptxgen_acquire(place), "add.u64", old,
			       gt_ptxgen_at(ring->address, CREDIT), less);
	gt_ptxgen_emit(gen, "setp.ge.s64", enough, old, bytes);
	gt_ptxgen_branch_if(gen, enough, taken);
	gt_ptxgen_reduce(gen, place, gt_ptxgen_always, "add.u64",
			 gt_ptxgen_at(ring->address, CREDIT), bytes);
	gt_ptxgen_reduce(gen, place, gt_ptxgen_always, "add.u64", gt_ptxgen_at(ring->address, LOST),
			 records);
	gt_ptxgen_emit(gen, "mov.s64", position, -1);
	gt_ptxgen_branch(gen, over);
	gt_ptxgen_emit_label(gen, taken);
	gt_ptxgen_atom_ordered(gen, gt_ptxgen_relaxed(place), "add.u64", position,
			       gt_ptxgen_at(ring->address, HEAD), bytes);
	gt_ptxgen_emit_label(gen, over);
}

/* The address of the record at a position. */
static struct gt_ptxgen_value emit_record_address(struct gt_ptxgen *gen,
						  const struct gt_ptxgen_ring *ring,
						  struct gt_ptxgen_value position)
{
	struct gt_ptxgen_value record = gt_ptxgen_b64(gen);

	if (ring->bytes & (ring->bytes - 1))
		gt_ptxgen_emit(gen, "rem.u64", record, position, ring->bytes);
	else
		gt_ptxgen_emit(gen, "and.b64", record, position, ring->bytes - 1);
	gt_ptxgen_emit(gen, "add.s64", record, record, ring->address);
	gt_ptxgen_emit(gen, "add.s64", record, record, sizeof(struct gt_ring_header));
	return record;
}

static void emit_failure_test(struct gt_ptxgen *gen, struct gt_ptxgen_value position,
			      struct gt_ptxgen_value *ret_failed)
{
	*ret_failed = gt_ptxgen_predicate(gen);
	gt_ptxgen_emit(gen, "setp.lt.s64", *ret_failed, position, 0);
}

/*
 * The lowest active lane reserves for all. The mask of the lanes below it, which is 0, is added to
 * the number of records: so ptxas does not see that the number is the same in all lanes, and does
 * not add it up over the warp again, which would cost 40 instructions.
 */
static void emit_reserve_together(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
				  uint32_t total, struct gt_ptxgen_value *ret_record,
				  struct gt_ptxgen_value *ret_failed)
{
	struct gt_ptxgen_value mask = gt_ptxgen_active_mask(gen), below = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value count = gt_ptxgen_b32(gen), rank = gt_ptxgen_b32(gen), position;
	struct gt_ptxgen_value follows = gt_ptxgen_predicate(gen), bytes = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value lowest = gt_ptxgen_b32(gen), records = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value together = gt_ptxgen_label(gen), first = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "mov.u32", below, gt_ptxgen_text("%lanemask_lt"));
	gt_ptxgen_emit(gen, "and.b32", below, below, mask);
	gt_ptxgen_emit(gen, "popc.b32", rank, below);
	gt_ptxgen_emit(gen, "setp.ne.u32", follows, below, 0);
	gt_ptxgen_emit(gen, "mov.s64", first, -1);
	gt_ptxgen_branch_if(gen, follows, together);
	gt_ptxgen_emit(gen, "popc.b32", count, mask);
	gt_ptxgen_emit(gen, "add.u32", count, count, below);
	gt_ptxgen_emit(gen, "mul.wide.u32", bytes, count, total);
	gt_ptxgen_emit(gen, "cvt.u64.u32", records, count);
	emit_reserve_position(gen, ring, bytes, records, first);
	gt_ptxgen_emit_label(gen, together);
	gt_ptxgen_emit(gen, "brev.b32", lowest, mask);
	gt_ptxgen_emit(gen, "bfind.shiftamt.u32", lowest, lowest);
	first = gt_ptxgen_shuffle(gen, first, lowest, mask);
	emit_failure_test(gen, first, ret_failed);
	position = gt_ptxgen_element(gen, first, rank, total, 0);
	*ret_record = emit_record_address(gen, ring, position);
}

static void emit_reserve_alone(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
			       struct gt_ptxgen_value total, struct gt_ptxgen_value *ret_record,
			       struct gt_ptxgen_value *ret_failed)
{
	struct gt_ptxgen_value position = gt_ptxgen_b64(gen);

	emit_reserve_position(gen, ring, total, gt_ptxgen_signed(1), position);
	emit_failure_test(gen, position, ret_failed);
	*ret_record = emit_record_address(gen, ring, position);
}

void gt_ptxgen_emit_reservation(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
				uint32_t size, struct gt_ptxgen_value *ret_record,
				struct gt_ptxgen_value *ret_failed)
{
	uint32_t total = total_of(size);
	struct gt_ptxgen_value bytes;

	/* A ring that a few warps fill would reject a whole warp where a few records fit. */
	if ((uint64_t)total * WARP * 4 <= ring->bytes) {
		emit_reserve_together(gen, ring, total, ret_record, ret_failed);
		return;
	}
	bytes = gt_ptxgen_b64(gen);
	gt_ptxgen_emit(gen, "mov.u64", bytes, total);
	emit_reserve_alone(gen, ring, bytes, ret_record, ret_failed);
}

void gt_ptxgen_emit_sized_reservation(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
				      struct gt_ptxgen_value size,
				      struct gt_ptxgen_value *ret_record,
				      struct gt_ptxgen_value *ret_failed)
{
	struct gt_ptxgen_value total = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "add.s64", total, size, sizeof(struct gt_ring_record) + 7);
	gt_ptxgen_emit(gen, "and.b64", total, total, -8);
	emit_reserve_alone(gen, ring, total, ret_record, ret_failed);
}

void gt_ptxgen_emit_record_head(struct gt_ptxgen *gen, struct gt_ptxgen_value record,
				struct gt_ptxgen_value size, enum gt_ring_state state)
{
	struct gt_ptxgen_value word = gt_ptxgen_b64(gen), high = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "mov.u32", high, state);
	gt_ptxgen_join(gen, word, size, high);
	gt_ptxgen_store_ordered(gen, gt_ptxgen_release(place), 64, gt_ptxgen_at(record, 0), word);
}

/* Count a record that never fits as lost: r0 = the error. */
static void emit_lost_record(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
			     int64_t result)
{
	gt_ptxgen_reduce(gen, place, gt_ptxgen_always, "add.u64", gt_ptxgen_at(ring->address, LOST),
			 gt_ptxgen_signed(1));
	gt_ptxgen_result(gen, result);
}

/* The size in r<number>, if it is known. */
static bool is_known(const struct gt_ptxgen *gen, unsigned number, uint64_t *ret_size)
{
	const struct gt_register_fact *fact = gt_ptxgen_fact(gen, number);

	*ret_size = (uint64_t)fact->min;
	return fact->type == GT_REG_SCALAR && fact->min == fact->max;
}

static void emit_output_of_known_size(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
				      unsigned data, uint32_t size)
{
	struct gt_ptxgen_value record, failed, bytes = gt_ptxgen_b64(gen),
					       over = gt_ptxgen_label(gen);
	struct gt_ptxgen_value length = gt_ptxgen_b32(gen);

	gt_ptxgen_emit_reservation(gen, ring, size, &record, &failed);
	gt_ptxgen_result(gen, -EAGAIN);
	gt_ptxgen_branch_if(gen, failed, over);
	gt_ptxgen_emit(gen, "add.s64", bytes, record, sizeof(struct gt_ring_record));
	gt_ptxgen_copy_in(gen, data, size, bytes);
	gt_ptxgen_emit(gen, "mov.u32", length, size);
	gt_ptxgen_emit_record_head(gen, record, length, GT_RING_READY);
	gt_ptxgen_result(gen, 0);
	gt_ptxgen_emit_label(gen, over);
}

static void emit_output_of_any_size(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
				    unsigned data)
{
	struct gt_ptxgen_value size = gt_ptxgen_reg64(gen, data + 1), record, failed, length;
	struct gt_ptxgen_value too_big = gt_ptxgen_predicate(gen), bytes = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value over = gt_ptxgen_label(gen);

	gt_ptxgen_emit(gen, "setp.gt.u64", too_big, size,
		       ring->bytes - sizeof(struct gt_ring_record));
	gt_ptxgen_reduce(gen, place, gt_ptxgen_if(too_big), "add.u64",
			 gt_ptxgen_at(ring->address, LOST), gt_ptxgen_signed(1));
	gt_ptxgen_result(gen, -E2BIG);
	gt_ptxgen_branch_if(gen, too_big, over);
	gt_ptxgen_emit_sized_reservation(gen, ring, size, &record, &failed);
	gt_ptxgen_result(gen, -EAGAIN);
	gt_ptxgen_branch_if(gen, failed, over);
	gt_ptxgen_emit(gen, "add.s64", bytes, record, sizeof(struct gt_ring_record));
	gt_ptxgen_copy_in_sized(gen, data, size, bytes);
	length = gt_ptxgen_low_half(gen, size);
	gt_ptxgen_emit_record_head(gen, record, length, GT_RING_READY);
	gt_ptxgen_result(gen, 0);
	gt_ptxgen_emit_label(gen, over);
}

/* The bytes are at r<data>, their number is in r<data + 1>. */
static int emit_output(struct gt_ptxgen *gen, unsigned data)
{
	struct gt_ptxgen_ring ring = gt_ptxgen_ring_of(gen);
	uint64_t size;

	if (!is_known(gen, data + 1, &size))
		emit_output_of_any_size(gen, &ring, data);
	else if (size > ring.bytes - sizeof(struct gt_ring_record))
		emit_lost_record(gen, &ring, -E2BIG);
	else
		emit_output_of_known_size(gen, &ring, data, (uint32_t)size);
	return 0;
}

int gt_ptxgen_ring_output(struct gt_ptxgen *gen, uint32_t insn)
{
	return emit_output(gen, 2);
}

int gt_ptxgen_perf_output(struct gt_ptxgen *gen, uint32_t insn)
{
	return emit_output(gen, 4);
}

bool gt_ptxgen_fits_ring(const struct gt_ptxgen *gen)
{
	int32_t map = gt_ptxgen_fact(gen, 1)->map;
	uint64_t size;

	return map >= 0 && is_known(gen, 2, &size) &&
	       size <= gt_bpf_map_ring_bytes(&gen->object->maps[map]) -
			       sizeof(struct gt_ring_record);
}

int gt_ptxgen_ring_reserve(struct gt_ptxgen *gen, uint32_t insn)
{
	struct gt_ptxgen_ring ring = gt_ptxgen_ring_of(gen);
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0), record, failed;
	struct gt_ptxgen_value done = gt_ptxgen_label(gen), label;
	bool is_tested;
	uint64_t size;

	if (!is_known(gen, 2, &size))
		return gt_ptxgen_fail(gen, -EOPNOTSUPP,
				      "a record whose size differs between paths");
	if (size > ring.bytes - sizeof(struct gt_ring_record)) {
		emit_lost_record(gen, &ring, 0);
		return 0;
	}
	is_tested = gt_ptxgen_null_target(gen, &label);
	gt_ptxgen_emit_reservation(gen, &ring, (uint32_t)size, &record, &failed);
	gt_ptxgen_result(gen, 0);
	gt_ptxgen_branch_if(gen, failed, is_tested ? label : done);
	gt_ptxgen_emit(gen, gt_ptxgen_memory("st", gt_ptxgen_global(gen), 'u', 32),
		       gt_ptxgen_at(record, 0), size);
	gt_ptxgen_emit(gen, "add.s64", result, record, sizeof(struct gt_ring_record));
	if (!is_tested)
		gt_ptxgen_emit_label(gen, done);
	return 0;
}

static int emit_record_state(struct gt_ptxgen *gen, enum gt_ring_state state)
{
	const int64_t at = (int64_t)offsetof(struct gt_ring_record, state) -
			   (int64_t)sizeof(struct gt_ring_record);
	struct gt_ptxgen_value record = gt_ptxgen_reg64(gen, 1), word = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "mov.u32", word, state);
	gt_ptxgen_store_ordered(gen, gt_ptxgen_release(place), 32, gt_ptxgen_at(record, at), word);
	gt_ptxgen_result(gen, 0);
	return 0;
}

int gt_ptxgen_ring_submit(struct gt_ptxgen *gen, uint32_t insn)
{
	return emit_record_state(gen, GT_RING_READY);
}

int gt_ptxgen_ring_discard(struct gt_ptxgen *gen, uint32_t insn)
{
	return emit_record_state(gen, GT_RING_DISCARDED);
}
