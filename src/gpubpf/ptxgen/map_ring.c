/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rings in PTX, by the protocol of map/map.h: credit first, then a position, then the bytes, then
 * the state in the head. Active lanes reserve together where their records have one size.
 */
#include <errno.h>

#include "base/launch_limits.h"
#include "gpubpf/ptxgen/map.h"

enum {
	NO_POSITION = 1, /* in place of one, which is a multiple of 8 */
};

#define CREDIT offsetof(struct gt_ring_header, credit)
#define HEAD offsetof(struct gt_ring_header, head)
#define LOST offsetof(struct gt_ring_header, lost)
#define RETURNED offsetof(struct gt_ring_header, returned)
#define TAKEN offsetof(struct gt_ring_header, taken)

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

/* What is reserved: a record of `bytes`, a .b64, or one of `total` bytes for each of some lanes. */
struct ring_amount {
	struct gt_ptxgen_value less; /* the bytes, negated */
	struct gt_ptxgen_value bytes;
	const struct gt_ptxgen_value *mask; /* of the lanes; NULL: a record alone */
	uint32_t total;
};

/*
 * The bytes, a .b64, and the records, too, unless `ret_records` is NULL. They are computed from the
 * mask where they are needed, otherwise than for `less`: ptxas does not see that they are the same,
 * and keeps no register with them while credit is taken.
 */
static struct gt_ptxgen_value emit_bytes(struct gt_ptxgen *gen, const struct ring_amount *amount,
					 struct gt_ptxgen_value *ret_records)
{
	struct gt_ptxgen_value bytes, count;

	if (!amount->mask) {
		if (ret_records)
			*ret_records = gt_ptxgen_signed(1);
		return amount->bytes;
	}
	bytes = gt_ptxgen_b64(gen);
	count = gt_ptxgen_b32(gen);
	gt_ptxgen_emit(gen, "brev.b32", count, *amount->mask);
	gt_ptxgen_emit(gen, "popc.b32", count, count);
	gt_ptxgen_emit(gen, "mul.wide.u32", bytes, count, amount->total);
	if (ret_records) {
		*ret_records = gt_ptxgen_b64(gen);
		gt_ptxgen_emit(gen, "cvt.u64.u32", *ret_records, count);
	}
	return bytes;
}

/* Where there is not enough credit: what a register is set to, and the label where to continue. */
struct ring_failure {
	const char *move; /* "mov.u32", "mov.s64" */
	struct gt_ptxgen_value target;
	int number;
	struct gt_ptxgen_value over;
};

/* Add bytes, which may be negative, to the credit: whether there is none missing then. */
static void emit_add_credit(struct gt_ptxgen *gen, struct gt_ptxgen_value address,
			    struct gt_ptxgen_value bytes, struct gt_ptxgen_value enough)
{
	struct gt_ptxgen_value credit = gt_ptxgen_b64(gen);

	gt_ptxgen_atom_ordered(gen, gt_ptxgen_acquire(place), "add.u64", credit,
			       gt_ptxgen_at(address, CREDIT), bytes);
	gt_ptxgen_emit(gen, "add.s64", credit, credit, bytes);
	gt_ptxgen_emit(gen, "setp.ge.s64", enough, credit, 0);
}

/*
 * Where there is not enough credit: add what the reader has returned meanwhile. `enough` says
 * whether the amount, which is subtracted already, is there now; if not, the caller returns it.
 *
 * `taken` is exchanged, so each returned byte is added once, in whatever order writers come: a
 * writer that was late adds a negative number, which the next one makes up for.
 */
static void emit_add_returned(struct gt_ptxgen *gen, struct gt_ptxgen_value address,
			      struct gt_ptxgen_value enough)
{
	struct gt_ptxgen_value more = gt_ptxgen_b64(gen), old = gt_ptxgen_b64(gen);

	gt_ptxgen_load_ordered(gen, gt_ptxgen_acquire(place), 64, more,
			       gt_ptxgen_at(address, RETURNED));
	gt_ptxgen_atom_ordered(gen, gt_ptxgen_relaxed(place), "exch.b64", old,
			       gt_ptxgen_at(address, TAKEN), more);
	gt_ptxgen_emit(gen, "sub.s64", more, more, old);
	emit_add_credit(gen, address, more, enough);
}

/*
 * Take credit from the ring at `address`. If there is not enough, the credit is returned and the
 * records are counted as lost.
 */
static void emit_take_credit(struct gt_ptxgen *gen, struct gt_ptxgen_value address,
			     const struct ring_amount *amount, const struct ring_failure *failure)
{
	struct gt_ptxgen_value enough = gt_ptxgen_predicate(gen), taken = gt_ptxgen_label(gen);
	struct gt_ptxgen_value bytes, records;

	emit_add_credit(gen, address, amount->less, enough);
	gt_ptxgen_branch_if(gen, enough, taken);
	/* Other targets have rings in host memory alone. */
	if (!gen->without_lanes) {
		emit_add_returned(gen, address, enough);
		gt_ptxgen_branch_if(gen, enough, taken);
	}
	bytes = emit_bytes(gen, amount, &records);
	gt_ptxgen_reduce(gen, place, gt_ptxgen_always, "add.u64", gt_ptxgen_at(address, CREDIT),
			 bytes);
	gt_ptxgen_reduce(gen, place, gt_ptxgen_always, "add.u64", gt_ptxgen_at(address, LOST),
			 records);
	/* Here, not before: a register less while the credit is taken. */
	gt_ptxgen_emit(gen, failure->move, failure->target, failure->number);
	gt_ptxgen_branch(gen, failure->over);
	gt_ptxgen_emit_label(gen, taken);
}

static void emit_take_position(struct gt_ptxgen *gen, struct gt_ptxgen_value address,
			       const struct ring_amount *amount, struct gt_ptxgen_value position)
{
	gt_ptxgen_atom_ordered(gen, gt_ptxgen_relaxed(place), "add.u64", position,
			       gt_ptxgen_at(address, HEAD), emit_bytes(gen, amount, NULL));
}

static bool is_power_of_two(uint32_t number)
{
	return !(number & (number - 1));
}

/* The address of the record at an offset within the ring, a .b32. */
static struct gt_ptxgen_value emit_record_at(struct gt_ptxgen *gen,
					     const struct gt_ptxgen_ring *ring,
					     struct gt_ptxgen_value offset)
{
	struct gt_ptxgen_value record = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "mad.wide.u32", record, offset, 1, ring->address);
	gt_ptxgen_emit(gen, "add.s64", record, record, sizeof(struct gt_ring_header));
	return record;
}

/* ---- lanes together -------------------------------------------------------------------- */

/*
 * The lowest active lane reserves for those of `mask`; `first` becomes the offset of the first
 * record less `total`, before it is reduced to the ring's size, or NO_POSITION if there is not
 * enough credit.
 *
 * `below`, which is 0 in this lane, is added to the address: so ptxas does not see that the address
 * is the same in all lanes. It would add up over the warp again, for 40 instructions, and compute
 * each address in uniform registers. The factor makes it one multiplication and addition.
 */
static void emit_reserve_as_leader(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
				   struct gt_ptxgen_value mask, struct gt_ptxgen_value below,
				   uint32_t total, struct gt_ptxgen_value first,
				   struct gt_ptxgen_value over)
{
	struct gt_ptxgen_value address = gt_ptxgen_b64(gen), position = gt_ptxgen_b64(gen);
	const struct ring_amount amount = {gt_ptxgen_b64(gen), .mask = &mask, .total = total};
	struct gt_ptxgen_value count = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "mad.wide.u32", address, below, 8, ring->address);
	gt_ptxgen_emit(gen, "popc.b32", count, mask);
	gt_ptxgen_emit(gen, "mul.wide.s32", amount.less, count, -(int64_t)total);
	emit_take_credit(gen, address, &amount,
			 &(struct ring_failure){"mov.u32", first, NO_POSITION, over});
	emit_take_position(gen, address, &amount, position);
	if (!is_power_of_two(ring->bytes))
		gt_ptxgen_emit(gen, "rem.u64", position, position, ring->bytes);
	gt_ptxgen_emit(gen, "cvt.u32.u64", first, position);
	/* Ranks begin at 1: see emit_reserve_together. */
	gt_ptxgen_emit(gen, "add.s32", first, first, -(int64_t)total);
}

/* Reduce the offset of a lane's record, less than twice the ring's size beyond that of the first.
 */
static void emit_wrap_offset(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
			     struct gt_ptxgen_value offset)
{
	struct gt_ptxgen_value wrapped;

	if (is_power_of_two(ring->bytes)) {
		gt_ptxgen_emit(gen, "and.b32", offset, offset, ring->bytes - 1);
		return;
	}
	/* Below the ring's size the difference is a large number. */
	wrapped = gt_ptxgen_b32(gen);
	gt_ptxgen_emit(gen, "sub.u32", wrapped, offset, ring->bytes);
	gt_ptxgen_emit(gen, "min.u32", offset, offset, wrapped);
}

static void emit_reserve_together(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
				  uint32_t total, struct gt_ptxgen_value *ret_record,
				  struct gt_ptxgen_value *ret_failed)
{
	struct gt_ptxgen_value mask = gt_ptxgen_active_mask(gen), below = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value rank = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value follows = gt_ptxgen_predicate(gen), first = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value lowest = gt_ptxgen_b32(gen), together = gt_ptxgen_label(gen);

	gt_ptxgen_emit(gen, "mov.u32", below, gt_ptxgen_text("%lanemask_lt"));
	gt_ptxgen_emit(gen, "and.b32", below, below, mask);
	gt_ptxgen_emit(gen, "setp.ne.u32", follows, below, 0);
	/* In these lanes `first` is not set: they read that of the lowest one. */
	gt_ptxgen_branch_if(gen, follows, together);
	emit_reserve_as_leader(gen, ring, mask, below, total, first, together);
	gt_ptxgen_emit_label(gen, together);
	gt_ptxgen_emit(gen, "brev.b32", lowest, mask);
	gt_ptxgen_emit(gen, "bfind.shiftamt.u32", lowest, lowest);
	gt_ptxgen_shuffle_word(gen, first, lowest, mask);
	*ret_failed = gt_ptxgen_predicate(gen);
	gt_ptxgen_emit(gen, "setp.eq.u32", *ret_failed, first, NO_POSITION);
	gt_ptxgen_offset_through_constants(
		gen, is_power_of_two(ring->bytes) ? ring->bytes - 1 : UINT32_MAX, first);
	/* From another mask than `below`, which then needs no register while the leader reserves.
	 */
	gt_ptxgen_emit(gen, "mov.u32", rank, gt_ptxgen_text("%lanemask_le"));
	gt_ptxgen_emit(gen, "and.b32", rank, rank, mask);
	gt_ptxgen_emit(gen, "popc.b32", rank, rank);
	gt_ptxgen_emit(gen, "mad.lo.u32", first, rank, total, first);
	emit_wrap_offset(gen, ring, first);
	*ret_record = emit_record_at(gen, ring, first);
}

/* ---- each lane alone ------------------------------------------------------------------- */

/* The address of the record at a position. */
static struct gt_ptxgen_value emit_record_address(struct gt_ptxgen *gen,
						  const struct gt_ptxgen_ring *ring,
						  struct gt_ptxgen_value position)
{
	struct gt_ptxgen_value record = gt_ptxgen_b64(gen);

	if (is_power_of_two(ring->bytes))
		gt_ptxgen_emit(gen, "and.b64", record, position, ring->bytes - 1);
	else
		gt_ptxgen_emit(gen, "rem.u64", record, position, ring->bytes);
	gt_ptxgen_emit(gen, "add.s64", record, record, ring->address);
	gt_ptxgen_emit(gen, "add.s64", record, record, sizeof(struct gt_ring_header));
	return record;
}

static void emit_reserve_alone(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
			       struct gt_ptxgen_value total, struct gt_ptxgen_value *ret_record,
			       struct gt_ptxgen_value *ret_failed)
{
	struct gt_ptxgen_value position = gt_ptxgen_b64(gen), over = gt_ptxgen_label(gen);
	const struct ring_amount amount = {gt_ptxgen_b64(gen), .bytes = total};

	gt_ptxgen_emit(gen, "neg.s64", amount.less, total);
	emit_take_credit(gen, ring->address, &amount,
			 &(struct ring_failure){"mov.s64", position, -1, over});
	emit_take_position(gen, ring->address, &amount, position);
	gt_ptxgen_emit_label(gen, over);
	*ret_failed = gt_ptxgen_predicate(gen);
	gt_ptxgen_emit(gen, "setp.lt.s64", *ret_failed, position, 0);
	*ret_record = emit_record_address(gen, ring, position);
}

void gt_ptxgen_emit_reservation(struct gt_ptxgen *gen, const struct gt_ptxgen_ring *ring,
				uint32_t size, struct gt_ptxgen_value *ret_record,
				struct gt_ptxgen_value *ret_failed)
{
	uint32_t total = total_of(size);
	struct gt_ptxgen_value bytes;

	/* A ring that a few warps fill would reject a whole warp where a few records fit. */
	if (!gen->without_lanes && (uint64_t)total * GT_WARP_SIZE * 4 <= ring->bytes) {
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

static bool reserves_record(const struct gt_ptxgen *gen, uint32_t at)
{
	const struct bpf_insn *insn = &gen->job->program->insns[at];

	return gen->facts->insns[at].reached && insn->code == (BPF_JMP | BPF_CALL) &&
	       !gt_bpf_is_subprogram_call(insn) && insn->imm == BPF_FUNC_ringbuf_reserve;
}

/*
 * The size of all records that the program reserves in a ring: it is then written with the state,
 * in one word. 0: they differ.
 */
static uint32_t size_of_records(const struct gt_ptxgen *gen, int32_t map)
{
	int64_t size = 0;

	for (uint32_t at = 0; map >= 0 && at < gen->facts->insn_count; at++) {
		const struct gt_register_fact *fact = gen->facts->insns[at].registers;

		if (!reserves_record(gen, at) || (fact[1].map >= 0 && fact[1].map != map))
			continue;
		if (fact[1].map < 0 || fact[2].type != GT_REG_SCALAR ||
		    fact[2].min != fact[2].max || (size && size != fact[2].min))
			return 0;
		size = fact[2].min;
	}
	return (uint32_t)size;
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
	if (size_of_records(gen, gen->map) != size)
		gt_ptxgen_emit(gen, gt_ptxgen_memory("st", gt_ptxgen_global(gen), 'u', 32),
			       gt_ptxgen_at(record, 0), size);
	gt_ptxgen_emit(gen, "add.s64", result, record, sizeof(struct gt_ring_record));
	if (!is_tested)
		gt_ptxgen_emit_label(gen, done);
	return 0;
}

/* Set the state of the record at r1, and its size where this is known here. */
static int emit_record_state(struct gt_ptxgen *gen, enum gt_ring_state state)
{
	const int64_t head = -(int64_t)sizeof(struct gt_ring_record);
	const int64_t at = head + (int64_t)offsetof(struct gt_ring_record, state);
	struct gt_ptxgen_value record = gt_ptxgen_reg64(gen, 1), word;
	uint32_t size = size_of_records(gen, gt_ptxgen_fact(gen, 1)->map);

	if (size) {
		word = gt_ptxgen_b64(gen);
		gt_ptxgen_emit(gen, "mov.u64", word, (uint64_t)state << 32 | size);
		gt_ptxgen_store_ordered(gen, gt_ptxgen_release(place), 64,
					gt_ptxgen_at(record, head), word);
	} else {
		word = gt_ptxgen_b32(gen);
		gt_ptxgen_emit(gen, "mov.u32", word, state);
		gt_ptxgen_store_ordered(gen, gt_ptxgen_release(place), 32, gt_ptxgen_at(record, at),
					word);
	}
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
