/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The format "html": one page with the timeline, tables and a flame graph, which a browser shows
 * without a network. The page (src/export/page) has these records, compressed. All numbers but
 * kinds are in the format of Protocol Buffers' varint; zigzag means (2n, or -2n - 1).
 *
 *	1 string   length, UTF-8; strings are numbered from 0
 *	2 track    kind (enum page_track), process and label (strings), group (thread, or queue);
 *	           numbered from 0
 *	3 slice    track, name (string), category, flags, start - that of the slice before (zigzag,
 *	           ns), duration (ns), stack (0: none), bytes, number (of a call or an operation),
 *	           numbers of the calls that submitted it and that waited for it (0: none)
 *	4 stack    count of frames, their strings, the innermost first; numbered from 1
 *	5 about    length, a JSON object of texts
 *	6 value    of a track of a counter: track, time - that of the value before (zigzag, ns),
 *	           value
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/hash.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "event/kinds.h"
#include "export/export.h"
#include "export/page_data.h"
#include "export/rows.h"
#include "output/stack.h"

/* The parts of the page, without a NUL. */
static const char page_style[] = {
#include "view.css.inc"
};
static const char page_body[] = {
#include "view.html.inc"
};
static const char page_script[] = {
#include "view.js.inc"
};

enum page_record {
	PAGE_STRING = 1,
	PAGE_TRACK,
	PAGE_SLICE,
	PAGE_STACK,
	PAGE_ABOUT,
	PAGE_VALUE,
};

/* In this order below each other. */
enum page_track {
	PAGE_CALLS,
	PAGE_SYSCALLS,
	PAGE_FAULTS,
	PAGE_OFF_CPU,
	PAGE_STREAM,
	PAGE_RING,
	PAGE_MEMORY, /* a counter, of bytes */
};

enum page_flags {
	PAGE_FAILED = 1,
	PAGE_EXACT = 2,
	PAGE_ESTIMATED = 4,
};

/* Categories of slices: host activities, then operations of GPUs, then: */
#define CATEGORY_JOB (GT_HOST_ACTIVITIES + GT_GPU_GRAPH + 1)

/* What identifies a track; without padding. */
struct track_key {
	uint64_t kind, process, group;
	char name[2 * GT_DRM_NAME_SIZE]; /* of a ring and its device */
};

struct page_slice {
	uint32_t track, name;
	unsigned category, flags;
	uint64_t start, end, stack, bytes, number, call, wait;
};

struct html_export {
	struct gt_sink sink;
	struct gt_page_data data;
	const char *capture;
	struct gt_timeline *timeline;
	struct gt_demangler *demangler;
	struct gt_call_row call;
	struct gt_hash *strings; /* text -> its number + 1 */
	struct gt_hash *tracks;  /* struct track_key -> its number + 1 */
	struct gt_hash *stacks;  /* process, stack -> its number */
	uint32_t string_count, track_count, stack_count;
	uint64_t before, value_before; /* start of the slice before, time of the value before */
	struct gt_hash *memory;        /* track of a counter + 1 -> bytes, as a pointer */
	struct gt_strbuf record, text, frames;
	int error; /* the first one */
};

/* ---- records ------------------------------------------------------------------------------ */

static void put_record(struct html_export *page)
{
	int error = page->record.failed
			    ? -ENOMEM
			    : gt_page_data_put(&page->data, page->record.data, page->record.length);

	page->error = page->error ? page->error : error;
}

static void begin_record(struct html_export *page, enum page_record kind)
{
	gt_strbuf_clear(&page->record);
	gt_strbuf_putc(&page->record, (char)kind);
}

/* The number of a text, which is written when it is new. */
static uint32_t string_number(struct html_export *page, const char *text)
{
	uintptr_t known = (uintptr_t)gt_hash_get_str(page->strings, text);
	gt_auto_strbuf valid = GT_STRBUF_INIT;

	if (known)
		return (uint32_t)known - 1;
	gt_put_utf8(&valid, text, strlen(text));
	begin_record(page, PAGE_STRING);
	gt_pb_varint(&page->record, valid.length);
	gt_strbuf_add(&page->record, gt_strbuf_string(&valid), valid.length);
	put_record(page);
	if (valid.failed ||
	    gt_hash_set_str(page->strings, text, (void *)(uintptr_t)++page->string_count))
		page->error = -ENOMEM;
	return page->string_count - 1;
}

static uint32_t track_number(struct html_export *page, const struct track_key *key,
			     const char *process, const char *label)
{
	uintptr_t known = (uintptr_t)gt_hash_get(page->tracks, key, sizeof(*key));
	uint32_t process_string, label_string;

	if (known)
		return (uint32_t)known - 1;
	process_string = string_number(page, process);
	label_string = string_number(page, label);
	begin_record(page, PAGE_TRACK);
	gt_pb_varint(&page->record, key->kind);
	gt_pb_varint(&page->record, process_string);
	gt_pb_varint(&page->record, label_string);
	gt_pb_varint(&page->record, key->group);
	put_record(page);
	if (gt_hash_set(page->tracks, key, sizeof(*key), (void *)(uintptr_t)++page->track_count))
		page->error = -ENOMEM;
	return page->track_count - 1;
}

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ ((int64_t)difference < 0 ? UINT64_MAX : 0);
}

static void put_slice(struct html_export *page, const struct page_slice *slice)
{
	const uint64_t numbers[] = {
		slice->track,
		slice->name,
		slice->category,
		slice->flags,
		zigzag(slice->start - page->before),
		slice->end - slice->start,
		slice->stack,
		slice->bytes,
		slice->number,
		slice->call,
		slice->wait,
	};

	begin_record(page, PAGE_SLICE);
	for (size_t i = 0; i < gt_countof(numbers); i++)
		gt_pb_varint(&page->record, numbers[i]);
	put_record(page);
	page->before = slice->start;
}

/* ---- stacks ------------------------------------------------------------------------------- */

struct frame_list {
	struct html_export *page;
	uint64_t count;
};

static void add_frame(void *opaque, const struct gt_stack_frame *frame)
{
	struct frame_list *list = opaque;
	struct html_export *page = list->page;

	if (frame->wrapper)
		return;
	gt_strbuf_clear(&page->text);
	gt_put_frame(&page->text, frame->location, frame->named, frame->address);
	gt_pb_varint(&page->frames, string_number(page, gt_strbuf_string(&page->text)));
	list->count++;
}

/* 0: no stack was recorded, or it has no frames. */
static uint64_t stack_number(struct html_export *page, const struct gt_names *names,
			     uint32_t process, uint64_t stack)
{
	const uint64_t key[2] = {process, stack};
	uintptr_t known = stack ? (uintptr_t)gt_hash_get(page->stacks, key, sizeof(key)) : 0;
	struct frame_list list = {.page = page};

	if (!stack || known)
		return known;
	gt_strbuf_clear(&page->frames);
	gt_stack_each_frame(names, process, stack, add_frame, &list);
	if (!list.count)
		return 0;
	begin_record(page, PAGE_STACK);
	gt_pb_varint(&page->record, list.count);
	gt_strbuf_add(&page->record, page->frames.data, page->frames.length);
	put_record(page);
	if (gt_hash_set(page->stacks, key, sizeof(key), (void *)(uintptr_t)++page->stack_count))
		page->error = -ENOMEM;
	return page->stack_count;
}

/* ---- intervals ---------------------------------------------------------------------------- */

static const char *process_label(struct gt_strbuf *text, const struct gt_names *names,
				 uint32_t process)
{
	gt_strbuf_clear(text);
	gt_put_id(text, process);
	gt_strbuf_printf(text, " %s", gt_names_process(names, process));
	gt_put_rank(text, names, process);
	return gt_strbuf_string(text);
}

static uint32_t thread_track(struct html_export *page, const struct gt_names *names,
			     const struct gt_host_interval *interval)
{
	static const struct {
		enum page_track track;
		const char *label;
	} kinds[GT_HOST_ACTIVITIES] = {
		[GT_HOST_SYSCALL] = {PAGE_SYSCALLS, " system calls"},
		[GT_HOST_FAULT] = {PAGE_FAULTS, " page faults"},
		[GT_HOST_OFF_CPU] = {PAGE_OFF_CPU, " off the CPU"},
	};
	const struct track_key key = {.kind = kinds[interval->activity].track,
				      .process = interval->process,
				      .group = interval->thread};
	const char *suffix = kinds[interval->activity].label;
	char label[48];

	snprintf(label, sizeof(label), "thread %" PRIu32 "%s", gt_id_number(interval->thread),
		 suffix ? suffix : "");
	return track_number(page, &key, process_label(&page->text, names, interval->process),
			    label);
}

static const char *host_name(const struct gt_host_interval *interval)
{
	return interval->activity == GT_HOST_FAULT     ? "page fault"
	       : interval->activity == GT_HOST_OFF_CPU ? "off the CPU"
						       : interval->name;
}

static int put_host(void *opaque, const struct gt_names *names,
		    const struct gt_host_interval *interval)
{
	struct html_export *page = opaque;
	struct page_slice slice = {
		.track = thread_track(page, names, interval),
		.name = string_number(page, host_name(interval)),
		.category = interval->activity,
		.flags = interval->failed ? PAGE_FAILED : 0,
		.start = interval->start,
		.end = interval->end,
		.number = interval->number,
	};

	if (gt_host_is_call(interval->activity)) {
		const struct gt_event_call *call = (const void *)interval->event;

		gt_call_row_fill(&page->call, names, page->demangler, call);
		slice.bytes = page->call.has_bytes ? page->call.bytes : 0;
		slice.stack = stack_number(page, names, interval->process, call->stack);
	}
	put_slice(page, &slice);
	return page->error;
}

/* Streams whose submission was not seen are identified by their handles. */
static uint32_t stream_track(struct html_export *page, const struct gt_names *names,
			     const struct gt_gpu_interval *interval)
{
	bool numbered = interval->queue != GT_STREAM_UNNUMBERED;
	const struct track_key key = {.kind = PAGE_STREAM,
				      .process = interval->process,
				      .group = numbered ? interval->queue : interval->stream};
	gt_auto_strbuf label = GT_STRBUF_INIT;

	if (interval->device != GT_DEVICE_UNKNOWN)
		gt_strbuf_printf(&label, "GPU %d ", interval->device);
	gt_strbuf_puts(&label, "stream ");
	gt_put_stream(&label, interval->stream);
	return track_number(page, &key, process_label(&page->text, names, interval->process),
			    gt_strbuf_string(&label));
}

static int put_gpu(void *opaque, const struct gt_names *names,
		   const struct gt_gpu_interval *interval)
{
	static const unsigned flags[GT_TIMES_BASES] = {
		[GT_TIMES_EXACT] = PAGE_EXACT,
		[GT_TIMES_ESTIMATED] = PAGE_ESTIMATED,
	};
	struct html_export *page = opaque;
	struct page_slice slice = {
		.track = stream_track(page, names, interval),
		.category = GT_HOST_ACTIVITIES + interval->operation,
		.flags = flags[interval->basis],
		.start = interval->start,
		.end = interval->end,
		.bytes = interval->has_bytes ? interval->bytes : 0,
		.number = interval->number,
		.call = interval->call.number,
		.wait = interval->wait.number,
	};

	gt_strbuf_clear(&page->text);
	gt_put_gpu_operation(&page->text, page->demangler, interval);
	slice.name = string_number(page, gt_strbuf_string(&page->text));
	put_slice(page, &slice);
	return page->error;
}

static void put_value(struct html_export *page, uint32_t track, uint64_t time, uint64_t value)
{
	begin_record(page, PAGE_VALUE);
	gt_pb_varint(&page->record, track);
	gt_pb_varint(&page->record, zigzag(time - page->value_before));
	gt_pb_varint(&page->record, value);
	put_record(page);
	page->value_before = time;
}

static int put_memory(void *opaque, const struct gt_names *names,
		      const struct gt_memory_change *change)
{
	struct html_export *page = opaque;
	bool is_host;
	int64_t bytes = gt_memory_change_bytes(change, &is_host);
	struct track_key key = {.kind = PAGE_MEMORY};
	uint64_t value;
	uint32_t track;
	char label[48];

	if (!bytes)
		return 0;
	key.process = change->allocation->process;
	key.group = is_host ? 0 : (uint64_t)(change->allocation->device + 2);
	if (is_host)
		snprintf(label, sizeof(label), "pinned memory");
	else if (change->allocation->device == GT_DEVICE_UNKNOWN)
		snprintf(label, sizeof(label), "memory");
	else
		snprintf(label, sizeof(label), "memory of GPU %d", change->allocation->device);
	track = track_number(page, &key, process_label(&page->text, names, key.process), label);
	value = (uintptr_t)gt_hash_get_u64(page->memory, track + 1);
	value = bytes > 0 || value > (uint64_t)-bytes ? value + (uint64_t)bytes : 0;
	if (gt_hash_set_u64(page->memory, track + 1, (void *)(uintptr_t)value)) // NOLINT
		page->error = -ENOMEM;
	put_value(page, track, change->time, value);
	return page->error;
}

/* A job of the DRM scheduler is a slice when it is done. */
static void put_job(struct html_export *page, const struct gt_names *names,
		    const struct gt_event_drm_job *job)
{
	struct track_key key = {.kind = PAGE_RING};
	size_t size = gt_event_tail_size(&job->head);
	uint64_t end = job->head.time;
	char label[2 * GT_DRM_NAME_SIZE + 16];
	struct page_slice slice;

	if (job->operation != GT_DRM_DONE || !job->ran || job->ran > end)
		return;
	memcpy(key.name, job->names, size < sizeof(key.name) ? size : sizeof(key.name));
	snprintf(label, sizeof(label), "%.*s ring %.*s", GT_DRM_NAME_SIZE,
		 key.name + GT_DRM_NAME_SIZE, GT_DRM_NAME_SIZE, key.name);
	slice = (struct page_slice){
		.track = track_number(page, &key, "DRM", label),
		.category = CATEGORY_JOB,
		.flags = job->error ? PAGE_FAILED : 0,
		.start = end - job->ran,
		.end = end,
	};
	slice.name = string_number(
		page,
		job->head.process ? process_label(&page->text, names, job->head.process) : "job");
	put_slice(page, &slice);
}

/* ---- about -------------------------------------------------------------------------------- */

static void put_about(struct html_export *page, const struct gt_names *names)
{
	const struct gt_timeline_totals *totals = gt_timeline_totals(page->timeline);
	gt_auto_strbuf about = GT_STRBUF_INIT, losses = GT_STRBUF_INIT, overhead = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&about);
	const struct gt_event_account *account = names ? gt_names_account(names) : NULL;

	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "capture", page->capture);
	if (names && gt_names_is_incomplete(names))
		gt_put_losses(&losses, names);
	gt_json_string(&json, "losses", gt_strbuf_string(&losses));
	if (account) {
		gt_json_u64(&json, "calls", account->made);
		gt_json_u64(&json, "lost calls", account->lost);
		gt_json_u64(&json, "unfinished calls", account->unfinished);
	}
	if (names && gt_names_overhead(names)) {
		gt_put_overhead(&overhead, gt_names_overhead(names));
		gt_json_string(&json, "overhead", gt_strbuf_string(&overhead));
	}
	gt_json_u64(&json, "GPU operations with exact times", totals->gpu[GT_TIMES_EXACT]);
	gt_json_u64(&json, "GPU operations with measured times", totals->gpu[GT_TIMES_MEASURED]);
	gt_json_u64(&json, "GPU operations with estimated times", totals->gpu[GT_TIMES_ESTIMATED]);
	gt_json_object_end(&json);
	begin_record(page, PAGE_ABOUT);
	gt_pb_varint(&page->record, about.length);
	gt_strbuf_add(&page->record, about.data, about.length);
	put_record(page);
}

/* ---- the format --------------------------------------------------------------------------- */

static void html_free(struct html_export *page)
{
	gt_page_data_free(&page->data);
	gt_timeline_free(page->timeline);
	gt_demangler_free(page->demangler);
	gt_call_row_free(&page->call);
	gt_hash_free(page->strings);
	gt_hash_free(page->tracks);
	gt_hash_free(page->stacks);
	gt_hash_free(page->memory);
	gt_strbuf_free(&page->record);
	gt_strbuf_free(&page->text);
	gt_strbuf_free(&page->frames);
	free(page);
}

static bool allocate_parts(struct html_export *page)
{
	const struct gt_timeline_sink sink = {
		.host = put_host, .gpu = put_gpu, .memory = put_memory, .context = page};

	page->timeline = gt_timeline_new(&sink);
	page->demangler = gt_demangler_new();
	page->strings = gt_hash_new();
	page->tracks = gt_hash_new();
	page->stacks = gt_hash_new();
	page->memory = gt_hash_new();
	return page->timeline && page->demangler && page->strings && page->tracks && page->stacks &&
	       page->memory;
}

static int html_open(const struct gt_export_options *options, void **ret_state,
		     struct gt_diag *diag)
{
	struct html_export *page = calloc(1, sizeof(*page));
	int error = page && allocate_parts(page) ? 0 : -ENOMEM;

	if (error)
		gt_diag(diag, error, "export", NULL, "out of memory");
	else
		error = gt_sink_open(&page->sink, &options->output, diag);
	if (!error) {
		gt_strbuf_puts(&page->sink.text, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
						 "<meta charset=\"utf-8\"><title>gputap</title>"
						 "<style>");
		gt_strbuf_add(&page->sink.text, page_style, sizeof(page_style));
		gt_strbuf_puts(&page->sink.text, "</style></head><body>\n");
		gt_strbuf_add(&page->sink.text, page_body, sizeof(page_body));
		gt_strbuf_puts(&page->sink.text,
			       "<script type=\"application/octet-stream\" id=\"data\">");
		error = gt_page_data_begin(&page->data, &page->sink);
		if (error)
			gt_sink_close(&page->sink, NULL);
	}
	if (error) {
		if (page)
			html_free(page);
		return error;
	}
	page->capture = options->capture;
	*ret_state = page;
	return 0;
}

static int html_event(void *opaque, const struct gt_names *names, const struct gt_event *event)
{
	struct html_export *page = opaque;
	int error;

	if (event->kind == GT_EVENT_drm_job)
		put_job(page, names, (const void *)event);
	error = gt_timeline_take(page->timeline, names, event);
	return error ? error : page->error;
}

static int html_close(void *opaque, const struct gt_names *names, struct gt_diag *diag)
{
	struct html_export *page = opaque;
	int error = names ? gt_timeline_finish(page->timeline, names) : 0, closed;

	put_about(page, names);
	error = error ? error : page->error;
	if (!error)
		error = gt_page_data_end(&page->data);
	gt_strbuf_puts(&page->sink.text, "</script>\n<script>\n");
	gt_strbuf_add(&page->sink.text, page_script, sizeof(page_script));
	gt_strbuf_puts(&page->sink.text, "</script></body></html>\n");
	closed = gt_sink_close(&page->sink, diag);
	html_free(page);
	return error ? error : closed;
}

const struct gt_export_format gt_export_html = {
	.name = "html",
	.help = "one page with timeline, tables and flame graph, for a browser without a network",
	.extension = ".html",
	.open = html_open,
	.event = html_event,
	.close = html_close,
};
