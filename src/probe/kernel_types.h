/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The types of the running kernel (its BTF) and its symbols, which are read once for all sources:
 * both take long, above all in an emulated guest.
 */
#pragma once

#include <stdbool.h>

#include "base/clean.h"

struct gt_kernel_symbols;
struct gt_kernel_types;

/* Nothing is read yet. NULL: out of memory. */
struct gt_kernel_types *gt_kernel_types_new(void);
void gt_kernel_types_free(struct gt_kernel_types *types);
GT_DEFINE_AUTO(kernel_types, struct gt_kernel_types, gt_kernel_types_free)

/* Whether the kernel itself, without its modules, has a function or a type of that name; false
 * where its types cannot be read. */
bool gt_kernel_types_has_function(struct gt_kernel_types *types, const char *name);
bool gt_kernel_types_has_typedef(struct gt_kernel_types *types, const char *name);
/* Whether it has a variable per CPU whose address BPF programs can have: the kernel knows that with
 * CONFIG_KALLSYMS_ALL only. */
bool gt_kernel_types_has_variable(struct gt_kernel_types *types, const char *name);

/* Whether threads can be preempted in programs of raw tracepoints (layer.bpf.h). */
bool gt_kernel_types_have_preemptible_tracepoints(struct gt_kernel_types *types);

/*
 * For libbpf's option btf_custom_path: a file with the types of the kernel and of the modules that
 * are loaded now, as far as objects of layer sources are relocated by them (core_types.h). NULL:
 * `elf` is no such object, or the whole BTF is needed. Valid until the next call.
 */
const char *gt_kernel_types_for(struct gt_kernel_types *types, const void *elf);

/* The symbols of the kernel, which belong to `types`. */
struct gt_kernel_symbols *gt_kernel_types_symbols(struct gt_kernel_types *types);
