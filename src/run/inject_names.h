/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The names that the sections of programs and --kernel are compared with: which of the given names
 * and globs matched one, and which names are near to the others.
 */
#pragma once

#include "gpubpf/section.h"
#include "run/inject.h"

struct gt_inject_names;

/* The options must outlive the result. 0 or -ENOMEM. */
int gt_inject_names_new(const struct gt_inject_options *options,
			struct gt_inject_names **ret_names);
void gt_inject_names_free(struct gt_inject_names *names);

/*
 * A module has a kernel (is_entry), or a device function, of these names. In the thread that polls
 * the collector. `context` is a struct gt_inject_names: as in struct gt_patch_observer.
 */
void gt_inject_names_see(void *context, const char *mangled, const char *demangled, bool is_entry);

/* As gt_inject_unmatched_pattern. */
bool gt_inject_names_unmatched(const struct gt_inject_names *names, size_t *cursor,
			       struct gt_inject_pattern *ret_pattern);
