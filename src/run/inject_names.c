/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_names.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/vec.h"

enum {
	MAX_PATTERNS = 1024,
	MAX_NAMES = 4096, /* that are kept for hints, kernels and functions together */
};

/* A glob, or a name of a list. */
struct pattern {
	uint32_t program; /* GT_INJECT_OPTION: of --kernel */
	struct gt_section section;
	char *text; /* the section's pattern */
	bool is_matched;
};

/* A kernel, or a device function, of a module. */
struct seen_name {
	char *mangled;
	char *demangled; /* without parameters */
	bool is_entry;
};

struct gt_inject_names {
	GT_VEC(struct pattern) patterns;
	GT_VEC(struct seen_name) names;
	struct gt_hash *known; /* of the names, by mangled name and kind */
	bool has_globs;        /* of --kernel */
	bool has_functions;    /* a program is for device functions, of any kernel */
};

static bool is_for_functions(const struct pattern *pattern)
{
	return pattern->section.kind == GT_KIND_CALL || pattern->section.kind == GT_KIND_RETURN;
}

/* ---- patterns -------------------------------------------------------------------------- */

static int add_pattern(struct gt_inject_names *names, uint32_t program,
		       const struct gt_section *section, const char *text, size_t length)
{
	struct pattern pattern = {.program = program, .section = *section};

	if (names->patterns.count == MAX_PATTERNS)
		return 0;
	pattern.text = strndup(text, length);
	pattern.section.pattern = pattern.text;
	if (!pattern.text || gt_vec_push(&names->patterns, pattern)) {
		free(pattern.text);
		return -ENOMEM;
	}
	return 0;
}

static int add_program(struct gt_inject_names *names, uint32_t program,
		       const struct gt_section *section)
{
	const char *list = section->pattern, *one;
	size_t length;
	int error = 0;

	if (!section->list)
		return add_pattern(names, program, section, list, strlen(list));
	while (!error && gt_section_next_name(&list, &one, &length))
		error = add_pattern(names, program, section, one, length);
	return error;
}

int gt_inject_names_new(const struct gt_inject_options *options, struct gt_inject_names **ret_names)
{
	struct gt_inject_names *names = calloc(1, sizeof(*names));
	int error = 0;

	if (names)
		names->known = gt_hash_new();
	if (!names || !names->known)
		error = -ENOMEM;
	for (uint32_t i = 0; i < options->program_count && !error; i++)
		error = add_program(names, i, &options->programs[i].section);
	for (uint32_t i = 0; i < options->kernel_count && !error; i++) {
		const struct gt_section glob = {.kind = GT_KIND_ENTRY};

		error = add_pattern(names, GT_INJECT_OPTION, &glob, options->kernels[i],
				    strlen(options->kernels[i]));
	}
	if (error) {
		gt_inject_names_free(names);
		return error;
	}
	names->has_globs = options->kernel_count;
	gt_vec_each (pattern, &names->patterns)
		names->has_functions |= is_for_functions(pattern);
	*ret_names = names;
	return 0;
}

void gt_inject_names_free(struct gt_inject_names *names)
{
	if (!names)
		return;
	gt_vec_each (pattern, &names->patterns)
		free(pattern->text);
	gt_vec_free(&names->patterns);
	gt_vec_each (name, &names->names) {
		free(name->mangled);
		free(name->demangled);
	}
	gt_vec_free(&names->names);
	gt_hash_free(names->known);
	free(names);
}

/* ---- names ----------------------------------------------------------------------------- */

/* The length of a demangled name without its parameters. */
static size_t length_without_parameters(const char *demangled)
{
	size_t length = strcspn(demangled, "(");

	return length ? length : strlen(demangled);
}

/* Keep a name for hints. True: it was known. */
static bool keep_name(struct gt_inject_names *names, const char *mangled, const char *demangled,
		      bool is_entry)
{
	struct seen_name name = {.is_entry = is_entry};
	gt_auto_strbuf key = GT_STRBUF_INIT;

	gt_strbuf_printf(&key, "%c%s", is_entry ? 'e' : 'f', mangled);
	if (key.failed)
		return false;
	if (gt_hash_get(names->known, key.data, key.length))
		return true;
	if (names->names.count == MAX_NAMES)
		return false;
	name.mangled = strdup(mangled);
	name.demangled = strndup(demangled, length_without_parameters(demangled));
	if (!name.mangled || !name.demangled || gt_vec_push(&names->names, name)) {
		free(name.mangled);
		free(name.demangled);
		return false;
	}
	/* Without the key it is compared and kept once more, which is harmless. */
	gt_hash_set(names->known, key.data, key.length, names);
	return false;
}

/* Whether a program, or --kernel, of the patterns matches a kernel. */
static bool any_matches(const struct gt_inject_names *names, bool of_option, const char *mangled,
			const char *demangled)
{
	gt_vec_each (pattern, &names->patterns)
		if ((pattern->program == GT_INJECT_OPTION) == of_option &&
		    !is_for_functions(pattern) &&
		    gt_section_matches(&pattern->section, mangled, demangled))
			return true;
	return false;
}

void gt_inject_names_see(void *context, const char *mangled, const char *demangled, bool is_entry)
{
	struct gt_inject_names *names = context;
	bool is_selected, has_program;

	if (keep_name(names, mangled, demangled, is_entry))
		return;
	is_selected =
		!is_entry || !names->has_globs || any_matches(names, true, mangled, demangled);
	if (!is_selected)
		return;
	has_program = names->has_functions || any_matches(names, false, mangled, demangled);
	gt_vec_each (pattern, &names->patterns) {
		if (pattern->is_matched || is_for_functions(pattern) == is_entry ||
		    (pattern->program == GT_INJECT_OPTION && !has_program))
			continue;
		pattern->is_matched = gt_section_matches(&pattern->section, mangled, demangled);
	}
}

/* ---- hints ----------------------------------------------------------------------------- */

/* Names of lists are mangled ones, which the hint is to be, too. */
static const char *name_for(const struct seen_name *name, const struct pattern *pattern)
{
	return strncmp(pattern->text, "_Z", 2) ? name->demangled : name->mangled;
}

/* What a glob has beside its wildcards. */
static void put_literals(const char *glob, struct gt_strbuf *text)
{
	for (; *glob; glob++)
		if (!strchr("*?[]\\", *glob))
			gt_strbuf_putc(text, *glob);
}

/* How far a name is from what was given: names of which one is a part of the other are nearest. */
static size_t distance_of(const char *given, const char *name)
{
	size_t distance = gt_distance(given, name);

	return strcasestr(name, given) || strcasestr(given, name) ? distance : distance + MAX_NAMES;
}

/* Overloads of a function are listed once. */
static bool is_listed(const char *const *listed, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(listed[i], text))
			return true;
	return false;
}

static void find_nearest(const struct gt_inject_names *names, const struct pattern *pattern,
			 const char **ret_nearest)
{
	gt_auto_strbuf literals = GT_STRBUF_INIT;
	size_t distances[GT_INJECT_NEAREST];
	size_t count = 0;

	put_literals(pattern->text, &literals);
	if (!literals.length)
		return;
	gt_vec_each (name, &names->names) {
		const char *text = name_for(name, pattern);
		size_t distance = distance_of(gt_strbuf_string(&literals), text), at;

		if (name->is_entry == is_for_functions(pattern) ||
		    is_listed(ret_nearest, count, text))
			continue;
		for (at = count; at && distances[at - 1] > distance; at--)
			continue;
		if (at == GT_INJECT_NEAREST)
			continue;
		count += count < GT_INJECT_NEAREST;
		memmove(&distances[at + 1], &distances[at], (count - at - 1) * sizeof(*distances));
		memmove(&ret_nearest[at + 1], &ret_nearest[at],
			(count - at - 1) * sizeof(*ret_nearest));
		distances[at] = distance;
		ret_nearest[at] = text;
	}
}

bool gt_inject_names_unmatched(const struct gt_inject_names *names, size_t *cursor,
			       struct gt_inject_pattern *ret_pattern)
{
	while (*cursor < names->patterns.count) {
		const struct pattern *pattern = &names->patterns.items[(*cursor)++];

		if (pattern->is_matched)
			continue;
		*ret_pattern = (struct gt_inject_pattern){
			.program = pattern->program,
			.text = pattern->text,
			.of_functions = is_for_functions(pattern),
		};
		find_nearest(names, pattern, ret_pattern->nearest);
		return true;
	}
	return false;
}
