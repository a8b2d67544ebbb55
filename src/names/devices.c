/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "names/devices.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "event/kinds.h"

struct device_names {
	char uuid[GT_UUID_TEXT];
	char *name;
};

/* Of devices, and with a context's number in place of the ordinal. */
struct device_key {
	uint64_t process;
	uint64_t number;
};

struct gt_devices {
	struct gt_hash *devices;  /* struct device_key -> struct device_names */
	struct gt_hash *contexts; /* struct device_key -> struct gt_context */
};

static void device_free(void *opaque)
{
	struct device_names *device = opaque;

	free(device->name);
	free(device);
}

struct gt_devices *gt_devices_new(void)
{
	gt_auto(devices) struct gt_devices *devices = calloc(1, sizeof(*devices));

	if (!devices)
		return NULL;
	devices->devices = gt_hash_new();
	devices->contexts = gt_hash_new();
	return devices->devices && devices->contexts ? gt_take(devices) : NULL;
}

void gt_devices_free(struct gt_devices *devices)
{
	if (!devices)
		return;
	if (devices->devices)
		gt_hash_free_with(devices->devices, device_free);
	if (devices->contexts)
		gt_hash_free_with(devices->contexts, free);
	free(devices);
}

/* As RFC 4122 writes it. */
static void put_uuid(const struct gt_event_device *event, char ret_text[GT_UUID_TEXT])
{
	uint8_t bytes[16];
	char *to = ret_text;

	memcpy(bytes, &event->uuid_first, 8);
	memcpy(bytes + 8, &event->uuid_last, 8);
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		to += sprintf(to, "%02x", bytes[i]);
	}
}

static struct device_names *device_at(struct gt_devices *devices, const struct device_key *key)
{
	struct device_names *device = gt_hash_get(devices->devices, key, sizeof(*key));

	if (device)
		return device;
	device = calloc(1, sizeof(*device));
	if (device && !gt_hash_set(devices->devices, key, sizeof(*key), device))
		return device;
	free(device);
	return NULL;
}

/* Name and UUID may come in different events: a part that is missing is unchanged. */
static int learn_device(struct gt_devices *devices, const struct gt_event *event)
{
	const struct gt_event_device *record = (const void *)event;
	struct device_key key = {event->process, (uint16_t)event->device};
	size_t length;
	const char *text = gt_event_text(event, &length);
	struct device_names *device = device_at(devices, &key);
	char *name;

	if (!device)
		return -ENOMEM;
	if (record->flags & GT_DEVICE_HAS_UUID)
		put_uuid(record, device->uuid);
	if (!length)
		return 0;
	name = strndup(text, length);
	if (!name)
		return -ENOMEM;
	free(device->name);
	device->name = name;
	return 0;
}

static int learn_context(struct gt_devices *devices, const struct gt_event *event)
{
	const struct gt_event_context *record = (const void *)event;
	struct device_key key = {event->process, record->number};
	struct gt_context *context = gt_hash_get(devices->contexts, &key, sizeof(key));

	if (!context) {
		context = malloc(sizeof(*context));
		if (!context || gt_hash_set(devices->contexts, &key, sizeof(key), context)) {
			free(context);
			return -ENOMEM;
		}
	}
	*context = (struct gt_context){record->handle, event->device,
				       record->flags & GT_CONTEXT_PRIMARY};
	return 0;
}

int gt_devices_take(struct gt_devices *devices, const struct gt_event *event)
{
	switch (event->kind) {
	case GT_EVENT_device:
		return learn_device(devices, event);
	case GT_EVENT_context:
		return learn_context(devices, event);
	}
	return 0;
}

bool gt_devices_find(const struct gt_devices *devices, uint32_t process, int ordinal,
		     struct gt_known_device *ret_device)
{
	struct device_key key = {process, (uint16_t)ordinal}, of_all = {0, (uint16_t)ordinal};
	const struct device_names *own = gt_hash_get(devices->devices, &key, sizeof(key));
	const struct device_names *common = gt_hash_get(devices->devices, &of_all, sizeof(of_all));
	const struct device_names *uuid = own && own->uuid[0] ? own : common;
	const struct device_names *name = own && own->name ? own : common;

	if (ordinal < 0 || (!own && !common))
		return false;
	*ret_device = (struct gt_known_device){.name = name ? name->name : NULL};
	if (uuid)
		memcpy(ret_device->uuid, uuid->uuid, sizeof(ret_device->uuid));
	return true;
}

const struct gt_context *gt_devices_context(const struct gt_devices *devices, uint32_t process,
					    uint32_t number)
{
	struct device_key key = {process, number};

	return number ? gt_hash_get(devices->contexts, &key, sizeof(key)) : NULL;
}

struct gt_event *gt_device_event(uint32_t process, int ordinal, const uint8_t *uuid,
				 const char *name)
{
	struct gt_event_device *event =
		(void *)gt_event_new(GT_EVENT_device, name, name ? strlen(name) : 0);

	if (!event)
		return NULL;
	event->head.process = event->head.thread = process;
	event->head.device = (int16_t)ordinal;
	if (uuid) {
		memcpy(&event->uuid_first, uuid, 8);
		memcpy(&event->uuid_last, uuid + 8, 8);
		event->flags = GT_DEVICE_HAS_UUID;
	}
	return &event->head;
}
