/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "layers/padded.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "event/kinds.h"

const char *gt_padded(const struct gt_event *event, size_t offset, size_t size, size_t *ret_length)
{
	const char *name = (const char *)event + gt_event_kind(event->kind)->size + offset;

	if (gt_event_tail_size(event) < offset + size || !*name)
		return NULL;
	*ret_length = strnlen(name, size);
	return name;
}

void gt_put_padded(struct gt_strbuf *text, const char *key, const struct gt_event *event,
		   size_t offset, size_t size)
{
	size_t length;
	const char *name = gt_padded(event, offset, size, &length);
	gt_autofree char *copy = name ? strndup(name, length) : NULL;

	if (!copy)
		return;
	gt_strbuf_printf(text, " %s=", key);
	gt_put_printable(text, copy);
}

void gt_json_padded(struct gt_json *json, const char *key, const struct gt_event *event,
		    size_t offset, size_t size)
{
	size_t length;
	const char *name = gt_padded(event, offset, size, &length);

	if (name)
		gt_json_string_bytes(json, key, name, length);
	else
		gt_json_null(json, key);
}

void gt_put_fence_key(struct gt_strbuf *text, const char *key, uint64_t context, uint64_t seqno)
{
	gt_strbuf_printf(text, "%s=%" PRIu64 ":%" PRIu64, key, context, seqno);
}

void gt_put_errno(struct gt_strbuf *text, int error)
{
	const char *name = error < 0 ? strerrorname_np(-error) : NULL;

	if (name)
		gt_strbuf_puts(text, name);
	else
		gt_strbuf_i64(text, error);
}

void gt_put_error_field(struct gt_strbuf *text, const struct gt_names *names,
			const struct gt_event *event, uint64_t value)
{
	if (value)
		gt_put_errno(text, (int32_t)value);
}
