/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects made by `clang -target bpf`: their GPU programs, host programs and maps. */
#pragma once

#include "gpubpf/program.h"

struct bpf_object; /* of libbpf */
struct bpf_program;

/*
 * Whether a program is a GPU program: by its section (section.h), even if that does not exist, or
 * because it is one of kprobe/ or kretprobe/ and calls a helper that Linux does not have.
 */
bool gt_bpf_is_for_gpu(const struct bpf_program *program);

/*
 * Reads an object file, once: it may be a pipe. Its bytes are checked, and everything that is read
 * later comes from the same bytes.
 * The object has all maps; the GPU programs, relocated, each followed by the functions that it
 * calls; and the names of the host programs. `all`: every program counts as a GPU program, and in a
 * file that has functions in .text only, every function. A program with CO-RE relocations and a map
 * of a type that GPUs do not have get a `problem`.
 * 0; errors of gt_file_read; -EINVAL: malformed, or not an eBPF object; -ENOMEM.
 */
int gt_bpf_object_open(const char *path, bool all, struct gt_bpf_object **ret_object,
		       struct gt_diag *diag);

/*
 * Reads an object again from the bytes of one that is open, every program as a GPU program. The
 * result keeps no bytes. Errors as above.
 */
int gt_bpf_object_open_all(const struct gt_bpf_object *object, struct gt_bpf_object **ret_object,
			   struct gt_diag *diag);

/*
 * Opens the object's bytes with libbpf, for loading into the kernel. The caller closes the result
 * with bpf_object__close, and before it frees `object`. NULL with errno set if libbpf rejects it.
 */
struct bpf_object *gt_bpf_object_open_libbpf(const struct gt_bpf_object *object);

/*
 * Prepares for running `program` as the only GPU program: all maps become host_only except for
 * those that it uses and those that are shared with host programs.
 */
void gt_bpf_object_keep(struct gt_bpf_object *object, const struct gt_bpf_program *program);
