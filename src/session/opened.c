/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/opened.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/clean.h"
#include "base/text.h"

static unsigned all_groups(void)
{
	size_t count;
	const struct gt_source *const *sources = gt_sources(&count);
	unsigned groups = 0;

	for (size_t i = 0; i < count; i++)
		if (sources[i]->group)
			groups |= gt_api_group_bit(sources[i]->group);
	return groups;
}

unsigned gt_opened_groups(const struct gt_strings *names)
{
	unsigned groups = names->words.count ? 0 : gt_api_default_groups();

	gt_vec_each (name, &names->words) {
		const struct gt_source *source = gt_source_find(*name);

		if (source && source->group)
			groups |= gt_api_group_bit(source->group);
		if (!strcmp(*name, GT_ALL_SOURCES))
			groups |= all_groups();
	}
	return groups;
}

static int no_such_source(const char *name, struct gt_diag *diag)
{
	size_t count;
	const struct gt_source *const *sources = gt_sources(&count);
	gt_autofree const char **names = calloc(count, sizeof(*names));
	const char *nearest;

	for (size_t i = 0; names && i < count; i++)
		names[i] = sources[i]->name;
	nearest = names ? gt_nearest(name, names, count) : NULL;
	if (nearest)
		return gt_diag(diag, -EINVAL, "session", NULL,
			       "unknown source '%s': did you mean '%s'? 'gputap list' shows all",
			       name, nearest);
	return gt_diag(diag, -EINVAL, "session", NULL,
		       "unknown source '%s'; 'gputap list' shows all", name);
}

int gt_opened_add(gt_opened_list *list, const struct gt_host *host, const char *name,
		  struct gt_diag *diag)
{
	const struct gt_source *source = gt_source_find(name);
	struct gt_opened opened = {.source = source};
	int error;

	if (!source)
		return no_such_source(name, diag);
	gt_vec_each (other, list)
		if (other->source == source || (source->group && other->source->group))
			return 0;
	error = source->open(host, &opened.state, diag);
	if (error)
		return error;
	error = gt_vec_push(list, opened);
	if (!error)
		return 0;
	source->close(opened.state);
	return gt_diag(diag, error, "session", NULL, "out of memory");
}

int gt_opened_fd(const struct gt_opened *opened)
{
	return opened->source->wait_on ? opened->source->wait_on(opened->state) : -1;
}

void gt_opened_poll(const gt_opened_list *list)
{
	gt_vec_each (opened, list)
		if (opened->source->poll && !opened->is_dropped)
			opened->source->poll(opened->state);
}

void gt_opened_detach(const gt_opened_list *list)
{
	gt_vec_each (opened, list)
		if (!opened->is_dropped)
			opened->source->detach(opened->state);
}

void gt_opened_collect(const gt_opened_list *list)
{
	gt_vec_each (opened, list)
		if (opened->source->collect)
			opened->source->collect(opened->state);
}

struct gt_counts gt_opened_count(const gt_opened_list *list)
{
	struct gt_counts counts = {0};

	gt_vec_each (opened, list)
		opened->source->count(opened->state, &counts);
	return counts;
}

void gt_opened_close(gt_opened_list *list)
{
	gt_vec_each (opened, list)
		opened->source->close(opened->state);
	gt_vec_free(list);
}
