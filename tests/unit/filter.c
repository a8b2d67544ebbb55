/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the user said of processes, as the kernel's filter. */
#include <errno.h>
#include <sys/sysmacros.h>

#include "fixture.h"
#include "session/filter.h"

static struct gt_filter filter;
static struct gt_diag diag;

static int make(struct gt_session_options options)
{
	filter = (struct gt_filter){0};
	diag = (struct gt_diag){0};
	return gt_filter_make(&options, &filter, &diag);
}

TEST("nothing said lets every process pass, and ids are those of gputap's own namespace")
{
	struct stat status;

	CHECK_INT(make((struct gt_session_options){0}), 0);
	CHECK(!filter.by_process && !filter.by_uid && !filter.name_length && !filter.cgroup);
	CHECK_INT(filter.executable_inode, 0);
	CHECK_INT(stat("/proc/self/ns/pid", &status), 0);
	CHECK_INT(filter.pid_namespace, status.st_ino);
}

TEST("a command or a process id lets only named processes pass")
{
	CHECK_INT(make((struct gt_session_options){.command = (char *[]){(char *)"true", NULL}}),
		  0);
	CHECK(filter.by_process);
	CHECK_INT(make((struct gt_session_options){.pids = (pid_t[]){1}, .pid_count = 1}), 0);
	CHECK(filter.by_process);
}

TEST("a user is a number or a name")
{
	CHECK_INT(make((struct gt_session_options){.uid = "1234"}), 0);
	CHECK(filter.by_uid);
	CHECK_INT(filter.uid, 1234);
	CHECK_INT(make((struct gt_session_options){.uid = "root"}), 0);
	CHECK(filter.by_uid);
	CHECK_INT(filter.uid, 0);
}

TEST("a user that is none is refused")
{
	CHECK_INT(make((struct gt_session_options){.uid = "nobody-at-all"}), -EINVAL);
	CHECK_STR(diag.text, "there is no user 'nobody-at-all'");
	CHECK_INT(make((struct gt_session_options){.uid = "99999999999"}), -EINVAL);
	CHECK(!filter.by_uid);
}

TEST("a name is whole, or the beginning of one where it ends in a star")
{
	CHECK_INT(make((struct gt_session_options){.name = "train"}), 0);
	CHECK_STR(filter.name, "train");
	CHECK_INT(filter.name_length, 5);
	CHECK(!filter.name_is_prefix);
	CHECK_INT(make((struct gt_session_options){.name = "tra*"}), 0);
	CHECK_STR(filter.name, "tra");
	CHECK_INT(filter.name_length, 3);
	CHECK(filter.name_is_prefix);
}

TEST("a name longer than the kernel keeps is cut as the kernel cuts it")
{
	CHECK_INT(make((struct gt_session_options){.name = "a-program-with-a-long-name"}), 0);
	CHECK_STR(filter.name, "a-program-with-");
	CHECK_INT(filter.name_length, 15);
}

TEST("a name of nothing is refused")
{
	CHECK_INT(make((struct gt_session_options){.name = "*"}), -EINVAL);
	CHECK_STR(diag.text, "'*' is no name of a process");
}

TEST("a program's file is told by inode and device, a library's is not")
{
	struct stat status;

	compile("int main(void) { return 0; }", "-o program");
	compile("int nothing(void) { return 0; }", "-shared -fPIC -o library.so");
	CHECK_INT(stat("program", &status), 0);
	CHECK_INT(make((struct gt_session_options){.path = "program"}), 0);
	CHECK_INT(filter.executable_inode, status.st_ino);
	CHECK_INT(filter.executable_device, major(status.st_dev) << 20 | minor(status.st_dev));
	CHECK_INT(make((struct gt_session_options){.path = "library.so"}), 0);
	CHECK_INT(filter.executable_inode, 0);
}

TEST("a path that is no ELF file is refused")
{
	write_text("text", "hello");
	CHECK_INT(make((struct gt_session_options){.path = "text"}), -ENOEXEC);
	CHECK_STR(diag.text, "not an ELF file (it starts with \"hello\")");
}

TEST("a cgroup that is none is refused, also where the path leaves the mount")
{
	CHECK_INT(make((struct gt_session_options){.cgroup = "no/such/group"}), -ENOENT);
	CHECK_STR(diag.place, "no/such/group");
	if (!strncmp(diag.text, "no cgroup v2", 12))
		SKIP("no cgroup v2 is mounted");
	CHECK(!strncmp(diag.text, "no such cgroup: give a path below /", 35));
	CHECK_INT(make((struct gt_session_options){.cgroup = "../../../../tmp"}), -ENOENT);
	CHECK_INT(filter.cgroup, 0);
}

TEST("the root of the cgroups has level 0, and its inode number")
{
	struct stat status;
	char *mount = NULL;

	run(&mount, "awk '$3 == \"cgroup2\" { printf $2; exit }' /proc/self/mounts");
	if (!mount || !*mount) {
		free(mount);
		SKIP("no cgroup v2 is mounted");
	}
	CHECK_INT(stat(mount, &status), 0);
	CHECK_INT(make((struct gt_session_options){.cgroup = "/"}), 0);
	CHECK_INT(filter.cgroup, status.st_ino);
	CHECK_INT(filter.cgroup_level, 0);
	CHECK_INT(make((struct gt_session_options){.cgroup = mount}), 0);
	CHECK_INT(filter.cgroup, status.st_ino);
	free(mount);
}

TEST_MAIN
