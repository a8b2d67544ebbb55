/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shared part of an event that several processes use: a page of a memfd that counts how often
 * the event was recorded, and which of these records streams have reached.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

struct sg_shared_event;

/* Create a page. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_shared_event_new(struct sg_shared_event **ret_shared);
/* Map the page in a file of another process; takes over the file, also on failure. */
CUresult sg_shared_event_open(int fd, struct sg_shared_event **ret_shared);
struct sg_shared_event *sg_shared_event_reference(struct sg_shared_event *shared);
/* Takes NULL. */
void sg_shared_event_unreference(struct sg_shared_event *shared);
/* Return its file, which it still owns. */
int sg_shared_event_file(const struct sg_shared_event *shared);

/* Count a new record and return its number. */
uint64_t sg_shared_event_submit(struct sg_shared_event *shared);
/* Return the number of the last record that any process has submitted. */
uint64_t sg_shared_event_last(const struct sg_shared_event *shared);
/* Note that a stream has reached a record. */
void sg_shared_event_signal(struct sg_shared_event *shared, uint64_t number);
bool sg_shared_event_is_there(const struct sg_shared_event *shared, uint64_t number);
/* Wait until a stream has reached a record. Returns the context's error if it fails meanwhile. */
CUresult sg_shared_event_wait(const struct sg_shared_event *shared, uint64_t number,
			      CUcontext context);
