/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "names/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/proc_status.h"
#include "base/vec.h"

#define MAX_MAP_BYTES ((uint64_t)256 << 20) /* of one file that are read */
#define MAX_LINE 4096

struct jit_function {
	uint64_t start, size;
	size_t order; /* of the line: a later one replaces earlier ones */
	struct gt_source_frame frame;
};

/* The map of a process. */
struct perf_map {
	uint32_t process;
	char path[64]; /* of what was read */
	uint64_t read; /* bytes, of whole lines */
	/* By start, as far as `sorted`. */
	GT_VEC(struct jit_function *) functions;
	size_t sorted;
};

struct gt_perf_maps {
	struct gt_hash *maps; /* process -> struct perf_map */
};

static void free_map(void *opaque)
{
	struct perf_map *map = opaque;

	gt_vec_each (function, &map->functions) {
		free((char *)(*function)->frame.function);
		free(*function);
	}
	gt_vec_free(&map->functions);
	free(map);
}

struct gt_perf_maps *gt_perf_maps_new(void)
{
	struct gt_perf_maps *maps = calloc(1, sizeof(*maps));

	if (maps)
		maps->maps = gt_hash_new();
	if (maps && !maps->maps) {
		free(maps);
		return NULL;
	}
	return maps;
}

void gt_perf_maps_free(struct gt_perf_maps *maps)
{
	if (!maps)
		return;
	gt_hash_free_with(maps->maps, free_map);
	free(maps);
}

/* "START SIZE NAME" without the newline. A line of another form is skipped. */
static void add_line(struct perf_map *map, char *line)
{
	struct jit_function *function;
	char *end, *name;
	uint64_t start = strtoull(line, &end, 16), size;

	if (end == line || *end != ' ')
		return;
	size = strtoull(end + 1, &name, 16);
	if (name == end + 1 || *name != ' ' || !name[1] || !size || start + size < start)
		return;
	function = calloc(1, sizeof(*function));
	if (!function)
		return;
	function->start = start;
	function->size = size;
	function->order = map->functions.count;
	function->frame.function = strdup(name + 1);
	if (!function->frame.function || gt_vec_push(&map->functions, function)) {
		free((char *)function->frame.function);
		free(function);
	}
}

static int open_map(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/*
 * In a container the file is in its own /tmp, while the process lives, and its name has the process
 * id that the process itself sees.
 */
static int find_map(struct perf_map *map)
{
	char directory[32];
	uint32_t inner;
	int fd;

	snprintf(directory, sizeof(directory), "/proc/%" PRIu32, map->process);
	inner = gt_proc_status_number(directory, "NSpid", true);
	snprintf(map->path, sizeof(map->path), "%s/root/tmp/perf-%" PRIu32 ".map", directory,
		 inner ? inner : map->process);
	fd = open_map(map->path);
	if (fd >= 0)
		return fd;
	snprintf(map->path, sizeof(map->path), "/tmp/perf-%" PRIu32 ".map", map->process);
	return open_map(map->path);
}

/* The file, if it has grown. It is another program's: anything may be in its place. */
static FILE *open_further(struct perf_map *map)
{
	gt_autoclose int fd = map->read ? open_map(map->path) : find_map(map);
	struct stat status;
	FILE *file;

	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode) ||
	    (uint64_t)status.st_size <= map->read || map->read >= MAX_MAP_BYTES)
		return NULL;
	file = fdopen(fd, "r");
	if (file)
		fd = -1;
	return file;
}

/* Read the lines that were appended since the last time. */
static void read_further(struct perf_map *map)
{
	char line[MAX_LINE];
	bool skips = false;
	FILE *file = open_further(map);

	if (!file)
		return;
	if (!fseeko(file, (off_t)map->read, SEEK_SET))
		while (map->read < MAX_MAP_BYTES && fgets(line, sizeof(line), file)) {
			size_t length = strlen(line);
			bool whole = length && line[length - 1] == '\n';

			/* The last line may be incomplete: it is read again. */
			if (!whole && length < sizeof(line) - 1)
				break;
			map->read += length;
			if (whole && !skips) {
				line[length - 1] = '\0';
				add_line(map, line);
			}
			skips = !whole;
		}
	fclose(file);
}

static int compare_functions(const void *a, const void *b)
{
	const struct jit_function *left = *(struct jit_function *const *)a;
	const struct jit_function *right = *(struct jit_function *const *)b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

/* The function that was written last of those that begin nearest before the address. */
static const struct jit_function *find_function(struct perf_map *map, uint64_t address)
{
	size_t low = 0, high = map->functions.count;
	const struct jit_function *function;

	if (map->sorted != map->functions.count) {
		qsort(map->functions.items, map->functions.count, sizeof(map->functions.items[0]),
		      compare_functions);
		map->sorted = map->functions.count;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->functions.items[middle]->start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	function = map->functions.items[low - 1];
	return address - function->start < function->size ? function : NULL;
}

static struct perf_map *map_of(struct gt_perf_maps *maps, uint32_t process)
{
	struct perf_map *map = gt_hash_get_u64(maps->maps, process);

	if (map)
		return map;
	map = calloc(1, sizeof(*map));
	if (!map)
		return NULL;
	map->process = process;
	if (gt_hash_set_u64(maps->maps, process, map)) {
		free(map);
		return NULL;
	}
	return map;
}

void gt_perf_maps_find(struct gt_perf_maps *maps, uint32_t process, uint64_t address,
		       bool is_return, struct gt_location *location)
{
	struct perf_map *map = map_of(maps, process);
	uint64_t at = is_return && address ? address - 1 : address;
	const struct jit_function *function;

	if (!map)
		return;
	function = find_function(map, at);
	if (!function) {
		read_further(map);
		function = find_function(map, at);
	}
	if (!function)
		return;
	*location = (struct gt_location){
		.path = map->path,
		.offset = at - function->start,
		.frames = &function->frame,
		.frame_count = 1,
	};
}
