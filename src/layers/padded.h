/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What rows of layer sources share: names of fixed size in the tail of an event, errno values. */
#pragma once

#include <stddef.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "event/event.h"
#include "names/names.h"

/* Add " key=name" for the name at `offset` of the tail, `size` bytes with its NULs, if there is
 * one. */
void gt_put_padded(struct gt_strbuf *text, const char *key, const struct gt_event *event,
		   size_t offset, size_t size);
/* Add the name as a string, or null. */
void gt_json_padded(struct gt_json *json, const char *key, const struct gt_event *event,
		    size_t offset, size_t size);
/* The name and its length; NULL: there is none. */
const char *gt_padded(const struct gt_event *event, size_t offset, size_t size, size_t *ret_length);

/* Add "key=context:seqno": a fence, or a job by its fence. */
void gt_put_fence_key(struct gt_strbuf *text, const char *key, uint64_t context, uint64_t seqno);

/* Add the name of a negative errno value: "ETIME". */
void gt_put_errno(struct gt_strbuf *text, int error);
/* The same as the format of a field (struct gt_layer_field); nothing for 0. */
void gt_put_error_field(struct gt_strbuf *text, const struct gt_names *names,
			const struct gt_event *event, uint64_t value);
