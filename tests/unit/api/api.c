/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tables, plans and results; records that lie. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api_record.h"

/* --- rows ------------------------------------------------------------------------------- */

TEST("each row is found by its name, with its own number")
{
	for (unsigned i = 0; i < gt_api_count(); i++)
		if (gt_api_find(gt_api_function(i)->name) != (int)i)
			TAP_FAIL("%s is found as %d, not %u", gt_api_function(i)->name,
				 gt_api_find(gt_api_function(i)->name), i);
	CHECK(gt_api_count() > 900);
}

TEST("the rows of a library are sorted by name")
{
	for (unsigned i = 1; i < gt_api_count(); i++) {
		const struct gt_api_function *a = gt_api_function(i - 1), *b = gt_api_function(i);

		if (!strcmp(a->library, b->library) && strcmp(a->name, b->name) >= 0)
			TAP_FAIL("%s stands before %s", a->name, b->name);
	}
}

TEST("a number that is no row is nothing")
{
	CHECK(gt_api_function(gt_api_count()) == NULL);
	CHECK(gt_api_function(UINT32_MAX) == NULL);
}

TEST("a per-thread-default-stream twin is its function")
{
	CHECK_INT(gt_api_find("cudaMemcpyAsync_ptsz"), gt_api_find("cudaMemcpyAsync"));
	CHECK_INT(gt_api_find("cudaMemcpy_ptds"), gt_api_find("cudaMemcpy"));
	CHECK_INT(gt_api_find("__cudaLaunchKernel_ptsz"), gt_api_find("__cudaLaunchKernel"));
	CHECK_INT(gt_api_find("cuMemcpyHtoD_v2_ptds"), gt_api_find("cuMemcpyHtoD_v2"));
	CHECK(gt_api_find("cuMemcpyHtoD_v2") != gt_api_find("cuMemcpyHtoD"));
}

TEST("a name that is none of ours is refused")
{
	static const char *const names[] = {"",      "cuda",   "cudaMallo", "cudaMallocX",
					    "_ptsz", "malloc", "zzz",       "cudaMalloc_ptsz_ptsz",
					    "cu",    "__cuda", "cudaFree_"};

	for (size_t i = 0; i < gt_countof(names); i++)
		if (gt_api_find(names[i]) != -ENOENT)
			TAP_FAIL("\"%s\" is found as %d", names[i], gt_api_find(names[i]));
}

TEST("a library belongs to a group, by the names of its files, too")
{
	static const char *const groups[] = {"cuda", "cublas", "cudnn", "nccl"};

	for (unsigned i = 0; i < gt_countof(groups); i++) {
		CHECK_STR(gt_api_group_of(groups[i]), groups[i]);
		CHECK_INT(gt_api_group_bit(groups[i]), 1 << i);
	}
	CHECK_INT(gt_api_group_bit("cudart"), GT_API_GROUP_CUDA);
	CHECK_INT(gt_api_group_bit("cublasLt"), gt_api_group_bit("cublas"));
	CHECK_INT(gt_api_group_bit("cufft"), 0);
	CHECK_STR(gt_api_group_of("cudart"), "cuda");
	CHECK_STR(gt_api_group_of(gt_api_library_of("/usr/lib/libcublasLt.so.13")), "cublas");
	CHECK_STR(gt_api_group_of(gt_api_library_of("libnccl.so.2.28.3")), "nccl");
	CHECK(gt_api_library_of("libcudnn_ops.so.9") == NULL);
	CHECK(gt_api_group_of("cufft") == NULL);
}

TEST("the main functions of libraries mean something")
{
	static const struct {
		const char *name;
		enum gt_api_category category;
	} rows[] = {
		{"ncclAllReduce", GT_CATEGORY_COMMUNICATE},
		{"ncclCommInitRank", GT_CATEGORY_CONTEXT},
		{"cublasSgemm_v2", GT_CATEGORY_COMPUTE},
		{"cublasLtMatmul", GT_CATEGORY_COMPUTE},
		{"cudnnConvolutionForward", GT_CATEGORY_COMPUTE},
		{"cudnnBackendExecute", GT_CATEGORY_COMPUTE},
		{"cudnnCreate", GT_CATEGORY_CONTEXT},
	};

	for (size_t i = 0; i < gt_countof(rows); i++) {
		int row = gt_api_find(rows[i].name);

		CHECK(row >= 0 && gt_api_function((unsigned)row)->category == rows[i].category);
	}
}

TEST("each category that a row has, has a name")
{
	CHECK_STR(gt_api_category_name(GT_CATEGORY_ALLOC), "alloc");
	CHECK_STR(gt_api_category_name(GT_CATEGORY_MEMORY), "memory");
	CHECK_STR(gt_api_category_name((enum gt_api_category)1000), "unknown");
	for (unsigned i = 0; i < gt_api_count(); i++)
		CHECK(strcmp(gt_api_category_name(gt_api_function(i)->category), "unknown"));
	for (unsigned i = 0; i < GT_CATEGORY_COUNT; i++)
		CHECK(gt_api_category_name((enum gt_api_category)i) != NULL);
}

TEST("the main functions mean what they do")
{
	static const struct {
		const char *name;
		enum gt_api_category category;
	} rows[] = {
		{"cudaMalloc", GT_CATEGORY_ALLOC},
		{"cudaMallocManaged", GT_CATEGORY_ALLOC},
		{"cudaHostAlloc", GT_CATEGORY_ALLOC},
		{"cudaMallocAsync", GT_CATEGORY_ALLOC},
		{"cuMemAlloc_v2", GT_CATEGORY_ALLOC},
		{"cuMemCreate", GT_CATEGORY_ALLOC},
		{"cuArray3DCreate_v2", GT_CATEGORY_ALLOC},
		{"cudaFree", GT_CATEGORY_FREE},
		{"cudaFreeHost", GT_CATEGORY_FREE},
		{"cuMemFree_v2", GT_CATEGORY_FREE},
		{"cuMemRelease", GT_CATEGORY_FREE},
		{"cudaMemcpy3DPeerAsync", GT_CATEGORY_COPY},
		{"cuMemcpyDtoHAsync_v2", GT_CATEGORY_COPY},
		{"cudaMemset", GT_CATEGORY_SET},
		{"cuMemsetD32_v2", GT_CATEGORY_SET},
		{"cudaLaunchKernel", GT_CATEGORY_LAUNCH},
		{"__cudaLaunchKernel", GT_CATEGORY_LAUNCH},
		{"cudaLaunchKernelExC", GT_CATEGORY_LAUNCH},
		{"cudaLaunchCooperativeKernel", GT_CATEGORY_LAUNCH},
		{"cuLaunch", GT_CATEGORY_LAUNCH},
		{"cuLaunchKernel", GT_CATEGORY_LAUNCH},
		{"cuLaunchKernelEx", GT_CATEGORY_LAUNCH},
		{"cudaGraphLaunch", GT_CATEGORY_LAUNCH},
		{"cuGraphLaunch", GT_CATEGORY_LAUNCH},
		{"cudaLaunchHostFunc", GT_CATEGORY_STREAM},
		{"cuLaunchHostFunc", GT_CATEGORY_STREAM},
		{"cudaStreamWaitEvent", GT_CATEGORY_STREAM},
		{"cudaStreamSynchronize", GT_CATEGORY_SYNC},
		{"cudaDeviceSynchronize", GT_CATEGORY_SYNC},
		{"cuCtxSynchronize", GT_CATEGORY_SYNC},
		{"cudaEventRecord", GT_CATEGORY_EVENT},
		{"cuEventElapsedTime_v2", GT_CATEGORY_EVENT},
		{"cudaGraphAddKernelNode", GT_CATEGORY_GRAPH},
		{"cudaStreamBeginCapture", GT_CATEGORY_GRAPH},
		{"cudaSetDevice", GT_CATEGORY_DEVICE},
		{"cuDeviceGet", GT_CATEGORY_DEVICE},
		{"cuCtxCreate_v4", GT_CATEGORY_CONTEXT},
		{"cudaDeviceReset", GT_CATEGORY_CONTEXT},
		{"cuModuleLoadData", GT_CATEGORY_MODULE},
		{"cuLibraryLoadData", GT_CATEGORY_MODULE},
		{"cudaLibraryGetKernel", GT_CATEGORY_MODULE},
		{"cuMemMap", GT_CATEGORY_MEMORY},
		{"cudaHostRegister", GT_CATEGORY_MEMORY},
		{"cudaGetLastError", GT_CATEGORY_NONE},
		{"__cudaPushCallConfiguration", GT_CATEGORY_NONE},
		{"__cudaRegisterFunction", GT_CATEGORY_NONE},
		{"cudaGraphicsMapResources", GT_CATEGORY_NONE},
	};

	for (size_t i = 0; i < gt_countof(rows); i++)
		if (row(rows[i].name)->category != rows[i].category)
			TAP_FAIL("%s means %s, not %s", rows[i].name,
				 gt_api_category_name(row(rows[i].name)->category),
				 gt_api_category_name(rows[i].category));
}

TEST("every allocation gives back an address or a handle, every free takes one")
{
	for (unsigned i = 0; i < gt_api_count(); i++) {
		const struct gt_api_function *function = gt_api_function(i);
		bool found = false;

		for (unsigned j = 0; j < function->argument_count; j++) {
			enum gt_api_role role = function->arguments[j].role;

			if (function->category == GT_CATEGORY_ALLOC)
				found |= role == GT_ROLE_OUT;
			else
				found |= role == GT_ROLE_DEVICE_POINTER ||
					 role == GT_ROLE_HOST_POINTER || role == GT_ROLE_HANDLE;
		}
		if (!found && (function->category == GT_CATEGORY_ALLOC ||
			       function->category == GT_CATEGORY_FREE))
			TAP_FAIL("%s does not", function->name);
	}
}

TEST("a library's file name says which API it has")
{
	CHECK_STR(gt_api_library_of("libcudart.so.13.0.96"), "cudart");
	CHECK_STR(gt_api_library_of("libcudart.so.12"), "cudart");
	CHECK_STR(gt_api_library_of("libcudart.so"), "cudart");
	CHECK_STR(gt_api_library_of("libcudart-d0da41ae.so.11.0"), "cudart");
	CHECK_STR(gt_api_library_of("/usr/lib/x86_64-linux-gnu/libcuda.so.1"), "cuda");
	CHECK_STR(gt_api_library_of("libcuda.so.580.65"), "cuda");
	CHECK(gt_api_library_of("libcudart_static.a") == NULL);
	CHECK(gt_api_library_of("libcudadebugger.so.1") == NULL);
	CHECK(gt_api_library_of("libcuda.sock") == NULL);
	CHECK(gt_api_library_of("libcudart") == NULL);
	CHECK(gt_api_library_of("vectoradd") == NULL);
	CHECK(gt_api_library_of("") == NULL);
	CHECK(gt_api_library_of("libcuda.so.1/x") == NULL);
}

/* --- plans ------------------------------------------------------------------------------ */

static void check_plan(const struct gt_api_function *function, const struct gt_plan *plan)
{
	unsigned words = 0, slots = plan->registers + plan->stack;
	unsigned in_record = plan->copies - plan->apart;

	if (plan->registers > GT_PLAN_MAX_REGISTERS || plan->stack > GT_PLAN_MAX_STACK ||
	    slots > GT_PLAN_MAX_SLOTS || plan->copies > GT_PLAN_MAX_COPIES)
		TAP_FAIL("%s: %u registers, %u stack words, %u copies", function->name,
			 plan->registers, plan->stack, plan->copies);
	for (unsigned i = 0; i < plan->copies; i++) {
		if ((i < in_record) != (plan->copy[i].bytes > 0) || plan->copy[i].slot >= slots)
			TAP_FAIL("%s: copy %u of %u bytes behind slot %u", function->name, i,
				 plan->copy[i].bytes, plan->copy[i].slot);
		if (i && i < in_record && plan->copy[i - 1].when > plan->copy[i].when)
			TAP_FAIL("%s: a copy at success stands before one at entry",
				 function->name);
		if ((i < in_record) != (plan->copy[i].when <= GT_COPY_AT_SUCCESS))
			TAP_FAIL("%s: an event of its own does not stand behind the copies",
				 function->name);
		words += (plan->copy[i].bytes + 7u) / 8;
	}
	if (words > GT_PLAN_MAX_COPIED)
		TAP_FAIL("%s: %u words are copied", function->name, words);
}

TEST("the plan of each row keeps to the limits, on both machines")
{
	for (unsigned i = 0; i < gt_api_count(); i++)
		for (unsigned machine = 0; machine < GT_MACHINES; machine++) {
			struct gt_api_layout layout;

			gt_api_lay_out(gt_api_function(i), (enum gt_machine)machine, &layout);
			check_plan(gt_api_function(i), &layout.plan);
		}
}

TEST("every argument but a float is captured, on both machines, up to the 32nd")
{
	for (unsigned i = 0; i < gt_api_count(); i++)
		for (unsigned machine = 0; machine < GT_MACHINES; machine++) {
			const struct gt_api_function *function = gt_api_function(i);
			struct gt_api_layout layout;

			gt_api_lay_out(function, (enum gt_machine)machine, &layout);
			for (unsigned j = 0; j < function->argument_count; j++) {
				bool is_float = function->arguments[j].type->kind == GT_KIND_FLOAT;

				if (j < 32 && (layout.locations[j].slot < 0) != is_float)
					TAP_FAIL("%s: %s is in slot %d", function->name,
						 function->arguments[j].name,
						 layout.locations[j].slot);
			}
		}
}

static struct gt_api_layout laid_out(const char *name, enum gt_machine machine)
{
	struct gt_api_layout layout;

	gt_api_lay_out(row(name), machine, &layout);
	return layout;
}

static void check_slots(const char *name, enum gt_machine machine, unsigned registers,
			unsigned stack, const int *slots)
{
	struct gt_api_layout layout = laid_out(name, machine);

	if (layout.plan.registers != registers || layout.plan.stack != stack)
		TAP_FAIL("%s: %u registers and %u stack words", name, layout.plan.registers,
			 layout.plan.stack);
	for (unsigned i = 0; i < row(name)->argument_count; i++)
		if (layout.locations[i].slot != slots[i])
			TAP_FAIL("%s: %s is in slot %d, not %d", name, row(name)->arguments[i].name,
				 layout.locations[i].slot, slots[i]);
}

TEST("a runtime launch takes six registers and two stack words on x86-64")
{
	check_slots("cudaLaunchKernel", GT_MACHINE_X86_64, 6, 2, (int[]){0, 1, 3, 5, 6, 7});
}

TEST("a runtime launch takes eight registers on aarch64")
{
	check_slots("cudaLaunchKernel", GT_MACHINE_AARCH64, 8, 0, (int[]){0, 1, 3, 5, 6, 7});
}

TEST("a driver launch has its last arguments on the stack, on both machines")
{
	static const int slots[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

	check_slots("cuLaunchKernel", GT_MACHINE_X86_64, 6, 5, slots);
	check_slots("cuLaunchKernel", GT_MACHINE_AARCH64, 8, 3, slots);
}

TEST("a structure over 16 bytes is on the stack on x86-64, later arguments keep registers")
{
	/* pitchedDevPtr (32 bytes), value, extent (24 bytes), stream */
	check_slots("cudaMemset3DAsync", GT_MACHINE_X86_64, 2, 7, (int[]){2, 0, 6, 1});
}

TEST("a structure over 16 bytes is copied from where its reference points on aarch64")
{
	struct gt_api_layout layout = laid_out("cudaMemset3DAsync", GT_MACHINE_AARCH64);

	check_slots("cudaMemset3DAsync", GT_MACHINE_AARCH64, 4, 0, (int[]){0, 1, 2, 3});
	CHECK(layout.locations[0].reference && layout.locations[2].reference);
	CHECK_INT(layout.plan.copies, 2);
	CHECK_INT(layout.plan.copy[0].bytes, 32);
	CHECK_INT(layout.plan.copy[1].bytes, 24);
	CHECK_INT(layout.plan.copy[1].when, GT_COPY_AT_ENTRY);
}

TEST("a structure that finds too few registers goes to the stack as a whole")
{
	const struct gt_api_argument *launch = row("cudaLaunchKernel")->arguments;
	struct gt_api_argument list[] = {launch[4], launch[1], launch[1],
					 launch[1], launch[1], launch[4]};
	struct gt_api_function function = *row("cudaLaunchKernel");
	struct gt_api_layout layout;

	function.arguments = list;
	function.argument_count = gt_countof(list);
	gt_api_lay_out(&function, GT_MACHINE_X86_64, &layout);
	CHECK_INT(layout.locations[2].slot, 3);
	CHECK_INT(layout.locations[3].slot, 6);
	CHECK_INT(layout.locations[4].slot, 8);
	CHECK_INT(layout.locations[5].slot, 5); /* the register that was left */
	gt_api_lay_out(&function, GT_MACHINE_AARCH64, &layout);
	CHECK_INT(layout.locations[3].slot, 5);
	CHECK_INT(layout.locations[4].slot, 7);
	CHECK_INT(layout.locations[5].slot, 9); /* registers were closed */
	CHECK_INT(layout.plan.registers, 7);
	CHECK_INT(layout.plan.stack, 3);
}

TEST("registers and stack words together keep to the limit of slots")
{
	const struct gt_api_argument *frame =
		&row("cudaEGLStreamProducerPresentFrame")->arguments[1];
	const struct gt_api_argument *size = &row("cudaMalloc")->arguments[1];
	struct gt_api_argument list[] = {*size, *size, *size, *size, *size, *size, *frame, *size};
	struct gt_api_function function = *row("cudaMalloc");
	struct gt_api_layout layout;

	function.arguments = list;
	function.argument_count = gt_countof(list);
	gt_api_lay_out(&function, GT_MACHINE_X86_64, &layout);
	CHECK_INT(layout.plan.registers, 6);
	CHECK_INT(layout.plan.stack, 26);
	CHECK_INT(layout.locations[6].slots, 26);
	CHECK_INT(layout.locations[7].slot, GT_LAYOUT_NONE);
}

TEST("a structure given back takes the first argument register on x86-64 only")
{
	check_slots("cudaCreateChannelDesc", GT_MACHINE_X86_64, 6, 0, (int[]){1, 2, 3, 4, 5});
	check_slots("cudaCreateChannelDesc", GT_MACHINE_AARCH64, 5, 0, (int[]){0, 1, 2, 3, 4});
}

TEST("what a call gives back is copied at success, in its own size")
{
	struct gt_plan plan;

	gt_api_plan(row("cudaMallocPitch"), &plan);
	CHECK_INT(plan.copies, 2);
	CHECK_INT(plan.copy[0].when, GT_COPY_AT_SUCCESS);
	CHECK_INT(plan.copy[0].bytes, 8);
	CHECK_INT(plan.copy[1].slot, 1);
	gt_api_plan(row("cudaGetDevice"), &plan);
	CHECK_INT(plan.copy[0].bytes, 4);
	CHECK_INT(plan.error_result, 1);
	gt_api_plan(row("__cudaPushCallConfiguration"), &plan);
	CHECK_INT(plan.error_result, 0);
	gt_api_plan(row("cudaGetLastError"), &plan);
	CHECK_INT(plan.error_result, 0);
}

TEST("the effect of a call on contexts and devices is in its plan, with the arguments that it "
     "needs")
{
	static const struct {
		const char *name, *value, *device;
	} effects[] = {
#define EFFECT(function, effect, value, device) {#function, #value, #device},
#include "api/effects.def"
#undef EFFECT
	};

	for (size_t i = 0; i < gt_countof(effects); i++) {
		struct gt_plan plan;

		gt_api_plan(row(effects[i].name), &plan);
		CHECK(plan.effect != GT_EFFECT_NONE);
		CHECK_INT(plan.error_result, 1);
		CHECK_INT(!plan.effect_value, !strcmp(effects[i].value, "_"));
		CHECK_INT(!plan.effect_device, !strcmp(effects[i].device, "_"));
	}
}

TEST("calls that change the context are traced implicitly, those that only ask for it are not")
{
	struct gt_plan plan;

	gt_api_plan(row("cuCtxCreate_v4"), &plan);
	CHECK_INT(plan.effect, GT_EFFECT_CONTEXT_CREATE);
	CHECK_INT(plan.effect_value, 1);
	CHECK_INT(plan.effect_device, 4);
	gt_api_plan(row("cudaMalloc"), &plan);
	CHECK_INT(plan.effect, GT_EFFECT_NONE);
	CHECK(gt_api_is_implicit(row("cuCtxSetCurrent")));
	CHECK(gt_api_is_implicit(row("cudaSetDevice")));
	CHECK(!gt_api_is_implicit(row("cuCtxGetCurrent")));
	CHECK(!gt_api_is_implicit(row("cudaMalloc")));
}

TEST("a handle given back is kept when big structures are read, too")
{
	struct gt_api_layout layout = laid_out("cudaCreateTextureObject", GT_MACHINE_X86_64);

	CHECK(layout.locations[0].copy >= 0);
	CHECK_INT(layout.plan.copy[layout.locations[0].copy].when, GT_COPY_AT_SUCCESS);
}

TEST("structures that a call reads are copied at entry")
{
	struct gt_plan plan;

	gt_api_plan(row("cudaLaunchKernelExC"), &plan);
	CHECK_INT(plan.copies, 2);
	CHECK_INT(plan.copy[1].when, GT_COPY_ARGUMENTS);
	CHECK_INT(plan.copy[0].when, GT_COPY_AT_ENTRY);
	CHECK_INT(plan.copy[0].slot, 0);
	CHECK_INT(plan.copy[0].bytes, 56);
	gt_api_plan(row("cudaMemcpy3D"), &plan);
	CHECK_INT(plan.copy[0].bytes, 160);
	gt_api_plan(row("cuMemcpy2D_v2"), &plan);
	CHECK_INT(plan.copy[0].bytes, 128);
}

/* --- results ---------------------------------------------------------------------------- */

TEST("results have the names of the headers, and short ones")
{
	CHECK_STR(result("cudaMalloc", 0, true), "Success");
	CHECK_STR(result("cudaMalloc", 0, false), "cudaSuccess");
	CHECK_STR(result("cudaMalloc", 2, true), "MemoryAllocation");
	CHECK_STR(result("cudaMalloc", 2, false), "cudaErrorMemoryAllocation");
	CHECK_STR(result("cudaMalloc", 35, true), "InsufficientDriver");
	CHECK_STR(result("cuMemAlloc_v2", 0, true), "Success");
	CHECK_STR(result("cuMemAlloc_v2", 0, false), "CUDA_SUCCESS");
	CHECK_STR(result("cuMemAlloc_v2", 2, true), "OUT_OF_MEMORY");
	CHECK_STR(result("cuMemAlloc_v2", 2, false), "CUDA_ERROR_OUT_OF_MEMORY");
	CHECK_STR(result("cuMemAlloc_v2", 700, true), "ILLEGAL_ADDRESS");
}

TEST("a result is 32 bits wide: what stands above it does not count")
{
	CHECK_STR(result("cudaMalloc", 0xffffffff00000000, true), "Success");
	CHECK(!gt_api_failed(row("cudaMalloc"), 0xffffffff00000000));
	CHECK(gt_api_failed(row("cudaMalloc"), 0xffffffff00000002));
}

TEST("an unknown error is its number")
{
	CHECK_STR(result("cudaMalloc", 12345, true), "error 12345");
	CHECK_STR(result("cuInit", 4294967295, false), "error 4294967295");
}

TEST("results that are no errors are numbers, addresses or void")
{
	CHECK_STR(result("__cudaPushCallConfiguration", 0xdddddddd00000001, true), "1");
	CHECK_STR(result("__cudaRegisterFatBinary", 0x7f0000001000, true), "0x7f0000001000");
	CHECK_STR(result("__cudaRegisterFunction", 77, true), "void");
	CHECK_STR(result("cudaGetErrorString", 0x400000, false), "0x400000");
}

TEST("only errors are failures, and not being ready is none")
{
	CHECK(!gt_api_failed(row("cudaStreamQuery"), 0));
	CHECK(!gt_api_failed(row("cudaStreamQuery"), 600));
	CHECK(gt_api_failed(row("cudaStreamQuery"), 700));
	CHECK(!gt_api_failed(row("ncclCommGetAsyncError"), 7));
	CHECK(gt_api_failed(row("ncclCommGetAsyncError"), 600));
	CHECK(gt_api_failed(row("cudaMalloc"), 7));
	CHECK(!gt_api_failed(row("cudnnCreate"), 1006));
	CHECK(gt_api_failed(row("cublasCreate_v2"), 7));
	CHECK(!gt_api_failed(row("cuEventQuery"), 600));
	CHECK(gt_api_failed(row("cuEventQuery"), 1));
	CHECK(!gt_api_failed(row("__cudaRegisterFatBinary"), 0x7f0000001000));
	CHECK(!gt_api_failed(row("__cudaPushCallConfiguration"), 1));
}

TEST("what says \"not yet\" is an enumerator of its enumeration, and known to the probes")
{
	static const struct {
		const char *type, *name;
		int64_t value;
	} rows[] = {
#define PENDING(enumeration, enumerator, value) {#enumeration, #enumerator, value},
#include "api/pending.def"
#undef PENDING
	};

	for (size_t i = 0; i < gt_countof(rows); i++) {
		bool found = false;

		for (unsigned number = 0; number < gt_api_count(); number++) {
			const struct gt_api_function *function = gt_api_function(number);
			const struct gt_api_enumerator *enumerator;
			struct gt_plan plan;

			if (strcmp(function->result->name, rows[i].type))
				continue;
			enumerator = gt_api_enumerator(function->result, (uint64_t)rows[i].value);
			gt_api_plan(function, &plan);
			CHECK_STR(enumerator ? enumerator->name : NULL, rows[i].name);
			CHECK_INT(plan.pending, rows[i].value);
			found = true;
			break;
		}
		CHECK(found);
	}
}

TEST("a call that reports the last error has not failed itself")
{
	CHECK(!gt_api_failed(row("cudaGetLastError"), 2));
	CHECK_STR(result("cudaGetLastError", 2, true), "MemoryAllocation");
	CHECK_STR(result("cudaPeekAtLastError", 2, false), "cudaErrorMemoryAllocation");
}

/* --- hostile records -------------------------------------------------------------------- */

TEST("a size that overflows is not known")
{
	struct built call = begin("cudaMemcpy2D");
	uint64_t bytes = 7;

	pass(&call, "width", UINT64_MAX);
	pass(&call, "height", 2);
	CHECK(!gt_call_bytes(decoded(&call), &bytes));
	CHECK_INT(bytes, 7);
}

TEST("slots that a record lacks are unknown, not read")
{
	struct built call = begin("cudaMemcpyAsync");

	pass(&call, "dst", 1);
	pass(&call, "src", 2);
	pass(&call, "count", 3);
	call.call.slots = 2;
	CHECK_STR(details(&call), "size=? bytes kind=? stream=?");
	CHECK_STR(json(&call), "{\"dst\":\"0x1\",\"src\":\"0x2\",\"count\":null,\"kind\":null,"
			       "\"stream\":null}");
	CHECK_INT(gt_call_direction(decoded(&call)), -1);
}

TEST("a slot that a record lacks is not taken from the copies behind the slots")
{
	struct built call = begin("cudaLaunchKernelExC");
	struct launch_config config = {{4, 2, 1}, {256, 1, 1}, 128, 0x55aa00, 0, 0, 0};

	point(&call, "config", &config, sizeof(config));
	call.call.slots = 0;
	CHECK_STR(details(&call), "grid=4x2x1 block=256x1x1 shared=128 stream=0x55aa00 func=?");
}

TEST("a record that claims more slots than it has words is cut where it ends")
{
	struct built call = begin("cudaMalloc");
	uint64_t pointer = 0x7f1234568000;

	pass(&call, "size", 4000);
	back(&call, 0);
	point(&call, "devPtr", &pointer, sizeof(pointer));
	finish(&call);
	call.call.slots = 255;
	call.call.head.size = (__u16)(sizeof(call.call) + 8);
	{
		gt_auto_strbuf buffer = GT_STRBUF_INIT;
		struct gt_call truncated;
		uint64_t number;

		gt_call_decode(&truncated, &call.layout, &call.call);
		gt_call_format_arguments(&buffer, &truncated);
		CHECK_STR(gt_strbuf_string(&buffer), "size=? bytes");
		CHECK(!gt_call_number(&truncated, 1, &number));
		CHECK(!gt_call_number(&truncated, 0, &number));
		CHECK(!gt_call_number(&truncated, 99, &number));
	}
}

TEST("copies that a record claims and does not have are unknown")
{
	struct built call = begin("cudaLaunchKernelExC");
	struct launch_config config = {{4, 2, 1}, {256, 1, 1}, 128, 0x55aa00, 0, 0, 0};

	pass(&call, "config", 0x7ffc00004000);
	pass(&call, "func", 0x401136);
	call.call.copied = 0xff;
	memcpy(call.copies[0], &config, sizeof(config));
	finish(&call);
	call.call.head.size = (__u16)(sizeof(call.call) + (call.call.slots + 2u) * 8);
	{
		gt_auto_strbuf buffer = GT_STRBUF_INIT;
		struct gt_call truncated;

		gt_call_decode(&truncated, &call.layout, &call.call);
		gt_call_format_entry(&buffer, &truncated);
		CHECK_STR(gt_strbuf_string(&buffer),
			  "grid=4x2x1 block=256x?x? shared=? stream=? func=0x401136");
	}
}

TEST("a structure by value that is cut shows what is there")
{
	struct built call = begin("cudaLaunchKernel");

	pass(&call, "func", 0x401136);
	pass_launch(&call);
	call.call.slots = 2;
	CHECK_STR(details(&call), "func=0x401136 grid=4x1x? block=?x?x? shared=? stream=?");
	CHECK_STR(json(&call), "{\"func\":\"0x401136\",\"gridDim\":[4,1,null],\"blockDim\":null,"
			       "\"args\":null,\"sharedMem\":null,\"stream\":null}");
}

TEST("the live view leaves out inputs that there are not, and where a kernel's name lies")
{
	struct built load = begin("cuLibraryLoadData");
	struct built look = begin("cuLibraryGetKernel");
	gt_auto_strbuf nothing = GT_STRBUF_INIT, named = GT_STRBUF_INIT;

	for (unsigned i = 1; i < load.function->argument_count; i++)
		pass(&load, load.function->arguments[i].name, i == 1 ? 0x7000 : 0);
	gt_call_format_entry(&nothing, decoded(&load));
	CHECK_STR(gt_strbuf_string(&nothing), "code=0x7000 numJitOptions=0 numLibraryOptions=0");
	pass(&look, "library", 0x5000);
	pass(&look, "name", 0x6000);
	gt_call_format_entry(&named, decoded(&look));
	CHECK_STR(gt_strbuf_string(&named), "library=0x5000");
}

static void decode_everything(const struct gt_call *call)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	struct gt_json writer = GT_JSON_INIT(&buffer);
	uint64_t number, sizes[GT_API_MAX_SIZES];
	struct gt_call_naming naming;
	struct gt_call_launch launch;
	struct gt_copy_ends ends;

	gt_call_format_arguments(&buffer, call);
	gt_call_format_entry(&buffer, call);
	gt_call_format_return(&buffer, call);
	gt_call_json_arguments(&writer, NULL, call);
	gt_call_json_operation(&writer, call);
	gt_call_bytes(call, &number);
	gt_call_list_sizes(call, sizes);
	gt_call_direction(call);
	gt_call_kernel(call, &number);
	gt_call_naming(call, &naming);
	gt_call_launch(call, &launch);
	gt_call_copy_ends(call, &ends);
	gt_call_stream(call, &number);
	gt_call_allocated(call, &number);
	gt_call_allocated_bytes(call, &number);
	CHECK(!buffer.failed);
	for (unsigned i = 0; i < call->function->argument_count; i++) {
		struct gt_api_value value = gt_call_argument_value(call, i);
		struct gt_api_value pointed = gt_call_pointed_value(call, i);

		gt_call_number(call, i, &number);
		CHECK(value.size <= value.type->size);
		CHECK(!pointed.size || pointed.size <= pointed.type->size);
	}
}

/* Decodes one record as every row would, on both machines. */
static void decode_as_all(const struct gt_event_call *event)
{
	for (unsigned i = 0; i < gt_api_count(); i++) {
		for (unsigned machine = 0; machine < GT_MACHINES; machine++) {
			struct gt_api_layout layout;
			struct gt_call call;

			gt_api_lay_out(gt_api_function(i), (enum gt_machine)machine, &layout);
			gt_call_decode(&call, &layout, event);
			decode_everything(&call);
		}
	}
}

/* A record of `size` bytes that ends where a page begins that cannot be read. */
static struct gt_event_call *record_before_guard(void *pages, size_t page, size_t size)
{
	return (struct gt_event_call *)((char *)pages + page - size);
}

TEST("records of every size and every claim are decoded as every row without a read past the end")
{
	static const uint8_t slots[] = {0, 1, 7, 16, 64, 255};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t state = 88172645463325252;
	void *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED && !mprotect((char *)pages + page, page, PROT_NONE));
	for (unsigned words = 0; words <= 48; words += words < 4 ? 1 : 11) {
		size_t size = sizeof(struct gt_event_call) + (size_t)words * 8;
		struct gt_event_call *call = record_before_guard(pages, page, size);

		for (size_t i = 0; i < gt_countof(slots); i++) {
			for (size_t j = 0; j < size / 8; j++) {
				state ^= state << 13, state ^= state >> 7, state ^= state << 17;
				((uint64_t *)call)[j] = state;
			}
			call->head.size = (__u16)size;
			call->head.kind = i % 2 ? GT_EVENT_call : GT_EVENT_entry;
			call->slots = slots[i];
			call->copied = i % 3 ? 0xff : 0x5;
			call->result = i % 2 ? 0 : call->result;
			call->state = 0;
			decode_as_all(call);
		}
	}
	munmap(pages, 2 * page);
}

TEST("a record shorter than its head has no words")
{
	struct built built = begin("cudaMalloc");
	struct gt_call call;

	finish(&built);
	built.call.head.size = 8;
	gt_call_decode(&call, &built.layout, &built.call);
	CHECK_INT(call.words, 0);
}

TEST_MAIN
