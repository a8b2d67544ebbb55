/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The uprobes of host programs beside a command: they see the command and its children alone.
 *
 * SEC("uprobe/FILE:FUNCTION[+OFFSET]") and uretprobe. FILE is
 *
 *	a path              the file, if there is one; else as a name
 *	a name              the command's program of that name, or a library: libcudart.so is also
 *	                    libcudart.so.13, and cudart is libcudart.so
 *
 * Libraries are found as the loader finds them for the command, and again in each process that
 * loads CUDA modules, since many libraries are opened by dlopen(3). A function of a runtime library
 * is also found in files with a statically linked runtime, and one that the named program does not
 * define is found in the libraries that the program loads.
 */
#pragma once

#include "elf/loader.h"

struct bpf_program;

/* The command of which uprobes see the calls. Nothing is owned. */
struct gt_host_command {
	const struct gt_command *files;
	char *const *environment; /* its own; ended by NULL */
	int pidfd;                /* of its process, which does not execute it yet */
	/* "NAME=FILE:FUNCTION": targets of programs in place of those in their sections. */
	const char *const *targets;
	size_t target_count;
};

/* A section of a uprobe: "uprobe/FILE:FUNCTION+OFFSET". */
struct gt_uprobe_section {
	char file[256], function[256];
	uint64_t offset;
	bool is_return;
};

/* False: not a uprobe with a target, or of another kind (uprobe.s, uprobe.multi, usdt). */
bool gt_uprobe_section_read(const char *text, struct gt_uprobe_section *ret_section);

struct gt_host_uprobes;

/* A loaded program and its target. */
struct gt_uprobe_program {
	const struct bpf_program *program;
	struct gt_uprobe_section section;
};

/*
 * Prepare for attaching `count` programs. multi: by uprobe_multi links, two for each file, for
 * which the programs were prepared before they were loaded (probe/api/multi_link.h). Else each
 * function has a perf event, and the kernel needs some 40 ms to remove one.
 */
int gt_host_uprobes_open(const struct gt_uprobe_program *programs, size_t count, bool multi,
			 struct gt_host_uprobes **ret_uprobes, struct gt_diag *diag);
void gt_host_uprobes_detach(struct gt_host_uprobes *uprobes);
/* Detaches and unloads them. */
void gt_host_uprobes_close(struct gt_host_uprobes *uprobes);
GT_DEFINE_AUTO(host_uprobes, struct gt_host_uprobes, gt_host_uprobes_close)

/*
 * Attach to what the command will execute and load. -ENOENT: no such file, or no such function in
 * it. A library that the command does not load at its start is no error.
 */
int gt_host_uprobes_attach(struct gt_host_uprobes *uprobes, const struct gt_host_command *command,
			   struct gt_diag *diag);
/* Attach to what a process of the command has mapped since. */
int gt_host_uprobes_attach_process(struct gt_host_uprobes *uprobes, pid_t pid,
				   struct gt_diag *diag);
bool gt_host_uprobes_have(const struct gt_host_uprobes *uprobes, const struct bpf_program *program);
/* The name of a program that is not attached, or NULL: call with 0, 1, … for more. */
const char *gt_host_uprobes_unattached(const struct gt_host_uprobes *uprobes, size_t number);
/* Threads and processes of the command whose calls were not seen. */
uint64_t gt_host_uprobes_lost(const struct gt_host_uprobes *uprobes);
