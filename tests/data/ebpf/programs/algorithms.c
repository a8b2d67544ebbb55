/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ordinary C, compiled for BPF and for the host: both return the same value and leave the same
 * memory. The input is arbitrary.
 */
#include "algorithms_bytes.h"

#ifdef __bpf__
#include "../../../../include/gputap/bpf.h"
#else
#pragma GCC diagnostic ignored "-Wshadow"
#define bpf_for(i, start, end)                                                                     \
	for (int next_index = (start), end_index = (end);                                          \
	     next_index < end_index && ((i) = next_index, 1); next_index++)
#define bpf_repeat(count) for (int left = (count); left > 0; left--)
#endif

/* ---- order ------------------------------------------------------------------------------ */

ALGORITHM(insertion_sort)
{
	s32 *numbers = (s32 *)(memory + OUTPUT);

	for (unsigned i = 0; i < 16; i++)
		numbers[i] = ((const s32 *)memory)[i];
	for (unsigned i = 1; i < 16; i++) {
		s32 number = numbers[i];
		unsigned j = i;

		for (; j > 0 && numbers[j - 1] > number; j--)
			numbers[j] = numbers[j - 1];
		numbers[j] = number;
	}
	return (u64)numbers[7];
}

static inline void put_in_order(s64 *numbers, unsigned one, unsigned other)
{
	s64 low = numbers[one], high = numbers[other];

	numbers[one] = low < high ? low : high;
	numbers[other] = low < high ? high : low;
}

ALGORITHM(sorting_network)
{
	s64 *numbers = (s64 *)(memory + OUTPUT);

	for (unsigned i = 0; i < 16; i++)
		numbers[i] = ((const s64 *)memory)[i];
	for (unsigned size = 2; size <= 16; size *= 2)
		for (unsigned step = size / 2; step > 0; step /= 2)
			for (unsigned i = 0; i < 16; i++) {
				unsigned other = i ^ step;

				if (other > i)
					put_in_order(numbers, i & size ? other : i,
						     i & size ? i : other);
			}
	return (u64)numbers[8];
}

ALGORITHM(heap_sort)
{
	u16 *numbers = (u16 *)(memory + OUTPUT);

	for (unsigned i = 0; i < 12; i++)
		numbers[i] = ((const u16 *)memory)[i];
	for (unsigned round = 0; round < 6 + 11; round++) {
		unsigned count = round < 6 ? 12 : 17 - round, at = round < 6 ? 5 - round : 0;

		if (round >= 6) {
			u16 greatest = numbers[0];

			numbers[0] = numbers[count];
			numbers[count] = greatest;
		}
		for (unsigned level = 0; level < 4; level++) {
			unsigned child = 2 * at + 1;
			u16 number = numbers[at];

			if (child >= count)
				break;
			if (child + 1 < count && numbers[child + 1] > numbers[child])
				child++;
			if (numbers[child] <= number)
				break;
			numbers[at] = numbers[child];
			numbers[child] = number;
			at = child;
		}
	}
	return numbers[6];
}

/* The position of a number in 64 ascending ones. */
ALGORITHM(binary_search)
{
	u32 *sums = (u32 *)(memory + OUTPUT), sum = 0, wanted = ((const u16 *)memory)[127] & 0x1fff;
	unsigned low = 0, high = 64;

	for (unsigned i = 0; i < 64; i++)
		sums[i] = sum += memory[i];
	for (unsigned round = 0; round < 7 && low < high; round++) {
		unsigned middle = (low + high) / 2;

		if (middle < 64 && sums[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- numbers ---------------------------------------------------------------------------- */

ALGORITHM(multiply128)
{
	const u64 *words = (const u64 *)memory;
	u64 low = 0, high = 0;

	for (unsigned i = 0; i < 8; i += 2) {
		u64 a = words[i], b = words[i + 1], al = (u32)a, ah = a >> 32, bl = (u32)b,
		    bh = b >> 32;
		u64 middle = ah * bl + (al * bl >> 32), other = al * bh + (u32)middle, sum;

		sum = low + a * b;
		high += ah * bh + (middle >> 32) + (other >> 32) + (sum < low);
		low = sum;
	}
	*(u64 *)(memory + OUTPUT) = low;
	return high;
}

ALGORITHM(common_divisor)
{
	u32 a = ((const u32 *)memory)[0], b = ((const u32 *)memory)[1];

	for (unsigned i = 0; i < 64 && b; i++) {
		u32 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

ALGORITHM(square_root)
{
	u64 number = *(const u64 *)memory >> (memory[8] & 31), root = (u64)1 << 32;

	/* Newton's method, from above. */
	for (unsigned i = 0; i < 48; i++) {
		u64 next = (root + number / root) / 2;

		if (next >= root)
			break;
		root = next | !next;
	}
	return root;
}

static NOINLINE u64 reversed(u64 word)
{
	u64 result = 0;

	for (unsigned i = 0; i < 64; i++) {
		result = result << 1 | (word & 1);
		word >>= 1;
	}
	return result;
}

static NOINLINE unsigned leading_zeros(u64 word)
{
	unsigned count = 0;

	if (!word)
		return 64;
	for (unsigned half = 32; half; half /= 2)
		if (!(word >> (64 - half))) {
			word <<= half;
			count += half;
		}
	return count;
}

ALGORITHM(bits)
{
	u64 *out = (u64 *)(memory + OUTPUT);
	u64 word = *(const u64 *)memory >> (memory[8] & 63);

	out[0] = reversed(word);
	out[1] = (u64)__builtin_popcountll(word);
	out[2] = leading_zeros(word);
	out[3] = leading_zeros(reversed(word));
	out[4] = leading_zeros((u32)word);
	out[5] = __builtin_bswap16((u16)word) | (u64)__builtin_bswap32((u32)word) << 16;
	out[6] = __builtin_bswap64(word);
	out[7] = rotate_left64(word, (memory[9] & 31) + 1);
	return rotate_left32((u32)word, (memory[10] & 15) + 1);
}

/* BPF before version 4 has no signed division: use unsigned ones. */
static inline s64 divide_signed(s64 a, s64 b)
{
#if defined(__bpf__) && (!defined(__BPF_CPU_VERSION__) || __BPF_CPU_VERSION__ < 4)
	u64 result = (a < 0 ? 0 - (u64)a : (u64)a) / (b < 0 ? 0 - (u64)b : (u64)b);

	return (s64)((a < 0) != (b < 0) ? 0 - result : result);
#else
	return a / b;
#endif
}

ALGORITHM(signed_division)
{
	s64 *out = (s64 *)(memory + OUTPUT);
	u64 sum = 0;

	for (unsigned i = 0; i < 8; i++) {
		s64 a = ((const s64 *)memory)[i],
		    b = ((const s64 *)memory)[8 + i] >> memory[128 + i] % 64;

		if (!b || (b == -1 && a < -9223372036854775807))
			b = 7;
		out[2 * i] = divide_signed(a, b);
		out[2 * i + 1] = (s64)((u64)a - (u64)out[2 * i] * (u64)b);
		sum += (u64)divide_signed((s32)a >> 3, (s8)b ? (s8)b : 1);
	}
	return sum;
}

ALGORITHM(unsigned_division)
{
	u64 *out = (u64 *)(memory + OUTPUT), sum = 0;

	for (unsigned i = 0; i < 8; i++) {
		u64 a = ((const u64 *)memory)[i],
		    b = ((const u64 *)memory)[8 + i] >> memory[128 + i] % 64;

		out[2 * i] = a / (b ? b : 3);
		out[2 * i + 1] = a % (b ? b : 3);
		sum += (u32)a / ((u32)b | 1) + (u32)a % ((u32)b | 1) + a / 10 + (u32)a % 1000;
	}
	return sum;
}

/* Integers of all widths that overflow and change sign. */
ALGORITHM(narrow_numbers)
{
	u32 word = 0, sum = 0;
	u16 half = 0;
	u8 byte = 0;
	u64 total = 0;

	for (unsigned i = 0; i < 64; i++) {
		s8 small = (s8)memory[i];
		s16 middle = (s16)(memory[i] << 8 | memory[i + 1]);

		byte = (u8)(byte * 5u + memory[i]);
		half = (u16)(half * 257u - byte);
		word = word * 1103515245u + half;
		sum += word >> (byte & 31);
		total += (u64)(s64)small;
		total -= (u64)(s64)(middle >> (i & 7));
		total ^= (u64)(s64)((s32)word >> (half & 31));
		total += (s32)(word << (i & 15)) < small;
		if (word - sum > half)
			total += (u64)(word - sum) << (i & 31);
		if ((s32)(word - sum) < middle)
			total--;
	}
	return total + sum;
}

ALGORITHM(matrix)
{
	const u32 *a = (const u32 *)memory, *b = a + 16;
	u32 *product = (u32 *)(memory + OUTPUT), trace = 0;

	for (unsigned row = 0; row < 4; row++)
		for (unsigned column = 0; column < 4; column++) {
			u32 sum = 0;

			for (unsigned i = 0; i < 4; i++)
				sum += a[4 * row + i] * b[4 * i + column];
			product[4 * row + column] = sum;
			trace += row == column ? sum : 0;
		}
	return trace;
}

ALGORITHM(primes)
{
	u8 *crossed = memory + OUTPUT;
	unsigned count = 0;

	for (unsigned i = 2; i < 250; i++) {
		if (i < 16 && crossed[i] != 1)
			for (unsigned j = i * i; j < 250; j += i)
				crossed[j] = 1;
		count += crossed[i] != 1;
	}
	return count;
}

/* ---- structures ------------------------------------------------------------------------- */

struct ethernet {
	u8 to[6], from[6];
	u16 type;
} __attribute__((packed));

struct ipv4 {
	u8 version, service;
	u16 length, id, fragment;
	u8 hops, protocol;
	u16 checksum;
	u32 from, to;
} __attribute__((packed));

struct tcp {
	u16 from, to;
	u32 sequence, acknowledged;
	u16 flags, window, checksum, urgent;
} __attribute__((packed));

ALGORITHM(headers)
{
	const struct ethernet *frame = (const struct ethernet *)memory;
	const u8 *at = memory + sizeof(*frame), *end = memory + 200;
	const struct ipv4 *packet;
	const struct tcp *segment;
	u32 sum = 0;

	if ((memory[200] & 3) && __builtin_bswap16(frame->type) != 0x0800)
		at += 4 * (__builtin_bswap16(frame->type) & 3);
	packet = (const struct ipv4 *)at;
	if ((packet->version & 15) < 5)
		return 1;
	for (unsigned i = 0; i < 30 && i < 2 * (packet->version & 15u); i++)
		sum += (u32)at[2 * i] << 8 | at[2 * i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	segment = (const struct tcp *)(at + 4 * (packet->version & 15));
	if ((const u8 *)(segment + 1) > end)
		return 2;
	return (u64)__builtin_bswap32(packet->from ^ segment->sequence) << 32 |
	       (u64)__builtin_bswap16(segment->to) << 16 | (~sum & 0xffff);
}

struct record {
	u8 kind;
	u32 number;
	u16 flags;
	u64 when;
	u8 name[9];
} __attribute__((packed));

static NOINLINE int compare(const u8 *one, const u8 *other, unsigned size)
{
	for (unsigned i = 0; i < 24 && i < size; i++)
		if (one[i] != other[i])
			return one[i] < other[i] ? -1 : 1;
	return 0;
}

ALGORITHM(packed_records)
{
	struct record *records = (struct record *)memory,
		      *copies = (struct record *)(memory + OUTPUT);
	u64 sum = 0;

	for (unsigned i = 0; i < 8; i++) {
		struct record record;

		__builtin_memcpy(&record, &records[i], sizeof(record));
		record.number += record.flags;
		record.when ^= (u64)record.number << (record.kind & 31);
		record.flags = (u16)~record.flags;
		__builtin_memcpy(&copies[i], &record, sizeof(record));
		sum += record.when + copies[i].name[record.kind & 7];
		if (i)
			sum = sum * 3 + (u64)(s64)compare(copies[i].name, copies[i - 1].name,
							  memory[255] & 15);
	}
	return sum;
}

struct point {
	s32 x, y;
};

struct box {
	struct point low, high;
	u16 count;
	const struct point *last;
};

static NOINLINE void box_add(struct box *box, const struct point *point)
{
	if (!box->count || point->x < box->low.x)
		box->low.x = point->x;
	if (!box->count || point->x > box->high.x)
		box->high.x = point->x;
	if (!box->count || point->y < box->low.y)
		box->low.y = point->y;
	if (!box->count || point->y > box->high.y)
		box->high.y = point->y;
	box->count++;
	box->last = point;
}

static NOINLINE u64 box_area(const struct box *box)
{
	return ((u64)(s64)box->high.x - (u64)(s64)box->low.x) *
	       ((u64)(s64)box->high.y - (u64)(s64)box->low.y);
}

static NOINLINE void swap_points(struct point *one, struct point *other)
{
	struct point kept = *one;

	*one = *other;
	*other = kept;
}

ALGORITHM(boxes)
{
	const struct point *given = (const struct point *)memory;
	struct box box = {.count = 0};
	struct point points[4];

	for (unsigned i = 0; i < 4; i++) {
		points[i] = given[i];
		if (i && points[i].x < points[i].y)
			swap_points(&points[i], &points[i / 2]);
	}
	for (unsigned i = 0; i < 4; i++)
		box_add(&box, &given[points[i].x & 7]);
	((struct point *)(memory + OUTPUT))[0] = box.low;
	((struct point *)(memory + OUTPUT))[1] = box.high;
	return box_area(&box) + (u32)box.last->x;
}

/* A virtual machine with eight registers and one-byte instructions. */
ALGORITHM(machine)
{
	u64 *registers = (u64 *)(memory + OUTPUT), sum = 0;

	for (unsigned i = 0; i < 48; i++) {
		u64 *left = &registers[i % 8], right = registers[i * 3 / 5 % 8];

		switch (memory[i] % 13) {
		case 0:
			*left = memory[i] + i;
			break;
		case 1:
			*left += right;
			break;
		case 2:
			*left -= right;
			break;
		case 3:
			*left *= right;
			break;
		case 4:
			*left = right ? *left / right : 0;
			break;
		case 5:
			*left = ~right;
			break;
		case 6:
			*left <<= right & 63;
			break;
		case 7:
			*left = (u64)((s64)*left >> (right & 63));
			break;
		case 8:
			*left = *left < right;
			break;
		case 9:
			*left = (s64)*left < (s64)right ? right : i;
			break;
		case 10:
			*left = (u64)(s16)right;
			break;
		case 11:
			*left ^= right >> 32;
			break;
		default:
			*left ^= (u64)memory[i] << 56 | 0x0123456789abcd;
		}
		sum = sum * 31 + *left;
	}
	return sum;
}

/* ---- loops whose limit is known at run time alone ----------------------------------------- */

/* As often as the input says: too many iterations to explore each. */
static inline u32 rounds_of(const u8 *memory)
{
	u32 rounds = *(const u16 *)(memory + 252);

	return rounds > 3000 ? 3000 : rounds;
}

ALGORITHM(limited_product)
{
	const s16 *left = (const s16 *)memory, *right = (const s16 *)(memory + 128);
	s32 *product = (s32 *)(memory + OUTPUT);
	u32 n = memory[255] & 7, rounds = rounds_of(memory) / 8;
	s32 total = 0;

	for (u32 round = 0; round < rounds; round++)
		for (u32 i = 0; i < n; i++)
			for (u32 j = 0; j < n; j++) {
				u32 sum = round;

				for (u32 k = 0; k < n; k++)
					sum += (u32)left[8 * i + k] * (u32)right[8 * k + j];
				product[8 * i + j] = (s32)sum;
				total += sum;
			}
	return (u64)(s64)total;
}

ALGORITHM(limited_sums)
{
	u32 *sums = (u32 *)(memory + OUTPUT), n = memory[255] & 31, rounds = rounds_of(memory);
	u32 sum = 0;

	for (u32 round = 0; round < rounds; round++)
		for (u32 i = 0; i < n; i++) {
			sum += ((const u32 *)memory)[i];
			sums[i] = sum;
		}
	return sum;
}

/* By a step that is known at run time alone. */
ALGORITHM(limited_steps)
{
	u32 limit = rounds_of(memory), step = (memory[254] & 7) + 1, sum = 0;

	for (u32 i = 0; i < limit; i += step)
		sum += memory[i & 63] ^ i;
	for (u32 i = limit & 0xff; i > 9; i -= step)
		sum += memory[i & 63] + i;
	return sum;
}

/* Signed counters, which code without 32-bit registers extends by shifts. */
ALGORITHM(limited_signed)
{
	int limit = (int)rounds_of(memory) / 256, sum = 0;

	for (int i = 0; i < limit; i++)
		for (int j = limit; j >= 0; j -= 2)
			sum += memory[(i ^ j) & 63] - j;
	for (int i = -20; i <= memory[9] - 60; i += 3)
		sum ^= i * 5;
	return (u64)(s64)sum;
}

ALGORITHM(limited_for)
{
	int limit = (int)rounds_of(memory) / 64, sum = 0, i, j, start = (int)memory[3] - 128;

	bpf_for(i, start, limit)
	{
		sum += i;
		bpf_for(j, 0, memory[i & 63])
		{
			sum ^= j;
			j += 2;
			if (sum == 77)
				break;
		}
		if (sum & 1)
			continue;
		i = 0;
		sum += 3;
	}
	bpf_repeat(limit)
	{
		sum += memory[sum & 63];
	}
	return (u64)(s64)sum;
}

ALGORITHM(limited_scan)
{
	u32 rounds = rounds_of(memory), found = 0;

	for (u32 round = 0; round < rounds; round++) {
		u32 i = 0;

		while (i < 64 && memory[i] != (u8)round)
			i++;
		found += i;
	}
	return found;
}

/* Loops over the stack that end at a pointer. */
ALGORITHM(limited_pointers)
{
	u64 words[32], sum = 0;
	u64 *end = words + 32;

	for (u32 i = 0; i < rounds_of(memory); i++) {
		for (u64 *p = words; p != end; p++)
			*p = i + (u64)(p - words);
		for (u64 *p = end; p > words;)
			sum = sum * 31 + *--p;
	}
	return sum;
}

ALGORITHM(limited_remainder)
{
	u64 a = *(const u64 *)memory | 1, b = *(const u64 *)(memory + 8);

	for (u32 i = 0; i < rounds_of(memory) * 40; i++) {
		b ^= a << 7 | a >> 57;
		a = a * 31 + b;
	}
	return a ^ b;
}

#ifdef __bpf__
char LICENSE[] __attribute__((section("license"), used)) = "GPL";
#else
/* clang-format off */
#define ROW(name) {#name, name}
/* clang-format on */
const struct algorithm algorithms[] = {
	ROW(crc32),
	ROW(adler32),
	ROW(siphash),
	ROW(sha256_block),
	ROW(xxhash64),
	ROW(base64),
	ROW(utf8),
	ROW(decimal),
	ROW(sum_of_numbers),
	ROW(run_lengths),
	ROW(insertion_sort),
	ROW(sorting_network),
	ROW(heap_sort),
	ROW(binary_search),
	ROW(multiply128),
	ROW(common_divisor),
	ROW(square_root),
	ROW(bits),
	ROW(signed_division),
	ROW(unsigned_division),
	ROW(narrow_numbers),
	ROW(matrix),
	ROW(primes),
	ROW(headers),
	ROW(packed_records),
	ROW(boxes),
	ROW(machine),
	ROW(limited_product),
	ROW(limited_sums),
	ROW(limited_scan),
	ROW(limited_remainder),
	ROW(limited_pointers),
	ROW(limited_steps),
	ROW(limited_signed),
	ROW(limited_for),
	{0},
};
#endif
