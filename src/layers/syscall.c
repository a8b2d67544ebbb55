/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of the source "syscall". */
#include "kernel/syscalls.h"
#include "layers/layers.h"

static const char *call_name(const struct gt_event *event)
{
	const struct gt_event_syscall *call = (const void *)event;
	const char *name = gt_syscall_name(call->machine, call->number);

	return name ? name : "syscall";
}

/* (arguments <unfinished ...> */
static void put_entry(struct gt_strbuf *text, const struct gt_names *names,
		      const struct gt_event *event)
{
	const struct gt_event_syscall *call = (const void *)event;

	if (!gt_syscall_name(call->machine, call->number))
		gt_syscall_put_name(text, call);
	gt_strbuf_putc(text, '(');
	gt_syscall_put_arguments(text, call);
	gt_strbuf_puts(text, " <unfinished ...>");
}

/* (arguments) = result, as strace has it after the name. */
static void put_call(struct gt_strbuf *text, const struct gt_names *names,
		     const struct gt_event *event)
{
	const struct gt_event_syscall *call = (const void *)event;

	if (call->state & GT_SYSCALL_UNFINISHED) {
		put_entry(text, names, event);
		return;
	}
	if (!gt_syscall_name(call->machine, call->number))
		gt_syscall_put_name(text, call);
	gt_strbuf_putc(text, '(');
	gt_syscall_put_arguments(text, call);
	gt_strbuf_puts(text, ") = ");
	gt_syscall_put_result(text, call);
}

static void json_call(struct gt_json *json, const struct gt_names *names,
		      const struct gt_event *event)
{
	const struct gt_event_syscall *call = (const void *)event;
	gt_auto_strbuf result = GT_STRBUF_INIT;
	int error = gt_syscall_error(call);

	gt_json_array_begin(json, "arguments");
	for (unsigned i = 0;; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		if (!gt_syscall_put_argument(&text, call, i))
			break;
		gt_json_string(json, NULL, gt_strbuf_string(&text));
	}
	gt_json_array_end(json);
	gt_syscall_put_result(&result, call);
	gt_json_string(json, "returned", gt_strbuf_string(&result));
	if (error && gt_errno_name(error))
		gt_json_string(json, "error", gt_errno_name(error));
	else
		gt_json_null(json, "error");
	gt_json_bool(json, "unfinished", call->state & GT_SYSCALL_UNFINISHED);
}

static int call_error(const struct gt_event *event)
{
	return gt_syscall_error((const void *)event);
}

static const struct gt_layer_kind kinds[] = {
	{
		.kind = GT_EVENT_syscall,
		.source = "syscall",
		.variant = call_name,
		.error = call_error,
		.text = put_call,
		.json = json_call,
	},
	{
		.kind = GT_EVENT_syscall_entry,
		.source = "syscall",
		.variant = call_name,
		.text = put_entry,
	},
};

const struct gt_layer_kinds gt_layer_syscall = {kinds, gt_countof(kinds)};
