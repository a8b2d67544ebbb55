/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Printing why an eBPF program or an object was rejected. */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "gpubpf/program.h"
#include "gpubpf/verify/verify.h"

/*
 * Append the source line, the instruction and the registers, one per line, as far as they are
 * known; nothing if the program was rejected as a whole.
 */
void gt_cli_put_rejection(struct gt_strbuf *text, const struct gt_bpf_program *program,
			  const struct gt_verify_error *error);
/* Add the reason and the position to the JSON object of a program. */
void gt_cli_json_rejection(struct gt_json *json, const struct gt_diag *diag,
			   const struct gt_verify_error *error);
/* Print an input that cannot be read or is malformed as a JSON object. */
void gt_cli_print_bad_file(const char *path, const struct gt_diag *diag);
