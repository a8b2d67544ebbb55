/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/names.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "event/kinds.h"

struct name {
	const struct gt_api_function *api; /* of functions */
	char text[];
};

struct gt_names {
	struct gt_map *processes, *functions, *libraries; /* number -> struct name */
	__u64 start;
	__s64 wall; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	bool has_wall, has_start, has_account;
	struct gt_event_account account;
};

struct gt_names *gt_names_new(void)
{
	struct gt_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->processes = gt_map_new();
	names->functions = gt_map_new();
	names->libraries = gt_map_new();
	if (!names->processes || !names->functions || !names->libraries) {
		gt_names_free(names);
		return NULL;
	}
	return names;
}

void gt_names_free(struct gt_names *names)
{
	if (!names)
		return;
	gt_map_free_with(names->processes, free);
	gt_map_free_with(names->functions, free);
	gt_map_free_with(names->libraries, free);
	free(names);
}

static int learn(struct gt_map *map, __u64 number, const struct gt_event *event,
		 struct name **ret_name)
{
	size_t length;
	const char *text = gt_event_text(event, &length);
	struct name *name = calloc(1, sizeof(*name) + length + 1);
	int error;

	if (!name)
		return -ENOMEM;
	memcpy(name->text, text, length);
	free(gt_map_remove_u64(map, number));
	error = gt_map_set_u64(map, number, name);
	if (error)
		free(name);
	else if (ret_name)
		*ret_name = name;
	return error;
}

static int learn_function(struct gt_names *names, const struct gt_event *event)
{
	struct name *name = NULL;
	int row, error = learn(names->functions, ((const struct gt_event_function *)event)->number,
			       event, &name);

	if (error)
		return error;
	row = gt_api_find(name->text);
	name->api = row >= 0 ? gt_api_function(row) : NULL;
	return 0;
}

int gt_names_take(struct gt_names *names, const struct gt_event *event)
{
	if (!names->has_start && event->clock == GT_CLOCK_MONOTONIC && event->time) {
		names->start = event->time;
		names->has_start = true;
	}
	switch (event->kind) {
	case GT_EVENT_process:
		return learn(names->processes, event->process, event, NULL);
	case GT_EVENT_function:
		return learn_function(names, event);
	case GT_EVENT_library:
		return learn(names->libraries, ((const struct gt_event_library *)event)->number,
			     event, NULL);
	case GT_EVENT_clock:
		names->wall = ((const struct gt_event_clock *)event)->realtime - event->time;
		names->has_wall = true;
		return 0;
	case GT_EVENT_account:
		names->account = *(const struct gt_event_account *)event;
		names->has_account = true;
		return 0;
	}
	return 0;
}

static const char *text_of(const struct gt_map *map, __u64 number)
{
	const struct name *name = gt_map_get_u64(map, number);

	return name ? name->text : "?";
}

const char *gt_names_process(const struct gt_names *names, __u32 process)
{
	return text_of(names->processes, process);
}

const char *gt_names_function(const struct gt_names *names, __u32 function)
{
	return text_of(names->functions, function);
}

const struct gt_api_function *gt_names_api(const struct gt_names *names, __u32 function)
{
	const struct name *name = gt_map_get_u64(names->functions, function);

	return name ? name->api : NULL;
}

const char *gt_names_library(const struct gt_names *names, __u32 library)
{
	return text_of(names->libraries, library);
}

__u64 gt_names_wall_time(const struct gt_names *names, __u64 time)
{
	return names->has_wall ? time + names->wall : 0;
}

__u64 gt_names_start_time(const struct gt_names *names)
{
	return names->start;
}

const struct gt_event_account *gt_names_account(const struct gt_names *names)
{
	return names->has_account ? &names->account : NULL;
}
