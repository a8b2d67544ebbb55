/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One compilation by NVRTC yields a cubin and its PTX, which is gone with the program. */
#include "agent/caller.h"
#include "agent/compilers.h"
#include "agent/report.h"

static void report_cubin(const struct gt_compiler *compiler, void *program, const char *cubin)
{
	struct gt_agent_report report;
	size_t cubin_size = 0, size = 0;
	char *text;

	gt_agent_report_begin(&report);
	if (!report.data || !compiler->nvrtcGetCUBINSize || !compiler->nvrtcGetPTXSize ||
	    !compiler->nvrtcGetPTX || compiler->nvrtcGetCUBINSize(program, &cubin_size) ||
	    !cubin_size || compiler->nvrtcGetPTXSize(program, &size) ||
	    size > GT_AGENT_MAX_COMPILED) {
		gt_agent_report_end(&report);
		return;
	}
	text = gt_agent_allocate(size);
	/* With a NUL; empty for LTO-IR. */
	if (text && size > 1 && !compiler->nvrtcGetPTX(program, text)) {
		gt_agent_report_add(&report, GT_AGENT_INPUT_PTX, text, size - 1);
		gt_agent_report_send(&report, cubin, cubin_size);
	}
	gt_agent_release(text, size);
	gt_agent_report_end(&report);
}

int gt_hook_nvrtcGetCUBIN(const struct gt_compiler *compiler, void *program, char *cubin)
{
	int error = compiler->nvrtcGetCUBIN(program, cubin);

	if (!error && cubin) {
		const struct gt_agent_caller caller = gt_agent_save_caller();

		report_cubin(compiler, program, cubin);
		gt_agent_restore_caller(&caller);
	}
	return error;
}
