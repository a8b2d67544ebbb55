/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/layer_missing.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe/module_events.h"

bool gt_hook_waits_for_module(const struct gt_hook *hook)
{
	return hook->module && !gt_module_is_loaded(hook->module);
}

bool gt_hook_depends_on_preemption(const struct gt_hook *hook)
{
	return hook->unless_preemptible || hook->recovers || hook->second_of;
}

const struct gt_hook_state *gt_hook_state_of(const struct gt_layer *layer,
					     const struct gt_hook_state *states,
					     const char *program)
{
	for (size_t i = 0; i < layer->hook_count; i++)
		if (!strcmp(layer->hooks[i].program, program))
			return &states[i];
	return NULL;
}

/* The hook in whose place one is; NULL: none. */
static const struct gt_hook *preferred_hook(const struct gt_layer *layer,
					    const struct gt_hook *hook)
{
	for (size_t i = 0; i < layer->hook_count && hook->fallback_of; i++)
		if (!strcmp(layer->hooks[i].program, hook->fallback_of))
			return &layer->hooks[i];
	return NULL;
}

bool gt_hook_is_superseded(const struct gt_layer *layer, const struct gt_hook_state *states,
			   const struct gt_hook *hook)
{
	for (hook = preferred_hook(layer, hook); hook; hook = preferred_hook(layer, hook))
		if (states[hook - layer->hooks].link)
			return true;
	return false;
}

/* Whether a hook is in the place of `first`, or of one that is. */
static bool replaces_hook(const struct gt_layer *layer, const struct gt_hook *hook,
			  const struct gt_hook *first)
{
	while (hook && hook != first)
		hook = preferred_hook(layer, hook);
	return hook;
}

/* Whether what a hook shows is missing: neither it nor a fallback is attached. */
static bool is_missing(const struct gt_layer *layer, const struct gt_hook_state *states,
		       size_t index)
{
	const struct gt_hook *hook = &layer->hooks[index];

	if (states[index].link || gt_hook_is_superseded(layer, states, hook))
		return false;
	for (size_t i = 0; i < layer->hook_count; i++)
		if (states[i].link && replaces_hook(layer, &layer->hooks[i], hook))
			return false;
	return true;
}

static void put_reason(struct gt_strbuf *text, const struct gt_hook *hook, int error)
{
	bool is_tracepoint = hook->kind <= GT_HOOK_BTF_TRACEPOINT;
	const char *what = is_tracepoint ? "tracepoint" : "function";

	if (gt_hook_waits_for_module(hook))
		gt_strbuf_printf(text, "the module %s is not loaded", hook->module);
	else if (is_tracepoint && error == -ENOENT)
		gt_strbuf_printf(text, "this kernel has no tracepoint %s", hook->point);
	else if (!is_tracepoint && error == -ENOENT && access("/proc/kallsyms", R_OK) == 0 &&
		 access("/sys/bus/event_source/devices/kprobe", F_OK) == 0)
		gt_strbuf_printf(text, "this kernel has no function %s", hook->point);
	else if (!is_tracepoint && access("/sys/bus/event_source/devices/kprobe", F_OK) != 0)
		gt_strbuf_printf(text,
				 "function %s: this kernel has no kprobes (CONFIG_KPROBE_EVENTS)",
				 hook->point);
	else
		gt_strbuf_printf(text, "%s %s: %s", what, hook->point, strerror(-error));
}

size_t gt_layer_put_missing(const struct gt_layer *layer, const struct gt_hook_state *states,
			    struct gt_strbuf *text)
{
	const char *module = NULL, *lacks = NULL;
	size_t attached = 0;

	for (size_t i = 0; i < layer->hook_count; i++) {
		const struct gt_hook *hook = &layer->hooks[i];

		attached += states[i].link != NULL;
		if (!hook->lacks || hook->fallback_of || !is_missing(layer, states, i))
			continue;
		if (gt_hook_waits_for_module(hook) && module && !strcmp(module, hook->module))
			continue;
		if (!gt_hook_waits_for_module(hook) && lacks && !strcmp(lacks, hook->lacks))
			continue;
		gt_strbuf_puts(text, text->length ? "; " : "");
		if (!gt_hook_waits_for_module(hook))
			gt_strbuf_printf(text, "%s are not shown: ", hook->lacks);
		put_reason(text, hook, states[i].error);
		if (gt_hook_waits_for_module(hook))
			module = hook->module;
		else
			lacks = hook->lacks;
	}
	return attached;
}

/* Whether a hook is optional, and this kernel has no such tracepoint. */
static bool lacks_tracepoint(const struct gt_layer *layer, const struct gt_hook_state *states,
			     size_t index)
{
	const struct gt_hook *hook = &layer->hooks[index];

	return !hook->lacks && !hook->fallback_of && !gt_hook_depends_on_preemption(hook) &&
	       !gt_hook_waits_for_module(hook) && hook->kind <= GT_HOOK_BTF_TRACEPOINT &&
	       states[index].error == -ENOENT && is_missing(layer, states, index);
}

void gt_layer_put_optional(const struct gt_layer *layer, const struct gt_hook_state *states,
			   struct gt_strbuf *text)
{
	for (size_t i = 0; i < layer->hook_count; i++)
		if (lacks_tracepoint(layer, states, i))
			gt_strbuf_printf(text, "%s%s",
					 text->length ? ", " : "this kernel has no tracepoint ",
					 layer->hooks[i].point);
}

bool gt_layer_waits_for_modules(const struct gt_layer *layer, const struct gt_hook_state *states)
{
	for (size_t i = 0; i < layer->hook_count; i++)
		if (is_missing(layer, states, i) && gt_hook_waits_for_module(&layer->hooks[i]))
			return true;
	return false;
}
