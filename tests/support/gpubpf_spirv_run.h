/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that the verifier accepted, translated to SPIR-V and run on an OpenCL device. A module
 * has many programs, since PoCL needs most of its time for the start of its compiler.
 */
#pragma once

#include "amount.h"
#include "gpubpf/translate.h"
#include "gpubpf_probes.h"
#include "opencl/opencl.h"

enum {
	A_MODULE = 64, /* programs in one module */
};

/* A module, and the memory that its programs access. */
struct spirv_module {
	bool for_spir;
	bool relative; /* the maps are copied to the device: execute_with_copies */
	unsigned features;
	struct outcome outcomes[A_MODULE];
	struct gt_diag rejected[A_MODULE]; /* why a program is not in it, if it is not */
	struct gt_strbuf binary;
};

static inline void spirv_module_clear(struct spirv_module *module)
{
	for (unsigned i = 0; i < A_MODULE; i++)
		outcome_clear(&module->outcomes[i]);
	gt_strbuf_free(&module->binary);
}

/* Of trace_printk and puts. */
static const struct gt_bpf_map output_ring_map = {
	.name = "output", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = GT_OUTPUT_BYTES};

/* Its memory, which all programs have in common. */
static inline void *output_ring(void)
{
	static void *ring;

	if (!ring) {
		ring = calloc(1, gt_bpf_map_bytes(&output_ring_map, 1));
		gt_bpf_map_initialise(&output_ring_map, 1, ring);
	}
	return ring;
}

/* Where a map is in the memory that is copied, after the output ring; the last one: its size. */
static inline size_t copied_offset(const struct outcome *outcome, uint32_t map)
{
	size_t offset = gt_bpf_map_bytes(&output_ring_map, 1);

	for (uint32_t i = 0; i < map; i++)
		offset += outcome->map_sizes[i];
	return offset;
}

/* Add a program as the kernel <prefix>program, with the addresses of its maps. */
static inline int add_spirv_probe(const struct probe *probe, const struct outcome *outcome,
				  const struct spirv_module *module,
				  struct gt_translation *translation, struct gt_diag *diag)
{
	uint64_t maps[CASE_MAPS][2];
	struct gt_symbol_values symbols = {.maps = (const uint64_t(*)[2])maps, .output = {0, 1}};
	struct gt_translate_options options = {
		.prefix = probe->prefix,
		.symbols = &symbols,
		.for_spir = module->for_spir,
		.relative = module->relative,
		.features = module->features,
	};
	struct gt_translate_job job = {
		.program = &probe->program,
		.facts = &probe->facts,
		.memory_size = probe->memory_size,
	};

	if (!module->relative)
		symbols.output[0] = (uintptr_t)output_ring();
	for (uint32_t i = 0; i < probe->object.map_count; i++) {
		maps[i][0] =
			module->relative ? copied_offset(outcome, i) : (uintptr_t)outcome->maps[i];
		maps[i][1] = 1;
	}
	return gt_target_spirv.translate(&options, &probe->object, &job, translation, diag);
}

/* A module of all programs but those that need what OpenCL does not have. */
static inline void make_spirv_module(struct probe *const *probes, size_t count,
				     struct spirv_module *module)
{
	struct gt_translate_options options = {0};
	struct gt_translation translation = {0};

	for (size_t i = 0; i < count; i++) {
		static const uint8_t none[OUTCOME_MEMORY];
		struct gt_diag *diag = &module->rejected[i];
		int error;

		prepare(probes[i], probes[i]->one ? probes[i]->one->memory : none,
			&module->outcomes[i]);
		error = add_spirv_probe(probes[i], &module->outcomes[i], module, &translation,
					diag);
		if (error &&
		    (error != -EOPNOTSUPP || !strstr(diag->text, "the target spirv does not")))
			TAP_FAIL("%s: %s: %s", probe_title(probes[i]), diag->place, diag->text);
	}
	CHECK(!gt_target_spirv.finish(&options, &translation, &module->binary, NULL));
	gt_translation_clear(&translation);
}

/* Open the first device that programs can run on; NULL: there is none. */
static inline struct gt_cl_device *open_cl_device(void)
{
	static struct gt_cl *cl;
	struct gt_cl_device *device = NULL;

	/* Its compiler leaks, and is slow where all of its memory is watched. */
	if (IS_SANITIZED)
		return NULL;
	/* The cache of PoCL would grow with every run. */
	setenv("POCL_KERNEL_CACHE", "0", 1);
	if (!cl && gt_cl_open(&cl, NULL))
		return NULL;
	for (unsigned i = 0; i < gt_cl_device_count(cl); i++) {
		if (gt_cl_device_open(cl, i, &device, NULL))
			continue;
		if (gt_cl_device_shares_memory(device))
			return device;
		gt_cl_device_close(device);
	}
	return NULL;
}

/* The memory that a launch has in place of that of this process; NULL: none. */
static inline bool execute_in_memory(struct gt_cl_program *program, const struct probe *probe,
				     const uint8_t *memory, struct outcome *outcome,
				     const struct gt_cl_argument *copies)
{
	static const uint32_t one[3] = {1, 1, 1};
	uint64_t size = probe->memory_size;
	struct gt_cl_argument arguments[4] = {
		{outcome->memory, size, true},
		{&size, sizeof(size), false},
		{&outcome->r0, sizeof(outcome->r0), true},
	};
	struct gt_diag diag = {0};
	char name[64];
	int error;

	memcpy(outcome->memory, memory, size);
	if (copies)
		arguments[3] = *copies;
	snprintf(name, sizeof(name), "%sprogram", probe->prefix);
	error = gt_cl_launch(program, name, one, one, arguments, copies ? 4 : 3, &diag);
	if (!error)
		error = gt_cl_wait(program, 0, &diag);
	if (error)
		TAP_FAIL("%s: %s: %s", probe_title(probe), diag.place, diag.text);
	return !error;
}

static inline bool execute_spirv(struct gt_cl_program *program, const struct probe *probe,
				 const uint8_t *memory, struct outcome *outcome)
{
	return execute_in_memory(program, probe, memory, outcome, NULL);
}

/*
 * The same on a device that gets a copy of the maps, but for the last bytes; the maps are what it
 * returns.
 */
static inline bool execute_with_copies(struct gt_cl_program *program, const struct probe *probe,
				       const uint8_t *memory, struct outcome *outcome,
				       size_t missing)
{
	size_t size = copied_offset(outcome, probe->object.map_count);
	gt_autofree uint8_t *all = malloc(size);
	struct gt_cl_argument copies = {all, size - missing, true};
	bool ran;

	memcpy(all, output_ring(), copied_offset(outcome, 0));
	for (uint32_t i = 0; i < probe->object.map_count; i++)
		memcpy(all + copied_offset(outcome, i), outcome->maps[i], outcome->map_sizes[i]);
	ran = execute_in_memory(program, probe, memory, outcome, &copies);
	for (uint32_t i = 0; i < probe->object.map_count; i++)
		memcpy(outcome->maps[i], all + copied_offset(outcome, i), outcome->map_sizes[i]);
	return ran;
}
