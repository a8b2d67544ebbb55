/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as an ELF whose debug information and unwinding rules are read, as a mangled name,
 * and (behind a NUL) as a DWARF expression.
 */
#include <stdlib.h>
#include <string.h>

#include "elf/cfi.h"
#include "elf/debugfile.h"
#include "elf/demangle.h"
#include "elf/expression.h"
#include "elf/lines.h"
#include "elf/unwind_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	LOOKS = 64, /* addresses examined in a segment */
	MAX_ROWS = 4096,
};

static void look_at(struct gt_elf *elf, struct gt_lines *lines, const struct gt_cfi *cfi,
		    uint64_t address)
{
	struct gt_line_frame frames[GT_LINES_MAX_FRAMES];
	struct gt_cfi_row row;
	size_t count = lines ? gt_lines_find(lines, address, frames) : 0;

	if (count > GT_LINES_MAX_FRAMES)
		abort();
	for (size_t i = 0; i < count; i++)
		if (frames[i].name && strlen(frames[i].name) > 1 << 30)
			abort();
	if (cfi && !gt_cfi_find(cfi, address, &row) && row.return_register >= GT_CFI_REGISTERS)
		abort();
	gt_elf_symbol_near(elf, address);
}

static void read_elf(const uint8_t *data, size_t size)
{
	gt_auto(elf) struct gt_elf *elf = NULL, *debug = NULL;
	gt_auto(lines) struct gt_lines *lines = NULL;
	gt_auto(cfi) struct gt_cfi *cfi = NULL;
	gt_auto_file bytes = {0};
	struct gt_unwind_rows rows = {0};
	uint64_t spent = 0;

	if (gt_elf_open_memory(data, size, &elf, NULL))
		return;
	gt_lines_open(elf, "", &spent, &lines);
	gt_cfi_open(elf, &cfi, NULL);
	if (!gt_unwind_rows_read(elf, MAX_ROWS, &rows)) {
		for (size_t i = 1; i < rows.count; i++)
			if (rows.items[i].offset < rows.items[i - 1].offset)
				abort();
		gt_unwind_rows_free(&rows);
	}
	gt_debug_data_open(elf, &bytes, &debug);
	for (size_t i = 0; i < elf->segment_count && i < 16; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		uint64_t step = segment->p_filesz / LOOKS + 1;

		for (uint64_t look = 0; look < LOOKS; look++)
			look_at(elf, lines, cfi, segment->p_vaddr + look * step);
	}
}

static void read_name(const uint8_t *data, size_t size)
{
	gt_autofree char *name = strndup((const char *)data, size);
	gt_auto_type_names types = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;

	if (!name)
		return;
	gt_demangle(name, &text);
	gt_strbuf_clear(&text);
	gt_demangle_short(name, &text);
	gt_demangle_parameters(name, &types);
}

static void read_expression(const uint8_t *data, size_t size)
{
	static const uint64_t memory[16] = {1, 2, 3};
	struct gt_unwind_stack stack = {8, memory, sizeof(memory)};
	struct gt_unwind_registers registers = {.known = 0x55};
	uint64_t value = 16;

	gt_expression_evaluate(data, size, &value, &registers, &stack, &value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 4 && !memcmp(data, "\177ELF", 4))
		read_elf(data, size);
	else if (size && !data[0])
		read_expression(data + 1, size - 1);
	else
		read_name(data, size);
	return 0;
}
