/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command "exec": runs an eBPF program by itself. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "gpubpf/interp.h"
#include "gpubpf/verify.h"

enum engine {
	ENGINE_INTERP,
};

struct exec_options {
	bool raw;
	int engine;
	uint64_t max_insns;
};

#define AT(field) offsetof(struct exec_options, field)

static const char *const engines[] = {"interp", NULL};

static const struct gt_option options[] = {
	{0, "raw", NULL, "the program is on the standard input, as hex digits", GT_OPTION_FLAG,
	 AT(raw), NULL},
	{0, "on", "ENGINE", "what runs it: interp", GT_OPTION_CHOICE, AT(engine), engines},
	{0, "max-insns", "N", "refuse programs that may execute more instructions than this",
	 GT_OPTION_NUMBER, AT(max_insns), NULL},
};

static const char *const examples[] = {
	"echo 'b7000000 2a000000 95000000 00000000' | gputap exec --raw    # prints 2a",
	"gputap exec --raw 0a0b0c0d < PROGRAM                             # with four bytes of "
	"memory",
	NULL,
};

/* Memory for the program from hex digits; white space is ignored. */
static int read_memory(const char *hex, uint8_t **ret_memory, uint32_t *ret_size)
{
	size_t digits = 0;
	uint8_t *memory = calloc(strlen(hex) / 2 + 1, 1);

	if (!memory)
		return -ENOMEM;
	for (const char *at = hex; *at; at++) {
		unsigned value;

		if (isspace((unsigned char)*at))
			continue;
		if (!isxdigit((unsigned char)*at)) {
			free(memory);
			return -EINVAL;
		}
		value = isdigit((unsigned char)*at) ? (unsigned)(*at - '0')
						    : (unsigned)(tolower(*at) - 'a' + 10);
		memory[digits / 2] |= (uint8_t)(digits % 2 ? value : value << 4);
		digits++;
	}
	if (digits % 2) {
		free(memory);
		return -EINVAL;
	}
	*ret_memory = memory;
	*ret_size = (uint32_t)(digits / 2);
	return 0;
}

static int read_program(struct gt_bpf_program *program, struct gt_diag *diag)
{
	size_t limit = (size_t)GT_BPF_MAX_INSNS * 24;
	gt_autofree char *text = calloc(limit + 1, 1);
	ssize_t size;

	if (!text)
		return gt_diag(diag, -ENOMEM, "exec", NULL, "out of memory");
	size = gt_read_all(STDIN_FILENO, text, limit);
	if (size < 0)
		return gt_diag(diag, (int)size, "exec", "standard input", "%s",
			       strerror((int)-size));
	if (strlen(text) != (size_t)size)
		return gt_diag(diag, -EINVAL, "exec", "standard input",
			       "it holds a byte that is 0");
	return gt_bpf_read_hex(text, &program->insns, &program->count, diag);
}

static int run_raw(const struct exec_options *given, uint8_t *memory, uint32_t size,
		   struct gt_interp_result *ret_result, struct gt_verify_error *error,
		   struct gt_diag *diag)
{
	struct gt_bpf_program program = {0};
	struct gt_verify_options check = {
		.input = GT_INPUT_MEMORY,
		.memory_size = size,
		.max_executed = given->max_insns,
	};
	struct gt_interp_options run = {.memory = memory, .memory_size = size};
	struct gt_facts facts = {0};
	int status = read_program(&program, diag);

	if (!status)
		status = gt_verify(NULL, &program, &check, &facts, error, diag);
	if (!status) {
		run.max_executed = facts.bound;
		status = gt_interp_run(&program, &run, ret_result, diag);
	}
	gt_facts_clear(&facts);
	gt_bpf_program_clear(&program);
	return status;
}

static int run_exec(const struct gt_cli_command *self, int count, char **arguments)
{
	struct exec_options given = {0};
	struct gt_verify_error error = {0};
	struct gt_interp_result result = {0};
	gt_autofree uint8_t *memory = NULL;
	struct gt_diag diag = {0};
	uint32_t size = 0;
	int rest;

	switch (gt_cli_parse(self, count, arguments, &given, &rest)) {
	case GT_PARSED_HELP:
		return GT_EXIT_OK;
	case GT_PARSED_WRONG:
		return GT_EXIT_USAGE;
	case GT_PARSED_RUN:
		break;
	}
	if (!given.raw)
		return gt_cli_usage_error(self, "--raw is needed: programs are read as hex digits");
	if (rest + 1 < count)
		return gt_cli_usage_error(self, "one MEMHEX at a time, not '%s' too",
					  arguments[rest + 1]);
	if (rest < count && read_memory(arguments[rest], &memory, &size))
		return gt_cli_usage_error(self, "'%s' is no memory: two hex digits a byte",
					  arguments[rest]);
	if (run_raw(&given, memory, size, &result, &error, &diag)) {
		gt_cli_diag(&diag);
		if (error.registers[0])
			fprintf(stderr, "  %s\n", error.registers);
		return GT_EXIT_FAILED;
	}
	printf("%" PRIx64 "\n", result.r0);
	return GT_EXIT_OK;
}

const struct gt_cli_command gt_command_exec = {
	.name = "exec",
	.summary = "verifies an eBPF program and runs it",
	.usage = "--raw [options] [MEMHEX]",
	.description =
		"Reads a program as hex digits, eight bytes an instruction, white space ignored, "
		"from the standard input. r1 points to memory with the bytes MEMHEX, which may be "
		"read and written, and r2 is their number; without MEMHEX both are 0. What r0 is "
		"at "
		"the end is printed in hex. A program that the verifier refuses is not run: the "
		"reason is told, and the exit status is 1.",
	.examples = examples,
	.options = options,
	.option_count = gt_countof(options),
	.run = run_exec,
};
