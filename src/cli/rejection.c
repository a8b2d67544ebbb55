/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/rejection.h"

#include <inttypes.h>
#include <stdio.h>

void gt_cli_put_rejection(struct gt_strbuf *text, const struct gt_bpf_program *program,
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

void gt_cli_json_rejection(struct gt_json *json, const struct gt_diag *diag,
			   const struct gt_verify_error *error)
{
	gt_json_string(json, "reason", diag->text);
	gt_json_string(json, "place", diag->place);
	if (!error->is_at_insn)
		return;
	gt_json_u64(json, "instruction", error->insn);
	if (error->line)
		gt_json_u64(json, "line", error->line);
	if (error->registers[0])
		gt_json_string(json, "registers", error->registers);
}

void gt_cli_print_bad_file(const char *path, const struct gt_diag *diag)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_json json = GT_JSON_INIT(&text);

	gt_json_object_begin(&json, NULL);
	gt_json_string(&json, "file", path);
	gt_json_bool(&json, "safe", false);
	gt_json_string(&json, "reason", diag->text);
	gt_json_object_end(&json);
	printf("%s\n", gt_strbuf_string(&text));
}
