/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loads from contexts. */
#include <errno.h>
#include <inttypes.h>

#include "gpubpf/verify/private.h"

/* Print the context fields that an access overlaps, or why there is none. */
static void put_fields(struct gt_strbuf *text, const struct gt_section *section, int64_t offset,
		       uint64_t size)
{
	const char *name = gt_section_row(section->kind)->name, *elsewhere = NULL;
	unsigned found = 0;

	for (const struct gt_context_field *field = gt_context_fields; field->name; field++) {
		if (offset + (int64_t)size <= field->offset ||
		    offset >= field->offset + field->size * field->count)
			continue;
		if (field->kinds >> section->kind & 1)
			gt_strbuf_printf(text, "%s '%s'",
					 found++ ? "," : "it is not within one field: it overlaps",
					 field->name);
		else if (!elsewhere)
			elsewhere = field->name;
	}
	if (!found && elsewhere)
		gt_strbuf_printf(text, "a context of gpu/%s has no field '%s'", name, elsewhere);
	else if (!found)
		gt_strbuf_printf(text, "the context of gpu/%s has %u bytes", name,
				 gt_context_size(section->kind));
}

/* Reject a field that programs of this level do not have. */
static int reject_level(struct gt_verifier *verifier, const struct gt_section *section,
			int64_t offset)
{
	const struct gt_context_field *field = gt_context_fields;
	const char *level = gt_level_name(section->level);

	while (!(field->kinds >> section->kind & 1) || offset < field->offset ||
	       offset >= field->offset + field->size * field->count)
		field++;
	if (field->lanes == GT_FIELD_VARYING && section->level == GT_LEVEL_WARP)
		return gt_reject(verifier,
				 "field '%s' differs between the lanes of a warp: a program that "
				 "runs once per warp reads it by warp_lane_value#524",
				 field->name);
	return gt_reject(verifier, "field '%s' is not available in programs that run once per %s",
			 field->name, level);
}

int gt_verify_field(struct gt_verifier *verifier, int64_t offset, uint64_t size)
{
	const struct gt_section *section = verifier->options->section;
	gt_auto_strbuf reason = GT_STRBUF_INIT;
	struct gt_context_load load;
	int error = -ENOENT;

	if (offset >= 0 && offset <= GT_CONTEXT_SIZE)
		error = gt_context_find(section, (uint32_t)offset, (uint32_t)size, &load);
	if (!error)
		return 0;
	if (error == -EACCES)
		return reject_level(verifier, section, offset);
	put_fields(&reason, section, offset, size);
	return gt_reject(verifier,
			 "invalid bpf_context access off=%" PRId64 " size=%" PRIu64 ": %s", offset,
			 size, gt_strbuf_string(&reason));
}

static struct gt_scalar scalar_between(uint64_t min, uint64_t max)
{
	struct gt_scalar scalar = gt_scalar_unknown();

	scalar.all.umin = min;
	scalar.all.umax = max;
	gt_scalar_sync_bounds(&scalar);
	return scalar;
}

struct gt_scalar gt_verify_source_values(enum gt_context_source source)
{
	const struct gt_context_field *field = gt_context_field_of(source);

	return field ? scalar_between(field->min, field->max) : gt_scalar_unknown();
}

struct gt_scalar gt_verify_field_values(const struct gt_verifier *verifier, int64_t offset,
					unsigned size, bool is_signed)
{
	static const struct bpf_insn shift = {.code = BPF_ALU64 | BPF_RSH | BPF_X};
	struct gt_scalar element, bits;
	struct gt_context_load load;

	if (gt_context_find(verifier->options->section, (uint32_t)offset, size, &load))
		return gt_scalar_loaded(size, is_signed);
	element = scalar_between(load.field->min, load.field->max);
	bits = gt_scalar_constant(load.shift);
	element = gt_scalar_alu(&shift, &element, &bits);
	return gt_scalar_truncate(&element, size, is_signed);
}
