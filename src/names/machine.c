/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "names/machine.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "event/kinds.h"
#include "names/private.h"

#define MAX_FILE (1 << 20)
#define MAX_MACHINES 256
#define MAX_GPUS 64
#define MAX_COMMAND 4096

/* ---- the event ---------------------------------------------------------------------------- */

static void read_text(const char *root, const char *path, struct gt_file *ret_file)
{
	gt_auto_strbuf whole = GT_STRBUF_INIT;

	gt_strbuf_printf(&whole, "%s%s", root, path);
	if (whole.failed || gt_file_read(whole.data, MAX_FILE, ret_file, NULL))
		*ret_file = (struct gt_file){0};
}

/* The value of the first line of one of these keys: "KEY  : value". NULL: none. */
static const char *find_value(const struct gt_file *file, const char *key, size_t *ret_length)
{
	const char *line = (const char *)file->data;

	while (line && *line) {
		const char *colon = line + strcspn(line, ":\n");

		if (*colon == ':' && !strncmp(line, key, strlen(key)) &&
		    strspn(line + strlen(key), " \t") == (size_t)(colon - line) - strlen(key)) {
			colon += 1 + strspn(colon + 1, " \t");
			*ret_length = strcspn(colon, "\n");
			while (*ret_length && isspace((unsigned char)colon[*ret_length - 1]))
				--*ret_length;
			return colon;
		}
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return NULL;
}

static void end_text(struct gt_strbuf *texts)
{
	gt_strbuf_putc(texts, '\0');
}

/* The first line of a file. */
static void add_line(struct gt_strbuf *texts, const char *root, const char *path)
{
	gt_auto_file file = {0};

	read_text(root, path, &file);
	if (file.data)
		gt_strbuf_add(texts, (const char *)file.data,
			      strcspn((const char *)file.data, "\n"));
	end_text(texts);
}

static void add_cpu(struct gt_strbuf *texts, const char *root)
{
	static const char *const keys[] = {"model name", "CPU part"};
	gt_auto_file file = {0};

	read_text(root, "/proc/cpuinfo", &file);
	for (size_t i = 0; i < gt_countof(keys); i++) {
		size_t length;
		const char *value = find_value(&file, keys[i], &length);

		if (!value)
			continue;
		gt_strbuf_add(texts, value, length);
		break;
	}
	end_text(texts);
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  …": the version alone. */
static void add_driver(struct gt_strbuf *texts, const char *root)
{
	gt_auto_file file = {0};
	const char *word;

	read_text(root, "/proc/driver/nvidia/version", &file);
	word = (const char *)file.data;
	while (word && *word && *word != '\n') {
		size_t length = strcspn(word, " \t\n");

		if (isdigit((unsigned char)*word) && memchr(word, '.', length)) {
			gt_strbuf_add(texts, word, length);
			break;
		}
		word += length;
		word += strspn(word, " \t");
	}
	end_text(texts);
}

static void add_command(struct gt_strbuf *texts, const char *root)
{
	gt_auto_file file = {0};
	size_t size;

	read_text(root, "/proc/self/cmdline", &file);
	size = file.size < MAX_COMMAND ? file.size : MAX_COMMAND;
	while (size && !file.data[size - 1])
		size--;
	for (size_t i = 0; i < size; i++)
		gt_strbuf_putc(texts, file.data[i] ? (char)file.data[i] : ' ');
	end_text(texts);
}

/* NVIDIA's driver names its GPUs; of other DRM drivers the PCI identifiers are all there is. */
static void add_nvidia_gpu(struct gt_strbuf *texts, const char *root, const char *address)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	gt_auto_file file = {0};
	const char *model;
	size_t length;

	gt_strbuf_printf(&path, "/proc/driver/nvidia/gpus/%s/information", address);
	read_text(root, gt_strbuf_string(&path), &file);
	model = find_value(&file, "Model", &length);
	gt_strbuf_printf(texts, "%.*s at %s", model ? (int)length : 6, model ? model : "NVIDIA",
			 address);
	end_text(texts);
}

static void add_drm_gpu(struct gt_strbuf *texts, const char *root, const char *card)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	gt_auto_file file = {0};
	const char *driver, *address;
	size_t length, address_length;

	if (strncmp(card, "card", 4) || strspn(card + 4, "0123456789") != strlen(card + 4))
		return;
	gt_strbuf_printf(&path, "/sys/class/drm/%s/device/uevent", card);
	read_text(root, gt_strbuf_string(&path), &file);
	/* Lines of uevent are KEY=value. */
	for (size_t i = 0; i < file.size; i++)
		if (file.data[i] == '=')
			file.data[i] = ':';
	driver = find_value(&file, "DRIVER", &length);
	address = find_value(&file, "PCI_SLOT_NAME", &address_length);
	if (!driver || !address || (length == 6 && !strncmp(driver, "nvidia", 6)))
		return;
	gt_strbuf_printf(texts, "%.*s at %.*s", (int)length, driver, (int)address_length, address);
	end_text(texts);
}

static void add_gpus(struct gt_strbuf *texts, const char *root, const char *folder,
		     void (*add)(struct gt_strbuf *texts, const char *root, const char *name))
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	struct dirent *entry;
	unsigned count = 0;
	DIR *directory;

	gt_strbuf_printf(&path, "%s%s", root, folder);
	directory = opendir(gt_strbuf_string(&path));
	while (directory && count < MAX_GPUS && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		add(texts, root, entry->d_name);
		count++;
	}
	if (directory)
		closedir(directory);
}

static uint64_t memory_bytes(const char *root)
{
	gt_auto_file file = {0};
	const char *value;
	size_t length;

	read_text(root, "/proc/meminfo", &file);
	value = find_value(&file, "MemTotal", &length);
	return value ? strtoull(value, NULL, 10) * 1024 : 0;
}

static struct gt_event *new_machine(uint64_t memory, uint32_t cpus, uint32_t number,
				    const struct gt_strbuf *texts)
{
	struct gt_event_machine *event =
		texts->failed ? NULL
			      : (void *)gt_event_new(GT_EVENT_machine, texts->data, texts->length);

	if (!event)
		return NULL;
	event->memory = memory;
	event->cpus = cpus;
	event->number = number;
	return &event->head;
}

struct gt_event *gt_machine_event(const char *root)
{
	gt_auto_strbuf texts = GT_STRBUF_INIT;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname system;

	uname(&system);
	gt_strbuf_puts(&texts, GT_VERSION);
	end_text(&texts);
	gt_strbuf_puts(&texts, system.nodename);
	end_text(&texts);
	gt_strbuf_printf(&texts, "%s %s", system.sysname, system.release);
	end_text(&texts);
	gt_strbuf_puts(&texts, system.machine);
	end_text(&texts);
	add_cpu(&texts, root);
	add_line(&texts, root, "/proc/sys/kernel/random/boot_id");
	add_driver(&texts, root);
	add_command(&texts, root);
	end_text(&texts); /* no label */
	add_gpus(&texts, root, "/proc/driver/nvidia/gpus", add_nvidia_gpu);
	add_gpus(&texts, root, "/sys/class/drm", add_drm_gpu);
	return new_machine(memory_bytes(root), cpus > 0 ? (uint32_t)cpus : 0, 0, &texts);
}

struct gt_event *gt_machine_relabel(const struct gt_event_machine *machine, __u32 number,
				    const char *label)
{
	gt_auto_strbuf texts = GT_STRBUF_INIT;
	const char *text;
	size_t length;

	for (unsigned i = 0; (text = gt_machine_text(machine, i, &length)); i++) {
		if (i == GT_MACHINE_LABEL)
			gt_strbuf_puts(&texts, label);
		else
			gt_strbuf_add(&texts, text, length);
		end_text(&texts);
	}
	return new_machine(machine->memory, machine->cpus, number, &texts);
}

const char *gt_machine_text(const struct gt_event_machine *machine, unsigned number,
			    size_t *ret_length)
{
	size_t length;
	const char *text = gt_event_text(&machine->head, &length), *end = text + length;

	for (unsigned i = 0; text < end; i++) {
		const char *nul = memchr(text, '\0', (size_t)(end - text));

		*ret_length = (size_t)((nul ? nul : end) - text);
		if (i == number)
			return text;
		text += *ret_length + 1;
	}
	*ret_length = 0;
	return number < GT_MACHINE_TEXTS ? "" : NULL;
}

/* ---- views -------------------------------------------------------------------------------- */

static void put_text(struct gt_strbuf *text, const struct gt_event_machine *machine,
		     const char *before, unsigned number, const char *after)
{
	size_t length;
	const char *value = gt_machine_text(machine, number, &length);
	gt_autofree char *copy = value && length ? strndup(value, length) : NULL;

	if (!copy)
		return;
	gt_strbuf_puts(text, before);
	gt_put_printable(text, copy);
	gt_strbuf_puts(text, after);
}

void gt_put_machine(struct gt_strbuf *text, const struct gt_event_machine *machine)
{
	size_t length;

	put_text(text, machine, "", GT_MACHINE_LABEL, ": ");
	put_text(text, machine, "gputap ", GT_MACHINE_VERSION, "");
	put_text(text, machine, " on ", GT_MACHINE_HOST, "");
	put_text(text, machine, ", ", GT_MACHINE_KERNEL, "");
	put_text(text, machine, " ", GT_MACHINE_ARCHITECTURE, "");
	gt_strbuf_printf(text, ", %u CPU%s", machine->cpus, machine->cpus == 1 ? "" : "s");
	put_text(text, machine, " (", GT_MACHINE_CPU, ")");
	if (machine->memory) {
		gt_strbuf_puts(text, ", ");
		gt_format_bytes(text, machine->memory);
	}
	put_text(text, machine, ", NVIDIA driver ", GT_MACHINE_DRIVER, "");
	for (unsigned i = GT_MACHINE_TEXTS; gt_machine_text(machine, i, &length); i++)
		put_text(text, machine, "; GPU ", i, "");
	put_text(text, machine, "; command: ", GT_MACHINE_COMMAND, "");
}

void gt_json_machine(struct gt_json *json, const char *key, const struct gt_event_machine *machine)
{
	static const char *const keys[] = {
		[GT_MACHINE_VERSION] = "gputap",
		[GT_MACHINE_HOST] = "host",
		[GT_MACHINE_KERNEL] = "kernel",
		[GT_MACHINE_ARCHITECTURE] = "architecture",
		[GT_MACHINE_CPU] = "cpu",
		[GT_MACHINE_BOOT] = "boot_id",
		[GT_MACHINE_DRIVER] = "nvidia_driver",
		[GT_MACHINE_COMMAND] = "command",
		[GT_MACHINE_LABEL] = "label",
	};
	const char *text;
	size_t length;

	gt_json_object_begin(json, key);
	gt_json_u64(json, "number", machine->number);
	for (unsigned i = 0; i < GT_MACHINE_TEXTS; i++) {
		text = gt_machine_text(machine, i, &length);
		if (length)
			gt_json_string_bytes(json, keys[i], text, length);
		else
			gt_json_null(json, keys[i]);
	}
	gt_json_u64(json, "cpus", machine->cpus);
	gt_json_u64(json, "memory", machine->memory);
	gt_json_array_begin(json, "gpus");
	for (unsigned i = GT_MACHINE_TEXTS; (text = gt_machine_text(machine, i, &length)); i++)
		gt_json_string_bytes(json, NULL, text, length);
	gt_json_array_end(json);
	gt_json_object_end(json);
}

/* ---- names -------------------------------------------------------------------------------- */

int gt_machines_take(gt_machine_list *machines, const struct gt_event *event)
{
	const struct gt_event_machine *machine = (const void *)event;
	struct gt_event_machine *copy = malloc(event->size);
	int error;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, event, event->size);
	gt_vec_each (known, machines) {
		if ((*known)->number != machine->number)
			continue;
		free(*known);
		*known = copy;
		return 0;
	}
	error = machines->count < MAX_MACHINES ? gt_vec_push(machines, copy) : 0;
	if (error || machines->count == 0 || machines->items[machines->count - 1] != copy)
		free(copy);
	return error;
}

void gt_machines_free(gt_machine_list *machines)
{
	gt_vec_each (machine, machines)
		free(*machine);
	gt_vec_free(machines);
}

const struct gt_event_machine *const *gt_names_machines(const struct gt_names *names,
							size_t *ret_count)
{
	*ret_count = names->machines.count;
	return (const struct gt_event_machine *const *)names->machines.items;
}
