/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/places.h"

#include <string.h>

#define MAX_PLACES 131072 /* what happens at further ones is not looked at */

void gt_place_free(void *opaque)
{
	struct gt_place *place = opaque;

	free(place->process_name);
	free(place->text);
	free(place);
}

struct gt_place *gt_place_in(struct gt_hash *places, const struct gt_names *names,
			     const struct gt_place_key *key)
{
	struct gt_place *place = gt_hash_get(places, key, sizeof(*key));
	const struct gt_api_function *api;

	if (place || gt_hash_count(places) >= MAX_PLACES)
		return place;
	place = calloc(1, sizeof(*place));
	if (!place)
		return NULL;
	place->key = *key;
	api = gt_names_api(names, key->function);
	place->function = api ? api->name : NULL;
	place->process_name = strdup(gt_names_process(names, key->process));
	if (!place->process_name || gt_hash_set(places, key, sizeof(*key), place)) {
		gt_place_free(place);
		return NULL;
	}
	return place;
}

struct gt_place_key gt_place_key_of(enum gt_finding_kind kind, const struct gt_event_call *call,
				    uint64_t detail)
{
	return (struct gt_place_key){
		.stack = call->stack,
		.detail = detail,
		.process = call->head.process,
		.function = call->function,
		.kind = kind,
	};
}

void gt_place_count(struct gt_place *place, const struct gt_operation *operation, uint64_t bytes)
{
	if (!place)
		return;
	place->count++;
	place->bytes += bytes;
	place->ns += operation->event->duration;
}
