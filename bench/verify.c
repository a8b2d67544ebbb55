/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The verifier's worst cases: short programs whose verification takes most of its limits. Processor
 * time, the share of the limit of work (GT_MAX_WORK) in percent and, in the same run, the processor
 * time of the running kernel's verifier for the same program.
 *
 * The first cases are made by hand; `random` and `random-loops` are the slowest of some random
 * programs (fuzz/gpubpf_programs.h, gpubpf_loops.h), or the one whose states take the most work: of
 * those that take most of a small limit, the one that takes most of the whole limit.
 */
#include <time.h>

#include "gpubpf/verify/private.h"
#include "gpubpf_kernel.h"
#include "gpubpf_loops.h"

enum {
	RANDOM_PROGRAMS = 1000,
	RANDOM_VISITED = 5000, /* in a pass, to find the slowest */
	CANDIDATES = 8,        /* for the slowest, whose whole limit is measured */
};

static char kernel_log[KERNEL_LOG];
static const struct gt_bpf_object object = {.maps = random_maps, .map_count = RANDOM_LINUX_MAPS};

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* ---- cases ------------------------------------------------------------------------------- */

/* Skip one instruction or not, by an unknown bit of the memory at r6. */
static unsigned branch(struct writer *writer, unsigned bit)
{
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 4, 6, (int)(bit % MEMORY)));
	return jump(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 4, 0));
}

/* An index of many bits, each from a branch: no two paths have the same state. */
static void make_bits(struct writer *writer)
{
	set(writer, 0, 0);
	for (unsigned i = 0; i < 26; i++) {
		unsigned skip = branch(writer, i);

		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 0, 1 << i));
		land(writer, skip);
	}
	emit(writer, insn_k(BPF_ALU64 | BPF_AND | BPF_K, 0, MEMORY - 1));
	emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, 6, 0, 0));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 0, 6, 0));
}

/* The same in slots of the stack, so that states are large. */
static void make_slots(struct writer *writer)
{
	for (int i = 0; i < GT_BPF_STACK_SLOTS; i++)
		emit(writer, insn_x(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8 * (i + 1)));
	for (unsigned i = 0; i < 32; i++) {
		unsigned skip = branch(writer, i);

		emit(writer, insn_x(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8 * ((int)i + 1)));
		writer->insns[writer->count - 1].imm = 1;
		land(writer, skip);
	}
	for (unsigned i = 0; i < 32; i++) {
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 4, 10, -8 * ((int)i + 1)));
		move(writer, 5, 6);
		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, 5, 4, 0));
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_B, 0, 5, 0));
	}
}

/* Count r<regno> to a limit around what the caller emits. */
static unsigned begin_loop(struct writer *writer, unsigned regno)
{
	set(writer, regno, 0);
	return writer->count;
}

static void end_loop(struct writer *writer, unsigned regno, unsigned start, int32_t limit)
{
	unsigned last;

	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, regno, 1));
	last = jump(writer, insn_k(BPF_JMP | BPF_JLT | BPF_K, regno, limit));
	writer->insns[last].off = (int16_t)((int)start - (int)last - 1);
}

/* Loops in loops, each of whose iterations is explored. */
static void make_nest(struct writer *writer)
{
	unsigned outer = begin_loop(writer, 9), middle = begin_loop(writer, 8),
		 inner = begin_loop(writer, 7);

	set(writer, 0, 0);
	end_loop(writer, 7, inner, 60);
	end_loop(writer, 8, middle, 60);
	end_loop(writer, 9, outer, 60);
}

/* A loop of branches whose results differ in each iteration. */
static void make_branching_loop(struct writer *writer)
{
	unsigned start;

	set(writer, 0, 0);
	set(writer, 8, 1);
	start = begin_loop(writer, 9);
	for (unsigned i = 0; i < 3; i++) {
		unsigned skip = branch(writer, i);

		emit(writer, insn_x(BPF_ALU64 | BPF_ADD | BPF_X, 0, 8, 0));
		land(writer, skip);
		emit(writer, insn_k(BPF_ALU64 | BPF_MUL | BPF_K, 8, 3));
	}
	end_loop(writer, 9, start, 1000);
	emit(writer, insn_k(BPF_JMP | BPF_JEQ | BPF_K, 0, 7));
	writer->insns[writer->count - 1].off = 1;
	set(writer, 0, 1);
}

/* Nested loops with unknown limits that no counter proves, widened again and again. */
static void make_endless_nest(struct writer *writer)
{
	unsigned starts[4];

	for (unsigned i = 0; i < 4; i++) {
		set(writer, i, 0);
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, i, -8 * ((int)i + 1)));
		starts[i] = writer->count;
	}
	for (unsigned i = 0; i < 16; i++) {
		unsigned skip = branch(writer, i);

		emit(writer, insn_k(BPF_ALU64 | BPF_XOR | BPF_K, i % 4, (int32_t)i));
		land(writer, skip);
	}
	for (unsigned i = 4; i-- > 0;) {
		unsigned last;

		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 5, 6, 8 * (int)i));
		emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 4, 10, -8 * ((int)i + 1)));
		emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 4, 1));
		emit(writer, insn_x(BPF_STX | BPF_MEM | BPF_DW, 10, 4, -8 * ((int)i + 1)));
		last = jump(writer, insn_x(BPF_JMP | BPF_JNE | BPF_X, 4, 5, 0));
		writer->insns[last].off = (int16_t)((int)starts[i] - (int)last - 1);
	}
	set(writer, 0, 0);
}

/* A counter whose limit is not known, beside a stack: each iteration is compared with many others.
 */
static void make_unknown_limit(struct writer *writer)
{
	unsigned start, last;

	emit(writer, insn_x(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8 * GT_BPF_STACK_SLOTS));
	emit(writer, insn_x(BPF_LDX | BPF_MEM | BPF_DW, 2, 6, 0));
	start = begin_loop(writer, 0);
	emit(writer, insn_k(BPF_ALU64 | BPF_ADD, 0, 1));
	last = jump(writer, insn_x(BPF_JMP | BPF_JNE | BPF_X, 0, 2, 0));
	writer->insns[last].off = (int16_t)((int)start - (int)last - 1);
}

static unsigned make_case(void (*make)(struct writer *writer), struct bpf_insn *insns)
{
	struct writer writer = {.insns = insns, .limit = RANDOM_MAX_INSNS};

	move(&writer, 6, 1);
	make(&writer);
	emit(&writer, insn_k(BPF_JMP | BPF_EXIT, 0, 0));
	return writer.count;
}

/* ---- measuring --------------------------------------------------------------------------- */

/* Milliseconds to verify a program, which visits at most so many instructions in a pass. */
static double measure(const struct bpf_insn *insns, unsigned count, uint64_t max_visited,
		      struct gt_verify_effort *ret_effort, bool *ret_accepted)
{
	struct bpf_insn copy[RANDOM_MAX_INSNS];
	struct gt_bpf_program program = {.insns = copy, .count = count};
	struct gt_verify_options options = {.input = GT_INPUT_MEMORY,
					    .memory_size = MEMORY,
					    .max_visited = max_visited,
					    .effort = ret_effort};
	struct gt_facts facts = {0};
	struct gt_diag diag = {0};
	double start;

	memcpy(copy, insns, count * sizeof(*insns));
	start = now_ms();
	*ret_accepted = !gt_verify(&object, &program, &options, &facts, NULL, &diag);
	start = now_ms() - start;
	gt_facts_clear(&facts);
	return start;
}

static void print_case(const char *name, const struct bpf_insn *insns, unsigned count)
{
	struct kernel_question question = {insns, count, random_maps, RANDOM_LINUX_MAPS,
					   true,  MEMORY};
	struct gt_verify_effort effort = {0};
	struct kernel_answer answer;
	bool accepted;
	double ms = measure(insns, count, 0, &effort, &accepted);

	printf("verify-%s %.1f ms\n", name, ms);
	printf("verify-%s-work %.2f %%\n", name, 100.0 * (double)effort.work / GT_MAX_WORK);
	printf("verify-%s-visited %llu insns\n", name, (unsigned long long)effort.visited);
	ms = now_ms();
	answer = kernel_ask(&question, kernel_log);
	ms = now_ms() - ms;
	if (geteuid())
		printf("verify-%s-linux skip not root\n", name);
	else if (answer.error == -ENOTSUP)
		printf("verify-%s-linux skip not a program for this kernel\n", name);
	else
		printf("verify-%s-linux %.1f ms\n", name, ms);
}

struct candidate {
	struct bpf_insn insns[RANDOM_MAX_INSNS];
	unsigned count;
	double amount; /* milliseconds or work */
};

static double amount_of(const struct candidate *candidate, uint64_t max_visited, bool by_work)
{
	struct gt_verify_effort effort = {0};
	bool accepted;
	double ms = measure(candidate->insns, candidate->count, max_visited, &effort, &accepted);

	return by_work ? (double)effort.work : ms;
}

/* Keep a candidate in the place of the one of the smallest amount, if its own is larger. */
static void keep(struct candidate *kept, const struct candidate *candidate)
{
	struct candidate *least = kept;

	for (unsigned i = 1; i < CANDIDATES; i++)
		if (kept[i].amount < least->amount)
			least = &kept[i];
	if (candidate->amount > least->amount)
		*least = *candidate;
}

/* Print the slowest of the random programs, or that which takes most of the limit of work. */
static void print_slowest(const char *name, unsigned (*make)(struct bpf_insn *insns),
			  unsigned programs, bool by_work)
{
	static struct candidate kept[CANDIDATES], candidate;
	const struct candidate *slowest = kept;

	random_for_linux = true;
	memset(kept, 0, sizeof(kept));
	for (unsigned i = 0; i < programs; i++) {
		candidate.count = make(candidate.insns);
		candidate.amount = amount_of(&candidate, RANDOM_VISITED, by_work);
		keep(kept, &candidate);
	}
	for (unsigned i = 0; i < CANDIDATES; i++) {
		kept[i].amount = kept[i].count ? amount_of(&kept[i], 0, by_work) : 0;
		if (kept[i].amount > slowest->amount)
			slowest = &kept[i];
	}
	print_case(name, slowest->insns, slowest->count);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(struct writer *writer);
	} cases[] = {
		{"bits", make_bits},
		{"slots", make_slots},
		{"nest", make_nest},
		{"branching-loop", make_branching_loop},
		{"endless-nest", make_endless_nest},
		{"unknown-limit", make_unknown_limit},
	};
	bool quick = argc > 1 && !strcmp(argv[1], "--quick");
	unsigned programs = quick ? RANDOM_PROGRAMS / 10 : RANDOM_PROGRAMS;

	for (size_t i = 0; i < gt_countof(cases); i++) {
		struct bpf_insn insns[RANDOM_MAX_INSNS];
		unsigned count = make_case(cases[i].make, insns);

		print_case(cases[i].name, insns, count);
	}
	print_slowest("random", make_program, programs, false);
	print_slowest("random-loops", make_loop_program, programs, false);
	print_slowest("random-loops-most-work", make_loop_program, programs, true);
	return 0;
}
