/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clean.h"

static const int of_end[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int of_command[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF,
				 SIGIO,   SIGPWR,  SIGXCPU, SIGSTKFLT};

static bool is_among(int number, const int *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

bool gt_signals_is_end(int number)
{
	return is_among(number, of_end, gt_countof(of_end));
}

static bool is_of_command(int number)
{
	return is_among(number, of_command, gt_countof(of_command)) ||
	       (number >= SIGRTMIN && number <= SIGRTMAX);
}

/* A signal with a handler is not passed on: a command of gputap waits for it. */
static bool is_taken(int number, bool has_command)
{
	struct sigaction action;

	if (gt_signals_is_end(number))
		return true;
	return has_command && is_of_command(number) && !sigaction(number, NULL, &action) &&
	       (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

/* A blocked signal that is ignored is not even pending. */
static void stop_ignoring(struct gt_signals *signals, const sigset_t *taken)
{
	struct sigaction action;

	for (int number = 1; number <= SIGRTMAX; number++) {
		if (sigismember(taken, number) != 1 || sigaction(number, NULL, &action) ||
		    action.sa_handler != SIG_IGN)
			continue;
		sigaddset(&signals->ignored, number);
		signal(number, SIG_DFL);
	}
}

int gt_signals_take(struct gt_signals *signals, bool has_command, struct gt_diag *diag)
{
	sigset_t set;

	sigemptyset(&set);
	sigemptyset(&signals->ignored);
	for (int number = 1; number <= SIGRTMAX; number++)
		if (is_taken(number, has_command))
			sigaddset(&set, number);
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
	for (int number = 1; number <= SIGRTMAX; number++)
		if (sigismember(&signals->ignored, number) == 1)
			signal(number, SIG_IGN);
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
	signals->fd = -1;
}
