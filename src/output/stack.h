/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The callers of a call, in the forms that outputs need. */
#pragma once

#include "base/json.h"
#include "names/names.h"

struct gt_stack_frame {
	const struct gt_location *location;
	const struct gt_source_frame *named; /* NULL: nothing is known of it */
	__u64 address;
	bool wrapper; /* of the API: nothing that somebody wrote */
};

/* Called for each frame of a caller: one, or those that were inlined there, too. */
typedef void (*gt_frame_taker)(void *context, const struct gt_stack_frame *frame);

/* Pass on the frames of a stack, the innermost first; none where it is not known. */
void gt_stack_each_frame(const struct gt_names *names, __u32 process, __u64 stack,
			 gt_frame_taker take, void *context);

/*
 * One line a caller, the innermost first, each behind `column` spaces and "at ". Wrappers of the
 * API and stubs of launches (gt_stack_wrappers) are among them only if they are asked for, and so
 * are addresses in no file, other than the innermost.
 */
void gt_put_stack(struct gt_strbuf *text, const struct gt_names *names, __u32 process, __u64 stack,
		  int column, bool wrappers);

/*
 * An object {id, frames: [{address, module, function, file, line, inlined, wrapper}, …]}, the
 * innermost first; what is not known of a frame is not there. A Python frame has
 * language, "python", in place of address and module. null: no stack was taken.
 */
void gt_json_stack(struct gt_json *json, const char *key, const struct gt_names *names,
		   __u32 process, __u64 stack);
