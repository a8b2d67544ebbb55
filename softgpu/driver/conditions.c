/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The handles of conditional nodes. */
#include "device/condition.h"

#include "driver/api.h"

SG_API CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph,
					       CUcontext context, unsigned int value,
					       unsigned int flags)
{
	uint64_t made;
	CUresult result = sg_check();

	if (!result && (!handle || !sg_handle_is(graph, SG_HANDLE_GRAPH) ||
			flags & ~(unsigned int)CU_GRAPH_COND_ASSIGN_DEFAULT))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result && context && !sg_handle_is(context, SG_HANDLE_CONTEXT))
		result = CUDA_ERROR_INVALID_CONTEXT;
	if (!result)
		result =
			sg_condition_new(graph, value, flags & CU_GRAPH_COND_ASSIGN_DEFAULT, &made);
	if (!result)
		*handle = made;
	return result;
}
