/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Algorithms on bytes: checksums, hashes and strings. */
#pragma once

#include "algorithms.h"

/* ---- checksums and hashes --------------------------------------------------------------- */

ALGORITHM(crc32)
{
	u32 crc = ~0u;

	for (unsigned i = 0; i < 64; i++) {
		crc ^= memory[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0xedb88320 & (0 - (crc & 1)));
	}
	return ~crc;
}

ALGORITHM(adler32)
{
	u32 low = 1, high = 0;

	for (unsigned i = 0; i < 200; i++) {
		low = (low + memory[i]) % 65521;
		high = (high + low) % 65521;
	}
	return high << 16 | low;
}

struct sip {
	u64 v[4];
};

static NOINLINE void sip_round(struct sip *state, unsigned rounds)
{
	u64 *v = state->v;

	for (unsigned i = 0; i < rounds && i < 4; i++) {
		v[0] += v[1];
		v[1] = rotate_left64(v[1], 13) ^ v[0];
		v[0] = rotate_left64(v[0], 32);
		v[2] += v[3];
		v[3] = rotate_left64(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate_left64(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate_left64(v[1], 17) ^ v[2];
		v[2] = rotate_left64(v[2], 32);
	}
}

ALGORITHM(siphash)
{
	const u64 *words = (const u64 *)memory;
	u64 key0 = words[0], key1 = words[1];
	struct sip state = {{key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d,
			     key0 ^ 0x6c7967656e657261, key1 ^ 0x7465646279746573}};

	for (unsigned i = 2; i < 9; i++) {
		u64 word = i < 8 ? words[i] : (u64)48 << 56;

		state.v[3] ^= word;
		sip_round(&state, 2);
		state.v[0] ^= word;
	}
	state.v[2] ^= 0xff;
	sip_round(&state, 4);
	return state.v[0] ^ state.v[1] ^ state.v[2] ^ state.v[3];
}

static const u32 sha256_constants[64] = {
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

static inline u32 sha256_schedule(u32 *words, unsigned round)
{
	u32 early = words[(round + 1) % 16], late = words[(round + 14) % 16];

	if (round >= 16)
		words[round % 16] +=
			words[(round + 9) % 16] +
			(rotate_left32(early, 25) ^ rotate_left32(early, 14) ^ early >> 3) +
			(rotate_left32(late, 15) ^ rotate_left32(late, 13) ^ late >> 10);
	return words[round % 16];
}

ALGORITHM(sha256_block)
{
	static const u32 start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
				     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	u32 *digest = (u32 *)(memory + OUTPUT), words[16], s[8];

	for (unsigned i = 0; i < 16; i++)
		words[i] = __builtin_bswap32(((const u32 *)memory)[i]);
	for (unsigned i = 0; i < 8; i++)
		s[i] = start[i];
	for (unsigned i = 0; i < 64; i++) {
		u32 one = s[7] + sha256_constants[i] + sha256_schedule(words, i) +
			  (rotate_left32(s[4], 26) ^ rotate_left32(s[4], 21) ^
			   rotate_left32(s[4], 7)) +
			  ((s[4] & s[5]) ^ (~s[4] & s[6]));
		u32 two = (rotate_left32(s[0], 30) ^ rotate_left32(s[0], 19) ^
			   rotate_left32(s[0], 10)) +
			  ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		for (unsigned j = 7; j > 0; j--)
			s[j] = s[j - 1];
		s[4] += one;
		s[0] = one + two;
	}
	for (unsigned i = 0; i < 8; i++)
		digest[i] = __builtin_bswap32(start[i] + s[i]);
	return digest[0];
}

#define XX1 0x9e3779b185ebca87ull
#define XX2 0xc2b2ae3d27d4eb4full
#define XX3 0x165667b19e3779f9ull
#define XX4 0x85ebca77c2b2ae63ull
#define XX5 0x27d4eb2f165667c5ull

static inline u64 xx_round(u64 sum, u64 word)
{
	return rotate_left64(sum + word * XX2, 31) * XX1;
}

ALGORITHM(xxhash64)
{
	enum { LENGTH = 111 };
	const u64 *words = (const u64 *)memory;
	u64 seed = words[31], hash, sums[4] = {seed + XX1 + XX2, seed + XX2, seed, seed - XX1};
	unsigned at = 0;

	for (; at + 32 <= LENGTH; at += 32)
		for (unsigned i = 0; i < 4; i++)
			sums[i] = xx_round(sums[i], words[at / 8 + i]);
	hash = rotate_left64(sums[0], 1) + rotate_left64(sums[1], 7) + rotate_left64(sums[2], 12) +
	       rotate_left64(sums[3], 18);
	for (unsigned i = 0; i < 4; i++)
		hash = (hash ^ xx_round(0, sums[i])) * XX1 + XX4;
	hash += LENGTH;
	for (; at + 8 <= LENGTH; at += 8)
		hash = rotate_left64(hash ^ xx_round(0, words[at / 8]), 27) * XX1 + XX4;
	for (; at < LENGTH; at++)
		hash = rotate_left64(hash ^ memory[at] * XX5, 11) * XX1;
	hash = (hash ^ hash >> 33) * XX2;
	hash = (hash ^ hash >> 29) * XX3;
	return hash ^ hash >> 32;
}

/* ---- texts ------------------------------------------------------------------------------ */

ALGORITHM(base64)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned out = OUTPUT;
	u32 bits;

	for (unsigned i = 0; i < 60; i += 3) {
		bits = (u32)memory[i] << 16 | (u32)memory[i + 1] << 8 | memory[i + 2];
		memory[out++] = (u8)digits[bits >> 18];
		memory[out++] = (u8)digits[bits >> 12 & 63];
		memory[out++] = (u8)digits[bits >> 6 & 63];
		memory[out++] = (u8)digits[bits & 63];
	}
	bits = (u32)memory[60] << 16 | (memory[62] & 1 ? (u32)memory[61] << 8 : 0);
	memory[out++] = (u8)digits[bits >> 18];
	memory[out++] = (u8)digits[bits >> 12 & 63];
	memory[out++] = memory[62] & 1 ? (u8)digits[bits >> 6 & 63] : '=';
	memory[out++] = '=';
	return out;
}

/* Return how many bytes follow the first byte of a character, or -1. */
static inline int utf8_length(u8 first)
{
	if (first < 0x80)
		return 0;
	if (first >= 0xc2 && first < 0xe0)
		return 1;
	if ((first & 0xf0) == 0xe0)
		return 2;
	return first >= 0xf0 && first < 0xf5 ? 3 : -1;
}

/* The number of characters, or the length of the valid prefix with the upper bit set. */
ALGORITHM(utf8)
{
	int left = 0, length = 0;
	unsigned count = 0, i;
	u32 character = 0;

	for (i = 0; i < 16; i++) {
		u8 byte = memory[i];

		if (!left) {
			length = left = utf8_length(byte);
			if (left < 0)
				break;
			character = length ? byte & (0x3fu >> length) : byte;
		} else {
			if ((byte & 0xc0) != 0x80)
				break;
			character = character << 6 | (byte & 0x3f);
			left--;
		}
		if (left)
			continue;
		if ((length == 2 && (character < 0x800 || (character >> 11) == 0x1b)) ||
		    (length == 3 && (character < 0x10000 || character > 0x10ffff)))
			break;
		count++;
	}
	return i < 16 ? (u64)1 << 63 | i : count;
}

static NOINLINE unsigned put_decimal(u8 *text, u64 number)
{
	u8 digits[20];
	unsigned count = 0;

	for (unsigned i = 0; i < 20; i++) {
		digits[i] = (u8)('0' + number % 10);
		count = i + 1;
		number /= 10;
		if (!number)
			break;
	}
	for (unsigned i = 0; i < 20; i++)
		text[i] = i < count ? digits[(count - 1 - i) % 20] : ' ';
	return count;
}

ALGORITHM(decimal)
{
	u8 text[24];
	unsigned length = 0;

	for (unsigned i = 0; i < 3; i++) {
		length += put_decimal(text, ((const u64 *)memory)[i] >> (memory[24 + i] & 63));
		for (unsigned j = 0; j < 20; j++)
			memory[OUTPUT + 20 * i + j] = text[j];
	}
	return length;
}

/* The sum of the numbers in a string. */
ALGORITHM(sum_of_numbers)
{
	u64 sum = 0, number = 0;

	for (unsigned i = 0; i < 96; i++) {
		unsigned digit = (memory[i] & 0x3fu) - 0x30u;

		if (digit <= 9) {
			number = number * 10 + digit;
		} else {
			sum += number;
			number = 0;
		}
	}
	return sum + number;
}

/* Run-length encoding: pairs of length and byte. */
ALGORITHM(run_lengths)
{
	unsigned out = 0, length = 1;

	for (unsigned i = 0; i < 24; i++) {
		u8 byte = memory[i] & 3;

		if (i + 1 < 24 && (memory[i + 1] & 3) == byte) {
			length++;
			continue;
		}
		if (out > 46)
			break;
		memory[OUTPUT + out] = (u8)length;
		memory[OUTPUT + out + 1] = byte;
		out += 2;
		length = 1;
	}
	return out;
}
