/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The running kernel's verdict on programs: BPF_PROG_LOAD as a socket filter, with the maps of an
 * object, and with the value of an array as the memory that r1 points to.
 */
#pragma once

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "base/clean.h"
#include "gpubpf/program.h"

enum {
	KERNEL_MAPS = 16,
	KERNEL_LOG = 1 << 16,
	KERNEL_LOG_STEPS = 1,     /* BPF_LOG_LEVEL1 */
	KERNEL_LOG_TOTALS = 4,    /* BPF_LOG_STATS */
	KERNEL_PROLOGUE = 3,      /* slots put before a program with memory */
	KERNEL_LAST_HELPER = 211, /* above it are ours */
};

struct kernel_question {
	const struct bpf_insn *insns;
	uint32_t count;
	const struct gt_bpf_map *maps;
	uint32_t map_count;
	bool memory; /* r1 is memory of so many bytes and r2 the size; else the context */
	uint32_t memory_size;
	bool stepwise; /* log each instruction: kernel_answer.at; it takes long */
};

struct kernel_answer {
	int error; /* 0: accepted; -ENOTSUP: not a program for this Linux; else as bpf(2) says */
	char said[256]; /* why it was rejected: the last line of the log before the totals */
	uint32_t at;    /* stepwise: the instruction that was examined last; else UINT32_MAX */
};

static inline int kernel_call(int command, union bpf_attr *request)
{
	int result = (int)syscall(SYS_bpf, command, request, sizeof(*request));

	return result < 0 ? -errno : result;
}

static inline int kernel_map(const struct gt_bpf_map *map)
{
	union bpf_attr request = {
		.map_type = map->type,
		.key_size = map->key_size,
		.value_size = map->value_size,
		.max_entries = map->max_entries,
		.map_flags = map->read_only    ? BPF_F_RDONLY_PROG
			     : map->write_only ? BPF_F_WRONLY_PROG
					       : 0,
	};
	uint32_t key = 0;
	int fd = kernel_call(BPF_MAP_CREATE, &request);

	if (fd < 0)
		return fd;
	if (map->initial) {
		request = (union bpf_attr){
			.map_fd = (uint32_t)fd,
			.key = (uintptr_t)&key,
			.value = (uintptr_t)map->initial,
		};
		kernel_call(BPF_MAP_UPDATE_ELEM, &request);
	}
	if (map->constant) {
		request = (union bpf_attr){.map_fd = (uint32_t)fd};
		kernel_call(BPF_MAP_FREEZE, &request);
	}
	return fd;
}

/* The functions of a program that takes the address of one: Linux requires their types. */
struct kernel_functions {
	int types; /* of BTF; -1: not needed */
	struct bpf_func_info infos[64];
	uint32_t count;
};

static inline void kernel_add_function(struct kernel_functions *functions, struct btf *btf,
				       int prototype, uint32_t start)
{
	char name[32];

	snprintf(name, sizeof(name), "function_%u", start);
	functions->infos[functions->count++] = (struct bpf_func_info){
		.insn_off = start,
		.type_id = (uint32_t)btf__add_func(
			btf, name, start ? BTF_FUNC_STATIC : BTF_FUNC_GLOBAL, prototype),
	};
}

/* Whether a function starts at an instruction. */
static inline bool kernel_is_start(const struct bpf_insn *insns, uint32_t count, uint32_t start)
{
	for (uint32_t i = 0; i < count; i++) {
		if ((gt_bpf_is_subprogram_call(&insns[i]) || gt_bpf_is_function(&insns[i])) &&
		    gt_bpf_jump_target(insns, i) == start)
			return true;
		i += gt_bpf_is_wide(&insns[i]);
	}
	return !start;
}

static inline void kernel_find_functions(const struct bpf_insn *insns, uint32_t count,
					 struct kernel_functions *functions)
{
	struct btf *btf;
	const void *raw;
	uint32_t size;
	bool needed = false;
	int prototype;

	*functions = (struct kernel_functions){.types = -1};
	for (uint32_t i = 0; i < count; i++)
		needed |= gt_bpf_is_function(&insns[i]);
	btf = needed ? btf__new_empty() : NULL;
	if (!btf)
		return;
	prototype = btf__add_func_proto(btf, btf__add_int(btf, "int", 4, BTF_INT_SIGNED));
	for (uint32_t i = 0; i < count && functions->count < 64; i++)
		if (kernel_is_start(insns, count, i))
			kernel_add_function(functions, btf, prototype, i);
	raw = btf__raw_data(btf, &size);
	functions->types = raw ? bpf_btf_load(raw, size, NULL) : -1;
	btf__free(btf);
}

static inline int kernel_load(const struct bpf_insn *insns, uint32_t count, const int *fds,
			      char *log, uint32_t log_size, uint32_t log_level)
{
	struct kernel_functions functions;
	union bpf_attr request = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)insns,
		.insn_cnt = count,
		.license = (uintptr_t) "GPL",
		.log_buf = (uintptr_t)log,
		.log_size = log_size,
		.log_level = log ? log_level : 0,
		.fd_array = (uintptr_t)fds,
	};
	int result;

	kernel_find_functions(insns, count, &functions);
	if (functions.types >= 0) {
		request.prog_btf_fd = (uint32_t)functions.types;
		request.func_info_rec_size = sizeof(functions.infos[0]);
		request.func_info = (uintptr_t)functions.infos;
		request.func_info_cnt = functions.count;
	}
	result = kernel_call(BPF_PROG_LOAD, &request);
	if (functions.types >= 0)
		close(functions.types);
	return result;
}

/* Whether it has atomic loads and stores (Linux 6.15). */
static inline bool kernel_has_order(void)
{
	static const struct bpf_insn min[] = {
		{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
		{BPF_STX | BPF_ATOMIC | BPF_DW, 10, 0, -8, BPF_STORE_REL},
		{BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
	static int known; /* -1: it has not */

	if (!known) {
		int fd = kernel_load(min, gt_countof(min), NULL, NULL, 0, 0);

		known = fd < 0 ? -1 : 1;
		if (fd >= 0)
			close(fd);
	}
	return known > 0;
}

/* Whether the running kernel supports all that the program uses. */
static inline bool kernel_knows(const struct kernel_question *question)
{
	for (uint32_t i = 0; i < question->map_count; i++)
		if (question->maps[i].type >= 1501)
			return false;
	for (uint32_t i = 0; i < question->count; i++) {
		const struct bpf_insn *insn = &question->insns[i];

		if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
		    insn->imm > KERNEL_LAST_HELPER && insn->imm < 1000)
			return false;
		if (gt_bpf_is_ordered(insn) && !kernel_has_order())
			return false;
	}
	return true;
}

/* Return the end of the message, where statistics begin. */
static inline const char *kernel_message_end(const char *log)
{
	const char *end = strstr(log, "\nverification time ");

	if (!end)
		end = log + strlen(log);
	while (end > log && end[-1] == '\n')
		end--;
	return end;
}

static inline void kernel_last_line(const char *log, char *said, size_t size)
{
	const char *end = kernel_message_end(log), *start;

	for (start = end; start > log && start[-1] != '\n';)
		start--;
	snprintf(said, size, "%.*s", (int)(end - start), start);
}

/* The number of the last instruction in a log; UINT32_MAX: there is none. */
static inline uint32_t kernel_last_instruction(const char *log)
{
	uint32_t last = UINT32_MAX;

	for (const char *line = log; line; line = strchr(line, '\n')) {
		unsigned number;
		int length = 0;

		line += *line == '\n';
		if (sscanf(line, "%u: (%n", &number, &length) == 1 && length)
			last = number;
	}
	return last;
}

static inline uint32_t kernel_prologue(const struct kernel_question *question, uint32_t map,
				       struct bpf_insn *insns)
{
	if (!question->memory)
		return 0;
	if (!question->memory_size) {
		insns[0] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1};
		insns[1] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2};
		return 2;
	}
	insns[0] = (struct bpf_insn){.code = BPF_LD | BPF_IMM | BPF_DW,
				     .dst_reg = 1,
				     .src_reg = GT_BPF_IMM_MAP_INDEX_VALUE,
				     .imm = (int32_t)map};
	insns[1] = (struct bpf_insn){0};
	insns[2] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K,
				     .dst_reg = 2,
				     .imm = (int32_t)question->memory_size};
	return 3;
}

/* The kernel's verdict. A log is only asked for if there is room for one. */
static inline struct kernel_answer kernel_ask(const struct kernel_question *question, char *log)
{
	struct kernel_answer answer = {.error = -ENOTSUP, .at = UINT32_MAX};
	struct gt_bpf_map memory = {.type = BPF_MAP_TYPE_ARRAY,
				    .key_size = 4,
				    .value_size = question->memory_size,
				    .max_entries = 1};
	gt_autofree struct bpf_insn *insns =
		calloc(question->count + KERNEL_PROLOGUE, sizeof(*insns));
	int fds[KERNEL_MAPS], fd = 0;
	uint32_t opened = 0, before;

	if (!kernel_knows(question) || question->map_count >= KERNEL_MAPS || !insns)
		return answer;
	for (; opened < question->map_count && fd >= 0; opened++)
		fd = fds[opened] = kernel_map(&question->maps[opened]);
	if (fd >= 0 && question->memory && question->memory_size)
		fd = fds[opened++] = kernel_map(&memory);
	if (fd >= 0) {
		before = kernel_prologue(question, question->map_count, insns);
		memcpy(insns + before, question->insns, question->count * sizeof(*insns));
		if (log)
			log[0] = 0;
		/* Else only totals and the reason of a rejection: a line per step takes most of
		 * the time. */
		fd = kernel_load(insns, question->count + before, fds, log, log ? KERNEL_LOG : 0,
				 question->stepwise ? KERNEL_LOG_STEPS : KERNEL_LOG_TOTALS);
		answer.error = fd < 0 ? fd : 0;
		if (log)
			kernel_last_line(log, answer.said, sizeof(answer.said));
		if (log && question->stepwise && kernel_last_instruction(log) != UINT32_MAX)
			answer.at = kernel_last_instruction(log) - before;
		if (fd >= 0)
			close(fd);
	}
	while (opened--)
		if (fds[opened] >= 0)
			close(fds[opened]);
	return answer;
}

/* The running kernel's, as 6018 for Linux 6.18. */
static inline unsigned kernel_version(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	uname(&name);
	sscanf(name.release, "%u.%u", &major, &minor);
	return major * 1000 + minor;
}

/* Whether the kernel loads anything at all for us. */
static inline bool kernel_answers(void)
{
	static const struct bpf_insn min[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
					      {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
	struct kernel_question question = {.insns = min, .count = 2};

	return !kernel_ask(&question, NULL).error;
}

/* Why nothing can be compared here, or NULL. */
static inline const char *kernel_is_no_measure(void)
{
	if (!kernel_answers())
		return "the kernel loads no programs here";
	return kernel_version() < 6014 ? "what Linux 6.14 and later do is compared" : NULL;
}
