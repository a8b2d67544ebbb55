/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files that the program loads by their path. The program's allocator has no part in it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/caller.h"
#include "agent/protocol.h"

static bool read_bytes(int fd, char *data, size_t size)
{
	while (size) {
		ssize_t got = read(fd, data, size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		data += got;
		size -= (size_t)got;
	}
	return true;
}

static void read_open_file(int fd, struct gt_agent_file *file)
{
	struct stat status;
	void *data;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size <= 0 ||
	    status.st_size >= GT_AGENT_MAX_IMAGE)
		return;
	file->size = (size_t)status.st_size + 1;
	data = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return;
	file->data = data;
	if (!read_bytes(fd, data, file->size - 1))
		gt_agent_unmap_file(file);
}

struct gt_agent_file gt_agent_read_file(const char *path)
{
	const struct gt_agent_caller caller = gt_agent_save_caller();
	struct gt_agent_file file = {0};
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

	if (fd >= 0) {
		read_open_file(fd, &file);
		close(fd);
	}
	gt_agent_restore_caller(&caller);
	return file;
}

void gt_agent_unmap_file(struct gt_agent_file *file)
{
	if (file->data)
		munmap(file->data, file->size);
	file->data = NULL;
}
