/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Host calls: operations on maps that GPUs cannot access (GT_BPF_MAP_HOST). A thread of the GPU
 * takes a slot in memory that it shares with the host, writes a request, rings the slot's bell and
 * waits; the host serves it and writes the result.
 *
 *	GT_HOST_CALL_FREE       the GPU takes it by compare and swap, and writes the request then
 *	GT_HOST_CALL_TAKEN
 *	GT_HOST_CALL_REQUEST    stored with release; the bell follows
 *	GT_HOST_CALL_DONE       by compare and swap from REQUEST, with release
 *	GT_HOST_CALL_ABANDONED  the GPU has given up: the host frees the slot
 *
 * The state's upper bits are a generation, which the host increments when it reclaims the slot of a
 * thread that is gone; a thread that finds another one has lost its call.
 *
 * Nothing waits for ever. A thread waits for GT_HOST_CALL_WAIT_NS at most, for a slot and the
 * result together; OpenCL devices without a clock poll GT_HOST_CALL_POLLS times. Then it clears
 * `alive` and counts a lost call. Calls that find `alive` clear are lost at once. A host that is
 * alive sets it again and again.
 *
 * Programs of any process can write to the memory: the host reads it as hostile input. It copies a
 * request once, and nothing in it but the map's number and the operation is interpreted.
 */
#pragma once

#include "gpubpf/map/map.h"

enum {
	GT_HOST_CALL_SLOTS = 256, /* a power of two, a multiple of 64 */
	GT_HOST_CALL_WAIT_NS = 1000000000,
	GT_HOST_CALL_POLLS = 1 << 20,
	GT_HOST_CALL_RECLAIM_MS = 30000, /* a slot that no thread of the GPU holds for so long */
};

enum gt_host_call_phase {
	GT_HOST_CALL_FREE,
	GT_HOST_CALL_TAKEN,
	GT_HOST_CALL_REQUEST,
	GT_HOST_CALL_DONE,
	GT_HOST_CALL_ABANDONED,
	GT_HOST_CALL_PHASES = 256, /* a generation */
};

enum gt_host_call_operation {
	GT_HOST_CALL_LOOKUP = 1, /* result: 0 with the value, or -ENOENT */
	GT_HOST_CALL_UPDATE,     /* number: the flags */
	GT_HOST_CALL_DELETE,
	GT_HOST_CALL_ADD, /* number: to be added */
};

/* The start of the memory, aligned to 64. */
struct gt_host_call_area {
	uint32_t alive;
	uint32_t reserved;
	uint64_t lost; /* calls */
	uint64_t unused[6];
	uint64_t
		bells[GT_HOST_CALL_SLOTS / 64]; /* bit n of word m: slot 64 * m + n has a request */
};

/* A slot; the key and the value follow, each aligned to 8. */
struct gt_host_call_slot {
	uint64_t state;   /* generation * GT_HOST_CALL_PHASES + gt_host_call_phase */
	uint64_t request; /* map << 8 | gt_host_call_operation */
	uint64_t number;
	int64_t result;
};

/*
 * An operation on a map of the kernel: LOOKUP writes `value`, UPDATE reads it. 0 or the kernel's
 * -Exxx; -EINVAL: not LOOKUP, UPDATE or DELETE.
 */
int64_t gt_host_call_kernel(int descriptor, enum gt_host_call_operation operation, const void *key,
			    void *value, uint64_t flags);

/* Where the parts are, for the maps of an object. */
struct gt_host_call_layout {
	size_t slots;      /* offset of the first slot */
	size_t slot_bytes; /* a multiple of 64 */
	size_t key, value; /* offsets in a slot */
	size_t bytes;      /* of all; 0: no map needs calls */
};
struct gt_host_call_layout gt_host_call_layout_of(const struct gt_bpf_object *object);

/* The host's side. Zeros, then gt_host_calls_open. */
struct gt_host_calls {
	const struct gt_bpf_object *object;
	void *const *memory; /* by map: of maps on the host; NULL: not one of these */
	const int *kernel;   /* by map: a descriptor of the kernel's map, or -1; NULL: none */
	struct gt_host_call_layout layout;
	uint8_t *area;
	uint8_t *key, *value; /* copies of a request's */
	uint64_t *seen;       /* states of slots at the last gt_host_calls_reclaim */
};

/* Start with zeroed memory of layout.bytes. Everything must outlive the result. 0, -ENOMEM. */
int gt_host_calls_open(const struct gt_bpf_object *object, void *const *memory, const int *kernel,
		       void *area, struct gt_host_calls *ret_calls);
void gt_host_calls_close(struct gt_host_calls *calls);

/* Serve the requests whose bells have rung. Their number. */
unsigned gt_host_calls_serve(struct gt_host_calls *calls);
/*
 * Free the slots that are in the same state as at the last call, and not free: those of processes
 * that are gone. Call it every GT_HOST_CALL_RECLAIM_MS.
 */
void gt_host_calls_reclaim(struct gt_host_calls *calls);
/* Calls from now on are lost at once, until the next gt_host_calls_serve. */
void gt_host_calls_end(struct gt_host_calls *calls);
/* Calls that threads gave up, as the GPU counts them. */
uint64_t gt_host_calls_lost(const struct gt_host_calls *calls);
