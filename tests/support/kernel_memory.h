/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of the kernel with contents of our choice: the value of an array map, whose address a BPF
 * program writes into it. Programs of raw tracepoints take it as an argument in a test run.
 */
#pragma once

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#define KERNEL_MEMORY_SIZE (64 << 10) /* bytes */

struct kernel_memory {
	int map;
	uint64_t address; /* in the kernel; 0: there is none */
	char bytes[KERNEL_MEMORY_SIZE];
};

/* The value begins with its own address after this program ran. */
static inline int kernel_memory_find(struct kernel_memory *memory)
{
	const struct bpf_insn insns[] = {
		{.code = 0x18, /* BPF_LD | BPF_DW | BPF_IMM */
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_VALUE,
		 .imm = memory->map},
		{0},
		{.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_1},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int program = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "address", "GPL", insns,
				    sizeof(insns) / sizeof(insns[0]), NULL);
	uint32_t zero = 0;
	int error;

	if (program < 0)
		return program;
	error = bpf_prog_test_run_opts(program, &options);
	close(program);
	if (!error)
		error = bpf_map_lookup_elem(memory->map, &zero, memory->bytes);
	if (!error)
		memcpy(&memory->address, memory->bytes, sizeof(memory->address));
	memset(memory->bytes, 0, sizeof(memory->bytes));
	return error;
}

/* 0, or -Exxx where BPF programs cannot be loaded. */
static inline int kernel_memory_open(struct kernel_memory *memory)
{
	*memory = (struct kernel_memory){0};
	memory->map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "memory", 4, KERNEL_MEMORY_SIZE, 1, NULL);
	return memory->map < 0 ? -errno : kernel_memory_find(memory);
}

static inline void kernel_memory_put(struct kernel_memory *memory, size_t offset, const void *bytes,
				     size_t size)
{
	memcpy(memory->bytes + offset, bytes, size);
}

/* Give the kernel what was put. */
static inline int kernel_memory_write(struct kernel_memory *memory)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(memory->map, &zero, memory->bytes, BPF_ANY);
}

static inline void kernel_memory_close(struct kernel_memory *memory)
{
	if (memory->map >= 0)
		close(memory->map);
}
