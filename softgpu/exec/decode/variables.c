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

/* A formal in registers: each element of a vector is a formal of its own. */
static int decode_register_formals(struct sg_decoder *decoder, struct gt_ptx_variable *variable,
				   struct sg_formal *formals)
{
	struct gt_ptx_operand operand = {.kind = GT_PTX_OPERAND_REGISTER, .variable = variable};
	enum gt_ptx_type type;
	int error = 0;

	if (variable->vector > SG_MAX_REGISTER_ELEMENTS)
		return sg_decode_error(decoder, "invalid vector register '%s'", variable->name);
	for (uint32_t i = 0; i < variable->vector && !error; i++) {
		operand.selector =
			(uint8_t)(variable->vector > 1 ? GT_PTX_SELECT_X + i : GT_PTX_SELECT_NONE);
		formals[i].is_register = true;
		error = sg_decode_register(decoder, &operand, &formals[i].offset, &type);
		if (!error)
			formals[i].size = sg_type_width(type);
	}
	return error;
}

uint32_t sg_decode_formal_elements(const struct gt_ptx_variable *formal)
{
	return formal->space == GT_PTX_SPACE_REG ? formal->vector : 1;
}

uint32_t sg_decode_formal_size(const struct gt_ptx_variable *formal)
{
	return formal->space == GT_PTX_SPACE_REG ? sg_type_width(formal->type)
						 : (uint32_t)gt_ptx_variable_size(formal);
}

/* The formal parameters or results of a function other than a kernel. */
static int decode_formals(struct sg_decoder *decoder, const struct gt_ptx_variable *list,
			  struct sg_formal **ret_formals, uint32_t *ret_count)
{
	uint32_t count = 0;
	struct sg_formal *formals;

	for (const struct gt_ptx_variable *formal = list; formal; formal = formal->next)
		count += sg_decode_formal_elements(formal);
	formals = calloc(count + 1, sizeof(*formals));
	if (!formals)
		return -ENOMEM;
	*ret_formals = formals;
	*ret_count = count;
	for (; list; formals += sg_decode_formal_elements(list), list = list->next) {
		if (list->space == GT_PTX_SPACE_REG) {
			int error = decode_register_formals(decoder, (struct gt_ptx_variable *)list,
							    formals);

			if (error)
				return error;
			continue;
		}
		*formals = (struct sg_formal){
			.alignment = gt_ptx_variable_alignment(list),
			.is_pointer = list->is_pointer,
			.size = sg_decode_formal_size(list),
		};
		formals->offset = add_local(decoder->function, formals->size, formals->alignment);
		decoder->unit->locations[list->number] = formals->offset;
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

	if (function->is_kernel) {
		function->parameter_count = decoder->source->parameter_count;
		return decode_parameters(decoder);
	}
	error = decode_formals(decoder, decoder->source->returns, &function->returns,
			       &function->return_count);
	if (!error)
		error = decode_formals(decoder, decoder->source->parameters, &function->parameters,
				       &function->parameter_count);
	return error;
}
