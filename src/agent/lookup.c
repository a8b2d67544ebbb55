/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/lookup.h"

#include <stdatomic.h>
#include <string.h>

typedef void *dlsym_function(void *handle, const char *name);

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name);

static dlsym_function *real_dlsym(void)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
	static _Atomic(dlsym_function *) found;
	dlsym_function *function = atomic_load_explicit(&found, memory_order_relaxed);

	for (size_t i = 0; !function && i < sizeof(versions) / sizeof(versions[0]); i++)
		function = (dlsym_function *)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	atomic_store_explicit(&found, function, memory_order_relaxed);
	return function;
}

void *gt_agent_real_dlsym(void *handle, const char *name)
{
	return real_dlsym()(handle, name);
}

bool gt_agent_is_own(const void *function)
{
	Dl_info info, self;

	return dladdr(function, &info) && dladdr((void *)gt_agent_is_own, &self) &&
	       info.dli_fbase == self.dli_fbase;
}

/* The row of a name, or NULL. */
static const struct gt_agent_hooked *find_hooked(const void *handle, const char *name)
{
	for (const struct gt_agent_hooked *row = gt_agent_hooked; row->prefix; row++)
		if (!strncmp(name, row->prefix, strlen(row->prefix)) &&
		    (!row->is_hooked || row->is_hooked(handle, name)))
			return row;
	return NULL;
}

/*
 * All other calls leave by a jump (-O2), not by a call: the loader uses the return address to find
 * out what RTLD_NEXT and RTLD_DEFAULT mean.
 */
void *dlsym(void *handle, const char *name)
{
	const struct gt_agent_hooked *hooked = find_hooked(handle, name);

	if (hooked)
		return hooked->find(handle, name, __builtin_return_address(0));
	return real_dlsym()(handle, name);
}
