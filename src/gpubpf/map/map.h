/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps: one row a type (maps.def), and one row of operations a shape (maps.c). The layout of a
 * map's memory is the same on the host and on a device, so that translators, the interpreter and
 * readers agree on it. All of it is little-endian; all zeros is an empty hash map and an array of
 * zeros.
 *
 * array (GT_BPF_MAP_ARRAY): value k at k * stride, stride = round_up(value_size, 8). Of per-SM,
 *   per-warp and per-thread arrays there are `copies` one behind the other, each
 *   gt_bpf_map_copy_bytes long, and then a u64 that counts the accesses to copies that are not
 * there: these find nothing. hash (GT_BPF_MAP_HASH): chains. `buckets` u32 heads, a power of two of
 * at least max_entries (and 2); then max_entries u64 nodes; then as many keys of stride
 * round_up(key_size, 8), padded with zeros; then as many values of stride round_up(value_size, 8);
 * then struct gt_bpf_hash_counters. Node n has key n and value n. A link is a node's number + 1.
 * See gt_bpf_hash_link below. ring (GT_BPF_MAP_RING): struct gt_ring_header, then 2 *
 * gt_bpf_map_ring_bytes bytes: a record begins at position % gt_bpf_map_ring_bytes and runs on into
 * the second half where need be. Each is a struct gt_ring_record and its bytes, rounded up to 8.
 * What is free is all zeros.
 */
#pragma once

#include "base/json.h"
#include "gpubpf/program.h"

enum gt_bpf_map_shape {
	GT_BPF_MAP_ARRAY,
	GT_BPF_MAP_HASH,
	GT_BPF_MAP_RING,
	GT_BPF_MAP_SHAPES,
};

/* What an array has one of. */
enum gt_bpf_map_copies {
	GT_COPY_ONE,
	GT_COPY_SM,     /* %smid. Many warps of an SM run at once: updates must be atomic */
	GT_COPY_WARP,   /* helper 529, flat_warp_id */
	GT_COPY_THREAD, /* helper 527, flat_thread_id */
};

enum gt_bpf_map_place {
	GT_BPF_MAP_DEVICE, /* device memory: atomics of scope .gpu */
	GT_BPF_MAP_SHARED, /* memory shared with the host: atomics of scope .sys */
};

struct gt_bpf_map_kind {
	uint32_t type;
	const char *name;
	enum gt_bpf_map_shape shape;
	enum gt_bpf_map_copies copies;
	enum gt_bpf_map_place place; /* see gt_bpf_map_place */
	uint32_t host_type;          /* the type that Linux has for it; 0: none */
};

/*
 * How the chains of a hash map hang together.
 *
 * A head is the link to the first node, 0: none. GT_BPF_HASH_LOCKED is set in it while somebody
 * changes the chain: who sets it (atomically, having found it clear) has the chain, and gives it
 * back by storing the head without it (release). Readers take no lock.
 * A node is one word: in its lower half the link to the next node, or GT_BPF_HASH_END | bucket at
 * the end of that bucket's chain; in its upper half the key's hash | GT_BPF_HASH_USED, or 0 if the
 * node is not in use. A reader that comes to another chain's end was carried away by a node that
 * moved, and begins again. Nodes never used are taken by counting `fresh` up to max_entries; those
 * given back form a chain from `free`, whose upper half counts, so that no exchange succeeds by
 * chance. A pointer to a value goes on pointing to it when its key is deleted, and to another key's
 * when the node is used again, as in Linux's hash maps.
 */
enum gt_bpf_hash_link {
	GT_BPF_HASH_USED = 1,
	GT_BPF_HASH_END = INT32_MIN,    /* bit 31 */
	GT_BPF_HASH_LOCKED = INT32_MIN, /* bit 31 */
};

struct gt_bpf_hash_counters {
	uint64_t entries;
	uint64_t refused; /* inserts that found the map full */
	uint64_t free;    /* link to the first node given back; above it a count */
	uint32_t fresh;   /* nodes ever used; may be above max_entries */
	uint32_t reserved;
};

/* Credits first: who takes n bytes subtracts them from credit and gives them back if there were
 * fewer; the reader adds what it has read. */
struct gt_ring_header {
	int64_t credit; /* bytes free */
	uint64_t head;  /* bytes ever reserved */
	uint64_t tail;  /* bytes ever read: the reader's */
	uint64_t lost;  /* records refused */
};

enum gt_ring_state {
	GT_RING_BUSY, /* what free memory holds */
	GT_RING_READY,
	GT_RING_DISCARDED,
};

struct gt_ring_record {
	uint32_t size;  /* of the bytes that follow */
	uint32_t state; /* gt_ring_state; written last, with release */
};

/* The row of a type, or NULL. */
const struct gt_bpf_map_kind *gt_bpf_map_kind(uint32_t type);

/*
 * Where a map is: as its type says; an array that the object declares with BPF_F_MMAPABLE is
 * shared, which global variables (".bss", …) are not, though libbpf gives them the flag, unless
 * programs for Linux that run beside use them, too (with_linux).
 */
enum gt_bpf_map_place gt_bpf_map_place(const struct gt_bpf_map *map);
/*
 * Whether all contexts have one instance of it: an array that is shared and has one copy. Each
 * context has its own of all others: rings are, so that it is known who wrote a record, and copies
 * for threads and warps, since every context numbers them from 0.
 */
bool gt_bpf_map_is_common(const struct gt_bpf_map *map);

/* Whether the declaration makes sense for its type. 0, -EINVAL with the reason, -EOPNOTSUPP. */
int gt_bpf_map_check(const struct gt_bpf_map *map, struct gt_diag *diag);

/* ---- layout ---------------------------------------------------------------------------- */

/* Where a program runs, as far as the number of copies depends on it. */
struct gt_bpf_map_grid {
	uint32_t multiprocessors;
	uint32_t grid[3], block[3];
};
/* How many copies a map needs there: 1 of GT_COPY_ONE; 0 if they are more than 2^32 - 1. */
uint32_t gt_bpf_map_copies_for(const struct gt_bpf_map *map, const struct gt_bpf_map_grid *grid);

static inline size_t gt_bpf_map_stride(uint32_t size)
{
	return ((size_t)size + 7) & ~(size_t)7;
}
/* The bytes of the whole memory with so many copies; 0 if it would overflow. */
size_t gt_bpf_map_bytes(const struct gt_bpf_map *map, uint32_t copies);
/* Of one copy of an array. */
size_t gt_bpf_map_copy_bytes(const struct gt_bpf_map *map);
/* Of a ring: the most that its records may take together, their heads counted. */
uint32_t gt_bpf_map_ring_bytes(const struct gt_bpf_map *map);

uint32_t gt_bpf_map_hash_buckets(const struct gt_bpf_map *map);
/* Offsets in a hash map's memory; its heads are at 0. */
size_t gt_bpf_map_hash_nodes(const struct gt_bpf_map *map);
size_t gt_bpf_map_hash_keys(const struct gt_bpf_map *map);
size_t gt_bpf_map_hash_values(const struct gt_bpf_map *map);
size_t gt_bpf_map_hash_counters(const struct gt_bpf_map *map);
/*
 * Over the key's bytes as little-endian words of 32 bits, the last filled up with zeros:
 * hash = (hash ^ word) * 0x9e3779b1, hash ^= hash >> 15, from GT_BPF_HASH_SEED. The bucket is
 * hash & (buckets - 1).
 */
enum {
	GT_BPF_HASH_SEED = 0x2545f491,
	GT_BPF_HASH_SHIFT = 15,
};
#define GT_BPF_HASH_FACTOR 0x9e3779b1u
uint32_t gt_bpf_map_hash(const void *key, uint32_t size);

/* Writes what the memory of a fresh map holds (gt_bpf_map_bytes of it, all zeros on entry). */
void gt_bpf_map_initialise(const struct gt_bpf_map *map, uint32_t copies, void *memory);

/* ---- operations ------------------------------------------------------------------------ */

/*
 * On a map's memory, by one thread that has it for itself, for copy number `copy` of arrays (which
 * must be there). Results are those of the kernel's helpers: offsets into the memory or -ENOENT,
 * -EEXIST, -E2BIG, -EINVAL.
 */
int64_t gt_bpf_map_lookup(const struct gt_bpf_map *map, const void *memory, uint32_t copy,
			  const void *key);
int gt_bpf_map_update(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		      const void *value, uint64_t flags);
int gt_bpf_map_delete(const struct gt_bpf_map *map, void *memory, const void *key);
/*
 * Adds to a key's value, a u32 if value_size is 4, else the u64 that its first 8 bytes are; a key
 * that a hash map does not have gets a value of zeros first. -EINVAL: of other sizes, and rings.
 */
int gt_bpf_map_add(const struct gt_bpf_map *map, void *memory, uint32_t copy, const void *key,
		   uint64_t number);
/*
 * Counts a number in the array's value of its power of two: value k is for 2^k to 2^(k+1) - 1,
 * the first for 0 too, the last for all above. -EINVAL: no array, or as of gt_bpf_map_add.
 */
int gt_bpf_map_count_power(const struct gt_bpf_map *map, void *memory, uint32_t copy,
			   uint64_t number);
/* Counts an access to a copy that is not there. */
void gt_bpf_map_count_outside(const struct gt_bpf_map *map, void *memory, uint32_t copies);
/* Whether values can be added to. */
static inline bool gt_bpf_map_has_numbers(const struct gt_bpf_map *map)
{
	return map->value_size == 4 || map->value_size >= 8;
}
/* Whether the bytes are inside one value, of any copy. False of rings. */
bool gt_bpf_map_holds(const struct gt_bpf_map *map, uint32_t copies, uint64_t offset,
		      uint64_t size);

/*
 * Reserves a record: the offset of its bytes (the record's head stands before); -EAGAIN: no room,
 * counted as lost; -E2BIG: there never will be, counted too.
 */
int64_t gt_ring_reserve(const struct gt_bpf_map *map, void *memory, uint64_t size);
void gt_ring_finish(void *memory, uint64_t offset, enum gt_ring_state state);

/* ---- reading back ---------------------------------------------------------------------- */

/*
 * A map's memory as it was read from a device or is shared with one. Nothing in it is trusted:
 * whatever it holds, reading stays inside of it and ends.
 */
struct gt_bpf_map_view {
	const struct gt_bpf_map *map; /* one that gt_bpf_map_check accepts */
	const void *memory;           /* gt_bpf_map_bytes(map, copies) bytes, aligned to 8 */
	uint32_t copies;
	const char *copies_are; /* "CPUs"; NULL: as the type says */
};

/* An entry; all zeros before the first. */
struct gt_bpf_map_entry {
	uint64_t next;
	uint32_t index;    /* of arrays; the key points to it */
	const void *key;   /* key_size bytes; NULL of rings */
	const void *value; /* value_size bytes; of the first copy. Of rings: a record */
	uint32_t size;     /* bytes of the value */
};

/*
 * The next entry; false at the end. Arrays give all, zeros too. Rings give the records that are
 * ready and unread, up to the first that is not, and keep them: ring.h takes them out.
 */
bool gt_bpf_map_read(const struct gt_bpf_map_view *view, struct gt_bpf_map_entry *entry);
/* The entry's value in another copy. */
const void *gt_bpf_map_read_copy(const struct gt_bpf_map_view *view,
				 const struct gt_bpf_map_entry *entry, uint32_t copy);
/* A value of 4 or 8 bytes, or the first 8 of a longer one. */
uint64_t gt_bpf_map_number(const struct gt_bpf_map *map, const void *value);
/* The sum of an entry's numbers over all copies, modulo 2^64. */
uint64_t gt_bpf_map_sum(const struct gt_bpf_map_view *view, const struct gt_bpf_map_entry *entry);

/* What went wrong with a map: inserts refused, records lost, accesses to copies not there. */
struct gt_bpf_map_losses {
	uint64_t refused, lost, outside;
};
struct gt_bpf_map_losses gt_bpf_map_losses(const struct gt_bpf_map_view *view);

/*
 * A map for people: a line of its name, type and size, then a line an entry ("key: value", of rings
 * the bytes; arrays leave out values that are all zeros and say how many), then what went wrong.
 * Keys and values of 4 and 8 bytes are decimal numbers, others hex bytes. An entry with copies is
 * its sum and in how many copies it is not zero.
 */
void gt_bpf_map_print(const struct gt_bpf_map_view *view, struct gt_strbuf *text);
/*
 * The same as an object: name, type, key_size, value_size, max_entries, copies, entries (an array
 * of {key, value} or {key, sum, values: [{copy, value}]}, of rings of hex bytes), and the losses.
 * Values that are all zeros are left out of arrays. Hex bytes are strings.
 */
void gt_bpf_map_print_json(const struct gt_bpf_map_view *view, struct gt_json *json,
			   const char *key);
