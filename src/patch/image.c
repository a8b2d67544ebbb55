/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/image.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "elf/demangle.h"
#include "fatbin/cubin.h"
#include "fatbin/cubin_ptx.h"
#include "fatbin/fatbin.h"

void gt_patch_image_clear(struct gt_patch_image *image)
{
	gt_strbuf_free(&image->fatbin);
	gt_patch_result_clear(&image->result);
	gt_ptx_free(image->module);
	image->module = NULL;
}

/* ---- names ----------------------------------------------------------------------------- */

static bool matches_any(const char *name, const struct gt_patch_options *options)
{
	gt_auto_strbuf demangled = GT_STRBUF_INIT;

	gt_demangle(name, &demangled);
	if (demangled.failed)
		return true;
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
			if (!name || matches_any(name, options))
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

/* Whether the text has all kernels of a cubin. 0 or -ENODATA. */
static int check_kernels(const struct gt_ptx_module *module, const struct gt_cubin *cubin,
			 struct gt_diag *diag)
{
	gt_auto(hash) struct gt_hash *names = gt_hash_new();
	int error = names ? 0 : -ENOMEM;

	for (const struct gt_ptx_function *function = module->functions; function && !error;
	     function = function->next)
		if (function->is_entry && function->body)
			error = gt_hash_set_str(names, function->name, names);
	if (error)
		return gt_diag(diag, error, "patch", NULL, "out of memory");
	for (size_t i = 0; i < cubin->count; i++)
		if (!gt_hash_get_str(names, cubin->kernels[i].name))
			return gt_diag(diag, -ENODATA, "patch", NULL,
				       "SASS only: the PTX of kernel %s is missing",
				       cubin->kernels[i].name);
	return 0;
}

/*
 * Patch a text. cubin: the machine code that it was compiled to, or NULL: all of its kernels must
 * be in the text.
 */
static int patch_text(const struct gt_fatbin_entry *entry, const char *text, size_t length,
		      const struct gt_cubin *cubin, const struct gt_patch_options *options,
		      struct gt_patch_image *image, struct gt_diag *diag)
{
	int error;

	if (!gt_patch_may_match(text, length, options))
		return 0;
	error = gt_ptx_parse(text, length, &image->module, diag);
	if (!error && cubin)
		error = check_kernels(image->module, cubin, diag);
	if (!error)
		error = gt_patch_module(image->module, options, &image->result, diag);
	if (error || image->result.scope == GT_PATCH_NONE)
		return error;
	return wrap_text(entry, &image->result.text, &image->fatbin, diag);
}

/* Patch the PTX that a cubin carries. -ENODATA without a diag: it carries none. */
static int patch_cubin(const struct gt_fatbin_payload *payload,
		       const struct gt_patch_options *options, struct gt_patch_image *image,
		       struct gt_diag *diag)
{
	gt_auto_cubin_ptx ptx = {0};
	gt_auto_cubin cubin = {0};
	struct gt_fatbin_entry entry = {0};
	int error = gt_cubin_ptx_read(payload->data, payload->size, &ptx, NULL);

	if (!error)
		error = gt_cubin_read(payload->data, payload->size, &cubin, NULL);
	if (error)
		return error == -ENOMEM ? gt_diag(diag, error, "patch", NULL, "out of memory")
					: -ENODATA;
	if (ptx.texts.count > 1)
		return gt_diag(diag, -ENODATA, "patch", NULL,
			       "SASS only: the cubin was linked from %zu modules", ptx.texts.count);
	entry.options = gt_strbuf_string(&ptx.options);
	entry.options_length = (uint32_t)ptx.options.length;
	return patch_text(&entry, ptx.texts.items[0].text, ptx.texts.items[0].length, &cubin,
			  options, image, diag);
}

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
	error = entry || cubin ? gt_fatbin_extract(entry ? entry : cubin, &payload, diag)
			       : -ENODATA;
	if (!error && entry)
		error = patch_text(entry, payload.data, payload.size, NULL, options, ret_image,
				   diag);
	else if (!error)
		error = patch_cubin(&payload, options, ret_image, diag);
	if (error == -ENODATA)
		gt_diag(diag, error, "patch", NULL, "SASS only: the module has no PTX for sm_%u",
			device);
	return error;
}
