/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory, command lists and queues. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

#include <CL/cl_icd.h>

enum {
	MAX_ALLOCATIONS = 256,
	MAX_COMMANDS = 64,
	EXTERNAL_MEMMAP_SYSMEM = 0x20037, /* ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC */
};

/* ---- memory ---- */

static struct {
	pthread_mutex_t lock;
	struct {
		char *memory;
		size_t size;
		bool is_mapped; /* it is the program's */
	} items[MAX_ALLOCATIONS];
} allocations = {.lock = PTHREAD_MUTEX_INITIALIZER};

static ze_result_t add_allocation(void *memory, size_t size, bool is_mapped, void **ret_memory)
{
	bool is_added = false;

	pthread_mutex_lock(&allocations.lock);
	for (size_t i = 0; memory && !is_added && i < MAX_ALLOCATIONS; i++)
		if (!allocations.items[i].memory) {
			allocations.items[i].memory = memory;
			allocations.items[i].size = size;
			allocations.items[i].is_mapped = is_mapped;
			is_added = true;
		}
	pthread_mutex_unlock(&allocations.lock);
	if (!is_added)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	*ret_memory = memory;
	return ZE_RESULT_SUCCESS;
}

bool standin_has_memory(const void *pointer)
{
	bool found = false;

	pthread_mutex_lock(&allocations.lock);
	for (size_t i = 0; !found && i < MAX_ALLOCATIONS; i++) {
		const char *memory = allocations.items[i].memory;

		found = memory && (const char *)pointer >= memory &&
			(const char *)pointer < memory + allocations.items[i].size;
	}
	pthread_mutex_unlock(&allocations.lock);
	return found;
}

static ze_result_t allocate(size_t size, void **ret_memory)
{
	return add_allocation(clSVMAlloc(standin.context,
					 CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, size, 0),
			      size, false, ret_memory);
}

static ze_result_t allocate_shared(ze_context_handle_t context,
				   const ze_device_mem_alloc_desc_t *device_description,
				   const ze_host_mem_alloc_desc_t *host_description, size_t size,
				   size_t alignment, ze_device_handle_t device, void **ret_memory)
{
	return allocate(size, ret_memory);
}

static ze_result_t allocate_device(ze_context_handle_t context,
				   const ze_device_mem_alloc_desc_t *description, size_t size,
				   size_t alignment, ze_device_handle_t device, void **ret_memory)
{
	return allocate(size, ret_memory);
}

/* ze_external_memmap_sysmem_ext_desc_t of API version 1.14. */
struct mapped_memory {
	uint32_t type;
	const void *next;
	void *memory;
	uint64_t size;
};

static ze_result_t allocate_host(ze_context_handle_t context,
				 const ze_host_mem_alloc_desc_t *description, size_t size,
				 size_t alignment, void **ret_memory)
{
	const struct mapped_memory *mapped = description->pNext;

	if (!mapped || mapped->type != EXTERNAL_MEMMAP_SYSMEM)
		return allocate(size, ret_memory);
	if (!standin_is("STANDIN_MEMORY", "import"))
		return ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
	if (standin_is("STANDIN_LOG", "1"))
		fprintf(stderr, "mapped memory\n");
	return add_allocation(mapped->memory, mapped->size, true, ret_memory);
}

static ze_result_t free_memory(ze_context_handle_t context, void *memory)
{
	bool is_mapped = false;

	pthread_mutex_lock(&allocations.lock);
	for (size_t i = 0; i < MAX_ALLOCATIONS; i++)
		if (allocations.items[i].memory == memory) {
			allocations.items[i].memory = NULL;
			is_mapped = allocations.items[i].is_mapped;
		}
	pthread_mutex_unlock(&allocations.lock);
	if (is_mapped && standin_is("STANDIN_LOG", "1"))
		fprintf(stderr, "unmapped memory\n");
	if (!is_mapped)
		clSVMFree(standin.context, memory);
	return ZE_RESULT_SUCCESS;
}

void standin_fill_memory(ze_mem_dditable_t *table)
{
	table->pfnAllocShared = allocate_shared;
	table->pfnAllocDevice = allocate_device;
	table->pfnAllocHost = allocate_host;
	table->pfnFree = free_memory;
}

/* ---- commands ---- */

/* A launch, as the kernel is when it is appended; or a copy. */
struct standin_command {
	struct standin_kernel kernel;
	ze_group_count_t groups;
	const ze_group_count_t *indirect_groups; /* NULL: `groups` */
	void *target;                            /* NULL: a launch */
	const void *source;
	size_t size;
};

/* What zeCommandListCreate returns. */
struct standin_list {
	bool is_immediate;
	size_t count;
	struct standin_command commands[MAX_COMMANDS];
};

static bool set_argument(cl_kernel kernel, cl_uint index, const struct standin_argument *argument)
{
	void *pointer = NULL;

	if (argument->size == sizeof(pointer) && !argument->is_local)
		memcpy(&pointer, argument->value, sizeof(pointer));
	if (pointer && standin_has_memory(pointer))
		return !clSetKernelArgSVMPointer(kernel, index, pointer);
	return !clSetKernelArg(kernel, index, argument->size,
			       argument->is_local ? NULL : argument->value);
}

/*
 * The implementation's function, whose address its objects begin with (cl_icd.h): the one of
 * OpenCL's loader is one that tools observe.
 */
static cl_int enqueue(cl_kernel kernel, const size_t *global, const size_t *local)
{
	const struct _cl_icd_dispatch *functions = *(const struct _cl_icd_dispatch **)kernel;

	return functions->clEnqueueNDRangeKernel(standin.queue, kernel, 3, NULL, global, local, 0,
						 NULL, NULL);
}

static bool launch(const struct standin_command *command)
{
	const struct standin_kernel *kernel = &command->kernel;
	const ze_group_count_t *groups =
		command->indirect_groups ? command->indirect_groups : &command->groups;
	const size_t local[] = {kernel->group[0], kernel->group[1], kernel->group[2]};
	const size_t global[] = {local[0] * groups->groupCountX, local[1] * groups->groupCountY,
				 local[2] * groups->groupCountZ};

	for (cl_uint i = 0; i < STANDIN_MAX_ARGUMENTS && kernel->arguments[i].size; i++)
		if (!set_argument(kernel->kernel, i, &kernel->arguments[i]))
			return false;
	if (standin_is("STANDIN_LOG", "1"))
		fprintf(stderr, "launch %s indirect=%u\n", kernel->name, kernel->indirect);
	return !enqueue(kernel->kernel, global, local) && !clFinish(standin.queue);
}

/* Arguments of OpenCL's kernel are those of a launch: one at a time. */
static ze_result_t execute(const struct standin_command *command)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	bool is_done = true;

	pthread_mutex_lock(&lock);
	if (command->target)
		memcpy(command->target, command->source, command->size);
	else
		is_done = launch(command);
	pthread_mutex_unlock(&lock);
	return is_done ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static ze_result_t append(ze_command_list_handle_t handle, const struct standin_command *command)
{
	struct standin_list *list = (struct standin_list *)handle;

	if (list->is_immediate)
		return execute(command);
	if (list->count == MAX_COMMANDS)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	list->commands[list->count++] = *command;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t append_launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
				 const ze_group_count_t *groups, ze_event_handle_t signal,
				 uint32_t count, ze_event_handle_t *events)
{
	const struct standin_command command = {
		.kernel = *(const struct standin_kernel *)kernel,
		.groups = *groups,
	};

	return append(list, &command);
}

static ze_result_t append_indirect(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
				   const ze_group_count_t *groups, ze_event_handle_t signal,
				   uint32_t count, ze_event_handle_t *events)
{
	const struct standin_command command = {
		.kernel = *(const struct standin_kernel *)kernel,
		.indirect_groups = groups,
	};

	return append(list, &command);
}

static ze_result_t append_several(ze_command_list_handle_t list, uint32_t kernel_count,
				  ze_kernel_handle_t *kernels, const uint32_t *launch_count,
				  const ze_group_count_t *groups, ze_event_handle_t signal,
				  uint32_t count, ze_event_handle_t *events)
{
	ze_result_t result = ZE_RESULT_SUCCESS;

	for (uint32_t i = 0; !result && i < kernel_count && i < *launch_count; i++)
		result = append_indirect(list, kernels[i], &groups[i], NULL, 0, NULL);
	return result;
}

static ze_result_t append_copy(ze_command_list_handle_t list, void *target, const void *source,
			       size_t size, ze_event_handle_t signal, uint32_t count,
			       ze_event_handle_t *events)
{
	const struct standin_command command = {.target = target, .source = source, .size = size};

	return append(list, &command);
}

static ze_result_t append_barrier(ze_command_list_handle_t list, ze_event_handle_t signal,
				  uint32_t count, ze_event_handle_t *events)
{
	return ZE_RESULT_SUCCESS;
}

static ze_result_t create_list(ze_context_handle_t context, ze_device_handle_t device,
			       const ze_command_list_desc_t *description,
			       ze_command_list_handle_t *ret_list)
{
	*ret_list = calloc(1, sizeof(struct standin_list));
	return *ret_list ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

static ze_result_t create_immediate(ze_context_handle_t context, ze_device_handle_t device,
				    const ze_command_queue_desc_t *description,
				    ze_command_list_handle_t *ret_list)
{
	ze_result_t result = create_list(context, device, NULL, ret_list);

	if (!result)
		((struct standin_list *)*ret_list)->is_immediate = true;
	return result;
}

static ze_result_t destroy_list(ze_command_list_handle_t list)
{
	free(list);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t close_list(ze_command_list_handle_t list)
{
	return ZE_RESULT_SUCCESS;
}

static ze_result_t reset_list(ze_command_list_handle_t list)
{
	((struct standin_list *)list)->count = 0;
	return ZE_RESULT_SUCCESS;
}

void standin_fill_list(ze_command_list_dditable_t *table)
{
	table->pfnCreate = create_list;
	table->pfnCreateImmediate = create_immediate;
	table->pfnDestroy = destroy_list;
	table->pfnClose = close_list;
	table->pfnReset = reset_list;
	table->pfnAppendMemoryCopy = append_copy;
	table->pfnAppendBarrier = append_barrier;
	table->pfnAppendLaunchKernel = append_launch;
	table->pfnAppendLaunchCooperativeKernel = append_launch;
	table->pfnAppendLaunchKernelIndirect = append_indirect;
	table->pfnAppendLaunchMultipleKernelsIndirect = append_several;
}

/* ---- queues ---- */

static ze_result_t create_queue(ze_context_handle_t context, ze_device_handle_t device,
				const ze_command_queue_desc_t *description,
				ze_command_queue_handle_t *ret_queue)
{
	static char the_queue;

	*ret_queue = (ze_command_queue_handle_t)&the_queue;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t destroy_queue(ze_command_queue_handle_t queue)
{
	return ZE_RESULT_SUCCESS;
}

static ze_result_t execute_lists(ze_command_queue_handle_t queue, uint32_t count,
				 ze_command_list_handle_t *lists, ze_fence_handle_t fence)
{
	ze_result_t result = ZE_RESULT_SUCCESS;

	for (uint32_t i = 0; i < count; i++) {
		const struct standin_list *list = (const struct standin_list *)lists[i];

		for (size_t j = 0; !result && j < list->count; j++)
			result = execute(&list->commands[j]);
	}
	return result;
}

static ze_result_t synchronize(ze_command_queue_handle_t queue, uint64_t timeout)
{
	return ZE_RESULT_SUCCESS;
}

void standin_fill_queue(ze_command_queue_dditable_t *table)
{
	table->pfnCreate = create_queue;
	table->pfnDestroy = destroy_queue;
	table->pfnExecuteCommandLists = execute_lists;
	table->pfnSynchronize = synchronize;
}
