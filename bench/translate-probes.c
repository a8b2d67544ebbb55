// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Probes of bench/translate: the same source is compiled to eBPF, and by clang's nvptx64 target to
 * kernels of PTX. The context is the one parameter of the kernels of both, and both know that maps
 * are in global memory: atomic operations at generic addresses cost clang twice as many
 * instructions. Both drop the return values of programs. Hashes and rings are implemented by
 * helpers, so clang has no counterpart to compare them with.
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
struct line {
	u64 requests, sectors;
};

/* Maps: number, value, entries. */
#define MAPS(MAP)                                                                                  \
	MAP(0, counts, u64, 64)                                                                    \
	MAP(1, histogram, u64, 64)                                                                 \
	MAP(2, totals, struct statistics, 16)                                                      \
	MAP(3, lines, struct line, 64)
/* Of which each thread has a copy. */
#define THREAD_MAPS(MAP)                                                                           \
	MAP(4, starts, u64, 1)                                                                     \
	MAP(5, addresses, u64, 1)

/* PROBE(name): once a thread, at loads. PROBE_AT: elsewhere. WARP_PROBE: once a warp, at loads. */
#define PROBE(name) PROBE_AT(name, "gpu/load")
#define WARP_PROBE(name) PROBE_AT(name, "gpu/load.warp")
#define EACH_LANE(lane, mask)                                                                      \
	_Pragma("clang loop unroll(disable)") for (u32 lane = 0; lane < 32;                        \
						   lane++) if ((mask) >> lane & 1)

#ifdef __bpf__
#define SHARED
#define DEVICE

#define SEC(name) __attribute__((section(name), used))
#define PROBE_AT(name, section)                                                                    \
	static inline __attribute__((always_inline)) u64 name##_body(const struct context *);      \
	SEC(section) u64 name(const struct context *context)                                       \
	{                                                                                          \
		name##_body(context);                                                              \
		return 0;                                                                          \
	}                                                                                          \
	static inline __attribute__((always_inline)) u64 name##_body(const struct context *context)
#define LOOKUP(map, key, type) ((type *)map_lookup_elem(&map, key))
#define FIELD(name) (context->name)
#define CLOCK() clock64()
/* Once a group of lanes. */
#define ADD(place, number, mask) __sync_fetch_and_add(place, number)
#define OF_LANE(lane, mask) lane_value(0, lane)
static void *(*const map_lookup_elem)(void *, const void *) = (void *)1;
static u64 (*const lane_value)(u64, u64) = (void *)524;
static u64 (*const clock64)(void) = (void *)525;

#define MAP_OF_TYPE(number, name, key_type, value_type, entries)                                   \
	struct {                                                                                   \
		int (*type)[number];                                                               \
		key_type *key;                                                                     \
		value_type *value;                                                                 \
		int (*max_entries)[entries];                                                       \
	} name SEC(".maps");
#define DECLARE(number, name, type, entries) MAP_OF_TYPE(2, name, u32, type, entries)
#define DECLARE_OF_THREADS(number, name, type, entries) MAP_OF_TYPE(1502, name, u32, type, entries)
MAPS(DECLARE)
THREAD_MAPS(DECLARE_OF_THREADS)

#else

#define SHARED __attribute__((address_space(1)))
#define DEVICE __attribute__((device))
#define DECLARE(number, name, type, entries)                                                       \
	__attribute__((constant, weak)) u64 gputap_map_##number[2];                                \
	static inline __attribute__((device, always_inline)) SHARED void *name(const u32 *key)     \
	{                                                                                          \
		u64 stride = (sizeof(type) + 7) / 8 * 8;                                           \
		return *key < entries ? (SHARED char *)gputap_map_##number[0] + *key * stride : 0; \
	}
#define PROBE_AT(name, section)                                                                    \
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
static inline __attribute__((device, always_inline)) u32 active_mask(void)
{
	u32 mask;

	asm volatile("activemask.b32 %0;" : "=r"(mask));
	return mask;
}
OWN(mask, active_mask())
OWN(sm, __nvvm_read_ptx_sreg_smid())
OWN(thread_x, __nvvm_read_ptx_sreg_tid_x())
OWN(block_x, __nvvm_read_ptx_sreg_ctaid_x())
OWN(lane, __nvvm_read_ptx_sreg_laneid())
GIVEN(address)
GIVEN(width)
GIVEN(value)
GIVEN(line)
MAPS(DECLARE)

static inline __attribute__((device, always_inline)) u64 flat_thread(void)
{
	u32 row = __nvvm_read_ptx_sreg_ctaid_z() * __nvvm_read_ptx_sreg_nctaid_y() +
		  __nvvm_read_ptx_sreg_ctaid_y();
	u64 block = (u64)row * (u32)__nvvm_read_ptx_sreg_nctaid_x() +
		    (u32)__nvvm_read_ptx_sreg_ctaid_x();
	u32 threads = __nvvm_read_ptx_sreg_ntid_x() * __nvvm_read_ptx_sreg_ntid_y() *
		      __nvvm_read_ptx_sreg_ntid_z();
	u32 thread = (__nvvm_read_ptx_sreg_tid_z() * __nvvm_read_ptx_sreg_ntid_y() +
		      __nvvm_read_ptx_sreg_tid_y()) *
			     __nvvm_read_ptx_sreg_ntid_x() +
		     __nvvm_read_ptx_sreg_tid_x();

	return block * threads + thread;
}
/* Accesses to copies that are not there are counted behind the last one. */
#define DECLARE_OF_THREADS(number, name, type, entries)                                            \
	__attribute__((constant, weak)) u64 gputap_map_##number[2];                                \
	static inline __attribute__((device, always_inline)) SHARED void *name(const u32 *key)     \
	{                                                                                          \
		u64 copy = flat_thread(), copies = gputap_map_##number[1];                         \
		u64 stride = (sizeof(type) + 7) / 8 * 8;                                           \
		SHARED char *base = (SHARED char *)gputap_map_##number[0];                         \
                                                                                                   \
		if (copy >= copies) {                                                              \
			__sync_fetch_and_add((SHARED u64 *)(base + copies * stride * entries), 1); \
			return 0;                                                                  \
		}                                                                                  \
		return *key < entries ? base + (copy * entries + *key) * stride : 0;               \
	}
THREAD_MAPS(DECLARE_OF_THREADS)
#define CLOCK() ((u64)__nvvm_read_ptx_sreg_clock64())

#define ADD(place, number, mask)                                                                   \
	do {                                                                                       \
		if ((u32)__builtin_ctz(mask) == FIELD(lane))                                       \
			__sync_fetch_and_add(place, number);                                       \
	} while (0)
/* Lanes have addresses of their own. */
#define OF_LANE(lane, mask) of_lane(FIELD(address) + FIELD(lane) * 4, lane, mask)
static inline __attribute__((device, always_inline)) u64 of_lane(u64 own, u32 lane, u32 mask)
{
	u32 low = __nvvm_shfl_sync_idx_i32(mask, (u32)own, lane, 31);
	u32 high = __nvvm_shfl_sync_idx_i32(mask, (u32)(own >> 32), lane, 31);

	return mask >> lane & 1 ? (u64)high << 32 | low : 0;
}

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

static inline __attribute__((always_inline)) DEVICE u32 power_of(u64 value)
{
	u32 power = 0;

	if (value >> 32) {
		power += 32;
		value >>= 32;
	}
	if (value >> 16) {
		power += 16;
		value >>= 16;
	}
	if (value >> 8) {
		power += 8;
		value >>= 8;
	}
	if (value >> 4) {
		power += 4;
		value >>= 4;
	}
	if (value >> 2) {
		power += 2;
		value >>= 2;
	}
	return power + (u32)(value >> 1);
}

PROBE(power_histogram)
{
	u32 key = power_of(FIELD(value));
	SHARED u64 *count = LOOKUP(histogram, &key, u64);

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

/* How long threads take: the clock where they begin, kept for each, and where they leave. */
PROBE_AT(latency_begin, "gpu/entry/kernel")
{
	u32 key = 0;
	SHARED u64 *start = LOOKUP(starts, &key, u64);

	if (start)
		*start = CLOCK();
	return 0;
}

PROBE_AT(latency_end, "gpu/exit/kernel")
{
	u32 key = 0;
	SHARED u64 *start = LOOKUP(starts, &key, u64), *count;

	if (!start)
		return 0;
	key = power_of(CLOCK() - *start);
	count = LOOKUP(histogram, &key, u64);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

/* How far each thread's accesses are from each other. */
PROBE(strides)
{
	u64 address = FIELD(address), stride;
	u32 key = 0;
	SHARED u64 *last = LOOKUP(addresses, &key, u64), *count;

	if (!last)
		return 0;
	stride = address - *last;
	*last = address;
	if ((s64)stride < 0)
		stride = -stride;
	key = power_of(stride);
	count = LOOKUP(histogram, &key, u64);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

PROBE(extremes)
{
	u64 value = FIELD(value), old;
	u32 key = FIELD(width) & 15;
	SHARED struct statistics *total = LOOKUP(totals, &key, struct statistics);

	if (!total)
		return 0;
	__sync_fetch_and_add(&total->count, 1);
	old = total->least;
	for (int i = 0; i < 4 && value < old; i++)
		old = __sync_val_compare_and_swap(&total->least, old, value);
	old = total->greatest;
	for (int i = 0; i < 4 && value > old; i++)
		old = __sync_val_compare_and_swap(&total->greatest, old, value);
	return 0;
}

PROBE(linear_histogram)
{
	u64 step = FIELD(value) >> 10;
	u32 key = step > 63 ? 63 : (u32)step;
	SHARED u64 *count = LOOKUP(histogram, &key, u64);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

PROBE(bytes_of_sm)
{
	u32 key = FIELD(sm) & 63;
	SHARED u64 *bytes = LOOKUP(counts, &key, u64);

	if (bytes)
		__sync_fetch_and_add(bytes, FIELD(width));
	return 0;
}

/* Requests of a line of source, and the sectors that they touch. */
WARP_PROBE(coalescing)
{
	u32 key = FIELD(line) & 63, sectors = 0, mask = FIELD(mask);
	SHARED struct line *line;
	u64 last = 0;

	EACH_LANE(lane, mask)
	{
		u64 sector = OF_LANE(lane, mask) >> 5;

		sectors += sector != last;
		last = sector;
	}
	line = LOOKUP(lines, &key, struct line);
	if (!line)
		return 0;
	ADD(&line->requests, 1, mask);
	ADD(&line->sectors, sectors, mask);
	return 0;
}

/* Lanes whose bank of shared memory another lane uses, too. */
WARP_PROBE(bank_conflicts)
{
	u32 banks = 0, key = 0, mask = FIELD(mask);
	SHARED u64 *count;

	EACH_LANE(lane, mask)
	{
		u32 bank = OF_LANE(lane, mask) >> 2 & 31;

		key += banks >> bank & 1;
		banks |= 1u << bank;
	}
	count = LOOKUP(histogram, &key, u64);
	if (count)
		ADD(count, 1, mask);
	return 0;
}

#ifdef __bpf__
struct {
	int (*type)[27];
	int (*max_entries)[65536];
} records SEC(".maps");
MAP_OF_TYPE(1, pages, u64, u64, 1024)
static long (*const map_add)(void *, const void *, u64) = (void *)531;
static void *(*const ringbuf_reserve)(void *, u64, u64) = (void *)131;
static void (*const ringbuf_submit)(void *, u64) = (void *)132;

PROBE(hash_count)
{
	u64 page = FIELD(address) >> 12;

	map_add(&pages, &page, 1);
	return 0;
}

PROBE(ring_record)
{
	u64 *record = ringbuf_reserve(&records, 16, 0);

	if (!record)
		return 0;
	record[0] = FIELD(address);
	record[1] = FIELD(width);
	ringbuf_submit(record, 0);
	return 0;
}
#endif
