/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/unwind_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "elf/proc_maps.h"
#include "elf/unwind_rows.h"
#include "event/kinds.h"
#include "probe/api/unwind.h"
#include "probe/load.h"

#define MIN_ROWS (1u << 16)

struct gt_unwind_maps {
	struct gt_event_queue *notes;
	struct gt_unwind_fds fds;
	size_t limit, used;    /* rows */
	__u32 file_count;      /* that have rows */
	struct gt_hash *files; /* struct gt_unwind_file -> any: those that were read */
};

/* A table that takes too much of the memory is made smaller. */
static int make_rows(struct gt_unwind_maps *maps, size_t limit)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);

	for (;; limit /= 4) {
		maps->limit = limit;
		maps->fds.rows =
			bpf_map_create(BPF_MAP_TYPE_ARRAY, "gputap_rows", sizeof(__u32),
				       sizeof(struct gt_unwind_row), (__u32)limit, &options);
		if (maps->fds.rows >= 0)
			return 0;
		if (errno != ENOMEM || limit / 4 < MIN_ROWS)
			return -errno;
	}
}

int gt_unwind_maps_open(struct gt_event_queue *notes, size_t limit,
			struct gt_unwind_maps **ret_maps, struct gt_diag *diag)
{
	LIBBPF_OPTS(bpf_map_create_opts, files, .map_flags = BPF_F_NO_PREALLOC);
	gt_auto(unwind_maps) struct gt_unwind_maps *maps = calloc(1, sizeof(*maps));
	int error;

	if (!maps)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	maps->notes = notes;
	maps->fds = (struct gt_unwind_fds){-1, -1, -1};
	maps->files = gt_hash_new();
	if (!maps->files)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	error = make_rows(maps, limit);
	if (error)
		return gt_load_failed(error, "cuda", diag);
	maps->fds.files =
		bpf_map_create(BPF_MAP_TYPE_HASH, "gputap_files", sizeof(struct gt_unwind_file),
			       sizeof(struct gt_unwind_range), GT_UNWIND_MAX_FILES, &files);
	if (maps->fds.files < 0)
		return gt_load_failed(-errno, "cuda", diag);
	maps->fds.blocks = bpf_map_create(BPF_MAP_TYPE_LRU_HASH, "gputap_blocks",
					  sizeof(struct gt_code_block_key),
					  sizeof(struct gt_code_block), GT_CODE_MAX_BLOCKS, NULL);
	if (maps->fds.blocks < 0)
		return gt_load_failed(-errno, "cuda", diag);
	*ret_maps = gt_take(maps);
	return 0;
}

void gt_unwind_maps_close(struct gt_unwind_maps *maps)
{
	if (!maps)
		return;
	if (maps->fds.rows >= 0)
		close(maps->fds.rows);
	if (maps->fds.files >= 0)
		close(maps->fds.files);
	if (maps->fds.blocks >= 0)
		close(maps->fds.blocks);
	gt_hash_free(maps->files);
	free(maps);
}

struct gt_unwind_fds gt_unwind_maps_fds(const struct gt_unwind_maps *maps)
{
	return maps->fds;
}

/*
 * Copy rows to the end of the table. Only their pages are mapped, while they are written: the
 * kernel maps all pages of a map at once, and they count as memory of this process.
 */
static int write_rows(struct gt_unwind_maps *maps, const struct gt_unwind_rows *rows)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = rows->count * sizeof(*rows->items);
	size_t at = maps->used * sizeof(*rows->items), begin = at & -page;
	uint8_t *window;

	if (!size)
		return 0;
	window = mmap(NULL, at + size - begin, PROT_READ | PROT_WRITE, MAP_SHARED, maps->fds.rows,
		      (off_t)begin);
	if (window == MAP_FAILED)
		return -errno;
	memcpy(window + (at - begin), rows->items, size);
	munmap(window, at + size - begin);
	return 0;
}

/* The rows are complete before the programs find them. */
static int publish_rows(struct gt_unwind_maps *maps, const struct gt_unwind_file *file,
			const struct gt_unwind_rows *rows)
{
	const struct gt_unwind_range range = {
		.first = (__u32)maps->used,
		.count = (__u32)rows->count,
		.file = maps->file_count,
	};

	if (maps->file_count == GT_UNWIND_MAX_FILES)
		return -E2BIG;
	if (write_rows(maps, rows))
		return -ENOMEM;
	if (bpf_map_update_elem(maps->fds.files, file, &range, BPF_ANY))
		return -E2BIG;
	maps->used += rows->count;
	maps->file_count++;
	return 0;
}

static int read_rules(struct gt_unwind_maps *maps, const char *path,
		      const struct gt_unwind_file *file)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	struct gt_unwind_rows rows;
	int error = gt_elf_open(path, &elf, NULL);

	if (!error)
		error = gt_unwind_rows_read(elf, maps->limit - maps->used, &rows);
	if (error)
		return error;
	error = publish_rows(maps, file, &rows);
	gt_unwind_rows_free(&rows);
	return error;
}

/* Whether the file can be read; *ret_file is its key then. */
static bool identify(const char *path, uint64_t inode, struct gt_unwind_file *ret_file)
{
	struct stat status;

	/* The programs know a file by its inode: another one of this name has other rules. */
	if (stat(path, &status) || !S_ISREG(status.st_mode) || (inode && status.st_ino != inode))
		return false;
	*ret_file = (struct gt_unwind_file){status.st_ino, (__u64)status.st_size};
	return true;
}

static void add_file(struct gt_unwind_maps *maps, const char *path,
		     const struct gt_unwind_file *file)
{
	if (gt_hash_get(maps->files, file, sizeof(*file)) ||
	    gt_hash_set(maps->files, file, sizeof(*file), maps) ||
	    read_rules(maps, path, file) != -E2BIG)
		return;
	gt_event_queue_note(maps->notes,
			    "the unwinding rules of %s do not fit: its functions without frame "
			    "pointer hide their callers; --stack dwarf shows them",
			    path);
}

void gt_unwind_maps_add(struct gt_unwind_maps *maps, const char *path, uint64_t inode)
{
	struct gt_unwind_file file;

	if (identify(path, inode, &file))
		add_file(maps, path, &file);
}

/* Puts a mapping first into a block, in place of those that it replaces or of the oldest one. */
static void put_in_block(struct gt_code_block *block, const struct gt_code_mapping *mapping)
{
	struct gt_code_block old = *block;
	size_t count = 1;

	*block = (struct gt_code_block){.mappings = {*mapping}};
	for (size_t i = 0; i < GT_CODE_BLOCK_MAPPINGS && count < GT_CODE_BLOCK_MAPPINGS; i++)
		if (old.mappings[i].end <= mapping->start || old.mappings[i].start >= mapping->end)
			block->mappings[count++] = old.mappings[i];
}

static void add_to_blocks(const struct gt_unwind_maps *maps, uint32_t process,
			  const struct gt_code_mapping *mapping)
{
	struct gt_code_block_key key = {.process = process};
	uint64_t last = (mapping->end - 1) >> GT_CODE_BLOCK_SHIFT;

	key.block = mapping->start >> GT_CODE_BLOCK_SHIFT;
	if (mapping->start >= mapping->end || last - key.block >= GT_CODE_MAX_BLOCKS / 4)
		return;
	for (; key.block <= last; key.block++) {
		struct gt_code_block block;

		if (bpf_map_lookup_elem(maps->fds.blocks, &key, &block))
			block = (struct gt_code_block){0};
		put_in_block(&block, mapping);
		bpf_map_update_elem(maps->fds.blocks, &key, &block, BPF_ANY);
	}
}

static void add_mapping(struct gt_unwind_maps *maps, uint32_t process, const char *path,
			uint64_t inode, struct gt_code_mapping *mapping)
{
	struct gt_unwind_file file;

	if (!identify(path, inode, &file))
		return;
	add_file(maps, path, &file);
	if (bpf_map_lookup_elem(maps->fds.files, &file, &mapping->range))
		mapping->range = (struct gt_unwind_range){0};
	add_to_blocks(maps, process, mapping);
}

void gt_unwind_maps_add_mapping(struct gt_unwind_maps *maps, const struct gt_event_mapping *mapping)
{
	size_t length;
	const char *text = gt_event_text(&mapping->head, &length);
	gt_autofree char *path = strndup(text, length);
	struct gt_code_mapping code = {
		.start = mapping->start, .end = mapping->end, .offset = mapping->offset};

	if (path)
		add_mapping(maps, mapping->head.process, path, mapping->inode, &code);
}

void gt_unwind_maps_add_process(struct gt_unwind_maps *maps, pid_t process)
{
	gt_auto_proc_maps mapped = {0};
	gt_auto_strbuf path = GT_STRBUF_INIT;

	if (gt_proc_maps_read(process, &mapped, NULL))
		return;
	for (size_t i = 0; i < mapped.count; i++) {
		const struct gt_proc_mapping *mapping = &mapped.items[i];
		struct gt_code_mapping code = {
			.start = mapping->start, .end = mapping->end, .offset = mapping->offset};

		if (mapping->executable && gt_proc_mapping_is_file(mapping) &&
		    !gt_proc_mapping_path(&mapped, mapping, &path, NULL) && !path.failed)
			add_mapping(maps, (uint32_t)process, gt_strbuf_string(&path),
				    mapping->inode, &code);
	}
}
