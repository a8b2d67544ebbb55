/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The programs of layer sources, relocated by a part of the kernel's types and by all of them.
 * Needs the right to create maps. In guests, modules are loaded that have types of their own.
 */
#include "probe/core_types.h"

#include <fcntl.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clean.h"
#include "probe/kernel_types.h"
#include "probe/layer.h"
#include "probe/source.h"
#include "tap.h"

/* In the place of libbpf's: the kernel need not verify the programs, nor have what they are for. */
int bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
		  const struct bpf_insn *instructions, size_t count,
		  const struct bpf_prog_load_opts *options)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* An object whose programs are all relocated, whether its kernel has what they are attached to. */
static struct bpf_object *relocate(const struct gt_layer *layer, const char *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = types);
	size_t size;
	const void *elf = layer->object(&size);
	struct bpf_object *object = bpf_object__open_mem(elf, size, &options);
	struct bpf_program *program;
	struct bpf_map *map;

	if (!object)
		return NULL;
	bpf_object__for_each_program (program, object) {
		bpf_program__set_autoload(program, true);
	}
	bpf_object__for_each_map (map, object) {
		if (bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF)
			bpf_map__set_max_entries(map, 1 << 16);
	}
	(void)bpf_object__load(object);
	return object;
}

static bool is_address_of_map(const struct bpf_insn *instruction)
{
	return instruction->code == (BPF_LD | BPF_IMM | BPF_DW) &&
	       (instruction->src_reg == BPF_PSEUDO_MAP_FD ||
		instruction->src_reg == BPF_PSEUDO_MAP_VALUE);
}

/* The number of instructions that are the same; all but the descriptors of maps. */
static size_t count_equal(const struct bpf_program *left, const struct bpf_program *right)
{
	const struct bpf_insn *a = bpf_program__insns(left), *b = bpf_program__insns(right);
	size_t count = bpf_program__insn_cnt(left), equal = 0;

	for (size_t i = 0; i < count && i < bpf_program__insn_cnt(right); i++) {
		struct bpf_insn masked = b[i];

		if (is_address_of_map(&a[i]))
			masked.imm = a[i].imm;
		equal += !memcmp(&a[i], &masked, sizeof(masked));
	}
	return equal;
}

/* Compare the programs of two objects; the number that differ from those in the ELF file. */
static size_t compare_programs(const struct gt_layer *layer, const char *types)
{
	struct bpf_object *whole = relocate(layer, NULL), *part = relocate(layer, types);
	size_t size, relocated = 0;
	const void *elf = layer->object(&size);
	struct bpf_object *original = bpf_object__open_mem(elf, size, NULL);
	struct bpf_program *program;

	CHECK(whole && part && original);
	if (whole && part && original)
		bpf_object__for_each_program (program, whole) {
			const char *name = bpf_program__name(program);
			const struct bpf_program *other =
				bpf_object__find_program_by_name(part, name);
			size_t count = bpf_program__insn_cnt(program);

			CHECK_INT(bpf_program__insn_cnt(other), count);
			CHECK_INT(count_equal(program, other), count);
			other = bpf_object__find_program_by_name(original, name);
			relocated += count_equal(program, other) < count;
		}
	bpf_object__close(whole);
	bpf_object__close(part);
	bpf_object__close(original);
	return relocated;
}

TEST("a part of the kernel's types relocates every program as the whole does")
{
	gt_auto(kernel_types) struct gt_kernel_types *kernel = gt_kernel_types_new();
	size_t count, relocated = 0, objects = 0;
	const struct gt_source *const *sources = gt_sources(&count);

	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0 || geteuid() != 0)
		SKIP("needs root and the kernel's BTF");
	for (size_t i = 0; i < count; i++) {
		const struct gt_layer *layer = sources[i]->layer;
		const char *types;
		size_t size;

		if (!layer)
			continue;
		types = gt_kernel_types_for(kernel, layer->object(&size));
		CHECK(types);
		if (types)
			relocated += compare_programs(layer, types);
		objects++;
	}
	CHECK(objects >= 10);
	CHECK(relocated > 50);
}

TEST("an object that is no layer source's is relocated by the whole")
{
	gt_auto(kernel_types) struct gt_kernel_types *kernel = gt_kernel_types_new();

	CHECK(!gt_kernel_types_for(kernel, "ELF"));
}

TEST_MAIN
