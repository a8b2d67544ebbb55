/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Modules that the kernel loads from now on, by its uevents (netlink(7), NETLINK_KOBJECT_UEVENT).
 */
#pragma once

#include <stdbool.h>

/* Return a descriptor that is readable when there are events, or -1: they cannot be seen here. */
int gt_module_events_open(void);
/* Read all events that wait. Whether a module was loaded, or events were missed. */
bool gt_module_events_read(int fd);
/* Whether a module is loaded or built in; '-' and '_' are the same. */
bool gt_module_is_loaded(const char *name);
