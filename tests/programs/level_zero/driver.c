/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tables that the loader asks for, the driver and its device. */
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

struct standin standin;
static char the_driver, the_device, the_context;

bool standin_is(const char *variable, const char *value)
{
	const char *has = getenv(variable);

	return has && !strcmp(has, value);
}

static ze_result_t init(ze_init_flags_t flags)
{
	cl_platform_id platform;
	cl_int error;

	if (standin.queue)
		return ZE_RESULT_SUCCESS;
	/* Layers are for what the program calls. */
	unsetenv("OPENCL_LAYERS");
	if (flags & ZE_INIT_FLAG_VPU_ONLY || clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &standin.device, NULL))
		return ZE_RESULT_ERROR_UNINITIALIZED;
	standin.context = clCreateContext(NULL, 1, &standin.device, NULL, NULL, &error);
	if (!error)
		standin.queue = clCreateCommandQueueWithProperties(standin.context, standin.device,
								   NULL, &error);
	return error ? ZE_RESULT_ERROR_UNINITIALIZED : ZE_RESULT_SUCCESS;
}

static ze_result_t get_driver(uint32_t *count, ze_driver_handle_t *drivers)
{
	if (*count && drivers)
		*drivers = (ze_driver_handle_t)&the_driver;
	*count = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_device(ze_driver_handle_t driver, uint32_t *count,
			      ze_device_handle_t *devices)
{
	if (*count && devices)
		*devices = (ze_device_handle_t)&the_device;
	*count = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_version(ze_driver_handle_t driver, ze_api_version_t *version)
{
	*version = ZE_API_VERSION_1_3;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t describe_device(ze_device_handle_t device, ze_device_properties_t *properties)
{
	properties->type = ZE_DEVICE_TYPE_GPU;
	properties->flags = 0;
	return clGetDeviceInfo(standin.device, CL_DEVICE_NAME, sizeof(properties->name),
			       properties->name, NULL)
		       ? ZE_RESULT_ERROR_UNKNOWN
		       : ZE_RESULT_SUCCESS;
}

static ze_result_t describe_access(ze_device_handle_t device,
				   ze_device_memory_access_properties_t *properties)
{
	const ze_memory_access_cap_flags_t all =
		ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC |
		ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;
	bool has_system = !standin_is("STANDIN_MEMORY", "import") &&
			  !standin_is("STANDIN_MEMORY", "separate");

	properties->hostAllocCapabilities = all;
	properties->deviceAllocCapabilities = all;
	properties->sharedSingleDeviceAllocCapabilities = all;
	properties->sharedCrossDeviceAllocCapabilities = 0;
	properties->sharedSystemAllocCapabilities = has_system ? all : 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t create_context(ze_driver_handle_t driver, const ze_context_desc_t *description,
				  ze_context_handle_t *ret_context)
{
	*ret_context = (ze_context_handle_t)&the_context;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t destroy_context(ze_context_handle_t context)
{
	return ZE_RESULT_SUCCESS;
}

static void fill_global(ze_global_dditable_t *table)
{
	table->pfnInit = init;
}

static void fill_driver(ze_driver_dditable_t *table)
{
	table->pfnGet = get_driver;
	table->pfnGetApiVersion = get_version;
}

static void fill_device(ze_device_dditable_t *table)
{
	table->pfnGet = get_device;
	table->pfnGetProperties = describe_device;
	table->pfnGetMemoryAccessProperties = describe_access;
}

static void fill_context(ze_context_dditable_t *table)
{
	table->pfnCreate = create_context;
	table->pfnDestroy = destroy_context;
}

/* All tables of API version 1.3: the loader needs each. Functions that are not filled in are NULL.
 */
#define TABLE(api, name, type, fill)                                                               \
	ZE_DLLEXPORT ze_result_t ZE_APICALL api##Get##name##ProcAddrTable(                         \
		ze_api_version_t version, type *table)                                             \
	{                                                                                          \
		memset(table, 0, sizeof(*table));                                                  \
		fill(table);                                                                       \
		return ZE_RESULT_SUCCESS;                                                          \
	}
#define FILL_NOTHING(table)

TABLE(ze, CommandList, ze_command_list_dditable_t, standin_fill_list)
TABLE(ze, CommandQueue, ze_command_queue_dditable_t, standin_fill_queue)
TABLE(ze, Context, ze_context_dditable_t, fill_context)
TABLE(ze, DeviceExp, ze_device_exp_dditable_t, FILL_NOTHING)
TABLE(ze, Device, ze_device_dditable_t, fill_device)
TABLE(ze, Driver, ze_driver_dditable_t, fill_driver)
TABLE(ze, EventExp, ze_event_exp_dditable_t, FILL_NOTHING)
TABLE(ze, EventPool, ze_event_pool_dditable_t, FILL_NOTHING)
TABLE(ze, Event, ze_event_dditable_t, FILL_NOTHING)
TABLE(ze, FabricEdgeExp, ze_fabric_edge_exp_dditable_t, FILL_NOTHING)
TABLE(ze, FabricVertexExp, ze_fabric_vertex_exp_dditable_t, FILL_NOTHING)
TABLE(ze, Fence, ze_fence_dditable_t, FILL_NOTHING)
TABLE(ze, Global, ze_global_dditable_t, fill_global)
TABLE(ze, ImageExp, ze_image_exp_dditable_t, FILL_NOTHING)
TABLE(ze, Image, ze_image_dditable_t, FILL_NOTHING)
TABLE(ze, KernelExp, ze_kernel_exp_dditable_t, FILL_NOTHING)
TABLE(ze, Kernel, ze_kernel_dditable_t, standin_fill_kernel)
TABLE(ze, Mem, ze_mem_dditable_t, standin_fill_memory)
TABLE(ze, ModuleBuildLog, ze_module_build_log_dditable_t, standin_fill_build_log)
TABLE(ze, Module, ze_module_dditable_t, standin_fill_module)
TABLE(ze, PhysicalMem, ze_physical_mem_dditable_t, FILL_NOTHING)
TABLE(ze, Sampler, ze_sampler_dditable_t, FILL_NOTHING)
TABLE(ze, VirtualMem, ze_virtual_mem_dditable_t, FILL_NOTHING)
TABLE(zes, Device, zes_device_dditable_t, FILL_NOTHING)
TABLE(zes, Diagnostics, zes_diagnostics_dditable_t, FILL_NOTHING)
TABLE(zes, Driver, zes_driver_dditable_t, FILL_NOTHING)
TABLE(zes, Engine, zes_engine_dditable_t, FILL_NOTHING)
TABLE(zes, FabricPort, zes_fabric_port_dditable_t, FILL_NOTHING)
TABLE(zes, Fan, zes_fan_dditable_t, FILL_NOTHING)
TABLE(zes, Firmware, zes_firmware_dditable_t, FILL_NOTHING)
TABLE(zes, Frequency, zes_frequency_dditable_t, FILL_NOTHING)
TABLE(zes, Led, zes_led_dditable_t, FILL_NOTHING)
TABLE(zes, Memory, zes_memory_dditable_t, FILL_NOTHING)
TABLE(zes, PerformanceFactor, zes_performance_factor_dditable_t, FILL_NOTHING)
TABLE(zes, Power, zes_power_dditable_t, FILL_NOTHING)
TABLE(zes, Psu, zes_psu_dditable_t, FILL_NOTHING)
TABLE(zes, Ras, zes_ras_dditable_t, FILL_NOTHING)
TABLE(zes, Scheduler, zes_scheduler_dditable_t, FILL_NOTHING)
TABLE(zes, Standby, zes_standby_dditable_t, FILL_NOTHING)
TABLE(zes, Temperature, zes_temperature_dditable_t, FILL_NOTHING)
TABLE(zet, CommandList, zet_command_list_dditable_t, FILL_NOTHING)
TABLE(zet, Context, zet_context_dditable_t, FILL_NOTHING)
TABLE(zet, Debug, zet_debug_dditable_t, FILL_NOTHING)
TABLE(zet, Device, zet_device_dditable_t, FILL_NOTHING)
TABLE(zet, Kernel, zet_kernel_dditable_t, FILL_NOTHING)
TABLE(zet, MetricGroupExp, zet_metric_group_exp_dditable_t, FILL_NOTHING)
TABLE(zet, MetricGroup, zet_metric_group_dditable_t, FILL_NOTHING)
TABLE(zet, Metric, zet_metric_dditable_t, FILL_NOTHING)
TABLE(zet, MetricQueryPool, zet_metric_query_pool_dditable_t, FILL_NOTHING)
TABLE(zet, MetricQuery, zet_metric_query_dditable_t, FILL_NOTHING)
TABLE(zet, MetricStreamer, zet_metric_streamer_dditable_t, FILL_NOTHING)
TABLE(zet, Module, zet_module_dditable_t, FILL_NOTHING)
TABLE(zet, TracerExp, zet_tracer_exp_dditable_t, FILL_NOTHING)
