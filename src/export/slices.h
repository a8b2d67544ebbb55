/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tracks with slices and counters, made from a stream of events: what viewers of timelines draw.
 * There is a track per thread with its calls, system calls, waits and other events, per stream with
 * the operations of the GPU, per ring of a GPU's driver with its jobs, and per counter.
 *
 * The slices of a track are passed on in the order of their beginnings, and each lies in the one
 * around it or after it. What overlaps partly is put into further tracks (lanes). Events come in
 * the order of their ends: the slices of a thread wait until its outermost call has returned, at
 * most GT_SLICES_MAX_PENDING of them. Slices that come too late are counted as unordered.
 */
#pragma once

#include "analysis/timeline/timeline.h"
#include "elf/demangle.h"

#define GT_SLICES_MAX_PENDING 65536 /* of a thread */

enum gt_track_kind {
	GT_TRACK_PROCESS,
	GT_TRACK_THREAD,
	GT_TRACK_GROUP, /* has no slices: a GPU of a process */
	GT_TRACK_SLICES,
	GT_TRACK_COUNTER,
};

enum gt_counter_unit {
	GT_UNIT_NONE,
	GT_UNIT_COUNT,
	GT_UNIT_BYTES,
};

struct gt_track {
	uint32_t number;               /* from 1 */
	const struct gt_track *parent; /* NULL: none */
	enum gt_track_kind kind;
	enum gt_counter_unit unit;
	uint32_t process, thread; /* 0: of none */
	const char *name;
	void *written; /* of the writer: NULL at first */
};

/* Details of slices: key and how it is written. The list is in slices.c. */
enum gt_detail {
#define GT_DETAIL(identifier) GT_DETAIL_##identifier,
#include "export/details.def"
#undef GT_DETAIL
	GT_DETAILS
};
const char *gt_detail_name(enum gt_detail detail);

struct gt_slice {
	struct gt_track *track;
	uint64_t start, end; /* ns; equal for an instant */
	bool is_instant;
	const char *name;     /* lives as the names */
	const char *category; /* "cuda", "gpu", the source of an event */
	const char *details;  /* as the writer encoded them */
	size_t details_size;
	/* Numbers of operations of GPUs: this call submitted so many, from first_flow on … */
	uint64_t first_flow, flows;
	uint64_t ended_flow; /* … or this is the operation, whose call was seen; 0: neither */
	/* The operation's end is what a call waited for: its number; or this is the call. */
	uint64_t wait_flow;
	struct gt_timeline_waited waited;
};

/* The end of a slice, and the operations whose ends it waited for. */
struct gt_slice_end {
	uint64_t time;
	struct gt_timeline_waited waited;
};

/* How a format is written. Functions return 0 or -Exxx. */
struct gt_slice_writer {
	/* Add a detail to what will be passed on with its slice. */
	void (*put_number)(struct gt_strbuf *to, enum gt_detail detail, uint64_t value);
	void (*put_address)(struct gt_strbuf *to, enum gt_detail detail, uint64_t value);
	void (*put_text)(struct gt_strbuf *to, enum gt_detail detail, const char *text);
	/*
	 * Before anything else of a track, and after its parent. The names of processes and threads
	 * are not known before the end.
	 */
	int (*begin_track)(void *context, struct gt_track *track);
	/* At the end, for processes and threads. */
	int (*name_track)(void *context, const struct gt_track *track);
	int (*begin_slice)(void *context, const struct gt_slice *slice);
	int (*end_slice)(void *context, struct gt_track *track,
			 const struct gt_slice_end *end); /* NULL: not needed */
	int (*put_counter)(void *context, struct gt_track *track, uint64_t time, uint64_t value);
};

struct gt_slices_totals {
	uint64_t slices;
	uint64_t unordered; /* of them: passed on after a later one of their track */
};

struct gt_slices;

/* `writer` and `context` must outlive the slices. NULL: out of memory. */
struct gt_slices *gt_slices_new(const struct gt_slice_writer *writer, void *context);
void gt_slices_free(struct gt_slices *slices);
GT_DEFINE_AUTO(slices, struct gt_slices, gt_slices_free)

/* Take an event. 0, -ENOMEM, or an error of the writer. */
int gt_slices_take(struct gt_slices *slices, const struct gt_names *names,
		   const struct gt_event *event);
/*
 * The stream of events ended: pass on what is pending, then an instant with the losses of the
 * capture.
 */
int gt_slices_finish(struct gt_slices *slices, const struct gt_names *names);
const struct gt_slices_totals *gt_slices_totals(const struct gt_slices *slices);
