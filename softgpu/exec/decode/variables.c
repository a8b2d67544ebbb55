/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The layout of a function's variables, parameters and results. */
#include <errno.h>

#include "exec/decode/decode.h"

/* Appends `size` bytes to the local frame; returns their offset. */
static uint32_t add_local(struct sg_function *function, uint64_t size, uint32_t alignment)
{
	uint64_t offset =
		(function->local_size + (uint64_t)alignment - 1) & ~((uint64_t)alignment - 1);

	/* A frame that is too large is an error once all variables are added. */
	if (offset + size > UINT32_MAX / 2) {
		function->local_size = UINT32_MAX / 2;
		return 0;
	}
	function->local_size = (uint32_t)(offset + size);
	return (uint32_t)offset;
}

int sg_decode_variables(struct sg_decoder *decoder)
{
	const struct gt_ptx_statement *statement = decoder->source->body->first;

	for (; statement; statement = gt_ptx_statement_next(statement)) {
		struct gt_ptx_variable *variable;

		if (statement->kind != GT_PTX_STATEMENT_VARIABLES)
			continue;
		for (variable = statement->variables; variable; variable = variable->next) {
			if (variable->space != GT_PTX_SPACE_LOCAL &&
			    variable->space != GT_PTX_SPACE_PARAM)
				continue;
			decoder->unit->locations[variable->number] =
				add_local(decoder->function, gt_ptx_variable_size(variable),
					  gt_ptx_variable_alignment(variable));
		}
	}
	if (decoder->function->local_size > SG_MAX_LOCAL_SIZE)
		return gt_diag(decoder->diag, -EINVAL, "load", NULL,
			       "function '%s' needs more than %d bytes of local memory",
			       decoder->source->name, SG_MAX_LOCAL_SIZE);
	return 0;
}

/* The formal parameters or results of a function other than a kernel. */
static int decode_formals(struct sg_decoder *decoder, const struct gt_ptx_variable *list,
			  uint32_t count, struct sg_formal **ret_formals)
{
	struct sg_formal *formals = calloc(count + 1, sizeof(*formals));
	uint32_t i = 0;

	if (!formals)
		return -ENOMEM;
	*ret_formals = formals;
	for (; list && i < count; list = list->next, i++) {
		struct gt_ptx_operand operand = {.kind = GT_PTX_OPERAND_REGISTER,
						 .variable = (struct gt_ptx_variable *)list};
		struct sg_formal *formal = &formals[i];
		enum gt_ptx_type type;

		formal->alignment = gt_ptx_variable_alignment(list);
		formal->is_pointer = list->is_pointer;
		formal->size = (uint32_t)gt_ptx_variable_size(list);
		if (list->space == GT_PTX_SPACE_REG) {
			int error = sg_decode_register(decoder, &operand, &formal->offset, &type);

			if (error)
				return error;
			formal->is_register = true;
			formal->size = sg_type_width(type);
			continue;
		}
		formal->offset =
			add_local(decoder->function, gt_ptx_variable_size(list), formal->alignment);
		decoder->unit->locations[list->number] = formal->offset;
	}
	return 0;
}

/* A kernel's parameters are in the buffer of the launch. */
static int decode_parameters(struct sg_decoder *decoder)
{
	struct sg_function *function = decoder->function;
	const struct gt_ptx_variable *list = decoder->source->parameters;
	uint64_t size = 0;
	uint32_t i = 0;

	function->parameters = calloc(function->parameter_count + 1, sizeof(struct sg_formal));
	if (!function->parameters)
		return -ENOMEM;
	for (; list && i < function->parameter_count; list = list->next, i++) {
		uint64_t alignment = gt_ptx_variable_alignment(list);

		size = (size + alignment - 1) & ~(alignment - 1);
		function->parameters[i] =
			(struct sg_formal){.offset = (uint32_t)size,
					   .size = (uint32_t)gt_ptx_variable_size(list),
					   .alignment = (uint32_t)alignment,
					   .is_pointer = list->is_pointer};
		decoder->unit->locations[list->number] = size;
		size += gt_ptx_variable_size(list);
		if (size > SG_MAX_PARAMETER_SIZE)
			return gt_diag(decoder->diag, -EINVAL, "load", NULL,
				       "kernel '%s' has more than %d bytes of parameters",
				       function->name, SG_MAX_PARAMETER_SIZE);
	}
	function->parameter_size = (uint32_t)size;
	return 0;
}

int sg_decode_signature(struct sg_decoder *decoder)
{
	struct sg_function *function = decoder->function;
	int error;

	function->parameter_count = decoder->source->parameter_count;
	if (function->is_kernel)
		return decode_parameters(decoder);
	function->return_count = decoder->source->return_count;
	error = decode_formals(decoder, decoder->source->returns, function->return_count,
			       &function->returns);
	if (!error)
		error = decode_formals(decoder, decoder->source->parameters,
				       function->parameter_count, &function->parameters);
	return error;
}
