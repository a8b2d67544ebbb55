/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Initialisation, versions, error names, devices. */
#include <stdio.h>
#include <string.h>

#include "device/errors.h"
#include "device/memory.h"
#include "driver/api.h"

static const char device_name[] = "gputap software GPU";

SG_API CUresult cuInit(unsigned int flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : sg_start();
}

SG_API CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = SG_DRIVER_VERSION;
	return CUDA_SUCCESS;
}

SG_API CUresult cuGetErrorName(CUresult error, const char **name)
{
	const struct sg_error *found = sg_error_find((int)error);

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	*name = found ? found->driver_name : NULL;
	return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SG_API CUresult cuGetErrorString(CUresult error, const char **text)
{
	const struct sg_error *found = sg_error_find((int)error);

	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = found && found->driver_name ? found->text : NULL;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- devices --------------------------------------------------------------------------- */

SG_API CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult result = sg_check_device(ordinal, device);

	if (!result)
		*device = ordinal;
	return result;
}

SG_API CUresult cuDeviceGetCount(int *count)
{
	CUresult result = sg_check();

	return result ? result : SG_RETURN(count, (int)sg_state.config.devices);
}

SG_API CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
	CUresult result = sg_check_device(device, name);

	if (result)
		return result;
	if (length <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)length, "%s", device_name);
	return CUDA_SUCCESS;
}

/* It identifies the device and not this machine: it is the same in every process. */
static CUresult get_uuid(CUuuid *uuid, CUdevice device)
{
	CUresult result = sg_check_device(device, uuid);

	if (result)
		return result;
	memcpy(uuid->bytes, "softgpu\0\0\0\0\0\0\0\0\0", sizeof(uuid->bytes));
	uuid->bytes[15] = (char)device;
	return CUDA_SUCCESS;
}

SG_VERSIONS(cuDeviceGetUuid_v2, cuDeviceGetUuid, (CUuuid * uuid, CUdevice device),
	    get_uuid(uuid, device))

SG_API CUresult cuDeviceGetLuid(char *luid, unsigned int *node_mask, CUdevice device)
{
	CUresult result = sg_check_device(device, luid);

	/* Only Windows has them. */
	return result ? result : CUDA_ERROR_NOT_SUPPORTED;
}

SG_API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	CUresult result = sg_check_device(device, bytes);

	if (!result)
		*bytes = sg_state.config.memory;
	return result;
}

SG_API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	CUresult result = sg_check_device(device, value);

	return result ? result : sg_device_attribute(device, (int)attribute, value);
}

SG_API CUresult cuDeviceGetProperties(CUdevprop *properties, CUdevice device)
{
	CUresult result = sg_check_device(device, properties);

	if (result)
		return result;
	*properties = (CUdevprop){
		.maxThreadsPerBlock = GT_MAX_BLOCK_THREADS,
		.maxThreadsDim = GT_MAX_BLOCK,
		.maxGridSize = GT_MAX_GRID,
		.sharedMemPerBlock = 48 << 10,
		.totalConstantMemory = 64 << 10,
		.SIMDWidth = SG_WARP_SIZE,
		.memPitch = 2147483647,
		.regsPerBlock = 65536,
		.clockRate = 1000000,
		.textureAlign = 512,
	};
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
	CUresult result = sg_check_device(device, major);

	if (result)
		return result;
	if (!minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = (int)sg_state.config.arch / 10;
	*minor = (int)sg_state.config.arch % 10;
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
	CUresult result = sg_check_device(device, id);

	if (result)
		return result;
	if (length < 13)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(id, (size_t)length, "0000:%02x:00.0", (unsigned int)device + 1);
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
	unsigned int domain = 0, bus, slot, function = 0;
	CUresult result = sg_check();

	if (result)
		return result;
	if (!device || !id ||
	    (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3 &&
	     sscanf(id, "%x:%x", &bus, &slot) != 2))
		return CUDA_ERROR_INVALID_VALUE;
	if (domain || slot || function || !bus || !sg_device_find((CUdevice)bus - 1))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = (CUdevice)bus - 1;
	return CUDA_SUCCESS;
}

/* ---- peers ----------------------------------------------------------------------------- */

SG_API CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	CUresult result = sg_check_device(device, can);

	if (result)
		return result;
	if (!sg_device_find(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = device != peer;
	return CUDA_SUCCESS;
}

SG_API CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute,
					CUdevice source, CUdevice target)
{
	CUresult result = sg_check_device(source, value);

	if (result)
		return result;
	if (!sg_device_find(target) || source == target)
		return CUDA_ERROR_INVALID_DEVICE;
	switch (attribute) {
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
		*value = 0;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*value = 1;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sg_handle_is(peer, SG_HANDLE_CONTEXT) || peer == context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (peer->device == context->device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (context->peers & 1u << peer->device)
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	context->peers |= 1u << peer->device;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
	CUcontext context;
	CUresult result = sg_context_use(&context);

	if (result)
		return result;
	if (!sg_handle_is(peer, SG_HANDLE_CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!(context->peers & 1u << peer->device))
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	context->peers &= ~(1u << peer->device);
	return CUDA_SUCCESS;
}
