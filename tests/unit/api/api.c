/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rows of the tables, and results. */
#include <errno.h>

#include "api_record.h"

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

TEST("a per-thread-stream variant is its function")
{
	CHECK_INT(gt_api_find("cudaMemcpyAsync_ptsz"), gt_api_find("cudaMemcpyAsync"));
	CHECK_INT(gt_api_find("cudaMemcpy_ptds"), gt_api_find("cudaMemcpy"));
	CHECK_INT(gt_api_find("__cudaLaunchKernel_ptsz"), gt_api_find("__cudaLaunchKernel"));
	CHECK_INT(gt_api_find("cuMemcpyHtoD_v2_ptds"), gt_api_find("cuMemcpyHtoD_v2"));
	CHECK(gt_api_find("cuMemcpyHtoD_v2") != gt_api_find("cuMemcpyHtoD"));
}

TEST("a name that is none of ours is rejected")
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
	CHECK_STR(gt_api_library_of("/opt/rocm/lib/librccl.so.1.0"), "nccl");
	CHECK(gt_api_library_of("librccl-net.so") == NULL);
	CHECK_STR(gt_api_group_of(gt_api_library_of("librocblas.so.4.2")), "rocblas");
	CHECK_STR(gt_api_group_of(gt_api_library_of("/opt/rocm/lib/libMIOpen.so.1")), "miopen");
	CHECK(gt_api_library_of("libcudnn_ops.so.9") == NULL);
	CHECK(gt_api_group_of("cufft") == NULL);
}

TEST("OpenCL, HIP and Level Zero are traced by default, hipRTC is not")
{
	static const char *const groups[] = {"cuda", "opencl", "hip", "level-zero"};

	for (unsigned i = 0; i < gt_countof(groups); i++)
		CHECK(gt_api_default_groups() & gt_api_group_bit(groups[i]));
	CHECK(!(gt_api_default_groups() & gt_api_group_bit("hiprtc")));
	CHECK(!(gt_api_default_groups() & gt_api_group_bit("cublas")));
	CHECK_STR(gt_api_library_of("libOpenCL.so.1.0.0"), "OpenCL");
	CHECK_STR(gt_api_library_of("libamdhip64.so.5"), "amdhip64");
	CHECK_STR(gt_api_group_of("ze_loader"), "level-zero");
	CHECK(gt_api_library_of("libze_tracing_layer.so.1") == NULL);
	CHECK(gt_api_contains("amdhip64", "hiprtc"));
	CHECK(!gt_api_contains("amdhip64", "OpenCL"));
}

TEST("functions of HIP that C++ mangles have the rows of their names")
{
	static const char mangled[] = "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12";

	CHECK_INT(gt_api_find(mangled), gt_api_find("hipExtModuleLaunchKernel"));
	CHECK(gt_api_find(mangled) >= 0);
	CHECK(!gt_api_is_per_thread(mangled));
	CHECK_INT(gt_api_find("_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_t"),
		  gt_api_find("hipHccModuleLaunchKernel"));
	/* A wrapper of the program's own. */
	CHECK_INT(gt_api_find("_Z10cudaMallocIfE9cudaErrorPPT_m"), -ENOENT);
}

TEST("a function that returns a handle fails with a negative error code")
{
	const struct gt_api_function *create = row("clCreateBuffer");
	const struct {
		uint64_t result;
		bool failed;
		const char *text;
	} cases[] = {
		{0x7f0000001000, false, "0x7f0000001000"},
		{(uint64_t)-61, true, "CL_INVALID_BUFFER_SIZE"},
		{(uint64_t)-5000, false, "0xffffffffffffec78"},
		{(uint64_t)-GT_API_UNKNOWN_ERROR, true, "NULL"},
		{(uint64_t)-900, true, "error 4294966396"},
	};

	for (size_t i = 0; i < gt_countof(cases); i++) {
		gt_auto_strbuf result = GT_STRBUF_INIT;

		gt_api_format_result(&result, create, cases[i].result, false);
		CHECK_STR(gt_strbuf_string(&result), cases[i].text);
		CHECK_INT(gt_api_failed(create, cases[i].result), cases[i].failed);
	}
	CHECK(gt_api_failed(row("clSVMAlloc"), (uint64_t)-GT_API_UNKNOWN_ERROR));
	CHECK(gt_api_failed(row("clFinish"), (uint32_t)-36));
	CHECK(!gt_api_failed(row("hipStreamQuery"), 600)); /* hipErrorNotReady */
	CHECK(!gt_api_failed(row("zeEventQueryStatus"), 1));
}

TEST("the main functions of libraries mean something")
{
	static const struct {
		const char *name;
		enum gt_api_category category;
	} rows[] = {
		{"ncclAllReduce", GT_CATEGORY_COMMUNICATE},
		{"ncclCommInitRank", GT_CATEGORY_CONTEXT},
		{"rocblas_sgemm", GT_CATEGORY_COMPUTE},
		{"rocblas_gemm_strided_batched_ex", GT_CATEGORY_COMPUTE},
		{"rocblas_set_stream", GT_CATEGORY_STREAM},
		{"miopenConvolutionForward", GT_CATEGORY_COMPUTE},
		{"miopenCreate", GT_CATEGORY_CONTEXT},
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

TEST("every allocation returns an address or a handle, every free takes one")
{
	for (unsigned i = 0; i < gt_api_count(); i++) {
		const struct gt_api_function *function = gt_api_function(i);
		bool found = false;

		for (unsigned j = 0; j < function->argument_count; j++) {
			enum gt_api_role role = function->arguments[j].role;

			if (function->category == GT_CATEGORY_ALLOC)
				found |= role == GT_ROLE_OUT ||
					 function->result->kind == GT_KIND_HANDLE ||
					 function->result->kind == GT_KIND_POINTER;
			else
				found |= role == GT_ROLE_POINTER ||
					 role == GT_ROLE_DEVICE_POINTER ||
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

TEST("a result is 32 bits wide: what is above it does not count")
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

TEST_MAIN
