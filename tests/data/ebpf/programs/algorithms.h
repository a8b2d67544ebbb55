/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The algorithms of algorithms.c: programs of gpu/run for BPF, else functions in a table. */
#pragma once

enum {
	ALGORITHM_MEMORY = 512, /* bytes, aligned to 8 */
	OUTPUT = 256,           /* offset of the output; the input is before it */
};

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

struct algorithm {
	const char *name;
	u64 (*run)(u8 *memory);
};

#ifdef __bpf__
#define ALGORITHM(name) __attribute__((section("gpu/run"), used)) u64 name(u8 *memory)
#else
#define ALGORITHM(name) static u64 name(u8 *memory)
/* Terminated by a NULL name. */
extern const struct algorithm algorithms[];
#endif

#define NOINLINE __attribute__((noinline))

static inline u32 rotate_left32(u32 word, unsigned by)
{
	return word << by | word >> (32 - by);
}

static inline u64 rotate_left64(u64 word, unsigned by)
{
	return word << by | word >> (64 - by);
}
