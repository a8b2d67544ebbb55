/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A list of strings that it owns. */
#pragma once

#include <string.h>

#include "base/vec.h"

struct gt_strings {
	GT_VEC(const char *) words;
};

/* Append a copy of `length` bytes. 0 or -ENOMEM. */
static inline int gt_strings_add(struct gt_strings *strings, const char *text, size_t length)
{
	char *word = strndup(text, length);
	int error = word ? gt_vec_push(&strings->words, word) : -ENOMEM;

	if (error)
		free(word);
	return error;
}

static inline void gt_strings_free(struct gt_strings *strings)
{
	gt_vec_each (word, &strings->words)
		free((char *)*word);
	gt_vec_free(&strings->words);
}
