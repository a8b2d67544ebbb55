/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What programs set for the next launches of a kernel: its arguments, the size of its groups. */
#include <string.h>

#include "names/private.h"

static struct known_settings *find_settings(const struct gt_names *names, uint32_t process,
					    uint64_t kernel)
{
	struct names_key key = {process, kernel};

	return gt_hash_get(names->settings, &key, sizeof(key));
}

static struct known_settings *add_settings(struct gt_names *names, uint32_t process,
					   uint64_t kernel)
{
	struct names_key key = {process, kernel};
	struct known_settings *known = find_settings(names, process, kernel);

	if (known)
		return known;
	known = calloc(1, sizeof(*known));
	if (known && !gt_hash_set(names->settings, &key, sizeof(key), known))
		return known;
	free(known);
	return NULL;
}

static void set_argument(struct gt_launch_arguments *arguments,
			 const struct gt_call_setting *setting)
{
	uint32_t i = setting->index;

	if (i >= GT_ARGUMENT_WORDS)
		return;
	if (arguments->count <= i)
		arguments->count = i + 1;
	arguments->sizes[i] = setting->size > UINT32_MAX ? UINT32_MAX : (uint32_t)setting->size;
	arguments->words[i] = setting->value;
	arguments->valid &= ~(UINT64_C(1) << i);
	arguments->local &= ~(UINT64_C(1) << i);
	arguments->valid |= (uint64_t)setting->has_value << i;
	arguments->local |= (uint64_t)setting->is_local << i;
}

int gt_names_learn_setting(struct gt_names *names, const struct gt_call *call)
{
	struct gt_call_setting setting;
	struct known_settings *known;

	if (!gt_call_setting(call, &setting))
		return 0;
	known = add_settings(names, call->event->head.process, setting.kernel);
	if (!known)
		return -ENOMEM;
	if (setting.kind == GT_SETTING_ARGUMENT) {
		set_argument(&known->arguments, &setting);
		return 0;
	}
	memcpy(known->group, setting.group, sizeof(known->group));
	known->has_group = true;
	return 0;
}

int gt_names_renew_settings(struct gt_names *names, uint32_t process, uint64_t kernel,
			    uint64_t same_as)
{
	const struct known_settings *original = find_settings(names, process, same_as);
	struct known_settings *known = find_settings(names, process, kernel);

	if (!original) {
		if (known)
			*known = (struct known_settings){0};
		return 0;
	}
	known = add_settings(names, process, kernel);
	if (!known)
		return -ENOMEM;
	*known = *original;
	return 0;
}

const struct known_settings *gt_names_settings(const struct gt_names *names,
					       const struct gt_call *call)
{
	uint64_t kernel;

	return gt_hash_count(names->settings) && gt_call_kernel(call, &kernel)
		       ? find_settings(names, call->event->head.process, kernel)
		       : NULL;
}
