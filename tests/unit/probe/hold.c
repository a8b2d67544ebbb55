/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Holding a process where it maps a file for execution. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/hold/hold.h"
#include "tap.h"

#define LIMIT_MS 100000 /* for hangs */

static struct held_child {
	struct gt_hold *hold;
	pid_t pid;
	int status;
} tested;

/* Map this program; true if that works. */
static bool map_self(int protection, int flags)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return mmap(NULL, 4096, protection, flags, fd, 0) != MAP_FAILED;
}

/* Start a child with this body; its keeper, too. False: it is not possible here. */
static bool start(int (*body)(void))
{
	struct gt_diag diag = {0};

	CHECK_INT(gt_hold_new(&tested.hold, &diag), 0);
	tested.pid = fork();
	if (!tested.pid) {
		gt_hold_install(tested.hold);
		_exit(body());
	}
	if (!gt_hold_start(tested.hold, &diag))
		return true;
	waitpid(tested.pid, NULL, 0);
	gt_hold_close(gt_take(tested.hold));
	return false;
}

static bool wait_for_held(struct gt_held *ret_held)
{
	struct pollfd ready = {.fd = gt_hold_fd(tested.hold), .events = POLLIN};

	while (poll(&ready, 1, LIMIT_MS) > 0)
		if (gt_hold_next(tested.hold, ret_held))
			return true;
	return false;
}

static void expect_end(int status)
{
	CHECK_INT(waitpid(tested.pid, &tested.status, 0), tested.pid);
	CHECK_INT(tested.status, status << 8);
}

static int map_once(void)
{
	return map_self(PROT_READ | PROT_EXEC, MAP_PRIVATE) ? 7 : errno;
}

TEST("a private mapping of a file for execution waits for the answer")
{
	struct gt_held held;
	char path[64];
	struct stat own, theirs;

	if (!start(map_once))
		SKIP("seccomp listeners are not permitted here");
	CHECK(wait_for_held(&held));
	CHECK_INT(held.thread, tested.pid);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", held.thread, held.file);
	CHECK(!stat(path, &theirs) && !stat("/proc/self/exe", &own));
	CHECK(own.st_ino == theirs.st_ino && own.st_dev == theirs.st_dev);
	CHECK_INT(waitpid(tested.pid, NULL, WNOHANG), 0);
	gt_hold_resume(tested.hold, &held);
	expect_end(7);
	CHECK(!gt_hold_missed_at(tested.hold));
	gt_hold_close(gt_take(tested.hold));
}

static int map_others(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return map_self(PROT_READ, MAP_PRIVATE) && map_self(PROT_READ, MAP_SHARED) &&
			       map_self(PROT_READ | PROT_EXEC, MAP_SHARED) &&
			       mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED &&
			       !mprotect(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0), 4096,
					 PROT_READ | PROT_EXEC)
		       ? 7
		       : 1;
}

TEST("anonymous, shared and other mappings do not wait")
{
	struct gt_held held;

	if (!start(map_others))
		SKIP("seccomp listeners are not permitted here");
	expect_end(7);
	CHECK(!gt_hold_next(tested.hold, &held));
	gt_hold_close(gt_take(tested.hold));
}

static int map_many(void)
{
	for (int i = 0; i < 100; i++)
		if (map_once() != 7)
			return 1;
	return 7;
}

TEST("a file is held once per program that maps it")
{
	struct gt_held held;

	if (!start(map_many))
		SKIP("seccomp listeners are not permitted here");
	CHECK(wait_for_held(&held));
	gt_hold_resume(tested.hold, &held);
	expect_end(7);
	CHECK(!gt_hold_next(tested.hold, &held));
	CHECK(!gt_hold_missed_at(tested.hold));
	gt_hold_close(gt_take(tested.hold));
}

TEST("after a stop everything continues, and the keeper ends with the last process")
{
	if (!start(map_many))
		SKIP("seccomp listeners are not permitted here");
	gt_hold_stop(tested.hold);
	expect_end(7);
	/* The keeper is the only child now. */
	CHECK(waitpid(-1, &tested.status, 0) > 0);
	CHECK_INT(tested.status, 0);
	gt_hold_close(gt_take(tested.hold));
}

static int start_child(void)
{
	int status;

	if (!fork())
		_exit(map_once());
	return wait(&status) > 0 ? status >> 8 : 1;
}

TEST("a child is held as its parent is, and SIGKILL ends it while it waits")
{
	struct gt_held held;

	if (!start(start_child))
		SKIP("seccomp listeners are not permitted here");
	CHECK(wait_for_held(&held));
	CHECK(held.thread != tested.pid);
	CHECK_INT(kill(held.thread, SIGKILL), 0);
	expect_end(0);
	gt_hold_resume(tested.hold, &held);
	gt_hold_close(gt_take(tested.hold));
}

static int hold_again(void)
{
	struct gt_diag diag = {0};
	struct gt_hold *inner;

	if (gt_hold_new(&inner, &diag))
		return 1;
	if (!fork()) {
		gt_hold_install(inner);
		_exit(0);
	}
	return gt_hold_start(inner, &diag) == -EBUSY ? 7 : 1;
}

TEST("a second listener for a process is reported as such")
{
	if (!start(hold_again))
		SKIP("seccomp listeners are not permitted here");
	expect_end(7);
	gt_hold_close(gt_take(tested.hold));
}

TEST_MAIN
