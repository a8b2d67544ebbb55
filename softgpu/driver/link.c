/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Linking: several pieces of PTX become one image, a fatbin that holds them all. */
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "device/archive.h"
#include "device/image.h"
#include "device/module.h"
#include "device/report.h"
#include "driver/api.h"
#include "fatbin/fatbin.h"
#include "ptx/ptx.h"

enum { MAX_FILE = 1 << 30 };

struct CUlinkState_st {
	struct sg_jit jit;
	struct sg_image inputs;
	struct gt_strbuf image; /* once complete */
};

static CUresult check_link(CUlinkState state)
{
	return sg_check_handle(state, SG_HANDLE_LINKER, CUDA_ERROR_INVALID_HANDLE);
}

static CUresult create_link(unsigned int count, CUjit_option *options, void **values,
			    CUlinkState *ret_state)
{
	CUcontext context;
	CUlinkState state;
	struct sg_jit jit;
	CUresult result = sg_context_use(&context);

	if (!result)
		result = sg_jit_options(count, options, values, &jit);
	if (!result && !ret_state)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	state = calloc(1, sizeof(*state));
	if (!state || !sg_handle_add(state, SG_HANDLE_LINKER)) {
		free(state);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	state->jit = jit;
	*ret_state = state;
	return CUDA_SUCCESS;
}

SG_API CUresult cuLinkCreate_v2(unsigned int count, CUjit_option *options, void **values,
				CUlinkState *state)
{
	return create_link(count, options, values, state);
}

SG_API CUresult cuLinkCreate(unsigned int count, CUjit_option *options, void **values,
			     CUlinkState *state);
SG_API CUresult cuLinkCreate(unsigned int count, CUjit_option *options, void **values,
			     CUlinkState *state)
{
	return create_link(count, options, values, state);
}

/* ---- adding ---------------------------------------------------------------------------- */

/* An image for the link; the functions of the device runtime are the device's own. */
static CUresult read_input(CUjitInputType type, const void *data, size_t size,
			   struct sg_image *image, struct gt_diag *diag)
{
	bool is_library = type == CU_JIT_INPUT_OBJECT || type == CU_JIT_INPUT_LIBRARY;
	CUresult result;

	if (type == CU_JIT_INPUT_CUBIN && sg_is_device_runtime(data, size))
		return CUDA_SUCCESS;
	result = is_library ? sg_archive_read(data, size, image, diag)
			    : sg_image_read(data, size, image, diag);
	if (result || !image->is_newer)
		return result;
	gt_diag(diag, -ENOENT, "link", NULL,
		"the PTX is for a newer device: it cannot be linked for this one");
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult read_image(CUlinkState state, CUjitInputType type, const void *data, size_t size,
			   struct gt_diag *diag)
{
	struct sg_image image = {0};
	CUresult result = read_input(type, data, size, &image, diag);

	if (result) {
		sg_image_free(&image);
		return result;
	}
	gt_vec_each (text, &image.texts) {
		if (gt_vec_push(&state->inputs.texts, *text)) {
			free(text->text);
			result = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	sg_image_limit_registers(&state->inputs, image.max_registers);
	image.texts.count = 0;
	sg_image_free(&image);
	return result;
}

/* One limit of registers is for the whole image. */
static CUresult read_options(CUlinkState state, unsigned int count, const CUjit_option *options,
			     void **values)
{
	struct sg_jit jit;
	CUresult result = sg_jit_options(count, options, values, &jit);

	if (!result)
		sg_image_limit_registers(&state->inputs, jit.max_registers);
	return result;
}

static CUresult add_image(CUlinkState state, CUjitInputType type, const void *data, size_t size)
{
	struct gt_diag diag = {0};
	CUresult result = check_link(state);

	if (result)
		return result;
	if (!data || !size || (unsigned int)type >= CU_JIT_NUM_INPUT_TYPES || state->image.data)
		return CUDA_ERROR_INVALID_VALUE;
	/* Machine code cannot run here; the PTX that cubins and objects carry can. */
	if (type == CU_JIT_INPUT_NVVM) {
		gt_diag(&diag, -ENOTSUP, "link", NULL, "LTO-IR is not supported: link PTX");
		result = CUDA_ERROR_NO_BINARY_FOR_GPU;
	} else {
		result = read_image(state, type, data, size, &diag);
	}
	if (result)
		sg_report_error((int)result, &diag);
	sg_jit_report(&state->jit, &diag);
	return result;
}

static CUresult add_file(CUlinkState state, CUjitInputType type, const char *path)
{
	gt_auto_file file = {0};

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	if (gt_file_read(path, MAX_FILE, &file, NULL))
		return CUDA_ERROR_FILE_NOT_FOUND;
	return add_image(state, type, file.data, file.size);
}

SG_API CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
				 const char *name, unsigned int count, CUjit_option *options,
				 void **values)
{
	CUresult result = add_image(state, type, data, size);

	return result ? result : read_options(state, count, options, values);
}

SG_API CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
			      const char *name, unsigned int count, CUjit_option *options,
			      void **values);
SG_API CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
			      const char *name, unsigned int count, CUjit_option *options,
			      void **values)
{
	CUresult result = add_image(state, type, data, size);

	return result ? result : read_options(state, count, options, values);
}

SG_API CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
				 unsigned int count, CUjit_option *options, void **values)
{
	CUresult result = add_file(state, type, path);

	return result ? result : read_options(state, count, options, values);
}

SG_API CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
			      unsigned int count, CUjit_option *options, void **values);
SG_API CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
			      unsigned int count, CUjit_option *options, void **values)
{
	CUresult result = add_file(state, type, path);

	return result ? result : read_options(state, count, options, values);
}

/* ---- completion ------------------------------------------------------------------------ */

/* Load the pieces as one module to check that they link, and free it. */
static CUresult try_to_load(CUlinkState state, struct gt_ptx_module **parsed, struct gt_diag *diag)
{
	gt_auto(sg_module) struct sg_module *module = NULL;
	size_t count = state->inputs.texts.count;

	for (size_t i = 0; i < count; i++) {
		const struct sg_image_text *text = &state->inputs.texts.items[i];

		if (gt_ptx_parse(text->text, text->length, &parsed[i], diag))
			return CUDA_ERROR_INVALID_PTX;
	}
	if (sg_module_load(sg_state.machine, (const struct gt_ptx_module *const *)parsed, count,
			   NULL, &module, diag))
		return CUDA_ERROR_INVALID_PTX;
	return CUDA_SUCCESS;
}

static CUresult write_image(CUlinkState state, struct gt_ptx_module **parsed, struct gt_diag *diag)
{
	size_t count = state->inputs.texts.count;
	struct gt_fatbin_source *sources = calloc(count, sizeof(*sources));
	uint32_t architecture = 0, limit = state->jit.max_registers;
	gt_auto_strbuf options = GT_STRBUF_INIT;
	int error = -1;

	if (!limit)
		limit = state->inputs.max_registers;
	if (limit)
		gt_strbuf_printf(&options, "-maxrregcount=%u", limit);
	/* All of them are for one architecture, so all of them are used. */
	for (size_t i = 0; i < count; i++)
		architecture = parsed[i]->sm > architecture ? parsed[i]->sm : architecture;
	for (size_t i = 0; sources && i < count; i++) {
		sources[i].kind = GT_FATBIN_KIND_PTX;
		sources[i].architecture = architecture;
		sources[i].data = state->inputs.texts.items[i].text;
		sources[i].size = state->inputs.texts.items[i].length;
		sources[i].options = options.data;
		sources[i].options_length = (uint32_t)options.length;
	}
	if (sources && !options.failed)
		error = gt_fatbin_write(sources, count, GT_FATBIN_COMPRESSION_NONE, &state->image,
					diag);
	free(sources);
	return error || state->image.failed ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult complete_link(CUlinkState state, struct gt_diag *diag)
{
	size_t count = state->inputs.texts.count;
	struct gt_ptx_module **parsed = calloc(count + 1, sizeof(*parsed));
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	if (parsed)
		result = try_to_load(state, parsed, diag);
	if (!result)
		result = write_image(state, parsed, diag);
	for (size_t i = 0; parsed && i < count; i++)
		gt_ptx_free(parsed[i]);
	free(parsed);
	return result;
}

SG_API CUresult cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
	struct gt_diag diag = {0};
	CUresult result = check_link(state);

	if (result)
		return result;
	if (!image || !state->inputs.texts.count)
		return CUDA_ERROR_INVALID_VALUE;
	if (!state->image.data)
		result = complete_link(state, &diag);
	sg_jit_report(&state->jit, &diag);
	if (result)
		return result;
	*image = state->image.data;
	if (size)
		*size = state->image.length;
	return CUDA_SUCCESS;
}

SG_API CUresult cuLinkDestroy(CUlinkState state)
{
	CUresult result = check_link(state);

	if (result)
		return result;
	sg_handle_remove(state);
	sg_image_free(&state->inputs);
	gt_strbuf_free(&state->image);
	free(state);
	return CUDA_SUCCESS;
}
