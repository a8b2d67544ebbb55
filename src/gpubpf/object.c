/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects, read and relocated by libbpf without the kernel (its loader generator). */
#include "gpubpf/object.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "gpubpf/maps.h"

enum {
	MAX_OBJECT = 64 << 20,
};

bool gt_bpf_is_for_gpu(const char *section, const char *name)
{
	const char *target = NULL;

	if (!strncmp(section, "gpu/", 4))
		return true;
	if (!strncmp(section, "kprobe/", 7))
		target = section + 7;
	else if (!strncmp(section, "kretprobe/", 10))
		target = section + 10;
	return target && (!strncmp(target, "_Z", 2) || !strcmp(target, "__memcapture") ||
			  strstr(name, "cuda__") || strstr(name, "__cuda"));
}

/* The start of .BTF.ext (Documentation/bpf/btf.rst). */
struct ext_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t header_size;
	uint32_t functions, functions_size;
	uint32_t lines, lines_size;
	uint32_t relocations, relocations_size;
};

/* A kind of records in .BTF.ext, section by section. */
struct records {
	const uint8_t *data;
	uint32_t size, at, record_size;
};

struct section_records {
	uint32_t name, count;
	const uint8_t *first;
};

static bool begin_records(const struct gt_file *ext, uint32_t offset, uint32_t size,
			  struct records *ret_records)
{
	struct ext_header header;
	uint64_t start;

	memcpy(&header, ext->data, 8);
	start = (uint64_t)header.header_size + offset;
	if (size < 4 || start > ext->size || size > ext->size - start)
		return false;
	*ret_records = (struct records){.data = ext->data + start, .size = size, .at = 4};
	memcpy(&ret_records->record_size, ret_records->data, 4);
	return ret_records->record_size >= 8 && ret_records->record_size <= 256;
}

static bool next_section(struct records *records, struct section_records *ret_section)
{
	uint64_t bytes;

	if (records->size - records->at < 8)
		return false;
	memcpy(&ret_section->name, records->data + records->at, 4);
	memcpy(&ret_section->count, records->data + records->at + 4, 4);
	records->at += 8;
	bytes = (uint64_t)ret_section->count * records->record_size;
	if (bytes > records->size - records->at)
		return false;
	ret_section->first = records->data + records->at;
	records->at += (uint32_t)bytes;
	return true;
}

/* An object while it is read. */
struct reader {
	const char *path;
	struct bpf_object *source;
	struct gt_bpf_object *object;
	struct gt_file ext;
	struct ext_header header;
	struct gt_diag *diag;
};

static int damaged(struct reader *reader, const char *what)
{
	return gt_diag(reader->diag, -EINVAL, "object", reader->path, "%s", what);
}

static int no_memory(struct reader *reader)
{
	return gt_diag(reader->diag, -ENOMEM, "object", reader->path, "out of memory");
}

/* .BTF.ext as it stands in the file. Objects without type information have none. */
static int read_ext(struct reader *reader)
{
	struct btf_ext *ext = NULL;
	struct btf *btf = btf__parse_elf(reader->path, &ext);
	const void *data = NULL;
	uint32_t size = 0;
	int error = 0;

	if (btf && ext)
		data = btf_ext__get_raw_data(ext, &size);
	if (data && size >= 24) {
		reader->ext.data = malloc(size);
		if (!reader->ext.data)
			error = no_memory(reader);
		else
			memcpy(reader->ext.data, data, size);
		reader->ext.size = error ? 0 : size;
	}
	btf_ext__free(ext);
	btf__free(btf);
	if (error || !reader->ext.size)
		return error;
	memcpy(&reader->header, reader->ext.data, 24);
	if (reader->header.header_size >= sizeof(reader->header) && size >= sizeof(reader->header))
		memcpy(&reader->header, reader->ext.data, sizeof(reader->header));
	return 0;
}

static const struct bpf_program *program_of(struct reader *reader, const char *section,
					    unsigned *ret_count)
{
	struct bpf_program *program, *found = NULL;

	*ret_count = 0;
	bpf_object__for_each_program (program, reader->source) {
		if (strcmp(bpf_program__section_name(program), section))
			continue;
		found = program;
		++*ret_count;
	}
	return found;
}

/* CO-RE would have to be applied for a kernel, and there is none on a GPU. */
static int refuse_relocations(struct reader *reader)
{
	struct section_records section;
	struct records records;

	if (!reader->ext.size || reader->header.relocations_size <= 4)
		return 0;
	if (!begin_records(&reader->ext, reader->header.relocations,
			   reader->header.relocations_size, &records))
		return damaged(reader, "the CO-RE records in .BTF.ext are damaged");
	while (next_section(&records, &section)) {
		const char *name =
			btf__name_by_offset(bpf_object__btf(reader->source), section.name);
		const struct bpf_program *program;
		unsigned count;

		program = name && section.count ? program_of(reader, name, &count) : NULL;
		if (program && gt_bpf_is_for_gpu(name, bpf_program__name(program)))
			return gt_diag(reader->diag, -EOPNOTSUPP, "object", reader->path,
				       "section %s has CO-RE records, which describe types of "
				       "the Linux kernel: programs for the GPU cannot use them",
				       name);
	}
	return 0;
}

static int keep_string(struct reader *reader, const char *text, const char **ret_text)
{
	struct gt_bpf_object *object = reader->object;
	char **grown;

	if (!text)
		text = "";
	grown = realloc(object->strings, (object->string_count + 1) * sizeof(*grown));
	if (!grown)
		return no_memory(reader);
	object->strings = grown;
	grown[object->string_count] = strdup(text);
	if (!grown[object->string_count])
		return no_memory(reader);
	*ret_text = grown[object->string_count++];
	return 0;
}

/* Where the first of the functions behind a program begins, or its end. */
static uint32_t first_function(const struct gt_bpf_program *program)
{
	int64_t first = program->count;

	for (uint32_t at = 0; at < program->count; at++) {
		int64_t target = gt_bpf_jump_target(program->insns, at);

		if (gt_bpf_is_subprogram_call(&program->insns[at]) && target > 0 && target < first)
			first = target;
		at += gt_bpf_is_wide(&program->insns[at]);
	}
	return (uint32_t)first;
}

static int add_lines(struct reader *reader, struct gt_bpf_program *program,
		     const struct section_records *section, uint32_t record_size)
{
	const struct btf *btf = bpf_object__btf(reader->source);

	program->lines = calloc(section->count + 1u, sizeof(*program->lines));
	if (!program->lines)
		return no_memory(reader);
	for (uint32_t i = 0; i < section->count; i++) {
		struct gt_bpf_line *line = &program->lines[program->line_count];
		uint32_t fields[4]; /* byte, file, text, line << 10 | column */
		const char *text;
		int error;

		memcpy(fields, section->first + (size_t)i * record_size, sizeof(fields));
		if (program->line_count && fields[0] / 8 < line[-1].insn)
			return damaged(reader, "the lines in .BTF.ext are not in order");
		if (!(fields[3] >> 10)) /* made by the compiler: the line before goes on */
			continue;
		line->insn = fields[0] / 8;
		line->line = fields[3] >> 10;
		text = btf__name_by_offset(btf, fields[2]);
		error = keep_string(reader, btf__name_by_offset(btf, fields[1]), &line->file);
		if (!error)
			error = keep_string(reader, text ? text + strspn(text, " \t") : NULL,
					    &line->text);
		if (error)
			return error;
		program->line_count++;
	}
	/* The functions behind the program have no lines of it. */
	program->lines[program->line_count++] =
		(struct gt_bpf_line){.insn = first_function(program), .file = "", .text = ""};
	return 0;
}

/* The lines of a program that has its section to itself. */
static int read_lines(struct reader *reader, struct gt_bpf_program *program)
{
	struct section_records section;
	struct records records;
	unsigned programs;

	program_of(reader, program->section, &programs);
	if (programs != 1 || !bpf_object__btf(reader->source) || reader->header.lines_size <= 4)
		return 0;
	if (!begin_records(&reader->ext, reader->header.lines, reader->header.lines_size,
			   &records) ||
	    records.record_size < 16)
		return damaged(reader, "the lines in .BTF.ext are damaged");
	while (next_section(&records, &section)) {
		const char *name =
			btf__name_by_offset(bpf_object__btf(reader->source), section.name);

		if (name && !strcmp(name, program->section))
			return add_lines(reader, program, &section, records.record_size);
	}
	return 0;
}

static int read_program(struct reader *reader, const struct bpf_program *source)
{
	struct gt_bpf_program *program = &reader->object->programs[reader->object->program_count++];
	size_t count = bpf_program__insn_cnt(source);

	program->name = strdup(bpf_program__name(source));
	program->section = strdup(bpf_program__section_name(source));
	program->insns = calloc(count + 1, sizeof(*program->insns));
	if (!program->name || !program->section || !program->insns)
		return no_memory(reader);
	memcpy(program->insns, bpf_program__insns(source), count * sizeof(*program->insns));
	program->count = (uint32_t)count;
	return read_lines(reader, program);
}

static int read_map(struct reader *reader, const struct bpf_map *source)
{
	struct gt_bpf_map *map = &reader->object->maps[reader->object->map_count++];
	const void *initial;
	size_t size = 0;

	snprintf(map->name, sizeof(map->name), "%s", bpf_map__name(source));
	map->type = bpf_map__type(source);
	map->key_size = bpf_map__key_size(source);
	map->value_size = bpf_map__value_size(source);
	map->max_entries = bpf_map__max_entries(source);
	map->flags = bpf_map__map_flags(source);
	map->read_only = map->flags & BPF_F_RDONLY_PROG;
	map->constant = map->read_only && bpf_map__is_internal(source);
	initial = bpf_map__initial_value((struct bpf_map *)source, &size);
	if (initial && size) {
		map->initial = calloc(1, size > map->value_size ? size : map->value_size);
		if (!map->initial)
			return no_memory(reader);
		memcpy(map->initial, initial, size);
	}
	return gt_map_check(map, reader->diag);
}

/* Has libbpf relocate the programs for the GPU; those for Linux are left alone. */
static int relocate(struct reader *reader)
{
	LIBBPF_OPTS(gen_loader_opts, options);
	struct bpf_program *program;

	bpf_object__for_each_program (program, reader->source) {
		bpf_program__set_type(program, BPF_PROG_TYPE_SOCKET_FILTER);
		bpf_program__set_autoload(program,
					  gt_bpf_is_for_gpu(bpf_program__section_name(program),
							    bpf_program__name(program)));
	}
	if (bpf_object__gen_loader(reader->source, &options) || bpf_object__load(reader->source))
		return damaged(reader, "libbpf cannot relocate its programs");
	return 0;
}

static int read_all(struct reader *reader)
{
	struct bpf_program *program;
	const struct bpf_map *map;
	uint32_t programs = 0, maps = 0;
	int error = 0;

	bpf_object__for_each_program (program, reader->source)
		programs++;
	bpf_object__for_each_map (map, reader->source)
		maps++;
	reader->object->programs = calloc(programs + 1u, sizeof(*reader->object->programs));
	reader->object->maps = calloc(maps + 1u, sizeof(*reader->object->maps));
	if (!reader->object->programs || !reader->object->maps)
		return no_memory(reader);
	bpf_object__for_each_map (map, reader->source) {
		error = read_map(reader, map);
		if (error)
			return error;
	}
	bpf_object__for_each_program (program, reader->source) {
		if (!bpf_program__autoload(program))
			continue;
		error = read_program(reader, program);
		if (error)
			return error;
	}
	return 0;
}

static int open_source(struct reader *reader)
{
	gt_auto_file file = {0};
	int error = gt_file_read(reader->path, MAX_OBJECT, &file, reader->diag);

	if (error)
		return error;
	reader->source = bpf_object__open_mem(file.data, file.size, NULL);
	if (!reader->source)
		return damaged(reader, "this is no object for eBPF, or damaged");
	return read_ext(reader);
}

int gt_bpf_object_open(const char *path, struct gt_bpf_object **ret_object, struct gt_diag *diag)
{
	gt_auto(bpf_object) struct gt_bpf_object *object = calloc(1, sizeof(*object));
	struct reader reader = {.path = path, .object = object, .diag = diag};
	libbpf_print_fn_t printer;
	int error;

	if (!object)
		return no_memory(&reader);
	/* Libraries do not print; libbpf has one printer for the process. */
	printer = libbpf_set_print(NULL);
	error = open_source(&reader);
	if (!error)
		error = refuse_relocations(&reader);
	if (!error)
		error = relocate(&reader);
	if (!error)
		error = read_all(&reader);
	bpf_object__close(reader.source);
	gt_file_free(&reader.ext);
	libbpf_set_print(printer);
	if (!error)
		*ret_object = gt_take(object);
	return error;
}
