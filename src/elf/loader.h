/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The files that a command will execute and load, determined before it is started by the rules of
 * execve(2), execvp(3) and of glibc's dynamic loader (ld.so(8)).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clean.h"
#include "base/diag.h"
#include "base/strbuf.h"

/* The loader's environment. Strings are borrowed; any may be NULL. */
struct gt_loader {
	const char *library_path; /* LD_LIBRARY_PATH */
	const char *preload;      /* LD_PRELOAD */
	const char *cache;        /* instead of /etc/ld.so.cache; "": none */
	const char *preload_file; /* instead of /etc/ld.so.preload; "": none */
};

/* Reads the loader's variables from an environment ("NAME=value" …, NULL at the end). */
struct gt_loader gt_loader_of_environment(char *const environment[]);

struct gt_dependency {
	char *name;     /* the requested name: "libcuda.so.1", or a path */
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
 * Finds everything that is loaded when a program or library starts: its interpreter, preloaded
 * libraries, DT_NEEDED and their dependencies. A library that is not found or cannot be loaded is
 * in the list without a path; that is not an error. For a set-user-ID program LD_LIBRARY_PATH and
 * LD_PRELOAD are ignored. Errors of gt_elf_open for `path`; -ELOOP: more than 4096 objects.
 */
int gt_loader_needed(const struct gt_loader *loader, const char *path,
		     struct gt_dependencies *ret_dependencies, struct gt_diag *diag);

/*
 * Finds the file that dlopen(name) would load when called from the object `from` (a program or
 * library; NULL: one without RPATH and RUNPATH). 0; -ENOENT: not found. The caller frees *ret_path.
 */
int gt_loader_find(const struct gt_loader *loader, const char *name, const char *from,
		   char **ret_path, struct gt_diag *diag);

/*
 * The files that a command executes: paths[0] is the file of its name; if that is a script,
 * paths[1] is its interpreter, and so on; the last is the program. For a script that is run by `env
 * NAME`, NAME follows; for one without "#!", /bin/sh, as in execvp(3).
 */
struct gt_command {
	char **paths;
	size_t count;
	bool by_shell; /* a script without "#!": the last path is the shell */
};

void gt_command_free(struct gt_command *command);
static inline void gt_cleanup_command(struct gt_command *command)
{
	gt_command_free(command);
}
#define gt_auto_command __attribute__((cleanup(gt_cleanup_command))) struct gt_command

/*
 * Finds the files of a command as execvp(3) does: a name with a slash is a path, another one is
 * searched for in `search` (the value of PATH; NULL: the system's default). -ENOENT: not found;
 * -EACCES: found, but not executable; -ENOEXEC: neither ELF nor script; -ELOOP: interpreters that
 * are scripts, nested deeper than the kernel allows.
 */
int gt_command_find(const char *name, const char *search, struct gt_command *ret_command,
		    struct gt_diag *diag);
