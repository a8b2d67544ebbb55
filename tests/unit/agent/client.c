/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The agent's side of the protocol, with a collector that answers what a test wants, and in
 * processes where calls fail. Whatever happens, the program loads the original, and no descriptor
 * stays open.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/filters.h"
#include "agent/protocol.h"
#include "amount.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/fingerprint.h"
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
	_Atomic(const struct scripted_reply *) image, maps, names;
	_Atomic uint64_t fingerprint_low; /* of the last request */
	atomic_int requests, result;      /* the last result's error */
	atomic_int low_descriptors;       /* below 3 that the agent had open at its last request */
	atomic_uint_fast64_t last_size;   /* of an image */
	char last_image[64];
	int silent[64];
	unsigned silent_count;
};

static int file_with(const char *text, size_t size)
{
	int fd = memfd_create("reply", MFD_CLOEXEC);

	CHECK(!ftruncate(fd, (off_t)size));
	CHECK(pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text));
	return fd;
}

static int patched_file(void)
{
	int fd = memfd_create("reply", MFD_CLOEXEC);

	CHECK(pwrite(fd, PATCHED_FILE, sizeof(PATCHED_FILE), 0) == (ssize_t)sizeof(PATCHED_FILE));
	return fd;
}

static bool receive_request(int socket, struct gt_agent_request *request, int *ret_file)
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

static void send_reply(int socket, const struct scripted_reply *scripted)
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
static int count_low_descriptors(int socket)
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

static void keep_request(struct scripted_collector *collector, int socket, int file,
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

static void serve_connection(struct scripted_collector *collector, int socket)
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

static void *serve(void *context)
{
	struct scripted_collector *collector = context;
	int socket;

	while ((socket = accept4(collector->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		serve_connection(collector, socket);
	return NULL;
}

static struct scripted_reply good_image, good_maps;

static void prepare_good_replies(void)
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
static void listen_for_agent(struct scripted_collector *collector, int backlog)
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
	collector->result = NO_RESULT;
}

static void collector_start(struct scripted_collector *collector,
			    const struct scripted_reply *image, const struct scripted_reply *maps)
{
	prepare_good_replies();
	collector->image = image ? image : &good_image;
	collector->maps = maps ? maps : &good_maps;
	listen_for_agent(collector, 128);
	CHECK(!pthread_create(&collector->thread, NULL, serve, collector));
}

static void collector_stop(struct scripted_collector *collector)
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

static int count_descriptors(void)
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
static void wait_for_descriptors(int before)
{
	while (count_descriptors() > before)
		usleep(1000);
}

/* Ask for an image and release the answer. Whether there was a patched one. */
static bool asks_in_vain(void)
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
static int ask_in_child(void (*prepare)(void))
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

TEST("a patched image is mapped, and the driver's verdict is sent")
{
	auto_collector collector = {0};
	struct gt_agent_exchange exchange;

	collector_start(&collector, NULL, NULL);
	gt_agent_ask(&the_image, 75, &exchange);
	CHECK(exchange.patched && exchange.size == sizeof(PATCHED_FILE) && !exchange.is_side);
	CHECK(exchange.kernels.count == 2 && !strcmp(exchange.kernels.data, "k"));
	CHECK(exchange.patched && !memcmp(exchange.patched, PATCHED, sizeof(PATCHED)));
	CHECK_STR(collector.last_image, IMAGE);
	CHECK(collector.last_size == sizeof(IMAGE));
	gt_agent_finish(&exchange, 218, false);
	while (collector.result == NO_RESULT)
		usleep(1000);
	CHECK_INT(collector.result, 218);
}

/* A long text of two names, in memory that the caller frees. */
static char *make_long_text(size_t size)
{
	static const char names[] = ".visible .entry _Z6kernelv()\n.func (.reg .b32 r) f()\n";
	char *text = malloc(size);

	memset(text, ' ', size);
	memcpy(text + size / 2, names, sizeof(names) - 1);
	return text;
}

TEST("of a long text the collector gets the names first, and the text only if it wants it")
{
	enum { SIZE = 1 << 20 };
	gt_autofree char *text = make_long_text(SIZE);
	const struct gt_agent_image image = {.data = text, .size = SIZE, .is_text = true};
	const struct scripted_reply unmatched = {.reply = {GT_AGENT_MAGIC, GT_AGENT_ORIGINAL},
						 .bytes = sizeof(struct gt_agent_reply)},
				    wanted = {.reply = {GT_AGENT_MAGIC, GT_AGENT_WANTED},
					      .bytes = sizeof(struct gt_agent_reply)},
				    none = {.bytes = 0};
	auto_collector collector = {0};
	struct gt_agent_exchange exchange;
	int descriptors;

	collector_start(&collector, NULL, NULL);
	collector.names = &unmatched;
	descriptors = count_descriptors();
	gt_agent_ask(&image, 75, &exchange);
	CHECK(!exchange.patched && exchange.socket < 0);
	CHECK_INT(collector.requests, 1);
	CHECK_INT(collector.last_size, sizeof("e_Z6kernelv\0ff"));
	CHECK(!memcmp(collector.last_image, "e_Z6kernelv\0ff", sizeof("e_Z6kernelv\0ff")));
	gt_agent_finish(&exchange, 0, false);
	collector.names = &none;
	gt_agent_ask(&image, 75, &exchange);
	CHECK(!exchange.patched);
	gt_agent_finish(&exchange, 0, false);
	wait_for_descriptors(descriptors);
	collector.names = &wanted;
	collector.requests = 0;
	gt_agent_ask(&image, 75, &exchange);
	CHECK_INT(collector.requests, 2);
	CHECK_INT(collector.last_size, SIZE);
	CHECK(exchange.patched && !memcmp(exchange.patched, PATCHED, sizeof(PATCHED)));
	gt_agent_finish(&exchange, 0, false);
	/* Names that only a parser finds. */
	text[snprintf(text, SIZE, ".entry/**/k")] = ' ';
	collector.requests = 0;
	gt_agent_ask(&image, 75, &exchange);
	CHECK_INT(collector.requests, 1);
	CHECK(exchange.patched);
	gt_agent_finish(&exchange, 0, false);
}

TEST("of a large image the collector gets the fingerprint first, and the image only if it wants it")
{
	enum { SIZE = 200000 };
	gt_autofree char *bytes = calloc(SIZE, 1);
	const struct gt_agent_image image = {.data = bytes, .size = SIZE};
	const struct scripted_reply unmatched = {.reply = {GT_AGENT_MAGIC, GT_AGENT_ORIGINAL},
						 .bytes = sizeof(struct gt_agent_reply)},
				    wanted = {.reply = {GT_AGENT_MAGIC, GT_AGENT_WANTED},
					      .bytes = sizeof(struct gt_agent_reply)};
	auto_collector collector = {0};
	struct gt_agent_exchange exchange;
	int descriptors;

	collector_start(&collector, NULL, NULL);
	collector.names = &unmatched;
	descriptors = count_descriptors();
	/* A byte in each part that is read at once, and the last one. */
	for (size_t at = 1000; at < SIZE; at = at + 66333 < SIZE ? at + 66333 : SIZE - 1) {
		bytes[at]++;
		gt_agent_ask(&image, 75, &exchange);
		CHECK(!exchange.patched && exchange.socket < 0);
		CHECK(collector.fingerprint_low == gt_fingerprint(bytes, SIZE).words[0]);
		CHECK_INT(collector.last_size, SIZE);
		CHECK(!collector.last_image[0]);
		gt_agent_finish(&exchange, 0, false);
		if (at == SIZE - 1)
			break;
	}
	CHECK_INT(collector.requests, 4);
	wait_for_descriptors(descriptors);
	collector.names = &wanted;
	collector.requests = 0;
	gt_agent_ask(&image, 75, &exchange);
	CHECK_INT(collector.requests, 2);
	CHECK(exchange.patched && !memcmp(exchange.patched, PATCHED, sizeof(PATCHED)));
	gt_agent_finish(&exchange, 0, false);
}

TEST("fingerprints of contents that differ in a bit, a length or an order differ")
{
	uint8_t bytes[200] = {0};
	uint64_t seen[2000];
	size_t count = 0;

	for (size_t size = 0; size <= 100; size++)
		seen[count++] = gt_fingerprint(bytes, size).words[size % 2];
	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= 1 << bit % 8;
		seen[count++] = gt_fingerprint(bytes, sizeof(bytes)).words[bit % 2];
		bytes[bit / 8] ^= 1 << bit % 8;
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (seen[i] == seen[j])
				TAP_FAIL("%zu and %zu are equal", i, j);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i / 32);
	seen[0] = gt_fingerprint(bytes, sizeof(bytes)).words[0];
	memset(bytes, 1, 32);
	memset(bytes + 32, 0, 32);
	CHECK(seen[0] != gt_fingerprint(bytes, sizeof(bytes)).words[0]);
}

/* Each of the replies makes the agent load the original and keeps no descriptor. */
static void expect_originals(const struct scripted_reply *replies, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		auto_collector collector = {0};
		int before;

		collector_start(&collector, &replies[i], NULL);
		before = count_descriptors();
		if (!asks_in_vain())
			TAP_FAIL("loaded: %s", replies[i].what);
		wait_for_descriptors(before);
	}
}

TEST("replies of another size or kind make the agent load the original")
{
	int file = patched_file();
	const size_t whole = sizeof(struct gt_agent_reply);
	const struct scripted_reply replies[] = {
		{"closed without a reply"},
		{"a reply that is too short",
		 {GT_AGENT_MAGIC, GT_AGENT_WHOLE, sizeof(PATCHED), 0, 0, NAMES},
		 whole - 1,
		 {file},
		 1},
		{"a reply that is too long",
		 {GT_AGENT_MAGIC, GT_AGENT_WHOLE, sizeof(PATCHED), 0, 0, NAMES},
		 whole + 8,
		 {file},
		 1},
		{"another magic number",
		 {1, GT_AGENT_WHOLE, sizeof(PATCHED), 0, 0, NAMES},
		 whole,
		 {file},
		 1},
		{"an unknown verdict", {GT_AGENT_MAGIC, 99, sizeof(PATCHED), 0}, whole, {file}, 1},
		{"a verdict for maps",
		 {GT_AGENT_MAGIC, GT_AGENT_MEMORY, sizeof(PATCHED), 0},
		 whole,
		 {file},
		 1},
	};

	expect_originals(replies, gt_countof(replies));
	close(file);
}

TEST("replies with invalid names make the agent load the original")
{
	int file = patched_file();
	const size_t whole = sizeof(struct gt_agent_reply);
	const struct scripted_reply replies[] = {
		{"names that are longer than the file",
		 {GT_AGENT_MAGIC, GT_AGENT_WHOLE, sizeof(PATCHED), 0, 0, 2, 9},
		 whole,
		 {file},
		 1},
		{"names that are longer than the address space",
		 {GT_AGENT_MAGIC, GT_AGENT_WHOLE, sizeof(PATCHED), 0, 0, 2, UINT32_MAX},
		 whole,
		 {file},
		 1},
		{"more names than stated",
		 {GT_AGENT_MAGIC, GT_AGENT_SIDE, sizeof(PATCHED), 0, 0, 1, 8},
		 whole,
		 {file},
		 1},
		{"fewer names than stated",
		 {GT_AGENT_MAGIC, GT_AGENT_SIDE, sizeof(PATCHED), 0, 0, 3, 8},
		 whole,
		 {file},
		 1},
		{"a name without an end",
		 {GT_AGENT_MAGIC, GT_AGENT_SIDE, sizeof(PATCHED), 0, 0, 2, 7},
		 whole,
		 {file},
		 1},
		{"an empty name",
		 {GT_AGENT_MAGIC, GT_AGENT_SIDE, sizeof(PATCHED) - 1, 0, 0, 3, 9},
		 whole,
		 {file},
		 1},
		{"names that are not sorted",
		 {GT_AGENT_MAGIC, GT_AGENT_SIDE, 4, 0, 0, 3, 22},
		 whole,
		 {file},
		 1},
		{"no names",
		 {GT_AGENT_MAGIC, GT_AGENT_SIDE, sizeof(PATCHED), 0, 0, 0, 0},
		 whole,
		 {file},
		 1},
	};

	expect_originals(replies, gt_countof(replies));
	close(file);
}

TEST("replies with invalid files make the agent load the original")
{
	int file = patched_file(), sparse = memfd_create("sparse", 0), pipes[2];
	int made = pipe(pipes);
	const size_t whole = sizeof(struct gt_agent_reply);
	const struct scripted_reply replies[] = {
		{"no file", {GT_AGENT_MAGIC, GT_AGENT_WHOLE, sizeof(PATCHED), 0, 0, NAMES}, whole},
		{"two files",
		 {GT_AGENT_MAGIC, GT_AGENT_WHOLE, sizeof(PATCHED), 0, 0, NAMES},
		 whole - 1,
		 {file, file},
		 2},
		{"a file that is shorter than stated",
		 {GT_AGENT_MAGIC, GT_AGENT_WHOLE, sizeof(PATCHED) + 1, 0, 0, NAMES},
		 whole,
		 {file},
		 1},
		{"an empty file",
		 {GT_AGENT_MAGIC, GT_AGENT_WHOLE, 0, 0, 0, NAMES},
		 whole,
		 {file},
		 1},
		{"a size of 2^64 - 1",
		 {GT_AGENT_MAGIC, GT_AGENT_WHOLE, UINT64_MAX, 0, 0, NAMES},
		 whole,
		 {file},
		 1},
		{"a file of 4 GiB",
		 {GT_AGENT_MAGIC, GT_AGENT_WHOLE, UINT64_C(1) << 32, 0, 0, NAMES},
		 whole,
		 {sparse},
		 1},
		{"a pipe", {GT_AGENT_MAGIC, GT_AGENT_WHOLE, 1, 0, 0, NAMES}, whole, {pipes[0]}, 1},
		{"a verdict to load the original, with a file",
		 {GT_AGENT_MAGIC, GT_AGENT_ORIGINAL, sizeof(PATCHED), 0},
		 whole,
		 {file},
		 1},
	};

	CHECK(!made && !ftruncate(sparse, INT64_C(1) << 32));
	expect_originals(replies, gt_countof(replies));
	close(file);
	close(sparse);
	close(pipes[0]);
	close(pipes[1]);
}

TEST("a collector that does not answer is waited for until the deadline, then less long")
{
	const struct scripted_reply silent = {.is_silent = true};
	auto_collector collector = {0};
	uint64_t start;

	collector_start(&collector, &silent, NULL);
	setenv(GT_AGENT_DEADLINE, "50", 1);
	start = gt_clock_monotonic();
	CHECK(asks_in_vain());
	CHECK(gt_clock_monotonic() - start >= 49 * GT_SECOND_NS / 1000);
	/* Ten minutes, of which the test would see a timeout. */
	setenv(GT_AGENT_DEADLINE, "600000", 1);
	CHECK(asks_in_vain());
	/* One answer in time, and the whole deadline counts again. */
	collector.image = &good_image;
	CHECK(!asks_in_vain());
	good_image.delay_ms = 700;
	CHECK(!asks_in_vain());
}

TEST("without a collector, or after its end, nothing is patched")
{
	struct scripted_collector collector = {0};

	collector_start(&collector, NULL, NULL);
	collector_stop(&collector);
	CHECK(asks_in_vain());
	setenv(GT_AGENT_SOCKET, "", 1);
	CHECK(asks_in_vain());
	unsetenv(GT_AGENT_SOCKET);
	CHECK(asks_in_vain());
}

static void ignore_signal(int number)
{
	(void)number;
}

/* A signal every millisecond, without SA_RESTART. */
static void start_signals(void)
{
	const struct itimerval often = {{0, 1000}, {0, 1000}};
	const struct sigaction action = {.sa_handler = ignore_signal};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

TEST("signals of the program neither end an exchange nor make its deadline later")
{
	struct scripted_reply slow = {0}, silent = {.is_silent = true};
	auto_collector collector = {0};

	collector_start(&collector, &slow, NULL);
	slow = good_image;
	slow.delay_ms = 100;
	CHECK_INT(ask_in_child(start_signals), 0);
	collector.image = &silent;
	setenv(GT_AGENT_DEADLINE, "100", 1);
	CHECK_INT(ask_in_child(start_signals), 1);
}

TEST("signals do not end the wait for a collector whose backlog is full")
{
	struct scripted_collector collector = {.image = &good_image};
	struct sockaddr_un address;
	socklen_t size = sizeof(address);
	int status = 0, other = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	pid_t child;

	prepare_good_replies();
	listen_for_agent(&collector, 0);
	/* A backlog of 0 has room for one connection. */
	getsockname(collector.listener, (struct sockaddr *)&address, &size);
	CHECK(!connect(other, (struct sockaddr *)&address, size));
	child = fork();
	if (!child) {
		close(other);
		start_signals();
		_exit(asks_in_vain());
	}
	close(other);
	usleep(100 * 1000);
	CHECK(!pthread_create(&collector.thread, NULL, serve, &collector));
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	collector_stop(&collector);
}

/* ---- faults in the process ------------------------------------------------------------- */

static struct {
	unsigned call, action;
} filtered;

static void forbid_call(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, filtered.call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, filtered.action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {gt_countof(program), program};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(99);
}

/* As if gputap ran under the same filter. */
static void forbid_known_call(void)
{
	char filters[24];

	snprintf(filters, sizeof(filters), "%ld", gt_agent_count_filters() + 1);
	forbid_call();
	setenv(GT_AGENT_FILTERS, filters, 1);
}

TEST("whichever system call fails, the program runs on and no descriptor stays open")
{
	static const struct {
		const char *name;
		unsigned number;
		bool is_needed;
	} calls[] = {
		{"memfd_create", SYS_memfd_create, true},
		{"write", SYS_write, true},
		{"fcntl", SYS_fcntl, true},
		{"socket", SYS_socket, true},
		{"connect", SYS_connect, true},
		{"setsockopt", SYS_setsockopt, false},
		{"sendmsg", SYS_sendmsg, true},
		{"poll", SYS_poll, true},
		{"recvmsg", SYS_recvmsg, true},
		{"mmap", SYS_mmap, true},
		{"munmap", SYS_munmap, false},
		{"prlimit64", SYS_prlimit64, true},
		{"close", SYS_close, false},
		{"gettid", SYS_gettid, false},
		{"read", SYS_read, true},
		{"openat", SYS_openat, true},
	};
	static const unsigned errors[] = {ENOMEM, EMFILE, ENOSPC, EPERM, ENOSYS};
	auto_collector collector = {0};

	collector_start(&collector, NULL, NULL);
	for (size_t i = 0; i < gt_countof(calls); i++)
		for (size_t j = 0; j < gt_countof(errors); j++) {
			int status;

			filtered.call = calls[i].number;
			filtered.action = SECCOMP_RET_ERRNO | errors[j];
			status = ask_in_child(forbid_known_call);
			/* Without fcntl the count of descriptors is 0 and 0. */
			if (status == 3 && filtered.call == SYS_close)
				continue;
			if (status > 1 || (calls[i].is_needed && !status))
				TAP_FAIL("%s fails with %u: %d", calls[i].name, errors[j], status);
		}
}

TEST("a process that has filters of its own is left alone: they may end it")
{
	auto_collector collector = {0};

	collector_start(&collector, NULL, NULL);
	filtered.call = SYS_socket;
	filtered.action = SECCOMP_RET_KILL_PROCESS;
	CHECK_INT(ask_in_child(forbid_call), 1);
	filtered.call = SYS_memfd_create;
	CHECK_INT(ask_in_child(forbid_call), 1);
	CHECK_INT(collector.requests, 0);
	/* gputap itself has them, too: a container's. */
	filtered.call = SYS_syslog;
	CHECK_INT(ask_in_child(forbid_known_call), 0);
}

static void close_standard_streams(void)
{
	close(0);
	close(1);
	close(2);
}

TEST("the descriptors of closed standard streams are not taken")
{
	auto_collector collector = {0};

	collector_start(&collector, NULL, NULL);
	CHECK_INT(ask_in_child(close_standard_streams), 0);
	CHECK_INT(collector.low_descriptors, 0);
}

static void limit_files(rlim_t count)
{
	const struct rlimit limit = {count, count};

	setrlimit(RLIMIT_NOFILE, &limit);
}

static void have_no_more_files(void)
{
	int last = dup(0);

	close(last);
	limit_files((rlim_t)last);
}

static void have_few_files(void)
{
	limit_files((rlim_t)dup(0) + 8);
}

TEST("a limit of open files is no obstacle until it is reached")
{
	auto_collector collector = {0};

	collector_start(&collector, NULL, NULL);
	CHECK_INT(ask_in_child(have_few_files), 0);
	CHECK_INT(ask_in_child(have_no_more_files), 1);
}

static void limit_file_size(void)
{
	const struct rlimit limit = {4, 4};

	setrlimit(RLIMIT_FSIZE, &limit);
}

TEST("a limit of file sizes is no signal")
{
	auto_collector collector = {0};

	collector_start(&collector, NULL, NULL);
	CHECK_INT(ask_in_child(limit_file_size), 1);
}

static void limit_memory(void)
{
	const struct rlimit limit = {1 << 20, 1 << 20};

	setrlimit(RLIMIT_AS, &limit);
}

TEST("a patched image for which there is no memory is reported, and the original is loaded")
{
	auto_collector collector = {0};

	collector_start(&collector, NULL, NULL);
	CHECK_INT(ask_in_child(limit_memory), 1);
	while (collector.result == NO_RESULT)
		usleep(1000);
	CHECK_INT(collector.result, GT_AGENT_NO_MEMORY);
}

TEST("an image that is shorter than it states is not read past its end")
{
	auto_collector collector = {0};
	struct gt_agent_exchange exchange;
	static const size_t sizes[] = {2 * PAGE, 2 * GT_AGENT_LARGE};

	collector_start(&collector, NULL, NULL);
	for (size_t i = 0; i < gt_countof(sizes); i++) {
		char *pages = mmap(NULL, sizes[i], PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		const struct gt_agent_image image = {pages, sizes[i]};

		CHECK(pages != MAP_FAILED && !mprotect(pages + sizes[i] - PAGE, PAGE, PROT_NONE));
		gt_agent_ask(&image, 75, &exchange);
		CHECK(!exchange.patched);
		gt_agent_finish(&exchange, 0, false);
		munmap(pages, sizes[i]);
	}
}

/* ---- the memory of the maps ------------------------------------------------------------ */

/* What gt_agent_map_memory returns in a process of its own: 0: the maps; 1: none; else an error. */
static int map_in_child(void *(*work)(void *), void *context)
{
	int status = 0;
	pid_t child = fork();

	if (!child)
		_exit((int)(intptr_t)work(context));
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void *map_maps(void *context)
{
	void *memory;
	size_t size;

	(void)context;
	if (!gt_agent_map_memory(&memory, &size))
		return (void *)1;
	if (memory != (void *)(uintptr_t)MAPS_ADDRESS || size != PAGE)
		return (void *)2;
	return strcmp(memory, "maps") ? (void *)3 : NULL;
}

static void *map_in_threads(void *context)
{
	pthread_t threads[16];
	void *result, *worst = NULL;

	for (size_t i = 0; i < gt_countof(threads); i++)
		pthread_create(&threads[i], NULL, map_maps, context);
	for (size_t i = 0; i < gt_countof(threads); i++) {
		pthread_join(threads[i], &result);
		worst = result ? result : worst;
	}
	return worst;
}

TEST("threads that ask for the maps at the same time get the same memory")
{
	auto_collector collector = {0};

	collector_start(&collector, NULL, NULL);
	for (int i = 0; i < 20; i++)
		CHECK_INT(map_in_child(map_in_threads, NULL), 0);
}

TEST("memory for the maps that breaks the protocol is none")
{
	int file = file_with("maps", PAGE);
	static char used[2 * PAGE];
	const uint64_t used_page = ((uint64_t)(uintptr_t)used + PAGE) & ~(uint64_t)(PAGE - 1);
	const struct scripted_reply replies[] = {
		{"the address 0", {GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, 0}, .file_count = 1},
		{"no page",
		 {GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, MAPS_ADDRESS + 1},
		 .file_count = 1},
		{"the kernel's",
		 {GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, (uint64_t)-PAGE},
		 .file_count = 1},
		{"in use", {GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, used_page}, .file_count = 1},
		{"too short",
		 {GT_AGENT_MAGIC, GT_AGENT_MEMORY, 2 * PAGE, MAPS_ADDRESS},
		 .file_count = 1},
		{"empty", {GT_AGENT_MAGIC, GT_AGENT_MEMORY, 0, MAPS_ADDRESS}, .file_count = 1},
		{"no file", {GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, MAPS_ADDRESS}},
		{"an image", {GT_AGENT_MAGIC, GT_AGENT_WHOLE, PAGE, MAPS_ADDRESS}, .file_count = 1},
	};

	memset(used, 'x', sizeof(used));
	for (size_t i = 0; i < gt_countof(replies); i++) {
		struct scripted_reply scripted = replies[i];
		auto_collector collector = {0};
		int status;

		scripted.bytes = sizeof(scripted.reply);
		scripted.files[0] = file;
		collector_start(&collector, NULL, &scripted);
		status = map_in_child(map_maps, NULL);
		if (status != 1)
			TAP_FAIL("%s: %d", scripted.what, status);
	}
	CHECK(used[0] == 'x' && used[sizeof(used) - 1] == 'x');
	close(file);
}

/* The reply with the memory of the maps and one with an array; what a process has then. */
static int map_with_array(struct gt_agent_reply memory, struct gt_agent_reply array, int array_file)
{
	int memory_file = file_with("none", memory.size);
	struct scripted_reply second = {.reply = array,
					.bytes = array.magic ? sizeof(array) : 0,
					.files = {array_file},
					.file_count = array.magic && array_file >= 0};
	struct scripted_reply first = {.reply = memory,
				       .bytes = sizeof(memory),
				       .files = {memory_file},
				       .file_count = 1,
				       .next = &second};
	auto_collector collector = {0};
	int status;

	collector_start(&collector, NULL, &first);
	status = map_in_child(map_maps, NULL);
	close(memory_file);
	return status;
}

/* An array of the kernel of one page, which begins with "maps"; or -1. */
static int new_array(void)
{
	union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_ARRAY,
				     .key_size = 4,
				     .value_size = PAGE,
				     .max_entries = 1,
				     .map_flags = BPF_F_MMAPABLE};
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));
	char *memory =
		fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -1;
	memcpy(memory, "maps", sizeof("maps"));
	munmap(memory, PAGE);
	return fd;
}

#define MEMORY_WITH(count)                                                                         \
	{                                                                                          \
		GT_AGENT_MAGIC, GT_AGENT_MEMORY, PAGE, MAPS_ADDRESS, count                         \
	}
#define ARRAY_AT(address, size)                                                                    \
	{                                                                                          \
		GT_AGENT_MAGIC, GT_AGENT_ARRAY, size, address                                      \
	}

TEST("files that are no arrays of the kernel are not mapped as such")
{
	int file = file_with("maps", PAGE), empty = file_with("", 0);
	const struct gt_agent_reply memory = MEMORY_WITH(1), none = {0};
	const struct gt_agent_reply array = ARRAY_AT(MAPS_ADDRESS, PAGE);

	CHECK_INT(map_with_array(memory, array, file), 1);
	CHECK_INT(map_with_array(memory, array, empty), 1);
	CHECK_INT(map_with_array(memory, array, -1), 1);
	/* The collector ends before it. */
	CHECK_INT(map_with_array(memory, none, -1), 1);
	close(file);
	close(empty);
}

TEST("an array of the kernel replaces pages of the memory of the maps, and no others")
{
	const struct gt_agent_reply memory = MEMORY_WITH(1), many = MEMORY_WITH(65);
	int array = new_array();

	if (array < 0)
		SKIP("the kernel lets this user create no BPF arrays");
	CHECK_INT(
		map_with_array(memory, (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS, PAGE), array),
		0);
	CHECK_INT(map_with_array(many, (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS, PAGE), array),
		  1);
	CHECK_INT(map_with_array(memory, (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS + PAGE, PAGE),
				 array),
		  1);
	CHECK_INT(map_with_array(memory, (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS - PAGE, PAGE),
				 array),
		  1);
	CHECK_INT(map_with_array(memory, (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS, 2 * PAGE),
				 array),
		  1);
	CHECK_INT(map_with_array(memory, (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS, 0), array),
		  1);
	CHECK_INT(map_with_array(memory, memory, array), 1);
	/* Larger than the array, where the memory is large enough. */
	CHECK_INT(map_with_array((struct gt_agent_reply){GT_AGENT_MAGIC, GT_AGENT_MEMORY, 2 * PAGE,
							 MAPS_ADDRESS, 1},
				 (struct gt_agent_reply)ARRAY_AT(MAPS_ADDRESS, 2 * PAGE), array),
		  1);
	close(array);
}

/* A child that is forked while another thread waits for the collector. */
static void *fork_while_waiting(void *context)
{
	struct scripted_collector *collector = context;
	pthread_t thread;

	pthread_create(&thread, NULL, map_maps, NULL);
	while (!collector->requests)
		usleep(1000);
	return (void *)(intptr_t)map_in_child(map_maps, NULL);
}

TEST("a child that is forked while another thread asks for the maps gets them itself")
{
	/* In shared memory: the child of the test waits for what the collector counts. */
	struct scripted_collector *collector =
		mmap(NULL, sizeof(*collector), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	struct scripted_reply slow = {0};

	if (IS_SANITIZED)
		SKIP("a child may inherit a lock of the sanitizer's allocator that nobody unlocks");
	collector_start(collector, NULL, &slow);
	slow = good_maps;
	slow.delay_ms = 200;
	CHECK_INT(map_in_child(fork_while_waiting, collector), 0);
	collector_stop(collector);
	munmap(collector, sizeof(*collector));
}

TEST_MAIN
