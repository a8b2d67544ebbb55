/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Launches, functions, occupancy. */
#include <string.h>

#include "base/launch_limits.h"
#include "runtime/runtime.h"

/* ---- the configuration in <<< >>> ------------------------------------------------------ */

SG_API unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
	struct sg_configuration configuration = {grid, block, shared, stream};

	/* If it is not 0, the compiled program skips the launch. */
	return gt_vec_push(&sg_self()->configurations, configuration) ? 1 : 0;
}

SG_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	struct sg_runtime_thread *self = sg_self();
	struct sg_configuration configuration;

	if (!self->configurations.count)
		return sg_finish(cudaErrorMissingConfiguration);
	configuration = self->configurations.items[--self->configurations.count];
	*grid = configuration.grid;
	*block = configuration.block;
	*shared = configuration.shared;
	memcpy(stream, &configuration.stream, sizeof(configuration.stream));
	return cudaSuccess;
}

/* ---- launches -------------------------------------------------------------------------- */

cudaError_t sg_check_shape(dim3 grid, dim3 block)
{
	if (gt_launch_grid_is_valid((uint32_t[]){grid.x, grid.y, grid.z}) &&
	    gt_launch_block_is_valid((uint32_t[]){block.x, block.y, block.z}))
		return cudaSuccess;
	return cudaErrorInvalidConfiguration;
}

static cudaError_t begin_launch(const void *stub, dim3 grid, dim3 block, size_t shared,
				CUfunction *ret_function)
{
	cudaError_t error = sg_enter();

	if (!error)
		error = sg_find_kernel(stub, ret_function);
	if (!error)
		error = sg_check_shape(grid, block);
	if (!error && shared > UINT32_MAX)
		error = cudaErrorInvalidValue;
	return error;
}

static cudaError_t launch_kernel(const void *stub, dim3 grid, dim3 block, void **arguments,
				 size_t shared, CUstream stream)
{
	CUfunction function;
	cudaError_t error = begin_launch(stub, grid, block, shared, &function);

	if (!error)
		error = sg_error(sg_driver.cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x,
							  block.y, block.z, (unsigned int)shared,
							  stream, arguments, NULL));
	return sg_finish(error);
}

static cudaError_t launch_cooperative(const void *stub, dim3 grid, dim3 block, void **arguments,
				      size_t shared, CUstream stream)
{
	CUfunction function;
	cudaError_t error = begin_launch(stub, grid, block, shared, &function);

	if (!error)
		error = sg_error(sg_driver.cuLaunchCooperativeKernel(
			function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
			(unsigned int)shared, stream, arguments));
	return sg_finish(error);
}

SG_STREAM_VARIANTS(cudaLaunchKernel, cudaLaunchKernel_ptsz,
		   (const void *stub, dim3 grid, dim3 block, void **arguments, size_t shared,
		    cudaStream_t stream),
		   launch_kernel(stub, grid, block, arguments, shared, ZERO(stream)))
SG_STREAM_VARIANTS(cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_ptsz,
		   (const void *stub, dim3 grid, dim3 block, void **arguments, size_t shared,
		    cudaStream_t stream),
		   launch_cooperative(stub, grid, block, arguments, shared, ZERO(stream)))

static cudaError_t launch_config(const cudaLaunchConfig_t *config, const void *stub,
				 void **arguments, CUstream zero)
{
	CUlaunchConfig converted = {0};
	CUfunction function;
	cudaError_t error;

	_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute),
		       "attributes are the same bytes");
	if (!config)
		return sg_finish(cudaErrorInvalidValue);
	error = begin_launch(stub, config->gridDim, config->blockDim, config->dynamicSmemBytes,
			     &function);
	if (error)
		return sg_finish(error);
	converted.gridDimX = config->gridDim.x;
	converted.gridDimY = config->gridDim.y;
	converted.gridDimZ = config->gridDim.z;
	converted.blockDimX = config->blockDim.x;
	converted.blockDimY = config->blockDim.y;
	converted.blockDimZ = config->blockDim.z;
	converted.sharedMemBytes = (unsigned int)config->dynamicSmemBytes;
	converted.hStream = config->stream ? config->stream : zero;
	converted.attrs = (CUlaunchAttribute *)config->attrs;
	converted.numAttrs = config->numAttrs;
	return sg_finish(
		sg_error(sg_driver.cuLaunchKernelEx(&converted, function, arguments, NULL)));
}

SG_STREAM_VARIANTS(cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz,
		   (const cudaLaunchConfig_t *config, const void *stub, void **arguments),
		   launch_config(config, stub, arguments, (CUstream)zero))

/*
 * In NVIDIA's library these two jump to cudaLaunchKernel, so that tracers of both count a launch
 * twice. To reproduce that, they jump here as well, after pushing the frame pointer (as every
 * function of this library does) and popping it again. As in NVIDIA's library, .eh_frame describes
 * the caller at each of these instructions.
 */
#if defined(__x86_64__)
#define JUMP(name, target)                                                                         \
	__asm__(".text\n"                                                                          \
		".p2align 4\n"                                                                     \
		".globl " #name "\n" VISIBILITY(name) ".type " #name ", @function\n" #name ":\n"   \
						      ".cfi_startproc\n"                           \
						      "	push %rbp\n"                               \
						      ".cfi_def_cfa_offset 16\n"                   \
						      ".cfi_offset %rbp, -16\n"                    \
						      "	mov %rsp, %rbp\n"                          \
						      "	pop %rbp\n"                                \
						      ".cfi_def_cfa_offset 8\n"                    \
						      ".cfi_restore %rbp\n"                        \
						      "	jmp " TARGET(target) "\n"                  \
									     ".cfi_endproc\n"      \
									     ".size " #name        \
									     ", . - " #name "\n");
#ifdef SG_STATIC
#define VISIBILITY(name) ".hidden " #name "\n"
#define TARGET(name) #name
#else
#define VISIBILITY(name) ""
#define TARGET(name) #name "@PLT"
#endif
JUMP(__cudaLaunchKernel, cudaLaunchKernel)
JUMP(__cudaLaunchKernel_ptsz, cudaLaunchKernel_ptsz)
#else
SG_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
				      size_t shared, cudaStream_t stream)
{
	return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

SG_API cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
					   void **arguments, size_t shared, cudaStream_t stream)
{
	return cudaLaunchKernel_ptsz(kernel, grid, block, arguments, shared, stream);
}
#endif

/* ---- functions ------------------------------------------------------------------------- */

/* The checks at the start of functions that take a kernel. */
static cudaError_t use_kernel(const void *stub, CUfunction *ret_function)
{
	cudaError_t error = sg_enter();

	return error ? error : sg_find_kernel(stub, ret_function);
}

static int function_attribute(CUfunction function, CUfunction_attribute attribute)
{
	int value = 0;

	sg_driver.cuFuncGetAttribute(&value, attribute, function);
	return value;
}

SG_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *stub)
{
	CUfunction function;
	cudaError_t error = use_kernel(stub, &function);
	int unused;

	if (!error && !attributes)
		error = cudaErrorInvalidValue;
	if (!error)
		error = sg_error(sg_driver.cuFuncGetAttribute(&unused, CU_FUNC_ATTRIBUTE_NUM_REGS,
							      function));
	if (error)
		return sg_finish(error);
#define ATTRIBUTE(name) function_attribute(function, CU_FUNC_ATTRIBUTE_##name)
	*attributes = (struct cudaFuncAttributes){
		.sharedSizeBytes = (size_t)ATTRIBUTE(SHARED_SIZE_BYTES),
		.constSizeBytes = (size_t)ATTRIBUTE(CONST_SIZE_BYTES),
		.localSizeBytes = (size_t)ATTRIBUTE(LOCAL_SIZE_BYTES),
		.maxThreadsPerBlock = ATTRIBUTE(MAX_THREADS_PER_BLOCK),
		.numRegs = ATTRIBUTE(NUM_REGS),
		.ptxVersion = ATTRIBUTE(PTX_VERSION),
		.binaryVersion = ATTRIBUTE(BINARY_VERSION),
		.cacheModeCA = ATTRIBUTE(CACHE_MODE_CA),
		.maxDynamicSharedSizeBytes = ATTRIBUTE(MAX_DYNAMIC_SHARED_SIZE_BYTES),
		.preferredShmemCarveout = ATTRIBUTE(PREFERRED_SHARED_MEMORY_CARVEOUT),
		.clusterDimMustBeSet = ATTRIBUTE(CLUSTER_SIZE_MUST_BE_SET),
		.requiredClusterWidth = ATTRIBUTE(REQUIRED_CLUSTER_WIDTH),
		.requiredClusterHeight = ATTRIBUTE(REQUIRED_CLUSTER_HEIGHT),
		.requiredClusterDepth = ATTRIBUTE(REQUIRED_CLUSTER_DEPTH),
	};
	return cudaSuccess;
}

SG_API cudaError_t cudaFuncSetAttribute(const void *stub, enum cudaFuncAttribute attribute,
					int value)
{
	CUfunction function;
	cudaError_t error = use_kernel(stub, &function);

	if (!error)
		error = sg_error(sg_driver.cuFuncSetAttribute(
			function, (CUfunction_attribute)attribute, value));
	return sg_finish(error);
}

SG_API cudaError_t cudaFuncSetCacheConfig(const void *stub, enum cudaFuncCache config)
{
	CUfunction function;
	cudaError_t error = use_kernel(stub, &function);

	if (!error)
		error = sg_error(sg_driver.cuFuncSetCacheConfig(function, (CUfunc_cache)config));
	return sg_finish(error);
}

SG_API cudaError_t cudaFuncSetSharedMemConfig(const void *stub, enum cudaSharedMemConfig config)
{
	CUfunction function;

	return sg_finish(use_kernel(stub, &function));
}

SG_API cudaError_t cudaFuncGetName(const char **name, const void *stub)
{
	CUfunction function;
	cudaError_t error = use_kernel(stub, &function);

	if (!error)
		error = sg_error(sg_driver.cuFuncGetName(name, function));
	return sg_finish(error);
}

SG_API cudaError_t cudaFuncGetParamInfo(const void *stub, size_t index, size_t *offset,
					size_t *size)
{
	CUfunction function;
	cudaError_t error = use_kernel(stub, &function);

	if (!error)
		error = sg_error(sg_driver.cuFuncGetParamInfo(function, index, offset, size));
	return sg_finish(error);
}

SG_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *stub)
{
	CUfunction found;
	cudaError_t error = use_kernel(stub, &found);

	if (!error && !function)
		error = cudaErrorInvalidValue;
	if (!error)
		*function = found;
	return sg_finish(error);
}

SG_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
						   enum cudaFuncAttribute attribute, int value,
						   int device)
{
	return SG_CALL(cuKernelSetAttribute, (CUfunction_attribute)attribute, value, kernel,
		       device);
}

/* ---- occupancy ------------------------------------------------------------------------- */

SG_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *stub,
								 int threads, size_t shared)
{
	CUfunction function;
	cudaError_t error = use_kernel(stub, &function);

	if (!error)
		error = sg_error(sg_driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
			blocks, function, threads, shared));
	return sg_finish(error);
}

SG_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, const void *stub, int threads, size_t shared, unsigned int flags)
{
	CUfunction function;
	cudaError_t error = use_kernel(stub, &function);

	if (!error)
		error = sg_error(sg_driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
			blocks, function, threads, shared, flags));
	return sg_finish(error);
}

SG_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *size, const void *stub,
							     int blocks, int threads)
{
	CUfunction function;
	cudaError_t error = use_kernel(stub, &function);

	if (!error)
		error = sg_error(sg_driver.cuOccupancyAvailableDynamicSMemPerBlock(
			size, function, blocks, threads));
	return sg_finish(error);
}

/* A kernel and the configuration of a launch, in the driver's types. */
static cudaError_t use_launch(const void *stub, const cudaLaunchConfig_t *config,
			      CUfunction *ret_function, CUlaunchConfig *ret_config)
{
	cudaError_t error = config ? use_kernel(stub, ret_function) : cudaErrorInvalidValue;

	if (error)
		return error;
	*ret_config = (CUlaunchConfig){
		.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned int)config->dynamicSmemBytes,
		.attrs = (CUlaunchAttribute *)config->attrs,
		.numAttrs = config->numAttrs,
	};
	return cudaSuccess;
}

SG_API cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *stub,
							const cudaLaunchConfig_t *config)
{
	CUlaunchConfig launch;
	CUfunction function;
	cudaError_t error = use_launch(stub, config, &function, &launch);

	if (!error)
		error = sg_error(
			sg_driver.cuOccupancyMaxPotentialClusterSize(size, function, &launch));
	return sg_finish(error);
}

SG_API cudaError_t cudaOccupancyMaxActiveClusters(int *count, const void *stub,
						  const cudaLaunchConfig_t *config)
{
	CUlaunchConfig launch;
	CUfunction function;
	cudaError_t error = use_launch(stub, config, &function, &launch);

	if (!error)
		error = sg_error(sg_driver.cuOccupancyMaxActiveClusters(count, function, &launch));
	return sg_finish(error);
}
