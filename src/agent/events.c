/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The ring of events of this process. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "agent/agent.h"
#include "agent/ring_map.h"

enum ring_state {
	RING_UNKNOWN,
	RING_REQUESTED, /* by one thread */
	RING_MAPPED,
	RING_NONE, /* do not ask again */
};

static struct {
	atomic_int state;
	struct gt_agent_ring ring; /* valid if it is mapped */
} process_ring;

/*
 * Without a lock: a child that is forked, or a signal handler that calls CUDA while the thread
 * asks, would wait for ever.
 */
const struct gt_agent_ring *gt_agent_ring(void)
{
	int state = atomic_load_explicit(&process_ring.state, memory_order_acquire);
	int error = errno, cancel;

	if (state == RING_UNKNOWN &&
	    atomic_compare_exchange_strong(&process_ring.state, &state, RING_REQUESTED)) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		state = gt_agent_request_ring(&process_ring.ring) ? RING_MAPPED : RING_NONE;
		atomic_store_explicit(&process_ring.state, state, memory_order_release);
		pthread_setcancelstate(cancel, NULL);
		errno = error;
	}
	return state == RING_MAPPED ? &process_ring.ring : NULL;
}

const struct gt_agent_ring *gt_agent_wait_for_ring(void)
{
	const struct gt_agent_ring *ring;

	/* The request has a deadline. */
	while (!(ring = gt_agent_ring()) && atomic_load(&process_ring.state) == RING_REQUESTED)
		sched_yield();
	return ring;
}

/* The child gets a ring of its own: records of this one have the process of the parent. */
void gt_agent_ring_forked(void)
{
	if (atomic_load(&process_ring.state) == RING_MAPPED)
		gt_agent_ring_unmap(&process_ring.ring);
	atomic_store(&process_ring.state, RING_UNKNOWN);
}
