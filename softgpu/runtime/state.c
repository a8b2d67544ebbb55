/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/errors.h"
#include "report_line.h"
#include "runtime/runtime.h"

enum { DRIVER_API = 13000 };

struct sg_driver sg_driver;

static struct {
	pthread_once_t once;
	cudaError_t found;
	atomic_bool initialised;
	atomic_uint generation; /* of the primary contexts */
} state = {.once = PTHREAD_ONCE_INIT, .generation = 1};

static __thread struct sg_runtime_thread this_thread;

struct sg_runtime_thread *sg_self(void)
{
	return &this_thread;
}

/* ---- the driver ------------------------------------------------------------------------ */

static bool find_function(const char *name, void *ret_function)
{
	CUdriverProcAddressQueryResult status;
	void *address = NULL;

	if (sg_driver.get_proc_address(name, &address, DRIVER_API, CU_GET_PROC_ADDRESS_DEFAULT,
				       &status) ||
	    !address)
		return false;
	memcpy(ret_function, &address, sizeof(address));
	return true;
}

static void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *entry = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
	bool complete = entry != NULL;

	memcpy(&sg_driver.get_proc_address, &entry, sizeof(entry));
#define SG_DRIVER(name) complete = complete && find_function(#name, &sg_driver.name);
#include "runtime/driver.def"
#undef SG_DRIVER
	state.found = complete ? cudaSuccess : cudaErrorInsufficientDriver;
}

cudaError_t sg_error(CUresult result)
{
	const struct sg_error *known = sg_error_find((int)result);

	return known && known->runtime_name ? (cudaError_t)result : cudaErrorUnknown;
}

cudaError_t sg_start(void)
{
	cudaError_t error;

	pthread_once(&state.once, find_driver);
	if (state.found)
		return state.found;
	if (atomic_load(&state.initialised))
		return cudaSuccess;
	error = sg_error(sg_driver.cuInit(0));
	if (!error)
		atomic_store(&state.initialised, true);
	return error;
}

/* ---- contexts -------------------------------------------------------------------------- */

void sg_contexts_changed(void)
{
	atomic_fetch_add(&state.generation, 1);
}

static cudaError_t make_current(unsigned int generation)
{
	CUcontext context = NULL;
	CUresult result;

	/* A context that the program made current by the driver API stays current. */
	if (!this_thread.generation) {
		result = sg_driver.cuCtxGetCurrent(&context);
		if (result)
			return sg_error(result);
	}
	if (!context) {
		result = sg_driver.cuDevicePrimaryCtxRetain(&context, this_thread.device);
		if (!result)
			result = sg_driver.cuCtxSetCurrent(context);
		if (result)
			return sg_error(result);
	}
	this_thread.generation = generation;
	return cudaSuccess;
}

cudaError_t sg_enter(void)
{
	cudaError_t error = sg_start();
	unsigned int generation = atomic_load(&state.generation);

	if (error || this_thread.generation == generation)
		return error;
	return make_current(generation);
}

/* ---- errors ---------------------------------------------------------------------------- */

/* An error that makes a context unusable is not cleared by reading it. */
static bool is_sticky(cudaError_t error)
{
	switch (error) {
	case cudaErrorIllegalAddress:
	case cudaErrorLaunchTimeout:
	case cudaErrorAssert:
	case cudaErrorHardwareStackError:
	case cudaErrorIllegalInstruction:
	case cudaErrorMisalignedAddress:
	case cudaErrorInvalidAddressSpace:
	case cudaErrorInvalidPc:
	case cudaErrorLaunchFailure:
		return true;
	default:
		return false;
	}
}

cudaError_t sg_finish(cudaError_t error)
{
	if (error && error != cudaErrorNotReady)
		this_thread.last_error = error;
	return error;
}

/* For unsupported.c, which has no types of the API. */
int sg_finish_unsupported(const char *function);

int sg_finish_unsupported(const char *function)
{
	const char *verbose = getenv("SOFTGPU_VERBOSE");
	char line[160];

	snprintf(line, sizeof(line), "cudaErrorNotSupported (801): %s is not supported", function);
	sg_report_line(verbose && strcmp(verbose, "0") != 0, getenv("SOFTGPU_REPORTS"), line);
	return (int)sg_finish(cudaErrorNotSupported);
}

SG_API cudaError_t cudaGetLastError(void)
{
	cudaError_t error = this_thread.last_error;

	if (!is_sticky(error))
		this_thread.last_error = cudaSuccess;
	return error;
}

SG_API cudaError_t cudaPeekAtLastError(void)
{
	return this_thread.last_error;
}

SG_API const char *cudaGetErrorName(cudaError_t error)
{
	const struct sg_error *found = sg_error_find((int)error);

	return found && found->runtime_name ? found->runtime_name : "unrecognized error code";
}

SG_API const char *cudaGetErrorString(cudaError_t error)
{
	const struct sg_error *found = sg_error_find((int)error);

	return found && found->runtime_name ? found->text : "unrecognized error code";
}
