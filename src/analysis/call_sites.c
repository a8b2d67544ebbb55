/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/call_sites.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/strbuf.h"

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
	site->library = api ? api->library : NULL;
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

static void put_merge_key(struct gt_strbuf *text, const struct gt_names *names,
			  const struct gt_call_site *site)
{
	const struct gt_call_site_key *key = &site->key;
	bool by_bytes = key->kind == GT_FINDING_allocation_in_loop;

	gt_strbuf_printf(text, "%" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %s\n", key->kind,
			 key->process, key->function, by_bytes ? key->detail : 0,
			 site->text ? site->text : "");
	gt_label_stack(text, names, key->process, key->stack);
}

static int merge_site(struct gt_hash *merged, const struct gt_names *names,
		      const struct gt_call_site *site)
{
	gt_auto_strbuf key = GT_STRBUF_INIT;
	struct gt_call_site *to;

	put_merge_key(&key, names, site);
	if (key.failed)
		return -ENOMEM;
	to = gt_hash_get(merged, key.data, key.length);
	if (to) {
		to->count += site->count;
		to->all += site->all;
		to->bytes += site->bytes;
		to->ns += site->ns;
		to->max_live += site->max_live;
		to->stacks++;
		return 0;
	}
	to = malloc(sizeof(*to));
	if (!to)
		return -ENOMEM;
	*to = *site;
	to->stacks = 1;
	if (!gt_hash_set(merged, key.data, key.length, to))
		return 0;
	free(to);
	return -ENOMEM;
}

int gt_call_sites_merge(const struct gt_hash *sites, const struct gt_names *names,
			struct gt_hash **ret_merged)
{
	struct gt_hash *merged = gt_hash_new();
	size_t cursor = 0;
	void *value;
	int error = merged ? 0 : -ENOMEM;

	while (!error && gt_hash_next(sites, &cursor, NULL, NULL, &value))
		error = merge_site(merged, names, value);
	if (!error)
		*ret_merged = merged;
	else if (merged)
		gt_hash_free_with(merged, free);
	return error;
}
