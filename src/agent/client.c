/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The agent's side of the protocol. Nothing here is kept open from one image to the next. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/message.h"
#include "agent/protocol.h"
#include "base/clock.h"

/* After this time without an answer the original is loaded. A module of 100,000 lines takes less
 * than a second. */
#define DEADLINE_S 30

enum {
	CUDA_ERROR_OUT_OF_MEMORY = 2,
};

static int connect_collector(void)
{
	/* connect() waits for room in the collector's backlog. */
	const struct timeval deadline = {.tv_sec = DEADLINE_S};
	const char *name = secure_getenv(GT_AGENT_SOCKET);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = name ? strlen(name) : 0;
	int fd;

	if (!length || length > sizeof(address.sun_path) - 1)
		return -1;
	memcpy(address.sun_path + 1, name, length);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof(deadline));
	if (connect(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int64_t now_ms(void)
{
	return (int64_t)(gt_clock_monotonic() / 1000000);
}

/* Wait for an answer. Signals of the program do not make the deadline later. */
static bool wait_for_reply(int socket)
{
	struct pollfd ready = {.fd = socket, .events = POLLIN};
	int64_t end = now_ms() + DEADLINE_S * 1000, left;
	int polled = -1;

	while ((left = end - now_ms()) > 0) {
		polled = poll(&ready, 1, (int)left);
		if (polled >= 0 || errno != EINTR)
			break;
	}
	return polled > 0;
}

/* The collector's answer, and its file or -1. */
static bool receive_reply(int socket, struct gt_agent_reply *reply, int *ret_fd)
{
	struct iovec part = {.iov_base = reply, .iov_len = sizeof(*reply)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.space,
		/* CMSG_SPACE has room for two descriptors. */
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	struct cmsghdr *header;

	*ret_fd = -1;
	if (!wait_for_reply(socket) ||
	    recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*reply))
		return false;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(header), sizeof(*ret_fd));
	return reply->magic == GT_AGENT_MAGIC;
}

/* A write beyond the process's limit of file sizes, which counts for memfds, too, is a SIGXFSZ. */
static bool may_write(size_t size)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) &&
	       (limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur);
}

static int make_file(const struct gt_agent_image *image)
{
	int fd = may_write(image->size)
			 ? (int)syscall(SYS_memfd_create, "gputap-image", MFD_CLOEXEC)
			 : -1;
	const char *data = image->data;
	size_t left = image->size;

	while (fd >= 0 && left) {
		ssize_t written = write(fd, data, left);

		if (written <= 0) {
			close(fd);
			return -1;
		}
		data += written;
		left -= (size_t)written;
	}
	return fd;
}

/* A request and its answer over a new connection; -1: none. */
static int exchange_messages(struct gt_agent_request *request, int file,
			     struct gt_agent_reply *reply, int *ret_fd)
{
	int socket = connect_collector();

	request->magic = GT_AGENT_MAGIC;
	request->version = GT_AGENT_VERSION;
	request->thread = (uint32_t)syscall(SYS_gettid);
	if (socket < 0)
		return -1;
	if (gt_agent_send(socket, request, sizeof(*request), file, 0) &&
	    receive_reply(socket, reply, ret_fd))
		return socket;
	if (*ret_fd >= 0)
		close(*ret_fd);
	close(socket);
	return -1;
}

/* Map a file that was received; it is closed in any case. */
static void *map_file(int fd, void *address, size_t size, int protection, int flags)
{
	struct stat status;
	void *memory = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (size && size <= GT_AGENT_MAX_IMAGE && !fstat(fd, &status) &&
	    (size_t)status.st_size >= size)
		memory = mmap(address, size, protection, flags, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

static void send_result(int socket, int error)
{
	struct gt_agent_result result = {.magic = GT_AGENT_MAGIC, .error = error};

	gt_agent_send(socket, &result, sizeof(result), -1, 0);
}

void gt_agent_ask(const struct gt_agent_image *image, uint32_t capability,
		  struct gt_agent_exchange *ret_exchange)
{
	struct gt_agent_request request = {
		.operation = GT_AGENT_IMAGE,
		.size = image->size,
		.capability = capability,
	};
	struct gt_agent_reply reply = {0};
	int file = make_file(image), fd = -1;

	*ret_exchange = (struct gt_agent_exchange){.socket = -1};
	if (file < 0)
		return;
	ret_exchange->socket = exchange_messages(&request, file, &reply, &fd);
	close(file);
	if (ret_exchange->socket < 0)
		return;
	if (reply.verdict != GT_AGENT_PATCHED) {
		if (fd >= 0)
			close(fd);
		return;
	}
	/* Private and writable: what the collector writes later does not count. */
	ret_exchange->patched =
		map_file(fd, NULL, reply.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE);
	ret_exchange->patched_size = reply.size;
	if (!ret_exchange->patched)
		send_result(ret_exchange->socket, CUDA_ERROR_OUT_OF_MEMORY);
}

void gt_agent_finish(struct gt_agent_exchange *exchange, int error, bool keep)
{
	if (exchange->socket < 0)
		return;
	if (exchange->patched) {
		send_result(exchange->socket, error);
		if (error || !keep)
			munmap((void *)exchange->patched, exchange->patched_size);
	}
	close(exchange->socket);
}

/* ---- the memory of the maps ------------------------------------------------------------ */

static struct {
	pthread_mutex_t lock;
	bool asked;
	void *memory;
	size_t size;
} agent_maps = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whether a file is an array of the kernel. The kernel checks its size, which fstat has not. */
static bool is_array(int fd)
{
	static const char expected[] = "anon_inode:bpf-map";
	char path[32], target[sizeof(expected)] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof(target)) == sizeof(expected) - 1 &&
	       !memcmp(target, expected, sizeof(expected) - 1);
}

/* Whether an array replaces pages of the memory of the maps, and no others. */
static bool is_within(const struct gt_agent_reply *array, const struct gt_agent_reply *memory)
{
	uint64_t offset = array->address - memory->address;

	return array->verdict == GT_AGENT_ARRAY && array->address >= memory->address &&
	       array->size && offset <= memory->size && array->size <= memory->size - offset;
}

/* Map the arrays of the kernel that follow a reply. */
static bool map_arrays(int socket, const struct gt_agent_reply *memory)
{
	bool mapped = memory->arrays <= GT_AGENT_MAX_ARRAYS;

	for (uint32_t i = 0; mapped && i < memory->arrays; i++) {
		struct gt_agent_reply array = {0};
		int fd = -1;

		mapped = receive_reply(socket, &array, &fd) && fd >= 0 &&
			 is_within(&array, memory) && is_array(fd) &&
			 mmap((void *)(uintptr_t)array.address, array.size, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
		if (fd >= 0)
			close(fd);
	}
	return mapped;
}

static void ask_for_maps(void)
{
	struct gt_agent_request request = {.operation = GT_AGENT_MAPS};
	struct gt_agent_reply reply = {0};
	int fd = -1, socket = exchange_messages(&request, -1, &reply, &fd);
	void *memory;

	if (socket < 0)
		return;
	if (reply.verdict != GT_AGENT_MEMORY) {
		if (fd >= 0)
			close(fd);
		close(socket);
		return;
	}
	memory = map_file(fd, (void *)(uintptr_t)reply.address, reply.size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_FIXED_NOREPLACE);
	/* Before Linux 4.17 the address is a hint. */
	if (memory && (memory != (void *)(uintptr_t)reply.address || !map_arrays(socket, &reply))) {
		munmap(memory, reply.size);
		memory = NULL;
	}
	close(socket);
	if (!memory)
		return;
	agent_maps.memory = memory;
	agent_maps.size = reply.size;
}

bool gt_agent_map_memory(void **ret_memory, size_t *ret_size)
{
	pthread_mutex_lock(&agent_maps.lock);
	if (!agent_maps.asked) {
		agent_maps.asked = true;
		ask_for_maps();
	}
	*ret_memory = agent_maps.memory;
	*ret_size = agent_maps.size;
	pthread_mutex_unlock(&agent_maps.lock);
	return *ret_memory;
}
