/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/trace_injection.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "analysis/clock_fit.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/exact_grids.h"
#include "event/kinds.h"

enum {
	INTERVAL_MS = 2,       /* records wait so long at most, and their times are as uncertain */
	MAX_RECORDS = 1 << 16, /* of a ring in one round */
	MAX_TEXT = 16 << 10,   /* bytes of a record as text, and of one as JSON: of an event */
	CLOCK_STEP = 1000,     /* ns; the steps in which some GPUs' clocks advance */
};

struct gt_trace_injection {
	struct gt_cli_injection self;
	struct gt_inject *inject;
	struct gt_companion companion;

	/* Records of this round. */
	GT_VEC(struct gt_event_record *) records;
	uint64_t lost; /* records for which there was no memory */

	struct gt_clock_fit fit;
	bool is_fitted;
	uint64_t started;      /* before the first patched module was handed over; 0: none was */
	uint64_t first_launch; /* when its call began; 0: none was seen */
	uint64_t first_gpu;    /* the earliest GPU time of a record; 0: none */
	bool launch_is_added;
};

/* ---- records --------------------------------------------------------------------------- */

/* The GPU's time in a record, if its type has a member for that; else 0. */
static uint64_t find_gpu_time(const struct gt_bpf_type *type, const void *record, uint32_t size)
{
	static const char *const names[] = {"gpu_time", "globaltimer"};
	uint64_t time;

	for (size_t i = 0; i < gt_countof(names); i++)
		if (gt_bpf_type_member_u64(type, names[i], record, size, &time))
			return time;
	return 0;
}

/* Queue an event of these parts. */
static void add_record(struct gt_trace_injection *injection, const char *name, uint64_t gpu_time,
		       const struct gt_strbuf *text, const struct gt_strbuf *json)
{
	size_t name_length = strlen(name),
	       length = text->length < MAX_TEXT ? text->length : MAX_TEXT;
	gt_auto_strbuf tail = GT_STRBUF_INIT;
	struct gt_event_record *event;

	gt_strbuf_add(&tail, name, name_length);
	gt_strbuf_add(&tail, gt_strbuf_string(text), length);
	/* A part of JSON is none. */
	if (json->length <= MAX_TEXT)
		gt_strbuf_add(&tail, gt_strbuf_string(json), json->length);
	event = tail.failed || text->failed || json->failed
			? NULL
			: (void *)gt_event_new(GT_EVENT_record, tail.data, tail.length);
	if (!event) {
		injection->lost++;
		return;
	}
	event->gpu_time = gpu_time;
	event->name_length = (uint16_t)name_length;
	event->text_length = (uint32_t)length;
	if (gt_vec_push(&injection->records, event)) {
		injection->lost++;
		free(event);
	}
}

static void take_record(void *context, uint32_t map, const void *record, uint32_t size)
{
	struct gt_trace_injection *injection = context;
	const struct gt_bpf_map *ring = &injection->self.object->maps[map];
	gt_auto_strbuf text = GT_STRBUF_INIT, json = GT_STRBUF_INIT;
	struct gt_json writer = GT_JSON_INIT(&json);

	gt_bpf_value_print(&ring->value, record, size, NULL, &text);
	gt_bpf_value_print_json(&ring->value, record, size, NULL, &writer, NULL);
	add_record(injection, ring->name, find_gpu_time(&ring->value, record, size), &text, &json);
}

static void take_ring(struct gt_trace_injection *injection, uint32_t map)
{
	const void *record;
	uint32_t size;

	for (uint32_t i = 0; i < MAX_RECORDS; i++) {
		if (gt_inject_next_record(injection->inject, map, &record, &size) != 1)
			return;
		take_record(injection, map, record, size);
	}
}

static void take_lines(struct gt_trace_injection *injection)
{
	gt_auto_strbuf lines = GT_STRBUF_INIT;
	char *rest = NULL;

	gt_cli_injection_take_lines(&injection->self, &lines);
	for (char *line = lines.length ? strtok_r(lines.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		gt_auto_strbuf text = GT_STRBUF_INIT, json = GT_STRBUF_INIT;
		struct gt_json writer = GT_JSON_INIT(&json);

		gt_strbuf_puts(&text, line);
		gt_json_string(&writer, NULL, line);
		add_record(injection, "", 0, &text, &json);
	}
}

static void take_records(struct gt_trace_injection *injection)
{
	const struct gt_cli_injection *self = &injection->self;

	for (uint32_t i = 0; i < self->object->map_count; i++)
		if (gt_cli_injection_shows(self, i) && gt_cli_injection_is_ring(self, i))
			take_ring(injection, i);
	if (self->host_programs)
		gt_host_group_read_rings(self->host_programs, take_record, injection);
	take_lines(injection);
}

/* ---- times ----------------------------------------------------------------------------- */

/*
 * The records were written before `now`, after the first launch, and after the first module with
 * programs was handed over.
 */
static void add_points(struct gt_trace_injection *injection, uint64_t now)
{
	bool is_first = !injection->first_gpu;

	gt_vec_each (record, &injection->records) {
		uint64_t time = (*record)->gpu_time;

		if (!time)
			continue;
		if (!injection->first_gpu || time < injection->first_gpu)
			injection->first_gpu = time;
		gt_clock_fit_add_after(&injection->fit, time, now);
	}
	if (!injection->first_gpu)
		return;
	if (is_first)
		gt_clock_fit_add_before(&injection->fit, injection->started, injection->first_gpu);
	if (injection->first_launch && !injection->launch_is_added) {
		gt_clock_fit_add_before(&injection->fit, injection->first_launch,
					injection->first_gpu);
		injection->launch_is_added = true;
	}
	injection->is_fitted = !gt_clock_fit_solve(&injection->fit);
}

static int compare_records(const void *one, const void *other)
{
	const struct gt_event_record *left = *(struct gt_event_record *const *)one,
				     *right = *(struct gt_event_record *const *)other;

	return (left->head.time > right->head.time) - (left->head.time < right->head.time);
}

/* A record has the time at which it was read, or its GPU's, where it has that. */
static void queue_records(struct gt_trace_injection *injection, struct gt_event_queue *events)
{
	uint64_t now = gt_clock_monotonic();

	add_points(injection, now);
	gt_vec_each (record, &injection->records) {
		uint64_t time = (*record)->gpu_time;

		(*record)->head.time = time && injection->is_fitted
					       ? gt_clock_fit_host(&injection->fit, time)
					       : now;
	}
	if (injection->records.count)
		qsort(injection->records.items, injection->records.count,
		      sizeof(*injection->records.items), compare_records);
	gt_vec_each (record, &injection->records)
		gt_event_queue_push(events, &(*record)->head);
	injection->records.count = 0;
}

static void note_clock(const struct gt_trace_injection *injection, struct gt_event_queue *events)
{
	const struct gt_clock_fit *fit = &injection->fit;
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!injection->is_fitted)
		return;
	gt_strbuf_puts(&text, "the GPU's clock is ");
	gt_format_duration(&text, (uint64_t)(fit->offset < 0 ? -fit->offset : fit->offset));
	gt_strbuf_puts(&text, fit->offset < 0 ? " behind" : " ahead of");
	gt_strbuf_puts(&text, " CLOCK_MONOTONIC, with an error of at most ");
	gt_format_duration(&text, (uint64_t)fit->error + fit->step);
	gt_event_queue_note(events, "%s", gt_strbuf_string(&text));
	if (fit->violations)
		gt_event_queue_note(events,
				    "%llu records have a GPU time that contradicts the times of "
				    "calls: the times of records are unreliable",
				    (unsigned long long)fit->violations);
}

void gt_trace_injection_event(struct gt_trace_injection *injection, const struct gt_names *names,
			      const struct gt_event *event)
{
	const struct gt_event_call *call = (const void *)event;
	struct gt_call decoded;

	if (injection->first_launch ||
	    (event->kind != GT_EVENT_call && event->kind != GT_EVENT_entry))
		return;
	gt_names_decode(names, call, &decoded);
	if (gt_names_call_kernel(names, &decoded))
		injection->first_launch = event->time - call->duration;
}

/* ---- the companion --------------------------------------------------------------------- */

static int prepare(void *context, struct gt_environment *environment, bool filtered,
		   struct gt_diag *diag)
{
	struct gt_trace_injection *injection = context;

	return gt_inject_environment(injection->inject, environment, filtered, diag);
}

static int attach(void *context, const struct gt_command *files,
		  const struct gt_environment *environment, int pidfd, struct gt_diag *diag)
{
	struct gt_trace_injection *injection = context;
	const struct gt_cli_injection *self = &injection->self;
	const struct gt_host_command command = {
		.files = files,
		.environment = environment->variables,
		.pidfd = pidfd,
	};

	return self->host_programs
		       ? gt_host_group_attach_command(self->host_programs, &command, diag)
		       : 0;
}

/* Answer agents. The first module with programs was handed over after this began. */
static int serve_agents(struct gt_trace_injection *injection, bool ended, struct gt_diag *diag)
{
	uint64_t now = gt_clock_monotonic();
	int error = ended ? gt_inject_finish(injection->inject, diag)
			  : gt_inject_poll(injection->inject, diag);

	if (!injection->started && (gt_inject_progress(injection->inject).compiling ||
				    gt_inject_coverage(injection->inject).modules_patched))
		injection->started = now;
	return error;
}

static int poll_collector(void *context, struct gt_event_queue *events, bool ended,
			  struct gt_diag *diag)
{
	struct gt_trace_injection *injection = context;
	int error = serve_agents(injection, ended, diag);

	if (ended && injection->self.host_programs)
		gt_host_group_detach(injection->self.host_programs);
	take_records(injection);
	queue_records(injection, events);
	events->lost += injection->lost;
	injection->lost = 0;
	if (ended)
		note_clock(injection, events);
	return error;
}

const struct gt_companion *gt_trace_injection_companion(const struct gt_trace_injection *injection)
{
	return &injection->companion;
}

/* ---- the end --------------------------------------------------------------------------- */

static void put_json(const struct gt_trace_injection *injection, struct gt_strbuf *text)
{
	struct gt_json json = GT_JSON_INIT(text);

	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "schema", "gputap.programs.1");
	gt_cli_injection_json_end(&injection->self, &json);
	gt_json_object_end(&json);
	gt_strbuf_putc(text, '\n');
}

int gt_trace_injection_print(struct gt_trace_injection *injection, const char *path, int fd)
{
	gt_autoclose int file =
		path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	gt_auto_strbuf text = GT_STRBUF_INIT;
	int error = 0;

	if (injection->self.given->json)
		put_json(injection, &text);
	else
		gt_cli_injection_put_maps(&injection->self, &text);
	if (file < 0 || text.failed)
		error = file < 0 ? -errno : -ENOMEM;
	else
		error = gt_write_all(file, gt_strbuf_string(&text), text.length);
	if (error)
		gt_cli_error("cannot write the maps: %s", strerror(-error));
	gt_cli_coverage_print(&injection->self);
	return error;
}

/* ---- the whole ------------------------------------------------------------------------- */

static int open_collector(struct gt_trace_injection *injection)
{
	struct gt_diag diag = {0};

	if (gt_cli_injection_open(&injection->self, &injection->inject, &diag)) {
		gt_cli_diag(&diag);
		return GT_EXIT_FAILED;
	}
	injection->fit.step = CLOCK_STEP;
	injection->companion = (struct gt_companion){
		.context = injection,
		.prepare = prepare,
		.attach = attach,
		.inject = injection->inject,
		.fd = gt_inject_fd(injection->inject),
		.interval_ms = INTERVAL_MS,
		.poll = poll_collector,
	};
	if (injection->self.own)
		injection->companion.exact_map =
			gt_cli_injection_own_map(&injection->self, GT_EXACT_GRIDS_MAP);
	return GT_GO_ON;
}

int gt_trace_injection_open(const struct gt_cli_injection_options *given,
			    const struct gt_strings *paths,
			    struct gt_trace_injection **ret_injection)
{
	gt_auto(trace_injection) struct gt_trace_injection *injection =
		calloc(1, sizeof(*injection));
	int status;

	if (!injection) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	injection->self.given = given;
	status = gt_cli_injection_read(&injection->self, paths->words.items, paths->words.count);
	if (status == GT_GO_ON)
		status = open_collector(injection);
	if (status == GT_GO_ON)
		*ret_injection = gt_take(injection);
	return status;
}

void gt_trace_injection_close(struct gt_trace_injection *injection)
{
	if (!injection)
		return;
	gt_inject_close(injection->inject);
	gt_cli_injection_free(&injection->self);
	gt_vec_each (record, &injection->records)
		free(*record);
	gt_vec_free(&injection->records);
	gt_clock_fit_clear(&injection->fit);
	free(injection);
}
