/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fingerprint of bytes: 128 bits that differ for different contents, unless somebody makes them
 * equal on purpose (base/sha256.h is for that). Several bytes a cycle, by multiplications of 64 by
 * 64 bits whose halves are combined. Inline, since the agent depends on libc alone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct gt_fingerprint {
	uint64_t words[2];
};

#define GT_FINGERPRINT_INIT                                                                        \
	{                                                                                          \
		{                                                                                  \
			UINT64_C(0x243f6a8885a308d3), UINT64_C(0x13198a2e03707344)                 \
		}                                                                                  \
	}

static inline uint64_t gt_fingerprint_multiply(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline void gt_fingerprint_add_words(struct gt_fingerprint *state, const uint64_t words[4])
{
	uint64_t a = state->words[0], b = state->words[1];

	/* A product of 0 would forget the state: each half has all words by a sum, too. */
	state->words[0] =
		gt_fingerprint_multiply(words[0] ^ UINT64_C(0xa4093822299f31d0), words[1] ^ a) +
		words[3];
	state->words[1] =
		gt_fingerprint_multiply(words[2] ^ UINT64_C(0x082efa98ec4e6c89), words[3] ^ b) +
		words[1] + (a << 1);
}

/* Add data[0..size): in parts of a multiple of 32 bytes, except for the last one. */
static inline void gt_fingerprint_add(struct gt_fingerprint *state, const void *data, size_t size)
{
	const char *at = data;
	uint64_t words[4];

	for (; size >= sizeof(words); size -= sizeof(words), at += sizeof(words)) {
		memcpy(words, at, sizeof(words));
		gt_fingerprint_add_words(state, words);
	}
	if (!size)
		return;
	memset(words, 0, sizeof(words));
	memcpy(words, at, size);
	gt_fingerprint_add_words(state, words);
}

/* The result, of `size` bytes in all. */
static inline struct gt_fingerprint gt_fingerprint_end(const struct gt_fingerprint *state,
						       uint64_t size)
{
	const uint64_t last[4] = {size, state->words[0], size, state->words[1]};
	struct gt_fingerprint result = *state;

	gt_fingerprint_add_words(&result, last);
	gt_fingerprint_add_words(&result, last);
	return result;
}

/* The fingerprint of data[0..size). */
static inline struct gt_fingerprint gt_fingerprint(const void *data, size_t size)
{
	struct gt_fingerprint state = GT_FINGERPRINT_INIT;

	gt_fingerprint_add(&state, data, size);
	return gt_fingerprint_end(&state, size);
}
