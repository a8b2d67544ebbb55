/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The runtime API of the software device. What a compiler generates for CUDA C++ is written out:
 * a fatbin in a wrapper, stubs, their registration, launches as of before and after CUDA 13.
 */
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "fatbin/fatbin.h"
#include "gate.h"
#include "kernels.h"
#include "tap.h"

#define CHECK_CUDA(call, expected)                                                                 \
	do {                                                                                       \
		cudaError_t tap_r = (call), tap_x = (expected);                                    \
		if (tap_r != tap_x)                                                                \
			TAP_FAIL("%s is %s, not %s", #call, cudaGetErrorName(tap_r),               \
				 cudaGetErrorName(tap_x));                                         \
	} while (0)
#define CHECK_OK(call) CHECK_CUDA(call, cudaSuccess)
/* A call that fails also leaves its error for cudaGetLastError, once. */
#define CHECK_FAILS(call, expected)                                                                \
	do {                                                                                       \
		CHECK_CUDA(call, expected);                                                        \
		CHECK_CUDA(cudaPeekAtLastError(), expected);                                       \
		CHECK_CUDA(cudaGetLastError(), expected);                                          \
		CHECK_CUDA(cudaGetLastError(), cudaSuccess);                                       \
	} while (0)

static struct {
	uint32_t magic, version;
	const void *data, *unused;
} wrapper = {0x466243b1, 1, NULL, NULL};

/* Stubs: their addresses stand for kernels. */
static char count_stub, store_stub, bounded_stub, missing_stub, unregistered_stub;
/* The variables on the host that stand for variables of the device. */
static char table_host, unregistered_host;

static void add_function(void **handle, const char *stub, const char *name)
{
	__cudaRegisterFunction(handle, stub, (char *)(uintptr_t)name, name, -1, NULL, NULL, NULL,
			       NULL, NULL);
}

__attribute__((constructor)) static void register_code(void)
{
	struct gt_fatbin_source source = {
		.kind = GT_FATBIN_KIND_PTX,
		.data = kernels_ptx,
		.size = sizeof(kernels_ptx) - 1,
	};
	static struct gt_strbuf image;
	void **handle;

	if (gt_fatbin_write(&source, 1, GT_FATBIN_COMPRESSION_ZSTD, &image, NULL))
		abort();
	wrapper.data = image.data;
	handle = __cudaRegisterFatBinary(&wrapper);
	add_function(handle, &count_stub, "count");
	add_function(handle, &store_stub, "store");
	add_function(handle, &bounded_stub, "bounded");
	add_function(handle, &missing_stub, "not_there");
	__cudaRegisterVar(handle, &table_host, (char *)"table", "table", 0, 16, 0, 0);
	__cudaRegisterFatBinaryEnd(handle);
}

static const dim3 one = {1, 1, 1};

static dim3 threads(unsigned int count)
{
	return (dim3){count, 1, 1};
}

static int *zeros(void)
{
	int *memory = NULL;

	CHECK_OK(cudaMalloc((void **)&memory, 4096));
	CHECK_OK(cudaMemset(memory, 0, 4096));
	return memory;
}

static int read_int(const int *place)
{
	int found = -1;

	CHECK_OK(cudaMemcpy(&found, place, 4, cudaMemcpyDeviceToHost));
	return found;
}

/* Descriptions are kept as they were given, with their padding. */
static bool has_same_bytes(const void *left, const void *right, size_t size)
{
	return !memcmp(left, right, size);
}

TEST("a kernel is launched by its stub, as of before CUDA 13")
{
	int *memory = zeros();
	void *arguments[] = {&memory};
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream = (cudaStream_t)1;

	CHECK_INT(__cudaPushCallConfiguration(threads(2), threads(3), 16, NULL), 0);
	CHECK_OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
	CHECK(grid.x == 2 && block.x == 3 && shared == 16 && !stream);
	CHECK_OK(cudaLaunchKernel(&count_stub, grid, block, arguments, shared, stream));
	CHECK_INT(read_int(memory), 6);
	CHECK_CUDA(__cudaPopCallConfiguration(&grid, &block, &shared, &stream),
		   cudaErrorMissingConfiguration);
	CHECK_CUDA(cudaGetLastError(), cudaErrorMissingConfiguration);
	CHECK_OK(cudaFree(memory));
}

TEST("a kernel is launched by its handle, as of CUDA 13")
{
	int *memory = zeros();
	void *arguments[] = {&memory};
	cudaKernel_t kernel = NULL, same = NULL;
	cudaLaunchConfig_t config = {.gridDim = {3, 1, 1}, .blockDim = {1, 1, 1}};

	CHECK_OK(__cudaGetKernel(&kernel, &count_stub));
	CHECK(kernel && (void *)kernel != &count_stub);
	CHECK_OK(cudaGetKernel(&same, &count_stub));
	CHECK(kernel == same);
	CHECK_OK(__cudaLaunchKernel(kernel, one, threads(5), arguments, 0, NULL));
	CHECK_OK(__cudaLaunchKernel_ptsz(kernel, one, threads(5), arguments, 0, NULL));
	CHECK_OK(cudaStreamSynchronize(cudaStreamPerThread));
	CHECK_OK(cudaLaunchKernelExC(&config, (const void *)kernel, arguments));
	CHECK_OK(cudaLaunchCooperativeKernel(&count_stub, one, one, arguments, 0, NULL));
	CHECK_INT(read_int(memory), 14);
	CHECK_OK(cudaFree(memory));
}

TEST("an invalid launch is an error that cudaGetLastError clears")
{
	int *memory = zeros();
	void *arguments[] = {&memory};
	cudaKernel_t kernel = NULL;

	CHECK_FAILS(cudaLaunchKernel(&count_stub, threads(0), one, arguments, 0, NULL),
		    cudaErrorInvalidConfiguration);
	CHECK_FAILS(cudaLaunchKernel(&count_stub, one, threads(1025), arguments, 0, NULL),
		    cudaErrorInvalidConfiguration);
	CHECK_FAILS(cudaLaunchKernel(&bounded_stub, one, threads(65), arguments, 0, NULL),
		    cudaErrorLaunchOutOfResources);
	CHECK_FAILS(cudaLaunchKernel(&count_stub, one, one, arguments, 1 << 20, NULL),
		    cudaErrorInvalidValue);
	CHECK_FAILS(cudaLaunchKernel(&unregistered_stub, one, one, arguments, 0, NULL),
		    cudaErrorInvalidDeviceFunction);
	CHECK_FAILS(cudaLaunchKernel(&missing_stub, one, one, arguments, 0, NULL),
		    cudaErrorInvalidDeviceFunction);
	CHECK_FAILS(__cudaGetKernel(&kernel, &missing_stub), cudaErrorInvalidDeviceFunction);
	CHECK(!kernel);
	CHECK_FAILS(__cudaLaunchKernel(kernel, one, one, arguments, 0, NULL),
		    cudaErrorInvalidDeviceFunction);
	CHECK_OK(cudaFree(memory));
}

TEST("an allocation of 0 bytes is NULL, and freeing it is not an error")
{
	void *memory = &memory;

	CHECK_OK(cudaMalloc(&memory, 0));
	CHECK(!memory);
	CHECK_OK(cudaFree(NULL));
	CHECK_OK(cudaFreeHost(NULL));
	CHECK_FAILS(cudaFree(&memory), cudaErrorInvalidValue);
	CHECK_FAILS(cudaMalloc(&memory, (size_t)1 << 50), cudaErrorMemoryAllocation);
	CHECK_FAILS(cudaMalloc(NULL, 4), cudaErrorInvalidValue);
}

TEST("copies follow their kind or the kinds of their pointers")
{
	int *memory = zeros(), *second = zeros();
	int value = 5, back = 0;

	CHECK_OK(cudaMemcpy(memory, &value, 4, cudaMemcpyHostToDevice));
	CHECK_OK(cudaMemcpy(second, memory, 4, cudaMemcpyDeviceToDevice));
	CHECK_OK(cudaMemcpy(&back, second, 4, cudaMemcpyDefault));
	CHECK_INT(back, 5);
	CHECK_OK(cudaMemcpy(&back, &(int){6}, 4, cudaMemcpyHostToHost));
	CHECK_INT(back, 6);
	CHECK_FAILS(cudaMemcpy(memory, &value, 4, (enum cudaMemcpyKind)5),
		    cudaErrorInvalidMemcpyDirection);
	CHECK_FAILS(cudaMemcpy(&back, &value, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	CHECK_FAILS(cudaMemcpy(memory, &value, 5000, cudaMemcpyHostToDevice),
		    cudaErrorInvalidValue);
	CHECK_FAILS(cudaMemcpy2D(memory, 3, &value, 4, 4, 1, cudaMemcpyHostToDevice),
		    cudaErrorInvalidPitchValue);
	CHECK_OK(cudaMemcpy(memory, NULL, 0, cudaMemcpyHostToDevice));
	CHECK_OK(cudaFree(memory));
	CHECK_OK(cudaFree(second));
}

TEST("copies of bytes continue in the next row of an array")
{
	struct cudaChannelFormatDesc channels =
		cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindUnsigned);
	cudaArray_t array = NULL, other = NULL;
	unsigned char from[60], to[60] = {0};

	for (int i = 0; i < 60; i++)
		from[i] = (unsigned char)(i + 1);
	CHECK_OK(cudaMallocArray(&array, &channels, 5, 3, 0));
	CHECK_OK(cudaMallocArray(&other, &channels, 3, 6, 0));
	CHECK_OK(cudaMemcpyToArray(array, 0, 0, from, 60, cudaMemcpyHostToDevice));
	CHECK_OK(cudaMemcpyFromArray(to, array, 0, 0, 60, cudaMemcpyDeviceToHost));
	CHECK(!memcmp(from, to, 60));
	CHECK_OK(cudaMemcpyFromArray(to, array, 8, 1, 20, cudaMemcpyDeviceToHost));
	CHECK(!memcmp(from + 28, to, 20));
	CHECK_OK(cudaMemcpyArrayToArray(other, 4, 0, array, 0, 0, 60, cudaMemcpyDeviceToDevice));
	CHECK_OK(cudaMemcpyFromArray(to, other, 4, 0, 60, cudaMemcpyDeviceToHost));
	CHECK(!memcmp(from, to, 60));
	CHECK_FAILS(cudaMemcpyToArray(array, 4, 0, from, 60, cudaMemcpyHostToDevice),
		    cudaErrorInvalidValue);
	CHECK_OK(cudaFreeArray(array));
	CHECK_OK(cudaFreeArray(other));
	CHECK_OK(cudaFreeArray(NULL));
}

TEST("texture and surface objects return the descriptors that they were made of")
{
	struct cudaChannelFormatDesc channels =
		cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsignedNormalized8X4);
	struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray}, read;
	struct cudaTextureDesc sampler = {.addressMode = {cudaAddressModeMirror},
					  .filterMode = cudaFilterModeLinear,
					  .readMode = cudaReadModeNormalizedFloat,
					  .normalizedCoords = 1,
					  .borderColor = {1, 2, 3, 4},
					  .maxMipmapLevelClamp = 3};
	struct cudaTextureDesc read_sampler;
	struct cudaResourceViewDesc view = {.width = 8, .height = 8}, read_view;
	struct cudaExtent extent = {8, 8, 0};
	cudaTextureObject_t texture = 0;
	cudaSurfaceObject_t surface = 0;
	cudaMipmappedArray_t mipmap = NULL;
	unsigned int flags = 0;
	cudaArray_t level = NULL;
	size_t width = 0;
	void *memory = NULL;

	CHECK_OK(cudaMallocArray(&resource.res.array.array, &channels, 8, 8,
				 cudaArraySurfaceLoadStore));
	CHECK_OK(cudaArrayGetInfo(&channels, &extent, &flags, resource.res.array.array));
	CHECK_INT(channels.f, cudaChannelFormatKindUnsignedNormalized8X4);
	CHECK_INT(flags, cudaArraySurfaceLoadStore);
	CHECK_OK(cudaCreateTextureObject(&texture, &resource, &sampler, &view));
	CHECK_OK(cudaGetTextureObjectTextureDesc(&read_sampler, texture));
	CHECK(has_same_bytes(&read_sampler, &sampler, sizeof(sampler)));
	CHECK_OK(cudaGetTextureObjectResourceDesc(&read, texture));
	CHECK(read.res.array.array == resource.res.array.array);
	CHECK_OK(cudaGetTextureObjectResourceViewDesc(&read_view, texture));
	CHECK(has_same_bytes(&read_view, &view, sizeof(view)));
	CHECK_OK(cudaCreateSurfaceObject(&surface, &resource));
	CHECK_OK(cudaGetSurfaceObjectResourceDesc(&read, surface));
	CHECK_OK(cudaDestroySurfaceObject(surface));
	CHECK_FAILS(cudaDestroySurfaceObject(surface), cudaErrorInvalidValue);
	CHECK_OK(cudaDestroyTextureObject(texture));
	CHECK_FAILS(cudaGetTextureObjectResourceDesc(&read, texture), cudaErrorInvalidValue);
	CHECK_OK(cudaFreeArray(resource.res.array.array));
	CHECK_FAILS(cudaCreateTextureObject(&texture, &resource, &sampler, NULL),
		    cudaErrorInvalidResourceHandle);
	channels = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	CHECK_OK(cudaMalloc(&memory, 1024));
	resource = (struct cudaResourceDesc){.resType = cudaResourceTypeLinear};
	resource.res.linear.devPtr = memory;
	resource.res.linear.sizeInBytes = 1024;
	CHECK_FAILS(cudaCreateTextureObject(&texture, &resource, &sampler, NULL),
		    cudaErrorInvalidChannelDescriptor);
	resource.res.linear.desc = channels;
	CHECK_OK(cudaCreateTextureObject(&texture, &resource, &sampler, NULL));
	CHECK_OK(cudaGetTextureObjectResourceDesc(&read, texture));
	CHECK(!memcmp(&read.res.linear.desc, &channels, sizeof(channels)));
	CHECK_OK(cudaFree(memory));
	CHECK_OK(cudaMallocMipmappedArray(&mipmap, &channels, extent, 2, 0));
	CHECK_OK(cudaGetMipmappedArrayLevel(&level, mipmap, 1));
	CHECK_FAILS(cudaGetMipmappedArrayLevel(&level, mipmap, 2), cudaErrorInvalidValue);
	CHECK_OK(cudaFreeMipmappedArray(mipmap));
	CHECK_OK(cudaFreeMipmappedArray(NULL));
	CHECK_OK(cudaDeviceGetTexture1DLinearMaxWidth(&width, &channels, 0));
	CHECK(width >= 1 << 27);
}

TEST("a variable of the device is reached by its address on the host")
{
	int seen[4] = {0}, more[2] = {20, 21};
	size_t size = 0;
	int *address;

	CHECK_OK(cudaMemcpyFromSymbol(seen, &table_host, 16, 0, cudaMemcpyDeviceToHost));
	CHECK_INT(seen[3], 13);
	CHECK_OK(cudaMemcpyToSymbol(&table_host, more, 8, 4, cudaMemcpyHostToDevice));
	CHECK_OK(cudaGetSymbolAddress((void **)&address, &table_host));
	CHECK_INT(read_int(address + 2), 21);
	CHECK_OK(cudaGetSymbolSize(&size, &table_host));
	CHECK_INT(size, 16);
	CHECK_FAILS(cudaMemcpyToSymbol(&table_host, more, 8, 12, cudaMemcpyHostToDevice),
		    cudaErrorInvalidValue);
	CHECK_FAILS(cudaMemcpyToSymbol(&table_host, more, 8, 0, cudaMemcpyDeviceToHost),
		    cudaErrorInvalidMemcpyDirection);
	CHECK_FAILS(cudaGetSymbolSize(&size, &unregistered_host), cudaErrorInvalidSymbol);
}

static void *fail_in_thread(void *unused)
{
	CHECK_OK(cudaGetLastError());
	CHECK_CUDA(cudaSetDevice(77), cudaErrorInvalidDevice);
	CHECK_CUDA(cudaPeekAtLastError(), cudaErrorInvalidDevice);
	return NULL;
}

TEST("each thread has its own last error")
{
	pthread_t thread;

	CHECK_CUDA(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
	CHECK(!pthread_create(&thread, NULL, fail_in_thread, NULL));
	pthread_join(thread, NULL);
	CHECK_CUDA(cudaGetLastError(), cudaErrorInvalidValue);
	CHECK_OK(cudaGetLastError());
}

TEST("an event that is not ready is not an error for cudaGetLastError")
{
	struct gate gate = {false, false};
	int *memory = zeros();
	void *arguments[] = {&memory};
	cudaEvent_t event;

	CHECK_OK(cudaEventCreate(&event));
	CHECK_OK(cudaLaunchHostFunc(NULL, pass_gate, &gate));
	CHECK_OK(cudaLaunchKernel(&count_stub, threads(64), threads(64), arguments, 0, NULL));
	CHECK_OK(cudaEventRecord(event, NULL));
	CHECK_CUDA(cudaEventQuery(event), cudaErrorNotReady);
	CHECK_OK(cudaGetLastError());
	atomic_store(&gate.open, true);
	CHECK_OK(cudaEventSynchronize(event));
	CHECK_INT(read_int(memory), 64 * 64);
	CHECK_OK(cudaEventDestroy(event));
	CHECK_OK(cudaFree(memory));
}

TEST("the device describes itself, in properties and attributes alike")
{
	struct cudaDeviceProp properties;
	int count = 0, value = 0;

	CHECK_OK(cudaGetDeviceCount(&count));
	CHECK_INT(count, 1);
	CHECK_OK(cudaGetDeviceProperties(&properties, 0));
	CHECK_STR(properties.name, "gputap software GPU");
	CHECK_INT(properties.major, 9);
	CHECK_INT(properties.warpSize, 32);
	CHECK_INT(properties.maxThreadsPerBlock, 1024);
	CHECK_INT(properties.totalGlobalMem, 64 << 20);
	CHECK_OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
	CHECK_INT(value, properties.multiProcessorCount);
	CHECK_FAILS(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)100000, 0),
		    cudaErrorInvalidValue);
	CHECK_FAILS(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
	CHECK_OK(cudaRuntimeGetVersion(&value));
	CHECK_INT(value, 13000);
}

TEST("errors have CUDA's names and texts, and other values are unrecognized")
{
	CHECK_STR(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
	CHECK_STR(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
	CHECK_STR(cudaGetErrorName((cudaError_t)12345), "unrecognized error code");
	CHECK_STR(cudaGetErrorString((cudaError_t)12345), "unrecognized error code");
}

TEST("after a fault of a kernel every call fails until the device is reset")
{
	int *memory = zeros(), *wrong = (int *)16;
	void *arguments[] = {&wrong};

	CHECK_OK(cudaLaunchKernel(&store_stub, one, one, arguments, 0, NULL));
	CHECK_CUDA(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	CHECK_CUDA(cudaGetLastError(), cudaErrorIllegalAddress);
	CHECK_CUDA(cudaGetLastError(), cudaErrorIllegalAddress);
	CHECK_CUDA(cudaMalloc((void **)&memory, 4), cudaErrorIllegalAddress);
	CHECK_CUDA(cudaLaunchKernel(&count_stub, one, one, arguments, 0, NULL),
		   cudaErrorIllegalAddress);
	CHECK_OK(cudaDeviceReset());
	CHECK_OK(cudaGetLastError());
	memory = zeros();
	arguments[0] = &memory;
	CHECK_OK(cudaLaunchKernel(&count_stub, one, one, arguments, 0, NULL));
	CHECK_INT(read_int(memory), 1);
}

TEST("the runtime returns the driver's functions by name")
{
	enum cudaDriverEntryPointQueryResult status;
	void *address = NULL;

	CHECK_OK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &address, 13000, cudaEnableDefault,
						  &status));
	CHECK(address && status == cudaDriverEntryPointSuccess);
	CHECK_OK(cudaGetDriverEntryPointByVersion("printf", &address, 13000, cudaEnableDefault,
						  &status));
	CHECK_INT(status, cudaDriverEntryPointSymbolNotFound);
}

/* Starts this program as `program`, with LD_LIBRARY_PATH=`folder`; its status as of waitpid(). */
static int run_without_driver(const char *program, const char *folder)
{
	int status = -1;
	pid_t child;

	CHECK(!linkat(AT_FDCWD, "/proc/self/exe", AT_FDCWD, program, AT_SYMLINK_FOLLOW));
	child = fork();
	if (!child) {
		setenv("LD_LIBRARY_PATH", folder, 1);
		execl(program, program, "without-driver", NULL);
		_exit(99);
	}
	CHECK(waitpid(child, &status, 0) == child);
	unlink(program);
	return status;
}

/*
 * This program again, where the loader finds no driver: under a path at which its RUNPATH does not
 * lead to the one of the build, since dlopen as AddressSanitizer replaces it searches there, too.
 */
TEST("without a driver every call fails, and the version is 0")
{
	const char *folder = getenv("NO_DRIVER_PATH");
	char directory[4096], program[4200];
	int status;

	if (!folder)
		SKIP("NO_DRIVER_PATH names no folder that has the runtime library alone");
	snprintf(directory, sizeof(directory), "%s/alone-XXXXXX", folder);
	CHECK(mkdtemp(directory) != NULL);
	snprintf(program, sizeof(program), "%s/runtime", directory);
	status = run_without_driver(program, folder);
	rmdir(directory);
	if (status == 77 << 8)
		SKIP("the loader finds a libcuda.so.1 that is installed on this machine");
	CHECK_INT(status, 0);
}

static int without_driver(void)
{
	int count = 5, version = 5;
	void *memory;

	if (cudaDriverGetVersion(&version) == cudaSuccess && version)
		return 77;
	CHECK_INT(version, 0);
	CHECK_FAILS(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
	CHECK_INT(count, 0);
	CHECK_FAILS(cudaMalloc(&memory, 4), cudaErrorInsufficientDriver);
	CHECK_FAILS(cudaFree(NULL), cudaErrorInsufficientDriver);
	return tap_failed;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "without-driver"))
		return without_driver();
	return tap_main(argv);
}
