/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/options.h"

const char *const gt_stack_methods[] = {
	[GT_STACK_AUTO] = "auto",   [GT_STACK_NONE] = "none",   [GT_STACK_FRAME_POINTERS] = "fp",
	[GT_STACK_DWARF] = "dwarf", [GT_STACK_MIXED] = "mixed", [GT_STACK_MIXED + 1] = NULL,
};

const char *const gt_python_choices[] = {
	[GT_PYTHON_ON] = "on",
	[GT_PYTHON_OFF] = "off",
	[GT_PYTHON_OFF + 1] = NULL,
};

const char *const gt_attach_methods[] = {
	[GT_ATTACH_AUTO] = "auto", [GT_ATTACH_SESSION] = "session", [GT_ATTACH_MULTI] = "multi",
	[GT_ATTACH_PERF] = "perf", [GT_ATTACH_PERF + 1] = NULL,
};

const char *const gt_via_methods[] = {
	[GT_VIA_AUTO] = "auto",
	[GT_VIA_KERNEL] = "kernel",
	[GT_VIA_AGENT] = "agent",
	[GT_VIA_AGENT + 1] = NULL,
};

const char *const gt_full_ring_choices[] = {"wait", "drop", NULL};

const char *const gt_late_methods[] = {
	[GT_LATE_AUTO] = "auto",
	[GT_LATE_HOLD] = "hold",
	[GT_LATE_WATCH] = "watch",
	[GT_LATE_WATCH + 1] = NULL,
};

void gt_trace_options_resolve(struct gt_trace_options *options, bool callers)
{
	if (options->stack == GT_STACK_AUTO)
		options->stack = !callers                       ? GT_STACK_NONE
				 : options->via == GT_VIA_AGENT ? GT_STACK_FRAME_POINTERS
								: GT_STACK_MIXED;
	if (options->stack == GT_STACK_NONE)
		options->stack_depth = 0;
	else if (!options->stack_depth)
		options->stack_depth = GT_DEFAULT_STACK_DEPTH;
}

#define IS_GIVEN_FLAG(value) (value)
#define IS_GIVEN_STRING(value) ((value) != NULL)
#define IS_GIVEN_LIST(value) ((value).words.count > 0)
#define IS_GIVEN_CHOICE(value) ((value) != 0)
#define IS_GIVEN_COUNT(value) ((value) != 0)
#define IS_GIVEN_BYTES(value) ((value) != 0)
#define IS_GIVEN_PERIOD(value) ((value) != 0)
#define SCOPE_LIVE true
#define SCOPE_ANY false

const char *gt_trace_options_live(const struct gt_trace_options *options)
{
#define CHECK_OPTION(command, kind, field, letter, name, value, choices, scope, help)              \
	if (SCOPE_##scope && IS_GIVEN_##kind(options->field))                                      \
		return name;
	GT_TRACE_OPTIONS(CHECK_OPTION)
#undef CHECK_OPTION
	return NULL;
}

void gt_trace_options_free(struct gt_trace_options *options)
{
#define FREE_FLAG(value)
#define FREE_STRING(value)
#define FREE_LIST(value) gt_strings_free(&(value));
#define FREE_CHOICE(value)
#define FREE_COUNT(value)
#define FREE_BYTES(value)
#define FREE_PERIOD(value)
#define FREE_OPTION(command, kind, field, ...) FREE_##kind(options->field)
	GT_TRACE_OPTIONS(FREE_OPTION)
	free(options->processes);
	options->processes = NULL;
}
