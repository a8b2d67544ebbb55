/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/label_cache.h"

#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/hash.h"

struct kept_label {
	uint64_t code_changes; /* when it was made */
	bool is_known;         /* the stack was */
	struct gt_strbuf text;
};

struct gt_label_cache {
	struct gt_hash *labels; /* struct label_key -> struct kept_label * */
};

struct label_key {
	uint64_t process, stack;
};

static void free_label(void *opaque)
{
	struct kept_label *label = opaque;

	gt_strbuf_free(&label->text);
	free(label);
}

struct gt_label_cache *gt_label_cache_new(void)
{
	gt_auto(label_cache) struct gt_label_cache *cache = calloc(1, sizeof(*cache));

	if (cache)
		cache->labels = gt_hash_new();
	return cache && cache->labels ? gt_take(cache) : NULL;
}

void gt_label_cache_free(struct gt_label_cache *cache)
{
	if (!cache)
		return;
	if (cache->labels)
		gt_hash_free_with(cache->labels, free_label);
	free(cache);
}

/* The entry of a stack, without a text if it is new; NULL: out of memory. */
static struct kept_label *find_label(struct gt_label_cache *cache, const struct label_key *key)
{
	struct kept_label *label = gt_hash_get(cache->labels, key, sizeof(*key));

	if (label)
		return label;
	label = calloc(1, sizeof(*label));
	if (!label || !gt_hash_set(cache->labels, key, sizeof(*key), label))
		return label;
	free(label);
	return NULL;
}

const char *gt_label_cache_stack(struct gt_label_cache *cache, const struct gt_names *names,
				 uint32_t process, uint64_t stack)
{
	const struct label_key key = {process, stack};
	struct kept_label *label = find_label(cache, &key);
	uint64_t changes = gt_names_code_changes(names);
	size_t count;

	if (!label)
		return NULL;
	if (!label->is_known || label->code_changes != changes) {
		gt_strbuf_clear(&label->text);
		gt_label_stack(&label->text, names, process, stack);
		label->code_changes = changes;
		label->is_known = gt_names_stack(names, process, stack, &count);
	}
	return label->text.failed ? NULL : gt_strbuf_string(&label->text);
}
