/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/environment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct gt_agent_environment environment;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The name of a socket in the abstract namespace, '/' and the token. */
static void read_collector(const char *given)
{
	struct sockaddr_un *address = &environment.collector;
	size_t length = given ? strcspn(given, "/") : 0;

	if (!length || length > sizeof(address->sun_path) - 1)
		return;
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path + 1, given, length);
	environment.collector_size = offsetof(struct sockaddr_un, sun_path) + 1 + length;
	if (given[length])
		memcpy(environment.token, given + length + 1,
		       strnlen(given + length + 1, sizeof(environment.token)));
}

static long read_number(const char *name)
{
	const char *given = secure_getenv(name);

	return given ? strtol(given, NULL, 10) : 0;
}

void gt_agent_read_environment(void)
{
	const char *images = secure_getenv(GT_AGENT_IMAGES);

	environment = (struct gt_agent_environment){
		.filters = read_number(GT_AGENT_FILTERS),
		.deadline_ms = read_number(GT_AGENT_DEADLINE),
		.gpu_times = (uint64_t)read_number(GT_AGENT_GPU_TIMES),
		.numbers_devices = read_number(GT_AGENT_NUMBERS) != 0,
		.passes_images = !images || strcmp(images, "0") != 0,
	};
	read_collector(secure_getenv(GT_AGENT_SOCKET));
}

/* Constructors of other libraries may use the agent before its own run. */
const struct gt_agent_environment *gt_agent_environment(void)
{
	pthread_once(&once, gt_agent_read_environment);
	return &environment;
}

__attribute__((constructor)) static void read_early(void)
{
	gt_agent_environment();
}
