/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The operators of comparisons; BPF programs include this, too. */
#pragma once

enum gt_comparison_operator {
	GT_LESS,
	GT_LESS_OR_EQUAL,
	GT_EQUAL,
	GT_NOT_EQUAL,
	GT_GREATER_OR_EQUAL,
	GT_GREATER,
};
