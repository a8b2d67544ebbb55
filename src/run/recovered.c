/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/recovered.h"

#include <errno.h>
#include <string.h>

#include "agent/protocol.h"
#include "base/file_cache.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "fatbin/fatbin.h"

struct gt_recovered {
	struct gt_hash *records; /* key of a cubin -> struct gt_cubin_ptx, without options */
	size_t bytes, max_bytes, dropped;
	struct gt_file_cache *files; /* NULL: none */
};

struct gt_recovered *gt_recovered_new(const char *directory)
{
	gt_auto(recovered) struct gt_recovered *recovered = calloc(1, sizeof(*recovered));

	if (recovered) {
		recovered->records = gt_hash_new();
		recovered->max_bytes = GT_RECOVERED_MAX_BYTES;
	}
	if (recovered && directory)
		gt_file_cache_open(directory, GT_RECOVERED_MAX_STORED, &recovered->files);
	return recovered && recovered->records ? gt_take(recovered) : NULL;
}

static void free_record(void *record)
{
	gt_cubin_ptx_clear(record);
	free(record);
}

void gt_recovered_free(struct gt_recovered *recovered)
{
	if (!recovered)
		return;
	if (recovered->records)
		gt_hash_free_with(recovered->records, free_record);
	gt_file_cache_close(recovered->files);
	free(recovered);
}

void gt_recovered_set_limit(struct gt_recovered *recovered, size_t bytes)
{
	recovered->max_bytes = bytes;
}

size_t gt_recovered_count(const struct gt_recovered *recovered)
{
	return gt_hash_count(recovered->records);
}

size_t gt_recovered_dropped(const struct gt_recovered *recovered)
{
	return recovered->dropped;
}

/* ---- records --------------------------------------------------------------------------- */

static size_t count_bytes(const struct gt_cubin_ptx *ptx)
{
	size_t bytes = 0;

	gt_vec_each (text, &ptx->texts)
		bytes += text->length;
	gt_vec_each (archive, &ptx->archives)
		bytes += archive->length;
	return bytes;
}

static int copy_texts(const struct gt_cubin_texts *from, struct gt_cubin_texts *to)
{
	int error = 0;

	gt_vec_each (text, from) {
		if (to->count == GT_CUBIN_MAX_TEXTS)
			return -ENODATA;
		error = error ? error : gt_cubin_texts_add(to, text->text, text->length);
	}
	return error;
}

static int copy_ptx(const struct gt_cubin_ptx *from, struct gt_cubin_ptx *to)
{
	int error = copy_texts(&from->texts, &to->texts);

	return error ? error : copy_texts(&from->archives, &to->archives);
}

/* What the key of a record is the digest of. */
struct recovered_name {
	char domain[16];
	uint64_t user;
	struct gt_sha256 cubin;
};

/* The key of a user's cubin, whatever follows it. False: it is none, or too large. */
static bool find_key(uid_t user, const void *data, size_t size, struct gt_sha256 *ret_key)
{
	size_t cubin = gt_cubin_size(data, size);
	struct recovered_name name = {.domain = "gputap PTX 2", .user = user};

	if (!cubin || cubin > GT_RECOVERED_MAX_CUBIN)
		return false;
	name.cubin = gt_sha256(data, cubin);
	*ret_key = gt_sha256(&name, sizeof(name));
	return true;
}

/* ---- files ----------------------------------------------------------------------------- */

/* A file: this, the length of each text and archive, the texts, the archives. */
struct recovered_file {
	char magic[8];
	uint64_t texts, archives; /* their numbers */
};

static const char file_magic[8] = {'g', 'p', 'u', 't', 'a', 'p', 'P', '2'};

static void put_lengths(const struct gt_cubin_texts *texts, struct gt_strbuf *bytes)
{
	gt_vec_each (text, texts) {
		uint64_t length = text->length;

		gt_strbuf_add(bytes, (const char *)&length, sizeof(length));
	}
}

static void put_contents(const struct gt_cubin_texts *texts, struct gt_strbuf *bytes)
{
	gt_vec_each (text, texts)
		gt_strbuf_add(bytes, text->text, text->length);
}

/* A file that cannot be written is of no importance: the PTX is in memory. */
static void write_record(struct gt_recovered *recovered, const struct gt_sha256 *key,
			 const struct gt_cubin_ptx *ptx)
{
	struct recovered_file header = {.texts = ptx->texts.count, .archives = ptx->archives.count};
	gt_auto_strbuf bytes = GT_STRBUF_INIT;

	if (!recovered->files)
		return;
	memcpy(header.magic, file_magic, sizeof(header.magic));
	gt_strbuf_add(&bytes, (const char *)&header, sizeof(header));
	put_lengths(&ptx->texts, &bytes);
	put_lengths(&ptx->archives, &bytes);
	put_contents(&ptx->texts, &bytes);
	put_contents(&ptx->archives, &bytes);
	if (!bytes.failed)
		gt_file_cache_write(recovered->files, key, bytes.data, bytes.length);
}

/* What is not read yet of a file. */
struct recovered_rest {
	const char *lengths, *contents;
	size_t size; /* of the contents */
};

/* Read some texts or, which may have NULs, archives. 0, -EINVAL, -ENOMEM. */
static int parse_texts(struct recovered_rest *rest, uint64_t count, bool is_text,
		       struct gt_cubin_texts *texts)
{
	int error = 0;

	for (uint64_t i = 0; i < count && !error; i++) {
		uint64_t length;

		memcpy(&length, rest->lengths, sizeof(length));
		if (length > rest->size || (is_text && memchr(rest->contents, 0, length)))
			return -EINVAL;
		error = gt_cubin_texts_add(texts, rest->contents, length);
		rest->lengths += sizeof(length);
		rest->contents += length;
		rest->size -= length;
	}
	return error;
}

/* Read a file. 0, -EINVAL, -ENOMEM. */
static int parse_record(const char *data, size_t size, struct gt_cubin_ptx *ptx)
{
	struct recovered_file header;
	struct recovered_rest rest;
	size_t lengths;
	int error;

	if (size < sizeof(header))
		return -EINVAL;
	memcpy(&header, data, sizeof(header));
	if (memcmp(header.magic, file_magic, sizeof(header.magic)) != 0 ||
	    header.texts > GT_CUBIN_MAX_TEXTS || header.archives > GT_CUBIN_MAX_TEXTS)
		return -EINVAL;
	lengths = (header.texts + header.archives) * sizeof(uint64_t);
	if (lengths > size - sizeof(header))
		return -EINVAL;
	rest.lengths = data + sizeof(header);
	rest.contents = rest.lengths + lengths;
	rest.size = size - sizeof(header) - lengths;
	error = parse_texts(&rest, header.texts, true, &ptx->texts);
	return error ? error : parse_texts(&rest, header.archives, false, &ptx->archives);
}

/* Find the record of an earlier run. 0, -ENODATA, -ENOMEM. */
static int read_record(struct gt_recovered *recovered, const struct gt_sha256 *key,
		       struct gt_cubin_ptx *ptx)
{
	gt_auto_cubin_ptx found = {0};
	gt_auto_file file = {0};
	int error = recovered->files ? gt_file_cache_read(recovered->files, key, &file) : -ENOENT;

	if (!error) {
		error = parse_record((const char *)file.data, file.size, &found);
		if (error == -EINVAL)
			gt_file_cache_remove(recovered->files, key);
	}
	if (!error)
		error = copy_ptx(&found, ptx);
	return error && error != -ENOMEM ? -ENODATA : error;
}

/* ---- memory ---------------------------------------------------------------------------- */

static void drop_oldest(struct gt_recovered *recovered)
{
	size_t cursor = 0, length;
	const void *key;
	void *record;

	if (!gt_hash_next(recovered->records, &cursor, &key, &length, &record))
		return;
	recovered->bytes -= count_bytes(record);
	recovered->dropped++;
	gt_hash_remove(recovered->records, key, length);
	free_record(record);
}

/* Keep the PTX of a cubin; it is taken over. */
static int keep_record(struct gt_recovered *recovered, const struct gt_sha256 *key,
		       struct gt_cubin_ptx *ptx)
{
	struct gt_cubin_ptx *record = gt_hash_remove(recovered->records, key, sizeof(*key));
	size_t bytes = count_bytes(ptx);

	if (record) {
		recovered->bytes -= count_bytes(record);
		free_record(record);
	}
	while (recovered->bytes + bytes > recovered->max_bytes && gt_hash_count(recovered->records))
		drop_oldest(recovered);
	record = malloc(sizeof(*record));
	if (!record || gt_hash_set(recovered->records, key, sizeof(*key), record)) {
		free(record);
		return -ENOMEM;
	}
	write_record(recovered, key, ptx);
	*record = *ptx;
	*ptx = (struct gt_cubin_ptx){0};
	recovered->bytes += bytes;
	return 0;
}

int gt_recovered_find(void *context, const void *cubin, size_t size, struct gt_cubin_ptx *ptx)
{
	const struct gt_recovered_search *search = context;
	struct gt_recovered *recovered = search->recovered;
	const struct gt_cubin_ptx *record;
	struct gt_sha256 key;

	if ((!recovered->files && !gt_recovered_count(recovered)) ||
	    !find_key(search->user, cubin, size, &key))
		return -ENODATA;
	record = gt_hash_get(recovered->records, &key, sizeof(key));
	return record ? copy_ptx(record, ptx) : read_record(recovered, &key, ptx);
}

/* ---- reports --------------------------------------------------------------------------- */

struct recovered_report {
	struct gt_recovered_search search;
	const uint8_t *data;
	size_t size; /* of the parts */
	struct gt_agent_compiled compiled;
	uint32_t architecture; /* of the cubin */
	struct gt_cubin_ptx ptx;
	bool has_ltoir;
};

static bool is_inside(const struct recovered_report *report, const struct gt_agent_part *part)
{
	return part->offset <= report->size && part->size <= report->size - part->offset;
}

static bool read_report(const void *data, size_t size, struct recovered_report *report)
{
	struct gt_agent_compiled *compiled = &report->compiled;

	if (size < sizeof(*compiled))
		return false;
	report->data = data;
	report->size = size - sizeof(*compiled);
	memcpy(compiled, report->data + report->size, sizeof(*compiled));
	if (compiled->magic != GT_AGENT_MAGIC || compiled->input_count > GT_AGENT_MAX_INPUTS ||
	    !is_inside(report, &compiled->cubin))
		return false;
	for (uint32_t i = 0; i < compiled->input_count; i++)
		if (!is_inside(report, &compiled->inputs[i]))
			return false;
	return true;
}

/* Add a copy; inputs of a malicious report may overlap. */
static int add_bytes(struct recovered_report *report, struct gt_cubin_texts *texts,
		     const char *bytes, size_t size)
{
	size_t max = report->search.recovered->max_bytes, used = count_bytes(&report->ptx);

	if (texts->count == GT_CUBIN_MAX_TEXTS || used > max || size > max - used)
		return -E2BIG;
	return gt_cubin_texts_add(texts, bytes, size);
}

static int add_text(struct recovered_report *report, const char *text, size_t size)
{
	return add_bytes(report, &report->ptx.texts, text, strnlen(text, size));
}

static int add_ptx(struct recovered_report *report, const struct gt_cubin_ptx *ptx)
{
	int error = 0;

	gt_vec_each (text, &ptx->texts)
		error = error ? error
			      : add_bytes(report, &report->ptx.texts, text->text, text->length);
	gt_vec_each (archive, &ptx->archives)
		error = error ? error
			      : add_bytes(report, &report->ptx.archives, archive->text,
					  archive->length);
	return error;
}

/* The PTX of machine code: its own, or that of an earlier report. */
static int add_cubin(struct recovered_report *report, const void *data, size_t size)
{
	gt_auto_cubin_ptx ptx = {0};
	int error = gt_cubin_ptx_read(data, size, &ptx, NULL);

	if (error == -ENODATA)
		error = gt_recovered_find(&report->search, data, size, &ptx);
	if (error)
		return error == -ENOMEM ? error : -ENODATA;
	return add_ptx(report, &ptx);
}

/* The PTX of an input whose type its bytes show. */
static int add_code(struct recovered_report *report, const void *data, size_t size)
{
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;
	gt_auto_fatbin_payload payload = {0};
	const struct gt_fatbin_entry *entry;
	int error = gt_fatbin_open(data, size, &fatbin, NULL);

	if (error)
		return error == -ENOMEM ? error : -ENODATA;
	entry = gt_fatbin_best_ptx(fatbin, report->architecture);
	if (!entry)
		entry = gt_fatbin_best_cubin(fatbin, report->architecture);
	if (!entry)
		return -ENODATA;
	error = gt_fatbin_extract(entry, &payload, NULL);
	if (error)
		return error == -ENOMEM ? error : -ENODATA;
	return entry->kind == GT_FATBIN_KIND_PTX ? add_text(report, payload.data, payload.size)
						 : add_cubin(report, payload.data, payload.size);
}

static int add_input(struct recovered_report *report, uint32_t number)
{
	const struct gt_agent_part *part = &report->compiled.inputs[number];
	const void *data = report->data + part->offset;

	switch (report->compiled.kinds[number]) {
	case GT_AGENT_INPUT_PTX:
		return add_text(report, data, part->size);
	case GT_AGENT_INPUT_CODE:
		return gt_fatbin_classify(data, part->size) == GT_FATBIN_IMAGE_ARCHIVE
			       ? add_bytes(report, &report->ptx.archives, data, part->size)
			       : add_code(report, data, part->size);
	case GT_AGENT_INPUT_LTOIR:
		report->has_ltoir = true;
		return 0;
	case GT_AGENT_INPUT_LIBRARY:
		/* Such as the device runtime's. */
		return add_bytes(report, &report->ptx.archives, data, part->size);
	default:
		return -EINVAL;
	}
}

static uint32_t architecture_of(const void *cubin, size_t size)
{
	gt_auto(fatbin) struct gt_fatbin *fatbin = NULL;

	if (gt_fatbin_open(cubin, size, &fatbin, NULL) || fatbin->entry_count != 1)
		return 0;
	return fatbin->entries[0].architecture;
}

/* Whether the cubin carries its PTX, so that no report is needed. */
static bool carries_ptx(const void *cubin, size_t size)
{
	gt_auto_cubin_ptx ptx = {0};

	return !gt_cubin_ptx_read(cubin, size, &ptx, NULL);
}

static int take_report(struct recovered_report *report)
{
	const struct gt_agent_part *part = &report->compiled.cubin;
	const uint8_t *cubin = report->data + part->offset;
	struct gt_sha256 key;
	int error = 0;

	if (!find_key(report->search.user, cubin, part->size, &key))
		return -EINVAL;
	report->architecture = architecture_of(cubin, part->size);
	for (uint32_t i = 0; i < report->compiled.input_count && !error; i++)
		error = add_input(report, i);
	if (error && error != -ENODATA)
		return error;
	if (error || report->has_ltoir || !report->ptx.texts.count)
		return carries_ptx(cubin, part->size) ? 0 : -EAGAIN;
	return keep_record(report->search.recovered, &key, &report->ptx);
}

int gt_recovered_take(struct gt_recovered *recovered, uid_t user, const void *data, size_t size)
{
	struct recovered_report report = {.search = {.recovered = recovered, .user = user}};
	int error = read_report(data, size, &report) ? take_report(&report) : -EINVAL;

	gt_cubin_ptx_clear(&report.ptx);
	return error;
}
