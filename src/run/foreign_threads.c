/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/foreign_threads.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/proc_status.h"

enum {
	MAX_FOREIGN_THREADS = 1 << 16, /* ids that are kept: a traced process can write any */
};

struct gt_foreign_threads {
	pid_t process;
	struct gt_hash *ids; /* id in its own namespace -> id here + 1; id 0: not found */
};

/* Without memory the id is looked for again. */
static void keep_id(struct gt_foreign_threads *threads, uint32_t inner, uint32_t id)
{
	if (gt_hash_count(threads->ids) < MAX_FOREIGN_THREADS)
		(void)gt_hash_set_u64(threads->ids, inner, (void *)((uintptr_t)id + 1));
}

/* 0: not known, or known not to exist: then *ret_kept. */
static uint32_t kept_id(const struct gt_foreign_threads *threads, uint32_t inner, bool *ret_kept)
{
	uintptr_t value = (uintptr_t)gt_hash_get_u64(threads->ids, inner);

	*ret_kept = value;
	return value ? (uint32_t)(value - 1) : 0;
}

static void read_thread(struct gt_foreign_threads *threads, const char *name)
{
	char directory[48];
	uint32_t inner;

	if (*name == '.' || snprintf(directory, sizeof(directory), "/proc/%d/task/%s",
				     threads->process, name) >= (int)sizeof(directory))
		return;
	inner = gt_proc_status_number(directory, "NSpid", true);
	if (inner)
		keep_id(threads, inner, (uint32_t)strtoul(name, NULL, 10));
}

static void read_threads(struct gt_foreign_threads *threads)
{
	char path[48];
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", threads->process);
	directory = opendir(path);
	if (!directory)
		return;
	while ((entry = readdir(directory)))
		read_thread(threads, entry->d_name);
	closedir(directory);
}

struct gt_foreign_threads *gt_foreign_threads_new(pid_t process)
{
	struct gt_foreign_threads *threads = calloc(1, sizeof(*threads));

	if (!threads)
		return NULL;
	threads->process = process;
	threads->ids = gt_hash_new();
	if (!threads->ids) {
		free(threads);
		return NULL;
	}
	read_threads(threads);
	return threads;
}

void gt_foreign_threads_free(struct gt_foreign_threads *threads)
{
	if (!threads)
		return;
	gt_hash_free(threads->ids);
	free(threads);
}

uint32_t gt_foreign_thread(struct gt_foreign_threads *threads, uint32_t inner)
{
	bool kept;
	uint32_t id = kept_id(threads, inner, &kept);

	if (kept || gt_hash_count(threads->ids) >= MAX_FOREIGN_THREADS)
		return id;
	read_threads(threads);
	id = kept_id(threads, inner, &kept);
	if (!kept)
		keep_id(threads, inner, 0);
	return id;
}

uint32_t gt_foreign_parent(const struct gt_foreign_threads *threads)
{
	char directory[48];

	snprintf(directory, sizeof(directory), "/proc/%d", threads->process);
	return gt_proc_status_number(directory, "PPid", false);
}
