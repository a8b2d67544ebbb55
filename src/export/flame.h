/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A tree of callers with weights, for formats of stacks: process, callers (the outermost first),
 * the called function, and the kernel or the operation of the GPU. Its size is that of the distinct
 * stacks.
 */
#pragma once

#include "analysis/timeline/timeline.h"
#include "base/hash.h"
#include "base/vec.h"
#include "export/export.h"
#include "export/rows.h"
#include "output/sink.h"

/* A function; what is on the GPU has no file. */
struct gt_flame_frame {
	char *name, *file; /* owned; file "": unknown */
	uint32_t line;
	bool is_gpu;
};

struct gt_flame_node {
	uint32_t parent, frame;              /* indices; node 0 is the root, which has no frame */
	uint64_t weights[GT_EXPORT_WEIGHTS]; /* of its own, without those of its children */
};

struct gt_flame {
	struct gt_sink sink;
	const char *capture;
	enum gt_export_weight weight;
	bool comments;
	struct gt_strbuf incomplete; /* a line that says what is missing; empty: nothing */
	GT_VEC(struct gt_flame_frame) frames;
	GT_VEC(struct gt_flame_node) nodes; /* parents come before their children */
	struct gt_hash *frame_numbers;      /* kind, name, file, line -> number + 1 */
	struct gt_hash *node_numbers;       /* parent and frame -> number */
	struct gt_hash *stacks;     /* process and stack -> number of the innermost caller */
	struct gt_hash *operations; /* number of an operation -> node of its call */
	struct gt_timeline *timeline;
	struct gt_demangler *demangler;
	struct gt_call_row row;
	struct gt_strbuf text; /* its memory is used again */
	uint64_t start_realtime, start, end;
};

/* "ns", "count", "bytes" */
const char *gt_flame_unit(enum gt_export_weight weight);

/* For `open` and `event` of formats. */
int gt_flame_open(const struct gt_export_options *options, void **ret_state, struct gt_diag *diag);
int gt_flame_event(void *state, const struct gt_names *names, const struct gt_event *event);
/* For `close`: `put` adds the file to flame->sink.text, and may return an error. */
int gt_flame_close(void *state, const struct gt_names *names, struct gt_diag *diag,
		   int (*put)(struct gt_flame *flame));
/*
 * The frames of a node, the outermost first: indices into flame->frames. Returns their number, at
 * most GT_FLAME_MAX_DEPTH.
 */
#define GT_FLAME_MAX_DEPTH 512
unsigned gt_flame_path(const struct gt_flame *flame, size_t node,
		       uint32_t ret_frames[GT_FLAME_MAX_DEPTH]);
