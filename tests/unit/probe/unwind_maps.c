/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules of files in the maps of the BPF programs. Needs the right to create maps. */
#include "probe/api/unwind_maps.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "elf/unwind_row.h"
#include "event/kinds.h"
#include "probe/api/unwind.h"
#include "tap.h"

/* By a function that sanitizers do not replace. */
static const char *libc_path(void)
{
	Dl_info info;

	return dladdr((void *)gnu_get_libc_version, &info) ? info.dli_fname : "";
}

/* A smaller file: the loader. */
static const char *loader_path(void)
{
	Dl_info info;

	return dladdr((void *)getauxval(AT_BASE), &info) ? info.dli_fname : "";
}

static struct gt_unwind_maps *open_maps(struct gt_event_queue *notes, size_t limit)
{
	struct gt_unwind_maps *maps = NULL;

	return gt_unwind_maps_open(notes, limit, &maps, NULL) ? NULL : maps;
}

/* The rows of a file in the map; 0: none. */
static __u32 count_rows(const struct gt_unwind_maps *maps, const char *path)
{
	struct gt_unwind_range range = {0};
	struct stat status;

	if (stat(path, &status))
		return 0;
	if (bpf_map_lookup_elem(gt_unwind_maps_fds(maps).files,
				&(struct gt_unwind_file){status.st_ino, (__u64)status.st_size},
				&range))
		return 0;
	return range.count;
}

TEST("the files of a process are added once each")
{
	struct gt_event_queue notes = {0};
	gt_auto(unwind_maps) struct gt_unwind_maps *maps = open_maps(&notes, 1 << 20);
	__u32 count;

	if (!maps)
		SKIP("maps cannot be created");
	gt_unwind_maps_add_process(maps, getpid());
	count = count_rows(maps, libc_path());
	CHECK(count > 5000);
	CHECK(count_rows(maps, "/proc/self/exe") > 0);
	gt_unwind_maps_add(maps, libc_path(), 0);
	CHECK_INT(count_rows(maps, libc_path()), count);
	CHECK_INT(notes.events.count, 0);
	gt_event_queue_clear(&notes);
}

TEST("a file that does not fit is noted once, and smaller ones are still added")
{
	struct gt_event_queue notes = {0};
	gt_auto(unwind_maps) struct gt_unwind_maps *maps = open_maps(&notes, 5000);

	if (!maps)
		SKIP("maps cannot be created");
	gt_unwind_maps_add(maps, libc_path(), 0);
	gt_unwind_maps_add(maps, libc_path(), 0);
	CHECK_INT(count_rows(maps, libc_path()), 0);
	CHECK_INT(notes.events.count, 1);
	CHECK_INT(notes.events.items[0]->kind, GT_EVENT_note);
	gt_unwind_maps_add(maps, loader_path(), 0);
	CHECK(count_rows(maps, loader_path()) > 0);
	gt_event_queue_clear(&notes);
}

/* The mapping of an address in the map, as the BPF programs find it; NULL: none. */
static const struct gt_code_mapping *find_code(const struct gt_unwind_maps *maps, __u64 address)
{
	static struct gt_code_block block;
	struct gt_code_block_key key = {.block = address >> GT_CODE_BLOCK_SHIFT,
					.process = (__u32)getpid()};

	if (bpf_map_lookup_elem(gt_unwind_maps_fds(maps).blocks, &key, &block))
		return NULL;
	for (size_t i = 0; i < GT_CODE_BLOCK_MAPPINGS; i++)
		if (address >= block.mappings[i].start && address < block.mappings[i].end)
			return &block.mappings[i];
	return NULL;
}

TEST("the mappings of a process are found by address, with the rows of their files")
{
	struct gt_event_queue notes = {0};
	gt_auto(unwind_maps) struct gt_unwind_maps *maps = open_maps(&notes, 1 << 20);
	const struct gt_code_mapping *code;

	if (!maps)
		SKIP("maps cannot be created");
	gt_unwind_maps_add_process(maps, getpid());
	code = find_code(maps, (__u64)gnu_get_libc_version);
	CHECK(code && code->range.count == count_rows(maps, libc_path()));
	code = find_code(maps, (__u64)find_code);
	CHECK(code && code->range.count == count_rows(maps, "/proc/self/exe"));
	CHECK(!find_code(maps, (__u64)&notes));
	gt_event_queue_clear(&notes);
}

TEST("a mapping replaces those that it overlaps, and the oldest one where a block is full")
{
	struct gt_event_queue notes = {0};
	gt_auto(unwind_maps) struct gt_unwind_maps *maps = open_maps(&notes, 1 << 16);
	const __u64 start = 1ull << 40;

	if (!maps)
		SKIP("maps cannot be created");
	for (__u64 i = 0; i <= GT_CODE_BLOCK_MAPPINGS; i++) {
		struct gt_event_mapping *event =
			(void *)gt_event_new(GT_EVENT_mapping, libc_path(), strlen(libc_path()));

		event->head.process = (__u32)getpid();
		event->start = start + i * 8192;
		event->end = event->start + 4096;
		event->offset = i;
		gt_unwind_maps_add_mapping(maps, event);
		free(event);
	}
	CHECK(!find_code(maps, start));
	for (__u64 i = 1; i <= GT_CODE_BLOCK_MAPPINGS; i++) {
		const struct gt_code_mapping *code = find_code(maps, start + i * 8192 + 4095);

		CHECK(code && code->offset == i);
		CHECK(!find_code(maps, start + i * 8192 + 4096));
	}
	gt_event_queue_clear(&notes);
}

TEST("another inode than the mapped one, and what is not an ELF, have no rules")
{
	struct gt_event_queue notes = {0};
	gt_auto(unwind_maps) struct gt_unwind_maps *maps = open_maps(&notes, 1 << 20);

	if (!maps)
		SKIP("maps cannot be created");
	gt_unwind_maps_add(maps, libc_path(), 1);
	CHECK_INT(count_rows(maps, libc_path()), 0);
	gt_unwind_maps_add(maps, "/etc/passwd", 0);
	CHECK_INT(count_rows(maps, "/etc/passwd"), 0);
	gt_unwind_maps_add(maps, "/nowhere", 0);
	CHECK_INT(notes.events.count, 0);
	gt_event_queue_clear(&notes);
}

TEST_MAIN
