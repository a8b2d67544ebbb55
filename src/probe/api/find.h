/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which files hold the functions that a target calls: shared libraries by their names, and
 * programs and libraries that have the CUDA runtime linked in statically.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/api.h"
#include "base/diag.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "elf/proc_maps.h"
#include "probe/target.h"

/* A file with functions of an API. */
struct gt_place {
	char *path;      /* by which gputap reaches it */
	uint64_t device; /* identity */
	uint64_t inode;
	const char *library; /* whose functions: "cudart" (the runtime API), "cuda", "cublas", … */
	bool in_program;     /* linked in statically */
	bool guessed;        /* nothing tells that the target will load it */
};

static inline bool gt_place_is_driver(const struct gt_place *place)
{
	return !strcmp(place->library, "cuda");
}
static inline bool gt_place_is_runtime(const struct gt_place *place)
{
	return !strcmp(place->library, "cudart");
}

/* A library above CUDA, whose calls contain calls of CUDA. */
static inline bool gt_place_is_above(const struct gt_place *place)
{
	return gt_api_group_bit(place->library) != GT_API_GROUP_CUDA;
}

struct gt_places {
	unsigned groups; /* of libraries above CUDA that are looked for: gt_api_group_bit */
	GT_VEC(struct gt_place) found;
	/* What was looked at and why it is not among them: lines of text for the user. */
	struct gt_strbuf refusals;
	bool stripped; /* a program had no symbols: a runtime inside it would not be seen */
};

void gt_places_free(struct gt_places *places);

/*
 * Looks at one file; adds it if it has functions of an API and is not there yet.
 * Returns 1 if it was added, 0 if it has none or is there, or -Exxx (the file is unreadable,
 * no ELF …). A file whose name does not tell is only searched if `inside` is set.
 */
int gt_places_look(struct gt_places *places, const char *path, bool inside, struct gt_diag *diag);

/* Everything that the target has mapped or will load at its start, and what it may load later. */
int gt_places_find(struct gt_places *places, const struct gt_target *target, struct gt_diag *diag);

/* What a running process has mapped. -ESRCH if it is gone. */
int gt_places_find_in_process(struct gt_places *places, pid_t pid, struct gt_diag *diag);

/* Whether a runtime is there that the target surely uses. */
bool gt_places_have_runtime(const struct gt_places *places);
