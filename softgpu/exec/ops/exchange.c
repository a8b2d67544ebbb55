/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Exchanges of values between the lanes of a warp: shfl, vote, match, redux, elect, bar.warp. */
#include <errno.h>
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/ops/float.h"
#include "exec/ops/half.h"
#include "exec/ops/ops.h"

/* ---- results --------------------------------------------------------------------------- */

/* PTX ISA 9.0, 9.7.9.6. */
static void combine_shuffle(struct sg_exchange *exchange, const struct sg_instruction *at,
			    uint32_t lanes, uint32_t present)
{
	uint32_t inside = 0;

	for (uint32_t left = lanes; left; left &= left - 1) {
		int32_t lane = __builtin_ctz(left), from;
		uint32_t b = exchange->b[lane] & 31, c = exchange->c[lane];
		int32_t segment = c >> 8 & 31, clamp = c & 31;
		int32_t max = (lane & segment) | (clamp & ~segment), min = lane & segment;
		bool valid;

		switch ((enum sg_shuffle)at->selector) {
		case SG_SHUFFLE_UP:
			from = lane - (int32_t)b;
			valid = from >= max;
			break;
		case SG_SHUFFLE_DOWN:
			from = lane + (int32_t)b;
			valid = from <= max;
			break;
		case SG_SHUFFLE_BUTTERFLY:
			from = lane ^ (int32_t)b;
			valid = from <= max;
			break;
		default:
			from = min | ((int32_t)b & ~segment);
			valid = from <= max;
			break;
		}
		if (!valid)
			from = lane;
		inside |= (uint32_t)valid << lane;
		/* The value of an absent lane is undefined: the lane's own value is used. */
		exchange->result[lane] =
			exchange->value[(present >> (from & 31) & 1) ? from & 31 : lane];
	}
	exchange->predicate_result = (exchange->predicate_result & ~lanes) | inside;
}

static void combine_vote(struct sg_exchange *exchange, const struct sg_instruction *at,
			 uint32_t lanes, uint32_t members)
{
	uint32_t votes = exchange->predicates & members;
	bool all = votes == members, result;

	switch ((enum sg_vote)at->selector) {
	case SG_VOTE_ALL:
		result = all;
		break;
	case SG_VOTE_ANY:
		result = votes != 0;
		break;
	default:
		result = all || !votes;
		break;
	}
	exchange->predicate_result = (exchange->predicate_result & ~lanes) | (result ? lanes : 0);
	for (uint32_t left = lanes; left; left &= left - 1)
		exchange->result[__builtin_ctz(left)] = votes;
}

/* selector 1: .all, else .any. */
static void combine_match(struct sg_exchange *exchange, const struct sg_instruction *at,
			  uint32_t lanes, uint32_t members)
{
	for (uint32_t left = lanes; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left), same = 0;

		for (uint32_t others = members; others; others &= others - 1) {
			uint32_t other = (uint32_t)__builtin_ctz(others);

			same |= (uint32_t)(exchange->value[other] == exchange->value[lane])
				<< other;
		}
		if (at->selector && same != members)
			same = 0;
		exchange->result[lane] = same;
		exchange->predicate_result = (exchange->predicate_result & ~(1u << lane)) |
					     (uint32_t)(same != 0) << lane;
	}
}

static uint32_t reduce_floats(uint32_t a, uint32_t b, const struct sg_instruction *at)
{
	double chosen = sg_min_max(sg_float_f32(a), sg_float_f32(b), at->selector == SG_REDUCE_MIN,
				   at->flags);

	return sg_bits_f32(sg_canonical_f32((float)chosen));
}

static uint32_t reduce_two(uint32_t a, uint32_t b, const struct sg_instruction *at)
{
	bool is_signed = at->count == SG_REDUCE_SIGNED,
	     is_less = is_signed ? (int32_t)a < (int32_t)b : a < b;

	if (at->count == SG_REDUCE_FLOATS)
		return reduce_floats(a, b, at);
	switch (at->selector) {
	case SG_REDUCE_ADD:
		return a + b;
	case SG_REDUCE_MIN:
		return is_less ? a : b;
	case SG_REDUCE_MAX:
		return is_less ? b : a;
	case SG_REDUCE_AND:
		return a & b;
	case SG_REDUCE_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

static void combine_reduction(struct sg_exchange *exchange, const struct sg_instruction *at,
			      uint32_t lanes, uint32_t members)
{
	uint32_t total = 0;
	bool first = true;

	for (uint32_t left = members; left; left &= left - 1) {
		uint32_t value = (uint32_t)exchange->value[__builtin_ctz(left)];

		/* A single .f32 is reduced with itself, so that .abs applies. */
		if (first && at->count == SG_REDUCE_FLOATS)
			total = value;
		total = first && at->count != SG_REDUCE_FLOATS ? value
							       : reduce_two(total, value, at);
		first = false;
	}
	for (uint32_t left = lanes; left; left &= left - 1)
		exchange->result[__builtin_ctz(left)] = total;
}

/* The lowest lane is elected. */
static void combine_election(struct sg_exchange *exchange, const struct sg_instruction *at,
			     uint32_t lanes, uint32_t members)
{
	exchange->predicate_result =
		(exchange->predicate_result & ~lanes) | (members & -members & lanes);
	for (uint32_t left = lanes; left; left &= left - 1)
		exchange->result[__builtin_ctz(left)] = (uint32_t)__builtin_ctz(members);
}

/* bar.warp.sync only waits. */
static void combine_nothing(struct sg_exchange *exchange, const struct sg_instruction *at,
			    uint32_t lanes, uint32_t members)
{
}

/* ---- fast paths, if the whole group takes part ----------------------------------------- */

/* Whether the members of every active lane are all active lanes and no other live one. */
static bool is_complete(const struct sg_warp *warp, const struct sg_instruction *at)
{
	const uint32_t *members = sg_slot32(warp->frame, at->e);
	uint32_t different = 0, wanted = warp->exec, live = warp->live;

	if (!(at->flags & SG_FLAG_SYNC))
		return true;
	if (wanted == SG_FULL) {
		for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
			different |= (members[lane] & live) ^ wanted;
	} else {
		for (uint32_t left = wanted; left; left &= left - 1)
			different |= (members[__builtin_ctz(left)] & live) ^ wanted;
	}
	return !different;
}

static bool is_uniform(const uint32_t values[SG_WARP_SIZE])
{
	uint32_t different = 0;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		different |= values[lane] ^ values[0];
	return !different;
}

/* Computes the source lanes of a full warp with a uniform c; returns the lanes within range. */
static uint32_t plan_shuffle(const struct sg_instruction *at, const uint32_t *b_, uint32_t c,
			     uint32_t from[SG_WARP_SIZE])
{
	uint32_t segment = c >> 8 & 31, clamp = c & 31, inside = 0;

	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++) {
		uint32_t b = b_[lane] & 31, max = (lane & segment) | (clamp & ~segment), source;
		bool valid;

		if (at->selector == SG_SHUFFLE_UP) {
			source = lane - b;
			valid = (int32_t)source >= (int32_t)max;
		} else {
			source = at->selector == SG_SHUFFLE_DOWN ? lane + b
				 : at->selector == SG_SHUFFLE_BUTTERFLY
					 ? lane ^ b
					 : (lane & segment) | (b & ~segment);
			valid = source <= max;
		}
		from[lane] = valid ? source & 31 : lane;
		inside |= (uint32_t)valid << lane;
	}
	return inside;
}

static const struct sg_instruction *run_shuffle(struct sg_warp *warp,
						const struct sg_instruction *at)
{
	const uint32_t *value = sg_slot32(warp->frame, at->a), *c = sg_slot32(warp->frame, at->c);
	uint32_t *d = sg_slot32(warp->frame, at->d), inside;
	uint32_t from[SG_WARP_SIZE], result[SG_WARP_SIZE];

	if (warp->exec != SG_FULL || !is_complete(warp, at) || !is_uniform(c))
		return sg_run_exchange(warp, at);
	inside = plan_shuffle(at, sg_slot32(warp->frame, at->b), c[0], from);
	for (uint32_t lane = 0; lane < SG_WARP_SIZE; lane++)
		result[lane] = value[from[lane]];
	memcpy(d, result, sizeof(result));
	if (at->immediate)
		*sg_slot32(warp->frame, (uint32_t)at->immediate - 1) = inside;
	return at + 1;
}

static const struct sg_instruction *run_vote(struct sg_warp *warp, const struct sg_instruction *at)
{
	uint32_t exec = warp->exec, votes = *sg_slot32(warp->frame, at->a), *p, *d;
	bool result;

	if (!is_complete(warp, at))
		return sg_run_exchange(warp, at);
	votes = (at->flags & SG_FLAG_NEGATE ? ~votes : votes) & exec;
	if (at->selector == SG_VOTE_BALLOT) {
		d = sg_slot32(warp->frame, at->d);
		for (uint32_t left = exec; left; left &= left - 1)
			d[__builtin_ctz(left)] = votes;
		return at + 1;
	}
	result = at->selector == SG_VOTE_ANY   ? votes != 0
		 : at->selector == SG_VOTE_ALL ? votes == exec
					       : votes == exec || !votes;
	p = sg_slot32(warp->frame, (uint32_t)at->immediate - 1);
	*p = (*p & ~exec) | (result ? exec : 0);
	return at + 1;
}

static const struct sg_instruction *run_activemask(struct sg_warp *warp,
						   const struct sg_instruction *at)
{
	uint32_t *d = sg_slot32(warp->frame, at->d);

	if (warp->exec != warp->live && (warp->overtakes || !warp->promoted) &&
	    sg_warp_rejoin(warp, at))
		return NULL;
	for (uint32_t left = warp->exec; left; left &= left - 1)
		d[__builtin_ctz(left)] = warp->exec;
	return at + 1;
}

/* ---- decoding -------------------------------------------------------------------------- */

/* The destination `d|p` or `d`: p as slot + 1, 0 if there is none. */
static int read_pair(struct sg_decoder *decoder, uint32_t *ret_d, uint64_t *ret_predicate)
{
	const struct gt_ptx_operand *first = sg_decode_operand(decoder, 0), *second = NULL;
	uint32_t p, width;
	int error;

	if (!first)
		return sg_decode_bad_operand(decoder, 0);
	if (first->kind == GT_PTX_OPERAND_PAIR && first->count == 2) {
		second = &first->items[1];
		first = &first->items[0];
	}
	error = sg_decode_destination_operand(decoder, first, 0, GT_PTX_TYPE_B32, false, ret_d,
					      &width);
	*ret_predicate = 0;
	if (error || !second)
		return error;
	error = sg_decode_destination_operand(decoder, second, 0, GT_PTX_TYPE_PRED, false, &p,
					      &width);
	*ret_predicate = (uint64_t)p + 1;
	return error;
}

int sg_decode_shfl(struct sg_decoder *decoder)
{
	static const enum gt_ptx_modifier_id shuffle_modes[] = {GT_PTX_MOD_UP, GT_PTX_MOD_DOWN,
								GT_PTX_MOD_BFLY, GT_PTX_MOD_IDX};
	struct sg_instruction step = {.combine = combine_shuffle, .size = 4};
	bool sync = sg_decode_has(decoder, GT_PTX_MOD_SYNC);
	uint32_t mode = 0;
	int error;

	while (mode < gt_countof(shuffle_modes) && !sg_decode_has(decoder, shuffle_modes[mode]))
		mode++;
	if (mode == gt_countof(shuffle_modes) || !sg_decode_has(decoder, GT_PTX_MOD_B32) ||
	    sg_decode_form(decoder)->modifier_count != 2u + sync)
		return sg_decode_bad_form(decoder);
	step.selector = (uint8_t)mode;
	step.flags = sync ? SG_FLAG_SYNC : 0;
	error = read_pair(decoder, &step.d, &step.immediate);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_B32, &step.a);
	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_B32, &step.b);
	if (!error)
		error = sg_decode_source(decoder, 3, GT_PTX_TYPE_B32, &step.c);
	if (!error && sync)
		error = sg_decode_source(decoder, 4, GT_PTX_TYPE_B32, &step.e);
	return error ? error : sg_decode_emit_step(decoder, run_shuffle, &step);
}

int sg_decode_vote(struct sg_decoder *decoder)
{
	static const enum gt_ptx_modifier_id vote_modes[] = {GT_PTX_MOD_ALL, GT_PTX_MOD_ANY,
							     GT_PTX_MOD_UNI, GT_PTX_MOD_BALLOT};
	struct sg_instruction step = {.combine = combine_vote, .d = SG_NO_SLOT};
	bool sync = sg_decode_has(decoder, GT_PTX_MOD_SYNC), negated;
	uint32_t mode = 0, p;
	int error;

	while (mode < gt_countof(vote_modes) && !sg_decode_has(decoder, vote_modes[mode]))
		mode++;
	if (mode == gt_countof(vote_modes) || sg_decode_form(decoder)->modifier_count != 2u + sync)
		return sg_decode_bad_form(decoder);
	step.selector = (uint8_t)mode;
	step.flags = sync ? SG_FLAG_SYNC : 0;
	if (mode == SG_VOTE_BALLOT) {
		error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B32, &step.d);
	} else {
		error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_PRED, &p);
		step.immediate = (uint64_t)p + 1;
	}
	if (!error)
		error = sg_decode_predicate(decoder, sg_decode_operand(decoder, 1), 1, &step.a,
					    &negated);
	if (!error && negated)
		step.flags |= SG_FLAG_NEGATE;
	if (!error && sync)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_B32, &step.e);
	return error ? error : sg_decode_emit_step(decoder, run_vote, &step);
}

int sg_decode_match(struct sg_decoder *decoder)
{
	struct sg_instruction step = {.combine = combine_match, .flags = SG_FLAG_SYNC};
	bool is_wide = sg_decode_has(decoder, GT_PTX_MOD_B64),
	     all = sg_decode_has(decoder, GT_PTX_MOD_ALL);
	int error;

	if (!sg_decode_has(decoder, GT_PTX_MOD_SYNC) ||
	    (!all && !sg_decode_has(decoder, GT_PTX_MOD_ANY)) ||
	    (!is_wide && !sg_decode_has(decoder, GT_PTX_MOD_B32)))
		return sg_decode_bad_form(decoder);
	step.selector = all;
	step.size = is_wide ? 8 : 4;
	error = read_pair(decoder, &step.d, &step.immediate);
	if (!error)
		error = sg_decode_source(decoder, 1, is_wide ? GT_PTX_TYPE_B64 : GT_PTX_TYPE_B32,
					 &step.a);
	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_B32, &step.e);
	return error ? error : sg_decode_emit_step(decoder, sg_run_exchange, &step);
}

int sg_decode_redux(struct sg_decoder *decoder)
{
	static const enum gt_ptx_modifier_id reductions[] = {GT_PTX_MOD_ADD, GT_PTX_MOD_MIN,
							     GT_PTX_MOD_MAX, GT_PTX_MOD_AND,
							     GT_PTX_MOD_OR,  GT_PTX_MOD_XOR};
	const struct gt_ptx_form *form = sg_decode_form(decoder);
	bool is_float = form->type_count == 1 && form->types[0] == GT_PTX_TYPE_F32;
	struct sg_instruction step = {
		.combine = combine_reduction, .size = 4, .flags = SG_FLAG_SYNC};
	uint32_t mode = 0;
	int error;

	while (mode < gt_countof(reductions) && !sg_decode_has(decoder, reductions[mode]))
		mode++;
	if (is_float && sg_decode_has(decoder, GT_PTX_MOD_ABS))
		step.flags |= SG_FLAG_ABS;
	if (is_float && sg_decode_has(decoder, GT_PTX_MOD_NAN_RESULT))
		step.flags |= SG_FLAG_NAN;
	if (mode == gt_countof(reductions) ||
	    (is_float && mode != SG_REDUCE_MIN && mode != SG_REDUCE_MAX) ||
	    form->modifier_count !=
		    3u + !!(step.flags & SG_FLAG_ABS) + !!(step.flags & SG_FLAG_NAN) ||
	    form->type_count != 1 ||
	    (form->types[0] != GT_PTX_TYPE_U32 && form->types[0] != GT_PTX_TYPE_S32 &&
	     form->types[0] != GT_PTX_TYPE_B32 && !is_float))
		return sg_decode_bad_form(decoder);
	step.selector = (uint8_t)mode;
	step.count = is_float                            ? SG_REDUCE_FLOATS
		     : form->types[0] == GT_PTX_TYPE_S32 ? SG_REDUCE_SIGNED
							 : SG_REDUCE_UNSIGNED;
	error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B32, &step.d);
	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_B32, &step.a);
	if (!error)
		error = sg_decode_source(decoder, 2, GT_PTX_TYPE_B32, &step.e);
	return error ? error : sg_decode_emit_step(decoder, sg_run_exchange, &step);
}

/* elect.sync d|p, members */
int sg_decode_elect(struct sg_decoder *decoder)
{
	struct sg_instruction step = {
		.combine = combine_election, .size = 4, .flags = SG_FLAG_SYNC};
	int error = read_pair(decoder, &step.d, &step.immediate);

	if (!error)
		error = sg_decode_source(decoder, 1, GT_PTX_TYPE_B32, &step.e);
	return error ? error : sg_decode_emit_step(decoder, sg_run_exchange, &step);
}

int sg_decode_activemask(struct sg_decoder *decoder)
{
	struct sg_instruction step = {0};
	int error = sg_decode_destination(decoder, 0, GT_PTX_TYPE_B32, &step.d);

	return error ? error : sg_decode_emit_step(decoder, run_activemask, &step);
}

/* bar.warp.sync members */
int sg_decode_warp_barrier(struct sg_decoder *decoder)
{
	struct sg_instruction step = {
		.combine = combine_nothing, .d = SG_NO_SLOT, .size = 4, .flags = SG_FLAG_SYNC};
	int error = sg_decode_source(decoder, 0, GT_PTX_TYPE_B32, &step.e);

	return error ? error : sg_decode_emit_step(decoder, sg_run_exchange, &step);
}
