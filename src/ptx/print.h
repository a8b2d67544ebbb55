/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Internals of the printer. */
#pragma once

#include "ptx/ptx.h"

void ptx_print_operand(struct gt_strbuf *buffer, const struct gt_ptx_operand *operand);
void ptx_print_operands(struct gt_strbuf *buffer, const struct gt_ptx_operand *items,
			uint32_t count);
void ptx_print_call(struct gt_strbuf *buffer, const struct gt_ptx_call *call);
/* A declaration of one or more variables, without `;`. */
void ptx_print_variables(struct gt_strbuf *buffer, const struct gt_ptx_variable *first);
/* (a, b), each a parameter */
void ptx_print_parameters(struct gt_strbuf *buffer, const struct gt_ptx_variable *first);
void ptx_print_linkage(struct gt_strbuf *buffer, enum gt_ptx_linkage linkage);
void ptx_print_pragma(struct gt_strbuf *buffer, const struct gt_ptx_pragma *pragma);
