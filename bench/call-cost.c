/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "call-cost.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <bpf/bpf.h>

#include "base/clean.h"
#include "elf/elf.h"
#include "probe/api/attach.h"
#include "probe/api/multi_link.h"

#include "empty.skel.h"
#include "start.h"

void call_plain(void)
{
	cudaSetDevice(0);
}

void call_with_result(void)
{
	int device;

	cudaGetDevice(&device);
}

void call_reference(void)
{
	cudaDeviceSynchronize();
}

static int compare_numbers(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

double lower_quartile(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_numbers);
	return values[count / 4];
}

/* ---- the run time of the programs ---- */

#define MAX_PROGRAMS 32

struct runs {
	__u64 count, ns;
};

static bool is_on_calls(const char *program)
{
	static const char *const names[] = {"call_",        "count_session", "empty_entry",
					    "empty_return", "recording_",    "timed_entry",
					    "timed_return", "trap_"};

	for (size_t i = 0; i < gt_countof(names); i++)
		if (!strncmp(program, names[i], strlen(names[i])))
			return true;
	return false;
}

/* All programs on calls, of other sessions, too; none: of one that has ended. */
static size_t find_programs(int fds[MAX_PROGRAMS])
{
	size_t count = 0;
	__u32 id = 0;

	while (count < MAX_PROGRAMS && !bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {0};
		__u32 size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) && is_on_calls(info.name))
			fds[count++] = fd;
		else
			close(fd);
	}
	return count;
}

static void read_runs(const int *fds, size_t count, struct runs *ret_runs)
{
	for (size_t i = 0; i < count; i++) {
		struct bpf_prog_info info = {0};
		__u32 size = sizeof(info);

		bpf_obj_get_info_by_fd(fds[i], &info, &size);
		ret_runs[i] = (struct runs){info.run_cnt, info.run_time_ns};
	}
}

double ns_in_programs(void (*call)(void))
{
	static double windows[PROGRAM_WINDOWS];
	struct runs before[MAX_PROGRAMS], after[MAX_PROGRAMS];
	gt_autoclose int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	int fds[MAX_PROGRAMS];
	size_t count = find_programs(fds);

	for (size_t i = 0; i < PROGRAM_WINDOWS; i++) {
		__u64 ns = 0;

		read_runs(fds, count, before);
		for (int j = 0; j < CALL_WINDOW; j++)
			call();
		read_runs(fds, count, after);
		for (size_t j = 0; j < count; j++)
			if (after[j].count - before[j].count >= CALL_WINDOW)
				ns += after[j].ns - before[j].ns;
		windows[i] = (double)ns / CALL_WINDOW;
	}
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	return stats < 0 ? 0 : lower_quartile(windows, PROGRAM_WINDOWS);
}

/* ---- pairs of probes ---- */

struct probe_pair {
	struct gt_attachment *attachment;
	struct empty_bpf *skeleton; /* NULL: the programs are the caller's */
	int sites;
};

static int find_function(const char *name, char **ret_path, uint64_t *ret_offset)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_symbol *const *symbols;
	Dl_info info;

	if (!dladdr((void *)cudaSetDevice, &info) || gt_elf_open(info.dli_fname, &elf, NULL) ||
	    !gt_elf_lookup(elf, name, &symbols))
		return -ENOENT;
	*ret_offset = symbols[0]->offset;
	*ret_path = strdup(info.dli_fname);
	return *ret_path ? 0 : -ENOMEM;
}

static void ignore_rejected(void *context, const struct gt_site *site, int error)
{
}

void prepare_programs(struct bpf_program *entry, struct bpf_program *at_return)
{
	if (gt_multi_link_check(GT_MULTI_ENTRY))
		return;
	gt_multi_link_prepare(entry, GT_MULTI_ENTRY);
	gt_multi_link_prepare(at_return, GT_MULTI_RETURN);
}

static struct probe_pair *attach_to(const char *function, struct bpf_program *entry,
				    struct bpf_program *at_return)
{
	struct probe_pair *pair = calloc(1, sizeof(*pair));
	gt_autofree char *path = NULL;
	struct gt_site site = {.name = function};
	struct gt_attach_request request = {.sites = &site, .count = 1, .failed = ignore_rejected};
	struct gt_attacher attacher = {
		.method = gt_multi_link_check(GT_MULTI_ENTRY) ? GT_ATTACH_PERF : GT_ATTACH_MULTI,
		.entry = entry,
		.at_return = at_return,
	};

	if (!pair)
		return NULL;
	/* For perf events; the programs do not look into it. */
	pair->sites =
		bpf_map_create(BPF_MAP_TYPE_HASH, "sites", sizeof(__u32), sizeof(__u64), 1, NULL);
	attacher.sites = pair->sites;
	if (find_function(function, &path, &site.offset))
		goto failed;
	request.path = path;
	if (!gt_attach(&attacher, &request, &pair->attachment, NULL))
		return pair;
failed:
	detach_pair(pair);
	return NULL;
}

struct probe_pair *attach_programs(struct bpf_program *entry, struct bpf_program *at_return)
{
	return attach_to("cudaSetDevice", entry, at_return);
}

struct probe_pair *attach_pair(enum pair_kind kind)
{
	struct empty_bpf *skeleton = empty_bpf__open();
	const char *function = kind == PAIR_REFERENCE ? "cudaDeviceSynchronize" : "cudaSetDevice";
	struct bpf_program *entry, *at_return;
	struct probe_pair *pair = NULL;

	if (!skeleton)
		return NULL;
	entry = kind == PAIR_REFERENCE ? skeleton->progs.empty_entry : skeleton->progs.timed_entry;
	at_return = kind == PAIR_RECORDING ? skeleton->progs.recording_return
		    : kind == PAIR_TIMED   ? skeleton->progs.timed_return
					   : skeleton->progs.empty_return;
	bpf_program__set_autoload(skeleton->progs.recording_return, kind == PAIR_RECORDING);
	bpf_map__set_autocreate(skeleton->maps.records, kind == PAIR_RECORDING);
	prepare_programs(entry, at_return);
	if (!empty_bpf__load(skeleton))
		pair = attach_to(function, entry, at_return);
	if (pair)
		pair->skeleton = skeleton;
	else
		empty_bpf__destroy(skeleton);
	return pair;
}

void detach_pair(struct probe_pair *pair)
{
	if (!pair)
		return;
	gt_detach(pair->attachment);
	close(pair->sites);
	empty_bpf__destroy(pair->skeleton);
	free(pair);
}

/* ---- gputap ---- */

int start_tracing(const char *const more[3], const char *stack, pid_t *ret_pid)
{
	const char *const arguments[] = {
		"trace",   "-f",    "cuda?etDevice,cudaLaunchKernel,clSetKernelArg",
		"--stack", stack,   more[0],
		more[1],   more[2], NULL};

	return start_gputap(arguments, ret_pid);
}

void stop_tracing(pid_t gputap)
{
	kill(gputap, SIGINT);
	waitpid(gputap, NULL, 0);
}
