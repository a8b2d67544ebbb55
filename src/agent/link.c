/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Links by the driver: those of the program are reported, and patched modules are linked again. The
 * inputs of nvJitLink's links are kept in the same table.
 */
#include "agent/link.h"

#include <string.h>

#include "agent/agent.h"
#include "agent/caller.h"
#include "agent/compile.h"
#include "agent/functions.h"
#include "agent/own_call.h"
#include "base/link_input.h"

enum {
	CU_INPUT_CUBIN = 0,
	CU_INPUT_PTX = 1,
	CU_INPUT_LIBRARY = 4,
	CU_INPUT_NVVM = 5,
	INPUT_OPTIONS = 2,
};

/* ---- the links of the program ----------------------------------------------------------- */

enum { LINKS = 64 };

/*
 * A handle belongs to one thread at a time, as the interfaces require it; the table is for all.
 * Links for which there is no room are not reported.
 */
static struct gt_agent_program_link links[LINKS];

struct gt_agent_program_link *gt_agent_find_link(void *handle)
{
	for (int i = 0; handle && i < LINKS; i++)
		if (atomic_load(&links[i].handle) == handle)
			return &links[i];
	return NULL;
}

struct gt_agent_program_link *gt_agent_open_link(void *handle)
{
	struct gt_agent_program_link *link;

	/* It may have been destroyed by a function that is not hooked. */
	gt_agent_close_link(handle);
	for (link = links; link < links + LINKS; link++) {
		void *none = NULL;

		if (!atomic_compare_exchange_strong(&link->handle, &none, handle))
			continue;
		gt_agent_report_begin(&link->report);
		link->options_size = link->option_count = 0;
		if (link->report.data)
			return link;
		gt_agent_close_link(handle);
		break;
	}
	return NULL;
}

void gt_agent_close_link(void *handle)
{
	struct gt_agent_program_link *link = gt_agent_find_link(handle);

	if (!link)
		return;
	gt_agent_report_end(&link->report);
	atomic_store(&link->handle, NULL);
}

/* ---- the hooks of the driver's linker --------------------------------------------------- */

static enum gt_agent_input_kind kind_of(int type)
{
	switch (type) {
	case CU_INPUT_PTX:
		return GT_AGENT_INPUT_PTX;
	case CU_INPUT_LIBRARY:
		return GT_AGENT_INPUT_LIBRARY;
	case CU_INPUT_NVVM:
		return GT_AGENT_INPUT_LTOIR;
	default:
		return GT_AGENT_INPUT_CODE;
	}
}

CUresult cuLinkCreate_v2(unsigned count, int *options, void **values, void **state)
{
	CUresult error;

	NEED(cuLinkCreate_v2);
	error = gt_driver.cuLinkCreate_v2(count, options, values, state);
	if (!error && state) {
		const struct gt_agent_caller caller = gt_agent_save_caller();

		gt_agent_open_link(*state);
		gt_agent_restore_caller(&caller);
	}
	return error;
}

CUresult cuLinkAddData_v2(void *state, int type, void *data, size_t size, const char *name,
			  unsigned count, int *options, void **values)
{
	struct gt_agent_program_link *link;
	CUresult error;

	NEED(cuLinkAddData_v2);
	error = gt_driver.cuLinkAddData_v2(state, type, data, size, name, count, options, values);
	link = error ? NULL : gt_agent_find_link(state);
	if (link) {
		const struct gt_agent_caller caller = gt_agent_save_caller();

		gt_agent_report_add(&link->report, kind_of(type), data, size);
		gt_agent_restore_caller(&caller);
	}
	return error;
}

CUresult cuLinkAddFile_v2(void *state, int type, const char *path, unsigned count, int *options,
			  void **values)
{
	struct gt_agent_program_link *link;
	CUresult error;

	NEED(cuLinkAddFile_v2);
	error = gt_driver.cuLinkAddFile_v2(state, type, path, count, options, values);
	link = error ? NULL : gt_agent_find_link(state);
	if (link) {
		const struct gt_agent_caller caller = gt_agent_save_caller();

		gt_agent_report_add_file(&link->report, kind_of(type), path);
		gt_agent_restore_caller(&caller);
	}
	return error;
}

CUresult cuLinkComplete(void *state, void **cubin, size_t *size)
{
	struct gt_agent_program_link *link;
	struct gt_agent_image image;
	CUresult error;

	NEED(cuLinkComplete);
	error = gt_driver.cuLinkComplete(state, cubin, size);
	link = error ? NULL : gt_agent_find_link(state);
	if (link) {
		const struct gt_agent_caller caller = gt_agent_save_caller();

		if (gt_agent_measure(*cubin, &image))
			gt_agent_report_send(&link->report, image.data, image.size);
		gt_agent_restore_caller(&caller);
	}
	return error;
}

CUresult cuLinkDestroy(void *state)
{
	NEED(cuLinkDestroy);
	gt_agent_close_link(state);
	return gt_driver.cuLinkDestroy(state);
}

/* ---- patched modules -------------------------------------------------------------------- */

/* Add an option of an input that the link as a whole does not have. */
static void add_option(const struct gt_agent_jit *all, int option, unsigned value,
		       struct gt_agent_jit *jit)
{
	for (unsigned i = 0; i < all->count; i++)
		if (all->options[i] == option)
			return;
	jit->options[jit->count] = option;
	jit->values[jit->count++] = (void *)(uintptr_t)value;
}

/* The lower one of two limits, of which 0 is none. */
static unsigned lower_limit(unsigned one, unsigned other)
{
	return one && (!other || one < other) ? one : other;
}

/* Lower the limit that the link as a whole has. */
static void limit_registers(const struct gt_agent_jit *jit)
{
	for (unsigned i = 0; i < jit->count; i++)
		if (jit->options[i] == CU_JIT_MAX_REGISTERS)
			jit->values[i] = (void *)(uintptr_t)lower_limit(
				(unsigned)(uintptr_t)jit->values[i], jit->register_limit);
}

static CUresult add_input(void *state, int type, const struct gt_link_input *input,
			  const struct gt_agent_jit *all)
{
	int options[INPUT_OPTIONS];
	void *values[INPUT_OPTIONS];
	struct gt_agent_jit jit = {.options = options, .values = values};
	unsigned registers = lower_limit(input->max_registers, all->register_limit);

	if (registers && input->kind == GT_LINK_PTX)
		add_option(all, CU_JIT_MAX_REGISTERS, registers, &jit);
	if (input->optimization)
		add_option(all, CU_JIT_OPTIMIZATION_LEVEL, input->optimization - 1u, &jit);
	return OWN8(cuLinkAddData_v2, state, type, input->data, input->size, 0, jit.count,
		    jit.options, jit.values);
}

static CUresult add_inputs(void *state, const char *inputs, size_t size,
			   const struct gt_agent_jit *jit)
{
	static const int types[] = {
		[GT_LINK_PTX] = CU_INPUT_PTX,
		[GT_LINK_CUBIN] = CU_INPUT_CUBIN,
		[GT_LINK_ARCHIVE] = CU_INPUT_LIBRARY,
	};
	const char *end = inputs + size;
	struct gt_link_input input;
	CUresult error = 0;

	while (!error && gt_link_next(&inputs, end, &input))
		error = add_input(state, types[input.kind], &input, jit);
	return error || inputs == end ? error : CUDA_ERROR_NOT_FOUND;
}

static CUresult link_inputs(const char *inputs, size_t size, const struct gt_agent_jit *jit,
			    struct gt_agent_linked *linked)
{
	CUresult error =
		OWN4(cuLinkCreate_v2, jit->count, jit->options, jit->values, &linked->state);
	void *cubin;

	if (error) {
		linked->state = NULL;
		return error;
	}
	error = add_inputs(linked->state, inputs, size, jit);
	if (!error)
		error = OWN3(cuLinkComplete, linked->state, &cubin, &size);
	if (error)
		gt_agent_end_link(linked);
	else
		linked->cubin = cubin;
	return error;
}

int gt_agent_link(const char *inputs, size_t size, const struct gt_agent_jit *jit,
		  struct gt_agent_linked *ret_linked)
{
	CUresult error;
	bool entered;

	*ret_linked = (struct gt_agent_linked){0};
	if (!gt_driver.cuLinkCreate_v2 || !gt_driver.cuLinkAddData_v2 ||
	    !gt_driver.cuLinkComplete || !gt_driver.cuLinkDestroy)
		return CUDA_ERROR_NOT_FOUND;
	/* A library may be loaded before there is a context. */
	error = gt_agent_enter_context(&entered);
	if (error)
		return error;
	limit_registers(jit);
	error = link_inputs(inputs, size, jit, ret_linked);
	gt_agent_leave_context(entered);
	return error;
}

void gt_agent_end_link(struct gt_agent_linked *linked)
{
	if (linked->state)
		OWN1(cuLinkDestroy, linked->state);
	*linked = (struct gt_agent_linked){0};
}
