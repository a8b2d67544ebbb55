/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The arguments of a launch as a reader wants them: cut to their sizes, by their types. Sizes
 * come from the kernel's parameters, types from its mangled name, then from its PTX.
 */
#pragma once

#include "api/kernels/parameters.h"
#include "base/json.h"
#include "base/strbuf.h"

enum { GT_ARGUMENT_WORDS = 16 }; /* that a launch copies, 8 bytes each */

/* The first 8 bytes at each of a launch's argument pointers. */
struct gt_launch_arguments {
	uint64_t words[GT_ARGUMENT_WORDS];
	uint64_t valid; /* bit n: words[n] was read */
	/* Where the program gave the arguments one by one, with their sizes; else 0. */
	uint32_t count;
	uint32_t sizes[GT_ARGUMENT_WORDS]; /* bytes; 0: it was not given */
	uint64_t local;                    /* bit n: so many bytes of local memory */
};

/*
 * Adds "0x7f0c2a000000, 2.5, 1024": all arguments of the kernel. name is as in the module;
 * kernel (or NULL) what is known of its parameters. An argument that is bigger than a word, or
 * of a type that is not known, is shown by its bytes in the order of memory, "{00 00 80 3f …}";
 * one that was not read is "?", local memory "local[4096]". Where the program gave the sizes and no
 * type is known, up to 8 bytes are one number, "0x40000". If their number is unknown, "..." .
 */
void gt_kernel_format_arguments(struct gt_strbuf *buffer, const char *name,
				const struct gt_kernel *kernel,
				const struct gt_launch_arguments *arguments);

/*
 * The same as an array under `key`: objects with "type" (text or null), "size" (bytes or null)
 * and "value": a number, a pointer as "0x…", a boolean, the bytes as hexadecimal text, or null
 * where it was not read.
 */
void gt_kernel_json_arguments(struct gt_json *json, const char *key, const char *name,
			      const struct gt_kernel *kernel,
			      const struct gt_launch_arguments *arguments);
