/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The agent's side of the protocol, with a collector that answers what a test wants. Whatever
 * happens, the program loads the original, and no descriptor stays open.
 */
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/filters.h"
#include "agent/protocol.h"
#include "base/clean.h"
#include "tap.h"

#define IMAGE "the image"
#define PATCHED "the patched image"
/* The file of a reply: the image, and the names of its kernels. */
#define PATCHED_FILE "the patched image\0k\0other"
#define NAMES 2, (sizeof(PATCHED_FILE) - sizeof(PATCHED))
#define MAPS_ADDRESS UINT64_C(0x2e0000000000)

enum {
	PAGE = 4096,
	MAX_FILES = 2,
	NO_RESULT = INT32_MIN,
};

/* ---- a collector ----------------------------------------------------------------------- */

/* A reply, and how it breaks the protocol. */
struct scripted_reply {
	const char *what;
	struct gt_agent_reply reply;
	size_t bytes; /* of the reply that are sent; 0: close without a reply */
	int files[MAX_FILES];
	unsigned file_count;
	unsigned delay_ms;
	bool is_silent;                    /* keep the connection open without a reply */
	const struct scripted_reply *next; /* sent after it */
};

struct scripted_collector {
	int listener;
	pthread_t thread;
	atomic_bool serves;
	_Atomic(const struct scripted_reply *) image, maps, names;
	_Atomic uint64_t fingerprint_low; /* of the last request */
	atomic_int requests, result;      /* the last result's error */
	atomic_int low_descriptors;       /* below 3 that the agent had open at its last request */
	atomic_uint_fast64_t last_size;   /* of an image */
	char last_image[64];
	int silent[64];
	unsigned silent_count;
};

static inline int file_with(const char *text, size_t size)
{
	int fd = memfd_create("reply", MFD_CLOEXEC);

	CHECK(!ftruncate(fd, (off_t)size));
	CHECK(pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text));
	return fd;
}

static inline int patched_file(void)
{
	int fd = memfd_create("reply", MFD_CLOEXEC);

	CHECK(pwrite(fd, PATCHED_FILE, sizeof(PATCHED_FILE), 0) == (ssize_t)sizeof(PATCHED_FILE));
	return fd;
}

static inline bool receive_request(int socket, struct gt_agent_request *request, int *ret_file)
{
	struct iovec part = {.iov_base = request, .iov_len = sizeof(*request)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.space,
				 .msg_controllen = sizeof(control.space)};
	ssize_t size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);

	*ret_file = -1;
	if (size > 0 && CMSG_FIRSTHDR(&message))
		memcpy(ret_file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(*ret_file));
	return size == (ssize_t)sizeof(*request);
}

static inline void send_reply(int socket, const struct scripted_reply *scripted)
{
	char bytes[2 * sizeof(scripted->reply)] = {0};
	struct iovec part = {.iov_base = bytes, .iov_len = scripted->bytes};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(MAX_FILES * sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(scripted->file_count * sizeof(int))}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	memcpy(bytes, &scripted->reply, sizeof(scripted->reply));
	if (scripted->file_count) {
		memcpy(CMSG_DATA(&control.header), scripted->files,
		       scripted->file_count * sizeof(int));
		message.msg_control = control.space;
		message.msg_controllen = CMSG_SPACE(scripted->file_count * sizeof(int));
	}
	sendmsg(socket, &message, MSG_NOSIGNAL);
}

/* How many of the standard descriptors the peer has open. */
static inline int count_low_descriptors(int socket)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	char path[64];
	int count = 0;

	getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	for (int fd = 0; fd < 3; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)peer.pid, fd);
		count += !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW);
	}
	return count;
}

static inline void keep_request(struct scripted_collector *collector, int socket, int file,
				const struct gt_agent_request *request)
{
	memset(collector->last_image, 0, sizeof(collector->last_image));
	if (file >= 0 &&
	    pread(file, collector->last_image, sizeof(collector->last_image) - 1, 0) < 0)
		collector->last_image[0] = '\0';
	collector->last_size = request->size;
	collector->low_descriptors = count_low_descriptors(socket);
	collector->requests++;
}

static inline void serve_connection(struct scripted_collector *collector, int socket)
{
	const struct scripted_reply *scripted;
	struct gt_agent_request request;
	struct gt_agent_result result;
	int file;

	if (!receive_request(socket, &request, &file)) {
		close(socket);
		return;
	}
	keep_request(collector, socket, file, &request);
	if (file >= 0)
		close(file);
	collector->fingerprint_low = request.fingerprint[0];
	scripted = request.operation == GT_AGENT_MAPS          ? collector->maps
		   : request.operation == GT_AGENT_NAMES       ? collector->names
		   : request.operation == GT_AGENT_FINGERPRINT ? collector->names
							       : collector->image;
	if (scripted->is_silent && collector->silent_count < gt_countof(collector->silent)) {
		collector->silent[collector->silent_count++] = socket;
		return;
	}
	usleep(scripted->delay_ms * 1000);
	for (const struct scripted_reply *reply = scripted; reply; reply = reply->next)
		if (reply->bytes || reply->file_count)
			send_reply(socket, reply);
	/* A child of the agent's process may keep the connection open. */
	if (scripted->bytes && request.operation == GT_AGENT_IMAGE &&
	    recv(socket, &result, sizeof(result), 0) == (ssize_t)sizeof(result))
		collector->result = result.error;
	close(socket);
}

static inline void *serve(void *context)
{
	struct scripted_collector *collector = context;
	int socket;

	collector->serves = true;
	while ((socket = accept4(collector->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		serve_connection(collector, socket);
	return NULL;
}

static struct scripted_reply good_image, good_maps;

static inline void prepare_good_replies(void)
{
	good_image = (struct scripted_reply){
		.reply = {GT_AGENT_MAGIC, GT_AGENT_WHOLE, sizeof(PATCHED), 0, 0, NAMES},
		.bytes = sizeof(struct gt_agent_reply),
		.files = {patched_file()},
		.file_count = 1,
	};
	good_maps = (struct scripted_reply){
		.reply = {GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, MAPS_ADDRESS},
		.bytes = sizeof(struct gt_agent_reply),
		.files = {file_with("maps", PAGE)},
		.file_count = 1,
	};
}

/* Listen; the agent finds the collector in the environment. */
static inline void listen_for_agent(struct scripted_collector *collector, int backlog)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char filters[24];
	int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			      "gputap-test-%d-%p", (int)getpid(), (void *)collector);

	collector->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	CHECK(!bind(collector->listener, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)));
	CHECK(!listen(collector->listener, backlog));
	setenv(GT_AGENT_SOCKET, address.sun_path + 1, 1);
	snprintf(filters, sizeof(filters), "%ld", gt_agent_count_filters());
	setenv(GT_AGENT_FILTERS, filters, 1);
	setenv(GT_AGENT_DEADLINE, "600000", 1);
	gt_agent_read_environment();
	collector->result = NO_RESULT;
}

static inline void collector_start(struct scripted_collector *collector,
				   const struct scripted_reply *image,
				   const struct scripted_reply *maps)
{
	prepare_good_replies();
	collector->image = image ? image : &good_image;
	collector->maps = maps ? maps : &good_maps;
	listen_for_agent(collector, 128);
	CHECK(!pthread_create(&collector->thread, NULL, serve, collector));
	/* A thread that starts may hold the sanitizer's lock of its allocator when a test forks. */
	while (!collector->serves)
		sched_yield();
}

static inline void collector_stop(struct scripted_collector *collector)
{
	shutdown(collector->listener, SHUT_RDWR);
	pthread_join(collector->thread, NULL);
	for (unsigned i = 0; i < collector->silent_count; i++)
		close(collector->silent[i]);
	close(collector->listener);
	close(good_image.files[0]);
	close(good_maps.files[0]);
}
/* After the replies, since its thread reads them until its end. */
#define auto_collector __attribute__((cleanup(collector_stop))) struct scripted_collector

/* ---- an agent -------------------------------------------------------------------------- */

static const struct gt_agent_image the_image = {IMAGE, sizeof(IMAGE)};

static inline int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1100; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/*
 * Wait until there are no more descriptors than before. The collector's end of a connection closes
 * when its thread has seen that of the agent closed; one that stays open is a timeout of the test.
 */
static inline void wait_for_descriptors(int before)
{
	while (count_descriptors() > before)
		usleep(1000);
}

/* Ask for an image and release the answer. Whether there was a patched one. */
static inline bool asks_in_vain(void)
{
	struct gt_agent_exchange exchange;
	bool is_patched;

	gt_agent_ask(&the_image, 75, &exchange);
	is_patched = exchange.patched;
	gt_agent_finish(&exchange, 0, false);
	return !is_patched;
}

/* The same in a process of its own after `prepare`; returns 0 or a number that says what is wrong.
 */
static inline int ask_in_child(void (*prepare)(void))
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		struct gt_agent_exchange exchange;
		int before, after;

		prepare();
		before = count_descriptors();
		gt_agent_ask(&the_image, 75, &exchange);
		if (exchange.patched && memcmp(exchange.patched, PATCHED, sizeof(PATCHED)) != 0)
			_exit(2);
		status = exchange.patched ? 0 : 1;
		gt_agent_finish(&exchange, 0, false);
		after = count_descriptors();
		_exit(after == before ? status : 3);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
