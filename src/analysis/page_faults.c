/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/page_faults.h"

#include <errno.h>
#include <stdlib.h>

struct gt_page_faults *gt_page_faults_new(void)
{
	gt_auto(page_faults) struct gt_page_faults *faults = calloc(1, sizeof(*faults));

	if (!faults || gt_keyed_rows_init(&faults->processes))
		return NULL;
	return gt_take(faults);
}

static void release_row(void *opaque)
{
	struct gt_page_fault_row *row = opaque;

	for (unsigned i = 0; i < GT_PAGE_FAULT_TYPES; i++)
		gt_histogram_free(&row->times[i]);
}

void gt_page_faults_free(struct gt_page_faults *faults)
{
	if (!faults)
		return;
	gt_keyed_rows_free(&faults->processes, release_row);
	free(faults);
}

int gt_page_faults_take(struct gt_page_faults *faults, const struct gt_event *event)
{
	const struct gt_event_page_fault *fault = (const void *)event;
	enum gt_page_fault_type type;
	struct gt_page_fault_row *row;

	if (event->kind != GT_EVENT_page_fault)
		return 0;
	row = gt_keyed_rows_get(&faults->processes, &event->process, sizeof(event->process),
				sizeof(*row));
	if (!row)
		return -ENOMEM;
	type = fault->flags & GT_FAULT_GPU     ? GT_PAGE_FAULT_GPU
	       : fault->flags & GT_FAULT_UVM   ? GT_PAGE_FAULT_UVM
	       : fault->flags & GT_FAULT_MAJOR ? GT_PAGE_FAULT_MAJOR
					       : GT_PAGE_FAULT_MINOR;
	row->counts[type]++;
	if (type == GT_PAGE_FAULT_GPU)
		return 0;
	if (fault->flags & GT_FAULT_FETCH)
		row->fetches++;
	else if (fault->flags & GT_FAULT_WRITE)
		row->writes++;
	else
		row->reads++;
	row->kernel += !(fault->flags & (GT_FAULT_USER | GT_FAULT_UVM));
	row->errors += fault->error != 0;
	return fault->duration ? gt_histogram_add(&row->times[type], fault->duration) : 0;
}

static uint64_t count_of_process(const void *opaque)
{
	const struct gt_page_fault_row *row = opaque;

	return row->counts[GT_PAGE_FAULT_GPU] + row->reads + row->writes + row->fetches;
}

void gt_page_faults_sort(struct gt_page_faults *faults)
{
	gt_keyed_rows_sort(&faults->processes, count_of_process);
}

const char *gt_page_fault_type_name(enum gt_page_fault_type type)
{
	static const char *const names[GT_PAGE_FAULT_TYPES] = {
		[GT_PAGE_FAULT_MINOR] = "minor",
		[GT_PAGE_FAULT_MAJOR] = "major",
		[GT_PAGE_FAULT_UVM] = "UVM",
		[GT_PAGE_FAULT_GPU] = "GPU",
	};

	return names[type];
}
