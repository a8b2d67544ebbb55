/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Narrowing: 32 bits in place of 64. eBPF has registers of 64 bits only, and most operations of 64
 * bits are two instructions on a GPU.
 *
 * Instruction selection uses operations of 32 bits where they have the same result. A pass over
 * the list then finds .b32 registers that hold the lower half of a .b64, so that it is not
 * converted from there: ptxas does not see through a value that is widened and narrowed again, and
 * drops the .b64 if nothing else reads it. This is local copy propagation (Muchnick, Advanced
 * Compiler Design and Implementation, 12.5).
 */
#include <errno.h>
#include <string.h>

#include "gpubpf/ptxgen/private.h"

/* ---- operations of 32 bits ---- */

bool gt_ptxgen_fits_32(const struct gt_ptxgen *gen, unsigned number)
{
	return gt_ptxgen_max(gen, number) <= UINT32_MAX;
}

/* The largest value of an instruction's right side; a negative constant is a large one. */
static uint64_t max_right(const struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	return BPF_SRC(insn->code) == BPF_K ? (uint64_t)(int64_t)insn->imm
					    : gt_ptxgen_max(gen, insn->src_reg);
}

bool gt_ptxgen_sides_fit_32(const struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	return gt_ptxgen_fits_32(gen, insn->dst_reg) && max_right(gen, insn) <= UINT32_MAX;
}

bool gt_ptxgen_is_narrow_alu(const struct gt_ptxgen *gen, const struct bpf_insn *insn)
{
	switch (BPF_OP(insn->code)) {
	case BPF_AND:
		return gt_ptxgen_fits_32(gen, insn->dst_reg) || max_right(gen, insn) <= UINT32_MAX;
	case BPF_RSH:
		return gt_ptxgen_fits_32(gen, insn->dst_reg);
	case BPF_ADD:
	case BPF_MUL:
	case BPF_OR:
	case BPF_XOR:
	case BPF_LSH:
		return gt_ptxgen_sides_fit_32(gen, insn) &&
		       gt_ptxgen_max_result(gen, insn) <= UINT32_MAX;
	case BPF_DIV:
	case BPF_MOD:
		return gt_ptxgen_sides_fit_32(gen, insn);
	default:
		return false;
	}
}

/* ---- the pass ---- */

enum {
	TEMPORARY_SLOT = GT_BPF_REGISTERS, /* of the temporary that was widened last */
};

/* A .b64 whose lower half is in a .b32. */
struct half_pair {
	bool known;
	size_t made; /* the row that made it */
	struct gt_ptxgen_value wide, low;
};

/* Consecutive rows of one eBPF instruction: jumps to its local labels come from these rows. */
struct row_region {
	size_t start, end;
	unsigned written; /* bit n: r<n> */
};

struct narrowing_pass {
	struct gt_ptxgen_list *list;
	struct half_pair pairs[TEMPORARY_SLOT + 1]; /* of eBPF registers, and of one temporary */
	struct row_region region;
	uint32_t *renamed; /* .b32 temporaries that are others: the other's number */
	struct label_uses {
		size_t first, last; /* rows that jump to it */
	} * labels;
};

static unsigned slot_of(struct gt_ptxgen_value wide)
{
	switch (gt_ptxgen_bank_of(wide)) {
	case GT_PTXGEN_ARGUMENT:
	case GT_PTXGEN_SAVED:
		return gt_ptxgen_number_of(wide);
	default:
		return TEMPORARY_SLOT;
	}
}

static const struct half_pair *find_pair(const struct narrowing_pass *pass,
					 struct gt_ptxgen_value wide)
{
	const struct half_pair *pair;

	if (wide.class != GT_PTXGEN_B64)
		return NULL;
	pair = &pass->pairs[slot_of(wide)];
	return pair->known && gt_ptxgen_is_same(pair->wide, wide) ? pair : NULL;
}

static void forget_pairs(struct narrowing_pass *pass)
{
	memset(pass->pairs, 0, sizeof(pass->pairs));
}

static bool is_temporary_half(struct gt_ptxgen_value value)
{
	return value.class == GT_PTXGEN_B32 && gt_ptxgen_bank_of(value) == GT_PTXGEN_TEMPORARY;
}

static void rename_operands(const struct narrowing_pass *pass, struct gt_ptxgen_row *row)
{
	for (unsigned i = 0; i < row->operand_count; i++) {
		struct gt_ptxgen_value *value = &row->operands[i].value;

		if (is_temporary_half(*value))
			value->id = gt_ptxgen_id(GT_PTXGEN_TEMPORARY, 0,
						 pass->renamed[gt_ptxgen_number_of(*value)]);
	}
}

/* ---- where control flow meets ---- */

static void enter_region(struct narrowing_pass *pass, size_t at)
{
	const struct gt_ptxgen_row *rows = pass->list->rows.items;
	struct row_region *region = &pass->region;

	*region = (struct row_region){.start = at, .end = at};
	for (; region->end < pass->list->rows.count && rows[region->end].insn == rows[at].insn;
	     region->end++)
		for (unsigned i = 0; i < gt_ptxgen_written(&rows[region->end]); i++) {
			unsigned slot = slot_of(rows[region->end].operands[i].value);

			if (slot != TEMPORARY_SLOT)
				region->written |= 1u << slot;
		}
}

/*
 * At a local label of a region that is entered at its first row alone, pairs from before hold if
 * the region does not write them. Elsewhere nothing is known.
 */
static void pass_label(struct narrowing_pass *pass, struct gt_ptxgen_value label)
{
	const struct label_uses *uses;

	if (gt_ptxgen_bank_of(label) != GT_PTXGEN_LOCAL_LABEL) {
		forget_pairs(pass);
		return;
	}
	uses = &pass->labels[gt_ptxgen_number_of(label)];
	if (uses->first < pass->region.start || uses->last >= pass->region.end) {
		forget_pairs(pass);
		return;
	}
	for (unsigned i = 0; i < gt_countof(pass->pairs); i++)
		if (pass->pairs[i].made >= pass->region.start || pass->region.written >> i & 1)
			pass->pairs[i].known = false;
}

static void find_label_uses(struct narrowing_pass *pass)
{
	const struct gt_ptxgen_row *row = pass->list->rows.items;

	for (uint32_t i = 0; i < pass->list->labels; i++)
		pass->labels[i] = (struct label_uses){SIZE_MAX, 0};
	for (size_t i = 0; i < pass->list->rows.count; i++, row++) {
		struct gt_ptxgen_value label = row->operands[0].value;
		struct label_uses *uses;

		if (row->kind != GT_PTXGEN_INSTRUCTION || !row->operand_count ||
		    label.class != GT_PTXGEN_LABEL ||
		    gt_ptxgen_bank_of(label) != GT_PTXGEN_LOCAL_LABEL)
			continue;
		uses = &pass->labels[gt_ptxgen_number_of(label)];
		uses->first = i < uses->first ? i : uses->first;
		uses->last = i;
	}
}

/* ---- rows ---- */

/* The .b32 that a row makes the lower half of its .b64. */
static bool find_new_half(const struct narrowing_pass *pass, const struct gt_ptxgen_row *row,
			  struct gt_ptxgen_value *ret_low)
{
	struct gt_ptxgen_value source = row->operands[1].value;
	const struct half_pair *pair;

	if (row->operand_count != 2 || row->opcode.suffix || row->operands[0].form ||
	    row->operands[0].value.class != GT_PTXGEN_B64 || row->operands[1].form ||
	    row->guard.predicate.class == GT_PTXGEN_PREDICATE)
		return false;
	if (is_temporary_half(source) && !strcmp(row->opcode.name, "cvt.u64.u32")) {
		*ret_low = source;
		return true;
	}
	pair = strcmp(row->opcode.name, "mov.b64") ? NULL : find_pair(pass, source);
	if (pair)
		*ret_low = pair->low;
	return pair != NULL;
}

/* Pairs of registers that a row writes do not hold after it. */
static void forget_written(struct narrowing_pass *pass, const struct gt_ptxgen_row *row)
{
	for (unsigned i = 0; i < gt_ptxgen_written(row); i++) {
		struct gt_ptxgen_value value = row->operands[i].value;

		if (find_pair(pass, value))
			pass->pairs[slot_of(value)].known = false;
		for (unsigned j = 0; is_temporary_half(value) && j < gt_countof(pass->pairs); j++)
			if (gt_ptxgen_is_same(pass->pairs[j].low, value))
				pass->pairs[j].known = false;
	}
}

static void pass_instruction(struct narrowing_pass *pass, size_t at)
{
	const struct gt_ptxgen_row *row = &pass->list->rows.items[at];
	struct gt_ptxgen_value low, wide = row->operands[0].value;
	bool is_pair = find_new_half(pass, row, &low);

	forget_written(pass, row);
	if (is_pair)
		pass->pairs[slot_of(wide)] = (struct half_pair){true, at, wide, low};
}

/* Lowers a row that reads a lower half. */
static void lower_half(struct narrowing_pass *pass, size_t at)
{
	struct gt_ptxgen_row *row = &pass->list->rows.items[at];
	struct gt_ptxgen_value low = row->operands[0].value, wide = row->operands[1].value;
	const struct half_pair *pair = find_pair(pass, wide);
	bool never_changes = row->kind == GT_PTXGEN_LOW_HALF_USE;

	row->kind = GT_PTXGEN_INSTRUCTION;
	row->opcode.name = "cvt.u32.u64";
	if (pair && never_changes) {
		row->kind = GT_PTXGEN_REMOVED;
		pass->renamed[gt_ptxgen_number_of(low)] = gt_ptxgen_number_of(pair->low);
	} else if (pair) {
		row->opcode.name = "mov.b32";
		row->operands[1].value = pair->low;
	} else if (never_changes) {
		pass->pairs[slot_of(wide)] = (struct half_pair){true, at, wide, low};
	}
}

static void narrow_row(struct narrowing_pass *pass, size_t at)
{
	struct gt_ptxgen_row *row = &pass->list->rows.items[at];

	if (at >= pass->region.end)
		enter_region(pass, at);
	rename_operands(pass, row);
	switch (row->kind) {
	case GT_PTXGEN_LABEL_ROW:
		pass_label(pass, row->operands[0].value);
		break;
	case GT_PTXGEN_FRAME_BEGIN:
	case GT_PTXGEN_FRAME_END:
		forget_pairs(pass);
		break;
	case GT_PTXGEN_LOW_HALF:
	case GT_PTXGEN_LOW_HALF_USE:
		lower_half(pass, at);
		break;
	case GT_PTXGEN_INSTRUCTION:
		pass_instruction(pass, at);
		break;
	case GT_PTXGEN_REMOVED:
		break;
	}
}

int gt_ptxgen_narrow(struct gt_ptxgen_list *list)
{
	uint32_t temporaries = list->temporaries[GT_PTXGEN_B32];
	gt_autofree uint32_t *renamed = calloc(temporaries + 1, sizeof(*renamed));
	gt_autofree struct label_uses *labels = calloc(list->labels + 1, sizeof(*labels));
	struct narrowing_pass pass = {.list = list, .renamed = renamed, .labels = labels};

	if (!renamed || !labels)
		return -ENOMEM;
	for (uint32_t i = 0; i < temporaries; i++)
		renamed[i] = i;
	find_label_uses(&pass);
	for (size_t i = 0; i < list->rows.count; i++)
		narrow_row(&pass, i);
	return 0;
}
