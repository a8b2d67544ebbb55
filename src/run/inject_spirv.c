/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_spirv.h"

#include <stdio.h>
#include <string.h>

#include "elf/elf.h"
#include "patch/spirv.h"
#include "run/inject_opencl.h"
#include "run/inject_private.h"

/* The API whose library the program of a command is linked with, or NULL. */
static const char *find_api(const char *path)
{
	static const struct {
		const char *library, *api;
	} apis[] = {
		{"libOpenCL.so", "OpenCL"},
		{"libze_loader.so", "Level Zero"},
	};
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_info *info;
	struct gt_diag ignored = {0};

	if (gt_elf_open(path, &elf, &ignored))
		return NULL;
	info = gt_elf_info(elf);
	for (size_t i = 0; i < sizeof(apis) / sizeof(*apis); i++)
		for (size_t j = 0; j < info->needed_count; j++)
			if (!strncmp(info->needed[j], apis[i].library, strlen(apis[i].library)))
				return apis[i].api;
	return NULL;
}

void gt_inject_remark_spirv(const struct gt_inject *inject, const struct gt_command *command,
			    void (*remark)(const char *text))
{
	struct gt_patch_options options = {
		.object = inject->options.object,
		.programs = inject->options.programs,
		.program_count = inject->options.program_count,
	};
	const char *api = command->count ? find_api(command->paths[command->count - 1]) : NULL;

	if (!api)
		return;
	options.clock = gt_inject_opencl_clock(inject->opencl, NULL, NULL);
	options.features = gt_inject_opencl_features(inject->opencl, NULL);
	for (uint32_t i = 0; i < options.program_count; i++) {
		const struct gt_bpf_program *program = options.programs[i].program;
		struct gt_diag diag = {0};
		char text[sizeof(diag.text) + 256];

		if (!program || !gt_patch_spirv_check(&options, i, &diag))
			continue;
		snprintf(text, sizeof(text), "%s kernels: %.160s is not inserted: %s", api,
			 program->name, diag.text);
		remark(text);
	}
}
