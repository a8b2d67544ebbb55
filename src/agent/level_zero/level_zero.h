/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Level Zero, for the rest of the agent. */
#pragma once

#include <stdbool.h>

/* Whether a function of this name of the loader is hooked. */
bool gt_ze_is_hooked(const char *name);
/*
 * What dlsym is to return for such a name, for which it has found `function`, or NULL: the hook
 * where that is the loader's own.
 */
void *gt_ze_hook(const char *name, void *function);
