/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/pcie/links.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/vec.h"
#include "event/kinds.h"
#include "probe/pcie/functions.h"

#define DEVICES "/sys/bus/pci/devices"
#define PERIOD_S 1
#define MAX_LINKS 256
#define MAX_VALUE 64 /* bytes of a file of sysfs */

/* Classes of PCI devices (include/linux/pci_ids.h): display controllers, accelerators. */
#define CLASS_DISPLAY 0x03
#define CLASS_ACCELERATOR 0x12

struct link_values {
	uint32_t speed, max_speed; /* MT/s */
	uint32_t width, max_width;
};

struct pcie_device_link {
	char address[GT_PCI_ADDRESS_SIZE];
	struct link_values values;
};

struct pcie_links {
	const struct gt_host *host;
	int timer;
	GT_VEC(struct pcie_device_link) links;
};

static bool read_value(const char *address, const char *name, char text[MAX_VALUE])
{
	char path[PATH_MAX];
	bool done;
	FILE *file;

	snprintf(path, sizeof(path), DEVICES "/%s/%s", address, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	done = fgets(text, MAX_VALUE, file);
	fclose(file);
	return done;
}

static bool is_gpu(const char *address)
{
	char text[MAX_VALUE];
	unsigned long class;

	if (!read_value(address, "class", text))
		return false;
	class = strtoul(text, NULL, 16) >> 16;
	return class == CLASS_DISPLAY || class == CLASS_ACCELERATOR;
}

/* "2.5 GT/s PCIe" in MT/s; "Unknown": 0. */
static uint32_t read_speed(const char *address, const char *name)
{
	char text[MAX_VALUE];
	double speed = read_value(address, name, text) ? strtod(text, NULL) : 0;

	return speed > 0 && speed < 1e6 ? (uint32_t)(speed * 1000 + 0.5) : 0;
}

/* The kernel shows 255 and 63 where it knows no width. */
static uint32_t read_width(const char *address, const char *name)
{
	char text[MAX_VALUE];
	unsigned long width = read_value(address, name, text) ? strtoul(text, NULL, 10) : 0;

	return width <= 32 ? (uint32_t)width : 0;
}

static struct link_values read_link(const char *address)
{
	return (struct link_values){
		.speed = read_speed(address, "current_link_speed"),
		.max_speed = read_speed(address, "max_link_speed"),
		.width = read_width(address, "current_link_width"),
		.max_width = read_width(address, "max_link_width"),
	};
}

static void emit_link(const struct pcie_links *links, const struct pcie_device_link *link)
{
	struct gt_event_pcie_link *event =
		(void *)gt_event_new(GT_EVENT_pcie_link, link->address, strlen(link->address));

	if (event) {
		event->speed = link->values.speed;
		event->max_speed = link->values.max_speed;
		event->width = link->values.width;
		event->max_width = link->values.max_width;
	}
	gt_event_queue_push(links->host->events, event ? &event->head : NULL);
}

static int add_links(struct pcie_links *links)
{
	DIR *directory = opendir(DEVICES);
	struct dirent *entry;
	int error = 0;

	if (!directory)
		return 0;
	while (!error && links->links.count < MAX_LINKS && (entry = readdir(directory))) {
		struct pcie_device_link link = {0};

		if (strlen(entry->d_name) >= sizeof(link.address) || !is_gpu(entry->d_name))
			continue;
		strcpy(link.address, entry->d_name);
		link.values = read_link(link.address);
		/* A device without a link, as in some virtual machines. */
		if (link.values.width || link.values.speed)
			error = gt_vec_push(&links->links, link);
	}
	closedir(directory);
	return error;
}

static int start_timer(void)
{
	const struct itimerspec period = {{PERIOD_S, 0}, {PERIOD_S, 0}};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (timer >= 0)
		timerfd_settime(timer, 0, &period, NULL);
	return timer;
}

static void links_close(void *opaque)
{
	struct pcie_links *links = opaque;

	if (!links)
		return;
	if (links->timer >= 0)
		close(links->timer);
	gt_vec_free(&links->links);
	free(links);
}

static int links_open(const struct gt_host *host, void **ret_data, int *ret_fd,
		      uint64_t *ret_emitted)
{
	struct pcie_links *links = calloc(1, sizeof(*links));

	if (!links)
		return -ENOMEM;
	links->host = host;
	links->timer = -1;
	if (add_links(links)) {
		links_close(links);
		return -ENOMEM;
	}
	gt_vec_each (link, &links->links)
		emit_link(links, link);
	if (links->links.count)
		links->timer = start_timer();
	*ret_data = links;
	*ret_fd = links->timer;
	*ret_emitted = links->links.count;
	return 0;
}

static uint64_t links_poll(void *opaque, struct bpf_object *object, bool final)
{
	struct pcie_links *links = opaque;
	uint64_t expirations, emitted = 0;

	if (links->timer < 0 ||
	    (read(links->timer, &expirations, sizeof(expirations)) != sizeof(expirations) &&
	     !final))
		return 0;
	gt_vec_each (link, &links->links) {
		struct link_values values = read_link(link->address);

		if (!memcmp(&values, &link->values, sizeof(values)))
			continue;
		link->values = values;
		emit_link(links, link);
		emitted++;
	}
	return emitted;
}

const struct gt_layer_extra gt_pcie_links = {links_open, links_poll, links_close};
