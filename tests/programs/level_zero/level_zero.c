/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that use Level Zero, by name; each checks its results, and prints "right" or "wrong".
 * The module is the file number.spv, whose kernel `number` stores first + i at numbers[i].
 */
#include <level_zero/ze_api.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ITEMS = 64,
	GROUP = 16,
	MAX_MODULE = 1 << 20, /* bytes */
	THREADS = 4,
	LAUNCHES = 8, /* of each thread */
};

static ze_context_handle_t context;
static ze_device_handle_t device;
static ze_command_queue_handle_t queue;
static uint8_t spirv[MAX_MODULE];
static size_t spirv_size;

static bool open_device(void)
{
	const ze_context_desc_t description = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
	const ze_command_queue_desc_t queue_description = {
		.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_driver_handle_t driver;
	uint32_t one = 1;

	return !zeInit(0) && !zeDriverGet(&one, &driver) && !zeDeviceGet(driver, &one, &device) &&
	       !zeContextCreate(driver, &description, &context) &&
	       !zeCommandQueueCreate(context, device, &queue_description, &queue);
}

static bool read_spirv(void)
{
	FILE *file = fopen("number.spv", "rb");

	spirv_size = file ? fread(spirv, 1, sizeof(spirv), file) : 0;
	if (file)
		fclose(file);
	return spirv_size;
}

/* ---- modules ---- */

static ze_module_handle_t create_from(ze_module_format_t format, const uint8_t *bytes, size_t size,
				      const char *flags, const ze_module_constants_t *constants)
{
	const ze_module_desc_t description = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = format,
		.inputSize = size,
		.pInputModule = bytes,
		.pBuildFlags = flags,
		.pConstants = constants,
	};
	ze_module_build_log_handle_t log = NULL;
	ze_module_handle_t module = NULL;
	char text[64] = "";
	size_t text_size = sizeof(text);

	if (zeModuleCreate(context, device, &description, &module, &log))
		return NULL;
	zeModuleBuildLogGetString(log, &text_size, text);
	zeModuleBuildLogDestroy(log);
	return strcmp(text, "built") ? NULL : module;
}

static ze_module_handle_t create_module(void)
{
	return create_from(ZE_MODULE_FORMAT_IL_SPIRV, spirv, spirv_size, NULL, NULL);
}

static ze_kernel_handle_t create_kernel(ze_module_handle_t module)
{
	const ze_kernel_desc_t description = {
		.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
		.pKernelName = "number",
	};
	ze_kernel_handle_t kernel = NULL;

	if (!module || zeKernelCreate(module, &description, &kernel))
		return NULL;
	return zeKernelSetGroupSize(kernel, GROUP, 1, 1) ? NULL : kernel;
}

/* ---- launches ---- */

static const ze_group_count_t groups = {ITEMS / GROUP, 1, 1};

static int *allocate(size_t count)
{
	const ze_host_mem_alloc_desc_t description = {
		.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
	void *memory = NULL;

	if (zeMemAllocHost(context, &description, count * sizeof(int), 64, &memory))
		return NULL;
	memset(memory, 0, count * sizeof(int));
	return memory;
}

static bool set_arguments(ze_kernel_handle_t kernel, int *numbers, int first)
{
	return numbers && !zeKernelSetArgumentValue(kernel, 0, sizeof(int *), &numbers) &&
	       !zeKernelSetArgumentValue(kernel, 1, sizeof(first), &first);
}

static bool are_right(const int *numbers, int first)
{
	for (int i = 0; i < ITEMS; i++)
		if (numbers[i] != first + i)
			return false;
	return true;
}

static ze_command_list_handle_t create_list(void)
{
	const ze_command_list_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
	ze_command_list_handle_t list = NULL;

	return zeCommandListCreate(context, device, &description, &list) ? NULL : list;
}

static bool execute_list(ze_command_list_handle_t list)
{
	return !zeCommandListClose(list) &&
	       !zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL) &&
	       !zeCommandQueueSynchronize(queue, UINT64_MAX);
}

/* Launch a kernel by a function that appends it to a list; whether its results are right. */
static bool launch_by(ze_kernel_handle_t kernel, int first,
		      ze_result_t (*append)(ze_command_list_handle_t list,
					    ze_kernel_handle_t kernel))
{
	ze_command_list_handle_t list = create_list();
	int *numbers = allocate(ITEMS);
	bool right = kernel && list && set_arguments(kernel, numbers, first) &&
		     !append(list, kernel) && execute_list(list) && are_right(numbers, first);

	return !zeMemFree(context, numbers) && !zeCommandListDestroy(list) && right;
}

static ze_result_t append_plain(ze_command_list_handle_t list, ze_kernel_handle_t kernel)
{
	return zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL);
}

static ze_result_t append_cooperative(ze_command_list_handle_t list, ze_kernel_handle_t kernel)
{
	return zeCommandListAppendLaunchCooperativeKernel(list, kernel, &groups, NULL, 0, NULL);
}

static ze_result_t append_indirect(ze_command_list_handle_t list, ze_kernel_handle_t kernel)
{
	return zeCommandListAppendLaunchKernelIndirect(list, kernel, &groups, NULL, 0, NULL);
}

static ze_result_t append_several(ze_command_list_handle_t list, ze_kernel_handle_t kernel)
{
	static const ze_group_count_t both[] = {{1, 1, 1}, {ITEMS / GROUP, 1, 1}};
	static const uint32_t count = 2;
	ze_kernel_handle_t kernels[] = {kernel, kernel};

	return zeCommandListAppendLaunchMultipleKernelsIndirect(list, count, kernels, &count, both,
								NULL, 0, NULL);
}

static bool launch(ze_module_handle_t module, int first)
{
	ze_kernel_handle_t kernel = create_kernel(module);
	bool right = launch_by(kernel, first, append_plain);

	return right && !zeKernelDestroy(kernel);
}

/* ---- programs ---- */

static bool run_plain(void)
{
	ze_module_handle_t module = create_module();

	return launch(module, 3) && !zeModuleDestroy(module);
}

static bool run_kinds(void)
{
	ze_kernel_handle_t kernel = create_kernel(create_module());

	return launch_by(kernel, 1, append_plain) && launch_by(kernel, 2, append_cooperative) &&
	       launch_by(kernel, 3, append_indirect) && launch_by(kernel, 4, append_several);
}

/* A launch, and a copy of its results, in one list. */
static bool run_copies(void)
{
	ze_kernel_handle_t kernel = create_kernel(create_module());
	ze_command_list_handle_t list = create_list();
	int *numbers = allocate(ITEMS), *copies = allocate(ITEMS);

	return kernel && list && copies && set_arguments(kernel, numbers, 6) &&
	       !append_plain(list, kernel) && !zeCommandListAppendBarrier(list, NULL, 0, NULL) &&
	       !zeCommandListAppendMemoryCopy(list, copies, numbers, ITEMS * sizeof(int), NULL, 0,
					      NULL) &&
	       execute_list(list) && are_right(copies, 6);
}

static bool run_immediate(void)
{
	const ze_command_queue_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
	ze_kernel_handle_t kernel = create_kernel(create_module());
	ze_command_list_handle_t list = NULL;
	int *numbers = allocate(ITEMS);

	return !zeCommandListCreateImmediate(context, device, &description, &list) &&
	       set_arguments(kernel, numbers, 7) && !append_plain(list, kernel) &&
	       are_right(numbers, 7) && !zeCommandListDestroy(list);
}

/* Its list is executed twice. */
static bool run_again(void)
{
	ze_command_list_handle_t list = create_list();
	ze_kernel_handle_t kernel = create_kernel(create_module());
	int *numbers = allocate(ITEMS);

	return set_arguments(kernel, numbers, 5) && !append_plain(list, kernel) &&
	       execute_list(list) && execute_list(list) && are_right(numbers, 5);
}

/* A module whose kernel is created several times, and another module of the same bytes. */
static bool run_several(void)
{
	ze_module_handle_t module = create_module(), other = create_module();

	return launch(module, 1) && launch(module, 2) && launch(other, 3) && launch(module, 4) &&
	       !zeModuleDestroy(other) && launch(module, 5) && !zeModuleDestroy(module) &&
	       !zeCommandQueueDestroy(queue) && !zeContextDestroy(context);
}

static bool run_constants(void)
{
	static const uint32_t ids[] = {7};
	static const int value = 42;
	const void *values[] = {&value};
	const ze_module_constants_t constants = {
		.numConstants = 1,
		.pConstantIds = ids,
		.pConstantValues = values,
	};

	return launch(create_from(ZE_MODULE_FORMAT_IL_SPIRV, spirv, spirv_size, "-ze-opt-level=2",
				  &constants),
		      9);
}

/* A native module, as zeModuleGetNativeBinary returns it; that of SPIR-V is the original. */
static bool run_native(void)
{
	static uint8_t native[MAX_MODULE];
	ze_module_handle_t module = create_module();
	size_t size = 0;

	if (!module || zeModuleGetNativeBinary(module, &size, NULL) ||
	    size != spirv_size + sizeof(int) || zeModuleGetNativeBinary(module, &size, native) ||
	    memcmp(native + sizeof(int), spirv, spirv_size) != 0)
		return false;
	return launch(create_from(ZE_MODULE_FORMAT_NATIVE, native, size, NULL, NULL), 6);
}

/* What the program sees of a kernel's arguments. */
static bool run_arguments(void)
{
	ze_kernel_handle_t kernel = create_kernel(create_module());
	ze_kernel_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
	ze_kernel_indirect_access_flags_t flags = 0;
	const uint64_t value = 1;

	return kernel && !zeKernelGetProperties(kernel, &properties) &&
	       properties.numKernelArgs == 2 &&
	       zeKernelSetArgumentValue(kernel, 2, sizeof(value), &value) ==
		       ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX &&
	       !zeKernelSetIndirectAccess(kernel, ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE) &&
	       !zeKernelGetIndirectAccess(kernel, &flags) &&
	       flags == ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE && launch_by(kernel, 2, append_plain);
}

/* A module that one call creates of two. */
static bool run_program(void)
{
	const size_t sizes[2] = {spirv_size, spirv_size};
	const uint8_t *inputs[2] = {spirv, spirv};
	const ze_module_program_exp_desc_t program = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC,
		.count = 2,
		.inputSizes = sizes,
		.pInputModules = inputs,
	};
	const ze_module_desc_t description = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.pNext = &program,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
	};
	ze_module_handle_t module;

	return !zeModuleCreate(context, device, &description, &module, NULL) && launch(module, 1);
}

/* Modules with imports, which are linked. */
static bool run_link(void)
{
	ze_module_handle_t modules[2];
	ze_module_build_log_handle_t log = NULL;

	for (size_t i = 0; i < 2; i++)
		modules[i] = create_from(ZE_MODULE_FORMAT_IL_SPIRV, spirv, spirv_size,
					 "-library-compilation", NULL);
	return modules[0] && modules[1] && !zeModuleDynamicLink(2, modules, &log) &&
	       !zeModuleBuildLogDestroy(log) && launch(modules[0], 1) && launch(modules[1], 2);
}

static bool run_wrong(void)
{
	static const uint8_t bytes[64];
	const ze_kernel_desc_t description = {
		.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
		.pKernelName = "absent",
	};
	ze_kernel_handle_t kernel;

	return !create_from(ZE_MODULE_FORMAT_IL_SPIRV, bytes, sizeof(bytes), NULL, NULL) &&
	       zeKernelCreate(create_module(), &description, &kernel) ==
		       ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
}

static bool run_variable(void)
{
	ze_module_handle_t module = create_module();
	void *first = NULL, *again = NULL;
	size_t size = 0;

	return !zeModuleGetGlobalPointer(module, "variable", &size, &first) && size == 1 &&
	       !zeModuleGetGlobalPointer(module, "variable", NULL, &again) && first == again;
}

/* ---- threads ---- */

/* Each launches kernels of its own of one module, and one that all threads share. */
static struct {
	ze_module_handle_t module;
	ze_kernel_handle_t kernel;
	int *numbers;
} shared;

static void *launch_often(void *unused)
{
	bool right = true;

	for (int i = 0; i < LAUNCHES && right; i++) {
		ze_command_list_handle_t list = create_list();

		right = launch(shared.module, i) && list && !append_plain(list, shared.kernel) &&
			execute_list(list) && !zeCommandListDestroy(list);
	}
	return right ? &shared : unused;
}

static bool run_threads(void)
{
	pthread_t threads[THREADS];
	bool right = true;
	void *result;

	shared.module = create_module();
	shared.kernel = create_kernel(shared.module);
	shared.numbers = allocate(ITEMS);
	if (!set_arguments(shared.kernel, shared.numbers, 8))
		return false;
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, launch_often, NULL))
			return false;
	for (size_t i = 0; i < THREADS; i++)
		right &= !pthread_join(threads[i], &result) && result;
	return right && are_right(shared.numbers, 8);
}

int main(int count, char **words)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} programs[] = {
		{"plain", run_plain},   {"kinds", run_kinds},         {"immediate", run_immediate},
		{"again", run_again},   {"several", run_several},     {"constants", run_constants},
		{"native", run_native}, {"arguments", run_arguments}, {"link", run_link},
		{"wrong", run_wrong},   {"variable", run_variable},   {"threads", run_threads},
		{"copies", run_copies}, {"program", run_program},
	};

	for (size_t i = 0; count == 2 && i < sizeof(programs) / sizeof(*programs); i++)
		if (!strcmp(programs[i].name, words[1])) {
			puts(open_device() && read_spirv() && programs[i].run() ? "right"
										: "wrong");
			return 0;
		}
	fprintf(stderr, "usage: level_zero PROGRAM\n");
	return 2;
}
