/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Links of a program to many functions of a file at once: uprobe_multi (Linux 6.6), and sessions
 * (Linux 6.13), whose program runs at entries and returns and decides at each entry whether it is
 * to run at that call's return.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_program;

/* Where the program of a link runs. */
enum gt_multi_link {
	GT_MULTI_ENTRY,
	GT_MULTI_RETURN,
	GT_MULTI_SESSION, /* both; a return value of 1 at an entry: not at the return */
};

/* Check whether such links can be created with these privileges. 0 or -Exxx. */
int gt_multi_link_check(enum gt_multi_link kind);

/* Prepare a program for such links; before it is loaded. */
void gt_multi_link_prepare(struct bpf_program *program, enum gt_multi_link kind);

/*
 * Link a program to `count` offsets of a file, each with its cookie. One bad offset makes the whole
 * link fail. A descriptor, or -Exxx.
 */
int gt_multi_link_functions(int program, const char *path, const uint64_t *offsets,
			    const uint64_t *cookies, size_t count, enum gt_multi_link kind);
