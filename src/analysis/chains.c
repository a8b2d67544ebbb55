/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/chains.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/hash.h"
#include "base/vec.h"
#include "names/python.h"

#define SEPARATOR " ← "

/* One per distinct chain of a process. */
struct caller_chain {
	uint64_t stack;      /* the first one */
	size_t count, shown; /* callers */
	const char *callers[];
};

struct chain_key {
	uint64_t stack;
	uint64_t process;
};

struct gt_chains {
	const struct gt_names *names;
	struct gt_hash *texts;     /* text of a caller -> the same text, once: equal ones are equal
				      pointers */
	struct gt_hash *by_stack;  /* struct chain_key -> struct caller_chain */
	struct gt_hash *by_caller; /* process and callers -> struct caller_chain; owns them */
};

struct gt_chains *gt_chains_new(const struct gt_names *names)
{
	gt_auto(chains) struct gt_chains *chains = calloc(1, sizeof(*chains));

	if (!chains)
		return NULL;
	chains->names = names;
	chains->texts = gt_hash_new();
	chains->by_stack = gt_hash_new();
	chains->by_caller = gt_hash_new();
	if (!chains->texts || !chains->by_stack || !chains->by_caller)
		return NULL;
	return gt_take(chains);
}

void gt_chains_free(struct gt_chains *chains)
{
	if (!chains)
		return;
	if (chains->texts)
		gt_hash_free_with(chains->texts, free);
	if (chains->by_stack)
		gt_hash_free(chains->by_stack);
	if (chains->by_caller)
		gt_hash_free_with(chains->by_caller, free);
	free(chains);
}

/* The callers of a chain while it is made. The first item is the process. */
typedef GT_VEC(uintptr_t) caller_list;

struct chain_builder {
	struct gt_chains *chains;
	caller_list callers;
	int error;
};

static const char *intern_text(struct gt_chains *chains, const struct gt_strbuf *text)
{
	char *known = gt_hash_get(chains->texts, text->data, text->length);

	if (known || text->failed)
		return known;
	known = strndup(text->data, text->length);
	if (!known || !gt_hash_set(chains->texts, text->data, text->length, known))
		return known;
	free(known);
	return NULL;
}

static void add_caller(void *context, const struct gt_strbuf *text)
{
	struct chain_builder *builder = context;
	const char *caller = intern_text(builder->chains, text);

	if (!caller || gt_vec_push(&builder->callers, (uintptr_t)caller))
		builder->error = -ENOMEM;
}

static struct caller_chain *make_chain(struct gt_chains *chains, const caller_list *callers,
				       uint64_t stack)
{
	size_t count = callers->count - 1, size = callers->count * sizeof(*callers->items);
	struct caller_chain *chain = gt_hash_get(chains->by_caller, callers->items, size);

	if (chain)
		return chain;
	chain = malloc(sizeof(*chain) + count * sizeof(chain->callers[0]));
	if (!chain)
		return NULL;
	chain->stack = stack;
	chain->count = count;
	chain->shown = 1;
	memcpy(chain->callers, callers->items + 1, count * sizeof(chain->callers[0]));
	if (!gt_hash_set(chains->by_caller, callers->items, size, chain))
		return chain;
	free(chain);
	return NULL;
}

int gt_chains_add(struct gt_chains *chains, uint32_t process, uint64_t stack, uint64_t *ret_first)
{
	const struct chain_key key = {stack, process};
	struct caller_chain *chain = gt_hash_get(chains->by_stack, &key, sizeof(key));
	struct chain_builder builder = {.chains = chains};

	if (!chain) {
		builder.error = gt_vec_push(&builder.callers, process);
		if (!builder.error)
			gt_label_callers(chains->names, process, stack, add_caller, &builder);
		if (!builder.error)
			chain = make_chain(chains, &builder.callers, stack);
		gt_vec_free(&builder.callers);
		if (!chain || gt_hash_set(chains->by_stack, &key, sizeof(key), chain))
			return -ENOMEM;
	}
	if (ret_first)
		*ret_first = chain->stack;
	return 0;
}

/* Any order in which chains with common callers are neighbors. */
static int compare_chains(const void *a, const void *b)
{
	const struct caller_chain *left = *(const struct caller_chain *const *)a;
	const struct caller_chain *right = *(const struct caller_chain *const *)b;

	for (size_t i = 0; i < left->count && i < right->count; i++)
		if (left->callers[i] != right->callers[i])
			return (uintptr_t)left->callers[i] < (uintptr_t)right->callers[i] ? -1 : 1;
	return left->count < right->count ? -1 : left->count > right->count;
}

/* Show more of two chains, until they differ. Equal ones, of two processes, stay as they are. */
static void distinguish_two(struct caller_chain *left, struct caller_chain *right)
{
	size_t common = 0;

	while (common < left->count && common < right->count &&
	       left->callers[common] == right->callers[common])
		common++;
	if (common == left->count && common == right->count)
		return;
	if (common >= left->shown)
		left->shown = common < left->count ? common + 1 : common;
	if (common >= right->shown)
		right->shown = common < right->count ? common + 1 : common;
}

int gt_chains_distinguish(struct gt_chains *chains)
{
	GT_VEC(struct caller_chain *) sorted = {0};
	size_t cursor = 0;
	void *value;
	int error = 0;

	while (!error && gt_hash_next(chains->by_caller, &cursor, NULL, NULL, &value))
		error = gt_vec_push(&sorted, value);
	if (!error && sorted.count) {
		qsort(sorted.items, sorted.count, sizeof(*sorted.items), compare_chains);
		for (size_t i = 1; i < sorted.count; i++)
			distinguish_two(sorted.items[i - 1], sorted.items[i]);
		/* Equal chains of several processes show as much as each other. */
		for (size_t i = 1; i < sorted.count; i++)
			if (!compare_chains(&sorted.items[i - 1], &sorted.items[i]) &&
			    sorted.items[i]->shown < sorted.items[i - 1]->shown)
				sorted.items[i]->shown = sorted.items[i - 1]->shown;
		for (size_t i = sorted.count; i-- > 1;)
			if (!compare_chains(&sorted.items[i - 1], &sorted.items[i]) &&
			    sorted.items[i - 1]->shown < sorted.items[i]->shown)
				sorted.items[i - 1]->shown = sorted.items[i]->shown;
	}
	gt_vec_free(&sorted);
	return error;
}

void gt_chains_put(const struct gt_chains *chains, struct gt_strbuf *text, uint32_t process,
		   uint64_t stack)
{
	const struct chain_key key = {stack, process};
	const struct caller_chain *chain = gt_hash_get(chains->by_stack, &key, sizeof(key));

	for (size_t i = 0; chain && i < chain->shown && i < chain->count; i++) {
		gt_strbuf_puts(text, i ? SEPARATOR : "");
		gt_strbuf_puts(text, chain->callers[i]);
	}
}

void gt_chain_put_whole(struct gt_strbuf *text, const struct gt_names *names, uint32_t process,
			uint64_t stack)
{
	size_t count = 0;
	const __u64 *addresses = gt_names_stack(names, process, stack, &count);
	const char *separator = "";

	if (!addresses || !count)
		gt_label_stack(text, names, process, stack);
	for (size_t i = 0; addresses && i < count; i++) {
		struct gt_location location;
		size_t frames;

		gt_names_location(names, process, addresses[i], true, &location);
		frames = location.frame_count ? location.frame_count : 1;
		for (size_t k = 0; k < frames; k++) {
			gt_strbuf_puts(text, separator);
			gt_put_frame(text, &location,
				     location.frame_count ? &location.frames[k] : NULL,
				     addresses[i]);
			separator = SEPARATOR;
		}
	}
	if (gt_names_stack_is_truncated(names, process, stack))
		gt_strbuf_puts(text, SEPARATOR "…");
}
