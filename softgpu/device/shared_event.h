/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What events of several processes have in common: a page of a memfd that counts how often the
 * event was recorded, and up to which of these records streams have come.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

struct sg_shared_event;

/* A new page. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_shared_event_new(struct sg_shared_event **ret_shared);
/* The page in a file of another process; takes the file over, also on failure. */
CUresult sg_shared_event_open(int fd, struct sg_shared_event **ret_shared);
struct sg_shared_event *sg_shared_event_reference(struct sg_shared_event *shared);
/* Takes NULL. */
void sg_shared_event_unreference(struct sg_shared_event *shared);
/* Its file, which stays its own. */
int sg_shared_event_file(const struct sg_shared_event *shared);

/* The number of a new record. */
uint64_t sg_shared_event_submit(struct sg_shared_event *shared);
/* The number of the last record that anybody has submitted. */
uint64_t sg_shared_event_last(const struct sg_shared_event *shared);
/* A stream has come to a record. */
void sg_shared_event_signal(struct sg_shared_event *shared, uint64_t number);
bool sg_shared_event_is_there(const struct sg_shared_event *shared, uint64_t number);
/* Until it is there; or the error that the context fails with meanwhile. */
CUresult sg_shared_event_wait(const struct sg_shared_event *shared, uint64_t number,
			      CUcontext context);
