/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/kernel_types.h"

#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/bpf.h>

#include "probe/kernel_symbol.h"

struct gt_kernel_types {
	struct btf *btf; /* NULL: not read, or it cannot be */
	bool was_read;
	struct gt_kernel_symbols *symbols;
};

struct gt_kernel_types *gt_kernel_types_new(void)
{
	gt_auto(kernel_types) struct gt_kernel_types *types = calloc(1, sizeof(*types));

	if (types)
		types->symbols = gt_kernel_symbols_new();
	return types && types->symbols ? gt_take(types) : NULL;
}

void gt_kernel_types_free(struct gt_kernel_types *types)
{
	if (!types)
		return;
	btf__free(types->btf);
	gt_kernel_symbols_free(types->symbols);
	free(types);
}

/* The id of a type; 0 or below: there is none. */
static int find_type(struct gt_kernel_types *types, const char *name, unsigned kind)
{
	if (!types->was_read)
		types->btf = btf__load_vmlinux_btf();
	types->was_read = true;
	return types->btf ? btf__find_by_name_kind(types->btf, name, kind) : 0;
}

bool gt_kernel_types_has_function(struct gt_kernel_types *types, const char *name)
{
	return find_type(types, name, BTF_KIND_FUNC) > 0;
}

bool gt_kernel_types_has_typedef(struct gt_kernel_types *types, const char *name)
{
	return find_type(types, name, BTF_KIND_TYPEDEF) > 0;
}

bool gt_kernel_types_has_variable(struct gt_kernel_types *types, const char *name)
{
	const int variable = find_type(types, name, BTF_KIND_VAR);
	/* The kernel looks the address up when it loads the program. */
	const struct bpf_insn instructions[] = {
		{.code = BPF_LD | BPF_DW, .src_reg = BPF_PSEUDO_BTF_ID, .imm = variable},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	gt_autoclose int program =
		variable > 0 ? bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "Dual BSD/GPL",
					     instructions, gt_countof(instructions), NULL)
			     : -1;

	return program >= 0;
}

struct gt_kernel_symbols *gt_kernel_types_symbols(struct gt_kernel_types *types)
{
	return types->symbols;
}
