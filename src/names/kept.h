/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What names find in files (callers, the resources of kernels), as events: so a capture can be
 * analysed where these files are not. Both directions of `location` and `resources` events.
 */
#pragma once

#include "api/kernels/parameters.h"
#include "elf/symbolize.h"
#include "event/event.h"

/* A location that was in an event; it owns its texts. */
struct gt_kept_location {
	struct gt_location location;
	struct gt_source_frame *frames;
	char *text;
};

/* Make an event, which the caller frees; NULL: out of memory. */
struct gt_event *gt_kept_location_event(uint32_t process, uint64_t address,
					const struct gt_location *location);
struct gt_event *gt_kept_resources_event(const struct gt_kernel *kernel);

/* Read a `location` event, as far as it is well-formed. NULL: out of memory. */
struct gt_kept_location *gt_kept_location_new(const struct gt_event_location *event);
void gt_kept_location_free(void *kept);
/* Add the kernel of a `resources` event. 0, also if it is malformed; -ENOMEM. */
int gt_kept_resources_add(const struct gt_event_resources *event, struct gt_parameters *parameters);
