/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as what an agent sends of an OpenCL program, which is compiled where no compiler is
 * installed: build options, headers and sources up to the start of the compiler.
 */
#include <errno.h>
#include <stdlib.h>

#include "run/inject_units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_inject_units units;
	gt_auto_strbuf module = GT_STRBUF_INIT, log = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	setenv("PATH", "/nonexistent", 1);
	if (!gt_inject_units_read(data, size, &units) && !units.has_binary) {
		const struct gt_cl_compilation compilation = {
			.sources = units.sources.items,
			.count = units.sources.count,
			.device_options = units.device_options,
			.fuses = size % 2,
			.directory = -1,
		};

		if (!gt_cl_compile(&compilation, &module, &log, &diag) || !*diag.text)
			abort();
	}
	gt_inject_units_clear(&units);
	return 0;
}
