/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Devices by their ordinals, and contexts by their numbers in `call` events, learnt from `device`
 * and `context` events. Ordinals differ from process to process (CUDA_VISIBLE_DEVICES); a device of
 * process 0 is the default of all processes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"
#include "event/event.h"

#define GT_UUID_TEXT 37 /* "f41b5d2c-…" with its NUL */

struct gt_known_device {
	char uuid[GT_UUID_TEXT]; /* without "GPU-"; "": unknown */
	const char *name;        /* NULL: unknown; valid until the next event */
};

struct gt_context {
	uint64_t handle;
	int device; /* or GT_DEVICE_UNKNOWN */
	bool primary;
};

struct gt_devices;

/* NULL: no memory. */
struct gt_devices *gt_devices_new(void);
void gt_devices_free(struct gt_devices *devices);
GT_DEFINE_AUTO(devices, struct gt_devices, gt_devices_free)

/* Learn from `device` and `context` events. 0 or -ENOMEM. */
int gt_devices_take(struct gt_devices *devices, const struct gt_event *event);
/* False: nothing is known of that device. */
bool gt_devices_find(const struct gt_devices *devices, uint32_t process, int ordinal,
		     struct gt_known_device *ret_device);
/* NULL: the number is 0 or unknown. */
const struct gt_context *gt_devices_context(const struct gt_devices *devices, uint32_t process,
					    uint32_t number);

/*
 * A `device` event; the caller frees it. `uuid` has 16 bytes or is NULL, `name` may be NULL.
 * NULL: no memory.
 */
struct gt_event *gt_device_event(uint32_t process, int ordinal, const uint8_t *uuid,
				 const char *name);
