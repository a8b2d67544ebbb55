/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Triggers of the flight recorder: events upon which it is written out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/string_list.h"
#include "cli/cli.h"
#include "names/names.h"

struct gt_triggers {
	bool xid, error, signal, exit;
	const char *error_name; /* the error, a glob; NULL: any */
	uint64_t slow;          /* ns; 0: not wanted */
};

/* The texts of --trigger; none: exit and signal. GT_EXIT_OK, or the status of a printed error. */
int gt_triggers_parse(const struct gt_cli_command *self, const struct gt_strings *texts,
		      struct gt_triggers *ret_triggers);
/* Why an event is a trigger; false: it is none. */
bool gt_triggers_match(const struct gt_triggers *triggers, const struct gt_names *names,
		       const struct gt_event *event, struct gt_strbuf *why);
/* FILE.gtap -> FILE.3.gtap; without a dot in its name, FILE.3. */
void gt_put_numbered_path(struct gt_strbuf *path, const char *name, unsigned number);
