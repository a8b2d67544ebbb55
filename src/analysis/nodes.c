/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/nodes.h"

#include <string.h>

#include "api/value.h"

#define MAX_ARGUMENTS 16
#define MAX_FIELDS 32
/* cudaGraphNodeParams and CUgraphNodeParams: the type, 12 bytes of nothing, a union. */
#define UNION_OFFSET 16

/* A changed copy of a function's row. */
struct function_view {
	struct gt_api_function function;
	struct gt_api_layout layout;
	struct gt_api_argument arguments[MAX_ARGUMENTS];
	struct gt_api_type pointer, structure;
	struct gt_api_field fields[MAX_FIELDS];
};

struct gt_node_form {
	struct function_view kernel, copy; /* of GRAPH_NODE both; else the one that it is */
	unsigned parameters;               /* of GRAPH_NODE: the argument that points to them */
};

#define COPY_OFFSET 32 /* after flags and, in the driver's, a context */

/* What the union holds is what these functions point to. */
static const struct {
	const char *library, *kernel, *copy;
} unions[] = {
	{"cudart", "cudaGraphAddKernelNode", "cudaGraphAddMemcpyNode"},
	{"cuda", "cuGraphAddKernelNode_v2", "cuGraphAddMemcpyNode"},
};

/* enum cudaGraphNodeType, enum CUgraphNodeType; bodies of conditional nodes (13) are not known. */
static const enum gt_operation_kind kinds_of_types[] = {
	GT_OPERATION_GRAPH_KERNEL, /* kernel */
	GT_OPERATION_GRAPH_COPY,   /* memcpy */
	GT_OPERATION_OTHER,        /* memset */
	GT_OPERATION_OTHER,        /* host */
	GT_OPERATION_GRAPH_CHILD,  /* graph */
	GT_OPERATION_OTHER,        /* empty */
	GT_OPERATION_OTHER,        /* wait for an event */
	GT_OPERATION_OTHER,        /* record an event */
	GT_OPERATION_OTHER,        /* signal a semaphore */
	GT_OPERATION_OTHER,        /* wait for one */
	GT_OPERATION_GRAPH_ALLOC,  /* allocate */
	GT_OPERATION_OTHER,        /* free */
	GT_OPERATION_OTHER,        /* operations on memory */
	GT_OPERATION_GRAPH_CHANGE, /* conditional */
};

bool gt_node_is_added(enum gt_operation_kind kind)
{
	return kind >= GT_OPERATION_GRAPH_NODE && kind <= GT_OPERATION_GRAPH_ALLOC;
}

/* The graph is no end of a copy, and `count` is its bytes. */
static void make_view(struct function_view *view, const struct gt_api_function *function,
		      enum gt_api_category category, int graph)
{
	view->function = *function;
	view->function.category = category;
	if (function->argument_count > MAX_ARGUMENTS)
		return;
	memcpy(view->arguments, function->arguments,
	       function->argument_count * sizeof(*view->arguments));
	for (unsigned i = 0; i < function->argument_count; i++)
		if (!strcmp(view->arguments[i].name, "count"))
			view->arguments[i].role = GT_ROLE_SIZE;
	view->arguments[graph].role = GT_ROLE_IN;
	view->function.arguments = view->arguments;
}

static const struct gt_api_argument *structure_of(const struct gt_api_function *function)
{
	for (unsigned i = 0; i < function->argument_count; i++)
		if (function->arguments[i].role == GT_ROLE_STRUCT)
			return &function->arguments[i];
	return NULL;
}

/* The structure has the fields of another function's, so many bytes in. */
static void move_fields(struct function_view *view, unsigned argument, const char *like,
			unsigned offset)
{
	int number = gt_api_find(like);
	const struct gt_api_argument *other =
		number < 0 ? NULL : structure_of(gt_api_function((unsigned)number));
	const struct gt_api_type *type = other ? other->type->target : NULL;

	view->pointer = *view->arguments[argument].type;
	view->structure = *view->pointer.target;
	view->structure.count = 0;
	for (unsigned i = 0; type && i < type->count && i < MAX_FIELDS; i++) {
		view->fields[i] = type->fields[i];
		view->fields[i].offset = (uint16_t)(type->fields[i].offset + offset);
		view->structure.count = i + 1;
	}
	view->structure.fields = view->fields;
	view->pointer.target = &view->structure;
	view->arguments[argument].type = &view->pointer;
}

static void make_unions(struct gt_node_form *form, const struct gt_api_function *function)
{
	const struct gt_api_argument *parameters = structure_of(function);

	if (!parameters)
		return;
	form->parameters = (unsigned)(parameters - function->arguments);
	for (size_t i = 0; i < gt_countof(unions); i++) {
		if (strcmp(unions[i].library, function->library))
			continue;
		move_fields(&form->kernel, form->parameters, unions[i].kernel, UNION_OFFSET);
		move_fields(&form->copy, form->parameters, unions[i].copy, COPY_OFFSET);
	}
}

struct gt_node_form *gt_node_form_new(const struct gt_api_function *function,
				      enum gt_operation_kind kind, int graph)
{
	struct gt_node_form *form = calloc(1, sizeof(*form));

	if (!form)
		return NULL;
	make_view(&form->kernel, function, GT_CATEGORY_LAUNCH, graph);
	make_view(&form->copy, function, GT_CATEGORY_COPY, graph);
	if (kind == GT_OPERATION_GRAPH_NODE)
		make_unions(form, function);
	gt_api_lay_out(&form->kernel.function, GT_MACHINE_HERE, &form->kernel.layout);
	gt_api_lay_out(&form->copy.function, GT_MACHINE_HERE, &form->copy.layout);
	return form;
}

void gt_node_form_free(struct gt_node_form *form)
{
	free(form);
}

/* The kernel of a node: a function or, from CUDA 12 on, a kernel's own handle. */
static uint64_t kernel_of_node(const struct gt_operation *operation)
{
	uint64_t handle = 0;

	for (unsigned i = 0; i < operation->call.function->argument_count && !handle; i++) {
		struct gt_api_value structure = gt_call_pointed_value(&operation->call, i);

		if (operation->call.function->arguments[i].role != GT_ROLE_STRUCT ||
		    !structure.size)
			continue;
		for (unsigned f = 0; f < structure.type->count && !handle; f++) {
			const struct gt_api_field *field = &structure.type->fields[f];
			struct gt_api_value value = gt_value_field(&structure, field, 0);

			if (!strcmp(field->name, "func") || !strcmp(field->name, "kern"))
				gt_value_load(&value, &handle);
		}
	}
	return handle;
}

/* The type of a node, and of a child the graph that it is. */
static void decode_type(const struct gt_node_form *form, struct gt_operation *operation)
{
	struct gt_api_value parameters;
	uint32_t type;

	parameters = gt_call_pointed_value(&operation->call, form->parameters);
	operation->kind = GT_OPERATION_GRAPH_CHANGE;
	if (parameters.size < UNION_OFFSET + sizeof(operation->other))
		return;
	memcpy(&type, parameters.data, sizeof(type));
	if (type < gt_countof(kinds_of_types))
		operation->kind = kinds_of_types[type];
	if (operation->kind == GT_OPERATION_GRAPH_CHILD)
		memcpy(&operation->other, parameters.data + UNION_OFFSET, sizeof(operation->other));
}

static void view_as(struct gt_operation *operation, const struct function_view *view)
{
	operation->call.function = &view->function;
	operation->call.layout = &view->layout;
}

void gt_node_decode(const struct gt_node_form *form, struct gt_operation *operation)
{
	if (operation->kind == GT_OPERATION_GRAPH_NODE)
		decode_type(form, operation);
	switch (operation->kind) {
	case GT_OPERATION_GRAPH_KERNEL:
		view_as(operation, &form->kernel);
		operation->kernel = kernel_of_node(operation);
		break;
	case GT_OPERATION_GRAPH_COPY:
	case GT_OPERATION_GRAPH_ALLOC:
		view_as(operation, &form->copy);
		operation->has_bytes = gt_call_bytes(&operation->call, &operation->bytes);
		break;
	default:
		break;
	}
}
