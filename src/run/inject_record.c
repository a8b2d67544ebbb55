/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The file of a patched image, in the byte order of the machine: it is read by the gputap that
 * wrote it.
 *
 *	struct record_header
 *	matched kernels       their names, each as a text
 *	rejections            struct record_rejection, function, reason
 *	sites                 struct record_site, function, instruction, and for each location
 *	                      struct record_location, file, function
 *	fatbin
 *
 * A text is its length in a u32, its bytes and a NUL.
 */
#include "run/inject_record.h"

#include <errno.h>
#include <string.h>

#include "fatbin/fatbin.h"
#include "ptx/source.h"
#include "run/inject_sites.h"

enum {
	FORMAT = 3,
	MAX_TEXT = 1 << 20, /* bytes of a name */
	MAX_KERNELS = 1 << 20,
	MAX_REJECTIONS = 1 << 20,
};

static const char magic[8] = "gputap\r\n";

struct record_header {
	char magic[8];
	uint32_t format, zero;
	struct gt_inject_record record;
	uint64_t fatbin_size;
};

struct record_rejection {
	uint32_t program, sites, has_function;
};

struct record_site {
	uint32_t kinds, line, loop_line, location_count, is_kernel;
};

struct record_location {
	uint32_t line, column, has_function;
};

void gt_inject_stored_clear(struct gt_inject_stored *stored)
{
	gt_vec_free(&stored->kernels);
	gt_vec_free(&stored->sites);
	gt_vec_free(&stored->locations);
	gt_vec_free(&stored->rejections);
}

/* ---- writing --------------------------------------------------------------------------- */

static void put_text(struct gt_strbuf *bytes, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);

	gt_strbuf_add(bytes, (const char *)&length, sizeof(length));
	gt_strbuf_add(bytes, text, length + 1);
}

static void put_rejection(struct gt_strbuf *bytes, const struct gt_patch_rejection *rejection)
{
	const struct record_rejection fixed = {
		.program = rejection->program,
		.sites = rejection->sites,
		.has_function = rejection->function != NULL,
	};

	gt_strbuf_add(bytes, (const char *)&fixed, sizeof(fixed));
	if (rejection->function)
		put_text(bytes, rejection->function);
	put_text(bytes, rejection->reason);
}

static void put_location(struct gt_strbuf *bytes, const struct gt_inject_location *location)
{
	const struct record_location fixed = {
		.line = location->line,
		.column = location->column,
		.has_function = location->function != NULL,
	};

	gt_strbuf_add(bytes, (const char *)&fixed, sizeof(fixed));
	put_text(bytes, location->file);
	if (location->function)
		put_text(bytes, location->function);
}

static void put_site(struct gt_strbuf *bytes, const struct gt_inject_site *site)
{
	const struct record_site fixed = {
		.kinds = site->kinds,
		.line = site->line,
		.loop_line = site->loop_line,
		.location_count = site->location_count,
		.is_kernel = site->is_kernel,
	};

	gt_strbuf_add(bytes, (const char *)&fixed, sizeof(fixed));
	put_text(bytes, site->function);
	put_text(bytes, site->text);
	for (uint32_t i = 0; i < site->location_count; i++)
		put_location(bytes, &site->locations[i]);
}

int gt_inject_stored_print(const struct gt_inject_stored *stored, struct gt_strbuf *bytes)
{
	struct record_header header;

	/* Not a byte of it is undefined: equal records are equal files. */
	memset(&header, 0, sizeof(header));
	memcpy(header.magic, magic, sizeof(magic));
	header.format = FORMAT;
	memcpy(&header.record, &stored->record, sizeof(header.record));
	header.fatbin_size = stored->fatbin_size;
	gt_strbuf_add(bytes, (const char *)&header, sizeof(header));
	gt_vec_each (name, &stored->kernels)
		put_text(bytes, *name);
	gt_vec_each (rejection, &stored->rejections)
		put_rejection(bytes, rejection);
	gt_vec_each (site, &stored->sites)
		put_site(bytes, site);
	gt_strbuf_add(bytes, stored->fatbin, stored->fatbin_size);
	return bytes->failed ? -ENOMEM : 0;
}

/* ---- reading --------------------------------------------------------------------------- */

struct record_reader {
	const char *at, *end;
	bool failed;
};

static void read_bytes(struct record_reader *reader, void *to, size_t size)
{
	if ((size_t)(reader->end - reader->at) < size || reader->failed) {
		reader->failed = true;
		memset(to, 0, size);
		return;
	}
	memcpy(to, reader->at, size);
	reader->at += size;
}

static const char *read_text(struct record_reader *reader, uint32_t max)
{
	const char *text;
	uint32_t length;

	read_bytes(reader, &length, sizeof(length));
	if (reader->failed || length > max || (size_t)(reader->end - reader->at) <= length ||
	    strnlen(reader->at, (size_t)length + 1) != length) {
		reader->failed = true;
		return "";
	}
	text = reader->at;
	reader->at += (size_t)length + 1;
	return text;
}

static bool is_terminated(const char *text, size_t size)
{
	return strnlen(text, size) < size;
}

static uint32_t max_of(const uint32_t *counts)
{
	uint32_t max = 0;

	for (uint32_t i = 0; i < GT_PATCH_MAX_PROGRAMS; i++)
		max = counts[i] > max ? counts[i] : max;
	return max;
}

/* Sites that were rejected may have no numbers. */
static bool is_scope_possible(const struct gt_inject_record *record, uint32_t program_count)
{
	switch (record->scope) {
	case GT_PATCH_NONE:
		return !record->patched;
	case GT_PATCH_SIDE:
	case GT_PATCH_WHOLE:
		return record->patched && record->kernel_count &&
		       record->kernel_count <= record->compiled &&
		       record->patched <= (uint64_t)record->site_count * program_count;
	}
	return false;
}

/* Whether the numbers of a record are possible, and fit together. */
static bool is_possible(const struct gt_inject_record *record, uint32_t program_count)
{
	for (uint32_t i = program_count; i < GT_PATCH_MAX_PROGRAMS; i++)
		if (record->sites[i] || record->kernels[i])
			return false;
	return is_scope_possible(record, program_count) && record->kernel_count <= MAX_KERNELS &&
	       record->compiled <= record->module_kernels &&
	       record->first_kernel <= UINT32_MAX - record->kernel_count &&
	       record->site_count <= GT_INJECT_MAX_SITES &&
	       record->first_site <= UINT32_MAX - record->site_count &&
	       (uint64_t)record->patched + record->rejected == record->found &&
	       max_of(record->sites) <= record->site_count &&
	       max_of(record->kernels) <= record->kernel_count &&
	       record->rejection_count <= MAX_REJECTIONS &&
	       is_terminated(record->device_symbol, sizeof(record->device_symbol)) &&
	       is_terminated(record->whole_reason, sizeof(record->whole_reason));
}

static int read_kernels(struct record_reader *reader, struct gt_inject_stored *stored)
{
	int error = 0;

	for (uint32_t i = 0; i < stored->record.kernel_count && !error && !reader->failed; i++) {
		const char *name = read_text(reader, MAX_TEXT);

		reader->failed |= !*name;
		error = gt_vec_push(&stored->kernels, name);
	}
	return error;
}

static int read_rejections(struct record_reader *reader, struct gt_inject_stored *stored,
			   uint32_t program_count)
{
	uint64_t sites = 0;
	int error = 0;

	for (uint32_t i = 0; i < stored->record.rejection_count && !error && !reader->failed; i++) {
		struct gt_patch_rejection rejection = {0};
		struct record_rejection fixed;

		read_bytes(reader, &fixed, sizeof(fixed));
		rejection.program = fixed.program;
		rejection.sites = fixed.sites;
		if (fixed.has_function)
			rejection.function = read_text(reader, MAX_TEXT);
		strcpy(rejection.reason, read_text(reader, sizeof(rejection.reason) - 1));
		reader->failed |= fixed.program >= program_count;
		sites += fixed.sites;
		error = gt_vec_push(&stored->rejections, rejection);
	}
	reader->failed |= sites != stored->record.rejected;
	return error;
}

static int read_location(struct record_reader *reader, struct gt_inject_stored *stored)
{
	struct gt_inject_location location = {0};
	struct record_location fixed;

	read_bytes(reader, &fixed, sizeof(fixed));
	location.line = fixed.line;
	location.column = fixed.column;
	location.file = read_text(reader, MAX_TEXT);
	if (fixed.has_function)
		location.function = read_text(reader, MAX_TEXT);
	return gt_vec_push(&stored->locations, location);
}

static int read_site(struct record_reader *reader, struct gt_inject_stored *stored)
{
	struct gt_inject_site site = {0};
	struct record_site fixed;
	int error = 0;

	read_bytes(reader, &fixed, sizeof(fixed));
	reader->failed |= fixed.location_count > GT_PTX_MAX_INLINED;
	site.kinds = fixed.kinds;
	site.line = fixed.line;
	site.loop_line = fixed.loop_line;
	site.is_kernel = fixed.is_kernel;
	site.location_count = fixed.location_count;
	site.function = read_text(reader, MAX_TEXT);
	site.text = read_text(reader, GT_INJECT_MAX_SITE_TEXT);
	for (uint32_t i = 0; i < site.location_count && !reader->failed && !error; i++)
		error = read_location(reader, stored);
	return error ? error : gt_vec_push(&stored->sites, site);
}

static int read_sites(struct record_reader *reader, struct gt_inject_stored *stored)
{
	size_t first = 0;
	int error = 0;

	for (uint32_t i = 0; i < stored->record.site_count && !error && !reader->failed; i++)
		error = read_site(reader, stored);
	/* The array is where it stays. */
	gt_vec_each (site, &stored->sites) {
		if (error || reader->failed || !site->location_count)
			continue;
		site->locations = &stored->locations.items[first];
		first += site->location_count;
	}
	return error;
}

/* Whether it is a container with PTX alone. */
static bool is_patched_image(const void *fatbin, size_t size)
{
	gt_auto(fatbin) struct gt_fatbin *opened = NULL;

	return gt_fatbin_classify(fatbin, size) == GT_FATBIN_IMAGE_FATBIN &&
	       !gt_fatbin_open(fatbin, size, &opened, NULL) && opened->entry_count == 1 &&
	       opened->entries[0].kind == GT_FATBIN_KIND_PTX;
}

int gt_inject_stored_parse(const void *data, size_t size, uint32_t program_count,
			   struct gt_inject_stored *ret_stored)
{
	struct record_reader reader = {.at = data, .end = (const char *)data + size};
	struct record_header header;
	int error;

	*ret_stored = (struct gt_inject_stored){0};
	read_bytes(&reader, &header, sizeof(header));
	if (reader.failed || memcmp(header.magic, magic, sizeof(magic)) != 0 ||
	    header.format != FORMAT || !is_possible(&header.record, program_count))
		return -EINVAL;
	ret_stored->record = header.record;
	error = read_kernels(&reader, ret_stored);
	if (!error)
		error = read_rejections(&reader, ret_stored, program_count);
	if (!error)
		error = read_sites(&reader, ret_stored);
	if (error)
		return error;
	if (reader.failed || header.fatbin_size != (uint64_t)(reader.end - reader.at) ||
	    (header.record.scope == GT_PATCH_NONE
		     ? header.fatbin_size != 0
		     : !is_patched_image(reader.at, header.fatbin_size)))
		return -EINVAL;
	ret_stored->fatbin = reader.at;
	ret_stored->fatbin_size = header.fatbin_size;
	return 0;
}
