/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the GPU programs in programs/ collected, as tables and as JSON. Values come from memory that
 * the traced process can write to: they are shown as they are, and indexes are bounded.
 */
#pragma once

#include "base/json.h"
#include "base/strbuf.h"
#include "run/inject.h"

struct gt_gpu_report {
	const char *name; /* of the command and of the object */
	void (*put)(const struct gt_inject *inject, const struct gt_bpf_object *object,
		    struct gt_strbuf *text);
	/* Adds members to the open object. */
	void (*put_json)(const struct gt_inject *inject, const struct gt_bpf_object *object,
			 struct gt_json *json);
};

extern const struct gt_gpu_report gt_gpu_report_cudacounter;
extern const struct gt_gpu_report gt_gpu_report_threadhist;

/*
 * The memory of a map by its name, as an array of `count` values of value_size bytes, copies
 * included. NULL if the object has no such map of that value size.
 */
const void *gt_gpu_report_values(const struct gt_inject *inject, const struct gt_bpf_object *object,
				 const char *map, size_t value_size, uint32_t *ret_count);

/* Accesses to this map that found no copy of their own: of threads beyond --threads. */
uint64_t gt_gpu_report_outside(const struct gt_inject *inject, const struct gt_bpf_object *object,
			       const char *map, size_t value_size);
