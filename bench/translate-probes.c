// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Probes of bench/translate: the same source becomes eBPF, and by clang's nvptx64 target kernels of
 * PTX. What the context has is the one parameter of both's kernels, and both know that maps are in
 * global memory: atomic operations at generic addresses cost clang twice as many instructions.
 */
typedef unsigned long long u64;
typedef long long s64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

/* The first and the memory fields of src/gpubpf/context.def. */
struct context {
	u32 thread_x, thread_y, thread_z, lane, block_x, block_y, block_z, warp;
	u32 block_size_x, block_size_y, block_size_z, sm, grid_size_x, grid_size_y, grid_size_z;
	u32 mask;
	u64 launch;
	u32 kernel, argument_count, argument_sizes[32];
	u64 arguments[32];
	u32 site, line;
	u64 address, value, value_high;
	u32 value_size, width, space, access;
};

struct statistics {
	u64 count, bytes, least, greatest;
};

/* Maps: number, value, entries. */
#define MAPS(MAP)                                                                                  \
	MAP(0, counts, u64, 64)                                                                    \
	MAP(1, histogram, u64, 64)                                                                 \
	MAP(2, totals, struct statistics, 16)

#ifdef __bpf__
#define SHARED

#define SEC(name) __attribute__((section(name), used))
#define PROBE(name)                                                                                \
	static inline __attribute__((always_inline)) u64 name##_body(const struct context *);      \
	SEC("gpu/load") u64 name(const struct context *context)                                    \
	{                                                                                          \
		return name##_body(context);                                                       \
	}                                                                                          \
	static inline __attribute__((always_inline)) u64 name##_body(const struct context *context)
#define LOOKUP(map, key, type) ((type *)map_lookup_elem(&map, key))
#define FIELD(name) (context->name)
static void *(*const map_lookup_elem)(void *, const void *) = (void *)1;

struct {
	int (*type)[2];
	u32 *key;
	u64 *value;
	int (*max_entries)[64];
} counts SEC(".maps"), histogram SEC(".maps");
struct {
	int (*type)[2];
	u32 *key;
	struct statistics *value;
	int (*max_entries)[16];
} totals SEC(".maps");

#else

#define SHARED __attribute__((address_space(1)))
#define DECLARE(number, name, type, entries)                                                       \
	__attribute__((constant, weak)) u64 gputap_map_##number[2];                                \
	static inline __attribute__((device, always_inline)) SHARED void *name(const u32 *key)     \
	{                                                                                          \
		u64 stride = (sizeof(type) + 7) / 8 * 8;                                           \
		return *key < entries ? (SHARED char *)gputap_map_##number[0] + *key * stride : 0; \
	}
#define PROBE(name)                                                                                \
	static inline __attribute__((device, always_inline))                                       \
	u64 name##_body(const struct context *);                                                   \
	extern "C" __attribute__((global)) void gputap_##name(struct context context)              \
	{                                                                                          \
		name##_body(&context);                                                             \
	}                                                                                          \
	static inline __attribute__((device, always_inline))                                       \
	u64 name##_body(const struct context *context)
#define LOOKUP(map, key, type) ((SHARED type *)map(key))
#define FIELD(name) field_##name(context)
#define OWN(name, value)                                                                           \
	static inline __attribute__((device)) u32 field_##name(const struct context *context)      \
	{                                                                                          \
		return value;                                                                      \
	}
#define GIVEN(name)                                                                                \
	static inline __attribute__((device)) u64 field_##name(const struct context *context)      \
	{                                                                                          \
		return context->name;                                                              \
	}
OWN(thread_x, __nvvm_read_ptx_sreg_tid_x())
OWN(block_x, __nvvm_read_ptx_sreg_ctaid_x())
OWN(lane, __nvvm_read_ptx_sreg_laneid())
GIVEN(address)
GIVEN(width)
GIVEN(value)
MAPS(DECLARE)

#endif

PROBE(empty)
{
	return 0;
}

PROBE(counter)
{
	u32 key = 0;
	SHARED u64 *count = LOOKUP(counts, &key, u64);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

PROBE(counter_of_block)
{
	u32 key = FIELD(block_x);
	SHARED u64 *count = LOOKUP(counts, &key, u64);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

PROBE(power_histogram)
{
	u64 value = FIELD(value);
	u32 key = 0;
	SHARED u64 *count;

	if (value >> 32) {
		key += 32;
		value >>= 32;
	}
	if (value >> 16) {
		key += 16;
		value >>= 16;
	}
	if (value >> 8) {
		key += 8;
		value >>= 8;
	}
	if (value >> 4) {
		key += 4;
		value >>= 4;
	}
	if (value >> 2) {
		key += 2;
		value >>= 2;
	}
	key += value >> 1;
	count = LOOKUP(histogram, &key, u64);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

/* 36 instructions of eBPF: two lookups, three atomic operations. */
PROBE(reference)
{
	u32 key = FIELD(block_x) & 63;
	SHARED u64 *count = LOOKUP(counts, &key, u64);
	u64 first = FIELD(address) >> 5, last = (FIELD(address) + FIELD(width) - 1) >> 5;
	SHARED struct statistics *total;

	if (!count)
		return 0;
	__sync_fetch_and_add(count, 1);
	key = FIELD(width) & 15;
	total = LOOKUP(totals, &key, struct statistics);
	if (!total)
		return 0;
	__sync_fetch_and_add(&total->count, 1);
	__sync_fetch_and_add(&total->bytes, last - first);
	return 1;
}

PROBE(sectors)
{
	u64 first = FIELD(address) >> 5, last = (FIELD(address) + FIELD(width) - 1) >> 5;
	u32 key = (u32)(last - first) & 15;
	SHARED struct statistics *total = LOOKUP(totals, &key, struct statistics);

	if (total) {
		__sync_fetch_and_add(&total->count, 1);
		__sync_fetch_and_add(&total->bytes, (last - first + 1) * 32);
	}
	return last - first + 1;
}

PROBE(line_of_address)
{
	u64 address = FIELD(address);
	u32 key = (u32)(address >> 7) & 63;
	SHARED u64 *count = LOOKUP(counts, &key, u64);

	if (!count)
		return 0;
	if (address & (FIELD(width) - 1))
		__sync_fetch_and_add(count, 1ull << 32);
	else
		__sync_fetch_and_add(count, 1);
	return 1;
}

PROBE(greatest)
{
	u64 value = FIELD(value);
	u32 key = 3;
	SHARED struct statistics *total = LOOKUP(totals, &key, struct statistics);
	u64 old;

	if (!total)
		return 0;
	old = total->greatest;
	for (int i = 0; i < 4; i++) {
		u64 seen;

		if (old >= value)
			break;
		seen = __sync_val_compare_and_swap(&total->greatest, old, value);
		if (seen == old)
			break;
		old = seen;
	}
	return old;
}

PROBE(average)
{
	u32 key = FIELD(lane) & 15;
	SHARED struct statistics *total = LOOKUP(totals, &key, struct statistics);

	if (!total)
		return 0;
	total->least = total->count ? total->bytes / total->count : 0;
	return 0;
}

PROBE(mixed_hash)
{
	u64 hash = FIELD(address) ^ (u64)FIELD(thread_x) << 32 ^ FIELD(block_x);
	u32 key;
	SHARED u64 *count;

	hash ^= hash >> 33;
	hash *= 0xff51afd7ed558ccdull;
	hash ^= hash >> 33;
	hash *= 0xc4ceb9fe1a85ec53ull;
	hash ^= hash >> 33;
	key = (u32)hash & 63;
	count = LOOKUP(histogram, &key, u64);
	if (count)
		__sync_fetch_and_add(count, FIELD(width));
	return hash;
}

PROBE(swapped)
{
	u64 value = FIELD(value);
	u32 key = FIELD(block_x);
	SHARED u64 *place = LOOKUP(counts, &key, u64);

	if (place)
		*place = __builtin_bswap64(value) + __builtin_bswap32((u32)value) +
			 (u64)(s64)(signed char)value;
	return 0;
}
