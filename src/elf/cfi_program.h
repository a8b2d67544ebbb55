/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Executing the instructions of call frame information (DWARF 5, section 6.4.2 and 6.4.3). */
#pragma once

#include "elf/cfi.h"
#include "elf/cursor.h"

/* The parameters of the instructions of a CIE and its FDEs. */
struct cfi_code {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of addresses: DW_EH_PE_* */
	/* The address of `bytes` in the ELF, for addresses that are relative. */
	const uint8_t *bytes;
	uint64_t address;
	uint64_t data_base; /* 0: none */
};

/* Reads an address in an encoding of LSB 5.0 Core, 10.5.1; an unknown one marks the cursor bad. */
uint64_t cfi_pointer(struct elf_cursor *cursor, const struct cfi_code *code, uint8_t encoding);

/* What cfi_visit visits: the rows of a function. */
struct cfi_visit {
	uint64_t start, end; /* addresses of its code; end is exclusive */
	gt_cfi_visitor *visit;
	void *context;
};

/*
 * Executes the same instructions up to the function's end or a malformed one, and visits each row;
 * `row` is the first one. False: the visitor returned false.
 */
bool cfi_visit(const struct cfi_code *code, struct elf_cursor cie, struct elf_cursor fde,
	       const struct cfi_visit *visit, struct gt_cfi_row *row);

/*
 * Executes the instructions of the CIE, then those of the FDE, which starts at address `start`, up
 * to the row that covers `address`. 0 or -EBADMSG.
 */
int cfi_run(const struct cfi_code *code, struct elf_cursor cie, struct elf_cursor fde,
	    uint64_t start, uint64_t address, struct gt_cfi_row *row);
