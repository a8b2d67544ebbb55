/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/call_sites.h"

#include <string.h>

#define MAX_CALL_SITES 131072 /* further ones are ignored */

void gt_call_site_free(void *opaque)
{
	struct gt_call_site *site = opaque;

	free(site->process_name);
	free(site->text);
	free(site);
}

struct gt_call_site *gt_call_site_in(struct gt_hash *sites, const struct gt_names *names,
				     const struct gt_call_site_key *key)
{
	struct gt_call_site *site = gt_hash_get(sites, key, sizeof(*key));
	const struct gt_api_function *api;

	if (site || gt_hash_count(sites) >= MAX_CALL_SITES)
		return site;
	site = calloc(1, sizeof(*site));
	if (!site)
		return NULL;
	site->key = *key;
	api = gt_names_api(names, key->function);
	site->function = api ? api->name : NULL;
	site->process_name = strdup(gt_names_process(names, key->process));
	if (!site->process_name || gt_hash_set(sites, key, sizeof(*key), site)) {
		gt_call_site_free(site);
		return NULL;
	}
	return site;
}

struct gt_call_site_key gt_call_site_key_of(enum gt_finding_kind kind,
					    const struct gt_event_call *call, uint64_t detail)
{
	return (struct gt_call_site_key){
		.stack = call->stack,
		.detail = detail,
		.process = call->head.process,
		.function = call->function,
		.kind = kind,
	};
}

void gt_call_site_count(struct gt_call_site *site, const struct gt_operation *operation,
			uint64_t bytes)
{
	if (!site)
		return;
	site->count++;
	site->bytes += bytes;
	site->ns += operation->event->duration;
}
