/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dlsym, which is hooked: for some names, programs get another function than the loader finds. Each
 * shared object that has this hook has one table of these names.
 */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

struct gt_agent_hooked {
	const char *prefix; /* of the names */
	/* Whether the look-up of such a name is hooked; NULL: it always is. */
	bool (*is_hooked)(const void *handle, const char *name);
	/* What a call of dlsym at `caller` returns. */
	void *(*find)(void *handle, const char *name, const void *caller);
};

/* The table: the first row with a name's prefix that hooks it counts. Ends with a prefix NULL. */
extern const struct gt_agent_hooked gt_agent_hooked[];

/* The loader's dlsym. */
void *gt_agent_real_dlsym(void *handle, const char *name);

static inline bool gt_agent_is_global(const void *handle)
{
	return handle == RTLD_DEFAULT || handle == RTLD_NEXT;
}

/* Whether a function is in this shared object. */
bool gt_agent_is_own(const void *function);
