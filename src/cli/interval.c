/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/interval.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* exec(2) restores the default, which it does not for an ignored signal. */
static void ignore_signal(int number)
{
}

void gt_interval_prepare(struct gt_report_interval *interval)
{
	const struct sigaction nothing = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART};

	interval->signals = -1;
	sigaction(SIGUSR1, &nothing, NULL);
}

void gt_interval_begin(struct gt_report_interval *interval)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	interval->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool gt_interval_is_over(struct gt_report_interval *interval, uint64_t start, uint64_t now,
			 uint64_t *ret_end)
{
	uint64_t end;

	if (!interval->length || !start)
		return false;
	if (!interval->next)
		interval->next = start + interval->length;
	end = interval->next;
	if (now < end || (interval->duration && end >= start + interval->duration))
		return false;
	interval->next += (now - end) / interval->length * interval->length + interval->length;
	*ret_end = end;
	return true;
}

bool gt_interval_is_requested(struct gt_report_interval *interval)
{
	struct signalfd_siginfo info;
	bool due = interval->requested;

	interval->requested = interval->signals >= 0 &&
			      read(interval->signals, &info, sizeof(info)) == sizeof(info);
	return due;
}

void gt_interval_end(struct gt_report_interval *interval)
{
	if (interval->signals >= 0)
		close(interval->signals);
	interval->signals = -1;
}
