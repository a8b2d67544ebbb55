/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The limit of file sizes, which counts for memfds, too: a write beyond it is a SIGXFSZ. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

/* Whether this process may write a file of `size` bytes. */
static inline bool gt_may_write(size_t size)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) &&
	       (limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur);
}
