/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects that `clang -target bpf` makes: their programs for the GPU and their maps. */
#pragma once

#include "gpubpf/program.h"

/* Whether a program is for the GPU (section.h), in a section that exists there or not. */
bool gt_bpf_is_for_gpu(const char *section, const char *name);

/*
 * Reads a file: all maps, the programs for the GPU, relocated, with their functions behind them,
 * and the names of those for Linux. Which programs are for the GPU, their sections say; `all`:
 * every one is, and where there are but functions, in .text, each of these. A program with CO-RE
 * records, and a map of a type that is not for the GPU, have a `problem`. 0; -ENOENT …: not
 * there; -EINVAL: damaged, or no object for eBPF; -ENOMEM.
 */
int gt_bpf_object_open(const char *path, bool all, struct gt_bpf_object **ret_object,
		       struct gt_diag *diag);

/*
 * Takes a program of the object for the only one for the GPU that will run: of the maps all are
 * host_only but those that it uses and those that are shared with Linux.
 */
void gt_bpf_object_keep(struct gt_bpf_object *object, const struct gt_bpf_program *program);
