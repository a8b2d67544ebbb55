/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/hold/hold.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/hold/private.h"

/* Notifications that a keeper may have received and not answered when it was killed. */
#define MAX_UNKNOWN 64

struct gt_hold {
	int child_end, own_end; /* of a socket: the child passes the listener on */
	int listener;           /* a copy, for the case that the keeper is killed */
	int socket;             /* to the keeper; -1: none */
	int epoll;              /* `socket`, or `listener` without a keeper */
	pid_t keeper;
	struct hold_shared *shared;
	uint64_t last_id; /* that was seen */
	bool keeper_died;
};

/* ---- the filter, from the child to gputap ------------------------------------------------- */

/* What the child sends: 0 with the listener, or -Exxx. */
struct install_result {
	int error;
};

union listener_control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

static void send_result(int socket, int listener)
{
	struct install_result result = {.error = listener < 0 ? listener : 0};
	struct iovec bytes = {.iov_base = &result, .iov_len = sizeof(result)};
	union listener_control control = {
		.header = {.cmsg_level = SOL_SOCKET,
			   .cmsg_type = SCM_RIGHTS,
			   .cmsg_len = CMSG_LEN(sizeof(int))},
	};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

	if (listener >= 0) {
		memcpy(CMSG_DATA(&control.header), &listener, sizeof(listener));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control.space);
	}
	sendmsg(socket, &message, MSG_NOSIGNAL);
}

/* Returns the listener, or -Exxx. */
static int receive_result(int socket)
{
	struct install_result result = {0};
	struct iovec bytes = {.iov_base = &result, .iov_len = sizeof(result)};
	union listener_control control = {0};
	struct msghdr message = {.msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control.space)};
	ssize_t size;
	int listener;

	do
		size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (size < 0 && errno == EINTR);
	if (size != sizeof(result))
		return size < 0 ? -errno : -ECHILD;
	if (result.error)
		return result.error;
	if (message.msg_controllen < CMSG_LEN(sizeof(int)) ||
	    control.header.cmsg_type != SCM_RIGHTS)
		return -EMFILE;
	memcpy(&listener, CMSG_DATA(&control.header), sizeof(listener));
	return listener;
}

void gt_hold_install(void *opaque)
{
	struct gt_hold *hold = opaque;
	int listener = gt_hold_filter_install();

	send_result(hold->child_end, listener);
	if (listener >= 0)
		close(listener);
	close(hold->child_end);
	close(hold->own_end);
}

/* ---- the keeper --------------------------------------------------------------------------- */

/* Fork a keeper. `socket` is its end, or -1: it only lets everything continue. */
static int fork_keeper(struct gt_hold *hold, int socket)
{
	pid_t keeper = fork();

	if (!keeper)
		gt_hold_keep(hold->listener, socket, hold->shared);
	if (keeper < 0)
		return -errno;
	hold->keeper = keeper;
	return 0;
}

static int wait_on(struct gt_hold *hold, int fd)
{
	struct epoll_event wait = {.events = EPOLLIN};

	return epoll_ctl(hold->epoll, EPOLL_CTL_ADD, fd, &wait) < 0 ? -errno : 0;
}

static int start_keeper(struct gt_hold *hold)
{
	int ends[2], error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	hold->socket = ends[0];
	error = wait_on(hold, hold->socket);
	if (!error)
		error = fork_keeper(hold, ends[1]);
	close(ends[1]);
	return error;
}

/* Whether a process is left that the filter applies to. */
static bool has_processes(const struct gt_hold *hold)
{
	struct pollfd state = {.fd = hold->listener};

	return poll(&state, 1, 0) <= 0;
}

/*
 * Somebody has killed the keeper: gputap answers itself from now on. What the keeper had received
 * cannot be received again; the ids count up by one, and an id that nobody waits under is an error
 * without effect.
 */
static void replace_keeper(struct gt_hold *hold)
{
	close(gt_take_fd(&hold->socket));
	waitpid(hold->keeper, NULL, WNOHANG);
	hold->keeper_died = true;
	if (!has_processes(hold)) /* not killed: it has ended with the command */
		return;
	hold->shared->missed_at = gt_clock_monotonic();
	for (uint64_t i = 0; i < 2 * MAX_UNKNOWN; i++)
		gt_hold_filter_continue(hold->listener, hold->last_id - MAX_UNKNOWN + i);
	wait_on(hold, hold->listener);
}

/* ---- interface ---------------------------------------------------------------------------- */

int gt_hold_new(struct gt_hold **ret_hold, struct gt_diag *diag)
{
	struct gt_hold *hold = calloc(1, sizeof(*hold));
	int ends[2] = {-1, -1};

	if (!hold)
		return gt_diag(diag, -ENOMEM, "hold", NULL, "out of memory");
	hold->child_end = hold->own_end = hold->listener = hold->socket = -1;
	hold->epoll = epoll_create1(EPOLL_CLOEXEC);
	hold->shared = mmap(NULL, sizeof(*hold->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (hold->shared == MAP_FAILED)
		hold->shared = NULL;
	if (hold->epoll < 0 || !hold->shared ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		gt_hold_close(hold);
		return gt_diag(diag, -EMFILE, "hold", NULL, "%s", strerror(EMFILE));
	}
	hold->own_end = ends[0];
	hold->child_end = ends[1];
	*ret_hold = hold;
	return 0;
}

static int explain_failure(int error, struct gt_diag *diag)
{
	switch (error) {
	case -EACCES:
		return gt_diag(diag, error, "hold", NULL,
			       "a seccomp filter requires CAP_SYS_ADMIN (run gputap as root)");
	case -EBUSY:
		return gt_diag(diag, error, "hold", NULL,
			       "another process already receives seccomp notifications of gputap's "
			       "processes (a container runtime, or an outer gputap)");
	case -ENOSYS:
	case -EINVAL:
	case -EOPNOTSUPP:
		return gt_diag(diag, error, "hold", NULL,
			       "this kernel has no seccomp user notification (%s): it requires "
			       "Linux 5.5 with CONFIG_SECCOMP_FILTER",
			       strerror(-error));
	}
	return gt_diag(diag, error, "hold", NULL, "seccomp filters are not permitted here (%s)",
		       strerror(-error));
}

int gt_hold_start(struct gt_hold *hold, struct gt_diag *diag)
{
	int error;

	close(gt_take_fd(&hold->child_end));
	hold->listener = receive_result(hold->own_end);
	close(gt_take_fd(&hold->own_end));
	if (hold->listener < 0)
		return explain_failure(hold->listener, diag);
	error = start_keeper(hold);
	return error ? gt_diag(diag, error, "hold", NULL, "no second process can be started (%s)",
			       strerror(-error))
		     : 0;
}

int gt_hold_fd(const struct gt_hold *hold)
{
	return hold->epoll;
}

/* Without a keeper. */
static bool receive_notification(struct gt_hold *hold, struct gt_held *ret_held)
{
	struct pollfd ready = {.fd = hold->listener, .events = POLLIN};
	struct seccomp_notif notification;

	if (poll(&ready, 1, 0) <= 0)
		return false;
	if (!(ready.revents & POLLIN)) { /* POLLHUP: no process is left */
		epoll_ctl(hold->epoll, EPOLL_CTL_DEL, hold->listener, NULL);
		return false;
	}
	if (gt_hold_filter_receive(hold->listener, &notification))
		return false;
	*ret_held = (struct gt_held){
		.id = notification.id,
		.since = gt_clock_monotonic(),
		.thread = (pid_t)notification.pid,
		.file = (int)notification.data.args[4],
	};
	return true;
}

bool gt_hold_next(struct gt_hold *hold, struct gt_held *ret_held)
{
	ssize_t size;

	if (hold->keeper_died)
		return receive_notification(hold, ret_held);
	if (hold->socket < 0)
		return false;
	size = recv(hold->socket, ret_held, sizeof(*ret_held), MSG_DONTWAIT);
	if (size == sizeof(*ret_held)) {
		hold->last_id = ret_held->id;
		return true;
	}
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	replace_keeper(hold);
	return receive_notification(hold, ret_held);
}

void gt_hold_resume(struct gt_hold *hold, const struct gt_held *held)
{
	struct hold_answer answer = {.id = held->id};

	if (hold->keeper_died)
		gt_hold_filter_continue(hold->listener, held->id);
	else
		send(hold->socket, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
}

uint64_t gt_hold_missed_at(const struct gt_hold *hold)
{
	return hold->shared->missed_at;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(gt_take_fd(fd));
}

void gt_hold_stop(struct gt_hold *hold)
{
	/* The listener must not close before the command's last process has ended. */
	if (hold->keeper_died && has_processes(hold))
		fork_keeper(hold, -1);
	hold->keeper_died = false;
	close_end(&hold->socket);
	close_end(&hold->listener);
	close_end(&hold->epoll);
}

void gt_hold_close(struct gt_hold *hold)
{
	if (!hold)
		return;
	gt_hold_stop(hold);
	close_end(&hold->child_end);
	close_end(&hold->own_end);
	if (hold->keeper > 0)
		waitpid(hold->keeper, NULL, WNOHANG);
	if (hold->shared)
		munmap(hold->shared, sizeof(*hold->shared));
	free(hold);
}

int gt_hold_check(struct gt_diag *diag)
{
	struct gt_hold *hold;
	int error = gt_hold_new(&hold, diag);
	pid_t child;

	if (error)
		return error;
	child = fork();
	if (!child) {
		gt_hold_install(hold);
		_exit(0);
	}
	close(gt_take_fd(&hold->child_end));
	hold->listener = child < 0 ? -errno : receive_result(hold->own_end);
	if (child > 0)
		waitpid(child, NULL, 0);
	error = hold->listener < 0 ? explain_failure(hold->listener, diag) : 0;
	gt_hold_close(hold);
	return error;
}
