/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/kernels/search.h"

#include <errno.h>
#include <string.h>

#include "api/kernels/library.h"
#include "base/hash.h"
#include "base/vec.h"

#define OTHER_ENTRIES 16 /* the part of the limit for them */

struct searched_file {
	char *path;
	struct gt_kernel_library *library; /* NULL: not opened yet, or no code in it */
};

struct gt_kernel_search {
	struct gt_parameters *found;
	GT_VEC(struct searched_file *) files; /* those that were opened by their size */
	size_t opened;                        /* files before this one were opened */
	struct gt_hash *paths;                /* -> struct searched_file */
	struct gt_hash *missing;              /* names that are in no file -> any */
	uint64_t budgets[2];                  /* bytes left, by enum gt_kernel_entries */
	bool is_limited;
};

struct gt_kernel_search *gt_kernel_search_new(uint64_t limit)
{
	gt_auto(kernel_search) struct gt_kernel_search *search = calloc(1, sizeof(*search));

	if (!search)
		return NULL;
	search->budgets[GT_KERNEL_FIRST_ENTRIES] = limit - limit / OTHER_ENTRIES;
	search->budgets[GT_KERNEL_ALL_ENTRIES] = limit / OTHER_ENTRIES;
	search->found = gt_parameters_new();
	search->paths = gt_hash_new();
	search->missing = gt_hash_new();
	return search->found && search->paths && search->missing ? gt_take(search) : NULL;
}

static void free_file(void *value)
{
	struct searched_file *file = value;

	gt_kernel_library_free(file->library);
	free(file->path);
	free(file);
}

void gt_kernel_search_free(struct gt_kernel_search *search)
{
	if (!search)
		return;
	gt_vec_each (file, &search->files)
		free_file(*file);
	gt_vec_free(&search->files);
	gt_hash_free(search->paths);
	gt_hash_free(search->missing);
	gt_parameters_free(search->found);
	free(search);
}

struct gt_parameters *gt_kernel_search_found(struct gt_kernel_search *search)
{
	return search->found;
}

bool gt_kernel_search_is_limited(const struct gt_kernel_search *search)
{
	return search->is_limited;
}

/* What was in no file may be in a new one. */
static int forget_missing(struct gt_kernel_search *search)
{
	struct gt_hash *empty;

	if (!gt_hash_count(search->missing))
		return 0;
	empty = gt_hash_new();
	if (!empty)
		return -ENOMEM;
	gt_hash_free(search->missing);
	search->missing = empty;
	return 0;
}

int gt_kernel_search_add(struct gt_kernel_search *search, const char *path, size_t length)
{
	struct searched_file *file;

	if (gt_hash_get(search->paths, path, length))
		return 0;
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->path = strndup(path, length);
	if (!file->path || gt_vec_push(&search->files, file)) {
		free_file(file);
		return -ENOMEM;
	}
	if (gt_hash_set(search->paths, path, length, file))
		return -ENOMEM;
	return forget_missing(search);
}

static uint64_t size_of(const struct searched_file *file)
{
	return file->library ? gt_kernel_library_size(file->library) : 0;
}

static int by_size(const void *a, const void *b)
{
	const struct searched_file *const *one = a, *const *other = b;
	uint64_t first = size_of(*one), second = size_of(*other);

	return first != second ? (first < second ? -1 : 1) : strcmp((*one)->path, (*other)->path);
}

/* A file that cannot be opened has no kernels that could be found. */
static void open_files(struct gt_kernel_search *search)
{
	if (search->opened == search->files.count)
		return;
	for (size_t i = search->opened; i < search->files.count; i++)
		gt_kernel_library_open(search->files.items[i]->path,
				       &search->files.items[i]->library, NULL);
	search->opened = search->files.count;
	qsort(search->files.items, search->files.count, sizeof(*search->files.items), by_size);
}

static void search_file(struct gt_kernel_search *search, const struct searched_file *file,
			const char *name, enum gt_kernel_entries entries)
{
	if (file->library &&
	    gt_kernel_library_find(file->library, name, entries, &search->budgets[entries],
				   search->found, NULL) == -E2BIG)
		search->is_limited = true;
}

static void search_files(struct gt_kernel_search *search, const char *name, const char *first)
{
	static const enum gt_kernel_entries passes[] = {GT_KERNEL_FIRST_ENTRIES,
							GT_KERNEL_ALL_ENTRIES};
	const struct searched_file *expected = first ? gt_hash_get_str(search->paths, first) : NULL;

	if (expected)
		search_file(search, expected, name, GT_KERNEL_FIRST_ENTRIES);
	for (size_t pass = 0; pass < gt_countof(passes); pass++)
		for (size_t i = 0;
		     i < search->files.count && !gt_parameters_find(search->found, name); i++)
			search_file(search, search->files.items[i], name, passes[pass]);
}

const struct gt_kernel *gt_kernel_search_find(struct gt_kernel_search *search, const char *name,
					      const char *first)
{
	const struct gt_kernel *found = gt_parameters_find(search->found, name);

	if (found || gt_hash_get_str(search->missing, name))
		return found;
	open_files(search);
	search_files(search, name, first);
	found = gt_parameters_find(search->found, name);
	/* Without memory it is sought again. */
	if (!found)
		gt_hash_set_str(search->missing, name, search);
	return found;
}
