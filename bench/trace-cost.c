/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What tracing costs a call: cudaGetDevice of the stand-in runtime, which does nothing, called
 * untraced, with an empty pair of probes, and with gputap recording it (every event kept or
 * counted), and with gputap also writing the entry marks of live text. The ratios are to the
 * empty pair. One round a run: bench/run takes the medians.
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

static double ns_per_call(long calls)
{
	struct timespec start, end;
	int device;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < calls; i++)
		cudaGetDevice(&device);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / calls;
}

static int find_function(char **ret_path, uint64_t *ret_offset)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_symbol *const *symbols;
	Dl_info info;

	if (!dladdr((void *)cudaGetDevice, &info) || gt_elf_open(info.dli_fname, &elf, NULL) ||
	    !gt_elf_lookup(elf, "cudaGetDevice", &symbols))
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
	struct gt_site site = {.name = "cudaGetDevice", .offset = offset};
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
		ns_per_call(calls / 10);
		ns = ns_per_call(calls);
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
		execl(program, program, "trace", "-v", "-d", self, "-f", "cudaGetDevice", "-o",
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

static double with_gputap(const char *program, const char *output, long calls)
{
	pid_t gputap = 0;
	double ns;

	if (start_gputap(program, output, &gputap))
		return -1;
	ns_per_call(calls / 10);
	ns = ns_per_call(calls);
	kill(gputap, SIGINT);
	waitpid(gputap, NULL, 0);
	return ns;
}

int main(int count, char **arguments)
{
	long calls = count > 1 && !strcmp(arguments[1], "--quick") ? 100000 : 300000;
	char capture[] = "/dev/shm/gputap-bench-XXXXXX.gtap";
	double untraced, empty, recorded, live;
	gt_autofree char *path = NULL;
	uint64_t offset, lost = 0;
	int fd;

	gt_load_set_verbose(false);
	if (gt_load_check(NULL) || find_function(&path, &offset)) {
		printf("trace.untraced skip BPF programs cannot be loaded here\n");
		return 0;
	}
	fd = mkstemps(capture, strlen(".gtap"));
	if (fd < 0)
		return 1;
	close(fd);
	untraced = ns_per_call(calls);
	empty = with_empty_pair(path, offset, calls);
	recorded = with_gputap(GPUTAP, capture, calls);
	if (!is_accounted(capture, calls + calls / 10, &lost)) {
		fprintf(stderr, "trace-cost: the totals do not add up to %ld calls\n",
			calls + calls / 10);
		unlink(capture);
		return 1;
	}
	unlink(capture);
	live = with_gputap(GPUTAP, "/dev/null", calls);
	if (empty <= 0 || recorded <= 0 || live <= 0)
		return 1;
	printf("trace.untraced %.2f ns\n", untraced);
	printf("trace.empty_pair %.1f ns\n", empty);
	printf("trace.recorded %.1f ns\n", recorded);
	printf("trace.live_text %.1f ns\n", live);
	printf("trace.recorded_ratio %.3f x the empty pair\n", recorded / empty);
	printf("trace.live_text_ratio %.3f x the empty pair\n", live / empty);
	printf("trace.recorded_lost %" PRIu64 " calls of %ld\n", lost, calls + calls / 10);
	return 0;
}
