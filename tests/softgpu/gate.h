/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A host function that blocks its stream until the gate is opened. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

struct gate {
	atomic_bool entered, open;
};

static inline void pass_gate(void *data)
{
	struct gate *gate = data;
	const struct timespec pause = {0, 100000};

	atomic_store(&gate->entered, true);
	while (!atomic_load(&gate->open))
		nanosleep(&pause, NULL);
}

/* A thread that opens it while the test waits, in a call that waits for the stream. */
static inline void *open_gate_later(void *data)
{
	const struct timespec pause = {0, 50000000};

	nanosleep(&pause, NULL);
	atomic_store(&((struct gate *)data)->open, true);
	return NULL;
}
