/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The assembler: text to instructions. */
#include "assemble.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

struct named {
	const char *name;
	int32_t code;
	int16_t offset;
};

static const struct named alu_names[] = {
#define ALU(name, operation, offset) {name, operation, offset},
#include "gpubpf/mnemonics.def"
#undef ALU
};
static const struct named jump_names[] = {
#define JUMP(name, operation) {name, operation, 0},
#include "gpubpf/mnemonics.def"
#undef JUMP
};
static const struct named atomic_names[] = {
#define ATOMIC(name, operation) {name, operation, 0},
#include "gpubpf/mnemonics.def"
#undef ATOMIC
};
static const struct named ordered_names[] = {
#define ORDERED(name, operation) {name, operation, 0},
#include "gpubpf/mnemonics.def"
#undef ORDERED
};
static const struct named size_names[] = {
#define SIZE(letters, size) {letters, size, 0},
#include "gpubpf/mnemonics.def"
#undef SIZE
};

/* A jump whose label is resolved at the end. */
struct fixup {
	uint32_t insn, line;
	bool wide; /* the target goes into imm */
	char label[32];
};

struct assembler {
	GT_VEC(struct bpf_insn) insns;
	GT_VEC(struct fixup) fixups;
	struct gt_hash *labels; /* name → slot + 1 */
	const char *at;         /* in the line that is read */
	uint32_t line;
	struct gt_diag *diag;
};

static int wrong(struct assembler *assembler, const char *what)
{
	char place[32];

	snprintf(place, sizeof(place), "line %u", assembler->line);
	return gt_diag(assembler->diag, -EINVAL, "assemble", place, "%s", what);
}

static void skip_blanks(struct assembler *assembler)
{
	while (*assembler->at == ' ' || *assembler->at == '\t')
		assembler->at++;
}

/* Consume a character if it is next. */
static bool take(struct assembler *assembler, char character)
{
	skip_blanks(assembler);
	if (*assembler->at != character)
		return false;
	assembler->at++;
	return true;
}

static void take_word(struct assembler *assembler, char *word, size_t size)
{
	size_t length = 0;

	skip_blanks(assembler);
	while ((isalnum((unsigned char)*assembler->at) || *assembler->at == '_') &&
	       length + 1 < size)
		word[length++] = *assembler->at++;
	word[length] = 0;
}

static int take_register(struct assembler *assembler, unsigned *ret_number)
{
	char word[8];

	take_word(assembler, word, sizeof(word));
	if (word[0] != 'r' || !isdigit((unsigned char)word[1]) || strlen(word) > 3)
		return wrong(assembler, "a register is expected");
	*ret_number = (unsigned)atoi(word + 1);
	return *ret_number <= 15 ? 0 : wrong(assembler, "there is no such register");
}

static int take_number(struct assembler *assembler, uint64_t *ret_number)
{
	bool negative = take(assembler, '-');
	char *end;

	if (!negative)
		take(assembler, '+');
	skip_blanks(assembler);
	if (!isdigit((unsigned char)*assembler->at))
		return wrong(assembler, "a number is expected");
	errno = 0;
	*ret_number = strtoull(assembler->at, &end, 0);
	if (errno)
		return wrong(assembler, "a number of 64 bits is expected");
	assembler->at = end;
	if (negative)
		*ret_number = -*ret_number;
	return 0;
}

static int take_imm(struct assembler *assembler, struct bpf_insn *insn)
{
	uint64_t number;
	int error = take_number(assembler, &number);

	if (error)
		return error;
	if ((int64_t)number < INT32_MIN || (int64_t)number > UINT32_MAX)
		return wrong(assembler, "a number of 32 bits is expected");
	insn->imm = (int32_t)number;
	return 0;
}

/* A register (then the instruction is of form X) or a number. */
static int take_operand(struct assembler *assembler, struct bpf_insn *insn)
{
	unsigned number;
	int error;

	skip_blanks(assembler);
	if (*assembler->at != 'r')
		return take_imm(assembler, insn);
	error = take_register(assembler, &number);
	insn->code |= BPF_X;
	insn->src_reg = number & 15;
	return error;
}

/* "[r1+4]" */
static int take_address(struct assembler *assembler, unsigned *ret_number, struct bpf_insn *insn)
{
	uint64_t offset = 0;
	int error = take(assembler, '[') ? take_register(assembler, ret_number)
					 : wrong(assembler, "'[' is expected");

	if (error)
		return error;
	skip_blanks(assembler);
	if (*assembler->at != ']')
		error = take_number(assembler, &offset);
	if (error)
		return error;
	insn->off = (int16_t)offset;
	return take(assembler, ']') ? 0 : wrong(assembler, "']' is expected");
}

static int take_target(struct assembler *assembler, struct bpf_insn *insn, bool wide)
{
	struct fixup fixup = {
		.insn = (uint32_t)assembler->insns.count, .line = assembler->line, .wide = wide};
	uint64_t distance;
	int error;

	skip_blanks(assembler);
	if (*assembler->at == '+' || *assembler->at == '-') {
		error = take_number(assembler, &distance);
		if (wide)
			insn->imm = (int32_t)distance;
		else
			insn->off = (int16_t)distance;
		return error;
	}
	take_word(assembler, fixup.label, sizeof(fixup.label));
	if (!fixup.label[0])
		return wrong(assembler, "a label is expected");
	return gt_vec_push(&assembler->fixups, fixup);
}

static const struct named *find(const struct named *names, size_t count, const char *name,
				size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(names[i].name) == length && !memcmp(names[i].name, name, length))
			return &names[i];
	return NULL;
}
#define FIND(names, name, length) find(names, gt_countof(names), name, length)

/* The length of a mnemonic without "32" or "64". *ret_narrow: the suffix is 32. */
static size_t stem_of(const char *word, bool *ret_narrow)
{
	size_t length = strlen(word);

	*ret_narrow = length > 2 && !strcmp(word + length - 2, "32");
	return *ret_narrow || (length > 2 && !strcmp(word + length - 2, "64")) ? length - 2
									       : length;
}

/* An instruction of one kind; 1: the mnemonic is of another kind. */
static int assemble_alu(struct assembler *assembler, const char *word, struct bpf_insn *insn)
{
	const struct named *named;
	unsigned number;
	char stem[24];
	bool narrow;
	size_t length = stem_of(word, &narrow);
	int error;

	snprintf(stem, sizeof(stem), "%.*s", (int)length, word);
	if (!strncmp(word, "movsx", 5) && !strchr(word, '_')) {
		snprintf(stem, sizeof(stem), "%s_", word);
		length = strlen(stem);
		narrow = false;
	}
	named = FIND(alu_names, stem, length);
	if (!named)
		return 1;
	insn->code = (uint8_t)((narrow ? BPF_ALU : BPF_ALU64) | named->code);
	insn->off = named->offset;
	error = take_register(assembler, &number);
	insn->dst_reg = number & 15;
	if (error || named->code == BPF_NEG)
		return error;
	return take(assembler, ',') ? take_operand(assembler, insn)
				    : wrong(assembler, "',' is expected");
}

static int assemble_swap(struct assembler *assembler, const char *word, struct bpf_insn *insn)
{
	unsigned number = 0, bits = 0;
	int error;

	if (sscanf(word, "be%u", &bits) == 1)
		insn->code = BPF_ALU | BPF_END | BPF_TO_BE;
	else if (sscanf(word, "le%u", &bits) == 1)
		insn->code = BPF_ALU | BPF_END | BPF_TO_LE;
	else if (sscanf(word, "bswap%u", &bits) == 1)
		insn->code = BPF_ALU64 | BPF_END;
	else
		return 1;
	error = take_register(assembler, &number);
	insn->dst_reg = number & 15;
	insn->imm = (int32_t)bits;
	return error;
}

static int assemble_jump(struct assembler *assembler, const char *word, struct bpf_insn *insn)
{
	const struct named *named;
	unsigned number = 0;
	bool narrow;
	size_t length = stem_of(word, &narrow);
	int error;

	if (!strcmp(word, "ja") || !strcmp(word, "gotol")) {
		insn->code = word[0] == 'j' ? BPF_JMP | BPF_JA : BPF_JMP32 | BPF_JA;
		return take_target(assembler, insn, word[0] != 'j');
	}
	if (!strcmp(word, "may_goto")) {
		insn->code = BPF_JMP | BPF_JCOND;
		return take_target(assembler, insn, false);
	}
	named = FIND(jump_names, word, length);
	if (!named)
		return 1;
	insn->code = (uint8_t)((narrow ? BPF_JMP32 : BPF_JMP) | named->code);
	error = take_register(assembler, &number);
	insn->dst_reg = number & 15;
	if (!error && !take(assembler, ','))
		error = wrong(assembler, "',' is expected");
	if (!error)
		error = take_operand(assembler, insn);
	if (!error && !take(assembler, ','))
		error = wrong(assembler, "',' is expected");
	return error ? error : take_target(assembler, insn, false);
}

static int assemble_call(struct assembler *assembler, const char *word, struct bpf_insn *insn)
{
	if (!strcmp(word, "exit")) {
		insn->code = BPF_JMP | BPF_EXIT;
		return 0;
	}
	if (strcmp(word, "call"))
		return 1;
	insn->code = BPF_JMP | BPF_CALL;
	skip_blanks(assembler);
	if (strncmp(assembler->at, "local ", 6))
		return take_imm(assembler, insn);
	assembler->at += 6;
	insn->src_reg = BPF_PSEUDO_CALL;
	return take_target(assembler, insn, true);
}

static int assemble_load(struct assembler *assembler, const char *word, struct bpf_insn *insn)
{
	bool is_signed = !strncmp(word, "ldxs", 4);
	const struct named *size;
	unsigned target = 0, base = 0;
	int error;

	if (strncmp(word, "ldx", 3))
		return 1;
	word += is_signed ? 4 : 3;
	size = FIND(size_names, word, strlen(word));
	if (!size)
		return 1;
	insn->code = (uint8_t)(BPF_LDX | size->code | (is_signed ? BPF_MEMSX : BPF_MEM));
	error = take_register(assembler, &target);
	if (!error && !take(assembler, ','))
		error = wrong(assembler, "',' is expected");
	if (!error)
		error = take_address(assembler, &base, insn);
	insn->dst_reg = target & 15;
	insn->src_reg = base & 15;
	return error;
}

static int assemble_store(struct assembler *assembler, const char *word, struct bpf_insn *insn)
{
	bool from_register = !strncmp(word, "stx", 3);
	const struct named *size;
	unsigned base = 0;
	int error;

	if (strncmp(word, "st", 2))
		return 1;
	word += from_register ? 3 : 2;
	size = FIND(size_names, word, strlen(word));
	if (!size)
		return 1;
	insn->code = (uint8_t)((from_register ? BPF_STX : BPF_ST) | size->code | BPF_MEM);
	error = take_address(assembler, &base, insn);
	insn->dst_reg = base & 15;
	if (!error && !take(assembler, ','))
		error = wrong(assembler, "',' is expected");
	if (error || !from_register)
		return error ? error : take_imm(assembler, insn);
	error = take_register(assembler, &base);
	insn->src_reg = base & 15;
	return error;
}

static int assemble_atomic(struct assembler *assembler, const char *word, struct bpf_insn *insn)
{
	const struct named *named;
	unsigned number = 0;
	char name[24];
	bool narrow;
	int error;

	if (strcmp(word, "lock"))
		return 1;
	take_word(assembler, name, sizeof(name));
	named = FIND(atomic_names, name, stem_of(name, &narrow));
	if (!named)
		return wrong(assembler, "there is no such atomic operation");
	insn->code = BPF_STX | BPF_ATOMIC | (narrow ? BPF_W : BPF_DW);
	insn->imm = named->code;
	error = take_address(assembler, &number, insn);
	insn->dst_reg = number & 15;
	if (!error && !take(assembler, ','))
		error = wrong(assembler, "',' is expected");
	if (!error)
		error = take_register(assembler, &number);
	insn->src_reg = number & 15;
	return error;
}

/* "acquirew r1, [r2]" and "releasew [r1], r2": as ldx and stx, and atomic. */
static int assemble_ordered(struct assembler *assembler, const char *word, struct bpf_insn *insn)
{
	const struct named *named = NULL;
	char plain[8];
	int error;

	for (size_t i = 0; !named && i < gt_countof(ordered_names); i++)
		if (!strncmp(word, ordered_names[i].name, strlen(ordered_names[i].name)))
			named = &ordered_names[i];
	if (!named)
		return 1;
	word += strlen(named->name);
	if (named->code == BPF_LOAD_ACQ) {
		snprintf(plain, sizeof(plain), "ldx%.3s", word);
		error = assemble_load(assembler, plain, insn);
	} else {
		snprintf(plain, sizeof(plain), "stx%.3s", word);
		error = assemble_store(assembler, plain, insn);
	}
	insn->code = BPF_STX | BPF_ATOMIC | BPF_SIZE(insn->code);
	insn->imm = named->code;
	return error;
}

/* ld_imm64: the second half is appended by the caller. */
static int assemble_wide(struct assembler *assembler, const char *word, struct bpf_insn insns[2])
{
	uint64_t number, offset = 0;
	unsigned target = 0;
	int error;

	if (strcmp(word, "lddw") && strcmp(word, "ldmap") && strcmp(word, "ldmapvalue") &&
	    strcmp(word, "ldfunc"))
		return 1;
	insns[0].code = BPF_LD | BPF_IMM | BPF_DW;
	error = take_register(assembler, &target);
	insns[0].dst_reg = target & 15;
	if (!error && !take(assembler, ','))
		error = wrong(assembler, "',' is expected");
	if (!error && !strcmp(word, "ldfunc")) {
		insns[0].src_reg = BPF_PSEUDO_FUNC;
		return take_target(assembler, &insns[0], true);
	}
	if (!error)
		error = take_number(assembler, &number);
	if (error)
		return error;
	insns[0].imm = (int32_t)number;
	insns[1].imm = (int32_t)(number >> 32);
	if (!strcmp(word, "ldmap"))
		insns[0].src_reg = GT_BPF_IMM_MAP_INDEX;
	if (!strcmp(word, "ldmapvalue")) {
		insns[0].src_reg = GT_BPF_IMM_MAP_INDEX_VALUE;
		if (!take(assembler, ','))
			return wrong(assembler, "',' is expected");
		error = take_number(assembler, &offset);
		insns[1].imm = (int32_t)offset;
	}
	return error;
}

/* An instruction by its five fields. */
static int assemble_raw(struct assembler *assembler, const char *word, struct bpf_insn *insn)
{
	uint64_t fields[5] = {0};
	int error = 0;

	if (strcmp(word, "raw"))
		return 1;
	for (unsigned i = 0; !error && i < gt_countof(fields); i++) {
		if (i && !take(assembler, ','))
			return wrong(assembler, "',' is expected");
		error = take_number(assembler, &fields[i]);
	}
	*insn = (struct bpf_insn){(uint8_t)fields[0], fields[1] & 15, fields[2] & 15,
				  (int16_t)fields[3], (int32_t)fields[4]};
	return error;
}

static int assemble_insn(struct assembler *assembler, const char *word)
{
	static int (*const kinds[])(struct assembler *, const char *, struct bpf_insn *) = {
		assemble_alu,   assemble_swap,   assemble_jump,    assemble_call, assemble_load,
		assemble_store, assemble_atomic, assemble_ordered, assemble_raw};
	struct bpf_insn insns[2] = {0};
	int status = assemble_wide(assembler, word, insns);

	for (size_t i = 0; status == 1 && i < gt_countof(kinds); i++)
		status = kinds[i](assembler, word, insns);
	if (status == 1)
		return wrong(assembler, "there is no such instruction");
	if (!status)
		status = gt_vec_push(&assembler->insns, insns[0]);
	if (!status && gt_bpf_is_wide(&insns[0]) && strcmp(word, "raw"))
		status = gt_vec_push(&assembler->insns, insns[1]);
	return status;
}

static int assemble_line(struct assembler *assembler)
{
	char word[32];
	int error = 0;

	take_word(assembler, word, sizeof(word));
	if (word[0] && take(assembler, ':'))
		return gt_hash_set_str(assembler->labels, word,
				       (void *)(uintptr_t)(assembler->insns.count + 1));
	if (word[0])
		error = assemble_insn(assembler, word);
	if (error)
		return error;
	skip_blanks(assembler);
	return !*assembler->at || *assembler->at == '\n' || *assembler->at == '#'
		       ? 0
		       : wrong(assembler, "there is more on the line");
}

static int resolve(struct assembler *assembler)
{
	gt_vec_each (fixup, &assembler->fixups) {
		uintptr_t slot = (uintptr_t)gt_hash_get_str(assembler->labels, fixup->label);
		int64_t distance = (int64_t)slot - 2 - fixup->insn;

		assembler->line = fixup->line;
		if (!slot)
			return wrong(assembler, "there is no such label");
		if (fixup->wide)
			assembler->insns.items[fixup->insn].imm = (int32_t)distance;
		else if (distance != (int16_t)distance)
			return wrong(assembler, "the label is too far away");
		else
			assembler->insns.items[fixup->insn].off = (int16_t)distance;
	}
	return 0;
}

int gt_bpf_assemble(const char *text, struct bpf_insn **ret_insns, uint32_t *ret_count,
		    struct gt_diag *diag)
{
	gt_auto(hash) struct gt_hash *labels = gt_hash_new();
	struct assembler assembler = {.labels = labels, .diag = diag};
	int error = labels ? 0 : -ENOMEM;

	while (!error && *text) {
		assembler.at = text;
		assembler.line++;
		error = assemble_line(&assembler);
		text = strchrnul(text, '\n');
		text += *text == '\n';
	}
	if (!error)
		error = resolve(&assembler);
	gt_vec_free(&assembler.fixups);
	if (error) {
		gt_vec_free(&assembler.insns);
		return gt_diag(diag, error, "assemble", NULL, "out of memory");
	}
	*ret_insns = assembler.insns.items;
	*ret_count = (uint32_t)assembler.insns.count;
	return 0;
}
