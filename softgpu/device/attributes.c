/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/device.h"

#define SG_ORDINAL ((int)ordinal)
#define SG_ARCH ((int)sg_state.config.arch)
#define SG_MULTIPROCESSORS ((int)sg_state.config.multiprocessors)
#define SG_BLOCK_REGISTERS ((int)(sg_state.config.registers ? sg_state.config.registers : 65536))
#define SG_CLOCK_KHZ 1000000

CUresult sg_device_attribute(CUdevice ordinal, int attribute, int *ret_value)
{
	switch (attribute) {
#define SG_ATTRIBUTE(number, driver, runtime, value)                                               \
	case number:                                                                               \
		*ret_value = value;                                                                \
		return CUDA_SUCCESS;
#define SG_DRIVER_ATTRIBUTE(number, driver, value)                                                 \
	case number:                                                                               \
		*ret_value = value;                                                                \
		return CUDA_SUCCESS;
#include "softgpu/attributes.def"
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}
