/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fields of contexts. */
#include "gpubpf/context.h"

#include <errno.h>
#include <stddef.h>

#include "base/clean.h"

const struct gt_context_field gt_context_fields[] = {
#define FIELD(name, offset, size, count, source, lanes, kinds, levels, min, max)                   \
	{#name, offset, size, count, GT_SOURCE_##source, lanes, kinds, levels, min, max},
#include "gpubpf/context.def"
#undef FIELD
	{0},
};

const struct gt_context_field *gt_context_field_of(enum gt_context_source source)
{
	for (const struct gt_context_field *field = gt_context_fields; field->name; field++)
		if (field->source == source)
			return field;
	return NULL;
}

uint32_t gt_context_size(enum gt_section_kind kind)
{
	uint32_t end = 0;

	for (const struct gt_context_field *field = gt_context_fields; field->name; field++)
		if ((field->kinds >> kind & 1) && field->offset + field->size * field->count > end)
			end = field->offset + field->size * field->count;
	return end;
}

int gt_context_find(const struct gt_section *section, uint32_t offset, uint32_t size,
		    struct gt_context_load *ret_load)
{
	for (const struct gt_context_field *field = gt_context_fields; field->name; field++) {
		uint32_t at = offset - field->offset;

		if (!(field->kinds >> section->kind & 1) || offset < field->offset ||
		    at >= field->size * field->count)
			continue;
		if (!size || at % field->size + size > field->size)
			return -ENOENT;
		if (!(field->levels >> section->level & 1))
			return -EACCES;
		*ret_load = (struct gt_context_load){
			.field = field,
			.index = at / field->size,
			.shift = at % field->size * 8,
			.size = size,
		};
		return 0;
	}
	return -ENOENT;
}

static const struct {
	const char *name;
	enum gt_context_source source;
	unsigned kinds;
} lane_fields[GT_LANE_COUNT] = {
	[GT_LANE_ADDRESS] = {"address", GT_SOURCE_ADDRESS, GT_IN_ACCESS},
	[GT_LANE_VALUE] = {"value", GT_SOURCE_VALUE, GT_IN_MEMORY},
	[GT_LANE_VALUE_HIGH] = {"value_high", GT_SOURCE_VALUE_HIGH, GT_IN_MEMORY},
	[GT_LANE_PREDICATE] = {"predicate", GT_SOURCE_PREDICATE, GT_IN_ALL},
	[GT_LANE_THREAD_X] = {"thread_x", GT_SOURCE_THREAD_X, GT_IN_ALL},
	[GT_LANE_THREAD_Y] = {"thread_y", GT_SOURCE_THREAD_Y, GT_IN_ALL},
	[GT_LANE_THREAD_Z] = {"thread_z", GT_SOURCE_THREAD_Z, GT_IN_ALL},
};

int gt_lane_source(const struct gt_section *section, uint64_t field,
		   enum gt_context_source *ret_source)
{
	if (field >= GT_LANE_COUNT || !(lane_fields[field].kinds >> section->kind & 1))
		return -ENOENT;
	*ret_source = lane_fields[field].source;
	return 0;
}

const char *gt_lane_field_name(uint64_t field)
{
	return field < GT_LANE_COUNT ? lane_fields[field].name : NULL;
}
