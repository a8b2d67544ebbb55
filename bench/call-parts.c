/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the time of a traced call goes, in the programs. "call_part": the price of each step of the
 * programs on calls in a loop, with warm caches. "call": of each kind of call, what each of its
 * steps adds where it is taken, at the entry and the return of a function, after those above it;
 * "other" is the rest: the sum is "whole", the time in gputap's programs. All are above the time in
 * a pair of programs that takes no step, as the kernel measures it. docs/cost.md has a table of it.
 * trace-cost measures calls with their traps.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clean.h"
#include "probe/load.h"

#include "call-cost.h"
#include "call-parts.h"
#include "call-parts.skel.h"

#define REPEATS 400

static int drop_record(void *context, void *record, size_t size)
{
	return 0;
}

static int compare_ns(const void *left, const void *right)
{
	__u64 a = *(const __u64 *)left, b = *(const __u64 *)right;

	return a < b ? -1 : a > b;
}

/* The median of a program's runs, ns per round; below 0: it cannot be run. */
static double ns_per_round(struct call_parts_bpf *skeleton, const struct bpf_program *program,
			   struct ring_buffer *ring)
{
	const size_t middle = REPEATS / 2;
	LIBBPF_OPTS(bpf_test_run_opts, options);
	static __u64 elapsed[REPEATS];

	for (size_t i = 0; i < REPEATS; i++) {
		if (bpf_prog_test_run_opts(bpf_program__fd(program), &options))
			return -1;
		elapsed[i] = skeleton->bss->elapsed;
		ring_buffer__consume(ring);
	}
	qsort(elapsed, REPEATS, sizeof(*elapsed), compare_ns);
	return (double)elapsed[middle] / PART_ROUNDS;
}

static int measure_parts(struct call_parts_bpf *skeleton, struct ring_buffer *ring)
{
	const struct {
		const char *name;
		const struct bpf_program *program;
	} parts[] = {
		{"time_stamp", skeleton->progs.part_clock},
		{"thread_state", skeleton->progs.part_state},
		{"plan_of_function", skeleton->progs.part_plan},
		{"count", skeleton->progs.part_count},
		{"sums_of_function", skeleton->progs.part_sums},
		{"user_word", skeleton->progs.part_user_word},
		{"user_96_bytes", skeleton->progs.part_user_window},
		{"ring_query", skeleton->progs.part_ring_query},
		{"ring_record_of_96_bytes", skeleton->progs.part_ring_output},
		{"mapping_of_address", skeleton->progs.part_find_mapping},
	};
	double nothing = ns_per_round(skeleton, skeleton->progs.part_nothing, ring);

	for (size_t i = 0; i < gt_countof(parts); i++) {
		double ns = ns_per_round(skeleton, parts[i].program, ring);

		if (ns < 0 || nothing < 0) {
			fprintf(stderr, "call-parts: %s cannot be run\n", parts[i].name);
			return 1;
		}
		printf("call_part.%s %.1f ns\n", parts[i].name, ns > nothing ? ns - nothing : 0);
	}
	return 0;
}

/* ---- whole calls ---- */

enum {
	AT_ENTRY = 1,
	AT_RETURN = 2,
	AT_BOTH = AT_ENTRY | AT_RETURN,
	MAX_STEPS = 7, /* and one that has no name */
};

/* A kind of call: how gputap is started, and the steps that its programs take. */
static const struct kind {
	const char *name;
	void (*call)(void);
	const char *output;  /* NULL: a capture */
	const char *counted; /* an option more */
	struct step {
		const char *name; /* NULL: no more */
		__u32 steps;
		unsigned at;
	} steps[MAX_STEPS];
} kinds[] = {
	/* With uprobe sessions and no condition: else the state of the thread is found, too. */
	{"counted",
	 call_plain,
	 "/dev/null",
	 "-c",
	 {{"time_stamps", 1 << PART_TIME_STAMP, AT_BOTH}, {"count", 1 << PART_COUNT, AT_ENTRY}}},
	{"recorded", call_plain,
	 .steps = {{"time_stamps", 1 << PART_TIME_STAMP, AT_BOTH},
		   {"thread_state", 1 << PART_THREAD_STATE, AT_BOTH},
		   {"plan_of_function", 1 << PART_PLAN, AT_BOTH},
		   {"count", 1 << PART_COUNT, AT_ENTRY},
		   {"record", 1 << PART_RING_QUERY | 1 << PART_RING_RECORD, AT_RETURN}}},
	{"recorded_with_result", call_with_result,
	 .steps = {{"time_stamps", 1 << PART_TIME_STAMP, AT_BOTH},
		   {"thread_state", 1 << PART_THREAD_STATE, AT_BOTH},
		   {"plan_of_function", 1 << PART_PLAN, AT_BOTH},
		   {"count", 1 << PART_COUNT, AT_ENTRY},
		   {"record", 1 << PART_RING_QUERY | 1 << PART_RING_RECORD, AT_RETURN},
		   {"result", 1 << PART_USER_WORD, AT_RETURN}}},
	{"live_text", call_plain, "/dev/null",
	 .steps = {{"time_stamps", 1 << PART_TIME_STAMP, AT_BOTH},
		   {"thread_state", 1 << PART_THREAD_STATE, AT_BOTH},
		   {"plan_of_function", 1 << PART_PLAN, AT_BOTH},
		   {"count", 1 << PART_COUNT, AT_ENTRY},
		   {"record", 1 << PART_RING_QUERY | 1 << PART_RING_RECORD, AT_RETURN},
		   {"record_of_entry", 1 << PART_RING_QUERY | 1 << PART_RING_RECORD, AT_ENTRY}}},
};

/* Select the first steps of a kind of call. */
static void select_steps(struct part_request *request, const struct kind *kind, unsigned count)
{
	request->at_entry = request->at_return = 0;
	for (unsigned i = 0; i < count; i++) {
		request->at_entry |= kind->steps[i].at & AT_ENTRY ? kind->steps[i].steps : 0;
		request->at_return |= kind->steps[i].at & AT_RETURN ? kind->steps[i].steps : 0;
	}
}

/*
 * The time of a call in the programs with none, one … and all steps of a kind, with the price of
 * measuring: the minimum of all passes, since other programs only lengthen it. 0 or -ENOENT.
 */
static int measure_steps(const struct kind *kind, unsigned count, struct call_parts_bpf *skeleton,
			 struct ring_buffer *ring, unsigned passes, double ret_ns[MAX_STEPS])
{
	struct probe_pair *pair =
		attach_programs(skeleton->progs.trap_entry, skeleton->progs.trap_return);

	for (unsigned pass = 0; pair && pass < passes; pass++)
		for (unsigned i = 0; i <= count; i++) {
			double ns;

			select_steps(&skeleton->bss->request, kind, i);
			ns = ns_in_programs(call_plain);
			ring_buffer__consume(ring);
			ret_ns[i] = pass && ret_ns[i] < ns ? ret_ns[i] : ns;
		}
	detach_pair(pair);
	return pair ? 0 : -ENOENT;
}

/* The same in the programs of gputap. */
static int measure_gputap(const struct kind *kind, const char *capture, unsigned passes,
			  double *ret_ns)
{
	const char *more[3] = {"-o", kind->output ? kind->output : capture, kind->counted};
	pid_t gputap = 0;
	int error = start_tracing(more, "none", &gputap);

	for (unsigned pass = 0; !error && pass < passes; pass++) {
		double ns = ns_in_programs(kind->call);

		*ret_ns = pass && *ret_ns < ns ? *ret_ns : ns;
	}
	if (!error)
		stop_tracing(gputap);
	return error;
}

/* Print what each step of a kind of call adds, the rest and the whole. */
static int measure_kind(const struct kind *kind, struct call_parts_bpf *skeleton,
			struct ring_buffer *ring, const char *capture, unsigned passes)
{
	double steps[MAX_STEPS], whole;
	unsigned count = 0;

	while (kind->steps[count].name)
		count++;
	if (measure_steps(kind, count, skeleton, ring, passes, steps) ||
	    measure_gputap(kind, capture, passes, &whole))
		return 1;
	for (unsigned i = 0; i < count; i++)
		printf("call.%s.%s %.1f ns\n", kind->name, kind->steps[i].name,
		       steps[i + 1] - steps[i]);
	printf("call.%s.other %.1f ns\n", kind->name, whole - steps[count]);
	printf("call.%s.whole %.1f ns\n", kind->name, whole - steps[0]);
	return 0;
}

static int measure_kinds(struct call_parts_bpf *skeleton, struct ring_buffer *ring, unsigned passes)
{
	char capture[] = "/dev/shm/gputap-bench-XXXXXX.gtap";
	int fd = mkstemps(capture, strlen(".gtap")), status = 0;

	if (fd < 0)
		return 1;
	close(fd);
	for (size_t i = 0; i < gt_countof(kinds) && !status; i++)
		status = measure_kind(&kinds[i], skeleton, ring, capture, passes);
	if (status)
		fprintf(stderr, "call-parts: the calls cannot be traced\n");
	unlink(capture);
	return status;
}

/* Load the programs, those at entries and returns as such. NULL: not possible. */
static struct call_parts_bpf *load_parts(void)
{
	struct call_parts_bpf *skeleton = call_parts_bpf__open();

	if (!skeleton)
		return NULL;
	prepare_programs(skeleton->progs.trap_entry, skeleton->progs.trap_return);
	if (!call_parts_bpf__load(skeleton))
		return skeleton;
	call_parts_bpf__destroy(skeleton);
	return NULL;
}

int main(int count, char **arguments)
{
	unsigned passes = count > 1 && !strcmp(arguments[1], "--quick") ? 2 : 5;
	static __u64 memory[PART_RECORD_BYTES / sizeof(__u64)];
	struct call_parts_bpf *skeleton;
	struct ring_buffer *ring;
	__u64 zeros[64 * sizeof(struct part_plan) / sizeof(__u64)] = {0};
	__u32 key = 7;
	int status = 1;

	gt_load_set_verbose(false);
	if (gt_load_check(NULL)) {
		printf("call_part.time_stamp skip BPF programs cannot be loaded here\n");
		return 0;
	}
	skeleton = load_parts();
	if (!skeleton || libbpf_num_possible_cpus() > 64) {
		printf("call_part.time_stamp skip the programs cannot be loaded here\n");
		call_parts_bpf__destroy(skeleton);
		return 0;
	}
	memset(memory, 1, sizeof(memory)); /* the page is present */
	skeleton->bss->request =
		(struct part_request){.rounds = PART_ROUNDS, .memory = (__u64)memory};
	bpf_map_update_elem(bpf_map__fd(skeleton->maps.sums), &key, zeros, BPF_ANY);
	ring = ring_buffer__new(bpf_map__fd(skeleton->maps.ring), drop_record, NULL, NULL);
	if (ring)
		status = measure_parts(skeleton, ring) || measure_kinds(skeleton, ring, passes);
	ring_buffer__free(ring);
	call_parts_bpf__destroy(skeleton);
	return status;
}
