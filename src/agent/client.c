/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The agent's side of the protocol. Nothing here is kept open from one image to the next. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/filters.h"
#include "agent/message.h"
#include "agent/protocol.h"
#include "agent/ring_map.h"
#include "base/clock.h"
#include "base/file_limit.h"
#include "base/fingerprint.h"
#include "base/ptx_names.h"

enum {
	DEADLINE_MS = 30000, /* A module of 100,000 lines takes less than a second. */
	MAX_DEADLINE_MS = 3600 * 1000,
	LATE_DEADLINE_MS = 500,
	MIN_LATE_DEADLINE_MS = 50,
	/* Programs close descriptors that they know, up to a few hundred. */
	FIRST_DESCRIPTOR = 512,
	STANDARD_DESCRIPTORS = 3,
	LONG_TEXT = 64 << 10, /* to copy it costs more than to list its names */
	WINDOW = 64 << 10,    /* bytes of which fingerprints are computed at a time */
};

/* ---- deadlines ------------------------------------------------------------------------- */

/*
 * Deadlines that the collector has missed since it met one. A program that loads a thousand modules
 * does not wait long for each.
 */
static atomic_uint missed_deadlines;

static int64_t now_ms(void)
{
	return (int64_t)(gt_clock_monotonic() / 1000000);
}

/* After a missed deadline the wait is short, and half of it after each further one. */
static int64_t limit_of_late_collector(unsigned missed)
{
	int64_t limit = missed < 16 ? LATE_DEADLINE_MS >> (missed - 1) : 0;

	return limit > MIN_LATE_DEADLINE_MS ? limit : MIN_LATE_DEADLINE_MS;
}

/* When the agent stops waiting for an answer to a request of now. */
static int64_t deadline_of_request(void)
{
	int64_t wait = gt_agent_environment()->deadline_ms;
	unsigned missed = atomic_load(&missed_deadlines);

	if (wait <= 0 || wait > MAX_DEADLINE_MS)
		wait = DEADLINE_MS;
	if (missed && wait > limit_of_late_collector(missed))
		wait = limit_of_late_collector(missed);
	return now_ms() + wait;
}

/* ---- connections ----------------------------------------------------------------------- */

/*
 * Move a new descriptor away from those that the program may use or close without knowledge of
 * them: one that takes the number of a closed standard stream would receive what the program
 * prints.
 */
static int move_descriptor(int fd)
{
	int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);

	if (fd < 0 || (moved < 0 && fd >= STANDARD_DESCRIPTORS))
		return fd;
	if (moved < 0)
		moved = fcntl(fd, F_DUPFD_CLOEXEC, STANDARD_DESCRIPTORS);
	close(fd);
	return moved;
}

/* connect() waits for room in the collector's backlog, and a signal interrupts it. */
static bool connect_until(int fd, const struct gt_agent_environment *environment, int64_t end)
{
	const struct sockaddr *address = (const struct sockaddr *)&environment->collector;
	int64_t left;

	while ((left = end - now_ms()) > 0) {
		const struct timeval wait = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};

		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
		if (!connect(fd, address, (socklen_t)environment->collector_size))
			return true;
		if (errno != EINTR)
			return false;
	}
	return false;
}

/* Whether system calls have the effects that they have for gputap. */
static bool may_call(void)
{
	return gt_agent_count_filters() == gt_agent_environment()->filters;
}

/* A connection to the collector, or -1. */
static int connect_collector(int64_t end)
{
	const struct gt_agent_environment *environment = gt_agent_environment();
	int fd;

	if (!environment->collector_size || !may_call())
		return -1;
	fd = move_descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	if (fd >= 0 && connect_until(fd, environment, end))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Wait for an answer. Signals of the program do not make the deadline later. */
static bool wait_for_reply(int socket, int64_t end)
{
	struct pollfd ready = {.fd = socket, .events = POLLIN};
	int64_t left;
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
	bool is_received = gt_agent_receive(socket, reply, sizeof(*reply), ret_fd);

	if (*ret_fd >= 0)
		*ret_fd = move_descriptor(*ret_fd);
	return is_received && reply->magic == GT_AGENT_MAGIC;
}

/* write() reports memory that is not there; an image may state more bytes than it has. */
static bool write_image(int fd, const struct gt_agent_image *image)
{
	const char *data = image->data;
	size_t left = image->size;

	while (left) {
		ssize_t written = write(fd, data, left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		data += written;
		left -= (size_t)written;
	}
	return true;
}

/* A file with the image, or -1. */
static int make_file(const struct gt_agent_image *image)
{
	int fd;

	if (!gt_may_write(image->size))
		return -1;
	fd = move_descriptor(
		(int)syscall(SYS_memfd_create, "gputap-image", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	/* The collector need not copy a file that nobody can change. */
	if (fd >= 0 && write_image(fd, image) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Send a request and receive its answer, which is *reply and *ret_fd, or -1 as *ret_fd. */
static bool exchange_messages(int socket, struct gt_agent_request *request, int file, int64_t end,
			      struct gt_agent_reply *reply, int *ret_fd)
{
	bool is_answered;

	*ret_fd = -1;
	request->magic = GT_AGENT_MAGIC;
	request->version = GT_AGENT_VERSION;
	request->thread = (uint32_t)syscall(SYS_gettid);
	request->process = (uint32_t)getpid();
	memcpy(request->token, gt_agent_environment()->token, sizeof(request->token));
	is_answered = gt_agent_send(socket, request, sizeof(*request), file, 0) &&
		      wait_for_reply(socket, end);
	if (now_ms() >= end)
		atomic_fetch_add(&missed_deadlines, 1);
	else
		atomic_store(&missed_deadlines, 0);
	if (is_answered && receive_reply(socket, reply, ret_fd))
		return true;
	if (*ret_fd >= 0)
		close(*ret_fd);
	*ret_fd = -1;
	return false;
}

/*
 * mmap(2), by the system call: the functions of ThreadSanitizer and MemorySanitizer take another
 * address where they do not know the one that is asked for.
 */
static void *map_at(void *address, size_t size, int protection, int flags, int fd, uint64_t offset)
{
	return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, (off_t)offset);
}

static void unmap_at(void *memory, size_t size)
{
	syscall(SYS_munmap, memory, size);
}

/* Map a file that was received, from an offset on; it is closed in any case. NULL: errno says why.
 */
static void *map_file(int fd, uint64_t offset, void *address, size_t size, int protection,
		      int flags)
{
	struct stat status;
	void *memory = MAP_FAILED;
	int error = EINVAL;

	if (fd < 0) {
		errno = EBADF;
		return NULL;
	}
	if (size && size <= GT_AGENT_MAX_AREA && offset <= GT_AGENT_MAX_AREA &&
	    !fstat(fd, &status) && (size_t)status.st_size >= offset + size) {
		memory = map_at(address, size, protection, flags, fd, offset);
		error = errno;
	}
	close(fd);
	errno = error;
	return memory == MAP_FAILED ? NULL : memory;
}

static void send_result(int socket, int error)
{
	struct gt_agent_result result = {.magic = GT_AGENT_MAGIC, .error = error};

	gt_agent_send(socket, &result, sizeof(result), -1, 0);
}

/* Ask for an image over a connection. True: the reply is that there is a patched one, in *ret_fd.
 */
static bool ask_for_image(int socket, const struct gt_agent_image *image,
			  struct gt_agent_request *request, int64_t end,
			  struct gt_agent_reply *reply, int *ret_fd)
{
	int file = make_file(image);
	bool is_answered =
		file >= 0 && exchange_messages(socket, request, file, end, reply, ret_fd);

	if (file >= 0)
		close(file);
	if (is_answered && (reply->verdict == GT_AGENT_WHOLE || reply->verdict == GT_AGENT_SIDE))
		return true;
	if (is_answered && *ret_fd >= 0)
		close(*ret_fd);
	return false;
}

/* Whether the bytes after the image are as many names as the reply states, sorted. */
static bool read_names(const struct gt_agent_reply *reply, const void *mapped,
		       struct gt_agent_names *ret_names)
{
	const char *data = (const char *)mapped + reply->size, *end = data + reply->names_size;
	const char *last = "";
	uint32_t count = 0;

	for (const char *name = data; name < end; count++) {
		size_t length = strnlen(name, (size_t)(end - name));

		if (length == (size_t)(end - name) || strcmp(last, name) >= 0)
			return false;
		last = name;
		name += length + 1;
	}
	*ret_names = (struct gt_agent_names){
		.data = data,
		.size = reply->names_size,
		.count = count,
	};
	return (count || reply->flags & GT_AGENT_UNPATCHED) && count == reply->kernels;
}

/* Map what was attached to a reply; the file is closed in any case. 0 or gt_agent_error. */
static int map_reply(const struct gt_agent_reply *reply, int fd, struct gt_agent_exchange *exchange)
{
	size_t size = reply->size + reply->names_size;
	void *mapped;

	if (reply->size > GT_AGENT_MAX_IMAGE || reply->names_size > GT_AGENT_MAX_NAMES) {
		if (fd >= 0)
			close(fd);
		return GT_AGENT_BAD_REPLY;
	}
	/* Private and writable: what the collector writes later does not count. */
	mapped = map_file(fd, 0, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE);
	if (!mapped)
		return errno == ENOMEM ? GT_AGENT_NO_MEMORY : GT_AGENT_BAD_REPLY;
	if (!reply->size || !read_names(reply, mapped, &exchange->kernels) ||
	    !memchr(reply->device_symbol, 0, sizeof(reply->device_symbol))) {
		munmap(mapped, size);
		return GT_AGENT_BAD_REPLY;
	}
	exchange->patched = mapped;
	exchange->size = size;
	exchange->image_size = reply->size;
	exchange->is_side = reply->verdict == GT_AGENT_SIDE;
	exchange->is_linked = reply->flags & GT_AGENT_LINKED;
	memcpy(exchange->device_symbol, reply->device_symbol, sizeof(exchange->device_symbol));
	return 0;
}

/* ---- names of long texts --------------------------------------------------------------- */

/* The list of GT_AGENT_NAMES, in `list`. 0: it cannot be made. */
static size_t list_names(const struct gt_agent_image *image, char *list)
{
	const char *at = image->data, *end = at + image->size;
	enum gt_ptx_names_state state;
	struct gt_ptx_name name;
	size_t size = 0;

	while ((state = gt_ptx_next_name(&at, end, &name)) == GT_PTX_NAMES_FOUND) {
		if (name.length + 2 > GT_AGENT_MAX_LIST - size)
			return 0;
		list[size++] = name.is_entry ? 'e' : 'f';
		memcpy(list + size, name.text, name.length);
		size += name.length;
		list[size++] = 0;
	}
	return state == GT_PTX_NAMES_END ? size : 0;
}

/* False: the collector does not answer, or it knows that no program matches. */
static bool is_wanted(struct gt_agent_request *request, int file, int64_t end)
{
	int fd = -1, socket = connect_collector(end);
	struct gt_agent_reply reply;
	bool wanted;

	if (socket < 0)
		return false;
	wanted = exchange_messages(socket, request, file, end, &reply, &fd) &&
		 reply.verdict == GT_AGENT_WANTED;
	if (fd >= 0)
		close(fd);
	close(socket);
	return wanted;
}

static bool ask_about_names(const struct gt_agent_image *list, uint32_t capability, int64_t end)
{
	struct gt_agent_request request = {
		.operation = GT_AGENT_NAMES,
		.size = list->size,
		.capability = capability,
	};
	int file = make_file(list);
	bool wanted = file < 0 || is_wanted(&request, file, end);

	if (file >= 0)
		close(file);
	return wanted;
}

/* Whether the collector may have a patched form of a long text. */
static bool may_match_names(const struct gt_agent_image *image, uint32_t capability, int64_t end)
{
	struct gt_agent_image list = {.data = NULL};
	bool wanted;
	char *names;

	names = mmap(NULL, GT_AGENT_MAX_LIST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (names == MAP_FAILED)
		return true;
	list.data = names;
	list.size = list_names(image, names);
	wanted = !list.size || ask_about_names(&list, capability, end);
	munmap(names, GT_AGENT_MAX_LIST);
	return wanted;
}

/* ---- fingerprints of large images ------------------------------------------------------- */

/* write() all of a part of an image to the start of a file: it reports memory that is not there. */
static bool write_window(int fd, const char *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t written = pwrite(fd, data + done, size - done, (off_t)done);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		done += (size_t)written;
	}
	return true;
}

/* Compute the fingerprint of an image, part by part, of a copy in `window`, which maps the file. */
static bool read_fingerprint(const struct gt_agent_image *image, int fd, const char *window,
			     struct gt_fingerprint *ret_fingerprint)
{
	struct gt_fingerprint state = GT_FINGERPRINT_INIT;

	for (size_t at = 0; at < image->size; at += WINDOW) {
		size_t left = image->size - at, size = left < WINDOW ? left : WINDOW;

		if (!write_window(fd, (const char *)image->data + at, size))
			return false;
		gt_fingerprint_add(&state, window, size);
	}
	*ret_fingerprint = gt_fingerprint_end(&state, image->size);
	return true;
}

static bool make_fingerprint(const struct gt_agent_image *image,
			     struct gt_fingerprint *ret_fingerprint)
{
	void *window = MAP_FAILED;
	bool made = false;
	int fd = -1;

	if (gt_may_write(WINDOW))
		fd = move_descriptor(
			(int)syscall(SYS_memfd_create, "gputap-fingerprint", MFD_CLOEXEC));
	if (fd >= 0 && !ftruncate(fd, WINDOW))
		window = mmap(NULL, WINDOW, PROT_READ, MAP_SHARED, fd, 0);
	if (window != MAP_FAILED) {
		made = read_fingerprint(image, fd, window, ret_fingerprint);
		munmap(window, WINDOW);
	}
	if (fd >= 0)
		close(fd);
	return made;
}

static bool may_match_fingerprint(const struct gt_agent_image *image, uint32_t capability,
				  int64_t end)
{
	struct gt_agent_request request = {
		.operation = GT_AGENT_FINGERPRINT,
		.size = image->size,
		.capability = capability,
	};
	struct gt_fingerprint fingerprint;

	if (!make_fingerprint(image, &fingerprint))
		return true;
	memcpy(request.fingerprint, fingerprint.words, sizeof(request.fingerprint));
	return is_wanted(&request, -1, end);
}

/* Whether the collector may have a patched form of an image. */
static bool may_match(const struct gt_agent_image *image, uint32_t capability, int64_t end)
{
	if (image->is_text && image->size >= LONG_TEXT)
		return may_match_names(image, capability, end);
	return image->is_text || image->size < GT_AGENT_LARGE ||
	       may_match_fingerprint(image, capability, end);
}

static void ask(const struct gt_agent_image *image, struct gt_agent_request *request, int64_t end,
		struct gt_agent_exchange *ret_exchange)
{
	int error, fd, socket = connect_collector(end);
	struct gt_agent_reply reply;

	request->size = image->size;
	*ret_exchange = (struct gt_agent_exchange){.socket = socket};
	if (socket < 0 || !ask_for_image(socket, image, request, end, &reply, &fd))
		return;
	error = map_reply(&reply, fd, ret_exchange);
	if (error)
		send_result(socket, error);
}

void gt_agent_ask(const struct gt_agent_image *image, uint32_t capability,
		  struct gt_agent_exchange *ret_exchange)
{
	struct gt_agent_request request = {.operation = GT_AGENT_IMAGE, .capability = capability};
	int64_t end = deadline_of_request();

	*ret_exchange = (struct gt_agent_exchange){.socket = -1};
	if (gt_agent_environment()->passes_images && may_match(image, capability, end))
		ask(image, &request, end, ret_exchange);
}

bool gt_agent_ask_names(const char *list, size_t size)
{
	const struct gt_agent_image names = {.data = list, .size = size};

	return !gt_agent_environment()->passes_images || !size || size > GT_AGENT_MAX_LIST ||
	       ask_about_names(&names, 0, deadline_of_request());
}

void gt_agent_ask_program(const void *data, size_t size, uint32_t form,
			  struct gt_agent_exchange *ret_exchange)
{
	struct gt_agent_request request = {.operation = GT_AGENT_PROGRAM, .form = form};
	const struct gt_agent_image image = {.data = data, .size = size};

	*ret_exchange = (struct gt_agent_exchange){.socket = -1};
	if (gt_agent_environment()->passes_images)
		ask(&image, &request, deadline_of_request(), ret_exchange);
}

void gt_agent_finish(struct gt_agent_exchange *exchange, int error, bool keep)
{
	if (exchange->socket < 0)
		return;
	if (exchange->patched) {
		send_result(exchange->socket, error);
		if (error || !keep)
			munmap((void *)exchange->patched, exchange->size);
	}
	close(exchange->socket);
}

bool gt_agent_send_compiled(const struct gt_agent_image *report)
{
	struct gt_agent_request request = {.operation = GT_AGENT_COMPILED, .size = report->size};
	int64_t end = deadline_of_request();
	int fd = -1, file, socket = connect_collector(end);
	struct gt_agent_reply reply;
	bool is_wanted;

	if (socket < 0)
		return false;
	file = make_file(report);
	is_wanted = file >= 0 && exchange_messages(socket, &request, file, end, &reply, &fd) &&
		    reply.verdict == GT_AGENT_WANTED;
	if (fd >= 0)
		close(fd);
	if (file >= 0)
		close(file);
	close(socket);
	return is_wanted;
}

/* ---- the memory of the maps ------------------------------------------------------------ */

/*
 * There is no lock: a child that another thread forks while it is held would wait for ever. Threads
 * that ask at the same time map at the same address, so one of them succeeds.
 */
static struct {
	_Atomic(void *) memory; /* NULL: not mapped yet */
	_Atomic size_t size;    /* valid with `memory` */
	atomic_bool failed;     /* do not ask again */
	atomic_bool missing;    /* failed, since it could not be mapped */
} agent_maps;

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
static bool map_arrays(int socket, const struct gt_agent_reply *memory, int64_t end)
{
	bool mapped = memory->arrays <= GT_AGENT_MAX_ARRAYS;

	for (uint32_t i = 0; mapped && i < memory->arrays; i++) {
		struct gt_agent_reply array = {0};
		int fd = -1;

		mapped =
			wait_for_reply(socket, end) && receive_reply(socket, &array, &fd) &&
			fd >= 0 && is_within(&array, memory) && is_array(fd) &&
			map_at((void *)(uintptr_t)array.address, array.size, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
		if (fd >= 0)
			close(fd);
	}
	return mapped;
}

/* Wait until the thread that has mapped the memory has published it: a few system calls later. */
static bool wait_for_maps(void)
{
	int64_t end = now_ms() + LATE_DEADLINE_MS;

	while (!atomic_load(&agent_maps.memory) && now_ms() < end)
		sched_yield();
	return atomic_load(&agent_maps.memory);
}

/* Map the file of a reply, which is closed in any case, and the arrays that follow. */
static bool map_maps(int socket, int fd, const struct gt_agent_reply *reply, int64_t end)
{
	void *address = (void *)(uintptr_t)reply->address;
	void *memory = map_file(fd, 0, address, reply->size, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_FIXED_NOREPLACE);

	if (!memory)
		return errno == EEXIST && wait_for_maps();
	/* Before Linux 4.17 the address is a hint. */
	if (memory != address || !map_arrays(socket, reply, end)) {
		unmap_at(memory, reply->size);
		return false;
	}
	atomic_store(&agent_maps.size, reply->size);
	atomic_store(&agent_maps.memory, memory);
	return true;
}

static bool ask_for_maps_on(int socket, int64_t end)
{
	struct gt_agent_request request = {.operation = GT_AGENT_MAPS};
	struct gt_agent_reply reply;
	int fd;

	if (!exchange_messages(socket, &request, -1, end, &reply, &fd))
		return false;
	/* A privileged process may map the address 0, which is that of no object. */
	if (reply.verdict == GT_AGENT_MEMORY && reply.address) {
		bool mapped = map_maps(socket, fd, &reply, end);

		atomic_store(&agent_maps.missing, !mapped);
		return mapped;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

static bool ask_for_maps(void)
{
	int64_t end = deadline_of_request();
	int socket = connect_collector(end);
	bool is_mapped = socket >= 0 && ask_for_maps_on(socket, end);

	if (socket >= 0)
		close(socket);
	return is_mapped;
}

bool gt_agent_map_memory(void **ret_memory, size_t *ret_size)
{
	if (!atomic_load(&agent_maps.memory) && !atomic_load(&agent_maps.failed) && !ask_for_maps())
		atomic_store(&agent_maps.failed, true);
	*ret_memory = atomic_load(&agent_maps.memory);
	*ret_size = atomic_load(&agent_maps.size);
	return *ret_memory;
}

/* Map the part of the file that is the device area; the file is closed in any case. */
static bool map_area(int fd, const struct gt_agent_reply *reply)
{
	void *address = (void *)(uintptr_t)reply->address;
	void *memory = map_file(fd, reply->offset, address, reply->size, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_FIXED_NOREPLACE);

	if (memory && memory != address)
		unmap_at(memory, reply->size);
	return memory == address;
}

/* Take the answer about the device area, and its file. */
static bool take_area(const struct gt_agent_reply *reply, int fd, struct gt_agent_area *ret_area)
{
	bool is_handle = reply->verdict == GT_AGENT_HANDLE;

	*ret_area = (struct gt_agent_area){reply->address, reply->size, is_handle ? fd : -1};
	if (reply->address && reply->size && reply->size <= GT_AGENT_MAX_AREA && fd >= 0) {
		if (is_handle)
			return true;
		if (reply->verdict == GT_AGENT_MEMORY)
			return map_area(fd, reply);
	}
	if (fd >= 0)
		close(fd);
	return false;
}

bool gt_agent_ask_area(const uint8_t uuid[16], struct gt_agent_area *ret_area)
{
	struct gt_agent_request request = {
		.operation = GT_AGENT_DEVICE_MAPS,
		.capability = uuid != NULL,
	};
	int64_t end = deadline_of_request();
	int fd = -1, socket = connect_collector(end);
	struct gt_agent_reply reply;
	bool is_answered;

	if (socket < 0)
		return false;
	if (uuid)
		memcpy(request.device, uuid, sizeof(request.device));
	is_answered = exchange_messages(socket, &request, -1, end, &reply, &fd);
	close(socket);
	return is_answered && take_area(&reply, fd, ret_area);
}

bool gt_agent_misses_memory(void)
{
	return atomic_load(&agent_maps.failed) && atomic_load(&agent_maps.missing);
}

/* ---- the ring of events ---------------------------------------------------------------- */

/* Map the ring of a reply; the file is closed in any case. */
static bool map_ring(int fd, uint64_t capacity, struct gt_agent_ring *ret_ring)
{
	struct stat status;
	bool mapped = fd >= 0 && capacity >= GT_AGENT_RING_MIN && capacity <= GT_AGENT_RING_MAX &&
		      !(capacity & (capacity - 1)) && !fstat(fd, &status) &&
		      (uint64_t)status.st_size >= GT_AGENT_RING_PAGE + capacity &&
		      gt_agent_ring_map(fd, capacity, ret_ring);

	if (fd >= 0)
		close(fd);
	return mapped;
}

bool gt_agent_request_ring(struct gt_agent_ring *ret_ring)
{
	struct gt_agent_request request = {.operation = GT_AGENT_EVENTS};
	int64_t end = deadline_of_request();
	int fd = -1, socket = connect_collector(end);
	struct gt_agent_reply reply;
	bool is_mapped = false;

	if (socket < 0)
		return false;
	if (exchange_messages(socket, &request, -1, end, &reply, &fd)) {
		if (reply.verdict == GT_AGENT_RING)
			is_mapped = map_ring(fd, reply.size, ret_ring);
		else if (fd >= 0)
			close(fd);
	}
	close(socket);
	return is_mapped;
}

/* ---- the table of calls ---------------------------------------------------------------- */

const struct gt_agent_call_table *gt_agent_request_calls(size_t *ret_size)
{
	struct gt_agent_request request = {.operation = GT_AGENT_CALLS};
	int64_t end = deadline_of_request();
	int fd = -1, socket = connect_collector(end);
	const void *table = NULL;
	struct gt_agent_reply reply;

	if (socket < 0)
		return NULL;
	if (exchange_messages(socket, &request, -1, end, &reply, &fd)) {
		if (reply.verdict == GT_AGENT_TABLE && fd >= 0) {
			*ret_size = reply.size;
			table = map_file(fd, 0, NULL, reply.size, PROT_READ, MAP_PRIVATE);
		} else if (fd >= 0) {
			close(fd);
		}
	}
	close(socket);
	return table;
}
