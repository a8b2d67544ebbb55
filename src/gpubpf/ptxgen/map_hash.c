/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hash maps in PTX, as maps.h lays them out: many threads look up, insert, update and delete at the
 * same time.
 *
 * Who changes a chain holds its lock. The wait for it is a loop whose body is left at one place, by
 * the lanes that got the lock when they have given it back, by the others at once: so the lanes of
 * a warp never wait for one of them, also where they run in step.
 */
#include <errno.h>
#include <inttypes.h>

#include "gpubpf/ptxgen/map.h"

enum {
	MAX_WORDS = GT_PTXGEN_MAX_UNROLLED / 4, /* of a key */
};

/* A key that is looked for. */
struct search {
	const struct gt_bpf_map *map;
	struct gt_ptxgen_name base;
	struct gt_ptxgen_name words[MAX_WORDS];
	uint32_t word_count;
	struct gt_ptxgen_name tag, bucket;   /* .b32 */
	struct gt_ptxgen_name head_address;  /* .b64 */
	struct gt_ptxgen_name link;          /* .b32: of the node that was found */
	struct gt_ptxgen_name node, next;    /* .b64, .b32: that node's word and its lower half */
	struct gt_ptxgen_name previous;      /* .b32: the link before it, 0: the head */
	struct gt_ptxgen_name node_word_tag; /* .b32 */
};

static const enum gt_bpf_map_place place = GT_BPF_MAP_DEVICE;

/* ---- addresses ------------------------------------------------------------------------- */

/* The address of element `link` - 1 of an array at `offset` in the map's memory. */
static struct gt_ptxgen_name element(struct gt_ptxgen *gen, const struct search *search,
				     const char *link, uint64_t stride, uint64_t offset)
{
	return gt_ptxgen_element(gen, search->base.text, link, stride, offset - stride);
}

static struct gt_ptxgen_name node_address(struct gt_ptxgen *gen, const struct search *search,
					  const char *link)
{
	return element(gen, search, link, sizeof(uint64_t), gt_bpf_map_hash_nodes(search->map));
}

static struct gt_ptxgen_name key_address(struct gt_ptxgen *gen, const struct search *search,
					 const char *link)
{
	return element(gen, search, link, gt_bpf_map_stride(search->map->key_size),
		       gt_bpf_map_hash_keys(search->map));
}

static struct gt_ptxgen_name value_address(struct gt_ptxgen *gen, const struct search *search,
					   const char *link)
{
	return element(gen, search, link, gt_bpf_map_stride(search->map->value_size),
		       gt_bpf_map_hash_values(search->map));
}

static struct gt_ptxgen_name counters_address(struct gt_ptxgen *gen, const struct search *search)
{
	struct gt_ptxgen_name address = gt_ptxgen_b64(gen);

	gt_ptxgen_emit(gen, "add.s64 %s, %s, %" PRIu64, address.text, search->base.text,
		       (uint64_t)gt_bpf_map_hash_counters(search->map));
	return address;
}

/* ---- looking ---------------------------------------------------------------------------- */

/* gt_bpf_map_hash of the words. */
static struct gt_ptxgen_name put_hash(struct gt_ptxgen *gen, const struct search *search)
{
	struct gt_ptxgen_name hash = gt_ptxgen_b32(gen), high = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "mov.u32 %s, %d", hash.text, GT_BPF_HASH_SEED);
	for (uint32_t i = 0; i < search->word_count; i++) {
		gt_ptxgen_emit(gen, "xor.b32 %s, %s, %s", hash.text, hash.text,
			       search->words[i].text);
		gt_ptxgen_emit(gen, "mul.lo.u32 %s, %s, 0x%x", hash.text, hash.text,
			       GT_BPF_HASH_FACTOR);
		gt_ptxgen_emit(gen, "shr.u32 %s, %s, %d", high.text, hash.text, GT_BPF_HASH_SHIFT);
		gt_ptxgen_emit(gen, "xor.b32 %s, %s, %s", hash.text, hash.text, high.text);
	}
	return hash;
}

static int begin_search(struct gt_ptxgen *gen, struct search *search)
{
	struct gt_ptxgen_name hash;

	search->map = gt_ptxgen_map(gen);
	if (search->map->key_size > GT_PTXGEN_MAX_UNROLLED)
		return gt_ptxgen_fail(gen, -EOPNOTSUPP,
				      "map '%s': keys of hash maps have %d bytes at most on a GPU",
				      search->map->name, GT_PTXGEN_MAX_UNROLLED);
	search->base = gt_ptxgen_map_address(gen, gen->map);
	search->word_count = (search->map->key_size + 3) / 4;
	gt_ptxgen_load_words(gen, 2, search->map->key_size, search->words);
	hash = put_hash(gen, search);
	search->tag = gt_ptxgen_b32(gen);
	search->bucket = gt_ptxgen_b32(gen);
	gt_ptxgen_emit(gen, "or.b32 %s, %s, %d", search->tag.text, hash.text, GT_BPF_HASH_USED);
	gt_ptxgen_emit(gen, "and.b32 %s, %s, %" PRIu32, search->bucket.text, hash.text,
		       gt_bpf_map_hash_buckets(search->map) - 1);
	search->head_address =
		gt_ptxgen_element(gen, search->base.text, search->bucket.text, sizeof(uint32_t), 0);
	search->link = gt_ptxgen_b32(gen);
	search->node = gt_ptxgen_b64(gen);
	search->next = gt_ptxgen_b32(gen);
	search->previous = gt_ptxgen_b32(gen);
	search->node_word_tag = gt_ptxgen_b32(gen);
	return 0;
}

/* Goes to `other` unless the node at search->link has the key. */
static void put_comparison(struct gt_ptxgen *gen, const struct search *search,
			   const struct gt_ptxgen_name *other)
{
	struct gt_ptxgen_name differs = gt_ptxgen_predicate(gen), all = gt_ptxgen_b32(gen), key;
	struct gt_ptxgen_name word = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "setp.ne.u32 %s, %s, %s", differs.text, search->node_word_tag.text,
		       search->tag.text);
	gt_ptxgen_emit(gen, "@%s bra %s", differs.text, other->text);
	key = key_address(gen, search, search->link.text);
	for (uint32_t i = 0; i < search->word_count; i++) {
		gt_ptxgen_load_ordered(gen, place, GT_PTXGEN_RELAXED, 32, word.text, key.text,
				       4 * i);
		gt_ptxgen_emit(gen, "xor.b32 %s, %s, %s", word.text, word.text,
			       search->words[i].text);
		gt_ptxgen_emit(gen, i ? "or.b32 %s, %s, %s" : "mov.b32 %s, %s", all.text,
			       i ? all.text : word.text, word.text);
	}
	gt_ptxgen_emit(gen, "setp.ne.u32 %s, %s, 0", differs.text, all.text);
	gt_ptxgen_emit(gen, "@%s bra %s", differs.text, other->text);
}

/*
 * Walks along the chain from search->link. Falls through at the key's node; goes to `missing` at
 * the chain's end, to `again` where a node that moved led away from it.
 */
static void put_walk(struct gt_ptxgen *gen, const struct search *search, enum gt_ptxgen_order order,
		     const struct gt_ptxgen_name *missing, const struct gt_ptxgen_name *again)
{
	struct gt_ptxgen_name walk = gt_ptxgen_label(gen), found = gt_ptxgen_label(gen);
	struct gt_ptxgen_name other = gt_ptxgen_label(gen), test = gt_ptxgen_predicate(gen);
	struct gt_ptxgen_name bucket = gt_ptxgen_b32(gen), address;

	gt_ptxgen_emit(gen, "mov.u32 %s, 0", search->previous.text);
	gt_ptxgen_emit(gen, "setp.eq.u32 %s, %s, 0", test.text, search->link.text);
	gt_ptxgen_emit(gen, "@%s bra %s", test.text, missing->text);
	gt_ptxgen_put_label(gen, &walk);
	address = node_address(gen, search, search->link.text);
	gt_ptxgen_load_ordered(gen, place, order, 64, search->node.text, address.text, 0);
	gt_ptxgen_emit(gen, "mov.b64 {%s, %s}, %s", search->next.text, search->node_word_tag.text,
		       search->node.text);
	put_comparison(gen, search, &other);
	gt_ptxgen_emit(gen, "bra %s", found.text);
	gt_ptxgen_put_label(gen, &other);
	gt_ptxgen_emit(gen, "mov.u32 %s, %s", search->previous.text, search->link.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %s", search->link.text, search->next.text);
	gt_ptxgen_emit(gen, "setp.gt.s32 %s, %s, 0", test.text, search->link.text);
	gt_ptxgen_emit(gen, "@%s bra %s", test.text, walk.text);
	gt_ptxgen_emit(gen, "or.b32 %s, %s, 0x80000000", bucket.text, search->bucket.text);
	gt_ptxgen_emit(gen, "setp.ne.u32 %s, %s, %s", test.text, search->link.text, bucket.text);
	gt_ptxgen_emit(gen, "@%s bra %s", test.text, again->text);
	gt_ptxgen_emit(gen, "bra %s", missing->text);
	gt_ptxgen_put_label(gen, &found);
}

/* Falls through with search->link where the key is there, else goes to `missing`. No lock. */
static void put_find(struct gt_ptxgen *gen, const struct search *search,
		     const struct gt_ptxgen_name *missing)
{
	struct gt_ptxgen_name again = gt_ptxgen_label(gen);

	gt_ptxgen_put_label(gen, &again);
	gt_ptxgen_load_ordered(gen, place, GT_PTXGEN_ACQUIRE, 32, search->link.text,
			       search->head_address.text, 0);
	gt_ptxgen_emit(gen, "and.b32 %s, %s, 0x7fffffff", search->link.text, search->link.text);
	put_walk(gen, search, GT_PTXGEN_ACQUIRE, missing, &again);
}

int gt_ptxgen_hash_lookup(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name result = gt_ptxgen_register(gen, 0), missing, over, target, value;
	struct search search;
	int error = begin_search(gen, &search);
	bool is_tested;

	if (error)
		return error;
	is_tested = gt_ptxgen_null_target(gen, &target);
	over = gt_ptxgen_label(gen);
	missing = is_tested ? target : over;
	gt_ptxgen_emit(gen, "mov.u64 %s, 0", result.text);
	put_find(gen, &search, &missing);
	value = value_address(gen, &search, search.link.text);
	gt_ptxgen_emit(gen, "mov.u64 %s, %s", result.text, value.text);
	if (!is_tested)
		gt_ptxgen_put_label(gen, &over);
	return 0;
}

/* ---- changing --------------------------------------------------------------------------- */

/* A chain that is held. */
struct hold {
	struct gt_ptxgen_name again, next; /* labels: the loop's start; the end of its body */
	struct gt_ptxgen_name busy;        /* .pred: the loop goes on */
	struct gt_ptxgen_name head; /* .b32: as it is to be stored when the chain is let go */
};

/* Begins the loop: what follows is run by one thread at a time for each chain. */
static void put_hold(struct gt_ptxgen *gen, struct search *search, struct hold *hold)
{
	hold->again = gt_ptxgen_label(gen);
	hold->next = gt_ptxgen_label(gen);
	hold->busy = gt_ptxgen_predicate(gen);
	hold->head = gt_ptxgen_b32(gen);
	gt_ptxgen_put_label(gen, &hold->again);
	gt_ptxgen_atom_ordered(gen, place, GT_PTXGEN_ACQUIRE, "", "or.b32", hold->head.text,
			       search->head_address.text, 0, "0x80000000");
	gt_ptxgen_emit(gen, "setp.lt.s32 %s, %s, 0", hold->busy.text, hold->head.text);
	gt_ptxgen_emit(gen, "@%s bra %s", hold->busy.text, hold->next.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %s", search->link.text, hold->head.text);
}

static void put_let_go(struct gt_ptxgen *gen, const struct search *search, const struct hold *hold)
{
	gt_ptxgen_store_ordered(gen, place, GT_PTXGEN_RELEASE, 32, search->head_address.text, 0,
				hold->head.text);
	gt_ptxgen_put_label(gen, &hold->next);
	gt_ptxgen_emit(gen, "@%s bra %s", hold->busy.text, hold->again.text);
}

/* The first node given back: search->link; goes to `full` if there is none. */
static void put_take_free(struct gt_ptxgen *gen, const struct search *search,
			  const struct gt_ptxgen_name *counters, const struct gt_ptxgen_name *full)
{
	const int64_t at = offsetof(struct gt_bpf_hash_counters, free);
	struct gt_ptxgen_name again = gt_ptxgen_label(gen), test = gt_ptxgen_predicate(gen),
			      address;
	struct gt_ptxgen_name old = gt_ptxgen_b64(gen), new = gt_ptxgen_b64(gen),
			      was = gt_ptxgen_b64(gen);
	struct gt_ptxgen_name count = gt_ptxgen_b32(gen), unused = gt_ptxgen_b32(gen);
	struct gt_ptxgen_text operands;

	gt_ptxgen_put_label(gen, &again);
	gt_ptxgen_load_ordered(gen, place, GT_PTXGEN_ACQUIRE, 64, old.text, counters->text, at);
	gt_ptxgen_emit(gen, "mov.b64 {%s, %s}, %s", search->link.text, count.text, old.text);
	gt_ptxgen_emit(gen, "setp.eq.u32 %s, %s, 0", test.text, search->link.text);
	gt_ptxgen_emit(gen, "@%s bra %s", test.text, full->text);
	address = node_address(gen, search, search->link.text);
	gt_ptxgen_load_ordered(gen, place, GT_PTXGEN_RELAXED, 64, new.text, address.text, 0);
	gt_ptxgen_emit(gen, "mov.b64 {%s, %s}, %s", search->next.text, unused.text, new.text);
	gt_ptxgen_emit(gen, "add.u32 %s, %s, 1", count.text, count.text);
	gt_ptxgen_emit(gen, "mov.b64 %s, {%s, %s}", new.text, search->next.text, count.text);
	operands = gt_ptxgen_pair(&old, &new);
	gt_ptxgen_atom_ordered(gen, place, GT_PTXGEN_RELAXED, "", "cas.b64", was.text,
			       counters->text, at, operands.text);
	gt_ptxgen_emit(gen, "setp.ne.u64 %s, %s, %s", test.text, was.text, old.text);
	gt_ptxgen_emit(gen, "@%s bra %s", test.text, again.text);
}

/* A node for the key: search->link. Goes to `full`. Never used ones first, so that no free node is
 * overlooked that was given back meanwhile. */
static void put_take(struct gt_ptxgen *gen, const struct search *search,
		     const struct gt_ptxgen_name *counters, const struct gt_ptxgen_name *full)
{
	const int64_t at = offsetof(struct gt_bpf_hash_counters, fresh);
	struct gt_ptxgen_name given_back = gt_ptxgen_label(gen), taken = gt_ptxgen_label(gen);
	struct gt_ptxgen_name test = gt_ptxgen_predicate(gen);

	gt_ptxgen_load_ordered(gen, place, GT_PTXGEN_RELAXED, 32, search->link.text, counters->text,
			       at);
	gt_ptxgen_emit(gen, "setp.ge.u32 %s, %s, %" PRIu32, test.text, search->link.text,
		       search->map->max_entries);
	gt_ptxgen_emit(gen, "@%s bra %s", test.text, given_back.text);
	gt_ptxgen_atom_ordered(gen, place, GT_PTXGEN_RELAXED, "", "add.u32", search->link.text,
			       counters->text, at, "1");
	gt_ptxgen_emit(gen, "setp.lt.u32 %s, %s, %" PRIu32, test.text, search->link.text,
		       search->map->max_entries);
	gt_ptxgen_emit(gen, "add.u32 %s, %s, 1", search->link.text, search->link.text);
	gt_ptxgen_emit(gen, "@%s bra %s", test.text, taken.text);
	gt_ptxgen_put_label(gen, &given_back);
	put_take_free(gen, search, counters, full);
	gt_ptxgen_put_label(gen, &taken);
}

static void put_key(struct gt_ptxgen *gen, const struct search *search)
{
	struct gt_ptxgen_name key = key_address(gen, search, search->link.text);

	for (uint32_t i = 0; i < search->word_count; i++)
		gt_ptxgen_store_ordered(gen, place, GT_PTXGEN_RELAXED, 32, key.text, 4 * i,
					search->words[i].text);
	if (search->word_count % 2) {
		struct gt_ptxgen_name zero = gt_ptxgen_b32(gen);

		gt_ptxgen_emit(gen, "mov.u32 %s, 0", zero.text);
		gt_ptxgen_store_ordered(gen, place, GT_PTXGEN_RELAXED, 32, key.text,
					4 * search->word_count, zero.text);
	}
}

/* Makes the node at search->link the first of the chain, its value being written. */
static void put_link(struct gt_ptxgen *gen, const struct search *search, const struct hold *hold,
		     const struct gt_ptxgen_name *counters)
{
	struct gt_ptxgen_name is_empty = gt_ptxgen_predicate(gen), next = gt_ptxgen_b32(gen);
	struct gt_ptxgen_name node = gt_ptxgen_b64(gen), address;

	gt_ptxgen_emit(gen, "or.b32 %s, %s, 0x80000000", next.text, search->bucket.text);
	gt_ptxgen_emit(gen, "setp.eq.u32 %s, %s, 0", is_empty.text, hold->head.text);
	gt_ptxgen_emit(gen, "selp.b32 %s, %s, %s, %s", next.text, next.text, hold->head.text,
		       is_empty.text);
	gt_ptxgen_emit(gen, "mov.b64 %s, {%s, %s}", node.text, next.text, search->tag.text);
	address = node_address(gen, search, search->link.text);
	gt_ptxgen_store_ordered(gen, place, GT_PTXGEN_RELEASE, 64, address.text, 0, node.text);
	gt_ptxgen_count(gen, place, counters->text, offsetof(struct gt_bpf_hash_counters, entries),
			1, hold->head.text);
	gt_ptxgen_emit(gen, "mov.u32 %s, %s", hold->head.text, search->link.text);
}

/* What to put into a value, and what the flags are. */
struct change {
	const struct gt_ptxgen_name *flags; /* .b64; NULL: the number is added, whatever is there */
	const struct gt_ptxgen_name *number; /* .b64, without flags */
};

static void put_value(struct gt_ptxgen *gen, const struct search *search,
		      const struct change *change, bool is_new)
{
	uint32_t size = search->map->value_size;
	struct gt_ptxgen_name value = value_address(gen, search, search->link.text), operand;

	if (change->flags) {
		gt_ptxgen_copy_in(gen, 3, size, value.text);
		return;
	}
	operand = size == 4 ? gt_ptxgen_low(gen, change->number->text) : *change->number;
	if (!is_new) {
		gt_ptxgen_reduce(gen, place, "", size == 4 ? "add.u32" : "add.u64", value.text, 0,
				 operand.text);
		return;
	}
	gt_ptxgen_emit(gen, "st%s.b%u [%s], %s", gt_ptxgen_global(gen), size == 4 ? 32 : 64,
		       value.text, operand.text);
	if (size > 8) {
		struct gt_ptxgen_name at = gt_ptxgen_b64(gen), end = gt_ptxgen_b64(gen);
		struct gt_ptxgen_name again = gt_ptxgen_label(gen), more = gt_ptxgen_predicate(gen);

		gt_ptxgen_emit(gen, "add.s64 %s, %s, 8", at.text, value.text);
		gt_ptxgen_emit(gen, "add.s64 %s, %s, %" PRIu64, end.text, value.text,
			       (uint64_t)gt_bpf_map_stride(size));
		gt_ptxgen_put_label(gen, &again);
		gt_ptxgen_emit(gen, "st%s.u64 [%s], 0", gt_ptxgen_global(gen), at.text);
		gt_ptxgen_emit(gen, "add.s64 %s, %s, 8", at.text, at.text);
		gt_ptxgen_emit(gen, "setp.lt.u64 %s, %s, %s", more.text, at.text, end.text);
		gt_ptxgen_emit(gen, "@%s bra %s", more.text, again.text);
	}
}

/* r0 = error and on to the end, if the flags are these. */
static void put_refusal(struct gt_ptxgen *gen, const struct change *change, int flags, int error,
			const struct gt_ptxgen_name *end)
{
	struct gt_ptxgen_name test = gt_ptxgen_predicate(gen);

	if (!change->flags)
		return;
	gt_ptxgen_emit(gen, "setp.eq.u64 %s, %s, %d", test.text, change->flags->text, flags);
	gt_ptxgen_result(gen, error);
	gt_ptxgen_emit(gen, "@%s bra %s", test.text, end->text);
}

/* Updates or inserts: r0. */
static void put_change(struct gt_ptxgen *gen, struct search *search, const struct change *change)
{
	struct gt_ptxgen_name missing = gt_ptxgen_label(gen), end = gt_ptxgen_label(gen);
	struct gt_ptxgen_name full = gt_ptxgen_label(gen), never = gt_ptxgen_label(gen), counters;
	struct hold hold;

	counters = counters_address(gen, search);
	put_hold(gen, search, &hold);
	put_walk(gen, search, GT_PTXGEN_RELAXED, &missing, &never);
	put_refusal(gen, change, BPF_NOEXIST, -EEXIST, &end);
	put_value(gen, search, change, false);
	gt_ptxgen_result(gen, 0);
	gt_ptxgen_emit(gen, "bra %s", end.text);
	/* No chain that is held leads away from it. */
	gt_ptxgen_put_label(gen, &never);
	gt_ptxgen_put_label(gen, &missing);
	put_refusal(gen, change, BPF_EXIST, -ENOENT, &end);
	put_take(gen, search, &counters, &full);
	put_key(gen, search);
	put_value(gen, search, change, true);
	put_link(gen, search, &hold, &counters);
	gt_ptxgen_result(gen, 0);
	gt_ptxgen_emit(gen, "bra %s", end.text);
	gt_ptxgen_put_label(gen, &full);
	gt_ptxgen_count(gen, place, counters.text, offsetof(struct gt_bpf_hash_counters, refused),
			1, hold.head.text);
	gt_ptxgen_result(gen, -E2BIG);
	gt_ptxgen_put_label(gen, &end);
	put_let_go(gen, search, &hold);
}

int gt_ptxgen_hash_update(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name flags = gt_ptxgen_register(gen, 4), odd = gt_ptxgen_predicate(gen);
	struct gt_ptxgen_name over = gt_ptxgen_label(gen);
	struct change change = {.flags = &flags};
	struct search search;
	int error = begin_search(gen, &search);

	if (error)
		return error;
	gt_ptxgen_emit(gen, "setp.gt.u64 %s, %s, %d", odd.text, flags.text, BPF_EXIST);
	gt_ptxgen_result(gen, -EINVAL);
	gt_ptxgen_emit(gen, "@%s bra %s", odd.text, over.text);
	put_change(gen, &search, &change);
	gt_ptxgen_put_label(gen, &over);
	return 0;
}

int gt_ptxgen_hash_add(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name number = gt_ptxgen_register(gen, 3), missing = gt_ptxgen_label(gen);
	struct gt_ptxgen_name over = gt_ptxgen_label(gen);
	struct change change = {.number = &number};
	struct search search;
	int error = begin_search(gen, &search);

	if (error)
		return error;
	put_find(gen, &search, &missing);
	put_value(gen, &search, &change, false);
	gt_ptxgen_result(gen, 0);
	gt_ptxgen_emit(gen, "bra %s", over.text);
	gt_ptxgen_put_label(gen, &missing);
	put_change(gen, &search, &change);
	gt_ptxgen_put_label(gen, &over);
	return 0;
}

/* Takes the node out of the chain that is held. */
static void put_unlink(struct gt_ptxgen *gen, const struct search *search, const struct hold *hold)
{
	struct gt_ptxgen_name first = gt_ptxgen_label(gen), done = gt_ptxgen_label(gen), address;
	struct gt_ptxgen_name test = gt_ptxgen_predicate(gen), word = gt_ptxgen_b64(gen);
	struct gt_ptxgen_name tag = gt_ptxgen_b32(gen), unused = gt_ptxgen_b32(gen);

	gt_ptxgen_emit(gen, "setp.eq.u32 %s, %s, 0", test.text, search->previous.text);
	gt_ptxgen_emit(gen, "@%s bra %s", test.text, first.text);
	address = node_address(gen, search, search->previous.text);
	gt_ptxgen_load_ordered(gen, place, GT_PTXGEN_RELAXED, 64, word.text, address.text, 0);
	gt_ptxgen_emit(gen, "mov.b64 {%s, %s}, %s", unused.text, tag.text, word.text);
	gt_ptxgen_emit(gen, "mov.b64 %s, {%s, %s}", word.text, search->next.text, tag.text);
	gt_ptxgen_store_ordered(gen, place, GT_PTXGEN_RELEASE, 64, address.text, 0, word.text);
	gt_ptxgen_emit(gen, "bra %s", done.text);
	gt_ptxgen_put_label(gen, &first);
	gt_ptxgen_emit(gen, "max.s32 %s, %s, 0", hold->head.text, search->next.text);
	gt_ptxgen_put_label(gen, &done);
}

/* Gives the node at search->link back. */
static void put_give_back(struct gt_ptxgen *gen, const struct search *search)
{
	const int64_t at = offsetof(struct gt_bpf_hash_counters, free);
	struct gt_ptxgen_name again = gt_ptxgen_label(gen), test = gt_ptxgen_predicate(gen),
			      address;
	struct gt_ptxgen_name old = gt_ptxgen_b64(gen), new = gt_ptxgen_b64(gen),
			      was = gt_ptxgen_b64(gen);
	struct gt_ptxgen_name count = gt_ptxgen_b32(gen), next = gt_ptxgen_b32(gen);
	struct gt_ptxgen_text operands;
	struct gt_ptxgen_name counters = counters_address(gen, search), word = gt_ptxgen_b64(gen);

	address = node_address(gen, search, search->link.text);
	gt_ptxgen_put_label(gen, &again);
	gt_ptxgen_load_ordered(gen, place, GT_PTXGEN_RELAXED, 64, old.text, counters.text, at);
	gt_ptxgen_emit(gen, "mov.b64 {%s, %s}, %s", next.text, count.text, old.text);
	gt_ptxgen_emit(gen, "cvt.u64.u32 %s, %s", word.text, next.text);
	gt_ptxgen_store_ordered(gen, place, GT_PTXGEN_RELEASE, 64, address.text, 0, word.text);
	gt_ptxgen_emit(gen, "add.u32 %s, %s, 1", count.text, count.text);
	gt_ptxgen_emit(gen, "mov.b64 %s, {%s, %s}", new.text, search->link.text, count.text);
	operands = gt_ptxgen_pair(&old, &new);
	gt_ptxgen_atom_ordered(gen, place, GT_PTXGEN_RELEASE, "", "cas.b64", was.text,
			       counters.text, at, operands.text);
	gt_ptxgen_emit(gen, "setp.ne.u64 %s, %s, %s", test.text, was.text, old.text);
	gt_ptxgen_emit(gen, "@%s bra %s", test.text, again.text);
	gt_ptxgen_count(gen, place, counters.text, offsetof(struct gt_bpf_hash_counters, entries),
			-1, search->link.text);
}

int gt_ptxgen_hash_delete(struct gt_ptxgen *gen)
{
	struct gt_ptxgen_name missing = gt_ptxgen_label(gen), end = gt_ptxgen_label(gen);
	struct search search;
	struct hold hold;
	int error = begin_search(gen, &search);

	if (error)
		return error;
	put_hold(gen, &search, &hold);
	put_walk(gen, &search, GT_PTXGEN_RELAXED, &missing, &missing);
	put_unlink(gen, &search, &hold);
	put_give_back(gen, &search);
	gt_ptxgen_result(gen, 0);
	gt_ptxgen_emit(gen, "bra %s", end.text);
	gt_ptxgen_put_label(gen, &missing);
	gt_ptxgen_result(gen, -ENOENT);
	gt_ptxgen_put_label(gen, &end);
	put_let_go(gen, &search, &hold);
	return 0;
}
