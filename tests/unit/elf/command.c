/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>

#include "elf/loader.h"
#include "fixture.h"

static void write_script(const char *path, const char *text, int mode)
{
	write_text(path, text);
	chmod(path, mode);
}

static bool found_by_shell; /* by the last chain() */

/* The paths of a command, joined with " < ", or the error's text. */
static char *chain(const char *name, const char *search)
{
	gt_auto_command command = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_diag diag = {0};

	if (gt_command_find(name, search, &command, &diag))
		gt_strbuf_printf(&text, "%s: %s", diag.place, diag.text);
	found_by_shell = command.by_shell;
	for (size_t i = 0; i < command.count; i++)
		gt_strbuf_printf(&text, "%s%s", i ? " < " : "", command.paths[i]);
	return gt_strbuf_steal(&text);
}

static void check_chain(const char *name, const char *search, const char *expected)
{
	gt_autofree char *text = chain(name, search);

	CHECK_STR(text, expected);
}

static void copy_program(const char *path)
{
	fixture();
	CHECK_INT(run(NULL, "mkdir -p $(dirname %s) && cp /bin/true %s", path, path), 0);
}

TEST("a name is searched for in PATH, one with a slash is a path")
{
	copy_program("bin/tool");
	copy_program("later/tool");
	copy_program("plain");
	check_chain("tool", "nowhere:bin:later", "bin/tool");
	check_chain("tool", "later:bin", "later/tool");
	check_chain("plain", "nowhere:", "./plain");
	check_chain("plain", "", "./plain");
	check_chain("bin/tool", "nowhere", "bin/tool");
	check_chain("true", NULL, "/bin/true");
}

TEST("a file that cannot be executed is skipped in PATH, and reported if there is no other")
{
	copy_program("later/tool2");
	mkdir("bin", 0755);
	write_script("bin/tool2", "text", 0644);
	write_script("bin/tool3", "text", 0644);
	mkdir("bin/tool4", 0755);
	check_chain("tool2", "bin:later", "later/tool2");
	check_chain("tool3", "bin:later", "tool3: found in PATH, but it is not executable");
	check_chain("tool4", "bin", "tool4: found in PATH, but it is not executable");
	check_chain("bin/tool3", NULL, "bin/tool3: cannot be executed: Permission denied");
	check_chain("tool5", "bin:later", "tool5: no such command in PATH (bin:later)");
	check_chain("./tool5", NULL, "./tool5: cannot be executed: No such file or directory");
	check_chain("", "bin", ": cannot be executed: No such file or directory");
}

TEST("a script is followed to its interpreter, through env to what env runs")
{
	copy_program("bin/tool");
	write_script("script", "#!/bin/cat -x y\nrest\n", 0755);
	check_chain("./script", NULL, "./script < /bin/cat");
	write_script("script", "#!  \t/bin/cat", 0755);
	check_chain("./script", NULL, "./script < /bin/cat");
	write_script("script", "#!/usr/bin/env tool\n", 0755);
	check_chain("./script", "bin", "./script < /usr/bin/env < bin/tool");
	write_script("script", "#!/usr/bin/env -S A=b tool -u\n", 0755);
	check_chain("./script", "bin", "./script < /usr/bin/env < bin/tool");
	write_script("script", "#!/usr/bin/env none\n", 0755);
	check_chain("./script", "bin", "none: no such command in PATH (bin)");
	write_script("script", "#!\n", 0755);
	check_chain("./script", NULL, "./script: its #! line names no program");
	write_script("script", "#!/bin/none\n", 0755);
	check_chain("./script", NULL,
		    "./script: its interpreter /bin/none cannot be executed: No such file or "
		    "directory");
}

TEST("a directory is not a command, also as an interpreter")
{
	fixture();
	mkdir("directory", 0755);
	check_chain("./directory", NULL, "./directory: is a directory: name the program to run");
	check_chain("directory", ".", "directory: found in PATH, but it is not executable");
	write_script("script", "#!./directory\n", 0755);
	check_chain("./script", NULL,
		    "./script: its interpreter ./directory cannot be executed: Is a directory");
}

TEST("for a command that is in this directory and not in PATH, its path is suggested")
{
	fixture();
	write_script("here", "#!/bin/sh\n", 0755);
	check_chain("here", "/usr/bin",
		    "here: no such command in PATH (/usr/bin); did you mean './here'?");
	write_script("here", "#!/bin/sh\n", 0644);
	check_chain("here", "/usr/bin", "here: no such command in PATH (/usr/bin)");
}

TEST("a script without #! is run by the shell, and a file that is not text is rejected")
{
	fixture();
	write_script("script", "echo\n", 0755);
	check_chain("./script", NULL, "./script < /bin/sh");
	CHECK(found_by_shell);
	write_script("script", "#!/bin/sh\n", 0755);
	check_chain("./script", NULL, "./script < /bin/sh");
	CHECK(!found_by_shell);
	write_file("data", "\1\2\0\3", 4);
	chmod("data", 0755);
	check_chain("./data", NULL, "./data: neither an ELF program nor a script");
}

TEST("scripts of scripts are followed as deep as the kernel does")
{
	fixture();
	write_script("s1", "#!/bin/true\n", 0755);
	write_script("s2", "#!./s1\n", 0755);
	write_script("s3", "#!./s2\n", 0755);
	write_script("s4", "#!./s3\n", 0755);
	write_script("s5", "#!./s4\n", 0755);
	write_script("s6", "#!./s5\n", 0755);
	write_script("self", "#!./self\n", 0755);
	check_chain("./s5", NULL, "./s5 < ./s4 < ./s3 < ./s2 < ./s1 < /bin/true");
	check_chain("./s6", NULL, "./s6: scripts run by scripts run by scripts: more than 5 deep");
	check_chain("./self", NULL,
		    "./self: scripts run by scripts run by scripts: more than 5 deep");
	CHECK_INT(run(NULL, "exec ./s5"), 0);
	CHECK(run(NULL, "exec ./s6 2>/dev/null") != 0);
}

TEST_MAIN
