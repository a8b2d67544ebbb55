/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/vec.h"
#include "elf/loader.h"

#define SCRIPT_LINE 256 /* BINPRM_BUF_SIZE: bytes of a script that the kernel reads */
#define SCRIPT_DEPTH 5  /* nested interpreters that execve(2) allows */
#define SHELL "/bin/sh" /* of execvp(3), for a script without "#!" */
#define DEFAULT_PATH "/bin:/usr/bin"

typedef GT_VEC(char *) path_vec;

/* The type of a file, by its first bytes. */
struct command_start {
	char line[SCRIPT_LINE + 1];
	size_t length;
};

void gt_command_free(struct gt_command *command)
{
	if (!command)
		return;
	for (size_t i = 0; i < command->count; i++)
		free(command->paths[i]);
	free(command->paths);
	*command = (struct gt_command){0};
}

/* 0, or the error of execve(2) for the file. */
static int check_executable(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode) || access(path, X_OK))
		return -EACCES;
	return 0;
}

/* Finds the file of a name; an executable one later in PATH is preferred. */
static int find_file(const char *name, const char *search, char **ret_path, struct gt_diag *diag)
{
	int error = -ENOENT;

	if (strchr(name, '/') || !name[0]) {
		error = check_executable(name);
		if (error == -EISDIR)
			return gt_diag(diag, -EACCES, "command", name,
				       "is a directory: name the program to run");
		if (error)
			return gt_diag(diag, error, "command", name, "cannot be executed: %s",
				       strerror(-error));
		*ret_path = strdup(name);
		return *ret_path ? 0 : gt_diag(diag, -ENOMEM, "command", name, "out of memory");
	}
	if (!search)
		search = DEFAULT_PATH;
	for (const char *at = search;; at++) {
		size_t length = strcspn(at, ":");
		gt_auto_strbuf path = GT_STRBUF_INIT;
		int result;

		gt_strbuf_add(&path, at, length);
		gt_strbuf_printf(&path, "%s%s", length ? "/" : "./", name);
		result = path.failed ? -ENOMEM : check_executable(gt_strbuf_string(&path));
		if (!result) {
			*ret_path = gt_strbuf_steal(&path);
			return 0;
		}
		if (result == -EACCES || result == -EISDIR)
			error = -EACCES;
		at += length;
		if (!*at)
			break;
	}
	if (error == -EACCES)
		return gt_diag(diag, error, "command", name,
			       "found in PATH, but it is not executable");
	if (!check_executable(name))
		return gt_diag(diag, error, "command", name,
			       "no such command in PATH (%s); did you mean './%s'?", search, name);
	return gt_diag(diag, error, "command", name, "no such command in PATH (%s)", search);
}

static int read_start(const char *path, struct command_start *ret_start, struct gt_diag *diag)
{
	gt_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t length = fd < 0 ? -errno : gt_read_all(fd, ret_start->line, SCRIPT_LINE);

	if (length < 0)
		return gt_diag(diag, length, "command", path, "cannot be read: %s",
			       strerror(-length));
	ret_start->length = length;
	ret_start->line[length] = 0;
	return 0;
}

static char *skip_blanks(char *text)
{
	return text + strspn(text, " \t");
}

/* Splits the next word off a line; returns "" at the end. */
static char *next_word(char **line)
{
	char *word = skip_blanks(*line), *end = word + strcspn(word, " \t");

	*line = end;
	if (*end) {
		*end = 0;
		*line = end + 1;
	}
	return word;
}

/* Returns the program that `env` executes, after options and NAME=VALUE. */
static const char *program_of_env(char *line)
{
	for (;;) {
		char *word = next_word(&line);

		if (!word[0])
			return NULL;
		if (word[0] == '-' || strchr(word, '='))
			continue;
		return word;
	}
}

static bool is_env(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, "env");
}

static int push_path(path_vec *paths, const char *path, struct gt_diag *diag)
{
	char *copy = strdup(path);

	if (copy && !gt_vec_push(paths, copy))
		return 0;
	free(copy);
	return gt_diag(diag, -ENOMEM, "command", path, "out of memory");
}

/* Adds the interpreter of a "#!" line, and if it is `env`, the program that it executes. */
static int follow_line(struct command_start *start, const char *script, const char *search,
		       path_vec *paths, struct gt_diag *diag)
{
	char *line = start->line + 2, *interpreter;
	const char *program;
	char *found;
	int error;

	line[strcspn(line, "\n")] = 0;
	interpreter = next_word(&line);
	if (!interpreter[0])
		return gt_diag(diag, -ENOEXEC, "command", script, "its #! line names no program");
	error = check_executable(interpreter);
	if (error)
		return gt_diag(diag, error == -EISDIR ? -EACCES : error, "command", script,
			       "its interpreter %s cannot be executed: %s", interpreter,
			       strerror(-error));
	error = push_path(paths, interpreter, diag);
	program = is_env(interpreter) ? program_of_env(line) : NULL;
	if (error || !program)
		return error;
	error = find_file(program, search, &found, diag);
	if (error)
		return error;
	if (gt_vec_push(paths, found)) {
		free(found);
		return gt_diag(diag, -ENOMEM, "command", script, "out of memory");
	}
	return 0;
}

/* Adds the interpreter of the last path; *ret_done: it needs none. */
static int follow(const char *search, path_vec *paths, bool *ret_done, bool *ret_by_shell,
		  struct gt_diag *diag)
{
	const char *path = paths->items[paths->count - 1];
	struct command_start start;
	int error = read_start(path, &start, diag);

	if (error)
		return error;
	*ret_done = false;
	if (start.length >= 2 && !memcmp(start.line, "#!", 2))
		return follow_line(&start, path, search, paths, diag);
	if (start.length >= 4 && !memcmp(start.line, "\177ELF", 4)) {
		*ret_done = true;
		return 0;
	}
	if (memchr(start.line, 0, start.length))
		return gt_diag(diag, -ENOEXEC, "command", path,
			       "neither an ELF program nor a script");
	*ret_by_shell = true;
	return push_path(paths, SHELL, diag);
}

int gt_command_find(const char *name, const char *search, struct gt_command *ret_command,
		    struct gt_diag *diag)
{
	path_vec paths = {0};
	bool done = false, by_shell = false;
	char *first;
	int error = find_file(name, search, &first, diag);

	if (error)
		return error;
	if (gt_vec_push(&paths, first)) {
		free(first);
		return gt_diag(diag, -ENOMEM, "command", name, "out of memory");
	}
	for (unsigned int depth = 0; !error && !done; depth++) {
		if (depth > SCRIPT_DEPTH)
			error = gt_diag(diag, -ELOOP, "command", name,
					"scripts run by scripts run by scripts: more than %d deep",
					SCRIPT_DEPTH);
		else
			error = follow(search, &paths, &done, &by_shell, diag);
	}
	if (error) {
		gt_vec_each (path, &paths)
			free(*path);
		gt_vec_free(&paths);
		return error;
	}
	*ret_command = (struct gt_command){paths.items, paths.count, by_shell};
	return 0;
}
