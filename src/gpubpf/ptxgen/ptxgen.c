/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The target "ptx": options, bodies, kernels, the module. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "gpubpf/ptxgen/private.h"
#include "gpubpf/ptxgen/select.h"

/* ---- options ---- */

/* The oldest version of PTX for each target: PTX ISA, release history. */
static const struct {
	unsigned sm, version;
} needed[] = {
	{60, 50},  {61, 50},  {62, 50},  {70, 60},  {72, 61},  {75, 63},
	{80, 70},  {86, 71},  {87, 74},  {88, 90},  {89, 78},  {90, 78},
	{100, 86}, {101, 86}, {103, 88}, {110, 90}, {120, 87}, {121, 88},
};

static int check_prefix(const char *prefix, struct gt_diag *diag)
{
	bool fine = strlen(prefix) <= GT_MAX_PREFIX &&
		    (isalpha((unsigned char)prefix[0]) || prefix[0] == '_' || prefix[0] == '$');

	for (const char *at = prefix; *at; at++)
		fine &= isalnum((unsigned char)*at) || *at == '_' || *at == '$';
	if (fine)
		return 0;
	return gt_diag(diag, -EINVAL, "translate", NULL,
		       "invalid prefix '%.32s' (a letter, _ or $, then letters, digits, _ and $; "
		       "at most %d)",
		       prefix, GT_MAX_PREFIX);
}

static int fail_unknown_gpu(const struct gt_ptxgen *gen)
{
	gt_auto_strbuf known = GT_STRBUF_INIT;

	for (size_t i = 0; i < gt_countof(needed); i++)
		gt_strbuf_printf(&known, "%s %u", i ? "," : "", needed[i].sm);
	return gt_diag(gen->diag, -EINVAL, "translate", NULL, "invalid GPU sm_%u (one of:%s)",
		       gen->sm, gt_strbuf_string(&known));
}

/* Set gen->prefix, gen->sm and gen->version. */
static int read_options(struct gt_ptxgen *gen)
{
	const struct gt_translate_options *options = gen->options;
	unsigned min = 0;

	gen->prefix = options->prefix ? options->prefix : "gputap_";
	gen->prefix_length = strlen(gen->prefix);
	gen->sm = options->sm ? options->sm : 60;
	for (size_t i = 0; i < gt_countof(needed); i++)
		if (needed[i].sm == gen->sm)
			min = needed[i].version;
	if (!min)
		return fail_unknown_gpu(gen);
	if (options->sm_suffix && min < 78)
		return gt_diag(gen->diag, -EINVAL, "translate", NULL, "sm_%u has no variant '%c'",
			       gen->sm, options->sm_suffix);
	gen->version = options->version ? options->version : min < 62 ? 62 : min;
	if (gen->version < min)
		return gt_diag(gen->diag, -EINVAL, "translate", NULL,
			       "sm_%u needs PTX %u.%u or later, not %u.%u", gen->sm, min / 10,
			       min % 10, gen->version / 10, gen->version % 10);
	return check_prefix(gen->prefix, gen->diag);
}

/* ---- bodies ---- */

static void emit_subprogram_call(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	uint32_t target = (uint32_t)gt_bpf_jump_target(gen->job->program->insns, gen->at);
	uint32_t at = gen->at;

	for (uint32_t i = 0; i < gen->facts->subprogram_count; i++)
		if (gen->facts->subprograms[i].start == target) {
			gt_ptxgen_emit_function(gen, i);
			gen->at = at;
			gt_ptxgen_clear_unset(gen, at + 1, UINT_MAX);
			return;
		}
	gt_ptxgen_fail(gen, -EINVAL, "there is no function at %u", target);
}

static void emit_for_all_lanes(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		gt_ptxgen_alu(gen, insn);
		return;
	case BPF_LD:
		gt_ptxgen_lddw(gen, insn);
		return;
	case BPF_JMP:
	case BPF_JMP32:
		if (BPF_OP(insn->code) != BPF_CALL)
			gt_ptxgen_jump(gen, insn);
		else if (gt_bpf_is_subprogram_call(insn))
			emit_subprogram_call(gen, insn);
		else
			gt_ptxgen_call(gen, insn);
		return;
	default:
		if (gt_bpf_is_ordered(gt_ptxgen_insn(gen)))
			gt_ptxgen_ordered(gen, insn);
		else if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC)
			gt_ptxgen_atomic(gen, insn);
		else
			gt_ptxgen_access(gen, insn);
	}
}

static void emit_insn(struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	struct gt_ptxgen_value over;
	int result;

	if (gen->lanes != GT_PTXGEN_ALL || !gt_ptxgen_needs_leader(gen, insn, &result)) {
		emit_for_all_lanes(gen, insn);
		return;
	}
	over = gt_ptxgen_begin_leader(gen);
	emit_for_all_lanes(gen, insn);
	gt_ptxgen_end_leader(gen, over, result);
}

static bool is_exit(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_EXIT);
}

static int fail_too_long(struct gt_ptxgen *gen)
{
	return gt_ptxgen_fail(gen, -E2BIG, "the program's text is longer than %zu bytes",
			      gen->text_limit);
}

/* Emit the instructions of the function of gen->frame. An exit branches to its end label. */
static void emit_insns(struct gt_ptxgen *gen)
{
	const struct gt_subprogram_facts *function =
		&gen->facts->subprograms[gen->frame->subprogram];
	const struct bpf_insn *insns = gen->job->program->insns, *insn;
	struct bpf_insn ordered;
	struct gt_ptxgen_value label;
	uint32_t last = function->start;
	bool leaves = !gen->frame->caller && gen->lanes == GT_PTXGEN_LEADER;

	for (uint32_t at = function->start; at < function->end; at++)
		if (gen->facts->insns[at].reached)
			last = at;
	for (uint32_t at = function->start; at <= last && !gen->error; at++) {
		if (!gen->facts->insns[at].reached || gen->null_tests[at].is_early)
			continue;
		gen->at = at;
		gen->inlined++;
		if (gen->targets[at]) {
			label = gt_ptxgen_insn_label(gen, at);
			gt_ptxgen_emit_label(gen, label);
		}
		if (gen->if_conversion.ends[at]) {
			at = gt_ptxgen_emit_converted(gen) - 1;
		} else if (!is_exit(&insns[at])) {
			ordered = gt_bpf_without_order(&insns[at]);
			insn = gt_bpf_is_ordered(&insns[at]) ? &ordered : &insns[at];
			emit_insn(gen, insn);
			gen->at = at;
		} else if (at != last) {
			gt_ptxgen_branch(gen, gt_ptxgen_end_label(gen));
			leaves = true;
		}
		if (gen->text_size > gen->text_limit)
			fail_too_long(gen);
		if (gen->inlined > GT_PTXGEN_MAX_INLINED)
			gt_ptxgen_fail(
				gen, -E2BIG,
				"more than %d instructions, those of functions counted at each of "
				"their calls",
				GT_PTXGEN_MAX_INLINED);
	}
	if (leaves)
		gt_ptxgen_emit_label(gen, gt_ptxgen_end_label(gen));
}

int gt_ptxgen_emit_function(struct gt_ptxgen *gen, uint32_t subprogram)
{
	struct gt_ptxgen_frame frame = {
		.caller = gen->frame,
		.number = gen->frames++,
		.subprogram = subprogram,
		.top = (gen->frame ? gen->frame->top : 0) + gen->stacks[subprogram].bytes,
	};

	gen->frame = &frame;
	if (frame.top > gen->stack_bytes)
		gen->stack_bytes = frame.top;
	gt_ptxgen_begin_frame(gen);
	gt_ptxgen_begin_budget(gen);
	if (!frame.caller) {
		struct gt_ptxgen_value context = gt_ptxgen_reg64(gen, 1);

		/* The context is never in memory. Its address only has to differ from NULL. */
		if (gen->job->section && gen->job->section->kind != GT_KIND_RUN)
			gt_ptxgen_emit(gen, "mov.b64", context, gt_ptxgen_hex(0x1000));
		gt_ptxgen_begin_group(gen);
		gt_ptxgen_clear_unset(gen, 0, UINT_MAX);
	}
	emit_insns(gen);
	if (!frame.caller)
		gt_ptxgen_end_group(gen);
	gt_ptxgen_append(gen, &(struct gt_ptxgen_row){.kind = GT_PTXGEN_FRAME_END});
	gen->frame = frame.caller;
	return gen->error;
}

static void count_targets(struct gt_ptxgen *gen)
{
	const struct bpf_insn *insns = gen->job->program->insns;

	for (uint32_t at = 0; at < gen->facts->insn_count; at++) {
		const struct bpf_insn *insn = &insns[at];
		unsigned class = BPF_CLASS(insn->code), operation = BPF_OP(insn->code);

		if (!gen->facts->insns[at].reached || (class != BPF_JMP && class != BPF_JMP32) ||
		    operation == BPF_CALL || operation == BPF_EXIT)
			continue;
		if (operation == BPF_JA || (gen->facts->insns[at].branch & 2))
			gen->targets[gt_bpf_jump_target(insns, at)]++;
	}
}

static void print_registers(struct gt_ptxgen *gen, struct gt_strbuf *text)
{
	static const struct {
		const char *type, *kind;
	} classes[GT_PTXGEN_REGISTER_CLASSES] = {
		{"b64", "q"}, {"b32", "w"}, {"b16", "h"}, {"pred", "p"}};

	for (unsigned i = 0; i < GT_PTXGEN_REGISTER_CLASSES; i++)
		if (gen->list.temporaries[i])
			gt_strbuf_printf(text, "\t.reg .%s %s%s<%u>;\n", classes[i].type,
					 gen->prefix, classes[i].kind, gen->list.temporaries[i]);
	gt_strbuf_printf(text, "\t.reg .b64 %sr<6>;\n", gen->prefix);
	if (gen->lanes != GT_PTXGEN_EACH)
		gt_strbuf_printf(text,
				 "\t.reg .b32 %sgroup, %sfirst, %sbelow;\n\t.reg .pred %sleader;\n",
				 gen->prefix, gen->prefix, gen->prefix, gen->prefix);
	gen->translation->stack_bytes = gen->stack_bytes;
	gen->translation->waits = gen->waits;
	gen->translation->reads_device = gen->reads_device;
	if (gen->stack_bytes && !gen->options->stack_outside)
		gt_strbuf_printf(text, "\t.local .align 8 .b8 %sstack[%u];\n", gen->prefix,
				 gen->stack_bytes);
	if (gen->copy_bytes)
		gt_strbuf_printf(text, "\t.local .align 8 .b8 %scopies[%u];\n", gen->prefix,
				 gen->copy_bytes);
}

/* ---- text ---- */

static int print_body(struct gt_ptxgen *gen, struct gt_strbuf *text)
{
	bool kernel = gen->options->form == GT_FORM_KERNEL;
	int error;

	if (kernel)
		gt_ptxgen_print_kernel_begin(gen, text);
	else
		gt_strbuf_puts(text, "\t{\n");
	print_registers(gen, text);
	if (kernel)
		gt_ptxgen_print_arguments(gen, text);
	error = gt_ptxgen_print(&gen->list, gen->prefix, gen->text_limit, text, &gen->at);
	if (error)
		return fail_too_long(gen);
	if (kernel)
		gt_ptxgen_print_kernel_end(gen, text);
	else
		gt_strbuf_puts(text, "\t}\n");
	return 0;
}

/* ---- the target ---- */

/* The passes before instructions are selected (passes.h). */
static int run_passes(struct gt_ptxgen *gen)
{
	int error = 0;

	gen->targets = calloc(gen->facts->insn_count + 1, sizeof(*gen->targets));
	if (!gen->targets)
		return -ENOMEM;
	count_targets(gen);
	gt_ptxgen_plan_group(gen);
	error = gt_ptxgen_plan_if_conversion(gen);
	if (!error)
		error = gt_ptxgen_plan_null_tests(gen);
	if (!error)
		error = gt_ptxgen_analyse(gen);
	return error ? error : gt_ptxgen_plan_stack(gen);
}

static int generate(struct gt_ptxgen *gen)
{
	int error = run_passes(gen);

	if (!error)
		error = gt_vec_expect(&gen->list.rows, gen->job->program->count * 2u);
	gen->text_limit = gen->options->max_text ? gen->options->max_text : GT_MAX_TRANSLATED;
	if (!error)
		error = gt_ptxgen_emit_function(gen, 0);
	if (!error && gen->list.failed)
		error = -ENOMEM;
	if (!error)
		error = gt_ptxgen_narrow(&gen->list);
	return error == -ENOMEM ? gt_ptxgen_fail(gen, error, "out of memory") : error;
}

static void free_tables(struct gt_ptxgen *gen)
{
	gt_ptxgen_list_free(&gen->list);
	free(gen->stacks);
	free(gen->call_copies);
	free(gen->targets);
	free(gen->if_conversion.ends);
	free(gen->null_tests);
	free(gen->ranges.rows);
	free(gen->strength.rows);
	free(gen->strength.values);
}

/* Remove the text and declarations of a job that failed. */
static void undo_job(struct gt_translation *translation, size_t text, size_t declarations,
		     size_t declared)
{
	while (translation->declared.count > declared)
		free(translation->declared.items[--translation->declared.count]);
	translation->text.length = text;
	translation->declarations.length = declarations;
	if (translation->text.data)
		translation->text.data[text] = 0;
	if (translation->declarations.data)
		translation->declarations.data[declarations] = 0;
}

static int translate_job(const struct gt_translate_options *options,
			 const struct gt_bpf_object *object, const struct gt_translate_job *job,
			 struct gt_translation *translation, struct gt_diag *diag)
{
	size_t text = translation->text.length, declarations = translation->declarations.length;
	size_t declared = translation->declared.count;
	struct gt_ptxgen gen = {
		.options = options,
		.object = object,
		.job = job,
		.facts = job->facts,
		.translation = translation,
		.map = -1,
		.diag = diag,
	};
	int error = read_options(&gen);

	if (!error)
		error = generate(&gen);
	if (!error) {
		error = print_body(&gen, &translation->text);
		if (translation->text.failed || translation->declarations.failed)
			error = gt_diag(diag, -ENOMEM, "translate", NULL, "out of memory");
	}
	if (error)
		undo_job(translation, text, declarations, declared);
	free_tables(&gen);
	return error;
}

static int finish(const struct gt_translate_options *options,
		  const struct gt_translation *translation, struct gt_strbuf *module,
		  struct gt_diag *diag)
{
	struct gt_ptxgen gen = {.options = options, .diag = diag};
	int error = read_options(&gen);

	if (error)
		return error;
	gt_strbuf_printf(module, ".version %u.%u\n.target sm_%u", gen.version / 10,
			 gen.version % 10, gen.sm);
	if (options->sm_suffix)
		gt_strbuf_putc(module, options->sm_suffix);
	gt_strbuf_puts(module, "\n.address_size 64\n\n");
	gt_strbuf_add(module, translation->declarations.data, translation->declarations.length);
	gt_strbuf_putc(module, '\n');
	gt_strbuf_add(module, translation->text.data, translation->text.length);
	return module->failed ? gt_diag(diag, -ENOMEM, "translate", NULL, "out of memory") : 0;
}

/* ---- for other targets ---- */

/* Whether a job of the level warp lacks the mask of its group. */
static bool lacks_mask(const struct gt_translate_job *job)
{
	if (!job->section || job->section->level != GT_LEVEL_WARP)
		return false;
	for (uint32_t i = 0; i < job->value_count; i++)
		if (job->values[i].source == GT_SOURCE_MASK)
			return false;
	return true;
}

int gt_ptxgen_select(const struct gt_translate_options *options, const struct gt_bpf_object *object,
		     const struct gt_translate_job *job, struct gt_ptxgen_selection *selection,
		     struct gt_diag *diag)
{
	struct gt_translate_options own = *options;
	struct gt_translate_job with_mask = *job;
	struct gt_site_value values[GT_PTXGEN_SELECT_VALUES + 1];
	struct gt_translation unused = {0};
	struct gt_ptxgen gen = {
		.options = &own,
		.object = object,
		.job = &with_mask,
		.facts = job->facts,
		.translation = &unused,
		.map = -1,
		.without_lanes = true,
		.diag = diag,
	};
	int error;

	own.sm = 70;
	own.sm_suffix = 0;
	own.version = 62;
	own.symbols_global = false;
	if (lacks_mask(job)) {
		if (job->value_count > GT_PTXGEN_SELECT_VALUES)
			return gt_diag(diag, -E2BIG, "translate", NULL, "too many values");
		for (uint32_t i = 0; i < job->value_count; i++)
			values[i] = job->values[i];
		values[with_mask.value_count++] = (struct gt_site_value){
			.source = GT_SOURCE_MASK, .bits = 32, .operand = GT_PTXGEN_WARP_MASK};
		with_mask.values = values;
	}
	error = read_options(&gen);
	if (!error)
		error = generate(&gen);
	selection->list = gen.list;
	selection->stack_bytes = gen.stack_bytes;
	selection->copy_bytes = gen.copy_bytes;
	gen.list = (struct gt_ptxgen_list){0};
	free_tables(&gen);
	gt_translation_clear(&unused);
	return error;
}

void gt_ptxgen_selection_clear(struct gt_ptxgen_selection *selection)
{
	gt_ptxgen_list_free(&selection->list);
}

const struct gt_code_target gt_target_ptx = {
	.name = "ptx",
	.translate = translate_job,
	.finish = finish,
};
