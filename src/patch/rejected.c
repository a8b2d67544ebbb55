/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Instructions of which programs expect to see something, and that cannot be sites. */
#include "base/clean.h"
#include "patch/site.h"

#define KIND(name) (1u << GT_KIND_##name)
#define MATRIX "matrices that a warp loads or stores together (ldmatrix, wmma.load …) are no sites"
#define MULTIMEM "accesses to several GPUs at once (multimem) are no sites"

static const struct patch_rejected_row {
	enum gt_ptx_opcode opcode;
	enum gt_ptx_modifier_id modifier; /* UNKNOWN: in all of its forms */
	uint32_t kinds;
	const char *reason;
} rejected_rows[] = {
	{GT_PTX_OP_BRX, GT_PTX_MOD_UNKNOWN, KIND(BRANCH) | KIND(LOOP),
	 "branches to one of several targets (brx.idx) are no sites"},
	{GT_PTX_OP_CP, GT_PTX_MOD_BULK, KIND(COPY), "bulk copies (cp.async.bulk) are no sites"},
	{GT_PTX_OP_CP, GT_PTX_MOD_REDUCE, KIND(COPY), "bulk copies (cp.async.bulk) are no sites"},
	{GT_PTX_OP_ST, GT_PTX_MOD_BULK, KIND(STORE), "stores of many bytes (st.bulk) are no sites"},
	{GT_PTX_OP_LDMATRIX, GT_PTX_MOD_UNKNOWN, KIND(LOAD) | KIND(LOAD_BEGIN), MATRIX},
	{GT_PTX_OP_WMMA, GT_PTX_MOD_LOAD, KIND(LOAD) | KIND(LOAD_BEGIN), MATRIX},
	{GT_PTX_OP_WMMA, GT_PTX_MOD_STORE, KIND(STORE), MATRIX},
	{GT_PTX_OP_STMATRIX, GT_PTX_MOD_UNKNOWN, KIND(STORE), MATRIX},
	{GT_PTX_OP_MULTIMEM, GT_PTX_MOD_LD_REDUCE, KIND(LOAD) | KIND(LOAD_BEGIN), MULTIMEM},
	{GT_PTX_OP_MULTIMEM, GT_PTX_MOD_ST, KIND(STORE), MULTIMEM},
	{GT_PTX_OP_MULTIMEM, GT_PTX_MOD_RED, KIND(ATOMIC), MULTIMEM},
};

/* Whether an asynchronous operation copies something: others wait for copies, or prefetch. */
static bool copies_data(const struct gt_ptx_form *form)
{
	return !gt_ptx_form_has(form, GT_PTX_MOD_COMMIT_GROUP) &&
	       !gt_ptx_form_has(form, GT_PTX_MOD_WAIT_GROUP) &&
	       !gt_ptx_form_has(form, GT_PTX_MOD_PREFETCH);
}

static bool is_of_row(const struct patch_rejected_row *row, const struct gt_ptx_form *form)
{
	return row->opcode == form->opcode && copies_data(form) &&
	       (row->modifier == GT_PTX_MOD_UNKNOWN || gt_ptx_form_has(form, row->modifier));
}

uint32_t gt_patch_rejected_kinds(const struct gt_ptx_statement *statement, const char **ret_reason)
{
	uint32_t kinds = gt_patch_statement_kinds(statement);

	if (statement->kind != GT_PTX_STATEMENT_INSTRUCTION)
		return 0;
	if (kinds & KIND(BARRIER) && !(kinds & KIND(BARRIER_END))) {
		*ret_reason = "the barrier overwrites its own predicate";
		return KIND(BARRIER_END);
	}
	for (size_t i = 0; i < gt_countof(rejected_rows); i++) {
		if (!is_of_row(&rejected_rows[i], statement->instruction.form))
			continue;
		*ret_reason = rejected_rows[i].reason;
		return rejected_rows[i].kinds;
	}
	return 0;
}
