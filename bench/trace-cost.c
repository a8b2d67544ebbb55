/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What tracing costs a call of the stand-in runtime, which does nothing: untraced, with an empty
 * pair of probes, with gputap recording it (every event kept or counted), and with gputap also
 * writing the entry marks of live text. The ratios are to the empty pair.
 *
 * cudaSetDevice takes a number; cudaGetDevice gives one back, which has to be read from the
 * process's memory at the return: "with_result". One round a run: bench/run takes the medians.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "capture/capture.h"
#include "elf/elf.h"
#include "probe/api/attach.h"
#include "probe/load.h"

#include "empty.skel.h"

static double ns_per_call(bool with_result, long calls)
{
	struct timespec start, end;
	int device;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < calls; i++) {
		if (with_result)
			cudaGetDevice(&device);
		else
			cudaSetDevice(0);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	return ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / calls;
}

static int find_function(char **ret_path, uint64_t *ret_offset)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_symbol *const *symbols;
	Dl_info info;

	if (!dladdr((void *)cudaSetDevice, &info) || gt_elf_open(info.dli_fname, &elf, NULL) ||
	    !gt_elf_lookup(elf, "cudaSetDevice", &symbols))
		return -ENOENT;
	*ret_offset = symbols[0]->offset;
	*ret_path = strdup(info.dli_fname);
	return 0;
}

static void ignore_refused(void *context, const struct gt_site *site, int error)
{
}

static double with_empty_pair(const char *path, uint64_t offset, long calls)
{
	struct gt_site site = {.name = "cudaSetDevice", .offset = offset};
	struct gt_attachment *attachment = NULL;
	struct empty_bpf *skeleton = empty_bpf__open();
	bool multi = !gt_attach_check_multi();
	double ns = -1;

	if (!skeleton)
		return -1;
	if (multi) {
		gt_attach_prepare_multi(skeleton->progs.empty_entry);
		gt_attach_prepare_multi(skeleton->progs.empty_return);
	}
	if (!empty_bpf__load(skeleton) &&
	    !gt_attach(path, &site, 1, multi, skeleton->progs.empty_entry,
		       skeleton->progs.empty_return, ignore_refused, NULL, &attachment, NULL)) {
		ns_per_call(false, calls / 10);
		ns = ns_per_call(false, calls);
	}
	gt_detach(attachment);
	empty_bpf__destroy(skeleton);
	return ns;
}

/* Starts gputap on this process; returns when it is attached, which it says with -v. */
static int start_gputap(const char *program, const char *output, pid_t *ret_pid)
{
	char self[16], line[512] = "";
	FILE *messages;
	int ends[2];

	snprintf(self, sizeof(self), "%d", getpid());
	if (pipe(ends) < 0)
		return -errno;
	*ret_pid = fork();
	if (!*ret_pid) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		execl(program, program, "trace", "-v", "-d", self, "-f", "cuda?etDevice", "-o",
		      output, NULL);
		_exit(127);
	}
	close(ends[1]);
	messages = fdopen(ends[0], "r");
	while (messages && fgets(line, sizeof(line), messages) && !strstr(line, "attached "))
		;
	/* The pipe stays open: gputap's totals go there. */
	return strstr(line, "attached ") ? 0 : -ESRCH;
}

/* Whether the account at the end of the capture holds for this many calls. */
static bool is_accounted(const char *path, uint64_t calls, uint64_t *ret_lost)
{
	gt_auto(capture_reader) struct gt_capture_reader *reader = NULL;
	const struct gt_event *event;
	bool right = false;

	if (gt_capture_open(path, &reader, NULL))
		return false;
	while (gt_capture_next(reader, &event, NULL) > 0) {
		const struct gt_event_account *account = (const void *)event;

		if (event->kind != GT_EVENT_account)
			continue;
		right = account->made == calls &&
			account->complete + account->lost + account->unfinished == calls;
		*ret_lost = account->lost;
	}
	return right;
}

/* Times calls under gputap: a warm-up of a tenth of them goes before. Negative: it failed. */
static double with_gputap(const char *output, bool with_result, long calls)
{
	pid_t gputap = 0;
	double ns;

	if (start_gputap(GPUTAP, output, &gputap))
		return -1;
	ns_per_call(with_result, calls / 10);
	ns = ns_per_call(with_result, calls);
	kill(gputap, SIGINT);
	waitpid(gputap, NULL, 0);
	return ns;
}

/* The same, into a capture whose totals must add up. */
static double recorded(bool with_result, long calls, uint64_t *lost)
{
	char capture[] = "/dev/shm/gputap-bench-XXXXXX.gtap";
	int fd = mkstemps(capture, strlen(".gtap"));
	double ns;

	if (fd < 0)
		return -1;
	close(fd);
	ns = with_gputap(capture, with_result, calls);
	if (!is_accounted(capture, calls + calls / 10, lost)) {
		fprintf(stderr, "trace-cost: the totals do not add up to %ld calls\n",
			calls + calls / 10);
		ns = -1;
	}
	unlink(capture);
	return ns;
}

int main(int count, char **arguments)
{
	long calls = count > 1 && !strcmp(arguments[1], "--quick") ? 100000 : 300000;
	double untraced, empty, record, with_result, live;
	gt_autofree char *path = NULL;
	uint64_t offset, lost[2] = {0};

	gt_load_set_verbose(false);
	if (gt_load_check(NULL) || find_function(&path, &offset)) {
		printf("trace.untraced skip BPF programs cannot be loaded here\n");
		return 0;
	}
	untraced = ns_per_call(false, calls);
	empty = with_empty_pair(path, offset, calls);
	record = recorded(false, calls, &lost[0]);
	with_result = recorded(true, calls, &lost[1]);
	live = with_gputap("/dev/null", false, calls);
	if (empty <= 0 || record <= 0 || with_result <= 0 || live <= 0)
		return 1;
	printf("trace.untraced %.2f ns a call\n", untraced);
	printf("trace.empty_pair %.1f ns a call\n", empty);
	printf("trace.recorded %.1f ns a call\n", record);
	printf("trace.recorded_with_result %.1f ns a call\n", with_result);
	printf("trace.live_text %.1f ns a call\n", live);
	printf("trace.recorded/empty_pair %.3f x (goal: 1.3)\n", record / empty);
	printf("trace.recorded_with_result/empty_pair %.3f x\n", with_result / empty);
	printf("trace.live_text/empty_pair %.3f x\n", live / empty);
	printf("trace.recorded_lost %" PRIu64 " calls of %ld\n", lost[0] + lost[1],
	       2 * (calls + calls / 10));
	return 0;
}
