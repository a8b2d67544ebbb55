/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/clean.h"
#include "base/text.h"
#include "elf/elf.h"
#include "probe/api/calls.h"

static bool is_enabled(const struct gt_host *host, const struct gt_api_function *function)
{
	return host->groups & gt_api_group_bit(function->library);
}

static int reject_glob(const struct gt_host *host, const char *glob, struct gt_diag *diag)
{
	unsigned count = gt_api_count();
	gt_autofree const char **names = calloc(count, sizeof(*names));
	const char *nearest;

	if (!names)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	for (unsigned row = 0; row < count; row++) {
		const struct gt_api_function *function = gt_api_function(row);

		names[row] = function->name;
		if (gt_glob(glob, function->name) && !is_enabled(host, function))
			return gt_diag(diag, -EINVAL, "cuda", NULL,
				       "'%s' is of %s, which is not enabled: add -e %s", glob,
				       function->library, gt_api_group_of(function->library));
	}
	nearest = gt_nearest(glob, names, count);
	return gt_diag(diag, -EINVAL, "cuda", NULL,
		       "no function is called '%s'%s%s%s 'gputap list --functions' shows all", glob,
		       nearest ? ": did you mean '" : "", nearest ? nearest : "",
		       nearest ? "'?" : ";");
}

/* A glob that matches no function is an error, after '!' too: it is misspelled. */
static int check_globs(const struct gt_host *host, struct gt_diag *diag)
{
	for (size_t i = 0; i < host->options->functions.words.count; i++) {
		const char *glob = host->options->functions.words.items[i];
		bool matched = false;

		glob += *glob == '!';
		for (unsigned row = 0; row < gt_api_count() && !matched; row++) {
			const struct gt_api_function *function = gt_api_function(row);

			matched = gt_glob(glob, function->name) && is_enabled(host, function);
		}
		if (!matched)
			return reject_glob(host, glob, diag);
	}
	return 0;
}

static int match_globs(const struct gt_host *host, bool *rows, struct gt_diag *diag)
{
	const struct gt_strings *globs = &host->options->functions;
	bool any = false;
	int error = check_globs(host, diag);

	for (unsigned row = 0; row < gt_api_count() && !error; row++) {
		const struct gt_api_function *function = gt_api_function(row);

		rows[row] = is_enabled(host, function) &&
			    gt_globs_select(globs->words.items, globs->words.count, function->name,
					    function->category != GT_CATEGORY_NONE);
		any |= rows[row];
	}
	if (!error && !any)
		return gt_diag(diag, -EINVAL, "cuda", NULL,
			       "--function excludes all functions that are traced by default");
	return error;
}

int gt_selection_make(const struct gt_host *host, struct gt_selection *ret_selection,
		      struct gt_diag *diag)
{
	gt_autofree bool *rows = calloc(gt_api_count(), sizeof(*rows));
	int error;

	if (!rows)
		return gt_diag(diag, -ENOMEM, "cuda", NULL, "out of memory");
	error = match_globs(host, rows, diag);
	if (error)
		return error;
	ret_selection->host = host;
	ret_selection->rows = gt_take(rows);
	return 0;
}

void gt_selection_free(struct gt_selection *selection)
{
	free(selection->rows);
	selection->rows = NULL;
}

static int compare_sites(const void *a, const void *b)
{
	const struct gt_site *left = a, *right = b;

	if (left->offset != right->offset)
		return left->offset < right->offset ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* Several names of one function are one site. */
static void drop_aliases(gt_site_list *sites)
{
	size_t kept = 0;

	qsort(sites->items, sites->count, sizeof(*sites->items), compare_sites);
	for (size_t i = 0; i < sites->count; i++)
		if (!kept || sites->items[i].offset != sites->items[kept - 1].offset)
			sites->items[kept++] = sites->items[i];
	sites->count = kept;
}

/* Whether calls of a function that is not selected are recorded if they fail. */
static bool is_watched(const struct gt_selection *selection, const struct gt_api_function *function)
{
	struct gt_plan plan;

	if (!selection->host->options->failures || !is_enabled(selection->host, function))
		return false;
	gt_api_plan(function, &plan);
	return plan.result != GT_RESULT_ANY;
}

/* Whether a function of the runtime never calls the driver, although programs call it often. */
static bool is_leaf(const struct gt_api_function *function)
{
	static const char *const leaves[] = {
		"__cudaPushCallConfiguration", "__cudaPopCallConfiguration",
		"cudaCreateChannelDesc",       "cudaGetErrorName",
		"cudaGetErrorString",          "cudaGetLastError",
		"cudaPeekAtLastError",         "cudaRuntimeGetVersion",
	};

	for (size_t i = 0; i < gt_countof(leaves); i++)
		if (!strcmp(function->name, leaves[i]))
			return true;
	return false;
}

/* Whether the user selects functions by name, and not only excludes some of the default. */
static bool selects_by_name(const struct gt_strings *globs)
{
	for (size_t i = 0; i < globs->words.count; i++)
		if (*globs->words.items[i] != '!')
			return true;
	return false;
}

/*
 * Whether a function is not traced, and the driver calls inside it are filtered nevertheless. A
 * user who selects driver functions by name wants those inside runtime functions, too.
 */
static bool is_boundary(const struct gt_selection *selection, const struct gt_traced_file *file,
			int row)
{
	const struct gt_api_function *function = gt_api_function(row);
	const struct gt_trace_options *options = selection->host->options;

	return gt_traced_file_is_runtime(file) && !options->verbose &&
	       !selects_by_name(&options->functions) && !selection->rows[row] &&
	       !is_watched(selection, function) && !is_leaf(function);
}

/* Driver calls inside runtime calls are filtered, unless all layers are traced (-v). */
static uint64_t cookie_flags(const struct gt_selection *selection,
			     const struct gt_traced_file *file, int row, const char *symbol)
{
	const struct gt_api_function *function = gt_api_function(row);
	bool runtime = gt_traced_file_is_runtime(file);
	uint64_t flags = runtime ? GT_COOKIE_RUNTIME : 0;

	if (gt_traced_file_is_above(file))
		flags |= GT_COOKIE_LIBRARY;
	if (!selection->rows[row] && gt_api_is_implicit(function))
		flags |= GT_COOKIE_IMPLICIT;
	if (!selection->rows[row] && is_watched(selection, function))
		flags |= GT_COOKIE_WATCHED;
	if (is_boundary(selection, file, row))
		flags |= GT_COOKIE_BOUNDARY;
	/* An API may be implemented by another one, or by another library of the same functions. */
	if ((gt_traced_file_is_driver(file) || gt_api_is_portable(file->library)) &&
	    !selection->host->options->verbose &&
	    (selection->rows[row] || flags & GT_COOKIE_WATCHED))
		flags |= GT_COOKIE_ONLY_OUTERMOST;
	return flags | (gt_api_is_per_thread(symbol) ? GT_COOKIE_PER_THREAD : 0);
}

/*
 * Selected, watched, a boundary, or traced implicitly for the names of kernels, contexts and
 * devices, which sums by function do not have.
 */
static bool is_attached(const struct gt_selection *selection, const struct gt_traced_file *file,
			int row)
{
	const struct gt_api_function *function = gt_api_function(row);

	return function && gt_api_contains(file->library, function->library) &&
	       (selection->rows[row] ||
		(!selection->host->options->sums && gt_api_is_implicit(function)) ||
		is_watched(selection, function) || is_boundary(selection, file, row));
}

bool gt_selection_flags(const struct gt_selection *selection, unsigned row, uint64_t *ret_flags)
{
	const struct gt_api_function *function = gt_api_function(row);
	const struct gt_traced_file file = {.library = function->library};

	if (!is_attached(selection, &file, (int)row))
		return false;
	*ret_flags = cookie_flags(selection, &file, (int)row, function->name);
	return true;
}

int gt_selection_find(const struct gt_selection *selection, const struct gt_traced_file *file,
		      unsigned number, struct gt_elf *elf, gt_site_list *sites,
		      struct gt_diag *diag)
{
	const struct gt_elf_symbol *symbols;
	size_t count;
	int error = gt_elf_symbols(elf, &symbols, &count, diag);

	for (size_t i = 0; i < count && !error; i++) {
		struct gt_site site = {.name = symbols[i].name, .offset = symbols[i].offset};
		int row = symbols[i].kind == GT_ELF_FUNCTION ? gt_api_find(symbols[i].name) : -1;

		if (row < 0 || !is_attached(selection, file, row))
			continue;
		site.cookie = GT_COOKIE((uint64_t)row, number,
					cookie_flags(selection, file, row, symbols[i].name));
		error = gt_vec_push(sites, site);
	}
	if (error)
		return gt_diag(diag, error, "cuda", file->path, "%s", strerror(-error));
	if (sites->count)
		drop_aliases(sites);
	return 0;
}
