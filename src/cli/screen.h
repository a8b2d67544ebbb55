/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The full screen of a terminal, by ncurses: lines of text and keys. Where gputap was built without
 * ncurses, gt_screen_open fails.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clean.h"
#include "base/diag.h"

struct gt_screen;

/* Keys that are no characters. */
enum gt_screen_key {
	GT_KEY_NONE = -1, /* none was pressed */
	GT_KEY_UP = 0x10000,
	GT_KEY_DOWN,
	GT_KEY_LEFT,
	GT_KEY_RIGHT,
	GT_KEY_PAGE_UP,
	GT_KEY_PAGE_DOWN,
	GT_KEY_HOME,
	GT_KEY_END,
	GT_KEY_ENTER,
	GT_KEY_ESCAPE,
	GT_KEY_ERASE,
	GT_KEY_RESIZED,
};

/*
 * Take over the controlling terminal. What is written to standard output and standard error while
 * it is open, by gputap and by the command, is kept in a temporary file, where these are the
 * terminal; standard input is empty then. -ENOTTY: there is no terminal; -ENOSYS: no ncurses.
 */
int gt_screen_open(struct gt_screen **ret_screen, struct gt_diag *diag);
/* The next key, or GT_KEY_NONE: at once, or after `wait_ms` at most. */
int gt_screen_key(struct gt_screen *screen, int wait_ms);
size_t gt_screen_lines(const struct gt_screen *screen);
/*
 * Show lines of text from the top on: those beyond the screen, and what is right of it, are
 * omitted. The lines `highlighted` (-1: none) and `selected` are in inverse video.
 */
void gt_screen_show(struct gt_screen *screen, const char *text, int highlighted, int selected);
/* Restore the terminal; output goes to it again, but that of a command that continues. */
void gt_screen_restore(struct gt_screen *screen);
/* The same, write what was kept to the terminal, and free. NULL is allowed. */
void gt_screen_close(struct gt_screen *screen);
GT_DEFINE_AUTO(screen, struct gt_screen, gt_screen_close)
