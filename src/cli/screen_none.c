/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For builds without ncurses. */
#include "cli/screen.h"

#include <errno.h>

int gt_screen_open(struct gt_screen **ret_screen, struct gt_diag *diag)
{
	return gt_diag(diag, -ENOSYS, "screen", NULL,
		       "gputap was built without ncurses; install libncurses-dev and build again, "
		       "or use --batch");
}

int gt_screen_key(struct gt_screen *screen, int wait_ms)
{
	return GT_KEY_NONE;
}

size_t gt_screen_lines(const struct gt_screen *screen)
{
	return 0;
}

void gt_screen_show(struct gt_screen *screen, const char *text, int highlighted, int selected)
{
}

void gt_screen_restore(struct gt_screen *screen)
{
}

void gt_screen_close(struct gt_screen *screen)
{
}
