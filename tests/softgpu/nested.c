/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* CUDA's device runtime: values of conditional nodes, nested launches. */
#include "child.h"
#include "driver.h"
#include "ptxas.h"

/*
 *	choose(handle, v)           sets the condition to v
 *	step(handle, int *p)        counts *p down, and ends the condition at 0
 *	add(int *p, v)              *p += v
 *	parent(int *p, depth)       adds 1 to *p, and launches two of itself while depth is not 0
 *	tail(int *p)                launches square(p) in the tail stream, then add(p, 3)
 *	square(int *p)              *p *= *p
 */
static const char nested_ptx[] = PTX_HEADER
	".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
	".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f,\n"
	"	.param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);\n"
	".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);\n"
	".extern .func (.param .b32 r) __cudaCDP2GetLastError();\n"
	".visible .entry choose(.param .u64 h, .param .u32 v)\n"
	"{\n"
	"	.reg .b32 %r<1>; .reg .b64 %rd<1>;\n"
	"	ld.param.u64 %rd0, [h];\n"
	"	ld.param.u32 %r0, [v];\n"
	"	{ .param .b64 a; .param .b32 c;\n"
	"	st.param.b64 [a], %rd0; st.param.b32 [c], %r0;\n"
	"	call.uni cudaGraphSetConditional, (a, c); }\n"
	"	ret;\n"
	"}\n"
	".visible .entry step(.param .u64 h, .param .u64 p)\n"
	"{\n"
	"	.reg .pred %p<1>; .reg .b32 %r<1>; .reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd0, [h];\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	ld.global.u32 %r0, [%rd1];\n"
	"	sub.u32 %r0, %r0, 1;\n"
	"	st.global.u32 [%rd1], %r0;\n"
	"	setp.ne.u32 %p0, %r0, 0;\n"
	"	@%p0 ret;\n"
	"	{ .param .b64 a; .param .b32 c;\n"
	"	st.param.b64 [a], %rd0; st.param.b32 [c], 0;\n"
	"	call.uni cudaGraphSetConditional, (a, c); }\n"
	"	ret;\n"
	"}\n"
	".visible .entry add(.param .u64 p, .param .u32 v)\n"
	"{\n"
	"	.reg .b32 %r<2>; .reg .b64 %rd<1>;\n"
	"	ld.param.u64 %rd0, [p];\n"
	"	ld.param.u32 %r0, [v];\n"
	"	atom.global.add.u32 %r1, [%rd0], %r0;\n"
	"	ret;\n"
	"}\n"
	".visible .entry square(.param .u64 p)\n"
	"{\n"
	"	.reg .b32 %r<1>; .reg .b64 %rd<1>;\n"
	"	ld.param.u64 %rd0, [p];\n"
	"	ld.global.u32 %r0, [%rd0];\n"
	"	mul.lo.u32 %r0, %r0, %r0;\n"
	"	st.global.u32 [%rd0], %r0;\n"
	"	ret;\n"
	"}\n"
	/* prepare(kernel, blocks): the buffer for the arguments of a launch with one thread a block
	 */
	".func (.param .b64 result) prepare(.param .b64 kernel, .param .b32 blocks)\n"
	"{\n"
	"	.reg .b32 %r<1>; .reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd0, [kernel];\n"
	"	ld.param.u32 %r0, [blocks];\n"
	"	{ .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12];\n"
	"	.param .b32 s; .param .b64 r;\n"
	"	st.param.b64 [f], %rd0;\n"
	"	st.param.b32 [g], %r0; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
	"	st.param.b32 [b], 1; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;\n"
	"	st.param.b32 [s], 0;\n"
	"	call.uni (r), __cudaCDP2GetParameterBufferV2, (f, g, b, s);\n"
	"	ld.param.b64 %rd1, [r]; }\n"
	"	st.param.b64 [result], %rd1;\n"
	"	ret;\n"
	"}\n"
	".func start(.param .b64 buffer, .param .b64 stream)\n"
	"{\n"
	"	.reg .b32 %r<1>; .reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd0, [buffer];\n"
	"	ld.param.u64 %rd1, [stream];\n"
	"	{ .param .b64 p; .param .b64 s; .param .b32 r;\n"
	"	st.param.b64 [p], %rd0; st.param.b64 [s], %rd1;\n"
	"	call.uni (r), __cudaCDP2LaunchDeviceV2, (p, s);\n"
	"	ld.param.b32 %r0, [r]; }\n"
	"	ret;\n"
	"}\n"
	".visible .entry parent(.param .u64 p, .param .u32 depth)\n"
	"{\n"
	"	.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
	"	ld.param.u64 %rd0, [p];\n"
	"	ld.param.u32 %r0, [depth];\n"
	"	atom.global.add.u32 %r1, [%rd0], 1;\n"
	"	setp.eq.u32 %p0, %r0, 0;\n"
	"	@%p0 ret;\n"
	"	mov.u64 %rd1, parent;\n"
	"	{ .param .b64 k; .param .b32 n; .param .b64 r;\n"
	"	st.param.b64 [k], %rd1; st.param.b32 [n], 2;\n"
	"	call.uni (r), prepare, (k, n);\n"
	"	ld.param.b64 %rd2, [r]; }\n"
	"	setp.eq.u64 %p1, %rd2, 0;\n"
	"	@%p1 bra failed;\n"
	"	sub.u32 %r2, %r0, 1;\n"
	"	st.u64 [%rd2], %rd0;\n"
	"	st.u32 [%rd2+8], %r2;\n"
	"	{ .param .b64 b; .param .b64 s;\n"
	"	st.param.b64 [b], %rd2; st.param.b64 [s], 0;\n"
	"	call.uni start, (b, s); }\n"
	"	ret;\n"
	"failed:\n"
	"	{ .param .b32 r;\n"
	"	call.uni (r), __cudaCDP2GetLastError, ();\n"
	"	ld.param.b32 %r3, [r]; }\n"
	"	st.volatile.global.u32 [%rd0+4], %r3;\n"
	"	ret;\n"
	"}\n"
	".visible .entry tail(.param .u64 p)\n"
	"{\n"
	"	.reg .b64 %rd<4>;\n"
	"	ld.param.u64 %rd0, [p];\n"
	"	mov.u64 %rd1, square;\n"
	"	{ .param .b64 k; .param .b32 n; .param .b64 r;\n"
	"	st.param.b64 [k], %rd1; st.param.b32 [n], 1;\n"
	"	call.uni (r), prepare, (k, n);\n"
	"	ld.param.b64 %rd2, [r]; }\n"
	"	st.u64 [%rd2], %rd0;\n"
	"	{ .param .b64 b; .param .b64 s;\n"
	"	st.param.b64 [b], %rd2; st.param.b64 [s], 3;\n"
	"	call.uni start, (b, s); }\n"
	"	mov.u64 %rd1, add;\n"
	"	{ .param .b64 k; .param .b32 n; .param .b64 r;\n"
	"	st.param.b64 [k], %rd1; st.param.b32 [n], 1;\n"
	"	call.uni (r), prepare, (k, n);\n"
	"	ld.param.b64 %rd2, [r]; }\n"
	"	st.u64 [%rd2], %rd0;\n"
	"	st.u32 [%rd2+8], 3;\n"
	"	{ .param .b64 b; .param .b64 s;\n"
	"	st.param.b64 [b], %rd2; st.param.b64 [s], 0;\n"
	"	call.uni start, (b, s); }\n"
	"	ret;\n"
	"}\n";

static CUfunction load(const char *name)
{
	CUfunction function = NULL;
	CUmodule module;

	CHECK_OK(cuModuleLoadData(&module, nested_ptx));
	CHECK_OK(cuModuleGetFunction(&function, module, name));
	return function;
}

/* The first test: later this process uses the device itself, and then its children cannot. */
static int launch_without_end(void)
{
	struct driver driver;
	int depth = 100;

	setenv("SOFTGPU_TIMEOUT", "300ms", 1);
	driver = begin();
	CHECK_OK(launch(load("parent"), 1, 1, NULL, (void *[]){&driver.memory, &depth}));
	CHECK_CUDA(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
	return tap_failed;
}

TEST("a kernel and all its nested launches share one time limit")
{
	CHECK_INT(in_child(launch_without_end), 0);
}

/* ---- conditional nodes ----------------------------------------------------------------- */

static CUgraphNode add_kernel(CUgraph graph, const CUgraphNode *before, const char *name,
			      void **arguments)
{
	CUgraphNode node = NULL;
	CUDA_KERNEL_NODE_PARAMS parameters = {
		.func = load(name),
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = arguments,
	};

	CHECK_OK(cuGraphAddKernelNode(&node, graph, before, before != NULL, &parameters));
	return node;
}

static CUgraph *add_condition(CUgraph graph, const CUgraphNode *before,
			      CUgraphConditionalHandle handle, CUgraphConditionalNodeType type,
			      unsigned int size)
{
	CUgraphNodeParams parameters = {
		.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
		.conditional = {.handle = handle, .type = type, .size = size},
	};
	CUgraphNodeType found_type;
	CUgraphNode node;

	CHECK_OK(cuGraphAddNode(&node, graph, before, NULL, before != NULL, &parameters));
	CHECK_OK(cuGraphNodeGetType(node, &found_type));
	CHECK_INT(found_type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
	return parameters.conditional.phGraph_out;
}

static void run(CUgraph graph)
{
	CUgraphExec executable;

	CHECK_OK(cuGraphInstantiate(&executable, graph, 0));
	CHECK_OK(cuGraphLaunch(executable, NULL));
	CHECK_OK(cuCtxSynchronize());
	CHECK_OK(cuGraphExecDestroy(executable));
}

/* The result of a node with two graphs, which add 1 and 10, for a value that a kernel sets. */
static int choose_between(CUgraphConditionalNodeType type, unsigned int chosen)
{
	struct driver driver = begin();
	CUgraphConditionalHandle handle;
	CUgraphNode node;
	CUgraph graph, *bodies;
	int amounts[2] = {1, 10}, result;

	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphConditionalHandleCreate(&handle, graph, driver.context, 0, 0));
	node = add_kernel(graph, NULL, "choose", (void *[]){&handle, &chosen});
	bodies = add_condition(graph, &node, handle, type, 2);
	for (int i = 0; i < 2; i++)
		add_kernel(bodies[i], NULL, "add", (void *[]){&driver.memory, &amounts[i]});
	run(graph);
	result = value(&driver, 0);
	CHECK_OK(cuGraphDestroy(graph));
	end(&driver);
	return result;
}

TEST("a true condition runs the first graph, a false one the second")
{
	CHECK_INT(choose_between(CU_GRAPH_COND_TYPE_IF, 1), 1);
	CHECK_INT(choose_between(CU_GRAPH_COND_TYPE_IF, 77), 1);
	CHECK_INT(choose_between(CU_GRAPH_COND_TYPE_IF, 0), 10);
}

TEST("a switch runs the graph with that index, or none")
{
	CHECK_INT(choose_between(CU_GRAPH_COND_TYPE_SWITCH, 0), 1);
	CHECK_INT(choose_between(CU_GRAPH_COND_TYPE_SWITCH, 1), 10);
	CHECK_INT(choose_between(CU_GRAPH_COND_TYPE_SWITCH, 2), 0);
}

TEST("a loop runs until a kernel in it ends it, in every launch")
{
	struct driver driver = begin();
	CUdeviceptr sum = driver.memory + 4;
	CUgraphConditionalHandle handle;
	CUgraphExec executable;
	CUgraph graph, *bodies;
	CUgraphNode node;
	int two = 2;

	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphConditionalHandleCreate(&handle, graph, driver.context, 1,
						CU_GRAPH_COND_ASSIGN_DEFAULT));
	bodies = add_condition(graph, NULL, handle, CU_GRAPH_COND_TYPE_WHILE, 1);
	node = add_kernel(bodies[0], NULL, "add", (void *[]){&sum, &two});
	add_kernel(bodies[0], &node, "step", (void *[]){&handle, &driver.memory});
	CHECK_OK(cuGraphInstantiate(&executable, graph, 0));
	for (int i = 1; i <= 2; i++) {
		CHECK_OK(cuMemsetD32(driver.memory, 5, 1));
		CHECK_OK(cuGraphLaunch(executable, NULL));
		CHECK_INT(value(&driver, 1), 10 * i);
	}
	CHECK_OK(cuGraphExecDestroy(executable));
	CHECK_OK(cuGraphDestroy(graph));
	end(&driver);
}

TEST("a stream can be captured into the graph of a condition")
{
	struct driver driver = begin();
	CUgraphConditionalHandle handle;
	CUgraph graph, *bodies;
	CUstream stream;

	CHECK_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphConditionalHandleCreate(&handle, graph, driver.context, 3,
						CU_GRAPH_COND_ASSIGN_DEFAULT));
	bodies = add_condition(graph, NULL, handle, CU_GRAPH_COND_TYPE_IF, 1);
	CHECK_OK(cuStreamBeginCaptureToGraph(stream, bodies[0], NULL, NULL, 0,
					     CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK_OK(count(&driver, 0, stream));
	CHECK_OK(cuStreamEndCapture(stream, NULL));
	run(graph);
	CHECK_INT(value(&driver, 0), 1);
	CHECK_OK(cuGraphDestroy(graph));
	end(&driver);
}

static void do_nothing(void *data)
{
}

TEST("invalid parameters of a condition are rejected")
{
	struct driver driver = begin();
	CUgraphNodeParams parameters = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUgraphConditionalHandle handle;
	CUDA_HOST_NODE_PARAMS host = {.fn = do_nothing};
	CUgraph graph, *bodies;
	CUgraphExec executable;
	CUgraphNode node;

	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_CUDA(cuGraphConditionalHandleCreate(&handle, graph, driver.context, 0, 8),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphConditionalHandleCreate(&handle, graph, driver.context, 0, 0));
	parameters.conditional.handle = handle + 1;
	parameters.conditional.size = 1;
	CHECK_CUDA(cuGraphAddNode(&node, graph, NULL, NULL, 0, &parameters),
		   CUDA_ERROR_INVALID_VALUE);
	parameters.conditional.handle = handle;
	parameters.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
	parameters.conditional.size = 2;
	CHECK_CUDA(cuGraphAddNode(&node, graph, NULL, NULL, 0, &parameters),
		   CUDA_ERROR_INVALID_VALUE);
	bodies = add_condition(graph, NULL, handle, CU_GRAPH_COND_TYPE_IF, 1);
	CHECK_OK(cuGraphAddHostNode(&node, bodies[0], NULL, 0, &host));
	CHECK_CUDA(cuGraphInstantiate(&executable, graph, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuGraphDestroy(graph));
	end(&driver);
}

TEST("a kernel that sets an invalid condition fails")
{
	struct driver driver = begin();
	uint64_t handle = 4096;
	int one = 1;

	CHECK_OK(launch(load("choose"), 1, 1, NULL, (void *[]){&handle, &one}));
	CHECK_CUDA(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	end(&driver);
}

/* ---- launches from kernels ------------------------------------------------------------- */

TEST("a kernel ends after its nested launches, and theirs")
{
	struct driver driver = begin();
	int depth = 5;

	CHECK_OK(launch(load("parent"), 1, 1, NULL, (void *[]){&driver.memory, &depth}));
	/* Two of every kernel's: 1 + 2 + 4 … */
	CHECK_INT(value(&driver, 0), 63);
	CHECK_INT(value(&driver, 1), 0);
	end(&driver);
}

TEST("launches in the tail stream run last")
{
	struct driver driver = begin();

	CHECK_OK(cuMemsetD32(driver.memory, 2, 1));
	CHECK_OK(launch(load("tail"), 1, 1, NULL, (void *[]){&driver.memory}));
	CHECK_INT(value(&driver, 0), 25);
	end(&driver);
}

TEST("a launch nested more than 24 deep fails with an error in the kernel")
{
	static const char line_ptx[] = "call.uni (r), prepare, (k, n);";
	struct driver driver = begin();
	char *text = strdup(nested_ptx);
	CUfunction function;
	CUmodule module;
	char *place = strstr(strstr(text, "entry parent"), "st.param.b32 [n], 2;");
	int depth = 100;

	/* One of itself, so that there are not too many. */
	CHECK(place && strstr(place, line_ptx));
	place[strlen("st.param.b32 [n], ")] = '1';
	CHECK_OK(cuModuleLoadData(&module, text));
	CHECK_OK(cuModuleGetFunction(&function, module, "parent"));
	CHECK_OK(launch(function, 1, 1, NULL, (void *[]){&driver.memory, &depth}));
	CHECK_INT(value(&driver, 0), 25);
	CHECK_INT(value(&driver, 1), 65); /* cudaErrorLaunchMaxDepthExceeded */
	free(text);
	end(&driver);
}

TEST("a fault in a nested launch is a fault of the host's launch")
{
	struct driver driver = begin();
	CUdeviceptr wrong = 64;

	CHECK_OK(launch(load("tail"), 1, 1, NULL, (void *[]){&wrong}));
	CHECK_CUDA(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	end(&driver);
}

TEST("ptxas accepts the kernels of these tests")
{
	remember_text(nested_ptx);
	check_with_ptxas();
}

TEST_MAIN
