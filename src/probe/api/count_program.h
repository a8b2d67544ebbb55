/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The program count_session of calls.bpf.c: calls that are only counted (count.bpf.h). */
#pragma once

#include "probe/api/attach.h"
#include "probe/api/sums.h"

struct bpf_program;
struct gt_host;

/* Whether it counts what the user wants: each call of a function, whatever its result is. */
bool gt_count_program_suits(const struct gt_host *host, size_t functions);
/*
 * Prepare it, before it is loaded; its method is GT_ATTACH_SESSION. -EOPNOTSUPP or another error:
 * this kernel cannot run it, call_session can.
 */
int gt_count_program_prepare(struct bpf_program *program);
/* Give it a key that no other tool knows; 0 or -Exxx. */
int gt_count_program_key(uint64_t *ret_key);
/* The cookie of a function that it counts. */
uint64_t gt_count_program_cookie(uint64_t cookie, const gt_summed_functions *functions);
