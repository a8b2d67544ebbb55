/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs by area (tests/data/ebpf/linux/, one file per area): gputap has the verdict and the
 * message of the running kernel, which the files do not contain. They have the format of
 * gpubpf_cases.h, but semicolons may separate instructions, and macros (`macros`) stand for
 * several; r1 is a context without readable fields; the maps are `maps`; after the program may
 * follow
 *
 *	linux accepts: because     Linux has another verdict ("rejects"), and why
 *	message: because           both reject it, but with different messages, and why
 *
 * SHOW=1 prints both answers for every program.
 */
#include <glob.h>

#include "gpubpf/verify/verify.h"
#include "gpubpf_cases.h"
#include "gpubpf_kernel.h"
#include "tap.h"

static uint8_t constant[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static struct gt_bpf_map maps[] = {
	{.name = "one", .type = 2, .key_size = 4, .value_size = 48, .max_entries = 1},
	{.name = "hash", .type = 1, .key_size = 8, .value_size = 48, .max_entries = 4},
	{.name = "array", .type = 2, .key_size = 4, .value_size = 16, .max_entries = 5},
	{.name = "ring", .type = 27, .max_entries = 4096},
	{.name = "constant",
	 .type = 2,
	 .key_size = 4,
	 .value_size = 16,
	 .max_entries = 1,
	 .read_only = true,
	 .constant = true,
	 .initial = constant},
	{.name = "locked",
	 .type = 2,
	 .key_size = 4,
	 .value_size = 16,
	 .max_entries = 2,
	 .read_only = true},
	{.name = "output",
	 .type = 2,
	 .key_size = 4,
	 .value_size = 16,
	 .max_entries = 1,
	 .write_only = true},
	{.name = "counts",
	 .type = 1,
	 .key_size = 8,
	 .value_size = 16,
	 .max_entries = 4,
	 .write_only = true},
};

static const struct {
	const char *word, *text;
} macros[] = {
	{"@value", "stdw [r10-8], 0\nmov r2, r10\nadd r2, -8\nldmap r1, 1\ncall 1"},
	{"@reserve", "ldmap r1, 3\nmov r2, 16\nmov r3, 0\ncall 131"},
};

/* The version of Linux whose rules and messages gputap follows; others differ. */
enum {
	WRITTEN_FOR = 6018,
};

static char kernel_log[KERNEL_LOG];
static unsigned programs, accepted, same_messages, different;

/* A program and both verdicts. */
struct verdict_pair {
	const char *path;
	const struct bpf_case *one;
	bool ours;
	struct gt_diag diag;
	struct kernel_answer theirs;
};

static void print_pair(const struct verdict_pair *pair, const char *what)
{
	printf("# %s: %s: %s\n#   ours:   %s%s%s\n#   kernel: %s\n", strrchr(pair->path, '/') + 1,
	       pair->one->title, what, pair->ours ? "accepted" : pair->diag.place,
	       pair->ours || !pair->diag.place[0] ? "" : ": ", pair->ours ? "" : pair->diag.text,
	       pair->theirs.error ? pair->theirs.said : "accepted");
}

static void report_difference(const struct verdict_pair *pair, const char *what)
{
	different++;
	print_pair(pair, what);
}

/* Ids of references are arbitrary: replace them by zeros. */
static void clear_ids(char *text)
{
	for (char *at = text; (at = strstr(at, " id=")); at += 4)
		memset(at + 4, '0', strspn(at + 4, "0123456789"));
}

/* Whether the message of Linux, of one line or two, is part of the message of gputap. */
static bool has_same_message(struct verdict_pair *pair)
{
	const char *end = kernel_message_end(kernel_log), *line;
	bool found = pair->theirs.said[0];

	clear_ids(kernel_log);
	clear_ids(pair->diag.text);
	while (found && end > kernel_log) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		for (line = end; line > kernel_log && line[-1] != '\n';)
			line--;
		gt_strbuf_printf(&text, "%.*s", (int)(end - line), line);
		found = strstr(pair->diag.text, gt_strbuf_string(&text)) ||
			strstr(gt_strbuf_string(&text), " state: ");
		end = line > kernel_log ? line - 1 : line;
	}
	return found;
}

static void compare(struct verdict_pair *pair)
{
	bool theirs = !pair->theirs.error, said = pair->one->linux_verdict[0];
	bool same = !pair->ours && !theirs && has_same_message(pair);

	programs++;
	accepted += theirs;
	if (pair->ours != theirs && !said) {
		report_difference(pair, "the verdicts differ");
	} else if (pair->ours == theirs && said) {
		report_difference(pair,
				  "the verdicts are the same, the case says that they differ");
	} else if (said &&
		   strncmp(pair->one->linux_verdict, theirs ? "accepts: " : "rejects: ", 9)) {
		report_difference(pair, "the case documents another verdict of Linux");
	} else if (!pair->ours && !theirs && same == (pair->one->other_message[0] != 0)) {
		report_difference(pair,
				  same ? "the messages are the same, the case says that they differ"
				       : "the messages differ");
	} else if (getenv("SHOW")) {
		print_pair(pair, "same");
	}
	same_messages += same;
}

/* Expand macros, one instruction per line. */
static void expand(const char *source, struct gt_strbuf *text)
{
	while (*source) {
		size_t i = 0;

		while (i < gt_countof(macros) &&
		       strncmp(source, macros[i].word, strlen(macros[i].word)))
			i++;
		if (i < gt_countof(macros)) {
			gt_strbuf_puts(text, macros[i].text);
			source += strlen(macros[i].word);
		} else {
			gt_strbuf_putc(text, *source == ';' ? '\n' : *source);
			if (*source == ':')
				gt_strbuf_putc(text, '\n');
			source++;
		}
	}
}

static void run(const char *path, struct bpf_case *one)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_bpf_object object = {.maps = maps, .map_count = gt_countof(maps)};
	struct gt_verify_options options = {.input = GT_INPUT_CONTEXT};
	struct gt_bpf_program program = {0};
	struct kernel_question question = {.maps = maps, .map_count = gt_countof(maps)};
	struct verdict_pair pair = {.path = path, .one = one};
	struct gt_facts facts = {0};

	expand(gt_strbuf_string(&one->text), &text);
	if (gt_bpf_assemble(gt_strbuf_string(&text), &program.insns, &program.count, &pair.diag)) {
		TAP_FAIL("%s: %s: %s: %s", path, one->title, pair.diag.place, pair.diag.text);
		return;
	}
	question.insns = program.insns;
	question.count = program.count;
	pair.theirs = kernel_ask(&question, kernel_log);
	pair.ours = !gt_verify(&object, &program, &options, &facts, NULL, &pair.diag);
	gt_facts_clear(&facts);
	if (pair.theirs.error != -ENOTSUP)
		compare(&pair);
	gt_bpf_program_clear(&program);
}

TEST("verdicts and messages are those of the running kernel or the case documents why not")
{
	const char *data = getenv("TEST_DATA");
	static char reason[128];
	gt_auto_strbuf pattern = GT_STRBUF_INIT;
	glob_t files = {0};

	if (!kernel_answers())
		SKIP("the kernel loads no programs here");
	gt_strbuf_printf(&pattern, "%s/ebpf/linux/*.cases", data ? data : "tests/data");
	CHECK(!glob(gt_strbuf_string(&pattern), 0, NULL, &files));
	for (size_t i = 0; i < files.gl_pathc; i++)
		CHECK(each_case(files.gl_pathv[i], run) > 0);
	globfree(&files);
	printf("# %u programs, %u of them accepted, %u rejected with the same message\n", programs,
	       accepted, same_messages);
	CHECK(programs > 400);
	if (kernel_version() == WRITTEN_FOR) {
		CHECK_INT(different, 0);
		return;
	}
	snprintf(reason, sizeof(reason),
		 "the cases are for Linux %d.%d; this one differs for %u of %u programs",
		 WRITTEN_FOR / 1000, WRITTEN_FOR % 1000, different, programs);
	SKIP(reason);
}

TEST_MAIN
