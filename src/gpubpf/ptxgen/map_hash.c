/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hash maps in PTX (layout: map/map.h). Many threads look up, insert, update and delete at the same
 * time.
 *
 * A thread locks a chain to change it. The wait for the lock is a loop whose body has one exit: the
 * lanes that get the lock come to it when they have released the lock, the others at once. So the
 * lanes of a warp never wait for each other, also where they run in lockstep.
 */
#include <errno.h>

#include "gpubpf/ptxgen/map.h"

enum {
	MAX_WORDS = GT_PTXGEN_MAX_UNROLLED / 4, /* of a key */
};

/* A search for a key. */
struct hash_search {
	const struct gt_bpf_map *map;
	struct gt_ptxgen_value base;
	struct gt_ptxgen_value words[MAX_WORDS];
	uint32_t word_count;
	struct gt_ptxgen_value tag, bucket;   /* .b32 */
	struct gt_ptxgen_value head_address;  /* .b64 */
	struct gt_ptxgen_value link;          /* .b32: of the node that was found */
	struct gt_ptxgen_value node, next;    /* .b64, .b32: that node's word and its lower half */
	struct gt_ptxgen_value previous;      /* .b32: the link before it, 0: the head */
	struct gt_ptxgen_value node_word_tag; /* .b32 */
};

static const enum gt_bpf_map_place place = GT_BPF_MAP_DEVICE;

/* ---- addresses ------------------------------------------------------------------------- */

/* The address of element `link` - 1 of an array at `offset` in the map's memory. */
static struct gt_ptxgen_value element(struct gt_ptxgen *gen, const struct hash_search *search,
				      struct gt_ptxgen_value link, uint64_t stride, uint64_t offset)
{
	return gt_ptxgen_element(gen, search->base, link, stride, offset - stride);
}

static struct gt_ptxgen_value node_address(struct gt_ptxgen *gen, const struct hash_search *search,
					   struct gt_ptxgen_value link)
{
	return element(gen, search, link, sizeof(uint64_t), gt_bpf_map_hash_nodes(search->map));
}

static struct gt_ptxgen_value key_address(struct gt_ptxgen *gen, const struct hash_search *search,
					  struct gt_ptxgen_value link)
{
	return element(gen, search, link, gt_bpf_map_stride(search->map->key_size),
		       gt_bpf_map_hash_keys(search->map));
}

static struct gt_ptxgen_value value_address(struct gt_ptxgen *gen, const struct hash_search *search,
					    struct gt_ptxgen_value link)
{
	return element(gen, search, link, gt_bpf_map_stride(search->map->value_size),
		       gt_bpf_map_hash_values(search->map));
}

static struct gt_ptxgen_value counters_address(struct gt_ptxgen *gen,
					       const struct hash_search *search)
{
	struct gt_ptxgen_value address = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "add.s64", address, search->base,
		       (uint64_t)gt_bpf_map_hash_counters(search->map));
	return address;
}

/* ---- search ----------------------------------------------------------------------------- */

/* gt_bpf_map_hash of the words. */
static struct gt_ptxgen_value emit_hash(struct gt_ptxgen *gen, const struct hash_search *search)
{
	struct gt_ptxgen_value hash = gt_ptxgen_b32(gen), high = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "mov.u32", hash, GT_BPF_HASH_SEED);
	for (uint32_t i = 0; i < search->word_count; i++) {
		gt_ptxgen_emit(gen, "xor.b32", hash, hash, search->words[i]);
		gt_ptxgen_emit(gen, "mul.lo.u32", hash, hash, gt_ptxgen_hex(GT_BPF_HASH_FACTOR));
		gt_ptxgen_emit(gen, "shr.u32", high, hash, GT_BPF_HASH_SHIFT);
		gt_ptxgen_emit(gen, "xor.b32", hash, hash, high);
	}
	return hash;
}

static int emit_search_start(struct gt_ptxgen *gen, struct hash_search *search)
{
	struct gt_ptxgen_value hash;

	search->map = gt_ptxgen_map(gen);
	if (search->map->key_size > GT_PTXGEN_MAX_UNROLLED)
		return gt_ptxgen_fail(gen, -EOPNOTSUPP,
				      "map '%s': keys of hash maps have at most %d bytes on a GPU",
				      search->map->name, GT_PTXGEN_MAX_UNROLLED);
	search->base = gt_ptxgen_map_address(gen, gen->map);
	search->word_count = (search->map->key_size + 3) / 4;
	gt_ptxgen_load_words(gen, 2, search->map->key_size, search->words);
	hash = emit_hash(gen, search);
	search->tag = gt_ptxgen_b32(gen);
	search->bucket = gt_ptxgen_b32(gen);
	gt_ptxgen_emit(gen, "or.b32", search->tag, hash, GT_BPF_HASH_USED);
	gt_ptxgen_emit(gen, "and.b32", search->bucket, hash,
		       gt_bpf_map_hash_buckets(search->map) - 1);
	search->head_address =
		gt_ptxgen_element(gen, search->base, search->bucket, sizeof(uint32_t), 0);
	search->link = gt_ptxgen_b32(gen);
	search->node = gt_ptxgen_b64(gen);
	search->next = gt_ptxgen_b32(gen);
	search->previous = gt_ptxgen_b32(gen);
	search->node_word_tag = gt_ptxgen_b32(gen);
	return 0;
}

/* Branch to `other` unless the node at search->link has the key. */
static void emit_key_comparison(struct gt_ptxgen *gen, const struct hash_search *search,
				struct gt_ptxgen_value other)
{
	struct gt_ptxgen_value differs = gt_ptxgen_predicate(gen), all = gt_ptxgen_b32(gen), key;
	struct gt_ptxgen_value word = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "setp.ne.u32", differs, search->node_word_tag, search->tag);
	gt_ptxgen_branch_if(gen, differs, other);
	key = key_address(gen, search, search->link);
	for (uint32_t i = 0; i < search->word_count; i++) {
		gt_ptxgen_load_ordered(gen, gt_ptxgen_relaxed(place), 32, word,
				       gt_ptxgen_at(key, 4 * i));
		gt_ptxgen_emit(gen, "xor.b32", word, word, search->words[i]);
		if (i)
			gt_ptxgen_emit(gen, "or.b32", all, all, word);
		else
			gt_ptxgen_emit(gen, "mov.b32", all, word);
	}
	gt_ptxgen_emit(gen, "setp.ne.u32", differs, all, 0);
	gt_ptxgen_branch_if(gen, differs, other);
}

/*
 * Walk along the chain from search->link. Falls through at the node of the key; branches to
 * `missing` at the end of the chain, and to `again` where a node that was moved led to another one.
 */
static void emit_walk(struct gt_ptxgen *gen, const struct hash_search *search,
		      struct gt_ptxgen_ordering ordering, struct gt_ptxgen_value missing,
		      struct gt_ptxgen_value again)
{
	struct gt_ptxgen_value walk = gt_ptxgen_label(gen), found = gt_ptxgen_label(gen);
	struct gt_ptxgen_value other = gt_ptxgen_label(gen), test = gt_ptxgen_predicate(gen);
	struct gt_ptxgen_value bucket = gt_ptxgen_b32(gen), address;

	gt_ptxgen_emit(gen, "mov.u32", search->previous, 0);
	gt_ptxgen_emit(gen, "setp.eq.u32", test, search->link, 0);
	gt_ptxgen_branch_if(gen, test, missing);
	gt_ptxgen_emit_label(gen, walk);
	address = node_address(gen, search, search->link);
	gt_ptxgen_load_ordered(gen, ordering, 64, search->node, gt_ptxgen_at(address, 0));
	gt_ptxgen_split(gen, search->next, search->node_word_tag, search->node);
	emit_key_comparison(gen, search, other);
	gt_ptxgen_branch(gen, found);
	gt_ptxgen_emit_label(gen, other);
	gt_ptxgen_emit(gen, "mov.u32", search->previous, search->link);
	gt_ptxgen_emit(gen, "mov.u32", search->link, search->next);
	gt_ptxgen_emit(gen, "setp.gt.s32", test, search->link, 0);
	gt_ptxgen_branch_if(gen, test, walk);
	gt_ptxgen_emit(gen, "or.b32", bucket, search->bucket, gt_ptxgen_hex(0x80000000));
	gt_ptxgen_emit(gen, "setp.ne.u32", test, search->link, bucket);
	gt_ptxgen_branch_if(gen, test, again);
	gt_ptxgen_branch(gen, missing);
	gt_ptxgen_emit_label(gen, found);
}

/* Find the key without a lock: falls through with search->link, or branches to `missing`. */
static void emit_find(struct gt_ptxgen *gen, const struct hash_search *search,
		      struct gt_ptxgen_value missing)
{
	struct gt_ptxgen_value again = gt_ptxgen_label(gen);

	gt_ptxgen_emit_label(gen, again);
	gt_ptxgen_load_ordered(gen, gt_ptxgen_acquire(place), 32, search->link,
			       gt_ptxgen_at(search->head_address, 0));
	gt_ptxgen_emit(gen, "and.b32", search->link, search->link, gt_ptxgen_hex(0x7fffffff));
	emit_walk(gen, search, gt_ptxgen_acquire(place), missing, again);
}

int gt_ptxgen_hash_lookup(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value result = gt_ptxgen_reg64(gen, 0), missing, over, target, value;
	struct hash_search search;
	int error = emit_search_start(gen, &search);
	bool is_tested;

	if (error)
		return error;
	is_tested = gt_ptxgen_null_target(gen, &target);
	over = gt_ptxgen_label(gen);
	missing = is_tested ? target : over;
	gt_ptxgen_emit(gen, "mov.u64", result, 0);
	emit_find(gen, &search, missing);
	value = value_address(gen, &search, search.link);
	gt_ptxgen_emit(gen, "mov.u64", result, value);
	if (!is_tested)
		gt_ptxgen_emit_label(gen, over);
	return 0;
}

/* ---- changes ---------------------------------------------------------------------------- */

/* A chain that is locked. */
struct hash_chain_lock {
	struct gt_ptxgen_value again, next; /* labels: the loop's start; the end of its body */
	struct gt_ptxgen_value busy;        /* .pred: the loop continues */
	struct gt_ptxgen_value head;        /* .b32: stored when the lock is released */
};

/* Begin the loop. One thread at a time executes the code after it for each chain. */
static void emit_lock(struct gt_ptxgen *gen, struct hash_search *search,
		      struct hash_chain_lock *lock)
{
	gen->waits = true;
	lock->again = gt_ptxgen_label(gen);
	lock->next = gt_ptxgen_label(gen);
	lock->busy = gt_ptxgen_predicate(gen);
	lock->head = gt_ptxgen_b32(gen);
	gt_ptxgen_emit_label(gen, lock->again);
	gt_ptxgen_atom_ordered(gen, gt_ptxgen_acquire(place), "or.b32", lock->head,
			       gt_ptxgen_at(search->head_address, 0), gt_ptxgen_hex(0x80000000));
	gt_ptxgen_emit(gen, "setp.lt.s32", lock->busy, lock->head, 0);
	gt_ptxgen_branch_if(gen, lock->busy, lock->next);
	gt_ptxgen_emit(gen, "mov.u32", search->link, lock->head);
}

static void emit_unlock(struct gt_ptxgen *gen, const struct hash_search *search,
			const struct hash_chain_lock *lock)
{
	gt_ptxgen_store_ordered(gen, gt_ptxgen_release(place), 32,
				gt_ptxgen_at(search->head_address, 0), lock->head);
	gt_ptxgen_emit_label(gen, lock->next);
	gt_ptxgen_branch_if(gen, lock->busy, lock->again);
}

/* Take the first node of the free list: search->link. Branches to `full` if it is empty. */
static void emit_take_released(struct gt_ptxgen *gen, const struct hash_search *search,
			       struct gt_ptxgen_value counters, struct gt_ptxgen_value full)
{
	const int64_t at = offsetof(struct gt_bpf_hash_counters, free);
	struct gt_ptxgen_value again = gt_ptxgen_label(gen), test = gt_ptxgen_predicate(gen),
			       address;
	struct gt_ptxgen_value old = gt_ptxgen_b64(gen), new = gt_ptxgen_b64(gen),
			       was = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value count = gt_ptxgen_b32(gen), unused = gt_ptxgen_b32(gen);

	gt_ptxgen_emit_label(gen, again);
	gt_ptxgen_load_ordered(gen, gt_ptxgen_acquire(place), 64, old, gt_ptxgen_at(counters, at));
	gt_ptxgen_split(gen, search->link, count, old);
	gt_ptxgen_emit(gen, "setp.eq.u32", test, search->link, 0);
	gt_ptxgen_branch_if(gen, test, full);
	address = node_address(gen, search, search->link);
	gt_ptxgen_load_ordered(gen, gt_ptxgen_relaxed(place), 64, new, gt_ptxgen_at(address, 0));
	gt_ptxgen_split(gen, search->next, unused, new);
	gt_ptxgen_emit(gen, "add.u32", count, count, 1);
	gt_ptxgen_join(gen, new, search->next, count);
	gt_ptxgen_compare_and_swap(gen, gt_ptxgen_relaxed(place), was, gt_ptxgen_at(counters, at),
				   old, new);
	gt_ptxgen_emit(gen, "setp.ne.u64", test, was, old);
	gt_ptxgen_branch_if(gen, test, again);
}

/*
 * Take a node for the key: search->link, or branch to `full`. Nodes that were never used come
 * first, so that no node is missed that is released meanwhile.
 */
static void emit_take_node(struct gt_ptxgen *gen, const struct hash_search *search,
			   struct gt_ptxgen_value counters, struct gt_ptxgen_value full)
{
	const int64_t at = offsetof(struct gt_bpf_hash_counters, fresh);
	struct gt_ptxgen_value given_back = gt_ptxgen_label(gen), taken = gt_ptxgen_label(gen);
	struct gt_ptxgen_value test = gt_ptxgen_predicate(gen);

	gt_ptxgen_load_ordered(gen, gt_ptxgen_relaxed(place), 32, search->link,
			       gt_ptxgen_at(counters, at));
	gt_ptxgen_emit(gen, "setp.ge.u32", test, search->link, search->map->max_entries);
	gt_ptxgen_branch_if(gen, test, given_back);
	gt_ptxgen_atom_ordered(gen, gt_ptxgen_relaxed(place), "add.u32", search->link,
			       gt_ptxgen_at(counters, at), gt_ptxgen_signed(1));
	gt_ptxgen_emit(gen, "setp.lt.u32", test, search->link, search->map->max_entries);
	gt_ptxgen_emit(gen, "add.u32", search->link, search->link, 1);
	gt_ptxgen_branch_if(gen, test, taken);
	gt_ptxgen_emit_label(gen, given_back);
	emit_take_released(gen, search, counters, full);
	gt_ptxgen_emit_label(gen, taken);
}

static void emit_key_store(struct gt_ptxgen *gen, const struct hash_search *search)
{
	struct gt_ptxgen_value key = key_address(gen, search, search->link);

	for (uint32_t i = 0; i < search->word_count; i++)
		gt_ptxgen_store_ordered(gen, gt_ptxgen_relaxed(place), 32, gt_ptxgen_at(key, 4 * i),
					search->words[i]);
	if (search->word_count % 2) {
		struct gt_ptxgen_value zero = gt_ptxgen_b32(gen);

		gt_ptxgen_emit(gen, "mov.u32", zero, 0);
		gt_ptxgen_store_ordered(gen, gt_ptxgen_relaxed(place), 32,
					gt_ptxgen_at(key, 4 * search->word_count), zero);
	}
}

/* Make the node at search->link, whose value is written, the first of the chain. */
static void emit_link(struct gt_ptxgen *gen, const struct hash_search *search,
		      const struct hash_chain_lock *lock, struct gt_ptxgen_value counters)
{
	struct gt_ptxgen_value is_empty = gt_ptxgen_predicate(gen), next = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value node = gt_ptxgen_b64(gen), address;

	gt_ptxgen_emit(gen, "or.b32", next, search->bucket, gt_ptxgen_hex(0x80000000));
	gt_ptxgen_emit(gen, "setp.eq.u32", is_empty, lock->head, 0);
	gt_ptxgen_emit(gen, "selp.b32", next, next, lock->head, is_empty);
	gt_ptxgen_join(gen, node, next, search->tag);
	address = node_address(gen, search, search->link);
	gt_ptxgen_store_ordered(gen, gt_ptxgen_release(place), 64, gt_ptxgen_at(address, 0), node);
	gt_ptxgen_count(gen, place,
			gt_ptxgen_at(counters, offsetof(struct gt_bpf_hash_counters, entries)), 1,
			lock->head);
	gt_ptxgen_emit(gen, "mov.u32", lock->head, search->link);
}

/* How an element is changed. */
struct element_change {
	bool adds;                     /* a number is added, whether the key is there or not */
	struct gt_ptxgen_value flags;  /* .b64, of an update */
	struct gt_ptxgen_value number; /* .b64, of an addition */
};

/* Clear the bytes from `start` to `size` of a value, eight at a time. */
static void emit_clear(struct gt_ptxgen *gen, struct gt_ptxgen_value value, uint64_t start,
		       uint64_t size)
{
	struct gt_ptxgen_value at = gt_ptxgen_b64(gen), end = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value again = gt_ptxgen_label(gen), more = gt_ptxgen_predicate(gen);

	gt_ptxgen_emit(gen, "add.s64", at, value, start);
	gt_ptxgen_emit(gen, "add.s64", end, value, size);
	gt_ptxgen_emit_label(gen, again);
	gt_ptxgen_emit(gen, gt_ptxgen_memory("st", gt_ptxgen_global(gen), 'u', 64),
		       gt_ptxgen_at(at, 0), 0);
	gt_ptxgen_emit(gen, "add.s64", at, at, 8);
	gt_ptxgen_emit(gen, "setp.lt.u64", more, at, end);
	gt_ptxgen_branch_if(gen, more, again);
}

static void emit_value_store(struct gt_ptxgen *gen, const struct hash_search *search,
			     const struct element_change *change, bool is_new)
{
	uint32_t size = search->map->value_size;
	struct gt_ptxgen_value value = value_address(gen, search, search->link), operand;

	if (!change->adds) {
		gt_ptxgen_copy_in(gen, 3, size, value);
		return;
	}
	operand = size == 4 ? gt_ptxgen_low_half(gen, change->number) : change->number;
	if (!is_new) {
		gt_ptxgen_reduce(gen, place, gt_ptxgen_always, size == 4 ? "add.u32" : "add.u64",
				 gt_ptxgen_at(value, 0), operand);
		return;
	}
	gt_ptxgen_emit(gen, gt_ptxgen_memory("st", gt_ptxgen_global(gen), 'b', size == 4 ? 32 : 64),
		       gt_ptxgen_at(value, 0), operand);
	if (size > 8)
		emit_clear(gen, value, 8, gt_bpf_map_stride(size));
}

/* r0 = error and a branch to the end if the flags are these. */
static void emit_flag_error(struct gt_ptxgen *gen, const struct element_change *change, int flags,
			    int error, struct gt_ptxgen_value end)
{
	struct gt_ptxgen_value test = gt_ptxgen_predicate(gen);

	if (change->adds)
		return;
	gt_ptxgen_emit(gen, "setp.eq.u64", test, change->flags, flags);
	gt_ptxgen_result(gen, error);
	gt_ptxgen_branch_if(gen, test, end);
}

/* Update or insert: r0. */
static void emit_change(struct gt_ptxgen *gen, struct hash_search *search,
			const struct element_change *change)
{
	struct gt_ptxgen_value missing = gt_ptxgen_label(gen), end = gt_ptxgen_label(gen);
	struct gt_ptxgen_value full = gt_ptxgen_label(gen), never = gt_ptxgen_label(gen), counters;
	struct hash_chain_lock lock;

	counters = counters_address(gen, search);
	emit_lock(gen, search, &lock);
	emit_walk(gen, search, gt_ptxgen_relaxed(place), missing, never);
	emit_flag_error(gen, change, BPF_NOEXIST, -EEXIST, end);
	emit_value_store(gen, search, change, false);
	gt_ptxgen_result(gen, 0);
	gt_ptxgen_branch(gen, end);
	/* A locked chain leads to no other one. */
	gt_ptxgen_emit_label(gen, never);
	gt_ptxgen_emit_label(gen, missing);
	emit_flag_error(gen, change, BPF_EXIST, -ENOENT, end);
	emit_take_node(gen, search, counters, full);
	emit_key_store(gen, search);
	emit_value_store(gen, search, change, true);
	emit_link(gen, search, &lock, counters);
	gt_ptxgen_result(gen, 0);
	gt_ptxgen_branch(gen, end);
	gt_ptxgen_emit_label(gen, full);
	gt_ptxgen_count(gen, place,
			gt_ptxgen_at(counters, offsetof(struct gt_bpf_hash_counters, rejected)), 1,
			lock.head);
	gt_ptxgen_result(gen, -E2BIG);
	gt_ptxgen_emit_label(gen, end);
	emit_unlock(gen, search, &lock);
}

int gt_ptxgen_hash_update(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value flags = gt_ptxgen_reg64(gen, 4), odd = gt_ptxgen_predicate(gen);
	struct gt_ptxgen_value over = gt_ptxgen_label(gen);
	struct element_change change = {.flags = flags};
	struct hash_search search;
	int error = emit_search_start(gen, &search);

	if (error)
		return error;
	gt_ptxgen_emit(gen, "setp.gt.u64", odd, flags, BPF_EXIST);
	gt_ptxgen_result(gen, -EINVAL);
	gt_ptxgen_branch_if(gen, odd, over);
	emit_change(gen, &search, &change);
	gt_ptxgen_emit_label(gen, over);
	return 0;
}

int gt_ptxgen_hash_add(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value number = gt_ptxgen_reg64(gen, 3), missing = gt_ptxgen_label(gen);
	struct gt_ptxgen_value over = gt_ptxgen_label(gen);
	struct element_change change = {.adds = true, .number = number};
	struct hash_search search;
	int error = emit_search_start(gen, &search);

	if (error)
		return error;
	emit_find(gen, &search, missing);
	emit_value_store(gen, &search, &change, false);
	gt_ptxgen_result(gen, 0);
	gt_ptxgen_branch(gen, over);
	gt_ptxgen_emit_label(gen, missing);
	emit_change(gen, &search, &change);
	gt_ptxgen_emit_label(gen, over);
	return 0;
}

/* Take the node out of the locked chain. */
static void emit_unlink(struct gt_ptxgen *gen, const struct hash_search *search,
			const struct hash_chain_lock *lock)
{
	struct gt_ptxgen_value first = gt_ptxgen_label(gen), done = gt_ptxgen_label(gen), address;
	struct gt_ptxgen_value test = gt_ptxgen_predicate(gen), word = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value tag = gt_ptxgen_b32(gen), unused = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "setp.eq.u32", test, search->previous, 0);
	gt_ptxgen_branch_if(gen, test, first);
	address = node_address(gen, search, search->previous);
	gt_ptxgen_load_ordered(gen, gt_ptxgen_relaxed(place), 64, word, gt_ptxgen_at(address, 0));
	gt_ptxgen_split(gen, unused, tag, word);
	gt_ptxgen_join(gen, word, search->next, tag);
	gt_ptxgen_store_ordered(gen, gt_ptxgen_release(place), 64, gt_ptxgen_at(address, 0), word);
	gt_ptxgen_branch(gen, done);
	gt_ptxgen_emit_label(gen, first);
	gt_ptxgen_emit(gen, "max.s32", lock->head, search->next, 0);
	gt_ptxgen_emit_label(gen, done);
}

/* Put the node at search->link into the free list. */
static void emit_node_release(struct gt_ptxgen *gen, const struct hash_search *search)
{
	const int64_t at = offsetof(struct gt_bpf_hash_counters, free);
	struct gt_ptxgen_value again = gt_ptxgen_label(gen), test = gt_ptxgen_predicate(gen),
			       address;
	struct gt_ptxgen_value old = gt_ptxgen_b64(gen), new = gt_ptxgen_b64(gen),
			       was = gt_ptxgen_b64(gen);
	struct gt_ptxgen_value count = gt_ptxgen_b32(gen), next = gt_ptxgen_b32(gen);
	struct gt_ptxgen_value counters = counters_address(gen, search), word = gt_ptxgen_b64(gen);

	address = node_address(gen, search, search->link);
	gt_ptxgen_emit_label(gen, again);
	gt_ptxgen_load_ordered(gen, gt_ptxgen_relaxed(place), 64, old, gt_ptxgen_at(counters, at));
	gt_ptxgen_split(gen, next, count, old);
	gt_ptxgen_emit(gen, "cvt.u64.u32", word, next);
	gt_ptxgen_store_ordered(gen, gt_ptxgen_release(place), 64, gt_ptxgen_at(address, 0), word);
	gt_ptxgen_emit(gen, "add.u32", count, count, 1);
	gt_ptxgen_join(gen, new, search->link, count);
	gt_ptxgen_compare_and_swap(gen, gt_ptxgen_release(place), was, gt_ptxgen_at(counters, at),
				   old, new);
	gt_ptxgen_emit(gen, "setp.ne.u64", test, was, old);
	gt_ptxgen_branch_if(gen, test, again);
	gt_ptxgen_count(gen, place,
			gt_ptxgen_at(counters, offsetof(struct gt_bpf_hash_counters, entries)), -1,
			search->link);
}

int gt_ptxgen_hash_delete(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_value missing = gt_ptxgen_label(gen), end = gt_ptxgen_label(gen);
	struct hash_search search;
	struct hash_chain_lock lock;
	int error = emit_search_start(gen, &search);

	if (error)
		return error;
	emit_lock(gen, &search, &lock);
	emit_walk(gen, &search, gt_ptxgen_relaxed(place), missing, missing);
	emit_unlink(gen, &search, &lock);
	emit_node_release(gen, &search);
	gt_ptxgen_result(gen, 0);
	gt_ptxgen_branch(gen, end);
	gt_ptxgen_emit_label(gen, missing);
	gt_ptxgen_result(gen, -ENOENT);
	gt_ptxgen_emit_label(gen, end);
	emit_unlock(gen, &search, &lock);
	return 0;
}
