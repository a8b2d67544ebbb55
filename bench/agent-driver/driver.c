/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A driver that loads modules without a look at them: what the agent costs is all there is. */
typedef int driver_result;

driver_result cuInit(unsigned flags);
driver_result cuCtxGetCurrent(void **context);
driver_result cuDeviceGetAttribute(int *value, int attribute, int device);
driver_result cuMemHostRegister_v2(void *memory, unsigned long size, unsigned flags);
driver_result cuMemHostGetDevicePointer_v2(void **address, void *memory, unsigned flags);
driver_result cuModuleLoadData(void **module, const void *image);

driver_result cuInit(unsigned flags)
{
	return 0;
}

driver_result cuCtxGetCurrent(void **context)
{
	*context = context;
	return 0;
}

/* Compute capability 9.0. */
driver_result cuDeviceGetAttribute(int *value, int attribute, int device)
{
	*value = attribute == 75 ? 9 : 0;
	return 0;
}

driver_result cuMemHostRegister_v2(void *memory, unsigned long size, unsigned flags)
{
	return 0;
}

driver_result cuMemHostGetDevicePointer_v2(void **address, void *memory, unsigned flags)
{
	*address = memory;
	return 0;
}

driver_result cuModuleLoadData(void **module, const void *image)
{
	*module = module;
	return 0;
}
