/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPIR-V to the bitcode of SPIR 1.2, by llvm-spirv. */
#include <errno.h>
#include <string.h>

#include "opencl/private.h"

/* The newest ones come last: bitcode that an older LLVM wrote is read by all newer ones. */
static const char *const tools[] = {"llvm-spirv-14", "llvm-spirv-15", "llvm-spirv-16",
				    "llvm-spirv-17", "llvm-spirv-18", "llvm-spirv-19",
				    "llvm-spirv"};

static int run_first(const struct gt_cl_files *files)
{
	int status = -ENOENT;

	for (size_t i = 0; i < gt_countof(tools) && status == -ENOENT; i++) {
		/* It reads SPIR-V from a named file alone. */
		const char *const words[] = {
			tools[i], "-r", "--spirv-target-env=CL1.2", "/proc/self/fd/0", "-o",
			"-",      NULL};

		status = gt_cl_run_tool(words, files, -1);
	}
	return status;
}

int gt_cl_convert(const void *module, size_t size, struct gt_strbuf *ret_bitcode,
		  struct gt_strbuf *ret_log, struct gt_diag *diag)
{
	gt_auto_cl_files files = GT_CL_FILES_NONE;
	int status = gt_cl_files_open(&files, module, size, diag);

	if (status)
		return status;
	status = run_first(&files);
	if (status == -ENOENT)
		return gt_diag(diag, -ENOENT, "device", NULL,
			       "this device takes SPIR alone, into which llvm-spirv converts "
			       "SPIR-V: install llvm-spirv-14 or newer");
	gt_cl_files_append(files.messages, ret_log);
	if (status)
		return gt_diag(diag, -EINVAL, "device", "llvm-spirv",
			       "the conversion of SPIR-V to SPIR failed (status %d)", status);
	status = gt_cl_files_append(files.output, ret_bitcode);
	return status ? gt_diag(diag, status, "device", "llvm-spirv", "cannot read its output: %s",
				strerror(-status))
		      : 0;
}
