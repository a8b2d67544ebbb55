/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/reference.h"

#include <stdlib.h>

#include "device/handles.h"

CUresult sg_reference_new(bool is_surface, CUtexref *ret_reference)
{
	CUtexref reference = calloc(1, sizeof(struct CUsurfref_st));

	if (!reference)
		return CUDA_ERROR_OUT_OF_MEMORY;
	reference->source.is_surface = is_surface;
	reference->format = CU_AD_FORMAT_FLOAT;
	reference->channels = 1;
	if (!sg_handle_add(reference, SG_HANDLE_TEXTURE_REFERENCE)) {
		free(reference);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_reference = reference;
	return CUDA_SUCCESS;
}

void sg_reference_free(CUtexref reference)
{
	sg_handle_remove(reference);
	free(reference);
}

void sg_references_free(CUmodule module)
{
	while (module->references) {
		CUtexref next = module->references->next;

		sg_reference_free(module->references);
		module->references = next;
	}
}

CUresult sg_reference_find(CUmodule module, const char *name, bool is_surface,
			   CUtexref *ret_reference)
{
	CUtexref reference;
	uint64_t handle;
	CUresult result;

	if (sg_module_reference(module->code, name, is_surface, &handle))
		return CUDA_ERROR_NOT_FOUND;
	for (reference = module->references; reference; reference = reference->next)
		if (reference->handle == handle) {
			*ret_reference = reference;
			return CUDA_SUCCESS;
		}
	result = sg_reference_new(is_surface, &reference);
	if (result)
		return result;
	reference->handle = handle;
	reference->next = module->references;
	module->references = reference;
	*ret_reference = reference;
	return CUDA_SUCCESS;
}

CUresult sg_reference_apply(CUtexref reference, const struct sg_texture_source *source)
{
	struct sg_texture texture;
	CUresult result = sg_texture_describe(source, &texture);

	if (result)
		return result;
	if (reference->handle) {
		sg_contexts_join();
		if (sg_texture_set(sg_state.machine, reference->handle, &texture))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	reference->source = *source;
	reference->has_image = true;
	return CUDA_SUCCESS;
}
