/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls that set what the next launches of a kernel use. */
#include <string.h>

#include "api/value.h"

struct gt_setting {
	const char *function;
	enum gt_setting_kind kind;
	const char *arguments[3];
};

static const struct gt_setting settings[] = {
#define SETTING(function, kind, first, second, third)                                              \
	{#function, GT_SETTING_##kind, {#first, #second, #third}},
#include "api/settings.def"
#undef SETTING
};

const struct gt_setting *gt_api_setting(const struct gt_api_function *function)
{
	for (size_t i = 0; i < gt_countof(settings); i++)
		if (!strcmp(settings[i].function, function->name))
			return &settings[i];
	return NULL;
}

bool gt_api_sets_groups(const struct gt_api_function *function)
{
	const struct gt_setting *setting = gt_api_setting(function);

	return setting && setting->kind == GT_SETTING_GROUP;
}

static bool load_number(const struct gt_call *call, const char *name, uint64_t *ret_number)
{
	int argument = gt_api_find_argument(call->function, name);

	return argument >= 0 && gt_call_number(call, (unsigned)argument, ret_number);
}

static bool load_group(const struct gt_call *call, struct gt_call_setting *ret_setting)
{
	uint64_t number;

	for (unsigned i = 0; i < 3; i++) {
		if (!load_number(call, call->layout->setting->arguments[i], &number))
			return false;
		ret_setting->group[i] = (uint32_t)number;
	}
	return true;
}

/* A value is behind the argument, or is the argument; local memory has a size and no value. */
static bool load_argument(const struct gt_call *call, struct gt_call_setting *ret_setting)
{
	const char *const *names = call->layout->setting->arguments;
	int argument = gt_api_find_argument(call->function, names[2]);
	uint64_t index, pointer;
	struct gt_api_value value;

	if (argument < 0 || !load_number(call, names[0], &index) ||
	    !load_number(call, names[2], &pointer))
		return false;
	ret_setting->index = (uint32_t)index;
	if (call->function->arguments[argument].role != GT_ROLE_VALUE) {
		ret_setting->size = sizeof(pointer);
		ret_setting->value = pointer;
		ret_setting->has_value = true;
		return true;
	}
	if (!load_number(call, names[1], &ret_setting->size))
		return false;
	ret_setting->is_local = !pointer;
	value = gt_call_pointed_value(call, (unsigned)argument);
	ret_setting->has_value = value.size && gt_value_load(&value, &ret_setting->value);
	return true;
}

bool gt_call_setting(const struct gt_call *call, struct gt_call_setting *ret_setting)
{
	struct gt_call_setting setting = {0};
	bool loaded;

	if (!call->layout->setting || !call->succeeded || !gt_call_number(call, 0, &setting.kernel))
		return false;
	setting.kind = call->layout->setting->kind;
	loaded = setting.kind == GT_SETTING_GROUP ? load_group(call, &setting)
						  : load_argument(call, &setting);
	if (loaded)
		*ret_setting = setting;
	return loaded;
}
