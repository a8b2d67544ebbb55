/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "elf/search.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "x86_64-linux-gnu"
#endif

#define CACHE_PATH "/etc/ld.so.cache"

/* The directories of Debian's loader, then those of other systems. */
static const char *const default_directories[] = {
	"/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib64", "/usr/lib64", "/lib", "/usr/lib",
};

void gt_object_free(struct gt_object *object)
{
	if (!object)
		return;
	gt_elf_free(object->elf);
	free(object->origin);
	free(object->path);
	free(object);
}

/* Returns the absolute directory of a path; NULL: out of memory, or no working directory. */
static char *directory_of(const char *path, bool resolve)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	gt_autofree char *real = resolve ? realpath(path, NULL) : NULL;
	gt_autofree char *here = NULL;
	const char *name = real ? real : path, *slash = strrchr(name, '/');

	if (name[0] != '/') {
		here = getcwd(NULL, 0);
		if (!here)
			return NULL;
		gt_strbuf_printf(&buffer, "%s%s", here, slash ? "/" : "");
	}
	if (slash)
		gt_strbuf_add(&buffer, name, slash == name ? 1 : slash - name);
	return gt_strbuf_steal(&buffer);
}

int gt_object_open(const char *path, const struct gt_object *parent, bool resolve,
		   struct gt_object **ret_object, struct gt_diag *diag)
{
	gt_auto(object) struct gt_object *object = calloc(1, sizeof(*object));
	int error;

	if (!object)
		return gt_diag(diag, -ENOMEM, "loader", path, "out of memory");
	error = gt_elf_open(path, &object->elf, diag);
	if (error)
		return error;
	gt_elf_close(object->elf);
	object->parent = parent;
	object->path = strdup(path);
	object->origin = directory_of(path, resolve);
	if (!object->path)
		return gt_diag(diag, -ENOMEM, "loader", path, "out of memory");
	*ret_object = gt_take(object);
	return 0;
}

void gt_search_begin(struct gt_search *search, const struct gt_loader *loader, bool secure)
{
	const char *cache = loader->cache ? loader->cache : CACHE_PATH;

	*search = (struct gt_search){0};
	if (!secure)
		search->library_path = loader->library_path;
	search->levels = gt_hardware_levels(&search->level_count);
	if (cache[0])
		gt_ld_cache_open(cache, &search->cache, NULL);
}

void gt_search_end(struct gt_search *search)
{
	gt_ld_cache_free(&search->cache);
}

/* Returns the length of a token after '$' ("ORIGIN", "{ORIGIN}"); 0: another token. */
static size_t match_token(const char *text, size_t length, const char *token)
{
	size_t size = strlen(token);
	bool braces = length && text[0] == '{';

	if (length < size + 2 * braces || memcmp(text + braces, token, size))
		return 0;
	if (braces)
		return text[1 + size] == '}' ? size + 2 : 0;
	if (length > size && ((text[size] >= 'A' && text[size] <= 'Z') || text[size] == '_'))
		return 0;
	return size;
}

static const char *library_directory(void)
{
	return access("/lib/" MULTIARCH, F_OK) ? "lib64" : "lib/" MULTIARCH;
}

bool gt_search_expand(const char *text, size_t length, const char *origin, struct gt_strbuf *buffer)
{
	const char *end = text + length;
	size_t size;

	while (text < end) {
		if (*text != '$') {
			gt_strbuf_putc(buffer, *text++);
			continue;
		}
		text++;
		if ((size = match_token(text, end - text, "ORIGIN"))) {
			if (!origin)
				return false;
			gt_strbuf_puts(buffer, origin);
		} else if ((size = match_token(text, end - text, "LIB"))) {
			gt_strbuf_puts(buffer, library_directory());
		} else if ((size = match_token(text, end - text, "PLATFORM"))) {
			const char *platform = (const char *)getauxval(AT_PLATFORM);

			gt_strbuf_puts(buffer, platform ? platform : "");
		} else {
			gt_strbuf_putc(buffer, '$');
		}
		text += size;
	}
	return !buffer->failed;
}

static int open_candidate(const char *path, const struct gt_object *parent,
			  struct gt_object **ret_object)
{
	return gt_object_open(path, parent, false, ret_object, NULL) ? -ENOENT : 0;
}

/* Searches a directory: first its glibc-hwcaps, best first. */
static int search_directory(const struct gt_search *search, const char *directory, const char *name,
			    const struct gt_object *parent, struct gt_object **ret_object)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	const char *slash = directory[0] && directory[strlen(directory) - 1] != '/' ? "/" : "";

	gt_strbuf_printf(&path, "%s%sglibc-hwcaps", directory, slash);
	if (search->level_count && !access(gt_strbuf_string(&path), F_OK)) {
		for (size_t i = 0; i < search->level_count; i++) {
			gt_strbuf_clear(&path);
			gt_strbuf_printf(&path, "%s%sglibc-hwcaps/%s/%s", directory, slash,
					 search->levels[i], name);
			if (!open_candidate(gt_strbuf_string(&path), parent, ret_object))
				return 0;
		}
	}
	gt_strbuf_clear(&path);
	gt_strbuf_printf(&path, "%s%s%s", directory, slash, name);
	if (path.failed)
		return -ENOENT;
	return open_candidate(gt_strbuf_string(&path), parent, ret_object);
}

/* Searches a list of directories; an empty one is the working directory. */
static int search_list(const struct gt_search *search, const char *list, const char *separators,
		       const char *origin, const char *name, const struct gt_object *parent,
		       struct gt_object **ret_object)
{
	if (!list || !list[0])
		return -ENOENT;
	for (;;) {
		size_t length = strcspn(list, separators);
		gt_auto_strbuf directory = GT_STRBUF_INIT;

		if (gt_search_expand(list, length, origin, &directory) &&
		    !search_directory(search, gt_strbuf_string(&directory), name, parent,
				      ret_object))
			return 0;
		list += length;
		if (!*list++)
			return -ENOENT;
	}
}

/* Searches DT_RPATH of the requesting object and of the objects that needed it. */
static int search_rpaths(const struct gt_search *search, const char *name,
			 const struct gt_object *parent, struct gt_object **ret_object)
{
	if (!parent || gt_elf_info(parent->elf)->runpath)
		return -ENOENT;
	for (const struct gt_object *at = parent; at; at = at->parent)
		if (!search_list(search, gt_elf_info(at->elf)->rpath, ":", at->origin, name, parent,
				 ret_object))
			return 0;
	return -ENOENT;
}

static bool in_default_directory(const char *path)
{
	for (size_t i = 0; i < gt_countof(default_directories); i++) {
		size_t length = strlen(default_directories[i]);

		if (!strncmp(path, default_directories[i], length) && path[length] == '/' &&
		    !strchr(path + length + 1, '/'))
			return true;
	}
	return false;
}

static int search_system(const struct gt_search *search, const char *name,
			 const struct gt_object *parent, struct gt_object **ret_object)
{
	bool no_defaults = parent && gt_elf_info(parent->elf)->no_default_directories;
	const char *path =
		gt_ld_cache_find(&search->cache, name, search->levels, search->level_count);

	if (path && !(no_defaults && in_default_directory(path)) &&
	    !open_candidate(path, parent, ret_object))
		return 0;
	if (no_defaults)
		return -ENOENT;
	for (size_t i = 0; i < gt_countof(default_directories); i++)
		if (!search_directory(search, default_directories[i], name, parent, ret_object))
			return 0;
	return -ENOENT;
}

int gt_search_find(const struct gt_search *search, const char *name, const struct gt_object *parent,
		   struct gt_object **ret_object)
{
	gt_auto_strbuf expanded = GT_STRBUF_INIT;
	const char *wanted;

	if (!gt_search_expand(name, strlen(name), parent ? parent->origin : search->main_origin,
			      &expanded))
		return -ENOENT;
	wanted = gt_strbuf_string(&expanded);
	if (!wanted[0])
		return -ENOENT;
	if (strchr(wanted, '/'))
		return open_candidate(wanted, parent, ret_object);
	if (!search_rpaths(search, wanted, parent, ret_object) ||
	    !search_list(search, search->library_path, ":;", search->main_origin, wanted, parent,
			 ret_object))
		return 0;
	if (parent && !search_list(search, gt_elf_info(parent->elf)->runpath, ":", parent->origin,
				   wanted, parent, ret_object))
		return 0;
	return search_system(search, wanted, parent, ret_object);
}
