/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The patched form of a program: asking the collector, and building it. */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/opencl/layer.h"
#include "agent/protocol.h"

enum {
	MAX_DEVICES = 64, /* of a program */
};

/* ---- devices ---- */

struct devices {
	cl_device_id ids[MAX_DEVICES];
	cl_uint count;
	bool share_memory, take_spirv, take_spir; /* all of them */
};

static bool has_text(cl_device_id device, cl_device_info which, const char *wanted)
{
	size_t size = 0;
	char *text;
	bool found;

	if (gt_cl_target->clGetDeviceInfo(device, which, 0, NULL, &size) || !size)
		return false;
	text = calloc(1, size + 1);
	found = text && !gt_cl_target->clGetDeviceInfo(device, which, size, text, NULL) &&
		strstr(text, wanted);
	free(text);
	return found;
}

/* Whether kernels access the memory of this process by its addresses. */
static bool shares_memory(cl_device_id device)
{
	cl_device_svm_capabilities svm = 0;
	cl_device_type type = 0;

	gt_cl_target->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	gt_cl_target->clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL);
	return (type & CL_DEVICE_TYPE_CPU) || (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM);
}

static bool list_devices(cl_program program, cl_uint count, const cl_device_id *given,
			 struct devices *devices)
{
	*devices = (struct devices){
		.count = count, .share_memory = true, .take_spirv = true, .take_spir = true};
	if (!given && gt_cl_target->clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES,
						     sizeof(devices->count), &devices->count, NULL))
		return false;
	if (!devices->count || devices->count > MAX_DEVICES)
		return false;
	if (given)
		memcpy(devices->ids, given, count * sizeof(*given));
	else if (gt_cl_target->clGetProgramInfo(program, CL_PROGRAM_DEVICES,
						devices->count * sizeof(*devices->ids),
						devices->ids, NULL))
		return false;
	for (cl_uint i = 0; i < devices->count; i++) {
		devices->share_memory &= shares_memory(devices->ids[i]);
		devices->take_spirv &= has_text(devices->ids[i], CL_DEVICE_IL_VERSION, "SPIR-V");
		devices->take_spir &=
			has_text(devices->ids[i], CL_DEVICE_EXTENSIONS, "cl_khr_spir");
	}
	return true;
}

static uint32_t form_of(const struct devices *devices)
{
	if (devices->take_spirv)
		return GT_AGENT_FORM_SPIRV;
	return devices->take_spir ? GT_AGENT_FORM_SPIR : GT_AGENT_FORM_NONE;
}

/* ---- requests ---- */

/* The bytes of GT_AGENT_PROGRAM. NULL: the program has neither source nor SPIR-V. */
static char *make_request(cl_program program, const char *options, size_t *ret_size)
{
	static const cl_program_info kinds[] = {CL_PROGRAM_SOURCE, CL_PROGRAM_IL};
	size_t before = strlen(options) + 1, size = 0;
	cl_program_info kind = 0;
	char *request;

	/* A source without any character, and its NUL, is none. */
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && size <= 1; i++) {
		kind = kinds[i];
		size = 0;
		if (gt_cl_target->clGetProgramInfo(program, kind, 0, NULL, &size))
			size = 0;
	}
	request = size > 1 ? malloc(before + size) : NULL;
	if (!request)
		return NULL;
	memcpy(request, options, before);
	if (gt_cl_target->clGetProgramInfo(program, kind, size, request + before, NULL)) {
		free(request);
		return NULL;
	}
	*ret_size = before + size - (kind == CL_PROGRAM_SOURCE);
	return request;
}

/* ---- building ---- */

static cl_program create(cl_context context, const struct devices *devices,
			 const struct gt_agent_exchange *exchange, cl_int *ret_error)
{
	const unsigned char *binaries[MAX_DEVICES];
	size_t lengths[MAX_DEVICES];

	if (devices->take_spirv)
		return gt_cl_target->clCreateProgramWithIL(context, exchange->patched,
							   exchange->image_size, ret_error);
	for (cl_uint i = 0; i < devices->count; i++) {
		binaries[i] = exchange->patched;
		lengths[i] = exchange->image_size;
	}
	return gt_cl_target->clCreateProgramWithBinary(context, devices->count, devices->ids,
						       lengths, binaries, NULL, ret_error);
}

static cl_int build(cl_program original, const struct devices *devices,
		    const struct gt_agent_exchange *exchange, cl_program *ret_program)
{
	const char *options = devices->take_spirv ? "" : "-x spir -spir-std=1.2";
	cl_context context;
	cl_int error = gt_cl_target->clGetProgramInfo(original, CL_PROGRAM_CONTEXT, sizeof(context),
						      &context, NULL);

	*ret_program = NULL;
	if (!error)
		*ret_program = create(context, devices, exchange, &error);
	if (!error)
		error = gt_cl_target->clBuildProgram(*ret_program, devices->count, devices->ids,
						     options, NULL, NULL);
	if (error && *ret_program)
		gt_cl_target->clReleaseProgram(*ret_program);
	return error;
}

/* Build what the collector has patched. 0 or gt_agent_error. */
static int load(cl_program original, const struct devices *devices,
		const struct gt_agent_exchange *exchange,
		struct gt_cl_replacement **ret_replacement)
{
	const struct gt_agent_names *names = &exchange->kernels;
	struct gt_cl_replacement *replacement;
	cl_int error;

	if (!devices->share_memory)
		return GT_AGENT_NO_MAPS;
	replacement = malloc(sizeof(*replacement) + names->size);
	if (!replacement)
		return GT_AGENT_NO_MEMORY;
	replacement->size = names->size;
	memcpy(replacement->names, names->data, names->size);
	error = build(original, devices, exchange, &replacement->program);
	if (error) {
		free(replacement);
		return GT_AGENT_OPENCL + error;
	}
	*ret_replacement = replacement;
	return 0;
}

struct gt_cl_replacement *gt_cl_replace(cl_program program, cl_uint count,
					const cl_device_id *devices, const char *options)
{
	struct gt_cl_replacement *replacement = NULL;
	struct gt_agent_exchange exchange;
	struct devices listed;
	size_t size, map_size;
	char *request;
	void *maps;
	int error = 0;

	if (!list_devices(program, count, devices, &listed) ||
	    !gt_cl_services->map_memory(&maps, &map_size))
		return NULL;
	request = make_request(program, options ? options : "", &size);
	if (!request)
		return NULL;
	gt_cl_services->ask_program(request, size, form_of(&listed), &exchange);
	free(request);
	if (exchange.patched)
		error = load(program, &listed, &exchange, &replacement);
	gt_cl_services->finish(&exchange, error, false);
	return replacement;
}

void gt_cl_replacement_free(struct gt_cl_replacement *replacement)
{
	if (!replacement)
		return;
	gt_cl_target->clReleaseProgram(replacement->program);
	free(replacement);
}

bool gt_cl_replacement_has(const struct gt_cl_replacement *replacement, const char *kernel)
{
	const char *name = replacement->names, *end = name + replacement->size;

	for (; name < end; name += strlen(name) + 1)
		if (!strcmp(name, kernel))
			return true;
	return false;
}
