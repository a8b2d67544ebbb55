/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions that programs look up by their names, where calls are traced. */
#include <stdatomic.h>

#include "agent/services.h"

static _Atomic(gt_agent_wrap_function *) wrap_function;

void gt_agent_set_wrap(gt_agent_wrap_function *wrap)
{
	atomic_store(&wrap_function, wrap);
}

void *gt_agent_wrap(const char *symbol, void *function, const void *caller)
{
	gt_agent_wrap_function *wrap = atomic_load_explicit(&wrap_function, memory_order_relaxed);

	return wrap ? wrap(symbol, function, caller) : function;
}
