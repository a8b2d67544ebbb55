/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t gt_read_all(int fd, void *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (char *)data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += n;
	}
	return done;
}

int gt_write_all(int fd, const void *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = write(fd, (const char *)data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += n;
	}
	return 0;
}

/* The bytes of the first piece: as many whole lines as PIPE_BUF bytes hold, at least one. */
static size_t measure_lines(const char *text, size_t size)
{
	const char *newline;

	if (size <= PIPE_BUF)
		return size;
	newline = memrchr(text, '\n', PIPE_BUF);
	if (!newline)
		newline = memchr(text + PIPE_BUF, '\n', size - PIPE_BUF);
	return newline ? (size_t)(newline + 1 - text) : size;
}

int gt_write_lines(int fd, const char *text, size_t size)
{
	int error = 0;

	while (size && !error) {
		size_t piece = measure_lines(text, size);

		error = gt_write_all(fd, text, piece);
		text += piece;
		size -= piece;
	}
	return error;
}

/* Reads to the end of the file; st_size is not used, since it is 0 in /proc. */
static int read_to_end(int fd, size_t expected, size_t limit, struct gt_file *ret_file)
{
	size_t capacity = expected < limit ? expected + 1 : limit + 1;
	size_t size = 0;
	gt_autofree uint8_t *data = NULL;

	if (capacity < 4096)
		capacity = 4096;
	for (;;) {
		uint8_t *grown = realloc(data, capacity + 1);
		ssize_t n;

		if (!grown)
			return -ENOMEM;
		data = grown;
		n = gt_read_all(fd, data + size, capacity - size);
		if (n < 0)
			return n;
		size += n;
		if (size > limit)
			return -EFBIG;
		if (size < capacity)
			break;
		capacity *= 2;
	}
	data[size] = 0;
	ret_file->data = gt_take(data);
	ret_file->size = size;
	return 0;
}

int gt_file_read(const char *path, size_t limit, struct gt_file *ret_file, struct gt_diag *diag)
{
	gt_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat status;
	int error;

	if (fd < 0)
		return gt_diag_file(diag, -errno, "read", path, GT_FILE_READ, NULL);
	if (fstat(fd, &status) < 0)
		return gt_diag_file(diag, -errno, "read", path, GT_FILE_READ, NULL);
	if (S_ISDIR(status.st_mode))
		return gt_diag_file(diag, -EISDIR, "read", path, GT_FILE_READ, NULL);
	error = read_to_end(fd, S_ISREG(status.st_mode) ? status.st_size : 0, limit, ret_file);
	if (error == -EFBIG)
		return gt_diag(diag, error, "read", path,
			       "longer than %zu bytes, which is the limit", limit);
	if (error)
		return gt_diag_file(diag, error, "read", path, GT_FILE_READ, NULL);
	return 0;
}

void gt_file_free(struct gt_file *file)
{
	free(file->data);
	*file = (struct gt_file){0};
}

bool gt_is_same_file(const char *path, const char *other)
{
	struct stat first, second;

	return !stat(path, &first) && !stat(other, &second) && S_ISREG(first.st_mode) &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool gt_file_find_data(int fd, size_t from, size_t end, struct gt_file_part *ret_part)
{
	struct gt_file_part part = {from, end};
	struct stat status;
	off_t found;

	if (from >= end)
		return false;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || (uint64_t)status.st_size < end) {
		*ret_part = part;
		return true;
	}
	found = lseek(fd, (off_t)from, SEEK_DATA);
	if (found < 0 ? errno == ENXIO : (size_t)found >= end)
		return false;
	if (found >= 0) {
		part.from = (size_t)found;
		found = lseek(fd, found, SEEK_HOLE);
	}
	if (found >= 0 && (size_t)found < end)
		part.end = (size_t)found;
	*ret_part = part;
	return true;
}
