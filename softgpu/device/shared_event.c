/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/shared_event.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "device/context.h"

/* In memory that processes share. */
struct shared_event_page {
	char magic[8];
	atomic_uint_least64_t submitted;
	atomic_uint_least64_t done;
};

struct sg_shared_event {
	atomic_uint references;
	int fd;
	struct shared_event_page *page;
};

static const char magic[8] = "sgevent";

static CUresult map_page(int fd, struct sg_shared_event **ret_shared)
{
	struct sg_shared_event *shared = calloc(1, sizeof(*shared));
	void *page = mmap(NULL, sizeof(*shared->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (!shared || page == MAP_FAILED) {
		if (page != MAP_FAILED)
			munmap(page, sizeof(*shared->page));
		free(shared);
		close(fd);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*shared = (struct sg_shared_event){1, fd, page};
	*ret_shared = shared;
	return CUDA_SUCCESS;
}

CUresult sg_shared_event_new(struct sg_shared_event **ret_shared)
{
	int fd = memfd_create("softgpu-event", MFD_CLOEXEC);
	CUresult result;

	if (fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (ftruncate(fd, sizeof(struct shared_event_page))) {
		close(fd);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	result = map_page(fd, ret_shared);
	if (!result)
		memcpy((*ret_shared)->page->magic, magic, sizeof(magic));
	return result;
}

CUresult sg_shared_event_open(int fd, struct sg_shared_event **ret_shared)
{
	struct sg_shared_event *shared;
	struct stat status;
	CUresult result;

	if (fstat(fd, &status) || status.st_size != sizeof(struct shared_event_page)) {
		close(fd);
		return CUDA_ERROR_INVALID_HANDLE;
	}
	result = map_page(fd, &shared);
	if (result)
		return result;
	if (memcmp(shared->page->magic, magic, sizeof(magic)) != 0) {
		sg_shared_event_unreference(shared);
		return CUDA_ERROR_INVALID_HANDLE;
	}
	*ret_shared = shared;
	return CUDA_SUCCESS;
}

struct sg_shared_event *sg_shared_event_reference(struct sg_shared_event *shared)
{
	atomic_fetch_add(&shared->references, 1);
	return shared;
}

void sg_shared_event_unreference(struct sg_shared_event *shared)
{
	if (!shared || atomic_fetch_sub(&shared->references, 1) > 1)
		return;
	munmap(shared->page, sizeof(*shared->page));
	close(shared->fd);
	free(shared);
}

int sg_shared_event_file(const struct sg_shared_event *shared)
{
	return shared->fd;
}

uint64_t sg_shared_event_submit(struct sg_shared_event *shared)
{
	return atomic_fetch_add(&shared->page->submitted, 1) + 1;
}

uint64_t sg_shared_event_last(const struct sg_shared_event *shared)
{
	return atomic_load(&shared->page->submitted);
}

void sg_shared_event_signal(struct sg_shared_event *shared, uint64_t number)
{
	uint64_t done = atomic_load(&shared->page->done);

	while (number > done && !atomic_compare_exchange_weak(&shared->page->done, &done, number))
		;
}

bool sg_shared_event_is_there(const struct sg_shared_event *shared, uint64_t number)
{
	return atomic_load(&shared->page->done) >= number;
}

CUresult sg_shared_event_wait(const struct sg_shared_event *shared, uint64_t number,
			      CUcontext context)
{
	const struct timespec pause = {0, 20000};

	while (!sg_shared_event_is_there(shared, number)) {
		if (atomic_load(&context->error))
			return (CUresult)atomic_load(&context->error);
		nanosleep(&pause, NULL);
	}
	return CUDA_SUCCESS;
}
