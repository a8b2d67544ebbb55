/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/layout.h"

/* Structures of more words than this are copied up to there. */
#define MAX_INPUT_WORDS 31
/* Structures that a call fills in are copied if they have at most this many words. */
#define MAX_OUTPUT_WORDS 16

struct convention {
	unsigned registers;
	bool big_by_reference;   /* a structure over 16 bytes is passed as a pointer to it */
	bool registers_end;      /* once a structure found no room, no later argument gets any */
	bool result_in_argument; /* a big result takes the first argument register */
};

static const struct convention conventions[GT_MACHINES] = {
	[GT_MACHINE_X86_64] = {.registers = 6, .result_in_argument = true},
	[GT_MACHINE_AARCH64] = {.registers = 8, .big_by_reference = true, .registers_end = true},
};

struct state {
	const struct convention *convention;
	unsigned registers; /* taken so far */
	unsigned last;      /* one past the highest one taken */
	unsigned stack;     /* words taken so far */
};

static unsigned words_of(unsigned bytes)
{
	return (bytes + 7) / 8;
}

/* Stack words get slots from GT_PLAN_MAX_SLOTS up: how many registers there are shows later. */
static void place(struct state *state, const struct gt_api_type *type, struct gt_api_place *where)
{
	unsigned words = gt_api_is_struct(type) ? words_of(type->size) : 1;
	bool big = gt_api_is_struct(type) && type->size > 16;

	*where = (struct gt_api_place){GT_LAYOUT_NONE, 0, GT_LAYOUT_NONE, false};
	if (type->kind == GT_KIND_FLOAT)
		return;
	if (big && state->convention->big_by_reference) {
		where->reference = true;
		words = 1;
		big = false;
	}
	if (!big && state->registers + words <= state->convention->registers) {
		where->slot = (int8_t)state->registers;
		where->slots = (uint8_t)words;
		state->registers += words;
		state->last = state->registers;
		return;
	}
	if (!big && state->convention->registers_end)
		state->registers = state->convention->registers;
	if (state->stack < GT_PLAN_MAX_STACK) {
		unsigned room = GT_PLAN_MAX_STACK - state->stack;

		where->slot = (int8_t)(GT_PLAN_MAX_SLOTS + state->stack);
		where->slots = (uint8_t)(words < room ? words : room);
	}
	state->stack += words;
}

static void settle_stack(const struct state *state, struct gt_api_layout *layout, unsigned count)
{
	unsigned stack = state->stack < GT_PLAN_MAX_STACK ? state->stack : GT_PLAN_MAX_STACK;

	if (state->last + stack > GT_PLAN_MAX_SLOTS)
		stack = GT_PLAN_MAX_SLOTS - state->last;
	layout->plan.registers = (__u8)state->last;
	layout->plan.stack = (__u8)stack;
	for (unsigned i = 0; i < count; i++) {
		struct gt_api_place *where = &layout->places[i];
		unsigned word = (unsigned)where->slot - GT_PLAN_MAX_SLOTS;

		if (where->slot < GT_PLAN_MAX_SLOTS)
			continue;
		if (word >= stack) {
			where->slot = GT_LAYOUT_NONE;
			where->slots = 0;
			continue;
		}
		where->slot = (int8_t)(state->last + word);
		if (where->slots > stack - word)
			where->slots = (uint8_t)(stack - word);
	}
}

/* Copies as they are chosen, the most useful first, and the argument that each is behind. */
struct choice {
	struct gt_plan_copy copy;
	unsigned argument;
};

struct choices {
	struct choice items[GT_PLAN_MAX_COPIES];
	unsigned count;
	unsigned words;
};

static void choose(struct choices *choices, const struct gt_api_layout *layout, unsigned argument,
		   enum gt_plan_when when, unsigned bytes)
{
	const struct gt_api_place *where = &layout->places[argument];
	unsigned most = when == GT_COPY_AT_ENTRY ? MAX_INPUT_WORDS : MAX_OUTPUT_WORDS;
	unsigned room = GT_PLAN_MAX_COPIED - choices->words;

	if (where->slot == GT_LAYOUT_NONE || choices->count == GT_PLAN_MAX_COPIES)
		return;
	if (most > room)
		most = room;
	if (words_of(bytes) > most) {
		if (when == GT_COPY_AT_SUCCESS)
			return;
		bytes = most * 8;
	}
	if (!bytes)
		return;
	choices->items[choices->count++] = (struct choice){
		{.slot = (__u8)where->slot, .when = (__u8)when, .bytes = (__u16)bytes}, argument};
	choices->words += words_of(bytes);
}

/* Single results before structures, since handles and addresses are what calls are told by. */
static void choose_copies(const struct gt_api_function *function, struct choices *choices,
			  const struct gt_api_layout *layout)
{
	const struct gt_api_argument *arguments = function->arguments;

	for (unsigned i = 0; i < function->argument_count; i++)
		if (layout->places[i].reference)
			choose(choices, layout, i, GT_COPY_AT_ENTRY, arguments[i].type->size);
	for (unsigned i = 0; i < function->argument_count; i++)
		if (arguments[i].role == GT_ROLE_OUT && arguments[i].type->target->size <= 8)
			choose(choices, layout, i, GT_COPY_AT_SUCCESS,
			       arguments[i].type->target->size);
	for (unsigned i = 0; i < function->argument_count; i++)
		if (arguments[i].role == GT_ROLE_STRUCT)
			choose(choices, layout, i, GT_COPY_AT_ENTRY,
			       arguments[i].type->target->size);
	for (unsigned i = 0; i < function->argument_count; i++)
		if (arguments[i].role == GT_ROLE_SIZES)
			choose(choices, layout, i, GT_COPY_AT_ENTRY, GT_API_MAX_SIZES * 8);
	for (unsigned i = 0; i < function->argument_count; i++)
		if (arguments[i].role == GT_ROLE_OUT && arguments[i].type->target->size > 8)
			choose(choices, layout, i, GT_COPY_AT_SUCCESS,
			       arguments[i].type->target->size);
}

static void add_copy(struct gt_api_layout *layout, unsigned argument, struct gt_plan_copy copy)
{
	layout->places[argument].copy = (int8_t)layout->plan.copies;
	layout->plan.copy[layout->plan.copies++] = copy;
}

static void plan_copies(const struct choices *choices, enum gt_plan_when when,
			struct gt_api_layout *layout)
{
	for (unsigned i = 0; i < choices->count; i++)
		if (choices->items[i].copy.when == when)
			add_copy(layout, choices->items[i].argument, choices->items[i].copy);
}

/* What becomes an event of its own takes no words of the record, and has room left for it. */
static void plan_events(const struct gt_api_function *function, struct gt_api_layout *layout)
{
	for (unsigned i = 0; i < function->argument_count; i++) {
		enum gt_api_role role = function->arguments[i].role;
		struct gt_plan_copy copy = {.slot = (__u8)layout->places[i].slot};

		if (layout->places[i].slot == GT_LAYOUT_NONE ||
		    layout->plan.copies == GT_PLAN_MAX_COPIES)
			continue;
		if (role == GT_ROLE_KERNEL_NAME || role == GT_ROLE_TEXT)
			copy.when = GT_COPY_STRING;
		else if (role == GT_ROLE_ARGUMENTS)
			copy.when = GT_COPY_ARGUMENTS;
		else
			continue;
		add_copy(layout, i, copy);
		layout->plan.apart++;
	}
}

void gt_api_lay_out(const struct gt_api_function *function, enum gt_machine machine,
		    struct gt_api_layout *ret_layout)
{
	struct state state = {.convention = &conventions[machine]};
	struct gt_api_layout layout = {0};
	struct choices choices = {0};

	if (state.convention->result_in_argument && gt_api_is_struct(function->result) &&
	    function->result->size > 16)
		state.registers = state.last = 1;
	for (unsigned i = 0; i < function->argument_count; i++)
		place(&state, function->arguments[i].type, &layout.places[i]);
	settle_stack(&state, &layout, function->argument_count);
	layout.plan.error_result = function->result->kind == GT_KIND_ERRORS;
	choose_copies(function, &choices, &layout);
	plan_copies(&choices, GT_COPY_AT_ENTRY, &layout);
	plan_copies(&choices, GT_COPY_AT_SUCCESS, &layout);
	plan_events(function, &layout);
	*ret_layout = layout;
}

void gt_api_plan(const struct gt_api_function *function, struct gt_plan *ret_plan)
{
	struct gt_api_layout layout;

	gt_api_lay_out(function, GT_MACHINE_HERE, &layout);
	gt_api_plan_told(function, &layout);
	layout.plan.pending = gt_api_pending(function);
	*ret_plan = layout.plan;
}
