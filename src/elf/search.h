/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The dynamic loader's search for a library (ld.so(8), and elf/dl-load.c of glibc 2.36). */
#pragma once

#include "elf/cache.h"
#include "elf/elf.h"
#include "elf/loader.h"

/* An object that was found. */
struct gt_object {
	char *path;
	char *origin; /* its $ORIGIN: its absolute directory */
	struct gt_elf *elf;
	const struct gt_object *parent; /* that needed it; NULL for the program */
};

void gt_object_free(struct gt_object *object);
GT_DEFINE_AUTO(object, struct gt_object, gt_object_free)

/*
 * Opens an object, reads its info and closes its file. resolve: symbolic links are resolved for
 * $ORIGIN, as the kernel does for the program.
 */
int gt_object_open(const char *path, const struct gt_object *parent, bool resolve,
		   struct gt_object **ret_object, struct gt_diag *diag);

struct gt_search {
	const char *library_path; /* LD_LIBRARY_PATH; NULL: unset or ignored */
	const char *main_origin;  /* $ORIGIN of the program; NULL if it is not known */
	struct gt_ld_cache cache;
	const char *const *levels;
	size_t level_count;
};

/* Starts a search and reads the cache, which may be missing. */
void gt_search_begin(struct gt_search *search, const struct gt_loader *loader, bool secure);
void gt_search_end(struct gt_search *search);
static inline void gt_cleanup_search(struct gt_search *search)
{
	gt_search_end(search);
}
#define gt_auto_search __attribute__((cleanup(gt_cleanup_search))) struct gt_search

/* Finds the library that `parent` (may be NULL) gets for a name. -ENOENT: not found. */
int gt_search_find(const struct gt_search *search, const char *name, const struct gt_object *parent,
		   struct gt_object **ret_object);

/* Expands $ORIGIN, $LIB and $PLATFORM. False: $ORIGIN is used and origin is NULL. */
bool gt_search_expand(const char *text, size_t length, const char *origin,
		      struct gt_strbuf *buffer);
