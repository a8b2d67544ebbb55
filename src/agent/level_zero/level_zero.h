/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Level Zero, for the table of agent/lookup.h. */
#pragma once

#include <stdbool.h>

/* Whether a function of this name of the loader is hooked. */
bool gt_ze_is_hooked(const void *handle, const char *name);
/* What dlsym is to return for such a name: the hook where the loader's own was found. */
void *gt_ze_find(void *handle, const char *name, const void *caller);
