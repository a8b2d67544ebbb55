/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The files and the environment of a command, and thereby its GPU. */
#pragma once

#include "base/diag.h"
#include "elf/loader.h"
#include "launch/gpu.h"
#include "launch/soft_reports.h"

struct gt_environment {
	char **variables;                /*   "NAME=value" …, ended by NULL; owned */
	bool soft_gpu;                   /* the command gets the software GPU */
	struct gt_soft_reports *reports; /* of the software GPU; NULL: none */
	char *remark; /* a message to the user about the chosen GPU; NULL: none */
};

/*
 * Finds the files of the command `name`, in PATH like a shell, and decides about its GPU.
 * -ENOENT: there is no such command.
 */
int gt_environment_make(const char *name, enum gt_gpu gpu, struct gt_environment *ret_environment,
			struct gt_command *ret_command, struct gt_diag *diag);
void gt_environment_free(struct gt_environment *environment);

/* Set a variable, in place of one of that name. 0 or -ENOMEM. */
int gt_environment_set(struct gt_environment *environment, const char *name, const char *value);
/* The same with `value`, the separator and what the variable had, if it had something. */
int gt_environment_prepend(struct gt_environment *environment, const char *name, char separator,
			   const char *value);
/*
 * Preload a library whose functions take the place of others, after the libraries that the user
 * preloads: functions of theirs come first, as without it. It precedes those libraries whose own
 * functions it replaces, such as the driver. Programs with AddressSanitizer start, although another
 * library precedes its runtime. 0 or -ENOMEM.
 */
int gt_environment_preload(struct gt_environment *environment, const char *path);
