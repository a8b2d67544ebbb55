/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "session/spill.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_SIZE (1u << 20)

/* Each record is preceded by its size, and padded to 8 bytes. */
struct spill_piece {
	_Atomic(struct spill_piece *) next; /* set when no more is appended to this one */
	atomic_size_t used;                 /* bytes that may be taken */
	uint64_t bytes[PIECE_SIZE / sizeof(uint64_t)];
};

struct gt_spill {
	struct spill_piece *last;  /* the appending thread's */
	struct spill_piece *first; /* the taking thread's … */
	size_t taken;              /* … and what it took of it */

	pthread_mutex_t lock; /* of the fields below */
	pthread_cond_t freed;
	struct spill_piece *spare; /* for when malloc fails; there is one while `pieces` is 1 */
	size_t pieces, limit, peak;
};

static struct spill_piece *piece_new(void)
{
	struct spill_piece *piece = malloc(sizeof(*piece));

	if (piece) {
		atomic_init(&piece->next, NULL);
		atomic_init(&piece->used, 0);
	}
	return piece;
}

struct gt_spill *gt_spill_new(uint64_t limit)
{
	struct gt_spill *spill = calloc(1, sizeof(*spill));

	if (!spill)
		return NULL;
	pthread_mutex_init(&spill->lock, NULL);
	pthread_cond_init(&spill->freed, NULL);
	spill->first = spill->last = piece_new();
	spill->spare = piece_new();
	spill->pieces = spill->peak = 1;
	spill->limit = limit / PIECE_SIZE < 2 ? 2 : limit / PIECE_SIZE;
	if (spill->first && spill->spare)
		return spill;
	gt_spill_free(spill);
	return NULL;
}

void gt_spill_free(struct gt_spill *spill)
{
	if (!spill)
		return;
	for (struct spill_piece *piece = spill->first, *next; piece; piece = next) {
		next = atomic_load(&piece->next);
		free(piece);
	}
	free(spill->spare);
	pthread_cond_destroy(&spill->freed);
	pthread_mutex_destroy(&spill->lock);
	free(spill);
}

/* A new piece, when there may be one. With `lock`. */
static struct spill_piece *take_spare(struct gt_spill *spill)
{
	struct spill_piece *piece;

	if (spill->pieces >= spill->limit)
		return NULL;
	piece = piece_new();
	if (!piece && spill->spare) {
		piece = spill->spare;
		spill->spare = NULL;
		atomic_store(&piece->next, NULL);
		atomic_store(&piece->used, 0);
	}
	return piece;
}

static struct spill_piece *wait_for_piece(struct gt_spill *spill)
{
	struct spill_piece *piece;

	pthread_mutex_lock(&spill->lock);
	while (!(piece = take_spare(spill)))
		pthread_cond_wait(&spill->freed, &spill->lock);
	spill->pieces++;
	if (spill->pieces > spill->peak)
		spill->peak = spill->pieces;
	pthread_mutex_unlock(&spill->lock);
	return piece;
}

static void release_piece(struct gt_spill *spill, struct spill_piece *piece)
{
	pthread_mutex_lock(&spill->lock);
	spill->pieces--;
	if (spill->spare)
		free(piece);
	else
		spill->spare = piece;
	pthread_cond_signal(&spill->freed);
	pthread_mutex_unlock(&spill->lock);
}

void gt_spill_put(struct gt_spill *spill, const void *record, size_t size)
{
	struct spill_piece *piece = spill->last;
	size_t used = atomic_load_explicit(&piece->used, memory_order_relaxed), padded;
	uint64_t *at;

	if (size > GT_SPILL_MAX_RECORD)
		size = GT_SPILL_MAX_RECORD;
	padded = (size + 7) & ~(size_t)7;
	if (used + sizeof(uint64_t) + padded > PIECE_SIZE) {
		struct spill_piece *next = wait_for_piece(spill);

		atomic_store_explicit(&piece->next, next, memory_order_release);
		spill->last = piece = next;
		used = 0;
	}
	at = piece->bytes + used / sizeof(uint64_t);
	*at = size;
	memcpy(at + 1, record, size);
	atomic_store_explicit(&piece->used, used + sizeof(uint64_t) + padded, memory_order_release);
}

/* Move to the next piece if the first one has been taken and gets no more. */
static bool next_piece(struct gt_spill *spill)
{
	struct spill_piece *piece = spill->first;
	struct spill_piece *next = atomic_load_explicit(&piece->next, memory_order_acquire);

	/* The last record may have been appended after `used` was read. */
	if (!next || spill->taken < atomic_load_explicit(&piece->used, memory_order_acquire))
		return next;
	spill->first = next;
	spill->taken = 0;
	release_piece(spill, piece);
	return true;
}

bool gt_spill_take(struct gt_spill *spill, void (*take)(void *context, void *record, size_t size),
		   void *context)
{
	struct spill_piece *piece = spill->first;
	size_t used = atomic_load_explicit(&piece->used, memory_order_acquire);

	while (spill->taken < used) {
		uint64_t *at = piece->bytes + spill->taken / sizeof(uint64_t);

		take(context, at + 1, *at);
		spill->taken += sizeof(uint64_t) + ((*at + 7) & ~(size_t)7);
	}
	return next_piece(spill);
}

size_t gt_spill_pieces(struct gt_spill *spill)
{
	size_t pieces;

	pthread_mutex_lock(&spill->lock);
	pieces = spill->pieces;
	pthread_mutex_unlock(&spill->lock);
	return pieces;
}

uint64_t gt_spill_peak(const struct gt_spill *spill)
{
	return (uint64_t)spill->peak * PIECE_SIZE;
}
