/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The numbers, bytes and direction of any call. */
#include <string.h>

#include "api/value.h"

enum transfer_side {
	SIDE_UNKNOWN,
	SIDE_HOST,
	SIDE_DEVICE,
};

static int direction_between(enum transfer_side from, enum transfer_side to)
{
	if (from == SIDE_UNKNOWN || to == SIDE_UNKNOWN)
		return 4; /* cudaMemcpyDefault */
	return (from == SIDE_DEVICE ? 2 : 0) + (to == SIDE_DEVICE ? 1 : 0);
}

/* enum CUmemorytype; what it calls unified may be anywhere. */
static enum transfer_side side_of_type(uint64_t type)
{
	return type == 1 ? SIDE_HOST : type == 2 || type == 3 ? SIDE_DEVICE : SIDE_UNKNOWN;
}

static int direction_in_struct(const struct gt_api_value *structure)
{
	enum transfer_side from = SIDE_UNKNOWN, to = SIDE_UNKNOWN;
	bool found = false;

	for (unsigned i = 0; i < structure->type->count; i++) {
		const struct gt_api_field *field = &structure->type->fields[i];
		struct gt_api_value value = gt_value_field(structure, field, 0);
		uint64_t number;

		if (!gt_value_load(&value, &number))
			continue;
		if (field->role == GT_ROLE_DIRECTION)
			return number <= 4 ? (int)number : -1;
		if (field->role == GT_ROLE_SOURCE)
			from = side_of_type(number);
		else if (field->role == GT_ROLE_DESTINATION)
			to = side_of_type(number);
		else
			continue;
		found = true;
	}
	return found ? direction_between(from, to) : -1;
}

/* By what the two ends are: the destination is always the first pointer or array. */
static int direction_of_roles(const struct gt_api_function *function)
{
	enum transfer_side sides[2];
	unsigned count = 0;

	for (unsigned i = 0; i < function->argument_count && count < 2; i++) {
		switch (function->arguments[i].role) {
		case GT_ROLE_HOST_POINTER:
			sides[count++] = SIDE_HOST;
			break;
		case GT_ROLE_DEVICE_POINTER:
		case GT_ROLE_HANDLE: /* an array, or a symbol */
			sides[count++] = SIDE_DEVICE;
			break;
		case GT_ROLE_POINTER:
			sides[count++] = SIDE_UNKNOWN;
			break;
		default:
			break;
		}
	}
	return count == 2 ? direction_between(sides[1], sides[0]) : -1;
}

const struct gt_transfer *gt_api_transfer(const struct gt_api_function *function)
{
	enum { H2D = 1, D2H, D2D };
	static const struct gt_transfer transfers[] = {
#define TRANSFER(function, direction, source, target) {#function, direction, #source, #target},
#include "api/transfers.def"
#undef TRANSFER
	};

	for (size_t i = 0; i < gt_countof(transfers); i++)
		if (!strcmp(transfers[i].function, function->name))
			return &transfers[i];
	return NULL;
}

int gt_call_direction(const struct gt_call *call)
{
	if (call->function->category != GT_CATEGORY_COPY)
		return -1;
	if (call->layout->transfer)
		return call->layout->transfer->direction;
	for (unsigned i = 0; i < call->function->argument_count; i++) {
		struct gt_api_value value = gt_call_argument_value(call, i);
		struct gt_api_value pointed = gt_call_pointed_value(call, i);
		uint64_t number;

		if (call->function->arguments[i].role == GT_ROLE_DIRECTION)
			return gt_value_load(&value, &number) && number <= 4 ? (int)number : -1;
		if (call->function->arguments[i].role == GT_ROLE_STRUCT)
			return pointed.size ? direction_in_struct(&pointed) : -1;
	}
	return direction_of_roles(call->function);
}

const char *gt_api_direction_name(int direction)
{
	static const char *const names[] = {"H2H", "H2D", "D2H", "D2D", "default"};

	return direction >= 0 && (size_t)direction < gt_countof(names) ? names[direction] : NULL;
}

/* A product of sizes and counts; known once a size or the width of an element was found. */
struct size_product {
	uint64_t value;
	bool known;
	bool impossible;
};

static void multiply_product(struct size_product *product, uint64_t factor)
{
	if (__builtin_mul_overflow(product->value, factor, &product->value))
		product->impossible = true;
}

static void measure_value(struct size_product *product, enum gt_api_role role,
			  const struct gt_api_value *value)
{
	uint64_t number;

	if (role != GT_ROLE_SIZE && role != GT_ROLE_COUNT && role != GT_ROLE_PATTERN)
		return;
	if (gt_api_is_struct(value->type)) {
		for (unsigned i = 0; i < value->type->count; i++) {
			struct gt_api_value field =
				gt_value_field(value, &value->type->fields[i], 0);

			measure_value(product, value->type->fields[i].role, &field);
		}
		return;
	}
	if (role == GT_ROLE_PATTERN)
		multiply_product(product, value->type->size);
	else if (gt_value_load(value, &number))
		multiply_product(product, number);
	else
		product->impossible = true;
	product->known |= role != GT_ROLE_COUNT;
}

/* In a copy from or to an array, the extent of the runtime's structure counts elements. */
static bool counts_elements(const struct gt_api_value *structure)
{
	bool has_extent = false, has_array = false;

	for (unsigned i = 0; i < structure->type->count; i++) {
		const struct gt_api_field *field = &structure->type->fields[i];
		struct gt_api_value value = gt_value_field(structure, field, 0);
		uint64_t number;

		has_extent |= field->type->kind == GT_KIND_EXTENT;
		has_array |=
			field->role == GT_ROLE_HANDLE && gt_value_load(&value, &number) && number;
	}
	return has_extent && has_array;
}

/* A region of Level Zero in two dimensions has no slices (ze_api.h: ze_copy_region_t). */
static bool has_no_slices(const struct gt_api_value *structure, unsigned number)
{
	const struct gt_api_field *field = &structure->type->fields[number];
	struct gt_api_value value = gt_value_field(structure, field, 0);
	uint64_t depth;

	return !strcmp(field->name, "depth") &&
	       !strcmp(structure->type->name, "ze_copy_region_t") &&
	       gt_value_load(&value, &depth) && !depth;
}

static void measure_struct(struct size_product *product, const struct gt_api_value *structure)
{
	if (counts_elements(structure)) {
		product->impossible = true;
		return;
	}
	for (unsigned i = 0; i < structure->type->count; i++) {
		struct gt_api_value value =
			gt_value_field(structure, &structure->type->fields[i], 0);

		if (!has_no_slices(structure, i))
			measure_value(product, structure->type->fields[i].role, &value);
	}
}

static bool load_sizes(const struct gt_call *call, unsigned argument,
		       uint64_t sizes[GT_API_MAX_SIZES], unsigned *ret_count)
{
	struct gt_api_value number = gt_call_argument_value(call, argument + 1);
	uint64_t count;

	if (!gt_value_load(&number, &count) || count > GT_API_MAX_SIZES)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (!gt_call_size_at(call, argument, i, &sizes[i]))
			return false;
	*ret_count = (unsigned)count;
	return true;
}

static void measure_sizes(struct size_product *product, const struct gt_call *call,
			  unsigned argument)
{
	uint64_t sizes[GT_API_MAX_SIZES], sum = 0;
	unsigned count = 0;

	product->known = true;
	product->impossible |= !load_sizes(call, argument, sizes, &count);
	for (unsigned i = 0; i < count; i++)
		product->impossible |= __builtin_add_overflow(sum, sizes[i], &sum);
	multiply_product(product, sum);
}

unsigned gt_call_list_sizes(const struct gt_call *call, uint64_t ret_sizes[GT_API_MAX_SIZES])
{
	unsigned count = 0;

	for (unsigned i = 0; i < call->function->argument_count; i++)
		if (call->function->arguments[i].role == GT_ROLE_SIZES &&
		    load_sizes(call, i, ret_sizes, &count))
			return count;
	return 0;
}

bool gt_call_bytes(const struct gt_call *call, uint64_t *ret_bytes)
{
	struct size_product product = {.value = 1};

	if (call->sized_bytes) {
		*ret_bytes = call->sized_bytes;
		return true;
	}
	for (unsigned i = 0; i < call->function->argument_count; i++) {
		struct gt_api_value value = gt_call_argument_value(call, i);
		struct gt_api_value pointed = gt_call_pointed_value(call, i);

		if (call->function->arguments[i].role == GT_ROLE_SIZES)
			measure_sizes(&product, call, i);
		else if (call->function->arguments[i].role != GT_ROLE_STRUCT)
			measure_value(&product, call->function->arguments[i].role, &value);
		else if (pointed.size && call->function->category == GT_CATEGORY_COPY)
			measure_struct(&product, &pointed);
	}
	if (!product.known || product.impossible)
		return false;
	*ret_bytes = product.value;
	return true;
}

bool gt_call_number(const struct gt_call *call, unsigned argument, uint64_t *ret_number)
{
	struct gt_api_value value;

	if (argument >= call->function->argument_count)
		return false;
	if (call->function->arguments[argument].role == GT_ROLE_OUT)
		value = gt_call_pointed_value(call, argument);
	else
		value = gt_call_argument_value(call, argument);
	return gt_value_load(&value, ret_number);
}
