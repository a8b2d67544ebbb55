/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program, a library, or a file with an image (fatbin, cubin, PTX), in which kernels are found by
 * name. Libraries of CUDA have gigabytes of compressed code in thousands of containers, each with
 * the same kernels for several architectures. An index of names comes from one entry of each
 * container, the smallest cubin, and is made as far as a search needs it; only the container of a
 * kernel that was sought is read as a whole. Untrusted like the files.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/kernels/parameters.h"
#include "base/clean.h"
#include "base/diag.h"

struct gt_kernel_library;

/*
 * Opens a file, which stays open. 0; -ENOENT: it is a program or a library without kernels;
 * -ENOEXEC: neither that nor an image; -EBADMSG: malformed; -EFBIG; -ENOMEM; what open(2) says.
 */
int gt_kernel_library_open(const char *path, struct gt_kernel_library **ret_library,
			   struct gt_diag *diag);
void gt_kernel_library_free(struct gt_kernel_library *library);
GT_DEFINE_AUTO(kernel_library, struct gt_kernel_library, gt_kernel_library_free)

/* Bytes of code in the file, compressed. */
uint64_t gt_kernel_library_size(const struct gt_kernel_library *library);

enum gt_kernel_entries {
	GT_KERNEL_FIRST_ENTRIES, /* one of each container */
	GT_KERNEL_ALL_ENTRIES,   /* the others, too: those that somebody put together by hand */
};

/*
 * Finds a kernel by its name as in the module, and adds it, with the others of its container, to
 * the parameters. *budget: bytes, uncompressed, that may still be searched; reduced. 0; -ENOENT:
 * not there; -E2BIG: not in what the budget allowed; -EBADMSG: not there, and a part is malformed;
 * -ENOMEM.
 */
int gt_kernel_library_find(struct gt_kernel_library *library, const char *name,
			   enum gt_kernel_entries entries, uint64_t *budget,
			   struct gt_parameters *parameters, struct gt_diag *diag);
