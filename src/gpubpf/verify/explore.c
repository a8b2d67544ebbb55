/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Exploration of all paths through a program, depth first, with state pruning: as do_check() and
 * is_state_visited() of Linux (kernel/bpf/verifier.c).
 */
#include <string.h>

#include "gpubpf/verify/widen.h"

/* End the current path; tail: steps from here to the program's end. */
static void end_path(struct gt_verifier *verifier, uint64_t tail)
{
	uint64_t steps = verifier->steps + tail;

	gt_state_free(gt_take(verifier->state));
	for (struct gt_explored *explored = verifier->parent; explored;
	     explored = explored->parent) {
		if (steps > explored->longest)
			explored->longest = steps;
		if (--explored->branches)
			return;
		steps = explored->steps + explored->longest;
	}
}

static bool next_path(struct gt_verifier *verifier)
{
	struct gt_pending_path *path;

	if (!verifier->pending.count)
		return false;
	path = &verifier->pending.items[--verifier->pending.count];
	verifier->state = path->state;
	verifier->parent = path->parent;
	verifier->at = path->insn;
	verifier->steps = path->steps;
	return true;
}

/* Add the current state to the tree of paths; compare: also to those compared with later ones. */
static int add_explored(struct gt_verifier *verifier, bool compare)
{
	struct gt_explored *explored = calloc(1, sizeof(*explored));

	if (!explored)
		return gt_verifier_no_memory(verifier);
	explored->next_all = verifier->all_explored;
	verifier->all_explored = explored;
	explored->parent = verifier->parent;
	explored->insn = verifier->at;
	explored->branches = 1;
	explored->steps = verifier->steps;
	verifier->parent = explored;
	verifier->steps = 0;
	/* With fewer states to compare with, exploration takes longer and still ends. */
	if (!compare || verifier->explored_bytes > GT_MAX_EXPLORED_BYTES)
		return 0;
	gt_state_clear_singular_ids(verifier->state);
	explored->state = gt_state_copy(verifier->state);
	if (!explored->state)
		return gt_verifier_no_memory(verifier);
	verifier->explored_bytes += gt_state_bytes(explored->state);
	explored->work = (uint32_t)gt_state_work(explored->state);
	explored->key.place = GT_NO_KEY;
	explored->next = verifier->explored[verifier->at];
	verifier->explored[verifier->at] = explored;
	return 0;
}

/*
 * Look for an explored state that subsumes the current one: 1 if there is one and the path has
 * ended, 0, or an error. Clears *ret_add where the current state is not worth keeping.
 */
static int find_subsuming(struct gt_verifier *verifier, bool *ret_add)
{
	struct gt_explored **link = &verifier->explored[verifier->at];
	bool loop = verifier->aux[verifier->at].loop_header;
	unsigned limit = loop ? GT_MAX_LOOP_STATES : GT_MAX_EXPLORED, patience = loop ? 64 : 3;
	unsigned count = 0;

	while (*link) {
		struct gt_explored *explored = *link;
		bool evict = ++count > limit;

		verifier->work += explored->work;
		if (explored->branches) {
			if (verifier->aux[verifier->at].loop_point &&
			    gt_loop_is_closed(verifier, explored)) {
				end_path(verifier, 0);
				return 1;
			}
			if (!verifier->widens && !gt_key_excludes(verifier, explored, true) &&
			    explored->state->unrolled == verifier->state->unrolled &&
			    gt_explored_subsumes(verifier, explored, true))
				return gt_reject(verifier, "infinite loop detected at insn %u",
						 verifier->at);
			if (verifier->jumps - verifier->jumps_at_state < 20 &&
			    verifier->facts.visited - verifier->visited_at_state < 100)
				*ret_add = false;
			/* As Linux does: a loop is compared with its last iterations. */
			if (*ret_add && !verifier->aux[verifier->at].loop_point) {
				explored->misses++;
				evict |= explored->misses > (explored->hits + 1) * patience;
			}
		} else if (gt_explored_subsumes(verifier, explored, false)) {
			explored->hits++;
			end_path(verifier, explored->longest);
			return 1;
		} else if (*ret_add) {
			explored->misses++;
			evict |= explored->misses > (explored->hits + 1) * patience;
		}
		if (evict) {
			*link = explored->next;
			verifier->explored_bytes -= gt_state_bytes(explored->state);
			gt_state_free(gt_take(explored->state));
			continue;
		}
		link = &explored->next;
	}
	return 0;
}

/* Whether the current instruction is the header of a loop to be widened, which it enters. */
static bool is_entered(const struct gt_verifier *verifier)
{
	const struct gt_insn_aux *aux = &verifier->aux[verifier->at];
	const struct gt_verify_frame *frame = &verifier->state->frames[verifier->state->depth];

	if (!verifier->widens)
		return false;
	return aux->retreats_to ||
	       (gt_bpf_is_loop_call(&verifier->insns[verifier->at]) && !frame->iterations);
}

/* At a prune point: 1 if the path is pruned, 0, or an error. */
static int prune_path(struct gt_verifier *verifier)
{
	bool add = verifier->jumps - verifier->jumps_at_state >= 2 &&
		   verifier->facts.visited - verifier->visited_at_state >= 8;
	bool loops = verifier->aux[verifier->at].loop_point;
	int status;

	if (loops)
		gt_loop_begin(verifier);
	if (gt_widened_here(verifier)) {
		status = gt_widen_come_back(verifier);
		if (status > 0)
			end_path(verifier, 0);
		return status;
	}
	loops |= is_entered(verifier);
	status = find_subsuming(verifier, &add);
	if (status || !(add || loops))
		return status;
	verifier->jumps_at_state = verifier->jumps;
	verifier->visited_at_state = verifier->facts.visited;
	status = add_explored(verifier, true);
	return status || !is_entered(verifier) ? status : gt_widen_enter(verifier);
}

int gt_verify_enter(struct gt_verifier *verifier, uint32_t target, uint32_t return_insn)
{
	struct gt_state *state = verifier->state;
	struct gt_verify_frame *frame;

	if (state->depth + 1 == GT_BPF_MAX_FRAMES)
		return gt_reject(verifier, "the call stack of %d frames is too deep",
				 GT_BPF_MAX_FRAMES + 1);
	state = gt_state_push(state);
	if (!state)
		return gt_verifier_no_memory(verifier);
	verifier->state = state;
	frame = gt_current_frame(verifier);
	frame->subprogram = verifier->aux[target].subprogram;
	frame->return_insn = return_insn;
	frame->invocation = ++verifier->next_id;
	frame->registers[10] = (struct gt_value){
		.type = GT_REG_STACK,
		.frame = (uint8_t)state->depth,
		.scalar = gt_scalar_constant(0),
	};
	verifier->at = target;
	return 0;
}

static int enter_subprogram(struct gt_verifier *verifier)
{
	struct gt_verify_frame *caller;
	int error = gt_verify_enter(verifier,
				    (uint32_t)gt_bpf_jump_target(verifier->insns, verifier->at),
				    verifier->at + 1);

	if (error)
		return error;
	caller = gt_current_frame(verifier) - 1;
	memcpy(&caller[1].registers[1], &caller->registers[1], 5 * sizeof(caller->registers[0]));
	for (unsigned i = 0; i <= 5; i++)
		caller->registers[i] = (struct gt_value){0};
	return 0;
}

static int leave_subprogram(struct gt_verifier *verifier)
{
	struct gt_state *state = verifier->state;
	struct gt_verify_frame *frame = &state->frames[state->depth];

	if (frame->called_back)
		return gt_verify_loop_return(verifier);
	if (frame->registers[0].type == GT_REG_STACK)
		return gt_reject(verifier, "cannot return stack pointer to the caller");
	frame[-1].registers[0] = frame->registers[0];
	verifier->at = frame->return_insn;
	gt_state_pop(state);
	return 0;
}

static int check_program_exit(struct gt_verifier *verifier)
{
	const struct gt_state *state = verifier->state;

	if (state->reference_count)
		return gt_reject(verifier,
				 "Unreleased reference id=%u alloc_insn=%u; BPF_EXIT instruction "
				 "in main prog would lead to reference leak",
				 state->references[0], state->reference_insns[0]);
	return gt_verify_read(verifier, 0);
}

static int visit_jump(struct gt_verifier *verifier, const struct bpf_insn *insn)
{
	int error;

	verifier->jumps++;
	switch (BPF_OP(insn->code)) {
	case BPF_JA:
		verifier->at = (uint32_t)gt_bpf_jump_target(verifier->insns, verifier->at);
		return 0;
	case BPF_JCOND:
		return gt_verify_may_goto(verifier, insn);
	case BPF_CALL:
		if (gt_bpf_is_subprogram_call(insn))
			return enter_subprogram(verifier);
		if (gt_bpf_is_loop_call(insn))
			return gt_verify_loop_call(verifier);
		error = gt_verify_helper(verifier, insn);
		verifier->at++;
		return error;
	case BPF_EXIT:
		if (verifier->state->depth)
			return leave_subprogram(verifier);
		error = check_program_exit(verifier);
		if (!error)
			end_path(verifier, 0);
		return error;
	default:
		return gt_verify_branch(verifier, insn);
	}
}

static void put_log(struct gt_verifier *verifier)
{
	struct gt_strbuf *log = verifier->options->log;
	const struct gt_bpf_line *line = gt_bpf_line_of(verifier->program, verifier->at);

	if (!log)
		return;
	if (line && line->insn == verifier->at)
		gt_strbuf_printf(log, "; %s @ %s:%u\n", line->text, line->file, line->line);
	gt_strbuf_printf(log, "%u: ", verifier->at);
	gt_bpf_put_insn(log, verifier->program->insns, verifier->count, verifier->at);
	gt_strbuf_puts(log, " ; ");
	gt_state_put(log, verifier->state);
	gt_strbuf_putc(log, '\n');
}

static void count_visit(struct gt_verifier *verifier)
{
	struct gt_loop *loop =
		verifier->aux[verifier->at].retreats_to ? gt_loop_at(verifier, verifier->at) : NULL;

	if (loop)
		loop->visits++;
}

static int visit_insn(struct gt_verifier *verifier)
{
	const struct bpf_insn *insn = &verifier->insns[verifier->at];
	const struct gt_verify_options *options = verifier->options;
	uint64_t max_work = options->max_work ? options->max_work : GT_MAX_WORK;
	int status;

	verifier->visited++;
	if (++verifier->facts.visited > verifier->limit || verifier->work > max_work)
		return gt_verifier_too_large(verifier);
	gt_widen_leave(verifier);
	if (verifier->aux[verifier->at].prune_point) {
		status = prune_path(verifier);
		if (status)
			return status < 0 ? status : 0;
	}
	count_visit(verifier);
	gt_facts_record(verifier);
	put_log(verifier);
	verifier->steps++;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		status = gt_verify_alu(verifier, insn);
		break;
	case BPF_LD:
		status = gt_verify_ld_imm64(verifier, insn);
		verifier->at += !status;
		break;
	case BPF_JMP:
	case BPF_JMP32:
		return visit_jump(verifier, insn);
	default:
		status = gt_verify_memory(verifier, insn);
	}
	verifier->at += !status;
	return status;
}

static int push_initial_state(struct gt_verifier *verifier)
{
	const struct gt_verify_options *options = verifier->options;
	struct gt_state *state = gt_state_new();
	struct gt_value *registers;

	if (!state)
		return gt_verifier_no_memory(verifier);
	verifier->state = state;
	registers = state->frames[0].registers;
	registers[10] = (struct gt_value){
		.type = GT_REG_STACK,
		.scalar = gt_scalar_constant(0),
	};
	registers[1] = (struct gt_value){
		.type = GT_REG_CONTEXT,
		.size = options->section ? gt_context_size(options->section->kind)
					 : options->context_size,
		.scalar = gt_scalar_constant(0),
	};
	if (options->input == GT_INPUT_MEMORY) {
		registers[1].type = options->memory_size ? GT_REG_MEMORY : GT_REG_SCALAR;
		registers[1].size = options->memory_size;
		registers[2] = gt_value_scalar(gt_scalar_constant(options->memory_size));
	}
	verifier->at = 0;
	return add_explored(verifier, false);
}

int gt_verify_explore(struct gt_verifier *verifier)
{
	int error = push_initial_state(verifier);

	while (!error) {
		if (!verifier->state && !next_path(verifier))
			return 0;
		error = visit_insn(verifier);
	}
	return error;
}

void gt_verify_explore_clear(struct gt_verifier *verifier)
{
	gt_widen_clear(verifier);
	gt_state_free(gt_take(verifier->state));
	gt_vec_each (path, &verifier->pending)
		gt_state_free(path->state);
	gt_vec_free(&verifier->pending);
	while (verifier->all_explored) {
		struct gt_explored *explored = verifier->all_explored;

		verifier->all_explored = explored->next_all;
		gt_state_free(explored->state);
		free(explored);
	}
	verifier->parent = NULL;
	verifier->steps = verifier->explored_bytes = 0;
	verifier->jumps = verifier->jumps_at_state = 0;
	verifier->visited_at_state = 0;
	for (uint32_t i = 0; verifier->loops && i < verifier->loops->count; i++)
		verifier->loops->items[i].visits = 0;
	if (verifier->explored)
		memset(verifier->explored, 0, verifier->count * sizeof(struct gt_explored *));
}
