/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Separate files with the symbols and debug information of stripped programs. */
#pragma once

#include "elf/private.h"

/*
 * Opens the debug file of a program or library: by build id below `directory`, else by
 * .gnu_debuglink in the same directory, in its .debug, and below `directory`. A file with another
 * build id (or without one, another checksum) is skipped. -ENOENT: not found.
 */
int gt_debug_file_open(struct gt_elf *program, const char *directory, struct gt_elf **ret_debug);

/*
 * Opens the symbols in .gnu_debugdata (an ELF in xz). *ret_bytes must outlive
 * *ret_debug; the caller frees both. -ENOENT, -EBADMSG, -EFBIG, -ENOMEM.
 */
int gt_debug_data_open(struct gt_elf *program, struct gt_file *ret_bytes,
		       struct gt_elf **ret_debug);
