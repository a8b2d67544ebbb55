/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPIR-V to the bitcode of SPIR 1.2, by llvm-spirv. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "opencl/private.h"

extern char **environ;

enum {
	MAX_OUTPUT = 256 << 20, /* bytes */
};

/* The newest ones come last: bitcode that an older LLVM wrote is read by all newer ones. */
static const char *const tools[] = {"llvm-spirv-14", "llvm-spirv-15", "llvm-spirv-16",
				    "llvm-spirv-17", "llvm-spirv-18", "llvm-spirv-19",
				    "llvm-spirv"};

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

static int append_file(int file, struct gt_strbuf *text)
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

/* Run a tool from standard input to output. Its exit status, or -errno. */
static int run_tool(const char *name, int input, int output, int messages)
{
	/* It reads SPIR-V from a named file alone. */
	const char *const words[] = {
		name, "-r", "--spirv-target-env=CL1.2", "/proc/self/fd/0", "-o", "-", NULL};
	posix_spawn_file_actions_t actions;
	int status, error;
	pid_t child;

	error = posix_spawn_file_actions_init(&actions);
	if (error)
		return -error;
	error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
	if (!error)
		error = posix_spawnp(&child, name, &actions, NULL, (char **)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		return -error;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINVAL;
}

int gt_cl_convert(const void *module, size_t size, struct gt_strbuf *ret_bitcode,
		  struct gt_strbuf *ret_log, struct gt_diag *diag)
{
	gt_autoclose int input = make_file(module, size), output = make_file("", 0);
	gt_autoclose int messages = make_file("", 0);
	int status = -ENOENT;

	if (input < 0 || output < 0 || messages < 0)
		return gt_diag(diag, -ENOMEM, "device", NULL, "cannot create a file in memory: %s",
			       strerror(errno));
	for (size_t i = 0; i < gt_countof(tools) && status == -ENOENT; i++)
		status = run_tool(tools[i], input, output, messages);
	if (status == -ENOENT)
		return gt_diag(diag, -ENOENT, "device", NULL,
			       "this device takes SPIR alone, into which llvm-spirv converts "
			       "SPIR-V: install llvm-spirv-14 or newer");
	append_file(messages, ret_log);
	if (status)
		return gt_diag(diag, -EINVAL, "device", "llvm-spirv",
			       "the conversion of SPIR-V to SPIR failed (status %d)", status);
	status = append_file(output, ret_bitcode);
	return status ? gt_diag(diag, status, "device", "llvm-spirv", "cannot read its output: %s",
				strerror(-status))
		      : 0;
}
