/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/cfi_program.h"

#include <dwarf.h>
#include <errno.h>

#define MAX_REMEMBERED 8 /* rows; compilers nest two */

struct cfi_run {
	const struct cfi_code *code;
	struct gt_cfi_row *row;
	struct gt_cfi_row initial; /* the rules of the CIE, for DW_CFA_restore */
	struct gt_cfi_row remembered[MAX_REMEMBERED];
	size_t remembered_count;
	uint64_t location, address;
	const struct cfi_visit *visit; /* NULL: only the row at `address` is wanted */
	bool stopped;                  /* by the visitor */
};

uint64_t cfi_pointer(struct elf_cursor *cursor, const struct cfi_code *code, uint8_t encoding)
{
	uint64_t place = code->address + (uint64_t)(cursor->at - code->bytes), value;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = cursor_number(cursor, 8);
		break;
	case DW_EH_PE_uleb128:
		value = cursor_uleb(cursor);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)cursor_sleb(cursor);
		break;
	case DW_EH_PE_udata2:
		value = cursor_number(cursor, 2);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)cursor_signed(cursor, 2);
		break;
	case DW_EH_PE_udata4:
		value = cursor_number(cursor, 4);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)cursor_signed(cursor, 4);
		break;
	default:
		cursor->bad = true;
		return 0;
	}
	switch (encoding & 0x70) {
	case 0:
		return value;
	case DW_EH_PE_pcrel:
		return value + place;
	case DW_EH_PE_datarel:
		return value + code->data_base;
	}
	cursor->bad = true;
	return 0;
}

static void set_rule(struct cfi_run *run, uint64_t number, enum gt_cfi_rule_kind kind,
		     int64_t offset)
{
	/* Registers that are not tracked, such as vector registers, may have rules too. */
	if (number < GT_CFI_REGISTERS)
		run->row->rules[number] =
			(struct gt_cfi_rule){.kind = (uint8_t)kind, .offset = offset};
}

/* A block of DW_OP operations, which is evaluated only when it is needed. */
static struct gt_cfi_rule read_expression(struct elf_cursor *cursor, enum gt_cfi_rule_kind kind)
{
	uint64_t size = cursor_uleb(cursor);
	const uint8_t *bytes = cursor_skip(cursor, size);

	if (size > UINT16_MAX)
		cursor->bad = true;
	return (struct gt_cfi_rule){
		.kind = (uint8_t)kind, .size = (uint16_t)size, .expression = bytes};
}

static void set_expression(struct cfi_run *run, struct elf_cursor *cursor,
			   enum gt_cfi_rule_kind kind)
{
	uint64_t number = cursor_uleb(cursor);
	struct gt_cfi_rule rule = read_expression(cursor, kind);

	if (number < GT_CFI_REGISTERS && !cursor->bad)
		run->row->rules[number] = rule;
}

static int64_t factored(const struct cfi_run *run, uint64_t value)
{
	return (int64_t)(value * (uint64_t)run->code->data_align);
}

static void define_cfa(struct cfi_run *run, struct elf_cursor *cursor, uint64_t number,
		       int64_t offset)
{
	if (number >= GT_CFI_REGISTERS)
		cursor->bad = true;
	else
		run->row->cfa = (struct gt_cfi_rule){
			.kind = GT_CFI_REGISTER, .reg = (uint8_t)number, .offset = offset};
}

static void restore_rule(struct cfi_run *run, uint64_t number)
{
	if (number < GT_CFI_REGISTERS)
		run->row->rules[number] = run->initial.rules[number];
}

static void restore_row(struct cfi_run *run, struct elf_cursor *cursor)
{
	if (run->remembered_count)
		*run->row = run->remembered[--run->remembered_count];
	else
		cursor->bad = true;
}

static void remember_row(struct cfi_run *run, struct elf_cursor *cursor)
{
	if (run->remembered_count < MAX_REMEMBERED)
		run->remembered[run->remembered_count++] = *run->row;
	else
		cursor->bad = true;
}

/* Executes an instruction that defines the canonical frame address; false: another one. */
static bool run_cfa(struct cfi_run *run, struct elf_cursor *cursor, uint8_t instruction)
{
	struct gt_cfi_rule *cfa = &run->row->cfa;
	uint64_t number;

	switch (instruction) {
	case DW_CFA_def_cfa:
		number = cursor_uleb(cursor);
		define_cfa(run, cursor, number, (int64_t)cursor_uleb(cursor));
		return true;
	case DW_CFA_def_cfa_sf:
		number = cursor_uleb(cursor);
		define_cfa(run, cursor, number, factored(run, (uint64_t)cursor_sleb(cursor)));
		return true;
	case DW_CFA_def_cfa_register:
		define_cfa(run, cursor, cursor_uleb(cursor),
			   cfa->kind == GT_CFI_REGISTER ? cfa->offset : 0);
		return true;
	case DW_CFA_def_cfa_offset:
		define_cfa(run, cursor, cfa->reg, (int64_t)cursor_uleb(cursor));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		define_cfa(run, cursor, cfa->reg, factored(run, (uint64_t)cursor_sleb(cursor)));
		return true;
	case DW_CFA_def_cfa_expression:
		*cfa = read_expression(cursor, GT_CFI_IS_EXPRESSION);
		return true;
	}
	return false;
}

/* Executes an instruction that defines a register's rule; false: another one. */
static bool run_rule(struct cfi_run *run, struct elf_cursor *cursor, uint8_t instruction)
{
	uint64_t number;

	switch (instruction) {
	case DW_CFA_offset_extended:
		number = cursor_uleb(cursor);
		set_rule(run, number, GT_CFI_AT, factored(run, cursor_uleb(cursor)));
		return true;
	case DW_CFA_offset_extended_sf:
		number = cursor_uleb(cursor);
		set_rule(run, number, GT_CFI_AT, factored(run, (uint64_t)cursor_sleb(cursor)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		number = cursor_uleb(cursor);
		set_rule(run, number, GT_CFI_AT, factored(run, -cursor_uleb(cursor)));
		return true;
	case DW_CFA_val_offset:
		number = cursor_uleb(cursor);
		set_rule(run, number, GT_CFI_IS, factored(run, cursor_uleb(cursor)));
		return true;
	case DW_CFA_val_offset_sf:
		number = cursor_uleb(cursor);
		set_rule(run, number, GT_CFI_IS, factored(run, (uint64_t)cursor_sleb(cursor)));
		return true;
	case DW_CFA_undefined:
		set_rule(run, cursor_uleb(cursor), GT_CFI_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		set_rule(run, cursor_uleb(cursor), GT_CFI_SAME, 0);
		return true;
	case DW_CFA_restore_extended:
		restore_rule(run, cursor_uleb(cursor));
		return true;
	case DW_CFA_expression:
		set_expression(run, cursor, GT_CFI_AT_EXPRESSION);
		return true;
	case DW_CFA_val_expression:
		set_expression(run, cursor, GT_CFI_IS_EXPRESSION);
		return true;
	}
	return false;
}

static void run_register(struct cfi_run *run, struct elf_cursor *cursor)
{
	uint64_t number = cursor_uleb(cursor), where = cursor_uleb(cursor);

	if (where >= GT_CFI_REGISTERS)
		set_rule(run, number, GT_CFI_UNDEFINED, 0);
	else if (number < GT_CFI_REGISTERS)
		run->row->rules[number] =
			(struct gt_cfi_rule){.kind = GT_CFI_REGISTER, .reg = (uint8_t)where};
}

static void run_other(struct cfi_run *run, struct elf_cursor *cursor, uint8_t instruction)
{
	switch (instruction) {
	case DW_CFA_nop:
		return;
	case DW_CFA_register:
		run_register(run, cursor);
		return;
	case DW_CFA_remember_state:
		remember_row(run, cursor);
		return;
	case DW_CFA_restore_state:
		restore_row(run, cursor);
		return;
	case DW_CFA_GNU_args_size:
		cursor_uleb(cursor);
		return;
#if defined(__aarch64__)
	case DW_CFA_AARCH64_negate_ra_state:
		run->row->is_signed = !run->row->is_signed;
		return;
#endif
	}
	cursor->bad = true;
}

/* Executes an instruction that starts a new row at *location; false: another one. */
static bool read_advance(const struct cfi_run *run, struct elf_cursor *cursor, uint8_t instruction,
			 uint64_t *location)
{
	uint64_t align = run->code->code_align;

	if ((instruction & 0xc0) == DW_CFA_advance_loc) {
		*location += (instruction & 0x3f) * align;
		return true;
	}
	switch (instruction) {
	case DW_CFA_set_loc:
		*location = cfi_pointer(cursor, run->code, run->code->encoding);
		return true;
	case DW_CFA_advance_loc1:
		*location += cursor_number(cursor, 1) * align;
		return true;
	case DW_CFA_advance_loc2:
		*location += cursor_number(cursor, 2) * align;
		return true;
	case DW_CFA_advance_loc4:
		*location += cursor_number(cursor, 4) * align;
		return true;
	}
	return false;
}

/* Visits the row that ends at the present location, or at the function's end. */
static void visit_row(struct cfi_run *run, uint64_t start)
{
	const struct cfi_visit *visit = run->visit;
	uint64_t end = run->location < visit->end ? run->location : visit->end;
	bool is_whole =
		run->row->cfa.kind == GT_CFI_REGISTER || run->row->cfa.kind == GT_CFI_IS_EXPRESSION;

	if (end > start && is_whole && !visit->visit(visit->context, start, end, run->row))
		run->stopped = true;
}

static int run_all(struct cfi_run *run, struct elf_cursor cursor)
{
	uint64_t start;

	while (cursor.at < cursor.end && !cursor.bad) {
		uint8_t instruction = (uint8_t)cursor_number(&cursor, 1);

		start = run->location;
		if (read_advance(run, &cursor, instruction, &run->location)) {
			if (run->visit && !cursor.bad)
				visit_row(run, start);
			if (run->location > run->address || run->stopped)
				break;
		} else if ((instruction & 0xc0) == DW_CFA_offset) {
			set_rule(run, instruction & 0x3f, GT_CFI_AT,
				 factored(run, cursor_uleb(&cursor)));
		} else if ((instruction & 0xc0) == DW_CFA_restore) {
			restore_rule(run, instruction & 0x3f);
		} else if (!run_cfa(run, &cursor, instruction) &&
			   !run_rule(run, &cursor, instruction)) {
			run_other(run, &cursor, instruction);
		}
	}
	return cursor.bad ? -EBADMSG : 0;
}

int cfi_run(const struct cfi_code *code, struct elf_cursor cie, struct elf_cursor fde,
	    uint64_t start, uint64_t address, struct gt_cfi_row *row)
{
	/* The remembered rows are written before they are read. */
	struct cfi_run run;
	int error;

	run.code = code;
	run.row = row;
	run.remembered_count = 0;
	run.location = start;
	run.address = address;
	run.visit = NULL;
	run.stopped = false;
	run.initial = *row;
	error = run_all(&run, cie);
	run.initial = *row;
	if (!error)
		error = run_all(&run, fde);
	if (!error && row->cfa.kind != GT_CFI_REGISTER && row->cfa.kind != GT_CFI_IS_EXPRESSION)
		error = -EBADMSG;
	return error;
}

bool cfi_visit(const struct cfi_code *code, struct elf_cursor cie, struct elf_cursor fde,
	       const struct cfi_visit *visit, struct gt_cfi_row *row)
{
	struct cfi_run run;

	run.code = code;
	run.row = row;
	run.remembered_count = 0;
	run.location = visit->start;
	run.address = visit->end - 1;
	run.visit = NULL;
	run.stopped = false;
	run.initial = *row;
	if (run_all(&run, cie))
		return true;
	run.initial = *row;
	run.visit = visit;
	if (!run_all(&run, fde) && run.location < visit->end && !run.stopped) {
		uint64_t start = run.location;

		run.location = visit->end;
		visit_row(&run, start);
	}
	return !run.stopped;
}
