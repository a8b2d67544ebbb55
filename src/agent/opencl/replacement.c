/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The patched form of a program: asking the collector, and building it. */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/opencl/copies.h"
#include "agent/opencl/layer.h"
#include "agent/opencl/units.h"
#include "agent/pairs.h"
#include "agent/protocol.h"
#include "opencl/sharing.h"

enum {
	MAX_DEVICES = 64, /* of a program */
};

/* ---- devices ---- */

struct devices {
	cl_device_id ids[MAX_DEVICES];
	cl_uint count;
	bool are_cpus, take_spirv, take_spir; /* all of them */
	bool share_memory;                    /* the same; known where programs may match */
	cl_context context;                   /* NULL: unknown */
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

static bool has_type(cl_device_id device, cl_device_type wanted)
{
	cl_device_type type = 0;

	gt_cl_target->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	return type & wanted;
}

/* Devices whose memory was checked: answers[whether they share it]. */
static struct gt_agent_pairs checked = GT_AGENT_PAIRS_INIT;

void gt_cl_devices_forked(void)
{
	gt_agent_pairs_forked(&checked);
}

static bool shares_memory(cl_device_id device)
{
	static bool answers[] = {false, true};
	const struct gt_cl_sharing_calls calls = {
#define FUNCTION(name) .name = gt_cl_target->name,
#include "opencl/sharing.def"
#undef FUNCTION
	};
	const bool *known = gt_agent_pairs_find(&checked, device);
	void *earlier;
	bool shares;

	if (known)
		return *known;
	shares = gt_cl_shares_memory(&calls, device);
	gt_agent_pairs_put(&checked, device, &answers[shares], 1, &earlier);
	return shares;
}

static bool share_memory(const struct devices *devices)
{
	for (cl_uint i = 0; i < devices->count; i++)
		if (!shares_memory(devices->ids[i]))
			return false;
	return true;
}

/* The number of the devices of a program or context, and these. False: they are not known. */
static bool ask_devices(const struct gt_cl_request *request, struct devices *devices)
{
	const size_t size = sizeof(devices->ids);
	size_t got = 0;

	if (request->count) {
		if (!request->devices || request->count > MAX_DEVICES)
			return false;
		memcpy(devices->ids, request->devices, request->count * sizeof(*devices->ids));
		devices->count = request->count;
		return true;
	}
	if (request->program ? gt_cl_target->clGetProgramInfo(request->program, CL_PROGRAM_DEVICES,
							      size, devices->ids, &got)
			     : gt_cl_target->clGetContextInfo(request->context, CL_CONTEXT_DEVICES,
							      size, devices->ids, &got))
		return false;
	devices->count = (cl_uint)(got / sizeof(*devices->ids));
	return devices->count;
}

static bool list_devices(const struct gt_cl_request *request, struct devices *devices)
{
	*devices = (struct devices){.are_cpus = true, .take_spirv = true, .take_spir = true};
	if (!ask_devices(request, devices))
		return false;
	for (cl_uint i = 0; i < devices->count; i++) {
		cl_device_id device = devices->ids[i];

		devices->are_cpus &= has_type(device, CL_DEVICE_TYPE_CPU);
		devices->take_spirv &= has_text(device, CL_DEVICE_IL_VERSION, "SPIR-V");
		devices->take_spir &= has_text(device, CL_DEVICE_EXTENSIONS, "cl_khr_spir");
	}
	return true;
}

static uint32_t form_of(const struct devices *devices)
{
	uint32_t copied = devices->share_memory ? 0 : GT_AGENT_FORM_COPIED;

	if (devices->take_spirv)
		return copied | GT_AGENT_FORM_SPIRV;
	return copied | (devices->take_spir ? GT_AGENT_FORM_SPIR : GT_AGENT_FORM_NONE);
}

/* ---- names ---- */

/* Make "a;b" a list of GT_AGENT_NAMES, "ea", "eb", with a NUL each; it has room. Its size. */
static size_t make_list(const char *names, char *list)
{
	size_t size = 0;

	while (*names) {
		size_t length = strcspn(names, ";");

		if (length) {
			list[size++] = 'e';
			memcpy(list + size, names, length);
			size += length;
			list[size++] = 0;
		}
		names += length + (names[length] == ';');
	}
	return size;
}

/* Whether programs may match the kernels of a program that is built; also in doubt. */
static bool may_match(cl_program program)
{
	size_t size = 0;
	char *names, *list;
	bool may = true;

	if (gt_cl_target->clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &size) ||
	    size <= 1)
		return true;
	names = calloc(1, size + 1);
	list = malloc(2 * size + 2);
	if (names && list &&
	    !gt_cl_target->clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, size, names, NULL))
		may = gt_cl_services->ask_names(list, make_list(names, list));
	free(names);
	free(list);
	return may;
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

static cl_int build(const struct devices *devices, const struct gt_agent_exchange *exchange,
		    cl_program *ret_program)
{
	const char *options = devices->take_spirv ? "" : "-x spir -spir-std=1.2";
	cl_int error = CL_SUCCESS;

	*ret_program = create(devices->context, devices, exchange, &error);
	if (!error)
		error = gt_cl_target->clBuildProgram(*ret_program, devices->count, devices->ids,
						     options, NULL, NULL);
	if (error && *ret_program)
		gt_cl_target->clReleaseProgram(*ret_program);
	return error;
}

/* Whether a device has too little local memory for a kernel as it is patched. */
static bool lacks_local_memory(cl_program program, const char *kernel_name,
			       const struct devices *devices)
{
	cl_int error;
	cl_kernel kernel = gt_cl_target->clCreateKernel(program, kernel_name, &error);
	bool lacks = false;

	for (cl_uint i = 0; kernel && i < devices->count; i++) {
		cl_ulong has = 0;

		gt_cl_target->clGetDeviceInfo(devices->ids[i], CL_DEVICE_LOCAL_MEM_SIZE,
					      sizeof(has), &has, NULL);
		lacks |= gt_cl_local_memory(kernel, devices->ids[i]) > has;
	}
	if (kernel)
		gt_cl_target->clReleaseKernel(kernel);
	return lacks;
}

/* 0, or the error that launches of a kernel would have. */
static cl_int check_kernels(const struct gt_cl_replacement *replacement,
			    const struct devices *devices)
{
	const char *name = replacement->names, *end = name + replacement->size;

	for (; name < end; name += strlen(name) + 1)
		if (lacks_local_memory(replacement->program, name, devices))
			return CL_OUT_OF_RESOURCES;
	return CL_SUCCESS;
}

/* Build what the collector has patched, and take over the copies. 0 or gt_agent_error. */
static int load(const struct devices *devices, const struct gt_agent_exchange *exchange,
		struct gt_cl_copies *copies, struct gt_cl_replacement **ret_replacement)
{
	const struct gt_agent_names *names = &exchange->kernels;
	struct gt_cl_replacement *replacement;
	cl_int error;

	replacement = malloc(sizeof(*replacement) + names->size);
	if (!replacement)
		return GT_AGENT_NO_MEMORY;
	replacement->device = devices->ids[0];
	replacement->needs_system_memory = devices->share_memory && !devices->are_cpus;
	replacement->copies = copies;
	replacement->size = names->size;
	memcpy(replacement->names, names->data, names->size);
	error = build(devices, exchange, &replacement->program);
	if (!error && (error = check_kernels(replacement, devices)))
		gt_cl_target->clReleaseProgram(replacement->program);
	if (error) {
		free(replacement);
		return GT_AGENT_OPENCL + error;
	}
	*ret_replacement = replacement;
	return 0;
}

/* The devices, and whether they access the maps. False: nothing is to be inserted. */
static bool examine_devices(const struct gt_cl_request *request, struct devices *devices,
			    int *ret_error)
{
	if (!list_devices(request, devices) || !gt_cl_services->map_on_host(ret_error) ||
	    (request->is_built && !may_match(request->program)))
		return false;
	devices->context = request->context;
	if (request->program && gt_cl_target->clGetProgramInfo(request->program, CL_PROGRAM_CONTEXT,
							       sizeof(devices->context),
							       (void *)&devices->context, NULL))
		return false;
	devices->share_memory = share_memory(devices);
	return true;
}

/* Ask the collector, and build what it returns. */
static struct gt_cl_replacement *ask_and_load(const struct gt_agent_units *units,
					      const struct devices *devices, int error)
{
	struct gt_cl_replacement *replacement = NULL;
	struct gt_cl_copies *copies = NULL;
	struct gt_agent_exchange exchange;

	gt_cl_services->ask_program(units->bytes, units->size, form_of(devices), &exchange);
	if (exchange.patched && !error && !devices->share_memory)
		copies = gt_cl_copies_get(devices->context, &error);
	if (exchange.patched && !error)
		error = load(devices, &exchange, copies, &replacement);
	if (!replacement)
		gt_cl_copies_put(copies);
	gt_cl_services->finish(&exchange, error, false);
	return replacement;
}

struct gt_cl_replacement *gt_cl_replace(const struct gt_cl_request *request)
{
	struct gt_agent_units units = {0};
	struct gt_cl_replacement *replacement = NULL;
	struct devices devices;
	int error = 0;

	if (!examine_devices(request, &devices, &error))
		return NULL;
	gt_cl_units_add_device(&units, devices.ids[0]);
	gt_cl_units_add_device_name(&units, devices.ids, devices.count);
	gt_agent_units_append(&units, request->units);
	if (!units.failed)
		replacement = ask_and_load(&units, &devices, error);
	gt_agent_units_clear(&units);
	return replacement;
}

void gt_cl_replacement_free(struct gt_cl_replacement *replacement)
{
	if (!replacement)
		return;
	gt_cl_target->clReleaseProgram(replacement->program);
	gt_cl_copies_put(replacement->copies);
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
