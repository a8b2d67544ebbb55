/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The collector, and agents and peers that do not keep to the protocol. */
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

#include "collector.h"
#include "failing_alloc.h"
#include "run/control.h"

TEST("images that are malformed, too short or no files are answered with the original")
{
	auto_collector collector = {0};
	int pipes[2], text = file_with("no image at all, and not PTX"), image = file_with(KERNEL);
	struct gt_agent_reply reply;
	int socket, file;

	if (!collector_open(&collector) || pipe(pipes))
		return;
	const struct {
		uint64_t size;
		int fd;
	} cases[] = {
		{strlen(KERNEL), -1},         {strlen(KERNEL) + 1, image}, {0, image},
		{UINT64_MAX, image},          {strlen(KERNEL), pipes[0]},  {20, text},
		{strlen(KERNEL) - 10, image},
	};
	for (size_t i = 0; i < gt_countof(cases); i++) {
		CHECK(ask(&collector, image_request(cases[i].size), cases[i].fd, &reply, &file,
			  &socket) == GT_AGENT_ORIGINAL);
		CHECK(file < 0 && *collector.reason);
		close(socket);
	}
	CHECK(gt_inject_coverage(collector.inject).modules_failed == gt_countof(cases));
	CHECK(!gt_inject_coverage(collector.inject).found);
	close(pipes[0]);
	close(pipes[1]);
	close(text);
	close(image);
}

TEST("requests of another protocol, version, token or operation are closed without an answer")
{
	auto_collector collector = {0};
	struct gt_agent_request wrong[4];
	struct gt_agent_reply reply;
	int socket, file;

	if (!collector_open(&collector))
		return;
	for (size_t i = 0; i < gt_countof(wrong); i++)
		wrong[i] = image_request(1);
	wrong[0].magic++;
	wrong[1].version++;
	wrong[2].operation = 77;
	wrong[3].operation = GT_AGENT_MAPS;
	memset(wrong[3].token, '0', sizeof(wrong[3].token));
	for (size_t i = 0; i < gt_countof(wrong); i++) {
		CHECK(ask(&collector, wrong[i], -1, &reply, &file, &socket) == -1);
		CHECK(recv(socket, &reply, sizeof(reply), MSG_DONTWAIT) <= 0);
		close(socket);
	}
	socket = connect_to(&collector);
	CHECK(send(socket, "x", 1, 0) == 1);
	poll_collector(&collector);
	CHECK(receive_verdict(socket, &reply, &file) == -1);
	close(socket);
	CHECK(!gt_inject_coverage(collector.inject).modules);
}

TEST("an agent that disconnects before its answer harms nobody")
{
	auto_collector collector = {0};
	struct gt_agent_reply reply;
	int socket, file, image = file_with(KERNEL);

	if (!collector_open(&collector))
		return;
	for (int i = 0; i < 50; i++) {
		socket = connect_to(&collector);
		send_request(socket, image_request(strlen(KERNEL)), image);
		close(socket);
		poll_collector(&collector);
	}
	CHECK(ask(&collector, image_request(strlen(KERNEL)), image, &reply, &file, &socket) ==
	      GT_AGENT_WHOLE);
	close(socket);
	close(file);
	close(image);
}

TEST("sites of a patched image that the agent does not load count as rejected")
{
	auto_collector collector = {0};
	struct gt_inject_coverage coverage;
	int socket, image = file_with(KERNEL);

	if (!collector_open(&collector))
		return;
	/* One agent is gone before the answer, one leaves it unread. */
	socket = connect_to(&collector);
	send_request(socket, image_request(strlen(KERNEL)), image);
	close(socket);
	poll_collector(&collector);
	socket = connect_to(&collector);
	send_request(socket, image_request(strlen(KERNEL)), image);
	poll_collector(&collector);
	close(socket);
	poll_collector(&collector);
	coverage = gt_inject_coverage(collector.inject);
	CHECK(coverage.modules == 2 && !coverage.modules_patched && coverage.modules_failed == 2);
	CHECK(coverage.found == 4 && !coverage.patched && coverage.rejected == 4);
	CHECK(!collector.last.patched && collector.last.rejected == 2);
	CHECK_STR(collector.reason, "the process did not wait for the patched module");
	close(image);
}

TEST("all that agents have sent is read at once, however many they are")
{
	auto_collector collector = {0};
	int sockets[100];

	if (!collector_open(&collector))
		return;
	for (size_t i = 0; i < gt_countof(sockets); i++) {
		sockets[i] = connect_to(&collector);
		send_request(sockets[i], image_request(1), -1);
	}
	CHECK(!gt_inject_poll(collector.inject, NULL));
	CHECK(gt_inject_coverage(collector.inject).modules == gt_countof(sockets));
	for (size_t i = 0; i < gt_countof(sockets); i++)
		close(sockets[i]);
}

TEST("a connection has ended although a child of the collector's process keeps it open")
{
	auto_collector collector = {0};
	struct gt_agent_result result = {.magic = GT_AGENT_MAGIC};
	struct gt_agent_reply reply;
	int socket, file, image = file_with(KERNEL), gate[2];
	pid_t child;
	char byte;

	if (!collector_open(&collector) || pipe(gate))
		return;
	socket = connect_to(&collector);
	send_request(socket, image_request(strlen(KERNEL)), image);
	poll_collector(&collector);
	child = fork();
	if (!child) {
		close(gate[1]);
		_exit(read(gate[0], &byte, 1) != 0);
	}
	CHECK(receive_verdict(socket, &reply, &file) == GT_AGENT_WHOLE);
	close(file);
	for (int i = 0; i < 3; i++) {
		CHECK(send(socket, &result, sizeof(result), 0) == (ssize_t)sizeof(result));
		poll_collector(&collector);
	}
	CHECK(gt_inject_coverage(collector.inject).modules_patched == 1);
	close(socket);
	close(gate[1]);
	waitpid(child, NULL, 0);
	close(gate[0]);
	close(image);
}

TEST("a connection that is not accepted for lack of memory is counted")
{
	auto_collector collector = {0};
	struct gt_agent_reply reply;
	int socket, file, image = file_with(KERNEL);

	if (!collector_open(&collector))
		return;
	socket = connect_to(&collector);
	send_request(socket, image_request(strlen(KERNEL)), image);
	fail_allocation(0);
	poll_collector(&collector);
	CHECK(stop_failing() == 1);
	CHECK(receive_verdict(socket, &reply, &file) == -1);
	CHECK(gt_inject_coverage(collector.inject).connections_dropped == 1);
	close(socket);
	close(image);
}

static int count_open_files(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

TEST("descriptors that the protocol does not have are not kept")
{
	auto_collector collector = {0};
	struct gt_agent_request request = image_request(strlen(KERNEL));
	int socket, before, file, image = file_with(KERNEL);
	const int files[MAX_FILES] = {image, image};
	struct gt_agent_reply reply;

	if (!collector_open(&collector))
		return;
	/* The collector keeps the answer. */
	ask(&collector, request, image, &reply, &file, &socket);
	close(socket);
	close(file);
	poll_collector(&collector);
	before = count_open_files();
	socket = connect_to(&collector);
	memcpy(request.token, token, sizeof(request.token));
	send_bytes(socket, &request, sizeof(request), files, 2);
	poll_collector(&collector);
	close(socket);
	socket = connect_to(&collector);
	send_bytes(socket, NULL, 0, files, 1);
	poll_collector(&collector);
	close(socket);
	poll_collector(&collector);
	CHECK(count_open_files() == before);
	close(image);
}

TEST("an image is read from a memfd and from no other file")
{
	auto_collector collector = {0};
	struct gt_agent_reply reply;
	int socket, file, image = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (!collector_open(&collector))
		return;
	CHECK(ask(&collector, image_request(64), image, &reply, &file, &socket) ==
	      GT_AGENT_ORIGINAL);
	CHECK_STR(collector.reason, "the image could not be read");
	close(socket);
	close(image);
}

/* Ask for an area of the maps; where it is mapped, or MAP_FAILED. */
static uint64_t *map_area(struct collector *collector, uint16_t operation, size_t *ret_size)
{
	struct gt_agent_request request = image_request(0);
	struct gt_agent_reply reply;
	int socket, file;
	void *area;

	request.operation = operation;
	request.capability = 0;
	CHECK(ask(collector, request, -1, &reply, &file, &socket) == GT_AGENT_MEMORY);
	CHECK(ftruncate(file, 0) && errno == EPERM);
	CHECK(reply.address && reply.size);
	area = mmap(NULL, reply.size, PROT_READ | PROT_WRITE, MAP_SHARED, file,
		    (off_t)reply.offset);
	CHECK(area != MAP_FAILED);
	close(socket);
	close(file);
	*ret_size = reply.size;
	return area;
}

TEST("the memory of the maps cannot be resized by a process that has it")
{
	auto_collector collector = {0};
	size_t size;
	uint64_t *area;

	if (!collector_open(&collector))
		return;
	area = map_area(&collector, GT_AGENT_MAPS, &size);
	if (area != MAP_FAILED)
		munmap(area, size);
	area = map_area(&collector, GT_AGENT_DEVICE_MAPS, &size);
	/* The collector sees what the process writes. The first page has the switches. */
	if (area != MAP_FAILED) {
		area[4096 / sizeof(*area) + 3] = 77;
		CHECK(((const uint64_t *)gt_inject_view(collector.inject, 0).memory)[3] == 77);
		munmap(area, size);
	}
}

/* ---- 'gputap probe' ---------------------------------------------------------------------- */

enum {
	MANY = 40, /* more than the session keeps */
};

/* A connection of the control socket, found as gt_control_ask finds it. */
static int connect_control(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	gt_auto_file sockets = {0};
	char prefix[64], name[80] = "";
	const char *at;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(prefix, sizeof(prefix), "@" GT_CONTROL_PREFIX "%d-", (int)getpid());
	CHECK(!gt_file_read("/proc/net/unix", 64 << 20, &sockets, NULL));
	at = sockets.data ? strstr((const char *)sockets.data, prefix) : NULL;
	CHECK(at && sscanf(at, "@%79s", name) == 1);
	memcpy(address.sun_path + 1, name, strlen(name));
	CHECK(!connect(fd, (struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))));
	return fd;
}

static void *poll_until_stopped(void *context)
{
	struct collector *collector = context;

	while (!__atomic_load_n(&collector->stopped, __ATOMIC_RELAXED)) {
		gt_inject_poll(collector->inject, NULL);
		usleep(1000);
	}
	return NULL;
}

static void count_program(void *context, pid_t pid, const struct gt_control_reply *reply)
{
	*(unsigned *)context += pid == getpid() && reply->flags & GT_CONTROL_ON;
}

static unsigned failures;

static void count_failure(void *context, pid_t pid, const char *text)
{
	failures += pid == getpid() && *text;
}

TEST("silent and malformed peers do not keep 'gputap probe' from a session")
{
	auto_collector collector = {.switchable = true};
	struct gt_control_request request = {.operation = GT_CONTROL_LIST, .name = "*"};
	int peers[MANY];
	uint32_t sessions = 0;
	unsigned programs = 0;
	struct gt_diag diag = {0};
	int before;
	pthread_t thread;

	if (!collector_open(&collector))
		return;
	before = count_open_files();
	for (unsigned i = 0; i < MANY; i++) {
		peers[i] = connect_control();
		if (i % 2)
			send_bytes(peers[i], "no request", 10, NULL, 0);
		poll_collector(&collector);
	}
	CHECK(!pthread_create(&thread, NULL, poll_until_stopped, &collector));
	CHECK(!gt_control_ask(&request, getpid(), count_program, count_failure, &programs,
			      &sessions, &diag));
	CHECK_STR(diag.text, "");
	CHECK(sessions == 1);
	CHECK(programs == 2);
	request = (struct gt_control_request){.operation = 77, .name = "*"};
	CHECK(gt_control_ask(&request, getpid(), count_program, count_failure, &programs, &sessions,
			     NULL) == -EINVAL);
	CHECK_INT(failures, 1);
	__atomic_store_n(&collector.stopped, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	for (unsigned i = 0; i < MANY; i++)
		close(peers[i]);
	poll_collector(&collector);
	CHECK(count_open_files() == before);
}

TEST_MAIN
