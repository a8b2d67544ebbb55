/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sectors of 32 bytes per memory request of a warp: requests that are not coalesced. */
#include <gputap/bpf.h>

GPUTAP_MAP(requests, GPUTAP_MAP_HASH, unsigned int, unsigned long long, 1024);
GPUTAP_SM_ARRAY(sectors, unsigned long long, 33);

SEC("gpu/memory.warp")
int request(struct gputap_memory *ctx)
{
	unsigned long long last = 0;
	unsigned int touched = 0, site = ctx->site, mask = ctx->mask;

	if (ctx->space != GPUTAP_SPACE_GLOBAL)
		return 0;
	gputap_each_lane(lane, mask)
	{
		unsigned long long sector = bpf_warp_lane_value(GPUTAP_LANE_ADDRESS, lane) >> 5;

		touched += sector != last;
		last = sector;
	}
	bpf_map_add(&requests, &site, 1);
	bpf_map_add(&sectors, &touched, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
