/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of each BPF program of the layer sources: the mean run time of 100,000 single test runs
 * (BPF_PROG_TEST_RUN), as the kernel measures it (BPF_STATS_RUN_TIME, which adds some 20 ns). The
 * argument of every program is memory in which each pointer points to itself, so that all reads
 * succeed, but for arguments that are the index of an array (`indices`), which are 0; events are
 * written to a ring, which is emptied. Only raw tracepoints have test runs.
 *
 * A new layer source needs nothing here: all of gt_sources() are measured.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel_memory.h"
#include "layer_run.h"

#define RUNS 100000
#define QUICK_RUNS 10000
#define RUNS_PER_DRAIN 500
#define MAX_ARGUMENTS 12

static const struct {
	const char *program;
	size_t argument;
} indices[] = {
	{"vblank_delivered", 1}, /* of a CRTC */
};

static struct kernel_memory memory;
static struct layer_run run;

/* Fill the memory with its own address. */
static int fill_memory(void)
{
	int error = kernel_memory_open(&memory);

	for (size_t at = 0; at < KERNEL_MEMORY_SIZE; at += sizeof(memory.address))
		kernel_memory_put(&memory, at, &memory.address, sizeof(memory.address));
	return error ? error : kernel_memory_write(&memory);
}

static int run_often(const char *name, int fd, unsigned runs)
{
	uint64_t arguments[MAX_ARGUMENTS];
	int error = 0;

	for (size_t i = 0; i < MAX_ARGUMENTS; i++)
		arguments[i] = memory.address;
	for (size_t i = 0; i < gt_countof(indices); i++)
		if (!strcmp(indices[i].program, name))
			arguments[indices[i].argument] = 0;
	for (unsigned i = 0; i < runs && !error; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments,
			    .ctx_size_in = sizeof(arguments));

		error = bpf_prog_test_run_opts(fd, &options);
		if (i % RUNS_PER_DRAIN == 0) {
			run.count = 0;
			ring_buffer__consume(run.ring);
		}
	}
	return error;
}

static void measure_program(const char *source, const char *name, unsigned runs)
{
	int fd = bpf_program__fd(bpf_object__find_program_by_name(run.object, name));
	struct bpf_prog_info before = {0}, after = {0};
	__u32 size = sizeof(before);
	int error = bpf_obj_get_info_by_fd(fd, &before, &size);

	if (!error)
		error = run_often(name, fd, runs);
	size = sizeof(after);
	if (!error)
		error = bpf_obj_get_info_by_fd(fd, &after, &size);
	if (error || after.run_cnt == before.run_cnt)
		printf("%s/%s skip %s\n", source, name,
		       error ? strerror(-error) : "the kernel counts no runs");
	else
		printf("%s/%s %.1f ns\n", source, name,
		       (double)(after.run_time_ns - before.run_time_ns) /
			       (double)(after.run_cnt - before.run_cnt));
}

static void measure_source(const struct gt_source *source, const char *types, unsigned runs)
{
	const struct gt_layer *layer = source->layer;
	int error = layer_run_write_types(source, types);

	if (!error)
		error = layer_run_open(&run, source, types, NULL);
	for (size_t i = 0; i < layer->hook_count; i++) {
		const struct gt_hook *hook = &layer->hooks[i];

		if (hook->kind != GT_HOOK_TRACEPOINT)
			continue;
		if (error)
			printf("%s/%s skip its programs cannot be loaded here: %s\n", source->name,
			       hook->program, strerror(-error));
		else
			measure_program(source->name, hook->program, runs);
	}
	layer_run_close(&run);
}

int main(int argc, char **argv)
{
	const unsigned runs = argc > 1 && !strcmp(argv[1], "--quick") ? QUICK_RUNS : RUNS;
	const char *parent = getenv("TMPDIR");
	char types[256];
	size_t count;
	const struct gt_source *const *sources = gt_sources(&count);
	int file, error;

	snprintf(types, sizeof(types), "%s/gputap-types-XXXXXX", parent ? parent : "/tmp");
	file = mkstemp(types);
	error = bpf_enable_stats(BPF_STATS_RUN_TIME) < 0 || file < 0 ? -errno : fill_memory();
	libbpf_set_print(NULL);
	if (error)
		printf("layer-programs skip %s\n", strerror(-error));
	for (size_t i = 0; i < count && !error; i++)
		if (sources[i]->layer)
			measure_source(sources[i], types, runs);
	unlink(types);
	return 0;
}
