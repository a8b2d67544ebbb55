/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The process that receives the notifications. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "probe/hold/hold.h"
#include "probe/hold/private.h"

#define MAX_WAITING 256 /* threads that wait at a time; more are let through */
#define KNOWN_FILES 4096
#define MAX_PROBES 8 /* slots of the table that a file can be in */
#define LISTENER 3   /* its descriptors in the keeper */
#define SOCKET 4

/* `pkill gputap` must not take the keeper with it: the command needs it. */
static const char keeper_name[] = "mmap-keeper";
static const char keeper_line[] = "mmap-keeper: lets a traced command map files";

/* A file; a change of its inode makes it another one. All 0: none. */
struct answered_file {
	uint64_t device, inode, seconds, nanoseconds;
};

/* A thread that waits: the file that it maps, and the program that it executes. */
struct waiting_thread {
	struct gt_held held;
	struct answered_file mapped, program;
};

struct keeper {
	int socket; /* to gputap; -1: nobody asks */
	bool late;  /* gputap has missed an answer, and has not answered since */
	struct hold_shared *shared;
	struct waiting_thread waiting[MAX_WAITING];
	size_t count;
	struct answered_file known[KNOWN_FILES]; /* gputap has answered for them: a hash table */
};

/* ---- becoming the keeper ------------------------------------------------------------------ */

/* The command line that ps(1) shows: memory from arg_start to arg_end (proc_pid_stat(5)). */
static void set_command_line(void)
{
	gt_auto_file status = {0};
	unsigned long long start, end;
	const char *field;
	char *line;

	if (gt_file_read("/proc/self/stat", 65536, &status, NULL))
		return;
	field = strrchr((const char *)status.data, ')'); /* the end of field 2 */
	for (int number = 2; number < 48 && field; number++)
		field = strchr(field + 1, ' ');
	if (!field || sscanf(field, " %llu %llu", &start, &end) != 2 || !start || end <= start)
		return;
	line = (char *)(uintptr_t)start;
	memset(line, 0, end - start);
	strncpy(line, keeper_line, end - start - 1);
}

static void ignore_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		if (number != SIGSEGV && number != SIGBUS && number != SIGILL && number != SIGFPE &&
		    number != SIGABRT)
			signal(number, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The keeper may live longer than gputap: it holds no file, directory or terminal of its. */
static void leave_gputap(int listener, int socket)
{
	gt_unused int moved;
	int empty, score;

	ignore_signals();
	setsid();
	moved = chdir("/");
	listener = fcntl(listener, F_DUPFD, SOCKET + 1);
	socket = fcntl(socket, F_DUPFD, SOCKET + 1);
	dup2(listener, LISTENER);
	dup2(socket, SOCKET);
	close_range(SOCKET + 1, ~0u, 0);
	empty = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3 && empty >= 0; fd++)
		dup2(empty, fd);
	if (empty > SOCKET)
		close(empty);
	prctl(PR_SET_NAME, keeper_name);
	set_command_line();
	score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (score >= 0) {
		/* -1000: never. Without CAP_SYS_RESOURCE it stays as it is. */
		gt_write_all(score, "-1000", 5);
		close(score);
	}
}

/* ---- files that gputap knows -------------------------------------------------------------- */

static struct answered_file identify_file(pid_t thread, const char *name)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", thread, name);
	if (!thread || stat(path, &status))
		return (struct answered_file){0};
	return (struct answered_file){status.st_dev, status.st_ino, status.st_ctim.tv_sec,
				      status.st_ctim.tv_nsec};
}

static bool is_same_file(const struct answered_file *left, const struct answered_file *right)
{
	return left->device == right->device && left->inode == right->inode &&
	       left->seconds == right->seconds && left->nanoseconds == right->nanoseconds;
}

/* The slot of a file, or the one to put it into. */
static struct answered_file *find_slot(struct keeper *keeper, const struct answered_file *file)
{
	uint64_t hash = (file->inode ^ file->nanoseconds << 20 ^ file->device << 7) *
			UINT64_C(0x9e3779b97f4a7c15);
	struct answered_file *slot = NULL;

	for (unsigned i = 0; i < MAX_PROBES; i++) {
		slot = &keeper->known[((hash >> 40) + i) % KNOWN_FILES];
		if (!slot->inode || is_same_file(slot, file))
			break;
	}
	return slot;
}

static bool is_known(struct keeper *keeper, const struct answered_file *file)
{
	return file->inode && is_same_file(find_slot(keeper, file), file);
}

static void learn_file(struct keeper *keeper, const struct answered_file *file)
{
	if (file->inode)
		*find_slot(keeper, file) = *file;
}

/* ---- its work ----------------------------------------------------------------------------- */

/* Let threads continue without an answer; who sees them run sees `missed_at`, too. */
static void resume_all(struct keeper *keeper)
{
	if (keeper->count)
		keeper->shared->missed_at = gt_clock_monotonic();
	for (size_t i = 0; i < keeper->count; i++)
		gt_hold_filter_continue(LISTENER, keeper->waiting[i].held.id);
	keeper->count = 0;
}

/* gputap has ended, or wants to hold nothing any more. */
static void drop_socket(struct keeper *keeper)
{
	close(gt_take_fd(&keeper->socket));
	resume_all(keeper);
}

static bool pass_on(struct keeper *keeper, const struct waiting_thread *thread)
{
	const struct gt_held *held = &thread->held;

	if (keeper->socket < 0 || keeper->late || keeper->count == MAX_WAITING ||
	    send(keeper->socket, held, sizeof(*held), MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof(*held))
		return false;
	keeper->waiting[keeper->count++] = *thread;
	return true;
}

/*
 * What gputap has answered for once has its probes: most mappings need not wait for it. The program
 * counts, too, since it was mapped by execve(2), which is not held.
 */
static void take_notification(struct keeper *keeper)
{
	struct seccomp_notif notification;
	struct waiting_thread thread;
	char name[32];

	if (gt_hold_filter_receive(LISTENER, &notification))
		return;
	thread.held = (struct gt_held){
		.id = notification.id,
		.since = gt_clock_monotonic(),
		.thread = (pid_t)notification.pid,
		.file = (int)notification.data.args[4],
	};
	snprintf(name, sizeof(name), "fd/%d", thread.held.file);
	thread.mapped = identify_file(thread.held.thread, name);
	thread.program = identify_file(thread.held.thread, "exe");
	if (is_known(keeper, &thread.mapped) && is_known(keeper, &thread.program)) {
		gt_hold_filter_continue(LISTENER, thread.held.id);
		return;
	}
	if (pass_on(keeper, &thread))
		return;
	keeper->shared->missed_at = gt_clock_monotonic();
	gt_hold_filter_continue(LISTENER, thread.held.id);
}

static void take_answer(struct keeper *keeper)
{
	struct hold_answer answer;
	ssize_t size = recv(keeper->socket, &answer, sizeof(answer), MSG_DONTWAIT);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size != sizeof(answer) || !answer.id) {
		drop_socket(keeper);
		return;
	}
	keeper->late = false;
	for (size_t i = 0; i < keeper->count; i++) {
		if (keeper->waiting[i].held.id != answer.id)
			continue;
		learn_file(keeper, &keeper->waiting[i].mapped);
		learn_file(keeper, &keeper->waiting[i].program);
		gt_hold_filter_continue(LISTENER, answer.id);
		keeper->waiting[i] = keeper->waiting[--keeper->count];
		return;
	}
}

/* ms until the first of those that wait has waited long enough; -1: nobody waits. */
static int next_deadline(const struct keeper *keeper)
{
	uint64_t now = gt_clock_monotonic(), first = UINT64_MAX;

	for (size_t i = 0; i < keeper->count; i++)
		if (keeper->waiting[i].held.since < first)
			first = keeper->waiting[i].held.since;
	if (first == UINT64_MAX)
		return -1;
	return now >= first + GT_HOLD_LIMIT_NS
		       ? 0
		       : (int)((first + GT_HOLD_LIMIT_NS - now) / 1000000) + 1;
}

_Noreturn void gt_hold_keep(int listener, int socket, struct hold_shared *shared)
{
	struct keeper keeper = {.socket = SOCKET, .shared = shared};
	struct pollfd ready[2] = {{.fd = LISTENER, .events = POLLIN}, {.events = POLLIN}};

	leave_gputap(listener, socket);
	for (;;) {
		ready[1].fd = keeper.socket;
		ready[0].revents = ready[1].revents = 0;
		if (poll(ready, 2, next_deadline(&keeper)) < 0 && errno != EINTR)
			ready[0].revents = POLLIN;
		if (keeper.socket >= 0 && ready[1].revents)
			take_answer(&keeper);
		if (ready[0].revents & POLLIN)
			take_notification(&keeper);
		else if (ready[0].revents) /* POLLHUP: the last process has ended */
			_exit(0);
		if (!next_deadline(&keeper)) {
			keeper.late = true;
			resume_all(&keeper);
		}
	}
}
