/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/patch.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "patch/private.h"

#define PROGRAM(n) (UINT64_C(1) << (n))

void gt_patch_result_clear(struct gt_patch_result *result)
{
	gt_strbuf_free(&result->text);
	gt_vec_free(&result->kernels);
	gt_vec_free(&result->sites);
	gt_vec_free(&result->rejections);
	*result = (struct gt_patch_result){0};
}

static void close_patcher(struct gt_patcher *patcher)
{
	for (uint32_t i = 0; patcher->bodies && i < patcher->options->program_count; i++)
		gt_strbuf_free(&patcher->bodies[i]);
	free(patcher->bodies);
	gt_vec_free(&patcher->variants);
	gt_vec_free(&patcher->loops);
	free(patcher->uses);
	free(patcher->functions);
	gt_patch_graph_free(patcher->graph);
	gt_translation_clear(&patcher->translation);
}

void gt_patch_reject(struct gt_patcher *patcher, uint32_t program, const char *function,
		     uint32_t sites, const char *format, ...)
{
	struct gt_patch_rejection rejection = {
		.program = program,
		.function = function,
		.sites = sites,
	};
	va_list arguments;
	int error;

	va_start(arguments, format);
	vsnprintf(rejection.reason, sizeof(rejection.reason), format, arguments);
	va_end(arguments);
	patcher->result->found += sites;
	patcher->result->rejected += sites;
	error = gt_vec_push(&patcher->result->rejections, rejection);
	patcher->error = patcher->error ? patcher->error : error;
}

static bool is_prefix_used(const struct gt_patch_set *set, const char *prefix)
{
	gt_patch_each (patcher, set)
		if (strstr(patcher->module->text, prefix))
			return true;
	return set->code && strstr(gt_strbuf_string(&set->code->names), prefix);
}

/*
 * A prefix that occurs nowhere in the texts and the machine code, so that no name of ours is one of
 * theirs. It is that of all modules: they are linked, and their names of ours are the same.
 */
static int choose_prefix(const struct gt_patch_set *set)
{
	char prefix[GT_MAX_PREFIX] = "gputap_";

	for (unsigned i = 1; is_prefix_used(set, prefix); i++) {
		if (i == 1000)
			return gt_diag(set->patchers->diag, -EINVAL, "patch", NULL,
				       "the module uses every prefix for added names");
		snprintf(prefix, sizeof(prefix), "gputap%u_", i);
	}
	gt_patch_each (patcher, set)
		strcpy(patcher->result->prefix, prefix);
	return 0;
}

/* ---- sites ----------------------------------------------------------------------------- */

bool gt_patch_finishes(const struct gt_patcher *patcher, const struct gt_ptx_function *function)
{
	uint64_t programs = patcher->functions[function->number].programs;

	for (uint32_t i = 0; i < patcher->options->program_count; i++)
		if (programs & PROGRAM(i) &&
		    patcher->options->programs[i].section.kind == GT_KIND_FINISH)
			return true;
	return false;
}

/* The programs of a function that run at a site of these kinds. */
static uint64_t programs_at(const struct gt_patcher *patcher,
			    const struct gt_ptx_function *function, uint32_t kinds)
{
	uint64_t programs = patcher->functions[function->number].programs, at = 0;

	for (uint32_t i = 0; i < patcher->options->program_count; i++)
		if (programs & PROGRAM(i) &&
		    gt_patch_site_kinds(patcher->options->programs[i].section.kind) & kinds)
			at |= PROGRAM(i);
	return at;
}

/* `place` has the statement, its source position, the kinds, whether programs run after it, and
 * which of them, if not all of these kinds. */
static int add_site_at(struct gt_patcher *patcher, const struct gt_ptx_function *function,
		       const struct gt_patch_site *place)
{
	struct gt_patch_result *result = patcher->result;
	uint64_t programs =
		place->programs ? place->programs : programs_at(patcher, function, place->kinds);
	const struct gt_ptx_position *position =
		place->statement ? &place->statement->position : &function->body->position;
	struct gt_patch_site site = *place;

	if (!programs)
		return 0;
	site.function = function->name;
	site.number = patcher->first_site + (uint32_t)result->sites.count;
	site.line = position->line;
	site.programs = programs;
	if (result->sites.count == GT_PATCH_MAX_SITES)
		return gt_diag(patcher->diag, -E2BIG, "patch", function->name,
			       "more than %d sites in one module: match fewer kernels",
			       GT_PATCH_MAX_SITES);
	if (patcher->functions[function->number].first_site == UINT32_MAX)
		patcher->functions[function->number].first_site = (uint32_t)result->sites.count;
	result->found += (uint32_t)__builtin_popcountll(programs);
	return gt_vec_push(&result->sites, site);
}

/* One more site of a program that is rejected: those of a function and a reason are one rejection.
 */
static void reject_site(struct gt_patcher *patcher, uint32_t program,
			const struct gt_ptx_function *function, const char *reason)
{
	struct gt_patch_result *result = patcher->result;

	for (size_t i = result->rejections.count; i-- > 0;) {
		struct gt_patch_rejection *rejection = &result->rejections.items[i];

		if (rejection->function != function->name)
			break;
		if (rejection->program != program || strcmp(rejection->reason, reason) != 0)
			continue;
		rejection->sites++;
		result->found++;
		result->rejected++;
		return;
	}
	gt_patch_reject(patcher, program, function->name, 1, "%s", reason);
}

/* An instruction that programs would see, if it could be a site. */
static void reject_statement(struct gt_patcher *patcher, const struct gt_ptx_function *function,
			     const struct gt_ptx_statement *statement)
{
	const char *reason;
	uint32_t kinds = gt_patch_rejected_kinds(statement, &reason);
	uint64_t programs = kinds ? programs_at(patcher, function, kinds) : 0;

	for (uint32_t i = 0; programs && i < patcher->options->program_count; i++)
		if (programs & PROGRAM(i))
			reject_site(patcher, i, function, reason);
}

static int add_site(struct gt_patcher *patcher, const struct gt_ptx_function *function,
		    const struct gt_ptx_statement *statement, const struct gt_ptx_loc *loc,
		    uint32_t kinds)
{
	struct gt_patch_site place = {
		.statement = statement,
		.loc = loc,
		.kinds = kinds,
		.after = statement && gt_patch_kinds_after(kinds),
	};

	return add_site_at(patcher, function, &place);
}

/* ---- ends of loops --------------------------------------------------------------------- */

static void reject_loops(struct gt_patcher *patcher, const struct gt_ptx_function *function,
			 const struct gt_patch_loops *loops, uint64_t programs)
{
	for (uint32_t i = 0; i < patcher->options->program_count && loops->rejected; i++)
		if (programs & PROGRAM(i))
			gt_patch_reject(patcher, i, function->name, loops->rejected, "%s",
					loops->reason);
}

/* Find the loops of a function if programs run at their ends. The caller clears the result. */
static int find_loops(struct gt_patcher *patcher, const struct gt_ptx_function *function,
		      struct gt_patch_loops *ret_loops)
{
	struct gt_patch_function *known = &patcher->functions[function->number];
	uint64_t programs = programs_at(patcher, function, 1u << GT_KIND_LOOP_END);
	int error;

	*ret_loops = (struct gt_patch_loops){0};
	if (!programs)
		return 0;
	error = gt_patch_loops_find(function, ret_loops);
	if (error)
		return error;
	reject_loops(patcher, function, ret_loops, programs);
	known->first_loop = (uint32_t)patcher->loops.count;
	known->loop_count = (uint32_t)ret_loops->labels.count;
	gt_vec_each (label, &ret_loops->labels)
		error = error ? error : gt_vec_push(&patcher->loops, *label);
	return error;
}

/* ---- starts of lines ------------------------------------------------------------------- */

/* Find the lines of a function if programs run at their starts. The caller clears the result. */
static int find_lines(const struct gt_patcher *patcher, const struct gt_ptx_function *function,
		      struct gt_patch_lines *ret_lines)
{
	*ret_lines = (struct gt_patch_lines){0};
	if (!programs_at(patcher, function, 1u << GT_KIND_LINE))
		return 0;
	return gt_patch_lines_find(function, ret_lines);
}

/* The site of the next line, if it starts at this statement. */
static int add_line(struct gt_patcher *patcher, const struct gt_ptx_function *function,
		    const struct gt_patch_lines *lines, size_t *next,
		    const struct gt_patch_site *place)
{
	struct gt_patch_site site = *place;

	if (*next == lines->statements.count || lines->statements.items[*next] != place->statement)
		return 0;
	++*next;
	site.kinds = 1u << GT_KIND_LINE;
	return add_site_at(patcher, function, &site);
}

/* ---- basic blocks ---------------------------------------------------------------------- */

/* Find the basic blocks of a function if programs run at them. The caller clears the result. */
static int find_blocks(const struct gt_patcher *patcher, const struct gt_ptx_function *function,
		       struct gt_patch_blocks *ret_blocks)
{
	*ret_blocks = (struct gt_patch_blocks){0};
	if (!programs_at(patcher, function, 1u << GT_KIND_BASIC_BLOCK))
		return 0;
	return gt_patch_blocks_find(function, ret_blocks);
}

/* Programs of a basic block that the function does not have. */
static void reject_blocks(struct gt_patcher *patcher, const struct gt_ptx_function *function,
			  size_t count)
{
	uint64_t programs = programs_at(patcher, function, 1u << GT_KIND_BASIC_BLOCK);

	for (uint32_t i = 0; i < patcher->options->program_count; i++)
		if (programs & PROGRAM(i) && patcher->options->programs[i].section.block > count)
			gt_patch_reject(patcher, i, function->name, 1,
					"the kernel has no basic block %u (it has %zu)",
					patcher->options->programs[i].section.block - 1, count);
}

/* A register that a program reads and that is not declared at a statement. False: there is none. */
static bool find_unknown_register(const struct gt_section *section,
				  const struct gt_ptx_statement *statement, const char **ret_name,
				  size_t *ret_length)
{
	struct gt_ptx_operand operand;

	for (uint32_t i = 0; gt_section_register(section, i, ret_name, ret_length); i++)
		if (!gt_patch_find_register(statement, *ret_name, *ret_length, &operand))
			return true;
	return false;
}

/* The site of a program at a basic block: one for each program, since each has its registers. */
static int add_block_site(struct gt_patcher *patcher, const struct gt_ptx_function *function,
			  uint32_t program, const struct gt_patch_site *place)
{
	const struct gt_section *section = &patcher->options->programs[program].section;
	struct gt_patch_site site = *place;
	const char *name;
	size_t length;

	if (find_unknown_register(section, place->statement, &name, &length)) {
		gt_patch_reject(
			patcher, program, function->name, 1,
			"no register %%%.*s of 64 bits or less is declared at the basic block",
			(int)length, name);
		return 0;
	}
	site.kinds = 1u << GT_KIND_BASIC_BLOCK;
	site.programs = PROGRAM(program);
	return add_site_at(patcher, function, &site);
}

/* The sites of the next basic block, if it starts at this statement. */
static int add_block(struct gt_patcher *patcher, const struct gt_ptx_function *function,
		     const struct gt_patch_blocks *blocks, size_t *next,
		     const struct gt_patch_site *place)
{
	uint64_t programs = programs_at(patcher, function, 1u << GT_KIND_BASIC_BLOCK);
	int error = 0;

	if (*next == blocks->statements.count ||
	    blocks->statements.items[*next] != place->statement)
		return 0;
	++*next;
	for (uint32_t i = 0; i < patcher->options->program_count && !error; i++) {
		uint32_t block = patcher->options->programs[i].section.block;

		if (programs & PROGRAM(i) && (!block || block == *next))
			error = add_block_site(patcher, function, i, place);
	}
	return error;
}

/* ---- sites of a function --------------------------------------------------------------- */

/* The sites of the next ends of loops, if they are at this side of this statement. */
static int add_loop_ends(struct gt_patcher *patcher, const struct gt_ptx_function *function,
			 const struct gt_patch_loop_end **next,
			 const struct gt_patch_loop_end *last, const struct gt_patch_site *place)
{
	int error = 0;

	for (; *next < last && (*next)->statement == place->statement &&
	       (*next)->after == place->after && !error;
	     (*next)++) {
		struct gt_patch_site site = *place;

		site.kinds = 1u << GT_KIND_LOOP_END;
		site.loop = (*next)->loop;
		site.back = (*next)->back;
		error = add_site_at(patcher, function, &site);
	}
	return error;
}

/* The .loc before the first instruction, or NULL. */
static const struct gt_ptx_loc *first_loc(const struct gt_ptx_function *function)
{
	for (const struct gt_ptx_statement *statement = function->body->first;
	     statement && statement->kind != GT_PTX_STATEMENT_INSTRUCTION;
	     statement = gt_ptx_statement_next(statement))
		if (statement->kind == GT_PTX_STATEMENT_LOC)
			return statement->loc;
	return NULL;
}

/* The sites of a statement: before it, then after it. */
static int find_statement_sites(struct gt_patcher *patcher, const struct gt_ptx_function *function,
				const struct gt_ptx_statement *statement,
				const struct gt_ptx_loc *loc, bool finishes)
{
	uint32_t kinds = gt_patch_statement_kinds(statement), after;
	int error = 0;

	if (finishes)
		kinds |= gt_patch_early_exit_kinds(statement);
	after = gt_patch_kinds_after(kinds);
	if (kinds & ~after)
		error = add_site(patcher, function, statement, loc, kinds & ~after);
	if (after && !error)
		error = add_site(patcher, function, statement, loc, after);
	reject_statement(patcher, function, statement);
	return error;
}

/* What programs of a function's loops, lines and basic blocks need. */
struct patch_structure {
	struct gt_patch_loops loops;
	struct gt_patch_lines lines;
	struct gt_patch_blocks blocks;
};

static int find_sites(struct gt_patcher *patcher, const struct gt_ptx_function *function,
		      const struct patch_structure *structure)
{
	const struct gt_patch_loops *loops = &structure->loops;
	const struct gt_patch_loop_end *end = loops->ends.items;
	const struct gt_patch_loop_end *last = loops->ends.count ? end + loops->ends.count : end;
	const struct gt_ptx_loc *loc = first_loc(function);
	bool finishes = gt_patch_finishes(patcher, function);
	size_t next_line = 0, next_block = 0;
	int error = add_site(patcher, function, NULL, loc, gt_patch_begin_kinds(function));

	for (const struct gt_ptx_statement *statement = function->body->first; statement && !error;
	     statement = gt_ptx_statement_next(statement)) {
		struct gt_patch_site place = {.statement = statement};

		if (statement->kind == GT_PTX_STATEMENT_LOC)
			loc = statement->loc;
		place.loc = loc;
		error = add_block(patcher, function, &structure->blocks, &next_block, &place);
		if (!error)
			error = add_line(patcher, function, &structure->lines, &next_line, &place);
		/* Before the others, since threads exit at the site of an early exit. */
		if (!error)
			error = add_loop_ends(patcher, function, &end, last, &place);
		if (!error)
			error = find_statement_sites(patcher, function, statement, loc, finishes);
		place.after = true;
		if (!error)
			error = add_loop_ends(patcher, function, &end, last, &place);
	}
	if (!error)
		error = add_site(patcher, function, NULL, loc, gt_patch_end_kinds(function));
	return error;
}

static int find_function_sites(struct gt_patcher *patcher, const struct gt_ptx_function *function)
{
	struct patch_structure structure = {0};
	int error = find_lines(patcher, function, &structure.lines);

	if (!error)
		error = find_blocks(patcher, function, &structure.blocks);
	if (!error)
		error = find_loops(patcher, function, &structure.loops);
	if (!error) {
		reject_blocks(patcher, function, structure.blocks.statements.count);
		error = find_sites(patcher, function, &structure);
	}
	gt_patch_loops_clear(&structure.loops);
	gt_patch_blocks_clear(&structure.blocks);
	gt_patch_lines_clear(&structure.lines);
	return error;
}

static int find_all_sites(struct gt_patcher *patcher)
{
	int error = 0;

	for (const struct gt_ptx_function *function = patcher->module->functions;
	     function && !error; function = function->next) {
		const struct gt_patch_function *known = &patcher->functions[function->number];

		if (function->body && known->kept && known->programs)
			error = find_function_sites(patcher, function);
	}
	return error;
}

uint64_t gt_patch_programs_with_sites(const struct gt_patcher *patcher)
{
	uint64_t programs = 0;

	gt_vec_each (site, &patcher->result->sites)
		programs |= site->programs;
	return programs;
}

/* Find the sites of all modules, whose numbers continue those of the modules before. */
static int find_sites_of_set(struct gt_patch_set *set)
{
	uint32_t sites = set->patchers->options->first_site;
	int error = 0;

	gt_patch_each (patcher, set) {
		patcher->first_site = sites;
		error = error ? error : find_all_sites(patcher);
		sites += (uint32_t)patcher->result->sites.count;
	}
	return error;
}

/* ---- the whole ------------------------------------------------------------------------- */

static int check_options(const struct gt_patch_options *options, struct gt_diag *diag)
{
	if (options->program_count > GT_PATCH_MAX_PROGRAMS)
		return gt_diag(diag, -E2BIG, "patch", NULL,
			       "%u programs; at most %d can be inserted into one module",
			       options->program_count, GT_PATCH_MAX_PROGRAMS);
	for (uint32_t i = 0; i < options->program_count; i++)
		if (options->programs[i].section.kind >= GT_KIND_RUN)
			return gt_diag(diag, -EINVAL, "patch", options->programs[i].section.text,
				       "programs of this section run in no kernel");
	return 0;
}

static int allocate_tables(struct gt_patcher *patcher)
{
	uint32_t functions = patcher->module->function_count;

	patcher->functions = calloc(functions + 1, sizeof(*patcher->functions));
	patcher->bodies = calloc(patcher->options->program_count + 1, sizeof(*patcher->bodies));
	patcher->uses = calloc(patcher->options->program_count + 1, sizeof(*patcher->uses));
	if (!patcher->functions || !patcher->bodies || !patcher->uses)
		return -ENOMEM;
	for (uint32_t i = 0; i < functions; i++)
		patcher->functions[i].first_site = UINT32_MAX;
	return 0;
}

static int find_programs_sites(struct gt_patch_set *set)
{
	int error = 0;

	gt_patch_each (patcher, set)
		error = error ? error : gt_patch_check_block_ends(patcher);
	if (!error)
		error = find_sites_of_set(set);
	if (!error)
		gt_patch_choose_symbol_space(set);
	gt_patch_each (patcher, set) {
		if (!error && patcher->result->scope != GT_PATCH_NONE)
			error = gt_patch_translate(patcher);
		error = error ? error : patcher->error;
	}
	gt_patch_each (patcher, set)
		if (!error && patcher->result->scope != GT_PATCH_NONE)
			error = gt_patch_plan_shapes(patcher);
	return error;
}

/* Of whole modules those stay as they are in which no program runs; of a side module none. */
static void keep_originals(struct gt_patch_set *set)
{
	uint32_t found = 0, rejected = 0;

	gt_patch_each (patcher, set) {
		found += patcher->result->found;
		rejected += patcher->result->rejected;
	}
	gt_patch_each (patcher, set) {
		struct gt_patch_result *result = patcher->result;

		if (found != rejected &&
		    (result->scope == GT_PATCH_SIDE || result->found != result->rejected ||
		     gt_patch_records_shapes(patcher)))
			continue;
		result->scope = GT_PATCH_NONE;
		result->compiled = 0;
	}
}

static int patch(struct gt_patch_set *set)
{
	int error = 0;

	gt_patch_each (patcher, set)
		error = error ? error : allocate_tables(patcher);
	if (!error)
		error = choose_prefix(set);
	if (!error)
		error = gt_patch_match(set);
	if (!error)
		error = find_programs_sites(set);
	if (error)
		return error;
	keep_originals(set);
	gt_patch_each (patcher, set)
		if (!error && patcher->result->scope != GT_PATCH_NONE)
			error = gt_patch_print(patcher);
	return error;
}

static void close_set(struct gt_patch_set *set)
{
	gt_patch_reaches_clear(set, &set->kept);
	gt_patch_reaches_clear(set, &set->called);
	gt_patch_reaches_clear(set, &set->from_kernel);
	gt_patch_each (patcher, set)
		close_patcher(patcher);
	gt_vec_free(&set->imports);
	free(set->patchers);
}

int gt_patch_modules(struct gt_patch_part *parts, uint32_t count, const struct gt_patch_code *code,
		     const struct gt_patch_options *options, struct gt_diag *diag)
{
	struct gt_patch_set set = {
		.patchers = calloc(count + 1, sizeof(*set.patchers)),
		.count = count,
		.code = code,
	};
	int error;

	for (uint32_t i = 0; i < count; i++)
		parts[i].result = (struct gt_patch_result){0};
	for (uint32_t i = 0; set.patchers && i < count; i++)
		set.patchers[i] = (struct gt_patcher){
			.set = &set,
			.index = i,
			.module = parts[i].module,
			.options = options,
			.result = &parts[i].result,
			.diag = diag,
		};
	error = set.patchers ? check_options(options, diag) : -ENOMEM;
	if (!error && count)
		error = patch(&set);
	if (set.patchers)
		close_set(&set);
	return error == -ENOMEM ? gt_patch_fail_memory(diag) : error;
}

int gt_patch_module(const struct gt_ptx_module *module, const struct gt_patch_options *options,
		    struct gt_patch_result *ret_result, struct gt_diag *diag)
{
	/* It is read alone. */
	struct gt_patch_part part = {.module = (struct gt_ptx_module *)module};
	int error = gt_patch_modules(&part, 1, NULL, options, diag);

	*ret_result = part.result;
	return error;
}
