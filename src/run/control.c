/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The side of 'gputap probe': finding sessions and asking them. */
#include "run/control.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"

enum {
	TIMEOUT_S = 5,
	MAX_PROGRAMS = 1024, /* replies of one session */
	MAX_SOCKETS_FILE = 64 << 20,
	FLAG_LISTENS = 0x10000, /* __SO_ACCEPTCON of linux/net.h */
};

/* A request, and what the sessions answer. */
struct control_exchange {
	const struct gt_control_request *request;
	pid_t pid;
	gt_control_visit *visit;
	void *context;
	uint32_t sessions;
	gt_control_failed *failed;
	int error; /* the first one */
	struct gt_diag *diag;
};

static void fail_exchange(struct control_exchange *exchange, int error, pid_t pid, const char *text)
{
	if (!exchange->error)
		exchange->error = error;
	exchange->failed(exchange->context, pid, text);
}

/* Whether the peer would answer this user, and is the one that is asked. */
static bool is_wanted_peer(const struct control_exchange *exchange, int fd, pid_t *ret_pid)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return false;
	*ret_pid = peer.pid;
	if (exchange->pid && peer.pid != exchange->pid)
		return false;
	return !geteuid() || peer.uid == geteuid();
}

/* Connect to a name of the abstract namespace. -1: there is no session any more. */
static int connect_session(const char *name)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	int fd;

	if (length >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path + 1, name, length);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (!connect(fd, (struct sockaddr *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)))
		return fd;
	close(fd);
	return -1;
}

static bool receive_reply(int fd, struct gt_control_reply *reply)
{
	if (recv(fd, reply, sizeof(*reply), 0) != (ssize_t)sizeof(*reply) ||
	    reply->magic != GT_CONTROL_MAGIC)
		return false;
	reply->name[sizeof(reply->name) - 1] = '\0';
	reply->section[sizeof(reply->section) - 1] = '\0';
	reply->text[sizeof(reply->text) - 1] = '\0';
	return true;
}

static void ask_session(struct control_exchange *exchange, int fd, pid_t pid)
{
	struct gt_control_reply reply = {0};

	if (send(fd, exchange->request, sizeof(*exchange->request), MSG_NOSIGNAL) < 0) {
		fail_exchange(exchange, -ETIMEDOUT, pid, "it does not accept the request");
		return;
	}
	for (unsigned i = 0; i <= MAX_PROGRAMS; i++) {
		if (!receive_reply(fd, &reply)) {
			fail_exchange(exchange, -ETIMEDOUT, pid,
				      "no answer; it may be of another version, or too busy");
			return;
		}
		if (reply.kind == GT_CONTROL_END)
			break;
		exchange->visit(exchange->context, pid, &reply);
	}
	exchange->sessions++;
	if (reply.kind == GT_CONTROL_END && reply.error)
		fail_exchange(exchange, reply.error < 0 ? reply.error : -EPROTO, pid, reply.text);
}

/* A socket that listens, not one of its connections: the flags are the fourth word of its line. */
static bool listens(const char *line)
{
	unsigned flags;

	return sscanf(line, "%*s %*s %*s %x", &flags) == 1 && flags & FLAG_LISTENS;
}

/* A line of /proc/net/unix: its last word is the name, after '@' in the abstract namespace. */
static void visit_line(struct control_exchange *exchange, const char *line)
{
	const char *at = strrchr(line, ' ');
	pid_t pid = 0;
	int fd;

	if (!at || !listens(line) ||
	    strncmp(at + 1, "@" GT_CONTROL_PREFIX, strlen("@" GT_CONTROL_PREFIX)) != 0)
		return;
	fd = connect_session(at + 2);
	if (fd < 0)
		return;
	if (is_wanted_peer(exchange, fd, &pid))
		ask_session(exchange, fd, pid);
	close(fd);
}

int gt_control_ask(struct gt_control_request *request, pid_t pid, gt_control_visit *visit,
		   gt_control_failed *failed, void *context, uint32_t *ret_sessions,
		   struct gt_diag *diag)
{
	struct control_exchange exchange = {
		.request = request,
		.pid = pid,
		.visit = visit,
		.failed = failed,
		.context = context,
		.diag = diag,
	};
	gt_auto_file sockets = {0};
	int error = gt_file_read("/proc/net/unix", MAX_SOCKETS_FILE, &sockets, diag);
	char *rest = (char *)sockets.data, *line;

	if (error)
		return error;
	request->magic = GT_CONTROL_MAGIC;
	request->version = GT_CONTROL_VERSION;
	while ((line = strsep(&rest, "\n")))
		visit_line(&exchange, line);
	*ret_sessions = exchange.sessions;
	if (!exchange.error && pid && !exchange.sessions)
		return gt_diag(diag, -ENOENT, "probe", NULL,
			       "process %d runs no session that you may control; 'gputap probe "
			       "list' lists them",
			       (int)pid);
	return exchange.error;
}
