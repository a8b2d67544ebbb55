/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What verify, compile and exec do alike: which programs of an object they take, and as what. */
#pragma once

#include "cli/cli.h"
#include "gpubpf/program.h"
#include "gpubpf/section.h"
#include "gpubpf/verify/verify.h"

/* The option --as; `at` is where its text goes. */
#define GT_CLI_OPTION_AS(at)                                                                       \
	{                                                                                          \
		0, "as", "SECTION",                                                                \
			"take every program as one of this section, such as gpu/run; or linux",    \
			GT_OPTION_STRING, at, NULL                                                 \
	}

/*
 * What a program is verified as: as its section says, or, if `as` is not NULL, as that one. "linux"
 * is GT_KIND_HOST: r1 is a context and no other register is set.
 * 0 or -EINVAL with the reason.
 */
int gt_cli_section_of(const struct gt_bpf_program *program, const char *as,
		      struct gt_section *ret_section, struct gt_diag *diag);

/* Whether --as names a section, if it is given: GT_GO_ON, or the status of an error. */
int gt_cli_check_as(const struct gt_cli_command *command, const char *as);

/*
 * What the verifier is to take r1 for. memory_size: bytes of memory that programs of gpu/run get,
 * and of the context that those for Linux can read. `section` must outlive the options.
 */
void gt_cli_set_input(struct gt_verify_options *options, const struct gt_section *section,
		      uint64_t memory_size);

/* Reads a program from the standard input, as hex digits. 0 or an error with the reason. */
int gt_cli_read_hex(struct gt_bpf_program *program, struct gt_diag *diag);
