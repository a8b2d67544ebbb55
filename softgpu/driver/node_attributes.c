/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attributes of kernel nodes. */
#include <string.h>

#include "device/graph.h"
#include "driver/api.h"

static CUresult check_kernel_node(CUgraphNode node, const void *pointer)
{
	CUresult result = sg_check();

	if (result)
		return result;
	if (!sg_handle_is(node, SG_HANDLE_NODE) || node->work.kind != SG_WORK_KERNEL || !pointer)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

SG_API CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
					      CUkernelNodeAttrValue *value)
{
	const struct sg_kernel_work *kernel;
	CUresult result = check_kernel_node(node, value);

	if (result)
		return result;
	kernel = &node->work.kernel;
	memset(value, 0, sizeof(*value));
	switch (attribute) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		value->cooperative = kernel->shape.cooperative;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		value->priority = kernel->priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		value->accessPolicyWindow = kernel->hints.window;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		value->clusterDim.x = kernel->shape.cluster[0];
		value->clusterDim.y = kernel->shape.cluster[1];
		value->clusterDim.z = kernel->shape.cluster[2];
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		value->clusterSchedulingPolicyPreference = kernel->hints.scheduling;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		value->memSyncDomain = kernel->hints.memory_domain;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		value->memSyncDomainMap = kernel->hints.memory_domains;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		value->sharedMemCarveout = kernel->hints.carveout;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
					      const CUkernelNodeAttrValue *value)
{
	struct sg_kernel_work *kernel;
	CUresult result = check_kernel_node(node, value);

	if (result)
		return result;
	kernel = &node->work.kernel;
	switch (attribute) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		kernel->shape.cooperative = value->cooperative;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		kernel->priority = value->priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		kernel->hints.window = value->accessPolicyWindow;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		kernel->hints.scheduling = value->clusterSchedulingPolicyPreference;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		kernel->hints.memory_domain = value->memSyncDomain;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		kernel->hints.memory_domains = value->memSyncDomainMap;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		kernel->hints.carveout = value->sharedMemCarveout;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode target, CUgraphNode source)
{
	CUresult result = check_kernel_node(target, target);

	if (!result)
		result = check_kernel_node(source, source);
	if (result)
		return result;
	target->work.kernel.shape.cooperative = source->work.kernel.shape.cooperative;
	target->work.kernel.priority = source->work.kernel.priority;
	target->work.kernel.hints = source->work.kernel.hints;
	return CUDA_SUCCESS;
}
