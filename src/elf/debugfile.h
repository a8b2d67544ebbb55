/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The files in which the symbols and debug information of stripped programs are. */
#pragma once

#include "elf/private.h"

/*
 * Opens the debug file of a program or library: by its build id below `directory`, else by its
 * .gnu_debuglink, next to it, in .debug there, and below `directory`. One that is not its own
 * (another build id; without one, another checksum) is passed over. -ENOENT: there is none.
 */
int gt_debug_file_open(struct gt_elf *program, const char *directory, struct gt_elf **ret_debug);

/*
 * Opens the symbols in .gnu_debugdata (an ELF in xz). *ret_bytes must stay while *ret_debug
 * lives; the caller frees both. -ENOENT, -EBADMSG, -EFBIG, -ENOMEM.
 */
int gt_debug_data_open(struct gt_elf *program, struct gt_file *ret_bytes,
		       struct gt_elf **ret_debug);
