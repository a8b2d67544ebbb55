/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Device functions of integers, bytes and halves: each against the same in plain C++. */
#include "kernels_check.h"

enum { COUNT = 4096 };

__host__ __device__ static uint32_t left(int i)
{
	return number(i);
}

__host__ __device__ static uint32_t right(int i)
{
	return i % 5 ? number(i + 77777) : left(i);
}

/* ---- bytes and halves ------------------------------------------------------------------ */

/* name, what one part of x and y gives: a, b without sign, s, t with it. */
#define TWO(X)                                                                                     \
	X(add, a + b)                                                                              \
	X(sub, a - b)                                                                              \
	X(addss, clamp(s + t, MIN, MAX))                                                           \
	X(subss, clamp(s - t, MIN, MAX))                                                           \
	X(addus, clamp(a + b, 0, ALL))                                                             \
	X(subus, clamp(a - b, 0, ALL))                                                             \
	X(avgs, (s + t + (s + t >= 0)) >> 1)                                                       \
	X(avgu, (a + b + 1) >> 1)                                                                  \
	X(absdiffs, abs(s - t))                                                                    \
	X(absdiffu, abs(a - b))                                                                    \
	X(maxs, s > t ? s : t)                                                                     \
	X(maxu, a > b ? a : b)                                                                     \
	X(mins, s < t ? s : t)                                                                     \
	X(minu, a < b ? a : b)                                                                     \
	X(cmpeq, a == b ? ALL : 0)                                                                 \
	X(cmpne, a != b ? ALL : 0)                                                                 \
	X(cmpges, s >= t ? ALL : 0)                                                                \
	X(cmpgeu, a >= b ? ALL : 0)                                                                \
	X(cmpgts, s > t ? ALL : 0)                                                                 \
	X(cmpgtu, a > b ? ALL : 0)                                                                 \
	X(cmples, s <= t ? ALL : 0)                                                                \
	X(cmpleu, a <= b ? ALL : 0)                                                                \
	X(cmplts, s < t ? ALL : 0)                                                                 \
	X(cmpltu, a < b ? ALL : 0)                                                                 \
	X(seteq, a == b)                                                                           \
	X(setne, a != b)                                                                           \
	X(setges, s >= t)                                                                          \
	X(setgtu, a > b)                                                                           \
	X(setles, s <= t)                                                                          \
	X(setltu, a < b)
#define ONE(X)                                                                                     \
	X(abs, abs(s))                                                                             \
	X(absss, clamp(abs(s), MIN, MAX))                                                          \
	X(neg, -s)                                                                                 \
	X(negss, clamp(-s, MIN, MAX))

static int clamp(int value, int least, int most)
{
	return value < least ? least : value > most ? most : value;
}

#define REFERENCE(name, expression)                                                                \
	template <int BITS> static uint32_t parts_##name(uint32_t x, uint32_t y)                   \
	{                                                                                          \
		const int ALL = (1 << BITS) - 1, MAX = ALL >> 1, MIN = -MAX - 1;                   \
		uint32_t result = 0;                                                               \
                                                                                                   \
		for (int i = 0; i < 32; i += BITS) {                                               \
			int a = x >> i & ALL, b = y >> i & ALL;                                    \
			int s = a > MAX ? a - ALL - 1 : a, t = b > MAX ? b - ALL - 1 : b;          \
                                                                                                   \
			(void)a, (void)b, (void)s, (void)t, (void)MIN;                             \
			result |= ((uint32_t)(expression)&ALL) << i;                               \
		}                                                                                  \
		return result;                                                                     \
	}
TWO(REFERENCE)
ONE(REFERENCE)

#define KERNEL_TWO(name, expression)                                                               \
	__global__ void kernel_##name(uint32_t *four, uint32_t *two)                               \
	{                                                                                          \
		int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
                                                                                                   \
		four[i] = __v##name##4(left(i), right(i));                                         \
		two[i] = __v##name##2(left(i), right(i));                                          \
	}
#define KERNEL_ONE(name, expression)                                                               \
	__global__ void kernel_##name(uint32_t *four, uint32_t *two)                               \
	{                                                                                          \
		int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
                                                                                                   \
		four[i] = __v##name##4(left(i));                                                   \
		two[i] = __v##name##2(left(i));                                                    \
	}
TWO(KERNEL_TWO)
ONE(KERNEL_ONE)

#define COMPARE(name, expression)                                                                  \
	kernel_##name<<<COUNT / 256, 256>>>(four, two);                                            \
	finish("__v" #name);                                                                       \
	for (int i = 0; i < COUNT; i++) {                                                          \
		EXPECT(four[i] == parts_##name<8>(left(i), right(i)),                              \
		       "__v" #name "4(%08x, %08x) = %08x", left(i), right(i), four[i]);            \
		EXPECT(two[i] == parts_##name<16>(left(i), right(i)),                              \
		       "__v" #name "2(%08x, %08x) = %08x", left(i), right(i), two[i]);             \
	}

/* ---- words ----------------------------------------------------------------------------- */

enum { WORDS = 16 };

__global__ void words(uint32_t *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t a = left(i), b = right(i), *o = out + WORDS * i;

	o[0] = __sad((int)a, (int)b, 7u);
	o[1] = __usad(a, b, 7u);
	o[2] = __funnelshift_l(a, b, i);
	o[3] = __funnelshift_rc(a, b, i & 63);
	o[4] = __byte_perm(a, b, i);
	o[5] = __brev(a);
	o[6] = __clz(a) | __ffs(a) << 8 | __popc(a) << 16;
	o[7] = __mulhi((int)a, (int)b);
	o[8] = __umulhi(a, b);
	o[9] = __mul24((int)a, (int)b);
	o[10] = __hadd((int)a, (int)b);
	o[11] = __urhadd(a, b);
	o[12] = __dp4a((int)a, (int)b, 5);
	o[13] = __dp2a_lo((int)a, (int)b, 5);
	o[14] = (uint32_t)((int64_t)((uint64_t)a << 32 | b) / (int)(b | 1));
	o[15] = __float_as_uint(__uint2float_rz(a)) ^ (uint32_t)__double2int_rn((int)a * 0.37);
}

static uint32_t dot(uint32_t a, uint32_t b, int bits_a, int parts)
{
	int sum = 5;

	for (int j = 0; j < parts; j++)
		sum += (bits_a == 8 ? (int8_t)(a >> (8 * j)) : (int16_t)(a >> (16 * j))) *
		       (int8_t)(b >> (8 * j));
	return (uint32_t)sum;
}

static uint32_t truncated_float(uint32_t value)
{
	uint32_t bits, shift = value >> 24 ? 8 - __builtin_clz(value) : 0;
	float result = (float)(value >> shift << shift);

	memcpy(&bits, &result, sizeof(bits));
	return bits;
}

static uint32_t expected_word(int which, int i)
{
	uint32_t a = left(i), b = right(i), result = 0;
	uint64_t both = (uint64_t)b << 32 | a;
	int64_t s = (int)a, t = (int)b;

	switch (which) {
	case 0:
		return 7u + (uint32_t)llabs(s - t);
	case 1:
		return 7u + (a > b ? a - b : b - a);
	case 2:
		return (uint32_t)(both << (i & 31) >> 32);
	case 3:
		return (i & 63) >= 32 ? b : (uint32_t)(both >> (i & 63));
	case 4:
		for (int j = 0; j < 4; j++)
			result |= (uint32_t)(both >> (8 * (i >> (4 * j) & 7)) & 255) << (8 * j);
		return result;
	case 5:
		for (int j = 0; j < 32; j++)
			result |= (a >> j & 1) << (31 - j);
		return result;
	case 6:
		return (a ? __builtin_clz(a) : 32) | (uint32_t)__builtin_ffs(a) << 8 |
		       (uint32_t)__builtin_popcount(a) << 16;
	case 7:
		return (uint32_t)(s * t >> 32);
	case 8:
		return (uint32_t)((uint64_t)a * b >> 32);
	case 9:
		return (uint32_t)((int64_t)((int)(a << 8) >> 8) * ((int)(b << 8) >> 8));
	case 10:
		return (uint32_t)((s + t) >> 1);
	case 11:
		return (uint32_t)(((uint64_t)a + b + 1) >> 1);
	case 12:
		return dot(a, b, 8, 4);
	case 13:
		return dot(a, b, 16, 2);
	case 14:
		return (uint32_t)((int64_t)((uint64_t)a << 32 | b) / (int)(b | 1));
	default:
		return truncated_float(a) ^ (uint32_t)(int)__builtin_rint((int)a * 0.37);
	}
}

int main()
{
	uint32_t *four = managed<uint32_t>(COUNT), *two = managed<uint32_t>(COUNT);
	uint32_t *out = managed<uint32_t>(COUNT * WORDS);

	TWO(COMPARE)
	ONE(COMPARE)
	words<<<COUNT / 256, 256>>>(out);
	finish("words");
	for (int i = 0; i < COUNT * WORDS; i++)
		EXPECT(out[i] == expected_word(i % WORDS, i / WORDS),
		       "word %d of %08x, %08x is %08x, not %08x", i % WORDS, left(i / WORDS),
		       right(i / WORDS), out[i], expected_word(i % WORDS, i / WORDS));
	return failures != 0;
}
