/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Modules: code on a device. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/private.h"

enum {
	LOG_SIZE = 16384,
	/* Values of CUjit_option. */
	JIT_ERROR_LOG = 5,
	JIT_ERROR_LOG_SIZE = 6,
};

struct gt_module {
	struct gt_device *device;
	void *handle;
};

/* Report the driver's error with the first line of its compiler's log. */
static int report_load_error(const struct gt_driver *driver, int result, const char *log,
			     struct gt_diag *diag)
{
	struct gt_diag reason = {0};
	size_t length = strcspn(log, "\n");
	int error = gt_driver_check(driver, result, "cuModuleLoadDataEx", &reason);

	return gt_diag(diag, error, reason.stage, reason.place, "%s%s%.*s", reason.text,
		       length ? "; " : "", (int)length, log);
}

int gt_module_load(struct gt_device *device, const char *text, struct gt_module **ret_module,
		   struct gt_strbuf *ret_log, struct gt_diag *diag)
{
	const struct gt_driver *driver = device->driver;
	gt_auto(module) struct gt_module *module = calloc(1, sizeof(*module));
	gt_autofree char *log = calloc(1, LOG_SIZE);
	int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE}, result;
	void *values[] = {log, (void *)(uintptr_t)(LOG_SIZE - 1)};

	if (!module || !log)
		return gt_diag(diag, -ENOMEM, "device", NULL, "out of memory");
	module->device = device;
	result = driver->call.module_load(&module->handle, text, gt_countof(options), options,
					  values);
	if (result) {
		module->handle = NULL;
		if (ret_log)
			gt_strbuf_puts(ret_log, log);
		return report_load_error(driver, result, log, diag);
	}
	*ret_module = gt_take(module);
	return 0;
}

void gt_module_free(struct gt_module *module)
{
	if (module && module->handle && !module->device->abandoned)
		module->device->driver->call.module_unload(module->handle);
	free(module);
}

int gt_module_symbol(struct gt_module *module, const char *name, uint64_t *ret_address,
		     size_t *ret_size, struct gt_diag *diag)
{
	const struct gt_driver *driver = module->device->driver;
	uint64_t address = 0;
	size_t size = 0;
	int result = driver->call.module_symbol(&address, &size, module->handle, name);

	if (result == GT_CUDA_ERROR_NOT_FOUND)
		return gt_diag(diag, -ENOENT, "device", name, "the module has no such variable");
	if (result)
		return gt_driver_check(driver, result, "cuModuleGetGlobal", diag);
	*ret_address = address;
	*ret_size = size;
	return 0;
}

int gt_module_launch(struct gt_module *module, const struct gt_launch *launch, struct gt_diag *diag)
{
	const struct gt_driver *driver = module->device->driver;
	const uint32_t *grid = launch->grid, *block = launch->block;
	void *function = NULL;
	int result = driver->call.module_function(&function, module->handle, launch->kernel);

	if (result == GT_CUDA_ERROR_NOT_FOUND)
		return gt_diag(diag, -ENOENT, "device", launch->kernel,
			       "the module has no such kernel");
	if (result)
		return gt_driver_check(driver, result, "cuModuleGetFunction", diag);
	return gt_driver_check(driver,
			       driver->call.launch(function, grid[0], grid[1], grid[2], block[0],
						   block[1], block[2], 0, NULL, launch->arguments,
						   NULL),
			       "cuLaunchKernel", diag);
}
