/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "launch/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/file.h"

/* In the child: waits for a byte, or for the parent's end; a closed gate is a parent that died. */
static void run_child(int gate, int report, const char *path, char *const arguments[],
		      char *const environment[])
{
	char go;
	sigset_t none;
	int error;

	if (gt_read_all(gate, &go, 1) != 1)
		_exit(0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);              /* gputap ignores it, and that would be inherited */
	execvpe(path, arguments, environment); /* a script without "#!" goes to the shell */
	error = errno;
	gt_write_all(report, &error, sizeof(error));
	_exit(error == ENOENT ? 127 : 126);
}

int gt_child_make(const char *path, char *const arguments[], char *const environment[],
		  const struct gt_child_setup *setup, struct gt_child *ret_child,
		  struct gt_diag *diag)
{
	int gate[2] = {-1, -1}, report[2] = {-1, -1};
	struct gt_child child = GT_CHILD_NONE;

	if (pipe2(gate, O_CLOEXEC) < 0)
		return gt_diag(diag, -errno, "command", path, "%s", strerror(errno));
	if (pipe2(report, O_CLOEXEC) < 0) {
		close(gate[0]);
		close(gate[1]);
		return gt_diag(diag, -EMFILE, "command", path, "%s", strerror(EMFILE));
	}
	child.pid = fork();
	if (child.pid == 0) {
		close(gate[1]);
		if (setup && setup->run)
			setup->run(setup->context);
		run_child(gate[0], report[1], path, arguments, environment);
	}
	close(gate[0]);
	close(report[1]);
	child.gate = gate[1];
	child.report = report[0];
	if (child.pid < 0) {
		int error = -errno;

		gt_child_release(&child);
		return gt_diag(diag, error, "command", path, "cannot fork: %s", strerror(-error));
	}
	child.pidfd = syscall(SYS_pidfd_open, child.pid, 0);
	*ret_child = child;
	return 0;
}

int gt_child_resume(struct gt_child *child, const char *path, struct gt_diag *diag)
{
	int error = 0;

	gt_write_all(child->gate, "", 1);
	close(gt_take_fd(&child->gate));
	/* The pipe closes when that succeeds. */
	if (gt_read_all(child->report, &error, sizeof(error)) != sizeof(error))
		return 0;
	return gt_diag(diag, -error, "command", path, "cannot be executed: %s", strerror(error));
}

void gt_child_release(struct gt_child *child)
{
	bool waits = child->gate >= 0;

	for (int *fd = (int[]){child->gate, child->report, child->pidfd, -2}; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
	if (waits && child->pid > 0)
		waitpid(child->pid, NULL, 0);
	*child = GT_CHILD_NONE;
}

void gt_child_put_running(struct gt_strbuf *text, unsigned count, const char *one,
			  const char *several)
{
	gt_strbuf_printf(text, "%u process%s of the command still run%s: %s", count,
			 count == 1 ? "" : "es", count == 1 ? "s" : "", count == 1 ? one : several);
}
