/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ptx/names.h"

#include <errno.h>
#include <string.h>

struct ptx_name *ptx_names_find(const struct ptx_names *names, const char *text, size_t length)
{
	return gt_hash_get(names->table, text, length);
}

struct ptx_name *ptx_names_intern(struct ptx_names *names, const char *text, size_t length)
{
	struct ptx_name *name = ptx_names_find(names, text, length);

	if (name)
		return name;
	name = ptx_arena_take(names->arena, sizeof(*name) + length + 1);
	if (!name || gt_hash_set(names->table, text, length, name))
		return NULL;
	memcpy(name->text, text, length);
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
	*names = (struct ptx_names){.arena = arena, .table = gt_hash_new()};
	return names->table ? add_words(names) : -ENOMEM;
}

void ptx_names_free(struct ptx_names *names)
{
	gt_hash_free(names->table);
	names->table = NULL;
}
