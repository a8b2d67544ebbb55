/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What kernels ask CUDA's device runtime about devices, functions and errors. */
#include <string.h>

#include "exec/decode/decode.h"
#include "exec/engine/heap.h"
#include "exec/engine/nested.h"
#include "exec/ops/ops.h"

enum { RUNTIME_VERSION = 13000 };

/* struct cudaFuncAttributes */
struct device_function_attributes {
	uint64_t shared, constant, local;
	int32_t max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared;
	int32_t carveout, cluster_must_be_set, cluster[3], scheduling, non_portable;
	int32_t reserved[16];
};

/* Stores the result of a query at its first argument, and returns success. */
static bool answer(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		   const void *value, size_t size, uint64_t *ret_address)
{
	sg_call_return(warp, at, lane, SG_NESTED_NO_ERROR);
	return sg_nested_store(warp, lane, sg_call_argument(warp, at, 0, lane), value, size,
			       ret_address);
}

static bool fail(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		 enum sg_nested_error error)
{
	sg_nested_return(warp, at, lane, error);
	return true;
}

/* cudaDeviceGetAttribute(value, attribute, device) */
bool sg_nested_attribute(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			 uint64_t *ret_address)
{
	const struct sg_host *host = &warp->machine->host;
	uint32_t device = (uint32_t)sg_call_argument(warp, at, 2, lane);
	int32_t value = 0;

	if (device >= host->devices)
		return fail(warp, at, lane, SG_NESTED_INVALID_DEVICE);
	if (!host->attribute ||
	    !host->attribute(host->user, device, (uint32_t)sg_call_argument(warp, at, 1, lane),
			     &value))
		return fail(warp, at, lane, SG_NESTED_INVALID_VALUE);
	return answer(warp, at, lane, &value, sizeof(value), ret_address);
}

/* cudaDeviceGetLimit(value, limit) */
bool sg_nested_limit(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		     uint64_t *ret_address)
{
	const struct sg_launch *launch = &warp->grid->launch;
	uint64_t limit = sg_call_argument(warp, at, 1, lane), value;

	if (limit >= launch->limit_count)
		return fail(warp, at, lane, SG_NESTED_UNSUPPORTED_LIMIT);
	value = launch->limits[limit];
	return answer(warp, at, lane, &value, sizeof(value), ret_address);
}

/* cudaGetDeviceCount(count) */
bool sg_nested_device_count(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			    uint64_t *ret_address)
{
	return answer(warp, at, lane, &warp->machine->host.devices, sizeof(uint32_t), ret_address);
}

/* cudaRuntimeGetVersion(version) */
bool sg_nested_version(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		       uint64_t *ret_address)
{
	const uint32_t version = RUNTIME_VERSION;

	return answer(warp, at, lane, &version, sizeof(version), ret_address);
}

/* cudaDeviceGetCacheConfig(config), cudaDeviceGetSharedMemConfig(config): no preference */
bool sg_nested_zero(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
		    uint64_t *ret_address)
{
	const uint32_t none = 0;

	return answer(warp, at, lane, &none, sizeof(none), ret_address);
}

/* cudaFuncGetAttributes(attributes, kernel) */
bool sg_nested_function_attributes(struct sg_warp *warp, const struct sg_instruction *at,
				   uint32_t lane, uint64_t *ret_address)
{
	const struct sg_function *kernel =
		sg_nested_kernel_at(warp, sg_call_argument(warp, at, 1, lane));
	struct device_function_attributes attributes;
	struct sg_function_info info;

	if (!kernel)
		return fail(warp, at, lane, SG_NESTED_INVALID_FUNCTION);
	sg_function_describe(kernel, &info);
	attributes = (struct device_function_attributes){
		.shared = info.static_shared,
		.constant = info.const_size,
		.local = info.local_size,
		.max_threads = (int32_t)info.max_threads,
		.registers = (int32_t)info.registers,
		.ptx_version = (int32_t)info.target,
		.binary_version = (int32_t)info.target,
		.max_dynamic_shared = (48 << 10) - (int32_t)info.static_shared,
		.carveout = -1,
		.cluster_must_be_set = info.required_cluster[0] > 0,
	};
	memcpy(attributes.cluster, info.required_cluster, sizeof(attributes.cluster));
	return answer(warp, at, lane, &attributes, sizeof(attributes), ret_address);
}

/* cudaOccupancyMaxActiveBlocksPerMultiprocessor(count, kernel, threads, shared, [flags]) */
bool sg_nested_occupancy(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			 uint64_t *ret_address)
{
	const struct sg_function *kernel =
		sg_nested_kernel_at(warp, sg_call_argument(warp, at, 1, lane));
	int32_t threads = (int32_t)sg_call_argument(warp, at, 2, lane);
	uint64_t shared = sg_call_argument(warp, at, 3, lane);
	uint32_t count;

	if (!kernel)
		return fail(warp, at, lane, SG_NESTED_INVALID_FUNCTION);
	if (threads <= 0 || shared > UINT32_MAX)
		return fail(warp, at, lane, SG_NESTED_INVALID_VALUE);
	count = sg_function_occupancy(kernel, (uint32_t)threads, (uint32_t)shared);
	return answer(warp, at, lane, &count, sizeof(count), ret_address);
}

/* ---- errors ---------------------------------------------------------------------------- */

/*
 * Returns the address of a text of an error in device memory, where it stays: kernels may keep it.
 * 0: no memory left.
 */
static uint64_t text_address(struct sg_machine *machine, uint64_t error, bool is_name)
{
	const char *text = machine->host.error_text(machine->host.user, (uint32_t)error, is_name);
	uint64_t *kept, address, none = 0;

	error = error < SG_MAX_ERROR ? error : SG_MAX_ERROR - 1;
	kept = &machine->error_texts[is_name][error];
	address = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
	if (address)
		return address;
	address = sg_heap_allocate(machine->heap, &machine->host, strlen(text) + 1);
	if (!address)
		return 0;
	memcpy((void *)(uintptr_t)address, text, strlen(text) + 1);
	if (__atomic_compare_exchange_n(kept, &none, address, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return address;
	sg_heap_release(machine->heap, address);
	return none;
}

static bool return_text(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			bool is_name)
{
	uint64_t error = sg_call_argument(warp, at, 0, lane);

	sg_call_return(warp, at, lane,
		       warp->machine->host.error_text ? text_address(warp->machine, error, is_name)
						      : 0);
	return true;
}

/* cudaGetErrorString(error) */
bool sg_nested_error_text(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			  uint64_t *ret_address)
{
	return return_text(warp, at, lane, false);
}

/* cudaGetErrorName(error) */
bool sg_nested_error_name(struct sg_warp *warp, const struct sg_instruction *at, uint32_t lane,
			  uint64_t *ret_address)
{
	return return_text(warp, at, lane, true);
}
