/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run/host_uprobes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "api/api.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "elf/proc_maps.h"
#include "probe/api/multi_link.h"
#include "probe/api/perf_link.h"
#include "probe/load.h"
#include "uprobes.skel.h"

/* A file as stat(2) or /proc/PID/maps identifies it. */
struct uprobed_file {
	uint64_t device, inode;
};

struct host_uprobe {
	struct gt_uprobe_section section;
	const char *program;      /* its name */
	struct uprobed_file path; /* the file of a path; inode 0: a name */
	bool in_runtime;          /* the name is that of the CUDA runtime */
	bool lacks_function;      /* the program of this name does not define the function */
	bool is_runtime_launch;   /* the runtime's function is meant: see means_launch() */
	unsigned attached;        /* in so many files */
	GT_VEC(struct uprobed_file) files; /* searched, by stat(2) */
};

/* A function in the file that is being searched. */
struct found_function {
	struct host_uprobe *uprobe;
	uint64_t offset;
};

struct gt_host_uprobes {
	struct uprobes_bpf *skeleton;
	bool multi; /* by uprobe_multi links */
	struct bpf_link *fork_link;
	struct host_uprobe *items;
	size_t count;
	GT_VEC(struct uprobed_file) mappings; /* searched, by /proc/PID/maps */
	GT_VEC(struct found_function) found;  /* not yet attached */
	GT_VEC(int) links;
};

static int report_no_memory(struct gt_diag *diag)
{
	return gt_diag(diag, -ENOMEM, "linux", NULL, "out of memory");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- sections --------------------------------------------------------------------------- */

static bool copy_part(char *to, size_t size, const char *from, size_t length)
{
	if (!length || length >= size)
		return false;
	memcpy(to, from, length);
	to[length] = '\0';
	return true;
}

bool gt_uprobe_section_read(const char *text, struct gt_uprobe_section *ret_section)
{
	static const char *const prefixes[] = {"uprobe/", "uretprobe/"};
	struct gt_uprobe_section section = {0};
	const char *target = NULL, *colon, *plus;
	char *end;

	for (size_t i = 0; i < 2 && !target; i++) {
		if (!strncmp(text, prefixes[i], strlen(prefixes[i])))
			target = text + strlen(prefixes[i]);
		section.is_return = i;
	}
	colon = target ? strrchr(target, ':') : NULL;
	if (!colon || strpbrk(colon, "*?"))
		return false;
	plus = strchr(colon, '+');
	if (plus) {
		section.offset = strtoull(plus + 1, &end, 0);
		if (!plus[1] || *end || section.is_return)
			return false;
	}
	if (!copy_part(section.file, sizeof(section.file), target, (size_t)(colon - target)) ||
	    !copy_part(section.function, sizeof(section.function), colon + 1,
		       plus ? (size_t)(plus - colon - 1) : strlen(colon + 1)))
		return false;
	*ret_section = section;
	return true;
}

/* ---- attaching -------------------------------------------------------------------------- */

static int report_failure(const struct host_uprobe *uprobe, const char *path, int error,
			  struct gt_diag *diag)
{
	return gt_diag(diag, error, "linux", uprobe->program,
		       "cannot attach this host program to %s in %s: %s", uprobe->section.function,
		       path, strerror(-error));
}

/* Link some functions, all at their entries or all at their returns. A descriptor, or -Exxx. */
static int create_link(const struct gt_host_uprobes *uprobes, const char *path,
		       const struct found_function *functions, size_t count)
{
	int program = bpf_program__fd(uprobes->skeleton->progs.dispatch);
	bool is_return = functions->uprobe->section.is_return;
	const enum gt_multi_link kind = is_return ? GT_MULTI_RETURN : GT_MULTI_ENTRY;
	gt_autofree uint64_t *offsets = calloc(count, 2 * sizeof(*offsets));
	uint64_t *cookies = offsets ? offsets + count : NULL;

	if (!offsets)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		offsets[i] = functions[i].offset;
		cookies[i] = (uint64_t)(functions[i].uprobe - uprobes->items);
	}
	return uprobes->multi
		       ? gt_multi_link_functions(program, path, offsets, cookies, count, kind)
		       : gt_perf_link_function(program, path, *offsets, *cookies, is_return);
}

static int attach_functions(struct gt_host_uprobes *uprobes, const char *path,
			    const struct found_function *functions, size_t count,
			    struct gt_diag *diag)
{
	int link = create_link(uprobes, path, functions, count), error = 0;

	/* One by one, to report the function that cannot be probed. */
	if (link < 0 && count > 1) {
		for (size_t i = 0; i < count && !error; i++)
			error = attach_functions(uprobes, path, &functions[i], 1, diag);
		return error;
	}
	if (link < 0)
		return report_failure(functions->uprobe, path, link, diag);
	if (gt_vec_push(&uprobes->links, link)) {
		close(link);
		return report_no_memory(diag);
	}
	for (size_t i = 0; i < count; i++)
		functions[i].uprobe->attached++;
	return 0;
}

/* Entries first; functions of one kind stay in the order of their programs. */
static int compare_found(const void *one, const void *other)
{
	const struct found_function *left = one, *right = other;

	if (left->uprobe->section.is_return != right->uprobe->section.is_return)
		return left->uprobe->section.is_return ? 1 : -1;
	return (left->uprobe > right->uprobe) - (left->uprobe < right->uprobe);
}

/* Attach what was found in a file: in one link for entries and one for returns, if possible. */
static int attach_found(struct gt_host_uprobes *uprobes, const char *path, struct gt_diag *diag)
{
	const struct found_function *found = uprobes->found.items;
	size_t count = uprobes->found.count, end;
	int error = 0;

	if (count)
		qsort(uprobes->found.items, count, sizeof(*found), compare_found);
	for (size_t from = 0; from < count && !error; from = end) {
		for (end = from + 1; uprobes->multi && end < count; end++)
			if (found[end].uprobe->section.is_return !=
			    found[from].uprobe->section.is_return)
				break;
		error = attach_functions(uprobes, path, &found[from], end - from, diag);
	}
	uprobes->found.count = 0;
	return error;
}

/*
 * Whether a section names the template, of any type, by which programs of nvcc 11 and 12 launch
 * kernels: cudaLaunchKernel<char>(…). It calls the runtime's function of the same arguments, as the
 * programs of nvcc 13 do without it.
 */
static bool means_launch(const struct gt_uprobe_section *section)
{
	static const char template[] = "_Z16cudaLaunchKernelI";

	/* An offset is one of its own instructions. */
	return !section->offset && !strncmp(section->function, template, strlen(template));
}

/* 1: found; 0: the file does not define the function; or -Exxx. */
static int find_function(struct gt_host_uprobes *uprobes, struct host_uprobe *uprobe,
			 struct gt_elf *elf, struct gt_diag *diag)
{
	const char *name =
		uprobe->is_runtime_launch ? "cudaLaunchKernel" : uprobe->section.function;
	const struct gt_elf_symbol *const *symbols;
	size_t count = gt_elf_lookup(elf, name, &symbols);

	for (size_t i = 0; i < count; i++) {
		const struct found_function found = {uprobe,
						     symbols[i]->offset + uprobe->section.offset};

		if (symbols[i]->kind == GT_ELF_FUNCTION && symbols[i]->offset != GT_ELF_NO_OFFSET)
			return gt_vec_push(&uprobes->found, found) ? report_no_memory(diag) : 1;
	}
	return 0;
}

/* ---- which files ------------------------------------------------------------------------ */

/* Whether a file's name is `name`, with a version after it: libcudart.so.13 for libcudart.so. */
static bool is_versioned(const char *file, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(file, name, length) &&
	       (!file[length] || (file[length] == '.' && strstr(name, ".so")));
}

static bool has_name(const struct host_uprobe *uprobe, const char *path)
{
	const char *name =
		uprobe->is_runtime_launch ? "libcudart.so" : base_name(uprobe->section.file);
	const char *file = base_name(path);
	char library[sizeof(uprobe->section.file) + 8];

	if (is_versioned(file, name))
		return true;
	snprintf(library, sizeof(library), "lib%s.so", name);
	return !strstr(name, ".so") && is_versioned(file, library);
}

static bool is_same_file(const struct uprobed_file *file, const struct stat *status)
{
	return file->device == status->st_dev && file->inode == status->st_ino;
}

/* Whether a uprobe may be for a file of this path, and it has not been searched for it. */
static bool may_be_in(const struct host_uprobe *uprobe, const char *path, const struct stat *status)
{
	gt_vec_each (file, &uprobe->files)
		if (is_same_file(file, status))
			return false;
	if (uprobe->path.inode)
		return is_same_file(&uprobe->path, status);
	if (has_name(uprobe, path))
		return true;
	/* A statically linked runtime; or the library where the program's calls go. */
	return (uprobe->in_runtime && !gt_api_library_of(base_name(path))) ||
	       (uprobe->lacks_function && !uprobe->attached);
}

/* The program does not define the function. Files that were of no interest before are now. */
static void look_elsewhere(struct gt_host_uprobes *uprobes, struct host_uprobe *uprobe)
{
	uprobe->lacks_function = true;
	uprobes->mappings.count = 0;
	if (!means_launch(&uprobe->section))
		return;
	uprobe->is_runtime_launch = uprobe->in_runtime = true;
	uprobe->path.inode = 0;
}

static int search_file(struct gt_host_uprobes *uprobes, struct host_uprobe *uprobe,
		       const char *path, struct gt_elf *elf, const struct stat *status,
		       struct gt_diag *diag)
{
	int result;

	if (gt_vec_push(&uprobe->files,
			(struct uprobed_file){.device = status->st_dev, .inode = status->st_ino}))
		return report_no_memory(diag);
	result = find_function(uprobes, uprobe, elf, diag);
	if (!result && !uprobe->lacks_function && has_name(uprobe, path) &&
	    gt_elf_info(elf)->program) {
		look_elsewhere(uprobes, uprobe);
		/* It may have the runtime in it. */
		if (uprobe->is_runtime_launch)
			result = find_function(uprobes, uprobe, elf, diag);
	}
	return result < 0 ? result : 0;
}

/* Attach all uprobes that are for a file, once. A file that is no ELF has none. */
static int attach_in_file(struct gt_host_uprobes *uprobes, const char *path, struct gt_diag *diag)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	struct stat status;
	int error = 0;

	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return 0;
	for (size_t i = 0; i < uprobes->count && !error; i++) {
		if (!may_be_in(&uprobes->items[i], path, &status))
			continue;
		if (!elf && gt_elf_open(path, &elf, NULL))
			return 0;
		error = search_file(uprobes, &uprobes->items[i], path, elf, &status, diag);
	}
	return error ? error : attach_found(uprobes, path, diag);
}

/* ---- the command ------------------------------------------------------------------------ */

/* A section with a path is for this file, whatever the command is. */
static void find_paths(struct gt_host_uprobes *uprobes)
{
	for (size_t i = 0; i < uprobes->count; i++) {
		struct host_uprobe *uprobe = &uprobes->items[i];
		struct stat status;

		if (!strchr(uprobe->section.file, '/') || stat(uprobe->section.file, &status))
			continue;
		uprobe->path =
			(struct uprobed_file){.device = status.st_dev, .inode = status.st_ino};
	}
}

static int attach_in_paths(struct gt_host_uprobes *uprobes, struct gt_diag *diag)
{
	int error = 0;

	for (size_t i = 0; i < uprobes->count && !error; i++)
		if (uprobes->items[i].path.inode)
			error = attach_in_file(uprobes, uprobes->items[i].section.file, diag);
	return error;
}

/* Libraries by names that dlopen() would find, so that the first calls are seen, too. */
static int attach_in_named_libraries(struct gt_host_uprobes *uprobes,
				     const struct gt_loader *loader, const char *program,
				     struct gt_diag *diag)
{
	int error = 0;

	for (size_t i = 0; i < uprobes->count && !error; i++) {
		const char *name = uprobes->items[i].section.file;
		gt_autofree char *path = NULL;

		if (strstr(name, ".so") && !strchr(name, '/') &&
		    !gt_loader_find(loader, name, program, &path, NULL))
			error = attach_in_file(uprobes, path, diag);
	}
	return error;
}

static int attach_in_command(struct gt_host_uprobes *uprobes, const struct gt_host_command *command,
			     struct gt_diag *diag)
{
	const struct gt_loader loader = gt_loader_of_environment(command->environment);
	const char *program = command->files->paths[command->files->count - 1];
	gt_auto_dependencies needed = {0};
	int error = 0;

	for (size_t i = 0; i < command->files->count && !error; i++)
		error = attach_in_file(uprobes, command->files->paths[i], diag);
	/* A program that the loader cannot load is the command's own problem. */
	if (!error && !gt_loader_needed(&loader, program, &needed, NULL))
		for (size_t i = 0; i < needed.count && !error; i++)
			if (needed.items[i].path)
				error = attach_in_file(uprobes, needed.items[i].path, diag);
	if (!error)
		error = attach_in_named_libraries(uprobes, &loader, program, diag);
	return error;
}

/* Sections whose file or function cannot appear later. */
static int check_paths(const struct gt_host_uprobes *uprobes, struct gt_diag *diag)
{
	for (size_t i = 0; i < uprobes->count; i++) {
		const struct host_uprobe *uprobe = &uprobes->items[i];
		const struct gt_uprobe_section *section = &uprobe->section;

		if (uprobe->attached)
			continue;
		if (uprobe->path.inode)
			return gt_diag(diag, -ENOENT, "linux", uprobe->program,
				       "cannot attach this host program: %s has no function '%s' "
				       "('nm -D' and 'nm' list them)",
				       section->file, section->function);
		if (strchr(section->file, '/') && !uprobe->lacks_function)
			return gt_diag(diag, -ENOENT, "linux", uprobe->program,
				       "cannot attach this host program: there is no %s, and the "
				       "command is not '%s'; change its section, or run the "
				       "command where this path leads to the file",
				       section->file, base_name(section->file));
	}
	return 0;
}

static int trace_command(struct gt_host_uprobes *uprobes, int pidfd, struct gt_diag *diag)
{
	int map = bpf_map__fd(uprobes->skeleton->maps.traced);
	uint8_t value = 1;

	uprobes->fork_link = bpf_program__attach(uprobes->skeleton->progs.inherit);
	if (!uprobes->fork_link)
		return gt_load_failed(-errno, "linux", diag);
	if (bpf_map_update_elem(map, &pidfd, &value, BPF_ANY))
		return gt_diag(diag, -errno, "linux", NULL, "cannot trace the command: %s",
			       strerror(errno));
	return 0;
}

int gt_host_uprobes_attach(struct gt_host_uprobes *uprobes, const struct gt_host_command *command,
			   struct gt_diag *diag)
{
	int error = trace_command(uprobes, command->pidfd, diag);

	find_paths(uprobes);
	if (!error)
		error = attach_in_paths(uprobes, diag);
	if (!error)
		error = attach_in_command(uprobes, command, diag);
	return error ? error : check_paths(uprobes, diag);
}

/* ---- processes -------------------------------------------------------------------------- */

/* Whether a mapping's file is seen for the first time. */
static bool is_new_mapping(struct gt_host_uprobes *uprobes, const struct gt_proc_mapping *mapping)
{
	const struct uprobed_file seen = {.device = mapping->device, .inode = mapping->inode};

	if (!mapping->executable || !gt_proc_mapping_is_file(mapping))
		return false;
	gt_vec_each (file, &uprobes->mappings)
		if (file->device == seen.device && file->inode == seen.inode)
			return false;
	return !gt_vec_push(&uprobes->mappings, seen);
}

/* Whether a file of any name may be meant: files of paths are attached to from the start. */
static bool has_names(const struct gt_host_uprobes *uprobes)
{
	for (size_t i = 0; i < uprobes->count; i++)
		if (!uprobes->items[i].path.inode)
			return true;
	return false;
}

int gt_host_uprobes_attach_process(struct gt_host_uprobes *uprobes, pid_t pid, struct gt_diag *diag)
{
	gt_auto_proc_maps maps = {0};
	gt_auto_strbuf reach = GT_STRBUF_INIT;
	int error = 0;

	if (!has_names(uprobes) || gt_proc_maps_read(pid, &maps, NULL))
		return 0;
	for (size_t i = 0; i < maps.count && !error; i++)
		if (is_new_mapping(uprobes, &maps.items[i]) &&
		    !gt_proc_mapping_path(&maps, &maps.items[i], &reach, NULL))
			error = attach_in_file(uprobes, gt_strbuf_string(&reach), diag);
	return error;
}

/* ---- all of it -------------------------------------------------------------------------- */

static int add_program(struct gt_host_uprobes *uprobes, const struct gt_uprobe_program *program,
		       struct gt_diag *diag)
{
	int map = bpf_map__fd(uprobes->skeleton->maps.programs),
	    fd = bpf_program__fd(program->program);
	struct host_uprobe *uprobe = &uprobes->items[uprobes->count];
	uint32_t number = (uint32_t)uprobes->count;

	uprobe->section = program->section;
	uprobe->program = bpf_program__name(program->program);
	uprobe->in_runtime = !strncmp(base_name(uprobe->section.file), "libcudart", 9) ||
			     !strcmp(base_name(uprobe->section.file), "cudart");
	if (bpf_map_update_elem(map, &number, &fd, BPF_ANY))
		return gt_diag(diag, -errno, "linux", uprobe->program,
			       "cannot prepare this host program: %s", strerror(errno));
	uprobes->count++;
	return 0;
}

static int load_skeleton(struct gt_host_uprobes *uprobes, size_t count, struct gt_diag *diag)
{
	int error;

	uprobes->skeleton = uprobes_bpf__open();
	if (!uprobes->skeleton)
		return gt_load_failed(-errno, "linux", diag);
	if (uprobes->multi)
		gt_multi_link_prepare(uprobes->skeleton->progs.dispatch, GT_MULTI_ENTRY);
	error = bpf_map__set_max_entries(uprobes->skeleton->maps.programs, (uint32_t)count);
	if (!error)
		error = uprobes_bpf__load(uprobes->skeleton);
	return error ? gt_load_failed(error, "linux", diag) : 0;
}

int gt_host_uprobes_open(const struct gt_uprobe_program *programs, size_t count, bool multi,
			 struct gt_host_uprobes **ret_uprobes, struct gt_diag *diag)
{
	gt_auto(host_uprobes) struct gt_host_uprobes *uprobes = calloc(1, sizeof(*uprobes));
	int error;

	if (!uprobes)
		return report_no_memory(diag);
	uprobes->items = calloc(count + 1, sizeof(*uprobes->items));
	if (!uprobes->items)
		return report_no_memory(diag);
	uprobes->multi = multi;
	if (!multi)
		gt_perf_link_allow_many();
	error = load_skeleton(uprobes, count, diag);
	for (size_t i = 0; i < count && !error; i++)
		error = add_program(uprobes, &programs[i], diag);
	if (!error)
		*ret_uprobes = gt_take(uprobes);
	return error;
}

void gt_host_uprobes_detach(struct gt_host_uprobes *uprobes)
{
	gt_vec_each (link, &uprobes->links)
		close(*link);
	gt_vec_free(&uprobes->links);
	bpf_link__destroy(uprobes->fork_link);
	uprobes->fork_link = NULL;
}

void gt_host_uprobes_close(struct gt_host_uprobes *uprobes)
{
	if (!uprobes)
		return;
	gt_host_uprobes_detach(uprobes);
	uprobes_bpf__destroy(uprobes->skeleton);
	gt_vec_free(&uprobes->mappings);
	gt_vec_free(&uprobes->found);
	for (size_t i = 0; i < uprobes->count; i++)
		gt_vec_free(&uprobes->items[i].files);
	free(uprobes->items);
	free(uprobes);
}

bool gt_host_uprobes_have(const struct gt_host_uprobes *uprobes, const struct bpf_program *program)
{
	for (size_t i = 0; i < uprobes->count; i++)
		if (!strcmp(uprobes->items[i].program, bpf_program__name(program)))
			return true;
	return false;
}

const char *gt_host_uprobes_unattached(const struct gt_host_uprobes *uprobes, size_t number)
{
	for (size_t i = 0; i < uprobes->count; i++)
		if (!uprobes->items[i].attached && !number--)
			return uprobes->items[i].program;
	return NULL;
}

uint64_t gt_host_uprobes_lost(const struct gt_host_uprobes *uprobes)
{
	return uprobes->skeleton->bss->untraced;
}
