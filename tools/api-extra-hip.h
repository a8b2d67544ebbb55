/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Declarations that tools/gen-api reads after HIP's headers. First what the code that hipcc
 * generates calls. Source: HIP's documentation of its ABI (clr, hip_platform.cpp describes the same
 * names); those of 5.2 are exported by libamdhip64.so.5.
 */
void **__hipRegisterFatBinary(const void *data);
void __hipUnregisterFatBinary(void **modules);
void __hipRegisterFunction(void **modules, const void *hostFunction, char *deviceFunction,
			   const char *deviceName, unsigned int threadLimit, void *tid, void *bid,
			   dim3 *blockDim, dim3 *gridDim, int *wSize);
void __hipRegisterVar(void **modules, void *var, char *hostVar, const char *deviceVar, int ext,
		      size_t size, int constant, int global);
void __hipRegisterManagedVar(void *hipModule, void **pointer, void *init_value, const char *name,
			     size_t size, unsigned int align);
void __hipRegisterTexture(void **modules, void *var, const char *hostVar, const char *deviceVar,
			  int type, int norm, int ext);
void __hipRegisterSurface(void **modules, void *var, const char *hostVar, const char *deviceVar,
			  int type, int ext);
hipError_t __hipPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
				      hipStream_t stream);
hipError_t __hipPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
				     hipStream_t *stream);

/* Of C++ alone: hip_ext.h, whose templates only hipcc compiles. The sizes are in threads. */
hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t globalWorkSizeX,
				    uint32_t globalWorkSizeY, uint32_t globalWorkSizeZ,
				    uint32_t localWorkSizeX, uint32_t localWorkSizeY,
				    uint32_t localWorkSizeZ, size_t sharedMemBytes,
				    hipStream_t hStream, void **kernelParams, void **extra,
				    hipEvent_t startEvent, hipEvent_t stopEvent, uint32_t flags);
hipError_t hipHccModuleLaunchKernel(hipFunction_t f, uint32_t globalWorkSizeX,
				    uint32_t globalWorkSizeY, uint32_t globalWorkSizeZ,
				    uint32_t localWorkSizeX, uint32_t localWorkSizeY,
				    uint32_t localWorkSizeZ, size_t sharedMemBytes,
				    hipStream_t hStream, void **kernelParams, void **extra,
				    hipEvent_t startEvent, hipEvent_t stopEvent);
