/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as a cubin, and as an image of any kind with kernels whose arguments are shown. */
#include <stdlib.h>
#include <string.h>

#include "api/kernels/arguments.h"
#include "api/kernels/parameters.h"
#include "fatbin/cubin.h"
#include "fatbin/cubin_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const struct gt_parameters *parameters, const char *name)
{
	const struct gt_launch_arguments arguments = {.words = {1, 2, 3}, .valid = 0xfff};
	const struct gt_kernel *kernel = gt_parameters_find(parameters, name);
	gt_auto_strbuf text = GT_STRBUF_INIT, other = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&other);

	gt_kernel_format_arguments(&text, name, kernel, &arguments);
	gt_kernel_json_arguments(&json, NULL, name, kernel, &arguments);
	if (kernel)
		gt_kernel_usage_on(kernel, 75);
}

static int read_name(void *context, const struct gt_cubin_symbol *symbol)
{
	*(size_t *)context += symbol->name ? strlen(symbol->name) : 0;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto(parameters) struct gt_parameters *parameters = gt_parameters_new();
	gt_auto_cubin cubin = {0};
	size_t added = 0, length = 0;

	if (!parameters)
		return 0;
	if (!gt_cubin_read(data, size, &cubin, NULL))
		for (size_t i = 0; i < cubin.count; i++)
			for (size_t at = 0; at < cubin.kernels[i].parameter_count; at++)
				if (!cubin.kernels[i].parameters[at].size)
					abort();
	gt_cubin_each_symbol(data, size, read_name, &length, NULL);
	if (!gt_parameters_add_image(parameters, data, size, &added, NULL) &&
	    added != gt_parameters_count(parameters))
		abort();
	for (size_t i = 0; i < cubin.count; i++)
		show(parameters, cubin.kernels[i].name);
	show(parameters, "k");
	return 0;
}
