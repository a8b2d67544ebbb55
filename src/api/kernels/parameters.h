/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernels of programs: how many parameters each has, where they lie and of what size, and
 * what it uses on the GPU. Read from the fatbins in programs and libraries (section .nv_fatbin)
 * and from modules that are loaded as images: their cubins, and where a kernel is in none, its
 * PTX. Untrusted like the files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/diag.h"

struct gt_parameter {
	uint32_t offset;  /* in the buffer of parameters, bytes */
	uint32_t size;    /* bytes */
	const char *type; /* as in PTX: ".u64", ".f32", ".b8[12]"; NULL: no PTX was read */
};

#define GT_KERNEL_UNKNOWN UINT32_MAX

/* What a kernel uses when compiled for one architecture. */
struct gt_kernel_usage {
	uint32_t architecture; /* 75 for sm_75 */
	uint32_t registers;    /* of a thread; GT_KERNEL_UNKNOWN, as the others */
	uint32_t shared_bytes; /* static shared memory of a block */
	uint32_t local_bytes;  /* of a thread */
};

struct gt_kernel {
	const char *name; /* as in the module: mangled */
	const struct gt_parameter *parameters;
	size_t parameter_count;
	const struct gt_kernel_usage *usages; /* one a cubin, by architecture; none if only PTX */
	size_t usage_count;
	uint32_t ptx_shared_bytes; /* static shared memory that its PTX declares */
};

/* A collection, to which images are added as they are met. */
struct gt_parameters;

/* NULL if memory ran out. */
struct gt_parameters *gt_parameters_new(void);
void gt_parameters_free(struct gt_parameters *parameters);
GT_DEFINE_AUTO(parameters, struct gt_parameters, gt_parameters_free)

/*
 * Adds the kernels of an image: fatbin, cubin or PTX; its bytes are copied as far as they are
 * needed. A kernel that is there already keeps its parameters. *ret_added (or NULL): how many are
 * new. 0 also if there are none; -ENOEXEC: not an image; -EBADMSG: all of its contents are
 * malformed; -E2BIG; -ENOMEM.
 */
int gt_parameters_add_image(struct gt_parameters *parameters, const void *data, size_t size,
			    size_t *ret_added, struct gt_diag *diag);

/* Add a kernel that was read elsewhere; it is copied. 0, also if there is one of its name; -ENOMEM.
 */
int gt_parameters_add(struct gt_parameters *parameters, const struct gt_kernel *kernel);

size_t gt_parameters_count(const struct gt_parameters *parameters);
/* The kernel of a name as in the module, or NULL. Valid until the next add. */
const struct gt_kernel *gt_parameters_find(const struct gt_parameters *parameters,
					   const char *name);
/*
 * What a kernel uses on a device: as compiled for the device's major version and the highest
 * minor one that is not above its own, as the driver chooses. Where there is none, the driver
 * compiles PTX: then the shared memory alone is known, and the architecture is 0.
 * device: compute capability, 75 for 7.5; 0: not known, then what all that it was compiled for
 * agree on.
 */
struct gt_kernel_usage gt_kernel_usage_on(const struct gt_kernel *kernel, uint32_t device);
