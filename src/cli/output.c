/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "cli/cli.h"

/* ---- standard output ------------------------------------------------------------------- */

enum { MAX_KEPT = 64 * 1024 };

static struct {
	int fd;
	int error;             /* the first one, which stdio does not keep; 0: none */
	struct gt_strbuf kept; /* a line whose end was not printed yet */
} output = {.fd = STDOUT_FILENO};

/* Write what is kept, up to `size` bytes of it. */
static int write_kept(size_t size)
{
	struct gt_strbuf *kept = &output.kept;
	int error = kept->failed ? -ENOMEM : gt_write_lines(output.fd, kept->data, size);

	if (error && !output.error)
		output.error = -error;
	if (error)
		size = kept->length;
	kept->length -= size;
	if (kept->length)
		memmove(kept->data, kept->data + size, kept->length);
	return error;
}

/* Write the whole lines of what stdio's buffer holds when it is full, and a line that is long. */
static ssize_t write_output(void *cookie, const char *data, size_t size)
{
	const char *newline = memrchr(data, '\n', size);
	size_t rest = newline ? (size_t)(data + size - newline - 1) : size;
	struct gt_strbuf *kept = &output.kept;
	int error = 0;

	gt_strbuf_add(kept, data, size);
	if (kept->failed || newline)
		error = write_kept(kept->length - rest);
	if (!error && kept->length > MAX_KEPT)
		error = write_kept(kept->length);
	return error ? 0 : (ssize_t)size;
}

int gt_cli_begin_output(void)
{
	FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_output});

	if (!stream)
		return -ENOMEM;
	setvbuf(stream, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
	stdout = stream;
	return 0;
}

int gt_cli_redirect_output(const char *path)
{
	int fd;

	if (!path || !strcmp(path, "-"))
		return GT_GO_ON;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		gt_cli_error("%s: %s", path, strerror(errno));
		return GT_EXIT_FAILED;
	}
	gt_cli_flush_output();
	output.fd = fd;
	return GT_GO_ON;
}

void gt_cli_flush_output(void)
{
	fflush(stdout);
	write_kept(output.kept.length);
}

/* Whether a pipe or socket lost its reader. */
static bool has_reader_left(int pipe)
{
	struct pollfd state = {.fd = pipe};

	return poll(&state, 1, 0) > 0 && state.revents & (POLLERR | POLLHUP);
}

int gt_cli_finish_output(int status)
{
	gt_cli_flush_output();
	if (!output.error || has_reader_left(output.fd))
		return status;
	gt_cli_error("cannot write output: %s", strerror(output.error));
	return status ? status : GT_EXIT_FAILED;
}

/* ---- messages -------------------------------------------------------------------------- */

/* Print "gputap: …" in one write: the traced program may print to the same file. */
static void print_message(const char *format, va_list arguments, const char *end)
{
	gt_auto_strbuf message = GT_STRBUF_INIT;

	/* Both may be one file: what was printed before comes before, in whole lines. */
	gt_cli_flush_output();
	gt_strbuf_puts(&message, "gputap: ");
	gt_strbuf_vprintf(&message, format, arguments);
	gt_strbuf_puts(&message, end);
	fputs(gt_strbuf_string(&message), stderr);
}

void gt_cli_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_message(format, arguments, "\n");
	va_end(arguments);
}

void gt_cli_diag(const struct gt_diag *diag)
{
	gt_cli_error("%s%s%s", diag->place, diag->place[0] ? ": " : "", diag->text);
}

int gt_cli_usage_error(const struct gt_cli_command *command, const char *format, ...)
{
	gt_auto_strbuf end = GT_STRBUF_INIT;
	va_list arguments;

	gt_strbuf_printf(&end, " (try 'gputap %s --help')\n", command->name);
	va_start(arguments, format);
	print_message(format, arguments, gt_strbuf_string(&end));
	va_end(arguments);
	return GT_EXIT_USAGE;
}
