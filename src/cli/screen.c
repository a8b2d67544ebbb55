/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/screen.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

struct gt_screen {
	SCREEN *terminal;
	FILE *device; /* /dev/tty */
	FILE *kept;   /* what was written meanwhile */
	int saved[3]; /* duplicates of descriptors 0 to 2; -1: not replaced */
	bool restored;
};

static const struct {
	int code;
	enum gt_screen_key key;
} keys[] = {
	{KEY_UP, GT_KEY_UP},           {KEY_DOWN, GT_KEY_DOWN},     {KEY_LEFT, GT_KEY_LEFT},
	{KEY_RIGHT, GT_KEY_RIGHT},     {KEY_PPAGE, GT_KEY_PAGE_UP}, {KEY_NPAGE, GT_KEY_PAGE_DOWN},
	{KEY_HOME, GT_KEY_HOME},       {KEY_END, GT_KEY_END},       {KEY_ENTER, GT_KEY_ENTER},
	{'\n', GT_KEY_ENTER},          {'\r', GT_KEY_ENTER},        {27, GT_KEY_ESCAPE},
	{KEY_BACKSPACE, GT_KEY_ERASE}, {127, GT_KEY_ERASE},         {'\b', GT_KEY_ERASE},
	{KEY_RESIZE, GT_KEY_RESIZED},
};

/* Tables have characters beyond ASCII, such as in units. */
static void choose_locale(void)
{
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
}

static void replace_descriptor(struct gt_screen *screen, int number, int with)
{
	if (with < 0 || !isatty(number))
		return;
	screen->saved[number] = fcntl(number, F_DUPFD_CLOEXEC, 3);
	if (screen->saved[number] >= 0)
		dup2(with, number);
}

static void replace_descriptors(struct gt_screen *screen)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

	gt_cli_flush_output();
	replace_descriptor(screen, STDIN_FILENO, nothing);
	replace_descriptor(screen, STDOUT_FILENO, fileno(screen->kept));
	replace_descriptor(screen, STDERR_FILENO, fileno(screen->kept));
	if (nothing >= 0)
		close(nothing);
}

/* Files that a command does not inherit. Its output is appended to the file, as gputap's is. */
static int open_files(struct gt_screen *screen)
{
	screen->device = fopen("/dev/tty", "r+e");
	if (!screen->device)
		return -ENOTTY;
	screen->kept = tmpfile();
	if (!screen->kept)
		return -errno;
	fcntl(fileno(screen->kept), F_SETFD, FD_CLOEXEC);
	fcntl(fileno(screen->kept), F_SETFL, O_APPEND);
	return 0;
}

int gt_screen_open(struct gt_screen **ret_screen, struct gt_diag *diag)
{
	gt_auto(screen) struct gt_screen *screen = calloc(1, sizeof(*screen));
	int error = screen ? 0 : -ENOMEM;

	if (!error) {
		memset(screen->saved, -1, sizeof(screen->saved));
		error = open_files(screen);
	}
	if (error)
		return gt_diag(diag, error, "screen", NULL, "%s",
			       error == -ENOTTY ? "there is no terminal; use --batch"
						: strerror(-error));
	choose_locale();
	/* A program that ends while it writes to the terminal would leave it as it is. */
	screen->terminal = newterm(NULL, screen->device, screen->device);
	if (!screen->terminal)
		return gt_diag(diag, -ENOTTY, "screen", NULL,
			       "the terminal's type is not known; set TERM, or use --batch");
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	set_escdelay(25);
	replace_descriptors(screen);
	*ret_screen = gt_take(screen);
	return 0;
}

int gt_screen_key(struct gt_screen *screen, int wait_ms)
{
	int code;

	timeout(wait_ms);
	code = getch();
	if (code == ERR)
		return GT_KEY_NONE;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].code == code)
			return keys[i].key;
	return code;
}

size_t gt_screen_lines(const struct gt_screen *screen)
{
	return LINES > 0 ? (size_t)LINES : 0;
}

/* Bytes of the part of a line that fits into the screen. */
static size_t fitting_bytes(const char *line, size_t length)
{
	size_t bytes = 0;
	int columns = 0;

	for (; bytes < length; bytes++) {
		columns += (line[bytes] & 0xc0) != 0x80;
		if (columns > COLS)
			break;
	}
	return bytes;
}

void gt_screen_show(struct gt_screen *screen, const char *text, int highlighted, int selected)
{
	erase();
	for (int row = 0; row < LINES && *text; row++) {
		size_t length = strcspn(text, "\n");
		bool inverse = row == highlighted || row == selected;

		if (inverse)
			attron(A_REVERSE);
		mvaddnstr(row, 0, text, (int)fitting_bytes(text, length));
		if (inverse) {
			for (int column = getcurx(stdscr); column && column < COLS; column++)
				addch(' ');
			attroff(A_REVERSE);
		}
		text += length + (text[length] == '\n');
	}
	refresh();
}

void gt_screen_restore(struct gt_screen *screen)
{
	if (screen->restored)
		return;
	screen->restored = true;
	if (screen->terminal) {
		endwin();
		delscreen(screen->terminal);
	}
	gt_cli_flush_output();
	for (int i = 0; i < 3; i++) {
		if (screen->saved[i] < 0)
			continue;
		dup2(screen->saved[i], i);
		close(screen->saved[i]);
	}
}

/* To where it was meant for, as far as that is still known: the terminal. */
static void write_kept(FILE *kept)
{
	char buffer[4096];
	size_t count;

	rewind(kept);
	while ((count = fread(buffer, 1, sizeof(buffer), kept)) > 0)
		if (write(STDERR_FILENO, buffer, count) < 0)
			break;
}

void gt_screen_close(struct gt_screen *screen)
{
	if (!screen)
		return;
	gt_screen_restore(screen);
	if (screen->kept) {
		write_kept(screen->kept);
		fclose(screen->kept);
	}
	if (screen->device)
		fclose(screen->device);
	free(screen);
}
