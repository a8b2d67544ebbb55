/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which GPU a command gets: an NVIDIA one where its driver is, else the software GPU. */
#pragma once

#include <stdbool.h>

#include "base/diag.h"
#include "elf/loader.h"

enum gt_gpu {
	GT_GPU_AUTO,
	GT_GPU_NVIDIA,
	GT_GPU_SOFT,
};

/* "auto", "nvidia", "soft", and NULL at the end. */
extern const char *const gt_gpu_names[];
/* One of them. 0 or -EINVAL. */
int gt_gpu_parse(const char *text, enum gt_gpu *ret_gpu);

/* Whether the NVIDIA driver is loaded here (its control device is there). */
bool gt_gpu_has_nvidia(void);

/*
 * The directory of the software GPU's libraries that belong to this gputap: beside the program in
 * a build, below its prefix when installed; GPUTAP_SOFTGPU names another. -ENOENT if it is not
 * there. The caller frees *ret_directory.
 */
int gt_gpu_soft_directory(char **ret_directory, struct gt_diag *diag);

/*
 * The driver library that gputap itself uses under a choice: *ret_path is that of the software GPU,
 * which the caller frees, or NULL for NVIDIA's, which the loader finds. -ENOENT: the software GPU
 * is wanted and not there.
 */
int gt_gpu_driver_library(enum gt_gpu gpu, char **ret_path, struct gt_diag *diag);

enum gt_gpu_verdict {
	GT_GPU_AS_IT_IS, /* nothing is changed for the command */
	GT_GPU_USE_SOFT, /* its libraries go to the front of LD_LIBRARY_PATH */
	GT_GPU_RELINK,   /* it would be the software GPU, but the program has a static runtime */
};

/* What becomes of a command's program under a choice. `program` is an ELF file. */
enum gt_gpu_verdict gt_gpu_decide(enum gt_gpu gpu, const char *program);
