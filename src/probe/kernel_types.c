/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/kernel_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/bpf.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "probe/core_types.h"
#include "probe/kernel_symbol.h"
#include "probe/layer.h"
#include "probe/source.h"

struct gt_kernel_types {
	struct btf *btf; /* NULL: not read, or it cannot be */
	bool was_read;
	bool was_searched, has_preemptible_tracepoints;
	struct gt_kernel_symbols *symbols;
	struct {
		GT_VEC(struct gt_core_object) objects;
		bool was_written;
		struct gt_strbuf modules; /* that were loaded when the file was written */
		int fd;                   /* -1: there is none */
		char path[32];
	} core;
};

struct gt_kernel_types *gt_kernel_types_new(void)
{
	gt_auto(kernel_types) struct gt_kernel_types *types = calloc(1, sizeof(*types));

	if (types) {
		types->symbols = gt_kernel_symbols_new();
		types->core.fd = -1;
	}
	return types && types->symbols ? gt_take(types) : NULL;
}

void gt_kernel_types_free(struct gt_kernel_types *types)
{
	if (!types)
		return;
	btf__free(types->btf);
	if (types->core.fd >= 0)
		close(types->core.fd);
	gt_vec_free(&types->core.objects);
	gt_strbuf_free(&types->core.modules);
	gt_kernel_symbols_free(types->symbols);
	free(types);
}

/* NULL: they cannot be read. */
static struct btf *read_types(struct gt_kernel_types *types)
{
	if (!types->was_read)
		types->btf = btf__load_vmlinux_btf();
	types->was_read = true;
	return types->btf;
}

/* The id of a type; 0 or below: there is none. */
static int find_type(struct gt_kernel_types *types, const char *name, unsigned kind)
{
	struct btf *btf = read_types(types);

	return btf ? btf__find_by_name_kind(btf, name, kind) : 0;
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

/*
 * Since tracepoints are guarded by SRCU-fast instead of disabled preemption (__DECLARE_TRACE() in
 * include/linux/tracepoint.h). The type of that guard, which nothing else uses, is then among the
 * names; they are searched as they are, which is faster than type by type.
 */
bool gt_kernel_types_have_preemptible_tracepoints(struct gt_kernel_types *types)
{
	static const char guard[] = "\0class_srcu_fast_notrace_t";
	struct btf *btf = read_types(types);
	__u32 size = 0;
	const void *data = btf && !types->was_searched ? btf__raw_data(btf, &size) : NULL;

	if (data)
		types->has_preemptible_tracepoints = memmem(data, size, guard, sizeof(guard));
	types->was_searched = true;
	return types->has_preemptible_tracepoints;
}

/* ---- types for relocations ---------------------------------------------------------------- */

static int put_module(void *context, const char *name, uint64_t number)
{
	gt_strbuf_printf(context, "%s %llu\n", name, (unsigned long long)number);
	return 0;
}

static int collect_objects(struct gt_kernel_types *types)
{
	size_t count;
	const struct gt_source *const *sources = gt_sources(&count);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		struct gt_core_object object;

		if (!sources[i]->layer)
			continue;
		object.elf = sources[i]->layer->object(&object.size);
		error = gt_vec_push(&types->core.objects, object);
	}
	return error;
}

static bool is_collected(const struct gt_kernel_types *types, const void *elf)
{
	gt_vec_each (object, &types->core.objects)
		if (object->elf == elf)
			return true;
	return false;
}

static void write_core_types(struct gt_kernel_types *types)
{
	struct btf *kernel = read_types(types);

	if (types->core.fd >= 0)
		close(types->core.fd);
	types->core.fd = -1;
	if (kernel && !gt_core_types_write(kernel, types->core.objects.items,
					   types->core.objects.count, &types->core.fd))
		snprintf(types->core.path, sizeof(types->core.path), "/proc/self/fd/%d",
			 types->core.fd);
}

const char *gt_kernel_types_for(struct gt_kernel_types *types, const void *elf)
{
	gt_auto_strbuf modules = GT_STRBUF_INIT;

	if (!types->core.objects.count && collect_objects(types))
		return NULL;
	if (!is_collected(types, elf))
		return NULL;
	gt_core_modules_each(put_module, &modules);
	if (!types->core.was_written ||
	    strcmp(gt_strbuf_string(&modules), gt_strbuf_string(&types->core.modules)) != 0) {
		types->core.was_written = true;
		gt_strbuf_free(&types->core.modules);
		types->core.modules = modules;
		modules = (struct gt_strbuf)GT_STRBUF_INIT;
		write_core_types(types);
	}
	return types->core.fd < 0 ? NULL : types->core.path;
}

struct gt_kernel_symbols *gt_kernel_types_symbols(struct gt_kernel_types *types)
{
	return types->symbols;
}
