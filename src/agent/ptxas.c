/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that run ptxas preload the agent into it. Inputs may be temporary files or come through
 * a pipe, so they are copied before ptxas reads them; when ptxas ends, its output is reported.
 */
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/ptxas_words.h"
#include "agent/report.h"
#include "base/file_limit.h"

static struct {
	pid_t process;
	struct gt_agent_report report;
	const char *output;
	struct stat before; /* of the output */
} compilation;

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

static void add_input(const char *input)
{
	struct gt_agent_report *report = &compilation.report;

	if (strcmp(input, "-") != 0)
		gt_agent_report_add_file(report, GT_AGENT_INPUT_PTX, input);
	else if (keep_standard_input())
		gt_agent_report_add_file(report, GT_AGENT_INPUT_PTX, "/proc/self/fd/0");
	else
		gt_agent_report_end(report);
}

__attribute__((constructor)) static void watch_ptxas(int count, char **words)
{
	static struct gt_ptxas_words line;

	if (!count || !is_ptxas(words[0]) || !gt_agent_environment()->collector_size)
		return;
	gt_ptxas_words_read(count, words, &line);
	if (!line.input_count || line.is_incomplete)
		return;
	gt_agent_report_begin(&compilation.report);
	for (size_t i = 0; i < line.input_count && compilation.report.data; i++)
		add_input(line.inputs[i]);
	compilation.process = getpid();
	compilation.output = line.output;
	if (stat(compilation.output, &compilation.before))
		compilation.before = (struct stat){0};
	if (compilation.report.data)
		on_exit(report_output, NULL);
}
