/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/vblanks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gt_vblanks *gt_vblanks_new(void)
{
	gt_auto(vblanks) struct gt_vblanks *vblanks = calloc(1, sizeof(*vblanks));

	if (!vblanks || gt_keyed_rows_init(&vblanks->crtcs))
		return NULL;
	return gt_take(vblanks);
}

static void release_crtc(void *opaque)
{
	struct gt_vblank_row *row = opaque;

	gt_histogram_free(&row->handled);
	gt_histogram_free(&row->delivery);
	gt_histogram_free(&row->from_queue);
}

void gt_vblanks_free(struct gt_vblanks *vblanks)
{
	if (!vblanks)
		return;
	gt_keyed_rows_free(&vblanks->crtcs, release_crtc);
	free(vblanks);
}

static int add_vblank(struct gt_vblank_row *row, const struct gt_event_vblank *event)
{
	uint32_t step = event->sequence - row->sequence;

	/* Numbers wrap, and begin anew when a driver is reset. */
	if (row->vblanks && step > 1 && step < UINT32_MAX / 2)
		row->missed += step - 1;
	if (!row->vblanks++)
		row->first = event->timestamp;
	row->last = event->timestamp;
	row->sequence = event->sequence;
	return event->late ? gt_histogram_add(&row->handled, event->late) : 0;
}

static int add_delivery(struct gt_vblank_row *row, const struct gt_event_vblank *event)
{
	int error = 0;

	row->delivered++;
	row->late += event->late > GT_VBLANK_LATE;
	if (event->late)
		error = gt_histogram_add(&row->delivery, event->late);
	if (event->queued && !error)
		error = gt_histogram_add(&row->from_queue, event->queued);
	return error;
}

int gt_vblanks_take(struct gt_vblanks *vblanks, const struct gt_event *event)
{
	const struct gt_event_vblank *vblank = (const void *)event;
	struct gt_vblank_crtc key = {0};
	char names[GT_TAIL_NAMES];
	struct gt_vblank_row *row;

	if (event->kind != GT_EVENT_vblank)
		return 0;
	gt_tail_names(event, names);
	memcpy(key.device, names, sizeof(key.device));
	key.crtc = vblank->crtc;
	row = gt_keyed_rows_get(&vblanks->crtcs, &key, sizeof(key), sizeof(*row));
	if (!row)
		return -ENOMEM;
	if (vblank->operation == GT_VBLANK)
		return add_vblank(row, vblank);
	row->queued += vblank->operation == GT_VBLANK_QUEUED;
	return vblank->operation == GT_VBLANK_DELIVERED ? add_delivery(row, vblank) : 0;
}

double gt_vblank_rate(const struct gt_vblank_row *row)
{
	if (row->vblanks < 2 || row->last <= row->first)
		return 0;
	return (double)(row->vblanks - 1) * 1e9 / (double)(row->last - row->first);
}
