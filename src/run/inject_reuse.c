/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/inject_reuse.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_cache.h"
#include "base/hash.h"
#include "run/inject_private.h"

enum {
	GET_PID_TGID = 14, /* the helper */
	MAX_KNOWN = 1 << 16,
	MAX_FILES = 256, /* descriptors */
};

#define MAX_FILE_BYTES (UINT64_C(512) << 20) /* of the files of replies */
#define MAX_STORED_BYTES (UINT64_C(256) << 20)

struct gt_inject_reuse {
	struct gt_sha256 session;    /* what all texts of this run depend on */
	struct gt_hash *known;       /* by key: struct gt_inject_known, owned */
	struct gt_file_cache *files; /* NULL: none */
	struct gt_inject_unmatched *unmatched;
	uint64_t time, bytes;
	uint32_t file_count;
	bool needs_thread; /* a program has the thread's number in its text */
};

/* ---- keys ------------------------------------------------------------------------------ */

static void put_bytes(struct gt_strbuf *text, const void *data, size_t size)
{
	uint64_t length = size;

	gt_strbuf_add(text, (const char *)&length, sizeof(length));
	if (size)
		gt_strbuf_add(text, data, size);
}

static void put_string(struct gt_strbuf *text, const char *string)
{
	put_bytes(text, string ? string : "", string ? strlen(string) : 0);
}

static void put_number(struct gt_strbuf *text, uint64_t number)
{
	put_bytes(text, &number, sizeof(number));
}

/* The program that patches: another build may print another text. */
static void put_build(struct gt_strbuf *text)
{
	struct stat status;

	if (stat("/proc/self/exe", &status))
		return;
	put_number(text, (uint64_t)status.st_size);
	put_number(text, (uint64_t)status.st_mtim.tv_sec);
	put_number(text, (uint64_t)status.st_mtim.tv_nsec);
}

static void put_program(struct gt_strbuf *text, const struct gt_patch_program *program)
{
	put_string(text, program->section.text);
	put_number(text, program->section.kind);
	put_number(text, program->section.level);
	if (!program->program)
		return;
	put_string(text, program->program->name);
	put_bytes(text, program->program->insns,
		  program->program->count * sizeof(*program->program->insns));
}

static void put_map(struct gt_strbuf *text, const struct gt_bpf_map *map)
{
	const uint32_t shape[] = {map->type,      map->key_size,  map->value_size, map->max_entries,
				  map->flags,     map->read_only, map->constant,   map->host_only,
				  map->with_host, map->internal,  map->stripes};

	put_bytes(text, shape, sizeof(shape));
	/* Programs have the values of constants in their text. */
	if (!map->constant)
		return;
	put_bytes(text, map->initial, map->initial ? map->value_size : 0);
	put_bytes(text, map->presets,
		  map->presets ? map->preset_count * (map->key_size + map->value_size) : 0);
}

static void put_session(const struct gt_inject *inject, struct gt_strbuf *text)
{
	const struct gt_inject_options *options = &inject->options;

	put_build(text);
	for (uint32_t i = 0; i < options->program_count; i++)
		put_program(text, &options->programs[i]);
	for (uint32_t i = 0; i < inject->map_count; i++)
		put_map(text, &options->object->maps[i]);
	put_bytes(text, inject->memory.words,
		  (inject->map_count + 1) * sizeof(*inject->memory.words));
	put_number(text, gt_inject_address(inject, inject->host_calls.offset));
	put_number(text, options->switchable);
	put_number(text, gt_inject_address(inject, inject->memory.shapes));
	put_number(text, gt_inject_address(inject, inject->memory.switches));
	for (uint32_t i = 0; i < options->kernel_count; i++)
		put_string(text, options->kernels[i]);
}

static void put_texts(const struct gt_cubin_text *texts, size_t count, struct gt_strbuf *text)
{
	for (size_t i = 0; i < count; i++) {
		const struct gt_sha256 digest = gt_sha256(texts[i].text, texts[i].length);

		put_bytes(text, &digest, sizeof(digest));
	}
	put_number(text, count);
}

/* What the patched text depends on, numbers excepted. False: no memory. */
static bool make_key(const struct gt_inject_query *query, const struct gt_patch_source *source,
		     struct gt_sha256 *ret_key)
{
	const struct gt_fatbin_entry *entry = source->entry;
	gt_auto_strbuf text = GT_STRBUF_INIT;

	put_bytes(&text, &query->inject->reuse->session, sizeof(struct gt_sha256));
	put_number(&text, query->capability);
	put_number(&text, source->whole);
	put_number(&text, entry->flags);
	put_bytes(&text, entry->name, entry->name ? entry->name_length : 0);
	put_bytes(&text, entry->options, entry->options ? entry->options_length : 0);
	put_texts(source->texts, source->text_count, &text);
	for (size_t i = 0; i < source->object_count; i++) {
		const struct gt_fatbin_entry *object = source->objects[i];
		const struct gt_sha256 digest = gt_sha256(object->payload, object->payload_size);

		put_bytes(&text, &digest, sizeof(digest));
	}
	put_texts(source->archives, source->archive_count, &text);
	for (size_t i = 0; source->cubin && i < source->cubin->count; i++)
		put_string(&text, source->cubin->kernels[i].name);
	*ret_key = gt_sha256(text.data, text.length);
	return !text.failed;
}

/* The name of the file of a text, which has its numbers. */
static struct gt_sha256 file_key(const struct gt_inject_query *query, uint32_t first_site,
				 uint32_t first_kernel)
{
	struct {
		struct gt_sha256 key;
		uint32_t first_site, first_kernel;
	} numbered = {query->key, first_site, first_kernel};

	return gt_sha256(&numbered, sizeof(numbered));
}

/* ---- the table ------------------------------------------------------------------------- */

static bool calls_helper(const struct gt_bpf_program *program, int32_t helper)
{
	for (uint32_t i = 0; i < program->count; i++) {
		const struct bpf_insn *insn = &program->insns[i];

		if (gt_bpf_is_wide(insn))
			i++;
		else if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
			 insn->imm == helper)
			return true;
	}
	return false;
}

/* Runs do without files. */
static void open_files(const char *cache, struct gt_inject_reuse *reuse)
{
	gt_auto_strbuf directory = GT_STRBUF_INIT;

	gt_strbuf_printf(&directory, "%s/patched", cache);
	if (!directory.failed)
		gt_file_cache_open(directory.data, MAX_STORED_BYTES, &reuse->files);
}

int gt_inject_reuse_new(const struct gt_inject *inject, struct gt_inject_reuse **ret_reuse)
{
	struct gt_inject_reuse *reuse = calloc(1, sizeof(*reuse));
	const struct gt_inject_options *options = &inject->options;
	gt_auto_strbuf session = GT_STRBUF_INIT;

	put_session(inject, &session);
	if (reuse)
		reuse->known = gt_hash_new();
	if (!reuse || !reuse->known || session.failed) {
		gt_inject_reuse_free(reuse);
		return -ENOMEM;
	}
	reuse->session = gt_sha256(session.data, session.length);
	for (uint32_t i = 0; i < options->program_count; i++)
		reuse->needs_thread |= options->programs[i].program &&
				       calls_helper(options->programs[i].program, GET_PID_TGID);
	if (options->cache && !reuse->needs_thread)
		open_files(options->cache, reuse);
	if (gt_inject_unmatched_new(reuse->files, &reuse->session, &reuse->unmatched)) {
		gt_inject_reuse_free(reuse);
		return -ENOMEM;
	}
	*ret_reuse = reuse;
	return 0;
}

static void free_known(void *value)
{
	struct gt_inject_known *known = value;

	gt_vec_each (rejection, &known->rejections)
		free((char *)rejection->function);
	gt_vec_free(&known->rejections);
	gt_cleanup_close(&known->file);
	free(known);
}

static int copy_rejections(const struct gt_patch_rejection *rejections, uint32_t count,
			   gt_inject_rejections *copies)
{
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		struct gt_patch_rejection copy = rejections[i];

		if (copy.function)
			copy.function = strdup(copy.function);
		error = rejections[i].function && !copy.function ? -ENOMEM
								 : gt_vec_push(copies, copy);
		if (error)
			free((char *)copy.function);
	}
	return error;
}

void gt_inject_reuse_free(struct gt_inject_reuse *reuse)
{
	if (!reuse)
		return;
	gt_inject_unmatched_free(reuse->unmatched);
	gt_hash_free_with(reuse->known, free_known);
	gt_file_cache_close(reuse->files);
	free(reuse);
}

struct gt_inject_unmatched *gt_inject_reuse_unmatched(const struct gt_inject_reuse *reuse)
{
	return reuse->unmatched;
}

/* Close the file that was used least recently. False: there is none. */
static bool close_oldest(struct gt_inject_reuse *reuse)
{
	struct gt_inject_known *oldest = NULL;
	size_t cursor = 0;
	void *value;

	while (gt_hash_next(reuse->known, &cursor, NULL, NULL, &value)) {
		struct gt_inject_known *known = value;

		if (known->file >= 0 && (!oldest || known->used < oldest->used))
			oldest = known;
	}
	if (!oldest)
		return false;
	close(gt_take_fd(&oldest->file));
	reuse->bytes -= oldest->bytes;
	reuse->file_count--;
	return true;
}

static void keep_file(struct gt_inject_reuse *reuse, struct gt_inject_known *known, int file)
{
	known->bytes = known->reply.size + known->reply.names_size;
	if (file < 0 || known->file >= 0 || known->bytes > MAX_FILE_BYTES)
		return;
	while (reuse->file_count >= MAX_FILES || reuse->bytes + known->bytes > MAX_FILE_BYTES)
		if (!close_oldest(reuse))
			return;
	known->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
	if (known->file < 0)
		return;
	reuse->bytes += known->bytes;
	reuse->file_count++;
}

/* The known image can be sent as it is. */
static bool has_reply(const struct gt_inject_query *query)
{
	const struct gt_inject_known *known = query->known;

	return known &&
	       (known->reply.verdict == GT_AGENT_ORIGINAL || known->error ||
		(known->file >= 0 && (!known->thread || known->thread == query->pid_tgid)));
}

/* ---- files ----------------------------------------------------------------------------- */

/* Read the file of an earlier run, of the same numbers. */
static bool read_stored(struct gt_inject_query *query, uint32_t first_site, uint32_t first_kernel)
{
	struct gt_inject *inject = query->inject;
	const struct gt_sha256 key = file_key(query, first_site, first_kernel);
	const struct gt_inject_record *record = &query->stored.record;
	struct gt_file_cache *files = inject->reuse->files;

	if (!files || gt_file_cache_read(files, &key, &query->file))
		return false;
	if (!gt_inject_stored_parse(query->file.data, query->file.size,
				    inject->options.program_count, &query->stored) &&
	    record->first_site == first_site && record->first_kernel == first_kernel &&
	    (!query->known || (query->known->record.site_count == record->site_count &&
			       query->known->record.kernel_count == record->kernel_count)))
		return true;
	gt_file_cache_remove(files, &key);
	gt_inject_stored_clear(&query->stored);
	query->stored = (struct gt_inject_stored){0};
	return false;
}

void gt_inject_reuse_store(const struct gt_inject_query *query,
			   const struct gt_inject_stored *stored)
{
	struct gt_file_cache *files = query->inject->reuse->files;
	gt_auto_strbuf bytes = GT_STRBUF_INIT;
	struct gt_sha256 key;

	if (!files || !query->has_key || stored->sites.count != stored->record.site_count ||
	    gt_inject_stored_print(stored, &bytes))
		return;
	key = file_key(query, stored->record.first_site, stored->record.first_kernel);
	/* A full disk is no error of the run. */
	gt_file_cache_write(files, &key, bytes.data, bytes.length);
}

/* ---- queries --------------------------------------------------------------------------- */

bool gt_inject_reuse_find(struct gt_inject_query *query, const struct gt_patch_source *source)
{
	struct gt_inject_reuse *reuse = query->inject->reuse;

	query->has_key = make_key(query, source, &query->key);
	if (!query->has_key)
		return false;
	query->known = gt_hash_get(reuse->known, &query->key, sizeof(query->key));
	if (query->known) {
		query->known->used = ++reuse->time;
		query->first_site = query->known->record.first_site;
		query->first_kernel = query->known->record.first_kernel;
	}
	return has_reply(query) || (source->text_count == 1 &&
				    read_stored(query, query->first_site, query->first_kernel));
}

struct gt_inject_known *gt_inject_reuse_keep(const struct gt_inject_query *query,
					     const struct gt_inject_record *record,
					     const struct gt_patch_rejection *rejections,
					     const struct gt_agent_reply *reply, int file)
{
	struct gt_inject_reuse *reuse = query->inject->reuse;
	struct gt_inject_known *known = query->known;

	if (known) {
		/* Its file had to be made again. */
		if (!known->thread)
			keep_file(reuse, known, file);
		return known;
	}
	if (!query->has_key || gt_hash_count(reuse->known) == MAX_KNOWN)
		return NULL;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->record = *record;
	known->reply = *reply;
	known->file = -1;
	known->thread = reuse->needs_thread ? query->pid_tgid : 0;
	known->used = ++reuse->time;
	if (copy_rejections(rejections, record->rejection_count, &known->rejections) ||
	    gt_hash_set(reuse->known, &query->key, sizeof(query->key), known)) {
		free_known(known);
		return NULL;
	}
	keep_file(reuse, known, file);
	return known;
}

void gt_inject_query_clear(struct gt_inject_query *query)
{
	gt_inject_stored_clear(&query->stored);
	gt_file_free(&query->file);
}
