/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which CUDA context is current in a thread, as far as known from its driver API calls. */
#pragma once

#include "analysis/operation.h"

struct gt_contexts;

struct gt_contexts *gt_contexts_new(void);
void gt_contexts_free(struct gt_contexts *contexts);

/* 0 or -ENOMEM. */
int gt_contexts_take(struct gt_contexts *contexts, const struct gt_operation *operation);
/*
 * The context that is current in the thread of a call; 0 is its device's primary one, which the
 * runtime API uses.
 */
uint64_t gt_contexts_current(const struct gt_contexts *contexts, const struct gt_event *event);
/* The same number for a handle that a call names. */
uint64_t gt_contexts_number(const struct gt_contexts *contexts, uint32_t process, uint64_t handle);
/*
 * Whether a release of a primary context is the last one by the calls that were seen: it ends the
 * context, unless the runtime API has retained it, too. Ask before gt_contexts_take.
 */
bool gt_contexts_is_last_release(const struct gt_contexts *contexts,
				 const struct gt_operation *operation);
/* Forgets a process. */
void gt_contexts_end_process(struct gt_contexts *contexts, uint32_t process);
