/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What gputap passes to the agent in the environment (protocol.h). It is read once, when the agent
 * is loaded: later the program may clear its environment, or change it in another thread, and
 * getenv(3) is not safe beside that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/protocol.h"

struct gt_agent_environment {
	struct sockaddr_un collector;
	size_t collector_size; /* bytes of it; 0: there is none, and the agent does nothing */
	char token[GT_AGENT_TOKEN];
	long filters;        /* of gputap */
	int64_t deadline_ms; /* 0: not given */
	uint64_t gpu_times;  /* every n-th operation is timed; 0: none */
	bool passes_images;
	bool numbers_devices; /* programs ask for the number of their GPU */
};

const struct gt_agent_environment *gt_agent_environment(void);
/* Read it again. For tests, which change it; no other thread may use the agent meanwhile. */
void gt_agent_read_environment(void);
