/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The socket by which 'gputap probe' lists and changes the programs of this session. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "run/control.h"
#include "run/inject_private.h"

enum {
	BACKLOG = 16,
	EVENTS = 8,
};

/* ---- connections ----------------------------------------------------------------------- */

static int watch(struct gt_inject_control *control, int fd, uint32_t number)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};

	return epoll_ctl(control->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int gt_inject_control_open(struct gt_inject *inject, struct gt_diag *diag)
{
	struct gt_inject_control *control = &inject->control;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint64_t number;
	int length;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return gt_diag(diag, -EIO, "run", NULL, "no random numbers");
	length =
		snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			 GT_CONTROL_PREFIX "%d-%016llx", (int)getpid(), (unsigned long long)number);
	control->epoll = epoll_create1(EPOLL_CLOEXEC);
	control->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (control->epoll < 0 || control->listener < 0 ||
	    bind(control->listener, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) ||
	    listen(control->listener, BACKLOG) ||
	    watch(control, control->listener, GT_INJECT_MAX_CONTROLS))
		return gt_diag(diag, -errno, "run", NULL, "cannot listen for 'gputap probe': %s",
			       strerror(errno));
	return 0;
}

static void close_control(struct gt_inject_control *control, uint32_t number)
{
	gt_cleanup_close(&control->fds[number]);
	control->fds[number] = -1;
}

void gt_inject_control_close(struct gt_inject *inject)
{
	for (uint32_t i = 0; i < GT_INJECT_MAX_CONTROLS; i++)
		close_control(&inject->control, i);
	gt_cleanup_close(&inject->control.listener);
	gt_cleanup_close(&inject->control.epoll);
}

/* This user and root may control a session. */
static bool is_permitted(int fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	       (!peer.uid || peer.uid == geteuid());
}

/* A new connection closes the one that has waited longest where there are too many. */
static void accept_control(struct gt_inject_control *control)
{
	int fd = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	uint32_t number = control->next;

	if (fd < 0)
		return;
	if (!is_permitted(fd)) {
		close(fd);
		return;
	}
	control->next = (number + 1) % GT_INJECT_MAX_CONTROLS;
	close_control(control, number);
	control->fds[number] = fd;
	if (watch(control, fd, number))
		close_control(control, number);
}

/* ---- requests -------------------------------------------------------------------------- */

static const char *name_of(const struct gt_inject *inject, uint32_t program)
{
	const struct gt_bpf_program *found = inject->options.programs[program].program;

	return found && found->name ? found->name : "";
}

static bool send_reply(int fd, struct gt_control_reply *reply)
{
	reply->magic = GT_CONTROL_MAGIC;
	return send(fd, reply, sizeof(*reply), MSG_NOSIGNAL | MSG_DONTWAIT) ==
	       (ssize_t)sizeof(*reply);
}

static void put_filter(struct gt_inject *inject, uint32_t program, struct gt_control_reply *reply)
{
	const struct gt_bpf_filter *filter = gt_inject_filter(inject, program);
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!filter)
		return;
	gt_bpf_filter_print(filter, &text);
	snprintf(reply->text, sizeof(reply->text), "%s", gt_strbuf_string(&text));
	reply->period = filter->period;
	reply->skipped = gt_inject_skipped(inject, program);
}

static bool send_program(struct gt_inject *inject, int fd, uint32_t program)
{
	const struct gt_inject_program *known = &inject->programs[program];
	const char *section = inject->options.programs[program].section.text;
	struct gt_control_reply reply = {
		.kind = GT_CONTROL_PROGRAM,
		.kernels = known->kernels,
		.sites = known->sites,
	};

	if (inject->options.switchable)
		reply.flags |= GT_CONTROL_SWITCHABLE;
	if (!known->off)
		reply.flags |= GT_CONTROL_ON;
	snprintf(reply.name, sizeof(reply.name), "%s", name_of(inject, program));
	put_filter(inject, program, &reply);
	snprintf(reply.section, sizeof(reply.section), "%s", section ? section : "");
	return send_reply(fd, &reply);
}

static int execute_request(struct gt_inject *inject, const struct gt_control_request *request,
			   uint32_t program, struct gt_diag *diag)
{
	switch (request->operation) {
	case GT_CONTROL_LIST:
		return 0;
	case GT_CONTROL_SWITCH:
		if (!inject->options.switchable)
			return gt_diag(diag, -EPERM, "probe", NULL,
				       "it was started without --switchable, which is needed from "
				       "the start");
		gt_inject_switch(inject, program, request->on);
		return 0;
	case GT_CONTROL_SET:
		return gt_inject_change_filter(inject, program,
					       request->has_condition ? request->condition : NULL,
					       request->period, diag);
	default:
		return gt_diag(diag, -EINVAL, "probe", NULL,
			       "it does not know this request; it may be of another version");
	}
}

static void answer_request(struct gt_inject *inject, const struct gt_control_request *request,
			   int fd)
{
	struct gt_control_reply end = {.kind = GT_CONTROL_END};
	struct gt_diag diag = {0};
	bool sent = true;

	for (uint32_t i = 0; i < inject->options.program_count && sent && !end.error; i++) {
		if (!gt_glob(request->name, name_of(inject, i)))
			continue;
		end.error = execute_request(inject, request, i, &diag);
		if (!end.error)
			sent = send_program(inject, fd, i);
	}
	if (end.error)
		snprintf(end.text, sizeof(end.text), "%.*s", (int)sizeof(end.text) - 1, diag.text);
	if (sent)
		send_reply(fd, &end);
}

static void take_request(struct gt_inject *inject, uint32_t number)
{
	struct gt_inject_control *control = &inject->control;
	struct gt_control_request request = {0};
	ssize_t size = recv(control->fds[number], &request, sizeof(request), MSG_DONTWAIT);

	if (size < 0 && errno == EAGAIN)
		return;
	request.name[sizeof(request.name) - 1] = '\0';
	request.condition[sizeof(request.condition) - 1] = '\0';
	if (size == (ssize_t)sizeof(request) && request.magic == GT_CONTROL_MAGIC &&
	    request.version == GT_CONTROL_VERSION)
		answer_request(inject, &request, control->fds[number]);
	close_control(control, number);
}

void gt_inject_control_poll(struct gt_inject *inject)
{
	struct gt_inject_control *control = &inject->control;
	struct epoll_event events[EVENTS];
	int count = epoll_wait(control->epoll, events, EVENTS, 0);

	for (int i = 0; i < count; i++) {
		uint32_t number = events[i].data.u32;

		if (number == GT_INJECT_MAX_CONTROLS)
			accept_control(control);
		else if (control->fds[number] >= 0)
			take_request(inject, number);
	}
}
