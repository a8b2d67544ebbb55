/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clean-up when a variable leaves its scope (the compiler's cleanup attribute). */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Moves ownership out of a variable: returns its value and sets it to NULL. */
#define gt_take(pointer)                                                                           \
	({                                                                                         \
		__typeof__(pointer) gt_taken = (pointer);                                          \
		(pointer) = NULL;                                                                  \
		gt_taken;                                                                          \
	})

/* The same for a file descriptor, which becomes -1. */
static inline int gt_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void gt_cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void gt_cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void gt_cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define gt_autofree __attribute__((cleanup(gt_cleanup_free)))
#define gt_autoclose __attribute__((cleanup(gt_cleanup_close)))
#define gt_autofclose __attribute__((cleanup(gt_cleanup_fclose)))

/*
 * GT_DEFINE_AUTO(name, type, release): defines gt_auto(name), with which `gt_auto(name) type *x`
 * calls release(x) at the end of the scope. release accepts NULL.
 */
#define GT_DEFINE_AUTO(name, type, release)                                                        \
	static inline void gt_cleanup_##name(type **pointer)                                       \
	{                                                                                          \
		release(*pointer);                                                                 \
	}
#define gt_auto(name) __attribute__((cleanup(gt_cleanup_##name)))

#define gt_countof(array) (sizeof(array) / sizeof((array)[0]))
#define gt_unused __attribute__((unused))
#define gt_printf(text, first) __attribute__((format(printf, text, first)))
