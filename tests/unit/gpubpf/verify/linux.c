/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Compare verdicts with those of the running kernel: on the cases, each of which documents why its
 * verdict differs if it does, and on random programs. LIST=1 prints the list of
 * docs/ebpf-linux.md, SHOW=1 the random programs whose verdicts differ.
 */
#include <glob.h>

#include "amount.h"
#include "gpubpf/verify/verify.h"
#include "gpubpf_cases.h"
#include "gpubpf_kernel.h"
#include "gpubpf_programs.h"
#include "tap.h"

enum {
	PROGRAMS = 3000,
};

static char kernel_log[KERNEL_LOG];

/* ---- cases ----------------------------------------------------------------------------- */

static unsigned compared, documented;
static struct gt_file page;

/* docs/ebpf-linux.md lists each case with different verdicts. */
static void check_list(const struct bpf_case *one, bool ours)
{
	gt_auto_strbuf line = GT_STRBUF_INIT;

	gt_strbuf_printf(&line, "- %s: %s. Linux %s\n", one->title,
			 ours ? "accepted" : one->rejection, one->linux_verdict);
	if (getenv("LIST"))
		fputs(gt_strbuf_string(&line), stdout);
	else if (!strstr((const char *)page.data, gt_strbuf_string(&line)))
		TAP_FAIL("docs/ebpf-linux.md lacks: %s", gt_strbuf_string(&line));
}

static void compare_case(const char *path, struct bpf_case *one)
{
	struct gt_bpf_program program = {0};
	struct kernel_question question = {
		.maps = one->maps,
		.map_count = one->map_count,
		.memory = true,
		.memory_size = one->memory_size,
	};
	struct kernel_answer answer;
	bool ours = !one->rejection[0], theirs;
	bool differs = one->linux_verdict[0] && strncmp(one->linux_verdict, "runs: ", 6) != 0;

	if (gt_bpf_assemble(gt_strbuf_string(&one->text), &program.insns, &program.count, NULL)) {
		TAP_FAIL("%s: %s: cannot be assembled", path, one->title);
		return;
	}
	question.insns = program.insns;
	question.count = program.count;
	answer = kernel_ask(&question, kernel_log);
	gt_bpf_program_clear(&program);
	if (answer.error == -ENOTSUP)
		return;
	compared++;
	documented += differs;
	theirs = !answer.error;
	if (differs)
		check_list(one, ours);
	if (theirs != (differs ? !ours : ours))
		TAP_FAIL("%s: %s: Linux %s: %s", path, one->title, theirs ? "accepts" : "rejects",
			 answer.said);
	else if (differs && strncmp(one->linux_verdict, theirs ? "accepts: " : "rejects: ", 9))
		TAP_FAIL("%s: %s: the case documents another verdict of Linux", path, one->title);
}

TEST("cases have the verdict of the running kernel or document why not")
{
	const char *data = getenv("TEST_DATA"), *reason = kernel_is_no_measure();
	gt_auto_strbuf pattern = GT_STRBUF_INIT;
	glob_t files = {0};

	if (reason)
		SKIP(reason);
	gt_strbuf_printf(&pattern, "%s/../../docs/ebpf-linux.md", data ? data : "tests/data");
	if (gt_file_read(gt_strbuf_string(&pattern), 1 << 20, &page, NULL)) {
		TAP_FAIL("%s cannot be read", gt_strbuf_string(&pattern));
		return;
	}
	gt_strbuf_clear(&pattern);
	gt_strbuf_printf(&pattern, "%s/ebpf/*.cases", data ? data : "tests/data");
	CHECK(!glob(gt_strbuf_string(&pattern), 0, NULL, &files));
	for (size_t i = 0; i < files.gl_pathc; i++)
		CHECK(each_case(files.gl_pathv[i], compare_case) > 0);
	globfree(&files);
	gt_file_free(&page);
	printf("# %u cases compared, %u verdicts differ with a documented reason\n", compared,
	       documented);
	CHECK(compared > 400);
}

/* ---- random programs ------------------------------------------------------------------- */

/* Messages of known differences. */
static const char *const known_differences[] = {
	/* gputap: addresses are not visible to others. */
	"leaks addr into",
	/* gputap: unreachable instructions are checked, too. */
	"uses reserved fields",
	"invalid shift",
	"div by zero",
	/* gputap: there are no packets on a GPU. */
	"packet loads are not for the GPU",
	/* Linux: the result of a division is unknown. */
	"unbounded min value is not allowed",
	/* Linux: no atomic operation without a result at an unknown offset of the stack. */
	"variable offset stack pointer cannot be passed into helper function",
	/* Linux: limits, which depend on how states are pruned. */
	"jumps is too complex",
	"BPF program is too large",
};

static bool is_known_difference(const char *said)
{
	for (size_t i = 0; i < gt_countof(known_differences); i++)
		if (strstr(said, known_differences[i]))
			return true;
	return false;
}

static void print_program(const struct bpf_insn *insns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		gt_bpf_put_insn(&text, insns, count, i);
		printf("# %u: %s\n", i, gt_strbuf_string(&text));
		i += gt_bpf_is_wide(&insns[i]);
	}
}

/*
 * Whether the instruction for which the kernel rejects a program is executed, according to gputap:
 * it knows of more branches that they are never taken.
 */
static bool is_reached(const struct kernel_question *question, const struct gt_facts *facts)
{
	struct kernel_question again = *question;
	struct kernel_answer answer;

	again.stepwise = true;
	answer = kernel_ask(&again, kernel_log);
	return answer.at >= question->count || facts->insns[answer.at].reached;
}

/* Linux knows nothing of the results of divisions, gputap their ranges. */
static bool has_division(const struct kernel_question *question, const struct gt_facts *facts)
{
	for (uint32_t i = 0; i < question->count; i++) {
		uint8_t code = question->insns[i].code;

		if ((BPF_CLASS(code) == BPF_ALU || BPF_CLASS(code) == BPF_ALU64) &&
		    (BPF_OP(code) == BPF_DIV || BPF_OP(code) == BPF_MOD) && facts->insns[i].reached)
			return true;
	}
	return false;
}

TEST("random programs have the verdict of the running kernel")
{
	struct gt_bpf_object object = {.maps = random_maps, .map_count = RANDOM_LINUX_MAPS};
	struct gt_verify_options options = {.input = GT_INPUT_MEMORY, .memory_size = MEMORY};
	const char *reason = kernel_is_no_measure();
	unsigned programs = programs_wanted(PROGRAMS);
	unsigned asked = 0, same = 0, explained = 0, stricter = 0, laxer = 0;
	unsigned divided = 0;

	if (reason)
		SKIP(reason);
	random_seed();
	random_for_linux = true;
	for (unsigned i = 0; i < programs; i++) {
		struct bpf_insn insns[RANDOM_MAX_INSNS];
		struct gt_bpf_program program = {.insns = insns, .count = make_program(insns)};
		struct kernel_question question = {
			insns, program.count, random_maps, RANDOM_LINUX_MAPS, true, MEMORY};
		struct kernel_answer answer;
		struct gt_facts facts = {0};
		struct gt_diag diag = {0};
		bool ours, widened, unreached, divides;

		answer = kernel_ask(&question, kernel_log);
		ours = !gt_verify(&object, &program, &options, &facts, NULL, &diag);
		widened = ours && facts.widened;
		unreached = ours && answer.error && !is_reached(&question, &facts);
		divides = ours && has_division(&question, &facts);
		gt_facts_clear(&facts);
		if (answer.error == -ENOTSUP)
			continue;
		asked++;
		if (ours == !answer.error) {
			same++;
		} else if (widened || unreached ||
			   is_known_difference(ours ? answer.said : diag.text)) {
			explained++;
		} else {
			stricter += !ours;
			divided += divides;
			laxer += ours && !divides;
		}
		if (ours != !answer.error && getenv("SHOW")) {
			print_program(insns, program.count);
			printf("# ours: %s %s %s\n# kernel: %d %s%s\n",
			       ours ? "accepts" : "rejects", diag.place, diag.text, answer.error,
			       unreached ? "where it is never: " : "", answer.said);
		}
	}
	printf("# %u programs: %u verdicts the same, %u known differences, %u stricter, %u laxer "
	       "by "
	       "a division, %u laxer\n",
	       asked, same, explained, stricter, divided, laxer);
	CHECK(asked > programs / 2);
	CHECK_INT(laxer, 0);
	CHECK(divided <= programs / 1000);
	CHECK(stricter <= programs / 500);
}

TEST_MAIN
