/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a SPIR-V module has (SPIR-V specification, 2.3: five words, then instructions). */
#pragma once

#include "base/strbuf.h"

static inline unsigned count_spirv_instructions(const struct gt_strbuf *module, unsigned opcode)
{
	enum { HEADER = 5 };
	const uint32_t *words = (const uint32_t *)module->data;
	size_t count = module->length / sizeof(*words);
	unsigned found = 0;

	for (size_t i = HEADER; i < count && words[i] >> 16; i += words[i] >> 16)
		found += (words[i] & 0xffff) == opcode;
	return found;
}
