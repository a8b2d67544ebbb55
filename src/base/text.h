/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parsing and formatting of values for users. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Parses a decimal or 0x integer. 0, -EINVAL (not a number), -ERANGE. */
int gt_parse_u64(const char *text, uint64_t *ret_value);
/* Parses a size in bytes: a number with an optional K, M or G (1024-based; also "KiB", "kb",
 * "bytes"). */
int gt_parse_size(const char *text, uint64_t *ret_bytes);
/* Parses a duration to ns: a number (also a fraction) with ns, us, µs, ms or s; default: s. */
int gt_parse_duration(const char *text, uint64_t *ret_ns);

/*
 * Parses bytes of two hex digits each. White space and commas are allowed between digits, and 0x
 * before a byte. 0; -EINVAL: invalid character at *ret_wrong, or an odd number of digits
 * (*ret_wrong is the text's length); -ENOMEM. The caller frees *ret_bytes.
 */
int gt_parse_hex(const char *text, uint8_t **ret_bytes, size_t *ret_size, size_t *ret_wrong);

/* "4.2 µs": three significant digits and a suitable unit. */
void gt_format_duration(struct gt_strbuf *buffer, uint64_t ns);
/* "4.0 KiB" */
void gt_format_bytes(struct gt_strbuf *buffer, uint64_t bytes);

/* Adds text for a terminal, with control characters replaced by '?'. */
void gt_put_printable(struct gt_strbuf *buffer, const char *text);

/* Returns the bytes of the UTF-8 sequence (RFC 3629) that `text` begins with; 0: it is invalid. */
size_t gt_utf8_length(const char *text, size_t available);
/* Adds text as UTF-8: bytes that are invalid as U+FFFD. */
void gt_put_utf8(struct gt_strbuf *buffer, const char *text, size_t length);

/* Returns whether text matches a shell glob (fnmatch(3) without flags). */
bool gt_glob(const char *pattern, const char *text);
/*
 * Returns whether a list of globs selects a text: the last one that matches decides; a glob after
 * '!' excludes. Where none matches, it is selected by `initial` if the list is empty or begins with
 * an exclusion, else not.
 */
bool gt_globs_select(const char *const *globs, size_t count, const char *text, bool initial);

/*
 * Returns the edit distance of two texts (a swap of neighbours counts as one edit), of which the
 * first 64 bytes count.
 */
size_t gt_distance(const char *a, const char *b);
/*
 * Returns the name that is most similar to what was typed, by edit distance (a swap of neighbours
 * counts as one edit), or NULL if none is similar enough for a suggestion.
 */
const char *gt_nearest(const char *typed, const char *const *names, size_t count);
