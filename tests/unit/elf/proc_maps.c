/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>

#include "fixture.h"

static void parse(const char *text, struct gt_proc_maps *maps)
{
	struct gt_diag diag = {0};

	if (gt_proc_maps_parse(text, strlen(text), 7, maps, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
}

TEST("all fields of a mapping's line are read: addresses, rights, offset, identity, path")
{
	gt_auto_proc_maps maps = {0};
	const struct gt_proc_mapping *mapping;

	parse("7f0000001000-7f0000003000 r-xp 00002000 fe:01 1234567890123            /lib/a.so\n"
	      "7f0000004000-7f0000005000 rw-s 00000000 00:0f 42 /dev/shm/x\n",
	      &maps);
	CHECK_INT(maps.pid, 7);
	CHECK_INT(maps.count, 2);
	mapping = &maps.items[0];
	CHECK_INT(mapping->start, 0x7f0000001000);
	CHECK_INT(mapping->end, 0x7f0000003000);
	CHECK_INT(mapping->offset, 0x2000);
	CHECK_INT(mapping->device, makedev(0xfe, 1));
	CHECK_INT(mapping->inode, 1234567890123);
	CHECK_STR(mapping->path, "/lib/a.so");
	CHECK(mapping->readable && !mapping->writable && mapping->executable && !mapping->shared);
	CHECK(!mapping->deleted && gt_proc_mapping_is_file(mapping));
	mapping = &maps.items[1];
	CHECK(mapping->readable && mapping->writable && !mapping->executable && mapping->shared);
}

TEST("paths with blanks, newlines and the mark of a deleted file are understood")
{
	static const struct {
		const char *rest, *path;
		bool deleted, file;
	} cases[] = {
		{"fe:01 9     /a b/ c", "/a b/ c", false, true},
		{"fe:01 9     /a\\012b", "/a\nb", false, true},
		{"fe:01 9     /a (deleted)", "/a", true, true},
		{"00:01 9     /memfd:x (deleted)", "/memfd:x", true, true},
		{"fe:01 9     /a (deleted) b", "/a (deleted) b", false, true},
		{"00:00 0     [vdso]", "[vdso]", false, false},
		{"00:00 0     [anon:a (deleted)", "[anon:a (deleted)", false, false},
		{"00:00 0 ", "", false, false},
		{"00:00 0", "", false, false},
		{"fe:01 9", "", false, false},
	};

	for (size_t i = 0; i < gt_countof(cases); i++) {
		gt_auto_proc_maps maps = {0};
		char line[128];

		snprintf(line, sizeof(line), "1000-2000 r-xp 00000000 %s\n", cases[i].rest);
		parse(line, &maps);
		CHECK_INT(maps.count, 1);
		CHECK_STR(maps.items[0].path, cases[i].path);
		CHECK_INT(maps.items[0].deleted, cases[i].deleted);
		CHECK_INT(gt_proc_mapping_is_file(&maps.items[0]), cases[i].file);
	}
}

TEST("a malformed line is rejected with its number")
{
	static const char *const lines[] = {
		"",
		"x",
		"1000-2000",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0 fe:01",
		"1000-2000 r-xp 0 fe:01 x",
		"1000-2000 r-xp 0 fe:01 9x",
		"2000-1000 r-xp 0 fe:01 9",
		"10000000000000000-20000000000000000 r-xp 0 fe:01 9",
		"1000-2000 rwx 00000000 fe:01 9",
	};

	for (size_t i = 0; i < gt_countof(lines); i++) {
		char text[512];
		struct gt_diag diag = {0};
		struct gt_proc_maps maps = {0};

		snprintf(text, sizeof(text), "1000-2000 r-xp 0 fe:01 9\n%s\n", lines[i]);
		CHECK_INT(gt_proc_maps_parse(text, strlen(text), 7, &maps, &diag), -EBADMSG);
		CHECK_STR(diag.place, "/proc/7/maps");
		CHECK_STR(diag.text, "line 2 is malformed");
		CHECK(maps.items == NULL);
	}
}

TEST("maps truncated anywhere, also without a newline at the end, do no harm")
{
	gt_auto_proc_maps whole = {0};
	static const char text[] = "1000-2000 r-xp 00000000 fe:01 9     /a b (deleted)\n"
				   "3000-4000 rw-p 00000000 00:00 0     [heap]";

	for (size_t length = 0; length < sizeof(text); length++) {
		gt_auto_proc_maps maps = {0};

		gt_proc_maps_parse(text, length, 7, &maps, NULL);
		CHECK(maps.count <= 2);
	}
	parse(text, &whole);
	CHECK_INT(whole.count, 2);
	CHECK_STR(whole.items[1].path, "[heap]");
}

TEST("a mapping is found by an address in it, and none in the gaps")
{
	gt_auto_proc_maps maps = {0};

	parse("1000-2000 r-xp 0 fe:01 9 /a\n2000-3000 r-xp 0 fe:01 9 /b\n"
	      "5000-6000 r-xp 0 fe:01 9 /c\n",
	      &maps);
	CHECK(gt_proc_maps_at(&maps, 0xfff) == NULL);
	CHECK(gt_proc_maps_at(&maps, 0x1000) == &maps.items[0]);
	CHECK(gt_proc_maps_at(&maps, 0x1fff) == &maps.items[0]);
	CHECK(gt_proc_maps_at(&maps, 0x2000) == &maps.items[1]);
	CHECK(gt_proc_maps_at(&maps, 0x3000) == NULL);
	CHECK(gt_proc_maps_at(&maps, 0x5fff) == &maps.items[2]);
	CHECK(gt_proc_maps_at(&maps, UINT64_MAX) == NULL);
}

TEST("a process that is gone is named")
{
	struct gt_proc_maps maps = {0};
	struct gt_diag diag = {0};
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	CHECK_INT(gt_proc_maps_read(child, &maps, &diag), -ESRCH);
	CHECK_STR(diag.stage, "maps");
	CHECK(strstr(diag.text, "there is no process ") == diag.text);
}

static void *map_file(const char *path)
{
	gt_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	if (fd < 0 || memory == MAP_FAILED) {
		perror(path);
		exit(99);
	}
	return memory;
}

static const struct gt_proc_mapping *own_mapping(void *memory, struct gt_proc_maps *maps)
{
	const struct gt_proc_mapping *mapping;

	CHECK_INT(gt_proc_maps_read(getpid(), maps, NULL), 0);
	mapping = gt_proc_maps_at(maps, (uintptr_t)memory);
	if (!mapping) {
		TAP_FAIL("the mapping is missing");
		exit(99);
	}
	return mapping;
}

/* Whether the path of the buffer opens a file with this content. */
static bool holds(const struct gt_strbuf *path, const char *content)
{
	gt_auto_file file = {0};

	return !gt_file_read(gt_strbuf_string(path), 1 << 20, &file, NULL) &&
	       !strcmp((const char *)file.data, content);
}

TEST("a mapped file is opened by its path, with any characters")
{
	static const char *const names[] = {"plain", "with blanks ", "new\nline", "not (deleted)"};

	for (size_t i = 0; i < gt_countof(names); i++) {
		gt_auto_proc_maps maps = {0};
		gt_auto_strbuf path = GT_STRBUF_INIT;
		struct gt_diag diag = {0};
		char expected[512];
		void *memory;

		snprintf(expected, sizeof(expected), "%s/%s", fixture(), names[i]);
		write_text(names[i], "content");
		memory = map_file(names[i]);
		if (gt_proc_mapping_path(&maps, own_mapping(memory, &maps), &path, &diag))
			TAP_FAIL("%s: %s", diag.place, diag.text);
		CHECK_STR(gt_strbuf_string(&path), expected);
		munmap(memory, 4096);
	}
}

TEST("a deleted or replaced file is opened as it was, or not at all")
{
	for (int replaced = 0; replaced < 2; replaced++) {
		gt_auto_proc_maps maps = {0};
		gt_auto_strbuf path = GT_STRBUF_INIT;
		const struct gt_proc_mapping *mapping;
		struct gt_diag diag = {0};
		void *memory;
		int error;

		write_text("library", "old");
		memory = map_file("library");
		unlink("library");
		if (replaced)
			write_text("library", "new");
		mapping = own_mapping(memory, &maps);
		CHECK(mapping->deleted);
		error = gt_proc_mapping_path(&maps, mapping, &path, &diag);
		if (!error) {
			CHECK(strstr(gt_strbuf_string(&path), "/map_files/") != NULL);
			CHECK(holds(&path, "old"));
		} else {
			CHECK_INT(error, -ENOENT);
			CHECK(strstr(diag.text, "cannot be reached: it was deleted") != NULL);
		}
		munmap(memory, 4096);
	}
}

TEST("a mapping without a file has no path")
{
	gt_auto_proc_maps maps = {0};
	gt_auto_strbuf path = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	parse("1000-2000 r-xp 0 00:00 0 [vdso]\n", &maps);
	CHECK_INT(gt_proc_mapping_path(&maps, &maps.items[0], &path, &diag), -ENODEV);
	CHECK_STR(diag.text, "no file is mapped there");
	CHECK_STR(diag.place, "[vdso]");
}

/* Enters a new mount namespace, with a file system of its own in hidden/, and a file there. */
static bool hide(const char *content)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "hidden", "tmpfs", 0, NULL))
		return false;
	write_text("hidden/library", content);
	return true;
}

/* Maps a file that only it sees; says where through the pipe. */
static void hide_and_wait(int report)
{
	void *memory = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (hide("theirs"))
		memory = map_file("hidden/library");
	if (write(report, &memory, sizeof(memory)) < 0)
		_exit(1);
	pause();
	_exit(0);
}

TEST("a file of another mount namespace is opened through the process's root")
{
	gt_auto_proc_maps maps = {0};
	gt_auto_strbuf path = GT_STRBUF_INIT;
	const struct gt_proc_mapping *mapping;
	char expected[512];
	void *memory = NULL;
	int ends[2];
	pid_t child;

	fixture();
	mkdir("hidden", 0755);
	/* The first file of each tmpfs has the same inode: it alone does not distinguish them. */
	if (!hide("ours"))
		SKIP("no right to make a mount namespace");
	CHECK_INT(pipe(ends), 0);
	child = fork();
	if (!child)
		hide_and_wait(ends[1]);
	CHECK_INT(read(ends[0], &memory, sizeof(memory)), sizeof(memory));
	close(ends[0]);
	close(ends[1]);
	if (memory) {
		CHECK_INT(gt_proc_maps_read(child, &maps, NULL), 0);
		mapping = gt_proc_maps_at(&maps, (uintptr_t)memory);
		CHECK(mapping && !gt_proc_mapping_path(&maps, mapping, &path, NULL));
		snprintf(expected, sizeof(expected), "/proc/%d/root%s/hidden/library", child,
			 fixture());
		CHECK_STR(gt_strbuf_string(&path), expected);
		CHECK(holds(&path, "theirs"));
	}
	CHECK(memory != NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	umount("hidden");
}

TEST_MAIN
