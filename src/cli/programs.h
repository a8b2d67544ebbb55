/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common to the commands that take GPU programs: their sections, their input, values of maps. */
#pragma once

#include "cli/cli.h"
#include "gpubpf/program.h"
#include "gpubpf/section.h"
#include "gpubpf/verify/verify.h"

/* The option --as; `at` is the offset of its text. */
#define GT_CLI_OPTION_AS(at)                                                                       \
	{                                                                                          \
		0, "as", "SECTION",                                                                \
			"take every program as one of SECTION, such as gpu/run, or linux",         \
			GT_OPTION_STRING, at, NULL                                                 \
	}

/* The option --set; `at` is the offset of its list. */
#define GT_CLI_OPTION_SET(at)                                                                      \
	{                                                                                          \
		0, "set", "MAP[K]=V",                                                              \
			"set a value of a map before the run, or an array from a file: MAP=@FILE", \
			GT_OPTION_LIST, at, NULL                                                   \
	}

/* Set the values of the option --set (map/preset.h). 0 or an error with the reason. */
int gt_cli_set_maps(struct gt_bpf_object *object, const struct gt_strings *values,
		    struct gt_diag *diag);

/*
 * The section as which a program is verified: its own or, if it is not NULL, `as`. "linux" is
 * GT_KIND_HOST: r1 is a context and no other register is set. 0 or -EINVAL with the reason.
 */
int gt_cli_section_of(const struct gt_bpf_program *program, const char *as,
		      struct gt_section *ret_section, struct gt_diag *diag);

/* Check the value of --as; NULL is valid. GT_GO_ON, or the exit status. */
int gt_cli_check_as(const struct gt_cli_command *command, const char *as);

/*
 * Set the verifier's input. memory_size: bytes of the memory of gpu/run programs, or of the context
 * of host programs. `section` must outlive the options.
 */
void gt_cli_set_input(struct gt_verify_options *options, const struct gt_section *section,
		      uint64_t memory_size);

/* Read a program from standard input, as hex digits. 0 or an error with the reason. */
int gt_cli_read_hex(struct gt_bpf_program *program, struct gt_diag *diag);
