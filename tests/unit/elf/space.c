/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The address spaces of processes. */
#include "elf/space.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

/* Maps a file in process 1: "/a" has inode 5, "/b" 6. The path is followed by other bytes. */
static int map(struct gt_space *space, uint64_t start, uint64_t end, const char *path)
{
	char bytes[] = "/?\0rest";

	bytes[1] = path[1];
	return gt_space_map(space, 1,
			    &(struct gt_space_request){.start = start,
						       .end = end,
						       .inode = path[1] == 'a' ? 5 : 6,
						       .path = bytes,
						       .length = sizeof(bytes) - 1});
}

TEST("a later mapping replaces the parts that it covers")
{
	gt_auto(space) struct gt_space *space = gt_space_new();
	const struct gt_space_mapping *mapping;

	CHECK_INT(gt_space_map(space, 1,
			       &(struct gt_space_request){.start = 0x1000,
							  .end = 0x9000,
							  .offset = 0x100000,
							  .inode = 5,
							  .path = "/a",
							  .length = 2}),
		  0);
	CHECK_INT(map(space, 0x3000, 0x5000, "/b"), 0);
	CHECK_STR(gt_space_at(space, 1, 0x2fff)->file->path, "/a");
	CHECK_STR(gt_space_at(space, 1, 0x3000)->file->path, "/b");
	mapping = gt_space_at(space, 1, 0x5000);
	CHECK_STR(mapping->file->path, "/a");
	CHECK_INT(mapping->start, 0x5000);
	CHECK_INT(mapping->offset, 0x104000);
	CHECK_INT(map(space, 0x2000, 0x9000, "/b"), 0);
	CHECK_INT(gt_space_at(space, 1, 0x1fff)->end, 0x2000);
	CHECK_INT(gt_space_at(space, 1, 0x8fff)->start, 0x2000);
	CHECK(gt_space_at(space, 1, 0x9000) == NULL);
	CHECK(gt_space_at(space, 1, 0xfff) == NULL);
	CHECK_INT(gt_space_at(space, 1, 0x8fff)->file->number, 1);
}

TEST("a child has its parent's mappings until it gets its own")
{
	gt_auto(space) struct gt_space *space = gt_space_new();

	CHECK_INT(map(space, 0x1000, 0x2000, "/a"), 0);
	CHECK_INT(gt_space_fork(space, 1, 2), 0);
	CHECK_INT(map(space, 0x1000, 0x2000, "/b"), 0);
	CHECK_STR(gt_space_at(space, 2, 0x1000)->file->path, "/a");
	gt_space_forget(space, 1);
	CHECK(gt_space_at(space, 1, 0x1000) == NULL);
	CHECK_STR(gt_space_at(space, 2, 0x1000)->file->path, "/a");
	CHECK_INT(gt_space_fork(space, 3, 2), 0);
	CHECK_STR(gt_space_at(space, 2, 0x1000)->file->path, "/a");
}

TEST("an empty mapping is rejected, and so are more than a process can have")
{
	gt_auto(space) struct gt_space *space = gt_space_new();
	int error = 0;
	uint64_t i = 1;

	CHECK_INT(map(space, 0x1000, 0x1000, "/a"), -EINVAL);
	CHECK_INT(map(space, 0x2000, 0x1000, "/a"), -EINVAL);
	for (; i < 100000 && !error; i++)
		error = map(space, i * 8192, i * 8192 + 4096, "/a");
	CHECK_INT(error, -E2BIG);
	CHECK_INT(i, GT_SPACE_MAX_MAPPINGS + 1);
}

TEST_MAIN
