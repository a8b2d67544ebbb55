/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The text of a system call, of a record as a capture may have it. The input is what follows its
 * head. */
#include <stdlib.h>
#include <string.h>

#include "event/kinds.h"
#include "kernel/syscalls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct gt_event head = {
		.kind = GT_EVENT_syscall,
		.size = (__u16)((sizeof(head) + size) & ~(size_t)7),
	};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_event_syscall *event;

	if (size < sizeof(*event) - sizeof(head) || size > 4096)
		return 0;
	event = malloc(head.size);
	if (!event)
		return 0;
	memcpy(event, &head, sizeof(head));
	memcpy((char *)event + sizeof(head), data, head.size - sizeof(head));
	if (!gt_event_check(&event->head, head.size)) {
		gt_syscall_put_name(&text, event);
		gt_syscall_put_arguments(&text, event);
		gt_syscall_put_result(&text, event);
		if (text.length > 64 * 1024)
			abort();
	}
	free(event);
	return 0;
}
