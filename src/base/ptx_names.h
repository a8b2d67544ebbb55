/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The names after .entry and .func in PTX text, found without parsing it: in one pass over the text
 * that costs little more than reading it. Inline, since the agent depends on libc alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct gt_ptx_name {
	const char *text; /* not terminated */
	size_t length;
	bool is_entry;
};

enum gt_ptx_names_state {
	GT_PTX_NAMES_END,
	GT_PTX_NAMES_FOUND,
	GT_PTX_NAMES_DOUBT, /* an attribute, a comment: only a parser knows the name */
};

typedef uint8_t gt_ptx_bytes __attribute__((vector_size(16)));

static inline gt_ptx_bytes gt_ptx_load_bytes(const char *text)
{
	gt_ptx_bytes bytes;

	memcpy(&bytes, text, sizeof(bytes));
	return bytes;
}

/* Mark where `.en` and `.fu` begin: .entry and .func and little else, while `.rn` is common. */
static inline gt_ptx_bytes gt_ptx_find_starts(const char *text)
{
	const gt_ptx_bytes first = gt_ptx_load_bytes(text), second = gt_ptx_load_bytes(text + 1),
			   third = gt_ptx_load_bytes(text + 2);

	return (gt_ptx_bytes)((first == '.') & (((second == 'e') & (third == 'n')) |
						((second == 'f') & (third == 'u'))));
}

static inline bool gt_ptx_has_start(gt_ptx_bytes starts)
{
	uint64_t halves[2];

	memcpy(halves, &starts, sizeof(halves));
	return halves[0] | halves[1];
}

static inline bool gt_ptx_has_word(const char *text, const char *end, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(end - text) >= length && !memcmp(text, word, length);
}

/* The next `.entry` or `.func`, or `end`. */
static inline const char *gt_ptx_find_directive(const char *text, const char *end)
{
	enum { BYTES = sizeof(gt_ptx_bytes), STEP = 4 * BYTES, AFTER = 2 };

	while (text < end) {
		while (end - text >= STEP + AFTER &&
		       !gt_ptx_has_start(gt_ptx_find_starts(text) |
					 gt_ptx_find_starts(text + BYTES) |
					 gt_ptx_find_starts(text + 2 * BYTES) |
					 gt_ptx_find_starts(text + 3 * BYTES)))
			text += STEP;
		/* One of these bytes, or the last ones of the text. */
		for (const char *stop = end - text > STEP ? text + STEP : end; text < stop; text++)
			if (*text == '.' && (gt_ptx_has_word(text, end, ".entry") ||
					     gt_ptx_has_word(text, end, ".func")))
				return text;
	}
	return end;
}

static inline const char *gt_ptx_skip_blanks(const char *text, const char *end)
{
	while (text < end && (*text == ' ' || (*text >= '\t' && *text <= '\r')))
		text++;
	return text;
}

static inline bool gt_ptx_is_name_byte(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || byte == '_' || byte == '$' || byte == '%';
}

/*
 * Find the next name from *at on, and advance *at. A text may have it in a comment or in a string,
 * and declare it several times.
 */
static inline enum gt_ptx_names_state gt_ptx_next_name(const char **at, const char *end,
						       struct gt_ptx_name *ret_name)
{
	const char *text = gt_ptx_find_directive(*at, end), *last;

	*at = end;
	if (text == end)
		return GT_PTX_NAMES_END;
	ret_name->is_entry = text[1] == 'e';
	text = gt_ptx_skip_blanks(text + (ret_name->is_entry ? strlen(".entry") : strlen(".func")),
				  end);
	/* The parameters that a function returns. */
	if (text < end && *text == '(') {
		text = memchr(text, ')', (size_t)(end - text));
		text = text ? gt_ptx_skip_blanks(text + 1, end) : end;
	}
	for (last = text; last < end && gt_ptx_is_name_byte(*last);)
		last++;
	if (last == text)
		return GT_PTX_NAMES_DOUBT;
	ret_name->text = text;
	ret_name->length = (size_t)(last - text);
	*at = last;
	return GT_PTX_NAMES_FOUND;
}
