/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading and writing whole files. Every file is untrusted, and may be a pipe or a device. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clean.h"
#include "base/diag.h"

/* The contents of a file. */
struct gt_file {
	uint8_t *data; /* followed by a NUL, which `size` does not include */
	size_t size;
};

/*
 * Reads a whole file of at most `limit` bytes. 0; -EFBIG: it is longer; -EISDIR; errors of open(2)
 * and read(2). diag may be NULL. The caller frees *ret_file with gt_file_free.
 */
int gt_file_read(const char *path, size_t limit, struct gt_file *ret_file, struct gt_diag *diag);
void gt_file_free(struct gt_file *file);

/* Whether both paths name one regular file, be it by links or from different folders. */
bool gt_is_same_file(const char *path, const char *other);

/* Writes all bytes, continuing after signals and short writes. 0 or -Exxx. */
int gt_write_all(int fd, const void *data, size_t size);
/*
 * The same in pieces that end at a newline, of at most PIPE_BUF bytes if no line is longer: what
 * several processes write to a pipe is not mixed within such a piece (pipe(7)).
 */
int gt_write_lines(int fd, const char *text, size_t size);
/* Reads `size` bytes, or fewer at the end of the file. Returns the bytes read or -Exxx. */
ssize_t gt_read_all(int fd, void *data, size_t size);

/* Bytes of a file, up to `end`. */
struct gt_file_part {
	size_t from, end;
};

/*
 * Finds the first part between `from` and `end` that has data. Before it are holes, which
 * read as zeros: in a memfd, pages that nothing has touched yet, and that a read would allocate.
 * false: there is none. In a file that is not regular, or is shorter than `end`, everything counts
 * as data.
 */
bool gt_file_find_data(int fd, size_t from, size_t end, struct gt_file_part *ret_part);

static inline void gt_cleanup_file(struct gt_file *file)
{
	gt_file_free(file);
}
#define gt_auto_file __attribute__((cleanup(gt_cleanup_file))) struct gt_file
