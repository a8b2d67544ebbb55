/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Texts of PTX modules for tests of the parser. */
#pragma once

#include "base/strbuf.h"

#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"

/* A kernel with registers of each kind around statements. */
#define KERNEL(statements)                                                                         \
	HEAD ".global .u32 data[4];\n.visible .entry k(.param .u64 a)\n{\n"                        \
	     ".reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<4>; .reg .v2 .f32 v;\n" statements \
	     "\nret;\n}\n"

/* Returns before, count times middle, after; the caller frees it. */
static inline char *repeat(const char *before, const char *middle, size_t count, const char *after)
{
	struct gt_strbuf buffer = GT_STRBUF_INIT;

	gt_strbuf_puts(&buffer, before);
	for (size_t i = 0; i < count; i++)
		gt_strbuf_puts(&buffer, middle);
	gt_strbuf_puts(&buffer, after);
	return gt_strbuf_steal(&buffer);
}
