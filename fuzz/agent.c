/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as what agents do to the collector: connections, messages with files or without,
 * results, the ends of connections, in any order. The collector answers what it can, counts every
 * site, and keeps no descriptor.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/message.h"
#include "agent/protocol.h"
#include "patch_counter.h"
#include "run/inject.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	AGENTS = 4,
	MAX_STEPS = 64,
	MAX_DESCRIPTORS = 256,
};

/* A step: what it does, to which agent, and how many of the bytes that follow belong to it. */
struct agent_step {
	uint8_t action, agent;
	uint8_t length[2];
};

enum agent_action {
	ACTION_CONNECT,
	ACTION_SEND,    /* bytes as a message */
	ACTION_REQUEST, /* the start of the bytes as a request, the rest as its file */
	ACTION_SEALED,  /* the same with a sealed file */
	ACTION_VALID,   /* a valid request for the bytes as an image */
	ACTION_RESULT,  /* bytes as a result */
	ACTION_RECEIVE,
	ACTION_CLOSE,
	ACTIONS,
};

struct agents {
	struct gt_inject *inject;
	int sockets[AGENTS];
};

static int connect_agent(const struct gt_inject *inject)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *name = gt_inject_socket(inject);
	size_t length = offsetof(struct sockaddr_un, sun_path) + 1 + strcspn(name, "/");
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path + 1, name, strcspn(name, "/"));
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, (socklen_t)length)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int make_image(const uint8_t *data, size_t size, bool sealed)
{
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (sealed)
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return fd;
}

static void send_request(const struct agents *agents, int socket, struct gt_agent_request request,
			 const uint8_t *data, size_t size, bool sealed)
{
	int file = make_image(data, size, sealed);

	/* Without it nothing is examined. */
	memcpy(request.token, strchr(gt_inject_socket(agents->inject), '/') + 1,
	       sizeof(request.token));
	gt_agent_send(socket, &request, sizeof(request), file, MSG_DONTWAIT);
	close(file);
}

static void send_part(const struct agents *agents, int socket, const uint8_t *data, size_t size,
		      bool sealed)
{
	struct gt_agent_request request = {.magic = GT_AGENT_MAGIC, .version = GT_AGENT_VERSION};
	/* The token follows. */
	size_t part = offsetof(struct gt_agent_request, token);
	size_t head = size < part ? size : part;

	memcpy(&request, data, head);
	send_request(agents, socket, request, data + head, size - head, sealed);
}

/* What the collector sends is complete. */
static void check_reply(int fd, const struct gt_agent_reply *reply)
{
	struct stat status;

	if (reply->magic != GT_AGENT_MAGIC)
		abort();
	if (fd < 0)
		return;
	if (fstat(fd, &status) || reply->size > (uint64_t)status.st_size)
		abort();
	close(fd);
}

static void receive_replies(int socket)
{
	struct gt_agent_reply reply = {0};
	struct iovec part = {.iov_base = &reply, .iov_len = sizeof(reply)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	for (;;) {
		struct cmsghdr *header;
		int fd = -1;

		message.msg_control = control.space;
		message.msg_controllen = CMSG_LEN(sizeof(int));
		if (recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) !=
		    (ssize_t)sizeof(reply))
			return;
		header = CMSG_FIRSTHDR(&message);
		if (header)
			memcpy(&fd, CMSG_DATA(header), sizeof(fd));
		check_reply(fd, &reply);
	}
}

static void act(struct agents *agents, const struct agent_step *step, const uint8_t *data,
		size_t size)
{
	int *socket = &agents->sockets[step->agent % AGENTS];
	const struct gt_agent_request valid = {
		.magic = GT_AGENT_MAGIC,
		.version = GT_AGENT_VERSION,
		.operation = GT_AGENT_IMAGE,
		.size = size,
		.capability = 90,
	};

	if (*socket < 0)
		*socket = connect_agent(agents->inject);
	switch (step->action % ACTIONS) {
	case ACTION_SEND:
	case ACTION_RESULT:
		gt_agent_send(*socket, data, size, -1, MSG_DONTWAIT);
		break;
	case ACTION_REQUEST:
	case ACTION_SEALED:
		send_part(agents, *socket, data, size, step->action % ACTIONS == ACTION_SEALED);
		break;
	case ACTION_VALID:
		send_request(agents, *socket, valid, data, size, true);
		break;
	case ACTION_RECEIVE:
		receive_replies(*socket);
		break;
	case ACTION_CLOSE:
		close(*socket);
		*socket = -1;
		break;
	default:
		break;
	}
}

static void run_steps(struct agents *agents, const uint8_t *data, size_t size)
{
	for (unsigned i = 0; i < MAX_STEPS && size >= sizeof(struct agent_step); i++) {
		struct agent_step step;
		size_t length;

		memcpy(&step, data, sizeof(step));
		data += sizeof(step);
		size -= sizeof(step);
		length = step.length[0] | (size_t)step.length[1] << 8;
		length = length < size ? length : size;
		act(agents, &step, data, length);
		/* Some steps are together there. */
		if (!(step.agent & 0x80) && gt_inject_finish(agents->inject, NULL))
			abort();
		data += length;
		size -= length;
	}
}

/* The collector keeps the files of patched images, for the next process that loads the same. */
static bool is_patched_image(int fd)
{
	char path[32], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return false;
	return !strncmp(target, "/memfd:gputap-patched", 21);
}

static unsigned count_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < MAX_DESCRIPTORS; fd++)
		count += fcntl(fd, F_GETFD) >= 0 && !is_patched_image(fd);
	return count;
}

static struct gt_inject *open_collector(void)
{
	static struct patch_counter counter;
	struct gt_inject_options options = {.program_count = 1, .threads = 1024};
	struct gt_inject *inject;

	if (patch_counter_make(&counter, "gpu/entry/*", NULL))
		abort();
	options.object = counter.object;
	options.programs = &counter.inserted;
	if (gt_inject_open(&options, &inject, NULL))
		abort();
	/* From its first connection on, the collector has a descriptor of this process. */
	close(connect_agent(inject));
	if (gt_inject_finish(inject, NULL))
		abort();
	return inject;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gt_inject *inject;
	struct gt_inject_coverage coverage;
	struct agents agents;
	unsigned before;

	if (!inject)
		inject = open_collector();
	before = count_descriptors();
	agents.inject = inject;
	for (size_t i = 0; i < AGENTS; i++)
		agents.sockets[i] = -1;
	run_steps(&agents, data, size);
	for (size_t i = 0; i < AGENTS; i++)
		if (agents.sockets[i] >= 0)
			close(agents.sockets[i]);
	/* Once for what was sent, once for the ends. */
	for (int i = 0; i < 2; i++)
		if (gt_inject_finish(inject, NULL))
			abort();
	coverage = gt_inject_coverage(inject);
	if (coverage.found != coverage.patched + coverage.rejected || count_descriptors() != before)
		abort();
	return 0;
}
