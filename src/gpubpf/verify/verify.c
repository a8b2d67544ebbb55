/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The verifier: its passes over a program, and rejection. */
#include "gpubpf/verify/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gpubpf/verify/widen.h"

static void fill_error(struct gt_verifier *verifier)
{
	const struct gt_bpf_line *line = gt_bpf_line_of(verifier->program, verifier->at);
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!verifier->error)
		return;
	verifier->error->is_at_insn = true;
	verifier->error->insn = verifier->at;
	verifier->error->line = line ? line->line : 0;
	if (verifier->state)
		gt_state_put(&text, verifier->state);
	snprintf(verifier->error->registers, sizeof(verifier->error->registers), "%s",
		 gt_strbuf_string(&text));
}

int gt_reject(struct gt_verifier *verifier, const char *format, ...)
{
	const struct gt_bpf_line *line = gt_bpf_line_of(verifier->program, verifier->at);
	char location[256], text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (line)
		snprintf(location, sizeof(location), "%s:%u", line->file, line->line);
	else
		snprintf(location, sizeof(location), "insn %u", verifier->at);
	fill_error(verifier);
	return gt_diag(verifier->diag, -EACCES, "verify", location, "%s", text);
}

int gt_verifier_no_memory(struct gt_verifier *verifier)
{
	return gt_diag(verifier->diag, -ENOMEM, "verify", NULL, "out of memory");
}

int gt_verifier_too_large(struct gt_verifier *verifier)
{
	const struct gt_bpf_line *line = gt_bpf_line_of(verifier->program, verifier->at);
	char location[256] = "";

	if (line)
		snprintf(location, sizeof(location), "%s:%u", line->file, line->line);
	fill_error(verifier);
	/* The line is most likely in the loop that does not end; the instruction is arbitrary. */
	return gt_diag(verifier->diag, -E2BIG, "verify", location,
		       "BPF program is too large. Processed %" PRIu64 " insn",
		       verifier->facts.visited);
}

/* Instructions that the decisive pass may visit, as in Linux. */
static uint64_t max_visited(const struct gt_verifier *verifier)
{
	uint64_t max = verifier->options->max_visited;

	return max ? max : GT_MAX_VISITED;
}

/*
 * Explore all paths, at first with the operands of all jumps precise: facts include bounds of
 * precise scalars only. If the program is too large for that, repeat it with lazy precision, where
 * operands are precise only for jumps whose branch was decided or that bounded other scalars. Of
 * any other jump, both branches were explored from the explored state, whatever the operands were.
 * This holds if no jump is marked during the pass; otherwise repeat it with the marks, unless it is
 * too large: with more precise operands it is no smaller.
 *
 * The first pass, which only makes facts better, and repetitions are limited, so that the time of
 * all passes is near that of one.
 */
static int run_passes(struct gt_verifier *verifier)
{
	int error;

	verifier->lazy_precision = verifier->options->lazy_precision;
	for (unsigned passes = 1;; passes++) {
		verifier->limit = max_visited(verifier);
		if (!verifier->lazy_precision)
			verifier->limit /= 4;
		verifier->more_precise = false;
		error = gt_verify_dataflow(verifier);
		if (!error)
			error = gt_facts_begin(verifier);
		if (!error)
			error = gt_verify_explore(verifier);
		if (error && error != -E2BIG)
			return error;
		if (verifier->lazy_precision && (error || !verifier->more_precise))
			return error;
		if (verifier->lazy_precision &&
		    (passes >= GT_MAX_PASSES || verifier->visited > 2 * max_visited(verifier)))
			return gt_verifier_too_large(verifier);
		if (!verifier->lazy_precision && !error)
			return 0;
		verifier->lazy_precision = true;
		gt_verify_explore_clear(verifier);
		if (verifier->options->log)
			gt_strbuf_puts(verifier->options->log,
				       "; too many paths: again with lazy precision\n");
		if (verifier->diag)
			*verifier->diag = (struct gt_diag){0};
	}
}

static bool has_loops(const struct gt_verifier *verifier)
{
	return verifier->loops && verifier->loops->count && !verifier->too_many_loops;
}

/* One pass with widened loops. -EAGAIN: more is known of the loops now. */
static int run_widened_pass(struct gt_verifier *verifier)
{
	int error;

	gt_verify_explore_clear(verifier);
	verifier->next_id = 0;
	verifier->more_precise = false;
	for (uint32_t i = 0; i < verifier->loops->count; i++)
		verifier->loops->items[i].iterations = 0;
	error = gt_verify_dataflow(verifier);
	if (!error)
		error = gt_facts_begin(verifier);
	return error ? error : gt_verify_explore(verifier);
}

/*
 * Explore the program with widened loops, each of which may be exempted, in passes of as many
 * instructions together as the decisive pass may visit. All operands of jumps are precise. 0, or an
 * error: the program stays rejected.
 */
static int widen_loops(struct gt_verifier *verifier)
{
	uint64_t visited;
	int error;

	verifier->lazy_precision = false;
	verifier->widens = true;
	verifier->limit = max_visited(verifier);
	do {
		error = run_widened_pass(verifier);
		visited = verifier->facts.visited;
		verifier->limit -= visited < verifier->limit ? visited : verifier->limit;
		if (!error || error == -ENOMEM)
			return error;
		if (error != -EAGAIN && !gt_widen_less(verifier))
			return error;
	} while (verifier->limit);
	return error;
}

/* Widen loops, without a reason where the program stays rejected. */
static int widen_quietly(struct gt_verifier *verifier)
{
	struct gt_diag *diag = verifier->diag, ignored = {0};
	struct gt_verify_error *place = verifier->error;
	int error;

	verifier->diag = &ignored;
	verifier->error = NULL;
	error = widen_loops(verifier);
	verifier->diag = diag;
	verifier->error = place;
	if (error) {
		gt_verify_explore_clear(verifier);
		verifier->widens = false;
	}
	return error;
}

/*
 * Explore the program; where it is rejected and has loops, once more with these widened. The reason
 * of a rejection is that of the first exploration.
 */
static int explore_program(struct gt_verifier *verifier)
{
	int error;

	if (verifier->options->widens && has_loops(verifier) && !widen_quietly(verifier))
		return 0;
	error = run_passes(verifier);
	if (!error || error == -ENOMEM || !has_loops(verifier) || verifier->options->widens)
		return error;
	if (verifier->options->log)
		gt_strbuf_puts(verifier->options->log, "; rejected: again with widened loops\n");
	if (widen_quietly(verifier))
		return error;
	if (verifier->diag)
		*verifier->diag = (struct gt_diag){0};
	return 0;
}

static void clear_verifier(struct gt_verifier *verifier)
{
	gt_verify_explore_clear(verifier);
	free(verifier->explored);
	free(verifier->insns);
	free(verifier->aux);
	gt_loops_free(verifier->loops);
	gt_facts_clear(&verifier->facts);
}

/* Set the bound of the instructions that a run executes. */
static void set_bound(struct gt_verifier *verifier)
{
	for (struct gt_explored *explored = verifier->all_explored; explored;
	     explored = explored->next_all)
		if (!explored->parent)
			verifier->facts.bound = explored->longest;
	for (uint32_t i = 0; verifier->widens && i < verifier->loops->count; i++)
		verifier->facts.widened += verifier->loops->items[i].iterations > 0;
	if (verifier->has_budgets || verifier->widens)
		verifier->facts.bound = gt_verify_bound(verifier);
}

static int find_loops(struct gt_verifier *verifier)
{
	int error = gt_loops_find(verifier);

	verifier->too_many_loops = error == -E2BIG;
	return error == -E2BIG ? 0 : error;
}

static int verify_program(struct gt_verifier *verifier)
{
	uint32_t limit =
		verifier->options->max_size ? verifier->options->max_size : GT_BPF_MAX_INSNS;
	int error;

	if (!verifier->count)
		return gt_diag(verifier->diag, -EINVAL, "verify", NULL,
			       "the program has no instructions");
	if (verifier->count > limit)
		return gt_diag(verifier->diag, -E2BIG, "verify", NULL,
			       "the program has %u instructions, the maximum is %u",
			       verifier->count, limit);
	verifier->aux = calloc(verifier->count + 1u, sizeof(*verifier->aux));
	verifier->explored = calloc(verifier->count, sizeof(struct gt_explored *));
	verifier->insns = calloc(verifier->count, sizeof(*verifier->insns));
	if (!verifier->aux || !verifier->explored || !verifier->insns)
		return gt_verifier_no_memory(verifier);
	if (verifier->program->problem) {
		verifier->at = verifier->program->problem_insn;
		return gt_reject(verifier, "%s", verifier->program->problem);
	}
	for (uint32_t at = 0; at < verifier->count; at++)
		verifier->insns[at] = gt_bpf_without_order(&verifier->program->insns[at]);
	error = gt_verify_cfg(verifier);
	if (!error)
		error = find_loops(verifier);
	if (!error)
		error = explore_program(verifier);
	if (!error)
		error = gt_verify_calls(verifier);
	if (error)
		return error;
	gt_facts_end(verifier);
	error = gt_verify_divergence(verifier);
	if (error)
		return error;
	set_bound(verifier);
	if (verifier->options->max_executed &&
	    verifier->facts.bound > verifier->options->max_executed)
		return gt_diag(verifier->diag, -EACCES, "verify", NULL,
			       "the program may execute %" PRIu64
			       " instructions, the maximum is %" PRIu64,
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
	int error = verify_program(&verifier);

	if (options->effort)
		*options->effort = (struct gt_verify_effort){verifier.visited, verifier.work};
	if (!error) {
		/* Of a pass before the last one. */
		if (ret_error)
			*ret_error = (struct gt_verify_error){0};
		*ret_facts = verifier.facts;
		verifier.facts = (struct gt_facts){0};
	}
	clear_verifier(&verifier);
	return error;
}
