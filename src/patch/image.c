/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/image.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "elf/demangle.h"
#include "patch/private.h"

void gt_patch_image_clear(struct gt_patch_image *image)
{
	gt_strbuf_free(&image->fatbin);
	gt_strbuf_free(&image->texts);
	gt_patch_result_clear(&image->result);
	gt_ptx_free(image->module);
	image->module = NULL;
	gt_vec_each (part, &image->parts) {
		gt_patch_result_clear(&part->result);
		gt_ptx_free(part->module);
	}
	gt_vec_free(&image->parts);
}

/* ---- names ----------------------------------------------------------------------------- */

static bool matches_any(const char *name, bool is_entry, const struct gt_patch_options *options)
{
	gt_auto_strbuf demangled = GT_STRBUF_INIT;

	gt_demangle(name, &demangled);
	if (demangled.failed)
		return true;
	if (is_entry && !gt_patch_wants(options, name, gt_strbuf_string(&demangled)))
		return false;
	for (uint32_t i = 0; i < options->program_count; i++)
		if (gt_section_matches(&options->programs[i].section, name,
				       gt_strbuf_string(&demangled)))
			return true;
	return false;
}

static const char *skip_blanks(const char *text, const char *end)
{
	while (text < end && isspace((unsigned char)*text))
		text++;
	return text;
}

/* After .func: the parameters that it returns and attributes, in parentheses. */
static const char *skip_returns(const char *text, const char *end)
{
	text = skip_blanks(text, end);
	if (text < end && *text == '(') {
		text = memchr(text, ')', (size_t)(end - text));
		text = text ? skip_blanks(text + 1, end) : end;
	}
	return text;
}

static bool is_name_byte(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_' || byte == '$' || byte == '%';
}

bool gt_patch_may_match(const char *text, size_t length, const struct gt_patch_options *options)
{
	static const char *const directives[] = {".entry", ".func"};
	const char *end = text + length;

	for (size_t i = 0; i < gt_countof(directives); i++) {
		const char *at = text;

		while ((at = memmem(at, (size_t)(end - at), directives[i],
				    strlen(directives[i])))) {
			gt_autofree char *name = NULL;
			const char *start, *last;

			at += strlen(directives[i]);
			start = last = skip_returns(at, end);
			while (last < end && is_name_byte(*last))
				last++;
			/* An attribute, a comment: only the parser knows. */
			name = last > start ? strndup(start, (size_t)(last - start)) : NULL;
			if (!name || matches_any(name, i == 0, options))
				return true;
		}
	}
	return false;
}

/* ---- the container --------------------------------------------------------------------- */

/* The patched text as the only entry of a fatbin; what the entry says of the original is kept. */
static int wrap_text(const struct gt_fatbin_entry *entry, const struct gt_strbuf *text,
		     struct gt_strbuf *fatbin, struct gt_diag *diag)
{
	const struct gt_fatbin_source source = {
		.kind = GT_FATBIN_KIND_PTX,
		.flags = entry->flags,
		.name = entry->name,
		.name_length = entry->name_length,
		.options = entry->options,
		.options_length = entry->options_length,
		.data = text->data,
		.size = text->length,
	};

	return gt_fatbin_write(&source, 1, GT_FATBIN_COMPRESSION_NONE, fatbin, diag);
}

/* Whether the caller has the result for a source; else the numbers for it are in the options. */
static bool is_reused(const struct gt_patch_source *source, struct gt_patch_options *options,
		      struct gt_patch_image *image)
{
	const struct gt_patch_reuse *reuse = options->reuse;

	image->is_reused = reuse && reuse->find(reuse->context, source, &options->first_site,
						&options->first_kernel);
	return image->is_reused;
}

/* ---- PTX of the image ------------------------------------------------------------------- */

static int patch_text(const struct gt_fatbin_entry *entry, const struct gt_fatbin_payload *payload,
		      const struct gt_patch_options *options, struct gt_patch_image *image,
		      struct gt_diag *diag)
{
	const struct gt_cubin_text text = {.text = payload->data, .length = payload->size};
	const struct gt_patch_source source = {
		.entry = entry,
		.texts = &text,
		.text_count = 1,
		.whole = options->whole,
	};
	struct gt_patch_options numbered = *options;
	int error;

	if (!gt_patch_may_match(payload->data, payload->size, options) ||
	    is_reused(&source, &numbered, image))
		return 0;
	error = gt_ptx_parse(payload->data, payload->size, &image->module, diag);
	if (!error)
		error = gt_patch_module(image->module, &numbered, &image->result, diag);
	if (error || image->result.scope == GT_PATCH_NONE)
		return error;
	return wrap_text(entry, &image->result.text, &image->fatbin, diag);
}

/* ---- PTX of a cubin --------------------------------------------------------------------- */

static int fail_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "patch", NULL, "out of memory");
}

/* Whether the modules have all kernels of a cubin. 0 or -ENODATA. */
static int check_kernels(const struct gt_patch_image *image, const struct gt_cubin *cubin,
			 struct gt_diag *diag)
{
	gt_auto(hash) struct gt_hash *names = gt_hash_new();
	int error = names ? 0 : -ENOMEM;

	gt_vec_each (part, &image->parts)
		for (const struct gt_ptx_function *function = part->module->functions;
		     function && !error; function = function->next)
			if (function->is_entry && function->body)
				error = gt_hash_set_str(names, function->name, names);
	if (error)
		return fail_memory(diag);
	for (size_t i = 0; i < cubin->count; i++)
		if (!gt_hash_get_str(names, cubin->kernels[i].name))
			return gt_diag(diag, -ENODATA, "patch", NULL,
				       "SASS only: the PTX of kernel %s is missing",
				       cubin->kernels[i].name);
	return 0;
}

static int parse_texts(const struct gt_cubin_ptx *ptx, struct gt_patch_image *image,
		       struct gt_diag *diag)
{
	gt_vec_each (text, &ptx->texts) {
		struct gt_patch_part part = {0};
		int error = gt_ptx_parse(text->text, text->length, &part.module, diag);

		if (error)
			return error;
		if (gt_vec_push(&image->parts, part)) {
			gt_ptx_free(part.module);
			return fail_memory(diag);
		}
	}
	return 0;
}

/* Add what was done in one of several modules to the result of all. */
static int add_result(struct gt_patch_result *all, const struct gt_patch_result *result,
		      struct gt_diag *diag)
{
	int error = 0;

	if (result->scope != GT_PATCH_NONE)
		all->scope = GT_PATCH_WHOLE;
	all->whole_reason = "the module was linked from several";
	memcpy(all->prefix, result->prefix, sizeof(all->prefix));
	all->module_kernels += result->module_kernels;
	all->compiled += result->scope == GT_PATCH_NONE ? result->module_kernels : result->compiled;
	all->found += result->found;
	all->patched += result->patched;
	all->rejected += result->rejected;
	gt_vec_each (kernel, &result->kernels)
		error |= gt_vec_push(&all->kernels, *kernel);
	gt_vec_each (site, &result->sites)
		error |= gt_vec_push(&all->sites, *site);
	gt_vec_each (rejection, &result->rejections)
		error |= gt_vec_push(&all->rejections, *rejection);
	return error ? fail_memory(diag) : 0;
}

/* Patch the modules that a cubin was linked from. They are linked again before they are loaded. */
static int patch_linked(const struct gt_cubin_ptx *ptx, const struct gt_patch_options *options,
			struct gt_patch_image *image, struct gt_diag *diag)
{
	struct gt_patch_options part_options = *options;
	int error = 0;

	part_options.whole = true;
	for (size_t i = 0; i < ptx->texts.count && !error; i++) {
		const struct gt_cubin_text *text = &ptx->texts.items[i];
		struct gt_patch_part *part = &image->parts.items[i];
		bool is_patched;

		part_options.first_site = options->first_site + (uint32_t)image->result.sites.count;
		part_options.first_kernel =
			options->first_kernel + (uint32_t)image->result.kernels.count;
		error = gt_patch_module(part->module, &part_options, &part->result, diag);
		if (!error)
			error = add_result(&image->result, &part->result, diag);
		is_patched = part->result.scope != GT_PATCH_NONE;
		gt_strbuf_add(&image->texts, is_patched ? part->result.text.data : text->text,
			      is_patched ? part->result.text.length : text->length);
		gt_strbuf_putc(&image->texts, 0);
	}
	if (image->texts.failed && !error)
		error = fail_memory(diag);
	return error;
}

static int patch_single(const struct gt_fatbin_entry *entry, const struct gt_patch_options *options,
			struct gt_patch_image *image, struct gt_diag *diag)
{
	int error;

	image->module = image->parts.items[0].module;
	gt_vec_free(&image->parts);
	error = gt_patch_module(image->module, options, &image->result, diag);
	if (error || image->result.scope == GT_PATCH_NONE)
		return error;
	return wrap_text(entry, &image->result.text, &image->fatbin, diag);
}

/* The register limit among options, or 0. */
static uint32_t find_register_limit(const char *options)
{
	static const char name[] = "-maxrregcount ";
	const char *found = strstr(options, name);

	return found ? (uint32_t)strtoul(found + sizeof(name) - 1, NULL, 10) : 0;
}

/* The texts as they are, to be loaded in place of the cubin. */
static int keep_texts(const struct gt_cubin_ptx *ptx, struct gt_patch_image *image,
		      struct gt_diag *diag)
{
	const struct gt_fatbin_entry entry = {
		.options = gt_strbuf_string(&ptx->options),
		.options_length = (uint32_t)ptx->options.length,
	};

	if (ptx->texts.count == 1) {
		const struct gt_strbuf text = {.data = ptx->texts.items[0].text,
					       .length = ptx->texts.items[0].length};

		return wrap_text(&entry, &text, &image->fatbin, diag);
	}
	image->max_registers = find_register_limit(entry.options);
	gt_vec_each (text, &ptx->texts) {
		gt_strbuf_add(&image->texts, text->text, text->length);
		gt_strbuf_putc(&image->texts, 0);
	}
	return image->texts.failed ? fail_memory(diag) : 0;
}

static bool may_match(const struct gt_cubin_ptx *ptx, const struct gt_patch_options *options)
{
	gt_vec_each (text, &ptx->texts)
		if (gt_patch_may_match(text->text, text->length, options))
			return true;
	return false;
}

/* Replace the PTX that a cubin carries by what is known of it, which has source lines. */
static void prefer_known(const struct gt_fatbin_payload *payload,
			 const struct gt_patch_recovery *recovery, struct gt_cubin_ptx *ptx)
{
	struct gt_cubin_texts known = {0};

	if (recovery->find(recovery->context, payload->data, payload->size, &known)) {
		gt_cubin_texts_clear(&known);
		return;
	}
	gt_cubin_texts_clear(&ptx->texts);
	ptx->texts = known;
}

/*
 * The PTX of a cubin: its own, or what is known of it. -ENODATA without a diag: none.
 * *ret_recovered: its own is none.
 */
static int find_ptx(const struct gt_fatbin_payload *payload, const struct gt_patch_options *options,
		    struct gt_cubin_ptx *ret_ptx, bool *ret_recovered, struct gt_diag *diag)
{
	const struct gt_patch_recovery *recovery = options->recovery;
	int error = gt_cubin_ptx_read(payload->data, payload->size, ret_ptx, NULL);

	*ret_recovered = error == -ENODATA && recovery;
	if (*ret_recovered)
		error = recovery->find(recovery->context, payload->data, payload->size,
				       &ret_ptx->texts);
	else if (!error && recovery)
		prefer_known(payload, recovery, ret_ptx);
	if (error == -ENOMEM)
		return fail_memory(diag);
	return error ? -ENODATA : 0;
}

/* cubin: what was compiled from the texts, or NULL. */
static int patch_texts(const struct gt_cubin_ptx *ptx, const struct gt_cubin *cubin,
		       const struct gt_patch_options *options, struct gt_patch_image *image,
		       struct gt_diag *diag)
{
	const struct gt_fatbin_entry entry = {
		.options = gt_strbuf_string(&ptx->options),
		.options_length = (uint32_t)ptx->options.length,
	};
	const struct gt_patch_source source = {
		.entry = &entry,
		.texts = ptx->texts.items,
		.text_count = ptx->texts.count,
		.cubin = cubin,
		.whole = options->whole,
	};
	struct gt_patch_options numbered = *options;
	int error;

	if (!may_match(ptx, options) || is_reused(&source, &numbered, image))
		return 0;
	error = parse_texts(ptx, image, diag);
	if (!error && cubin)
		error = check_kernels(image, cubin, diag);
	if (error)
		return error;
	if (ptx->texts.count == 1)
		return patch_single(&entry, &numbered, image, diag);
	image->max_registers = find_register_limit(entry.options);
	error = patch_linked(ptx, &numbered, image, diag);
	if (image->result.scope == GT_PATCH_NONE)
		gt_strbuf_clear(&image->texts);
	return error;
}

static int patch_cubin(const struct gt_fatbin_payload *payload,
		       const struct gt_patch_options *options, struct gt_patch_image *image,
		       struct gt_diag *diag)
{
	gt_auto_cubin_ptx ptx = {0};
	gt_auto_cubin cubin = {0};
	struct gt_patch_options changed = *options;
	bool recovered;
	int error = find_ptx(payload, options, &ptx, &recovered, diag);

	if (!error && gt_cubin_read(payload->data, payload->size, &cubin, NULL))
		error = -ENODATA;
	if (error)
		return error;
	/* The original of a side module is loaded, too, which it cannot be there. */
	changed.whole |= recovered && options->recovery->always;
	error = patch_texts(&ptx, &cubin, &changed, image, diag);
	if (!error && !image->is_reused && image->result.scope == GT_PATCH_NONE && recovered &&
	    options->recovery->always)
		error = keep_texts(&ptx, image, diag);
	return error;
}

/* ---- several PTX entries ---------------------------------------------------------------- */

static bool is_alternative(const struct gt_fatbin_entry *entry, const struct gt_fatbin_entry *best)
{
	const uint64_t flags = GT_FATBIN_FLAG_ARCH_A | GT_FATBIN_FLAG_ARCH_F;

	return entry->kind == GT_FATBIN_KIND_PTX && entry->architecture == best->architecture &&
	       (entry->flags & flags) == (best->flags & flags);
}

/* Whether there are several texts for one architecture: of a program that was linked. */
static bool has_parts(const struct gt_fatbin *fatbin, const struct gt_fatbin_entry *best)
{
	size_t count = 0;

	for (size_t i = 0; i < fatbin->entry_count; i++)
		count += is_alternative(&fatbin->entries[i], best);
	return count > 1;
}

static int patch_parts(const struct gt_fatbin *fatbin, const struct gt_fatbin_entry *best,
		       const struct gt_patch_options *options, struct gt_patch_image *image,
		       struct gt_diag *diag)
{
	gt_auto_cubin_ptx ptx = {0};
	int error = 0;

	for (size_t i = 0; i < fatbin->entry_count && !error; i++) {
		gt_auto_fatbin_payload payload = {0};

		if (!is_alternative(&fatbin->entries[i], best))
			continue;
		if (ptx.texts.count == GT_CUBIN_MAX_TEXTS)
			return gt_diag(diag, -E2BIG, "patch", NULL,
				       "the module is linked from more than %d others",
				       GT_CUBIN_MAX_TEXTS);
		error = gt_fatbin_extract(&fatbin->entries[i], &payload, diag);
		if (!error && gt_cubin_texts_add(&ptx.texts, payload.data, payload.size))
			error = fail_memory(diag);
	}
	gt_strbuf_add(&ptx.options, best->options, best->options_length);
	if (!error && ptx.options.failed)
		error = fail_memory(diag);
	return error ? error : patch_texts(&ptx, NULL, options, image, diag);
}

/* ---- images ----------------------------------------------------------------------------- */

int gt_patch_image(const void *data, size_t size, uint32_t device,
		   const struct gt_patch_options *options, struct gt_patch_image *ret_image,
		   struct gt_diag *diag)
{
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	gt_auto_fatbin_payload payload = {0};
	const struct gt_fatbin_entry *entry, *cubin;
	int error;

	*ret_image = (struct gt_patch_image){0};
	error = gt_fatbin_open(data, size, &fatbin, diag);
	if (error)
		return error;
	entry = gt_fatbin_best_ptx(fatbin, device);
	cubin = entry ? NULL : gt_fatbin_best_cubin(fatbin, device);
	if (entry && has_parts(fatbin, entry))
		return patch_parts(fatbin, entry, options, ret_image, diag);
	error = entry || cubin ? gt_fatbin_extract(entry ? entry : cubin, &payload, diag)
			       : -ENODATA;
	if (!error)
		error = entry ? patch_text(entry, &payload, options, ret_image, diag)
			      : patch_cubin(&payload, options, ret_image, diag);
	if (error == -ENODATA)
		gt_diag(diag, error, "patch", NULL, "SASS only: the module has no PTX for sm_%u",
			device);
	return error;
}
