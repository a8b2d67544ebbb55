/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Exchanges of the agent in processes where calls fail, or that have too little of a resource. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "scripted_collector.h"

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
	gt_agent_read_environment();
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

TEST_MAIN
