/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_unmatched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"

enum {
	MAX_STORED = 4096, /* rows of the file: the newest */
};

/* A row of the file is a key. */
_Static_assert(sizeof(struct gt_inject_unmatched_key) == 32, "no padding");

struct unmatched_image {
	bool is_sass;
	uint64_t generation; /* is_sass */
	char reason[];       /* is_sass */
};

struct gt_inject_unmatched {
	struct gt_hash *images; /* by key: struct unmatched_image, owned */
	struct gt_file_cache *files;
	struct gt_sha256 name; /* of the file */
	bool has_new;
};

/* ---- the file --------------------------------------------------------------------------- */

static void add_image(struct gt_inject_unmatched *unmatched,
		      const struct gt_inject_unmatched_key *key, const char *reason,
		      uint64_t generation)
{
	size_t length = reason ? strlen(reason) : 0;
	struct unmatched_image *image, *old;

	if (gt_hash_count(unmatched->images) >= GT_INJECT_MAX_UNMATCHED)
		return;
	image = calloc(1, sizeof(*image) + length + 1);
	if (!image)
		return;
	image->is_sass = reason;
	image->generation = generation;
	if (reason)
		memcpy(image->reason, reason, length);
	old = gt_hash_remove(unmatched->images, key, sizeof(*key));
	free(old);
	if (gt_hash_set(unmatched->images, key, sizeof(*key), image))
		free(image);
}

static void read_rows(struct gt_inject_unmatched *unmatched)
{
	struct gt_inject_unmatched_key key;
	gt_auto_file file = {0};

	if (!unmatched->files || gt_file_cache_read(unmatched->files, &unmatched->name, &file) ||
	    file.size % sizeof(key) || file.size / sizeof(key) > MAX_STORED)
		return;
	for (size_t at = 0; at < file.size; at += sizeof(key)) {
		memcpy(&key, (const char *)file.data + at, sizeof(key));
		add_image(unmatched, &key, NULL, 0);
	}
}

static void write_rows(const struct gt_inject_unmatched *unmatched)
{
	const size_t row = sizeof(struct gt_inject_unmatched_key);
	gt_auto_strbuf rows = GT_STRBUF_INIT;
	size_t cursor = 0, skipped = 0;
	const void *key;
	void *value;

	while (gt_hash_next(unmatched->images, &cursor, &key, NULL, &value))
		if (!((const struct unmatched_image *)value)->is_sass)
			gt_strbuf_add(&rows, key, row);
	if (rows.length > MAX_STORED * row)
		skipped = rows.length - MAX_STORED * row;
	/* A full disk is no error of the run. */
	if (!rows.failed && rows.length)
		gt_file_cache_write(unmatched->files, &unmatched->name, rows.data + skipped,
				    rows.length - skipped);
}

/* ---- images ----------------------------------------------------------------------------- */

int gt_inject_unmatched_new(struct gt_file_cache *files, const struct gt_sha256 *session,
			    struct gt_inject_unmatched **ret_unmatched)
{
	struct gt_inject_unmatched *unmatched = calloc(1, sizeof(*unmatched));
	struct {
		char label[16];
		struct gt_sha256 session;
	} named = {.label = "unmatched", .session = *session};

	if (unmatched)
		unmatched->images = gt_hash_new();
	if (!unmatched || !unmatched->images) {
		free(unmatched);
		return -ENOMEM;
	}
	unmatched->files = files;
	unmatched->name = gt_sha256(&named, sizeof(named));
	read_rows(unmatched);
	*ret_unmatched = unmatched;
	return 0;
}

void gt_inject_unmatched_free(struct gt_inject_unmatched *unmatched)
{
	if (!unmatched)
		return;
	if (unmatched->files && unmatched->has_new)
		write_rows(unmatched);
	gt_hash_free_with(unmatched->images, free);
	free(unmatched);
}

void gt_inject_unmatched_add(struct gt_inject_unmatched *unmatched,
			     const struct gt_inject_unmatched_key *key)
{
	add_image(unmatched, key, NULL, 0);
	unmatched->has_new = true;
}

void gt_inject_unmatched_add_sass(struct gt_inject_unmatched *unmatched,
				  const struct gt_inject_unmatched_key *key, uint64_t generation,
				  const char *reason)
{
	add_image(unmatched, key, reason, generation);
}

bool gt_inject_unmatched_has(const struct gt_inject_unmatched *unmatched,
			     const struct gt_inject_unmatched_key *key)
{
	const struct unmatched_image *image = gt_hash_get(unmatched->images, key, sizeof(*key));

	return image && !image->is_sass;
}

const char *gt_inject_unmatched_sass(const struct gt_inject_unmatched *unmatched,
				     const struct gt_inject_unmatched_key *key, uint64_t generation)
{
	const struct unmatched_image *image = gt_hash_get(unmatched->images, key, sizeof(*key));

	return image && image->is_sass && image->generation == generation ? image->reason : NULL;
}
