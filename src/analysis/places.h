/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A place is where something happens: kind, process, stack, function. What happens there is
 * counted, to tell what is odd (findings.h).
 */
#pragma once

#include "analysis/findings.h"
#include "analysis/operation.h"
#include "base/hash.h"

struct gt_place_key {
	uint64_t stack;
	uint64_t detail; /* bytes of an allocation, handle of a kernel */
	uint32_t process;
	uint32_t function;
	uint64_t kind;
};

struct gt_place {
	struct gt_place_key key;
	const char *function;
	char *process_name;
	char *text; /* a kernel, an error: by kind */
	uint64_t count;
	uint64_t all; /* of what might have been one */
	uint64_t bytes, ns;
	uint64_t live, most_live; /* allocations */
};

/* The place of a call; `detail` as in the key. */
struct gt_place_key gt_place_key_of(enum gt_finding_kind kind, const struct gt_event_call *call,
				    uint64_t detail);
/*
 * The place in a map of places (key -> place), which is new if there was none. NULL where no room
 * is: then nothing is counted.
 */
struct gt_place *gt_place_in(struct gt_hash *places, const struct gt_names *names,
			     const struct gt_place_key *key);
/* As maps free what is in them. */
void gt_place_free(void *place);
/* Counts an operation on so many bytes; a NULL place counts nothing. */
void gt_place_count(struct gt_place *place, const struct gt_operation *operation, uint64_t bytes);
