/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is told of an eBPF program that is refused, beside the reason. */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "gpubpf/program.h"
#include "gpubpf/verify/verify.h"

/*
 * Adds the source line, the instruction and the registers, a line each, as far as they are known;
 * nothing if the reason is the program as a whole.
 */
void gt_cli_put_refusal(struct gt_strbuf *text, const struct gt_bpf_program *program,
			const struct gt_verify_error *error);
/* Adds the reason and the place to a program's object of JSON. */
void gt_cli_json_refusal(struct gt_json *json, const struct gt_diag *diag,
			 const struct gt_verify_error *error);
/* Prints a file that cannot be read, or is no program, as an object of JSON. */
void gt_cli_print_bad_file(const char *path, const struct gt_diag *diag);
