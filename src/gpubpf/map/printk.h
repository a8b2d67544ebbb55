/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The output of programs: trace_printk and puts write format and arguments into the output ring,
 * and the host formats them. The interpreter uses the same function.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

enum {
	GT_PRINT_ARGUMENTS = 3,
};

/* A record of the output ring. The format follows, up to its first NUL. */
struct gt_print_record {
	uint32_t format_size; /* bytes, including the NUL */
	uint32_t reserved;
	uint64_t arguments[GT_PRINT_ARGUMENTS];
};

/*
 * Append a formatted text. Conversions are those of the kernel's trace_printk: %d %i %u %x %X %c
 * with flags, width, l and ll; %p (16 hex digits); %%. Others, and a fourth argument, are copied
 * unchanged: there is no %s, since the host cannot read addresses of a device.
 */
void gt_print_format(struct gt_strbuf *text, const char *format, size_t size,
		     const uint64_t *arguments);

/* End the current line unless it has ended: as in Linux, each call prints its own line. */
void gt_print_line_end(struct gt_strbuf *text);

/* Append a record of the output ring as a line. 0; -EBADMSG: malformed. */
int gt_print_record(struct gt_strbuf *text, const void *record, size_t size);
