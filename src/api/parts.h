/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What launches, copies and allocations are made of, whatever function makes them: found by the
 * roles and labels of the tables. The words of records are untrusted, as for all of src/api.
 */
#pragma once

#include "api/api.h"

/* How a kernel is launched. */
struct gt_api_launch {
	uint32_t grid[3], block[3]; /* 1 where a dimension is not given */
	uint64_t shared;            /* bytes of dynamic shared memory */
};
/* False if the call is no launch or does not tell, as that of a graph. */
bool gt_api_launch(const struct gt_api_function *function, const struct gt_event_call *call,
		   struct gt_api_launch *ret_launch);

/*
 * The stream that a call puts its work into or asks about: an argument, or a field of a structure.
 * False if it has none (then the work of a launch, copy or set goes to the default stream) or the
 * record does not tell.
 */
bool gt_api_stream(const struct gt_api_function *function, const struct gt_event_call *call,
		   uint64_t *ret_stream);
/* Whether calls of this function say which stream they mean. */
bool gt_api_has_stream(const struct gt_api_function *function);

enum gt_api_end_kind {
	GT_END_UNKNOWN, /* the call does not tell: the address decides */
	GT_END_HOST,
	GT_END_DEVICE,
	GT_END_ARRAY, /* on the device; `address` is its handle */
};

/* One end of a copy. */
struct gt_api_end {
	enum gt_api_end_kind kind;
	bool has_address;
	uint64_t address;
	bool has_place;
	uint64_t place; /* the device's ordinal or the context's handle, where the call names one */
};

struct gt_api_ends {
	struct gt_api_end target, source;
};
/* False if the call is no copy, or a list of copies. */
bool gt_api_ends(const struct gt_api_function *function, const struct gt_event_call *call,
		 struct gt_api_ends *ret_ends);

/*
 * What an allocating call gave back: an address or a handle. False if it is no such call, failed,
 * or the record does not tell.
 */
bool gt_api_allocated(const struct gt_api_function *function, const struct gt_event_call *call,
		      uint64_t *ret_address);
/* What a freeing call frees: an argument of it, or -1. */
int gt_api_freed_argument(const struct gt_api_function *function);
/*
 * The bytes of an allocation as asked for: gt_api_bytes, and for arrays what their format and
 * extent come to, without padding. False if the record or the format does not tell.
 */
bool gt_api_allocated_bytes(const struct gt_api_function *function,
			    const struct gt_event_call *call, uint64_t *ret_bytes);

/*
 * Of a launch, allocation, release, copy or set writes which of them it is ("operation") and what
 * is known of it: "grid", "block" and "shared" of a launch, "address" and "bytes" of memory,
 * "destination", "source" and "bytes" of a copy, and the "stream", under these keys whichever
 * function it is.
 */
void gt_api_json_parts(struct gt_json *json, const struct gt_api_function *function,
		       const struct gt_event_call *call);
