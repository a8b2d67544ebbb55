/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What stands below the reason why an eBPF program is refused. */
#pragma once

#include "gpubpf/program.h"
#include "gpubpf/verify.h"

/*
 * Adds the source line, the instruction and the registers, a line each, as far as they are known;
 * nothing if the reason is the program as a whole.
 */
void gt_cli_put_refusal(struct gt_strbuf *text, const struct gt_bpf_program *program,
			const struct gt_verify_error *error);
