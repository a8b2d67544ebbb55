/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "exec/lanes/lanes.h"
#include "exec/ops/video.h"

static inline u32 sg_lop3(u32 a, u32 b, u32 c, const u32 lookup[8])
{
	return (~a & ~b & ~c & lookup[0]) | (~a & ~b & c & lookup[1]) | (~a & b & ~c & lookup[2]) |
	       (~a & b & c & lookup[3]) | (a & ~b & ~c & lookup[4]) | (a & ~b & c & lookup[5]) |
	       (a & b & ~c & lookup[6]) | (a & b & c & lookup[7]);
}

static inline u32 sg_popc32(u32 a)
{
	a -= (a >> 1) & 0x55555555;
	a = (a & 0x33333333) + ((a >> 2) & 0x33333333);
	return (((a + (a >> 4)) & 0x0f0f0f0f) * 0x01010101) >> 24;
}

static inline u32 sg_clz32(u32 a)
{
	return a ? (u32)__builtin_clz(a) : 32;
}

static inline u32 sg_clz64(u64 a)
{
	return a ? (u32)__builtin_clzll(a) : 64;
}

static inline u32 sg_brev32(u32 a)
{
	a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
	a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
	a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
	a = (a >> 8 & 0x00ff00ff) | (a & 0x00ff00ff) << 8;
	return a >> 16 | a << 16;
}

static inline u32 sg_bfe_u32(u32 a, u32 start, u32 length)
{
	u32 shifted = start > 31 ? 0 : a >> (start & 31);

	return length > 31 ? shifted : shifted & ((1u << (length & 31)) - 1);
}

static inline s32 sg_bfe_s32(s32 a, u32 start, u32 length)
{
	if (length == 0)
		return 0;
	if (start + length > 31)
		return a >> (start > 31 ? 31 : start);
	return (s32)((u32)a << (32 - start - length)) >> (32 - length);
}

static inline u64 sg_bfe_u64(u64 a, u32 start, u32 length)
{
	u64 shifted = start > 63 ? 0 : a >> (start & 63);

	return length > 63 ? shifted : shifted & ((1ull << (length & 63)) - 1);
}

static inline s64 sg_bfe_s64(s64 a, u32 start, u32 length)
{
	if (length == 0)
		return 0;
	if (start + length > 63)
		return a >> (start > 63 ? 63 : start);
	return (s64)((u64)a << (64 - start - length)) >> (64 - length);
}

static inline u32 sg_bfi_b32(u32 a, u32 b, u32 start, u32 length)
{
	u32 mask = length > 31 ? SG_FULL : (1u << (length & 31)) - 1;

	mask = start > 31 ? 0 : mask << (start & 31);
	return (b & ~mask) | (a << (start & 31) & mask);
}

static inline u64 sg_bfi_b64(u64 a, u64 b, u32 start, u32 length)
{
	u64 mask = length > 63 ? UINT64_MAX : (1ull << (length & 63)) - 1;

	mask = start > 63 ? 0 : mask << (start & 63);
	return (b & ~mask) | (a << (start & 63) & mask);
}

/* The n-th set bit from `base` on, upwards or downwards (PTX ISA 9.7.1.19). */
static inline u32 sg_fns(u32 mask, u32 base, s32 offset)
{
	s64 start = base;
	u32 count = offset < 0 ? -(u32)offset : (u32)offset;

	if (offset == 0)
		return base < 32 && (mask >> base & 1) ? base : SG_FULL;
	for (; start >= 0 && start<32; start += offset> 0 ? 1 : -1)
		if ((mask >> start & 1) && --count == 0)
			return (u32)start;
	return SG_FULL;
}

static inline u32 sg_bmsk(u32 start, u32 width)
{
	return (u32)(((1ull << width) - 1) << start);
}

static inline u32 sg_byte(u32 value, u32 index)
{
	return value >> (index * 8) & 0xff;
}

enum {
	PRMT_DEFAULT,
	PRMT_F4E,
	PRMT_B4E,
	PRMT_RC8,
	PRMT_ECL,
	PRMT_ECR,
	PRMT_RC16,
};

/* Selectors of the special modes by the low two bits of c (PTX ISA 9.7.9.7, its table). */
static const u16 sg_prmt_modes[7][4] = {
	[PRMT_F4E] = {0x3210, 0x4321, 0x5432, 0x6543},
	[PRMT_B4E] = {0x5670, 0x6701, 0x7012, 0x0123},
	[PRMT_RC8] = {0x0000, 0x1111, 0x2222, 0x3333},
	[PRMT_ECL] = {0x3210, 0x3211, 0x3222, 0x3333},
	[PRMT_ECR] = {0x0000, 0x1110, 0x2210, 0x3210},
	[PRMT_RC16] = {0x1010, 0x3232, 0x1010, 0x3232},
};

static inline u32 sg_prmt(u32 a, u32 b, u32 c, u32 mode)
{
	u64 bytes = (u64)b << 32 | a;
	u32 selectors = mode ? sg_prmt_modes[mode][c & 3] : c, result = 0;

	for (u32 i = 0; i < 4; i++) {
		u32 selector = selectors >> (4 * i) & 0xf;
		u32 byte = bytes >> ((selector & 7) * 8) & 0xff;

		if (selector & 8)
			byte = byte & 0x80 ? 0xff : 0;
		result |= byte << (8 * i);
	}
	return result;
}

static inline u32 sg_dp4a_uu(u32 a, u32 b, u32 c)
{
	for (u32 i = 0; i < 4; i++)
		c += sg_byte(a, i) * sg_byte(b, i);
	return c;
}

static inline u32 sg_dp4a_su(u32 a, u32 b, u32 c)
{
	for (u32 i = 0; i < 4; i++)
		c += (u32)(s8)sg_byte(a, i) * sg_byte(b, i);
	return c;
}

static inline u32 sg_dp4a_ss(u32 a, u32 b, u32 c)
{
	for (u32 i = 0; i < 4; i++)
		c += (u32)(s8)sg_byte(a, i) * (u32)(s8)sg_byte(b, i);
	return c;
}

/* Values that are the same for all lanes are computed once, before the loop. */
#define SG_UNARY SG_DEFINE_UNARY
#define SG_BINARY SG_DEFINE_BINARY
#define SG_QUATERNARY SG_DEFINE_QUATERNARY
#define SG_TERNARY(id, D, A, B, C, expression)                                                     \
	SG_DEFINE(id)                                                                              \
	{                                                                                          \
		const A *a_ = SG_SLOT(A, at->a);                                                   \
		const B *b_ = SG_SLOT(B, at->b);                                                   \
		const C *c_ = SG_SLOT(C, at->c);                                                   \
		const u32 lower = at->selector ? 2 : 0, upper = lower + 1;                         \
		u32 lookup[8];                                                                     \
		for (u32 i = 0; i < 8; i++)                                                        \
			lookup[i] = -(u32)(at->immediate >> i & 1);                                \
		(void)lower, (void)upper, (void)lookup;                                            \
		SG_STORE(D, A a = a_[lane]; B b = b_[lane]; C c = c_[lane];                        \
			 result[lane] = (D)(expression));                                          \
		return at + 1;                                                                     \
	}
#define SG_OTHER(id)
#include "exec/lanes/bits.def"

/*
 * Arithmetic with carry in and out, by flags. WIDE holds the exact sum of T and the carry, and the
 * bit above those of T is CC.CF. A subtraction adds the complement, so CC.CF is 1 where there is no
 * borrow; `initial` is the carry of an instruction that reads none. ptxas 13.0 compiles mixtures of
 * addc and subc so.
 */
#define SG_DEFINE_CARRY(id, T, WIDE, initial, expression)                                          \
	SG_DEFINE(id)                                                                              \
	{                                                                                          \
		const T *a_ = SG_SLOT(T, at->a), *b_ = SG_SLOT(T, at->b), *c_ = SG_SLOT(T, at->c); \
		T *d_ = SG_SLOT(T, at->d);                                                         \
		u32 carries = at->flags & SG_FLAG_CARRY_IN ? warp->carry : -(u32)initial, out = 0; \
		for (u32 lane = 0; lane < SG_WARP_SIZE; lane++) {                                  \
			T a = a_[lane], b = b_[lane], c = c_[lane];                                \
			WIDE carry = carries >> lane & 1, sum;                                     \
			(void)c;                                                                   \
			if (!(warp->exec >> lane & 1))                                             \
				continue;                                                          \
			sum = expression;                                                          \
			d_[lane] = (T)sum;                                                         \
			out |= (u32)(sum >> (8 * sizeof(T)) & 1) << lane;                          \
		}                                                                                  \
		if (at->flags & SG_FLAG_CARRY_OUT)                                                 \
			warp->carry = (warp->carry & ~warp->exec) | out;                           \
		return at + 1;                                                                     \
	}

typedef unsigned __int128 u128;
typedef __int128 s128;

SG_DEFINE_CARRY(add_carry_u32, u32, u64, 0, (u64)a + b + carry)
SG_DEFINE_CARRY(add_carry_u64, u64, u128, 0, (u128)a + b + carry)
SG_DEFINE_CARRY(sub_carry_u32, u32, u64, 1, (u64)a + (u32)~b + carry)
SG_DEFINE_CARRY(sub_carry_u64, u64, u128, 1, (u128)a + (u64)~b + carry)
SG_DEFINE_CARRY(mad_lo_carry_u32, u32, u64, 0, (u64)(a *b) + c + carry)
SG_DEFINE_CARRY(mad_hi_carry_u32, u32, u64, 0, (((u64)a * b) >> 32) + c + carry)
SG_DEFINE_CARRY(mad_hi_carry_s32, u32, u64, 0, (u64)(u32)(((s64)(s32)a * (s32)b) >> 32) + c + carry)
SG_DEFINE_CARRY(mad_lo_carry_u64, u64, u128, 0, (u128)(a *b) + c + carry)
SG_DEFINE_CARRY(mad_hi_carry_u64, u64, u128, 0, (((u128)a * b) >> 64) + c + carry)
SG_DEFINE_CARRY(mad_hi_carry_s64, u64, u128, 0,
		(u128)(u64)(((s128)(s64)a * (s64)b) >> 64) + c + carry)

SG_DEFINE(video)
{
	const u32 *a = SG_SLOT(u32, at->a), *b = SG_SLOT(u32, at->b), *c = SG_SLOT(u32, at->c);
	u32 *d = SG_SLOT(u32, at->d);

	for (u32 lanes = warp->exec; lanes; lanes &= lanes - 1) {
		u32 lane = (u32)__builtin_ctz(lanes);

		d[lane] = sg_video_compute(at->immediate, a[lane], b[lane], c[lane]);
	}
	return at + 1;
}
