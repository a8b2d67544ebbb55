/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel that a call launches, and calls that name kernels. */
#include <string.h>

#include "api/value.h"

/* Of functions that read an attribute of a kernel: the value, which attribute, whose. */
enum attribute_argument { ATTRIBUTE_VALUE, ATTRIBUTE_NUMBER, ATTRIBUTE_KERNEL };

static bool reads_attribute(const struct gt_api_function *function)
{
	return !strcmp(function->name, "cuFuncGetAttribute") ||
	       !strcmp(function->name, "cuKernelGetAttribute");
}

bool gt_api_is_implicit(const struct gt_api_function *function)
{
	return gt_api_names_kernels(function) || gt_api_has_effect(function) ||
	       reads_attribute(function) || gt_api_sets_groups(function);
}

static bool load_argument(const struct gt_call *call, int argument, uint64_t *ret)
{
	struct gt_api_value value;

	if (argument < 0)
		return false;
	value = gt_call_argument_value(call, (unsigned)argument);
	return gt_value_load(&value, ret);
}

static bool load_output(const struct gt_call *call, int argument, uint64_t *ret)
{
	struct gt_api_value value;

	if (argument < 0)
		return false;
	value = gt_call_pointed_value(call, (unsigned)argument);
	return gt_value_load(&value, ret);
}

bool gt_call_naming(const struct gt_call *call, struct gt_call_naming *ret_naming)
{
	struct gt_call_naming naming = {.name_argument = call->layout->kernel_name};
	int output;

	if (!call->layout->names_kernels)
		return false;
	output = gt_api_find_role(call->function, GT_ROLE_OUT);
	if (call->layout->plan.result == GT_RESULT_POINTER) {
		naming.handle = call->succeeded ? call->event->result : 0;
		if (naming.name_argument < 0 &&
		    !load_argument(call, call->layout->kernel, &naming.same_as))
			return false;
	} else if (output < 0) { /* a registration: the host function gets a name */
		if (!load_argument(call, call->layout->kernel, &naming.handle))
			return false;
	} else if (!load_output(call, output, &naming.handle) ||
		   (naming.name_argument < 0 &&
		    !load_argument(call, call->layout->kernel, &naming.same_as))) {
		return false;
	}
	*ret_naming = naming;
	return naming.handle != 0;
}

bool gt_call_registers(const struct gt_call *call, uint64_t *ret_handle, uint32_t *ret_registers)
{
	enum { NUM_REGS = 4, MAX_REGISTERS = 255 }; /* CU_FUNC_ATTRIBUTE_NUM_REGS */
	uint64_t attribute, registers;

	if (!reads_attribute(call->function) || !call->succeeded ||
	    !load_argument(call, ATTRIBUTE_NUMBER, &attribute) || attribute != NUM_REGS ||
	    !load_argument(call, ATTRIBUTE_KERNEL, ret_handle) ||
	    !load_output(call, ATTRIBUTE_VALUE, &registers) || registers > MAX_REGISTERS)
		return false;
	*ret_registers = (uint32_t)registers;
	return true;
}

int gt_api_kernel_name_slot(const struct gt_api_function *function)
{
	struct gt_api_layout layout;

	gt_api_lay_out(function, GT_MACHINE_HERE, &layout);
	return gt_layout_kernel_name_slot(&layout);
}

bool gt_api_missing_string(const struct gt_api_function *function,
			   const struct gt_event_call *event, struct gt_missing_string *ret_string)
{
	struct gt_plan plan;

	if (gt_api_find_role(function, GT_ROLE_KERNEL_NAME) < 0 &&
	    gt_api_find_role(function, GT_ROLE_TEXT) < 0)
		return false;
	gt_api_plan(function, &plan);
	for (unsigned i = plan.copies - plan.apart; i < plan.copies; i++) {
		uint8_t slot = plan.copy[i].slot;

		if (plan.copy[i].when != GT_COPY_STRING || event->copied & 1u << i ||
		    slot >= event->slots || !event->words[slot])
			continue;
		*ret_string =
			(struct gt_missing_string){event->words[slot], plan.copy[i].field, slot};
		return true;
	}
	return false;
}

/* The kernel in a structure with all that a launch has: the first one of a list. */
static bool load_field(const struct gt_call *call, uint64_t *ret_handle)
{
	int argument = gt_api_find_role(call->function, GT_ROLE_STRUCT);
	struct gt_api_value structure, field;

	if (argument < 0)
		return false;
	structure = gt_call_pointed_value(call, (unsigned)argument);
	if (!structure.size || !gt_api_is_struct(structure.type))
		return false;
	for (unsigned i = 0; i < structure.type->count; i++) {
		const struct gt_api_field *row = &structure.type->fields[i];

		if (!row->label || strcmp(row->label, "func"))
			continue;
		field = gt_value_field(&structure, row, 0);
		return gt_value_load(&field, ret_handle);
	}
	return false;
}

/* The first kernel of an array of kernels. */
static bool load_first(const struct gt_call *call, uint64_t *ret_handle)
{
	uint64_t handles[GT_API_MAX_LIST];

	for (unsigned i = 0; i < call->function->argument_count; i++) {
		const struct gt_api_argument *argument = &call->function->arguments[i];

		if (!argument->label || strcmp(argument->label, "func") ||
		    !gt_call_list(call, i, handles))
			continue;
		*ret_handle = handles[0];
		return true;
	}
	return false;
}

bool gt_call_kernel(const struct gt_call *call, uint64_t *ret_handle)
{
	if (call->function->category != GT_CATEGORY_LAUNCH)
		return false;
	return load_argument(call, call->layout->kernel, ret_handle) ||
	       load_field(call, ret_handle) || load_first(call, ret_handle);
}
