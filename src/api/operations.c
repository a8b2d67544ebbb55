/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <string.h>

#include "api/value.h"

/* A part of a call: an argument, or a field of the structure that it reads. */
struct call_part {
	const char *name, *label;
	enum gt_api_role role;
	struct gt_api_value value;
};

struct part_walk {
	const struct gt_call *call;
	struct gt_api_value structure; /* being walked through; size 0: none */
	unsigned argument, field;
};

static bool next_field(struct part_walk *walk, struct call_part *ret_part)
{
	const struct gt_api_type *type = walk->structure.type;
	const struct gt_api_field *field;

	if (!walk->structure.size || walk->field >= type->count) {
		walk->structure.size = 0;
		return false;
	}
	field = &type->fields[walk->field++];
	*ret_part = (struct call_part){field->name, field->label, field->role,
				       gt_value_field(&walk->structure, field, 0)};
	return true;
}

static bool next_part(struct part_walk *walk, struct call_part *ret_part)
{
	const struct gt_api_function *function = walk->call->function;
	const struct gt_api_argument *argument;

	if (next_field(walk, ret_part))
		return true;
	if (walk->argument >= function->argument_count)
		return false;
	argument = &function->arguments[walk->argument];
	*ret_part = (struct call_part){argument->name, argument->label, argument->role,
				       gt_call_argument_value(walk->call, walk->argument)};
	if (argument->role == GT_ROLE_STRUCT) {
		walk->structure = gt_call_pointed_value(walk->call, walk->argument);
		walk->field = 0;
	}
	walk->argument++;
	return true;
}

static bool has_label(const struct call_part *part, const char *label)
{
	return part->label && !strcmp(part->label, label);
}

/* Adds one number, or the three of a dim3, to dimensions of which *count are known. */
static void add_dimensions(const struct gt_api_value *value, uint32_t dimensions[3],
			   unsigned *count)
{
	uint64_t number;

	if (!gt_api_is_struct(value->type)) {
		if (*count < 3 && gt_value_load(value, &number))
			dimensions[(*count)++] = (uint32_t)number;
		return;
	}
	for (unsigned i = 0; i < value->type->count && *count < 3; i++) {
		struct gt_api_value field = gt_value_field(value, &value->type->fields[i], 0);

		if (!gt_value_load(&field, &number))
			return;
		dimensions[(*count)++] = (uint32_t)number;
	}
}

/* From the threads of a grid to its blocks. */
static void divide_range(struct gt_call_launch *launch)
{
	for (unsigned i = 0; i < 3; i++) {
		uint64_t threads = launch->grid[i];

		if (!launch->block[i])
			launch->block[i] = 1;
		launch->grid[i] = (uint32_t)((threads + launch->block[i] - 1) / launch->block[i]);
	}
}

/*
 * The range of a kernel of OpenCL or Level Zero, from arrays: groups and work-items. Where the
 * implementation chooses the size of groups, each work-item is one.
 */
static bool launch_range(const struct gt_call *call, struct gt_call_launch *launch)
{
	const struct gt_api_function *function = call->function;
	uint32_t global[3] = {1, 1, 1};
	unsigned count = 0, local = 0;
	bool in_groups = false;

	for (unsigned i = 0; i < function->argument_count; i++) {
		const char *label = function->arguments[i].label;
		struct gt_api_value value = gt_call_pointed_value(call, i);

		if (!label || !value.size)
			continue;
		in_groups |= !strcmp(label, "grid");
		if (!strcmp(label, "global") || !strcmp(label, "grid"))
			add_dimensions(&value, global, &count);
		else if (!strcmp(label, "local"))
			add_dimensions(&value, launch->block, &local);
	}
	memcpy(launch->grid, global, sizeof(global));
	divide_range(launch);
	if (in_groups && call->group)
		memcpy(launch->block, call->group, sizeof(launch->block));
	return count > 0;
}

bool gt_call_launch(const struct gt_call *call, struct gt_call_launch *ret_launch)
{
	struct gt_call_launch launch = {{1, 1, 1}, {1, 1, 1}, 0};
	struct part_walk walk = {.call = call};
	unsigned grid = 0, block = 0;
	bool in_threads = false;
	struct call_part part;

	if (call->function->category != GT_CATEGORY_LAUNCH)
		return false;
	if (launch_range(call, &launch)) {
		*ret_launch = launch;
		return true;
	}
	while (next_part(&walk, &part)) {
		in_threads |= has_label(&part, "global");
		if (has_label(&part, "grid") || has_label(&part, "global"))
			add_dimensions(&part.value, launch.grid, &grid);
		else if (has_label(&part, "block") || has_label(&part, "local"))
			add_dimensions(&part.value, launch.block, &block);
		else if (has_label(&part, "shared"))
			gt_value_load(&part.value, &launch.shared);
	}
	if (!grid || !block)
		return false;
	if (in_threads)
		divide_range(&launch);
	*ret_launch = launch;
	return true;
}

bool gt_api_has_stream(const struct gt_api_function *function)
{
	for (unsigned i = 0; i < function->argument_count; i++) {
		const struct gt_api_argument *argument = &function->arguments[i];
		const struct gt_api_type *type = argument->type->target;

		if (argument->role == GT_ROLE_STREAM)
			return true;
		if (argument->role != GT_ROLE_STRUCT || !type)
			continue;
		for (unsigned field = 0; field < type->count && gt_api_is_struct(type); field++)
			if (type->fields[field].role == GT_ROLE_STREAM)
				return true;
	}
	return false;
}

bool gt_call_stream(const struct gt_call *call, uint64_t *ret_stream)
{
	struct part_walk walk = {.call = call};
	struct call_part part;

	while (next_part(&walk, &part))
		if (part.role == GT_ROLE_STREAM)
			return gt_value_load(&part.value, ret_stream);
	return false;
}

static enum gt_copy_end_kind kind_of_role(enum gt_api_role role)
{
	switch (role) {
	case GT_ROLE_HOST_POINTER:
		return GT_END_HOST;
	case GT_ROLE_DEVICE_POINTER:
		return GT_END_DEVICE;
	case GT_ROLE_HANDLE:
		return GT_END_ARRAY;
	default:
		return GT_END_UNKNOWN;
	}
}

/* The names of ends begin alike in all of CUDA: dst, dstDevice, dstHost, srcArray … */
static bool name_begins(const struct call_part *part, const char *beginning)
{
	return !strncmp(part->name, beginning, strlen(beginning));
}

/* The address in a part that may be one: a pointer, a handle, or a structure with a pointer. */
static bool address_in(const struct call_part *part, uint64_t *ret_address)
{
	const struct gt_api_type *type = part->value.type;

	if (!gt_api_is_struct(type))
		return gt_value_load(&part->value, ret_address);
	for (unsigned i = 0; i < type->count; i++) {
		struct gt_api_value field = gt_value_field(&part->value, &type->fields[i], 0);

		if (type->fields[i].role == GT_ROLE_POINTER)
			return gt_value_load(&field, ret_address);
	}
	return false;
}

static bool is_address(const struct call_part *part)
{
	const struct gt_api_type *type = part->value.type;

	switch (part->role) {
	case GT_ROLE_POINTER:
	case GT_ROLE_DEVICE_POINTER:
	case GT_ROLE_HOST_POINTER:
	case GT_ROLE_HANDLE:
		return true;
	default:
		for (unsigned i = 0; gt_api_is_struct(type) && i < type->count; i++)
			if (type->fields[i].role == GT_ROLE_POINTER)
				return true;
		return false;
	}
}

static bool is_owner(const struct call_part *part)
{
	return strstr(part->name, "Context") ||
	       (part->role == GT_ROLE_IN && strstr(part->name, "Device"));
}

/*
 * A structure has fields for every kind of memory. Where it has a memory type that is known, the
 * type chooses; else the first one that is set.
 */
static void set_end(struct gt_copy_end *end, const struct call_part *part)
{
	enum gt_copy_end_kind kind = kind_of_role(part->role);
	uint64_t address;

	if (!address_in(part, &address))
		return;
	if (end->has_address && (end->address || !address))
		return;
	if (end->is_typed && end->kind != kind)
		return;
	if (kind == GT_END_ARRAY && !address)
		return;
	end->kind = kind;
	end->address = address;
	end->has_address = true;
}

static void set_owner(struct gt_copy_end *end, const struct call_part *part)
{
	end->has_owner = gt_value_load(&part->value, &end->owner);
}

/*
 * enum CUmemorytype: host, device, array, unified. The last has its address where the device's
 * stands, and it may be anywhere.
 */
static bool is_unified(struct gt_copy_end *end, const struct call_part *part)
{
	static const enum gt_copy_end_kind kinds[] = {GT_END_UNKNOWN, GT_END_HOST, GT_END_DEVICE,
						      GT_END_ARRAY, GT_END_DEVICE};
	uint64_t number;

	if (!gt_value_load(&part->value, &number) || number >= gt_countof(kinds))
		return false;
	end->kind = kinds[number];
	end->is_typed = end->kind != GT_END_UNKNOWN;
	return number == 4;
}

static void set_part(struct gt_copy_ends *ends, const struct call_part *part)
{
	bool named = name_begins(part, "src") || name_begins(part, "dst");
	struct gt_copy_end *end = name_begins(part, "src") ? &ends->source : &ends->target;

	/* A symbol is the other end than the one that has a name. */
	if (!named && part->role == GT_ROLE_HANDLE)
		end = ends->target.has_address ? &ends->source : &ends->target;
	else if (!named)
		return;
	if (is_owner(part))
		set_owner(end, part);
	else if (is_address(part))
		set_end(end, part);
}

/* The end of a transfer that an argument has, or the result. */
static bool transfer_end(const struct gt_call *call, const char *name, bool on_host,
			 struct gt_copy_end *ret_end)
{
	struct gt_copy_end end = {.kind = on_host ? GT_END_HOST : GT_END_DEVICE};
	int argument = gt_api_find_argument(call->function, name);

	if (!strcmp(name, "result")) {
		end.has_address = call->succeeded;
		end.address = call->event->result;
	}
	if (argument >= 0)
		end.has_address = gt_call_number(call, (unsigned)argument, &end.address);
	*ret_end = end;
	return end.has_address;
}

bool gt_call_copy_ends(const struct gt_call *call, struct gt_copy_ends *ret_ends)
{
	const struct gt_transfer *transfer = call->layout->transfer;
	bool unified_source = false, unified_target = false;
	struct gt_copy_ends ends = {0};
	struct call_part part;

	if (call->function->category != GT_CATEGORY_COPY)
		return false;
	if (transfer) {
		if (!transfer_end(call, transfer->source, transfer->direction == 1, &ends.source) ||
		    !transfer_end(call, transfer->target, transfer->direction == 2, &ends.target))
			return false;
		*ret_ends = ends;
		return true;
	}
	/* First the types, which choose among the addresses. */
	for (struct part_walk walk = {.call = call}; next_part(&walk, &part);) {
		if (part.role == GT_ROLE_SOURCE)
			unified_source = is_unified(&ends.source, &part);
		else if (part.role == GT_ROLE_DESTINATION)
			unified_target = is_unified(&ends.target, &part);
	}
	for (struct part_walk walk = {.call = call}; next_part(&walk, &part);)
		set_part(&ends, &part);
	if (unified_source)
		ends.source.kind = GT_END_UNKNOWN;
	if (unified_target)
		ends.target.kind = GT_END_UNKNOWN;
	if (!ends.target.has_address || !ends.source.has_address)
		return false;
	*ret_ends = ends;
	return true;
}

int gt_call_blocks(const struct gt_call *call)
{
	uint64_t blocking;

	if (call->layout->blocking == GT_LAYOUT_NONE ||
	    !gt_call_number(call, (unsigned)call->layout->blocking, &blocking))
		return -1;
	return (uint32_t)blocking != 0;
}

bool gt_call_allocated(const struct gt_call *call, uint64_t *ret_address)
{

	if (call->function->category != GT_CATEGORY_ALLOC)
		return false;
	if (call->layout->plan.result == GT_RESULT_POINTER) {
		*ret_address = call->event->result;
		return call->succeeded;
	}
	for (unsigned i = 0; i < call->function->argument_count; i++) {
		struct call_part part = {.role = GT_ROLE_OUT};

		if (call->function->arguments[i].role != GT_ROLE_OUT)
			continue;
		part.value = gt_call_pointed_value(call, i);
		return part.value.type && call->succeeded && address_in(&part, ret_address);
	}
	return false;
}

int gt_api_freed_argument(const struct gt_api_function *function)
{
	for (unsigned i = 0; i < function->argument_count; i++) {
		switch (function->arguments[i].role) {
		case GT_ROLE_DEVICE_POINTER:
		case GT_ROLE_HOST_POINTER:
		case GT_ROLE_POINTER:
		case GT_ROLE_HANDLE:
			return (int)i;
		default:
			break;
		}
	}
	return -1;
}

/* Bytes of an element of an array: enum CUarray_format, those that are made of plain numbers. */
static unsigned format_bytes(uint64_t format)
{
	static const struct {
		uint8_t format, bytes;
	} formats[] = {{0x01, 1}, {0x02, 2}, {0x03, 4}, {0x08, 1},
		       {0x09, 2}, {0x0a, 4}, {0x10, 2}, {0x20, 4}};

	for (size_t i = 0; i < gt_countof(formats); i++)
		if (formats[i].format == format)
			return formats[i].bytes;
	return 0;
}

/* The description of an array, by the field names in CUDA's headers. */
struct array_shape {
	uint64_t width, height, depth;
	uint64_t bits;             /* of an element, in a cudaChannelFormatDesc */
	uint64_t format, channels; /* in a CUDA_ARRAY_DESCRIPTOR */
	uint64_t levels;
};

static void set_number(struct array_shape *shape, const struct call_part *part)
{
	static const struct {
		const char *name;
		size_t offset;
	} names[] = {
		{"width", offsetof(struct array_shape, width)},
		{"height", offsetof(struct array_shape, height)},
		{"depth", offsetof(struct array_shape, depth)},
		{"Width", offsetof(struct array_shape, width)},
		{"Height", offsetof(struct array_shape, height)},
		{"Depth", offsetof(struct array_shape, depth)},
		{"Format", offsetof(struct array_shape, format)},
		{"NumChannels", offsetof(struct array_shape, channels)},
		{"numLevels", offsetof(struct array_shape, levels)},
		{"numMipmapLevels", offsetof(struct array_shape, levels)},
	};
	uint64_t number;

	if (!gt_value_load(&part->value, &number))
		return;
	if (strlen(part->name) == 1 && strchr("xyzw", part->name[0]) && number <= 64)
		shape->bits += number;
	for (size_t i = 0; i < gt_countof(names); i++)
		if (!strcmp(names[i].name, part->name))
			*(uint64_t *)((char *)shape + names[i].offset) = number;
}

static void set_shape(struct array_shape *shape, const struct call_part *part)
{
	const struct gt_api_type *type = part->value.type;

	if (!gt_api_is_struct(type)) {
		set_number(shape, part);
		return;
	}
	for (unsigned i = 0; i < type->count; i++) {
		struct call_part field = {type->fields[i].name, NULL, type->fields[i].role,
					  gt_value_field(&part->value, &type->fields[i], 0)};

		set_number(shape, &field);
	}
}

static bool bytes_of_shape(struct array_shape *shape, uint64_t *ret_bytes)
{
	uint64_t element =
		shape->bits ? shape->bits / 8 : format_bytes(shape->format) * shape->channels;
	uint64_t total = 0;

	if (!element || !shape->width || shape->levels > 64)
		return false;
	for (uint64_t level = 0; level < (shape->levels ? shape->levels : 1); level++) {
		uint64_t bytes = element, extents[3] = {shape->width, shape->height, shape->depth};

		for (unsigned i = 0; i < 3; i++) {
			uint64_t extent = level < 64 ? extents[i] >> level : 0;

			if (__builtin_mul_overflow(bytes, extent ? extent : 1, &bytes))
				return false;
		}
		if (__builtin_add_overflow(total, bytes, &total))
			return false;
	}
	*ret_bytes = total;
	return true;
}

bool gt_call_allocated_bytes(const struct gt_call *call, uint64_t *ret_bytes)
{
	struct part_walk walk = {.call = call};
	struct array_shape shape = {0};
	struct call_part part;

	if (call->function->category != GT_CATEGORY_ALLOC)
		return false;
	if (gt_call_bytes(call, ret_bytes))
		return true;
	while (next_part(&walk, &part))
		if (part.role != GT_ROLE_OUT && part.role != GT_ROLE_STRUCT)
			set_shape(&shape, &part);
	return bytes_of_shape(&shape, ret_bytes);
}
