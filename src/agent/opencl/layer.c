/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The interface of the loader. */
#include "agent/opencl/layer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/opencl/copies.h"
#include "agent/opencl/times.h"
#include "agent/protocol.h"

#define EXPORTED __attribute__((visibility("default")))

/* The layer may be loaded without the agent. */
#pragma weak gt_agent_services

const struct gt_agent_services *gt_cl_services;
const struct _cl_icd_dispatch *gt_cl_target;

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info which, size_t size,
							void *value, size_t *ret_size)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	static const char name[] = "gputap";
	const void *answer = which == CL_LAYER_NAME ? (const void *)name : &version;
	size_t answer_size = which == CL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if (which != CL_LAYER_NAME && which != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && size < answer_size)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, answer, answer_size);
	if (ret_size)
		*ret_size = answer_size;
	return CL_SUCCESS;
}

static void reset_after_fork(void)
{
	gt_cl_programs_forked();
	gt_cl_devices_forked();
	gt_cl_kernels_forked();
	gt_cl_launches_forked();
	gt_cl_copies_forked();
	gt_cl_times_forked();
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count,
						     const struct _cl_icd_dispatch *target,
						     cl_uint *ret_count,
						     const struct _cl_icd_dispatch **ret_dispatch)
{
	static struct _cl_icd_dispatch active = {
		.clBuildProgram = gt_cl_build_program,
		.clCompileProgram = gt_cl_compile_program,
		.clLinkProgram = gt_cl_link_program,
		.clCreateProgramWithBinary = gt_cl_create_from_binary,
		.clRetainProgram = gt_cl_retain_program,
		.clReleaseProgram = gt_cl_release_program,
		.clCreateKernel = gt_cl_create_kernel,
		.clCreateKernelsInProgram = gt_cl_create_kernels,
		.clCloneKernel = gt_cl_clone_kernel,
		.clRetainKernel = gt_cl_retain_kernel,
		.clReleaseKernel = gt_cl_release_kernel,
		.clSetKernelExecInfo = gt_cl_set_exec_info,
		.clSetKernelArg = gt_cl_set_argument,
		.clSetKernelArgSVMPointer = gt_cl_set_svm_argument,
		.clEnqueueNDRangeKernel = gt_cl_enqueue_kernel,
		.clEnqueueTask = gt_cl_enqueue_task,
		.clFinish = gt_cl_finish,
		.clWaitForEvents = gt_cl_wait_for_events,
		.clCreateUserEvent = gt_cl_create_user_event,
		.clSetUserEventStatus = gt_cl_set_user_event,
		.clGetKernelInfo = gt_cl_get_kernel_info,
		.clGetKernelArgInfo = gt_cl_get_argument_info,
		.clGetKernelWorkGroupInfo = gt_cl_get_group_info,
	};
	static const struct _cl_icd_dispatch inactive;
	const cl_uint own_count = sizeof(active) / sizeof(void *);
	const char *socket = secure_getenv(GT_AGENT_SOCKET);
	bool is_active = socket && *socket && gt_agent_services && count >= own_count;

	if (!target || !ret_count || !ret_dispatch)
		return CL_INVALID_VALUE;
	if (is_active) {
		gt_cl_services = gt_agent_services();
		gt_cl_target = target;
		gt_cl_times_open(&active);
		pthread_atfork(NULL, NULL, reset_after_fork);
	}
	*ret_dispatch = is_active ? &active : &inactive;
	*ret_count = own_count;
	return CL_SUCCESS;
}
