/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The machine on which events are recorded: the event `machine`, made and read. */
#pragma once

#include <stddef.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "event/event.h"

/* The texts of a `machine` event; those of GPUs follow. */
enum gt_machine_text {
	GT_MACHINE_VERSION, /* of gputap */
	GT_MACHINE_HOST,
	GT_MACHINE_KERNEL,
	GT_MACHINE_ARCHITECTURE,
	GT_MACHINE_CPU,
	GT_MACHINE_BOOT, /* an id that is new with each boot: the same clock in captures */
	GT_MACHINE_DRIVER,
	GT_MACHINE_COMMAND,
	GT_MACHINE_LABEL, /* in a merged capture; else empty */
	GT_MACHINE_TEXTS,
};

/*
 * A `machine` event of this machine and this process, from uname(2), /proc and /sys; the caller
 * frees it. `root` is put before the paths; "" for the true ones. NULL: out of memory.
 */
struct gt_event *gt_machine_event(const char *root);
/* The same machine with another number and label; the caller frees it. NULL: out of memory. */
struct gt_event *gt_machine_relabel(const struct gt_event_machine *machine, __u32 number,
				    const char *label);
/*
 * A text of a checked event, "" if it has none: an enum gt_machine_text, or from GT_MACHINE_TEXTS
 * on a GPU. NULL: there is no such GPU. It is not terminated if the event is malformed:
 * *ret_length.
 */
const char *gt_machine_text(const struct gt_event_machine *machine, unsigned number,
			    size_t *ret_length);
/* Add "gputap 0.1.0 on HOST: Linux 6.1.0 x86_64, 2 CPUs (MODEL), 7.8 GiB; GPU …". */
void gt_put_machine(struct gt_strbuf *text, const struct gt_event_machine *machine);
/* Add an object with these values. */
void gt_json_machine(struct gt_json *json, const char *key, const struct gt_event_machine *machine);
