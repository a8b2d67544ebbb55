/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the GPU programs in programs/ collected, as tables and as JSON. Values come from memory that
 * the traced process can write to: they are shown as they are, and indexes are bounded.
 */
#pragma once

#include "base/json.h"
#include "base/strbuf.h"
#include "elf/demangle.h"
#include "run/inject.h"

/* A run of a program, as its report sees it. */
struct gt_gpu_run {
	struct gt_inject *inject;
	const struct gt_bpf_object *object;
	void *state;                  /* of the report's `open`, or NULL */
	struct gt_short_names *names; /* of all kernels, at the end; NULL: not yet */
	unsigned columns;             /* of the terminal that a picture must fit */
	/* Rows of reports on sites: by these instead of what is usual for the report. */
	bool by_instruction, by_line;
	uint64_t top;  /* rows at most, of reports that sort them; 0: all */
	uint64_t line; /* of the loops that are counted; 0: all */
	bool json;
	bool each; /* `poll` adds each record to its text */
};

struct gt_gpu_report {
	const char *name;     /* of the command and of the object */
	bool reads_registers; /* it calls gt_inject_registers */
	/*
	 * For a report that keeps state; all three may be NULL. open: 0 or -ENOMEM. poll: read some
	 * of the records that have arrived; true: there may be more. With `each` it adds them to
	 * `text`, a line or a JSON object on a line for each.
	 */
	int (*open)(struct gt_gpu_run *run);
	bool (*poll)(struct gt_gpu_run *run, struct gt_strbuf *text);
	void (*close)(struct gt_gpu_run *run);
	void (*put)(const struct gt_gpu_run *run, struct gt_strbuf *text);
	/* Adds members to the open object. */
	void (*put_json)(const struct gt_gpu_run *run, struct gt_json *json);
};

extern const struct gt_gpu_report gt_gpu_report_blocktime;
extern const struct gt_gpu_report gt_gpu_report_cudacounter;
extern const struct gt_gpu_report gt_gpu_report_divergence;
extern const struct gt_gpu_report gt_gpu_report_hotloop;
extern const struct gt_gpu_report gt_gpu_report_kernelretsnoop;
extern const struct gt_gpu_report gt_gpu_report_launchlate;
extern const struct gt_gpu_report gt_gpu_report_memtrace;
extern const struct gt_gpu_report gt_gpu_report_stall;
extern const struct gt_gpu_report gt_gpu_report_threadhist;

/*
 * The memory of a map by its name, as an array of `count` values of value_size bytes, copies
 * included. NULL if the object has no such map of that value size.
 */
const void *gt_gpu_report_values(const struct gt_gpu_run *run, const char *map, size_t value_size,
				 uint32_t *ret_count);

/* Accesses to this map that found no copy of their own: of threads beyond --threads. */
uint64_t gt_gpu_report_outside(const struct gt_gpu_run *run, const char *map, size_t value_size);

/* The mangled name of a kernel by the context's `kernel`; "?": unknown. */
const char *gt_gpu_report_kernel(const struct gt_gpu_run *run, uint32_t kernel);
/* Append a kernel's name, or that of another function, as people read it. */
void gt_gpu_report_put_name(const struct gt_gpu_run *run, const char *mangled,
			    struct gt_strbuf *text);
/* An array of x, y and z. */
void gt_gpu_report_json_index(struct gt_json *json, const char *key, const uint32_t index[3]);

/* The next record of a ring by its name: as gt_inject_next_record; 0: there is no such ring. */
int gt_gpu_report_next_record(const struct gt_gpu_run *run, const char *ring,
			      const void **ret_record, uint32_t *ret_size);
/* Records that the ring dropped (buffer full). */
uint64_t gt_gpu_report_lost(const struct gt_gpu_run *run, const char *ring);
