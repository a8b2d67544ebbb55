/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of ptxas (ptxas --help, CUDA 13.0), with the words of its options files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/protocol.h"

struct gt_ptxas_words {
	const char *inputs[GT_AGENT_MAX_INPUTS]; /* paths; "-": standard input */
	size_t input_count;
	const char *output; /* a path */
	/* More inputs, one that is a string (--input-as-string), or an options file that cannot be
	 * read. */
	bool is_incomplete;
};

/* Read the command line of this process. The words of options files stay in memory. */
void gt_ptxas_words_read(int count, char *const *words, struct gt_ptxas_words *result);
