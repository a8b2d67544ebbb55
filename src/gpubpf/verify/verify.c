/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The verifier: the walk over all ways through a program. */
#include "gpubpf/verify/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/verify/private.h"

static void set_error(struct gt_verifier *verifier)
{
	const struct gt_bpf_line *line = gt_bpf_line_of(verifier->program, verifier->at);
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!verifier->error)
		return;
	verifier->error->is_at_insn = true;
	verifier->error->insn = verifier->at;
	verifier->error->line = line ? line->line : 0;
	if (verifier->state)
		gt_put_state(&text, verifier->state);
	snprintf(verifier->error->registers, sizeof(verifier->error->registers), "%s",
		 gt_strbuf_string(&text));
}

int gt_reject(struct gt_verifier *verifier, const char *format, ...)
{
	const struct gt_bpf_line *line = gt_bpf_line_of(verifier->program, verifier->at);
	char place[256], text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (line)
		snprintf(place, sizeof(place), "%s:%u", line->file, line->line);
	else
		snprintf(place, sizeof(place), "insn %u", verifier->at);
	set_error(verifier);
	return gt_diag(verifier->diag, -EACCES, "verify", place, "%s", text);
}

int gt_verifier_no_memory(struct gt_verifier *verifier)
{
	return gt_diag(verifier->diag, -ENOMEM, "verify", NULL, "out of memory");
}

/* A way came to its end, or to what was followed from `tail` steps before the end. */
static void end_way(struct gt_verifier *verifier, uint64_t tail)
{
	uint64_t steps = verifier->steps + tail;

	gt_state_free(gt_take(verifier->state));
	for (struct gt_node *node = verifier->node; node; node = node->parent) {
		if (steps > node->longest)
			node->longest = steps;
		if (--node->branches)
			return;
		steps = node->steps + node->longest;
	}
}

static bool next_way(struct gt_verifier *verifier)
{
	struct gt_pending *way;

	if (!verifier->pending.count)
		return false;
	way = &verifier->pending.items[--verifier->pending.count];
	verifier->state = way->state;
	verifier->node = way->parent;
	verifier->at = way->insn;
	verifier->steps = way->steps;
	return true;
}

static int add_node(struct gt_verifier *verifier, bool keep)
{
	struct gt_node *node = calloc(1, sizeof(*node));

	if (!node)
		return gt_verifier_no_memory(verifier);
	node->all = verifier->nodes;
	verifier->nodes = node;
	node->parent = verifier->node;
	node->insn = verifier->at;
	node->branches = 1;
	node->steps = verifier->steps;
	verifier->node = node;
	verifier->steps = 0;
	/* Ways that are compared with fewer states take longer to follow, and end all the same. */
	if (!keep || verifier->bytes_kept > GT_MAX_KEPT_BYTES)
		return 0;
	gt_state_forget_lone_ids(verifier->state);
	node->state = gt_state_copy(verifier->state);
	if (!node->state)
		return gt_verifier_no_memory(verifier);
	verifier->bytes_kept += gt_state_bytes(node->state);
	node->next = verifier->kept[verifier->at];
	verifier->kept[verifier->at] = node;
	return 0;
}

/* Looks for a kept state that covers this one: 1 if so, 0, or an error. */
static int compare_kept(struct gt_verifier *verifier, bool *ret_add)
{
	struct gt_node **link = &verifier->kept[verifier->at];
	bool loop = verifier->flow[verifier->at].loop;
	unsigned limit = loop ? GT_MAX_LOOP_STATES : GT_MAX_KEPT_STATES, patience = loop ? 64 : 3;
	unsigned count = 0;

	while (*link) {
		struct gt_node *node = *link;
		bool evict = ++count > limit;

		if (node->branches) {
			if (gt_state_covers(verifier, node->state, verifier->state, true))
				return gt_reject(verifier, "infinite loop detected at insn %u",
						 verifier->at);
			if (verifier->jumps - verifier->jumps_kept < 20 &&
			    verifier->facts.visited - verifier->visited_kept < 100)
				*ret_add = false;
		} else if (gt_state_covers(verifier, node->state, verifier->state, false)) {
			node->hits++;
			end_way(verifier, node->longest);
			return 1;
		} else if (*ret_add) {
			node->misses++;
			evict |= node->misses > (node->hits + 1) * patience;
		}
		if (evict) {
			*link = node->next;
			verifier->bytes_kept -= gt_state_bytes(node->state);
			gt_state_free(gt_take(node->state));
			continue;
		}
		link = &node->next;
	}
	return 0;
}

/* At an instruction where ways meet: 1 if this one need not be followed. */
static int meet(struct gt_verifier *verifier)
{
	bool add = verifier->jumps - verifier->jumps_kept >= 2 &&
		   verifier->facts.visited - verifier->visited_kept >= 8;
	int status = compare_kept(verifier, &add);

	if (status || !add)
		return status;
	verifier->jumps_kept = verifier->jumps;
	verifier->visited_kept = verifier->facts.visited;
	return add_node(verifier, true);
}

static int enter(struct gt_verifier *verifier)
{
	struct gt_state *state = verifier->state;
	struct gt_verify_frame *caller = &state->frames[state->depth], *frame = caller + 1;
	uint32_t target = (uint32_t)gt_bpf_jump_target(verifier->insns, verifier->at);

	if (state->depth + 1 == GT_BPF_MAX_FRAMES)
		return gt_reject(verifier, "the call stack of %d frames is too deep",
				 GT_BPF_MAX_FRAMES + 1);
	free(frame->slots);
	*frame = (struct gt_verify_frame){
		.subprogram = verifier->flow[target].subprogram,
		.back = verifier->at + 1,
	};
	state->depth++;
	memcpy(&frame->registers[1], &caller->registers[1], 5 * sizeof(frame->registers[0]));
	frame->registers[10] = (struct gt_value){
		.type = GT_REG_STACK,
		.frame = (uint8_t)state->depth,
		.number = gt_scalar_constant(0),
	};
	for (unsigned i = 0; i <= 5; i++)
		caller->registers[i] = (struct gt_value){0};
	verifier->at = target;
	return 0;
}

static int leave(struct gt_verifier *verifier)
{
	struct gt_state *state = verifier->state;
	struct gt_verify_frame *frame = &state->frames[state->depth];

	if (frame->registers[0].type == GT_REG_STACK)
		return gt_reject(verifier, "cannot return stack pointer to the caller");
	state->depth--;
	state->frames[state->depth].registers[0] = frame->registers[0];
	verifier->at = frame->back;
	free(gt_take(frame->slots));
	frame->slot_count = 0;
	return 0;
}

static int check_end(struct gt_verifier *verifier)
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
	case BPF_CALL:
		if (gt_bpf_is_subprogram_call(insn))
			return enter(verifier);
		error = gt_verify_helper(verifier, insn);
		verifier->at++;
		return error;
	case BPF_EXIT:
		if (verifier->state->depth)
			return leave(verifier);
		error = check_end(verifier);
		if (!error)
			end_way(verifier, 0);
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
	gt_put_state(log, verifier->state);
	gt_strbuf_putc(log, '\n');
}

/* No instruction is to blame, but the line is most likely in the loop that has no end. */
static int too_large(struct gt_verifier *verifier)
{
	const struct gt_bpf_line *line = gt_bpf_line_of(verifier->program, verifier->at);
	char place[256] = "";

	if (line)
		snprintf(place, sizeof(place), "%s:%u", line->file, line->line);
	set_error(verifier);
	return gt_diag(verifier->diag, -E2BIG, "verify", place,
		       "BPF program is too large. Processed %" PRIu64 " insn",
		       verifier->facts.visited);
}

static int visit(struct gt_verifier *verifier)
{
	const struct bpf_insn *insn = &verifier->insns[verifier->at];
	uint64_t limit = verifier->options->max_visited ? verifier->options->max_visited : 1000000;
	int status;

	if (++verifier->facts.visited > limit)
		return too_large(verifier);
	if (verifier->flow[verifier->at].target) {
		status = meet(verifier);
		if (status)
			return status < 0 ? status : 0;
	}
	gt_facts_record(verifier);
	put_log(verifier);
	verifier->steps++;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		status = gt_verify_alu(verifier, insn);
		break;
	case BPF_LD:
		status = gt_verify_wide(verifier, insn);
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

static int start(struct gt_verifier *verifier)
{
	const struct gt_verify_options *options = verifier->options;
	struct gt_state *state = calloc(1, sizeof(*state));
	struct gt_value *registers;

	if (!state)
		return gt_verifier_no_memory(verifier);
	verifier->state = state;
	registers = state->frames[0].registers;
	registers[10] = (struct gt_value){
		.type = GT_REG_STACK,
		.number = gt_scalar_constant(0),
	};
	registers[1] = (struct gt_value){
		.type = GT_REG_CONTEXT,
		.size = options->section ? gt_context_size(options->section->kind)
					 : options->context_size,
		.number = gt_scalar_constant(0),
	};
	if (options->input == GT_INPUT_MEMORY) {
		registers[1].type = options->memory_size ? GT_REG_MEMORY : GT_REG_SCALAR;
		registers[1].size = options->memory_size;
		registers[2] = gt_value_scalar(gt_scalar_constant(options->memory_size));
	}
	verifier->at = 0;
	return add_node(verifier, false);
}

static int walk(struct gt_verifier *verifier)
{
	int error = start(verifier);

	while (!error) {
		if (!verifier->state && !next_way(verifier))
			return 0;
		error = visit(verifier);
	}
	return error;
}

/* Forgets the ways that were followed, and what was learnt on them. */
static void forget_walk(struct gt_verifier *verifier)
{
	gt_state_free(gt_take(verifier->state));
	gt_vec_each (way, &verifier->pending)
		gt_state_free(way->state);
	gt_vec_free(&verifier->pending);
	while (verifier->nodes) {
		struct gt_node *node = verifier->nodes;

		verifier->nodes = node->all;
		gt_state_free(node->state);
		free(node);
	}
	verifier->node = NULL;
	verifier->steps = verifier->bytes_kept = 0;
	verifier->jumps = verifier->jumps_kept = 0;
	verifier->visited_kept = 0;
	if (verifier->kept)
		memset(verifier->kept, 0, verifier->count * sizeof(struct gt_node *));
}

/*
 * Follows all ways. Where they are too many, numbers that only jumps look at which went both ways,
 * and told of no other numbers, are not compared: both ways have been followed from the state that
 * was kept, whatever the number. That holds if no jump turns out to decide meanwhile; else it is
 * done again. Not at first, since nothing is known afterwards of numbers that are not compared.
 */
static int walk_all(struct gt_verifier *verifier)
{
	int error;

	verifier->spares = verifier->options->lazy_precision;
	for (unsigned walks = 1;; walks++) {
		verifier->decided_more = false;
		error = gt_verify_uses(verifier);
		if (!error)
			error = gt_facts_begin(verifier);
		if (!error)
			error = walk(verifier);
		if (error && error != -E2BIG)
			return error;
		if (verifier->spares && (!verifier->decided_more || walks >= GT_MAX_WALKS))
			return error || !verifier->decided_more ? error : too_large(verifier);
		if (!verifier->spares && !error)
			return 0;
		verifier->spares = true;
		forget_walk(verifier);
		if (verifier->options->log)
			gt_strbuf_puts(verifier->options->log,
				       "; too many ways: again, comparing fewer numbers\n");
		if (verifier->diag)
			*verifier->diag = (struct gt_diag){0};
	}
}

/* What the calls from a function on need; filled in from the leaves up. */
struct chain {
	bool entered, left;
	unsigned depth;
	uint32_t stack;
};

static int measure_calls(struct gt_verifier *verifier, uint32_t number, struct chain *chains)
{
	const struct gt_subprogram_facts *function = &verifier->facts.subprograms[number];
	struct chain *chain = &chains[number];

	chain->entered = true;
	for (uint32_t at = function->start; at < function->end; at++) {
		const struct bpf_insn *insn = &verifier->insns[at];
		const struct chain *other;
		uint32_t callee;
		int error;

		if (gt_bpf_is_subprogram_call(insn)) {
			callee = verifier->flow[gt_bpf_jump_target(verifier->insns, at)].subprogram;
			other = &chains[callee];
			verifier->at = at;
			if (other->entered && !other->left)
				return gt_reject(verifier, "recursive call from insn %u", at);
			error = other->left ? 0 : measure_calls(verifier, callee, chains);
			if (error)
				return error;
			if (other->depth > chain->depth)
				chain->depth = other->depth;
			if (other->stack > chain->stack)
				chain->stack = other->stack;
		}
		at += gt_bpf_is_wide(insn);
	}
	chain->depth++;
	chain->stack += (function->stack + 15) & ~15u;
	chain->left = true;
	return 0;
}

/* Recursion, and the depth and the stack of the deepest chain of calls. */
static int check_calls(struct gt_verifier *verifier)
{
	gt_autofree struct chain *chains =
		calloc(verifier->facts.subprogram_count, sizeof(*chains));
	int error;

	if (!chains)
		return gt_verifier_no_memory(verifier);
	error = measure_calls(verifier, 0, chains);
	if (error)
		return error;
	verifier->at = 0;
	if (chains[0].depth > GT_BPF_MAX_FRAMES)
		return gt_reject(verifier, "the call stack of %u frames is too deep",
				 chains[0].depth);
	if (chains[0].stack > GT_VERIFY_MAX_STACK)
		return gt_reject(verifier, "combined stack size of %u calls is %u. Too large",
				 chains[0].depth, chains[0].stack);
	return 0;
}

static void clear(struct gt_verifier *verifier)
{
	forget_walk(verifier);
	free(verifier->kept);
	free(verifier->insns);
	free(verifier->flow);
	gt_facts_clear(&verifier->facts);
}

static int verify(struct gt_verifier *verifier)
{
	uint32_t limit =
		verifier->options->max_size ? verifier->options->max_size : GT_BPF_MAX_INSNS;
	int error;

	if (!verifier->count)
		return gt_diag(verifier->diag, -EINVAL, "verify", NULL, "there is no instruction");
	if (verifier->count > limit)
		return gt_diag(verifier->diag, -E2BIG, "verify", NULL,
			       "%u instructions are more than %u", verifier->count, limit);
	verifier->flow = calloc(verifier->count + 1u, sizeof(*verifier->flow));
	verifier->kept = calloc(verifier->count, sizeof(struct gt_node *));
	verifier->insns = calloc(verifier->count, sizeof(*verifier->insns));
	if (!verifier->flow || !verifier->kept || !verifier->insns)
		return gt_verifier_no_memory(verifier);
	if (verifier->program->problem) {
		verifier->at = verifier->program->problem_insn;
		return gt_reject(verifier, "%s", verifier->program->problem);
	}
	for (uint32_t at = 0; at < verifier->count; at++)
		verifier->insns[at] = gt_bpf_without_order(&verifier->program->insns[at]);
	error = gt_verify_flow(verifier);
	if (!error)
		error = walk_all(verifier);
	if (!error)
		error = check_calls(verifier);
	if (error)
		return error;
	gt_facts_end(verifier);
	error = gt_verify_divergence(verifier);
	if (error)
		return error;
	for (struct gt_node *node = verifier->nodes; node; node = node->all)
		if (!node->parent)
			verifier->facts.bound = node->longest;
	if (verifier->options->max_executed &&
	    verifier->facts.bound > verifier->options->max_executed)
		return gt_diag(verifier->diag, -EACCES, "verify", NULL,
			       "it may execute %" PRIu64 " instructions, more than %" PRIu64,
			       verifier->facts.bound, verifier->options->max_executed);
	return 0;
}

int gt_verify(const struct gt_bpf_object *object, const struct gt_bpf_program *program,
	      const struct gt_verify_options *options, struct gt_facts *ret_facts,
	      struct gt_verify_error *ret_error, struct gt_diag *diag)
{
	struct gt_verifier verifier = {
		.object = object,
		.program = program,
		.options = options,
		.count = program->count,
		.error = ret_error,
		.diag = diag,
	};
	int error = verify(&verifier);

	if (!error) {
		*ret_facts = verifier.facts;
		verifier.facts = (struct gt_facts){0};
	}
	clear(&verifier);
	return error;
}
