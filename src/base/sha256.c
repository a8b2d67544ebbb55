/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/sha256.h"

#include <string.h>

enum { BLOCK_BYTES = 64, LENGTH_BYTES = 8 };

static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2};

static uint32_t rotate(uint32_t value, int bits)
{
	return value >> bits | value << (32 - bits);
}

static uint32_t big_endian(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static void put_big_endian(uint8_t *bytes, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void expand_block(const uint8_t *block, uint32_t words[64])
{
	for (int i = 0; i < 16; i++)
		words[i] = big_endian(block + (size_t)4 * (size_t)i);
	for (int i = 16; i < 64; i++) {
		uint32_t early = words[i - 15], late = words[i - 2];

		words[i] = words[i - 16] + words[i - 7] +
			   (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) +
			   (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
	}
}

static void add_block(uint32_t state[8], const uint8_t *block)
{
	uint32_t words[64], a[8];

	expand_block(block, words);
	memcpy(a, state, sizeof(a));
	for (int i = 0; i < 64; i++) {
		uint32_t choice = (a[4] & a[5]) ^ (~a[4] & a[6]);
		uint32_t majority = (a[0] & a[1]) ^ (a[0] & a[2]) ^ (a[1] & a[2]);
		uint32_t first = a[7] + (rotate(a[4], 6) ^ rotate(a[4], 11) ^ rotate(a[4], 25)) +
				 choice + round_constants[i] + words[i];
		uint32_t second =
			(rotate(a[0], 2) ^ rotate(a[0], 13) ^ rotate(a[0], 22)) + majority;

		memmove(a + 1, a, 7 * sizeof(a[0]));
		a[4] += first;
		a[0] = first + second;
	}
	for (int i = 0; i < 8; i++)
		state[i] += a[i];
}

struct gt_sha256 gt_sha256(const void *data, size_t size)
{
	uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	uint8_t last[2 * BLOCK_BYTES] = {0};
	const uint8_t *bytes = data;
	size_t left = size, padded;
	struct gt_sha256 digest = {0};

	for (; left >= BLOCK_BYTES; left -= BLOCK_BYTES, bytes += BLOCK_BYTES)
		add_block(state, bytes);
	if (left)
		memcpy(last, bytes, left);
	last[left] = 0x80;
	padded = left + 1 + LENGTH_BYTES <= BLOCK_BYTES ? BLOCK_BYTES : sizeof(last);
	put_big_endian(last + padded - 8, (uint32_t)((uint64_t)size >> 29));
	put_big_endian(last + padded - 4, (uint32_t)((uint64_t)size << 3));
	for (size_t at = 0; at < padded; at += BLOCK_BYTES)
		add_block(state, last + at);
	for (size_t i = 0; i < 8; i++)
		put_big_endian(digest.bytes + 4 * i, state[i]);
	return digest;
}
