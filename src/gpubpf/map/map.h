/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * eBPF maps: one row per type (types.def), and one row of operations per shape (map.c).
 *
 * A map's memory has the same layout on the host and on devices, for translators, the interpreter
 * and readers. It is little-endian. All zeros is an empty hash map, and an array of zeros.
 *
 * Array (GT_BPF_MAP_ARRAY)
 *   Value k at k * stride, with stride = round_up(value_size, 8). Per-SM, per-warp and per-thread
 *   arrays have `copies` of gt_bpf_map_copy_bytes each, followed by a u64 that counts accesses to
 *   copies beyond the last; these accesses fail. A striped array of one copy is that many arrays,
 *   of which the first has the initial values.
 *
 * Hash (GT_BPF_MAP_HASH)
 *   Chaining (see gt_bpf_hash_link). `buckets` u32 heads, the smallest power of two that is at
 * least max_entries and 2; max_entries u64 nodes; max_entries keys of stride round_up(key_size, 8),
 *   padded with zeros; max_entries values of stride round_up(value_size, 8); struct
 *   gt_bpf_hash_counters. Node n has key n and value n. A link is a node's number + 1.
 *
 * LRU hash, longest prefix match (GT_BPF_MAP_LRU, GT_BPF_MAP_TRIE)
 *   A hash, with what lru.c adds. The host's own memory: devices do not see it.
 *
 * Ring (GT_BPF_MAP_RING)
 *   struct gt_ring_header, then 2 * gt_bpf_map_ring_bytes bytes: a record starts at position %
 *   gt_bpf_map_ring_bytes and may extend into the second half. It is a struct gt_ring_record and
 * its bytes, rounded up to 8. Free memory is all zeros.
 */
#pragma once

#include "base/json.h"
#include "base/sparse.h"
#include "gpubpf/program.h"

enum {
	GT_BPF_MAP_TYPE_GPU_RING = 1527, /* as in types.def */
};

enum gt_bpf_map_shape {
	GT_BPF_MAP_ARRAY,
	GT_BPF_MAP_HASH,
	GT_BPF_MAP_RING,
	GT_BPF_MAP_LRU,  /* a hash that evicts entries (lru.c) */
	GT_BPF_MAP_TRIE, /* longest prefix match (trie.c) */
	GT_BPF_MAP_SHAPES,
};
/* Shapes whose memory begins with that of a hash. */
static inline bool gt_bpf_map_is_hashed(enum gt_bpf_map_shape shape)
{
	return shape == GT_BPF_MAP_HASH || shape == GT_BPF_MAP_LRU || shape == GT_BPF_MAP_TRIE;
}

/* The number of copies of an array: one, or one per SM, warp or thread. */
enum gt_bpf_map_copies {
	GT_COPY_ONE,
	GT_COPY_SM,     /* %smid. An SM runs many warps at once: updates must be atomic */
	GT_COPY_WARP,   /* helper 529, flat_warp_id */
	GT_COPY_THREAD, /* helper 527, flat_thread_id */
};

enum {
	GT_BPF_MAX_VALUE = 1 << 29,   /* bytes: the verifier has no larger offsets of pointers */
	GT_BPF_MAX_HOST_VALUE = 4096, /* bytes, of maps on the host */
};

enum gt_bpf_map_place {
	GT_BPF_MAP_DEVICE, /* device memory: atomics of scope .gpu */
	GT_BPF_MAP_SHARED, /* memory shared with the host: atomics of scope .sys */
	GT_BPF_MAP_HOST,   /* the host's own memory: GPUs access it by calls (host_calls.h) */
};

struct gt_bpf_map_kind {
	uint32_t type;
	const char *name;
	enum gt_bpf_map_shape shape;
	enum gt_bpf_map_copies copies;
	enum gt_bpf_map_place place; /* unless gt_bpf_map_place says otherwise */
	uint32_t host_type;          /* the equivalent type in Linux; 0: none */
};

/*
 * The chains of a hash map.
 *
 * A head is the link to the first node; 0: the chain is empty. GT_BPF_HASH_LOCKED in the head locks
 * the chain: a writer sets it atomically, having found it clear, and releases the lock by storing
 * the head without it (memory order release). Readers take no lock.
 * A node is one word. The lower half is the link to the next node, or GT_BPF_HASH_END | bucket at
 * the end of that bucket's chain. The upper half is the key's hash | GT_BPF_HASH_USED, or 0 if the
 * node is not in use. A reader that reaches the end of another bucket's chain has followed a node
 * that was reused meanwhile, and starts again. Fresh nodes are allocated by incrementing `fresh` up
 * to max_entries. Freed nodes form a list from `free`, whose upper half is a version number against
 * the ABA problem. As in the hash maps of Linux, a pointer to a value stays valid when its key is
 * deleted, and refers to another key's value when the node is reused.
 */
enum gt_bpf_hash_link {
	GT_BPF_HASH_USED = 1,
	GT_BPF_HASH_END = INT32_MIN,    /* bit 31 */
	GT_BPF_HASH_LOCKED = INT32_MIN, /* bit 31 */
};

struct gt_bpf_hash_counters {
	uint64_t entries;
	uint64_t rejected; /* inserts into a full map */
	uint64_t free;     /* link to the first free node; upper half: version */
	uint32_t fresh;    /* nodes ever used; may exceed max_entries */
	uint32_t reserved;
};

/*
 * Flow control by credit: a writer of n bytes subtracts them from `credit`, and adds them again if
 * there were fewer. A reader that shares the memory adds the bytes that it has read to `credit`.
 * One that cannot, since the ring is in the memory of a GPU, counts them in `returned`: a writer
 * without credit exchanges `taken` for it, and adds the difference, which is negative after a later
 * value, to `credit`.
 */
struct gt_ring_header {
	int64_t credit;    /* bytes free */
	uint64_t head;     /* bytes ever reserved */
	uint64_t tail;     /* bytes ever read; written by the reader */
	uint64_t lost;     /* records dropped (buffer full) */
	uint64_t returned; /* bytes ever returned in this way; written by the reader alone */
	uint64_t taken;    /* of these, those that were added to `credit` */
};

enum gt_ring_state {
	GT_RING_BUSY, /* also the state of free memory */
	GT_RING_READY,
	GT_RING_DISCARDED,
};

struct gt_ring_record {
	uint32_t size;  /* of the data that follows */
	uint32_t state; /* gt_ring_state; written last, with release */
};

/* The row of a type, or NULL. */
const struct gt_bpf_map_kind *gt_bpf_map_kind(uint32_t type);

/*
 * The place of a map's memory. It depends on the type; an array declared with BPF_F_MMAPABLE is
 * shared. Global variables (".bss", …), for which libbpf sets the flag, are shared only if host
 * programs use them, too (with_host).
 */
enum gt_bpf_map_place gt_bpf_map_place(const struct gt_bpf_map *map);
/* Whether GPU programs access a map by calls of the host; false for unknown types, too. */
bool gt_bpf_map_is_on_host(const struct gt_bpf_map *map);
/*
 * Whether all contexts have the map in common: a shared array of one copy. Each context has its own
 * memory for other maps: rings, so that the writer of a record is known, and copies for threads and
 * warps, since every context numbers them from 0.
 */
bool gt_bpf_map_is_common(const struct gt_bpf_map *map);

/* Check a declaration. 0; -EINVAL with the reason; -EOPNOTSUPP: GPUs do not have the type. */
int gt_bpf_map_check(const struct gt_bpf_map *map, struct gt_diag *diag);

/* ---- layout ---------------------------------------------------------------------------- */

/* The launch and the device that the number of copies depends on. */
struct gt_bpf_map_grid {
	uint32_t multiprocessors;
	uint32_t grid[3], block[3];
};
/* The number of copies that a map needs, 1 for GT_COPY_ONE; 0 if it exceeds 2^32 - 1. */
uint32_t gt_bpf_map_copies_for(const struct gt_bpf_map *map, const struct gt_bpf_map_grid *grid);

static inline size_t gt_bpf_map_stride(uint32_t size)
{
	return ((size_t)size + 7) & ~(size_t)7;
}
/* The size of a map's memory in bytes; 0 if it overflows. */
size_t gt_bpf_map_bytes(const struct gt_bpf_map *map, uint32_t copies);
/* The same with the stripes of an array, gt_bpf_map_stripe_bytes each; 0 if it overflows. */
size_t gt_bpf_map_striped_bytes(const struct gt_bpf_map *map, uint32_t copies);
size_t gt_bpf_map_stripe_bytes(const struct gt_bpf_map *map);
/* The size of one copy of an array. */
size_t gt_bpf_map_copy_bytes(const struct gt_bpf_map *map);
/* The capacity of a ring in bytes, for records and their headers. */
uint32_t gt_bpf_map_ring_bytes(const struct gt_bpf_map *map);
/*
 * bpftime's ring, of type 1527 with values: each thread has a ring of max_entries records. Here
 * they are one ring with room for those of 1024 threads, 64 KiB to 32 MiB, or of one thread if that
 * is more. Without values max_entries are the bytes, as of type 27.
 */
static inline bool gt_bpf_map_is_thread_ring(const struct gt_bpf_map *map)
{
	return map->type == GT_BPF_MAP_TYPE_GPU_RING && map->value_size;
}
/* The size of the ring of one thread, with headers of records. */
uint64_t gt_bpf_map_thread_ring_bytes(const struct gt_bpf_map *map);

uint32_t gt_bpf_map_hash_buckets(const struct gt_bpf_map *map);
/* Offsets in the memory of a hash map; the heads are at 0. */
size_t gt_bpf_map_hash_nodes(const struct gt_bpf_map *map);
size_t gt_bpf_map_hash_keys(const struct gt_bpf_map *map);
size_t gt_bpf_map_hash_values(const struct gt_bpf_map *map);
size_t gt_bpf_map_hash_counters(const struct gt_bpf_map *map);
/*
 * The hash function, over the key as little-endian 32-bit words, the last padded with zeros:
 * hash = (hash ^ word) * 0x9e3779b1, hash ^= hash >> 15, from GT_BPF_HASH_SEED. The bucket is
 * hash & (buckets - 1).
 */
enum {
	GT_BPF_HASH_SEED = 0x2545f491,
	GT_BPF_HASH_SHIFT = 15,
};
#define GT_BPF_HASH_FACTOR 0x9e3779b1u
uint32_t gt_bpf_map_hash(const void *key, uint32_t size);

/* Initialise the memory of a new map: gt_bpf_map_bytes, which are all zeros. */
void gt_bpf_map_initialise(const struct gt_bpf_map *map, uint32_t copies, void *memory);
/* A part of that, for memory that has contents: set the map's presets, in all copies. */
void gt_bpf_map_set_presets(const struct gt_bpf_map *map, uint32_t copies, void *memory);

/* ---- operations ------------------------------------------------------------------------ */

/*
 * The kernel's map helpers, for one thread that accesses the memory exclusively, and for copy
 * `copy` of arrays, which must exist. Results are those of Linux: an offset into the memory or 0;
 * -ENOENT, -EEXIST, -E2BIG, -EINVAL.
 */
int64_t gt_bpf_map_lookup(const struct gt_bpf_map *map, const void *memory, uint32_t copy,
			  const void *key);
int gt_bpf_map_update(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		      const void *value, uint64_t flags);
int gt_bpf_map_delete(const struct gt_bpf_map *map, void *memory, const void *key);
/*
 * Add to a key's value: a u32 if value_size is 4, else the u64 in its first 8 bytes. A key that is
 * not in a hash map is inserted with a value of zeros first. -EINVAL: other sizes, and rings.
 */
int gt_bpf_map_add(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		   uint64_t number);
/*
 * Count a number in a histogram of powers of two: value k of the array counts 2^k to 2^(k+1) - 1,
 * the first also 0, the last all greater numbers. -EINVAL: not an array, or as gt_bpf_map_add.
 */
int gt_bpf_map_count_power(const struct gt_bpf_map *map, void *memory, uint32_t copy,
			   uint64_t number);
/* Count an access to a copy beyond the last. */
void gt_bpf_map_count_outside(const struct gt_bpf_map *map, void *memory, uint32_t copies);
/* Whether gt_bpf_map_add supports the values. */
static inline bool gt_bpf_map_has_numbers(const struct gt_bpf_map *map)
{
	return map->value_size == 4 || map->value_size >= 8;
}
/* Whether the bytes are within one value of any copy. False for rings. */
bool gt_bpf_map_holds(const struct gt_bpf_map *map, uint32_t copies, uint64_t offset,
		      uint64_t size);

/*
 * Reserve a record. Returns the offset of its data, which follows the gt_ring_record; -EAGAIN: the
 * ring is full; -E2BIG: the record is larger than the ring. Both count as lost.
 */
int64_t gt_ring_reserve(const struct gt_bpf_map *map, void *memory, uint64_t size);
void gt_ring_finish(void *memory, uint64_t offset, enum gt_ring_state state);

/* ---- reading back ---------------------------------------------------------------------- */

/*
 * A map's memory as it was read from a device or is shared with one. Its contents are not trusted:
 * reading ends, and stays within the memory.
 */
struct gt_bpf_map_view {
	const struct gt_bpf_map *map; /* accepted by gt_bpf_map_check */
	const void *memory;           /* gt_bpf_map_bytes(map, copies) bytes, aligned to 8 */
	uint32_t copies;
	struct gt_sparse *sparse; /* around the memory; NULL: all of it may be read */
	const char *copies_are;   /* "CPUs"; NULL: depends on the type */
	/* The launch, for the coordinates of threads and warps; NULL: not known. */
	const struct gt_bpf_map_grid *grid;
	bool shapes_differ; /* of launches that used the map: copies have no coordinates */
};

/* An iterator and the current entry. Zero-initialise it. */
struct gt_bpf_map_entry {
	uint64_t next;
	uint32_t index;    /* arrays: the key points to it */
	const void *key;   /* key_size bytes; rings: NULL */
	const void *value; /* value_size bytes of the first copy; rings: a record */
	uint32_t size;     /* bytes of the value */
};

/*
 * Advance to the next entry; false at the end. Arrays have all entries, also zeros. Rings have the
 * unread records up to the first that is not ready; the records stay (ring_reader.h consumes them).
 */
bool gt_bpf_map_read(const struct gt_bpf_map_view *view, struct gt_bpf_map_entry *entry);
/* The entry's value in another copy. */
const void *gt_bpf_map_read_copy(const struct gt_bpf_map_view *view,
				 const struct gt_bpf_map_entry *entry, uint32_t copy);
/* A value of 4 or 8 bytes, or the first 8 of a longer one. */
uint64_t gt_bpf_map_number(const struct gt_bpf_map *map, const void *value);
/* The sum of an entry's values over all copies, modulo 2^64. */
uint64_t gt_bpf_map_sum(const struct gt_bpf_map_view *view, const struct gt_bpf_map_entry *entry);

/* Losses of a map: rejected inserts, lost records, accesses to copies beyond the last. */
struct gt_bpf_map_losses {
	uint64_t rejected, lost, outside;
};
struct gt_bpf_map_losses gt_bpf_map_losses(const struct gt_bpf_map_view *view);

/*
 * Print a map as text: a line with its name, type and size, a line per entry ("key: value", or a
 * record), and the losses. Keys and values are printed by their types (object/value.h). Arrays omit
 * values that are all zeros, and print their number; histograms are bars. An entry with copies is
 * their sum, if they are numbers, and the number of copies that are not zero; the first of these
 * follow if there is one for each thread or warp, or no sum.
 */
void gt_bpf_map_print(const struct gt_bpf_map_view *view, struct gt_strbuf *text);
/*
 * Print a map as a JSON object: name, type, key_size, value_size, max_entries, copies, entries (an
 * array of {key, value} or {key, sum, values: [{copy, block, thread or warp, value}]}; for rings,
 * of records), of histograms [{min, max, count}], and the losses. Arrays omit values that are all
 * zeros.
 */
void gt_bpf_map_print_json(const struct gt_bpf_map_view *view, struct gt_json *json,
			   const char *key);
