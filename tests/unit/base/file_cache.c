/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_cache.h"
#include "base/strbuf.h"
#include "tap.h"
#include "temporary.h"

enum {
	MAX_BYTES = 10000,
};

/* A cache in a directory of its own. */
struct cache_fixture {
	struct temporary top;
	char directory[TEMPORARY_PATH + 4];
	struct gt_file_cache *cache;
};

static bool fixture_open(struct cache_fixture *fixture)
{
	if (!make_temporary_directory(&fixture->top))
		return false;
	snprintf(fixture->directory, sizeof(fixture->directory), "%s/a/b", fixture->top.path);
	return !gt_file_cache_open(fixture->directory, MAX_BYTES, &fixture->cache);
}

static void fixture_close(struct cache_fixture *fixture)
{
	gt_file_cache_close(fixture->cache);
	CHECK(remove_temporary_directory(&fixture->top));
}
#define auto_fixture __attribute__((cleanup(fixture_close))) struct cache_fixture

static struct gt_sha256 key_of(unsigned number)
{
	return gt_sha256(&number, sizeof(number));
}

static bool has_text(struct cache_fixture *fixture, unsigned number, const char *text)
{
	struct gt_sha256 key = key_of(number);
	gt_auto_file file = {0};

	return !gt_file_cache_read(fixture->cache, &key, &file) && file.size == strlen(text) &&
	       !memcmp(file.data, text, file.size);
}

static int write_text(struct cache_fixture *fixture, unsigned number, const char *text)
{
	struct gt_sha256 key = key_of(number);

	return gt_file_cache_write(fixture->cache, &key, text, strlen(text));
}

static void put_path(const struct cache_fixture *fixture, unsigned number, struct gt_strbuf *path)
{
	struct gt_sha256 key = key_of(number);

	gt_strbuf_printf(path, "%s/", fixture->directory);
	for (size_t i = 0; i < sizeof(key.bytes); i++)
		gt_strbuf_printf(path, "%02x", key.bytes[i]);
}

static unsigned count_files(const struct cache_fixture *fixture)
{
	DIR *directory = opendir(fixture->directory);
	struct dirent *entry;
	unsigned count = 0;

	while (directory && (entry = readdir(directory)))
		count += entry->d_name[0] != '.';
	if (directory)
		closedir(directory);
	return count;
}

TEST("what was written is read, also by another process, until it is replaced or removed")
{
	auto_fixture fixture = {0};
	struct gt_file_cache *other = NULL;
	struct gt_sha256 key = key_of(1);
	gt_auto_file file = {0};

	if (!fixture_open(&fixture))
		TAP_FAIL("no cache");
	CHECK(!has_text(&fixture, 1, "one"));
	CHECK(!write_text(&fixture, 1, "one") && !write_text(&fixture, 2, ""));
	CHECK(has_text(&fixture, 1, "one") && has_text(&fixture, 2, ""));
	CHECK(!gt_file_cache_open(fixture.directory, MAX_BYTES, &other));
	CHECK(!gt_file_cache_read(other, &key, &file) && file.size == 3);
	gt_file_cache_close(other);
	CHECK(!write_text(&fixture, 1, "another") && has_text(&fixture, 1, "another"));
	gt_file_cache_remove(fixture.cache, &key);
	CHECK(!has_text(&fixture, 1, "another"));
	CHECK_INT(count_files(&fixture), 1);
}

TEST("corrupt files are not read, and are removed")
{
	static const struct {
		off_t offset, size;
	} changes[] = {{0, -1}, {33, -1}, {0, 10}, {0, 0}, {0, 34}};
	auto_fixture fixture = {0};

	if (!fixture_open(&fixture))
		TAP_FAIL("no cache");
	for (unsigned i = 0; i < gt_countof(changes); i++) {
		gt_auto_strbuf path = GT_STRBUF_INIT;
		int fd;

		CHECK(!write_text(&fixture, i, "the text"));
		put_path(&fixture, i, &path);
		fd = open(gt_strbuf_string(&path), O_WRONLY);
		CHECK(fd >= 0);
		if (changes[i].size < 0)
			CHECK(pwrite(fd, "X", 1, changes[i].offset) == 1);
		else
			CHECK(!ftruncate(fd, changes[i].size));
		close(fd);
		CHECK(!has_text(&fixture, i, "the text"));
		CHECK(access(gt_strbuf_string(&path), F_OK) && errno == ENOENT);
	}
}

TEST("the files that were used least recently are removed when there are too many")
{
	auto_fixture fixture = {0};
	char text[1000];

	if (!fixture_open(&fixture))
		TAP_FAIL("no cache");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (unsigned i = 0; i < 30; i++) {
		CHECK(!write_text(&fixture, i, text));
		/* Times of files have the resolution of a tick. */
		usleep(20000);
		CHECK(has_text(&fixture, 0, text));
	}
	CHECK(has_text(&fixture, 29, text) && !has_text(&fixture, 1, text));
	CHECK(count_files(&fixture) <= MAX_BYTES / sizeof(text) && count_files(&fixture) > 4);
}

TEST("files that are too large, of others or no files are neither written nor read")
{
	auto_fixture fixture = {0};
	gt_auto_strbuf path = GT_STRBUF_INIT;
	struct rlimit before, limit;
	char text[MAX_BYTES];

	if (!fixture_open(&fixture))
		TAP_FAIL("no cache");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	CHECK_INT(write_text(&fixture, 1, text), -EFBIG);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = (struct rlimit){.rlim_cur = 16, .rlim_max = before.rlim_max};
	setrlimit(RLIMIT_FSIZE, &limit);
	CHECK_INT(write_text(&fixture, 1, "text"), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	put_path(&fixture, 1, &path);
	CHECK(!mkfifo(gt_strbuf_string(&path), 0600) && !has_text(&fixture, 1, ""));
	unlink(gt_strbuf_string(&path));
	CHECK(!symlink("/etc/passwd", gt_strbuf_string(&path)) && !has_text(&fixture, 1, ""));
	unlink(gt_strbuf_string(&path));
	CHECK(!write_text(&fixture, 1, "text") && !chmod(gt_strbuf_string(&path), 0666));
	CHECK(!has_text(&fixture, 1, "text"));
	CHECK_INT(count_files(&fixture), 1);
}

TEST("a directory that others may write to is no cache, nor is a file")
{
	auto_fixture fixture = {0};
	struct gt_file_cache *other = NULL;

	if (!fixture_open(&fixture))
		TAP_FAIL("no cache");
	CHECK(!chmod(fixture.directory, 0777));
	CHECK_INT(gt_file_cache_open(fixture.directory, MAX_BYTES, &other), -EPERM);
	CHECK_INT(gt_file_cache_open("/etc/passwd/cache", MAX_BYTES, &other), -ENOTDIR);
	CHECK_INT(gt_file_cache_open("/etc/passwd", MAX_BYTES, &other), -ENOTDIR);
	CHECK_INT(gt_file_cache_open("", MAX_BYTES, &other), -ENOENT);
}

TEST_MAIN
