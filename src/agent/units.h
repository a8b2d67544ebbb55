/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a program of OpenCL or a module of Level Zero is made of, as the collector takes it: the
 * chunks of GT_AGENT_PROGRAM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/protocol.h"

struct gt_agent_units {
	char *bytes; /* NULL: none */
	size_t size;
	bool failed; /* out of memory: what is there is not complete */
};

void gt_agent_units_add(struct gt_agent_units *units, enum gt_agent_chunk_kind kind,
			const void *bytes, size_t size);
/* A chunk whose bytes the caller writes to the result, or NULL. */
char *gt_agent_units_reserve(struct gt_agent_units *units, enum gt_agent_chunk_kind kind,
			     size_t size);
void gt_agent_units_append(struct gt_agent_units *units, const struct gt_agent_units *others);
/* A binary: all of it where it is SPIR-V or the bitcode of SPIR. */
void gt_agent_units_add_binary(struct gt_agent_units *units, const void *bytes, size_t size);
/* Whether they are those of a program that was created from a binary. */
bool gt_agent_units_is_binary(const struct gt_agent_units *units);
void gt_agent_units_clear(struct gt_agent_units *units);
