/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading what people type, and writing what they read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* A whole decimal or 0x number. 0, -EINVAL (not a number), -ERANGE. */
int gt_parse_u64(const char *text, uint64_t *ret_value);
/* A size in bytes: a number with an optional K, M or G (1024-based; "KiB", "kb" too). */
int gt_parse_size(const char *text, uint64_t *ret_bytes);
/* A duration in ns: a number (fractions allowed) with ns, us, µs, ms or s; without one, seconds. */
int gt_parse_duration(const char *text, uint64_t *ret_ns);

/*
 * Bytes from hex digits, two a byte. White space and commas may stand between digits, and 0x before
 * a byte. 0, and the caller frees *ret_bytes; -EINVAL: something else stands at *ret_wrong, or one
 * digit is left over, and *ret_wrong is the text's end; -ENOMEM.
 */
int gt_parse_hex(const char *text, uint8_t **ret_bytes, size_t *ret_size, size_t *ret_wrong);

/* "4.2 µs": three significant digits and a unit that fits. */
void gt_format_duration(struct gt_strbuf *buffer, uint64_t ns);
/* "4.0 KiB" */
void gt_format_bytes(struct gt_strbuf *buffer, uint64_t bytes);

/* Adds text for a terminal: control characters, which could steer it, become '?'. */
void gt_put_printable(struct gt_strbuf *buffer, const char *text);

/* Whether text matches a shell glob (fnmatch(3) without flags). */
bool gt_glob(const char *pattern, const char *text);

/*
 * The nearest name to what was typed, by edit distance (swaps of neighbours count as one),
 * or NULL if none is near enough to be worth naming.
 */
const char *gt_nearest(const char *typed, const char *const *names, size_t count);
