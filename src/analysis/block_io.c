/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/block_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layers/layers.h"

struct gt_block_io *gt_block_io_new(void)
{
	gt_auto(block_io) struct gt_block_io *block = calloc(1, sizeof(*block));

	if (!block || gt_keyed_rows_init(&block->disks) || gt_keyed_rows_init(&block->processes))
		return NULL;
	return gt_take(block);
}

static void release_sums(struct gt_block_sums *sums)
{
	gt_histogram_free(&sums->queued);
	gt_histogram_free(&sums->device);
}

static void release_disk(void *opaque)
{
	release_sums(&((struct gt_block_disk *)opaque)->sums);
}

static void release_process(void *opaque)
{
	release_sums(&((struct gt_block_process *)opaque)->sums);
}

void gt_block_io_free(struct gt_block_io *block)
{
	if (!block)
		return;
	gt_keyed_rows_free(&block->disks, release_disk);
	gt_keyed_rows_free(&block->processes, release_process);
	free(block);
}

static int add_request(struct gt_block_sums *sums, const struct gt_event_block_io *io)
{
	int error = io->queued ? gt_histogram_add(&sums->queued, io->queued) : 0;

	sums->requests++;
	sums->bytes += io->bytes;
	sums->errors += io->error != 0;
	return error ? error : gt_histogram_add(&sums->device, io->duration);
}

int gt_block_io_take(struct gt_block_io *block, const struct gt_event *event)
{
	const struct gt_event_block_io *io = (const void *)event;
	struct gt_block_process_key process_key = {.process = event->process};
	struct gt_block_disk_key disk_key = {0};
	struct gt_block_process *process;
	struct gt_block_disk *disk;
	char names[GT_TAIL_NAMES];
	int error;

	if (event->kind != GT_EVENT_block_io)
		return 0;
	gt_tail_names(event, names);
	memcpy(disk_key.name, names, sizeof(disk_key.name));
	memcpy(process_key.name, names, sizeof(process_key.name));
	disk_key.operation = gt_layer_event_name(gt_layer_kind(event->kind), event);
	disk = gt_keyed_rows_get(&block->disks, &disk_key, sizeof(disk_key), sizeof(*disk));
	process = gt_keyed_rows_get(&block->processes, &process_key, sizeof(process_key),
				    sizeof(*process));
	if (!disk || !process)
		return -ENOMEM;
	if (!strcmp(disk_key.operation, "read")) {
		process->reads++;
		process->read_bytes += io->bytes;
	} else if (!strcmp(disk_key.operation, "write")) {
		process->writes++;
		process->written_bytes += io->bytes;
	}
	error = add_request(&disk->sums, io);
	return error ? error : add_request(&process->sums, io);
}

static uint64_t time_of_process(const void *row)
{
	return ((const struct gt_block_process *)row)->sums.device.sum;
}

void gt_block_io_sort(struct gt_block_io *block)
{
	gt_keyed_rows_sort(&block->processes, time_of_process);
}
