/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the probe on a function learns from its calls. */
#include <string.h>

#include "api/layout.h"

static const struct told {
	const char *function;
	enum gt_plan_tell what;
	const char *value, *device;
} told[] = {
#define TOLD(function, what, value, device) {#function, GT_TELL_##what, #value, #device},
#include "api/told.def"
#undef TOLD
};

static const struct told *find_told(const struct gt_api_function *function)
{
	for (size_t i = 0; i < gt_countof(told); i++)
		if (!strcmp(told[i].function, function->name))
			return &told[i];
	return NULL;
}

/* 1 + the slot of the argument of a name; 0: there is none, or it has no slot. */
static __u8 slot_of(const struct gt_api_function *function, const struct gt_api_layout *layout,
		    const char *name)
{
	for (unsigned i = 0; i < function->argument_count; i++)
		if (!strcmp(function->arguments[i].name, name) &&
		    layout->locations[i].slot != GT_LAYOUT_NONE)
			return (__u8)(layout->locations[i].slot + 1);
	return 0;
}

void gt_api_plan_told(const struct gt_api_function *function, struct gt_api_layout *layout)
{
	const struct told *row = find_told(function);

	if (!row)
		return;
	layout->plan.tell = (__u8)row->what;
	layout->plan.tell_value = slot_of(function, layout, row->value);
	layout->plan.tell_device = slot_of(function, layout, row->device);
}

/* Names, and what is current already when the tracing begins, are learnt where they pass anyway. */
bool gt_api_tells_state(const struct gt_api_function *function)
{
	const struct told *row = find_told(function);

	return row && row->what != GT_TELL_CONTEXT_GET;
}
