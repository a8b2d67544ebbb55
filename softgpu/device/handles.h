/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The valid handles. A program may pass any pointer as a handle, so every handle is looked up here
 * before it is dereferenced: an invalid one is an error and not a crash.
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
	SG_HANDLE_MIPMAP,
	SG_HANDLE_TEXTURE_REFERENCE,
	SG_HANDLE_CONDITION,
};

/* Register a handle. False: no memory. */
bool sg_handle_add(const void *handle, enum sg_handle kind);
void sg_handle_remove(const void *handle);
/* Return the kind of a handle; SG_HANDLE_NONE if it is not valid. */
enum sg_handle sg_handle_kind(const void *handle);

static inline bool sg_handle_is(const void *handle, enum sg_handle kind)
{
	return sg_handle_kind(handle) == kind;
}
