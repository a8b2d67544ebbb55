/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ptx/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 2048 };

static uint64_t hash_text(uint64_t hash, const char *text, size_t length)
{
	uint64_t word;

	hash ^= length;
	for (; length >= 8; length -= 8, text += 8) {
		memcpy(&word, text, 8);
		hash = (hash ^ word) * 0xff51afd7ed558ccdu;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, text, length);
	hash = (hash ^ word) * 0xc4ceb9fe1a85ec53u;
	return hash ^ (hash >> 33);
}

static struct ptx_name *find(const struct ptx_names *names, uint64_t hash, const char *text,
			     size_t length)
{
	struct ptx_name *name = names->buckets[hash & (names->bucket_count - 1)];

	for (; name; name = name->next)
		if (name->hash == hash && name->length == length &&
		    !memcmp(name->text, text, length))
			return name;
	return NULL;
}

static int grow(struct ptx_names *names)
{
	size_t count = names->bucket_count * 2;
	struct ptx_name **buckets = calloc(count, sizeof(struct ptx_name *));
	struct ptx_name *next;

	if (!buckets)
		return -ENOMEM;
	for (size_t i = 0; i < names->bucket_count; i++)
		for (struct ptx_name *name = names->buckets[i]; name; name = next) {
			next = name->next;
			name->next = buckets[name->hash & (count - 1)];
			buckets[name->hash & (count - 1)] = name;
		}
	free(names->buckets);
	names->buckets = buckets;
	names->bucket_count = count;
	return 0;
}

struct ptx_name *ptx_names_find(const struct ptx_names *names, const char *text, size_t length)
{
	return find(names, hash_text(names->seed, text, length), text, length);
}

struct ptx_name *ptx_names_intern(struct ptx_names *names, const char *text, size_t length)
{
	uint64_t hash = hash_text(names->seed, text, length);
	struct ptx_name *name = find(names, hash, text, length);
	struct ptx_name **bucket;

	if (name)
		return name;
	if (names->count >= names->bucket_count && grow(names))
		return NULL;
	name = ptx_arena_take(names->arena, sizeof(*name) + length + 1);
	if (!name)
		return NULL;
	memcpy(name->text, text, length);
	name->hash = hash;
	name->length = (uint32_t)length;
	bucket = &names->buckets[hash & (names->bucket_count - 1)];
	name->next = *bucket;
	*bucket = name;
	names->count++;
	return name;
}

static struct ptx_name *add_word(struct ptx_names *names, const char *text)
{
	return ptx_names_intern(names, text, strlen(text));
}

static int add_words(struct ptx_names *names)
{
	struct ptx_name *name;

	for (unsigned int i = 0; i < GT_PTX_OP_COUNT; i++) {
		name = add_word(names, gt_ptx_opcode_name(i));
		if (!name)
			return -ENOMEM;
		name->opcode = i + 1;
	}
	for (unsigned int i = 1; i < GT_PTX_MOD_COUNT; i++) {
		name = add_word(names, gt_ptx_modifier_name(i));
		if (!name)
			return -ENOMEM;
		name->modifier = i + 1;
	}
	for (unsigned int i = 0; i < GT_PTX_SPECIAL_COUNT; i++) {
		name = add_word(names, gt_ptx_special_info(i)->name);
		if (!name)
			return -ENOMEM;
		name->special = i + 1;
	}
	for (unsigned int i = 0; i < GT_PTX_DIRECTIVE_COUNT; i++) {
		name = add_word(names, gt_ptx_directive_info(i)->name);
		if (!name)
			return -ENOMEM;
		name->directive = i + 1;
	}
	return 0;
}

int ptx_names_init(struct ptx_names *names, struct ptx_arena *arena)
{
	*names = (struct ptx_names){.arena = arena, .bucket_count = FIRST_BUCKETS};
	names->buckets = calloc(FIRST_BUCKETS, sizeof(struct ptx_name *));
	if (!names->buckets)
		return -ENOMEM;
	names->seed = (uintptr_t)names->buckets * 0x9e3779b97f4a7c15u;
	return add_words(names);
}

void ptx_names_free(struct ptx_names *names)
{
	free(names->buckets);
	names->buckets = NULL;
}
