/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Running the compilers of LLVM: from a file in memory to another. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "opencl/private.h"

extern char **environ;

enum {
	MAX_OUTPUT = 256 << 20, /* bytes */
	LIMIT_MS = 60000,       /* by default */
};

/* A file in memory with `size` bytes, read from its start. -1: none. */
static int make_file(const void *bytes, size_t size)
{
	int file = memfd_create("gputap", MFD_CLOEXEC);

	if (file >= 0 && (gt_write_all(file, bytes, size) || lseek(file, 0, SEEK_SET))) {
		close(file);
		file = -1;
	}
	return file;
}

int gt_cl_files_open(struct gt_cl_files *files, const void *input, size_t size,
		     struct gt_diag *diag)
{
	files->input = make_file(input, size);
	files->output = make_file("", 0);
	files->messages = make_file("", 0);
	if (files->input >= 0 && files->output >= 0 && files->messages >= 0)
		return 0;
	return gt_diag(diag, -ENOMEM, "device", NULL, "cannot create a file in memory: %s",
		       strerror(errno));
}

int gt_cl_files_add(struct gt_cl_files *files, const void *bytes, size_t size)
{
	int file = make_file(bytes, size);

	if (file >= 0 && !gt_vec_push(&files->others, file))
		return file;
	gt_cleanup_close(&file);
	return -ENOMEM;
}

void gt_cl_files_close(struct gt_cl_files *files)
{
	gt_vec_each (file, &files->others)
		gt_cleanup_close(file);
	gt_vec_free(&files->others);
	gt_cleanup_close(&files->input);
	gt_cleanup_close(&files->output);
	gt_cleanup_close(&files->messages);
}

int gt_cl_files_append(int file, struct gt_strbuf *text)
{
	char buffer[1 << 16];
	ssize_t count;
	off_t at = 0;

	while ((count = pread(file, buffer, sizeof(buffer), at)) > 0 && at < MAX_OUTPUT) {
		gt_strbuf_add(text, buffer, (size_t)count);
		at += count;
	}
	return count < 0 ? -errno : text->failed ? -ENOMEM : 0;
}

/* Its exit status, -EINVAL, or -ETIME: it has not ended, and is killed. */
static int wait_for(pid_t child, uint64_t limit)
{
	const int limit_ms = limit ? (int)(limit / 1000000) : LIMIT_MS;
	gt_autoclose int file = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd ended = {.fd = file, .events = POLLIN};
	bool expired = file >= 0 && poll(&ended, 1, limit_ms) == 0;
	int status;

	if (expired)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (expired)
		return -ETIME;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINVAL;
}

/* What the tool gets: the standard files, and the others by their numbers. */
static int plan_files(const struct gt_cl_files *files, int directory,
		      posix_spawn_file_actions_t *actions)
{
	int error = posix_spawn_file_actions_adddup2(actions, files->input, STDIN_FILENO);

	if (!error)
		error = posix_spawn_file_actions_adddup2(actions, files->output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(actions, files->messages, STDERR_FILENO);
	/* To the same number: it stays open at exec. */
	gt_vec_each (file, &files->others)
		if (!error)
			error = posix_spawn_file_actions_adddup2(actions, *file, *file);
	if (!error && directory >= 0)
		error = posix_spawn_file_actions_addfchdir_np(actions, directory);
	return error;
}

int gt_cl_run_tool(const char *const *words, const struct gt_cl_files *files, int directory)
{
	posix_spawn_file_actions_t actions;
	pid_t child;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return -error;
	error = plan_files(files, directory, &actions);
	if (!error)
		error = posix_spawnp(&child, words[0], &actions, NULL, (char **)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error ? -error : wait_for(child, files->limit);
}
