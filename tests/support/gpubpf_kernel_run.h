/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Run a program on the running kernel by BPF_PROG_TEST_RUN: a socket filter that starts with
 * instructions which pass it memory and store all 64 bits of its r0.
 */
#pragma once

#include "gpubpf_kernel.h"

enum {
	KERNEL_AROUND = 9, /* slots inserted before the program */
};

/* A loaded program with its maps, its memory and its result. */
struct kernel_program {
	const struct kernel_question *question;
	int fds[KERNEL_MAPS + 2]; /* the program's maps, then: */
	uint32_t memory, result;  /* their indexes in fds */
	uint32_t opened;
	int fd;
};

static inline void kernel_program_close(struct kernel_program *program)
{
	while (program->opened)
		close(program->fds[--program->opened]);
	if (program->fd > 0)
		close(program->fd);
	program->fd = 0;
}

static inline int kernel_open_map(struct kernel_program *program, const struct gt_bpf_map *map)
{
	int fd = kernel_map(map);

	if (fd >= 0)
		program->fds[program->opened++] = fd;
	return fd < 0 ? fd : 0;
}

/* Set r1 and r2, call the program as a function, and store r0. */
static inline void kernel_around(const struct kernel_program *program, struct bpf_insn *insns)
{
	const struct bpf_insn value = {.code = BPF_LD | BPF_IMM | BPF_DW,
				       .dst_reg = 1,
				       .src_reg = GT_BPF_IMM_MAP_INDEX_VALUE};
	uint32_t size = program->question->memory_size;

	insns[0] = value;
	insns[0].imm = (int32_t)program->memory;
	insns[1] = (struct bpf_insn){0};
	if (!size)
		insns[0] = (struct bpf_insn){.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1};
	insns[2] = (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = (int32_t)size};
	insns[3] = (struct bpf_insn){
		.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = KERNEL_AROUND - 4};
	insns[4] = value;
	insns[4].imm = (int32_t)program->result;
	insns[5] = (struct bpf_insn){0};
	insns[6] =
		(struct bpf_insn){.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 0};
	insns[7] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K};
	insns[8] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
}

/* 0, or the error of the kernel. */
static inline int kernel_program_open(const struct kernel_question *question,
				      struct kernel_program *ret_program)
{
	struct gt_bpf_map memory = {.type = BPF_MAP_TYPE_ARRAY,
				    .key_size = 4,
				    .value_size = question->memory_size ? question->memory_size : 1,
				    .max_entries = 1};
	struct gt_bpf_map result = memory;
	struct kernel_program program = {.question = question};
	gt_autofree struct bpf_insn *insns =
		calloc(question->count + KERNEL_AROUND, sizeof(*insns));
	int error = 0;

	if (!insns || !kernel_knows(question) || question->map_count >= KERNEL_MAPS)
		return -ENOTSUP;
	result.value_size = 8;
	for (uint32_t i = 0; !error && i < question->map_count; i++)
		error = kernel_open_map(&program, &question->maps[i]);
	program.memory = program.opened;
	program.result = program.opened + 1;
	if (!error)
		error = kernel_open_map(&program, &memory);
	if (!error)
		error = kernel_open_map(&program, &result);
	if (!error) {
		kernel_around(&program, insns);
		memcpy(insns + KERNEL_AROUND, question->insns, question->count * sizeof(*insns));
		program.fd = kernel_load(insns, question->count + KERNEL_AROUND, program.fds, NULL,
					 0, 0);
		error = program.fd < 0 ? program.fd : 0;
	}
	if (error)
		kernel_program_close(&program);
	else
		*ret_program = program;
	return error;
}

static inline int kernel_value(int command, int fd, const void *key, void *value)
{
	union bpf_attr request = {
		.map_fd = (uint32_t)fd, .key = (uintptr_t)key, .value = (uintptr_t)value};

	return kernel_call(command, &request);
}

/* Run it on memory, which it changes. 0 or -Exxx. */
static inline int kernel_program_run(const struct kernel_program *program, void *memory,
				     uint64_t *ret_r0)
{
	uint8_t packet[64] = {0};
	union bpf_attr request = {.test = {.prog_fd = (uint32_t)program->fd,
					   .data_in = (uintptr_t)packet,
					   .data_size_in = sizeof(packet),
					   .repeat = 1}};
	bool has_memory = program->question->memory_size;
	uint32_t key = 0;
	int error = 0;

	if (has_memory)
		error = kernel_value(BPF_MAP_UPDATE_ELEM, program->fds[program->memory], &key,
				     memory);
	if (!error)
		error = kernel_call(BPF_PROG_TEST_RUN, &request);
	if (!error && has_memory)
		error = kernel_value(BPF_MAP_LOOKUP_ELEM, program->fds[program->memory], &key,
				     memory);
	if (!error)
		error = kernel_value(BPF_MAP_LOOKUP_ELEM, program->fds[program->result], &key,
				     ret_r0);
	return error;
}
