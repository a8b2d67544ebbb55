/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_sites.h"

#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "ptx/source.h"

struct kept_site {
	const char *function, *text;
	uint32_t kinds, line, loop_line;
	uint32_t first_location, location_count;
	bool is_kernel;
};

struct gt_inject_sites {
	GT_VEC(struct kept_site) sites; /* by number */
	GT_VEC(struct gt_inject_location) locations;
	struct gt_hash *texts; /* by content: char *, owned */
	size_t bytes;
	bool is_full;
};

int gt_inject_sites_new(struct gt_inject_sites **ret_sites)
{
	struct gt_inject_sites *sites = calloc(1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	sites->texts = gt_hash_new();
	if (!sites->texts) {
		free(sites);
		return -ENOMEM;
	}
	*ret_sites = sites;
	return 0;
}

void gt_inject_sites_free(struct gt_inject_sites *sites)
{
	if (!sites)
		return;
	gt_vec_free(&sites->sites);
	gt_vec_free(&sites->locations);
	gt_hash_free_with(sites->texts, free);
	free(sites);
}

/* A copy that equal texts share, or NULL. */
static const char *keep_text(struct gt_inject_sites *sites, const char *text)
{
	char *copy = gt_hash_get_str(sites->texts, text);

	if (copy)
		return copy;
	copy = strdup(text);
	if (!copy || gt_hash_set_str(sites->texts, text, copy)) {
		free(copy);
		return NULL;
	}
	sites->bytes += 2 * strlen(text) + 64;
	return copy;
}

/* A module that is being added. */
struct added_module {
	struct gt_inject_sites *sites;
	struct gt_ptx_sources *sources;
	const struct gt_ptx_function *function; /* of the last site */
};

static int keep_locations(struct added_module *added, const struct gt_ptx_loc *loc,
			  uint32_t *ret_count)
{
	struct gt_inject_sites *sites = added->sites;
	struct gt_ptx_source positions[GT_PTX_MAX_INLINED];
	uint32_t count;
	int error = gt_ptx_sources_find(added->sources, added->function, loc, positions, &count);

	for (uint32_t i = 0; !error && i < count; i++) {
		const struct gt_ptx_source *position = &positions[i];
		struct gt_inject_location location = {
			.file = keep_text(sites, position->file ? position->file : "?"),
			.function =
				position->function ? keep_text(sites, position->function) : NULL,
			.line = position->line,
			.column = position->column,
		};

		error = !location.file || (position->function && !location.function)
				? -ENOMEM
				: gt_vec_push(&sites->locations, location);
		sites->bytes += sizeof(location);
	}
	if (!error)
		*ret_count = count;
	return error;
}

static void put_instruction(const struct gt_ptx_statement *statement, struct gt_strbuf *text)
{
	if (!statement || statement->kind != GT_PTX_STATEMENT_INSTRUCTION)
		return;
	gt_ptx_print_instruction(&statement->instruction, text);
	if (text->length > GT_INJECT_MAX_SITE_TEXT) {
		text->length = GT_INJECT_MAX_SITE_TEXT - 3;
		text->data[text->length] = '\0';
		gt_strbuf_puts(text, "...");
	}
}

/* ---- loops ------------------------------------------------------------------------------ */

/* The PTX line of the label that the loop of a site branches back to; 0: it is at none. */
static uint32_t find_loop_line(const struct gt_patch_site *site)
{
	if (site->back)
		return site->back->statement->position.line;
	if (!(site->kinds & 1u << GT_KIND_LOOP))
		return 0;
	return site->statement->instruction.operands[0].label->statement->position.line;
}

/* ---- sites ------------------------------------------------------------------------------ */

static int keep_site(struct added_module *added, const struct gt_patch_site *site)
{
	struct gt_inject_sites *sites = added->sites;
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct kept_site kept = {
		.kinds = site->kinds,
		.line = site->line,
		.first_location = (uint32_t)sites->locations.count,
	};
	int error = 0;

	/* Sites are in the order of the functions. */
	while (added->function &&
	       (added->function->name != site->function || !added->function->body))
		added->function = added->function->next;
	if (!added->function)
		return -ENOENT;
	put_instruction(site->statement, &text);
	kept.loop_line = find_loop_line(site);
	kept.is_kernel = added->function->is_entry;
	kept.function = keep_text(sites, site->function);
	kept.text = text.failed ? NULL : keep_text(sites, gt_strbuf_string(&text));
	if (!kept.function || !kept.text)
		return -ENOMEM;
	if (site->loc)
		error = keep_locations(added, site->loc, &kept.location_count);
	if (!error)
		error = gt_vec_push(&sites->sites, kept);
	sites->bytes += sizeof(kept);
	return error;
}

void gt_inject_sites_add(struct gt_inject_sites *sites, const struct gt_ptx_module *module,
			 const struct gt_patch_result *result)
{
	gt_auto(ptx_sources) struct gt_ptx_sources *sources = NULL;
	struct added_module added = {.sites = sites, .function = module->functions};

	if (!result->sites.count || sites->is_full)
		return;
	sites->is_full = gt_ptx_sources_new(module, &sources);
	added.sources = sources;
	gt_vec_each (site, &result->sites) {
		sites->is_full = sites->is_full || sites->sites.count == GT_INJECT_MAX_SITES ||
				 sites->bytes > GT_INJECT_MAX_SITE_BYTES || keep_site(&added, site);
		if (sites->is_full)
			break;
	}
}

static int put_location(struct gt_inject_sites *sites, const struct gt_inject_location *from)
{
	struct gt_inject_location location = {
		.file = keep_text(sites, from->file),
		.function = from->function ? keep_text(sites, from->function) : NULL,
		.line = from->line,
		.column = from->column,
	};

	sites->bytes += sizeof(location);
	return !location.file || (from->function && !location.function)
		       ? -ENOMEM
		       : gt_vec_push(&sites->locations, location);
}

static int put_site(struct gt_inject_sites *sites, const struct gt_inject_site *site)
{
	struct kept_site kept = {
		.function = keep_text(sites, site->function),
		.text = keep_text(sites, site->text),
		.kinds = site->kinds,
		.line = site->line,
		.loop_line = site->loop_line,
		.first_location = (uint32_t)sites->locations.count,
		.location_count = site->location_count,
		.is_kernel = site->is_kernel,
	};
	int error = kept.function && kept.text ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < site->location_count && !error; i++)
		error = put_location(sites, &site->locations[i]);
	sites->bytes += sizeof(kept);
	return error ? error : gt_vec_push(&sites->sites, kept);
}

void gt_inject_sites_put(struct gt_inject_sites *sites, const struct gt_inject_site *site)
{
	sites->is_full = sites->is_full || sites->sites.count == GT_INJECT_MAX_SITES ||
			 sites->bytes > GT_INJECT_MAX_SITE_BYTES || put_site(sites, site);
}

bool gt_inject_sites_get(const struct gt_inject_sites *sites, uint32_t number,
			 struct gt_inject_site *ret_site)
{
	const struct kept_site *kept;

	if (number >= sites->sites.count)
		return false;
	kept = &sites->sites.items[number];
	*ret_site = (struct gt_inject_site){
		.function = kept->function,
		.is_kernel = kept->is_kernel,
		.kinds = kept->kinds,
		.line = kept->line,
		.text = kept->text,
		.loop_line = kept->loop_line,
		.locations =
			kept->location_count ? &sites->locations.items[kept->first_location] : NULL,
		.location_count = kept->location_count,
	};
	return true;
}

uint32_t gt_inject_sites_kept(const struct gt_inject_sites *sites)
{
	return (uint32_t)sites->sites.count;
}
