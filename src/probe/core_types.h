/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The types of the kernel by which BPF objects are relocated (CO-RE). libbpf reads the whole BTF of
 * the kernel for each object, and searches all of it for each type that the object refers to. A BTF
 * with those types only gives the same results: it has every type of the kernel and of its modules
 * that has the name of a type of the objects, and what is inside of it. Pointers are to void:
 * relocations do not depend on what fields of the kernel point to.
 *
 * Not for relocations that compare types (bpf_core_type_matches(), bpf_core_type_exists() of a
 * pointer's or function's type) or that give the id of a type of the kernel.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct btf;

/* A BPF object that will be relocated: an ELF file in memory. */
struct gt_core_object {
	const void *elf;
	size_t size;
};

/*
 * Write the types for these objects to a file in memory: *ret_fd. `kernel`: the BTF of the kernel;
 * that of the modules which are loaded is read as well. -Exxx: the whole BTF must be used.
 */
int gt_core_types_write(struct btf *kernel, const struct gt_core_object *objects, size_t count,
			int *ret_fd);

/*
 * Call `take` for each module of the kernel that has types, until an error: its name, and a number
 * that is another one once it is loaded again. The error, or 0.
 */
typedef int gt_core_module_sink(void *context, const char *name, uint64_t number);
int gt_core_modules_each(gt_core_module_sink *take, void *context);
