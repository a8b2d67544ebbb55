/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/unwind_rows.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/vec.h"
#include "elf/cfi.h"
#include "elf/cursor.h"

#ifdef __x86_64__

struct row_builder {
	const struct gt_elf *elf;
	size_t limit;
	GT_VEC(struct gt_unwind_row) rows;
	uint64_t end; /* file offset after the last row */
	int error;
};

/* The block {DW_OP_breg6 offset}, followed by DW_OP_deref if `deref`. */
static bool is_at_frame(const struct gt_cfi_rule *rule, bool deref, int64_t *ret_offset)
{
	struct elf_cursor cursor = {rule->expression, rule->expression + rule->size, false};

	if (cursor_number(&cursor, 1) != DW_OP_breg6)
		return false;
	*ret_offset = cursor_sleb(&cursor);
	if (deref && cursor_number(&cursor, 1) != DW_OP_deref)
		return false;
	return !cursor.bad && cursor.at == cursor.end;
}

static bool fits(int64_t offset)
{
	return offset % 8 == 0 && offset >= -GT_UNWIND_MAX_OFFSET && offset <= GT_UNWIND_MAX_OFFSET;
}

/* gcc's realigned stacks: push %rbp; mov %rsp,%rbp; and the CFA stored below. */
static uint32_t realigned_rule(const struct gt_cfi_row *row)
{
	const struct gt_cfi_rule *frame = &row->rules[GT_CFI_FRAME];
	int64_t offset, saved;

	if (!is_at_frame(&row->cfa, true, &offset) || !fits(offset) ||
	    frame->kind != GT_CFI_AT_EXPRESSION || !is_at_frame(frame, false, &saved) || saved)
		return GT_UNWIND_BY_FRAME;
	return GT_UNWIND_RULE(GT_UNWIND_BY_POINTER, offset, 0);
}

static uint32_t compress(const struct gt_cfi_row *row)
{
	const struct gt_cfi_rule *frame = &row->rules[GT_CFI_FRAME];
	const struct gt_cfi_rule *link = &row->rules[GT_CFI_RETURN];
	int64_t slot = 0;

	if (row->return_register != GT_CFI_RETURN)
		return GT_UNWIND_BY_FRAME;
	if (row->is_signal)
		return GT_UNWIND_RULE(GT_UNWIND_BY_SIGNAL, 0, 0);
	if (link->kind == GT_CFI_UNDEFINED)
		return GT_UNWIND_RULE(GT_UNWIND_ENDS, 0, 0);
	if (link->kind != GT_CFI_AT || link->offset != -8)
		return GT_UNWIND_BY_FRAME;
	if (row->cfa.kind == GT_CFI_IS_EXPRESSION)
		return realigned_rule(row);
	if (row->cfa.kind != GT_CFI_REGISTER || !fits(row->cfa.offset) ||
	    row->rules[GT_CFI_STACK].kind != GT_CFI_SAME)
		return GT_UNWIND_BY_FRAME;
	if (frame->kind == GT_CFI_AT)
		slot = -frame->offset;
	if ((frame->kind != GT_CFI_AT && frame->kind != GT_CFI_SAME) || slot % 8 || slot < 0 ||
	    slot > GT_UNWIND_MAX_SLOT)
		return GT_UNWIND_BY_FRAME;
	if (row->cfa.reg == GT_CFI_STACK)
		return GT_UNWIND_RULE(GT_UNWIND_BY_STACK, row->cfa.offset, slot);
	if (row->cfa.reg == GT_CFI_FRAME)
		return GT_UNWIND_RULE(GT_UNWIND_BY_BASE, row->cfa.offset, slot);
	return GT_UNWIND_BY_FRAME;
}

static bool push_row(struct row_builder *builder, uint64_t offset, uint32_t rule)
{
	const size_t count = builder->rows.count;

	if (count && builder->rows.items[count - 1].rule == rule)
		return true;
	if (count == builder->limit)
		builder->error = -E2BIG;
	else
		builder->error =
			gt_vec_push(&builder->rows, (struct gt_unwind_row){(uint32_t)offset, rule});
	return !builder->error;
}

/* Functions are visited in the order of their addresses; one that overlaps an earlier one is
 * ignored. */
static bool add_row(void *context, uint64_t start, uint64_t end, const struct gt_cfi_row *row)
{
	struct row_builder *builder = context;
	uint64_t offset = gt_elf_offset(builder->elf, start), size = end - start;

	if (offset == GT_ELF_NO_OFFSET || offset < builder->end || offset > UINT32_MAX ||
	    size > UINT32_MAX - offset)
		return true;
	if (offset - builder->end >= GT_UNWIND_PADDING && builder->rows.count &&
	    !push_row(builder, builder->end, GT_UNWIND_BY_FRAME))
		return false;
	builder->end = offset + size;
	return push_row(builder, offset, compress(row));
}

int gt_unwind_rows_read(struct gt_elf *elf, size_t limit, struct gt_unwind_rows *ret_rows)
{
	struct row_builder builder = {.elf = elf, .limit = limit};
	gt_auto(cfi) struct gt_cfi *cfi = NULL;
	int error = gt_cfi_open(elf, &cfi, NULL);

	if (error)
		return error;
	gt_cfi_each_row(cfi, add_row, &builder);
	if (!builder.error)
		push_row(&builder, builder.end, GT_UNWIND_BY_FRAME);
	if (!builder.error && !builder.rows.count)
		builder.error = -ENOENT;
	if (builder.error) {
		gt_vec_free(&builder.rows);
		return builder.error;
	}
	*ret_rows = (struct gt_unwind_rows){builder.rows.items, builder.rows.count};
	return 0;
}

#else

int gt_unwind_rows_read(struct gt_elf *elf, size_t limit, struct gt_unwind_rows *ret_rows)
{
	(void)elf;
	(void)limit;
	(void)ret_rows;
	return -ENOENT;
}

#endif

void gt_unwind_rows_free(struct gt_unwind_rows *rows)
{
	free(rows->items);
	*rows = (struct gt_unwind_rows){0};
}
