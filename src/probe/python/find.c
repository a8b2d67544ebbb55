/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/python/find.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "elf/elf.h"
#include "elf/proc_maps.h"
#include "event/kinds.h"
#include "probe/load.h"
#include "probe/python/python.h"

/* A file that may be an interpreter. */
struct python_file {
	uint64_t runtime; /* address of _PyRuntime in the ELF; 0: it is no interpreter */
	uint32_t layout;
	uint64_t offset, address; /* of its first executable mapping that was seen: file, ELF */
};

struct gt_pythons {
	struct gt_event_queue *notes;
	struct gt_hash *files; /* "INODE PATH" -> struct python_file */
	int map;
};

/* clang-format off */
static const struct gt_python_layout layouts[GT_PYTHON_LAYOUTS] = {
#define LAYOUT(minor, ...) [(minor) - GT_PYTHON_FIRST_MINOR] = {__VA_ARGS__},
#include "probe/python/layouts.def"
};
/* clang-format on */

int gt_pythons_open(struct gt_event_queue *notes, uint32_t limit, struct gt_pythons **ret_pythons,
		    struct gt_diag *diag)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	gt_auto(pythons) struct gt_pythons *pythons = calloc(1, sizeof(*pythons));

	if (!pythons)
		return gt_diag(diag, -ENOMEM, "python", NULL, "out of memory");
	pythons->notes = notes;
	pythons->map = -1;
	pythons->files = gt_hash_new();
	if (!pythons->files)
		return gt_diag(diag, -ENOMEM, "python", NULL, "out of memory");
	pythons->map = bpf_map_create(BPF_MAP_TYPE_HASH, "gputap_pythons", sizeof(__u32),
				      sizeof(struct gt_python), limit, &options);
	if (pythons->map < 0)
		return gt_load_failed(-errno, "python", diag);
	*ret_pythons = gt_take(pythons);
	return 0;
}

void gt_pythons_close(struct gt_pythons *pythons)
{
	if (!pythons)
		return;
	if (pythons->map >= 0)
		close(pythons->map);
	if (pythons->files)
		gt_hash_free_with(pythons->files, free);
	free(pythons);
}

int gt_pythons_fd(const struct gt_pythons *pythons)
{
	return pythons->map;
}

void gt_pythons_remove(struct gt_pythons *pythons, uint32_t process)
{
	bpf_map_delete_elem(pythons->map, &process);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A program (also a copy in a virtual environment) or libpython, not what is made for Python. */
static bool is_candidate(const char *path)
{
#ifdef __x86_64__
	const char *name = name_of(path);

	return !strncmp(name, "python", strlen("python")) ||
	       !strncmp(name, "libpython", strlen("libpython"));
#else
	return false;
#endif
}

/* What a file is known to be. */
struct python_build {
	uint64_t runtime, offset; /* of _PyRuntime: in the ELF, in the file */
	unsigned minor;           /* 0: unknown */
	unsigned level;           /* of the release: 0xa: alpha … 0xf: final; 0: unknown */
};

/* The minor version in "python3.11" or "libpython3.11.so.1.0"; 0: none. */
static unsigned minor_of_name(const char *path)
{
	const char *name = strstr(name_of(path), "python3.");

	return name ? (unsigned)strtoul(name + strlen("python3."), NULL, 10) : 0;
}

static void find_version(struct gt_elf *elf, const char *path, struct python_build *build)
{
	const struct gt_elf_symbol *const *symbols;
	uint32_t version = 0; /* PY_VERSION_HEX, such as 0x030b04f0 */

	build->minor = minor_of_name(path);
	/* 3.11 on. */
	if (!gt_elf_lookup(elf, "Py_Version", &symbols) || symbols[0]->offset == GT_ELF_NO_OFFSET ||
	    gt_elf_read(elf, symbols[0]->offset, &version, sizeof(version)) || version >> 24 != 3)
		return;
	build->minor = version >> 16 & 0xff;
	build->level = version >> 4 & 0xf;
}

/* False: it is no interpreter. */
static bool find_runtime(struct gt_elf *elf, struct python_build *build)
{
	const struct gt_elf_symbol *const *symbols;
	uint64_t size;

	if (gt_elf_lookup(elf, "_PyRuntime", &symbols)) {
		build->runtime = symbols[0]->value;
		build->offset = symbols[0]->offset;
		return build->runtime;
	}
	/* 3.10 on: the section begins with it. */
	if (gt_elf_section(elf, ".PyRuntime", &build->offset, &size))
		return false;
	build->runtime = gt_elf_address(elf, build->offset);
	return build->runtime != GT_ELF_NO_OFFSET;
}

/*
 * _Py_DebugOffsets (Include/internal/pycore_runtime.h of 3.13), with which _PyRuntime begins: the
 * words that a layout has, too. Alpha versions have other words.
 */
#define DEBUG_WORDS 73
#define DEBUG_FREE_THREADED 2
#define LAYOUT_FIELD(name) offsetof(struct gt_python_layout, name)
static const struct {
	unsigned word;
	size_t field;
} debug_words[] = {
	{23, LAYOUT_FIELD(top)},          {24, LAYOUT_FIELD(thread_id)},
	{29, LAYOUT_FIELD(back)},         {30, LAYOUT_FIELD(code)},
	{31, LAYOUT_FIELD(instruction)},  {33, LAYOUT_FIELD(entry)},
	{35, LAYOUT_FIELD(file)},         {37, LAYOUT_FIELD(name)},
	{38, LAYOUT_FIELD(line_table)},   {39, LAYOUT_FIELD(first_line)},
	{43, LAYOUT_FIELD(instructions)}, {70, LAYOUT_FIELD(ascii)},
};

/* Why the structures of 3.13 are not those of the layout; NULL: they are. */
static const char *check_offsets(const struct gt_elf *elf, const struct python_build *build)
{
	const struct gt_python_layout *layout = &layouts[build->minor - GT_PYTHON_FIRST_MINOR];
	uint64_t words[DEBUG_WORDS];

	if (build->offset == GT_ELF_NO_OFFSET ||
	    gt_elf_read(elf, build->offset, words, sizeof(words)) ||
	    memcmp(words, "xdebugpy", sizeof(words[0])))
		return "it has no _Py_DebugOffsets";
	if (words[DEBUG_FREE_THREADED] == 1)
		return "it is a free-threaded build";
	for (size_t i = 0; i < gt_countof(debug_words); i++) {
		__u16 expected;

		memcpy(&expected, (const char *)layout + debug_words[i].field, sizeof(expected));
		if (words[debug_words[i].word] != expected)
			return "its _Py_DebugOffsets are not those of the releases";
	}
	return NULL;
}

/* Why the frames of a build cannot be walked; NULL: they can. */
static const char *check_build(const struct gt_elf *elf, const struct python_build *build)
{
	if (!build->minor)
		return "its version is unknown";
	if (build->minor < GT_PYTHON_FIRST_MINOR ||
	    build->minor >= GT_PYTHON_FIRST_MINOR + GT_PYTHON_LAYOUTS)
		return "only 3.9 to 3.13 are supported";
	if (build->level == 0xa)
		return "it is an alpha version";
	return build->minor >= 13 ? check_offsets(elf, build) : NULL;
}

static void note_unsupported(struct gt_pythons *pythons, const char *path,
			     const struct python_build *build, const char *why)
{
	char version[32] = "Python";

	if (build->minor)
		snprintf(version, sizeof(version), "CPython 3.%u", build->minor);
	gt_event_queue_note(pythons->notes,
			    "no Python callers of %s (%s): %s; its native callers are recorded",
			    path, version, why);
}

static void read_file(struct gt_pythons *pythons, const char *path, uint64_t offset,
		      struct python_file *file)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	struct python_build build = {0};
	const char *why;

	if (gt_elf_open(path, &elf, NULL) || !find_runtime(elf, &build))
		return;
	file->offset = offset;
	file->address = gt_elf_address(elf, offset);
	if (file->address == GT_ELF_NO_OFFSET)
		return;
	file->runtime = build.runtime;
	find_version(elf, path, &build);
	why = check_build(elf, &build);
	file->layout = why ? GT_PYTHON_NO_LAYOUT : build.minor - GT_PYTHON_FIRST_MINOR;
	if (why)
		note_unsupported(pythons, path, &build, why);
}

/* A file that a process has mapped. */
struct mapped_file {
	const char *path;
	uint64_t inode, start, offset;
};

static const struct python_file *file_of(struct gt_pythons *pythons,
					 const struct mapped_file *mapped)
{
	gt_auto_strbuf key = GT_STRBUF_INIT;
	struct python_file *file;

	gt_strbuf_printf(&key, "%" PRIu64 " %s", mapped->inode, mapped->path);
	if (key.failed)
		return NULL;
	file = gt_hash_get_str(pythons->files, gt_strbuf_string(&key));
	if (file)
		return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	if (gt_hash_set_str(pythons->files, gt_strbuf_string(&key), file)) {
		free(file);
		return NULL;
	}
	read_file(pythons, mapped->path, mapped->offset, file);
	return file;
}

static void add_file(struct gt_pythons *pythons, uint32_t process, const struct mapped_file *mapped)
{
	const struct python_file *file = file_of(pythons, mapped);
	struct gt_python python;

	if (!file || !file->runtime || file->offset != mapped->offset)
		return;
	/* Without a layout, too: its parent may have another interpreter (gt_python_walk). */
	python = (struct gt_python){
		.runtime = mapped->start - file->address + file->runtime,
		.layout = file->layout,
	};
	bpf_map_update_elem(pythons->map, &process, &python, BPF_ANY);
}

void gt_pythons_add_mapping(struct gt_pythons *pythons, const struct gt_event_mapping *mapping)
{
	size_t length;
	const char *text = gt_event_text(&mapping->head, &length);
	gt_autofree char *path = strndup(text, length);

	if (path && is_candidate(path))
		add_file(pythons, mapping->head.process,
			 &(struct mapped_file){path, mapping->inode, mapping->start,
					       mapping->offset});
}

void gt_pythons_add_process(struct gt_pythons *pythons, pid_t process)
{
	gt_auto_proc_maps maps = {0};
	gt_auto_strbuf path = GT_STRBUF_INIT;

	if (gt_proc_maps_read(process, &maps, NULL))
		return;
	for (size_t i = 0; i < maps.count; i++) {
		const struct gt_proc_mapping *mapping = &maps.items[i];

		if (mapping->executable && gt_proc_mapping_is_file(mapping) &&
		    is_candidate(mapping->path) &&
		    !gt_proc_mapping_path(&maps, mapping, &path, NULL) && !path.failed)
			add_file(pythons, (uint32_t)process,
				 &(struct mapped_file){gt_strbuf_string(&path), mapping->inode,
						       mapping->start, mapping->offset});
	}
}
