/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_command.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/timerfd.h>

#include "agent/filters.h"
#include "agent/protocol.h"
#include "base/installed.h"
#include "gpubpf/helpers.h"
#include "launch/environment.h"
#include "launch/spawn.h"
#include "run/host_group.h"
#include "run/inject_hip.h"
#include "run/inject_private.h"
#include "run/inject_spirv.h"
#include "run/shell_status.h"
#include "session/signals.h"

enum {
	IDLE_MS = 50, /* the maximum delay of records */
	BUSY_MS = 1,  /* while records come */
};

static bool reads_device(const struct gt_inject *inject)
{
	const struct gt_inject_options *options = &inject->options;

	for (uint32_t i = 0; i < options->program_count; i++)
		if (options->programs[i].program &&
		    gt_helpers_used(options->programs[i].program, options->programs[i].facts,
				    GT_TRAIT_DEVICE))
			return true;
	return false;
}

int gt_inject_environment(struct gt_inject *inject, struct gt_environment *environment,
			  bool filtered, struct gt_diag *diag)
{
	gt_autofree char *agent = NULL, *layer = NULL;
	char filters[24];
	int error = gt_installed_file("src/agent", "", "libgputap-agent.so", &agent, diag);

	/* The software GPU executes PTX alone. */
	gt_inject_recover_always(inject, environment->soft_gpu);
	if (!error)
		error = gt_inject_use_driver(inject, environment->soft_gpu, diag);
	if (!error)
		error = gt_environment_preload(environment, agent);
	if (!error)
		error = gt_installed_file("src/agent", "", "libgputap-opencl.so", &layer, diag);
	if (!error)
		error = gt_environment_prepend(environment, "OPENCL_LAYERS", ':', layer);
	if (!error)
		error = gt_environment_set(environment, GT_AGENT_SOCKET, gt_inject_socket(inject));
	snprintf(filters, sizeof(filters), "%ld", gt_agent_count_filters() + filtered);
	if (!error)
		error = gt_environment_set(environment, GT_AGENT_FILTERS, filters);
	if (!error && reads_device(inject))
		error = gt_environment_set(environment, GT_AGENT_NUMBERS, "1");
	return error;
}

static int attach_host_programs(const struct gt_inject_command *command,
				const struct gt_command *found,
				const struct gt_environment *environment,
				const struct gt_child *child, struct gt_diag *diag)
{
	const struct gt_host_command attached = {
		.files = found,
		.environment = environment->variables,
		.pidfd = child->pidfd,
		.targets = command->targets,
		.target_count = command->target_count,
	};

	return command->host_programs
		       ? gt_host_group_attach_command(command->host_programs, &attached, diag)
		       : 0;
}

/* Create the process of the command, which waits, and attach the host programs. */
static int make_command(struct gt_inject *inject, const struct gt_inject_command *command,
			void (*remark)(const char *text), struct gt_child *ret_child,
			struct gt_soft_reports **ret_reports, int *ret_status, struct gt_diag *diag)
{
	struct gt_environment environment = {0};
	gt_auto_command found = {0};
	int error =
		gt_environment_make(command->words[0], command->gpu, &environment, &found, diag);

	if (error) {
		*ret_status = error == -ENOENT ? GT_SHELL_NOT_FOUND : GT_SHELL_NOT_EXECUTED;
		return error;
	}
	if (environment.remark)
		remark(environment.remark);
	gt_inject_remark_spirv(inject, &found, remark);
	gt_inject_remark_hip(&found, remark);
	error = gt_inject_environment(inject, &environment, false, diag);
	if (!error)
		error = gt_child_make(found.paths[0], command->words, environment.variables, NULL,
				      ret_child, diag);
	if (!error)
		error = attach_host_programs(command, &found, &environment, ret_child, diag);
	if (!error)
		*ret_reports = gt_take(environment.reports);
	gt_environment_free(&environment);
	return error;
}

static int start_timer(uint64_t interval_ns)
{
	struct timespec interval = {.tv_sec = (time_t)(interval_ns / 1000000000),
				    .tv_nsec = (long)(interval_ns % 1000000000)};
	struct itimerspec timer = {.it_interval = interval, .it_value = interval};
	int fd = interval_ns ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK) : -1;

	if (fd >= 0)
		timerfd_settime(fd, 0, &timer, NULL);
	return fd;
}

/* Whether the command has ended; *ret_status is its status then. */
static bool has_ended(const struct gt_child *child, int *ret_status)
{
	int status;

	if (waitpid(child->pid, &status, WNOHANG) != child->pid)
		return false;
	*ret_status = gt_shell_status(status);
	return true;
}

/* The signals for the command. */
struct passed_signals {
	struct gt_signals signals;
	unsigned rounds; /* in which signals were passed on */
	void (*remark)(const char *text);
};

static void pass_signals(struct passed_signals *passed, const struct gt_inject_command *command,
			 const struct gt_child *child)
{
	int number = gt_signals_pass_pending(&passed->signals, child->pid);
	char text[256];

	if (!number || !passed->rounds++)
		return;
	snprintf(text, sizeof(text), "passed signal %d (%s) on; waiting for PID %d (%s)", number,
		 strsignal(number), (int)child->pid, command->words[0]);
	passed->remark(text);
}

static void print_reports(struct gt_soft_reports *reports, void (*remark)(const char *text))
{
	char line[GT_SOFT_REPORT_SIZE], text[GT_SOFT_REPORT_SIZE + 32];

	while (gt_soft_reports_next(reports, line)) {
		snprintf(text, sizeof(text), "the software GPU: %s", line);
		remark(text);
	}
}

static int serve(struct gt_inject *inject, const struct gt_inject_command *command,
		 const struct gt_child *child, struct passed_signals *signals,
		 struct gt_soft_reports *reports, int *ret_status, struct gt_diag *diag)
{
	gt_autoclose int timer = start_timer(command->interval_ns);
	struct pollfd ready[] = {
		{.fd = gt_inject_fd(inject), .events = POLLIN},
		{.fd = child->pidfd, .events = POLLIN},
		{.fd = timer, .events = POLLIN},
		{.fd = signals->signals.fd, .events = POLLIN},
	};
	uint64_t expirations;
	int error = 0;
	bool ended = false;

	while (!ended && !error) {
		poll(ready, gt_countof(ready), gt_inject_is_busy(inject) ? BUSY_MS : IDLE_MS);
		/* The socket keeps the command's last messages after its end. */
		ended = has_ended(child, ret_status);
		if (!ended)
			pass_signals(signals, command, child);
		error = ended ? gt_inject_finish(inject, diag) : gt_inject_poll(inject, diag);
		command->idle(command->context);
		print_reports(reports, signals->remark);
		if (timer >= 0 && read(timer, &expirations, sizeof(expirations)) > 0)
			command->tick(command->context);
	}
	return error;
}

static void remark_running(struct gt_inject *inject, void (*remark)(const char *text))
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	inject->still_running = gt_inject_count_running(inject);
	if (!inject->still_running)
		return;
	gt_child_put_running(&text, inject->still_running,
			     "what its kernels record from here on is not read",
			     "what their kernels record from here on is not read");
	remark(gt_strbuf_string(&text));
}

int gt_inject_run(struct gt_inject *inject, const struct gt_inject_command *command,
		  void (*remark)(const char *text), int *ret_status, struct gt_diag *diag)
{
	struct passed_signals signals = {.signals = GT_SIGNALS_NONE, .remark = remark};
	struct gt_child child = GT_CHILD_NONE;
	gt_auto(soft_reports) struct gt_soft_reports *reports = NULL;
	int error = make_command(inject, command, remark, &child, &reports, ret_status, diag);

	if (!error)
		error = gt_signals_take(&signals.signals, true, diag);
	if (error) {
		gt_child_release(&child);
		return error;
	}
	error = gt_child_resume(&child, command->words[0], diag);
	if (error) {
		waitpid(child.pid, NULL, 0);
		*ret_status = GT_SHELL_NOT_EXECUTED;
	} else {
		error = serve(inject, command, &child, &signals, reports, ret_status, diag);
		remark_running(inject, remark);
	}
	gt_signals_release(&signals.signals);
	if (command->host_programs)
		gt_host_group_detach(command->host_programs);
	gt_child_release(&child);
	return error;
}
