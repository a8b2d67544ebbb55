/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The verdicts on random programs, next to those of the running kernel. */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "gpubpf/verify.h"
#include "tap.h"

enum {
	PROGRAMS = 3000,
	LONGEST = 32,
};

static uint64_t random_state = 0x13198a2e03707344u;

static unsigned below(unsigned limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state >> 33) % limit;
}

static int32_t some_number(void)
{
	static const int32_t edges[] = {0, 1, -1, 7, 8, 15, 31, 63, -8, -16, INT32_MAX, INT32_MIN};

	return edges[below(gt_countof(edges))];
}

static struct bpf_insn some_alu(void)
{
	static const uint8_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_OR,  BPF_AND, BPF_LSH,
					     BPF_RSH, BPF_XOR, BPF_MOV, BPF_MOV, BPF_ARSH};
	unsigned operation = operations[below(sizeof(operations))];
	struct bpf_insn insn = {.code = (below(3) ? BPF_ALU64 : BPF_ALU) | operation};

	insn.dst_reg = below(8) & 15;
	if (below(2)) {
		insn.code |= BPF_X;
		insn.src_reg = (below(9) ? below(8) : 10) & 15;
	} else {
		insn.imm = some_number();
		if (operation == BPF_LSH || operation == BPF_RSH || operation == BPF_ARSH)
			insn.imm &= 31;
	}
	return insn;
}

static struct bpf_insn some_memory(void)
{
	static const uint8_t sizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW, BPF_DW};
	unsigned base = below(4) ? 10 : below(8);
	struct bpf_insn insn = {.off = (int16_t)(-8 * (int)(1 + below(4)))};

	insn.code = sizes[below(5)] | BPF_MEM;
	if (below(2)) {
		insn.code |= BPF_LDX;
		insn.src_reg = base & 15;
		insn.dst_reg = below(8) & 15;
	} else {
		insn.code |= BPF_STX;
		insn.dst_reg = base & 15;
		insn.src_reg = below(8) & 15;
	}
	return insn;
}

static struct bpf_insn some_jump(unsigned at, unsigned count)
{
	struct bpf_insn insn = {.code = below(3) ? BPF_JMP : BPF_JMP32};
	unsigned operation;

	do
		operation = (1 + below(13)) << 4;
	while (operation == BPF_CALL || operation == BPF_EXIT);
	insn.code |= operation;
	insn.dst_reg = below(8) & 15;
	insn.off = (int16_t)below(count - at - 1);
	if (below(3)) {
		insn.imm = some_number();
	} else {
		insn.code |= BPF_X;
		insn.src_reg = below(8) & 15;
	}
	return insn;
}

/* Registers 0 to 7 hold numbers, some not known, and pointers into the stack. */
static unsigned make_program(struct bpf_insn *insns)
{
	unsigned count = 16 + below(LONGEST - 18), at = 0;

	insns[at++] = (struct bpf_insn){BPF_JMP | BPF_CALL, 0, 0, 0, 7};
	insns[at++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, 6, 0, 0, 0};
	insns[at++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, 1, 10, 0, 0};
	insns[at++] = (struct bpf_insn){BPF_ALU64 | BPF_ADD, 1, 0, 0, -32};
	insns[at++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, 2, 0, 0, 0};
	insns[at++] = (struct bpf_insn){BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, 24};
	insns[at++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, some_number()};
	insns[at++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, 8};
	insns[at++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, 5, 10, 0, 0};
	insns[at++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_X, 7, 2, 0, 0};
	while (at < count - 2) {
		unsigned kind = below(5);

		insns[at] = !kind ? some_jump(at, count) : kind == 1 ? some_memory() : some_alu();
		at++;
	}
	insns[at++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0};
	insns[at++] = (struct bpf_insn){BPF_JMP | BPF_EXIT, 0, 0, 0, 0};
	return at;
}

/* 0 if the kernel accepts the program, else its error. */
static int ask_kernel(const struct bpf_insn *insns, uint32_t count, char *log, uint32_t log_size)
{
	union bpf_attr request = {0};
	int fd;

	request.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	request.insns = (uintptr_t)insns;
	request.insn_cnt = count;
	request.license = (uintptr_t) "GPL";
	request.log_buf = (uintptr_t)log;
	request.log_size = log_size;
	request.log_level = 1;
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &request, sizeof(request));
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static void print_program(const struct bpf_insn *insns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;

		gt_bpf_put_insn(&text, insns, count, i);
		printf("# %u: %s\n", i, gt_strbuf_string(&text));
	}
}

/* Where the kernel knows less, as after shifts by numbers it does not know, it may be stricter. */
TEST("the verdicts are those of the running kernel")
{
	static const struct bpf_insn least[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
						{BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
	static char log[1 << 20];
	struct gt_verify_options options = {.input = GT_INPUT_CONTEXT};
	unsigned same = 0, stricter = 0, laxer = 0;

	if (ask_kernel(least, 2, log, sizeof(log)))
		SKIP("the kernel loads no programs here");
	for (unsigned i = 0; i < PROGRAMS; i++) {
		struct bpf_insn insns[LONGEST];
		struct gt_bpf_program program = {.insns = insns, .count = make_program(insns)};
		struct gt_facts facts = {0};
		struct gt_diag diag = {0};
		bool ours = !gt_verify(NULL, &program, &options, &facts, NULL, &diag);
		int theirs = ask_kernel(insns, program.count, log, sizeof(log));

		gt_facts_clear(&facts);
		if (ours == !theirs) {
			same++;
			continue;
		}
		stricter += !ours;
		laxer += ours;
		if (getenv("SHOW")) {
			print_program(insns, program.count);
			printf("# ours: %s %s %s\n# kernel: %s\n", ours ? "accepts" : "refuses",
			       diag.place, diag.text,
			       strlen(log) > 300 ? log + strlen(log) - 300 : log);
		}
	}
	printf("# %d programs: %u verdicts the same, %u stricter, %u laxer\n", PROGRAMS, same,
	       stricter, laxer);
	CHECK(laxer <= PROGRAMS / 500);
	CHECK(stricter <= PROGRAMS / 500);
}

TEST_MAIN
