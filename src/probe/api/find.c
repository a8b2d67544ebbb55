/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/hash.h"
#include "base/text.h"
#include "elf/elf.h"

/* What a program may open by dlopen: looked for where the loader would. */
static const char *const often_opened[] = {
	"libcudart.so.13",   "libcudart.so.12", "libcudart.so.11.0", "libcudart.so",
	"libcuda.so.1",      "libcublas.so.13", "libcublas.so.12",   "libcublasLt.so.13",
	"libcublasLt.so.12", "libcudnn.so.9",   "libnccl.so.2",
};

/* Any of these tells that the runtime is inside of a file. */
static const char *const tell_tales[] = {"cudaLaunchKernel", "cudaMalloc", "cudaGetDevice"};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void gt_places_free(struct gt_places *places)
{
	gt_vec_each (place, &places->found)
		free(place->path);
	gt_vec_free(&places->found);
	gt_strbuf_free(&places->refusals);
}

bool gt_places_have_runtime(const struct gt_places *places)
{
	gt_vec_each (place, &places->found)
		if (gt_place_is_runtime(place) && !place->guessed)
			return true;
	return false;
}

static bool is_there(const struct gt_places *places, const struct stat *status)
{
	gt_vec_each (place, &places->found)
		if (place->device == status->st_dev && place->inode == status->st_ino)
			return true;
	return false;
}

static bool has_function(struct gt_elf *elf, const char *name)
{
	const struct gt_elf_symbol *const *symbols;
	size_t count = gt_elf_lookup(elf, name, &symbols);

	for (size_t i = 0; i < count; i++)
		if (symbols[i]->kind == GT_ELF_FUNCTION)
			return true;
	return false;
}

static bool has_runtime_inside(struct gt_elf *elf)
{
	for (size_t i = 0; i < gt_countof(tell_tales); i++)
		if (has_function(elf, tell_tales[i]))
			return true;
	return false;
}

static bool has_function_of(struct gt_elf *elf, const char *library)
{
	for (unsigned row = 0; row < gt_api_count(); row++) {
		const struct gt_api_function *function = gt_api_function(row);

		if (!strcmp(function->library, library) && has_function(elf, function->name))
			return true;
	}
	return false;
}

static void refuse(struct gt_places *places, const char *path, const char *reason)
{
	gt_strbuf_printf(&places->refusals, "%s: %s\n", path, reason);
}

static int add(struct gt_places *places, const char *path, const struct stat *status,
	       const char *library, bool in_program)
{
	struct gt_place place = {
		.path = strdup(path),
		.device = status->st_dev,
		.inode = status->st_ino,
		.library = library,
		.in_program = in_program,
	};

	if (!place.path || gt_vec_push(&places->found, place)) {
		free(place.path);
		return -ENOMEM;
	}
	return 1;
}

int gt_places_look(struct gt_places *places, const char *path, bool inside, struct gt_diag *diag)
{
	const char *library = gt_api_library_of(base_name(path));
	gt_auto(elf) struct gt_elf *elf = NULL;
	struct stat status;
	bool above;
	int error;

	if (stat(path, &status) < 0)
		return gt_diag(diag, -errno, "find", path, "%s", strerror(errno));
	if (is_there(places, &status) || (!library && !inside))
		return 0;
	above = library && gt_api_group_bit(library) != GT_API_GROUP_CUDA;
	if (above && !(places->groups & gt_api_group_bit(library)))
		return 0;
	error = gt_elf_open(path, &elf, diag);
	if (error)
		return error;
	if (library && !strcmp(library, "cuda") && has_function(elf, "cuInit"))
		return add(places, path, &status, "cuda", false);
	if (above && has_function_of(elf, library))
		return add(places, path, &status, library, false);
	if (has_runtime_inside(elf))
		return add(places, path, &status, "cudart", !library);
	places->stripped |= gt_elf_info(elf)->stripped && gt_elf_info(elf)->program;
	if (library)
		refuse(places, path, "has the name of a CUDA library, but none of its functions");
	else if (gt_elf_info(elf)->stripped)
		refuse(places, path,
		       "no CUDA functions (it is stripped: a runtime linked in statically "
		       "would not be seen)");
	else
		refuse(places, path, "no CUDA functions");
	return 0;
}

/* Files that cannot be read are told, and the search goes on. */
static int look_and_tell(struct gt_places *places, const char *path, bool inside)
{
	struct gt_diag diag = {0};
	int result = gt_places_look(places, path, inside, &diag);

	if (result < 0 && result != -ENOMEM) {
		refuse(places, path, diag.text);
		return 0;
	}
	return result;
}

int gt_places_find_in_process(struct gt_places *places, pid_t pid, struct gt_diag *diag)
{
	gt_auto_proc_maps maps = {0};
	gt_auto_strbuf reach = GT_STRBUF_INIT;
	int error = gt_proc_maps_read(pid, &maps, diag);

	if (error)
		return error;
	for (size_t i = 0; i < maps.count; i++) {
		const struct gt_proc_mapping *mapping = &maps.items[i];

		if (!mapping->executable || !gt_proc_mapping_is_file(mapping))
			continue;
		if (gt_proc_mapping_range(&maps, mapping, &reach, NULL))
			continue;
		error = look_and_tell(places, gt_strbuf_string(&reach), true);
		if (error < 0)
			return error;
	}
	return 0;
}

/* Only by name: to search every file that any process maps would take too long. */
static int find_in_all_processes(struct gt_places *places)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	int error = 0;

	if (!directory)
		return -errno;
	while (error >= 0 && (entry = readdir(directory))) {
		gt_auto_proc_maps maps = {0};
		gt_auto_strbuf reach = GT_STRBUF_INIT;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    gt_proc_maps_read(atoi(entry->d_name), &maps, NULL))
			continue;
		for (size_t i = 0; i < maps.count && error >= 0; i++) {
			const struct gt_proc_mapping *mapping = &maps.items[i];

			if (mapping->executable && gt_proc_mapping_is_file(mapping) &&
			    gt_api_library_of(base_name(mapping->path)) &&
			    !gt_proc_mapping_range(&maps, mapping, &reach, NULL))
				error = look_and_tell(places, gt_strbuf_string(&reach), false);
		}
	}
	closedir(directory);
	return error < 0 ? error : 0;
}

/* What a program could open later, found beforehand so that nothing is missed. */
static int find_often_opened(struct gt_places *places, const struct gt_loader *loader,
			     const char *from)
{
	size_t sure = places->found.count;

	for (size_t i = 0; i < gt_countof(often_opened); i++) {
		gt_autofree char *path = NULL;
		int error;

		if (gt_loader_find(loader, often_opened[i], from, &path, NULL))
			continue;
		error = look_and_tell(places, path, false);
		if (error < 0)
			return error;
	}
	while (sure < places->found.count)
		places->found.items[sure++].guessed = true;
	return 0;
}

static int find_in_program(struct gt_places *places, const struct gt_loader *loader,
			   const char *path, struct gt_diag *diag)
{
	gt_auto_dependencies needed = {0};
	int error = gt_places_look(places, path, true, diag);

	if (error < 0)
		return error;
	error = gt_loader_needed(loader, path, &needed, diag);
	if (error)
		return error;
	for (size_t i = 0; i < needed.count; i++) {
		if (!needed.items[i].path)
			continue;
		error = look_and_tell(places, needed.items[i].path, true);
		if (error < 0)
			return error;
	}
	return find_often_opened(places, loader, path);
}

/* Of a library nothing but itself is meant; of a program what it loads, too. */
static int find_in_path(struct gt_places *places, const struct gt_target *target,
			struct gt_diag *diag)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	int error = gt_elf_open(target->options->path, &elf, diag);

	if (error)
		return error;
	if (gt_elf_info(elf)->program)
		return find_in_program(places, &target->loader, target->options->path, diag);
	error = gt_places_look(places, target->options->path, true, diag);
	return error < 0 ? error : 0;
}

int gt_places_find(struct gt_places *places, const struct gt_target *target, struct gt_diag *diag)
{
	int error = 0;

	if (target->options->path)
		return find_in_path(places, target, diag);
	if (target->command)
		error = find_in_program(places, &target->loader,
					target->command->paths[target->command->count - 1], diag);
	for (size_t i = 0; i < target->options->process_count && !error; i++)
		error = gt_places_find_in_process(places, target->options->processes[i], diag);
	if (!error && gt_target_is_all(target))
		error = find_in_all_processes(places);
	if (!error && !target->command)
		error = find_often_opened(places, &target->loader, NULL);
	return error < 0 ? error : 0;
}
