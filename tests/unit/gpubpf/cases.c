/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cases of tests/data/ebpf/ in the verifier and the interpreter. */
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpubpf/interp/interp.h"
#include "gpubpf/verify/verify.h"
#include "gpubpf_cases.h"
#include "tap.h"

static char *const *patterns; /* as those of programs with TEST_MAIN */
static int number, failures;

/* Run an accepted program; put an error into wrong. */
static void execute(struct bpf_case *one, const struct gt_bpf_object *object,
		    const struct gt_bpf_program *program, const struct gt_facts *facts,
		    struct gt_strbuf *wrong)
{
	void *memories[CASE_MAPS] = {0};
	struct gt_interp_options options = {.object = object,
					    .map_memory = memories,
					    .memory = one->memory,
					    .memory_size = one->memory_size,
					    .max_executed = facts->bound};
	struct gt_interp_result result;
	struct gt_diag diag = {0};

	for (uint32_t i = 0; i < one->map_count; i++) {
		memories[i] = calloc(1, gt_bpf_map_bytes(&one->maps[i], 1));
		gt_bpf_map_initialise(&one->maps[i], 1, memories[i]);
	}
	if (gt_interp_run(program, &options, &result, &diag))
		gt_strbuf_printf(wrong, "%s: %s", diag.place, diag.text);
	else if (result.r0 != one->result)
		gt_strbuf_printf(wrong, "r0 is 0x%" PRIx64 ", not 0x%" PRIx64, result.r0,
				 one->result);
	else if (one->has_after && memcmp(one->memory, one->after, one->memory_size))
		gt_strbuf_puts(wrong, "the memory differs");
	for (uint32_t i = 0; i < one->map_count; i++)
		free(memories[i]);
}

/* A tenth of the default: it takes less time, and the loops that reach one reach the other. */
#define MAX_VISITED 100000
#define TOO_LARGE "BPF program is too large. Processed 100001 insn"

/* Whether a case has the message of the default limit. */
static bool is_too_large(const struct bpf_case *one)
{
	return !strcmp(one->rejection, "BPF program is too large. Processed 1000001 insn");
}

static void check(struct bpf_case *one, struct gt_strbuf *wrong)
{
	struct gt_bpf_object object = {.maps = one->maps, .map_count = one->map_count};
	struct gt_verify_options options = {.max_visited = MAX_VISITED,
					    .input = GT_INPUT_MEMORY,
					    .memory_size = one->memory_size,
					    .strict = one->strict};
	struct gt_bpf_program program = {0};
	struct gt_facts facts = {0};
	struct gt_diag diag = {0};
	char said[800];

	if (gt_bpf_assemble(gt_strbuf_string(&one->text), &program.insns, &program.count, &diag)) {
		gt_strbuf_printf(wrong, "%s: %s", diag.place, diag.text);
		return;
	}
	if (one->strict)
		gt_bpf_canonicalize(program.insns, program.count);
	if (gt_verify(&object, &program, &options, &facts, NULL, &diag)) {
		snprintf(said, sizeof(said), "%s%s%s", diag.place, diag.place[0] ? ": " : "",
			 diag.text);
		if (strcmp(said, is_too_large(one) ? TOO_LARGE : one->rejection))
			gt_strbuf_printf(wrong, "rejected: %s", said);
	} else if (one->rejection[0]) {
		gt_strbuf_printf(wrong, "accepted");
	} else {
		execute(one, &object, &program, &facts, wrong);
	}
	gt_facts_clear(&facts);
	gt_bpf_program_clear(&program);
}

static void run(const char *path, struct bpf_case *one)
{
	gt_auto_strbuf wrong = GT_STRBUF_INIT;

	if (!tap_is_selected(one->title, patterns))
		return;
	check(one, &wrong);
	if (wrong.length) {
		printf("# %s: %s\n", path, gt_strbuf_string(&wrong));
		failures++;
	}
	printf("%sok %d - %s\n", wrong.length ? "not " : "", ++number, one->title);
}

int main(int argc, char **argv)
{
	const char *data = getenv("TEST_DATA");
	gt_auto_strbuf pattern = GT_STRBUF_INIT;
	glob_t files = {0};

	patterns = argv + 1;
	gt_strbuf_printf(&pattern, "%s/ebpf/*.cases", data ? data : "tests/data");
	if (glob(gt_strbuf_string(&pattern), 0, NULL, &files)) {
		printf("Bail out! no cases in %s\n", gt_strbuf_string(&pattern));
		return 1;
	}
	for (size_t i = 0; i < files.gl_pathc; i++)
		failures += each_case(files.gl_pathv[i], run) <= 0;
	globfree(&files);
	printf("1..%d\n", number);
	return failures != 0 || !number;
}
