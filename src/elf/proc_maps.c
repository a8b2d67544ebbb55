/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"
#include "elf/proc_maps.h"

#define MAPS_LIMIT ((size_t)256 << 20) /* bytes */
#define DELETED " (deleted)"

typedef GT_VEC(struct gt_proc_mapping) mapping_vec;

/* The rest of a line. */
struct maps_cursor {
	char *at, *end;
};

static bool take_number(struct maps_cursor *cursor, unsigned int base, uint64_t *ret_value)
{
	uint64_t value = 0;
	char *start = cursor->at;

	for (; cursor->at < cursor->end; cursor->at++) {
		char c = *cursor->at;
		unsigned int digit = c >= '0' && c <= '9'   ? c - '0'
				     : c >= 'a' && c <= 'f' ? c - 'a' + 10
							    : 16;

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*ret_value = value;
	return cursor->at > start;
}

static bool take_character(struct maps_cursor *cursor, char character)
{
	if (cursor->at == cursor->end || *cursor->at != character)
		return false;
	cursor->at++;
	return true;
}

/* The kernel escapes only newlines in paths, as \012. */
static void decode_newlines(char *path)
{
	char *to = path;

	for (char *from = path; *from; to++) {
		if (!strncmp(from, "\\012", 4)) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
}

static void take_path(struct maps_cursor *cursor, struct gt_proc_mapping *mapping)
{
	size_t length, suffix = strlen(DELETED);

	while (cursor->at < cursor->end && *cursor->at == ' ')
		cursor->at++;
	mapping->path = cursor->at;
	decode_newlines(cursor->at);
	length = strlen(mapping->path);
	if (gt_proc_mapping_is_file(mapping) && length > suffix &&
	    !strcmp(mapping->path + length - suffix, DELETED)) {
		mapping->deleted = true;
		cursor->at[length - suffix] = 0;
	}
}

/* start-end rwxp offset major:minor inode   path */
static bool parse_line(struct maps_cursor cursor, struct gt_proc_mapping *mapping)
{
	uint64_t major_number, minor_number;

	if (!take_number(&cursor, 16, &mapping->start) || !take_character(&cursor, '-') ||
	    !take_number(&cursor, 16, &mapping->end) || !take_character(&cursor, ' ') ||
	    cursor.end - cursor.at < 5 || cursor.at[4] != ' ' || mapping->end < mapping->start)
		return false;
	mapping->readable = cursor.at[0] == 'r';
	mapping->writable = cursor.at[1] == 'w';
	mapping->executable = cursor.at[2] == 'x';
	mapping->shared = cursor.at[3] == 's';
	cursor.at += 5;
	if (!take_number(&cursor, 16, &mapping->offset) || !take_character(&cursor, ' ') ||
	    !take_number(&cursor, 16, &major_number) || !take_character(&cursor, ':') ||
	    !take_number(&cursor, 16, &minor_number) || !take_character(&cursor, ' ') ||
	    !take_number(&cursor, 10, &mapping->inode))
		return false;
	mapping->device = makedev(major_number, minor_number);
	if (cursor.at < cursor.end && *cursor.at != ' ')
		return false;
	take_path(&cursor, mapping);
	return true;
}

static int parse_lines(char *text, size_t length, mapping_vec *mappings, struct gt_diag *diag,
		       const char *place)
{
	size_t number = 0;

	for (char *line = text, *next; line < text + length; line = next) {
		struct gt_proc_mapping mapping = {0};
		struct maps_cursor cursor = {line, memchr(line, '\n', text + length - line)};

		number++;
		if (!cursor.end)
			cursor.end = text + length;
		next = cursor.end + 1;
		*cursor.end = 0;
		if (memchr(line, 0, cursor.end - line) || !parse_line(cursor, &mapping))
			return gt_diag(diag, -EBADMSG, "maps", place, "line %zu is malformed",
				       number);
		if (gt_vec_push(mappings, mapping))
			return gt_diag(diag, -ENOMEM, "maps", place, "out of memory");
	}
	return 0;
}

/* Parses text, which is one byte longer than `length`, and takes ownership of it. */
static int parse_taken(char *text, size_t length, pid_t pid, struct gt_proc_maps *ret_maps,
		       struct gt_diag *diag)
{
	mapping_vec mappings = {0};
	char place[64];
	int error;

	snprintf(place, sizeof(place), "/proc/%d/maps", pid);
	error = parse_lines(text, length, &mappings, diag, place);
	if (error) {
		gt_vec_free(&mappings);
		free(text);
		return error;
	}
	*ret_maps = (struct gt_proc_maps){
		.pid = pid, .items = mappings.items, .count = mappings.count, .text = text};
	return 0;
}

int gt_proc_maps_parse(const char *text, size_t length, pid_t pid, struct gt_proc_maps *ret_maps,
		       struct gt_diag *diag)
{
	char *copy = malloc(length + 1);

	if (!copy)
		return gt_diag(diag, -ENOMEM, "maps", NULL, "out of memory");
	if (length)
		memcpy(copy, text, length);
	return parse_taken(copy, length, pid, ret_maps, diag);
}

int gt_proc_maps_read(pid_t pid, struct gt_proc_maps *ret_maps, struct gt_diag *diag)
{
	gt_auto_file file = {0};
	char path[64];
	size_t size;
	int error;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	error = gt_file_read(path, MAPS_LIMIT, &file, NULL);
	if (error == -ENOENT || error == -ESRCH)
		return gt_diag(diag, -ESRCH, "maps", path, "there is no process %d", pid);
	if (error == -EACCES || error == -EPERM)
		return gt_diag(
			diag, error, "maps", path,
			"the mappings of process %d cannot be read: it has another user or more "
			"privileges; run gputap as root or give it CAP_SYS_PTRACE (in a "
			"container: --cap-add SYS_PTRACE)",
			pid);
	if (error)
		return gt_diag(diag, error, "maps", path,
			       "the mappings of process %d cannot be read: %s", pid,
			       strerror(-error));
	size = file.size;
	return parse_taken((char *)gt_take(file.data), size, pid, ret_maps, diag);
}

void gt_proc_maps_free(struct gt_proc_maps *maps)
{
	if (!maps)
		return;
	free(maps->items);
	free(maps->text);
	*maps = (struct gt_proc_maps){0};
}

bool gt_proc_mapping_is_file(const struct gt_proc_mapping *mapping)
{
	return mapping->inode && mapping->path[0] == '/';
}

const struct gt_proc_mapping *gt_proc_maps_at(const struct gt_proc_maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < maps->count && maps->items[low].start <= address ? &maps->items[low] : NULL;
}

static bool same_file(const char *left, const char *right)
{
	struct stat a, b;

	return !stat(left, &a) && !stat(right, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Whether both processes have the same mounts and root. */
static bool same_view(pid_t pid)
{
	char namespace[64], root[64];

	snprintf(namespace, sizeof(namespace), "/proc/%d/ns/mnt", pid);
	snprintf(root, sizeof(root), "/proc/%d/root/.", pid);
	return same_file(namespace, "/proc/self/ns/mnt") && same_file(root, "/.");
}

/*
 * Whether the file of a mapping is at a path, by its inode: on btrfs and overlayfs the device in
 * maps differs from that of stat(2).
 */
static bool leads_to(const char *path, const struct gt_proc_mapping *mapping)
{
	struct stat status;

	return !stat(path, &status) && status.st_ino == mapping->inode && S_ISREG(status.st_mode);
}

static bool try_path(struct gt_strbuf *buffer, const struct gt_proc_mapping *mapping,
		     const char *root, const char *suffix)
{
	gt_strbuf_clear(buffer);
	gt_strbuf_printf(buffer, "%s%s%s", root, mapping->path, suffix);
	return !buffer->failed && leads_to(gt_strbuf_string(buffer), mapping);
}

bool gt_proc_maps_is_same_file(const char *path, uint64_t device, uint64_t inode)
{
	gt_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	gt_auto_proc_maps maps = {0};
	const struct gt_proc_mapping *own;
	struct stat status;
	void *address;
	bool same;

	if (fd < 0 || fstat(fd, &status) || status.st_ino != inode || !S_ISREG(status.st_mode))
		return false;
	address = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (address == MAP_FAILED)
		return false;
	same = !gt_proc_maps_read(getpid(), &maps, NULL) &&
	       (own = gt_proc_maps_at(&maps, (uintptr_t)address)) && own->device == device &&
	       own->inode == inode;
	munmap(address, 1);
	return same;
}

/* Of a process whose root may not be read. */
static int find_without_root(const struct gt_proc_maps *maps, const struct gt_proc_mapping *mapping,
			     struct gt_strbuf *buffer, struct gt_diag *diag)
{
	gt_strbuf_clear(buffer);
	if (!mapping->deleted &&
	    gt_proc_maps_is_same_file(mapping->path, mapping->device, mapping->inode)) {
		gt_strbuf_puts(buffer, mapping->path);
		return buffer->failed ? -ENOMEM : 0;
	}
	return gt_diag(
		diag, -EACCES, "maps", mapping->path,
		"the file that process %d has mapped cannot be reached: it has another user "
		"or more privileges, and other files than gputap; run gputap as root or give "
		"it CAP_SYS_PTRACE (in a container: --cap-add SYS_PTRACE)",
		maps->pid);
}

/* Whether the root of a process exists, but may not be read. */
static bool is_root_hidden(const char *root)
{
	char target[8];

	return readlink(root, target, sizeof(target)) < 0 && (errno == EACCES || errno == EPERM);
}

int gt_proc_mapping_path(const struct gt_proc_maps *maps, const struct gt_proc_mapping *mapping,
			 struct gt_strbuf *buffer, struct gt_diag *diag)
{
	bool seen_alike = same_view(maps->pid);
	struct stat status;
	char root[64];

	if (!gt_proc_mapping_is_file(mapping))
		return gt_diag(diag, -ENODEV, "maps", mapping->path, "no file is mapped there");
	snprintf(root, sizeof(root), "/proc/%d/root", maps->pid);
	if (is_root_hidden(root))
		return find_without_root(maps, mapping, buffer, diag);
	if (seen_alike && try_path(buffer, mapping, "", ""))
		return 0;
	if (seen_alike && mapping->deleted && try_path(buffer, mapping, "", DELETED))
		return 0;
	/* The kernel shows paths as seen from the reader's root: files of a chroot are there. */
	if (!seen_alike && !mapping->deleted &&
	    gt_proc_maps_is_same_file(mapping->path, mapping->device, mapping->inode)) {
		gt_strbuf_clear(buffer);
		gt_strbuf_puts(buffer, mapping->path);
		return buffer->failed ? -ENOMEM : 0;
	}
	if (try_path(buffer, mapping, root, ""))
		return 0;
	if (mapping->deleted && try_path(buffer, mapping, root, DELETED))
		return 0;
	gt_strbuf_clear(buffer);
	gt_strbuf_printf(buffer, "/proc/%d/map_files/%llx-%llx", maps->pid,
			 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
	if (!buffer->failed && !stat(gt_strbuf_string(buffer), &status))
		return 0;
	gt_strbuf_clear(buffer);
	return gt_diag(diag, -ENOENT, "maps", mapping->path,
		       "the file that process %d has mapped cannot be found%s", maps->pid,
		       mapping->deleted ? ": it was deleted" : "");
}
