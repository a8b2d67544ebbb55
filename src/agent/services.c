/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/services.h"

#include "agent/agent.h"
#include "agent/lookup.h"

const struct gt_agent_services *gt_agent_services(void)
{
	static const struct gt_agent_services services = {
		.dlopen = gt_agent_real_dlopen,
		.dlsym = gt_agent_real_dlsym,
		.wait_for_ring = gt_agent_wait_for_ring,
		.request_calls = gt_agent_request_calls,
		.forked = gt_agent_ring_forked,
		.set_wrap = gt_agent_set_wrap,
		.map_on_host = gt_agent_map_on_host,
		.host_areas = gt_agent_host_areas,
		.ask_program = gt_agent_ask_program,
		.finish = gt_agent_finish,
		.ask_names = gt_agent_ask_names,
	};

	return &services;
}
