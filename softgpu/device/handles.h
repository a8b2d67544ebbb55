/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which handles are alive. A program may pass anything where a handle is expected; every handle
 * is looked up here before it is followed, so that a wrong one is an error and no crash.
 */
#pragma once

#include <stdbool.h>

enum sg_handle {
	SG_HANDLE_NONE,
	SG_HANDLE_CONTEXT,
	SG_HANDLE_STREAM,
	SG_HANDLE_EVENT,
	SG_HANDLE_MODULE,
	SG_HANDLE_FUNCTION,
	SG_HANDLE_LIBRARY,
	SG_HANDLE_KERNEL,
	SG_HANDLE_LINKER,
	SG_HANDLE_POOL,
	SG_HANDLE_GRAPH,
	SG_HANDLE_NODE,
	SG_HANDLE_EXECUTABLE,
	SG_HANDLE_USER_OBJECT,
	SG_HANDLE_MEMORY,
	SG_HANDLE_ARRAY,
	SG_HANDLE_CONDITION,
};

/* Makes a handle known. False: no memory. */
bool sg_handle_add(const void *handle, enum sg_handle kind);
void sg_handle_remove(const void *handle);
/* What it is; SG_HANDLE_NONE if it is not alive. */
enum sg_handle sg_handle_kind(const void *handle);

static inline bool sg_handle_is(const void *handle, enum sg_handle kind)
{
	return sg_handle_kind(handle) == kind;
}
