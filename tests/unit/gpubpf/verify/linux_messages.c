/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs by area (tests/data/ebpf/linux/, one file an area): what the running kernel says of each
 * is what gputap says, verdict and words. Nothing of that stands in the files. They are read as
 * those of gpubpf_cases.h, but instructions may be separated by semicolons, and some words are
 * short for several (`shorthands`); r1 is a context, of which nothing can be read; the maps are
 * those of `maps`; and there are, below the program,
 *
 *	linux accepts: because     if the verdicts do not agree ("refuses"), and why not
 *	words: because             if both refuse it, and not in the same words
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
};

static const struct {
	const char *word, *text;
} shorthands[] = {
	{"@value", "stdw [r10-8], 0\nmov r2, r10\nadd r2, -8\nldmap r1, 1\ncall 1"},
	{"@reserve", "ldmap r1, 3\nmov r2, 16\nmov r3, 0\ncall 131"},
};

/* The Linux whose rules and words gputap follows: others have more rules, or say it otherwise. */
enum {
	WRITTEN_FOR = 6018,
};

static char kernel_log[KERNEL_LOG];
static unsigned programs, accepted, same_words, different;

/* A program that is looked at, and both answers. */
struct pair {
	const char *path;
	const struct bpf_case *one;
	bool ours;
	struct gt_diag diag;
	struct kernel_answer theirs;
};

static void tell(const struct pair *pair, const char *what)
{
	printf("# %s: %s: %s\n#   ours:   %s%s%s\n#   kernel: %s\n", strrchr(pair->path, '/') + 1,
	       pair->one->title, what, pair->ours ? "accepted" : pair->diag.place,
	       pair->ours || !pair->diag.place[0] ? "" : ": ", pair->ours ? "" : pair->diag.text,
	       pair->theirs.error ? pair->theirs.said : "accepted");
}

static void differs(const struct pair *pair, const char *what)
{
	different++;
	tell(pair, what);
}

/* Numbers of references are each one's own. */
static void forget_ids(char *text)
{
	for (char *at = text; (at = strstr(at, " id=")); at += 4)
		memset(at + 4, '0', strspn(at + 4, "0123456789"));
}

/* Whether the reason that Linux gives, of one line or two, is in ours. */
static bool has_words(struct pair *pair)
{
	const char *end = kernel_words_end(kernel_log), *line;
	bool found = pair->theirs.said[0];

	forget_ids(kernel_log);
	forget_ids(pair->diag.text);
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

static void compare(struct pair *pair)
{
	bool theirs = !pair->theirs.error, said = pair->one->linux_says[0];
	bool words = !pair->ours && !theirs && has_words(pair);

	programs++;
	accepted += theirs;
	if (pair->ours != theirs && !said) {
		differs(pair, "the verdicts differ");
	} else if (pair->ours == theirs && said) {
		differs(pair, "the verdicts agree, and the case says that they do not");
	} else if (said && strncmp(pair->one->linux_says, theirs ? "accepts: " : "refuses: ", 9)) {
		differs(pair, "Linux does not do what the case says");
	} else if (!pair->ours && !theirs && words == (pair->one->words[0] != 0)) {
		differs(pair, words ? "the words agree" : "the words differ");
	} else if (getenv("SHOW")) {
		tell(pair, "looked at");
	}
	same_words += words;
}

/* The program's text with a line for each instruction. */
static void expand(const char *source, struct gt_strbuf *text)
{
	while (*source) {
		size_t i = 0;

		while (i < gt_countof(shorthands) &&
		       strncmp(source, shorthands[i].word, strlen(shorthands[i].word)))
			i++;
		if (i < gt_countof(shorthands)) {
			gt_strbuf_puts(text, shorthands[i].text);
			source += strlen(shorthands[i].word);
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
	struct pair pair = {.path = path, .one = one};
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

TEST("verdicts and their words are those of the running kernel, or the program says why not")
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
	printf("# %u programs, %u of them accepted, %u refused in the same words\n", programs,
	       accepted, same_words);
	CHECK(programs > 400);
	if (kernel_version() == WRITTEN_FOR) {
		CHECK_INT(different, 0);
		return;
	}
	snprintf(reason, sizeof(reason),
		 "the files tell what Linux %d.%d says; this one differs for %u of %u programs",
		 WRITTEN_FOR / 1000, WRITTEN_FOR % 1000, different, programs);
	SKIP(reason);
}

TEST_MAIN
