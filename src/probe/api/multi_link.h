/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Links of a program to many functions of a file at once: uprobe_multi (Linux 6.6). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_program;

/* Check whether uprobe_multi links can be created with these privileges. 0 or -Exxx. */
int gt_multi_link_check(void);

/* Prepare a program for uprobe_multi; before it is loaded. */
void gt_multi_link_prepare(struct bpf_program *program);

/*
 * Link a program to `count` offsets of a file, each with its cookie. One bad offset makes the whole
 * link fail. A descriptor, or -Exxx.
 */
int gt_multi_link_functions(int program, const char *path, const uint64_t *offsets,
			    const uint64_t *cookies, size_t count, bool is_return);
