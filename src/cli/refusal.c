/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/refusal.h"

#include <inttypes.h>

void gt_cli_put_refusal(struct gt_strbuf *text, const struct gt_bpf_program *program,
			const struct gt_verify_error *error)
{
	const struct gt_bpf_line *line = gt_bpf_line_of(program, error->insn);

	if (!error->is_at_insn || error->insn >= program->count)
		return;
	if (line && line->text[0])
		gt_strbuf_printf(text, "  ; %s\n", line->text);
	gt_strbuf_printf(text, "  %" PRIu32 ": ", error->insn);
	gt_bpf_put_insn(text, program->insns, program->count, error->insn);
	gt_strbuf_putc(text, '\n');
	if (error->registers[0])
		gt_strbuf_printf(text, "  %s\n", error->registers);
}
