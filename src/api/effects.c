/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Effects of calls on the current device and context, for the plans of probes. */
#include <string.h>

#include "api/layout.h"

static const struct effect_row {
	const char *function;
	enum gt_call_effect effect;
	const char *value, *device;
} effects[] = {
#define EFFECT(function, effect, value, device) {#function, GT_EFFECT_##effect, #value, #device},
#include "api/effects.def"
#undef EFFECT
};

static const struct effect_row *find_effect(const struct gt_api_function *function)
{
	for (size_t i = 0; i < gt_countof(effects); i++)
		if (!strcmp(effects[i].function, function->name))
			return &effects[i];
	return NULL;
}

/* 1 + the slot of the argument with a name; 0: none, or not captured. */
static __u8 slot_of(const struct gt_api_function *function, const struct gt_api_layout *layout,
		    const char *name)
{
	for (unsigned i = 0; i < function->argument_count; i++)
		if (!strcmp(function->arguments[i].name, name) &&
		    layout->locations[i].slot != GT_LAYOUT_NONE)
			return (__u8)(layout->locations[i].slot + 1);
	return 0;
}

void gt_api_plan_effect(const struct gt_api_function *function, struct gt_api_layout *layout)
{
	const struct effect_row *row = find_effect(function);

	if (!row)
		return;
	layout->plan.effect = (__u8)row->effect;
	layout->plan.effect_value = slot_of(function, layout, row->value);
	layout->plan.effect_device = slot_of(function, layout, row->device);
}

/* cuCtxGetCurrent changes nothing: its result is used where it is traced anyway. */
bool gt_api_has_effect(const struct gt_api_function *function)
{
	const struct effect_row *row = find_effect(function);

	return row && row->effect != GT_EFFECT_CONTEXT_GET;
}
