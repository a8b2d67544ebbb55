/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The attributes that limit arrays and textures, as constants. */
#pragma once

/* Only attributes that are constants have a use here. */
#define SG_ORDINAL 0
#define SG_ARCH 0
#define SG_MULTIPROCESSORS 0
#define SG_CLOCK_KHZ 0
#define SG_BLOCK_REGISTERS 0
#define SG_ATTRIBUTE(number, driver, runtime, value) LIMIT_##driver = (value),
enum sg_device_limit {
#include "softgpu/attributes.def"
};
#undef SG_ORDINAL
#undef SG_ARCH
#undef SG_MULTIPROCESSORS
#undef SG_CLOCK_KHZ
#undef SG_BLOCK_REGISTERS
