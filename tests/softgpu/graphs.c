/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Graphs and stream capture on the software device. */
#include <unistd.h>

#include "driver.h"

/* The parameters of a kernel node count(memory + 4 * index), which must outlive the call. */
struct counting {
	CUdeviceptr place;
	void *arguments[1];
	CUDA_KERNEL_NODE_PARAMS parameters;
};

static void prepare(struct counting *counting, const struct driver *driver, unsigned int index,
		    unsigned int threads)
{
	counting->place = driver->memory + 4 * index;
	counting->arguments[0] = &counting->place;
	counting->parameters = (CUDA_KERNEL_NODE_PARAMS){
		.func = find(driver, "count"),
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = threads,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = counting->arguments,
	};
}

TEST("a graph of nodes and edges runs in its order, again and again")
{
	struct driver driver = begin();
	CUDA_MEMSET_NODE_PARAMS set = {
		.dst = driver.memory, .value = 100, .elementSize = 4, .width = 1, .height = 1};
	CUgraphNode set_node, first, second, copy_node;
	struct counting counting;
	CUgraphExec executable;
	CUDA_MEMCPY3D copy = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = driver.memory,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.WidthInBytes = 4,
		.Height = 1,
		.Depth = 1,
	};
	CUgraph graph;
	int seen = 0;

	copy.dstHost = &seen;
	CHECK_OK(cuGraphCreate(&graph, 0));
	prepare(&counting, &driver, 0, 3);
	CHECK_OK(cuGraphAddKernelNode(&second, graph, NULL, 0, &counting.parameters));
	CHECK_OK(cuGraphAddMemsetNode(&set_node, graph, NULL, 0, &set, driver.context));
	CHECK_OK(cuGraphAddKernelNode(&first, graph, &set_node, 1, &counting.parameters));
	CHECK_OK(cuGraphAddMemcpyNode(&copy_node, graph, &second, 1, &copy, driver.context));
	CHECK_OK(cuGraphAddDependencies(graph, &first, &second, NULL, 1));
	CHECK_OK(cuGraphInstantiate(&executable, graph, 0));
	CHECK_OK(cuGraphDestroy(graph));
	for (int i = 0; i < 3; i++) {
		seen = 0;
		CHECK_OK(cuGraphLaunch(executable, NULL));
		CHECK_OK(cuStreamSynchronize(NULL));
		CHECK_INT(seen, 106);
	}
	CHECK_OK(cuGraphExecDestroy(executable));
	end(&driver);
}

TEST("a graph with a cycle cannot be instantiated")
{
	struct driver driver = begin();
	CUgraphNode a, b;
	CUgraphExec executable;
	CUgraph graph;

	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddEmptyNode(&a, graph, NULL, 0));
	CHECK_OK(cuGraphAddEmptyNode(&b, graph, &a, 1));
	CHECK_OK(cuGraphAddDependencies(graph, &b, &a, NULL, 1));
	CHECK_CUDA(cuGraphInstantiate(&executable, graph, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphRemoveDependencies(graph, &b, &a, NULL, 1));
	CHECK_OK(cuGraphInstantiate(&executable, graph, 0));
	CHECK_OK(cuGraphExecDestroy(executable));
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_CUDA(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("work in a captured stream runs only when its graph is launched")
{
	struct driver driver = begin();
	CUstreamCaptureStatus status;
	CUgraphExec executable;
	CUstream first, second;
	CUgraph graph;
	CUevent fork_event, join_event;
	size_t nodes = 0, edges = 0, roots = 0;

	CHECK_OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuEventCreate(&fork_event, 0));
	CHECK_OK(cuEventCreate(&join_event, 0));
	CHECK_OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK_OK(count(&driver, 0, first));
	CHECK_OK(cuEventRecord(fork_event, first));
	CHECK_CUDA(cuEventQuery(fork_event), CUDA_ERROR_CAPTURED_EVENT);
	CHECK_OK(cuStreamWaitEvent(second, fork_event, 0));
	CHECK_OK(cuStreamIsCapturing(second, &status));
	CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	CHECK_OK(count(&driver, 1, second));
	CHECK_OK(count(&driver, 2, first));
	CHECK_OK(cuEventRecord(join_event, second));
	CHECK_OK(cuStreamWaitEvent(first, join_event, 0));
	CHECK_OK(cuMemcpyDtoDAsync(driver.memory + 12, driver.memory, 12, first));
	CHECK_OK(cuStreamEndCapture(first, &graph));
	CHECK_OK(cuStreamIsCapturing(second, &status));
	CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_NONE);
	CHECK_INT(value(&driver, 0), 0);
	CHECK_OK(cuGraphGetNodes(graph, NULL, &nodes));
	CHECK_INT(nodes, 4);
	CHECK_OK(cuGraphGetRootNodes(graph, NULL, &roots));
	CHECK_INT(roots, 1);
	CHECK_OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &edges));
	CHECK_INT(edges, 4);
	CHECK_OK(cuGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < 5; i++)
		CHECK_OK(cuGraphLaunch(executable, second));
	for (unsigned int i = 0; i < 6; i++)
		CHECK_INT(value(&driver, i), 5);
	CHECK_OK(cuGraphExecDestroy(executable));
	CHECK_OK(cuGraphDestroy(graph));
	end(&driver);
}

TEST("waiting for a captured stream invalidates the capture")
{
	struct driver driver = begin();
	CUstream stream;
	CUgraph graph;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK_CUDA(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_CUDA(count(&driver, 0, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK_CUDA(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK(!graph);
	CHECK_OK(count(&driver, 0, stream));
	CHECK_INT(value(&driver, 0), 1);
	end(&driver);
}

TEST("memory cannot be allocated during a capture, unless it is relaxed")
{
	struct driver driver = begin();
	CUdeviceptr memory;
	CUstream stream;
	CUgraph graph;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CHECK_CUDA(cuMemAlloc(&memory, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_CUDA(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK_OK(cuMemAlloc(&memory, 4));
	CHECK_OK(cuStreamEndCapture(stream, &graph));
	CHECK_OK(cuGraphDestroy(graph));
	end(&driver);
}

TEST("a capture whose forked work does not join its stream is unjoined")
{
	struct driver driver = begin();
	CUstream first, second;
	CUevent event;
	CUgraph graph;

	CHECK_OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuEventCreate(&event, 0));
	CHECK_OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK_OK(cuEventRecord(event, first));
	CHECK_OK(cuStreamWaitEvent(second, event, 0));
	CHECK_OK(count(&driver, 0, second));
	CHECK_CUDA(cuStreamEndCapture(second, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	CHECK_CUDA(cuStreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK_OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK_OK(cuEventRecord(event, first));
	CHECK_OK(cuStreamWaitEvent(second, event, 0));
	CHECK_OK(count(&driver, 0, second));
	CHECK_CUDA(cuStreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	end(&driver);
}

TEST("a forked stream may be destroyed during a capture, and its work must be joined")
{
	struct driver driver = begin();
	CUstream first, second;
	CUevent event;
	CUgraph graph;
	CUgraphExec executable;

	CHECK_OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuEventCreate(&event, 0));
	for (int joined = 0; joined < 2; joined++) {
		CHECK_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
		CHECK_OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
		CHECK_OK(count(&driver, 0, first));
		CHECK_OK(cuEventRecord(event, first));
		CHECK_OK(cuStreamWaitEvent(second, event, 0));
		CHECK_OK(count(&driver, 1, second));
		CHECK_OK(cuEventRecord(event, second));
		if (joined)
			CHECK_OK(cuStreamWaitEvent(first, event, 0));
		CHECK_OK(cuStreamDestroy(second));
		CHECK_OK(count(&driver, 2, first));
		CHECK_CUDA(cuStreamEndCapture(first, &graph),
			   joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	}
	CHECK_OK(cuGraphInstantiate(&executable, graph, 0));
	CHECK_OK(cuGraphLaunch(executable, first));
	CHECK_OK(cuStreamSynchronize(first));
	for (unsigned int i = 0; i < 3; i++)
		CHECK_INT(value(&driver, i), 1);
	CHECK_OK(cuGraphExecDestroy(executable));
	CHECK_OK(cuGraphDestroy(graph));
	end(&driver);
}

TEST("a kernel's node belongs to the context of its function")
{
	struct driver driver = begin();
	struct counting counting;
	CUcontext other;
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec executable;

	prepare(&counting, &driver, 3, 1);
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuCtxCreate(&other, NULL, 0, 0));
	CHECK_OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &counting.parameters));
	CHECK_OK(cuCtxSetCurrent(NULL));
	CHECK_OK(cuGraphKernelNodeSetParams(node, &counting.parameters));
	CHECK_OK(cuCtxSetCurrent(other));
	CHECK_OK(cuGraphInstantiate(&executable, graph, 0));
	CHECK_OK(cuGraphExecKernelNodeSetParams(executable, node, &counting.parameters));
	CHECK_OK(cuCtxSetCurrent(driver.context));
	CHECK_OK(cuGraphLaunch(executable, NULL));
	CHECK_OK(cuCtxSynchronize());
	CHECK_INT(value(&driver, 3), 1);
	CHECK_OK(cuGraphExecDestroy(executable));
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_OK(cuCtxDestroy(other));
	end(&driver);
}

TEST("the default stream cannot be used while a blocking stream is captured")
{
	struct driver driver = begin();
	CUstream stream;
	CUgraph graph;

	CHECK_CUDA(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
		   CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	CHECK_OK(cuStreamCreate(&stream, 0));
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK_CUDA(count(&driver, 0, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	CHECK_CUDA(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	end(&driver);
}

TEST("a node of an executable graph can be changed, disabled, and updated")
{
	struct driver driver = begin();
	CUgraphExecUpdateResultInfo info;
	struct counting counting;
	CUgraphExec executable;
	CUgraphNode node, more;
	CUgraph graph;

	CHECK_OK(cuGraphCreate(&graph, 0));
	prepare(&counting, &driver, 0, 1);
	CHECK_OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &counting.parameters));
	CHECK_OK(cuGraphInstantiate(&executable, graph, 0));
	counting.parameters.blockDimX = 10;
	CHECK_OK(cuGraphExecKernelNodeSetParams(executable, node, &counting.parameters));
	CHECK_OK(cuGraphLaunch(executable, NULL));
	CHECK_INT(value(&driver, 0), 10);
	CHECK_OK(cuGraphNodeSetEnabled(executable, node, 0));
	CHECK_OK(cuGraphLaunch(executable, NULL));
	CHECK_INT(value(&driver, 0), 10);
	CHECK_OK(cuGraphNodeSetEnabled(executable, node, 1));
	counting.parameters.blockDimX = 20;
	CHECK_OK(cuGraphKernelNodeSetParams(node, &counting.parameters));
	CHECK_OK(cuGraphExecUpdate(executable, graph, &info));
	CHECK_OK(cuGraphLaunch(executable, NULL));
	CHECK_INT(value(&driver, 0), 30);
	CHECK_OK(cuGraphAddEmptyNode(&more, graph, &node, 1));
	CHECK_CUDA(cuGraphExecUpdate(executable, graph, &info),
		   CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	CHECK_INT(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	CHECK_OK(cuGraphExecDestroy(executable));
	CHECK_OK(cuGraphDestroy(graph));
	end(&driver);
}

TEST("child graphs, event nodes and memory nodes run")
{
	struct driver driver = begin();
	CUDA_MEM_ALLOC_NODE_PARAMS allocation = {
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
		.bytesize = 64,
	};
	CUgraphNode child_node, record_node, alloc_node, set_node, free_node, inner;
	CUDA_MEMSET_NODE_PARAMS set = {.value = 3, .elementSize = 4, .width = 1, .height = 1};
	struct counting counting;
	CUgraph graph, child;
	CUgraphExec executable;
	CUevent event;

	CHECK_OK(cuEventCreate(&event, 0));
	CHECK_OK(cuGraphCreate(&child, 0));
	prepare(&counting, &driver, 0, 4);
	CHECK_OK(cuGraphAddKernelNode(&inner, child, NULL, 0, &counting.parameters));
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddMemAllocNode(&alloc_node, graph, NULL, 0, &allocation));
	set.dst = allocation.dptr;
	CHECK_OK(cuGraphAddMemsetNode(&set_node, graph, &alloc_node, 1, &set, driver.context));
	CHECK_OK(cuGraphAddMemFreeNode(&free_node, graph, &set_node, 1, allocation.dptr));
	CHECK_OK(cuGraphAddChildGraphNode(&child_node, graph, &set_node, 1, child));
	CHECK_OK(cuGraphAddEventRecordNode(&record_node, graph, &child_node, 1, event));
	CHECK_OK(cuGraphDestroy(child));
	CHECK_OK(cuGraphInstantiate(&executable, graph, 0));
	CHECK_OK(cuGraphLaunch(executable, NULL));
	CHECK_OK(cuGraphLaunch(executable, NULL));
	CHECK_OK(cuEventSynchronize(event));
	CHECK_INT(value(&driver, 0), 8);
	CHECK_OK(cuGraphExecDestroy(executable));
	CHECK_OK(cuGraphDestroy(graph));
	end(&driver);
}

TEST("memory that a graph allocates lives from its node until it is freed, in every launch")
{
	struct driver driver = begin();
	CUstream stream;
	CUgraphExec executable;
	CUgraph graph;
	CUdeviceptr memory;
	cuuint64_t used = 1, reserved = 0;
	int seen = 0;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK_OK(cuMemAllocAsync(&memory, 1024, stream));
	CHECK_OK(cuMemsetD32Async(memory, 6, 256, stream));
	CHECK_OK(launch(find(&driver, "count"), 1, 1, stream, (void *[]){&memory}));
	CHECK_OK(cuStreamEndCapture(stream, &graph));
	CHECK_OK(cuGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < 2; i++) {
		CHECK_OK(
			cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
		CHECK_INT(used, 0);
		CHECK_OK(cuGraphLaunch(executable, stream));
		CHECK_OK(cuMemcpyDtoHAsync(&seen, memory, 4, stream));
		CHECK_OK(cuStreamSynchronize(stream));
		CHECK_INT(seen, 7);
		CHECK_OK(
			cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
		CHECK_INT(used, 1024);
		CHECK_OK(cuMemFreeAsync(memory, stream));
		CHECK_OK(cuStreamSynchronize(stream));
	}
	CHECK_CUDA(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(
		cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
	CHECK_INT(reserved, 1024);
	CHECK_OK(launch(find(&driver, "count"), 1, 1, stream, (void *[]){&memory}));
	CHECK_CUDA(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_OK(cuGraphExecDestroy(executable));
	CHECK_OK(cuGraphDestroy(graph));
	end(&driver);
}

TEST("a kernel node keeps its attributes, which can be copied to another one")
{
	struct driver driver = begin();
	CUkernelNodeAttrValue value = {0}, read = {0};
	CUgraphNode first, second;
	struct counting counting;
	CUgraph graph;

	prepare(&counting, &driver, 0, 1);
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddKernelNode(&first, graph, NULL, 0, &counting.parameters));
	CHECK_OK(cuGraphAddKernelNode(&second, graph, &first, 1, &counting.parameters));
	value.accessPolicyWindow.num_bytes = 4096;
	CHECK_OK(cuGraphKernelNodeSetAttribute(first, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
					       &value));
	memset(&value, 0, sizeof(value));
	value.priority = -3;
	CHECK_OK(cuGraphKernelNodeSetAttribute(first, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	CHECK_OK(cuGraphKernelNodeCopyAttributes(second, first));
	CHECK_OK(cuGraphKernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
					       &read));
	CHECK_INT(read.accessPolicyWindow.num_bytes, 4096);
	CHECK_OK(cuGraphKernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_PRIORITY, &read));
	CHECK_INT(read.priority, -3);
	CHECK_CUDA(cuGraphKernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
						 &read),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphDestroy(graph));
	end(&driver);
}

static void note_destroyed(void *data)
{
	++*(int *)data;
}

TEST("a user object lives as long as the graphs that retain it")
{
	struct driver driver = begin();
	CUgraphExec executable;
	CUuserObject object;
	CUgraph graph;
	int destroyed = 0;

	CHECK_OK(cuUserObjectCreate(&object, &destroyed, note_destroyed, 1,
				    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
	CHECK_OK(cuGraphInstantiate(&executable, graph, 0));
	CHECK_OK(cuGraphDestroy(graph));
	CHECK_INT(destroyed, 0);
	CHECK_OK(cuGraphExecDestroy(executable));
	CHECK_INT(destroyed, 1);
	end(&driver);
}

TEST_MAIN
