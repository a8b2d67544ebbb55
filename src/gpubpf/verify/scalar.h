/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Range analysis of scalars: a set of 64-bit values, given by known bits ("tnum": a bit set in mask
 * is unknown, others are those of value) and intervals, unsigned and signed, of all 64 bits and of
 * the low 32. Results of operations contain the result of the instruction for any values in the
 * operands. As struct bpf_reg_state of Linux; Vishwanathan et al., "Verifying the Verifier: eBPF
 * Range Analysis Verification" (CAV 2023).
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
	struct gt_interval all; /* of all 64 bits */
	struct gt_interval low; /* of the low 32 bits: umax <= UINT32_MAX, smin >= INT32_MIN … */
};

struct gt_scalar gt_scalar_constant(uint64_t value);
struct gt_scalar gt_scalar_unknown(void);
/* Unknown in `size` bytes, zero-extended or sign-extended. */
struct gt_scalar gt_scalar_loaded(unsigned size, bool is_signed);

/* The low `size` bytes (1, 2, 4, 8) of a scalar, zero-extended or sign-extended. */
struct gt_scalar gt_scalar_truncate(const struct gt_scalar *scalar, unsigned size, bool is_signed);

static inline bool gt_scalar_is_constant(const struct gt_scalar *scalar)
{
	return !scalar->mask;
}

/* Derive bits and intervals from each other. False: the set is empty. */
bool gt_scalar_sync_bounds(struct gt_scalar *scalar);

/* Whether `outer` contains all values of `inner`. */
bool gt_scalar_contains(const struct gt_scalar *outer, const struct gt_scalar *inner);

/* A set that contains the values of both. */
struct gt_scalar gt_scalar_union(const struct gt_scalar *one, const struct gt_scalar *other);

/* Result of an instruction of class ALU or ALU64; `right` is the operand of both K and X forms. */
struct gt_scalar gt_scalar_alu(const struct bpf_insn *insn, const struct gt_scalar *left,
			       const struct gt_scalar *right);

/*
 * Narrow both operands to the values for which a conditional jump is taken (or not). False:
 * impossible. The operands must be different objects.
 */
bool gt_scalar_assume(const struct bpf_insn *insn, bool taken, struct gt_scalar *left,
		      struct gt_scalar *right);
