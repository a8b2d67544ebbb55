/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/loader.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/vec.h"
#include "elf/search.h"

#define OBJECT_LIMIT 4096
#define PRELOAD_FILE "/etc/ld.so.preload"
#define PRELOAD_FILE_LIMIT ((size_t)1 << 20)

typedef GT_VEC(struct gt_dependency) dependency_vec;

/* A program and the objects that the loader would load. */
struct loading {
	struct gt_search search;
	GT_VEC(struct gt_object *) objects; /* [0] is the program */
	struct gt_hash *names; /* names, paths, sonames and identities to objects; to itself: not
				 found */
	dependency_vec dependencies;
	const char *path;
	struct gt_diag *diag;
};

struct gt_loader gt_loader_of_environment(char *const environment[])
{
	struct gt_loader loader = {0};

	for (size_t i = 0; environment && environment[i]; i++) {
		const char *entry = environment[i];

		if (!strncmp(entry, "LD_LIBRARY_PATH=", 16) && !loader.library_path)
			loader.library_path = entry + 16;
		else if (!strncmp(entry, "LD_PRELOAD=", 11) && !loader.preload)
			loader.preload = entry + 11;
	}
	return loader;
}

static void free_dependencies(struct gt_dependency *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(items[i].name);
		free(items[i].path);
		free(items[i].asked_by);
	}
	free(items);
}

void gt_dependencies_free(struct gt_dependencies *dependencies)
{
	if (!dependencies)
		return;
	free_dependencies(dependencies->items, dependencies->count);
	*dependencies = (struct gt_dependencies){0};
}

static int out_of_memory(struct loading *loading)
{
	return gt_diag(loading->diag, -ENOMEM, "loader", loading->path, "out of memory");
}

static int add_dependency(struct loading *loading, const char *name, const char *path,
			  const char *asked_by)
{
	struct gt_dependency dependency = {
		.name = strdup(name),
		.path = path ? strdup(path) : NULL,
		.asked_by = strdup(asked_by),
	};

	if (!dependency.name || !dependency.asked_by || (path && !dependency.path) ||
	    gt_vec_push(&loading->dependencies, dependency)) {
		free(dependency.name);
		free(dependency.path);
		free(dependency.asked_by);
		return out_of_memory(loading);
	}
	return 0;
}

/* The identity of a file; as a key it differs from all names, since names contain no NUL. */
struct file_identity {
	uint64_t zero, device, inode;
};

static struct file_identity identity_of(const struct gt_object *object)
{
	const struct gt_elf_info *info = gt_elf_info(object->elf);

	return (struct file_identity){0, info->device, info->inode};
}

/* Adds an object and takes ownership of it. */
static int add_object(struct loading *loading, struct gt_object *object)
{
	const struct gt_elf_info *info = gt_elf_info(object->elf);
	struct file_identity identity = identity_of(object);

	if (gt_vec_push(&loading->objects, object)) {
		gt_object_free(object);
		return out_of_memory(loading);
	}
	if (gt_hash_set(loading->names, &identity, sizeof(identity), object) ||
	    gt_hash_set_str(loading->names, object->path, object) ||
	    (info->soname && gt_hash_set_str(loading->names, info->soname, object)))
		return out_of_memory(loading);
	if (loading->objects.count > OBJECT_LIMIT)
		return gt_diag(loading->diag, -ELOOP, "loader", loading->path,
			       "it loads more than %d libraries", OBJECT_LIMIT);
	return 0;
}

static int load(struct loading *loading, const char *name, const struct gt_object *parent,
		const char *asked_by)
{
	gt_auto(object) struct gt_object *found = NULL;
	void *missing = loading, *known = gt_hash_get_str(loading->names, name);
	struct file_identity identity;
	int error;

	if (known && known != missing)
		return 0;
	if (gt_search_find(&loading->search, name, parent, &found)) {
		if (known)
			return 0;
		if (gt_hash_set_str(loading->names, name, missing))
			return out_of_memory(loading);
		return add_dependency(loading, name, NULL, asked_by);
	}
	identity = identity_of(found);
	known = gt_hash_get(loading->names, &identity, sizeof(identity));
	if (known)
		return gt_hash_set_str(loading->names, name, known) ? out_of_memory(loading) : 0;
	error = add_dependency(loading, name, found->path, asked_by);
	if (error)
		return error;
	if (gt_hash_set_str(loading->names, name, found))
		return out_of_memory(loading);
	return add_object(loading, gt_take(found));
}

static int load_list(struct loading *loading, const char *list, const char *separators,
		     const char *asked_by)
{
	while (list && *list) {
		size_t length = strcspn(list, separators);
		gt_autofree char *name = strndup(list, length);
		int error = 0;

		if (!name)
			return out_of_memory(loading);
		if (length)
			error = load(loading, name, loading->objects.items[0], asked_by);
		if (error)
			return error;
		list += length;
		list += *list != 0;
	}
	return 0;
}

static int load_preloads(struct loading *loading, const struct gt_loader *loader, bool secure)
{
	const char *path = loader->preload_file ? loader->preload_file : PRELOAD_FILE;
	gt_auto_file file = {0};
	int error = 0;

	if (!secure)
		error = load_list(loading, loader->preload, " :", "LD_PRELOAD");
	if (error || !path[0] || gt_file_read(path, PRELOAD_FILE_LIMIT, &file, NULL))
		return error;
	return load_list(loading, (const char *)file.data, " :\t\n", "ld.so.preload");
}

/* Whether the kernel starts the program with AT_SECURE: with the rights of another user. */
static bool is_secure(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return false;
	return (status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
	       (status.st_mode & S_ISGID && status.st_mode & S_IXGRP && status.st_gid != getegid());
}

static int load_interpreter(struct loading *loading, const char *interpreter)
{
	struct gt_object *object;
	int error;

	if (gt_object_open(interpreter, NULL, false, &object, NULL))
		return add_dependency(loading, interpreter, NULL, loading->path);
	error = add_object(loading, object);
	if (error)
		return error;
	return add_dependency(loading, interpreter, object->path, loading->path);
}

static int load_all(struct loading *loading, const struct gt_loader *loader, bool secure)
{
	const struct gt_elf_info *program;
	struct gt_object *object;
	int error = gt_object_open(loading->path, NULL, true, &object, loading->diag);

	if (!error)
		error = add_object(loading, object);
	if (error)
		return error;
	program = gt_elf_info(object->elf);
	loading->search.main_origin = object->origin;
	if (program->is_static)
		return 0;
	if (program->interpreter)
		error = load_interpreter(loading, program->interpreter);
	if (!error)
		error = load_preloads(loading, loader, secure);
	for (size_t i = 0; !error && i < loading->objects.count; i++) {
		const struct gt_object *parent = loading->objects.items[i];
		const struct gt_elf_info *info = gt_elf_info(parent->elf);

		for (size_t j = 0; !error && j < info->needed_count; j++)
			error = load(loading, info->needed[j], parent, parent->path);
	}
	return error;
}

int gt_loader_needed(const struct gt_loader *loader, const char *path,
		     struct gt_dependencies *ret_dependencies, struct gt_diag *diag)
{
	struct loading loading = {.names = gt_hash_new(), .path = path, .diag = diag};
	bool secure = is_secure(path);
	int error;

	gt_search_begin(&loading.search, loader, secure);
	error = loading.names ? load_all(&loading, loader, secure) : out_of_memory(&loading);
	gt_search_end(&loading.search);
	gt_hash_free(loading.names);
	gt_vec_each (object, &loading.objects)
		gt_object_free(*object);
	gt_vec_free(&loading.objects);
	if (error) {
		free_dependencies(loading.dependencies.items, loading.dependencies.count);
		return error;
	}
	*ret_dependencies = (struct gt_dependencies){.items = loading.dependencies.items,
						     .count = loading.dependencies.count};
	return 0;
}

int gt_loader_find(const struct gt_loader *loader, const char *name, const char *from,
		   char **ret_path, struct gt_diag *diag)
{
	gt_auto(object) struct gt_object *asking = NULL, *found = NULL;
	gt_auto_search search = {0};

	if (from) {
		int error = gt_object_open(from, NULL, true, &asking, diag);

		if (error)
			return error;
	}
	gt_search_begin(&search, loader, from && is_secure(from));
	if (asking)
		search.main_origin = asking->origin;
	if (gt_search_find(&search, name, asking, &found))
		return gt_diag(diag, -ENOENT, "loader", name,
			       "no such library in LD_LIBRARY_PATH (%s), the loader's cache and "
			       "the system's directories",
			       search.library_path ? search.library_path : "unset");
	*ret_path = gt_take(found->path);
	return 0;
}
