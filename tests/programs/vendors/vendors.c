/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls HIP or Level Zero ("hip", "ze"): one allocation is freed and one is not, a call fails. With
 * "hip-graphs": a copy of 256 bytes and a kernel become a graph by stream capture, which is
 * launched twice; a copy of 128 bytes and a kernel as nodes become another one, which is launched 3
 * times. With "hip-launches": launches whose sizes are in threads, and on several devices. With
 * "ze-name FILE": the name of a kernel is on a page of the file that nothing has read. With
 * "ze-memory": two allocations of each kind of Level Zero, of which one is freed.
 */
#include "vendors.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int call_hip(void)
{
	static const char function;
	void *memory = NULL, *other = NULL;
	char host[256];

	__hipRegisterFunction(NULL, &function, NULL, "_Z3addPf", 0, NULL, NULL, NULL, NULL, NULL);
	hipMalloc(&other, 1 << 20);
	hipMalloc(&memory, 1024);
	hipMemcpy(memory, host, sizeof(host), 1);
	hipLaunchKernel(&function, (struct dim3){4, 2, 1}, (struct dim3){64, 1, 1}, NULL, 0, NULL);
	hipMemcpy(host, memory, sizeof(host), 2);
	return 0;
}

static void launch_graph(void *graph, void *stream, int times)
{
	void *executable = NULL;

	hipGraphInstantiate(&executable, graph, NULL, NULL, 0);
	for (int i = 0; i < times; i++)
		hipGraphLaunch(executable, stream);
}

static int launch_hip_graphs(void)
{
	static const char function;
	const struct hip_kernel_node kernel = {
		.block = {32, 1, 1}, .function = &function, .grid = {2, 1, 1}};
	void *memory = NULL, *stream = NULL, *graph = NULL, *node = NULL;
	char host[256];

	__hipRegisterFunction(NULL, &function, NULL, "_Z3addPf", 0, NULL, NULL, NULL, NULL, NULL);
	hipMalloc(&memory, 1024);
	hipStreamCreate(&stream);
	hipStreamBeginCapture(stream, 0);
	hipMemcpyAsync(memory, host, sizeof(host), 1, stream);
	hipLaunchKernel(&function, (struct dim3){4, 2, 1}, (struct dim3){64, 1, 1}, NULL, 0,
			stream);
	hipStreamEndCapture(stream, &graph);
	launch_graph(graph, stream, 2);
	hipGraphCreate(&graph, 0);
	hipGraphAddMemcpyNode1D(&node, graph, NULL, 0, host, memory, 128, 2);
	hipGraphAddKernelNode(&node, graph, &node, 1, &kernel);
	launch_graph(graph, stream, 3);
	return 0;
}

static int launch_in_hip_modules(void)
{
	static const char function;
	struct hip_launch launches[2] = {{&function, {2, 1, 1}, {32, 1, 1}, NULL, 0, NULL},
					 {&function, {4, 1, 1}, {32, 1, 1}, NULL, 0, NULL}};
	void *kernel = NULL;

	__hipRegisterFunction(NULL, &function, NULL, "_Z3addPf", 0, NULL, NULL, NULL, NULL, NULL);
	hipModuleGetFunction(&kernel, NULL, "gemm");
	hip_ext_launch(kernel, 1000, 2, 1, 256, 1, 1, 64, NULL, NULL, NULL, NULL, NULL, 0);
	hipExtLaunchMultiKernelMultiDevice(launches, 2, 0);
	return 0;
}

static int name_kernel(const char *file)
{
	int opened = open(file, O_RDONLY);
	struct ze_kernel_desc description = {
		.name = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, opened, 0)};
	unsigned groups[3] = {8, 2, 1};
	void *kernel = NULL;

	if (description.name == MAP_FAILED)
		return 1;
	zeKernelCreate(NULL, &description, &kernel);
	/* gputap reads the name from the process. */
	while (access("go", F_OK))
		usleep(10000);
	return zeCommandListAppendLaunchKernel(NULL, kernel, groups, NULL, 0, NULL);
}

static int call_level_zero(void)
{
	struct ze_kernel_desc description = {.name = "scale"};
	void *memory = NULL, *list = NULL, *kernel = NULL;
	unsigned groups[3] = {8, 2, 1};
	char host[256];

	zeInit(0);
	zeCommandListCreate(NULL, NULL, NULL, &list);
	zeMemAllocDevice(NULL, NULL, 4096, 64, NULL, &memory);
	zeKernelCreate(NULL, &description, &kernel);
	zeKernelSetGroupSize(kernel, 32, 2, 1);
	zeKernelSetArgumentValue(kernel, 0, sizeof(memory), &memory);
	zeKernelSetArgumentValue(kernel, 1, sizeof(groups[0]), &groups[0]);
	zeCommandListAppendMemoryCopy(list, memory, host, sizeof(host), NULL, 0, NULL);
	zeCommandListAppendLaunchKernel(list, kernel, groups, NULL, 0, NULL);
	return zeMemFree(NULL, memory);
}

static int use_level_zero_memory(void)
{
	void *device[2], *host[2], *shared[2];

	for (size_t i = 0; i < 2; i++) {
		zeMemAllocDevice(NULL, NULL, 1000 << i, 64, NULL, &device[i]);
		zeMemAllocHost(NULL, NULL, 10000 << i, 64, &host[i]);
		zeMemAllocShared(NULL, NULL, NULL, 100000 << i, 64, NULL, &shared[i]);
	}
	return zeMemFree(NULL, device[0]) | zeMemFree(NULL, host[0]) | zeMemFree(NULL, shared[0]);
}

int main(int count, char **arguments)
{
	if (count < 2)
		return 2;
	if (!strcmp(arguments[1], "hip-graphs"))
		return launch_hip_graphs();
	if (!strcmp(arguments[1], "hip-launches"))
		return launch_in_hip_modules();
	if (!strcmp(arguments[1], "ze-name"))
		return count < 3 ? 2 : name_kernel(arguments[2]);
	if (!strcmp(arguments[1], "ze-memory"))
		return use_level_zero_memory();
	return !strcmp(arguments[1], "hip") ? call_hip() : call_level_zero();
}
