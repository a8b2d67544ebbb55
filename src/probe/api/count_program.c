/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/count_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "api/api.h"
#include "base/clean.h"
#include "probe/api/calls.h"
#include "probe/source.h"

bool gt_count_program_suits(const struct gt_host *host, size_t functions)
{
	const struct gt_trace_options *options = host->options;

	return options->sums && !options->failed_only && !host->condition_count &&
	       functions <= UINT16_MAX;
}

/* Whether the kernel keeps the first word of a call where the program reads it (Linux 6.14). */
static bool has_word_of_call(const struct btf *types)
{
	int id = btf__find_by_name_kind(types, "return_instance", BTF_KIND_STRUCT);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(types, (unsigned)id);

	for (unsigned i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(types, btf_members(type)[i].name_off), "consumer"))
			return true;
	return false;
}

/* Call the kernel's function wherever the program has the number that stands for it. */
static int replace_calls(struct bpf_program *program, int number, int function)
{
	size_t count = bpf_program__insn_cnt(program);
	gt_autofree struct bpf_insn *instructions = calloc(count + 1, sizeof(*instructions));

	if (!instructions)
		return -ENOMEM;
	memcpy(instructions, bpf_program__insns(program), count * sizeof(*instructions));
	for (size_t i = 0; i < count; i++) {
		struct bpf_insn *call = &instructions[i];

		if (call->code != (BPF_JMP | BPF_CALL) || call->src_reg || call->imm != number)
			continue;
		call->src_reg = BPF_PSEUDO_KFUNC_CALL;
		call->imm = function;
	}
	return bpf_program__set_insns(program, instructions, count);
}

int gt_count_program_prepare(struct bpf_program *program)
{
	struct btf *types = btf__load_vmlinux_btf();
	int function, error;

	if (!types)
		return -errno;
	function = btf__find_by_name_kind(types, "bpf_session_cookie", BTF_KIND_FUNC);
	if (function <= 0 || !has_word_of_call(types))
		error = -EOPNOTSUPP;
	else
		error = replace_calls(program, GT_CALL_SESSION_COOKIE, function);
	btf__free(types);
	return error;
}

int gt_count_program_key(uint64_t *ret_key)
{
	uint64_t key;

	if (getrandom(&key, sizeof(key), 0) != sizeof(key))
		return -EIO;
	*ret_key = key | GT_WORD_SET;
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

uint64_t gt_count_program_cookie(uint64_t cookie, const gt_summed_functions *functions)
{
	uint32_t row = (uint32_t)cookie;
	const uint32_t *place = bsearch(&row, functions->items, functions->count,
					sizeof(*functions->items), compare_rows);
	uint64_t flags = cookie >> 48;
	struct gt_plan plan;

	gt_api_plan(gt_api_function(row), &plan);
	if (plan.result == GT_RESULT_POINTER)
		flags |= GT_COOKIE_POINTER;
	return GT_COOKIE(row, place ? (uint64_t)(place - functions->items) : 0, flags);
}
