/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

int gt_signals_take(struct gt_signals *signals, struct gt_diag *diag)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	signals->fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		return gt_diag(diag, -errno, "session", NULL, "signalfd: %s", strerror(errno));
	sigprocmask(SIG_BLOCK, &ends, &signals->before);
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

void gt_signals_release(struct gt_signals *signals)
{
	if (signals->fd < 0)
		return;
	close(signals->fd);
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
	signals->fd = -1;
}
