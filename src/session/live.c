/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "event/kinds.h"
#include "launch/environment.h"
#include "launch/spawn.h"
#include "names/nvidia.h"
#include "probe/load.h"
#include "probe/target.h"
#include "session/filter.h"
#include "session/opened.h"
#include "session/processes.h"
#include "session/ring.h"
#include "session/signals.h"
#include "session/supply.h"

#define MAX_PROCESSES 65536 /* traced at a time */
#define LOOK_EVERY_MS 40    /* the ring wakes the reader only when it fills */

struct gt_live {
	struct gt_session_options options;
	struct gt_host host;
	struct gt_target target;
	struct gt_command command; /* its files */
	struct gt_environment environment;
	struct gt_child child;
	int exit_status;
	bool child_ended;

	int ring_fd, processes_fd, epoll;
	struct gt_signals signals;
	struct ring_buffer *ring;
	gt_opened_list sources;
	GT_VEC(int) target_fds; /* pidfds of options.pids */
	size_t targets_left;

	GT_VEC(struct gt_event *) early; /* events from before the run */
	struct gt_supply *supply;

	/* During a run. */
	gt_event_sink sink;
	void *context;
	int result; /* the sink's, once it is not 0 */
	uint64_t complete, bad_records;
	uint64_t left_out; /* that came behind the last wanted call */
	bool stop;
};

enum wait_kind {
	WAIT_RING,
	WAIT_SIGNAL,
	WAIT_CHILD,
	WAIT_TARGET,
	WAIT_SOURCE,
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void deliver(void *opaque, const struct gt_event *event)
{
	struct gt_live *live = opaque;

	if (gt_supply_learn(live->supply, event))
		live->result = live->result ? live->result : -ENOMEM;
	/* The totals are for the user even where a file takes no more events. */
	if (!live->result || event->kind == GT_EVENT_account) {
		int result = live->sink(live->context, event);

		live->result = live->result ? live->result : result;
	}
	if (live->result)
		live->stop = true;
}

/* Events from user space: kept until there is somebody to take them. */
static void emit(void *opaque, const struct gt_event *event)
{
	struct gt_live *live = opaque;
	struct gt_event *copy = malloc(event->size);

	if (!copy)
		return;
	memcpy(copy, event, event->size);
	if (!copy->time)
		copy->time = clock_ns(CLOCK_MONOTONIC);
	if (live->sink)
		deliver(live, copy);
	else if (!gt_vec_push(&live->early, copy))
		return;
	free(copy);
}

static void note(void *opaque, const char *format, ...)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	va_list arguments;
	struct gt_event *event;

	va_start(arguments, format);
	gt_strbuf_vprintf(&text, format, arguments);
	va_end(arguments);
	event = gt_event_new(GT_EVENT_note, gt_strbuf_string(&text), text.length);
	if (event)
		emit(opaque, event);
	free(event);
}

static void tell_clock(struct gt_live *live)
{
	struct gt_event_clock event = {
		.head.kind = GT_EVENT_clock,
		.head.size = sizeof(event),
		.head.device = GT_DEVICE_UNKNOWN,
	};

	event.head.time = clock_ns(CLOCK_MONOTONIC);
	event.realtime = clock_ns(CLOCK_REALTIME);
	emit(live, &event.head);
}

/* The software GPU has ordinals of its own. */
static void tell_devices(struct gt_live *live)
{
	struct gt_event *event = NULL;

	if (live->options.gpu != GT_GPU_SOFT)
		event = gt_nvidia_only_device("");
	if (event)
		emit(live, event);
	free(event);
}

static bool knows(void *opaque, __u32 process)
{
	struct gt_live *live = opaque;
	uint8_t traced;

	/* The command is known even where it ended before its first event was read. */
	return !live->host.filter.by_process || (pid_t)process == live->child.pid ||
	       !bpf_map_lookup_elem(live->processes_fd, &process, &traced) ||
	       gt_supply_has_met(live->supply, process);
}

static bool has_enough(const struct gt_live *live)
{
	return live->options.max_events && live->complete >= live->options.max_events;
}

static int take_record(void *opaque, void *data, size_t size)
{
	struct gt_live *live = opaque;
	const struct gt_event *event = data;

	if (gt_event_check(event, size)) {
		live->bad_records++;
		return 0;
	}
	if (event->kind == GT_EVENT_call || event->kind == GT_EVENT_entry) {
		const struct gt_event_call *call = data;
		bool finished = event->kind == GT_EVENT_call && !(call->state & GT_CALL_UNFINISHED);

		if (has_enough(live)) {
			live->left_out += finished;
			return 0;
		}
		live->complete += finished;
	}
	/*
	 * What the process mapped before it made this stack is told before it: that comes by
	 * another way, which may not have been looked at since.
	 */
	if (event->kind == GT_EVENT_memory || event->kind == GT_EVENT_stack)
		gt_opened_poll(&live->sources);
	if (gt_supply_take(live->supply, event))
		live->result = live->result ? live->result : -ENOMEM;
	live->stop |= has_enough(live);
	return 0;
}

static int wait_for(struct gt_live *live, int fd, enum wait_kind kind, size_t index,
		    struct gt_diag *diag)
{
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.u64 = (uint64_t)kind << 32 | index,
	};

	if (epoll_ctl(live->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return gt_diag(diag, -errno, "session", NULL, "epoll_ctl: %s", strerror(errno));
	return 0;
}

static int make_maps(struct gt_live *live, struct gt_diag *diag)
{
	uint32_t size = 0;
	int error = gt_ring_make(&live->options, &live->ring_fd, &size, diag);

	if (error)
		return error;
	live->processes_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "gputap_procs", sizeof(__u32),
					    sizeof(__u8), MAX_PROCESSES, NULL);
	if (live->processes_fd < 0)
		return gt_load_failed(-errno, "session", diag);
	live->ring = ring_buffer__new(live->ring_fd, take_record, live, NULL);
	if (!live->ring)
		return gt_load_failed(-errno, "session", diag);
	live->host.wakeup_bytes = size / 8;
	return wait_for(live, ring_buffer__epoll_fd(live->ring), WAIT_RING, 0, diag);
}

static int make_command(struct gt_live *live, struct gt_diag *diag)
{
	int error = gt_environment_make(live->options.command[0], live->options.gpu,
					&live->environment, &live->command, diag);

	if (error)
		return error;
	live->target.command = &live->command;
	live->target.loader = gt_loader_of_environment(live->environment.variables);
	if (live->environment.remark)
		note(live, "%s", live->environment.remark);
	if (live->command.by_shell)
		note(live,
		     "%s is no program, but a text without a '#!' line: %s runs it as a script",
		     live->options.command[0], live->command.paths[live->command.count - 1]);
	error = gt_child_make(live->command.paths[0], live->options.command,
			      live->environment.variables, &live->child, diag);
	if (error)
		return error;
	if (live->child.pidfd >= 0)
		error = wait_for(live, live->child.pidfd, WAIT_CHILD, 0, diag);
	return error ? error : gt_processes_add(live->processes_fd, live->child.pid);
}

/* The session ends when all processes that were named have ended. */
static int watch_targets(struct gt_live *live, struct gt_diag *diag)
{
	for (size_t i = 0; i < live->options.pid_count; i++) {
		int fd, error = gt_process_open(live->options.pids[i], &fd, diag);

		if (error)
			return error;
		error = gt_vec_push(&live->target_fds, fd);
		if (!error)
			error = wait_for(live, fd, WAIT_TARGET, i, diag);
		if (error)
			return error;
		live->targets_left++;
	}
	return 0;
}

static int open_source(struct gt_live *live, const char *name, struct gt_diag *diag)
{
	size_t index = live->sources.count;
	int error = gt_opened_add(&live->sources, &live->host, name, diag);
	int fd = live->sources.count > index ? gt_opened_fd(&live->sources.items[index]) : -1;

	return error || fd < 0 ? error : wait_for(live, fd, WAIT_SOURCE, index, diag);
}

static int open_sources(struct gt_live *live, struct gt_diag *diag)
{
	/* First the one that sees forks, so that no child of a target is missed. */
	int error = open_source(live, "process", diag);

	if (!error && live->options.pid_count)
		error = gt_processes_add_trees(live->processes_fd, live->options.pids,
					       live->options.pid_count, diag);
	for (size_t i = 0; i < live->options.source_count && !error; i++)
		error = open_source(live, live->options.sources[i], diag);
	if (!error && !live->options.source_count)
		error = open_source(live, "cuda", diag);
	return error;
}

static void fill_host(struct gt_live *live)
{
	const struct gt_session_options *options = &live->options;

	live->host.ring_fd = live->ring_fd;
	live->host.processes_fd = live->processes_fd;
	live->host.target = &live->target;
	live->host.groups = gt_opened_groups(options->sources, options->source_count);
	live->host.functions = options->functions;
	live->host.function_count = options->function_count;
	live->host.condition = options->condition;
	live->host.failed_only = options->failed_only;
	live->host.entries = options->entries;
	live->host.verbose = options->verbose;
	live->host.mappings = true;
	live->host.kernel_arguments = options->kernel_arguments;
	live->host.stack_depth = options->stack_depth;
	live->host.stack_copy = options->stack_copy;
	live->host.way = options->way;
	live->host.knows = knows;
	live->host.emit = emit;
	live->host.note = note;
	live->host.session = live;
	live->target.pids = options->pids;
	live->target.pid_count = options->pid_count;
	live->target.path = options->path;
}

static struct gt_live *live_new(const struct gt_session_options *options)
{
	struct gt_live *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->options = *options;
	live->child = GT_CHILD_NONE;
	live->ring_fd = live->processes_fd = -1;
	live->signals = GT_SIGNALS_NONE;
	live->epoll = epoll_create1(EPOLL_CLOEXEC);
	live->supply = gt_supply_new(&(struct gt_supply_options){
		.stack_depth = options->stack_copy ? options->stack_depth : 0,
		.cgroups = options->cgroups,
		.tell = deliver,
		.context = live,
	});
	return live;
}

int gt_live_open(const struct gt_session_options *options, struct gt_live **ret_live,
		 struct gt_diag *diag)
{
	gt_auto(live) struct gt_live *live = live_new(options);
	int error;

	if (!live || live->epoll < 0 || !live->supply)
		return gt_diag(diag, -ENOMEM, "session", NULL, "out of memory");
	gt_load_set_verbose(options->verbose);
	error = gt_filter_make(options, &live->host.filter, diag);
	if (!error)
		error = watch_targets(live, diag);
	if (!error)
		error = make_maps(live, diag);
	if (error)
		return error;
	fill_host(live);
	tell_clock(live);
	tell_devices(live);
	if (options->command)
		error = make_command(live, diag);
	else
		live->target.loader = gt_loader_of_environment(environ);
	if (!error)
		error = open_sources(live, diag);
	if (!error)
		error = gt_signals_take(&live->signals, diag);
	if (!error)
		error = wait_for(live, live->signals.fd, WAIT_SIGNAL, 0, diag);
	if (error)
		return error;
	*ret_live = gt_take(live);
	return 0;
}

static void take_exit(struct gt_live *live)
{
	int status;

	if (live->child_ended || waitpid(live->child.pid, &status, WNOHANG) != live->child.pid)
		return;
	live->child_ended = true;
	live->stop = true;
	live->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (WIFSIGNALED(status))
		note(live, "%s was ended by signal %d (%s)", live->options.command[0],
		     WTERMSIG(status), strsignal(WTERMSIG(status)));
}

/*
 * A signal from the terminal reaches the command, too, and the session ends with it; one that
 * was sent to gputap alone is passed on. A second one ends the session at once.
 */
static void take_signal(struct gt_live *live)
{
	bool alone;
	int number;

	while ((number = gt_signals_next(&live->signals, &alone)) > 0) {
		if (!live->child.pid || live->child_ended || live->exit_status) {
			live->stop = true;
			continue;
		}
		live->exit_status = 128 + number;
		if (alone)
			kill(live->child.pid, number);
	}
}

static void take_target_end(struct gt_live *live, size_t index)
{
	epoll_ctl(live->epoll, EPOLL_CTL_DEL, live->target_fds.items[index], NULL);
	if (!--live->targets_left)
		live->stop = true;
}

static void take_wait(struct gt_live *live, const struct epoll_event *event)
{
	size_t index = (uint32_t)event->data.u64;

	switch ((enum wait_kind)(event->data.u64 >> 32)) {
	case WAIT_RING:
		break; /* read in every round */
	case WAIT_SIGNAL:
		take_signal(live);
		break;
	case WAIT_CHILD:
		take_exit(live);
		break;
	case WAIT_TARGET:
		take_target_end(live, index);
		break;
	case WAIT_SOURCE:
		live->sources.items[index].source->poll(live->sources.items[index].state);
		break;
	}
}

static void loop(struct gt_live *live, int (*idle)(void *context))
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC), duration = live->options.duration_ns;
	struct epoll_event events[16];

	while (!live->stop) {
		int count = epoll_wait(live->epoll, events, gt_countof(events), LOOK_EVERY_MS);

		for (int i = 0; i < count; i++)
			take_wait(live, &events[i]);
		ring_buffer__consume(live->ring);
		if (idle && !live->result)
			live->result = idle(live->context);
		if (live->result || (duration && clock_ns(CLOCK_MONOTONIC) - start >= duration))
			live->stop = true;
	}
}

static void tell_account(struct gt_live *live)
{
	struct gt_counts counts = gt_opened_count(&live->sources);
	struct gt_event_account account = {
		.head.kind = GT_EVENT_account,
		.head.size = sizeof(account),
		.head.device = GT_DEVICE_UNKNOWN,
	};

	account.head.time = clock_ns(CLOCK_MONOTONIC);
	account.made = counts.made;
	account.complete = live->complete;
	account.unfinished = counts.unfinished;
	account.lost = counts.lost + live->bad_records;
	account.filtered = counts.filtered + live->left_out;
	account.orphans = counts.orphans;
	account.entries_lost = counts.entries_lost;
	account.others_lost = counts.others_lost;
	if (counts.untraced)
		note(live, "%llu child processes could not be traced: more than %d at a time",
		     (unsigned long long)counts.untraced, MAX_PROCESSES);
	emit(live, &account.head);
}

static void deliver_early(struct gt_live *live)
{
	gt_vec_each (event, &live->early) {
		deliver(live, *event);
		free(*event);
	}
	gt_vec_free(&live->early);
}

int gt_live_run(struct gt_live *live, gt_event_sink sink, int (*idle)(void *context), void *context,
		struct gt_diag *diag)
{
	int error = 0;

	live->sink = sink;
	live->context = context;
	deliver_early(live);
	if (live->child.pid && !live->stop)
		error = gt_child_let_go(&live->child, live->options.command[0], diag);
	if (!error)
		loop(live, idle);
	gt_opened_detach(&live->sources);
	ring_buffer__consume(live->ring);
	tell_clock(live);
	tell_account(live);
	live->sink = NULL;
	return error ? error : live->result;
}

bool gt_live_wait(struct gt_live *live, int limit_ms, int *ret_status)
{
	struct pollfd waits[] = {{.fd = live->child.pidfd, .events = POLLIN},
				 {.fd = live->signals.fd, .events = POLLIN}};
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	bool late = false;

	live->stop = !live->child.pid || live->child_ended;
	while (!live->stop && !late) {
		int result = poll(waits, gt_countof(waits), limit_ms < 0 ? 1000 : limit_ms);

		take_signal(live);
		take_exit(live);
		late = result < 0 || (limit_ms >= 0 && clock_ns(CLOCK_MONOTONIC) - start >=
							       (uint64_t)limit_ms * 1000000);
	}
	*ret_status = live->exit_status;
	return live->stop;
}

void gt_live_close(struct gt_live *live)
{
	if (!live)
		return;
	gt_opened_close(&live->sources);
	gt_child_release(&live->child);
	gt_vec_each (fd, &live->target_fds)
		close(*fd);
	gt_vec_free(&live->target_fds);
	gt_vec_each (event, &live->early)
		free(*event);
	gt_vec_free(&live->early);
	gt_supply_free(live->supply);
	ring_buffer__free(live->ring);
	for (int *fd = (int[]){live->ring_fd, live->processes_fd, live->epoll, -2}; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
	gt_signals_release(&live->signals);
	gt_command_free(&live->command);
	gt_environment_free(&live->environment);
	free(live);
}
