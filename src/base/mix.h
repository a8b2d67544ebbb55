/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A step of a hash of 64-bit words, for the BPF programs too: stacks are numbered by their hash. */
#pragma once

/* Return the hash of what `hash` is of, followed by `word`. */
static inline __attribute__((always_inline)) unsigned long long gt_hash_mix(unsigned long long hash,
									    unsigned long long word)
{
	hash = (hash ^ word) * 0xff51afd7ed558ccdull;
	return hash ^ hash >> 32;
}
