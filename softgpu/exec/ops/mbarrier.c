/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mbarrier objects (PTX ISA 9.0, 9.7.13.15). An object is 64 bits of shared memory. Copies are
 * complete before the next instruction, so waits are only for arrivals.
 */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/ops/ops.h"

/* How the 64 bits are used; programs treat them as opaque. */
union mbarrier {
	uint64_t bits;
	struct {
		uint64_t pending : 20;  /* arrivals until the phase is complete */
		uint64_t expected : 20; /* arrivals of a phase */
		int64_t bytes : 23;     /* of announced copies that are not complete */
		uint64_t phase : 1;
	};
};

enum mbarrier_operation {
	MBARRIER_INIT,
	MBARRIER_INVAL,
	MBARRIER_EXPECT,
	MBARRIER_COMPLETE,
	MBARRIER_ARRIVE,
	MBARRIER_ARRIVE_EXPECT,
	MBARRIER_DROP,
	MBARRIER_DROP_EXPECT,
	MBARRIER_TEST,
	MBARRIER_TEST_PARITY,
	MBARRIER_PENDING,
};

static void check_complete(union mbarrier *object)
{
	if (object->pending || object->bytes)
		return;
	object->phase ^= 1;
	object->pending = object->expected;
}

static void arrive(union mbarrier *object, uint32_t count)
{
	object->pending = object->pending > count ? object->pending - count : 0;
	check_complete(object);
}

/* Applies an operation of one lane to an object; b: its count, bytes or state. */
static void change(union mbarrier *object, enum mbarrier_operation operation, uint64_t b)
{
	switch (operation) {
	case MBARRIER_INIT:
		*object = (union mbarrier){.pending = (uint32_t)b, .expected = (uint32_t)b};
		break;
	case MBARRIER_INVAL:
		object->bits = 0;
		break;
	case MBARRIER_EXPECT:
		object->bytes += (int64_t)(uint32_t)b;
		break;
	case MBARRIER_COMPLETE:
		object->bytes -= (int64_t)(uint32_t)b;
		check_complete(object);
		break;
	case MBARRIER_ARRIVE:
		arrive(object, (uint32_t)b);
		break;
	case MBARRIER_ARRIVE_EXPECT:
		object->bytes += (int64_t)(uint32_t)b;
		arrive(object, 1);
		break;
	case MBARRIER_DROP:
		object->expected = object->expected > b ? object->expected - b : 0;
		arrive(object, (uint32_t)b);
		break;
	case MBARRIER_DROP_EXPECT:
		object->bytes += (int64_t)(uint32_t)b;
		object->expected -= object->expected > 0;
		arrive(object, 1);
		break;
	default:
		break;
	}
}

/*
 * Applies it atomically, since other blocks of the cluster may do so. Returns the old state, or the
 * result of a test.
 */
static uint64_t operate(union mbarrier *object, enum mbarrier_operation operation, uint64_t b)
{
	union mbarrier before = {.bits = __atomic_load_n(&object->bits, __ATOMIC_ACQUIRE)}, after;

	if (operation == MBARRIER_TEST)
		return ((union mbarrier){.bits = b}).phase != before.phase;
	if (operation == MBARRIER_TEST_PARITY)
		return (b & 1) != before.phase;
	do {
		after = before;
		change(&after, operation, b);
	} while (!__atomic_compare_exchange_n(&object->bits, &before.bits, after.bits, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return before.bits;
}

static bool is_test(enum mbarrier_operation operation)
{
	return operation == MBARRIER_TEST || operation == MBARRIER_TEST_PARITY;
}

/* A lane's count, bytes, parity or state; of a state only the phase matters. */
static uint64_t operand_of(const struct sg_warp *warp, const struct sg_instruction *at,
			   uint32_t lane)
{
	union mbarrier value = {.bits = at->space == 8 ? sg_read_lane(warp, at->b, 8, lane)
						       : sg_read_lane(warp, at->b, 4, lane)};

	return at->selector == MBARRIER_TEST ? ((union mbarrier){.phase = value.phase}).bits
					     : value.bits;
}

/* Of a warp's 64-bit values: one register of SSE2. */
typedef uint64_t two_lanes __attribute__((vector_size(16), aligned(8), may_alias));

/* Returns the bits in which the values of the lanes differ. */
static uint64_t differences(const uint64_t *values)
{
	const two_lanes *lanes = (const two_lanes *)(const void *)values;
	two_lanes first = {values[0], values[0]}, sum = {0};

	for (uint32_t i = 0; i < SG_WARP_SIZE / 2; i++)
		sum |= lanes[i] ^ first;
	return sum[0] | sum[1];
}

/* Whether the operands of all active lanes are the same. */
static bool is_common_operand(const struct sg_warp *warp, const struct sg_instruction *at)
{
	uint64_t operand = operand_of(warp, at, (uint32_t)__builtin_ctz(warp->exec));
	const uint32_t *narrow = (const uint32_t *)(const void *)(warp->frame + at->b);
	uint64_t differs = 0;

	if (warp->exec == SG_FULL && at->space == 8) {
		differs = differences((const uint64_t *)(const void *)narrow);
		return !(at->selector == MBARRIER_TEST ? differs >> 63 : differs);
	}
	if (warp->exec == SG_FULL)
		return !memcmp(narrow, narrow + 1, (SG_WARP_SIZE - 1) * sizeof(*narrow));
	for (uint32_t lanes = warp->exec & (warp->exec - 1); lanes; lanes &= lanes - 1)
		if (operand_of(warp, at, (uint32_t)__builtin_ctz(lanes)) != operand)
			return false;
	return true;
}

/* The object of all active lanes, if it is one and their operands are the same; else NULL. */
static union mbarrier *find_common_object(const struct sg_warp *warp,
					  const struct sg_instruction *at,
					  const struct sg_access *access)
{
	/* Inactive lanes have the address of an active one. */
	bool is_common = access->pattern == SG_PATTERN_UNIFORM || !differences(access->address);

	return is_common && is_common_operand(warp, at)
		       ? (union mbarrier *)(uintptr_t)access->address[0]
		       : NULL;
}

/*
 * The object of a full warp at one 32-bit address in shared memory, without translating the address
 * of each lane; NULL: not as simple as that.
 */
static union mbarrier *find_shared_object(const struct sg_warp *warp,
					  const struct sg_instruction *at)
{
	const uint32_t *address = (const uint32_t *)(const void *)(warp->frame + at->a);
	const uint32_t simple = SG_FLAG_SHARED | SG_FLAG_NARROW;
	uint32_t offset;

	if (warp->exec != SG_FULL || (at->flags & simple) != simple || at->a == SG_NO_SLOT ||
	    memcmp(address, address + 1, (SG_WARP_SIZE - 1) * sizeof(*address)) != 0)
		return NULL;
	offset = address[0] + (uint32_t)at->immediate;
	if (offset % sizeof(union mbarrier) || warp->grid->shared_size < sizeof(union mbarrier) ||
	    offset > warp->grid->shared_size - sizeof(union mbarrier) ||
	    !is_common_operand(warp, at))
		return NULL;
	return (union mbarrier *)(void *)(warp->block->shared + offset);
}

/* Replace `before`, unless another block of the cluster was faster; then it is read again. */
static bool replace(const struct sg_warp *warp, union mbarrier *object, union mbarrier *before,
		    union mbarrier after)
{
	if (warp->block->cluster)
		return __atomic_compare_exchange_n(&object->bits, &before->bits, after.bits, false,
						   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	__atomic_store_n(&object->bits, after.bits, __ATOMIC_RELEASE);
	return true;
}

/* Writes the state before the arrival of each active lane: each finds `count` fewer pending. */
static void write_states(const struct sg_warp *warp, union mbarrier before, uint64_t count,
			 uint64_t *states)
{
	two_lanes *two = (two_lanes *)(void *)states;
	two_lanes next = {before.bits, before.bits - count}, step = {2 * count, 2 * count};

	/* The count of pending arrivals is in the lowest bits, and as large as their sum. */
	if (warp->exec == SG_FULL) {
		for (uint32_t i = 0; i < SG_WARP_SIZE / 2; i++, next -= step)
			two[i] = next;
		return;
	}
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		states[__builtin_ctz(lanes)] = before.bits;
		before.bits -= count;
	}
}

/*
 * The arrivals of all active lanes at once, each with the state before its own. False: they do not
 * all belong to this phase.
 */
static bool arrive_together(const struct sg_warp *warp, union mbarrier *object, uint64_t count,
			    uint64_t *states)
{
	union mbarrier before = {.bits = __atomic_load_n(&object->bits, __ATOMIC_ACQUIRE)}, after;
	uint64_t total = count * sg_lane_count(warp->exec);

	do {
		if (count > UINT32_MAX || before.pending < total)
			return false;
		after = before;
		arrive(&after, (uint32_t)total);
	} while (!replace(warp, object, &before, after));
	write_states(warp, before, count, states);
	return true;
}

static const struct sg_instruction *complete_test(struct sg_warp *warp,
						  const struct sg_instruction *at, uint32_t answers)
{
	uint32_t *p = (uint32_t *)(void *)(warp->frame + at->e);

	*p = (*p & ~warp->exec) | answers;
	warp->park.is_over = false;
	return at + 1;
}

/*
 * Whether the instruction parked these lanes before and the phase has changed since then: they
 * waited for its completion.
 */
static bool is_wait_complete(struct sg_warp *warp, const struct sg_instruction *at)
{
	bool is_parked = warp->park.at == at && warp->park.lanes == warp->exec;

	warp->park.at = NULL;
	return is_parked && !warp->park.is_over;
}

/* selector: enum mbarrier_operation; b: a slot of `space` bytes; d: state, or e: a predicate. */
static const struct sg_instruction *run_mbarrier(struct sg_warp *warp,
						 const struct sg_instruction *at)
{
	enum mbarrier_operation operation = (enum mbarrier_operation)at->selector;
	uint64_t *states = (uint64_t *)(void *)(warp->frame + at->d);
	uint32_t answers = 0, first = (uint32_t)__builtin_ctz(warp->exec);
	union mbarrier *object = NULL;
	struct sg_access access;

	if (warp->park.at && is_wait_complete(warp, at))
		return complete_test(warp, at, warp->exec);
	if (is_test(operation) || operation == MBARRIER_ARRIVE)
		object = find_shared_object(warp, at);
	if (!object && !at->resolve(warp, at, &access))
		return NULL;
	if (!object)
		object = find_common_object(warp, at, &access);
	if (object && is_test(operation)) {
		if (operate(object, operation, operand_of(warp, at, first)))
			return complete_test(warp, at, warp->exec);
		return sg_warp_can_park(warp, object)
			       ? sg_warp_park(warp, at, &object->bits,
					      ((union mbarrier){.phase = 1}).bits)
			       : complete_test(warp, at, 0);
	}
	if (object && operation == MBARRIER_ARRIVE) {
		if (arrive_together(warp, object, operand_of(warp, at, first), states))
			return at + 1;
		if (!at->resolve(warp, at, &access))
			return NULL;
	}
	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t result = operate((union mbarrier *)(uintptr_t)access.address[lane],
					  operation, operand_of(warp, at, lane));

		if (is_test(operation))
			answers |= (uint32_t)result << lane;
		else
			states[lane] = result;
	}
	return is_test(operation) ? complete_test(warp, at, answers) : at + 1;
}

/* mbarrier.pending_count d, state */
static const struct sg_instruction *run_pending(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	const uint64_t *state = (uint64_t *)(void *)(warp->frame + at->a);
	uint32_t *d = (uint32_t *)(void *)(warp->frame + at->d);

	for (uint32_t lanes = warp->exec; lanes; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);

		d[lane] = ((union mbarrier){.bits = state[lane]}).pending;
	}
	return at + 1;
}

void sg_mbarrier_complete_bytes(void *object, uint64_t bytes)
{
	operate(object, MBARRIER_COMPLETE, bytes);
}

bool sg_is_mbarrier_wait(const struct sg_instruction *at)
{
	return at->run == run_mbarrier && is_test((enum mbarrier_operation)at->selector);
}

/* ---- decoding -------------------------------------------------------------------------- */

static bool find_operation(const struct sg_decoder *decoder, enum mbarrier_operation *ret_operation)
{
	bool expects = sg_decode_has(decoder, GT_PTX_MOD_EXPECT_TX);

	if (sg_decode_has(decoder, GT_PTX_MOD_INIT))
		*ret_operation = MBARRIER_INIT;
	else if (sg_decode_has(decoder, GT_PTX_MOD_INVAL))
		*ret_operation = MBARRIER_INVAL;
	else if (sg_decode_has(decoder, GT_PTX_MOD_ARRIVE))
		*ret_operation = expects ? MBARRIER_ARRIVE_EXPECT : MBARRIER_ARRIVE;
	else if (sg_decode_has(decoder, GT_PTX_MOD_ARRIVE_DROP))
		*ret_operation = expects ? MBARRIER_DROP_EXPECT : MBARRIER_DROP;
	else if (expects)
		*ret_operation = MBARRIER_EXPECT;
	else if (sg_decode_has(decoder, GT_PTX_MOD_COMPLETE_TX))
		*ret_operation = MBARRIER_COMPLETE;
	else if (sg_decode_has(decoder, GT_PTX_MOD_TEST_WAIT) ||
		 sg_decode_has(decoder, GT_PTX_MOD_TRY_WAIT))
		*ret_operation = sg_decode_has(decoder, GT_PTX_MOD_PARITY) ? MBARRIER_TEST_PARITY
									   : MBARRIER_TEST;
	else if (sg_decode_has(decoder, GT_PTX_MOD_PENDING_COUNT))
		*ret_operation = MBARRIER_PENDING;
	else
		return false;
	return true;
}

static int decode_pending(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	int error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B32, &step.d);

	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_B64, &step.a);
	return error ? error : sg_decode_emit_step(decoder, run_pending, &step);
}

static bool is_address(const struct sg_decoder *decoder, uint32_t index)
{
	return index < decoder->instruction->operand_count &&
	       decoder->instruction->operands[index].kind == GT_PTX_OPERAND_ADDRESS;
}

/* Whether an instruction's mbarrier is in shared memory. */
static bool is_shared_object(const struct sg_decoder *decoder)
{
	return sg_decode_has(decoder, GT_PTX_MOD_SHARED) ||
	       sg_decode_has(decoder, GT_PTX_MOD_SHARED_CTA) ||
	       sg_decode_has(decoder, GT_PTX_MOD_SHARED_CLUSTER);
}

/* Emits an operation on the mbarrier at an address; step has its operands. */
static int emit_operation(struct sg_decoder *decoder, enum mbarrier_operation operation,
			  const struct sg_address *address, bool is_shared,
			  struct sg_instruction *step)
{
	int error;

	step->size = 8;
	step->count = 1;
	step->selector = (uint8_t)operation;
	if (is_shared)
		step->flags |= SG_FLAG_SHARED;
	step->space = operation == MBARRIER_TEST ? 8 : 4;
	error = sg_decode_access(decoder, step, is_shared ? GT_PTX_SPACE_SHARED : GT_PTX_SPACE_NONE,
				 address);
	return error ? error : sg_decode_emit_step(decoder, run_mbarrier, step);
}

int sg_decode_mbarrier(struct sg_decoder *decoder)
{
	uint32_t first = is_address(decoder, 0) ? 0 : 1;
	struct sg_instruction step = {.d = SG_SINK};
	enum mbarrier_operation operation;
	struct sg_address address;
	bool tests;
	int error = 0;

	if (!sg_decode_has(decoder, GT_PTX_MOD_B64) || !find_operation(decoder, &operation))
		return sg_decode_bad_form(decoder);
	if (operation == MBARRIER_PENDING)
		return decode_pending(decoder);
	tests = is_test(operation);
	if (!first || !tests)
		step.e = sg_decode_temporary(decoder, 0);
	if (first)
		error = tests ? sg_decode_destination(decoder, 0, GT_PTX_TYPE_PRED, &step.e)
			      : sg_decode_destination(decoder, 0, GT_PTX_TYPE_B64, &step.d);
	if (!error)
		error = sg_decode_address(decoder, first, &address);
	if (error)
		return error;
	if (sg_decode_operand(decoder, first + 1))
		error = sg_decode_source(
			decoder, first + 1,
			operation == MBARRIER_TEST ? GT_PTX_TYPE_B64 : GT_PTX_TYPE_B32, &step.b);
	else
		error = sg_decode_constant(decoder, 4, 1, &step.b);
	return error ? error
		     : emit_operation(decoder, operation, &address, is_shared_object(decoder),
				      &step);
}

/* Emits an operation on the mbarrier at operand `index`, with a constant count. */
static int emit_constant_operation(struct sg_decoder *decoder, uint32_t index,
				   enum mbarrier_operation operation, uint32_t count,
				   bool is_shared)
{
	struct sg_instruction step = {.d = SG_SINK, .e = sg_decode_temporary(decoder, 0)};
	struct sg_address address;
	int error = sg_decode_address(decoder, index, &address);

	if (!error)
		error = sg_decode_constant(decoder, 4, count, &step.b);
	return error ? error : emit_operation(decoder, operation, &address, is_shared, &step);
}

/* cp.async.mbarrier.arrive{.noinc} [mbarrier]: without .noinc the pending count does not change. */
int sg_decode_copy_arrive(struct sg_decoder *decoder)
{
	return emit_constant_operation(decoder, 0, MBARRIER_ARRIVE,
				       sg_decode_has(decoder, GT_PTX_MOD_NOINC),
				       sg_decode_has(decoder, GT_PTX_MOD_SHARED) ||
					       sg_decode_has(decoder, GT_PTX_MOD_SHARED_CTA));
}

int sg_decode_complete(struct sg_decoder *decoder, uint32_t index, uint32_t bytes)
{
	return emit_constant_operation(decoder, index, MBARRIER_COMPLETE, bytes,
				       sg_decode_has(decoder, GT_PTX_MOD_SHARED_CLUSTER));
}
