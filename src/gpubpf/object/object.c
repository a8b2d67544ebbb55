/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Read objects; libbpf relocates them without the kernel (by its loader generator). */
#include "gpubpf/object/object.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "gpubpf/helpers.h"
#include "gpubpf/map/map.h"
#include "gpubpf/object/private.h"
#include "gpubpf/section.h"

enum {
	MAX_OBJECT = 64 << 20,
	MIN_EXT_HEADER = 24, /* of .BTF.ext, without CO-RE relocations */
};

#define NOT_AN_OBJECT "not an eBPF object, or malformed"

static bool is_gpu_section(const char *section, const char *name)
{
	struct gt_section read;

	return gt_section_read(section, name, &read, NULL) || read.kind != GT_KIND_HOST;
}

/* Whether a program calls a helper that only GPUs have. */
static bool calls_gpu_helper(const struct bpf_program *program)
{
	const struct bpf_insn *insns = bpf_program__insns(program);
	size_t count = bpf_program__insn_cnt(program);

	for (size_t i = 0; i < count; i++)
		if (insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg &&
		    insns[i].imm >= GT_FIRST_GPU_HELPER)
			return true;
	return false;
}

bool gt_bpf_is_for_gpu(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	return is_gpu_section(section, bpf_program__name(program)) ||
	       (calls_gpu_helper(program) && is_gpu_section(section, NULL));
}

int gt_object_malformed(struct gt_object_reader *reader, const char *problem)
{
	return gt_diag(reader->diag, -EINVAL, "object", reader->path, "%s", problem);
}

int gt_object_no_memory(struct gt_object_reader *reader)
{
	return gt_diag(reader->diag, -ENOMEM, "object", reader->path, "out of memory");
}

/* Objects without type information have no .BTF.ext. One that libbpf rejects is ignored. */
static int read_ext(struct gt_object_reader *reader)
{
	struct btf_ext *ext;

	if (!gt_object_copy_section(reader->file, ".BTF.ext", &reader->ext))
		return 0;
	if (!reader->ext.data)
		return gt_object_no_memory(reader);
	ext = btf_ext__new(reader->ext.data, (uint32_t)reader->ext.size);
	if (libbpf_get_error(ext)) {
		gt_file_free(&reader->ext);
		return 0;
	}
	btf_ext__free(ext);
	/* CO-RE relocations are an extension of the header. */
	memcpy(&reader->header, reader->ext.data, MIN_EXT_HEADER);
	if (reader->header.header_size >= sizeof(reader->header) &&
	    reader->ext.size >= sizeof(reader->header))
		memcpy(&reader->header, reader->ext.data, sizeof(reader->header));
	return 0;
}

static int read_program(struct gt_object_reader *reader, const struct bpf_program *source)
{
	struct gt_bpf_program *program = &reader->object->programs[reader->object->program_count++];
	size_t count = bpf_program__insn_cnt(source);

	program->name = strdup(bpf_program__name(source));
	program->section = strdup(reader->in_text ? ".text" : bpf_program__section_name(source));
	program->insns = calloc(count + 1, sizeof(*program->insns));
	if (!program->name || !program->section || !program->insns)
		return gt_object_no_memory(reader);
	memcpy(program->insns, bpf_program__insns(source), count * sizeof(*program->insns));
	program->count = (uint32_t)count;
	gt_object_find_remainders(program->insns, program->count);
	return gt_object_check_externs(reader, program) ?: gt_object_read_records(reader, program);
}

static int read_host_program(struct gt_object_reader *reader, const struct bpf_program *source)
{
	struct gt_bpf_object *object = reader->object;
	struct gt_bpf_host_program *program = &object->host_programs[object->host_program_count++];

	program->name = strdup(bpf_program__name(source));
	program->section = strdup(bpf_program__section_name(source));
	return program->name && program->section ? 0 : gt_object_no_memory(reader);
}

static int read_map(struct gt_object_reader *reader, const struct bpf_map *source)
{
	struct gt_bpf_map *map = &reader->object->maps[reader->object->map_count++];
	const void *initial;
	size_t size = 0;

	gt_object_take_types(reader, reader->object->map_count - 1);
	snprintf(map->name, sizeof(map->name), "%s", bpf_map__name(source));
	map->type = bpf_map__type(source);
	map->key_size = bpf_map__key_size(source);
	map->value_size = bpf_map__value_size(source);
	map->max_entries = bpf_map__max_entries(source);
	map->flags = bpf_map__map_flags(source);
	map->read_only = map->flags & BPF_F_RDONLY_PROG;
	map->write_only = map->flags & BPF_F_WRONLY_PROG;
	map->constant = map->read_only && bpf_map__is_internal(source);
	initial = bpf_map__initial_value((struct bpf_map *)source, &size);
	if (initial && size) {
		map->initial = calloc(1, size > map->value_size ? size : map->value_size);
		if (!map->initial)
			return gt_object_no_memory(reader);
		memcpy(map->initial, initial, size);
	}
	return 0;
}

static int check_map(struct gt_object_reader *reader, struct gt_bpf_map *map)
{
	struct gt_diag diag = {0};

	if (map->host_only || !gt_bpf_map_check(map, &diag))
		return 0;
	map->host_only = true;
	map->problem = strdup(diag.text);
	return map->problem ? 0 : gt_object_no_memory(reader);
}

/* Claim the maps that a GPU program uses for the GPU, except for those with a problem. */
static void claim_maps(struct gt_bpf_object *object, const struct gt_bpf_program *program)
{
	for (uint32_t at = 0; at < program->count; at++) {
		const struct bpf_insn *insn = &program->insns[at];

		if (!gt_bpf_is_wide(insn))
			continue;
		if (insn->src_reg && (uint32_t)insn->imm < object->map_count)
			object->maps[insn->imm].host_only = object->maps[insn->imm].problem;
		at++;
	}
}

void gt_bpf_object_keep(struct gt_bpf_object *object, const struct gt_bpf_program *program)
{
	for (uint32_t i = 0; i < object->map_count; i++)
		object->maps[i].host_only |= !object->maps[i].with_host;
	claim_maps(object, program);
}

/* Maps that only host programs use may be of any type. */
static int check_maps(struct gt_object_reader *reader)
{
	struct gt_bpf_object *object = reader->object;
	int error = 0;

	for (uint32_t i = 0; i < object->map_count; i++)
		object->maps[i].host_only = true;
	for (uint32_t i = 0; i < object->program_count; i++) {
		claim_maps(object, &object->programs[i]);
		gt_object_find_histograms(object, &object->programs[i]);
	}
	for (uint32_t i = 0; !error && i < object->map_count; i++)
		error = check_map(reader, &object->maps[i]);
	return error;
}

/* Have libbpf relocate the GPU programs; host programs stay as they are. */
static int relocate(struct gt_object_reader *reader)
{
	LIBBPF_OPTS(gen_loader_opts, options);
	struct bpf_program *program;
	struct bpf_map *map;

	/* A pinned map belongs to a kernel, and no kernel is involved here. */
	bpf_object__for_each_map (map, reader->source) {
		bpf_map__set_pin_path(map, NULL);
	}

	bpf_object__for_each_program (program, reader->source) {
		bpf_program__set_type(program, BPF_PROG_TYPE_SOCKET_FILTER);
		bpf_program__set_autoload(program, reader->all || gt_bpf_is_for_gpu(program));
	}
	if (!bpf_object__gen_loader(reader->source, &options) && !bpf_object__load(reader->source))
		return 0;
	return gt_object_malformed(reader, reader->externs.unresolved.count
						   ? reader->externs.unresolved.items[0].problem
						   : "libbpf cannot relocate its programs");
}

static int read_all(struct gt_object_reader *reader)
{
	struct gt_bpf_object *object = reader->object;
	struct bpf_program *program;
	const struct bpf_map *map;
	uint32_t programs = 0, maps = 0;
	int error = 0;

	bpf_object__for_each_program (program, reader->source)
		programs++;
	bpf_object__for_each_map (map, reader->source)
		maps++;
	object->programs = calloc(programs + 1u, sizeof(*object->programs));
	object->maps = calloc(maps + 1u, sizeof(*object->maps));
	object->host_programs = calloc(programs + 1u, sizeof(*object->host_programs));
	if (!object->programs || !object->maps || !object->host_programs)
		return gt_object_no_memory(reader);
	bpf_object__for_each_map (map, reader->source) {
		error = read_map(reader, map);
		if (error)
			return error;
	}
	bpf_object__for_each_program (program, reader->source) {
		error = bpf_program__autoload(program) ? read_program(reader, program)
						       : read_host_program(reader, program);
		if (error)
			return error;
	}
	return check_maps(reader);
}

/* Why a file is rejected: the first bytes of an ELF file say which machine it is for. */
static int reject_file(struct gt_object_reader *reader)
{
	const uint8_t *header = reader->file->data;
	bool is_elf = reader->file->size >= sizeof(Elf64_Ehdr) && !memcmp(header, ELFMAG, SELFMAG);
	bool is_big = is_elf && header[EI_DATA] == ELFDATA2MSB;
	unsigned machine =
		is_elf ? header[18 + is_big] | header[19 - is_big] << 8 : 0; /* e_machine */

	if (!reader->file->size)
		return gt_object_malformed(reader, "the file is empty");
	if (is_elf && machine != EM_BPF)
		return gt_object_malformed(reader,
					   "this object is for a CPU, not for eBPF: compile it "
					   "with 'clang -target bpf'");
	if (is_big)
		return gt_object_malformed(reader, "this object is for big-endian eBPF: compile it "
						   "with 'clang -target bpfel'");
	return gt_object_malformed(reader, NOT_AN_OBJECT);
}

/*
 * Open checked bytes with libbpf. The maps of global variables are named after the file.
 * `configuration`: lines that come before those of the kernel's configuration, or "".
 */
static struct bpf_object *open_bytes(const char *path, const struct gt_file *file,
				     const char *configuration)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	gt_auto_strbuf name = GT_STRBUF_INIT;
	LIBBPF_OPTS(bpf_object_open_opts, options);

	gt_strbuf_printf(&name, "%.*s", (int)strcspn(base, "."), base);
	options.object_name = gt_strbuf_string(&name);
	options.kconfig = configuration[0] ? configuration : NULL;
	return bpf_object__open_mem(file->data, file->size, &options);
}

static int open_source(struct gt_object_reader *reader)
{
	struct gt_object_hidden hidden = {0};
	bool lacks_types = false;
	int error;

	if (!gt_object_is_valid(reader->file, &lacks_types))
		return reject_file(reader);
	if (lacks_types)
		return gt_object_malformed(reader, "its maps have no BTF: compile it with -g");
	error = gt_object_hide(reader->file, reader->all, &hidden);
	reader->in_text = hidden.text;
	if (!error)
		error = gt_object_resolve_externs(reader->file, &hidden, &reader->externs);
	if (!error)
		reader->source = open_bytes(reader->path, reader->file,
					    gt_strbuf_string(&reader->externs.configuration));
	gt_object_restore(&hidden);
	if (error)
		return gt_object_no_memory(reader);
	if (!reader->source)
		return gt_object_malformed(reader, NOT_AN_OBJECT);
	return read_ext(reader);
}

static int read_object(const char *path, const struct gt_file *file, bool all,
		       struct gt_bpf_object **ret_object, struct gt_diag *diag)
{
	gt_auto(bpf_object) struct gt_bpf_object *object = calloc(1, sizeof(*object));
	struct gt_object_reader reader = {
		.path = path, .file = file, .object = object, .all = all, .diag = diag};
	libbpf_print_fn_t printer;
	int error;

	if (!object)
		return gt_object_no_memory(&reader);
	/* Libraries do not print; libbpf has one printer for the process. */
	printer = libbpf_set_print(NULL);
	error = open_source(&reader);
	if (!error)
		error = gt_object_read_types(&reader);
	if (!error)
		error = relocate(&reader);
	if (!error)
		error = read_all(&reader);
	bpf_object__close(reader.source);
	gt_file_free(&reader.ext);
	free(reader.types);
	gt_object_externs_free(&reader.externs);
	libbpf_set_print(printer);
	if (!error)
		*ret_object = gt_take(object);
	return error;
}

int gt_bpf_object_open(const char *path, bool all, struct gt_bpf_object **ret_object,
		       struct gt_diag *diag)
{
	gt_auto(bpf_object) struct gt_bpf_object *object = NULL;
	gt_auto_file file = {0};
	int error = gt_file_read(path, MAX_OBJECT, &file, diag);

	if (!error)
		error = read_object(path, &file, all, &object, diag);
	if (error)
		return error;
	object->path = strdup(path);
	if (!object->path)
		return gt_diag(diag, -ENOMEM, "object", path, "out of memory");
	object->file = file;
	file = (struct gt_file){0};
	*ret_object = gt_take(object);
	return 0;
}

int gt_bpf_object_open_all(const struct gt_bpf_object *object, struct gt_bpf_object **ret_object,
			   struct gt_diag *diag)
{
	return read_object(object->path, &object->file, true, ret_object, diag);
}

struct bpf_object *gt_bpf_object_open_libbpf(const struct gt_bpf_object *object)
{
	return open_bytes(object->path, &object->file, "");
}
