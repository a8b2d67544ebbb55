/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operations of Level Zero, which --gpu-times counts, but does not time. */
#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/level_zero/private.h"
#include "agent/ring.h"

int gt_ze_count_work(int error, uint32_t operations)
{
	const struct gt_agent_ring *ring = NULL;

	if (!error && gt_agent_environment()->gpu_times)
		ring = gt_agent_wait_for_ring();
	if (ring)
		gt_agent_add(ring, GT_AGENT_LEVEL_ZERO, operations);
	return error;
}

#define WORK(name, parameters, arguments)                                                          \
	int name parameters                                                                        \
	{                                                                                          \
		ZE_NEED(name);                                                                     \
		return gt_ze_count_work(gt_ze.name arguments, 1);                                  \
	}
#include "agent/level_zero/work.def"
#undef WORK
