/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs: building them, launches and their memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "opencl/private.h"

enum {
	MIN_SLEEP = 20000,   /* ns between two queries of a launch */
	MAX_SLEEP = 1000000, /* ns */
};

/* ---- building ---- */

static int create_from_spir(struct gt_cl_program *program, const void *module, size_t size,
			    struct gt_strbuf *ret_log, struct gt_diag *diag)
{
	struct gt_cl_device *device = program->device;
	gt_auto_strbuf bitcode = GT_STRBUF_INIT;
	const unsigned char *bytes;
	cl_int result, status;
	size_t length;
	int error = gt_cl_convert(module, size, &bitcode, ret_log, diag);

	if (error)
		return error;
	bytes = (const unsigned char *)gt_strbuf_string(&bitcode);
	length = bitcode.length;
	program->program = device->cl->call.clCreateProgramWithBinary(
		device->context, 1, &device->id, &length, &bytes, &status, &result);
	return gt_cl_check(result, "clCreateProgramWithBinary", diag);
}

static int create_program(struct gt_cl_program *program, const void *module, size_t size,
			  struct gt_strbuf *ret_log, struct gt_diag *diag)
{
	struct gt_cl_device *device = program->device;
	cl_int result;

	if (device->info.takes_spirv) {
		program->program = device->cl->call.clCreateProgramWithIL(device->context, module,
									  size, &result);
		return gt_cl_check(result, "clCreateProgramWithIL", diag);
	}
	if (device->info.takes_spir)
		return create_from_spir(program, module, size, ret_log, diag);
	return gt_diag(diag, -EOPNOTSUPP, "device", NULL,
		       "%s takes neither SPIR-V (clCreateProgramWithIL) nor SPIR (cl_khr_spir)",
		       device->info.name);
}

static void add_build_log(const struct gt_cl_program *program, struct gt_strbuf *ret_log)
{
	struct gt_cl_device *device = program->device;
	gt_autofree char *text = NULL;
	size_t size = 0;

	if (device->cl->call.clGetProgramBuildInfo(program->program, device->id,
						   CL_PROGRAM_BUILD_LOG, 0, NULL, &size) ||
	    !size)
		return;
	text = calloc(1, size + 1);
	if (text && !device->cl->call.clGetProgramBuildInfo(program->program, device->id,
							    CL_PROGRAM_BUILD_LOG, size, text, NULL))
		gt_strbuf_puts(ret_log, text);
}

int gt_cl_program_load(struct gt_cl_device *device, const void *module, size_t size,
		       struct gt_cl_program **ret_program, struct gt_strbuf *ret_log,
		       struct gt_diag *diag)
{
	gt_auto(cl_program) struct gt_cl_program *program = calloc(1, sizeof(*program));
	const char *options = device->info.takes_spirv ? "" : "-x spir -spir-std=1.2";
	int error;

	if (!program)
		return gt_diag(diag, -ENOMEM, "device", NULL, "out of memory");
	program->device = device;
	error = create_program(program, module, size, ret_log, diag);
	if (error)
		return error;
	error = gt_cl_check(device->cl->call.clBuildProgram(program->program, 1, &device->id,
							    options, NULL, NULL),
			    "clBuildProgram", diag);
	if (error) {
		add_build_log(program, ret_log);
		return error;
	}
	*ret_program = gt_take(program);
	return 0;
}

/* ---- launches ---- */

static void release_launch(struct gt_cl_program *program)
{
	const struct gt_cl_functions *call = &program->device->cl->call;

	for (size_t i = 0; i < program->argument_count; i++) {
		if (program->memory[i])
			call->clReleaseMemObject(program->memory[i]);
		program->memory[i] = NULL;
	}
	program->argument_count = 0;
	if (program->event)
		call->clReleaseEvent(program->event);
	if (program->kernel)
		call->clReleaseKernel(program->kernel);
	program->event = NULL;
	program->kernel = NULL;
}

void gt_cl_program_free(struct gt_cl_program *program)
{
	if (!program)
		return;
	if (!program->device->is_abandoned) {
		release_launch(program);
		if (program->program)
			program->device->cl->call.clReleaseProgram(program->program);
	}
	free(program);
}

static int set_argument(struct gt_cl_program *program, size_t index, struct gt_diag *diag)
{
	const struct gt_cl_functions *call = &program->device->cl->call;
	const struct gt_cl_argument *argument = &program->arguments[index];
	cl_mem *memory = &program->memory[index];
	cl_int result;
	int error;

	if (!argument->is_memory)
		return gt_cl_check(call->clSetKernelArg(program->kernel, (cl_uint)index,
							argument->size, argument->bytes),
				   "clSetKernelArg", diag);
	if (argument->size) {
		*memory = call->clCreateBuffer(program->device->context,
					       CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
					       argument->size, argument->bytes, &result);
		error = gt_cl_check(result, "clCreateBuffer", diag);
		if (error)
			return error;
	}
	return gt_cl_check(
		call->clSetKernelArg(program->kernel, (cl_uint)index, sizeof(*memory), memory),
		"clSetKernelArg", diag);
}

static int enqueue(struct gt_cl_program *program, const uint32_t *groups,
		   const uint32_t *group_size, struct gt_diag *diag)
{
	const struct gt_cl_functions *call = &program->device->cl->call;
	size_t global[3], local[3];
	int error;

	for (unsigned i = 0; i < 3; i++) {
		local[i] = group_size[i];
		global[i] = (size_t)groups[i] * group_size[i];
	}
	error = gt_cl_check(call->clEnqueueNDRangeKernel(program->device->queue, program->kernel, 3,
							 NULL, global, local, 0, NULL,
							 &program->event),
			    "clEnqueueNDRangeKernel", diag);
	return error ? error : gt_cl_check(call->clFlush(program->device->queue), "clFlush", diag);
}

int gt_cl_launch(struct gt_cl_program *program, const char *kernel, const uint32_t *groups,
		 const uint32_t *group_size, const struct gt_cl_argument *arguments, size_t count,
		 struct gt_diag *diag)
{
	size_t items = (size_t)group_size[0] * group_size[1] * group_size[2];
	cl_int result;
	int error;

	if (program->kernel || count > GT_CL_MAX_ARGUMENTS)
		return gt_diag(diag, -EBUSY, "device", kernel, "a launch of it has not ended");
	if (items > program->device->info.max_group)
		return gt_diag(diag, -E2BIG, "device", NULL,
			       "a block of %zu threads is too large for this device: at most %zu",
			       items, program->device->info.max_group);
	program->kernel =
		program->device->cl->call.clCreateKernel(program->program, kernel, &result);
	error = gt_cl_check(result, "clCreateKernel", diag);
	if (error)
		program->kernel = NULL;
	program->argument_count = count;
	memcpy(program->arguments, arguments, count * sizeof(*arguments));
	for (size_t i = 0; !error && i < count; i++)
		error = set_argument(program, i, diag);
	if (!error)
		error = enqueue(program, groups, group_size, diag);
	if (error)
		release_launch(program);
	return error;
}

static int copy_back(struct gt_cl_program *program, struct gt_diag *diag)
{
	const struct gt_cl_functions *call = &program->device->cl->call;
	int error = 0;

	for (size_t i = 0; !error && i < program->argument_count; i++)
		if (program->memory[i])
			error = gt_cl_check(call->clEnqueueReadBuffer(
						    program->device->queue, program->memory[i],
						    CL_TRUE, 0, program->arguments[i].size,
						    program->arguments[i].bytes, 0, NULL, NULL),
					    "clEnqueueReadBuffer", diag);
	return error;
}

int gt_cl_wait(struct gt_cl_program *program, uint64_t limit, struct gt_diag *diag)
{
	const struct gt_cl_functions *call = &program->device->cl->call;
	uint64_t start = gt_clock_monotonic(), sleep = MIN_SLEEP;
	cl_int status = CL_QUEUED;
	int error = 0;

	while (!error && status > CL_COMPLETE) {
		struct timespec time = {.tv_nsec = (long)sleep};

		error = gt_cl_check(call->clGetEventInfo(program->event,
							 CL_EVENT_COMMAND_EXECUTION_STATUS,
							 sizeof(status), &status, NULL),
				    "clGetEventInfo", diag);
		if (error || status <= CL_COMPLETE)
			break;
		if (limit && gt_clock_monotonic() - start > limit)
			return gt_diag(diag, -ETIME, "device", NULL,
				       "the program did not end within %" PRIu64 " ms",
				       limit / 1000000);
		nanosleep(&time, NULL);
		sleep = sleep * 2 < MAX_SLEEP ? sleep * 2 : MAX_SLEEP;
	}
	if (!error && status < 0)
		error = gt_cl_check(status, "clEnqueueNDRangeKernel", diag);
	if (!error)
		error = copy_back(program, diag);
	release_launch(program);
	return error;
}
