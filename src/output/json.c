/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The output "json": one object a line; docs/json.md says what the keys mean. */
#include <errno.h>

#include "base/json.h"
#include "elf/demangle.h"
#include "event/kinds.h"
#include "layers/layers.h"
#include "output/job_chain.h"
#include "output/sink.h"
#include "output/stack.h"

struct json_output {
	struct gt_sink sink;
	struct gt_demangler *demangler;
	struct gt_strbuf result; /* of one call: its memory is used again */
	struct gt_job_chains *chains;
	const struct gt_names *names; /* as of the last event; NULL: there was none */
};

/* A job and what submitted and completed it, once all of that is known. */
static int put_chain(void *opaque, const struct gt_job_chain *chain)
{
	struct json_output *output = opaque;
	struct gt_json json = GT_JSON_INIT(&output->sink.text);

	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "schema", "gputap.chain.1");
	gt_json_job_chain(&json, output->names, chain);
	gt_json_object_end(&json);
	gt_strbuf_putc(&output->sink.text, '\n');
	return 0;
}

static void output_free(struct json_output *output)
{
	if (!output)
		return;
	gt_job_chains_free(output->chains);
	gt_demangler_free(output->demangler);
	gt_strbuf_free(&output->result);
	free(output);
}

static int json_open(const struct gt_output_options *options, void **ret_state,
		     struct gt_diag *diag)
{
	struct json_output *output = calloc(1, sizeof(*output));
	int error;

	if (output) {
		output->demangler = gt_demangler_new();
		output->chains = gt_job_chains_new(put_chain, output);
	}
	if (!output || !output->demangler || !output->chains) {
		output_free(output);
		return gt_diag(diag, -ENOMEM, "output", NULL, "out of memory");
	}
	error = gt_sink_open(&output->sink, options, diag);
	if (error) {
		output_free(output);
		return error;
	}
	*ret_state = output;
	return 0;
}

static void put_clock(struct gt_json *json, unsigned clock)
{
	char name[16];

	if (clock == GT_CLOCK_MONOTONIC) {
		gt_json_string(json, "clock", "monotonic");
		return;
	}
	snprintf(name, sizeof(name), "gpu%u", clock - 1);
	gt_json_string(json, "clock", name);
}

static void put_result(struct gt_json *json, struct json_output *output, const struct gt_call *call)
{
	if (call->event->state & GT_CALL_UNFINISHED) {
		gt_json_null(json, "result");
		return;
	}
	if (!call->function) {
		gt_json_hex(json, "result", call->event->result);
		return;
	}
	gt_strbuf_clear(&output->result);
	gt_api_format_result(&output->result, call->function, call->event->result, false);
	gt_json_string(json, "result", gt_strbuf_string(&output->result));
}

/* Of a launch or a look-up by name, where the kernel's name is known. */
static void put_kernel(struct gt_json *json, const struct json_output *output,
		       const struct gt_names *names, const struct gt_call *call)
{
	const char *kernel = gt_names_call_kernel(names, call);
	struct gt_launch_arguments arguments;

	if (!kernel)
		return;
	gt_json_string(json, "kernel", gt_demangler_full(output->demangler, kernel));
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

/* Also where the function implies it, without an argument. */
static void put_direction(struct gt_json *json, const struct gt_call *call)
{
	const char *name = gt_api_direction_name(gt_call_direction(call));

	if (name)
		gt_json_string(json, "direction", name);
}

static void put_arguments(struct gt_json *json, const struct gt_call *call)
{
	if (call->function) {
		gt_call_json_arguments(json, "args", call);
		put_direction(json, call);
		gt_call_json_operation(json, call);
	} else {
		gt_json_object_begin(json, "args");
		gt_json_object_end(json);
	}
}

static void put_call(struct gt_json *json, struct json_output *output, const struct gt_names *names,
		     const struct gt_event_call *event)
{
	const struct gt_event *head = &event->head;
	struct gt_call call;

	gt_names_decode(names, event, &call);
	gt_json_string(json, "schema", "gputap.call.1");
	gt_json_u64(json, "time", head->time - event->duration);
	put_clock(json, head->clock);
	gt_json_u64(json, "duration", event->duration);
	gt_json_u64(json, "pid", gt_id_number(head->process));
	gt_json_u64(json, "tid", gt_id_number(head->thread));
	gt_json_string(json, "process", gt_names_process(names, head->process));
	gt_json_rank(json, names, head->process);
	gt_json_u64(json, "parent", gt_id_number(gt_names_parent(names, head->process)));
	put_device(json, names, event);
	gt_json_string(json, "name", gt_names_function(names, event->function));
	put_arguments(json, &call);
	put_kernel(json, output, names, &call);
	put_result(json, output, &call);
	if (event->stack)
		gt_json_stack(json, "stack", names, head->process, event->stack);
	gt_json_bool(json, "nested", event->state & GT_CALL_NESTED);
	if (event->state & GT_CALL_PER_THREAD)
		gt_json_bool(json, "per_thread", true);
	if (event->state & GT_CALL_UNFINISHED)
		gt_json_bool(json, "unfinished", true);
}

/* Written once the cgroup of a process is known. */
static void put_process(struct gt_json *json, const struct gt_names *names,
			const struct gt_event *event)
{
	const char *command = gt_names_command(names, event->process);
	const char *cgroup = gt_names_cgroup(names, event->process);
	const char *container = gt_names_container(names, event->process);

	gt_json_string(json, "schema", "gputap.process.1");
	gt_json_u64(json, "time", event->time);
	put_clock(json, event->clock);
	gt_json_u64(json, "pid", gt_id_number(event->process));
	gt_json_string(json, "process", gt_names_process(names, event->process));
	gt_json_rank(json, names, event->process);
	gt_json_u64(json, "parent", gt_id_number(gt_names_parent(names, event->process)));
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

static void put_account(struct gt_json *json, const struct gt_names *names,
			const struct gt_event_account *account)
{
	gt_json_string(json, "schema", "gputap.account.1");
	gt_json_u64(json, "time", account->head.time);
	put_clock(json, account->head.clock);
	gt_json_via(json, names);
	gt_json_u64(json, "made", account->made);
	gt_json_u64(json, "complete", account->complete);
	gt_json_u64(json, "unfinished", account->unfinished);
	gt_json_u64(json, "lost", account->lost);
	gt_json_u64(json, "filtered", account->filtered);
	gt_json_u64(json, "orphans", account->orphans);
	gt_json_u64(json, "entries_lost", account->entries_lost);
	gt_json_u64(json, "others_lost", account->others_lost);
	gt_json_gaps(json, names);
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

static void put_record(struct gt_json *json, const struct gt_event_record *event)
{
	const struct gt_event_record_parts parts = gt_event_record_split(event);

	gt_json_string(json, "schema", "gputap.record.1");
	gt_json_u64(json, "time", event->head.time);
	put_clock(json, event->head.clock);
	if (parts.name_length)
		gt_json_string_bytes(json, "ring", parts.name, parts.name_length);
	else
		gt_json_null(json, "ring");
	if (event->gpu_time)
		gt_json_u64(json, "gpu_time", event->gpu_time);
	else
		gt_json_null(json, "gpu_time");
	if (parts.json_length)
		gt_json_value(json, "record", parts.json, parts.json_length);
	else
		gt_json_string_bytes(json, "record", parts.text, parts.text_length);
}

static void put_totals(struct gt_json *json, const struct gt_event_totals *totals)
{
	size_t length;
	const char *source = gt_event_text(&totals->head, &length);

	gt_json_string(json, "schema", "gputap.totals.1");
	gt_json_u64(json, "time", totals->head.time);
	put_clock(json, totals->head.clock);
	gt_json_string_bytes(json, "source", source, length);
	gt_json_u64(json, "recorded", totals->recorded);
	gt_json_u64(json, "lost", totals->lost);
	gt_json_u64(json, "unsampled", totals->unsampled);
	gt_json_u64(json, "evicted", totals->evicted);
	gt_json_u64(json, "unattributed", totals->unattributed);
}

static void put_overhead(struct gt_json *json, const struct gt_names *names,
			 const struct gt_event *event)
{
	gt_json_string(json, "schema", "gputap.overhead.1");
	gt_json_u64(json, "time", event->time);
	put_clock(json, event->clock);
	gt_json_overhead(json, "overhead", gt_names_overhead(names));
}

static int json_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	const struct gt_layer_kind *layer = gt_layer_kind(event->kind);
	struct json_output *output = opaque;
	struct gt_json json = GT_JSON_INIT(&output->sink.text);
	int error;

	output->names = names;
	/* The account is the last event of a session. */
	error = event->kind == GT_EVENT_account ? gt_job_chains_finish(output->chains)
						: gt_job_chains_take(output->chains, event);
	if (error)
		return error;
	switch (event->kind) {
	case GT_EVENT_call:
		gt_json_object_begin(&json, NULL);
		put_call(&json, output, names, (const void *)event);
		break;
	case GT_EVENT_cgroup:
		gt_json_object_begin(&json, NULL);
		put_process(&json, names, event);
		break;
	case GT_EVENT_account:
		gt_json_object_begin(&json, NULL);
		put_account(&json, names, (const void *)event);
		break;
	case GT_EVENT_note:
		gt_json_object_begin(&json, NULL);
		put_note(&json, event);
		break;
	case GT_EVENT_record:
		gt_json_object_begin(&json, NULL);
		put_record(&json, (const void *)event);
		break;
	case GT_EVENT_overhead:
		gt_json_object_begin(&json, NULL);
		put_overhead(&json, names, event);
		break;
	case GT_EVENT_totals:
		gt_json_object_begin(&json, NULL);
		put_totals(&json, (const void *)event);
		break;
	default:
		if (!layer)
			return 0;
		gt_json_object_begin(&json, NULL);
		gt_layer_json(&json, layer, names, event);
	}
	gt_json_object_end(&json);
	gt_strbuf_putc(&output->sink.text, '\n');
	return gt_sink_wrote(&output->sink);
}

int gt_output_json_line(void *state, const struct gt_strbuf *line)
{
	struct json_output *output = state;

	gt_strbuf_add(&output->sink.text, gt_strbuf_string(line), line->length);
	gt_strbuf_putc(&output->sink.text, '\n');
	return gt_sink_wrote(&output->sink);
}

static int json_flush(void *opaque)
{
	return gt_sink_flush(&((struct json_output *)opaque)->sink);
}

static int json_close(void *opaque, struct gt_diag *diag)
{
	struct json_output *output = opaque;
	int error = gt_sink_close(&output->sink, diag);

	output_free(output);
	return error;
}

const struct gt_output gt_output_json = {
	.name = "json",
	.help = "one JSON object per line: calls, events, chains, records, processes, totals",
	.open = json_open,
	.event = json_event,
	.flush = json_flush,
	.close = json_close,
};
