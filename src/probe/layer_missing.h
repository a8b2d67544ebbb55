/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a layer source does not show on this kernel, and why, by what became of its hooks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "probe/layer.h"

struct bpf_link;

/* Of each hook of the layer. */
struct gt_hook_state {
	struct bpf_link *link; /* NULL: it is not attached */
	bool was_attached;     /* it has been, with the present object */
	int error;             /* why there is no link */
	char *symbol;          /* while hooks are attached: the function's name in the kernel */
};

bool gt_hook_waits_for_module(const struct gt_hook *hook);
/* Whether it is loaded only where programs of raw tracepoints can, or cannot, be preempted. */
bool gt_hook_depends_on_preemption(const struct gt_hook *hook);

/* The state of the hook with this program; NULL: the layer has none. */
const struct gt_hook_state *gt_hook_state_of(const struct gt_layer *layer,
					     const struct gt_hook_state *states,
					     const char *program);
/* Whether the hook in whose place this one would be is attached. */
bool gt_hook_is_superseded(const struct gt_layer *layer, const struct gt_hook_state *states,
			   const struct gt_hook *hook);

/* Add what is missing, and why; nothing if all is there. Returns how many hooks are attached. */
size_t gt_layer_put_missing(const struct gt_layer *layer, const struct gt_hook_state *states,
			    struct gt_strbuf *text);
/* Add which tracepoints of optional hooks this kernel does not have. */
void gt_layer_put_optional(const struct gt_layer *layer, const struct gt_hook_state *states,
			   struct gt_strbuf *text);
bool gt_layer_waits_for_modules(const struct gt_layer *layer, const struct gt_hook_state *states);
