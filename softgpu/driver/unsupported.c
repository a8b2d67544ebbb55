/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of the driver API that this device does not support. They exist because programs
 * link against them and tracers attach to them by name. Their arguments do not matter, so this file
 * includes neither cuda.h nor its prototypes.
 */

/* Report a call, where the configuration requests it; CUDA_ERROR_NOT_SUPPORTED. */
int sg_unsupported(const char *function);

#define SG_UNSUPPORTED(name, since, symbol)                                                        \
	__attribute__((visibility("default"))) int symbol(void);                                   \
	__attribute__((visibility("default"))) int symbol(void)                                    \
	{                                                                                          \
		return sg_unsupported(#symbol);                                                    \
	}
#define SG_UNSUPPORTED_PER_THREAD(name, since, symbol) SG_UNSUPPORTED(name, since, symbol)
#include "driver/functions.def"
