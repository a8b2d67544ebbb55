/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading the bytes of GT_AGENT_PROGRAM, which are hostile. */
#pragma once

#include "base/vec.h"
#include "opencl/opencl.h"

/* What a program is made of; it refers to the bytes. */
struct gt_inject_units {
	GT_VEC(struct gt_cl_source) sources;
	GT_VEC(struct gt_cl_header) headers;
	GT_VEC(char *) texts;       /* owned */
	const char *device_options; /* NULL: none */
	const char *device;         /* GT_AGENT_CHUNK_DEVICE_NAME; NULL: none */
	bool has_binary;            /* of unknown kind: it is not in `sources` */
};

/*
 * 0; -EINVAL: they are malformed, or there is no code; -E2BIG: there are too many sources or
 * headers; -ENOMEM. The caller clears the units, also after an error.
 */
int gt_inject_units_read(const void *bytes, size_t size, struct gt_inject_units *ret_units);
void gt_inject_units_clear(struct gt_inject_units *units);
