/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that run ptxas preload the agent into it. The input may be a temporary file or come
 * through a pipe, so it is copied before ptxas reads it; when ptxas ends, its output is reported.
 */
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/report.h"
#include "base/file_limit.h"

static struct {
	pid_t process;
	struct gt_agent_report report;
	const char *output;
	struct stat before; /* of the output */
} compilation;

/* ---- arguments ------------------------------------------------------------------------- */

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

static const char *find_output(int count, char **words)
{
	static const char *const names[] = {"-o", "--output-file"};
	const char *output = "elf.o";

	for (int i = 1; i < count; i++) {
		for (size_t name = 0; name < sizeof(names) / sizeof(names[0]); name++) {
			size_t length = strlen(names[name]);

			if (strncmp(words[i], names[name], length) != 0)
				continue;
			if (words[i][length] == '=')
				output = words[i] + length + 1;
			else if (!words[i][length] && i + 1 < count)
				output = words[i + 1];
		}
	}
	return output;
}

/* Whether a file begins as PTX does; values of options are no such files. */
static bool is_ptx_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	char start = 0;
	bool result = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) &&
		      pread(fd, &start, 1, 0) == 1 && start && strchr("./ \t\r\n", start);

	if (fd >= 0)
		close(fd);
	return result;
}

/* The only input, or NULL. */
static const char *find_input(int count, char **words)
{
	const char *input = NULL;

	for (int i = 1; i < count; i++) {
		if (is_option(words[i]) || (strcmp(words[i], "-") != 0 && !is_ptx_file(words[i])))
			continue;
		if (input)
			return NULL;
		input = words[i];
	}
	return input;
}

/* ---- standard input -------------------------------------------------------------------- */

/*
 * Replace standard input by a file with all that comes through it. What was read is lost for ptxas
 * if it cannot be written, so nothing is read where files have a limit.
 */
static bool keep_standard_input(void)
{
	int file = gt_may_write(SIZE_MAX)
			   ? (int)syscall(SYS_memfd_create, "gputap-input", MFD_CLOEXEC)
			   : -1;
	char *chunk = gt_agent_allocate(1 << 16);
	ssize_t got = -1;

	while (file >= 0 && chunk && (got = read(STDIN_FILENO, chunk, 1 << 16)) > 0)
		if (write(file, chunk, (size_t)got) != got)
			break;
	gt_agent_release(chunk, 1 << 16);
	if (file < 0 || !chunk) {
		if (file >= 0)
			close(file);
		return false;
	}
	lseek(file, 0, SEEK_SET);
	dup2(file, STDIN_FILENO);
	close(file);
	return got == 0;
}

/* ---- start and end --------------------------------------------------------------------- */

static bool is_changed(const struct stat *status)
{
	const struct stat *before = &compilation.before;

	return status->st_ino != before->st_ino || status->st_size != before->st_size ||
	       status->st_mtim.tv_sec != before->st_mtim.tv_sec ||
	       status->st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

static void report_output(int status, void *unused)
{
	struct gt_agent_file cubin = {0};
	struct stat after;

	(void)unused;
	if (status || getpid() != compilation.process)
		return;
	if (!stat(compilation.output, &after) && is_changed(&after))
		cubin = gt_agent_read_file(compilation.output);
	if (cubin.data)
		gt_agent_report_send(&compilation.report, cubin.data, cubin.size - 1);
	gt_agent_unmap_file(&cubin);
	gt_agent_report_end(&compilation.report);
}

static bool is_ptxas(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return path && !strncmp(slash ? slash + 1 : path, "ptxas", 5);
}

__attribute__((constructor)) static void watch_ptxas(int count, char **words)
{
	const char *input;

	if (!count || !is_ptxas(words[0]) || !secure_getenv(GT_AGENT_SOCKET))
		return;
	input = find_input(count, words);
	if (!input)
		return;
	gt_agent_report_begin(&compilation.report);
	if (!compilation.report.data)
		return;
	if (strcmp(input, "-") != 0)
		gt_agent_report_add_file(&compilation.report, GT_AGENT_INPUT_PTX, input);
	else if (keep_standard_input())
		gt_agent_report_add_file(&compilation.report, GT_AGENT_INPUT_PTX,
					 "/proc/self/fd/0");
	compilation.process = getpid();
	compilation.output = find_output(count, words);
	if (stat(compilation.output, &compilation.before))
		compilation.before = (struct stat){0};
	if (compilation.report.data)
		on_exit(report_output, NULL);
}
