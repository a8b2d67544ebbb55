/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Print the results of the command "exec": of each device, of shared maps and of host programs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/exec.h"
#include "cli/host_map.h"

enum map_owner {
	OWNER_DEVICE,
	OWNER_SHARED,
	OWNER_HOST,
};

static uint32_t map_count(const struct gt_cli_exec *self)
{
	return self->exec.program.object ? self->exec.program.object->map_count : 0;
}

/* Constants, mostly strings of printk, are not shown: they have the values in the object. */
static bool is_shown(const struct gt_cli_exec *self, uint32_t number, enum map_owner owner)
{
	const struct gt_bpf_map *map = &self->exec.program.object->maps[number];

	if (map->constant)
		return false;
	if (owner == OWNER_HOST)
		return self->exec.host_programs &&
		       gt_host_programs_own(self->exec.host_programs, number);
	if (map->with_host && gt_bpf_map_is_on_host(map))
		return false;
	return !map->host_only && gt_bpf_map_is_common(map) == (owner == OWNER_SHARED);
}

/* Append a map as text, or as JSON if `json` is not NULL. */
static void put_map(const struct gt_cli_exec *self, uint32_t number, enum map_owner owner,
		    const struct gt_exec_device *device, struct gt_strbuf *text,
		    struct gt_json *json)
{
	struct gt_bpf_map_view view;

	if (owner == OWNER_HOST) {
		gt_cli_put_host_map(self->exec.host_programs, number,
				    &self->exec.program.object->maps[number], text, json);
		return;
	}
	view = owner == OWNER_DEVICE ? gt_instance_view(device->run.instance, number)
				     : gt_shared_view(self->exec.shared, number);
	if (json)
		gt_bpf_map_print_json(&view, json, NULL);
	else
		gt_bpf_map_print(&view, text);
}

/* ---- text ------------------------------------------------------------------------------ */

static void put_bytes(struct gt_strbuf *text, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		gt_strbuf_printf(text, "%02x", bytes[i]);
}

/* `heading` precedes the first of them; NULL: none. */
static void put_maps(const struct gt_cli_exec *self, enum map_owner owner,
		     const struct gt_exec_device *device, const char *heading,
		     struct gt_strbuf *text)
{
	for (uint32_t i = 0; self->given->maps && i < map_count(self); i++) {
		if (!is_shown(self, i, owner))
			continue;
		if (heading)
			gt_strbuf_printf(text, "%s:\n", heading);
		heading = NULL;
		put_map(self, i, owner, device, text, NULL);
	}
}

static void put_device(const struct gt_cli_exec *self, const struct gt_exec_device *device,
		       struct gt_strbuf *text)
{
	const struct gt_standalone_run *run = &device->run;

	if (self->exec.device_count > 1) {
		gt_strbuf_printf(text, "device %u (", device->number);
		gt_put_printable(text, gt_standalone_target_name(&device->target));
		gt_strbuf_puts(text, "):\n");
	}
	if (!self->given->all && !self->given->no_result)
		gt_strbuf_printf(text, "%" PRIx64 "\n", run->results[0]);
	for (uint32_t i = 0; self->given->all && i < run->result_count; i++)
		gt_strbuf_printf(text, "%u: %" PRIx64 "\n", i, run->results[i]);
	if (self->given->show_memory) {
		gt_strbuf_puts(text, "memory: ");
		put_bytes(text, run->memory, self->exec.program.memory_size);
		gt_strbuf_putc(text, '\n');
	}
	put_maps(self, OWNER_DEVICE, device, NULL, text);
}

static void put_all(const struct gt_cli_exec *self, struct gt_strbuf *text)
{
	bool is_simple = self->exec.device_count == 1 && !self->exec.host_programs;

	for (size_t i = 0; i < self->exec.device_count; i++)
		put_device(self, &self->exec.devices[i], text);
	put_maps(self, OWNER_SHARED, NULL, is_simple ? NULL : "shared", text);
	put_maps(self, OWNER_HOST, NULL, "Linux", text);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static void json_maps(const struct gt_cli_exec *self, enum map_owner owner,
		      const struct gt_exec_device *device, const char *key, struct gt_json *json)
{
	gt_json_array_begin(json, key);
	for (uint32_t i = 0; i < map_count(self); i++)
		if (is_shown(self, i, owner))
			put_map(self, i, owner, device, NULL, json);
	gt_json_array_end(json);
}

static void json_device(const struct gt_cli_exec *self, const struct gt_exec_device *device,
			struct gt_json *json)
{
	const struct gt_standalone_run *run = &device->run;
	gt_auto_strbuf memory = GT_STRBUF_INIT;

	gt_json_object_begin(json, NULL);
	if (gt_standalone_target_name(&device->target)) {
		gt_json_u64(json, "number", device->number);
		gt_json_string(json, "name", gt_standalone_target_name(&device->target));
	}
	gt_json_hex(json, "r0", run->results[0]);
	if (self->given->all) {
		gt_json_array_begin(json, "results");
		for (uint32_t i = 0; i < run->result_count; i++)
			gt_json_hex(json, NULL, run->results[i]);
		gt_json_array_end(json);
	}
	if (self->given->show_memory) {
		put_bytes(&memory, run->memory, self->exec.program.memory_size);
		gt_json_string(json, "memory", gt_strbuf_string(&memory));
	}
	gt_json_string(json, "output", gt_strbuf_string(&run->output));
	gt_json_u64(json, "output_lost", run->output_lost);
	gt_json_u64(json, "calls_lost", run->calls_lost);
	if (self->given->maps)
		json_maps(self, OWNER_DEVICE, device, "maps", json);
	gt_json_object_end(json);
	json->buffer->failed |= memory.failed;
}

static void json_all(const struct gt_cli_exec *self, struct gt_strbuf *text)
{
	struct gt_json json = GT_JSON_INIT(text);

	gt_json_object_begin(&json, NULL);
	if (self->exec.program.program->name)
		gt_json_string(&json, "program", self->exec.program.program->name);
	gt_json_string(&json, "on", gt_exec_engines[self->given->engine]);
	gt_json_array_begin(&json, "devices");
	for (size_t i = 0; i < self->exec.device_count; i++)
		json_device(self, &self->exec.devices[i], &json);
	gt_json_array_end(&json);
	if (self->given->maps) {
		json_maps(self, OWNER_SHARED, NULL, "shared", &json);
		if (self->exec.host_programs)
			json_maps(self, OWNER_HOST, NULL, "linux", &json);
	}
	gt_json_object_end(&json);
	gt_strbuf_putc(text, '\n');
}

/* ---- all of it ------------------------------------------------------------------------- */

/* Print the program's output on a device; with several devices, each line names its device. */
static void print_output(const struct gt_cli_exec *self, const struct gt_exec_device *device)
{
	const char *line = gt_strbuf_string(&device->run.output);
	char name[32] = "";

	if (self->exec.device_count > 1)
		snprintf(name, sizeof(name), "device %u: ", device->number);
	while (*line) {
		size_t length = strcspn(line, "\n");

		fprintf(stderr, "%s%.*s\n", name, (int)length, line);
		line += length + (line[length] == '\n');
	}
	if (device->run.calls_lost)
		gt_cli_error("%s%" PRIu64 " accesses to maps on the host were not answered", name,
			     device->run.calls_lost);
	if (device->run.output_lost)
		gt_cli_error("%s%" PRIu64
			     " lines of the program's output were dropped (buffer full)",
			     name, device->run.output_lost);
}

/* Write the memory of the only device to the file of --mem-out. The exit status. */
static int write_memory(const struct gt_cli_exec *self)
{
	const char *path = self->given->memory_output;
	FILE *file = path ? fopen(path, "we") : NULL;
	size_t size = self->exec.program.memory_size;
	bool written;

	if (!path)
		return GT_EXIT_OK;
	written = file && fwrite(self->exec.devices[0].run.memory, 1, size, file) == size;
	if (file)
		written &= !fclose(file);
	if (written)
		return GT_EXIT_OK;
	gt_cli_error("cannot write the memory to %s: %s%s", path, strerror(errno),
		     gt_file_advice(-errno, GT_FILE_WRITTEN));
	return GT_EXIT_FAILED;
}

/* Results go to standard output; the program's output goes to standard error, or into the JSON. */
int gt_cli_exec_show(const struct gt_cli_exec *self)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (self->given->json)
		json_all(self, &text);
	else
		put_all(self, &text);
	for (size_t i = 0; !self->given->json && i < self->exec.device_count; i++)
		print_output(self, &self->exec.devices[i]);
	if (text.failed) {
		gt_cli_error("out of memory");
		return GT_EXIT_FAILED;
	}
	fputs(gt_strbuf_string(&text), stdout);
	if (write_memory(self))
		return GT_EXIT_FAILED;
	return self->exec.command_status;
}
