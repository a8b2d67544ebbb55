/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the user said of processes, as the kernel's filter. */
#include <errno.h>
#include <sys/sysmacros.h>

#include "fixture.h"
#include "names/container.h"
#include "session/cgroup.h"
#include "session/filter.h"

static struct gt_filter filter;
static struct gt_diag diag;

/* A list of one value, valid until the next. */
static struct gt_strings one(const char *value)
{
	static const char *words[1];
	struct gt_strings strings = {0};

	words[0] = value;
	strings.words.items = words;
	strings.words.count = 1;
	return strings;
}

static int make(struct gt_trace_options options)
{
	filter = (struct gt_filter){0};
	diag = (struct gt_diag){0};
	return gt_filter_make(&options, &filter, &diag);
}

TEST("nothing said lets every process pass, and ids are those of gputap's own namespace")
{
	struct stat status;

	CHECK_INT(make((struct gt_trace_options){0}), 0);
	CHECK(!filter.by_process && !filter.uid_count && !filter.name_count &&
	      !filter.cgroup_count);
	CHECK_INT(filter.executable_inode, 0);
	CHECK_INT(stat("/proc/self/ns/pid", &status), 0);
	CHECK_INT(filter.pid_namespace, status.st_ino);
}

TEST("a command or a process id lets only named processes pass")
{
	CHECK_INT(make((struct gt_trace_options){.command = (char *[]){(char *)"true", NULL}}), 0);
	CHECK(filter.by_process);
	CHECK_INT(make((struct gt_trace_options){.processes = (pid_t[]){1}, .process_count = 1}),
		  0);
	CHECK(filter.by_process);
}

TEST("a user is a number or a name")
{
	CHECK_INT(make((struct gt_trace_options){.users = one("1234")}), 0);
	CHECK_INT(filter.uid_count, 1);
	CHECK_INT(filter.uids[0], 1234);
	CHECK_INT(make((struct gt_trace_options){.users = one("root")}), 0);
	CHECK_INT(filter.uid_count, 1);
	CHECK_INT(filter.uids[0], 0);
}

TEST("an unknown user is rejected")
{
	CHECK_INT(make((struct gt_trace_options){.users = one("nobody-at-all")}), -EINVAL);
	CHECK_STR(diag.text, "invalid user 'nobody-at-all' for --uid: no such user");
	CHECK_INT(make((struct gt_trace_options){.users = one("99999999999")}), -EINVAL);
	CHECK_INT(filter.uid_count, 0);
}

TEST("a name is whole, or the beginning of one where it ends in a star")
{
	CHECK_INT(make((struct gt_trace_options){.names = one("train")}), 0);
	CHECK_STR(filter.names[0].text, "train");
	CHECK_INT(filter.names[0].length, 5);
	CHECK(!filter.names[0].is_prefix);
	CHECK_INT(make((struct gt_trace_options){.names = one("tra*")}), 0);
	CHECK_STR(filter.names[0].text, "tra");
	CHECK_INT(filter.names[0].length, 3);
	CHECK(filter.names[0].is_prefix);
}

TEST("a name longer than the kernel's limit is truncated like the kernel's")
{
	CHECK_INT(make((struct gt_trace_options){.names = one("a-program-with-a-long-name")}), 0);
	CHECK_STR(filter.names[0].text, "a-program-with-");
	CHECK_INT(filter.names[0].length, 15);
}

TEST("several users, and at most eight")
{
	static const char *words[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9"};
	struct gt_trace_options options = {0};

	options.users.words.items = words;
	options.users.words.count = 8;
	CHECK_INT(make(options), 0);
	CHECK_INT(filter.uid_count, 8);
	CHECK_INT(filter.uids[7], 8);
	CHECK(gt_filter_has_uid(&filter, 5) && !gt_filter_has_uid(&filter, 9));
	options.users.words.count = 9;
	CHECK_INT(make(options), -EINVAL);
	CHECK_STR(diag.text, "more than 8 values for --uid");
}

TEST("an empty name is rejected")
{
	CHECK_INT(make((struct gt_trace_options){.names = one("*")}), -EINVAL);
	CHECK_STR(diag.text, "invalid process name '*' for --comm");
}

TEST("a program is identified by inode and device, a library is not")
{
	struct stat status;

	compile("int main(void) { return 0; }", "-o program");
	compile("int nothing(void) { return 0; }", "-shared -fPIC -o library.so");
	CHECK_INT(stat("program", &status), 0);
	CHECK_INT(make((struct gt_trace_options){.path = "program"}), 0);
	CHECK_INT(filter.executable_inode, status.st_ino);
	CHECK_INT(filter.executable_device, major(status.st_dev) << 20 | minor(status.st_dev));
	CHECK_INT(make((struct gt_trace_options){.path = "library.so"}), 0);
	CHECK_INT(filter.executable_inode, 0);
}

TEST("a path that is not an ELF file is rejected")
{
	write_text("text", "hello");
	CHECK_INT(make((struct gt_trace_options){.path = "text"}), -ENOEXEC);
	CHECK_STR(diag.text, "not an ELF file (it starts with \"hello\")");
}

TEST("an unknown cgroup is rejected, also if the path leaves the mount")
{
	CHECK_INT(make((struct gt_trace_options){.cgroups_traced = one("no/such/group")}), -ENOENT);
	CHECK_STR(diag.place, "no/such/group");
	if (!strncmp(diag.text, "no cgroup v2", 12))
		SKIP("no cgroup v2 is mounted");
	CHECK(!strncmp(diag.text, "no such cgroup: give a path below /", 35));
	CHECK_INT(make((struct gt_trace_options){.cgroups_traced = one("../../../../tmp")}),
		  -ENOENT);
	CHECK_INT(filter.cgroups[0], 0);
}

TEST("a cgroup is identified by the inode number of its directory, wherever its path begins")
{
	struct stat status;
	char *mount = NULL;

	run(&mount, "awk '$3 == \"cgroup2\" { printf $2; exit }' /proc/self/mounts");
	if (!mount || !*mount) {
		free(mount);
		SKIP("no cgroup v2 is mounted");
	}
	CHECK_INT(stat(mount, &status), 0);
	CHECK_INT(make((struct gt_trace_options){.cgroups_traced = one("/")}), 0);
	CHECK_INT(filter.cgroups[0], status.st_ino);
	CHECK_INT(make((struct gt_trace_options){.cgroups_traced = one(mount)}), 0);
	CHECK_INT(filter.cgroups[0], status.st_ino);
	free(mount);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define POD "pod2b1c7d6e-0d3a-4a51-9d0e-0d6d7a9c1f11"

TEST("a container's id is extracted from its cgroup, whatever its engine")
{
	static const char *const paths[] = {
		"/system.slice/docker-" ID ".scope",
		"/docker/" ID,
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" POD
		".slice/cri-containerd-" ID ".scope",
		"/kubepods.slice/kubepods-" POD ".slice/crio-" ID ".scope",
		"/machine.slice/libpod-" ID ".scope/container",
		"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope",
		"/kubepods/besteffort/" POD "/" ID,
		"/kubepods-besteffort-" POD ".slice:cri-containerd:" ID,
		"/docker/" ID "/init.scope",
		"/ecs/0f1e2d3c/" ID,
		"/docker/" OTHER "/docker/" ID, /* one within another */
		"../docker-" ID ".scope",       /* seen from a namespace beside it */
	};

	for (size_t i = 0; i < gt_countof(paths); i++) {
		char id[GT_CONTAINER_ID] = "";

		CHECK(gt_container_id(paths[i], id));
		CHECK_STR(id, ID);
	}
}

TEST("a cgroup of no container has no container's id")
{
	static const char *const paths[] = {
		"",
		"/",
		"/user.slice/user-0.slice/session-1.scope",
		"/system.slice/crio-conmon-" ID ".scope", /* watches, and is not inside */
		"/machine.slice/libpod-conmon-" ID ".scope",
		"/process_api/bedbb9316b11b4f205430e1f7c953aca", /* 32 digits */
		"/docker/0" ID,
		"/docker/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF",
		"/docker-" ID ".service",
	};

	for (size_t i = 0; i < gt_countof(paths); i++) {
		char id[GT_CONTAINER_ID] = "as it was";

		CHECK(!gt_container_id(paths[i], id));
		CHECK_STR(id, "as it was");
	}
}

static const char *path_in(const char *text)
{
	static struct gt_strbuf path;

	gt_strbuf_clear(&path);
	return gt_cgroup_parse(text, &path) ? "none" : gt_strbuf_string(&path);
}

TEST("a process's cgroup is that of version 2, or else the deepest of version 1")
{
	CHECK_STR(path_in("0::/system.slice/docker-" ID ".scope\n"),
		  "/system.slice/docker-" ID ".scope");
	CHECK_STR(path_in("3:cpu,cpuacct:/\n2:memory:/docker/" ID "\n0::/a\n"), "/a");
	CHECK_STR(path_in("3:cpu,cpuacct:/\n2:memory:/docker/" ID "\n1:name=systemd:/docker\n"),
		  "/docker/" ID);
	/* With both mounted and only version 1 in use. */
	CHECK_STR(path_in("2:memory:/docker/" ID "\n0::/\n"), "/docker/" ID);
	CHECK_STR(path_in("2:memory:/\n0::/\n"), "/");
	CHECK_STR(path_in("0::/a:b\n"), "/a:b");
}

TEST("a text that names no cgroup gives none")
{
	CHECK_STR(path_in(""), "none");
	CHECK_STR(path_in("0\n"), "none");
	CHECK_STR(path_in("0:\n::\n"), "none");
	CHECK_STR(path_in("0::relative\n"), "none");
}

TEST("a process that is gone has no cgroup, and one that runs has one")
{
	gt_auto_strbuf path = GT_STRBUF_INIT;

	CHECK_INT(gt_cgroup_of_process(0x7ffffffe, &path), -ENOENT);
	if (access("/proc/self/cgroup", R_OK))
		SKIP("the kernel has no cgroups");
	CHECK_INT(gt_cgroup_of_process(getpid(), &path), 0);
	CHECK(gt_strbuf_string(&path)[0] == '/');
}

TEST_MAIN
