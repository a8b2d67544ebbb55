/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Modules, launches and the errors of kernels on the software device. */
#include "base/strbuf.h"
#include "driver.h"
#include "fatbin/fatbin.h"
#include "gate.h"
#include "ptxas.h"

TEST("a kernel gets its arguments, one by one or as a buffer")
{
	struct driver driver = begin();
	unsigned int first = 100, n = 5;
	void *arguments[] = {&driver.memory, &first, &n};
	struct {
		CUdeviceptr place;
		unsigned int first, n;
	} buffer = {driver.memory, 200, 3};
	size_t size = sizeof(buffer);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &size, CU_LAUNCH_PARAM_END};

	CHECK_OK(launch(find(&driver, "fill"), 2, 4, NULL, arguments));
	CHECK_INT(value(&driver, 4), 104);
	CHECK_INT(value(&driver, 5), 0);
	CHECK_OK(cuLaunchKernel(find(&driver, "fill"), 1, 1, 1, 8, 1, 1, 0, NULL, NULL, extra));
	CHECK_INT(value(&driver, 2), 202);
	CHECK_INT(value(&driver, 3), 103);
	size = 12;
	CHECK_CUDA(cuLaunchKernel(find(&driver, "fill"), 1, 1, 1, 8, 1, 1, 0, NULL, NULL, extra),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(launch(find(&driver, "fill"), 1, 1, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("a launch of an invalid shape fails, and the context stays usable")
{
	struct driver driver = begin();
	CUfunction function = find(&driver, "count"), bounded = find(&driver, "bounded");
	void *arguments[] = {&driver.memory};

	CHECK_CUDA(launch(function, 0, 1, NULL, arguments), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(launch(function, 1, 0, NULL, arguments), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(launch(function, 1, 1025, NULL, arguments), CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(cuLaunchKernel(function, 1, 65536, 1, 1, 1, 1, 0, NULL, arguments, NULL),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_CUDA(launch(bounded, 1, 65, NULL, arguments), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	CHECK_CUDA(launch((CUfunction)&driver, 1, 1, NULL, arguments), CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(launch(NULL, 1, 1, NULL, arguments), CUDA_ERROR_INVALID_HANDLE);
	CHECK_OK(launch(bounded, 1, 64, NULL, arguments));
	CHECK_INT(value(&driver, 0), 64);
	end(&driver);
}

TEST("more than 48 KiB of shared memory require opting in")
{
	struct driver driver = begin();
	CUfunction function = find(&driver, "shared");
	void *arguments[] = {&driver.memory};
	int bytes = -1;

	CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 48 << 10, NULL, arguments, NULL));
	CHECK_INT(value(&driver, 15), 15);
	CHECK_CUDA(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 64 << 10, NULL, arguments, NULL),
		   CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				    64 << 10));
	CHECK_OK(cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				    function));
	CHECK_INT(bytes, 64 << 10);
	CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 64 << 10, NULL, arguments, NULL));
	CHECK_CUDA(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				      1 << 20),
		   CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("a cooperative launch that does not fit on the device is too large")
{
	struct driver driver = begin();
	CUfunction function = find(&driver, "count");
	void *arguments[] = {&driver.memory};
	int blocks = 0, multiprocessors = 0;

	CHECK_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
	CHECK_OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
				      0));
	CHECK(blocks > 0 && multiprocessors > 0);
	blocks *= multiprocessors;
	CHECK_OK(cuLaunchCooperativeKernel(function, (unsigned int)blocks, 1, 1, 256, 1, 1, 0, NULL,
					   arguments));
	CHECK_CUDA(cuLaunchCooperativeKernel(function, (unsigned int)blocks + 1, 1, 1, 256, 1, 1, 0,
					     NULL, arguments),
		   CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	CHECK_INT(value(&driver, 0), blocks * 256);
	end(&driver);
}

/* A fault of a kernel affects its context and no other. */
static void check_sticky(const char *kernel, CUdeviceptr argument, CUresult expected)
{
	struct driver other = begin();
	struct driver driver = begin();
	struct gate gate = {false, false};
	CUdeviceptr memory;
	CUevent event;
	int byte;

	CHECK_OK(cuEventCreate(&event, 0));
	CHECK_OK(cuLaunchHostFunc(NULL, pass_gate, &gate)); /* the calls come before the fault */
	CHECK_OK(launch(find(&driver, kernel), 1, 1, NULL, (void *[]){&argument}));
	CHECK_OK(cuEventRecord(event, NULL));
	atomic_store(&gate.open, true);
	CHECK_CUDA(cuCtxSynchronize(), expected);
	CHECK_CUDA(cuCtxSynchronize(), expected);
	CHECK_CUDA(cuEventQuery(event), expected);
	CHECK_CUDA(cuMemAlloc(&memory, 4), expected);
	CHECK_CUDA(cuMemFree(driver.memory), expected);
	CHECK_CUDA(cuMemcpyDtoH(&byte, driver.memory, 1), expected);
	CHECK_CUDA(cuStreamCreate(&(CUstream){0}, 0), expected);
	end(&driver);
	CHECK_OK(cuCtxSetCurrent(other.context));
	CHECK_OK(count(&other, 0, NULL));
	CHECK_INT(value(&other, 0), 1);
	end(&other);
}

TEST("an illegal access makes its context unusable, and only that")
{
	check_sticky("store", 16, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST("a misaligned access, a trap and a failed assertion make their context unusable, too")
{
	struct driver driver = begin();
	CUdeviceptr odd = driver.memory + 2;

	check_sticky("store", odd, CUDA_ERROR_MISALIGNED_ADDRESS);
	check_sticky("stop", 0, CUDA_ERROR_LAUNCH_FAILED);
	check_sticky("fail", 0, CUDA_ERROR_ASSERT);
	end(&driver);
}

TEST("an access past the end of an allocation is illegal")
{
	struct driver driver = begin();
	CUdeviceptr past = driver.memory + 4096;

	CHECK_OK(launch(find(&driver, "store"), 1, 1, NULL, (void *[]){&past}));
	CHECK_CUDA(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	end(&driver);
}

TEST("work that is queued when a kernel fails is not run")
{
	struct driver driver = begin();
	struct gate gate = {false, false};
	CUdeviceptr wrong = 8;
	int *pinned;

	CHECK_OK(cuMemAllocHost((void **)&pinned, 4));
	*pinned = 5;
	CHECK_OK(cuLaunchHostFunc(NULL, pass_gate, &gate));
	CHECK_OK(launch(find(&driver, "store"), 1, 1, NULL, (void *[]){&wrong}));
	CHECK_OK(cuMemcpyDtoHAsync(pinned, driver.memory, 4, NULL));
	atomic_store(&gate.open, true);
	CHECK_CUDA(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_INT(*pinned, 5);
	end(&driver);
}

/* ---- modules --------------------------------------------------------------------------- */

TEST("a module's variables can be found, read and written")
{
	struct driver driver = begin();
	CUdeviceptr table = 0, total = 0;
	size_t size = 0;
	int seen[4] = {0};

	CHECK_OK(cuModuleGetGlobal(&table, &size, driver.module, "table"));
	CHECK_INT(size, 16);
	CHECK_OK(cuMemcpyDtoH(seen, table, 16));
	CHECK_INT(seen[3], 13);
	CHECK_OK(cuModuleGetGlobal(&total, NULL, driver.module, "total"));
	CHECK_OK(launch(find(&driver, "count"), 3, 1, NULL, (void *[]){&total}));
	CHECK_OK(cuMemcpyDtoH(seen, total, 4));
	CHECK_INT(seen[0], 3);
	CHECK_CUDA(cuModuleGetGlobal(&table, &size, driver.module, "nothing"),
		   CUDA_ERROR_NOT_FOUND);
	CHECK_CUDA(cuMemFree(total), CUDA_ERROR_INVALID_VALUE);
	end(&driver);
}

TEST("a missing function is not found, nor any of an unloaded module")
{
	struct driver driver = begin();
	CUfunction function, counting = find(&driver, "count");
	void *arguments[] = {&driver.memory};

	CHECK_CUDA(cuModuleGetFunction(&function, driver.module, "nothing"), CUDA_ERROR_NOT_FOUND);
	CHECK_OK(cuModuleUnload(driver.module));
	CHECK_CUDA(cuModuleUnload(driver.module), CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(cuModuleGetFunction(&function, driver.module, "count"),
		   CUDA_ERROR_INVALID_HANDLE);
	CHECK_CUDA(launch(counting, 1, 1, NULL, arguments), CUDA_ERROR_INVALID_HANDLE);
	end(&driver);
}

TEST("a function has a name, parameters and limits")
{
	struct driver driver = begin();
	CUfunction fill = find(&driver, "fill"), bounded = find(&driver, "bounded");
	const char *name = NULL;
	size_t offset = 0, size = 0;
	int threads = 0;

	CHECK_OK(cuFuncGetName(&name, fill));
	CHECK_STR(name, "fill");
	CHECK_OK(cuFuncGetParamInfo(fill, 2, &offset, &size));
	CHECK_INT(offset, 12);
	CHECK_INT(size, 4);
	CHECK_CUDA(cuFuncGetParamInfo(fill, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
	CHECK_OK(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded));
	CHECK_INT(threads, 64);
	end(&driver);
}

static CUresult load_with_log(const char *image, char *log, size_t size)
{
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)size};
	CUmodule module;

	return cuModuleLoadDataEx(&module, image, 2, options, values);
}

static int registers_of(CUmodule module)
{
	CUfunction function;
	int registers = 0;

	CHECK_OK(cuModuleGetFunction(&function, module, "k"));
	CHECK_OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
	return registers;
}

TEST("a limit of registers limits those that a kernel reports")
{
	static const char text[] = PTX_HEADER ".visible .entry k()\n{\n\tret;\n}\n",
			  limited[] = PTX_HEADER ".visible .entry k() .maxnreg 8\n{\n\tret;\n}\n";
	struct driver driver = begin();
	CUjit_option option = CU_JIT_MAX_REGISTERS;
	void *value = (void *)10;
	CUmodule module;

	CHECK_OK(cuModuleLoadData(&module, text));
	CHECK(registers_of(module) > 10);
	CHECK_OK(cuModuleLoadDataEx(&module, text, 1, &option, &value));
	CHECK_INT(registers_of(module), 10);
	CHECK_OK(cuModuleLoadData(&module, limited));
	CHECK_INT(registers_of(module), 8);
	end(&driver);
}

TEST("the option -maxrregcount of a fatbin limits the registers of its kernels")
{
	static const char text[] = PTX_HEADER ".visible .entry k()\n{\n\tret;\n}\n",
			  set[] = " -maxrregcount=12 ";
	struct gt_fatbin_source source = {.kind = GT_FATBIN_KIND_PTX,
					  .options = set,
					  .options_length = sizeof(set) - 1,
					  .data = text,
					  .size = sizeof(text) - 1};
	gt_auto_strbuf image = GT_STRBUF_INIT;
	struct driver driver = begin();
	CUjit_option option = CU_JIT_MAX_REGISTERS;
	void *value = (void *)10;
	CUmodule module;

	CHECK_INT(gt_fatbin_write(&source, 1, GT_FATBIN_COMPRESSION_NONE, &image, NULL), 0);
	CHECK_OK(cuModuleLoadData(&module, image.data));
	CHECK_INT(registers_of(module), 12);
	CHECK_OK(cuModuleLoadDataEx(&module, image.data, 1, &option, &value));
	CHECK_INT(registers_of(module), 10);
	end(&driver);
}

TEST("invalid PTX is an error with a log")
{
	struct driver driver = begin();
	char log[300] = "before", small[8];

	CHECK_CUDA(load_with_log(PTX_HEADER ".visible .entry k()\n{\n\tfrobnicate.u32 1;\n}\n", log,
				 sizeof(log)),
		   CUDA_ERROR_INVALID_PTX);
	CHECK_STR(log, "6:2: unknown opcode \"frobnicate\" in function \"k\"\n");
	CHECK_CUDA(load_with_log(PTX_HEADER
				 ".visible .entry k()\n{\n\twgmma.fence.sync.aligned;\n}\n",
				 log, sizeof(log)),
		   CUDA_ERROR_INVALID_PTX);
	CHECK_STR(log, "line 6: opcode 'wgmma' in function 'k' is not supported by the software "
		       "device\n");
	CHECK_CUDA(load_with_log("this is no PTX", log, sizeof(log)), CUDA_ERROR_INVALID_PTX);
	CHECK(log[0]);
	CHECK_CUDA(load_with_log("this is no PTX", small, sizeof(small)), CUDA_ERROR_INVALID_PTX);
	CHECK_INT(strlen(small), 7);
	CHECK_OK(load_with_log(kernels_ptx, log, sizeof(log)));
	CHECK_STR(log, "");
	end(&driver);
}

TEST("PTX for a newer device cannot be loaded")
{
	struct driver driver = begin();
	CUmodule module;

	CHECK_CUDA(cuModuleLoadData(&module, ".version 8.7\n.target sm_120\n.address_size 64\n"),
		   CUDA_ERROR_NO_BINARY_FOR_GPU);
	end(&driver);
}

/* Load a fatbin of machine code for an architecture, and of PTX for newer ones. */
static CUresult load_with_code_for(uint32_t architecture, CUmodule *ret_module)
{
	static const char newest[] = ".version 8.7\n.target sm_120\n.address_size 64\n",
			  newer[] = ".version 8.7\n.target sm_100\n.address_size 64\n"
				    ".visible .entry k()\n{\n\tret;\n}\n",
			  code[64] = "\x7f"
				     "ELF\2\1\1";
	const struct gt_fatbin_source sources[] = {
		{.kind = GT_FATBIN_KIND_ELF,
		 .version_major = 1,
		 .architecture = architecture,
		 .data = code,
		 .size = sizeof(code)},
		{.kind = GT_FATBIN_KIND_PTX, .data = newest, .size = strlen(newest)},
		{.kind = GT_FATBIN_KIND_PTX, .data = newer, .size = strlen(newer)}};
	gt_auto_strbuf image = GT_STRBUF_INIT;

	CHECK_INT(gt_fatbin_write(sources, gt_countof(sources), GT_FATBIN_COMPRESSION_NONE, &image,
				  NULL),
		  0);
	return cuModuleLoadData(ret_module, image.data);
}

TEST("PTX for the next device is executed where there is machine code for this one")
{
	struct driver driver = begin();
	CUfunction function;
	CUmodule module;

	CHECK_CUDA(load_with_code_for(75, &module), CUDA_ERROR_NO_BINARY_FOR_GPU);
	CHECK_OK(load_with_code_for(90, &module));
	CHECK_OK(cuModuleGetFunction(&function, module, "k"));
	CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CHECK_OK(cuCtxSynchronize());
	end(&driver);
}

TEST("PTX of every toolkit of CUDA 13 can be loaded, that of a later major version cannot")
{
	struct driver driver = begin();
	char log[512];

	CHECK_OK(
		load_with_log(".version 9.3\n.target sm_75\n.address_size 64\n", log, sizeof(log)));
	CHECK_CUDA(
		load_with_log(".version 10.0\n.target sm_75\n.address_size 64\n", log, sizeof(log)),
		CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
	CHECK_STR(log, "the PTX is of version 10.0, this device knows those up to 9\n");
	end(&driver);
}

/* A fatbin with the kernels; the caller frees. */
static struct gt_strbuf make_fatbin(enum gt_fatbin_compression compression)
{
	struct gt_fatbin_source source = {
		.kind = GT_FATBIN_KIND_PTX,
		.data = kernels_ptx,
		.size = sizeof(kernels_ptx) - 1,
	};
	struct gt_strbuf image = GT_STRBUF_INIT;

	CHECK_INT(gt_fatbin_write(&source, 1, compression, &image, NULL), 0);
	return image;
}

struct wrapper {
	uint32_t magic, version;
	const void *data, *unused;
};

TEST("modules are loaded from fatbins, compressed or not, wrapped or not")
{
	struct driver driver = begin();

	for (int i = GT_FATBIN_COMPRESSION_NONE; i <= GT_FATBIN_COMPRESSION_ZSTD; i++) {
		struct gt_strbuf image = make_fatbin((enum gt_fatbin_compression)i);
		struct wrapper wrapper = {0x466243b1, 1, image.data, NULL};
		CUmodule module;

		CHECK_OK(cuModuleLoadFatBinary(&module, image.data));
		CHECK_OK(cuModuleUnload(module));
		CHECK_OK(cuModuleLoadData(&driver.module, &wrapper));
		gt_strbuf_free(&image);
		CHECK_OK(count(&driver, 0, NULL));
		CHECK_INT(value(&driver, 0), i + 1);
	}
	end(&driver);
}

TEST("a corrupt fatbin is an invalid image and does not crash")
{
	struct driver driver = begin();
	struct gt_strbuf image = make_fatbin(GT_FATBIN_COMPRESSION_ZSTD);
	int rejected = 0;
	CUmodule module;

	for (size_t at = 16; at < image.length; at += 7) {
		CUresult result;

		image.data[at] ^= 0x55;
		result = cuModuleLoadData(&module, image.data);
		rejected += result != CUDA_SUCCESS;
		CHECK(result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_IMAGE ||
		      result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_NO_BINARY_FOR_GPU);
		image.data[at] ^= 0x55;
	}
	CHECK(rejected > 10);
	CHECK_CUDA(cuModuleLoadData(&module, "\1\2\3\4 something else, with no meaning at all"),
		   CUDA_ERROR_INVALID_IMAGE);
	CHECK_CUDA(cuModuleLoad(&module, "/nothing/there"), CUDA_ERROR_FILE_NOT_FOUND);
	gt_strbuf_free(&image);
	end(&driver);
}

TEST("a kernel of a library runs in every context")
{
	struct driver first = begin();
	struct driver second;
	CUlibrary library;
	CUkernel kernel;
	unsigned int kernels = 0;
	const char *name = NULL;

	CHECK_OK(cuLibraryLoadData(&library, kernels_ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_OK(cuLibraryGetKernelCount(&kernels, library));
	CHECK_INT(kernels, 9);
	CHECK_OK(cuLibraryGetKernel(&kernel, library, "count"));
	CHECK_CUDA(cuLibraryGetKernel(&(CUkernel){0}, library, "nothing"), CUDA_ERROR_NOT_FOUND);
	CHECK_OK(cuKernelGetName(&name, kernel));
	CHECK_STR(name, "count");
	CHECK_OK(launch((CUfunction)kernel, 1, 2, NULL, (void *[]){&first.memory}));
	CHECK_INT(value(&first, 0), 2);
	second = begin();
	CHECK_OK(launch((CUfunction)kernel, 1, 3, NULL, (void *[]){&second.memory}));
	CHECK_INT(value(&second, 0), 3);
	end(&second);
	CHECK_OK(cuCtxSetCurrent(first.context));
	CHECK_OK(cuLibraryUnload(library));
	CHECK_CUDA(launch((CUfunction)kernel, 1, 1, NULL, (void *[]){&first.memory}),
		   CUDA_ERROR_INVALID_HANDLE);
	end(&first);
}

TEST("every function of the driver API is found by name")
{
	CUdriverProcAddressQueryResult status;
	void *plain = NULL, *per_thread = NULL, *address = NULL;
	CUresult (*unknown)(void);

	CHECK_OK(cuGetProcAddress("cuMemAlloc", &plain, 13000, 0, &status));
	CHECK(plain == (void *)cuMemAlloc);
	CHECK_OK(cuGetProcAddress("cuStreamSynchronize", &plain, 13000, 0, &status));
	CHECK_OK(cuGetProcAddress("cuStreamSynchronize", &per_thread, 13000,
				  CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
	CHECK(plain && per_thread && plain != per_thread);
	CHECK_CUDA(cuGetProcAddress("cuLibraryLoadData", &address, 11000, 0, &status),
		   CUDA_ERROR_NOT_FOUND);
	CHECK_INT(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	CHECK_CUDA(cuGetProcAddress("printf", &address, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
	CHECK_INT(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CHECK_OK(cuGetProcAddress("cuSomethingOfTheFuture", &address, 13000, 0, &status));
	memcpy(&unknown, &address, sizeof(address));
	CHECK_CUDA(unknown(), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_OK(cuGetProcAddress("cuTensorMapEncodeTiled", &address, 13000, 0, &status));
	memcpy(&unknown, &address, sizeof(address));
	CHECK_CUDA(unknown(), CUDA_ERROR_NOT_SUPPORTED);
}

TEST("every error has a name and a text, and no other value has")
{
	const char *text = NULL;

	CHECK_OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
	CHECK_STR(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
	CHECK_OK(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
	CHECK_STR(text, "an illegal memory access was encountered");
	CHECK_CUDA(cuGetErrorName((CUresult)9, &text), CUDA_ERROR_INVALID_VALUE);
	CHECK(!text);
	CHECK_CUDA(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
}

TEST("ptxas accepts the kernels of these tests")
{
	remember_text(kernels_ptx);
	check_with_ptxas();
}

TEST_MAIN
