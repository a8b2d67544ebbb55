/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Formats of other programs that captures are exported to: one file per format, the list is in
 * src/export/formats.c. A format takes every event in the order of the stream and writes one file.
 * Its memory does not grow with the number of events. docs/export.md describes the formats.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "event/event.h"
#include "names/names.h"
#include "output/output.h"

/* What the width of a frame means in formats of stacks. */
enum gt_export_weight {
	GT_WEIGHT_CALL_TIME, /* ns in outermost calls */
	GT_WEIGHT_LAUNCHES,  /* of kernels and graphs */
	GT_WEIGHT_BYTES,     /* that calls allocate, copy or set */
	GT_WEIGHT_GPU_TIME,  /* ns of operations of GPUs */
	GT_EXPORT_WEIGHTS,
};
/* "call-time", "launches", "bytes", "gpu-time"; NULL at the end. */
extern const char *const gt_export_weight_names[];

struct gt_export_options {
	struct gt_output_options output; /* where to write; the rest is not used */
	const char *capture;             /* its file, for the metadata of the export */
	enum gt_export_weight weight;    /* of formats that are weighted */
	bool comments;                   /* of formats that have comments only if asked for */
};

struct gt_export_format {
	const char *name;
	const char *help;      /* one line */
	const char *extension; /* of default file names: ".csv" */
	bool is_binary;        /* not for terminals */
	bool is_weighted;      /* --weight applies */
	bool has_comments;     /* --comments applies */
	bool needs_file;       /* cannot be written to a pipe */
	int (*open)(const struct gt_export_options *options, void **ret_state,
		    struct gt_diag *diag);
	/* 0 or -Exxx: the file cannot be written; -EPIPE: nobody reads it any more. */
	int (*event)(void *state, const struct gt_names *names, const struct gt_event *event);
	/*
	 * Write the rest, close, free. 0 or the first error that there was. `names` knows all
	 * events; NULL: there were none.
	 */
	int (*close)(void *state, const struct gt_names *names, struct gt_diag *diag);
};

/* All formats, in the order of lists: FORMAT(identifier). */
#define GT_EXPORT_FORMATS(FORMAT)                                                                  \
	FORMAT(jsonl)                                                                              \
	FORMAT(csv)                                                                                \
	FORMAT(chrome)                                                                             \
	FORMAT(perfetto)                                                                           \
	FORMAT(sqlite)                                                                             \
	FORMAT(folded)                                                                             \
	FORMAT(svg)                                                                                \
	FORMAT(pprof)                                                                              \
	FORMAT(speedscope)                                                                         \
	FORMAT(html)

#define GT_EXPORT_FORMAT(identifier) extern const struct gt_export_format gt_export_##identifier;
GT_EXPORT_FORMATS(GT_EXPORT_FORMAT)
#undef GT_EXPORT_FORMAT

/* The formats and their names, each ended by NULL. */
extern const struct gt_export_format *const gt_export_formats[];
extern const char *const gt_export_format_names[];
