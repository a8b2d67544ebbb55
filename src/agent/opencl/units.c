/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "agent/opencl/units.h"

#include <string.h>

/* Code that OpenCL returns; `spare` bytes at its end are not part of it. False: there is none. */
static bool add_answer(struct gt_agent_units *units, cl_program program, cl_program_info which,
		       enum gt_agent_chunk_kind kind, size_t spare)
{
	size_t size = 0, before = units->size;
	char *to;

	if (gt_cl_target->clGetProgramInfo(program, which, 0, NULL, &size) || size <= spare)
		return false;
	to = gt_agent_units_reserve(units, kind, size);
	if (!to)
		return true;
	if (gt_cl_target->clGetProgramInfo(program, which, size, to, NULL)) {
		units->size = before;
		return false;
	}
	if (spare) {
		const struct gt_agent_chunk chunk = {.kind = kind, .size = size - spare};

		memcpy(to - sizeof(chunk), &chunk, sizeof(chunk));
		units->size -= spare;
	}
	return true;
}

bool gt_cl_units_add_code(struct gt_agent_units *units, cl_program program)
{
	/* A source has a NUL. One without any character is none. */
	return add_answer(units, program, CL_PROGRAM_SOURCE, GT_AGENT_CHUNK_SOURCE, 1) ||
	       add_answer(units, program, CL_PROGRAM_IL, GT_AGENT_CHUNK_BINARY, 0);
}

bool gt_cl_units_add_header(struct gt_agent_units *units, cl_program header)
{
	return add_answer(units, header, CL_PROGRAM_SOURCE, GT_AGENT_CHUNK_HEADER, 1);
}
