/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ptxas HOW PTXAS FILE: assembles FILE by a ptxas process, loads the cubin and runs its kernel
 * `add`. HOW: spawn, spawnp, execv, execve; pipe: FILE goes to its standard input; several: another
 * module is assembled, too; options: all words but the first are in files. All files are gone
 * before the cubin is loaded.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

extern char **environ;

static void write_all(int fd, const char *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t written = write(fd, data + done, size - done);

		if (written <= 0)
			exit(1);
		done += (size_t)written;
	}
	close(fd);
}

/* Start ptxas, which reads from `input` if that is not negative. */
static pid_t start_ptxas(const char *how, const char *program, char **words, int input)
{
	posix_spawn_file_actions_t actions;
	pid_t child = -1;

	if (!strncmp(how, "exec", 4)) {
		child = fork();
		if (child)
			return child;
		if (!strcmp(how, "execv"))
			execv(program, words);
		else
			execve(program, words, environ);
		_exit(127);
	}
	posix_spawn_file_actions_init(&actions);
	if (input >= 0)
		posix_spawn_file_actions_adddup2(&actions, input, 0);
	if (!strcmp(how, "spawnp"))
		CHECK(posix_spawnp(&child, "ptxas", &actions, NULL, words, environ));
	else
		CHECK(posix_spawn(&child, program, &actions, NULL, words, environ));
	return child;
}

static void write_text(const char *path, const char *text)
{
	write_whole(path, text, strlen(text));
}

/* The words after the first, in two files of which one names the other. */
static void move_to_files(char **arguments)
{
	char text[256];

	snprintf(text, sizeof(text), "\n%s\t-optf more.options\n", arguments[1]);
	write_text("first options", text);
	snprintf(text, sizeof(text), "--output-file=\"%s\"\n%s\\ copy", arguments[3], arguments[4]);
	write_text("more.options", text);
	rename(arguments[4], "in.ptx copy");
	arguments[1] = "--options-file";
	arguments[2] = "first options";
	arguments[3] = NULL;
}

static void remove_files(void)
{
	static const char *const names[] = {"in.ptx",    "in.ptx copy",   "other.ptx",
					    "out.cubin", "first options", "more.options"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove(names[i]);
}

int main(int count, char **words)
{
	char option[32], *arguments[] = {"ptxas", option, "-o", "out.cubin", "in.ptx", NULL, NULL};
	int ends[2] = {-1, -1}, status, is_piped;
	size_t size;
	void *text, *cubin;
	pid_t child;

	if (count != 4)
		return 2;
	start_cuda();
	text = read_whole(words[3], &size);
	snprintf(option, sizeof(option), "-arch=%s", device_architecture());
	is_piped = !strcmp(words[1], "pipe");
	if (is_piped) {
		arguments[4] = "-";
		if (pipe2(ends, O_CLOEXEC))
			return 1;
	} else {
		write_whole("in.ptx", text, size);
	}
	if (!strcmp(words[1], "several")) {
		write_text("other.ptx", ".version 7.0\n.target sm_75\n.address_size 64\n"
					".visible .entry other() { ret; }\n");
		arguments[5] = "other.ptx";
	} else if (!strcmp(words[1], "options")) {
		move_to_files(arguments);
	}
	child = start_ptxas(words[1], words[2], arguments, ends[0]);
	if (is_piped)
		write_all(ends[1], text, size);
	if (waitpid(child, &status, 0) != child || status) {
		fprintf(stderr, "ptxas: %d\n", status);
		return 1;
	}
	cubin = read_whole("out.cubin", &size);
	remove_files();
	run_add(load_image("data", cubin, "add"));
	return 0;
}
