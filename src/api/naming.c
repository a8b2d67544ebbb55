/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which kernel a call launches, and what calls tell of the names of kernels. */
#include "api/value.h"

/* The first argument of a role, or -1. */
static int find_role(const struct gt_api_function *function, enum gt_api_role role)
{
	for (unsigned i = 0; i < function->argument_count; i++)
		if (function->arguments[i].role == role)
			return (int)i;
	return -1;
}

static bool names_kernels(const struct gt_api_function *function)
{
	return function->meaning != GT_MEANS_LAUNCH &&
	       (find_role(function, GT_ROLE_KERNEL_NAME) >= 0 ||
		find_role(function, GT_ROLE_KERNEL) >= 0);
}

bool gt_api_tells(const struct gt_api_function *function)
{
	return names_kernels(function) || gt_api_tells_state(function);
}

static bool load_argument(const struct gt_api_record *record, int argument, uint64_t *ret)
{
	struct gt_api_value value;

	if (argument < 0)
		return false;
	value = gt_api_argument_value(record, (unsigned)argument);
	return gt_api_load(&value, ret);
}

static bool load_given_back(const struct gt_api_record *record, int argument, uint64_t *ret)
{
	struct gt_api_value value;

	if (argument < 0)
		return false;
	value = gt_api_pointed_value(record, (unsigned)argument);
	return gt_api_load(&value, ret);
}

bool gt_api_naming(const struct gt_api_function *function, const struct gt_event_call *call,
		   struct gt_api_naming *ret_naming)
{
	struct gt_api_naming naming = {
		.name_argument = find_role(function, GT_ROLE_KERNEL_NAME),
	};
	int kernel = find_role(function, GT_ROLE_KERNEL);
	int given_back = find_role(function, GT_ROLE_OUT);
	struct gt_api_record record;

	if (!names_kernels(function))
		return false;
	gt_api_open_record(&record, function, call, GT_MACHINE_HERE);
	if (given_back < 0) { /* a registration: the host function gets a name */
		if (!load_argument(&record, kernel, &naming.handle))
			return false;
	} else if (!load_given_back(&record, given_back, &naming.handle) ||
		   (naming.name_argument < 0 && !load_argument(&record, kernel, &naming.same_as))) {
		return false;
	}
	*ret_naming = naming;
	return naming.handle != 0;
}

int gt_api_kernel_name_slot(const struct gt_api_function *function)
{
	int argument = find_role(function, GT_ROLE_KERNEL_NAME);
	struct gt_api_layout layout;

	if (argument < 0)
		return -1;
	gt_api_lay_out(function, GT_MACHINE_HERE, &layout);
	return layout.places[argument].slot;
}

bool gt_api_missing_string(const struct gt_api_function *function, const struct gt_event_call *call,
			   uint64_t *ret_address, uint8_t *ret_slot)
{
	struct gt_plan plan;

	if (find_role(function, GT_ROLE_KERNEL_NAME) < 0 && find_role(function, GT_ROLE_TEXT) < 0)
		return false;
	gt_api_plan(function, &plan);
	for (unsigned i = plan.copies - plan.apart; i < plan.copies; i++) {
		uint8_t slot = plan.copy[i].slot;

		if (plan.copy[i].when != GT_COPY_STRING || call->copied & 1u << i ||
		    slot >= call->slots || !call->words[slot])
			continue;
		*ret_address = call->words[slot];
		*ret_slot = slot;
		return true;
	}
	return false;
}

bool gt_api_launched(const struct gt_api_function *function, const struct gt_event_call *call,
		     uint64_t *ret_handle)
{
	struct gt_api_record record;

	if (function->meaning != GT_MEANS_LAUNCH)
		return false;
	gt_api_open_record(&record, function, call, GT_MACHINE_HERE);
	return load_argument(&record, find_role(function, GT_ROLE_KERNEL), ret_handle);
}
