/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs: validity of instructions, targets of jumps, reading hex digits. */
#include "gpubpf/program.h"

#include <errno.h>
#include <string.h>

#include <bpf/btf.h>

#include "base/text.h"
#include "base/vec.h"

void gt_bpf_program_clear(struct gt_bpf_program *program)
{
	free(program->name);
	free(program->section);
	free(program->insns);
	free(program->problem);
	free(program->lines);
	*program = (struct gt_bpf_program){0};
}

void gt_bpf_object_free(struct gt_bpf_object *object)
{
	if (!object)
		return;
	for (uint32_t i = 0; i < object->program_count; i++)
		gt_bpf_program_clear(&object->programs[i]);
	for (uint32_t i = 0; i < object->map_count; i++) {
		free(object->maps[i].initial);
		free(object->maps[i].presets);
		free(object->maps[i].problem);
	}
	for (uint32_t i = 0; i < object->string_count; i++)
		free(object->strings[i]);
	for (uint32_t i = 0; i < object->host_program_count; i++) {
		free(object->host_programs[i].name);
		free(object->host_programs[i].section);
	}
	free(object->programs);
	free(object->host_programs);
	free(object->maps);
	free(object->strings);
	btf__free(object->types);
	gt_file_free(&object->file);
	free(object->path);
	free(object);
}

const struct gt_bpf_line *gt_bpf_line_of(const struct gt_bpf_program *program, uint32_t insn)
{
	const struct gt_bpf_line *found = NULL;

	for (uint32_t i = 0; i < program->line_count && program->lines[i].insn <= insn; i++)
		found = &program->lines[i];
	return found && found->line ? found : NULL;
}

int64_t gt_bpf_jump_target(const struct bpf_insn *insns, uint32_t at)
{
	const struct bpf_insn *insn = &insns[at];

	if (insn->code == (BPF_JMP32 | BPF_JA) || gt_bpf_is_subprogram_call(insn) ||
	    gt_bpf_is_function(insn))
		return (int64_t)at + 1 + insn->imm;
	return (int64_t)at + 1 + insn->off;
}

/* The defined opcodes. */
static bool is_opcode(uint8_t code)
{
	unsigned operation = BPF_OP(code), mode = BPF_MODE(code);
	bool source = BPF_SRC(code) == BPF_X, wide_size = BPF_SIZE(code) == BPF_DW;

	switch (BPF_CLASS(code)) {
	case BPF_ALU:
		return operation <= BPF_END && !(operation == BPF_NEG && source);
	case BPF_ALU64:
		return operation <= BPF_END &&
		       !((operation == BPF_NEG || operation == BPF_END) && source);
	case BPF_JMP:
		return (operation <= BPF_JSLE || operation == BPF_JCOND) &&
		       !(source && (operation == BPF_JA || operation == BPF_CALL ||
				    operation == BPF_EXIT || operation == BPF_JCOND));
	case BPF_JMP32:
		return operation <= BPF_JSLE && operation != BPF_CALL && operation != BPF_EXIT &&
		       !(source && operation == BPF_JA);
	case BPF_LD:
		return mode == BPF_IMM ? wide_size
				       : (mode == BPF_ABS || mode == BPF_IND) && !wide_size;
	case BPF_LDX:
		return mode == BPF_MEM || (mode == BPF_MEMSX && !wide_size);
	case BPF_ST:
		return mode == BPF_MEM;
	default:
		return mode == BPF_MEM || mode == BPF_ATOMIC;
	}
}

/* The texts are those of Linux. */
static int reject_insn(struct gt_diag *diag, uint32_t at, const char *what,
		       const struct bpf_insn *insn)
{
	char place[32];

	snprintf(place, sizeof(place), "insn %u", at);
	if (!is_opcode(insn->code))
		return gt_diag(diag, -EINVAL, "program", place, "%s %02x%s", what, insn->code,
			       insn->code == (BPF_JMP | BPF_CALL | BPF_X)
				       ? ": a call through a pointer, which -O2 makes a direct one"
				       : "");
	return gt_diag(diag, -EINVAL, "program", place, "%s (opcode 0x%02x)", what, insn->code);
}

/* A number is appended to these. */
static const char invalid_shift[] = "invalid shift";
static const char invalid_may_goto[] = "invalid may_goto imm";
static const char no_such_atomic[] = "BPF_ATOMIC uses invalid atomic opcode";

/* addr_space_cast of Linux 6.10. */
static bool is_cast(const struct bpf_insn *insn)
{
	return insn->code == (BPF_ALU64 | BPF_MOV | BPF_X) && insn->off == 1;
}

static const char *check_alu(const struct bpf_insn *insn)
{
	unsigned operation = BPF_OP(insn->code);
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	bool source = BPF_SRC(insn->code) == BPF_X;

	if (operation == BPF_END) {
		if (insn->off || insn->src_reg)
			return "BPF_END uses reserved fields";
		if (insn->imm != 16 && insn->imm != 32 && insn->imm != 64)
			return "BPF_END uses reserved fields";
		return NULL;
	}
	if (operation == BPF_NEG)
		return insn->src_reg || insn->off || insn->imm ? "BPF_NEG uses reserved fields"
							       : NULL;
	if (is_cast(insn))
		return insn->imm == 1 || insn->imm == 1 << 16
			       ? "addr_space_cast insn can only be used in a program that has an "
				 "associated arena: GPUs have none"
			       : "addr_space_cast insn can only convert between address space 1 "
				 "and 0";
	if (source ? insn->imm : insn->src_reg)
		return operation == BPF_MOV ? "BPF_MOV uses reserved fields"
					    : "BPF_ALU uses reserved fields";
	if (operation == BPF_MOV) {
		bool fits = !insn->off || (source && (insn->off == 8 || insn->off == 16 ||
						      (insn->off == 32 && wide)));

		return fits ? NULL : "BPF_MOV uses reserved fields";
	}
	if (operation == BPF_DIV || operation == BPF_MOD) {
		if (insn->off != 0 && insn->off != 1)
			return "BPF_ALU uses reserved fields";
		return !source && !insn->imm ? "div by zero" : NULL;
	}
	if (insn->off)
		return "BPF_ALU uses reserved fields";
	if (!source && (operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH) &&
	    (insn->imm < 0 || insn->imm >= (wide ? 64 : 32)))
		return invalid_shift;
	return NULL;
}

static const char *check_jump(const struct bpf_insn *insn)
{
	unsigned operation = BPF_OP(insn->code);
	bool wide = BPF_CLASS(insn->code) == BPF_JMP;
	bool source = BPF_SRC(insn->code) == BPF_X;

	switch (operation) {
	case BPF_JA:
		if (insn->src_reg || insn->dst_reg || (wide ? insn->imm : insn->off))
			return "BPF_JA uses reserved fields";
		return NULL;
	case BPF_CALL:
		if (insn->off || insn->dst_reg || insn->src_reg > BPF_PSEUDO_KFUNC_CALL)
			return "BPF_CALL uses reserved fields";
		if (insn->src_reg == BPF_PSEUDO_KFUNC_CALL)
			return "functions of the kernel cannot be called: gputap/bpf.h has bpf_for "
			       "and "
			       "bpf_repeat without them";
		return NULL;
	case BPF_EXIT:
		return insn->imm || insn->src_reg || insn->dst_reg ? "BPF_EXIT uses reserved fields"
								   : NULL;
	case BPF_JCOND:
		return insn->src_reg || insn->dst_reg || insn->imm ? invalid_may_goto : NULL;
	}
	return (source ? insn->imm : insn->src_reg) ? "BPF_JMP/JMP32 uses reserved fields" : NULL;
}

static const char *check_atomic(const struct bpf_insn *insn)
{
	switch (insn->imm) {
	case BPF_LOAD_ACQ:
	case BPF_STORE_REL:
		return NULL;
	case BPF_ADD:
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
	case BPF_ADD | BPF_FETCH:
	case BPF_AND | BPF_FETCH:
	case BPF_OR | BPF_FETCH:
	case BPF_XOR | BPF_FETCH:
	case BPF_XCHG:
	case BPF_CMPXCHG:
		return BPF_SIZE(insn->code) == BPF_W || BPF_SIZE(insn->code) == BPF_DW
			       ? NULL
			       : "invalid atomic operand size";
	}
	return no_such_atomic;
}

static const char *check_memory(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		return insn->imm ? "BPF_LDX uses reserved fields" : NULL;
	case BPF_ST:
		return insn->src_reg ? "BPF_ST uses reserved fields" : NULL;
	default:
		if (BPF_MODE(insn->code) == BPF_ATOMIC)
			return check_atomic(insn);
		return insn->imm ? "BPF_STX uses reserved fields" : NULL;
	}
}

/* Why GPUs do not support an ld_imm64, by its src_reg. */
static const char *const immediates[] = {
	[BPF_PSEUDO_MAP_FD] = "a map by its file descriptor is not for the GPU: by its number "
			      "(src_reg 5) it is",
	[BPF_PSEUDO_MAP_VALUE] = "a map's value by a file descriptor is not for the GPU: by the "
				 "map's number (src_reg 6) it is",
	[BPF_PSEUDO_BTF_ID] = "variables of the kernel are not for the GPU",
	[GT_BPF_IMM_MAP_INDEX_VALUE] = NULL,
};

static const char *check_wide(const struct bpf_insn *insns, uint32_t count, uint32_t at)
{
	const struct bpf_insn *first = &insns[at], *second = first + 1;

	if (!gt_bpf_is_wide(first))
		return "packet loads are not for the GPU";
	if (at + 1 >= count || second->code || second->dst_reg || second->src_reg || second->off)
		return "invalid bpf_ld_imm64 insn";
	if (first->off)
		return "BPF_LD_IMM64 uses reserved fields";
	if (first->src_reg >= gt_countof(immediates) ||
	    (first->src_reg == GT_BPF_IMM_MAP_INDEX && second->imm))
		return "unrecognized bpf_ld_imm64 insn";
	if (immediates[first->src_reg])
		return immediates[first->src_reg];
	return NULL;
}

int gt_bpf_check_insn(const struct bpf_insn *insns, uint32_t count, uint32_t at,
		      struct gt_diag *diag)
{
	const struct bpf_insn *insn = &insns[at];
	const char *reason;
	char text[64];

	if (!is_opcode(insn->code))
		return reject_insn(diag, at, "unknown opcode", insn);
	if (insn->dst_reg >= GT_BPF_REGISTERS ||
	    (insn->src_reg >= GT_BPF_REGISTERS && BPF_CLASS(insn->code) != BPF_LD)) {
		snprintf(text, sizeof(text), "R%u is invalid",
			 insn->dst_reg >= GT_BPF_REGISTERS ? insn->dst_reg : insn->src_reg);
		return reject_insn(diag, at, text, insn);
	}
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		reason = check_alu(insn);
		break;
	case BPF_JMP:
	case BPF_JMP32:
		reason = check_jump(insn);
		break;
	case BPF_LD:
		reason = check_wide(insns, count, at);
		break;
	default:
		reason = check_memory(insn);
	}
	if (reason == no_such_atomic || reason == invalid_shift || reason == invalid_may_goto) {
		snprintf(text, sizeof(text), reason == no_such_atomic ? "%s %02x" : "%s %d", reason,
			 insn->imm);
		reason = text;
	}
	return reason ? reject_insn(diag, at, reason, insn) : 0;
}

/* Whether RFC 9669 defines the instruction and Linux rejects it. */
static bool is_not_canonical(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code), operation = BPF_OP(insn->code);

	if ((class != BPF_ALU && class != BPF_ALU64) || BPF_SRC(insn->code) != BPF_K ||
	    insn->src_reg)
		return false;
	if (operation == BPF_DIV || operation == BPF_MOD)
		return !insn->imm && (insn->off == 0 || insn->off == 1);
	return (operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH) &&
	       (insn->imm < 0 || insn->imm >= (class == BPF_ALU64 ? 64 : 32));
}

void gt_bpf_canonicalize(struct bpf_insn *insns, uint32_t count)
{
	for (uint32_t at = 0; at < count; at++) {
		struct bpf_insn *insn = &insns[at];
		unsigned class = BPF_CLASS(insn->code);

		if (is_not_canonical(insn)) {
			if (BPF_OP(insn->code) == BPF_DIV) {
				*insn = (struct bpf_insn){.code = (uint8_t)(class | BPF_MOV),
							  .dst_reg = insn->dst_reg};
			} else if (BPF_OP(insn->code) == BPF_MOD) {
				*insn = (struct bpf_insn){
					.code = (uint8_t)(class | BPF_MOV | BPF_X),
					.dst_reg = insn->dst_reg,
					.src_reg = insn->dst_reg};
			} else {
				insn->imm &= class == BPF_ALU64 ? 63 : 31;
			}
		}
		at += gt_bpf_is_wide(insn);
	}
}

int gt_bpf_read_hex(const char *text, struct bpf_insn **ret_insns, uint32_t *ret_count,
		    struct gt_diag *diag)
{
	gt_autofree uint8_t *bytes = NULL;
	size_t size = 0, wrong;
	int error = gt_parse_hex(text, &bytes, &size, &wrong);

	if (error == -EINVAL && text[wrong])
		return gt_diag(diag, -EINVAL, "program", NULL,
			       "invalid character at byte %zu: expected hex digits, white space, "
			       "commas or 0x",
			       wrong);
	if (error == -EINVAL)
		return gt_diag(diag, -EINVAL, "program", NULL,
			       "odd number of hex digits: two are a byte");
	if (error)
		return gt_diag(diag, error, "program", NULL, "out of memory");
	if (!size)
		return gt_diag(diag, -EINVAL, "program", NULL, "no hex digits");
	if (size % sizeof(struct bpf_insn))
		return gt_diag(diag, -EINVAL, "program", NULL,
			       "%zu hex digits are not whole instructions of 16", 2 * size);
	if (size / sizeof(struct bpf_insn) > GT_BPF_MAX_INSNS)
		return gt_diag(diag, -E2BIG, "program", NULL, "more than %d instructions",
			       GT_BPF_MAX_INSNS);
	*ret_insns = (struct bpf_insn *)bytes;
	*ret_count = (uint32_t)(size / sizeof(struct bpf_insn));
	bytes = NULL;
	return 0;
}
