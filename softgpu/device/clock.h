/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device's clock, which times events and drives %globaltimer.
 *
 * In real time it is CLOCK_MONOTONIC, moved by SOFTGPU_CLOCK_OFFSET and made too fast by
 * SOFTGPU_CLOCK_DRIFT parts per million, counted from the device's start.
 *
 * In virtual time (SOFTGPU_TIME=virtual) operations take modelled times instead of their own. An
 * operation begins at the latest of: the end of the one before it in its stream, the ends of
 * what it waits for, and the host's virtual time when it was submitted. The host's virtual time
 * is the latest end of what it has waited for: its own work takes no time. So the times of a
 * program with one thread are the same in every run.
 */
#pragma once

#include <stdint.h>

struct sg_operation;
struct sg_work;
struct sg_grid_result;

/* Start the clock; called once. */
void sg_clock_begin(void);

/*
 * Return what a kernel reads from %globaltimer, in ns. In virtual time it is at least the start of
 * the operation that began last, and every read advances it by 1 us, so that loops that wait for it
 * end.
 */
uint64_t sg_clock_timer(void *unused);

/*
 * The life of an operation. The first three return CLOCK_MONOTONIC (in virtual time the virtual
 * clock), for the log; start and end also set the operation's times.
 */
uint64_t sg_clock_submit(struct sg_operation *operation);
uint64_t sg_clock_start(struct sg_operation *operation);
uint64_t sg_clock_end(struct sg_operation *operation);
/* An operation's time as a program sees it: on the device's clock. */
uint64_t sg_clock_device(uint64_t ns);
/* The host has waited for the operation. */
/*
 * Works that an operation runs one after the other (a conditional node's): when the next begins,
 * and when the one just run ended. `start` is the operation's.
 */
uint64_t sg_clock_nested_start(uint64_t start);
uint64_t sg_clock_nested_end(uint64_t start, const struct sg_work *work);
void sg_clock_joined(const struct sg_operation *operation);

/* The modelled time of a kernel, which the operation that runs in this thread takes. */
void sg_clock_kernel_took(const struct sg_grid_result *result);
