/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Images that are answered while another one is patched, and those that wait for it. */
#include <semaphore.h>
#include <sys/wait.h>

#include "collector.h"

/* ---- the gate --------------------------------------------------------------------------- */

/* While it is closed, the worker waits before it patches an image. */
static struct {
	sem_t arrived, opened;
	bool closed;
} gate;

int __real_gt_patch_selected(const struct gt_patch_selection *selection, uint32_t device,
			     const struct gt_patch_options *options,
			     struct gt_patch_image *ret_image, struct gt_diag *diag);
int __wrap_gt_patch_selected(const struct gt_patch_selection *selection, uint32_t device,
			     const struct gt_patch_options *options,
			     struct gt_patch_image *ret_image, struct gt_diag *diag);

int __wrap_gt_patch_selected(const struct gt_patch_selection *selection, uint32_t device,
			     const struct gt_patch_options *options,
			     struct gt_patch_image *ret_image, struct gt_diag *diag)
{
	if (__atomic_load_n(&gate.closed, __ATOMIC_SEQ_CST)) {
		sem_post(&gate.arrived);
		sem_wait(&gate.opened);
	}
	return __real_gt_patch_selected(selection, device, options, ret_image, diag);
}

static void close_gate(void)
{
	sem_init(&gate.arrived, 0, 0);
	sem_init(&gate.opened, 0, 0);
	__atomic_store_n(&gate.closed, true, __ATOMIC_SEQ_CST);
}

static void open_gate(void)
{
	__atomic_store_n(&gate.closed, false, __ATOMIC_SEQ_CST);
	sem_post(&gate.opened);
}

/* ---- processes -------------------------------------------------------------------------- */

#define LARGE KERNEL "// large"
#define OTHER                                                                                      \
	".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry other()\n{\n\tret;\n}\n"

/* A process that asks for an image: its exit status is the verdict. */
struct asking_process {
	pid_t pid;
	int socket;
};

/* The request is sent when this returns; the process ends when it has its answer. */
static struct asking_process ask_in_process(struct collector *collector, const char *text)
{
	struct asking_process process;
	struct gt_agent_reply reply;
	int sent[2], file;
	char byte;

	CHECK(!pipe(sent));
	process.pid = fork();
	if (!process.pid) {
		process.socket = connect_to(collector);
		send_request(process.socket, image_request(strlen(text)), file_with(text));
		if (write(sent[1], "x", 1) != 1)
			_exit(99);
		/* Until there is something to receive. */
		recv(process.socket, &reply, sizeof(reply), MSG_PEEK);
		_exit(receive_verdict(process.socket, &reply, &file));
	}
	CHECK(read(sent[0], &byte, 1) == 1);
	close(sent[0]);
	close(sent[1]);
	return process;
}

static int wait_for_verdict(struct asking_process process)
{
	int status = -1;

	CHECK(waitpid(process.pid, &status, 0) == process.pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool is_asking(struct asking_process process)
{
	return waitpid(process.pid, NULL, WNOHANG) == 0;
}

static void poll_without_waiting(struct collector *collector)
{
	for (int i = 0; i < 4; i++)
		CHECK(!gt_inject_poll(collector->inject, NULL));
}

TEST("a module that nothing matches is answered while another process' module is patched")
{
	auto_collector collector = {0};
	struct asking_process large, other;

	if (!collector_open(&collector))
		return;
	close_gate();
	large = ask_in_process(&collector, LARGE);
	poll_without_waiting(&collector);
	sem_wait(&gate.arrived);
	CHECK(gt_inject_progress(collector.inject).patching == strlen(LARGE));
	other = ask_in_process(&collector, OTHER);
	poll_without_waiting(&collector);
	CHECK_INT(wait_for_verdict(other), GT_AGENT_ORIGINAL);
	CHECK(is_asking(large));
	CHECK_INT(gt_inject_coverage(collector.inject).modules, 1);
	open_gate();
	poll_collector(&collector);
	CHECK_INT(wait_for_verdict(large), GT_AGENT_WHOLE);
	CHECK_INT(gt_inject_coverage(collector.inject).modules, 2);
}

TEST("a module that was patched before is answered while another process' module is patched")
{
	auto_collector collector = {0};
	gt_auto_file first = {0};
	struct asking_process large, known;

	if (!collector_open(&collector))
		return;
	first = patch_text_once(&collector, KERNEL, 90);
	close_gate();
	large = ask_in_process(&collector, LARGE);
	poll_without_waiting(&collector);
	sem_wait(&gate.arrived);
	known = ask_in_process(&collector, KERNEL);
	poll_without_waiting(&collector);
	CHECK_INT(wait_for_verdict(known), GT_AGENT_WHOLE);
	CHECK(is_asking(large));
	open_gate();
	poll_collector(&collector);
	CHECK_INT(wait_for_verdict(large), GT_AGENT_WHOLE);
}

TEST("modules wait for the one that is patched, and equal ones are patched once")
{
	auto_collector collector = {0};
	struct asking_process processes[3];
	uint32_t kept;

	if (!collector_open(&collector))
		return;
	close_gate();
	processes[0] = ask_in_process(&collector, LARGE);
	poll_without_waiting(&collector);
	sem_wait(&gate.arrived);
	for (unsigned i = 1; i < gt_countof(processes); i++) {
		processes[i] = ask_in_process(&collector, i == 1 ? LARGE : KERNEL);
		poll_without_waiting(&collector);
		CHECK(is_asking(processes[i]));
	}
	open_gate();
	poll_collector(&collector);
	for (unsigned i = 0; i < gt_countof(processes); i++)
		CHECK_INT(wait_for_verdict(processes[i]), GT_AGENT_WHOLE);
	poll_collector(&collector);
	/* Two modules of two sites; their texts have the numbers. */
	CHECK_INT(gt_inject_site_count(collector.inject, &kept), 4);
	CHECK_INT(kept, 4);
	CHECK_INT(gt_inject_coverage(collector.inject).modules, 3);
	CHECK_INT(gt_inject_coverage(collector.inject).found, 6);
}

/* Close the gate, and have a module patched while others wait. */
static struct asking_process keep_worker_busy(struct collector *collector)
{
	struct asking_process first;

	close_gate();
	first = ask_in_process(collector, LARGE);
	poll_without_waiting(collector);
	sem_wait(&gate.arrived);
	return first;
}

/* Let the worker patch one module: the gate stays closed for the next one, which it arrives at. */
static void patch_one(struct collector *collector)
{
	sem_post(&gate.opened);
	do
		CHECK(!gt_inject_poll(collector->inject, NULL));
	while (sem_trywait(&gate.arrived));
}

TEST("a small module does not wait for larger ones that wait")
{
	auto_collector collector = {0};
	struct asking_process first, larger, small;

	if (!collector_open(&collector))
		return;
	first = keep_worker_busy(&collector);
	larger = ask_in_process(&collector, KERNEL "// larger than others, by this comment");
	poll_without_waiting(&collector);
	small = ask_in_process(&collector, KERNEL);
	poll_without_waiting(&collector);
	patch_one(&collector);
	CHECK_INT(gt_inject_progress(collector.inject).patching, strlen(KERNEL));
	patch_one(&collector);
	CHECK_INT(wait_for_verdict(small), GT_AGENT_WHOLE);
	CHECK(is_asking(larger));
	open_gate();
	poll_collector(&collector);
	CHECK_INT(wait_for_verdict(first), GT_AGENT_WHOLE);
	CHECK_INT(wait_for_verdict(larger), GT_AGENT_WHOLE);
}

/* A module of its own, smaller than LARGE. */
static struct asking_process ask_for_small(struct collector *collector, unsigned number)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct asking_process process;

	gt_strbuf_printf(&text, KERNEL "//%02u", number);
	process = ask_in_process(collector, gt_strbuf_string(&text));
	poll_without_waiting(collector);
	return process;
}

TEST("a module that 16 smaller ones overtook is patched next")
{
	enum { SMALL = 18, OVERTAKING = 16 };
	static const char text[] = KERNEL "// larger than others, by this comment";
	auto_collector collector = {0};
	struct asking_process first, larger, small[SMALL];

	if (!collector_open(&collector))
		return;
	first = keep_worker_busy(&collector);
	larger = ask_in_process(&collector, text);
	poll_without_waiting(&collector);
	for (unsigned i = 0; i < SMALL; i++)
		small[i] = ask_for_small(&collector, i);
	for (unsigned i = 0; i < OVERTAKING; i++) {
		patch_one(&collector);
		CHECK_INT(gt_inject_progress(collector.inject).patching, strlen(KERNEL) + 4);
	}
	patch_one(&collector);
	CHECK_INT(gt_inject_progress(collector.inject).patching, strlen(text));
	open_gate();
	poll_collector(&collector);
	CHECK_INT(wait_for_verdict(first), GT_AGENT_WHOLE);
	CHECK_INT(wait_for_verdict(larger), GT_AGENT_WHOLE);
	for (unsigned i = 0; i < SMALL; i++)
		CHECK_INT(wait_for_verdict(small[i]), GT_AGENT_WHOLE);
}

TEST("a module in a file of an earlier run waits, since its sites need numbers")
{
	auto_directory directory = make_directory();
	auto_collector collector = {0};
	struct asking_process large, stored;
	uint32_t kept;

	for (unsigned run = 0; run < 2; run++) {
		auto_collector earlier = {0};
		gt_auto_file file = {0};

		if (!collector_open_with(&earlier, directory.path))
			return;
		file = patch_text_once(&earlier, KERNEL, 90);
		CHECK_INT(earlier.last.cached, run);
	}
	if (!collector_open_with(&collector, directory.path))
		return;
	close_gate();
	large = ask_in_process(&collector, LARGE);
	poll_without_waiting(&collector);
	sem_wait(&gate.arrived);
	stored = ask_in_process(&collector, KERNEL);
	poll_without_waiting(&collector);
	CHECK(is_asking(stored));
	open_gate();
	poll_collector(&collector);
	CHECK_INT(wait_for_verdict(large), GT_AGENT_WHOLE);
	CHECK_INT(wait_for_verdict(stored), GT_AGENT_WHOLE);
	CHECK_INT(gt_inject_site_count(collector.inject, &kept), 4);
}

TEST("the images of one process are answered in their order")
{
	auto_collector collector = {0};
	struct gt_agent_reply reply;
	int large, other, file, images[] = {file_with(LARGE), file_with(OTHER)};

	if (!collector_open(&collector))
		return;
	close_gate();
	large = connect_to(&collector);
	send_request(large, image_request(strlen(LARGE)), images[0]);
	poll_without_waiting(&collector);
	sem_wait(&gate.arrived);
	other = connect_to(&collector);
	send_request(other, image_request(strlen(OTHER)), images[1]);
	poll_without_waiting(&collector);
	CHECK(receive_verdict(other, &reply, &file) == -1);
	open_gate();
	poll_collector(&collector);
	CHECK(receive_verdict(large, &reply, &file) == GT_AGENT_WHOLE);
	close(file);
	CHECK(receive_verdict(other, &reply, &file) == GT_AGENT_ORIGINAL);
	close(large);
	close(other);
	close(images[0]);
	close(images[1]);
}

TEST("a process that ends while its module is patched or waits harms nobody")
{
	auto_collector collector = {0};
	struct asking_process processes[2];
	struct gt_inject_coverage coverage;

	if (!collector_open(&collector))
		return;
	close_gate();
	for (unsigned i = 0; i < 2; i++) {
		processes[i] = ask_in_process(&collector, i ? KERNEL : LARGE);
		poll_without_waiting(&collector);
	}
	sem_wait(&gate.arrived);
	for (unsigned i = 0; i < 2; i++) {
		kill(processes[i].pid, SIGKILL);
		waitpid(processes[i].pid, NULL, 0);
	}
	poll_without_waiting(&collector);
	open_gate();
	poll_collector(&collector);
	coverage = gt_inject_coverage(collector.inject);
	CHECK(coverage.modules == 2 && coverage.modules_failed == 2);
	CHECK(coverage.found == 4 && coverage.rejected == 4 && !coverage.patched);
}

TEST("a collector that closes while a module is patched and others wait frees them")
{
	struct collector collector = {0};
	struct asking_process processes[3];

	if (!collector_open(&collector))
		return;
	close_gate();
	for (unsigned i = 0; i < gt_countof(processes); i++) {
		processes[i] = ask_in_process(&collector, i ? KERNEL : LARGE);
		poll_without_waiting(&collector);
	}
	sem_wait(&gate.arrived);
	open_gate();
	collector_clear(&collector);
	for (unsigned i = 0; i < gt_countof(processes); i++)
		CHECK_INT(wait_for_verdict(processes[i]), 255);
}

TEST_MAIN
