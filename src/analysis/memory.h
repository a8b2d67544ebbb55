/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is allocated: every process's live allocations, pinned ranges and mappings, kept up from
 * operations. It says what each operation did; analyses count that.
 *
 * Calls of several threads overlap, and their records come in the order of their returns. An
 * address can thus be given out again before the record of its release comes: the release then
 * belongs to the older allocation if it began before the newer one was given out.
 */
#pragma once

#include "analysis/operation.h"

struct gt_allocation {
	uint64_t address; /* or handle */
	uint64_t bytes;   /* as asked for; 0 if that is not known */
	uint64_t time;    /* of the call's return */
	uint64_t stack;
	uint64_t context; /* CUcontext that was current; 0: the device's primary one */
	uint32_t process, thread;
	uint32_t context_number; /* of a `context` event, as recorded; 0: unknown */
	uint32_t function;       /* number, for gt_names_function */
	uint32_t references;     /* of physical memory: to its handle … */
	uint32_t mappings; /* … and addresses at which it is mapped; it is freed when both are 0 */
	int16_t device;
	uint8_t space; /* enum gt_memory_space */
	bool has_bytes;
	bool imported; /* another process's or handle's: not counted as allocated here */
};

enum gt_memory_event {
	GT_MEMORY_ALLOCATED,
	GT_MEMORY_ALLOC_FAILED,
	GT_MEMORY_FREED,
	GT_MEMORY_FREE_FAILED,   /* the allocation still stands */
	GT_MEMORY_FREED_TWICE,   /* failed: it was already freed */
	GT_MEMORY_FREED_FOREIGN, /* failed: it was never allocated */
	GT_MEMORY_FREED_UNSEEN,  /* it worked: the allocation was not seen, or lost */
	GT_MEMORY_REPLACED,      /* given out anew though no release was seen; it may still come: */
	GT_MEMORY_RELEASE_SEEN,  /* the free of an allocation that was replaced */
	GT_MEMORY_IN_GRAPH,      /* a node of a graph that allocates: the graph's, not tracked */
	GT_MEMORY_UNTRACKED,     /* allocated, address not in the record */
	GT_MEMORY_LEFT_TO_RESET, /* freed by a reset of the device … */
	GT_MEMORY_LEFT_TO_CONTEXT, /* … by the end of its context … */
	GT_MEMORY_LEFT_TO_EXIT,    /* … by the end of its process */
};

struct gt_memory_change {
	enum gt_memory_event what;
	/* Of what was allocated or is no more; NULL for failures. Valid during the call. */
	const struct gt_allocation *allocation;
	/* That did it; NULL at the end of a process. */
	const struct gt_operation *operation;
	uint64_t time;
	uint32_t process;
	/* With FREED_TWICE: the stack and time of the first release. */
	uint64_t freed_stack, freed_time;
};

/* 0 or an error, which gt_memory_take returns. */
typedef int (*gt_memory_sink)(void *context, const struct gt_names *names,
			      const struct gt_memory_change *change);

struct gt_memory;

/*
 * With `ranges`, allocations can be found by any address inside them. NULL: no memory.
 */
struct gt_memory *gt_memory_new(bool ranges, gt_memory_sink sink, void *context);
void gt_memory_free(struct gt_memory *memory);
GT_DEFINE_AUTO(memory, struct gt_memory, gt_memory_free)

/* Takes an operation. */
int gt_memory_take(struct gt_memory *memory, const struct gt_names *names,
		   const struct gt_operation *operation);
/* A process ended: all that it has goes. */
int gt_memory_end_process(struct gt_memory *memory, const struct gt_names *names, uint32_t process,
			  uint64_t time);

/* What lies at an address. */
enum gt_address_kind {
	GT_ADDRESS_UNKNOWN, /* nothing that was seen: pageable host memory, most likely */
	GT_ADDRESS_DEVICE,
	GT_ADDRESS_PINNED,
	GT_ADDRESS_MANAGED,
};
/* *ret_device is the ordinal, or GT_DEVICE_UNKNOWN. */
enum gt_address_kind gt_memory_find(const struct gt_memory *memory, uint32_t process,
				    uint64_t address, int *ret_device);

/* Walks over what is live: start with a cursor of zeros; NULL at the end. */
struct gt_memory_cursor {
	size_t process, allocation;
	void *state;
};
const struct gt_allocation *gt_memory_next(const struct gt_memory *memory,
					   struct gt_memory_cursor *cursor);
