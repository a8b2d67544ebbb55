/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a command will execute and load, before it is started: the rules of execve(2), execvp(3)
 * and of glibc's dynamic loader (ld.so(8)), followed without running anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/strbuf.h"

/* What the loader is told by its surroundings. Strings are borrowed; any may be NULL. */
struct gt_loader {
	const char *library_path; /* LD_LIBRARY_PATH */
	const char *preload;      /* LD_PRELOAD */
	const char *cache;        /* instead of /etc/ld.so.cache; "" is none */
	const char *preload_file; /* instead of /etc/ld.so.preload; "" is none */
};

/* Takes the loader's variables out of an environment ("NAME=value" …, NULL at the end). */
struct gt_loader gt_loader_of_environment(char *const environment[]);

struct gt_dependency {
	char *name;     /* as it was asked for: "libcuda.so.1", or a path */
	char *path;     /* the file that is loaded; NULL: not found */
	char *asked_by; /* path of the object that needs it, or "LD_PRELOAD", "ld.so.preload" */
};

/* In the order in which the loader loads: breadth first, each object once. */
struct gt_dependencies {
	struct gt_dependency *items;
	size_t count;
};

void gt_dependencies_free(struct gt_dependencies *dependencies);
static inline void gt_cleanup_dependencies(struct gt_dependencies *dependencies)
{
	gt_dependencies_free(dependencies);
}
#define gt_auto_dependencies                                                                       \
	__attribute__((cleanup(gt_cleanup_dependencies))) struct gt_dependencies

/*
 * Everything that is loaded with a program or library at its start: its interpreter, what is
 * preloaded, DT_NEEDED and theirs. A library that is not found or not fit to load is in the list
 * without a path and is no error. For a set-user-ID program LD_LIBRARY_PATH and LD_PRELOAD are
 * void. Errors are gt_elf_open's for `path`; -ELOOP past 4096 objects.
 */
int gt_loader_needed(const struct gt_loader *loader, const char *path,
		     struct gt_dependencies *ret_dependencies, struct gt_diag *diag);

/*
 * The file that dlopen(name) would load when called from the object `from` (a program or
 * library; NULL for one without RPATH and RUNPATH). 0; -ENOENT if there is none.
 * The caller frees *ret_path.
 */
int gt_loader_find(const struct gt_loader *loader, const char *name, const char *from,
		   char **ret_path, struct gt_diag *diag);

/*
 * What a command executes: paths[0] is the file that its name stands for; if that is a script,
 * paths[1] is its interpreter, and so on; the last is the program itself. A script that is run
 * by `env NAME` goes on with NAME, one without "#!" with /bin/sh, as execvp(3) does.
 */
struct gt_command {
	char **paths;
	size_t count;
	bool by_shell; /* it is a text without "#!": the shell runs it, which is the last path */
};

void gt_command_free(struct gt_command *command);
static inline void gt_cleanup_command(struct gt_command *command)
{
	gt_command_free(command);
}
#define gt_auto_command __attribute__((cleanup(gt_cleanup_command))) struct gt_command

/*
 * Finds what `name` stands for, as execvp(3): with a slash it is a path, else it is looked for
 * in `search` (the value of PATH; NULL for the system's default). -ENOENT: not found;
 * -EACCES: found, not executable; -ENOEXEC: neither ELF nor script; -ELOOP: scripts of scripts
 * deeper than the kernel follows.
 */
int gt_command_find(const char *name, const char *search, struct gt_command *ret_command,
		    struct gt_diag *diag);
