/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Call frame information: the rules that restore a caller's registers, for every instruction. Read
 * from .eh_frame, through the search table of .eh_frame_hdr if there is one. Untrusted like the
 * whole file: every read is bounded, and malformed tables are reported.
 * Layout: LSB 5.0 Core, chapter 10.6; instructions: DWARF 5, section 6.4.2.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "elf/elf.h"

#if defined(__x86_64__)
enum { GT_CFI_REGISTERS = 17, GT_CFI_FRAME = 6, GT_CFI_STACK = 7, GT_CFI_RETURN = 16 };
#elif defined(__aarch64__)
enum { GT_CFI_REGISTERS = 33, GT_CFI_FRAME = 29, GT_CFI_STACK = 31, GT_CFI_RETURN = 30 };
#endif

enum gt_cfi_rule_kind {
	GT_CFI_SAME,          /* the caller's value is the current one; also the default */
	GT_CFI_UNDEFINED,     /* the caller's value is not available */
	GT_CFI_AT,            /* in memory, at CFA + offset */
	GT_CFI_IS,            /* the value CFA + offset */
	GT_CFI_REGISTER,      /* in a register; the CFA: register + offset */
	GT_CFI_AT_EXPRESSION, /* in memory, at the address of an expression */
	GT_CFI_IS_EXPRESSION, /* the value of an expression */
};

struct gt_cfi_rule {
	uint8_t kind; /* enum gt_cfi_rule_kind */
	uint8_t reg;
	uint16_t size; /* bytes of the expression */
	union {
		int64_t offset;
		const uint8_t *expression; /* owned by the gt_cfi */
	};
};

/* The rules at one instruction. */
struct gt_cfi_row {
	struct gt_cfi_rule cfa; /* GT_CFI_REGISTER or GT_CFI_IS_EXPRESSION */
	struct gt_cfi_rule rules[GT_CFI_REGISTERS];
	uint8_t return_register;
	bool is_signal; /* the caller was interrupted: its address is not a return address */
	bool is_signed; /* AArch64: the return address is signed */
};

struct gt_cfi;

/*
 * Reads the tables of an ELF, which may be closed afterwards. 0; -ENOENT: it has none; -EBADMSG,
 * -EFBIG: malformed; -ENOMEM.
 */
int gt_cfi_open(struct gt_elf *elf, struct gt_cfi **ret_cfi, struct gt_diag *diag);
void gt_cfi_free(struct gt_cfi *cfi);
GT_DEFINE_AUTO(cfi, struct gt_cfi, gt_cfi_free)

/* Finds the rules at an address of the ELF. 0; -ENOENT: none; -EBADMSG: malformed. */
int gt_cfi_find(const struct gt_cfi *cfi, uint64_t address, struct gt_cfi_row *ret_row);

/* The rules from address `start` up to `end`, exclusive. False: visit no more rows. */
typedef bool gt_cfi_visitor(void *context, uint64_t start, uint64_t end,
			    const struct gt_cfi_row *row);

/*
 * Visits the rows of all functions, by the addresses of the functions and within one in ascending
 * order. Malformed functions are skipped, from the row that is malformed; the work is bounded by
 * the size of the tables.
 */
void gt_cfi_each_row(const struct gt_cfi *cfi, gt_cfi_visitor *visit, void *context);
