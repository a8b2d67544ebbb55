/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/calls/calls.h"

enum {
	PAGE_BYTES = 4096, /* the smallest page size: mappings end at a multiple */
	MAX_PARTS = 4,
};

size_t gt_call_read(void *to, size_t size, uint64_t from)
{
	size_t first = PAGE_BYTES - (from & (PAGE_BYTES - 1));
	struct iovec target = {.iov_base = to, .iov_len = size}, source[MAX_PARTS];
	unsigned parts = 0;
	int error = errno;
	ssize_t count;

	/* A part is read as a whole or not at all: process_vm_readv(2). */
	for (size_t at = 0, end = first; at < size && parts < MAX_PARTS; end += PAGE_BYTES) {
		size_t next = end < size ? end : size;

		source[parts++] = (struct iovec){(void *)(uintptr_t)(from + at), next - at};
		at = next;
	}
	count = process_vm_readv(getpid(), &target, 1, source, parts, 0);

	errno = error;
	return count < 0 ? 0 : (size_t)count;
}
