/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/programs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "gpubpf/map/preset.h"

int gt_cli_section_of(const struct gt_bpf_program *program, const char *as,
		      struct gt_section *ret_section, struct gt_diag *diag)
{
	struct gt_section section = {.kind = GT_KIND_HOST, .text = as, .pattern = "*"};
	int error = 0;

	if (!as)
		return gt_section_read(program->section, NULL, ret_section, diag);
	if (!strncmp(as, "gpu/", 4))
		error = gt_section_read(as, "", &section, diag);
	else if (strcmp(as, "linux"))
		error = gt_diag(diag, -EINVAL, "section", as,
				"invalid section (a GPU section such as gpu/run, or linux)");
	if (!error)
		*ret_section = section;
	return error;
}

int gt_cli_set_maps(struct gt_bpf_object *object, const struct gt_strings *values,
		    struct gt_diag *diag)
{
	int error = 0;

	for (size_t i = 0; !error && i < values->words.count; i++)
		error = gt_bpf_object_preset(object, values->words.items[i], diag);
	return error;
}

int gt_cli_check_as(const struct gt_cli_command *command, const char *as)
{
	struct gt_section section;
	struct gt_diag diag = {0};

	if (!as || !gt_cli_section_of(NULL, as, &section, &diag))
		return GT_GO_ON;
	return gt_cli_usage_error(command, "--as %s: %s", as, diag.text);
}

void gt_cli_set_input(struct gt_verify_options *options, const struct gt_section *section,
		      uint64_t memory_size)
{
	bool for_gpu = section->kind != GT_KIND_HOST;

	options->section = for_gpu ? section : NULL;
	options->input = GT_INPUT_CONTEXT;
	options->context_size = for_gpu ? 0 : (uint32_t)memory_size;
	options->memory_size = 0;
	options->max_iterations = 0;
	if (for_gpu && (gt_section_row(section->kind)->traits & GT_SECTION_ALONE)) {
		options->input = GT_INPUT_MEMORY;
		options->memory_size = (uint32_t)memory_size;
		options->max_iterations = GT_BPF_MAX_ITERATIONS_ALONE;
	}
}

int gt_cli_read_hex(struct gt_bpf_program *program, struct gt_diag *diag)
{
	size_t limit = (size_t)GT_BPF_MAX_INSNS * 48; /* "0x00, " a byte */
	gt_autofree char *text = calloc(limit + 1, 1);
	ssize_t size;

	if (!text)
		return gt_diag(diag, -ENOMEM, "program", NULL, "out of memory");
	size = gt_read_all(STDIN_FILENO, text, limit);
	if (size < 0)
		return gt_diag(diag, (int)size, "program", "standard input", "%s",
			       strerror((int)-size));
	if (strlen(text) != (size_t)size)
		return gt_diag(diag, -EINVAL, "program", "standard input", "contains a zero byte");
	return gt_bpf_read_hex(text, &program->insns, &program->count, diag);
}
