/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The values of a call and of an operation of a GPU that formats have in common. */
#pragma once

#include "analysis/timeline/timeline.h"
#include "api/call.h"
#include "base/json.h"
#include "elf/demangle.h"
#include "layers/layers.h"

/* Texts live as the names or the demangler, except `result`. */
struct gt_call_row {
	const struct gt_event_call *event;
	struct gt_call call;
	const char *name;
	uint64_t start;
	bool has_result; /* else it was abandoned */
	struct gt_strbuf result;
	const struct gt_context *context; /* NULL: unknown */
	bool has_stream, has_bytes, has_launch;
	uint64_t stream, bytes;
	const char *direction; /* NULL: no copy, or unknown */
	const char *kernel;    /* demangled; NULL: none, or unknown */
	struct gt_call_launch launch;
};

/*
 * The row of an event that formats show as such: of a layer, but not `gpu_work`, of which the
 * timeline makes an operation. NULL: none.
 */
const struct gt_layer_kind *gt_export_layer_kind(const struct gt_event *event);

/* `row` is zero, or has been filled before: the memory of `result` is used again. */
void gt_call_row_fill(struct gt_call_row *row, const struct gt_names *names,
		      struct gt_demangler *demangler, const struct gt_event_call *event);
void gt_call_row_free(struct gt_call_row *row);

/* What a change adds to the allocated memory of a device or, is_host, to pinned memory; or 0. */
int64_t gt_memory_change_bytes(const struct gt_memory_change *change, bool *ret_is_host);

/* Add a size of a launch: "4x1x1". */
void gt_put_dimensions(struct gt_strbuf *text, const uint32_t dimensions[3]);
/* Add the name of a stream: "legacy", "per-thread", or its handle. */
void gt_put_stream(struct gt_strbuf *text, uint64_t stream);
/* Add the name of an operation: that of its kernel, or "H2D". */
void gt_put_gpu_operation(struct gt_strbuf *text, struct gt_demangler *demangler,
			  const struct gt_gpu_interval *interval);
/* Add the members of an object that describes an operation of a GPU: "gputap.gpu_operation.1". */
void gt_json_gpu_interval(struct gt_json *json, const struct gt_names *names,
			  struct gt_demangler *demangler, const struct gt_gpu_interval *interval);
