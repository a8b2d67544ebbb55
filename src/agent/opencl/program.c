/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of programs: where they are built or linked, a patched form is made beside them. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/opencl/layer.h"
#include "agent/opencl/units.h"
#include "agent/pairs.h"

static struct gt_agent_pairs replacements =
	GT_AGENT_PAIRS_INIT; /* program: struct gt_cl_replacement */
/* Programs that OpenCL does not return, or that are linked later: struct gt_agent_units. */
static struct gt_agent_pairs parts = GT_AGENT_PAIRS_INIT;

void gt_cl_programs_forked(void)
{
	gt_agent_pairs_forked(&replacements);
	gt_agent_pairs_forked(&parts);
}

/* ---- what the program would notice ---- */

struct caller {
	int error, cancel;
};

static struct caller save_caller(void)
{
	struct caller caller = {.error = errno};

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &caller.cancel);
	return caller;
}

static void restore_caller(const struct caller *caller)
{
	pthread_setcancelstate(caller->cancel, NULL);
	errno = caller->error;
}

/* ---- what is kept of programs ---- */

static cl_uint count_references(cl_program program)
{
	cl_uint references = 1;

	gt_cl_target->clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof(references),
				       &references, NULL);
	return references;
}

static void keep_replacement(cl_program program, struct gt_cl_replacement *replacement)
{
	void *earlier = NULL;

	if (!gt_agent_pairs_put(&replacements, program, replacement, count_references(program),
				&earlier))
		earlier = replacement;
	gt_cl_replacement_free(earlier);
}

static void free_units(struct gt_agent_units *units)
{
	if (units)
		gt_agent_units_clear(units);
	free(units);
}

/* Takes over the units. */
static void keep_units(cl_program program, struct gt_agent_units *units)
{
	struct gt_agent_units *kept = malloc(sizeof(*kept));
	void *earlier = NULL;

	if (!kept) {
		gt_agent_units_clear(units);
		return;
	}
	*kept = *units;
	if (!gt_agent_pairs_put(&parts, program, kept, count_references(program), &earlier))
		earlier = kept;
	free_units(earlier);
}

const struct gt_cl_replacement *gt_cl_replacement_of(cl_program program)
{
	return gt_agent_pairs_find(&replacements, program);
}

cl_int CL_API_CALL gt_cl_retain_program(cl_program program)
{
	cl_int error = gt_cl_target->clRetainProgram(program);

	if (!error) {
		gt_agent_pairs_retain(&replacements, program);
		gt_agent_pairs_retain(&parts, program);
	}
	return error;
}

cl_int CL_API_CALL gt_cl_release_program(cl_program program)
{
	gt_cl_replacement_free(gt_agent_pairs_release(&replacements, program));
	free_units(gt_agent_pairs_release(&parts, program));
	return gt_cl_target->clReleaseProgram(program);
}

/* ---- building ---- */

/* The code of a program, for clBuildProgram and clCompileProgram. */
static void add_code(struct gt_agent_units *units, cl_program program)
{
	const struct gt_agent_units *kept = gt_agent_pairs_find(&parts, program);

	if (kept && gt_agent_units_is_binary(kept))
		gt_agent_units_append(units, kept);
	else if (!gt_cl_units_add_code(units, program))
		gt_agent_units_add_binary(units, NULL, 0);
}

static void add_options(struct gt_agent_units *units, const char *options)
{
	if (options)
		gt_agent_units_add(units, GT_AGENT_CHUNK_OPTIONS, options, strlen(options));
}

/* is_built: OpenCL knows the names of its kernels. */
static void instrument(cl_program program, cl_uint count, const cl_device_id *devices,
		       const char *options, bool is_built)
{
	const struct caller caller = save_caller();
	struct gt_agent_units units = {0};
	const struct gt_cl_request request = {
		.program = program,
		.is_built = is_built,
		.count = count,
		.devices = devices,
		.units = &units,
	};
	struct gt_cl_replacement *replacement;

	add_options(&units, options);
	add_code(&units, program);
	replacement = gt_cl_replace(&request);
	if (replacement)
		keep_replacement(program, replacement);
	gt_agent_units_clear(&units);
	restore_caller(&caller);
}

cl_int CL_API_CALL gt_cl_build_program(cl_program program, cl_uint count,
				       const cl_device_id *devices, const char *options,
				       gt_cl_notify *notify, void *data)
{
	cl_int error;

	/* Once it is called, the program may create kernels. */
	if (notify)
		instrument(program, count, devices, options, false);
	error = gt_cl_target->clBuildProgram(program, count, devices, options, notify, data);
	if (!notify && !error)
		instrument(program, count, devices, options, true);
	return error;
}

/* ---- binaries ---- */

cl_program CL_API_CALL gt_cl_create_from_binary(cl_context context, cl_uint count,
						const cl_device_id *devices, const size_t *lengths,
						const unsigned char **binaries, cl_int *status,
						cl_int *ret_error)
{
	cl_program program = gt_cl_target->clCreateProgramWithBinary(
		context, count, devices, lengths, binaries, status, ret_error);
	struct gt_agent_units units = {0};

	/* Those for all devices are alike if a device takes portable code. */
	if (program && count && lengths && binaries) {
		gt_agent_units_add_binary(&units, binaries[0], lengths[0]);
		keep_units(program, &units);
	}
	return program;
}

/* ---- compiling and linking ---- */

static void add_header(struct gt_agent_units *units, cl_program header, const char *name)
{
	size_t before = units->size;

	gt_agent_units_add(units, GT_AGENT_CHUNK_HEADER_NAME, name, strlen(name));
	if (!gt_cl_units_add_header(units, header))
		units->size = before;
}

static void keep_compiled(cl_program program, const char *options, cl_uint count,
			  const cl_program *headers, const char **names)
{
	const struct caller caller = save_caller();
	struct gt_agent_units units = {0};

	add_options(&units, options);
	for (cl_uint i = 0; headers && names && i < count; i++)
		if (headers[i] && names[i])
			add_header(&units, headers[i], names[i]);
	add_code(&units, program);
	keep_units(program, &units);
	restore_caller(&caller);
}

cl_int CL_API_CALL gt_cl_compile_program(cl_program program, cl_uint count,
					 const cl_device_id *devices, const char *options,
					 cl_uint header_count, const cl_program *headers,
					 const char **names, gt_cl_notify *notify, void *data)
{
	cl_int error;

	/* Once it is called, the program may be linked. */
	if (notify)
		keep_compiled(program, options, header_count, headers, names);
	error = gt_cl_target->clCompileProgram(program, count, devices, options, header_count,
					       headers, names, notify, data);
	if (!notify && !error)
		keep_compiled(program, options, header_count, headers, names);
	return error;
}

/* What the programs are made of; one of them that is not known is a binary of unknown kind. */
static void add_inputs(struct gt_agent_units *units, cl_uint count, const cl_program *inputs)
{
	for (cl_uint i = 0; inputs && i < count; i++) {
		const struct gt_agent_units *kept = gt_agent_pairs_find(&parts, inputs[i]);

		if (kept)
			gt_agent_units_append(units, kept);
		else
			gt_agent_units_add_binary(units, NULL, 0);
	}
}

/* What a call of clLinkProgram, and the function that is called when it is done, both use. */
struct gt_cl_linking {
	atomic_uint users;
	_Atomic(struct gt_cl_replacement *) replacement;
	gt_cl_notify *notify;
	void *data;
};

/* What was made before belongs to the program that is linked now. */
static void attach_linked(struct gt_cl_linking *linking, cl_program program)
{
	struct gt_cl_replacement *replacement = atomic_exchange(&linking->replacement, NULL);

	if (replacement && program)
		keep_replacement(program, replacement);
	else
		gt_cl_replacement_free(replacement);
	if (atomic_fetch_sub(&linking->users, 1) == 1)
		free(linking);
}

static void CL_CALLBACK notify_linked(cl_program program, void *data)
{
	struct gt_cl_linking *linking = data;
	gt_cl_notify *notify = linking->notify;
	void *own_data = linking->data;

	attach_linked(linking, program);
	notify(program, own_data);
}

/* A call of clLinkProgram. */
struct link_call {
	cl_context context;
	cl_uint device_count;
	const cl_device_id *devices;
	const char *options;
	cl_uint input_count;
	const cl_program *inputs;
	gt_cl_notify *notify;
	void *data;
	struct gt_agent_units units; /* of the inputs */
};

static cl_program link_inputs(const struct link_call *call, gt_cl_notify *notify, void *data,
			      cl_int *ret_error)
{
	return gt_cl_target->clLinkProgram(call->context, call->device_count, call->devices,
					   call->options, call->input_count, call->inputs, notify,
					   data, ret_error);
}

/* The patched form of what is linked. program: NULL, or the result. */
static struct gt_cl_replacement *replace_linked(const struct link_call *call, cl_program program)
{
	const struct caller caller = save_caller();
	const struct gt_cl_request request = {
		.program = program,
		.is_built = program,
		.context = call->context,
		.count = call->device_count,
		.devices = call->devices,
		.units = &call->units,
	};
	struct gt_cl_replacement *replacement = NULL;

	/* A library has no kernels of its own. */
	if (!call->options || !strstr(call->options, "-create-library"))
		replacement = gt_cl_replace(&request);
	restore_caller(&caller);
	return replacement;
}

/* The patched form is made before: the program may create kernels when it is called. */
static cl_program link_notifying(const struct link_call *call, cl_int *ret_error)
{
	struct gt_cl_linking *linking = calloc(1, sizeof(*linking));
	cl_program program;

	if (!linking)
		return link_inputs(call, call->notify, call->data, ret_error);
	linking->users = 2;
	linking->notify = call->notify;
	linking->data = call->data;
	linking->replacement = replace_linked(call, NULL);
	program = link_inputs(call, notify_linked, linking, ret_error);
	attach_linked(linking, program);
	return program;
}

static cl_program link_waiting(const struct link_call *call, cl_int *ret_error)
{
	cl_program program = link_inputs(call, NULL, NULL, ret_error);
	struct gt_cl_replacement *replacement =
		program && !*ret_error ? replace_linked(call, program) : NULL;

	if (replacement)
		keep_replacement(program, replacement);
	return program;
}

cl_program CL_API_CALL gt_cl_link_program(cl_context context, cl_uint device_count,
					  const cl_device_id *devices, const char *options,
					  cl_uint count, const cl_program *inputs,
					  gt_cl_notify *notify, void *data, cl_int *ret_error)
{
	struct link_call call = {
		.context = context,
		.device_count = device_count,
		.devices = devices,
		.options = options,
		.input_count = count,
		.inputs = inputs,
		.notify = notify,
		.data = data,
	};
	cl_int error = CL_SUCCESS;
	cl_program program;

	add_inputs(&call.units, count, inputs);
	program = notify ? link_notifying(&call, &error) : link_waiting(&call, &error);
	if (ret_error)
		*ret_error = error;
	if (program)
		keep_units(program, &call.units);
	else
		gt_agent_units_clear(&call.units);
	return program;
}
