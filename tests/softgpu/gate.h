/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A host function that blocks its stream until the gate is opened. */
#pragma once

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
