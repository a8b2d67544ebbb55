/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adds two vectors with Level Zero. It makes 3 shared allocations of 1 MiB, a module of SPIR-V, and
 * 1 launch of 1024 groups of 256 work-items; no call fails.
 */
#include <level_zero/ze_api.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	COUNT = 256 * 1024,
	GROUP = 256,
};

/* Checks the result of a call that must not fail. */
#define CHECK(call)                                                                                \
	do {                                                                                       \
		ze_result_t error_ = (call);                                                       \
		if (error_ != ZE_RESULT_SUCCESS) {                                                 \
			fprintf(stderr, "%s:%d: %s: error 0x%x\n", __FILE__, __LINE__, #call,      \
				error_);                                                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static const uint8_t module_bytes[] = {
#include "vectoradd.spv.inc"
};

static ze_context_handle_t context;
static ze_device_handle_t device;

static void open_device(void)
{
	const ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	ze_driver_handle_t driver;
	uint32_t one = 1;

	CHECK(zeInit(ZE_INIT_FLAG_GPU_ONLY));
	CHECK(zeDriverGet(&one, &driver));
	one = 1;
	CHECK(zeDeviceGet(driver, &one, &device));
	CHECK(zeContextCreate(driver, &description, &context));
}

static float *allocate(void)
{
	const ze_device_mem_alloc_desc_t on_device = {
		.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
	const ze_host_mem_alloc_desc_t on_host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
	void *memory;

	CHECK(zeMemAllocShared(context, &on_device, &on_host, COUNT * sizeof(float), 64, device,
			       &memory));
	return memory;
}

static ze_module_handle_t create_module(void)
{
	const ze_module_desc_t description = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = sizeof(module_bytes),
		.pInputModule = module_bytes,
	};
	ze_module_handle_t module;

	CHECK(zeModuleCreate(context, device, &description, &module, NULL));
	return module;
}

static void execute(ze_kernel_handle_t kernel)
{
	const ze_command_queue_desc_t queue_description = {
		.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	const ze_command_list_desc_t list_description = {
		.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	const ze_group_count_t groups = {COUNT / GROUP, 1, 1};
	ze_command_queue_handle_t queue;
	ze_command_list_handle_t list;

	CHECK(zeCommandQueueCreate(context, device, &queue_description, &queue));
	CHECK(zeCommandListCreate(context, device, &list_description, &list));
	CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
	CHECK(zeCommandListClose(list));
	CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
	CHECK(zeCommandQueueSynchronize(queue, UINT64_MAX));
	CHECK(zeCommandListDestroy(list));
	CHECK(zeCommandQueueDestroy(queue));
}

static void add(float *a, float *b, float *sum)
{
	const ze_kernel_desc_t description = {
		.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
		.pKernelName = "add",
	};
	const int count = COUNT;
	ze_module_handle_t module = create_module();
	ze_kernel_handle_t kernel;

	CHECK(zeKernelCreate(module, &description, &kernel));
	CHECK(zeKernelSetGroupSize(kernel, GROUP, 1, 1));
	CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof(a), &a));
	CHECK(zeKernelSetArgumentValue(kernel, 1, sizeof(b), &b));
	CHECK(zeKernelSetArgumentValue(kernel, 2, sizeof(sum), &sum));
	CHECK(zeKernelSetArgumentValue(kernel, 3, sizeof(count), &count));
	execute(kernel);
	CHECK(zeKernelDestroy(kernel));
	CHECK(zeModuleDestroy(module));
}

int main(void)
{
	float *a, *b, *sum;

	open_device();
	a = allocate();
	b = allocate();
	sum = allocate();
	for (int i = 0; i < COUNT; i++) {
		a[i] = (float)i * 0.5F;
		b[i] = (float)i * 2.0F;
	}
	add(a, b, sum);
	for (int i = 0; i < COUNT; i++) {
		if (sum[i] != (float)i * 2.5F) {
			fprintf(stderr, "sum[%d] is %f\n", i, (double)sum[i]);
			return 1;
		}
	}
	printf("%d sums are right\n", COUNT);
	CHECK(zeMemFree(context, a));
	CHECK(zeMemFree(context, b));
	CHECK(zeMemFree(context, sum));
	CHECK(zeContextDestroy(context));
	return 0;
}
