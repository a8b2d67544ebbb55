/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/file_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file_limit.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum {
	NAME_SIZE = 2 * sizeof(struct gt_sha256) + 1,
	ABANDONED_S = 3600, /* a temporary file of a process that has ended */
};

static const char temporary[] = "new-";

struct gt_file_cache {
	int directory;
	uint64_t max_bytes;
	uint64_t bytes; /* of all files, if it is known */
	bool is_counted;
};

/* A file begins with the digest of what follows. */
struct file_cache_header {
	struct gt_sha256 digest;
};

static void put_name(const struct gt_sha256 *key, char name[static NAME_SIZE])
{
	for (size_t i = 0; i < sizeof(key->bytes); i++)
		snprintf(name + 2 * i, 3, "%02x", key->bytes[i]);
}

/* ---- the directory --------------------------------------------------------------------- */

static int make_parents(const char *directory)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;

	for (const char *slash = strchr(directory + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		gt_strbuf_clear(&path);
		gt_strbuf_add(&path, directory, (size_t)(slash - directory));
		if (mkdir(gt_strbuf_string(&path), 0700) && errno != EEXIST)
			return -errno;
	}
	return mkdir(directory, 0700) && errno != EEXIST ? -errno : 0;
}

/* Whether this user alone can write here. */
static bool is_private(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && status.st_uid == geteuid() &&
	       !(status.st_mode & (S_IWGRP | S_IWOTH));
}

int gt_file_cache_open(const char *directory, uint64_t max_bytes, struct gt_file_cache **ret_cache)
{
	gt_auto(file_cache) struct gt_file_cache *cache = calloc(1, sizeof(*cache));
	int error = *directory ? make_parents(directory) : -ENOENT;

	if (!cache)
		return -ENOMEM;
	cache->directory = -1;
	cache->max_bytes = max_bytes;
	if (error)
		return error;
	cache->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cache->directory < 0)
		return -errno;
	if (!is_private(cache->directory))
		return -EPERM;
	*ret_cache = gt_take(cache);
	return 0;
}

void gt_file_cache_close(struct gt_file_cache *cache)
{
	if (!cache)
		return;
	gt_cleanup_close(&cache->directory);
	free(cache);
}

/* ---- removal of old files -------------------------------------------------------------- */

struct cached_file {
	char name[NAME_SIZE];
	struct timespec used;
	uint64_t bytes;
};

static int compare_age(const void *one, const void *other)
{
	const struct timespec *a = &((const struct cached_file *)one)->used;
	const struct timespec *b = &((const struct cached_file *)other)->used;

	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec ? -1 : 1;
	return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

static bool is_abandoned(const char *name, const struct stat *status)
{
	return !strncmp(name, temporary, strlen(temporary)) &&
	       status->st_mtime + ABANDONED_S < time(NULL);
}

static bool is_digest(const char *name)
{
	return strspn(name, "0123456789abcdef") == NAME_SIZE - 1 && !name[NAME_SIZE - 1];
}

/* Remove the oldest files until the rest is well below the bound. */
static void remove_oldest(struct gt_file_cache *cache, struct cached_file *files, size_t count)
{
	if (cache->bytes <= cache->max_bytes)
		return;
	qsort(files, count, sizeof(*files), compare_age);
	for (size_t i = 0; i < count && cache->bytes > cache->max_bytes / 4 * 3; i++)
		if (!unlinkat(cache->directory, files[i].name, 0))
			cache->bytes -= files[i].bytes;
}

/* Count the files, and remove what is too much. */
static void trim_files(struct gt_file_cache *cache)
{
	GT_VEC(struct cached_file) files = {0};
	int fd = openat(cache->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat status;

	if (!directory) {
		gt_cleanup_close(&fd);
		return;
	}
	cache->bytes = 0;
	cache->is_counted = true;
	while ((entry = readdir(directory))) {
		struct cached_file file;

		if (fstatat(cache->directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode))
			continue;
		if (is_abandoned(entry->d_name, &status))
			unlinkat(cache->directory, entry->d_name, 0);
		if (!is_digest(entry->d_name))
			continue;
		memcpy(file.name, entry->d_name, NAME_SIZE);
		file.used = status.st_mtim;
		file.bytes = (uint64_t)status.st_size;
		cache->bytes += file.bytes;
		if (gt_vec_push(&files, file))
			break;
	}
	closedir(directory);
	remove_oldest(cache, files.items, files.count);
	gt_vec_free(&files);
}

/* ---- files ----------------------------------------------------------------------------- */

/* Read a file that only this user can have written. */
static int read_private(struct gt_file_cache *cache, const char *name, struct gt_file *ret_file)
{
	gt_autoclose int fd = openat(cache->directory, name,
				     O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	const struct timespec now[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
	struct stat status;
	size_t size;

	if (fd < 0 || !is_private(fd) || fstat(fd, &status) || !S_ISREG(status.st_mode) ||
	    (uint64_t)status.st_size > cache->max_bytes)
		return -ENOENT;
	size = (size_t)status.st_size;
	ret_file->data = malloc(size + 1);
	if (!ret_file->data)
		return -ENOMEM;
	ret_file->data[size] = 0;
	ret_file->size = size;
	if (gt_read_all(fd, ret_file->data, size) != (ssize_t)size)
		return -ENOENT;
	futimens(fd, now);
	return 0;
}

int gt_file_cache_read(struct gt_file_cache *cache, const struct gt_sha256 *key,
		       struct gt_file *ret_file)
{
	gt_auto_file file = {0};
	struct file_cache_header header;
	struct gt_sha256 digest;
	char name[NAME_SIZE];
	int error;

	put_name(key, name);
	error = read_private(cache, name, &file);
	if (error)
		return error;
	if (file.size >= sizeof(header)) {
		memcpy(&header, file.data, sizeof(header));
		file.size -= sizeof(header);
		memmove(file.data, file.data + sizeof(header), file.size + 1);
		digest = gt_sha256(file.data, file.size);
		if (!memcmp(&digest, &header.digest, sizeof(digest))) {
			*ret_file = file;
			file = (struct gt_file){0};
			return 0;
		}
	}
	gt_file_cache_remove(cache, key);
	return -ENOENT;
}

static int write_contents(int fd, const void *data, size_t size)
{
	const struct file_cache_header header = {.digest = gt_sha256(data, size)};
	int error = gt_write_all(fd, &header, sizeof(header));

	return error ? error : gt_write_all(fd, data, size);
}

/* A file of this process alone. */
static int create_temporary(struct gt_file_cache *cache, const char *key, char *name, size_t size)
{
	struct timespec now = {0};
	int fd;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(name, size, "%s%.16s-%d-%lld.%09ld", temporary, key, (int)getpid(),
		 (long long)now.tv_sec, now.tv_nsec);
	fd = openat(cache->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

int gt_file_cache_write(struct gt_file_cache *cache, const struct gt_sha256 *key, const void *data,
			size_t size)
{
	uint64_t bytes = size + sizeof(struct file_cache_header);
	char name[NAME_SIZE], new_name[128];
	int fd, error;

	if (bytes > cache->max_bytes || !gt_may_write(bytes))
		return -EFBIG;
	put_name(key, name);
	fd = create_temporary(cache, name, new_name, sizeof(new_name));
	if (fd < 0)
		return fd;
	error = write_contents(fd, data, size);
	close(fd);
	if (!error && renameat(cache->directory, new_name, cache->directory, name))
		error = -errno;
	if (error) {
		unlinkat(cache->directory, new_name, 0);
		return error;
	}
	cache->bytes += bytes;
	if (!cache->is_counted || cache->bytes > cache->max_bytes)
		trim_files(cache);
	return 0;
}

void gt_file_cache_remove(struct gt_file_cache *cache, const struct gt_sha256 *key)
{
	char name[NAME_SIZE];

	put_name(key, name);
	unlinkat(cache->directory, name, 0);
}
