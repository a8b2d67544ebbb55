/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_opencl.h"

#include <stdio.h>
#include <string.h>

#include "elf/elf.h"
#include "patch/spirv.h"
#include "run/inject_clock.h"
#include "run/inject_private.h"

static bool is_linked_with_opencl(const char *path)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_info *info;
	struct gt_diag ignored = {0};

	if (gt_elf_open(path, &elf, &ignored))
		return false;
	info = gt_elf_info(elf);
	for (size_t i = 0; i < info->needed_count; i++)
		if (!strncmp(info->needed[i], "libOpenCL.so", strlen("libOpenCL.so")))
			return true;
	return false;
}

void gt_inject_remark_opencl(const struct gt_inject *inject, const struct gt_command *command,
			     void (*remark)(const char *text))
{
	struct gt_patch_options options = {
		.object = inject->options.object,
		.programs = inject->options.programs,
		.program_count = inject->options.program_count,
	};

	if (!command->count || !is_linked_with_opencl(command->paths[command->count - 1]))
		return;
	options.clock = gt_inject_clocks_find(inject->clocks, NULL, NULL);
	for (uint32_t i = 0; i < options.program_count; i++) {
		const struct gt_bpf_program *program = options.programs[i].program;
		struct gt_diag diag = {0};
		char text[sizeof(diag.text) + 256];

		if (!program || !gt_patch_spirv_check(&options, i, &diag))
			continue;
		snprintf(text, sizeof(text), "OpenCL kernels: %.160s is not inserted: %s",
			 program->name, diag.text);
		remark(text);
	}
}
