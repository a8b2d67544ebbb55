/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random OpenCL C: kernels of one module with functions that they share, which compute what depends
 * on their arguments alone, whatever the order of their work-items. Every kernel takes
 *
 *	in	ITEMS numbers
 *	out	ZONE numbers of each work-item, then SHARED numbers that all add to
 *	scale	a number
 *
 * and leaves in its zone how many atomic operations and barriers it has executed.
 */
#pragma once

#include <stdlib.h>

#include "base/clean.h"
#include "base/strbuf.h"

enum {
	ITEMS = 64,
	GROUP = 32,
	ZONE = 24,
	ZONE_ATOMICS = 16, /* where in the zone these are */
	ZONE_BARRIERS,
	ZONE_SUM, /* of the work-group, in local memory */
	SHARED = 8,
	OUT_WORDS = ITEMS * ZONE + SHARED,
	MAX_DEPTH = 3,
};

static uint64_t state = 88172645463325252u;

/* xorshift (Marsaglia 2003) */
static inline uint32_t random_number(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % below;
}

#define CHOOSE(list) ((list)[random_number(gt_countof(list))])

/* The part of a function that is written. */
struct opencl_part {
	struct gt_strbuf *text;
	unsigned *loops; /* of the function, to name their variables */
	int depth;
	bool in_kernel; /* else in a function of numbers alone */
	bool has_branched_barriers;
	bool is_uniform;  /* all work-items of the work-group execute it together */
	bool is_repeated; /* `break` and `continue` may stand there */
};

static void put_expression(struct gt_strbuf *text, bool in_kernel, int depth);

/* A format with up to three expressions (%s). */
static inline void put_form(struct gt_strbuf *text, const char *form, bool in_kernel, int depth)
{
	for (const char *at = form; *at; at++) {
		if (at[0] == '%' && at[1] == 's') {
			put_expression(text, in_kernel, depth);
			at++;
		} else {
			gt_strbuf_putc(text, *at);
		}
	}
}

static const char *const number_leaves[] = {"a", "b", "c", "d", "a", "b"};
static const char *const kernel_leaves[] = {
	"v.x",
	"v.w",
	"w.y",
	"s.x",
	"(uint)s.y",
	"(uint)s.z",
	"t.x",
	"(uint)l",
	"lid",
	"p[0]",
	"(uint)get_global_id(0)",
	"own[3]",
	"in[lid]",
	"(uint)scale",
	"things[1].x",
	"(uint)get_local_size(0)",
};
static const char *const number_forms[] = {
	"(%s + %s)",
	"(%s - %s)",
	"(%s * %s)",
	"(%s ^ %s)",
	"(%s & %s)",
	"(%s | %s)",
	"(%s >> (%s & 31))",
	"(%s << (%s & 7))",
	"(%s / (%s | 1u))",
	"(%s % (%s | 1u))",
	"(%s < %s ? %s : %s)",
	"(uint)((int)%s < (int)%s)",
	"(uint)(%s && %s)",
	"(uint)(%s || %s)",
	"(uint)!%s",
	"~%s",
	"max(%s, %s)",
	"rotate(%s, %s)",
	"popcount(%s)",
	"mul_hi(%s, %s)",
	"select(%s, %s, %s)",
	"(uint)(uchar)%s",
	"(uint)(short)%s",
	"(uint)convert_uchar_sat(%s)",
	"clz(%s)",
	"convert_uint((float)(%s & 0xffff) * 0.5f)",
	"table[%s & 15]",
	"abs_diff(%s, %s)",
	"mad24(%s & 255, %s & 255, %s)",
	"(uint)((ulong)%s * %s >> 16)",
	"bits(%s)",
};
static const char *const kernel_forms[] = {
	"in[%s & 63]",
	"p[%s & 7]",
	"own[%s & 15]",
	"numbers(%s, %s)",
	"near(p, %s)",
	"far(own, %s)",
	"both(own, p, %s)",
	"vload4(0, in).z",
	"(uint)things[%s & 1].y",
	"mixed((uint4)(%s, %s, 3, 4), %s).x",
	"moved(s, %s).x",
	"(uint)((__global const uchar *)in)[%s & 63]",
	"(uint)((__global const ushort *)own)[%s & 15]",
	"(uint)((__global const ulong *)in)[%s & 15]",
	"dot4(v, w)",
};

static inline void put_leaf(struct gt_strbuf *text, bool in_kernel)
{
	if (!random_number(3))
		gt_strbuf_printf(text, "%uu", random_number(random_number(2) ? 8 : 1 << 30));
	else if (in_kernel && random_number(2))
		gt_strbuf_puts(text, CHOOSE(kernel_leaves));
	else
		gt_strbuf_puts(text, CHOOSE(number_leaves));
}

static void put_expression(struct gt_strbuf *text, bool in_kernel, int depth)
{
	if (depth >= MAX_DEPTH || !random_number(2))
		put_leaf(text, in_kernel);
	else if (in_kernel && random_number(2))
		put_form(text, CHOOSE(kernel_forms), in_kernel, depth + 1);
	else
		put_form(text, CHOOSE(number_forms), in_kernel, depth + 1);
}

/* Statements of kernels without others in them. */
static const char *const kernel_statements[] = {
	"p[%s & 7] = %s;",
	"own[%s & 15] = %s;",
	"own[%s & 15] += %s;",
	"own[%s & 15] ^= in[%s & 63];",
	"((__global uchar *)own)[%s & 63] = %s;",
	"((__global ushort *)own)[%s & 31] = %s;",
	"((__global ulong *)own)[%s & 7] = l + %s;",
	"v = v.wzyx * (uint4)(%s, %s, c, 1);",
	"v.yz = (uint2)(%s, %s);",
	"w = vload4(%s & 15, in) + v;",
	"w = as_uint4(as_int4(w) >> 3);",
	"vstore4(v ^ w, %s & 3, own);",
	"vstore3(w.xyz, %s & 3, own);",
	"vstore2(v.lo, %s & 7, own);",
	"{ uchar4 q = as_uchar4(%s ^ a); q = q.wzyx; a += as_uint(q); }",
	"{ uint8 q = vload8(%s & 7, in); b ^= q.s7 + q.s0; }",
	"s.x = %s; s.y = %s; s.z += 3;",
	"{ struct thing q = s; s = t; t = q; }",
	"t = moved(s, %s);",
	"*(__global struct thing *)(own + 4) = s;",
	"l = l * 6364136223846793005ul + %s;",
	"l ^= (ulong)%s << 32;",
	"{ __global const uint *q = %s & 1 ? in : (__global const uint *)own; c ^= q[%s & 15]; }",
	"{ uint *q = %s & 1 ? &p[2] : &p[5]; *q += %s; d = *q; }",
	"{ uint *q = p; for (uint k = 0; k < 3; k++) *q++ ^= %s; }",
	"a = near(p, %s) + far(own, %s);",
	"b = both(own, p, %s);",
	"atomic_add(&shared[0], %s); n++;",
	"atomic_sub(&shared[0], %s); n++;",
	"atomic_inc(&shared[0]); n++;",
	"atomic_xor(&shared[1], %s); n++;",
	"atomic_max(&shared[2], %s); n++;",
	"atomic_min((__global int *)&shared[3], (int)%s); n++;",
	"atomic_or(&shared[4], %s); n++;",
	"atomic_and(&shared[5], %s); n++;",
	"c = atomic_cmpxchg(&own[2], %s, %s); n++;",
	"d = atomic_xchg(&own[3], %s); n++;",
	"atomic_add(&sums[0], %s); n++;",
	"atomic_max(&sums[1], %s); n++;",
	"counted(&shared[0], &n, %s);",
	"prefetch(in, 8);",
};

/* The same, where all work-items of a work-group are together. */
static const char *const uniform_statements[] = {
	"part[lid] = %s; barrier(CLK_LOCAL_MEM_FENCE); a ^= part[%s & 31]; "
	"barrier(CLK_LOCAL_MEM_FENCE); m += 2;",
	"part[lid] = %s; barrier(CLK_LOCAL_MEM_FENCE); b += picked(part, %s); "
	"barrier(CLK_LOCAL_MEM_FENCE); m += 2;",
	"part[lid] = %s; for (uint k = 16; k; k >>= 1) { barrier(CLK_LOCAL_MEM_FENCE); m++; "
	"if (lid < k) part[lid] += part[lid + k]; } barrier(CLK_LOCAL_MEM_FENCE); c = part[0]; "
	"barrier(CLK_LOCAL_MEM_FENCE); m += 2;",
	"{ event_t e = async_work_group_copy(part, in + 8, 32, 0); wait_group_events(1, &e); "
	"d ^= part[%s & 31]; barrier(CLK_LOCAL_MEM_FENCE); m++; }",
	"tiles[lid & 3][lid >> 2] = v; barrier(CLK_LOCAL_MEM_FENCE); w = tiles[%s & 3][%s & 7]; "
	"barrier(CLK_LOCAL_MEM_FENCE); m += 2;",
	"barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); m++;",
};

/* Barriers that the work-groups with odd numbers execute. */
static const char *const branched_barriers[] = {
	"if (get_group_id(0) & 1) { barrier(CLK_LOCAL_MEM_FENCE); m++; a += %s; }",
	"if (get_group_id(0) & 1) { part[lid] = %s; barrier(CLK_LOCAL_MEM_FENCE); "
	"d ^= part[%s & 31]; barrier(CLK_LOCAL_MEM_FENCE); m += 2; } else a ^= %s;",
};

static void put_list(const struct opencl_part *part);

static inline void put_body(const struct opencl_part *part, bool is_uniform, bool is_repeated)
{
	struct opencl_part inner = *part;

	inner.depth++;
	inner.is_uniform = is_uniform;
	inner.is_repeated = is_repeated;
	gt_strbuf_puts(part->text, " {\n");
	put_list(&inner);
	gt_strbuf_puts(part->text, "}\n");
}

static inline void put_branch(const struct opencl_part *part)
{
	put_form(part->text, "if (%s)", part->in_kernel, 1);
	put_body(part, false, part->is_repeated);
	if (random_number(2)) {
		gt_strbuf_puts(part->text, "else");
		put_body(part, false, part->is_repeated);
	}
}

static inline void put_loop(const struct opencl_part *part)
{
	unsigned name = (*part->loops)++;
	bool is_uniform = part->is_uniform && random_number(2);

	if (is_uniform) {
		gt_strbuf_printf(part->text, "for (uint k%u = 0; k%u < %u; k%u++)", name, name,
				 1 + random_number(3), name);
		put_body(part, true, false);
		return;
	}
	gt_strbuf_printf(part->text, "{ uint k%u = 0;\n", name);
	switch (random_number(3)) {
	case 0:
		gt_strbuf_printf(part->text, "for (k%u = 0; k%u < (", name, name);
		put_form(part->text, "%s & 3)", part->in_kernel, 1);
		gt_strbuf_printf(part->text, " && k%u < 4; k%u++)", name, name);
		put_body(part, false, true);
		break;
	case 1:
		gt_strbuf_printf(part->text, "while (k%u++ < 3 && ", name);
		put_form(part->text, "%s)", part->in_kernel, 1);
		put_body(part, false, true);
		break;
	default:
		gt_strbuf_puts(part->text, "do");
		put_body(part, false, true);
		gt_strbuf_printf(part->text, "while (k%u++ < 2 && ", name);
		put_form(part->text, "%s);\n", part->in_kernel, 1);
	}
	gt_strbuf_puts(part->text, "}\n");
}

static inline void put_switch(const struct opencl_part *part)
{
	uint32_t cases = 1 + random_number(3);

	put_form(part->text, "switch (%s & 7) {\n", part->in_kernel, 1);
	for (uint32_t i = 0; i < cases; i++) {
		gt_strbuf_printf(part->text, "case %u:", 2 * i + random_number(2));
		put_body(part, false, false);
		if (random_number(3))
			gt_strbuf_puts(part->text, "break;\n");
	}
	if (random_number(2)) {
		gt_strbuf_puts(part->text, "default:");
		put_body(part, false, false);
	}
	gt_strbuf_puts(part->text, "}\n");
}

static inline void put_assignment(const struct opencl_part *part)
{
	static const char *const operators[] = {"", "", "+", "^", "-"};
	char variable = "abcd"[random_number(4)];

	gt_strbuf_printf(part->text, "%c %s= ", variable, CHOOSE(operators));
	put_form(part->text, "%s;\n", part->in_kernel, 0);
}

static inline void put_uniform(const struct opencl_part *part)
{
	if (part->has_branched_barriers && !random_number(6))
		put_form(part->text, CHOOSE(branched_barriers), true, 1);
	else
		put_form(part->text, CHOOSE(uniform_statements), true, 1);
}

static inline void put_simple(const struct opencl_part *part)
{
	if (part->is_repeated && !random_number(4))
		put_form(part->text, random_number(2) ? "if (%s) break;" : "if (%s > 9) continue;",
			 part->in_kernel, 1);
	else if (part->in_kernel && part->is_uniform && !random_number(3))
		put_uniform(part);
	else if (part->in_kernel && random_number(3))
		put_form(part->text, CHOOSE(kernel_statements), true, 1);
	else
		put_assignment(part);
	gt_strbuf_putc(part->text, '\n');
}

static void put_list(const struct opencl_part *part)
{
	static void (*const nested[])(const struct opencl_part *) = {put_branch, put_loop,
								     put_switch};
	uint32_t count = 1 + random_number(part->depth ? 2 : 3);

	for (uint32_t i = 0; i < count; i++)
		if (part->depth < MAX_DEPTH && !random_number(3))
			CHOOSE(nested)(part);
		else
			put_simple(part);
}

/* A function of numbers, which returns somewhere in it, too. */
static inline void put_function(struct gt_strbuf *text, const char *head, const char *tail)
{
	unsigned loops = 0;
	const struct opencl_part part = {.text = text, .loops = &loops, .depth = 2};

	gt_strbuf_printf(text, "%s {\n\tuint c = 3, d = 5;\n", head);
	put_list(&part);
	put_form(text, "if (%s > %s) return %s;\n", false, 2);
	put_assignment(&part);
	gt_strbuf_printf(text, "%s\n}\n", tail);
}

static inline void put_functions(struct gt_strbuf *text)
{
	gt_strbuf_puts(text, "__constant uint table[16] = {");
	for (int i = 0; i < 16; i++)
		gt_strbuf_printf(text, "%u, ", random_number(100));
	gt_strbuf_puts(text,
		       "};\n"
		       "struct thing { uint x; ushort y; uchar z, e; ulong l; };\n"
		       "__constant struct thing things[2] = {{1, 2, 3, 0, 4}, {5, 6, 7, 0, 8}};\n"
		       "uint bits(uint x) { uint n = 0; for (; x; x &= x - 1) n++; return n; }\n"
		       "uint dot4(uint4 v, uint4 w) { v *= w; return v.x + v.y + v.z + v.w; }\n"
		       "uint picked(__local uint *part, uint i) { return part[i & 31]; }\n"
		       "void counted(__global uint *sum, uint *n, uint x) {\n"
		       "	if (x & 1) { atomic_add(sum, x); ++*n; } }\n");
	put_function(text, "uint numbers(uint a, uint b)", "return c ^ d;");
	put_function(text, "uint near(uint *p, uint a)\n{ uint b = p[a & 7];",
		     "p[c & 7] += d; return p[a & 7]; }");
	put_function(text, "uint far(__global uint *own, uint a)\n{ uint b = own[a & 7];",
		     "own[c & 15] ^= d; return numbers(c, own[d & 15]); }");
	put_function(text,
		     "uint both(__global uint *own, uint *p, uint a)\n{ uint b = far(own, a);",
		     "return near(p, b ^ c); }");
	gt_strbuf_puts(text, "uint4 mixed(uint4 v, uint k)\n"
			     "{ if (k & 1) v = v.zwxy; else v.x += k; return v * 3; }\n"
			     "struct thing moved(struct thing s, uint k)\n"
			     "{ s.x ^= k; s.l += s.y; if (k & 2) s.z++; return s; }\n");
}

static inline void put_kernel(struct gt_strbuf *text, unsigned number, bool has_branched_barriers)
{
	unsigned loops = 0;
	const struct opencl_part part = {.text = text,
					 .loops = &loops,
					 .in_kernel = true,
					 .has_branched_barriers = has_branched_barriers,
					 .is_uniform = true};

	gt_strbuf_printf(
		text,
		"__kernel void k%u(__global const uint *in, __global uint *out, ulong scale) {\n"
		"	__local uint part[32], sums[2];\n"
		"	__local uint4 tiles[4][8];\n"
		"	uint lid = get_local_id(1) * get_local_size(0) + get_local_id(0);\n"
		"	uint id = get_group_id(0) * 32 + lid, n = 0, m = 2;\n"
		"	__global uint *own = out + id * %u, *shared = out + %u;\n"
		"	uint a = in[id], b = id, c = 7, d = lid, p[8] = {a, 1, b, 3, 4, 5, 6, 7};\n"
		"	ulong l = scale;\n"
		"	uint4 v = (uint4)(a, b, 1, 2), w = vload4(lid & 7, in);\n"
		"	struct thing s = {a, 1, 2, 0, 3}, t = things[id & 1];\n"
		"	if (lid < 2) sums[lid] = 0;\n"
		"	tiles[lid >> 3][lid & 7] = w;\n"
		"	barrier(CLK_LOCAL_MEM_FENCE);\n",
		number, ZONE, ITEMS * ZONE);
	for (uint32_t i = 1 + random_number(2); i; i--)
		put_list(&part);
	gt_strbuf_printf(text,
			 "	barrier(CLK_LOCAL_MEM_FENCE);\n"
			 "	own[%u] = n; own[%u] = m; own[%u] = sums[0] ^ sums[1];\n",
			 ZONE_ATOMICS, ZONE_BARRIERS, ZONE_SUM);
	if (random_number(2))
		put_form(text, "if (%s & 1) return;\n", true, 1);
	gt_strbuf_puts(text, "	own[0] ^= a + b + c + d + v.x + w.y + s.x + t.x + (uint)l;\n"
			     "	for (uint k = 0; k < 8; k++) own[8] = own[8] * 3 + p[k];\n}\n");
}

/* A module of kernels k0, k1, …; `seed` decides it. Barriers may be in branches, or not. */
static inline void put_opencl_program(struct gt_strbuf *text, uint64_t seed, unsigned kernels,
				      bool has_branched_barriers)
{
	state = 88172645463325252u + seed * 104729;
	put_functions(text);
	for (unsigned i = 0; i < kernels; i++)
		put_kernel(text, i, has_branched_barriers);
}
