/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The processes that have mapped a Python interpreter: CPython 3.9 to 3.13, as a program or as
 * libpython, in a file whose name begins with "python" or "libpython". BPF programs find them in a
 * map, and walk their Python frames (python.bpf.h).
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/clean.h"
#include "base/diag.h"
#include "event/event.h"
#include "event/queue.h"

struct gt_pythons;

/*
 * Creates the map, for at most `limit` processes. An interpreter whose frames cannot be walked is
 * noted in `notes`, which must outlive it, with the reason. 0, or a negative errno with a
 * diagnosis.
 */
int gt_pythons_open(struct gt_event_queue *notes, uint32_t limit, struct gt_pythons **ret_pythons,
		    struct gt_diag *diag);
void gt_pythons_close(struct gt_pythons *pythons);
GT_DEFINE_AUTO(pythons, struct gt_pythons, gt_pythons_close)

/* The descriptor of the map `pythons` (python.bpf.h). */
int gt_pythons_fd(const struct gt_pythons *pythons);

/*
 * Enters the process of a mapping if the file is an interpreter; each file is read once. A process
 * that does not fit has no Python frames. On a machine other than x86-64 none has.
 */
void gt_pythons_add_mapping(struct gt_pythons *pythons, const struct gt_event_mapping *mapping);
/* The same for all mappings that a process has now. */
void gt_pythons_add_process(struct gt_pythons *pythons, pid_t process);
/* Removes a process that has ended. */
void gt_pythons_remove(struct gt_pythons *pythons, uint32_t process);
