/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The options of a just-in-time compilation that have an effect here: logs and registers. */
#include <stdio.h>
#include <string.h>

#include "device/module.h"

CUresult sg_jit_options(unsigned int count, const CUjit_option *options, void **values,
			struct sg_jit *ret_jit)
{
	struct sg_jit jit = {0};

	if (count && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < count; i++) {
		switch (options[i]) {
		case CU_JIT_ERROR_LOG_BUFFER:
			jit.error_log = values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			jit.error_size = (uintptr_t)values[i];
			jit.error_used = (size_t *)&values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER:
			jit.info_log = values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			jit.info_size = (uintptr_t)values[i];
			jit.info_used = (size_t *)&values[i];
			break;
		case CU_JIT_MAX_REGISTERS:
			jit.max_registers = (uint32_t)(uintptr_t)values[i];
			break;
		case CU_JIT_WALL_TIME:
			jit.wall_time = (float *)&values[i];
			break;
		default:
			if ((unsigned int)options[i] >= CU_JIT_NUM_OPTIONS)
				return CUDA_ERROR_INVALID_VALUE;
			break;
		}
	}
	if (jit.error_log && jit.error_size)
		jit.error_log[0] = '\0';
	if (jit.info_log && jit.info_size)
		jit.info_log[0] = '\0';
	if (jit.error_used)
		*jit.error_used = 0;
	if (jit.info_used)
		*jit.info_used = 0;
	*ret_jit = jit;
	return CUDA_SUCCESS;
}

void sg_jit_report(const struct sg_jit *jit, const struct gt_diag *diag)
{
	size_t length;

	if (!gt_diag_is_set(diag) || !jit->error_log || !jit->error_size)
		return;
	snprintf(jit->error_log, jit->error_size, "%s%s%s\n", diag->place,
		 diag->place[0] ? ": " : "", diag->text);
	length = strlen(jit->error_log);
	if (jit->error_used)
		*jit->error_used = length;
}
