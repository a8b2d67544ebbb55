/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "probe/api/find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/api.h"
#include "base/hash.h"
#include "base/text.h"
#include "elf/elf.h"

/* Libraries that programs often open by dlopen(3), searched like the loader does. */
static const char *const dlopened_libraries[] = {
	"libcudart.so.13",   "libcudart.so.12", "libcudart.so.11.0", "libcudart.so",
	"libcuda.so.1",      "libcublas.so.13", "libcublas.so.12",   "libcublasLt.so.13",
	"libcublasLt.so.12", "libcudnn.so.9",   "libnccl.so.2",      "librccl.so.1",
	"librocblas.so.4",   "librocblas.so.0", "libMIOpen.so.1",
};

/* A file that defines any of these contains the runtime. */
static const char *const runtime_functions[] = {"cudaLaunchKernel", "cudaMalloc", "cudaGetDevice"};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void gt_traced_files_free(struct gt_traced_files *files)
{
	gt_vec_each (file, &files->found)
		free(file->path);
	gt_vec_free(&files->found);
	gt_strbuf_free(&files->skipped);
	gt_hash_free(files->others);
}

static struct gt_traced_file *find_in_list(const struct gt_traced_files *files,
					   const struct stat *status)
{
	gt_vec_each (file, &files->found)
		if (file->device == status->st_dev && file->inode == status->st_ino)
			return file;
	return NULL;
}

const struct gt_traced_file *gt_traced_files_at(const struct gt_traced_files *files,
						const char *path)
{
	struct stat status;

	return stat(path, &status) ? NULL : find_in_list(files, &status);
}

/* A file that was examined; a change of its inode makes it another one. */
struct examined_file {
	uint64_t device, inode, seconds, nanoseconds, inside;
};

static struct examined_file identify_file(const struct stat *status, bool inside)
{
	return (struct examined_file){status->st_dev, status->st_ino, status->st_ctim.tv_sec,
				      status->st_ctim.tv_nsec, inside};
}

static bool is_known_other(const struct gt_traced_files *files, const struct stat *status,
			   bool inside)
{
	struct examined_file identity = identify_file(status, inside);

	return files->others && gt_hash_get(files->others, &identity, sizeof(identity));
}

/* Without memory it is examined again. */
static void add_other(struct gt_traced_files *files, const struct stat *status, bool inside)
{
	struct examined_file identity = identify_file(status, inside);

	if (!files->others)
		files->others = gt_hash_new();
	if (files->others)
		gt_hash_set(files->others, &identity, sizeof(identity), files);
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
	for (size_t i = 0; i < gt_countof(runtime_functions); i++)
		if (has_function(elf, runtime_functions[i]))
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

static void add_skipped(struct gt_traced_files *files, const char *path, const char *reason)
{
	gt_strbuf_printf(&files->skipped, "%s: %s\n", path, reason);
}

static int add_file(struct gt_traced_files *files, const char *path, const struct stat *status,
		    const char *library, const struct gt_elf *elf)
{
	const struct gt_elf_info *info = gt_elf_info(elf);
	struct gt_traced_file file = {
		.path = strdup(path),
		.device = status->st_dev,
		.inode = status->st_ino,
		.library = library,
		.is_program = info->program && info->interpreter,
	};

	if (!file.path || gt_vec_push(&files->found, file)) {
		free(file.path);
		return -ENOMEM;
	}
	return 1;
}

static void skip_file(struct gt_traced_files *files, const char *path, const char *library,
		      const struct gt_elf *elf)
{
	files->stripped |= gt_elf_info(elf)->stripped && gt_elf_info(elf)->program;
	if (library)
		add_skipped(files, path,
			    "has the name of a CUDA library, but none of its functions");
	else if (gt_elf_info(elf)->stripped)
		add_skipped(files, path,
			    "no CUDA functions (it is stripped: a statically linked runtime "
			    "cannot be found)");
	else
		add_skipped(files, path, "no CUDA functions");
}

static unsigned groups_of_file(const char *library)
{
	unsigned groups = gt_api_group_bit(library);

	if (gt_api_contains(library, "hiprtc"))
		groups |= gt_api_group_bit("hiprtc");
	return groups;
}

int gt_traced_files_examine(struct gt_traced_files *files, const char *path, const char *name,
			    bool inside, struct gt_diag *diag)
{
	const char *library = gt_api_library_of(base_name(name));
	gt_auto(elf) struct gt_elf *elf = NULL;
	struct stat status;
	bool above;
	int error;

	if (stat(path, &status) < 0)
		return gt_diag(diag, -errno, "find", path, "%s", strerror(errno));
	if (find_in_list(files, &status) || (!library && !inside) ||
	    is_known_other(files, &status, inside))
		return 0;
	above = library && gt_api_group_bit(library) != GT_API_GROUP_CUDA;
	if (above && !(files->groups & groups_of_file(library)))
		return 0;
	error = gt_elf_open(path, &elf, diag);
	if (error)
		return error;
	if (library && !strcmp(library, "cuda") && has_function(elf, "cuInit"))
		return add_file(files, path, &status, "cuda", elf);
	if (above && has_function_of(elf, library))
		return add_file(files, path, &status, library, elf);
	if (has_runtime_inside(elf))
		return add_file(files, path, &status, "cudart", elf);
	skip_file(files, path, library, elf);
	add_other(files, &status, inside);
	return 0;
}

/* A file that cannot be read is listed with the reason; the search continues. */
static int examine_file(struct gt_traced_files *files, const char *path, bool inside)
{
	struct gt_diag diag = {0};
	int result = gt_traced_files_examine(files, path, path, inside, &diag);

	if (result < 0 && result != -ENOMEM) {
		add_skipped(files, path, diag.text);
		return 0;
	}
	return result;
}

/* Code that was mapped from a deleted file or from memory is no library, unless by its name. */
static bool may_have_functions(const struct gt_proc_mapping *mapping)
{
	return !mapping->deleted || gt_api_library_of(base_name(mapping->path));
}

int gt_traced_files_find_in_process(struct gt_traced_files *files, pid_t pid, struct gt_diag *diag)
{
	gt_auto_proc_maps maps = {0};
	gt_auto_strbuf reach = GT_STRBUF_INIT;
	int error = gt_proc_maps_read(pid, &maps, diag);

	if (error)
		return error;
	for (size_t i = 0; i < maps.count; i++) {
		const struct gt_proc_mapping *mapping = &maps.items[i];
		struct gt_diag why = {0};

		if (!mapping->executable || !gt_proc_mapping_is_file(mapping))
			continue;
		error = gt_proc_mapping_path(&maps, mapping, &reach, &why);
		if (error == -EACCES && may_have_functions(mapping))
			return gt_diag(diag, error, why.stage, why.place, "%s", why.text);
		if (error)
			continue;
		error = examine_file(files, gt_strbuf_string(&reach), true);
		if (error < 0)
			return error;
	}
	return 0;
}

/* Whether gputap has CAP_SYS_PTRACE. What it cannot read nevertheless, nobody here can. */
static bool may_read_processes(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	return !syscall(SYS_capget, &header, data) && data[0].effective >> CAP_SYS_PTRACE & 1;
}

/* By name only: examining every file that any process maps would take too long. */
static int find_by_name_in_process(struct gt_traced_files *files, pid_t pid, struct gt_diag *diag)
{
	gt_auto_proc_maps maps = {0};
	gt_auto_strbuf reach = GT_STRBUF_INIT;
	struct gt_diag why = {0};
	int error = gt_proc_maps_read(pid, &maps, &why);

	for (size_t i = 0; i < maps.count && error >= 0; i++) {
		const struct gt_proc_mapping *mapping = &maps.items[i];

		why = (struct gt_diag){0};
		if (!mapping->executable || !gt_proc_mapping_is_file(mapping) ||
		    !gt_api_library_of(base_name(mapping->path)))
			continue;
		error = gt_proc_mapping_path(&maps, mapping, &reach, &why);
		if (!error)
			error = examine_file(files, gt_strbuf_string(&reach), false);
		else if (error != -EACCES)
			error = 0;
	}
	if (error != -EACCES && error != -EPERM)
		return error == -ENOMEM ? error : 0;
	if (!may_read_processes())
		return gt_diag(diag, error, why.stage, why.place,
			       "%s; or name the library to trace (-p) or processes (-d, --uid)",
			       why.text);
	add_skipped(files, why.place, why.text);
	return 0;
}

/* Whether calls of a process pass the filter of users; unknown counts as yes. */
static bool is_user_traced(const struct gt_filter *filter, const char *pid)
{
	gt_auto_strbuf path = GT_STRBUF_INIT;
	struct stat status;

	if (!filter->uid_count)
		return true;
	gt_strbuf_printf(&path, "/proc/%s", pid);
	return stat(gt_strbuf_string(&path), &status) || gt_filter_has_uid(filter, status.st_uid);
}

static int find_in_all_processes(struct gt_traced_files *files, const struct gt_filter *filter,
				 struct gt_diag *diag)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	int error = 0;

	if (!directory)
		return gt_diag(diag, -errno, "find", "/proc", "%s", strerror(errno));
	while (!error && (entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    is_user_traced(filter, entry->d_name))
			error = find_by_name_in_process(files, atoi(entry->d_name), diag);
	closedir(directory);
	return error;
}

/* Libraries that a program could open later: attached beforehand, no call is missed. */
static int find_dlopened_libraries(struct gt_traced_files *files, const struct gt_loader *loader,
				   const char *from)
{
	for (size_t i = 0; i < gt_countof(dlopened_libraries); i++) {
		gt_autofree char *path = NULL;
		int error;

		if (gt_loader_find(loader, dlopened_libraries[i], from, &path, NULL))
			continue;
		error = examine_file(files, path, false);
		if (error < 0)
			return error;
	}
	return 0;
}

static int find_in_program(struct gt_traced_files *files, const struct gt_loader *loader,
			   const char *path, struct gt_diag *diag)
{
	gt_auto_dependencies needed = {0};
	int error = gt_traced_files_examine(files, path, path, true, diag);

	if (error < 0)
		return error;
	error = gt_loader_needed(loader, path, &needed, diag);
	if (error)
		return error;
	for (size_t i = 0; i < needed.count; i++) {
		if (!needed.items[i].path)
			continue;
		error = examine_file(files, needed.items[i].path, true);
		if (error < 0)
			return error;
	}
	return find_dlopened_libraries(files, loader, path);
}

/* A library stands for itself only, a program also for the libraries that it loads. */
static int find_in_path(struct gt_traced_files *files, const struct gt_target *target,
			struct gt_diag *diag)
{
	gt_auto(elf) struct gt_elf *elf = NULL;
	int error = gt_elf_open(target->options->path, &elf, diag);

	if (error)
		return error;
	if (gt_elf_info(elf)->program)
		return find_in_program(files, &target->loader, target->options->path, diag);
	error = gt_traced_files_examine(files, target->options->path, target->options->path, true,
					diag);
	return error < 0 ? error : 0;
}

int gt_traced_files_find(struct gt_traced_files *files, const struct gt_target *target,
			 const struct gt_filter *filter, struct gt_diag *diag)
{
	int error = 0;

	if (target->options->path)
		return find_in_path(files, target, diag);
	if (target->command)
		error = find_in_program(files, &target->loader,
					target->command->paths[target->command->count - 1], diag);
	for (size_t i = 0; i < target->options->process_count && !error; i++)
		error = gt_traced_files_find_in_process(files, target->options->processes[i], diag);
	if (!error && gt_target_is_all(target))
		error = find_in_all_processes(files, filter, diag);
	if (!error && !target->command)
		error = find_dlopened_libraries(files, &target->loader, NULL);
	return error < 0 ? error : 0;
}
