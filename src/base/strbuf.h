/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A growing string. When memory runs out it is marked as failed, which is checked once at the end.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/clean.h"

struct gt_strbuf {
	char *data;      /* NUL-terminated; NULL: nothing was added yet */
	size_t length;   /* bytes without the NUL */
	size_t capacity; /* bytes allocated */
	bool failed;     /* out of memory: later additions are missing */
};

#define GT_STRBUF_INIT ((struct gt_strbuf){0})

/* The slow path of gt_strbuf_reserve. */
bool gt_strbuf_grow(struct gt_strbuf *buffer, size_t more);

/* Reserves `more` bytes and a NUL. False: out of memory, now or before. */
static inline bool gt_strbuf_reserve(struct gt_strbuf *buffer, size_t more)
{
	return (more < buffer->capacity - buffer->length && !buffer->failed) ||
	       gt_strbuf_grow(buffer, more);
}

static inline void gt_strbuf_add(struct gt_strbuf *buffer, const char *data, size_t length)
{
	if (!gt_strbuf_reserve(buffer, length))
		return;
	if (length)
		memcpy(buffer->data + buffer->length, data, length);
	buffer->length += length;
	buffer->data[buffer->length] = '\0';
}

static inline void gt_strbuf_puts(struct gt_strbuf *buffer, const char *text)
{
	gt_strbuf_add(buffer, text, strlen(text));
}

static inline void gt_strbuf_putc(struct gt_strbuf *buffer, char character)
{
	if (!gt_strbuf_reserve(buffer, 1))
		return;
	buffer->data[buffer->length++] = character;
	buffer->data[buffer->length] = '\0';
}

void gt_strbuf_printf(struct gt_strbuf *buffer, const char *format, ...) gt_printf(2, 3);
void gt_strbuf_vprintf(struct gt_strbuf *buffer, const char *format, va_list arguments)
	gt_printf(2, 0);

/* Add an integer as printf's %u, %d and 0x%x do, several times faster. */
void gt_strbuf_u64(struct gt_strbuf *buffer, uint64_t number);
void gt_strbuf_i64(struct gt_strbuf *buffer, int64_t number);
void gt_strbuf_hex(struct gt_strbuf *buffer, uint64_t number);
/* Adds the last `digits` (at most 20) decimal digits, with leading zeros. */
void gt_strbuf_digits(struct gt_strbuf *buffer, uint64_t number, unsigned digits);

/* Adds spaces up to `column` characters after `start`, at least one. */
void gt_strbuf_pad(struct gt_strbuf *buffer, size_t start, size_t column);

/* Empties the buffer without freeing its memory. */
void gt_strbuf_clear(struct gt_strbuf *buffer);
/* Frees its memory; the buffer may be used again. */
void gt_strbuf_free(struct gt_strbuf *buffer);
/* Returns the contents, "" if empty; valid until the next change. */
const char *gt_strbuf_string(const struct gt_strbuf *buffer);
/* Returns the string, which the caller frees, and empties the buffer; NULL: out of memory. */
char *gt_strbuf_steal(struct gt_strbuf *buffer);

static inline void gt_cleanup_strbuf(struct gt_strbuf *buffer)
{
	gt_strbuf_free(buffer);
}
#define gt_auto_strbuf __attribute__((cleanup(gt_cleanup_strbuf))) struct gt_strbuf
