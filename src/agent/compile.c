/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernels of patched images are compiled when they are loaded, and must run in blocks as large
 * as the original's: a program does not know that they may need more registers, and its launches
 * would fail (701). Where that is so, limits of registers are written into the text of the patched
 * image, which is then loaded again.
 */
#include "agent/compile.h"

#include <stdio.h>
#include <string.h>

#include "agent/functions.h"
#include "agent/own_call.h"
#include "agent/report.h"
#include "base/register_limit.h"

enum {
	CU_FUNC_ATTRIBUTE_MAX_THREADS = 0,
	CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
	REGISTER_UNIT = 8, /* registers of a thread are allocated in multiples */
	/* Of threads: warps are distributed over the four parts of a multiprocessor. */
	THREAD_UNIT = 128,
	END_LENGTH = sizeof(GT_REGISTER_COMMENT_END) - 1,
};

static int round_up(int number, int unit)
{
	return (number + unit - 1) / unit * unit;
}

/* ---- contexts -------------------------------------------------------------------------- */

CUresult gt_agent_enter_context(bool *ret_entered)
{
	void *context = NULL;
	CUresult error;

	*ret_entered = false;
	if (!OWN1(cuCtxGetCurrent, &context) && context)
		return 0;
	error = OWN2(cuDevicePrimaryCtxRetain, &context, 0);
	if (error)
		return error;
	error = OWN1(cuCtxPushCurrent_v2, context);
	if (error)
		OWN1(cuDevicePrimaryCtxRelease_v2, 0);
	*ret_entered = !error;
	return error;
}

void gt_agent_leave_context(bool entered)
{
	void *popped;

	if (!entered)
		return;
	OWN1(cuCtxPopCurrent_v2, &popped);
	OWN1(cuDevicePrimaryCtxRelease_v2, 0);
}

/* ---- kernels --------------------------------------------------------------------------- */

/* The module of a container in the current context. */
static CUresult find_module(const struct gt_agent_loaded *loaded, void **ret_module)
{
	if (!gt_driver.cuModuleGetFunction || !gt_driver.cuFuncGetAttribute)
		return CUDA_ERROR_NOT_FOUND;
	*ret_module = loaded->handle;
	if (loaded->kind == GT_AGENT_MODULE)
		return 0;
	return gt_driver.cuLibraryGetModule ? OWN2(cuLibraryGetModule, ret_module, loaded->handle)
					    : CUDA_ERROR_NOT_FOUND;
}

/* How many threads a block of a kernel can have. The driver compiles it for that. */
static CUresult read_threads(void *module, const char *name, int *ret_threads)
{
	void *function;
	CUresult error = OWN3(cuModuleGetFunction, &function, module, name);

	return error ? error
		     : OWN3(cuFuncGetAttribute, ret_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS,
			    function);
}

/* The same; GT_AGENT_MAX_THREADS: unknown. */
static int threads_of(void *module, const char *name)
{
	int threads;

	return read_threads(module, name, &threads) ? GT_AGENT_MAX_THREADS : threads;
}

CUresult gt_agent_compile(const struct gt_agent_loaded *loaded,
			  const struct gt_agent_names *kernels, int *ret_threads)
{
	const char *name = kernels->data;
	int lowest = GT_AGENT_MAX_THREADS;
	CUresult error;
	void *module;

	error = find_module(loaded, &module);
	for (uint32_t i = 0; i < kernels->count && !error; i++, name += strlen(name) + 1) {
		int threads;

		error = read_threads(module, name, &threads);
		if (!error && threads < lowest)
			lowest = threads;
	}
	if (!error)
		*ret_threads = lowest;
	return error;
}

/* ---- limits of registers --------------------------------------------------------------- */

/* A kernel in the text of a patched image whose registers can be limited. */
struct limitable {
	char *at, *end; /* where its comment begins and the text ends */
	char *name;     /* of the kernel, with a NUL */
	size_t size;    /* the room for its characters */
};

static bool begin_limitable(const struct gt_agent_exchange *exchange, struct limitable *ret_first)
{
	const size_t size = exchange->kernels.size;

	*ret_first = (struct limitable){
		/* The mapping is private to this process. */
		.at = (char *)(uintptr_t)exchange->patched,
		.end = (char *)(uintptr_t)exchange->patched + exchange->image_size,
		.name = gt_agent_allocate(size),
		.size = size,
	};
	return ret_first->name;
}

static void end_limitable(const struct limitable *kernel)
{
	gt_agent_release(kernel->name, kernel->size);
}

/* The next one, from `at` on. False: there is none. */
static bool find_limitable(struct limitable *kernel)
{
	while ((kernel->at = memmem(kernel->at, (size_t)(kernel->end - kernel->at),
				    GT_REGISTER_COMMENT, GT_REGISTER_COMMENT_LENGTH))) {
		char *name = kernel->at + GT_REGISTER_COMMENT_LENGTH;
		size_t left = (size_t)(kernel->end - name), most = kernel->size + END_LENGTH;
		const char *end = memmem(name, left < most ? left : most, GT_REGISTER_COMMENT_END,
					 END_LENGTH);

		if (end) {
			memcpy(kernel->name, name, (size_t)(end - name));
			kernel->name[end - name] = '\0';
			return true;
		}
		kernel->at = name;
	}
	return false;
}

bool gt_agent_may_limit(const struct gt_agent_exchange *exchange,
			const struct gt_agent_loaded *patched)
{
	struct limitable kernel;
	bool found = false;
	void *module;

	if (find_module(patched, &module) || !begin_limitable(exchange, &kernel))
		return false;
	for (; !found && find_limitable(&kernel); kernel.at += GT_REGISTER_COMMENT_LENGTH)
		found = threads_of(module, kernel.name) < GT_AGENT_MAX_THREADS;
	end_limitable(&kernel);
	return found;
}

/* How many registers a block can have on the current device. */
static int registers_per_block(void)
{
	int device = 0, registers = 0;

	if (!gt_driver.cuCtxGetDevice || !gt_driver.cuDeviceGetAttribute ||
	    OWN1(cuCtxGetDevice, &device) ||
	    OWN3(cuDeviceGetAttribute, &registers, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK,
		 device))
		return 0;
	return registers;
}

/* The most registers of a thread with which a block can have so many; 0: none will do. */
static uint8_t registers_for(int registers, int threads)
{
	int limit = registers / round_up(threads, THREAD_UNIT) / REGISTER_UNIT * REGISTER_UNIT;

	return (uint8_t)(limit > GT_MAX_THREAD_REGISTERS ? GT_MAX_THREAD_REGISTERS : limit);
}

static void put_limit(char *at, uint8_t registers)
{
	char text[GT_REGISTER_COMMENT_LENGTH + 1];

	snprintf(text, sizeof(text), GT_REGISTER_LIMIT, registers);
	memcpy(at, text, GT_REGISTER_COMMENT_LENGTH);
}

unsigned gt_agent_limit_registers(const struct gt_agent_exchange *exchange,
				  const struct gt_agent_loaded *patched,
				  const struct gt_agent_loaded *original)
{
	const int registers = registers_per_block();
	void *patched_module, *original_module;
	struct limitable kernel;
	unsigned lowest = 0;

	if (find_module(patched, &patched_module) || find_module(original, &original_module) ||
	    !begin_limitable(exchange, &kernel))
		return 0;
	for (; find_limitable(&kernel); kernel.at += GT_REGISTER_COMMENT_LENGTH) {
		int now = threads_of(patched_module, kernel.name), before;
		uint8_t limit;

		if (now <= 0 || now >= GT_AGENT_MAX_THREADS ||
		    read_threads(original_module, kernel.name, &before) || now >= before)
			continue;
		limit = registers_for(registers, before);
		if (!limit)
			continue;
		put_limit(kernel.at, limit);
		if (!lowest || limit < lowest)
			lowest = limit;
	}
	end_limitable(&kernel);
	return lowest;
}

bool gt_agent_has_smaller_blocks(const struct gt_agent_names *kernels,
				 const struct gt_agent_loaded *patched,
				 const struct gt_agent_loaded *original)
{
	void *patched_module, *original_module;
	const char *name = kernels->data;
	bool smaller = false;

	if (find_module(patched, &patched_module) || find_module(original, &original_module))
		return false;
	for (uint32_t i = 0; i < kernels->count && !smaller; i++, name += strlen(name) + 1) {
		int now = threads_of(patched_module, name), before;

		smaller = now < GT_AGENT_MAX_THREADS &&
			  !read_threads(original_module, name, &before) && now < before;
	}
	return smaller;
}
