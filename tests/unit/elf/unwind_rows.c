/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rows of the C library are the rules that are found at their addresses, and no others. */
#include "elf/unwind_rows.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>

#include "elf/cfi.h"
#include "tap.h"

#ifdef __x86_64__

static bool is_like(const struct gt_cfi_row *rules, uint32_t rule)
{
	const struct gt_cfi_rule *frame = &rules->rules[GT_CFI_FRAME];
	uint64_t slot = frame->kind == GT_CFI_AT ? (uint64_t)-frame->offset : 0;

	switch (GT_UNWIND_KIND(rule)) {
	case GT_UNWIND_BY_STACK:
	case GT_UNWIND_BY_BASE:
		return rules->cfa.kind == GT_CFI_REGISTER &&
		       rules->cfa.reg == (GT_UNWIND_KIND(rule) == GT_UNWIND_BY_STACK
						  ? GT_CFI_STACK
						  : GT_CFI_FRAME) &&
		       rules->cfa.offset == GT_UNWIND_OFFSET(rule) && slot == GT_UNWIND_SLOT(rule);
	case GT_UNWIND_BY_POINTER:
		return rules->cfa.kind == GT_CFI_IS_EXPRESSION;
	case GT_UNWIND_BY_SIGNAL:
		return rules->is_signal;
	case GT_UNWIND_ENDS:
		return rules->rules[GT_CFI_RETURN].kind == GT_CFI_UNDEFINED;
	}
	/* Only unusual rules have no other kind. */
	return rules->cfa.kind == GT_CFI_IS_EXPRESSION || rules->cfa.reg != GT_CFI_STACK ||
	       rules->rules[GT_CFI_RETURN].kind != GT_CFI_AT;
}

/* By a function that sanitizers do not replace. */
static const char *libc_path(void)
{
	Dl_info info;

	return dladdr((void *)gnu_get_libc_version, &info) ? info.dli_fname : "";
}

TEST("each row of the C library is the rule at its address")
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	gt_auto(cfi) struct gt_cfi *cfi = NULL;
	struct gt_unwind_rows rows = {0};
	size_t unlike = 0, unordered = 0, without = 0, signals = 0, ends = 0;

	CHECK_INT(gt_elf_open(libc_path(), &elf, NULL), 0);
	CHECK_INT(gt_cfi_open(elf, &cfi, NULL), 0);
	CHECK_INT(gt_unwind_rows_read(elf, 1 << 20, &rows), 0);
	for (size_t i = 0; i + 1 < rows.count; i++) {
		const struct gt_unwind_row *row = &rows.items[i];
		struct gt_cfi_row rules;

		unordered += row[1].offset <= row->offset;
		if (gt_cfi_find(cfi, gt_elf_address(elf, row->offset), &rules)) {
			without++;
			unlike += row->rule != GT_UNWIND_BY_FRAME;
		} else {
			unlike += !is_like(&rules, row->rule);
		}
		signals += GT_UNWIND_KIND(row->rule) == GT_UNWIND_BY_SIGNAL;
		ends += GT_UNWIND_KIND(row->rule) == GT_UNWIND_ENDS;
	}
	CHECK(rows.count > 5000);
	CHECK_INT(unordered, 0);
	CHECK_INT(unlike, 0);
	CHECK(without < rows.count / 20);
	CHECK(signals > 0);
	CHECK(ends > 0);
	CHECK(rows.items[rows.count - 1].rule == GT_UNWIND_BY_FRAME);
	gt_unwind_rows_free(&rows);
}

TEST("a row applies up to the next one")
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	gt_auto(cfi) struct gt_cfi *cfi = NULL;
	struct gt_unwind_rows rows = {0};
	size_t unlike = 0, checked = 0;

	CHECK_INT(gt_elf_open(libc_path(), &elf, NULL), 0);
	CHECK_INT(gt_cfi_open(elf, &cfi, NULL), 0);
	CHECK_INT(gt_unwind_rows_read(elf, 1 << 20, &rows), 0);
	for (size_t i = 0; i + 1 < rows.count; i += 7) {
		const struct gt_unwind_row *row = &rows.items[i];
		uint32_t last = row[1].offset - 1;
		struct gt_cfi_row rules;

		/* Padding has the rule of the function before it. */
		for (unsigned back = 0; back < GT_UNWIND_PADDING && last > row->offset; back++)
			if (gt_cfi_find(cfi, gt_elf_address(elf, last), &rules))
				last--;
		if (gt_cfi_find(cfi, gt_elf_address(elf, last), &rules))
			continue;
		checked++;
		unlike += !is_like(&rules, row->rule);
	}
	CHECK(checked > 500);
	CHECK_INT(unlike, 0);
	gt_unwind_rows_free(&rows);
}

TEST("a file with more rows than the limit has none")
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	struct gt_unwind_rows rows = {0};

	CHECK_INT(gt_elf_open(libc_path(), &elf, NULL), 0);
	CHECK_INT(gt_unwind_rows_read(elf, 100, &rows), -E2BIG);
	CHECK(!rows.items);
}

TEST("a rule keeps offsets and slots of the whole range")
{
	for (int64_t offset = -GT_UNWIND_MAX_OFFSET; offset <= GT_UNWIND_MAX_OFFSET;
	     offset += 8 * 4369)
		for (uint64_t slot = 0; slot <= GT_UNWIND_MAX_SLOT; slot += 8 * 315) {
			uint32_t rule = GT_UNWIND_RULE(GT_UNWIND_BY_BASE, offset, slot);

			CHECK_INT(GT_UNWIND_KIND(rule), GT_UNWIND_BY_BASE);
			CHECK_INT(GT_UNWIND_OFFSET(rule), offset);
			CHECK_INT(GT_UNWIND_SLOT(rule), slot);
		}
}

#else

TEST("other machines have frame pointers")
{
	SKIP("only on x86-64");
}

#endif

TEST_MAIN
