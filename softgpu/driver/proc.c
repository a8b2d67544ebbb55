/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions by name. */
#include <string.h>

#include "driver/api.h"

/*
 * A version of a function: `symbol` is `name` from CUDA version `since` on, and if `per_thread`,
 * the per-thread-stream variant.
 */
struct function_version {
	const char *name;
	int since; /* 12030 for CUDA 12.3 */
	bool per_thread;
	const char *symbol;
	void *address;
};

/* The types of the functions do not matter here: only their addresses are used. */
#define SG_FUNCTION(name, since, symbol) extern const char address_of_##symbol __asm__(#symbol);
#define SG_PER_THREAD(name, since, symbol) SG_FUNCTION(name, since, symbol)
#define SG_UNSUPPORTED(name, since, symbol) SG_FUNCTION(name, since, symbol)
#define SG_UNSUPPORTED_PER_THREAD(name, since, symbol) SG_FUNCTION(name, since, symbol)
#include "driver/functions.def"

static const struct function_version functions[] = {
#define SG_FUNCTION(name, since, symbol)                                                           \
	{#name, since, false, #symbol, (void *)&address_of_##symbol},
#define SG_PER_THREAD(name, since, symbol)                                                         \
	{#name, since, true, #symbol, (void *)&address_of_##symbol},
#define SG_UNSUPPORTED(name, since, symbol) SG_FUNCTION(name, since, symbol)
#define SG_UNSUPPORTED_PER_THREAD(name, since, symbol) SG_PER_THREAD(name, since, symbol)
#include "driver/functions.def"
};

/* The function returned for any other name of the driver API. */
static CUresult not_supported(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

/*
 * Find the newest function with that name up to a version; ret_too_old: there are only newer ones.
 */
static const struct function_version *find_version(const char *name, int version, bool per_thread,
						   bool *ret_too_old)
{
	const struct function_version *best = NULL;

	for (size_t i = 0; i < gt_countof(functions); i++) {
		const struct function_version *function = &functions[i];

		if (strcmp(function->name, name) || (function->per_thread && !per_thread))
			continue;
		if (function->since > version) {
			*ret_too_old = true;
			continue;
		}
		if (!best || function->per_thread > best->per_thread ||
		    (function->per_thread == best->per_thread && function->since > best->since))
			best = function;
	}
	return best;
}

static const struct function_version *find_symbol(const char *symbol)
{
	for (size_t i = 0; i < gt_countof(functions); i++) {
		if (!strcmp(functions[i].symbol, symbol))
			return &functions[i];
	}
	return NULL;
}

static CUresult get_address(const char *name, void **address, int version, cuuint64_t flags,
			    CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult unused;
	const struct function_version *found;
	bool too_old = false;

	if (!status)
		status = &unused;
	if (!name || !address || flags & ~(cuuint64_t)3)
		return CUDA_ERROR_INVALID_VALUE;
	*address = NULL;
	*status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	found = find_version(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
			     &too_old);
	if (!found && too_old) {
		*status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		return CUDA_ERROR_NOT_FOUND;
	}
	if (!found)
		found = find_symbol(name);
	if (!found && strncmp(name, "cu", 2))
		return CUDA_ERROR_NOT_FOUND;
	*address = found ? found->address : (void *)not_supported;
	*status = CU_GET_PROC_ADDRESS_SUCCESS;
	return CUDA_SUCCESS;
}

SG_API CUresult cuGetProcAddress_v2(const char *name, void **address, int version, cuuint64_t flags,
				    CUdriverProcAddressQueryResult *status)
{
	return get_address(name, address, version, flags, status);
}

SG_API CUresult cuGetProcAddress(const char *name, void **address, int version, cuuint64_t flags);
SG_API CUresult cuGetProcAddress(const char *name, void **address, int version, cuuint64_t flags)
{
	return get_address(name, address, version, flags, NULL);
}

SG_API CUresult cuGetExportTable(const void **table, const CUuuid *id);
SG_API CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	/* There are no functions outside of the public API. */
	return CUDA_ERROR_NOT_FOUND;
}

SG_API CUresult cuProfilerStart(void);
SG_API CUresult cuProfilerStart(void)
{
	return sg_check();
}

SG_API CUresult cuProfilerStop(void);
SG_API CUresult cuProfilerStop(void)
{
	return sg_check();
}
