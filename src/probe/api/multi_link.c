/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/multi_link.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "base/clean.h"

/* From include/uapi/linux/bpf.h of Linux 6.13; the headers of Debian 12 are older. */
#define TRACE_UPROBE_MULTI 48
#define TRACE_UPROBE_SESSION 57
#define UPROBE_MULTI_RETURN 1

struct uprobe_multi_link {
	uint32_t program;
	uint32_t target;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t reference_counters;
	uint64_t cookies;
	uint32_t count;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t padding;
};

static uint32_t attach_type(enum gt_multi_link kind)
{
	return kind == GT_MULTI_SESSION ? TRACE_UPROBE_SESSION : TRACE_UPROBE_MULTI;
}

int gt_multi_link_functions(int program, const char *path, const uint64_t *offsets,
			    const uint64_t *cookies, size_t count, enum gt_multi_link kind)
{
	struct uprobe_multi_link link = {
		.program = program,
		.attach_type = attach_type(kind),
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.count = count,
		.multi_flags = kind == GT_MULTI_RETURN ? UPROBE_MULTI_RETURN : 0,
	};
	int fd = syscall(__NR_bpf, BPF_LINK_CREATE, &link, sizeof(link));

	return fd < 0 ? -errno : fd;
}

int gt_multi_link_check(enum gt_multi_link kind)
{
	struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach_type(kind));
	uint64_t offset = 0;
	int error;
	gt_autoclose int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "Dual BSD/GPL",
						 instructions, gt_countof(instructions), &options);

	if (program < 0)
		return program;
	/* A directory cannot be probed: a kernel with this link type reports that, an older one
	 * rejects the link type first. */
	error = gt_multi_link_functions(program, "/", &offset, NULL, 1, kind);
	return error == -EBADF ? 0 : error < 0 ? error : -EOPNOTSUPP;
}

void gt_multi_link_prepare(struct bpf_program *program, enum gt_multi_link kind)
{
	bpf_program__set_expected_attach_type(program, attach_type(kind));
}
