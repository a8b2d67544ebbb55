/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ptxas HOW PTXAS FILE: assembles FILE by a ptxas process, loads the cubin and runs its kernel
 * `add`. HOW: spawn, spawnp, execv, execve; pipe: FILE goes to its standard input. Both files are
 * gone before the cubin is loaded.
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

int main(int count, char **words)
{
	char option[32], *arguments[] = {"ptxas", option, "-o", "out.cubin", "in.ptx", NULL};
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
	child = start_ptxas(words[1], words[2], arguments, ends[0]);
	if (is_piped)
		write_all(ends[1], text, size);
	if (waitpid(child, &status, 0) != child || status) {
		fprintf(stderr, "ptxas: %d\n", status);
		return 1;
	}
	cubin = read_whole("out.cubin", &size);
	remove("in.ptx");
	remove("out.cubin");
	run_add(load_image("data", cubin, "add"));
	return 0;
}
