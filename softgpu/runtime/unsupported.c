/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of the runtime API that this device does not support. They exist because programs
 * link against them and tracers attach to them by name. Their arguments do not matter, so this file
 * includes neither the API's header nor its prototypes.
 */

#ifdef SG_STATIC
#define SG_API __attribute__((visibility("hidden")))
#else
#define SG_API __attribute__((visibility("default")))
#endif

/*
 * Report a call, where the environment requests it, and remember the error for cudaGetLastError;
 * defined in state.c, with the API's types. cudaErrorNotSupported.
 */
int sg_finish_unsupported(const char *function);

#define SG_UNSUPPORTED(symbol)                                                                     \
	SG_API int symbol(void);                                                                   \
	SG_API int symbol(void)                                                                    \
	{                                                                                          \
		return sg_finish_unsupported(#symbol);                                             \
	}
#include "runtime/unsupported.def"
