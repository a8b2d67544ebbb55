/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The output "json": one object a line; docs/json.md says what the keys mean. */
#include <errno.h>

#include "api/parts.h"
#include "base/json.h"
#include "elf/demangle.h"
#include "event/kinds.h"
#include "output/sink.h"
#include "output/stack.h"

static int json_open(const struct gt_output_options *options, void **ret_state,
		     struct gt_diag *diag)
{
	struct gt_sink *sink = calloc(1, sizeof(*sink));
	int error;

	if (!sink)
		return gt_diag(diag, -ENOMEM, "output", NULL, "out of memory");
	error = gt_sink_open(sink, options, diag);
	if (error) {
		free(sink);
		return error;
	}
	*ret_state = sink;
	return 0;
}

static void put_clock(struct gt_json *json, unsigned clock)
{
	char name[16];

	snprintf(name, sizeof(name), "gpu%u", clock - 1);
	gt_json_string(json, "clock", clock == GT_CLOCK_MONOTONIC ? "monotonic" : name);
}

static void put_result(struct gt_json *json, const struct gt_api_function *api,
		       const struct gt_event_call *call)
{
	gt_auto_strbuf result = GT_STRBUF_INIT;

	if (call->state & GT_CALL_UNFINISHED) {
		gt_json_null(json, "result");
		return;
	}
	if (!api) {
		gt_json_hex(json, "result", call->result);
		return;
	}
	gt_api_format_result(&result, api, call->result, false);
	gt_json_string(json, "result", gt_strbuf_string(&result));
}

/* Of a launch or a look-up by name, where the kernel's name is known. */
static void put_kernel(struct gt_json *json, const struct gt_names *names,
		       const struct gt_event_call *call)
{
	const char *kernel = gt_names_call_kernel(names, call);
	struct gt_launch_arguments arguments;
	gt_auto_strbuf name = GT_STRBUF_INIT;

	if (!kernel)
		return;
	gt_demangle(kernel, &name);
	gt_json_string(json, "kernel", gt_strbuf_string(&name));
	if (gt_names_launch_arguments(names, call, &arguments))
		gt_kernel_json_arguments(json, "kernel_args", kernel,
					 gt_names_parameters(names, kernel), &arguments);
}

/* Which device and context a call uses, as far as that is known. */
static void put_device(struct gt_json *json, const struct gt_names *names,
		       const struct gt_event_call *call)
{
	const struct gt_context *context = gt_names_context(names, call);
	const struct gt_event *head = &call->head;
	struct gt_known_device device;

	if (head->device == GT_DEVICE_UNKNOWN)
		gt_json_null(json, "device");
	else
		gt_json_i64(json, "device", head->device);
	if (context)
		gt_json_hex(json, "context", context->handle);
	else
		gt_json_null(json, "context");
	if (gt_names_device(names, head->process, head->device, &device) && device.uuid[0])
		gt_json_string(json, "device_uuid", device.uuid);
}

/* Also of copies whose function tells it, and no argument. */
static void put_direction(struct gt_json *json, const struct gt_api_function *api,
			  const struct gt_event_call *call)
{
	const char *name = api ? gt_api_direction_name(gt_api_direction(api, call)) : NULL;

	if (name)
		gt_json_string(json, "direction", name);
}

static void put_call(struct gt_json *json, const struct gt_names *names,
		     const struct gt_event_call *call)
{
	const struct gt_api_function *api = gt_names_api(names, call->function);
	const struct gt_api_strings strings = gt_names_strings(names);
	const struct gt_event *head = &call->head;

	gt_json_string(json, "schema", "gputap.call.1");
	gt_json_u64(json, "time", head->time - call->duration);
	put_clock(json, head->clock);
	gt_json_u64(json, "duration", call->duration);
	gt_json_u64(json, "pid", head->process);
	gt_json_u64(json, "tid", head->thread);
	gt_json_string(json, "process", gt_names_process(names, head->process));
	gt_json_u64(json, "parent", gt_names_parent(names, head->process));
	put_device(json, names, call);
	gt_json_string(json, "name", gt_names_function(names, call->function));
	if (api) {
		gt_api_json_arguments(json, "args", api, call, &strings);
	} else {
		gt_json_object_begin(json, "args");
		gt_json_object_end(json);
	}
	put_direction(json, api, call);
	if (api)
		gt_api_json_parts(json, api, call);
	put_kernel(json, names, call);
	put_result(json, api, call);
	if (call->stack)
		gt_json_stack(json, "stack", names, head->process, call->stack);
	gt_json_bool(json, "nested", call->state & GT_CALL_NESTED);
	if (call->state & GT_CALL_PER_THREAD)
		gt_json_bool(json, "per_thread", true);
	if (call->state & GT_CALL_UNFINISHED)
		gt_json_bool(json, "unfinished", true);
}

/* Told once it is known where a process belongs. */
static void put_process(struct gt_json *json, const struct gt_names *names,
			const struct gt_event *event)
{
	const char *command = gt_names_command(names, event->process);
	const char *cgroup = gt_names_cgroup(names, event->process);
	const char *container = gt_names_container(names, event->process);

	gt_json_string(json, "schema", "gputap.process.1");
	gt_json_u64(json, "time", event->time);
	put_clock(json, event->clock);
	gt_json_u64(json, "pid", event->process);
	gt_json_string(json, "process", gt_names_process(names, event->process));
	gt_json_u64(json, "parent", gt_names_parent(names, event->process));
	if (command)
		gt_json_string(json, "command", command);
	else
		gt_json_null(json, "command");
	gt_json_string(json, "cgroup", cgroup ? cgroup : "");
	if (container)
		gt_json_string(json, "container", container);
	else
		gt_json_null(json, "container");
}

static void put_account(struct gt_json *json, const struct gt_event_account *account)
{
	gt_json_string(json, "schema", "gputap.account.1");
	gt_json_u64(json, "time", account->head.time);
	put_clock(json, account->head.clock);
	gt_json_u64(json, "made", account->made);
	gt_json_u64(json, "complete", account->complete);
	gt_json_u64(json, "unfinished", account->unfinished);
	gt_json_u64(json, "lost", account->lost);
	gt_json_u64(json, "filtered", account->filtered);
	gt_json_u64(json, "orphans", account->orphans);
	gt_json_u64(json, "entries_lost", account->entries_lost);
	gt_json_u64(json, "others_lost", account->others_lost);
}

static void put_note(struct gt_json *json, const struct gt_event *event)
{
	size_t length;
	const char *text = gt_event_text(event, &length);

	gt_json_string(json, "schema", "gputap.note.1");
	gt_json_u64(json, "time", event->time);
	put_clock(json, event->clock);
	gt_json_string_bytes(json, "text", text, length);
}

static int json_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct gt_sink *sink = opaque;
	struct gt_json json = GT_JSON_INIT(&sink->text);

	switch (event->kind) {
	case GT_EVENT_call:
		gt_json_object_begin(&json, NULL);
		put_call(&json, names, (const void *)event);
		break;
	case GT_EVENT_cgroup:
		gt_json_object_begin(&json, NULL);
		put_process(&json, names, event);
		break;
	case GT_EVENT_account:
		gt_json_object_begin(&json, NULL);
		put_account(&json, (const void *)event);
		break;
	case GT_EVENT_note:
		gt_json_object_begin(&json, NULL);
		put_note(&json, event);
		break;
	default:
		return 0;
	}
	gt_json_object_end(&json);
	gt_strbuf_putc(&sink->text, '\n');
	return gt_sink_wrote(sink);
}

static int json_flush(void *opaque)
{
	return gt_sink_flush(opaque);
}

static int json_close(void *opaque, struct gt_diag *diag)
{
	int error = gt_sink_close(opaque, diag);

	free(opaque);
	return error;
}

const struct gt_output gt_output_json = {
	.name = "json",
	.help = "one JSON object a line for each call, and one for the totals",
	.open = json_open,
	.event = json_event,
	.flush = json_flush,
	.close = json_close,
};
