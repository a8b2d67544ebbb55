/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a command is started with: its files, its environment, and the GPU that it gets by that. */
#pragma once

#include "base/diag.h"
#include "elf/loader.h"
#include "session/session.h"

struct gt_surroundings {
	char **environment; /* "NAME=value" …, ended by NULL; owned */
	char *remark;       /* what the user must know of the GPU that was chosen; NULL: nothing */
};

/* Finds the command's files and decides about its GPU. -ENOENT: there is no such command. */
int gt_surroundings_make(const struct gt_session_options *options,
			 struct gt_surroundings *ret_surroundings, struct gt_command *ret_command,
			 struct gt_diag *diag);
void gt_surroundings_free(struct gt_surroundings *surroundings);
