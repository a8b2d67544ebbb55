/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Any bytes as what an agent sends of an OpenCL program. */
#include <stdlib.h>

#include "run/inject_units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read each byte; the empty statement keeps the compiler from leaving that out. */
static void read_bytes(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	unsigned sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += at[i];
	__asm__ volatile("" : : "r"(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_inject_units units;
	int error = gt_inject_units_read(data, size, &units);

	gt_vec_each (source, &units.sources) {
		if (error)
			break;
		read_bytes(source->bytes, source->size);
		read_bytes(source->options, 1);
		for (size_t i = 0; i < source->header_count; i++) {
			read_bytes(source->headers[i].name, source->headers[i].length);
			read_bytes(source->headers[i].text, source->headers[i].size);
		}
	}
	if (!error && !units.sources.count && !units.has_binary)
		abort();
	gt_inject_units_clear(&units);
	return 0;
}
