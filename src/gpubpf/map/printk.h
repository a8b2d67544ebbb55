/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What programs print: trace_printk and puts write their format and arguments into the output ring,
 * as they are, and the host makes the text. The interpreter makes it by the same function.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

enum {
	GT_PRINT_ARGUMENTS = 3,
};

/* A record of the output ring. The format follows; it ends with its first NUL. */
struct gt_print_record {
	uint32_t format_size; /* bytes, a NUL counted */
	uint32_t reserved;
	uint64_t arguments[GT_PRINT_ARGUMENTS];
};

/*
 * Adds the text of a format. Known are, as in the kernel's trace_printk, %d %i %u %x %X %c with
 * flags, width, l and ll, %p (16 hex digits) and %%. Whatever else there is, and a fourth
 * argument, is left as it stands: addresses cannot be followed from here, so there is no %s.
 */
void gt_print_format(struct gt_strbuf *text, const char *format, size_t size,
		     const uint64_t *arguments);

/* Ends the line that was printed, if it has not ended: each is one of its own, as in Linux. */
void gt_print_line_end(struct gt_strbuf *text);

/* Adds the text of a record of the output ring, as a line. 0; -EBADMSG: it is none. */
int gt_print_record(struct gt_strbuf *text, const void *record, size_t size);
