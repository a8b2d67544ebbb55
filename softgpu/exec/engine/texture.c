/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The handles of textures and surfaces. */
#include "exec/engine/texture.h"

#include <errno.h>
#include <string.h>

#include "exec/engine/engine.h"

/* A handle is a generation above an index: a handle that was removed is not valid again. */
enum { INDEX_BITS = 20 };
_Static_assert(SG_MAX_TEXTURES == 1 << INDEX_BITS, "an index fits into a handle");

int sg_textures_open(struct sg_textures *textures)
{
	/* Pages that no entry is in take no memory. */
	textures->entries = calloc(SG_MAX_TEXTURES, sizeof(*textures->entries));
	if (!textures->entries)
		return -ENOMEM;
	pthread_mutex_init(&textures->lock, NULL);
	return 0;
}

static void free_retired(struct sg_textures *textures)
{
	while (textures->retired) {
		struct sg_texture_entry *next = textures->retired->next;

		free(textures->retired);
		textures->retired = next;
	}
}

void sg_textures_close(struct sg_textures *textures)
{
	if (!textures->entries)
		return;
	free_retired(textures);
	for (uint32_t i = 0; i < textures->used; i++)
		free(textures->entries[i]);
	free(textures->entries);
	free(textures->free);
	pthread_mutex_destroy(&textures->lock);
}

void sg_textures_enter(struct sg_textures *textures)
{
	pthread_mutex_lock(&textures->lock);
	textures->readers++;
	pthread_mutex_unlock(&textures->lock);
}

void sg_textures_leave(struct sg_textures *textures)
{
	pthread_mutex_lock(&textures->lock);
	if (--textures->readers == 0)
		free_retired(textures);
	pthread_mutex_unlock(&textures->lock);
}

const struct sg_texture_entry *sg_texture_find(const struct sg_textures *textures, uint64_t handle)
{
	uint64_t index = handle & (SG_MAX_TEXTURES - 1);
	const struct sg_texture_entry *entry =
		__atomic_load_n(&textures->entries[index], __ATOMIC_ACQUIRE);

	return entry && entry->handle == handle ? entry : NULL;
}

/* Replaces the entry at an index; readers may still use the old one. */
static void publish_entry(struct sg_textures *textures, uint32_t index,
			  struct sg_texture_entry *entry)
{
	struct sg_texture_entry *old = textures->entries[index];

	__atomic_store_n(&textures->entries[index], entry, __ATOMIC_RELEASE);
	if (!old)
		return;
	if (!textures->readers) {
		free(old);
		return;
	}
	old->next = textures->retired;
	textures->retired = old;
}

/* -ENOSPC: none is free. */
static int take_index(struct sg_textures *textures, uint32_t *ret_index)
{
	if (textures->free_count) {
		*ret_index = textures->free[--textures->free_count];
		return 0;
	}
	if (textures->used == SG_MAX_TEXTURES)
		return -ENOSPC;
	/* Room to return every index, so that removing cannot fail. */
	if (textures->used == textures->free_room) {
		uint32_t room = textures->free_room ? 2 * textures->free_room : 64;
		uint32_t *grown = realloc(textures->free, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		textures->free = grown;
		textures->free_room = room;
	}
	*ret_index = textures->used++;
	return 0;
}

int sg_texture_add(struct sg_machine *machine, const struct sg_texture *texture,
		   uint64_t *ret_handle)
{
	struct sg_textures *textures = &machine->textures;
	struct sg_texture_entry *entry = malloc(sizeof(*entry));
	uint32_t index;
	int error;

	if (!entry)
		return -ENOMEM;
	pthread_mutex_lock(&textures->lock);
	error = take_index(textures, &index);
	if (!error) {
		*entry = (struct sg_texture_entry){
			.handle = ++textures->generation << INDEX_BITS | index,
			.texture = *texture,
		};
		*ret_handle = entry->handle;
		publish_entry(textures, index, entry);
	}
	pthread_mutex_unlock(&textures->lock);
	if (error)
		free(entry);
	return error;
}

int sg_texture_set(struct sg_machine *machine, uint64_t handle, const struct sg_texture *texture)
{
	struct sg_textures *textures = &machine->textures;
	struct sg_texture_entry *entry = malloc(sizeof(*entry));
	bool found;

	if (!entry)
		return -ENOMEM;
	*entry = (struct sg_texture_entry){.handle = handle, .texture = *texture};
	pthread_mutex_lock(&textures->lock);
	found = sg_texture_find(textures, handle);
	if (found)
		publish_entry(textures, handle & (SG_MAX_TEXTURES - 1), entry);
	pthread_mutex_unlock(&textures->lock);
	if (!found)
		free(entry);
	return found ? 0 : -ENOENT;
}

int sg_texture_remove(struct sg_machine *machine, uint64_t handle)
{
	struct sg_textures *textures = &machine->textures;
	uint32_t index = handle & (SG_MAX_TEXTURES - 1);
	bool found;

	pthread_mutex_lock(&textures->lock);
	found = sg_texture_find(textures, handle);
	if (found) {
		publish_entry(textures, index, NULL);
		textures->free[textures->free_count++] = index;
	}
	pthread_mutex_unlock(&textures->lock);
	return found ? 0 : -ENOENT;
}

void sg_texture_detach(struct sg_machine *machine, uint64_t address, uint64_t size)
{
	struct sg_textures *textures = &machine->textures;

	pthread_mutex_lock(&textures->lock);
	for (uint32_t i = 0; i < textures->used; i++) {
		struct sg_texture_entry *old = textures->entries[i], *entry;

		if (!old || !old->texture.image.level_count ||
		    old->texture.image.levels[0].address - address >= size)
			continue;
		entry = malloc(sizeof(*entry));
		if (entry) {
			*entry = *old;
			entry->texture.image.level_count = 0;
		}
		publish_entry(textures, i, entry);
	}
	pthread_mutex_unlock(&textures->lock);
}
