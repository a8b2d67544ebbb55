/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which events name what others refer to. */
#include <string.h>

#include "capture/capture.h"
#include "event/kinds.h"

#define WHOLE 0xff /* all of its bytes */

/* What makes the identity of an event beside its process and device: the first bytes of its fields.
 */
static const struct {
	bool names;
	uint8_t bytes;
} identities[GT_EVENT_KINDS] = {
	[GT_EVENT_process] = {true, 0},       [GT_EVENT_command] = {true, 0},
	[GT_EVENT_cgroup] = {true, 0},        [GT_EVENT_library] = {true, 4},
	[GT_EVENT_function] = {true, 4},      [GT_EVENT_stack] = {true, 8},
	[GT_EVENT_mapping] = {true, 8},       [GT_EVENT_clock] = {true, 0},
	[GT_EVENT_account] = {true, 0},       [GT_EVENT_context] = {true, 12},
	[GT_EVENT_device] = {true, 0},        [GT_EVENT_kernel] = {true, 8},
	[GT_EVENT_gap] = {true, WHOLE},       [GT_EVENT_code] = {true, 8},
	[GT_EVENT_python] = {true, 8},        [GT_EVENT_location] = {true, 8},
	[GT_EVENT_resources] = {true, WHOLE}, [GT_EVENT_totals] = {true, WHOLE},
	[GT_EVENT_machine] = {true, 16},      [GT_EVENT_sums] = {true, 4},
	[GT_EVENT_overhead] = {true, 0},      [GT_EVENT_rank] = {true, 0},
	[GT_EVENT_via] = {true, 4},
};

bool gt_capture_names(const struct gt_event *event)
{
	return event->kind < GT_EVENT_KINDS && identities[event->kind].names;
}

/* FNV-1a: of what is longer than the room. */
static uint64_t hash_bytes(const uint8_t *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

size_t gt_capture_identity(const struct gt_event *event, void *key, size_t room)
{
	const uint8_t *fields = (const uint8_t *)(event + 1);
	size_t bytes = identities[event->kind].bytes, rest = event->size - sizeof(*event);
	struct {
		__u32 process;
		__u16 kind;
		__s16 device;
	} head = {event->process, event->kind, event->device};
	uint64_t hash;

	memcpy(key, &head, sizeof(head));
	if (bytes == WHOLE) {
		hash = hash_bytes(fields, rest);
		memcpy((uint8_t *)key + sizeof(head), &hash, sizeof(hash));
		return sizeof(head) + sizeof(hash);
	}
	if (bytes > rest)
		bytes = rest;
	if (bytes > room - sizeof(head))
		bytes = room - sizeof(head);
	memcpy((uint8_t *)key + sizeof(head), fields, bytes);
	return sizeof(head) + bytes;
}
