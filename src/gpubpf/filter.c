/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "gpubpf/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "gpubpf/helpers.h"

/* Words of the map's value. */
enum {
	PERIOD = 0,
	TERMS = 1, /* two words each */
};

/*
 * Registers of GPUs have 32 bits: in fields of this size, and in the counts of sampling, all that
 * can be is computed in 32 bits.
 */
static bool is_narrow(const struct gt_bpf_filter_term *term)
{
	return term->field->size != 8;
}

/* The maximum value of a term's field: terms are intervals modulo this + 1. */
static uint64_t max_value(const struct gt_bpf_filter_term *term)
{
	return is_narrow(term) ? UINT32_MAX : UINT64_MAX;
}

static uint32_t first_slot(const struct gt_bpf_filter *filter)
{
	return TERMS + 2 * filter->term_count;
}

/* ---- conditions ------------------------------------------------------------------------ */

/* The names of CUDA's built-in variables for fields of contexts. */
static const struct {
	const char *cuda, *field;
} cuda_names[] = {
	{"threadIdx.", "thread_"},
	{"blockIdx.", "block_"},
	{"blockDim.", "block_size_"},
	{"gridDim.", "grid_size_"},
};

/* "blockIdx.x" becomes "block_x", "arguments[2]" becomes "arguments" with index 2. */
static int parse_name(const char *text, char *name, size_t size, uint32_t *ret_index)
{
	const char *bracket = strchr(text, '[');
	size_t length = bracket ? (size_t)(bracket - text) : strlen(text);
	const char *prefix = "";
	char *end;

	*ret_index = 0;
	if (bracket) {
		unsigned long index = strtoul(bracket + 1, &end, 10);

		if (end == bracket + 1 || strcmp(end, "]") != 0 || index >= GT_CONTEXT_ARGUMENTS)
			return -EINVAL;
		*ret_index = (uint32_t)index;
	}
	for (size_t i = 0; i < gt_countof(cuda_names); i++) {
		size_t same = strlen(cuda_names[i].cuda);

		if (strncmp(text, cuda_names[i].cuda, same) != 0)
			continue;
		prefix = cuda_names[i].field;
		text += same;
		length -= same;
		break;
	}
	return (size_t)snprintf(name, size, "%s%.*s", prefix, (int)length, text) < size ? 0
											: -EINVAL;
}

static const struct gt_context_field *find_field(const char *name, const struct gt_section *section)
{
	const struct gt_context_field *found = NULL;

	for (const struct gt_context_field *field = gt_context_fields; field->name; field++)
		if (!strcmp(field->name, name) && (!found || field->kinds >> section->kind & 1))
			found = field;
	return found;
}

static int reject_field(const char *name, const struct gt_section *section,
			const struct gt_context_field *field, struct gt_diag *diag)
{
	const char *kind = gt_section_row(section->kind)->name;

	if (!field)
		return gt_diag(
			diag, -EINVAL, "when", NULL,
			"unknown field '%s' (such as blockIdx.x, threadIdx.x, lane, warp, sm, "
			"line, arguments[0]; include/gputap/bpf.h lists them)",
			name);
	if (!(field->kinds >> section->kind & 1))
		return gt_diag(diag, -EINVAL, "when", NULL, "programs of gpu/%s have no field '%s'",
			       kind, name);
	return gt_diag(diag, -EINVAL, "when", NULL,
		       "field '%s' differs between threads, but programs of '%s' run once per %s",
		       name, section->text, gt_level_name(section->level));
}

static int find_term(const char *text, const struct gt_section *section,
		     struct gt_bpf_filter_term *term, struct gt_diag *diag)
{
	char name[64];

	if (parse_name(text, name, sizeof(name), &term->index))
		return reject_field(text, section, NULL, diag);
	term->field = find_field(name, section);
	if (!term->field || !(term->field->kinds >> section->kind & 1) ||
	    !(term->field->levels >> section->level & 1))
		return reject_field(text, section, term->field, diag);
	if (term->index >= term->field->count || (strchr(text, '[') && term->field->count == 1))
		return reject_field(text, section, NULL, diag);
	return 0;
}

/* The values for which a comparison holds, as an interval. False: there is none. */
static bool set_interval(enum gt_comparison_operator compare, uint64_t value,
			 struct gt_bpf_filter_term *term)
{
	uint64_t max = max_value(term), base = 0, end = max; /* inclusive */

	term->base = 0;
	term->span = max;
	if (value > max)
		return compare == GT_LESS || compare == GT_LESS_OR_EQUAL || compare == GT_NOT_EQUAL;
	switch (compare) {
	case GT_LESS:
		end = value - 1;
		break;
	case GT_LESS_OR_EQUAL:
		end = value;
		break;
	case GT_EQUAL:
		base = end = value;
		break;
	case GT_NOT_EQUAL:
		base = value + 1;
		end = value - 1;
		break;
	case GT_GREATER_OR_EQUAL:
		base = value;
		break;
	case GT_GREATER:
		base = value + 1;
		break;
	}
	term->base = base & max;
	term->span = (end - base) & max;
	return !(compare == GT_LESS && !value) && !(compare == GT_GREATER && value == max);
}

static int read_term(const struct gt_comparison *comparison, const struct gt_section *section,
		     struct gt_bpf_filter_term *term, struct gt_diag *diag)
{
	uint64_t value;
	int error = find_term(comparison->field, section, term, diag);

	if (error)
		return error;
	if (gt_parse_u64(comparison->value, &value))
		return gt_diag(diag, -EINVAL, "when", NULL,
			       "invalid value '%s' for %s (an unsigned integer)", comparison->value,
			       comparison->field);
	if (!set_interval(comparison->compare, value, term))
		return gt_diag(diag, -EINVAL, "when", NULL, "no value of %s fulfills the condition",
			       comparison->field);
	return 0;
}

int gt_bpf_filter_parse(const char *text, const struct gt_section *section,
			struct gt_bpf_filter *filter, struct gt_diag *diag)
{
	gt_auto_comparisons comparisons = {0};
	struct gt_bpf_filter_term terms[GT_BPF_FILTER_MAX_TERMS] = {0};
	int error = gt_comparisons_parse(text, GT_BPF_FILTER_MAX_TERMS, "blockIdx.x==0",
					 &comparisons, diag);

	for (uint32_t i = 0; i < comparisons.count && !error; i++)
		error = read_term(&comparisons.items[i], section, &terms[i], diag);
	if (error)
		return error;
	memcpy(filter->terms, terms, sizeof(terms));
	filter->term_count = comparisons.count;
	return 0;
}

int gt_bpf_filter_parse_period(const char *text, uint32_t *ret_period)
{
	uint64_t period;

	if (!strncmp(text, "1/", 2))
		text += 2;
	if (gt_parse_u64(text, &period) || !period || period > UINT32_MAX)
		return -EINVAL;
	*ret_period = (uint32_t)period;
	return 0;
}

static void print_term(const struct gt_bpf_filter_term *term, struct gt_strbuf *text)
{
	uint64_t max = max_value(term), end = (term->base + term->span) & max;

	gt_strbuf_puts(text, term->field->name);
	if (term->field->count > 1)
		gt_strbuf_printf(text, "[%u]", term->index);
	if (!term->span)
		gt_strbuf_printf(text, " == %" PRIu64, term->base);
	else if (((end + 2) & max) == term->base)
		gt_strbuf_printf(text, " != %" PRIu64, (term->base - 1) & max);
	else if (end == max)
		gt_strbuf_printf(text, " >= %" PRIu64, term->base);
	else
		gt_strbuf_printf(text, " <= %" PRIu64, end);
}

void gt_bpf_filter_print(const struct gt_bpf_filter *filter, struct gt_strbuf *text)
{
	for (uint32_t i = 0; i < filter->term_count; i++) {
		if (i)
			gt_strbuf_puts(text, " && ");
		print_term(&filter->terms[i], text);
	}
}

/* ---- instructions ---------------------------------------------------------------------- */

enum {
	/* A map's address, then 6 instructions for each term, and those of sampling. */
	MAX_PROLOGUE = 64 + 6 * GT_BPF_FILTER_MAX_TERMS,
};

/* The instructions before a program, and the jumps that end it. */
struct filter_prologue {
	struct bpf_insn insns[MAX_PROLOGUE];
	uint32_t count;
	uint32_t ends[GT_BPF_FILTER_MAX_TERMS + 1];
	uint32_t end_count;
};

static uint32_t add_insn(struct filter_prologue *prologue, struct bpf_insn insn)
{
	prologue->insns[prologue->count] = insn;
	return prologue->count++;
}

/* operation: with its class, BPF_ALU64, or BPF_ALU for 32 bits. */
static void add_immediate(struct filter_prologue *prologue, unsigned operation, unsigned to,
			  int32_t value)
{
	add_insn(prologue, (struct bpf_insn){.code = (uint8_t)(operation | BPF_K),
					     .dst_reg = to & 15,
					     .imm = value});
}

static void add_register(struct filter_prologue *prologue, unsigned operation, unsigned to,
			 unsigned from)
{
	add_insn(prologue, (struct bpf_insn){.code = (uint8_t)(operation | BPF_X),
					     .dst_reg = to & 15,
					     .src_reg = from & 15});
}

static void add_load(struct filter_prologue *prologue, unsigned size, unsigned to, unsigned from,
		     uint32_t offset)
{
	add_insn(prologue, (struct bpf_insn){.code = (uint8_t)(BPF_LDX | BPF_MEM | size),
					     .dst_reg = to & 15,
					     .src_reg = from & 15,
					     .off = (int16_t)offset});
}

static void add_map_address(struct filter_prologue *prologue, unsigned to, uint32_t map)
{
	add_insn(prologue, (struct bpf_insn){.code = BPF_LD | BPF_IMM | BPF_DW,
					     .dst_reg = to & 15,
					     .src_reg = GT_BPF_IMM_MAP_INDEX_VALUE,
					     .imm = (int32_t)map});
	add_insn(prologue, (struct bpf_insn){0});
}

/* The same: BPF_JMP or BPF_JMP32. */
static uint32_t add_jump(struct filter_prologue *prologue, unsigned operation, unsigned left,
			 unsigned right)
{
	return add_insn(prologue, (struct bpf_insn){.code = (uint8_t)(operation | BPF_X),
						    .dst_reg = left & 15,
						    .src_reg = right & 15});
}

/* The jump's target is the next instruction. */
static void land_jump(struct filter_prologue *prologue, uint32_t jump)
{
	prologue->insns[jump].off = (int16_t)(prologue->count - jump - 1);
}

/* r1: the context, r2: the map's value. */
static void add_narrow_term(struct filter_prologue *prologue, const struct gt_bpf_filter_term *term,
			    uint32_t word)
{
	add_load(prologue, BPF_W, 3, 1, term->field->offset + term->index * term->field->size);
	add_load(prologue, BPF_DW, 4, 2, word * 8);
	add_register(prologue, BPF_ALU64 | BPF_MOV, 5, 4);
	add_immediate(prologue, BPF_ALU64 | BPF_RSH, 5, 32);
	add_register(prologue, BPF_ALU | BPF_SUB, 3, 4);
	prologue->ends[prologue->end_count++] = add_jump(prologue, BPF_JMP32 | BPF_JGT, 3, 5);
}

static void add_wide_term(struct filter_prologue *prologue, const struct gt_bpf_filter_term *term,
			  uint32_t word)
{
	add_load(prologue, BPF_DW, 3, 1, term->field->offset + term->index * term->field->size);
	add_load(prologue, BPF_DW, 4, 2, word * 8);
	add_load(prologue, BPF_DW, 5, 2, word * 8 + 8);
	add_register(prologue, BPF_ALU64 | BPF_SUB, 3, 4);
	prologue->ends[prologue->end_count++] = add_jump(prologue, BPF_JMP | BPF_JGT, 3, 5);
}

static void add_term(struct filter_prologue *prologue, const struct gt_bpf_filter_term *term,
		     uint32_t word)
{
	if (is_narrow(term))
		add_narrow_term(prologue, term, word);
	else
		add_wide_term(prologue, term, word);
}

static int32_t slot_helper(const struct gt_section *section)
{
	switch (section->level) {
	case GT_LEVEL_WARP:
		return GT_HELPER_flat_warp_id;
	case GT_LEVEL_BLOCK:
		return GT_HELPER_flat_block_id;
	default:
		return GT_HELPER_flat_thread_id;
	}
}

/* r2 = the address of the slot, r3 = its word, r4 = the period; r6 keeps the context. */
static void add_slot(struct filter_prologue *prologue, const struct gt_bpf_filter *filter,
		     const struct gt_section *section)
{
	add_register(prologue, BPF_ALU64 | BPF_MOV, 6, 1);
	add_insn(prologue,
		 (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = slot_helper(section)});
	add_map_address(prologue, 2, filter->map);
	add_load(prologue, BPF_W, 4, 2, PERIOD * 8);
	add_immediate(prologue, BPF_ALU64 | BPF_AND, 0, (int32_t)(filter->slots - 1));
	add_immediate(prologue, BPF_ALU64 | BPF_LSH, 0, 3);
	add_register(prologue, BPF_ALU64 | BPF_ADD, 2, 0);
	add_load(prologue, BPF_DW, 3, 2, first_slot(filter) * 8);
}

static void add_sampling(struct filter_prologue *prologue, const struct gt_bpf_filter *filter,
			 const struct gt_section *section)
{
	uint32_t jump;

	add_slot(prologue, filter, section);
	/* r5 = runs since one passed, r0 = the next number of these. */
	add_register(prologue, BPF_ALU | BPF_MOV, 5, 3);
	add_register(prologue, BPF_ALU | BPF_MOV, 0, 5);
	add_immediate(prologue, BPF_ALU | BPF_ADD, 0, 1);
	jump = add_jump(prologue, BPF_JMP32 | BPF_JLT, 0, 4);
	add_immediate(prologue, BPF_ALU64 | BPF_MOV, 0, 0);
	land_jump(prologue, jump);
	/* Count this run unless it passes. */
	add_immediate(prologue, BPF_ALU64 | BPF_RSH, 3, 32);
	jump = add_insn(prologue,
			(struct bpf_insn){.code = BPF_JMP32 | BPF_JEQ | BPF_K, .dst_reg = 5});
	add_immediate(prologue, BPF_ALU | BPF_ADD, 3, 1);
	land_jump(prologue, jump);
	add_immediate(prologue, BPF_ALU64 | BPF_LSH, 3, 32);
	add_register(prologue, BPF_ALU64 | BPF_OR, 3, 0);
	add_insn(prologue, (struct bpf_insn){.code = BPF_STX | BPF_MEM | BPF_DW,
					     .dst_reg = 2,
					     .src_reg = 3,
					     .off = (int16_t)(first_slot(filter) * 8)});
	prologue->ends[prologue->end_count++] = add_insn(
		prologue, (struct bpf_insn){.code = BPF_JMP32 | BPF_JNE | BPF_K, .dst_reg = 5});
	add_register(prologue, BPF_ALU64 | BPF_MOV, 1, 6);
}

static void make_prologue(const struct gt_bpf_filter *filter, const struct gt_section *section,
			  struct filter_prologue *prologue)
{
	uint32_t over;

	if (filter->term_count)
		add_map_address(prologue, 2, filter->map);
	for (uint32_t i = 0; i < filter->term_count; i++)
		add_term(prologue, &filter->terms[i], TERMS + 2 * i);
	if (filter->period)
		add_sampling(prologue, filter, section);
	over = add_insn(prologue, (struct bpf_insn){.code = BPF_JMP | BPF_JA});
	for (uint32_t i = 0; i < prologue->end_count; i++)
		land_jump(prologue, prologue->ends[i]);
	add_immediate(prologue, BPF_ALU64 | BPF_MOV, 0, 0);
	add_insn(prologue, (struct bpf_insn){.code = BPF_JMP | BPF_EXIT});
	land_jump(prologue, over);
}

/* ---- insertion ------------------------------------------------------------------------- */

static uint32_t slots_for(uint32_t threads, const struct gt_section *section)
{
	uint32_t slots = 1;

	if (section->level == GT_LEVEL_WARP)
		threads = threads / 32 + 1;
	while (slots < threads && slots < GT_BPF_FILTER_MAX_SLOTS)
		slots *= 2;
	return slots;
}

static int add_map(struct gt_bpf_object *object, struct gt_bpf_filter *filter,
		   const struct gt_bpf_program *program)
{
	struct gt_bpf_map *maps =
		realloc(object->maps, (object->map_count + 1u) * sizeof(*object->maps));
	struct gt_bpf_map *map;

	if (!maps)
		return -ENOMEM;
	object->maps = maps;
	map = &maps[object->map_count];
	*map = (struct gt_bpf_map){
		.type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = (first_slot(filter) + filter->slots) * 8,
		.max_entries = 1,
		.flags = BPF_F_MMAPABLE,
		.internal = true,
	};
	snprintf(map->name, sizeof(map->name), "filter of %.40s",
		 program->name ? program->name : "");
	filter->map = object->map_count++;
	map->initial = calloc(map->value_size, 1);
	if (!map->initial)
		return -ENOMEM;
	gt_bpf_filter_write(filter, map->initial);
	return 0;
}

static int prepend_insns(struct gt_bpf_program *program, const struct filter_prologue *prologue)
{
	uint32_t count = program->count + prologue->count;
	struct bpf_insn *insns = calloc(count, sizeof(*insns));

	if (!insns)
		return -ENOMEM;
	memcpy(insns, prologue->insns, prologue->count * sizeof(*insns));
	memcpy(insns + prologue->count, program->insns, program->count * sizeof(*insns));
	free(program->insns);
	program->insns = insns;
	program->count = count;
	for (uint32_t i = 0; i < program->line_count; i++)
		program->lines[i].insn += prologue->count;
	return 0;
}

int gt_bpf_filter_insert(struct gt_bpf_object *object, struct gt_bpf_program *program,
			 const struct gt_section *section, uint32_t threads,
			 struct gt_bpf_filter *filter, struct gt_diag *diag)
{
	struct filter_prologue prologue = {0};
	int error;

	if (program->count > GT_BPF_MAX_INSNS - MAX_PROLOGUE)
		return gt_diag(diag, -E2BIG, "when", NULL, "the program is too large for a filter");
	filter->slots = filter->period ? slots_for(threads, section) : 0;
	error = add_map(object, filter, program);
	if (!error) {
		make_prologue(filter, section, &prologue);
		error = prepend_insns(program, &prologue);
	}
	return error ? gt_diag(diag, error, "when", NULL, "out of memory") : 0;
}

/* ---- parameters ------------------------------------------------------------------------ */

static void write_word(void *memory, uint32_t word, uint64_t value)
{
	__atomic_store_n((uint64_t *)memory + word, value, __ATOMIC_RELAXED);
}

static void write_term(const struct gt_bpf_filter_term *term, void *memory, uint32_t word)
{
	if (is_narrow(term)) {
		write_word(memory, word, term->base | term->span << 32);
		return;
	}
	write_word(memory, word, term->base);
	write_word(memory, word + 1, term->span);
}

void gt_bpf_filter_write(const struct gt_bpf_filter *filter, void *memory)
{
	write_word(memory, PERIOD, filter->period);
	for (uint32_t i = 0; i < filter->term_count; i++)
		write_term(&filter->terms[i], memory, TERMS + 2 * i);
}

/* Find a term on the same field that is not in `used`; UINT32_MAX: none. */
static uint32_t find_free_term(const struct gt_bpf_filter *filter,
			       const struct gt_bpf_filter_term *wanted, uint32_t used)
{
	for (uint32_t i = 0; i < filter->term_count; i++)
		if (filter->terms[i].field == wanted->field &&
		    filter->terms[i].index == wanted->index && !(used >> i & 1))
			return i;
	return UINT32_MAX;
}

static int change_terms(struct gt_bpf_filter *changed, const struct gt_bpf_filter *wanted,
			struct gt_diag *diag)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < changed->term_count; i++) {
		changed->terms[i].base = 0;
		changed->terms[i].span = max_value(&changed->terms[i]);
	}
	for (uint32_t i = 0; i < wanted->term_count; i++) {
		uint32_t at = find_free_term(changed, &wanted->terms[i], used);

		if (at == UINT32_MAX)
			return gt_diag(diag, -EINVAL, "when", NULL,
				       "it was started with fewer comparisons of '%s' in --when",
				       wanted->terms[i].field->name);
		used |= 1u << at;
		changed->terms[at] = wanted->terms[i];
	}
	return 0;
}

int gt_bpf_filter_change(struct gt_bpf_filter *inserted, const struct gt_bpf_filter *wanted,
			 bool has_terms, void *memory, struct gt_diag *diag)
{
	struct gt_bpf_filter changed = *inserted;
	int error = has_terms ? change_terms(&changed, wanted, diag) : 0;

	if (error)
		return error;
	if (wanted->period && !inserted->period)
		return gt_diag(diag, -EINVAL, "when", NULL, "it was started without --sample");
	if (wanted->period)
		changed.period = wanted->period;
	*inserted = changed;
	gt_bpf_filter_write(inserted, memory);
	return 0;
}

size_t gt_bpf_filter_parameter_bytes(const struct gt_bpf_filter *filter)
{
	return first_slot(filter) * sizeof(uint64_t);
}

uint64_t gt_bpf_filter_skipped(const struct gt_bpf_filter *filter, const void *memory)
{
	const uint64_t *words = memory;
	uint64_t skipped = 0;

	for (uint32_t i = 0; i < filter->slots; i++)
		skipped += __atomic_load_n(&words[first_slot(filter) + i], __ATOMIC_RELAXED) >> 32;
	return skipped;
}
