/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs that the verifier accepted, translated to PTX and run on the software device. */
#pragma once

#include "exec_fixture.h"
#include "gpubpf/translate.h"
#include "gpubpf_probes.h"

/* Add a program as the kernel <prefix>program. */
static inline bool add_ptx_probe(const struct probe *probe, unsigned sm,
				 struct gt_translation *translation)
{
	struct gt_translate_options options = {.sm = sm, .prefix = probe->prefix};
	struct gt_translate_job job = {
		.program = &probe->program,
		.facts = &probe->facts,
		.memory_size = probe->memory_size,
	};
	struct gt_diag diag = {0};

	if (!gt_target_ptx.translate(&options, &probe->object, &job, translation, &diag))
		return true;
	TAP_FAIL("%s: %s: %s", probe_title(probe), diag.place, diag.text);
	return false;
}

static inline char *make_ptx_module(struct probe *const *probes, size_t count, unsigned sm)
{
	struct gt_translate_options options = {.sm = sm};
	struct gt_translation translation = {0};
	struct gt_strbuf text = GT_STRBUF_INIT;

	for (size_t i = 0; i < count; i++)
		add_ptx_probe(probes[i], sm, &translation);
	CHECK(!gt_target_ptx.finish(&options, &translation, &text, NULL));
	gt_translation_clear(&translation);
	return gt_strbuf_steal(&text);
}

static inline void print_probe(const struct probe *probe)
{
	gt_autofree char *text =
		make_ptx_module((struct probe *const[]){(struct probe *)probe}, 1, 90);

	for (uint32_t i = 0; i < probe->program.count; i++) {
		gt_auto_strbuf line = GT_STRBUF_INIT;

		gt_bpf_put_insn(&line, probe->program.insns, probe->program.count, i);
		printf("# %u: %s\n", i, gt_strbuf_string(&line));
		if (gt_bpf_is_wide(&probe->program.insns[i]))
			i++;
	}
	for (char *line, *rest = text; (line = strsep(&rest, "\n"));)
		printf("# %s\n", line);
}

static const struct gt_bpf_map output_map = {
	.name = "output", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = GT_OUTPUT_BYTES};

/* Allocate a map and write its address into the symbol. NULL if the program does not use it. */
static inline void *place_map(struct device *device, struct sg_module *module, const char *symbol,
			      const void *bytes, size_t size)
{
	struct sg_variable_info info;
	void *place;

	if (sg_module_variable(module, symbol, &info))
		return NULL;
	place = device_memory(device, size);
	memcpy(place, bytes, size);
	memcpy((void *)(uintptr_t)info.address, (uint64_t[]){address_of(place), 1}, 16);
	return place;
}

/* Place the memory of a run on the device. */
static inline void place_maps(struct device *device, struct sg_module *module,
			      const struct probe *probe, struct outcome *outcome, void **ret_places)
{
	static void *fresh_output;
	char name[64];

	for (uint32_t i = 0; i < probe->object.map_count; i++) {
		snprintf(name, sizeof(name), "%smap_%u", probe->prefix, i);
		ret_places[i] =
			place_map(device, module, name, outcome->maps[i], outcome->map_sizes[i]);
	}
	if (!fresh_output) {
		fresh_output = calloc(1, gt_bpf_map_bytes(&output_map, 1));
		gt_bpf_map_initialise(&output_map, 1, fresh_output);
	}
	snprintf(name, sizeof(name), "%soutput", probe->prefix);
	place_map(device, module, name, fresh_output, gt_bpf_map_bytes(&output_map, 1));
}

static inline bool execute_ptx(struct device *device, struct sg_module *module,
			       const struct probe *probe, const uint8_t *memory,
			       struct outcome *outcome)
{
	uint64_t used = device->used, *result, parameters[3];
	struct sg_grid_result ran;
	void *places[CASE_MAPS];
	char name[64];
	uint8_t *bytes;
	int error;

	prepare(probe, memory, outcome);
	place_maps(device, module, probe, outcome, places);
	result = device_memory(device, 8);
	bytes = device_memory(device, probe->memory_size + 1);
	memcpy(bytes, memory, probe->memory_size);
	snprintf(name, sizeof(name), "%sprogram", probe->prefix);
	parameters[0] = address_of(bytes);
	parameters[1] = probe->memory_size;
	parameters[2] = address_of(result);
	error = device_run_with(device, module, name, (struct sg_launch){0}, parameters, 3, &ran);
	if (error)
		TAP_FAIL("%s: %s", probe_title(probe), ran.fault.text);
	outcome->r0 = *result;
	memcpy(outcome->memory, bytes, probe->memory_size);
	for (uint32_t i = 0; i < probe->object.map_count; i++)
		if (places[i])
			memcpy(outcome->maps[i], places[i], outcome->map_sizes[i]);
	device->used = used;
	return !error;
}
