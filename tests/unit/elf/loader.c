/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/loader.h"

#include <errno.h>

#include "base/vec.h"
#include "elf/cache.h"
#include "fixture.h"

/* The library `name` in a directory, which needs the given others. */
static void build_library(const char *directory, const char *name, const char *options)
{
	char all[512];

	run(NULL, "mkdir -p %s", directory);
	snprintf(all, sizeof(all),
		 "-shared -fPIC -nostdlib -Wl,--no-as-needed -Wl,-soname,%s -o %s/%s %s", name,
		 directory, name, options);
	compile("int loaded = 1;", all);
}

static void build_program(const char *options)
{
	char all[512];

	snprintf(all, sizeof(all),
		 "-o program -Wl,--no-as-needed -Wl,--allow-shlib-undefined "
		 "-Wl,--unresolved-symbols=ignore-all %s",
		 options);
	compile("int main(void) { return 0; }", all);
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Sorts the lines of a text in place of it. */
static char *sort_lines(char *text)
{
	GT_VEC(char *) lines = {0};
	gt_auto_strbuf sorted = GT_STRBUF_INIT;

	for (char *save, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		gt_vec_push(&lines, line);
	if (lines.count)
		qsort(lines.items, lines.count, sizeof(*lines.items), compare_lines);
	gt_vec_each (line, &lines)
		gt_strbuf_printf(&sorted, "%s\n", *line);
	gt_vec_free(&lines);
	free(text);
	return gt_strbuf_steal(&sorted);
}

/* What we say is loaded, a line each: "name path" or "name not found". */
static char *ours(const struct gt_loader *loader, const char *path)
{
	gt_auto_dependencies dependencies = {0};
	gt_auto_strbuf lines = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	if (gt_loader_needed(loader, path, &dependencies, &diag))
		TAP_FAIL("%s: %s", diag.place, diag.text);
	for (size_t i = 0; i < dependencies.count; i++)
		gt_strbuf_printf(&lines, "%s %s\n", dependencies.items[i].name,
				 dependencies.items[i].path ? dependencies.items[i].path
							    : "not found");
	return sort_lines(gt_strbuf_steal(&lines));
}

/* What the loader itself says, in the same form. */
static char *theirs(const char *environment, const char *path)
{
	char *text;

	run(&text,
	    "env %s LD_TRACE_LOADED_OBJECTS=1 %s 2>/dev/null | awk '/linux-vdso/ { next } "
	    "{ sub(/^\\t/, \"\"); sub(/ [(]0x[0-9a-f]+[)]$/, \"\") } "
	    "/ => / { sub(/ => /, \" \"); print; next } { print $0, $0 }'",
	    environment, path);
	return sort_lines(text);
}

/* Both must agree, and a line of them must hold `expected`: the case is what it is meant to be. */
static void check_same(const char *library_path, const char *preload, const char *expected)
{
	struct gt_loader loader = {.library_path = library_path, .preload = preload};
	char environment[512] = "";
	gt_autofree char *we = NULL, *they = NULL;

	if (library_path)
		snprintf(environment, sizeof(environment), "LD_LIBRARY_PATH='%s'", library_path);
	if (preload)
		snprintf(environment + strlen(environment),
			 sizeof(environment) - strlen(environment), " LD_PRELOAD='%s'", preload);
	we = ours(&loader, "./program");
	they = theirs(environment, "./program");
	CHECK_STR(we, they);
	if (!strstr(we, expected))
		TAP_FAIL("\"%s\" is not in \"%s\"", expected, we);
}

/* A line about a file of the fixture directory. */
static const char *line(const char *name, const char *file)
{
	static char text[512];

	snprintf(text, sizeof(text), "%s %s%s%s\n", name, file[0] == '/' ? "" : fixture(),
		 file[0] == '/' ? "" : "/", file);
	return text;
}

#define OLD_TAGS " -Wl,--disable-new-dtags "
#define NEW_TAGS " -Wl,--enable-new-dtags "
#define RPATH(directory) " '-Wl,-rpath,$ORIGIN/" directory "' "

TEST("a program of the system loads what the loader says it loads")
{
	static const char *const paths[] = {"/bin/sh",          "/bin/ls",
					    "/usr/bin/clang",   "/usr/bin/gcc",
					    "/usr/bin/python3", "/usr/sbin/bpftool"};
	struct gt_loader loader = {0};
	size_t compared = 0;

	for (size_t i = 0; i < gt_countof(paths); i++) {
		gt_autofree char *we = NULL, *they = NULL;

		if (access(paths[i], X_OK))
			continue;
		we = ours(&loader, paths[i]);
		they = theirs("-u LD_LIBRARY_PATH -u LD_PRELOAD", paths[i]);
		CHECK_STR(we, they);
		CHECK(strstr(we, "libc.so.6 /") != NULL);
		compared++;
	}
	CHECK(compared > 0);
}

TEST("RUNPATH finds what the object itself needs, and not what its libraries need")
{
	build_library("run", "libinner.so", "");
	build_library("run", "libouter.so", "run/libinner.so");
	build_program(NEW_TAGS RPATH("run") "run/libouter.so");
	check_same(NULL, NULL, line("libouter.so", "run/libouter.so"));
	check_same(NULL, NULL, "libinner.so not found\n");
}

TEST("RPATH finds also what its libraries need, unless one has a RUNPATH of its own")
{
	build_library("rp", "libinner.so", "");
	build_library("rp", "libouter.so", "rp/libinner.so");
	build_program(OLD_TAGS RPATH("rp") "rp/libouter.so");
	check_same(NULL, NULL, line("libinner.so", "rp/libinner.so"));
	build_library("rp", "libouter.so", NEW_TAGS RPATH("nowhere") "rp/libinner.so");
	check_same(NULL, NULL, "libinner.so not found\n");
	build_library("rp", "libouter.so", OLD_TAGS RPATH("nowhere") "rp/libinner.so");
	check_same(NULL, NULL, line("libinner.so", "rp/libinner.so"));
}

TEST("RPATH goes before LD_LIBRARY_PATH, and that before RUNPATH")
{
	build_library("one", "libchoice.so", "");
	build_library("two", "libchoice.so", "");
	build_program(OLD_TAGS RPATH("one") "one/libchoice.so");
	check_same("two", NULL, line("libchoice.so", "one/libchoice.so"));
	build_program(NEW_TAGS RPATH("one") "one/libchoice.so");
	check_same("two", NULL, "libchoice.so two/libchoice.so\n");
	check_same("nowhere", NULL, line("libchoice.so", "one/libchoice.so"));
}

TEST("an LD_LIBRARY_PATH may hold semicolons, empty elements, slashes at the end, $ORIGIN")
{
	build_library("one", "libchoice.so", "");
	build_library(".", "libhere.so", "");
	build_program("one/libchoice.so libhere.so");
	check_same("nowhere;one/", NULL, "libchoice.so one/libchoice.so\n");
	check_same("one:", NULL, "libhere.so ");
	check_same("$ORIGIN/one", NULL, line("libchoice.so", "one/libchoice.so"));
	check_same("${ORIGIN}/one", NULL, line("libchoice.so", "one/libchoice.so"));
	check_same("$ORIGINAL/one:$LIB:one", NULL, "libchoice.so one/libchoice.so\n");
}

TEST("$ORIGIN of a program is where its file is, not where the link to it is")
{
	struct gt_loader loader = {0};
	gt_autofree char *we = NULL, *they = NULL;

	build_library("one", "libchoice.so", "");
	build_program(NEW_TAGS RPATH("one") "one/libchoice.so");
	mkdir("links", 0755);
	unlink("links/program");
	CHECK_INT(symlink("../program", "links/program"), 0);
	we = ours(&loader, "links/program");
	they = theirs("", "links/program");
	CHECK_STR(we, they);
	CHECK(strstr(we, line("libchoice.so", "one/libchoice.so")) != NULL);
}

TEST("libraries that need each other are each loaded once")
{
	build_library("ring", "libb.so", "");
	build_library("ring", "liba.so", "ring/libb.so");
	build_library("ring", "libb.so", "ring/liba.so");
	build_program("ring/liba.so ring/libb.so");
	check_same("ring", NULL, "liba.so ring/liba.so\n");
	CHECK_INT(symlink("liba.so", "ring/libalias.so"), 0);
	build_library("ring", "libb.so", "ring/liba.so -Wl,-soname,libb.so");
	check_same("ring", "libalias.so", "libalias.so ring/libalias.so\n");
}

TEST("a library for another machine, or a malformed one, is skipped")
{
	gt_auto_file file = {0};
	struct gt_loader loader = {.library_path = "bad:one"};
	gt_autofree char *we = NULL;

	build_library("one", "libchoice.so", "");
	build_program("one/libchoice.so");
	mkdir("bad", 0755);
	CHECK_INT(gt_file_read("one/libchoice.so", 1 << 20, &file, NULL), 0);
	file.data[18] ^= 0x55;
	write_file("bad/libchoice.so", file.data, file.size);
	check_same("bad:one", NULL, "libchoice.so one/libchoice.so\n");
	write_text("bad/libchoice.so", "");
	we = ours(&loader, "program");
	CHECK(strstr(we, "libchoice.so one/libchoice.so\n") != NULL);
}

TEST("a library for better processors is taken where this one is good enough")
{
	size_t count;
	const char *const *levels = gt_hardware_levels(&count);
	char expected[512];

	if (!count)
		SKIP("this processor has no level above the lowest");
	build_library("hw", "libchoice.so", "");
	build_program("hw/libchoice.so");
	run(NULL, "cd hw && for l in 2 3 4; do mkdir -p glibc-hwcaps/x86-64-v$l && "
		  "cp libchoice.so glibc-hwcaps/x86-64-v$l/; done");
	snprintf(expected, sizeof(expected), "libchoice.so hw/glibc-hwcaps/%s/libchoice.so\n",
		 levels[0]);
	check_same("hw", NULL, expected);
}

TEST("a needed name with a slash is a path")
{
	run(NULL, "mkdir -p sub");
	compile("int f(void) { return 1; }", "-shared -fPIC -nostdlib -o sub/libpath.so");
	build_program("sub/libpath.so");
	check_same(NULL, NULL, "sub/libpath.so sub/libpath.so\n");
}

TEST("a program linked with -z nodefaultlib gets nothing from the system's directories")
{
	struct gt_loader loader = {0};
	gt_autofree char *we = NULL, *they = NULL;

	build_program("-Wl,-z,nodefaultlib");
	we = ours(&loader, "./program");
	they = theirs("", "./program");
	CHECK(strstr(we, "libc.so.6 not found\n") != NULL);
	CHECK(strstr(they, "libc.so.6 not found\n") != NULL);
}

TEST("preloaded libraries come first, and a missing one is reported")
{
	gt_auto_dependencies dependencies = {0};
	struct gt_loader loader = {.preload = "./one/libchoice.so libnone.so",
				   .preload_file = "preload"};

	build_library("one", "libchoice.so", "");
	build_library("one", "libthird.so", "");
	build_program("");
	check_same(NULL, "./one/libchoice.so", "./one/libchoice.so ./one/libchoice.so\n");
	check_same("one", "libchoice.so:libthird.so", "libthird.so one/libthird.so\n");
	write_text("preload", "one/libthird.so\n");
	CHECK_INT(gt_loader_needed(&loader, "program", &dependencies, NULL), 0);
	CHECK_INT(dependencies.count, 5);
	CHECK_STR(dependencies.items[1].path, "./one/libchoice.so");
	CHECK_STR(dependencies.items[1].asked_by, "LD_PRELOAD");
	CHECK_STR(dependencies.items[2].name, "libnone.so");
	CHECK(dependencies.items[2].path == NULL);
	CHECK_STR(dependencies.items[3].asked_by, "ld.so.preload");
	CHECK_STR(dependencies.items[4].name, "libc.so.6");
	CHECK_STR(dependencies.items[4].asked_by, "program");
}

TEST("LD_LIBRARY_PATH and LD_PRELOAD are ignored for a set-user-ID program")
{
	struct gt_loader loader = {.library_path = "one", .preload = "one/libchoice.so"};
	gt_autofree char *we = NULL;

	if (geteuid())
		SKIP("only root can give a program to another user");
	build_library("one", "libchoice.so", "");
	build_program("one/libchoice.so");
	CHECK_INT(chown("program", 1, 1), 0);
	CHECK_INT(chmod("program", 04755), 0);
	we = ours(&loader, "program");
	CHECK(strstr(we, "libchoice.so not found\n") != NULL);
	CHECK(strstr(we, "one/libchoice.so one/libchoice.so\n") == NULL);
	unlink("program");
}

TEST("a static program loads nothing, and a file that is not a program is an error")
{
	struct gt_loader loader = {.preload = "one/libchoice.so"};
	gt_auto_dependencies dependencies = {0};
	struct gt_diag diag = {0};

	build_program("-static");
	CHECK_INT(gt_loader_needed(&loader, "program", &dependencies, NULL), 0);
	CHECK_INT(dependencies.count, 0);
	write_text("text", "hello\n");
	CHECK_INT(gt_loader_needed(&loader, "text", &dependencies, &diag), -ENOEXEC);
	CHECK_STR(diag.place, "text");
	CHECK_STR(diag.text, "not an ELF file (it starts with \"hello\")");
}

TEST("the loader's variables are read from an environment")
{
	char variables[][32] = {"A=b", "LD_LIBRARY_PATHX=no", "LD_LIBRARY_PATH=/a:/b",
				"LD_PRELOAD=", "LD_LIBRARY_PATH=/later"};
	char *environment[] = {variables[0], variables[1], variables[2],
			       variables[3], variables[4], NULL};
	struct gt_loader loader = gt_loader_of_environment(environment);

	CHECK_STR(loader.library_path, "/a:/b");
	CHECK_STR(loader.preload, "");
	CHECK(gt_loader_of_environment(NULL).library_path == NULL);
}

static char *find_library(const struct gt_loader *loader, const char *name, const char *from)
{
	char *path = NULL;

	gt_loader_find(loader, name, from, &path, NULL);
	return path;
}

TEST("a library is found by its name as dlopen finds it for the object that asks")
{
	struct gt_loader loader = {.library_path = "/nowhere"}, plain = {0};
	gt_autofree char *libc = NULL, *own = NULL, *again = NULL, *path = NULL;
	struct gt_diag diag = {0};

	build_library("one", "libchoice.so", "");
	build_library("two", "libasks.so", NEW_TAGS RPATH("../one"));
	libc = find_library(&plain, "libc.so.6", NULL);
	CHECK(libc && libc[0] == '/');
	own = find_library(&plain, "libchoice.so", "two/libasks.so");
	CHECK(own && strstr(own, "/two/../one/libchoice.so"));
	again = find_library(&plain, "./one/libchoice.so", NULL);
	CHECK_STR(again, "./one/libchoice.so");
	CHECK_INT(gt_loader_find(&loader, "libnone.so.1", NULL, &path, &diag), -ENOENT);
	CHECK_STR(diag.place, "libnone.so.1");
	CHECK_STR(diag.text, "no such library in LD_LIBRARY_PATH (/nowhere), the loader's cache "
			     "and the system's directories");
	CHECK(path == NULL);
}

TEST("every library that ldconfig shows of the cache is found in it")
{
	gt_autofree char *text = NULL;
	struct gt_ld_cache cache = {0};
	size_t compared = 0;

	if (run(&text,
		"/sbin/ldconfig -p | awk '/[(]libc6,(x86-64|AArch64)[)]/ { print $1, $NF }'") ||
	    gt_ld_cache_open("/etc/ld.so.cache", &cache, NULL))
		SKIP("there is no cache of the loader here");
	for (char *save, *row = strtok_r(text, "\n", &save); row;
	     row = strtok_r(NULL, "\n", &save)) {
		char *space = strchr(row, ' ');

		*space = 0;
		/* Of a name that is there twice, the first counts: ldconfig shows that order. */
		if (!compared++ || strcmp(row, "ld-linux-x86-64.so.2"))
			CHECK_STR(gt_ld_cache_find(&cache, row, NULL, 0), space + 1);
	}
	CHECK(compared > 5);
	CHECK(gt_ld_cache_find(&cache, "libnone.so.1", NULL, 0) == NULL);
	gt_ld_cache_free(&cache);
}

TEST("a cache leads to libraries of its own directories, and to the best for this processor")
{
	static const char *const levels[] = {"x86-64-v3", "x86-64-v2"};
	struct gt_loader loader = {.cache = "own.cache"};
	struct gt_ld_cache cache = {0};
	gt_autofree char *found = NULL;
	char directory[512];

	if (access("/sbin/ldconfig", X_OK))
		SKIP("ldconfig is not installed");
	build_library("cached", "libchoice.so", "");
	run(NULL, "cd cached && for l in 2 3 4; do mkdir -p glibc-hwcaps/x86-64-v$l && "
		  "cp libchoice.so glibc-hwcaps/x86-64-v$l/; done");
	snprintf(directory, sizeof(directory), "%s/cached\n", fixture());
	write_text("own.conf", directory);
	if (run(NULL, "/sbin/ldconfig -X -f own.conf -C own.cache 2>/dev/null"))
		SKIP("ldconfig makes no cache here");
	CHECK_INT(gt_ld_cache_open("own.cache", &cache, NULL), 0);
	CHECK(strstr(gt_ld_cache_find(&cache, "libchoice.so", levels, 2),
		     "/cached/glibc-hwcaps/x86-64-v3/libchoice.so"));
	CHECK(strstr(gt_ld_cache_find(&cache, "libchoice.so", levels + 1, 1),
		     "/cached/glibc-hwcaps/x86-64-v2/libchoice.so"));
	CHECK(strstr(gt_ld_cache_find(&cache, "libchoice.so", NULL, 0), "/cached/libchoice.so"));
	gt_ld_cache_free(&cache);
	found = find_library(&loader, "libchoice.so", NULL);
	CHECK(found && strstr(found, "/cached/") && strstr(found, "/libchoice.so"));
}

TEST("a malformed or missing cache does no harm")
{
	struct gt_ld_cache cache = {0};
	struct gt_diag diag = {0};
	gt_auto_file file = {0};

	fixture();
	write_text("text", "hello\n");
	CHECK_INT(gt_ld_cache_open("text", &cache, &diag), -EBADMSG);
	CHECK_STR(diag.text, "no cache of the dynamic loader in the format glibc-ld.so.cache1.1");
	if (gt_file_read("/etc/ld.so.cache", 1 << 24, &file, NULL))
		SKIP("there is no cache of the loader here");
	for (size_t size = 0; size < file.size; size += size < 256 ? 4 : file.size / 64) {
		write_file("cut.cache", file.data, size);
		if (gt_ld_cache_open("cut.cache", &cache, NULL))
			continue;
		CHECK(gt_ld_cache_find(&cache, "libnone.so.1", NULL, 0) == NULL);
		gt_ld_cache_free(&cache);
	}
	memset(file.data + 48, 0xff, file.size - 48);
	write_file("cut.cache", file.data, file.size);
	CHECK_INT(gt_ld_cache_open("cut.cache", &cache, NULL), 0);
	CHECK(gt_ld_cache_find(&cache, "libc.so.6", NULL, 0) == NULL);
	gt_ld_cache_free(&cache);
}

TEST_MAIN
