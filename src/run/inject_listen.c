/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The socket of the agents: connections, requests, results. */
#include "run/host_group.h"
#include "run/inject_private.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/message.h"

enum {
	MAX_CONNECTIONS = 512, /* fewer than files that a process may open */
	BACKLOG = 128,
	EVENTS = 16,
};

static int watch(struct gt_inject *inject, int fd, void *data)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = data};

	return epoll_ctl(inject->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int gt_inject_listen(struct gt_inject *inject, struct gt_diag *diag)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint64_t number[4];
	size_t length;

	if (getrandom(number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return gt_diag(diag, -EIO, "run", NULL, "no random numbers");
	snprintf(inject->socket, sizeof(inject->socket), "gputap-%016llx%016llx/%016llx%016llx",
		 (unsigned long long)number[0], (unsigned long long)number[1],
		 (unsigned long long)number[2], (unsigned long long)number[3]);
	length = strcspn(inject->socket, "/");
	memcpy(address.sun_path + 1, inject->socket, length);
	inject->epoll = epoll_create1(EPOLL_CLOEXEC);
	inject->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (inject->epoll < 0 || inject->listener < 0 ||
	    bind(inject->listener, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) ||
	    listen(inject->listener, BACKLOG) || watch(inject, inject->listener, NULL) ||
	    watch(inject, inject->control.epoll, &inject->control) ||
	    watch(inject, gt_inject_jobs_fd(inject), &inject->jobs))
		return gt_diag(diag, -errno, "run", NULL, "cannot listen for agents: %s",
			       strerror(errno));
	return 0;
}

/* Whether a request has the token. The time of a comparison does not show how much of it. */
static bool has_token(const struct gt_inject *inject, const struct gt_agent_request *request)
{
	const char *token = strchr(inject->socket, '/') + 1;
	unsigned char differs = 0;

	for (size_t i = 0; i < GT_AGENT_TOKEN; i++)
		differs |= (unsigned char)(token[i] ^ request->token[i]);
	return !differs;
}

/* A request and its file, or -1. False: nothing that the protocol has, or not from an agent. */
static bool receive_request(const struct gt_inject *inject, int socket,
			    struct gt_agent_request *request, int *ret_fd)
{
	return gt_agent_receive(socket, request, sizeof(*request), ret_fd) &&
	       request->magic == GT_AGENT_MAGIC && request->version == GT_AGENT_VERSION &&
	       has_token(inject, request);
}

static void report_module(struct gt_inject *inject, const struct gt_inject_connection *connection)
{
	if (connection->module.number && inject->options.report)
		inject->options.report(inject->options.context, &connection->module);
}

/* The outcome for a connection's image is known: it counts, so found = patched + rejected. */
static void count_outcome(struct gt_inject *inject, const struct gt_inject_connection *connection)
{
	const struct gt_inject_module *module = &connection->module;
	struct gt_inject_coverage *coverage = &inject->coverage;

	coverage->found += module->found;
	coverage->patched += module->patched;
	coverage->rejected += module->rejected;
	if (module->patched) {
		coverage->modules_patched++;
		coverage->modules_side += module->scope == GT_PATCH_SIDE;
		coverage->modules_copied += module->copied;
		coverage->kernels += module->kernels;
		coverage->compiled += module->compiled;
		for (uint32_t i = 0; i < inject->options.program_count; i++) {
			inject->programs[i].sites += connection->sites[i];
			inject->programs[i].kernels += connection->kernels[i];
		}
	}
	report_module(inject, connection);
}

void gt_inject_disconnect(struct gt_inject *inject, struct gt_inject_connection *connection)
{
	struct gt_inject_connection **link = &inject->connections;

	while (*link != connection)
		link = &(*link)->next;
	*link = connection->next;
	inject->connection_count--;
	/* close() does not do it where a child of this process has the descriptor, too. */
	epoll_ctl(inject->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
	close(connection->fd);
	gt_inject_process_put(connection->process);
	free(connection);
}

static struct ucred peer_of(int fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t size = sizeof(peer);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	return peer;
}

static void accept_agent(struct gt_inject *inject)
{
	int fd = accept4(inject->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct gt_inject_connection *connection;
	struct ucred peer;

	if (fd < 0)
		return;
	connection =
		inject->connection_count < MAX_CONNECTIONS ? calloc(1, sizeof(*connection)) : NULL;
	if (!connection || watch(inject, fd, connection)) {
		free(connection);
		close(fd);
		inject->coverage.connections_dropped++;
		return;
	}
	connection->fd = fd;
	peer = peer_of(fd);
	connection->module.pid = peer.pid;
	connection->user = peer.uid;
	connection->next = inject->connections;
	inject->connections = connection;
	inject->connection_count++;
	connection->process = gt_inject_processes_add(inject->processes, peer.pid);
}

static void end_connection(struct gt_inject *inject, struct gt_inject_connection *connection)
{
	count_outcome(inject, connection);
	gt_inject_disconnect(inject, connection);
}

/*
 * The driver's verdict on the patched image. A process that ends without one has loaded it, unless
 * it has not read the answer.
 */
static void take_result(struct gt_inject *inject, struct gt_inject_connection *connection)
{
	struct gt_agent_result result = {0};
	ssize_t size = recv(connection->fd, &result, sizeof(result), MSG_DONTWAIT);

	if (size == (ssize_t)sizeof(result) && result.magic == GT_AGENT_MAGIC && result.error) {
		gt_inject_image_fail(inject, connection, result.error);
	} else if (size < 0 && errno == ECONNRESET) {
		gt_inject_image_reject(inject, connection,
				       "the process did not wait for the patched module");
	}
	end_connection(inject, connection);
}

void gt_inject_answered(struct gt_inject *inject, struct gt_inject_connection *connection)
{
	if (!connection->answered) {
		end_connection(inject, connection);
	} else if (watch(inject, connection->fd, connection)) {
		gt_inject_image_reject(inject, connection,
				       "the collector has no memory for its result");
		end_connection(inject, connection);
	}
}

/* False: the connection is over. */
static bool answer_request(struct gt_inject *inject, struct gt_inject_connection *connection,
			   const struct gt_agent_request *request, int *file)
{
	switch (request->operation) {
	case GT_AGENT_IMAGE:
	case GT_AGENT_PROGRAM:
		/* Until its answer nothing comes but its end. */
		epoll_ctl(inject->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
		return gt_inject_jobs_add(inject, connection, request, gt_take_fd(file));
	case GT_AGENT_NAMES:
		gt_inject_image_names(inject, connection, request, *file);
		return false;
	case GT_AGENT_FINGERPRINT:
		gt_inject_image_fingerprint(inject, connection, request);
		return false;
	case GT_AGENT_COMPILED:
		gt_inject_image_compiled(inject, connection, request, *file);
		return false;
	case GT_AGENT_EVENTS:
		if (inject->events)
			gt_inject_events_send(inject->events, connection,
					      connection->module.pid != (pid_t)request->process);
		return false;
	case GT_AGENT_CALLS:
		if (inject->events)
			gt_inject_events_send_table(inject->events, connection->fd);
		return false;
	case GT_AGENT_MAPS:
		gt_inject_memory_send(inject, connection->fd);
		return false;
	case GT_AGENT_DEVICE_MAPS:
		gt_inject_memory_send_device(inject, request, connection->fd);
		return false;
	default:
		return false;
	}
}

static void take_request(struct gt_inject *inject, struct gt_inject_connection *connection)
{
	struct gt_agent_request request = {0};
	gt_autoclose int file = -1;

	if (receive_request(inject, connection->fd, &request, &file)) {
		/* The process waits, so that no call of its modules' kernels is missed. */
		if (inject->options.host_programs)
			gt_host_group_attach_process(inject->options.host_programs,
						     connection->module.pid);
		if (answer_request(inject, connection, &request, &file))
			return;
	}
	end_connection(inject, connection);
}

/* Some of what there is to do. *ret_count: how much it was. */
static int poll_agents(struct gt_inject *inject, int *ret_count, struct gt_diag *diag)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(inject->epoll, events, EVENTS, 0);

	*ret_count = count;
	if (count < 0 && errno != EINTR)
		return gt_diag(diag, -errno, "run", NULL, "cannot wait for agents: %s",
			       strerror(errno));
	for (int i = 0; i < count; i++) {
		struct gt_inject_connection *connection = events[i].data.ptr;

		if (events[i].data.ptr == &inject->control)
			gt_inject_control_poll(inject);
		else if (events[i].data.ptr == &inject->jobs)
			gt_inject_jobs_poll(inject);
		else if (!connection)
			accept_agent(inject);
		else if (connection->answered)
			take_result(inject, connection);
		else
			take_request(inject, connection);
	}
	return 0;
}

int gt_inject_poll(struct gt_inject *inject, struct gt_diag *diag)
{
	int error = 0, count = 1;

	inject->devices.round++;
	inject->devices.busy = false;
	/* A bound: agents that connect all the time must not keep the caller here. */
	for (int i = 0; i < MAX_CONNECTIONS && count > 0 && !error; i++)
		error = poll_agents(inject, &count, diag);
	return error;
}

int gt_inject_finish(struct gt_inject *inject, struct gt_diag *diag)
{
	int error = gt_inject_poll(inject, diag);

	if (error)
		return error;
	gt_inject_jobs_finish(inject);
	return gt_inject_poll(inject, diag);
}
