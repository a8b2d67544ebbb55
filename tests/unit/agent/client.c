/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Exchanges of the agent with collectors that keep the protocol, break it, or do not answer. */
#include <signal.h>
#include <sys/time.h>

#include "base/clock.h"
#include "base/fingerprint.h"
#include "scripted_collector.h"

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

/*
 * Each of the replies makes the agent load the original and keeps no descriptor. `result`: what it
 * sends; NO_RESULT: it may close the connection.
 */
static void expect_originals(const struct scripted_reply *replies, size_t count, int result)
{
	for (size_t i = 0; i < count; i++) {
		auto_collector collector = {0};
		int before;

		collector_start(&collector, &replies[i], NULL);
		before = count_descriptors();
		if (!asks_in_vain())
			TAP_FAIL("loaded: %s", replies[i].what);
		while (result != NO_RESULT && collector.result == NO_RESULT)
			usleep(1000);
		if (result != NO_RESULT)
			CHECK_INT(collector.result, result);
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

	expect_originals(replies, gt_countof(replies), NO_RESULT);
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
		{"a variable's name without an end",
		 {GT_AGENT_MAGIC, GT_AGENT_SIDE, sizeof(PATCHED), 0, 0, NAMES, 0, 0,
		  "0123456789012345678901234567890123456789"},
		 whole,
		 {file},
		 1},
		{"no names",
		 {GT_AGENT_MAGIC, GT_AGENT_SIDE, sizeof(PATCHED), 0, 0, 0, 0},
		 whole,
		 {file},
		 1},
	};

	expect_originals(replies, gt_countof(replies), GT_AGENT_BAD_REPLY);
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
	expect_originals(replies, gt_countof(replies), NO_RESULT);
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
	gt_agent_read_environment();
	start = gt_clock_monotonic();
	CHECK(asks_in_vain());
	CHECK(gt_clock_monotonic() - start >= 49 * GT_SECOND_NS / 1000);
	/* Ten minutes, of which the test would see a timeout. */
	setenv(GT_AGENT_DEADLINE, "600000", 1);
	gt_agent_read_environment();
	CHECK(asks_in_vain());
	/* One answer in time, and the whole deadline counts again. */
	collector.image = &good_image;
	while (asks_in_vain())
		;
	good_image.delay_ms = 700;
	CHECK(!asks_in_vain());
}

TEST("the longer a collector does not answer, the shorter is the wait for it")
{
	const struct scripted_reply silent = {.is_silent = true};
	auto_collector collector = {0};
	uint64_t start;

	collector_start(&collector, &silent, NULL);
	setenv(GT_AGENT_DEADLINE, "50", 1);
	gt_agent_read_environment();
	CHECK(asks_in_vain());
	setenv(GT_AGENT_DEADLINE, "600000", 1);
	gt_agent_read_environment();
	start = gt_clock_monotonic();
	/* 0.5 s, then less: without that, 15 s. */
	for (int i = 0; i < 30; i++)
		CHECK(asks_in_vain());
	CHECK(gt_clock_monotonic() - start < 12 * GT_SECOND_NS);
	collector.image = &good_image;
	while (asks_in_vain())
		;
}

TEST("without a collector, or after its end, nothing is patched")
{
	struct scripted_collector collector = {0};

	collector_start(&collector, NULL, NULL);
	collector_stop(&collector);
	CHECK(asks_in_vain());
	setenv(GT_AGENT_SOCKET, "", 1);
	gt_agent_read_environment();
	CHECK(asks_in_vain());
	unsetenv(GT_AGENT_SOCKET);
	gt_agent_read_environment();
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
	gt_agent_read_environment();
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

TEST_MAIN
