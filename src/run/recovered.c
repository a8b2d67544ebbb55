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
	struct gt_hash *records; /* key of a cubin -> struct gt_cubin_texts */
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
	gt_cubin_texts_clear(record);
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

static size_t count_bytes(const struct gt_cubin_texts *texts)
{
	size_t bytes = 0;

	gt_vec_each (text, texts)
		bytes += text->length;
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
	struct recovered_name name = {.domain = "gputap PTX 1", .user = user};

	if (!cubin || cubin > GT_RECOVERED_MAX_CUBIN)
		return false;
	name.cubin = gt_sha256(data, cubin);
	*ret_key = gt_sha256(&name, sizeof(name));
	return true;
}

/* ---- files ----------------------------------------------------------------------------- */

/* A file: this, the length of each text, the texts. */
struct recovered_file {
	char magic[8];
	uint64_t count;
};

static const char file_magic[8] = {'g', 'p', 'u', 't', 'a', 'p', 'P', '1'};

/* A file that cannot be written is of no importance: the PTX is in memory. */
static void write_record(struct gt_recovered *recovered, const struct gt_sha256 *key,
			 const struct gt_cubin_texts *texts)
{
	struct recovered_file header = {.count = texts->count};
	gt_auto_strbuf bytes = GT_STRBUF_INIT;

	if (!recovered->files)
		return;
	memcpy(header.magic, file_magic, sizeof(header.magic));
	gt_strbuf_add(&bytes, (const char *)&header, sizeof(header));
	gt_vec_each (text, texts) {
		uint64_t length = text->length;

		gt_strbuf_add(&bytes, (const char *)&length, sizeof(length));
	}
	gt_vec_each (text, texts)
		gt_strbuf_add(&bytes, text->text, text->length);
	if (!bytes.failed)
		gt_file_cache_write(recovered->files, key, bytes.data, bytes.length);
}

/* Read the texts of a file. 0, -EINVAL, -ENOMEM. */
static int parse_record(const char *data, size_t size, struct gt_cubin_texts *texts)
{
	struct recovered_file header;
	const char *text;
	int error = 0;

	if (size < sizeof(header))
		return -EINVAL;
	memcpy(&header, data, sizeof(header));
	data += sizeof(header);
	size -= sizeof(header);
	if (memcmp(header.magic, file_magic, sizeof(header.magic)) != 0 ||
	    header.count > GT_CUBIN_MAX_TEXTS || header.count * sizeof(uint64_t) > size)
		return -EINVAL;
	text = data + header.count * sizeof(uint64_t);
	size -= header.count * sizeof(uint64_t);
	for (uint64_t i = 0; i < header.count && !error; i++) {
		uint64_t length;

		memcpy(&length, data + i * sizeof(length), sizeof(length));
		if (length > size || memchr(text, 0, length))
			return -EINVAL;
		error = gt_cubin_texts_add(texts, text, length);
		text += length;
		size -= length;
	}
	return error;
}

/* Find the record of an earlier run. 0, -ENODATA, -ENOMEM. */
static int read_record(struct gt_recovered *recovered, const struct gt_sha256 *key,
		       struct gt_cubin_texts *texts)
{
	struct gt_cubin_texts found = {0};
	gt_auto_file file = {0};
	int error = recovered->files ? gt_file_cache_read(recovered->files, key, &file) : -ENOENT;

	if (!error) {
		error = parse_record((const char *)file.data, file.size, &found);
		if (error == -EINVAL)
			gt_file_cache_remove(recovered->files, key);
	}
	if (!error)
		error = copy_texts(&found, texts);
	gt_cubin_texts_clear(&found);
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

/* Keep the texts of a cubin; they are taken over. */
static int keep_record(struct gt_recovered *recovered, const struct gt_sha256 *key,
		       struct gt_cubin_texts *texts)
{
	struct gt_cubin_texts *record = gt_hash_remove(recovered->records, key, sizeof(*key));
	size_t bytes = count_bytes(texts);

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
	write_record(recovered, key, texts);
	*record = *texts;
	*texts = (struct gt_cubin_texts){0};
	recovered->bytes += bytes;
	return 0;
}

int gt_recovered_find(void *context, const void *cubin, size_t size, struct gt_cubin_texts *texts)
{
	const struct gt_recovered_search *search = context;
	struct gt_recovered *recovered = search->recovered;
	const struct gt_cubin_texts *record;
	struct gt_sha256 key;

	if ((!recovered->files && !gt_recovered_count(recovered)) ||
	    !find_key(search->user, cubin, size, &key))
		return -ENODATA;
	record = gt_hash_get(recovered->records, &key, sizeof(key));
	return record ? copy_texts(record, texts) : read_record(recovered, &key, texts);
}

/* ---- reports --------------------------------------------------------------------------- */

struct recovered_report {
	struct gt_recovered_search search;
	const uint8_t *data;
	size_t size; /* of the parts */
	struct gt_agent_compiled compiled;
	uint32_t architecture; /* of the cubin */
	struct gt_cubin_texts texts;
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

static int add_text(struct recovered_report *report, const char *text, size_t size)
{
	if (report->texts.count == GT_CUBIN_MAX_TEXTS)
		return -ENODATA;
	return gt_cubin_texts_add(&report->texts, text, strnlen(text, size));
}

/* The PTX of machine code: its own, or that of an earlier report. */
static int add_cubin(struct recovered_report *report, const void *data, size_t size)
{
	gt_auto_cubin_ptx ptx = {0};
	int error = gt_cubin_ptx_read(data, size, &ptx, NULL);

	if (error == -ENODATA)
		return gt_recovered_find(&report->search, data, size, &report->texts);
	if (error)
		return error == -ENOMEM ? error : -ENODATA;
	return copy_texts(&ptx.texts, &report->texts);
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
			       ? 0
			       : add_code(report, data, part->size);
	case GT_AGENT_INPUT_LTOIR:
		report->has_ltoir = true;
		return 0;
	case GT_AGENT_INPUT_LIBRARY:
		/* Of the device runtime, which a linker adds where it is needed. */
		return 0;
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
	if (error || report->has_ltoir || !report->texts.count)
		return carries_ptx(cubin, part->size) ? 0 : -EAGAIN;
	if (count_bytes(&report->texts) > report->search.recovered->max_bytes)
		return -ENODATA;
	return keep_record(report->search.recovered, &key, &report->texts);
}

int gt_recovered_take(struct gt_recovered *recovered, uid_t user, const void *data, size_t size)
{
	struct recovered_report report = {.search = {.recovered = recovered, .user = user}};
	int error = read_report(data, size, &report) ? take_report(&report) : -EINVAL;

	gt_cubin_texts_clear(&report.texts);
	return error;
}
