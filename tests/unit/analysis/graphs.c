/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is in graphs: launches, copies and allocations that happen when a graph is launched. */
#include "analysis.h"
#include "analysis/copies.h"
#include "analysis/kernels.h"
#include "analysis/leaks.h"

#define STREAM 0x11
#define DEVICE 0x7f0000000000
#define HOST 0x55550000

#define H2D 1
#define D2H 2

static struct gt_copies *copies;
static struct gt_kernels *kernels;
static struct gt_leaks *leaks;

static int take(void *analysis, const struct gt_names *names, const struct gt_event *event)
{
	int error = gt_copies_take(copies, names, event);

	if (!error)
		error = gt_kernels_take(kernels, names, event);
	return error ? error : gt_leaks_take(leaks, names, event);
}

static void stop(void)
{
	gt_copies_free(copies);
	gt_kernels_free(kernels);
	gt_leaks_free(leaks);
}

static void start(void)
{
	stop();
	copies = gt_copies_new(GT_BY_NOTHING, 100);
	kernels = gt_kernels_new(GT_BY_NOTHING);
	leaks = gt_leaks_new(GT_BY_PROCESS);
	STREAM_INTO(NULL, take);
}

/* A function that gives `made` back through its argument `out`, and is given `value`. */
static void make(const char *function, const char *out, uint64_t made, const char *argument,
		 uint64_t value)
{
	struct built built = begin(function);

	if (argument)
		pass(&built, argument, value);
	point(&built, out, &made, sizeof(made));
	returns(&built, 0);
}

static void call_with_two(const char *function, const char *first, uint64_t a, const char *second,
			  uint64_t b)
{
	struct built built = begin(function);

	pass(&built, first, a);
	pass(&built, second, b);
	returns(&built, 0);
}

static void begin_capture(uint64_t of_stream)
{
	call_with("cudaStreamBeginCapture", "stream", of_stream, 0);
}

static void end_capture(uint64_t of_stream, uint64_t graph)
{
	make("cudaStreamEndCapture", "pGraph", graph, "stream", of_stream);
}

static void instantiate(uint64_t exec, uint64_t graph)
{
	make("cudaGraphInstantiate", "pGraphExec", exec, "graph", graph);
}

static void launch_graph(uint64_t exec, uint64_t in_stream)
{
	call_with_two("cudaGraphLaunch", "graphExec", exec, "stream", in_stream);
}

static void add_copy(uint64_t graph, uint64_t node, uint64_t bytes, uint64_t kind)
{
	struct built built = begin("cudaGraphAddMemcpyNode1D");

	pass(&built, "graph", graph);
	pass(&built, "dst", DEVICE);
	pass(&built, "src", HOST);
	pass(&built, "count", bytes);
	pass(&built, "kind", kind);
	point(&built, "pGraphNode", &node, sizeof(node));
	returns(&built, 0);
}

/* Copies by launches of graphs in a direction, and how many launches were of unknown ones. */
static void expect_copies(enum gt_direction direction, uint64_t count, uint64_t bytes,
			  uint64_t unknown)
{
	const struct gt_copies_row *const *rows;
	struct gt_copies_totals totals;
	struct gt_copies_part found = {0};
	size_t number;

	CHECK_INT(gt_copies_rows(copies, stream.names, &rows, &number, &totals), 0);
	for (size_t i = 0; i < number; i++)
		if (rows[i]->direction == direction)
			found = rows[i]->by_graphs;
	CHECK_INT(found.count, count);
	CHECK_INT(found.bytes, bytes);
	CHECK_INT(totals.unknown_graphs, unknown);
	CHECK_INT(totals.in_flight, 0);
}

static const struct gt_kernel_row *kernel_row(uint64_t handle)
{
	static const struct gt_kernel_row none;
	const struct gt_kernel_row *const *rows;
	size_t count;

	CHECK_INT(gt_kernels_rows(kernels, stream.names, &rows, &count), 0);
	for (size_t i = 0; i < count; i++)
		if (rows[i]->handle == handle)
			return rows[i];
	return &none;
}

TEST("what is captured happens at each launch of the graph, and not before")
{
	start();
	begin_capture(STREAM);
	copy_async(DEVICE, HOST, 100, H2D, STREAM);
	copy_async(DEVICE, HOST, 50, H2D, STREAM);
	launch(0xaaa, 1, 32, STREAM, 0);
	end_capture(STREAM, 0x900);
	instantiate(0xe00, 0x900);
	expect_copies(GT_HOST_TO_DEVICE, 0, 0, 0);
	CHECK_INT(kernel_row(0xaaa)->captured, 1);
	CHECK_INT(kernel_row(0xaaa)->launches, 0);
	CHECK_INT(kernel_row(0xaaa)->by_graphs, 0);
	launch_graph(0xe00, STREAM);
	launch_graph(0xe00, STREAM);
	launch_graph(0xe00, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 6, 450, 0);
	CHECK_INT(kernel_row(0xaaa)->by_graphs, 3);
	CHECK_INT(kernel_row(0xaaa)->duration.count, 0);
	CHECK_INT(kernel_row(0xe00)->launches, 3);
	CHECK(kernel_row(0xe00)->graph);
}

TEST("after the capture a stream's calls happen again, and those of other streams always did")
{
	start();
	begin_capture(STREAM);
	launch(0xaaa, 1, 32, 0x12, 0);
	end_capture(STREAM, 0x900);
	launch(0xaaa, 1, 32, STREAM, 0);
	CHECK_INT(kernel_row(0xaaa)->launches, 2);
	CHECK_INT(kernel_row(0xaaa)->captured, 0);
}

TEST("a stream that waits for an event of a captured one is captured, too")
{
	start();
	begin_capture(STREAM);
	call_with_two("cudaEventRecord", "event", 0x70, "stream", STREAM);
	call_with_two("cudaStreamWaitEvent", "stream", 0x12, "event", 0x70);
	copy_async(DEVICE, HOST, 100, H2D, 0x12);
	end_capture(STREAM, 0x900);
	instantiate(0xe00, 0x900);
	launch_graph(0xe00, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 1, 100, 0);
	launch(0xaaa, 1, 32, 0x12, 0);
	CHECK_INT(kernel_row(0xaaa)->launches, 1);
}

TEST("what is captured proves nothing of what happened before")
{
	const struct gt_copies_row *const *rows;
	struct gt_copies_totals totals;
	size_t number;

	start();
	copy_async(DEVICE, HOST, 100, H2D, STREAM);
	begin_capture(STREAM);
	call_with_two("cudaEventRecord", "event", 0x70, "stream", STREAM);
	call_with_two("cudaStreamWaitEvent", "stream", 0x12, "event", 0x70);
	end_capture(STREAM, 0x900);
	call_with("cudaStreamSynchronize", "stream", 0x12, 0);
	CHECK_INT(gt_copies_rows(copies, stream.names, &rows, &number, &totals), 0);
	CHECK_INT(totals.in_flight, 1);
	call_with("cudaStreamSynchronize", "stream", STREAM, 0);
	CHECK_INT(gt_copies_rows(copies, stream.names, &rows, &number, &totals), 0);
	CHECK_INT(totals.in_flight, 0);
}

TEST("a capture that fails at its end leaves nothing, one ended in the wrong thread continues")
{
	start();
	begin_capture(STREAM);
	launch(0xaaa, 1, 32, STREAM, 0);
	call_with("cudaStreamEndCapture", "stream", STREAM, 908);
	launch(0xaaa, 1, 32, STREAM, 0);
	CHECK_INT(kernel_row(0xaaa)->captured, 2);
	call_with("cudaStreamEndCapture", "stream", STREAM, 901);
	launch(0xaaa, 1, 32, STREAM, 0);
	CHECK_INT(kernel_row(0xaaa)->captured, 2);
	CHECK_INT(kernel_row(0xaaa)->launches, 1);
}

TEST("nodes that are added one by one are the graph's, also with a structure, also in a child")
{
	const uint64_t copy[20] = {
		[5] = HOST, [13] = DEVICE, [16] = 64, [17] = 4, [18] = 2, [19] = D2H};
	struct built built = begin("cudaGraphAddMemcpyNode");

	start();
	make("cudaGraphCreate", "pGraph", 0x900, NULL, 0);
	add_copy(0x900, 0xd1, 100, H2D);
	pass(&built, "graph", 0x900);
	point(&built, "pCopyParams", copy, sizeof(copy));
	returns(&built, 0);
	make("cudaGraphCreate", "pGraph", 0x901, NULL, 0);
	add_copy(0x901, 0xd2, 7, H2D);
	call_with_two("cudaGraphAddChildGraphNode", "graph", 0x901, "childGraph", 0x900);
	make("cudaGraphClone", "pGraphClone", 0x902, "originalGraph", 0x901);
	instantiate(0xe00, 0x902);
	launch_graph(0xe00, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 2, 107, 0);
	expect_copies(GT_DEVICE_TO_HOST, 1, 512, 0);
}

struct kernel_node {
	uint64_t function;
	uint32_t grid[3], block[3], shared, padding;
	uint64_t parameters, extra;
};

TEST("a kernel that is a node is counted under its name")
{
	const struct kernel_node node = {0xaaa, {4, 1, 1}, {64, 1, 1}, 0, 0, 0, 0};
	struct built built = begin("cudaGraphAddKernelNode");

	start();
	register_kernel(0xaaa, "plain");
	make("cudaGraphCreate", "pGraph", 0x900, NULL, 0);
	pass(&built, "graph", 0x900);
	point(&built, "pNodeParams", &node, sizeof(node));
	returns(&built, 0);
	instantiate(0xe00, 0x900);
	launch_graph(0xe00, STREAM);
	CHECK_STR(kernel_row(0xaaa)->name, "plain");
	CHECK_INT(kernel_row(0xaaa)->captured, 1);
	CHECK_INT(kernel_row(0xaaa)->by_graphs, 1);
}

/* What cudaGraphAddNode and cuGraphAddNode are given: a type, and 16 bytes later a union. */
static void add_node(const char *function, const char *graph, uint32_t type, size_t offset,
		     const void *data, size_t size)
{
	struct built built = begin(function);
	uint8_t parameters[248] = {0};

	memcpy(parameters, &type, sizeof(type));
	memcpy(parameters + offset, data, size);
	pass(&built, graph, 0x900);
	point(&built, "nodeParams", parameters, sizeof(parameters));
	returns(&built, 0);
}

TEST("a node that is added with its type counts as one of that type")
{
	static const uint64_t copy[20] = {
		[5] = HOST, [13] = DEVICE, [16] = 64, [17] = 4, [18] = 2, [19] = D2H};
	/* CUDA_MEMCPY3D: from the host (type 1) to the device (2), 64 x 4 x 3 bytes. */
	static const uint64_t driver_copy[25] = {
		[4] = 1, [5] = HOST, [15] = 2, [17] = DEVICE, [22] = 64, [23] = 4, [24] = 3};
	static const struct kernel_node node = {0xaaa, {4, 2, 1}, {64, 1, 1}, 32, 0, 0, 0};
	static const struct kernel_node other = {0xbbb, {8, 1, 1}, {32, 1, 1}, 0, 0, 0, 0};
	const uint64_t child = 0x901;

	start();
	make("cudaGraphCreate", "pGraph", 0x901, NULL, 0);
	add_copy(0x901, 0xd2, 7, H2D);
	make("cudaGraphCreate", "pGraph", 0x900, NULL, 0);
	add_node("cudaGraphAddNode", "graph", 0, 16, &node, sizeof(node));
	add_node("cudaGraphAddNode_v2", "graph", 1, 32, copy, sizeof(copy));
	add_node("cuGraphAddNode", "hGraph", 0, 16, &other, sizeof(other));
	add_node("cuGraphAddNode_v2", "hGraph", 1, 32, driver_copy, sizeof(driver_copy));
	add_node("cudaGraphAddNode", "graph", 4, 16, &child, sizeof(child));
	add_node("cudaGraphAddNode", "graph", 2, 16, copy, sizeof(copy));
	instantiate(0xe00, 0x900);
	launch_graph(0xe00, STREAM);
	launch_graph(0xe00, STREAM);
	expect_copies(GT_DEVICE_TO_HOST, 2, 1024, 0);
	expect_copies(GT_HOST_TO_DEVICE, 4, 2 * (768 + 7), 0);
	CHECK_INT(kernel_row(0xaaa)->by_graphs, 2);
	CHECK_INT(kernel_row(0xbbb)->by_graphs, 2);
	CHECK_INT(kernel_row(0xaaa)->configuration_count, 1);
	CHECK_INT(kernel_row(0xaaa)->configurations[0].launches, 2);
	CHECK_INT(kernel_row(0xaaa)->configurations[0].launch.grid[1], 2);
	CHECK_INT(kernel_row(0xaaa)->configurations[0].launch.shared, 32);
	CHECK_INT(kernel_row(0xbbb)->configurations[0].launch.block[0], 32);
	/* The bodies of a conditional node are not known. */
	add_node("cudaGraphAddNode", "graph", 13, 16, &child, sizeof(child));
	instantiate(0xe00, 0x900);
	launch_graph(0xe00, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 4, 2 * (768 + 7), 1);
}

TEST("grid and block of captured launches are reported, and counted at the graph's launches")
{
	start();
	begin_capture(STREAM);
	launch(0xaaa, 2, 32, STREAM, 0);
	launch(0xaaa, 4, 64, STREAM, 0);
	launch(0xaaa, 4, 64, STREAM, 0);
	end_capture(STREAM, 0x900);
	CHECK_INT(kernel_row(0xaaa)->configuration_count, 0);
	instantiate(0xe00, 0x900);
	launch_graph(0xe00, STREAM);
	launch_graph(0xe00, STREAM);
	CHECK_INT(kernel_row(0xaaa)->configuration_count, 2);
	CHECK_INT(kernel_row(0xaaa)->configurations[0].launches, 4);
	CHECK_INT(kernel_row(0xaaa)->configurations[0].launch.grid[0], 4);
	CHECK_INT(kernel_row(0xaaa)->configurations[0].launch.block[0], 64);
	CHECK_INT(kernel_row(0xaaa)->configurations[1].launches, 2);
}

TEST("a graph whose making was not seen, or that was changed unseen, is unknown")
{
	start();
	launch_graph(0xe00, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 0, 0, 1);
	add_copy(0x900, 0xd1, 100, H2D);
	instantiate(0xe00, 0x900);
	launch_graph(0xe00, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 0, 0, 2);
	CHECK_INT(kernel_row(0xe00)->unknown, 2);
	make("cudaGraphCreate", "pGraph", 0x900, NULL, 0);
	add_copy(0x900, 0xd1, 100, H2D);
	instantiate(0xe00, 0x900);
	launch_graph(0xe00, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 1, 100, 2);
	call_with("cudaGraphExecMemcpyNodeSetParams1D", "hGraphExec", 0xe00, 0);
	launch_graph(0xe00, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 1, 100, 3);
	/* Updated from what is known, it is known again. */
	call_with_two("cudaGraphExecUpdate", "hGraphExec", 0xe00, "hGraph", 0x900);
	launch_graph(0xe00, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 2, 200, 3);
	call_with("cudaGraphDestroyNode", "node", 0xd1, 0);
	instantiate(0xe00, 0x900);
	launch_graph(0xe00, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 2, 200, 4);
}

TEST("a node with an unknown handle may be of any captured graph")
{
	start();
	begin_capture(STREAM);
	copy_async(DEVICE, HOST, 100, H2D, STREAM);
	end_capture(STREAM, 0x900);
	make("cudaGraphCreate", "pGraph", 0x901, NULL, 0);
	add_copy(0x901, 0xd1, 7, H2D);
	call_with("cudaGraphDestroyNode", "node", 0xd9, 0);
	instantiate(0xe00, 0x900);
	instantiate(0xe01, 0x901);
	launch_graph(0xe00, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 0, 0, 1);
	launch_graph(0xe01, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 1, 7, 1);
}

TEST("a graph that is launched while its stream is captured becomes part of that graph")
{
	start();
	make("cudaGraphCreate", "pGraph", 0x900, NULL, 0);
	add_copy(0x900, 0xd1, 100, H2D);
	instantiate(0xe00, 0x900);
	begin_capture(STREAM);
	launch_graph(0xe00, STREAM);
	end_capture(STREAM, 0x901);
	expect_copies(GT_HOST_TO_DEVICE, 0, 0, 0);
	instantiate(0xe01, 0x901);
	launch_graph(0xe01, STREAM);
	expect_copies(GT_HOST_TO_DEVICE, 1, 100, 0);
}

TEST("memory that graphs allocate is theirs: it is reported and no leak")
{
	const struct gt_memory_process *const *processes;
	const uint64_t node[15] = {[13] = 4096};
	struct built built = begin("cudaGraphAddMemAllocNode"), async = begin("cudaMallocAsync");
	const uint64_t address = DEVICE;
	struct gt_leaks_totals totals;
	const struct gt_leak *rows;
	size_t count;

	start();
	pass(&built, "graph", 0x900);
	point(&built, "nodeParams", node, sizeof(node));
	returns(&built, 0);
	begin_capture(STREAM);
	pass(&async, "size", 100);
	pass(&async, "hStream", STREAM);
	point(&async, "devPtr", &address, sizeof(address));
	returns(&async, 0);
	call_with_two("cudaFreeAsync", "devPtr", DEVICE, "hStream", STREAM);
	ends(100);
	CHECK_INT(gt_leaks_rows(leaks, stream.names, stream.now, &rows, &count, &totals), 0);
	CHECK_INT(count, 0);
	CHECK_INT(gt_leaks_processes(leaks, stream.names, &processes, &count), 0);
	CHECK_INT(processes[0]->in_graphs, 2);
	CHECK_INT(processes[0]->freed_unseen, 0);
	CHECK_INT(processes[0]->use[GT_SPACE_DEVICE].allocations, 0);
	stop();
	gt_names_free(stream.names);
	stream.names = NULL;
	copies = NULL;
	kernels = NULL;
	leaks = NULL;
}

TEST_MAIN
