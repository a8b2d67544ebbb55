/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const struct {
	int number;
	bool is_end; /* of gputap, too */
} rows[GT_SIGNALS] = {
	{SIGINT, true},   {SIGTERM, true},  {SIGHUP, true},   {SIGQUIT, true},
	{SIGUSR1, false}, {SIGUSR2, false}, {SIGALRM, false},
};

bool gt_signals_is_end(int number)
{
	for (unsigned i = 0; i < GT_SIGNALS; i++)
		if (rows[i].number == number)
			return rows[i].is_end;
	return false;
}

/* A signal with a handler is not passed on: a command of gputap waits for it. */
static bool is_taken(unsigned row, bool has_command)
{
	struct sigaction action;

	if (rows[row].is_end)
		return true;
	return has_command && !sigaction(rows[row].number, NULL, &action) &&
	       (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

/* A blocked signal that is ignored is not even pending. */
static void stop_ignoring(struct gt_signals *signals, const sigset_t *taken)
{
	struct sigaction action;

	for (unsigned i = 0; i < GT_SIGNALS; i++) {
		signals->was_ignored[i] = sigismember(taken, rows[i].number) &&
					  !sigaction(rows[i].number, NULL, &action) &&
					  action.sa_handler == SIG_IGN;
		if (signals->was_ignored[i])
			signal(rows[i].number, SIG_DFL);
	}
}

int gt_signals_take(struct gt_signals *signals, bool has_command, struct gt_diag *diag)
{
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < GT_SIGNALS; i++)
		if (is_taken(i, has_command))
			sigaddset(&set, rows[i].number);
	signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		return gt_diag(diag, -errno, "session", NULL, "signalfd: %s", strerror(errno));
	sigprocmask(SIG_BLOCK, &set, &signals->before);
	if (has_command)
		stop_ignoring(signals, &set);
	return 0;
}

int gt_signals_next(const struct gt_signals *signals, bool *ret_alone)
{
	struct signalfd_siginfo info;

	if (read(signals->fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	*ret_alone = info.ssi_code != SI_KERNEL;
	return (int)info.ssi_signo;
}

void gt_signals_pass(pid_t command, int number, bool alone)
{
	if (alone || getpgid(command) != getpgrp())
		kill(command, number);
}

int gt_signals_pass_pending(const struct gt_signals *signals, pid_t command)
{
	int number, last = 0;
	bool alone;

	while ((number = gt_signals_next(signals, &alone)) > 0) {
		gt_signals_pass(command, number, alone);
		last = number;
	}
	return last;
}

void gt_signals_release(struct gt_signals *signals)
{
	bool alone;

	if (signals->fd < 0)
		return;
	/* They were for what has ended. */
	while (gt_signals_next(signals, &alone) > 0)
		continue;
	close(signals->fd);
	for (unsigned i = 0; i < GT_SIGNALS; i++)
		if (signals->was_ignored[i])
			signal(rows[i].number, SIG_IGN);
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
	signals->fd = -1;
}
