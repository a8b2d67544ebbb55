/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "patch/image.h"

#include <errno.h>
#include <string.h>

#include "base/ptx_names.h"
#include "elf/demangle.h"
#include "patch/linked.h"
#include "patch/private.h"
#include "spirv/module.h"

void gt_patch_image_clear(struct gt_patch_image *image)
{
	gt_strbuf_free(&image->fatbin);
	gt_strbuf_free(&image->inputs);
	gt_patch_result_clear(&image->result);
	gt_ptx_free(image->module);
	image->module = NULL;
	gt_vec_each (part, &image->parts) {
		gt_patch_result_clear(&part->result);
		gt_ptx_free(part->module);
	}
	gt_vec_free(&image->parts);
	gt_vec_each (name, &image->names)
		free(*name);
	gt_vec_free(&image->names);
	gt_spirv_module_free(image->spirv);
	image->spirv = NULL;
}

/* ---- names ----------------------------------------------------------------------------- */

bool gt_patch_name_may_match(const char *name, bool is_entry,
			     const struct gt_patch_options *options)
{
	gt_auto_strbuf demangled = GT_STRBUF_INIT;

	gt_demangle(name, &demangled);
	if (demangled.failed)
		return true;
	if (options->observer)
		options->observer->see(options->observer->context, name,
				       gt_strbuf_string(&demangled), is_entry);
	if (is_entry && !gt_patch_wants(options, name, gt_strbuf_string(&demangled)))
		return false;
	for (uint32_t i = 0; i < options->program_count; i++)
		if (gt_section_matches(&options->programs[i].section, name,
				       gt_strbuf_string(&demangled)))
			return true;
	return false;
}

bool gt_patch_may_match(const char *text, size_t length, const struct gt_patch_options *options)
{
	const char *at = text, *end = text + length;
	enum gt_ptx_names_state state;
	struct gt_ptx_name found;
	bool matches = false;

	/* An observer is to see all names. */
	while ((!matches || options->observer) &&
	       (state = gt_ptx_next_name(&at, end, &found)) == GT_PTX_NAMES_FOUND) {
		gt_autofree char *name = strndup(found.text, found.length);

		matches |= !name || gt_patch_name_may_match(name, found.is_entry, options);
	}
	return matches || state == GT_PTX_NAMES_DOUBT;
}

/* ---- the container --------------------------------------------------------------------- */

int gt_patch_wrap_text(const struct gt_fatbin_entry *entry, const struct gt_strbuf *text,
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

/* ---- PTX of a cubin --------------------------------------------------------------------- */

/*
 * Programs are translated for sm_60 and later ones. The driver compiles an older module for the
 * device all the same, so that where the device is a later one the module can be, too. Before sm_20
 * targets had options that later ones have not.
 */
static void raise_target(struct gt_ptx_module *module, uint32_t device)
{
	enum { FERMI = 20, PASCAL = 60, PASCAL_VERSION = 50 };

	if (module->sm >= FERMI && module->sm < PASCAL && device >= PASCAL)
		gt_ptx_raise_target(module, PASCAL, PASCAL_VERSION);
}

static int parse_texts(const struct gt_patch_source *source, uint32_t device,
		       struct gt_patch_image *image, struct gt_diag *diag)
{
	for (size_t i = 0; i < source->text_count; i++) {
		const struct gt_cubin_text *text = &source->texts[i];
		struct gt_patch_part part = {0};
		int error = gt_ptx_parse(text->text, text->length, &part.module, diag);

		if (error)
			return error;
		raise_target(part.module, device);
		if (gt_vec_push(&image->parts, part)) {
			gt_ptx_free(part.module);
			return gt_patch_fail_memory(diag);
		}
	}
	return 0;
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
	return gt_patch_wrap_text(entry, &image->result.text, &image->fatbin, diag);
}

/* The texts as they are, to be loaded in place of the cubin. */
static int keep_texts(const struct gt_patch_source *source, struct gt_patch_image *image,
		      struct gt_diag *diag)
{
	if (source->text_count == 1) {
		const struct gt_strbuf text = {.data = (char *)source->texts[0].text,
					       .length = source->texts[0].length};

		return gt_patch_wrap_text(source->entry, &text, &image->fatbin, diag);
	}
	gt_patch_put_texts(source, image);
	return image->inputs.failed ? gt_patch_fail_memory(diag) : 0;
}

/* Replace the PTX that a cubin carries by what is known of it, which has source lines. */
static void prefer_known(const struct gt_fatbin_payload *payload,
			 const struct gt_patch_recovery *recovery, struct gt_cubin_ptx *ptx)
{
	struct gt_cubin_ptx known = {0};

	if (!recovery->find(recovery->context, payload->data, payload->size, &known)) {
		gt_cubin_texts_clear(&ptx->texts);
		ptx->texts = known.texts;
		ptx->archives = known.archives;
		known = (struct gt_cubin_ptx){0};
	}
	gt_cubin_ptx_clear(&known);
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
		error = recovery->find(recovery->context, payload->data, payload->size, ret_ptx);
	else if (!error && recovery)
		prefer_known(payload, recovery, ret_ptx);
	if (error == -ENOMEM)
		return gt_patch_fail_memory(diag);
	return error ? -ENODATA : 0;
}

static int select_cubin(const struct gt_patch_options *options,
			struct gt_patch_selection *selection, struct gt_diag *diag)
{
	const struct gt_fatbin_payload *payload = &selection->payload;
	bool recovered;
	int error = find_ptx(payload, options, &selection->ptx, &recovered, diag);

	if (!error && gt_cubin_read(payload->data, payload->size, &selection->cubin, NULL))
		error = -ENODATA;
	if (error)
		return error;
	selection->keep = recovered && options->recovery->always;
	selection->source.cubin = &selection->cubin;
	/* Whether the texts have all of its kernels is found later. */
	selection->source.is_incomplete = false;
	/* The original of a side module is loaded, too, which it cannot be there. */
	selection->source.whole = options->whole || selection->keep;
	return 0;
}

/* ---- the parts of a linked program ------------------------------------------------------ */

/*
 * Each part has a container: the PTX that the driver would compile is in it, or machine code alone,
 * as of the device runtime. The program's own container, of the result, has machine code.
 */
static int list_parts(uint32_t device, struct gt_patch_selection *selection)
{
	struct gt_fatbin container;
	size_t cursor = 0;
	int error = 0;

	while (gt_fatbin_next_container(selection->fatbin, &cursor, &container) && !error) {
		const struct gt_fatbin_entry *ptx = gt_fatbin_best_ptx(&container, device);
		const struct gt_fatbin_entry *cubin =
			ptx ? NULL : gt_fatbin_best_cubin(&container, device);

		if (cubin && gt_patch_is_object(cubin))
			error = gt_vec_push(&selection->objects, cubin);
		else if (cubin && !selection->code)
			selection->code = cubin;
		/* Such as LTO bitcode, of which the linked cubin of the program was made. */
		selection->source.is_incomplete |= !ptx && !cubin;
		for (size_t i = 0; ptx && i < container.entry_count && !error; i++)
			if (gt_fatbin_is_part(&container.entries[i], ptx))
				error = gt_vec_push(&selection->parts, &container.entries[i]);
	}
	selection->source.is_incomplete &= selection->code != NULL;
	selection->source.objects = selection->objects.items;
	selection->source.object_count = selection->objects.count;
	return error;
}

/* Check the size of all parts before memory is allocated for any of them. */
static int check_parts(const struct gt_patch_selection *selection, struct gt_diag *diag)
{
	uint64_t budget = GT_FATBIN_MAX_PAYLOAD;

	if (selection->parts.count > GT_CUBIN_MAX_TEXTS)
		return gt_diag(diag, -E2BIG, "patch", NULL,
			       "the module is linked from more than %d others", GT_CUBIN_MAX_TEXTS);
	gt_vec_each (part, &selection->parts) {
		if ((*part)->size > budget)
			return gt_diag(diag, -E2BIG, "patch", NULL,
				       "the module is linked from more than %d MiB of PTX",
				       GT_FATBIN_MAX_PAYLOAD >> 20);
		budget -= (*part)->size;
	}
	return 0;
}

/* The texts of several PTX entries, each with its options. */
static int select_parts(struct gt_patch_selection *selection, struct gt_diag *diag)
{
	struct gt_cubin_ptx *ptx = &selection->ptx;
	int error = check_parts(selection, diag);

	if (error)
		return error;
	gt_vec_each (part, &selection->parts) {
		gt_auto_fatbin_payload payload = {0};

		error = gt_fatbin_extract(*part, &payload, diag);
		if (!error && gt_cubin_texts_add(&ptx->texts, payload.data, payload.size))
			error = gt_patch_fail_memory(diag);
		if (error)
			return error;
	}
	selection->source.entries = selection->parts.items;
	return 0;
}

/* ---- selecting -------------------------------------------------------------------------- */

void gt_patch_selection_clear(struct gt_patch_selection *selection)
{
	gt_cubin_free(&selection->cubin);
	gt_cubin_ptx_clear(&selection->ptx);
	gt_fatbin_payload_free(&selection->payload);
	gt_vec_free(&selection->parts);
	gt_vec_free(&selection->objects);
	gt_fatbin_free(selection->fatbin);
	*selection = (struct gt_patch_selection){0};
}

/* The PTX of an entry, which the driver would compile. */
static void select_text(const struct gt_fatbin_entry *entry, struct gt_patch_selection *selection)
{
	selection->text = (struct gt_cubin_text){.text = selection->payload.data,
						 .length = selection->payload.size};
	selection->source.entry = entry;
	selection->source.texts = &selection->text;
	selection->source.text_count = 1;
}

/* The texts that were found, with the options that belong to them. */
static void select_texts(struct gt_patch_selection *selection)
{
	selection->entry = (struct gt_fatbin_entry){
		.options = gt_strbuf_string(&selection->ptx.options),
		.options_length = (uint32_t)selection->ptx.options.length,
	};
	selection->source.entry = &selection->entry;
	selection->source.texts = selection->ptx.texts.items;
	selection->source.text_count = selection->ptx.texts.count;
	selection->source.archives = selection->ptx.archives.items;
	selection->source.archive_count = selection->ptx.archives.count;
}

static int select_source(uint32_t device, const struct gt_patch_options *options,
			 struct gt_patch_selection *selection, struct gt_diag *diag)
{
	const struct gt_fatbin_entry *ptx, *entry;
	bool is_linked;
	int error;

	if (list_parts(device, selection))
		return gt_patch_fail_memory(diag);
	ptx = selection->parts.count ? selection->parts.items[0] : NULL;
	is_linked = selection->parts.count > 1;
	/* A relocatable cubin may be all there is. */
	if (!ptx && !selection->code) {
		selection->code = gt_fatbin_best_cubin(selection->fatbin, device);
		selection->source.object_count = 0;
	}
	entry = ptx ? ptx : selection->code;
	if (!entry)
		return -ENODATA;
	selection->source.whole = options->whole;
	error = is_linked ? select_parts(selection, diag)
			  : gt_fatbin_extract(entry, &selection->payload, diag);
	if (!error && !ptx)
		error = select_cubin(options, selection, diag);
	if (error)
		return error;
	if (ptx && !is_linked)
		select_text(ptx, selection);
	else
		select_texts(selection);
	return 0;
}

static int report_sass(int error, uint32_t device, struct gt_diag *diag)
{
	return error != -ENODATA ? error
				 : gt_diag(diag, error, "patch", NULL,
					   "SASS only: the module has no PTX for sm_%u", device);
}

int gt_patch_select(const void *data, size_t size, uint32_t device,
		    const struct gt_patch_options *options,
		    struct gt_patch_selection *ret_selection, struct gt_diag *diag)
{
	const struct gt_patch_source *source = &ret_selection->source;
	int error;

	*ret_selection = (struct gt_patch_selection){0};
	error = gt_fatbin_open(data, size, &ret_selection->fatbin, diag);
	if (!error)
		error = select_source(device, options, ret_selection, diag);
	for (size_t i = 0; i < source->text_count && !error; i++)
		ret_selection->matches |=
			(!ret_selection->matches || options->observer) &&
			gt_patch_may_match(source->texts[i].text, source->texts[i].length, options);
	if (!error && (!ret_selection->matches || options->observer))
		ret_selection->matches |= gt_patch_code_may_match(source, options);
	return report_sass(error, device, diag);
}

/* ---- patching --------------------------------------------------------------------------- */

static int patch_source(const struct gt_patch_source *source, uint32_t device,
			const struct gt_patch_options *options, struct gt_patch_image *image,
			struct gt_diag *diag)
{
	struct gt_patch_options changed = *options;
	struct gt_patch_objects objects = {0};
	bool is_linked;
	int error = parse_texts(source, device, image, diag);

	changed.whole = source->whole;
	if (!error)
		error = gt_patch_read_objects(source, image, &objects, diag);
	if (!error && source->cubin)
		error = gt_patch_check_kernels(source->cubin, image, &objects, device, diag);
	if (!error && source->cubin)
		error = gt_patch_check_variables(image, &objects, diag);
	is_linked = source->text_count > 1 || objects.cubins.count || objects.archive_count;
	if (!error)
		error = is_linked ? gt_patch_linked(source, &objects, device, &changed, image, diag)
				  : patch_single(source->entry, &changed, image, diag);
	/* Its look-ups would find nothing in what is loaded in its place. */
	if (!error && source->is_incomplete && image->result.scope == GT_PATCH_WHOLE)
		error = gt_diag(diag, -ENODATA, "patch", NULL,
				"SASS only: a part of the module has no PTX for sm_%u", device);
	if (!error)
		error = gt_patch_reject_code(source, &objects, device, options, image, diag);
	gt_patch_objects_clear(&objects);
	return error;
}

int gt_patch_selected(const struct gt_patch_selection *selection, uint32_t device,
		      const struct gt_patch_options *options, struct gt_patch_image *ret_image,
		      struct gt_diag *diag)
{
	const struct gt_patch_source *source = &selection->source;
	int error = 0;

	*ret_image = (struct gt_patch_image){0};
	if (selection->matches)
		error = patch_source(source, device, options, ret_image, diag);
	if (!error && selection->keep && ret_image->result.scope == GT_PATCH_NONE)
		error = keep_texts(source, ret_image, diag);
	return report_sass(error, device, diag);
}

int gt_patch_image(const void *data, size_t size, uint32_t device,
		   const struct gt_patch_options *options, struct gt_patch_image *ret_image,
		   struct gt_diag *diag)
{
	struct gt_patch_selection selection;
	int error = gt_patch_select(data, size, device, options, &selection, diag);

	*ret_image = (struct gt_patch_image){0};
	if (!error)
		error = gt_patch_selected(&selection, device, options, ret_image, diag);
	gt_patch_selection_clear(&selection);
	return error;
}
