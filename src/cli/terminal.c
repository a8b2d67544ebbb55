/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/terminal.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "elf/demangle.h"

enum {
	PATIENCE_MS = 200,     /* work that takes longer is shown */
	LARGE_IMAGE = 1 << 20, /* bytes: patching it is shown at once */
};

unsigned gt_cli_terminal_columns(int fd)
{
	enum { DEFAULT = 80, MIN = 40, MAX = 400 };
	struct winsize size = {0};
	unsigned columns = DEFAULT;

	if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		columns = size.ws_col;
	return columns < MIN ? MIN : columns > MAX ? MAX : columns;
}

struct gt_cli_progress gt_cli_progress_new(void)
{
	const char *terminal = getenv("TERM");

	return (struct gt_cli_progress){.enabled = isatty(STDERR_FILENO) && terminal &&
						   strcmp(terminal, "dumb") != 0};
}

void gt_cli_progress_clear(struct gt_cli_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}

static void put_state(const struct gt_inject_progress *state, struct gt_strbuf *line)
{
	gt_auto_strbuf kernel = GT_STRBUF_INIT;

	gt_strbuf_printf(line, "gputap: %u modules done, %u kernels; ", state->modules,
			 state->kernels);
	if (state->patching) {
		gt_strbuf_printf(line, "patching module %u (", state->modules + 1);
		gt_format_bytes(line, state->patching);
		gt_strbuf_putc(line, ')');
		return;
	}
	gt_strbuf_printf(line, "compiling %u", state->compiling);
	if (!state->kernel)
		return;
	gt_demangle_short(state->kernel, &kernel);
	gt_strbuf_puts(line, ", with ");
	gt_put_printable(line, kernel.length ? gt_strbuf_string(&kernel) : state->kernel);
}

static void draw_line(struct gt_cli_progress *progress, const struct gt_inject_progress *state)
{
	unsigned columns = gt_cli_terminal_columns(STDERR_FILENO) - 1;
	gt_auto_strbuf line = GT_STRBUF_INIT;

	put_state(state, &line);
	fprintf(stderr, "\r%.*s\033[K", (int)columns, gt_strbuf_string(&line));
	fflush(stderr);
	progress->shown = true;
}

void gt_cli_progress_update(struct gt_cli_progress *progress,
			    const struct gt_inject_progress *state)
{
	uint64_t now;

	if (!progress->enabled)
		return;
	if (!state->compiling && !state->patching) {
		gt_cli_progress_clear(progress);
		progress->since = 0;
		return;
	}
	now = gt_clock_monotonic();
	if (!progress->since)
		progress->since = now;
	if (state->patching >= LARGE_IMAGE || now - progress->since >= PATIENCE_MS * 1000000ULL)
		draw_line(progress, state);
}
