/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is known of a number: its bits ("tnum": a bit of mask is unknown, else it is that of value),
 * and its least and greatest value, as unsigned and signed number, of all 64 bits and of the low
 * 32. The operations give a result that holds whatever the instruction can give for any numbers
 * held by its operands.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

struct gt_interval {
	uint64_t umin, umax;
	int64_t smin, smax;
};

struct gt_scalar {
	uint64_t value, mask;
	struct gt_interval all; /* of the 64 bits */
	struct gt_interval low; /* of the low 32: umax <= UINT32_MAX, smin >= INT32_MIN … */
};

struct gt_scalar gt_scalar_constant(uint64_t value);
struct gt_scalar gt_scalar_unknown(void);
/* Unknown in `size` bytes, zeros above or the sign. */
struct gt_scalar gt_scalar_loaded(unsigned size, bool is_signed);

/* The low `size` bytes (1, 2, 4, 8) of a number, with zeros above them or their sign. */
struct gt_scalar gt_scalar_truncate(const struct gt_scalar *scalar, unsigned size, bool is_signed);

static inline bool gt_scalar_is_constant(const struct gt_scalar *scalar)
{
	return !scalar->mask;
}

/* Brings what is known of the same number together. False if it can hold no number at all. */
bool gt_scalar_settle(struct gt_scalar *scalar);

/* Whether every number that `inner` holds is held by `outer`. */
bool gt_scalar_within(const struct gt_scalar *outer, const struct gt_scalar *inner);

/* The result of an instruction of class ALU or ALU64, with `right` for both K and X forms. */
struct gt_scalar gt_scalar_alu(const struct bpf_insn *insn, const struct gt_scalar *left,
			       const struct gt_scalar *right);

/*
 * Narrows both sides to where a conditional jump is taken (or not). False: that cannot be. The
 * sides must be different objects.
 */
bool gt_scalar_assume(const struct bpf_insn *insn, bool taken, struct gt_scalar *left,
		      struct gt_scalar *right);
