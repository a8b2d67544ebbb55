/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loads and stores: the fast paths of global and shared memory. */
#include "exec/lanes/lanes.h"

/* Computes the lanes' addresses; an inactive lane gets that of an active one. */
static inline void load_addresses(struct sg_warp *warp, const struct sg_instruction *at,
				  u64 address[SG_WARP_SIZE])
{
	u64 offset = at->immediate;

	if (at->flags & SG_FLAG_NARROW) {
		const u32 *from = SG_SLOT(u32, at->a);

		SG_LANES address[lane] = from[lane] + (u32)offset;
	} else {
		const u64 *from = SG_SLOT(u64, at->a);

		SG_LANES address[lane] = from[lane] + offset;
	}
	if (sg_unlikely(warp->exec != SG_FULL)) {
		u64 other = address[__builtin_ctz(warp->exec)], mask = warp->exec;

		SG_LANES address[lane] = (mask & SG_BIT64(lane)) ? address[lane] : other;
	}
}

/* Returns the pattern of the addresses, and in `bits` the bits that are set in any of them. */
static inline enum sg_pattern find_pattern(const u64 address[SG_WARP_SIZE], u32 exec, u32 size,
					   u64 *bits)
{
	u64 first = address[0], line = 0, same = 0, all = 0;

	SG_LANES
	{
		line |= address[lane] - first - (u64)lane * size;
		same |= address[lane] - first;
		all |= address[lane];
	}
	*bits = all;
	if (line == 0 && exec == SG_FULL)
		return SG_PATTERN_CONTIGUOUS;
	return same == 0 ? SG_PATTERN_UNIFORM : SG_PATTERN_ANY;
}

static inline bool granules_allowed(const struct sg_memory *memory, u64 address, u64 size)
{
	u64 offset = address - memory->arena_address;

	if (offset >= memory->arena_size || size > memory->arena_size - offset)
		return false;
	for (u64 i = offset / SG_GRANULE; i <= (offset + size - 1) / SG_GRANULE; i++)
		if (!__atomic_load_n(&memory->granules[i], __ATOMIC_RELAXED))
			return false;
	return true;
}

bool SG_NAME(resolve_global)(struct sg_warp *warp, const struct sg_instruction *at,
			     struct sg_access *access)
{
	const struct sg_memory *memory = &warp->machine->memory;
	u32 size = (u32)at->size * at->count;
	u64 bits, first, arena = memory->arena_address, arena_size = memory->arena_size;
	u8 allowed = 1;

	load_addresses(warp, at, access->address);
	first = access->address[0];
	access->pattern = find_pattern(access->address, warp->exec, size, &bits);
	if (sg_unlikely(bits & (size - 1)))
		return sg_resolve_slow(warp, at, access);
	if (access->pattern == SG_PATTERN_CONTIGUOUS)
		return granules_allowed(memory, first, (u64)size * SG_WARP_SIZE) ||
		       sg_resolve_slow(warp, at, access);
	if (access->pattern == SG_PATTERN_UNIFORM)
		return granules_allowed(memory, first, size) || sg_resolve_slow(warp, at, access);
	for (u32 lane = 0; lane < SG_WARP_SIZE; lane++) {
		u64 offset = access->address[lane] - arena;

		if (sg_unlikely(offset >= arena_size))
			return sg_resolve_slow(warp, at, access);
		allowed &=
			__atomic_load_n(&memory->granules[offset / SG_GRANULE], __ATOMIC_RELAXED);
	}
	return sg_likely(allowed) || sg_resolve_slow(warp, at, access);
}

bool SG_NAME(resolve_shared)(struct sg_warp *warp, const struct sg_instruction *at,
			     struct sg_access *access)
{
	u32 size = (u32)at->size * at->count;
	u64 bits, limit = warp->grid->shared_size, outside = 0;
	u64 base = (u64)(uintptr_t)warp->block->shared;

	load_addresses(warp, at, access->address);
	access->pattern = find_pattern(access->address, warp->exec, size, &bits);
	SG_LANES outside |= (access->address[lane] + size > limit) | (access->address[lane] >> 32);
	if (sg_unlikely(outside || (bits & (size - 1))))
		return sg_resolve_shared_slow(warp, at, access);
	SG_LANES access->address[lane] += base;
	return true;
}

#define SG_AT(T, offset) (*(T *)(uintptr_t)(offset))

/* Loads element `element` of `count` for all lanes: M in memory, D in the slot. */
#define SG_LOAD_ELEMENT(M, D, slot, element, count)                                                \
	do {                                                                                       \
		D *to = SG_SLOT(D, slot);                                                          \
		D result_[SG_WARP_SIZE] __attribute__((aligned(64)));                              \
		D *result = warp->exec == SG_FULL ? to : result_;                                  \
		const M *from = &SG_AT(M, access.address[0] + (element) * sizeof(M));              \
		if (access.pattern == SG_PATTERN_CONTIGUOUS && (count) == 1) {                     \
			SG_LANES result[lane] = (D)from[lane];                                     \
		} else if (access.pattern == SG_PATTERN_CONTIGUOUS) {                              \
			for (u32 lane = 0; lane < SG_WARP_SIZE; lane++)                            \
				result[lane] = (D)from[lane * (count)];                            \
		} else if (access.pattern == SG_PATTERN_UNIFORM) {                                 \
			D value = (D)*from;                                                        \
			SG_LANES result[lane] = value;                                             \
		} else {                                                                           \
			for (u32 lane = 0; lane < SG_WARP_SIZE; lane++)                            \
				result[lane] = (D)SG_AT(const M, access.address[lane] +            \
									 (element) * sizeof(M));   \
		}                                                                                  \
		if (warp->exec != SG_FULL)                                                         \
			sg_blend(to, result, warp->exec);                                          \
	} while (0)

#define SG_LOAD_ATOMIC(M, D, slot, element)                                                        \
	do {                                                                                       \
		D *to = SG_SLOT(D, slot);                                                          \
		for (u32 lanes = warp->exec; lanes; lanes &= lanes - 1) {                          \
			u32 lane = (u32)__builtin_ctz(lanes);                                      \
			to[lane] = (D)(M)__atomic_load_n(                                          \
				&SG_AT(M, access.address[lane] + (element) * sizeof(M)),           \
				__ATOMIC_RELAXED);                                                 \
		}                                                                                  \
	} while (0)

/*
 * Vectors of 8 and 16 bytes that are .relaxed or stronger are accessed in one piece, as on
 * hardware. Programs rely on it: CUB keeps a value and its state in one vector.
 */
typedef u64 sg_pair __attribute__((vector_size(16), may_alias));

static inline bool sg_is_whole(u32 count, size_t size)
{
	return count > 1 && (count * size == 8 || count * size == 16);
}

static inline void sg_load_whole(u64 address, size_t size, void *to)
{
	if (size == 8) {
		u64 value = __atomic_load_n(&SG_AT(u64, address), __ATOMIC_RELAXED);

		memcpy(to, &value, sizeof(value));
	} else {
		sg_pair value = SG_AT(volatile sg_pair, address);

		memcpy(to, &value, sizeof(value));
	}
}

static inline void sg_store_whole(u64 address, size_t size, const void *from)
{
	if (size == 8) {
		u64 value;

		memcpy(&value, from, sizeof(value));
		__atomic_store_n(&SG_AT(u64, address), value, __ATOMIC_RELAXED);
	} else {
		sg_pair value;

		memcpy(&value, from, sizeof(value));
		SG_AT(volatile sg_pair, address) = value;
	}
}

/* Vectors that are accessed in one piece, lane by lane. */
#define SG_LOAD_WHOLE(M, D)                                                                        \
	do {                                                                                       \
		for (u32 lanes = warp->exec; lanes; lanes &= lanes - 1) {                          \
			u32 lane = (u32)__builtin_ctz(lanes);                                      \
			M values[16 / sizeof(M)];                                                  \
			sg_load_whole(access.address[lane], count * sizeof(M), values);            \
			for (u32 i = 0; i < count; i++)                                            \
				SG_SLOT(D, at->list[i])[lane] = (D)values[i];                      \
		}                                                                                  \
	} while (0)

#define SG_STORE_WHOLE(M, S)                                                                       \
	do {                                                                                       \
		for (u32 lanes = warp->exec; lanes; lanes &= lanes - 1) {                          \
			u32 lane = (u32)__builtin_ctz(lanes);                                      \
			M values[16 / sizeof(M)];                                                  \
			for (u32 i = 0; i < count; i++)                                            \
				values[i] = (M)SG_SLOT(const S, at->list[i])[lane];                \
			sg_store_whole(access.address[lane], count * sizeof(M), values);           \
		}                                                                                  \
	} while (0)

#define SG_STORE_ELEMENT(M, S, slot, element, count)                                               \
	do {                                                                                       \
		const S *from = SG_SLOT(const S, slot);                                            \
		M *to = &SG_AT(M, access.address[0] + (element) * sizeof(M));                      \
		if (access.pattern == SG_PATTERN_CONTIGUOUS && (count) == 1) {                     \
			SG_LANES to[lane] = (M)from[lane];                                         \
		} else if (access.pattern == SG_PATTERN_CONTIGUOUS) {                              \
			for (u32 lane = 0; lane < SG_WARP_SIZE; lane++)                            \
				to[lane * (count)] = (M)from[lane];                                \
		} else {                                                                           \
			for (u32 lanes = warp->exec; lanes; lanes &= lanes - 1) {                  \
				u32 lane = (u32)__builtin_ctz(lanes);                              \
				SG_AT(M, access.address[lane] + (element) * sizeof(M)) =           \
					(M)from[lane];                                             \
			}                                                                          \
		}                                                                                  \
	} while (0)

#define SG_STORE_ATOMIC(M, S, slot, element)                                                       \
	do {                                                                                       \
		const S *from = SG_SLOT(const S, slot);                                            \
		for (u32 lanes = warp->exec; lanes; lanes &= lanes - 1) {                          \
			u32 lane = (u32)__builtin_ctz(lanes);                                      \
			__atomic_store_n(&SG_AT(M, access.address[lane] + (element) * sizeof(M)),  \
					 (M)from[lane], __ATOMIC_RELAXED);                         \
		}                                                                                  \
	} while (0)

/* An access: its address, then the elements in one piece, atomically, or each for all lanes. */
#define SG_DEFINE_ACCESS(id, M, T, KIND)                                                           \
	SG_DEFINE(id)                                                                              \
	{                                                                                          \
		struct sg_access access;                                                           \
		u32 count = at->count;                                                             \
		if (sg_unlikely(!at->resolve(warp, at, &access)))                                  \
			return NULL;                                                               \
		if (sg_unlikely(at->flags & SG_FLAG_ATOMIC)) {                                     \
			if (at->flags & SG_FLAG_RELEASE)                                           \
				sg_fence(warp->machine);                                           \
			for (u32 i = 0; i < count && !sg_is_whole(count, sizeof(M)); i++)          \
				SG_##KIND##_ATOMIC(M, T, at->list[i], i);                          \
			if (sg_is_whole(count, sizeof(M)))                                         \
				SG_##KIND##_WHOLE(M, T);                                           \
			if (at->flags & SG_FLAG_ACQUIRE)                                           \
				sg_fence(warp->machine);                                           \
			return at + 1;                                                             \
		}                                                                                  \
		if (sg_likely(count == 1)) {                                                       \
			SG_##KIND##_ELEMENT(M, T, at->d, 0, 1);                                    \
			return at + 1;                                                             \
		}                                                                                  \
		for (u32 i = 0; i < count; i++)                                                    \
			SG_##KIND##_ELEMENT(M, T, at->list[i], i, count);                          \
		return at + 1;                                                                     \
	}

#define SG_READ(id, M, D) SG_DEFINE_ACCESS(id, M, D, LOAD)
#define SG_WRITE(id, M, S) SG_DEFINE_ACCESS(id, M, S, STORE)
#include "exec/lanes/memory.def"
