/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of reading program files: PTX by the line, the symbols of an ELF file (gputap) by
 * the symbol, and unwinding 16 callers by .eh_frame once its rules are known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/clock.h"
#include "elf/elf.h"
#include "elf/proc_maps.h"
#include "elf/unwind.h"
#include "large_ptx.h"
#include "ptx/ptx.h"

enum {
	KERNELS = 101, /* of about 1,000 lines each */
	DEPTH = 16,
	STACK_BYTES = 32 << 10,
};

static uint64_t processor_ns(void)
{
	return gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static int measure_ptx(void)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;
	gt_auto(ptx) struct gt_ptx_module *module = NULL;
	struct gt_diag diag = {0};
	size_t lines = 0;
	uint64_t start;

	write_kernels(&text, KERNELS);
	for (const char *p = gt_strbuf_string(&text); (p = strchr(p, '\n')); p++)
		lines++;
	start = processor_ns();
	if (gt_ptx_parse(gt_strbuf_string(&text), text.length, &module, &diag)) {
		fprintf(stderr, "parse: %s: %s\n", diag.place, diag.text);
		return 1;
	}
	printf("parse_ptx %.0f ns/line\n", (double)(processor_ns() - start) / (double)lines);
	return 0;
}

static int measure_symbols(void)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	const struct gt_elf_symbol *symbols;
	struct gt_diag diag = {0};
	uint64_t start = processor_ns();
	size_t count = 0;

	if (gt_elf_open(GPUTAP, &elf, &diag) || gt_elf_symbols(elf, &symbols, &count, &diag) ||
	    !count) {
		fprintf(stderr, "parse: %s: %s\n", GPUTAP, diag.text);
		return 1;
	}
	printf("parse_symbols %.0f ns/symbol\n", (double)(processor_ns() - start) / (double)count);
	return 0;
}

static struct gt_space *own_space(void)
{
	gt_auto_proc_maps maps = {0};
	struct gt_space *space = gt_space_new();

	if (!space || gt_proc_maps_read(getpid(), &maps, NULL))
		return space;
	for (size_t i = 0; i < maps.count; i++) {
		const struct gt_proc_mapping *mapping = &maps.items[i];

		if (mapping->executable)
			gt_space_map(space, 1,
				     &(struct gt_space_request){.start = mapping->start,
								.end = mapping->end,
								.offset = mapping->offset,
								.inode = mapping->inode,
								.path = mapping->path,
								.length = strlen(mapping->path)});
	}
	return space;
}

#if defined(__x86_64__)
static void convert_registers(const ucontext_t *context, struct gt_unwind_registers *ret_registers)
{
	const greg_t *values = context->uc_mcontext.gregs;

	gt_unwind_registers_set(ret_registers, (uint64_t)values[REG_RIP], (uint64_t)values[REG_RSP],
				(uint64_t)values[REG_RBP], 0);
}
#else
static void convert_registers(const ucontext_t *context, struct gt_unwind_registers *ret_registers)
{
	const mcontext_t *values = &context->uc_mcontext;

	gt_unwind_registers_set(ret_registers, values->pc, values->sp, values->regs[29],
				values->regs[30]);
}
#endif

static int unwind_here(void)
{
	gt_auto(space) struct gt_space *space = own_space();
	gt_auto(unwinder) struct gt_unwinder *unwinder = gt_unwinder_new(space);
	uint64_t addresses[DEPTH], best = UINT64_MAX;
	struct gt_unwind_registers registers = {0};
	struct gt_unwind_stack stack = {0};
	struct gt_unwound unwound = {0};
	ucontext_t context;

	getcontext(&context);
	convert_registers(&context, &registers);
	stack.start = registers.values[GT_CFI_STACK];
	stack.data = (const void *)(uintptr_t)stack.start;
	stack.size = STACK_BYTES;
	for (int i = 0; i < 20; i++) {
		uint64_t start = processor_ns();

		gt_unwind(unwinder, 1, &registers, &stack, addresses, DEPTH, &unwound);
		start = processor_ns() - start;
		best = start < best ? start : best;
	}
	if (unwound.count != DEPTH) {
		fprintf(stderr, "parse: only %zu callers were found\n", (size_t)unwound.count);
		return 1;
	}
	printf("parse_unwind_%d %llu ns\n", DEPTH, (unsigned long long)best);
	return 0;
}

/* Has DEPTH callers, and so much of the stack above it that a copy does not leave it. */
__attribute__((noinline)) static int unwind_at_depth(int depth)
{
	volatile char above[STACK_BYTES / DEPTH - 256];
	int result;

	above[0] = (char)depth;
	result = depth ? unwind_at_depth(depth - 1) : unwind_here();
	return result + (above[0] != (char)depth);
}

int main(void)
{
	return measure_ptx() | measure_symbols() | unwind_at_depth(2 * DEPTH);
}
