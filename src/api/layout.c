/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/layout.h"

#include <string.h>

#include "api/call.h"

/* Structures of more words than this are copied up to there. */
#define MAX_INPUT_WORDS 31
/* Structures that a call fills in are copied if they have at most this many words. */
#define MAX_OUTPUT_WORDS 16

struct calling_convention {
	unsigned registers;
	bool big_by_reference; /* a structure over 16 bytes is passed as a pointer to it */
	bool registers_end;    /* once a structure did not fit, no later argument uses registers */
	bool result_in_argument; /* a big result takes the first argument register */
};

static const struct calling_convention conventions[GT_MACHINES] = {
	[GT_MACHINE_X86_64] = {.registers = 6, .result_in_argument = true},
	[GT_MACHINE_AARCH64] = {.registers = 8, .big_by_reference = true, .registers_end = true},
};

struct slot_assignment {
	const struct calling_convention *convention;
	unsigned registers; /* taken so far */
	unsigned last;      /* one past the highest one taken */
	unsigned stack;     /* words taken so far */
};

static unsigned words_of(unsigned bytes)
{
	return (bytes + 7) / 8;
}

/* Stack words get slots from GT_PLAN_MAX_SLOTS up: how many registers there are shows later. */
static void assign_slots(struct slot_assignment *assignment, const struct gt_api_type *type,
			 struct gt_api_location *location)
{
	unsigned words = gt_api_is_struct(type) ? words_of(type->size) : 1;
	bool big = gt_api_is_struct(type) && type->size > 16;

	*location = (struct gt_api_location){GT_LAYOUT_NONE, 0, GT_LAYOUT_NONE, false};
	if (type->kind == GT_KIND_FLOAT)
		return;
	if (big && assignment->convention->big_by_reference) {
		location->reference = true;
		words = 1;
		big = false;
	}
	if (!big && assignment->registers + words <= assignment->convention->registers) {
		location->slot = (int8_t)assignment->registers;
		location->slots = (uint8_t)words;
		assignment->registers += words;
		assignment->last = assignment->registers;
		return;
	}
	if (!big && assignment->convention->registers_end)
		assignment->registers = assignment->convention->registers;
	if (assignment->stack < GT_PLAN_MAX_STACK) {
		unsigned room = GT_PLAN_MAX_STACK - assignment->stack;

		location->slot = (int8_t)(GT_PLAN_MAX_SLOTS + assignment->stack);
		location->slots = (uint8_t)(words < room ? words : room);
	}
	assignment->stack += words;
}

static void settle_stack(const struct slot_assignment *assignment, struct gt_api_layout *layout,
			 unsigned count)
{
	unsigned stack =
		assignment->stack < GT_PLAN_MAX_STACK ? assignment->stack : GT_PLAN_MAX_STACK;

	if (assignment->last + stack > GT_PLAN_MAX_SLOTS)
		stack = GT_PLAN_MAX_SLOTS - assignment->last;
	layout->plan.registers = (__u8)assignment->last;
	layout->plan.stack = (__u8)stack;
	for (unsigned i = 0; i < count; i++) {
		struct gt_api_location *location = &layout->locations[i];
		unsigned word = (unsigned)location->slot - GT_PLAN_MAX_SLOTS;

		if (location->slot < GT_PLAN_MAX_SLOTS)
			continue;
		if (word >= stack) {
			location->slot = GT_LAYOUT_NONE;
			location->slots = 0;
			continue;
		}
		location->slot = (int8_t)(assignment->last + word);
		if (location->slots > stack - word)
			location->slots = (uint8_t)(stack - word);
	}
}

/* Copies as they are chosen, the most useful first, and the argument that each is behind. */
struct copy_choice {
	struct gt_plan_copy copy;
	unsigned argument;
};

struct copy_choices {
	struct copy_choice items[GT_PLAN_MAX_COPIES];
	unsigned count;
	unsigned words;
};

static unsigned argument_slot(const struct gt_api_layout *layout, int argument)
{
	return argument < 0 || layout->locations[argument].slot == GT_LAYOUT_NONE
		       ? 0
		       : (unsigned)layout->locations[argument].slot + 1;
}

/* The argument that has the number of elements of an array, or -1: it has as many as its type. */
int gt_api_count_argument(const struct gt_api_function *function, unsigned argument)
{
	enum gt_api_role role = function->arguments[argument].role;
	const struct gt_api_type *type = function->arguments[argument].type->target;

	if (role == GT_ROLE_LIST || role == GT_ROLE_VALUE)
		return (int)argument - 1;
	if (role != GT_ROLE_STRUCT || !type || type->kind != GT_KIND_DIMENSIONS)
		return -1;
	for (unsigned i = 0; i < argument; i++)
		if (!strcmp(function->arguments[i].name, "work_dim"))
			return (int)i;
	return -1;
}

static unsigned element_bytes(const struct gt_api_argument *argument)
{
	return argument->role == GT_ROLE_VALUE  ? 1
	       : argument->role == GT_ROLE_LIST ? 8
						: argument->type->target->fields[0].type->size;
}

static void choose_copy(struct copy_choices *choices, const struct gt_api_layout *layout,
			unsigned argument, enum gt_plan_when when, unsigned bytes)
{
	const struct gt_api_location *location = &layout->locations[argument];
	unsigned most = when == GT_COPY_AT_ENTRY ? MAX_INPUT_WORDS : MAX_OUTPUT_WORDS;
	unsigned room = GT_PLAN_MAX_COPIED - choices->words;
	int count;

	if (location->slot == GT_LAYOUT_NONE || choices->count == GT_PLAN_MAX_COPIES)
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
	count = gt_api_count_argument(layout->function, argument);
	choices->items[choices->count++] = (struct copy_choice){
		{.slot = (__u8)location->slot,
		 .when = (__u8)when,
		 .bytes = (__u16)bytes,
		 .count = (__u8)argument_slot(layout, count),
		 .element = count < 0
				    ? 0
				    : (__u8)element_bytes(&layout->function->arguments[argument])},
		argument};
	choices->words += words_of(bytes);
}

/* Scalar outputs before structures: handles and addresses identify what a call created. */
static void choose_copies(const struct gt_api_function *function, struct copy_choices *choices,
			  const struct gt_api_layout *layout)
{
	const struct gt_api_argument *arguments = function->arguments;

	for (unsigned i = 0; i < function->argument_count; i++)
		if (layout->locations[i].reference)
			choose_copy(choices, layout, i, GT_COPY_AT_ENTRY, arguments[i].type->size);
	for (unsigned i = 0; i < function->argument_count; i++)
		if (arguments[i].role == GT_ROLE_OUT && arguments[i].type->target->size <= 8)
			choose_copy(choices, layout, i, GT_COPY_AT_SUCCESS,
				    arguments[i].type->target->size);
	for (unsigned i = 0; i < function->argument_count; i++)
		if (arguments[i].role == GT_ROLE_STRUCT)
			choose_copy(choices, layout, i, GT_COPY_AT_ENTRY,
				    arguments[i].type->target->size);
	for (unsigned i = 0; i < function->argument_count; i++)
		if (arguments[i].role == GT_ROLE_VALUE)
			choose_copy(choices, layout, i, GT_COPY_AT_ENTRY, 8);
	for (unsigned i = 0; i < function->argument_count; i++)
		if (arguments[i].role == GT_ROLE_LIST)
			choose_copy(choices, layout, i, GT_COPY_AT_ENTRY, GT_API_MAX_LIST * 8);
	for (unsigned i = 0; i < function->argument_count; i++)
		if (arguments[i].role == GT_ROLE_SIZES)
			choose_copy(choices, layout, i, GT_COPY_AT_ENTRY, GT_API_MAX_SIZES * 8);
	for (unsigned i = 0; i < function->argument_count; i++)
		if (arguments[i].role == GT_ROLE_OUT && arguments[i].type->target->size > 8)
			choose_copy(choices, layout, i, GT_COPY_AT_SUCCESS,
				    arguments[i].type->target->size);
}

static void add_copy(struct gt_api_layout *layout, unsigned argument, struct gt_plan_copy copy)
{
	layout->locations[argument].copy = (int8_t)layout->plan.copies;
	layout->plan.copy[layout->plan.copies++] = copy;
}

static void plan_copies(const struct copy_choices *choices, enum gt_plan_when when,
			struct gt_api_layout *layout)
{
	for (unsigned i = 0; i < choices->count; i++)
		if (choices->items[i].copy.when == when)
			add_copy(layout, choices->items[i].argument, choices->items[i].copy);
}

/* 1 + the offset of the name in a description of a kernel (ze_kernel_desc_t); 0: a string. */
static __u16 name_field(const struct gt_api_type *type)
{
	for (unsigned i = 0; type && gt_api_is_struct(type) && i < type->count; i++)
		if (strstr(type->fields[i].name, "Name"))
			return (__u16)(type->fields[i].offset + 1);
	return 0;
}

/* How the result says whether a call succeeded. */
static void plan_result(const struct gt_api_function *function, struct gt_api_layout *layout)
{
	int error = gt_api_find_role(function, GT_ROLE_ERROR);

	if (function->result->kind == GT_KIND_ERRORS) {
		layout->plan.result = GT_RESULT_ERROR;
	} else if (error >= 0) {
		layout->plan.result = GT_RESULT_POINTER;
		layout->plan.error = (__u8)argument_slot(layout, error);
	} else if (function->category == GT_CATEGORY_ALLOC &&
		   function->result->kind == GT_KIND_POINTER) {
		layout->plan.result = GT_RESULT_POINTER; /* clSVMAlloc */
	}
}

/* What becomes an event of its own takes no words of the record, and has room left for it. */
static void plan_events(const struct gt_api_function *function, struct gt_api_layout *layout)
{
	for (unsigned i = 0; i < function->argument_count; i++) {
		enum gt_api_role role = function->arguments[i].role;
		struct gt_plan_copy copy = {.slot = (__u8)layout->locations[i].slot};

		if (layout->locations[i].slot == GT_LAYOUT_NONE ||
		    layout->plan.copies == GT_PLAN_MAX_COPIES)
			continue;
		if (role == GT_ROLE_KERNEL_NAME || role == GT_ROLE_TEXT)
			copy.when = GT_COPY_STRING;
		else if (role == GT_ROLE_ARGUMENTS)
			copy.when = GT_COPY_ARGUMENTS;
		else
			continue;
		if (copy.when == GT_COPY_STRING)
			copy.field = name_field(function->arguments[i].type->target);
		add_copy(layout, i, copy);
		layout->plan.apart++;
	}
}

static struct slot_assignment assign_arguments(const struct gt_api_function *function,
					       enum gt_machine machine,
					       struct gt_api_location *locations)
{
	struct slot_assignment assignment = {.convention = &conventions[machine]};

	if (assignment.convention->result_in_argument && gt_api_is_struct(function->result) &&
	    function->result->size > 16)
		assignment.registers = assignment.last = 1;
	for (unsigned i = 0; i < function->argument_count; i++)
		assign_slots(&assignment, function->arguments[i].type, &locations[i]);
	return assignment;
}

unsigned gt_api_stack_words(const struct gt_api_function *function)
{
	struct gt_api_location locations[GT_API_MAX_ARGUMENTS];

	return assign_arguments(function, GT_MACHINE_HERE, locations).stack;
}

void gt_api_lay_out(const struct gt_api_function *function, enum gt_machine machine,
		    struct gt_api_layout *ret_layout)
{
	struct gt_api_layout layout = {.function = function};
	struct slot_assignment assignment = assign_arguments(function, machine, layout.locations);
	struct copy_choices choices = {0};

	settle_stack(&assignment, &layout, function->argument_count);
	plan_result(function, &layout);
	choose_copies(function, &choices, &layout);
	plan_copies(&choices, GT_COPY_AT_ENTRY, &layout);
	plan_copies(&choices, GT_COPY_AT_SUCCESS, &layout);
	plan_events(function, &layout);
	gt_api_plan_effect(function, &layout);
	layout.plan.pending = gt_api_pending(function);
	layout.kernel = (int8_t)gt_api_find_role(function, GT_ROLE_KERNEL);
	layout.kernel_name = (int8_t)gt_api_find_role(function, GT_ROLE_KERNEL_NAME);
	layout.names_kernels = gt_api_names_kernels(function);
	layout.transfer = gt_api_transfer(function);
	layout.setting = gt_api_setting(function);
	layout.sized = gt_api_sized(function);
	layout.blocking = GT_LAYOUT_NONE;
	for (unsigned i = 0; i < function->argument_count; i++)
		if (!strncmp(function->arguments[i].name, "blocking", strlen("blocking")))
			layout.blocking = (int8_t)i;
	*ret_layout = layout;
}

int gt_layout_kernel_name_slot(const struct gt_api_layout *layout)
{
	return layout->kernel_name == GT_LAYOUT_NONE ? -1
						     : layout->locations[layout->kernel_name].slot;
}

int gt_api_find_role(const struct gt_api_function *function, enum gt_api_role role)
{
	for (unsigned i = 0; i < function->argument_count; i++)
		if (function->arguments[i].role == role)
			return (int)i;
	return -1;
}

bool gt_api_names_kernels(const struct gt_api_function *function)
{
	return function->category != GT_CATEGORY_LAUNCH &&
	       (gt_api_find_role(function, GT_ROLE_KERNEL_NAME) >= 0 ||
		gt_api_find_role(function, GT_ROLE_KERNEL) >= 0);
}

void gt_api_plan(const struct gt_api_function *function, struct gt_plan *ret_plan)
{
	struct gt_api_layout layout;

	gt_api_lay_out(function, GT_MACHINE_HERE, &layout);
	*ret_plan = layout.plan;
}
