/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loops whose iterations are limited when they run: may_goto and bpf_loop. They end whatever their
 * registers hold, so that a path ends where it comes back to such an instruction in a state that an
 * earlier one on this path subsumes (Linux: is_state_visited(), push_callback_call(); kernel/bpf/
 * verifier.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/verify/private.h"

bool gt_loop_is_closed(const struct gt_verifier *verifier, struct gt_explored *explored)
{
	const struct gt_state *old = explored->state, *state = verifier->state;
	const struct gt_verify_frame *one = &old->frames[old->depth];
	const struct gt_verify_frame *other = &state->frames[state->depth];

	if (old->depth != state->depth || one->invocation != other->invocation)
		return false;
	if (gt_bpf_is_loop_call(&verifier->insns[verifier->at])
		    ? one->loop != other->loop || one->iterations >= other->iterations
		    : one->may_gotos >= other->may_gotos)
		return false;
	return gt_explored_subsumes(verifier, explored, false);
}

void gt_loop_begin(struct gt_verifier *verifier)
{
	struct gt_verify_frame *frame = gt_current_frame(verifier);

	verifier->has_budgets = true;
	if (!frame->iterations && gt_bpf_is_loop_call(&verifier->insns[verifier->at]))
		frame->loop = ++verifier->next_id;
}

int gt_verify_may_goto(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	struct gt_state *next = gt_state_copy(verifier->state);
	int error;

	if (!next)
		return gt_verifier_no_memory(verifier);
	next->frames[next->depth].may_gotos++;
	next->unrolled++;
	verifier->facts.insns[verifier->at].branch = 3;
	error = gt_verify_push_path(verifier, next, verifier->at + 1);
	if (error)
		gt_state_free(next);
	verifier->at = (uint32_t)gt_bpf_jump_target(verifier->insns, verifier->at);
	return error;
}

/* Add a path on which bpf_loop calls its function. */
static int push_iteration(struct gt_verifier *verifier)
{
	struct gt_state *after = verifier->state, *next = gt_state_copy(after);
	uint32_t call = verifier->at;
	struct gt_verify_frame *caller, *frame;
	uint32_t target;
	int error;

	if (!next)
		return gt_verifier_no_memory(verifier);
	caller = &next->frames[next->depth];
	caller->iterations++;
	next->unrolled++;
	target = verifier->facts.subprograms[caller->registers[2].map].start;
	verifier->state = next;
	error = gt_verify_enter(verifier, target, call);
	next = verifier->state;
	if (!error) {
		frame = &next->frames[next->depth];
		caller = frame - 1;
		frame->called_back = true;
		frame->registers[1] = gt_value_scalar(gt_scalar_loaded(4, false));
		frame->registers[2] = caller->registers[3];
		error = gt_verify_push_path(verifier, next, target);
	}
	verifier->state = after;
	verifier->at = call;
	if (error)
		gt_state_free(next);
	return error;
}

int gt_verify_loop_call(struct gt_verifier *verifier)
{
	struct gt_verify_frame *frame = gt_current_frame(verifier);
	int error = gt_verify_loop_arguments(verifier);

	if (!error && frame->iterations < frame->registers[1].scalar.all.umax)
		error = push_iteration(verifier);
	if (error)
		return error;
	frame->iterations = 0;
	for (unsigned i = 0; i <= 5; i++)
		frame->registers[i] = (struct gt_value){0};
	frame->registers[0] = gt_value_scalar(gt_scalar_unknown());
	verifier->at++;
	return 0;
}

/* Linux has a range for each kind of callback; that of bpf_loop is 0 (continue) to 1 (stop). */
static int check_result(struct gt_verifier *verifier, const struct gt_value *result)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	const struct gt_interval *all = &result->scalar.all;

	if (result->type == GT_REG_UNSET)
		return gt_verify_read(verifier, 0);
	if (result->type != GT_REG_SCALAR)
		return gt_reject(verifier, "R0 not a scalar value");
	if (all->smin >= 0 && all->smax <= 1)
		return 0;
	if (all->smin > INT64_MIN)
		gt_strbuf_printf(&text, " smin=%" PRId64, all->smin);
	if (all->smax < INT64_MAX)
		gt_strbuf_printf(&text, " smax=%" PRId64, all->smax);
	return gt_reject(verifier,
			 "At callback return the register R0 has%s should have been in [0, 1]",
			 text.length ? gt_strbuf_string(&text) : " unknown scalar value");
}

int gt_verify_loop_return(struct gt_verifier *verifier)
{
	struct gt_state *state = verifier->state;
	struct gt_verify_frame *frame = &state->frames[state->depth];
	int error = check_result(verifier, &frame->registers[0]);

	if (error)
		return error;
	verifier->at = frame->return_insn;
	gt_state_pop(state);
	return 0;
}
