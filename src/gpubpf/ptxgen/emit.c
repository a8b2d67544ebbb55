/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rows of the list: instructions, registers, labels; declarations of the module. */
#include <errno.h>
#include <string.h>

#include "gpubpf/ptxgen/private.h"

/* The characters of a row's text, at least: "\t", ";\n", names of one letter and one digit. */
static size_t min_text(const struct gt_ptxgen *gen, const struct gt_ptxgen_row *row)
{
	size_t length = 4;

	for (unsigned i = 0; i < row->operand_count; i++)
		length += row->operands[i].value.class < GT_PTXGEN_REGISTER_CLASSES
				  ? gen->prefix_length + 4
				  : 2;
	return length;
}

void gt_ptxgen_append(struct gt_ptxgen *gen, const struct gt_ptxgen_row *row)
{
	if (gen->list.failed)
		return;
	gen->list.failed = gt_vec_push(&gen->list.rows, *row) != 0;
	if (gen->list.failed)
		return;
	gen->list.rows.items[gen->list.rows.count - 1].insn = gen->at;
	gen->text_size += min_text(gen, row);
}

const char *gt_ptxgen_type(char letter, unsigned bits)
{
	static const char *const types[3][4] = {
		{"b8", "b16", "b32", "b64"},
		{"s8", "s16", "s32", "s64"},
		{"u8", "u16", "u32", "u64"},
	};
	unsigned kind = letter == 'b' ? 0 : letter == 's' ? 1 : 2;

	return types[kind][__builtin_ctz(bits) - 3];
}

struct gt_ptxgen_opcode gt_ptxgen_typed(const char *name, char letter, unsigned bits)
{
	return (struct gt_ptxgen_opcode){.name = name, .suffix = gt_ptxgen_type(letter, bits)};
}

struct gt_ptxgen_opcode gt_ptxgen_memory(const char *name, enum gt_ptxgen_space space, char letter,
					 unsigned bits)
{
	struct gt_ptxgen_opcode opcode = gt_ptxgen_typed(name, letter, bits);

	opcode.space = space;
	return opcode;
}

void gt_ptxgen_branch(struct gt_ptxgen *gen, struct gt_ptxgen_value label)
{
	gt_ptxgen_emit(gen, "bra", label);
}

void gt_ptxgen_branch_if(struct gt_ptxgen *gen, struct gt_ptxgen_value predicate,
			 struct gt_ptxgen_value label)
{
	gt_ptxgen_emit_if(gen, gt_ptxgen_if(predicate), "bra", label);
}

void gt_ptxgen_branch_unless(struct gt_ptxgen *gen, struct gt_ptxgen_value predicate,
			     struct gt_ptxgen_value label)
{
	gt_ptxgen_emit_if(gen, gt_ptxgen_unless(predicate), "bra", label);
}

void gt_ptxgen_emit_label(struct gt_ptxgen *gen, struct gt_ptxgen_value label)
{
	gt_ptxgen_append(gen, &(struct gt_ptxgen_row){.kind = GT_PTXGEN_LABEL_ROW,
						      .operand_count = 1,
						      .operands = {gt_ptxgen_plain(label)}});
}

static struct gt_ptxgen_operand first_of_pair(struct gt_ptxgen_value value)
{
	return (struct gt_ptxgen_operand){value, GT_PTXGEN_PAIR_FIRST, 0};
}

static struct gt_ptxgen_operand second_of_pair(struct gt_ptxgen_value value)
{
	return (struct gt_ptxgen_operand){value, GT_PTXGEN_PAIR_SECOND, 0};
}

void gt_ptxgen_split(struct gt_ptxgen *gen, struct gt_ptxgen_value low, struct gt_ptxgen_value high,
		     struct gt_ptxgen_value wide)
{
	gt_ptxgen_emit(gen, "mov.b64", first_of_pair(low), second_of_pair(high), wide);
}

void gt_ptxgen_join(struct gt_ptxgen *gen, struct gt_ptxgen_value wide, struct gt_ptxgen_value low,
		    struct gt_ptxgen_value high)
{
	gt_ptxgen_emit(gen, "mov.b64", wide, first_of_pair(low), second_of_pair(high));
}

/* ---- registers and labels ---- */

struct gt_ptxgen_value gt_ptxgen_temporary(struct gt_ptxgen *gen, enum gt_ptxgen_class class)
{
	uint32_t number = gen->list.temporaries[class]++;

	return (struct gt_ptxgen_value){class, gt_ptxgen_id(GT_PTXGEN_TEMPORARY, 0, number)};
}

struct gt_ptxgen_value gt_ptxgen_label(struct gt_ptxgen *gen)
{
	return (struct gt_ptxgen_value){GT_PTXGEN_LABEL,
					gt_ptxgen_id(GT_PTXGEN_LOCAL_LABEL, 0, gen->list.labels++)};
}

struct gt_ptxgen_value gt_ptxgen_insn_label(const struct gt_ptxgen *gen, uint32_t insn)
{
	return (struct gt_ptxgen_value){
		GT_PTXGEN_LABEL, gt_ptxgen_id(GT_PTXGEN_INSN_LABEL, gen->frame->number, insn)};
}

struct gt_ptxgen_value gt_ptxgen_end_label(const struct gt_ptxgen *gen)
{
	return (struct gt_ptxgen_value){GT_PTXGEN_LABEL,
					gt_ptxgen_id(GT_PTXGEN_END_LABEL, gen->frame->number, 0)};
}

struct gt_ptxgen_value gt_ptxgen_reg64(const struct gt_ptxgen *gen, unsigned number)
{
	uint64_t id = number <= 5 ? gt_ptxgen_id(GT_PTXGEN_ARGUMENT, 0, number)
				  : gt_ptxgen_id(GT_PTXGEN_SAVED, gen->frame->number, number);

	return (struct gt_ptxgen_value){GT_PTXGEN_B64, id};
}

struct gt_ptxgen_value gt_ptxgen_of_group(enum gt_ptxgen_bank bank)
{
	return (struct gt_ptxgen_value){bank == GT_PTXGEN_IS_LEADER ? GT_PTXGEN_PREDICATE
								    : GT_PTXGEN_B32,
					gt_ptxgen_id(bank, 0, 0)};
}

/* ---- halves of registers ---- */

static void append_half(struct gt_ptxgen *gen, enum gt_ptxgen_row_kind kind,
			struct gt_ptxgen_value low, struct gt_ptxgen_value wide)
{
	gt_ptxgen_append(gen, &(struct gt_ptxgen_row){
				      .kind = kind,
				      .operand_count = 2,
				      .operands = {gt_ptxgen_plain(low), gt_ptxgen_plain(wide)},
			      });
}

struct gt_ptxgen_value gt_ptxgen_low_half(struct gt_ptxgen *gen, struct gt_ptxgen_value wide)
{
	struct gt_ptxgen_value low = gt_ptxgen_b32(gen);

	append_half(gen, GT_PTXGEN_LOW_HALF, low, wide);
	return low;
}

struct gt_ptxgen_value gt_ptxgen_reg32(struct gt_ptxgen *gen, unsigned number)
{
	struct gt_ptxgen_value low = gt_ptxgen_b32(gen);

	append_half(gen, GT_PTXGEN_LOW_HALF_USE, low, gt_ptxgen_reg64(gen, number));
	return low;
}

struct gt_ptxgen_value gt_ptxgen_high_half(struct gt_ptxgen *gen, unsigned number)
{
	struct gt_ptxgen_value low = gt_ptxgen_b32(gen), high = gt_ptxgen_b32(gen);

	gt_ptxgen_split(gen, low, high, gt_ptxgen_reg64(gen, number));
	return high;
}

struct gt_ptxgen_value gt_ptxgen_widen(struct gt_ptxgen *gen, struct gt_ptxgen_value low)
{
	struct gt_ptxgen_value wide = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "cvt.u64.u32", wide, low);
	return wide;
}

void gt_ptxgen_write_reg32(struct gt_ptxgen *gen, unsigned number, struct gt_ptxgen_value low)
{
	gt_ptxgen_emit(gen, "cvt.u64.u32", gt_ptxgen_reg64(gen, number), low);
}

void gt_ptxgen_write_reg64(struct gt_ptxgen *gen, unsigned number, struct gt_ptxgen_value value)
{
	gt_ptxgen_emit(gen, "mov.b64", gt_ptxgen_reg64(gen, number), value);
}

/* ---- the module ---- */

struct gt_strbuf *gt_ptxgen_declare(struct gt_ptxgen *gen, const char *name)
{
	struct gt_translation *translation = gen->translation;
	gt_auto_strbuf whole = GT_STRBUF_INIT;
	char *kept;

	gt_strbuf_printf(&whole, "%s%s", gen->prefix, name);
	gt_vec_each (declared, &translation->declared)
		if (!strcmp(*declared, gt_strbuf_string(&whole)))
			return NULL;
	kept = gt_strbuf_steal(&whole);
	if (!kept || gt_vec_push(&translation->declared, kept)) {
		free(kept);
		translation->declarations.failed = true;
	}
	return &translation->declarations;
}

int gt_ptxgen_fail(struct gt_ptxgen *gen, int error, const char *format, ...)
{
	char place[32], text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(place, sizeof(place), "insn %u", gen->at);
	if (!gen->error)
		gen->error = error;
	return gt_diag(gen->diag, error, "translate", place, "%s", text);
}
