/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"

/* ---- standard output ------------------------------------------------------------------- */

/* The first error of it, which stdio does not keep; 0: none. */
static int output_error;

static ssize_t write_output(void *cookie, const char *data, size_t size)
{
	int error = gt_write_all(STDOUT_FILENO, data, size);

	if (!error)
		return (ssize_t)size;
	if (!output_error)
		output_error = -error;
	return 0;
}

int gt_cli_begin_output(void)
{
	FILE *output = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_output});

	if (!output)
		return -ENOMEM;
	setvbuf(output, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
	stdout = output;
	return 0;
}

void gt_cli_flush_output(void)
{
	fflush(stdout);
}

/* Whether a pipe or socket lost its reader. */
static bool has_reader_left(int output)
{
	struct pollfd state = {.fd = output};

	return poll(&state, 1, 0) > 0 && state.revents & (POLLERR | POLLHUP);
}

int gt_cli_finish_output(int status)
{
	gt_cli_flush_output();
	if (!output_error || has_reader_left(STDOUT_FILENO))
		return status;
	gt_cli_error("cannot write output: %s", strerror(output_error));
	return status ? status : GT_EXIT_FAILED;
}

/* ---- messages -------------------------------------------------------------------------- */

void gt_cli_error(const char *format, ...)
{
	va_list arguments;

	/* Both may be one file: what was printed before comes before, in whole lines. */
	gt_cli_flush_output();
	fputs("gputap: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

void gt_cli_diag(const struct gt_diag *diag)
{
	gt_cli_error("%s%s%s", diag->place, diag->place[0] ? ": " : "", diag->text);
}

int gt_cli_usage_error(const struct gt_cli_command *command, const char *format, ...)
{
	va_list arguments;

	fputs("gputap: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, " (try 'gputap %s --help')\n", command->name);
	return GT_EXIT_USAGE;
}
