/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations on maps of the host as host calls (map/host_calls.h).
 *
 * The wait is one loop, in which a lane first takes a slot and then polls its state: a lane that
 * holds a slot never waits for another lane, also where the lanes of a warp run in lockstep. A
 * looked-up value is copied into local memory of the thread, one copy for each call in the program.
 */
#include <errno.h>

#include "gpubpf/map/host_calls.h"
#include "gpubpf/ptxgen/map.h"

enum {
	MAX_UNROLLED = 64, /* bytes of a value */
	AWAKE_NS = 10000,  /* before the thread sleeps between polls … */
	AWAKE_POLLS = 64,  /* … the same without a clock */
	SLEEP_NS = 100,
};

/* What a call keeps in registers. */
struct host_call {
	struct gt_host_call_layout layout;
	enum gt_host_call_operation operation;
	struct gt_ptxgen_value area;   /* .b64 */
	struct gt_ptxgen_value index;  /* .b32: of the slot */
	struct gt_ptxgen_value slot;   /* .b64: its address */
	struct gt_ptxgen_value mine;   /* .b64: its state since it was taken; 0: none is */
	struct gt_ptxgen_value since;  /* .b32: when it began */
	struct gt_ptxgen_value waited; /* .b32: ns, or polls without a clock */
	struct gt_ptxgen_value result;
	struct gt_ptxgen_value again, next, lost, over; /* labels */
};

static const enum gt_bpf_map_place place = GT_BPF_MAP_SHARED;

static struct gt_ptxgen_operand part_of(struct gt_ptxgen_value base, size_t offset)
{
	return gt_ptxgen_at(base, (int64_t)offset);
}

/* Compare and swap the state of the slot, from and to a distance from call->mine. */
static struct gt_ptxgen_value emit_state_change(struct gt_ptxgen *gen, const struct host_call *call,
						int from, int to, struct gt_ptxgen_value *ret_from)
{
	struct gt_ptxgen_value old = gt_ptxgen_b64(gen), before = gt_ptxgen_b64(gen),
			       after = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "add.s64", before, call->mine, from - GT_HOST_CALL_TAKEN);
	gt_ptxgen_emit(gen, "add.s64", after, call->mine, to - GT_HOST_CALL_TAKEN);
	gt_ptxgen_compare_and_swap(gen, gt_ptxgen_release(place), old,
				   part_of(call->slot, offsetof(struct gt_host_call_slot, state)),
				   before, after);
	*ret_from = before;
	return old;
}

/* ---- the value of a lookup -------------------------------------------------------------- */

/* Bytes for the copy of the lookup that is emitted. */
static uint32_t copy_bytes(const struct gt_ptxgen *gen)
{
	uint32_t size = 0;

	for (uint32_t i = 0; i < gen->object->map_count; i++) {
		const struct gt_bpf_map *map = &gen->object->maps[i];
		bool possible = gt_ptxgen_fact(gen, 1)->map < 0 || (int32_t)i == gen->map;

		if (possible && gt_bpf_map_is_on_host(map) && map->value_size > size)
			size = map->value_size;
	}
	return (uint32_t)gt_bpf_map_stride(size);
}

/* The thread's copy: a generic address, so that it is not NULL. */
static struct gt_ptxgen_value emit_copy_address(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value base = gt_ptxgen_b64(gen);

	if (!gen->call_copies[gen->at]) {
		gen->call_copies[gen->at] = gen->copy_bytes + 1;
		gen->copy_bytes += copy_bytes(gen);
	}
	gt_ptxgen_emit(gen, "mov.u64", base, gt_ptxgen_symbol("copies"));
	gt_ptxgen_emit(gen, "cvta.local.u64", base, base);
	gt_ptxgen_emit(gen, "add.s64", base, base, gen->call_copies[gen->at] - 1);
	return base;
}

static void emit_word_copy(struct gt_ptxgen *gen, struct gt_ptxgen_operand from,
			   struct gt_ptxgen_operand to)
{
	struct gt_ptxgen_value word = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, gt_ptxgen_memory("ld", gt_ptxgen_global(gen), 'u', 64), word, from);
	gt_ptxgen_emit(gen, gt_ptxgen_memory("st", GT_PTXGEN_GENERIC, 'u', 64), to, word);
}

static void emit_copy_loop(struct gt_ptxgen *gen, struct gt_ptxgen_value from,
			   struct gt_ptxgen_value to, uint32_t bytes)
{
	struct gt_ptxgen_value source = gt_ptxgen_b64(gen), target = gt_ptxgen_b64(gen),
			       end = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value again = gt_ptxgen_label(gen), more = gt_ptxgen_predicate(gen);

	gt_ptxgen_emit(gen, "mov.u64", source, from);
	gt_ptxgen_emit(gen, "mov.u64", target, to);
	gt_ptxgen_emit(gen, "add.s64", end, to, bytes);
	gt_ptxgen_emit_label(gen, again);
	emit_word_copy(gen, gt_ptxgen_at(source, 0), gt_ptxgen_at(target, 0));
	gt_ptxgen_emit(gen, "add.s64", source, source, 8);
	gt_ptxgen_emit(gen, "add.s64", target, target, 8);
	gt_ptxgen_emit(gen, "setp.lt.u64", more, target, end);
	gt_ptxgen_branch_if(gen, more, again);
}

/* Copy the slot's value where the call found one: r0 = the copy's address, or 0. */
static void emit_value_copy(struct gt_ptxgen *gen, const struct host_call *call)
{
	uint32_t bytes = (uint32_t)gt_bpf_map_stride(gt_ptxgen_map(gen)->value_size);
	struct gt_ptxgen_value copy = emit_copy_address(gen), from = gt_ptxgen_b64(gen),
			       missing = gt_ptxgen_predicate(gen), done = gt_ptxgen_label(gen);

	gt_ptxgen_emit(gen, "setp.ne.s64", missing, call->result, 0);
	gt_ptxgen_emit(gen, "mov.u64", call->result, 0);
	gt_ptxgen_branch_if(gen, missing, done);
	gt_ptxgen_emit(gen, "add.s64", from, call->slot, (int64_t)call->layout.value);
	if (bytes > MAX_UNROLLED)
		emit_copy_loop(gen, from, copy, bytes);
	for (uint32_t at = 0; at < bytes && bytes <= MAX_UNROLLED; at += 8)
		emit_word_copy(gen, gt_ptxgen_at(from, at), gt_ptxgen_at(copy, at));
	gt_ptxgen_emit(gen, "mov.u64", call->result, copy);
	gt_ptxgen_emit_label(gen, done);
}

/* ---- the loop --------------------------------------------------------------------------- */

/* PTX has one always. */
static bool has_clock(const struct gt_ptxgen *gen)
{
	return !gen->without_lanes || gen->options->clock;
}

static void emit_start(struct gt_ptxgen *gen, struct host_call *call)
{
	struct gt_ptxgen_value alive = gt_ptxgen_b32(gen), test = gt_ptxgen_predicate(gen), thread;

	gen->waits = true;
	call->area = gt_ptxgen_calls_address(gen);
	call->index = gt_ptxgen_b32(gen);
	call->slot = gt_ptxgen_b64(gen);
	call->mine = gt_ptxgen_b64(gen);
	call->since = gt_ptxgen_b32(gen);
	call->waited = gt_ptxgen_b32(gen);
	call->result = gt_ptxgen_b64(gen);
	call->again = gt_ptxgen_label(gen);
	call->next = gt_ptxgen_label(gen);
	call->lost = gt_ptxgen_label(gen);
	call->over = gt_ptxgen_label(gen);
	gt_ptxgen_load_ordered(gen, gt_ptxgen_relaxed(place), 32, alive,
			       part_of(call->area, offsetof(struct gt_host_call_area, alive)));
	gt_ptxgen_emit(gen, "setp.eq.u32", test, alive, 0);
	gt_ptxgen_branch_if(gen, test, call->lost);
	thread = gt_ptxgen_flat_thread(gen);
	gt_ptxgen_emit(gen, "mov.b32", call->index, gt_ptxgen_low_half(gen, thread));
	if (has_clock(gen))
		gt_ptxgen_emit(gen, "mov.u32", call->since, gt_ptxgen_text("%globaltimer_lo"));
	else
		gt_ptxgen_emit(gen, "mov.u32", call->waited, 0);
	gt_ptxgen_emit(gen, "mov.u64", call->mine, 0);
}

/* Write the request into the slot, and ring its bell. */
static void emit_request(struct gt_ptxgen *gen, const struct host_call *call)
{
	struct gt_ptxgen_value word = gt_ptxgen_b64(gen), state = gt_ptxgen_b64(gen),
			       bell = gt_ptxgen_b64(gen), bit = gt_ptxgen_b64(gen), part,
			       number = gt_ptxgen_b32(gen);
	struct gt_ptxgen_opcode store = gt_ptxgen_memory("st", gt_ptxgen_global(gen), 'u', 64);

	gt_ptxgen_emit(gen, "mov.u64", word, (int64_t)gen->map << 8 | (int64_t)call->operation);
	gt_ptxgen_emit(gen, store, part_of(call->slot, offsetof(struct gt_host_call_slot, request)),
		       word);
	if (call->operation == GT_HOST_CALL_UPDATE || call->operation == GT_HOST_CALL_ADD)
		gt_ptxgen_emit(gen, store,
			       part_of(call->slot, offsetof(struct gt_host_call_slot, number)),
			       gt_ptxgen_reg64(gen, call->operation == GT_HOST_CALL_ADD ? 3 : 4));
	part = gt_ptxgen_b64(gen);
	gt_ptxgen_emit(gen, "add.s64", part, call->slot, (int64_t)call->layout.key);
	gt_ptxgen_copy_in(gen, 2, gt_ptxgen_map(gen)->key_size, part);
	if (call->operation == GT_HOST_CALL_UPDATE) {
		part = gt_ptxgen_b64(gen);
		gt_ptxgen_emit(gen, "add.s64", part, call->slot, (int64_t)call->layout.value);
		gt_ptxgen_copy_in(gen, 3, gt_ptxgen_map(gen)->value_size, part);
	}
	gt_ptxgen_emit(gen, "add.s64", state, call->mine,
		       GT_HOST_CALL_REQUEST - GT_HOST_CALL_TAKEN);
	gt_ptxgen_store_ordered(gen, gt_ptxgen_release(place), 64,
				part_of(call->slot, offsetof(struct gt_host_call_slot, state)),
				state);
	gt_ptxgen_emit(gen, "mov.u64", bit, 1);
	gt_ptxgen_emit(gen, "and.b32", number, call->index, 63);
	gt_ptxgen_emit(gen, "shl.b64", bit, bit, number);
	gt_ptxgen_emit(gen, "shr.u32", number, call->index, 6);
	bell = gt_ptxgen_element(gen, call->area, number, sizeof(uint64_t),
				 offsetof(struct gt_host_call_area, bells));
	gt_ptxgen_atom_ordered(gen, gt_ptxgen_release(place), "or.b64", word, gt_ptxgen_at(bell, 0),
			       bit);
}

/* Try to take the slot at the index; branches to call->next. */
static void emit_take(struct gt_ptxgen *gen, const struct host_call *call)
{
	struct gt_ptxgen_value state = gt_ptxgen_b64(gen), phase = gt_ptxgen_b64(gen),
			       old = gt_ptxgen_b64(gen), taken = gt_ptxgen_b64(gen), found;
	struct gt_ptxgen_value test = gt_ptxgen_predicate(gen), busy = gt_ptxgen_label(gen);
	const size_t at = offsetof(struct gt_host_call_slot, state);

	gt_ptxgen_emit(gen, "and.b32", call->index, call->index, GT_HOST_CALL_SLOTS - 1);
	found = gt_ptxgen_element(gen, call->area, call->index, call->layout.slot_bytes,
				  call->layout.slots);
	gt_ptxgen_emit(gen, "mov.u64", call->slot, found);
	gt_ptxgen_load_ordered(gen, gt_ptxgen_relaxed(place), 64, state, part_of(call->slot, at));
	gt_ptxgen_emit(gen, "and.b64", phase, state, GT_HOST_CALL_PHASES - 1);
	gt_ptxgen_emit(gen, "setp.ne.u64", test, phase, GT_HOST_CALL_FREE);
	gt_ptxgen_branch_if(gen, test, busy);
	gt_ptxgen_emit(gen, "add.s64", taken, state, GT_HOST_CALL_TAKEN - GT_HOST_CALL_FREE);
	gt_ptxgen_compare_and_swap(gen, gt_ptxgen_relaxed(place), old, part_of(call->slot, at),
				   state, taken);
	gt_ptxgen_emit(gen, "setp.ne.u64", test, old, state);
	gt_ptxgen_branch_if(gen, test, busy);
	gt_ptxgen_emit(gen, "mov.u64", call->mine, taken);
	emit_request(gen, call);
	gt_ptxgen_branch(gen, call->next);
	gt_ptxgen_emit_label(gen, busy);
	gt_ptxgen_emit(gen, "add.u32", call->index, call->index, 1);
	gt_ptxgen_branch(gen, call->next);
}

/* Take the result where the call is done and free the slot; falls through to call->next if not. */
static void emit_poll(struct gt_ptxgen *gen, const struct host_call *call)
{
	struct gt_ptxgen_value state = gt_ptxgen_b64(gen), done = gt_ptxgen_b64(gen), old;
	struct gt_ptxgen_value test = gt_ptxgen_predicate(gen);

	gt_ptxgen_load_ordered(gen, gt_ptxgen_acquire(place), 64, state,
			       part_of(call->slot, offsetof(struct gt_host_call_slot, state)));
	gt_ptxgen_emit(gen, "add.s64", done, call->mine, GT_HOST_CALL_DONE - GT_HOST_CALL_TAKEN);
	gt_ptxgen_emit(gen, "setp.ne.u64", test, state, done);
	gt_ptxgen_branch_if(gen, test, call->next);
	gt_ptxgen_emit(gen, gt_ptxgen_memory("ld", gt_ptxgen_global(gen), 'u', 64), call->result,
		       part_of(call->slot, offsetof(struct gt_host_call_slot, result)));
	if (call->operation == GT_HOST_CALL_LOOKUP)
		emit_value_copy(gen, call);
	/* The host may have reclaimed the slot meanwhile: what was read is not the result then. */
	old = emit_state_change(gen, call, GT_HOST_CALL_DONE, GT_HOST_CALL_FREE, &done);
	gt_ptxgen_emit(gen, "setp.ne.u64", test, old, done);
	gt_ptxgen_branch_if(gen, test, call->lost);
	gt_ptxgen_branch(gen, call->over);
}

/* Set call->waited. The lower half of the timer suffices: it overflows after 4 s. */
static void emit_waited(struct gt_ptxgen *gen, const struct host_call *call)
{
	if (!has_clock(gen)) {
		gt_ptxgen_emit(gen, "add.u32", call->waited, call->waited, 1);
		return;
	}
	gt_ptxgen_emit(gen, "mov.u32", call->waited, gt_ptxgen_text("%globaltimer_lo"));
	gt_ptxgen_emit(gen, "sub.u32", call->waited, call->waited, call->since);
}

/* The end of the loop's body: the next poll, or give up. */
static void emit_next(struct gt_ptxgen *gen, const struct host_call *call)
{
	struct gt_ptxgen_value test = gt_ptxgen_predicate(gen), state, ignored;

	gt_ptxgen_emit_label(gen, call->next);
	emit_waited(gen, call);
	if (gen->sm >= 70 && gen->version >= 63) {
		gt_ptxgen_emit(gen, "setp.gt.u32", test, call->waited,
			       has_clock(gen) ? AWAKE_NS : AWAKE_POLLS);
		gt_ptxgen_emit_if(gen, gt_ptxgen_if(test), "nanosleep.u32", SLEEP_NS);
	}
	gt_ptxgen_emit(gen, "setp.lt.u32", test, call->waited,
		       has_clock(gen) ? GT_HOST_CALL_WAIT_NS : GT_HOST_CALL_POLLS);
	gt_ptxgen_branch_if(gen, test, call->again);
	gt_ptxgen_emit(gen, "setp.eq.u64", test, call->mine, 0);
	gt_ptxgen_branch_if(gen, test, call->lost);
	emit_state_change(gen, call, GT_HOST_CALL_REQUEST, GT_HOST_CALL_ABANDONED, &state);
	emit_state_change(gen, call, GT_HOST_CALL_DONE, GT_HOST_CALL_FREE, &ignored);
}

static void emit_loss(struct gt_ptxgen *gen, const struct host_call *call)
{
	struct gt_ptxgen_value one = gt_ptxgen_b64(gen), zero = gt_ptxgen_b32(gen);

	gt_ptxgen_emit_label(gen, call->lost);
	gt_ptxgen_emit(gen, "mov.u64", one, 1);
	gt_ptxgen_reduce(gen, place, gt_ptxgen_always, "add.u64",
			 part_of(call->area, offsetof(struct gt_host_call_area, lost)), one);
	gt_ptxgen_emit(gen, "mov.u32", zero, 0);
	gt_ptxgen_store_ordered(gen, gt_ptxgen_relaxed(place), 32,
				part_of(call->area, offsetof(struct gt_host_call_area, alive)),
				zero);
	gt_ptxgen_emit(gen, "mov.s64", call->result,
		       call->operation == GT_HOST_CALL_LOOKUP ? 0 : -EAGAIN);
	gt_ptxgen_emit_label(gen, call->over);
}

int gt_ptxgen_host_call(struct gt_ptxgen *gen, enum gt_host_call_operation operation)
{
	struct host_call call = {
		.layout = gt_host_call_layout_of(gen->object),
		.operation = operation,
	};
	struct gt_ptxgen_value test = gt_ptxgen_predicate(gen), poll = gt_ptxgen_label(gen), target;

	emit_start(gen, &call);
	gt_ptxgen_emit_label(gen, call.again);
	gt_ptxgen_emit(gen, "setp.ne.u64", test, call.mine, 0);
	gt_ptxgen_branch_if(gen, test, poll);
	emit_take(gen, &call);
	gt_ptxgen_emit_label(gen, poll);
	emit_poll(gen, &call);
	emit_next(gen, &call);
	emit_loss(gen, &call);
	gt_ptxgen_emit(gen, "mov.u64", gt_ptxgen_reg64(gen, 0), call.result);
	if (operation == GT_HOST_CALL_LOOKUP && gt_ptxgen_null_target(gen, &target)) {
		gt_ptxgen_emit(gen, "setp.eq.u64", test, call.result, 0);
		gt_ptxgen_branch_if(gen, test, target);
	}
	return 0;
}
