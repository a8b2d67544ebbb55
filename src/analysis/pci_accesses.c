/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/pci_accesses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/kinds.h"

struct gt_pci_accesses *gt_pci_accesses_new(void)
{
	gt_auto(pci_accesses) struct gt_pci_accesses *accesses = calloc(1, sizeof(*accesses));

	if (!accesses || gt_keyed_rows_init(&accesses->registers) ||
	    gt_keyed_rows_init(&accesses->processes) || gt_keyed_rows_init(&accesses->times) ||
	    gt_keyed_rows_init(&accesses->errors) || gt_keyed_rows_init(&accesses->links))
		return NULL;
	return gt_take(accesses);
}

static void release_times(void *opaque)
{
	struct gt_pci_times *times = opaque;

	gt_histogram_free(&times->durations);
}

void gt_pci_accesses_free(struct gt_pci_accesses *accesses)
{
	if (!accesses)
		return;
	gt_keyed_rows_free(&accesses->registers, NULL);
	gt_keyed_rows_free(&accesses->processes, NULL);
	gt_keyed_rows_free(&accesses->times, release_times);
	gt_keyed_rows_free(&accesses->errors, NULL);
	gt_keyed_rows_free(&accesses->links, NULL);
	free(accesses);
}

static int take_access(struct gt_pci_accesses *accesses, const struct gt_event_pci_config *event)
{
	const struct gt_pci_register_key key = {event->domain, event->offset, event->bus,
						event->device_function};
	struct gt_pci_register_row *row =
		gt_keyed_rows_get(&accesses->registers, &key, sizeof(key), sizeof(*row));
	struct gt_pci_process *process =
		gt_keyed_rows_get(&accesses->processes, &event->head.process,
				  sizeof(event->head.process), sizeof(*process));

	if (!row || !process)
		return -ENOMEM;
	row->reads += !event->is_write;
	row->writes += event->is_write != 0;
	row->user += event->is_user != 0;
	row->errors += event->result != 0;
	process->reads += !event->is_write;
	process->writes += event->is_write != 0;
	process->errors += event->result != 0;
	return 0;
}

static int take_timed_access(struct gt_pci_accesses *accesses,
			     const struct gt_event_pci_access *event)
{
	const struct gt_pci_times_key key = {
		.domain = event->domain,
		.bus = event->bus,
		.device_function = event->device_function,
		.bytes = event->bytes,
		.is_write = event->is_write != 0,
		.is_user = event->is_user != 0,
	};
	struct gt_pci_times *times;
	/* It begins with the fields of `pci_config`. */
	int error = take_access(accesses, (const void *)event);

	if (error || !event->duration)
		return error;
	times = gt_keyed_rows_get(&accesses->times, &key, sizeof(key), sizeof(*times));
	return times ? gt_histogram_add(&times->durations, event->duration) : -ENOMEM;
}

const char *gt_pci_times_function(const struct gt_pci_times *times)
{
	const struct gt_pci_times_key *key = &times->key;

#define CONFIG_FUNCTION(name, name_bytes, name_is_write, name_is_user)                             \
	if (key->bytes == (name_bytes) && key->is_write == (name_is_write) &&                      \
	    key->is_user == (name_is_user))                                                        \
		return #name;
	CONFIG_FUNCTIONS(CONFIG_FUNCTION)
#undef CONFIG_FUNCTION
	return NULL;
}

static void copy_address(char address[GT_PCI_ADDRESS_SIZE], const struct gt_event *event)
{
	size_t length;
	const char *text = gt_event_text(event, &length);

	memset(address, 0, GT_PCI_ADDRESS_SIZE);
	memcpy(address, text, length < GT_PCI_ADDRESS_SIZE ? length : GT_PCI_ADDRESS_SIZE - 1);
}

static int take_error(struct gt_pci_accesses *accesses, const struct gt_event_pcie_error *event)
{
	struct gt_pcie_error_key key = {.severity = event->severity};
	struct gt_pcie_error_row *row;

	copy_address(key.address, &event->head);
	for (key.bit = 0; key.bit < 32; key.bit++) {
		if (!(event->status >> key.bit & 1))
			continue;
		row = gt_keyed_rows_get(&accesses->errors, &key, sizeof(key), sizeof(*row));
		if (!row)
			return -ENOMEM;
		if (!row->count++)
			row->first = event->head.time;
		row->last = event->head.time;
	}
	return 0;
}

bool gt_pcie_link_is_below(const struct gt_pcie_link_row *link)
{
	return (link->speed && link->speed < link->max_speed) ||
	       (link->width && link->width < link->max_width);
}

uint64_t gt_pcie_link_below(const struct gt_pcie_link_row *link, uint64_t now)
{
	return link->below +
	       (gt_pcie_link_is_below(link) && now > link->since ? now - link->since : 0);
}

/* The smaller one of those that are known. */
static uint32_t lowest(uint32_t before, uint32_t now)
{
	return !before || (now && now < before) ? now : before;
}

static int take_link(struct gt_pci_accesses *accesses, const struct gt_event_pcie_link *event)
{
	char address[GT_PCI_ADDRESS_SIZE];
	struct gt_pcie_link_row *link;

	copy_address(address, &event->head);
	link = gt_keyed_rows_get(&accesses->links, address, sizeof(address), sizeof(*link));
	if (!link)
		return -ENOMEM;
	if (link->first) {
		link->changes++;
		link->below = gt_pcie_link_below(link, event->head.time);
	} else {
		link->first = event->head.time;
	}
	link->speed = event->speed;
	link->width = event->width;
	link->max_speed = event->max_speed;
	link->max_width = event->max_width;
	link->min_speed = lowest(link->min_speed, event->speed);
	link->min_width = lowest(link->min_width, event->width);
	link->since = event->head.time;
	return 0;
}

int gt_pci_accesses_take(struct gt_pci_accesses *accesses, const struct gt_event *event)
{
	switch (event->kind) {
	case GT_EVENT_pci_config:
		return take_access(accesses, (const void *)event);
	case GT_EVENT_pci_access:
		return take_timed_access(accesses, (const void *)event);
	case GT_EVENT_pcie_error:
		return take_error(accesses, (const void *)event);
	case GT_EVENT_pcie_link:
		return take_link(accesses, (const void *)event);
	}
	return 0;
}

static uint64_t count_of_register(const void *opaque)
{
	const struct gt_pci_register_row *row = opaque;

	return row->reads + row->writes;
}

static uint64_t count_of_process(const void *opaque)
{
	const struct gt_pci_process *row = opaque;

	return row->reads + row->writes;
}

static uint64_t sum_of_times(const void *opaque)
{
	const struct gt_pci_times *row = opaque;

	return row->durations.sum;
}

void gt_pci_accesses_sort(struct gt_pci_accesses *accesses)
{
	gt_keyed_rows_sort(&accesses->registers, count_of_register);
	gt_keyed_rows_sort(&accesses->processes, count_of_process);
	gt_keyed_rows_sort(&accesses->times, sum_of_times);
}
